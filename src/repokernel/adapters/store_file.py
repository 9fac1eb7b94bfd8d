"""The file store: a folder in which publishing is `link(2)` and no published head is ever changed.

Layout: `claims/<id>.<seq>.json` (the log), `beats/` and `verified/` (replaced whole), `outputs/`, and
`archive/` once something was put away.
A record is written aside, synced, linked to its name and the folder synced, so that a crash at any
point leaves it either absent or whole. Where the file system has `O_TMPFILE` there is no litter;
elsewhere a name `.tmp-*` may stay behind, which nothing reads.

`EINTR` is retried by the interpreter (PEP 475) except for link(2), which is retried here.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from repokernel.adapters.publish import (
    ASIDE,
    discard,
    full_sync,
    link_new,
    replace_whole,
    shut,
    store_error,
    sync_folder,
)
from repokernel.adapters.system import wall_ms
from repokernel.core.errors import RkError, error
from repokernel.core.ids import Key, id_problem
from repokernel.core.record import RECORD_BYTES_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from repokernel.adapters.inotify import FolderEvents

CLAIMS = "claims"
ARCHIVE = "archive"
SIDES = ("beats", "verified")
FOLDERS = (CLAIMS, *SIDES, "outputs")
_TAIL = 14  # ".00000001.json"
SEQ_MAX = 99_999_999
_UNREADABLE = frozenset({errno.ELOOP, errno.EACCES, errno.ENXIO, errno.EMLINK})
_POLL_S = 0.05
_GAP_SEQS_MAX = 10_000  # how many names to ask for one by one


def _record_name(name: str) -> tuple[Key, int] | None:
    key, digits = name[:-_TAIL], name[-_TAIL + 1 : -5]
    well_formed = name.endswith(".json") and name[-_TAIL : -_TAIL + 1] == "." and digits.isascii() and digits.isdigit()
    if not well_formed or key != key.lower() or id_problem(key) is not None or int(digits) == 0:
        return None
    return Key(key), int(digits)


class FileStore:
    """A board's records in a folder that all its processes can reach."""

    def __init__(self, root: str, clock_ms: Callable[[], int] = wall_ms) -> None:
        """Open the board at `root`; nothing is touched before it is needed.

        Args:
            root: the board's folder.
            clock_ms: the store's clock.
        """
        self._fds: dict[str, int] = {}
        self._events: FolderEvents | None = None
        self.root = root
        self._clock_ms = clock_ms
        self._cursor = 0

    def close(self) -> None:
        """Let go of the folder; using the store again opens it again."""
        while self._fds:
            shut(self._fds.popitem()[1])
        if self._events is not None:
            self._events.close()
            self._events = None

    def __del__(self) -> None:
        self.close()

    @property
    def url(self) -> str:
        """`file:` and the folder."""
        return "file:" + self.root

    def _fd(self, folder: str) -> int:
        fd = self._fds.get(folder)
        if fd is None:
            path = os.path.join(self.root, folder)
            try:
                fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            except OSError as cause:
                raise store_error(cause, "can't open", path) from cause
            if self._fds.setdefault(folder, fd) != fd:  # another thread was faster
                shut(fd)
        return self._fds[folder]

    def _path(self, folder: str, name: str) -> str:
        return os.path.join(self.root, folder, name)

    # writing ------------------------------------------------------------------------------------

    def append(self, key: Key, seq: int, data: bytes, *, stir: bool = False) -> bool:
        """See `ports.store.Store.append`; stirring is touching the folder."""
        assert 0 < seq <= SEQ_MAX, seq
        name = f"{key}.{seq:08d}.json"
        # the later name first: in a sound log it comes after this one
        if self._exists(key, seq + 1) and not self._exists(key, seq):  # filling the gap would act on an older state
            raise error(
                "record_invalid",
                f"task {key} has a record {seq + 1} but lacks {seq}; it was left as it is",
                hint="restore the missing file of the claims folder from a backup",
                task=key,
            )
        try:
            # a look first: most who are late needn't write and sync a record that can't be published
            created = not self._exists(key, seq) and link_new(self._fd(CLAIMS), name, data)
        except OSError as cause:
            if cause.errno == errno.EIO and self._raw(CLAIMS, name) == data:
                raise self._unknown(CLAIMS, name, cause) from cause
            raise store_error(cause, "can't write", self._path(CLAIMS, name)) from cause
        if not created and self._raw(CLAIMS, name) != data:  # else: our own, published by a call whose answer was lost
            return False
        try:
            if stir:
                os.utime(self._fd(CLAIMS))
            full_sync(self._fd(CLAIMS))
        except OSError as cause:
            raise self._unknown(CLAIMS, name, cause) from cause
        return True

    def _unknown(self, folder: str, name: str, cause: OSError) -> RkError:
        return error(
            "durability_unknown",
            f"{self._path(folder, name)} is written and visible, but syncing its folder failed: "
            f"{os.strerror(cause.errno or 0)}",
            hint="repeat the command once the disk is well: it confirms the write or makes it anew",
            record=name,
        )

    def put_away(self, key: Key, top: int, data: bytes) -> None:
        """See `ports.store.Store.put_away`: a file of the folder `archive`, which nothing reads."""
        name, path = f"{key}.{top:08d}.jsonl", self._path(ARCHIVE, "")
        try:
            if not os.path.isdir(path):
                os.makedirs(path, exist_ok=True)
                sync_folder(self.root)
            link_new(self._fd(ARCHIVE), name, data)
            full_sync(self._fd(ARCHIVE))
        except OSError as cause:
            raise store_error(cause, "can't write", path + name) from cause

    def bury(self, key: Key, seq: int, data: bytes) -> None:
        """See `ports.store.Store.bury`."""
        name = f"{key}.{seq:08d}.json"
        try:
            replace_whole(self._fd(CLAIMS), name, data)
        except OSError as cause:
            raise store_error(cause, "can't write", self._path(CLAIMS, name)) from cause
        try:
            full_sync(self._fd(CLAIMS))
        except OSError as cause:
            raise self._unknown(CLAIMS, name, cause) from cause

    def confirm(self) -> None:
        """See `ports.store.Store.confirm`."""
        try:
            full_sync(self._fd(CLAIMS))
        except OSError as cause:
            raise self._unknown(CLAIMS, "", cause) from cause

    def write_side(self, side: str, name: str, data: bytes) -> None:
        """See `ports.store.Store.write_side`."""
        try:
            replace_whole(self._fd(side), name + ".json", data)
        except OSError as cause:
            raise store_error(cause, "can't write", self._path(side, name)) from cause
        try:
            full_sync(self._fd(side))
        except OSError as cause:
            raise self._unknown(side, name + ".json", cause) from cause

    def drop_side(self, side: str, name: str) -> None:
        """See `ports.store.Store.drop_side`."""
        discard(self._fd(side), name + ".json")

    # reading ------------------------------------------------------------------------------------

    def _raw(self, folder: str, name: str) -> bytes | None:
        """The bytes of a regular file, or None where there is none; never blocks, never follows a link."""
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._fd(folder))
        except FileNotFoundError:
            return None
        except OSError as cause:
            path = self._path(folder, name)
            if cause.errno in _UNREADABLE:
                raise error("record_invalid", f"{path} can't be read: {os.strerror(cause.errno)}", path=path) from cause
            raise store_error(cause, "can't read", path) from cause
        try:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode) or info.st_size > RECORD_BYTES_MAX:
                what = "is too large" if stat.S_ISREG(info.st_mode) else "is not a file"
                path = self._path(folder, name)
                raise error("record_invalid", f"{path} {what}; it was left as it is", path=path)
            data = os.read(fd, info.st_size + 1)
            while len(data) < info.st_size and (more := os.read(fd, info.st_size - len(data))):
                data += more
        except OSError as cause:
            raise store_error(cause, "can't read", self._path(folder, name)) from cause
        finally:
            shut(fd)
        return data

    def _names(self, folder: str) -> list[str]:
        # a descriptor of its own: threads and forked children that share one would share its position too
        path = self._path(folder, "")
        try:
            fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._fd(folder))
            try:
                return os.listdir(fd)
            finally:
                shut(fd)
        except OSError as cause:
            raise store_error(cause, "can't list", path) from cause

    def top(self, key: Key, known: int = 0) -> int:
        """See `ports.store.Store.top`; names are read on from `known` until one is absent."""
        if known:
            while self._exists(key, known + 1):
                known += 1
            return known
        start, length = key + ".", len(key) + _TAIL
        names = [name for name in self._names(CLAIMS) if len(name) == length and name.startswith(start)]
        seqs = [parsed[1] for parsed in map(_record_name, names) if parsed is not None]
        highest = max(seqs, default=0)
        if highest != len(seqs):
            found = self._gap(key, highest, len(seqs))
            if found is not None:
                raise found
        return highest

    def _gap(self, key: Key, highest: int, count: int) -> RkError | None:
        """A listing made while others publish may miss a name: ask for each by name before complaining."""
        if count < highest <= _GAP_SEQS_MAX:
            missing = [seq for seq in range(1, highest) if not self._exists(key, seq)]
            if not missing:
                return None
            said = ", ".join(str(seq) for seq in missing[:5])
        else:
            said = "several"
        return error(
            "record_invalid",
            f"task {key} has a record {highest} but lacks {said}; it was left as it is",
            hint="restore the missing files of the claims folder from a backup",
            task=key,
        )

    def _exists(self, key: Key, seq: int) -> bool:
        try:
            os.stat(f"{key}.{seq:08d}.json", dir_fd=self._fd(CLAIMS), follow_symlinks=False)
        except FileNotFoundError:
            return False
        except OSError as cause:
            raise store_error(cause, "can't look at", self._path(CLAIMS, f"{key}.{seq:08d}.json")) from cause
        return True

    def tops(self) -> dict[Key, int | RkError]:
        """See `ports.store.Store.tops`."""
        highest: dict[str, str] = {}
        counts: dict[str, int] = {}
        for name in self._names(CLAIMS):
            key, digits = name[:-_TAIL], name[-13:-5]
            marks = name[-_TAIL:-13] + name[-5:]
            if marks != "..json" or not (digits.isascii() and digits.isdigit()) or digits == "00000000":
                continue
            if digits > highest.get(key, ""):
                highest[key] = digits
            counts[key] = counts.get(key, 0) + 1
        found: dict[Key, int | RkError] = {}
        for key, digits in highest.items():
            parsed = _record_name(f"{key}.{digits}.json")
            if parsed is None:
                continue
            problem = None if counts[key] == parsed[1] else self._gap(parsed[0], parsed[1], counts[key])
            found[parsed[0]] = problem or parsed[1]
        return found

    def changes(self, cursor: int | None) -> tuple[int, list[tuple[Key, int]] | None]:
        """See `ports.store.Store.changes`."""
        names = self._events.take() if self._events is not None else None
        if self._events is None or cursor != self._cursor or not self._events.mine:
            self._watch()
            return self._cursor, None
        if names is None:
            return self._cursor, None
        parsed = [_record_name(name) for name in names]
        return cursor, [one for one in parsed if one is not None]

    def _watch(self) -> None:
        """Start over: whatever is read after this is complete as of now."""
        from repokernel.adapters.inotify import FolderEvents

        if self._events is not None:
            self._events.close()
        self._cursor += 1
        try:
            self._events = FolderEvents(self._path(CLAIMS, ""))
        except OSError:  # then every look is a look at everything
            self._events = None

    def read(self, key: Key, seq: int) -> bytes | None:
        """See `ports.store.Store.read`."""
        return self._raw(CLAIMS, f"{key}.{seq:08d}.json")

    def read_side(self, side: str, name: str) -> bytes | None:
        """See `ports.store.Store.read_side`; what can't be read is nothing."""
        try:
            return self._raw(side, name + ".json")
        except RkError as cause:
            if cause.code == "record_invalid":
                return None
            raise

    def sides(self, side: str) -> frozenset[str]:
        """See `ports.store.Store.sides`."""
        return frozenset(name[:-5] for name in self._names(side) if name.endswith(".json"))

    def foreign(self) -> list[str]:
        """See `ports.store.Store.foreign`."""
        strange = [
            f"{CLAIMS}/{name}"
            for name in self._names(CLAIMS)
            if _record_name(name) is None and not name.startswith(ASIDE)
        ]
        for side in SIDES:
            strange += [f"{side}/{n}" for n in self._names(side) if not n.endswith(".json") and not n.startswith(ASIDE)]
        return sorted(strange)

    def litter(self, older_than_s: float) -> list[str]:
        """Names left aside by writers that were killed long ago, relative to the board."""
        aside = [(folder, n) for folder in (CLAIMS, *SIDES) for n in self._names(folder) if n.startswith(ASIDE)]
        return sorted(f"{folder}/{name}" for folder, name in aside if self._age_s(folder, name) > older_than_s)

    def _age_s(self, folder: str, name: str) -> float:
        try:
            changed_s = os.stat(name, dir_fd=self._fd(folder), follow_symlinks=False).st_mtime
        except FileNotFoundError:  # its writer lives, and has just removed it
            return 0.0
        return self._clock_ms() / 1000 - changed_s

    def sweep(self, names: list[str]) -> None:
        """Remove what `litter` found."""
        for name in names:
            folder, _, rest = name.partition("/")
            discard(self._fd(folder), rest)

    # time ---------------------------------------------------------------------------------------

    def now_ms(self) -> int:
        """See `ports.store.Store.now_ms`: this machine's clock."""
        return self._clock_ms()

    def wait(self, cursor: object, timeout_s: float) -> object:
        """See `ports.store.Store.wait`: the folder's modification time, looked at 20 times a second."""
        ends = time.monotonic() + timeout_s
        while True:
            info = os.fstat(self._fd(CLAIMS))
            seen = (info.st_mtime_ns, info.st_size)
            left_s = ends - time.monotonic()
            if seen != cursor or left_s <= 0:
                return seen
            time.sleep(min(_POLL_S, left_s))
