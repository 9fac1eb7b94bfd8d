"""Files that appear whole and durable, or not at all.

Written aside, synced, then linked to a new name or renamed over an old one, and the folder synced. A
crash at any point leaves the name absent, or as it was, or whole. Where the file system has
`O_TMPFILE` there is no litter; elsewhere a name `.tmp-*` may stay behind, which nothing reads.

`EINTR` is retried by the interpreter (PEP 475) except for link(2), which is retried here.
"""

from __future__ import annotations

import errno
import os
import sys

from repokernel.core.errors import RkError, error

ASIDE = ".tmp-"
_NO_TMPFILE = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT})


def store_error(cause: OSError, doing: str, path: str) -> RkError:
    """The refusal for a failed system call, by what a person can do about it."""
    code, hint = "store_io", "look at the disk"
    if cause.errno in (errno.ENOSPC, errno.EDQUOT):
        code, hint = "store_full", "make room, then repeat the command"
    elif cause.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        code, hint = "store_readonly", "check the rights of the board's folder"
    elif cause.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
        code, hint = "board_missing", "`rk doctor` says what is missing; `rk init` makes a board"
    return error(code, f"{doing} {path}: {os.strerror(cause.errno or 0)}", hint=hint, errno=cause.errno)


def full_sync(fd: int) -> None:
    """Make a file or folder durable."""
    if sys.platform == "darwin":  # fsync alone leaves the data in the drive's cache there
        import fcntl

        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
    else:
        os.fsync(fd)


def shut(fd: int) -> None:
    """Close a descriptor; what was to be kept is synced, so what close(2) says besides is of no consequence.

    It is not tried again: the number is free in any case, and may be another thread's by then.
    """
    try:
        os.close(fd)
    except OSError:
        return


def sync_folder(path: str) -> None:
    """Make the names in a folder durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        full_sync(fd)
    finally:
        shut(fd)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def link_new(folder_fd: int, name: str, data: bytes) -> bool:
    """Whether `name` was created with `data`, never with a part of it; the folder is not synced yet."""
    fd, aside = _open_aside(folder_fd)
    try:
        _write_all(fd, data)
        full_sync(fd)
        source = aside or f"/proc/self/fd/{fd}"
        while True:
            try:
                os.link(source, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd, follow_symlinks=aside is None)
            except FileExistsError:
                return False
            except InterruptedError:
                continue
            return True
    finally:
        shut(fd)
        if aside is not None:
            discard(folder_fd, aside)


def replace_whole(folder_fd: int, name: str, data: bytes) -> None:
    """Put `data` under `name`, whatever was there before; the folder is not synced yet."""
    fd, aside = _named_aside(folder_fd)
    try:
        try:
            _write_all(fd, data)
            full_sync(fd)
        finally:
            shut(fd)
        os.replace(aside, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
    except OSError:
        discard(folder_fd, aside)
        raise


def _open_aside(folder_fd: int) -> tuple[int, str | None]:
    """A new file of the folder: nameless where that is possible, else under a name nobody reads."""
    if hasattr(os, "O_TMPFILE"):
        try:
            return os.open(".", os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666, dir_fd=folder_fd), None
        except OSError as cause:
            if cause.errno not in _NO_TMPFILE:
                raise
    return _named_aside(folder_fd)


def _named_aside(folder_fd: int) -> tuple[int, str]:
    aside = f"{ASIDE}{os.getpid()}-{os.urandom(6).hex()}"
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
    return os.open(aside, flags, 0o666, dir_fd=folder_fd), aside


def discard(folder_fd: int, name: str) -> None:
    """Remove a name on which nothing depends."""
    try:
        os.unlink(name, dir_fd=folder_fd)
    except OSError:  # litter that nothing reads; `rk doctor --fix` sweeps it
        return
