"""Group 6: injected faults."""

import shlex

from tests.shell.hostile.model import DAMAGED, HELD, T1, Effect, Errno, Fault, When, split

_SYNC = "fsync,fdatasync"
_WRITE = "write,pwrite64,writev"
_LINK = "?link,linkat,renameat2"
_RENAME = "?rename,renameat,renameat2,?link,linkat"
_HARD = (Errno.EIO, Errno.ENOSPC)
_DISK = (*_HARD, Errno.EROFS)
_Point = tuple[str, str, When, tuple[Errno, ...], Effect, str | None, str]
_BEFORE: tuple[_Point, ...] = (
    ("open", "openat", When.LAST_BEFORE, _DISK, Effect.UNCHANGED, None, "no file, no record"),
    ("write", _WRITE, When.LAST_BEFORE, _HARD, Effect.UNCHANGED, None, "half a record is never published"),
    ("sync", _SYNC, When.LAST_BEFORE, _HARD, Effect.UNCHANGED, None, "what may not be on disk isn't published"),
)
_LINKED: tuple[_Point, ...] = (
    ("link", _LINK, When.PUBLISH, _DISK, Effect.UNCHANGED, None, "not published; read back, not guessed"),
    ("folder-sync", _SYNC, When.FIRST_AFTER, _HARD, Effect.PUBLISHED, "durability_unknown",
     "visible, perhaps not durable: neither failure nor success"),
)  # fmt: skip
_RENAMED: tuple[_Point, ...] = (
    ("rename", _RENAME, When.PUBLISH, _DISK, Effect.UNCHANGED, None, "a lease that wasn't extended isn't said to be"),
)
_FAULTED: tuple[tuple[str, str, str, tuple[_Point, ...]], ...] = (
    ("add", "", "add one --id t1", (*_BEFORE, *_LINKED)),
    ("claim", T1, "claim t1", (*_BEFORE, *_LINKED)),
    ("done", HELD, "done t1 --output out.txt", (*_BEFORE, *_LINKED)),
    ("fail", HELD, "fail t1 --code upload_failed --detail gone", (*_BEFORE, *_LINKED)),
    ("release", HELD, "release t1", (*_BEFORE, *_LINKED)),
    ("renew", HELD, "renew t1", (*_BEFORE, *_RENAMED)),
)
_READ: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("show", "show t1", DAMAGED),
    ("claim", "claim t1", DAMAGED),
    ("done", "done t1 --output out.txt --token 1", DAMAGED),
    ("cancel", "cancel t1", DAMAGED),
    ("list", "list", (0, 1, 3)),
    ("doctor", "doctor", DAMAGED),
)


def _fault(name: str, argv: str, setup: str, point: _Point, error: Errno) -> Fault:
    at, syscall, when, _, effect, code, why = point
    interrupted = error is Errno.EINTR
    return Fault(
        name=f"{name}-{at}-{error.lower()}",
        argv=tuple(shlex.split(argv)),
        syscall=syscall,
        error=error,
        when=when,
        exit=None if interrupted else 3,
        among=(0, 3) if interrupted else (),
        effect=Effect.EITHER if interrupted else effect,
        code=None if interrupted else code,
        why="an interrupted call is made again, or truthfully reported" if interrupted else why,
        setup=split(setup),
        optional=name == "renew" and at == "sync",  # a beat need not be durable
    )


FAULTS: tuple[Fault, ...] = (
    *(_fault(name, argv, setup, point, error)
      for name, setup, argv, points in _FAULTED
      for point in points
      for error in (*point[3], Errno.EINTR)),
    *(Fault(name=f"{name}-head-{call.partition(',')[0]}-eio", argv=tuple(shlex.split(argv)), syscall=call,
            error=Errno.EIO, when=When.HEAD_READ, exit=None, among=among, effect=Effect.UNCHANGED,
            setup=split(HELD), why="a head that can't be read is never `no claim`, nor an older state")
      for name, argv, among in _READ
      for call in ("openat", "read,pread64")),
)  # fmt: skip
