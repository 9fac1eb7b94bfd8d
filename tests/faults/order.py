"""Checks in a trace what no killed process reveals: that everything was synced before somebody relied on it.

A killed process loses nothing that it has written; a machine without power does. So the trace must show:
a file is written aside and synced after its last write, then gets its name; the folder of every new name is
synced after that, and before success is told; what a record vouches for is synced before the record is
there, and so is what keeps the contents of a record that gives way to a tombstone; nothing is opened for
writing at its final name, cut short in place or changed once it has its name.
"""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from tests.faults.syscalls import Call

_FD = re.compile(r"^(\d+)")
_OPENED = re.compile(r"^(\d+)<([^>]*)>")
_THROUGH_FD = re.compile(r"^/proc/self/fd/(\d+)$")
_FILE_MADE = re.compile(r"O_(CREAT|TMPFILE)")
_WRITABLE = re.compile(r"O_(WRONLY|RDWR|TRUNC|APPEND)")
_ASIDE = ".tmp-"
_OPENS = frozenset({"creat", "open", "openat"})
_WRITES = frozenset({"copy_file_range", "fallocate", "pwrite64", "pwritev", "sendfile", "write", "writev"})
_SYNCS = frozenset({"fdatasync", "fsync"})
_LINKS = frozenset({"link", "linkat"})
_RENAMES = frozenset({"rename", "renameat", "renameat2"})
_FOLDERS = frozenset({"mkdir", "mkdirat"})
_REMOVALS = frozenset({"rmdir", "unlink", "unlinkat"})
_CUTS = frozenset({"ftruncate", "truncate"})


def _is_aside(path: str) -> bool:
    return os.path.basename(path).startswith(_ASIDE)


class Published(NamedTuple):
    """A file that got its name: by `link` (it was free) or `rename` (it may have stood for another file)."""

    how: str
    path: str


class _Trace:
    """What is known about files and folders after each call."""

    def __init__(self, root: str, relied_on: Sequence[str]) -> None:
        self.root = root
        self.relied_on = relied_on
        self.problems: list[str] = []
        self.published: list[Published] = []
        self.told = False
        self._behind: dict[int, str] = {}
        self._unsynced: set[str] = set()  # files with writes that were not synced
        self._named: set[str] = set()  # files that have their final name, by every name they go by
        self._pending: dict[str, str] = {}  # folders with names that were not synced: what happened there
        self._synced: set[str] = set()
        self._notes: Sequence[tuple[frozenset[str], Callable[[Call], None]]] = (
            (_OPENS, self._open),
            (_WRITES, self._write),
            (_SYNCS, self._sync),
            (_LINKS | _RENAMES, self._publish),
            (_FOLDERS, self._folder),
            (_REMOVALS, self._remove),
            (_CUTS, self._cut),
        )

    def _ours(self, path: str) -> bool:
        return path == self.root or path.startswith(self.root + "/")

    def feed(self, call: Call) -> None:
        """Take note of one call; a failed one has changed nothing."""
        if call.failed:
            return
        for names, note in self._notes:
            if call.name in names:
                note(call)

    def _open(self, call: Call) -> None:
        opened = _OPENED.match(call.result)
        if opened is None:
            return
        path = opened[2]
        self._behind[int(opened[1])] = path
        if not self._ours(path) or not _WRITABLE.search(call.args):
            return
        if "O_TMPFILE" not in call.args and not _is_aside(path):
            self.problems.append(f"{path} is opened for writing at its final name")
        if _FILE_MADE.search(call.args):
            self._unsynced.add(path)

    def _write(self, call: Call) -> None:
        fd = _FD.match(call.args)
        if fd is not None and fd[1] == "1":
            self._tell()
            return
        path = call.behind[0]
        if not self._ours(path):
            return
        self._unsynced.add(path)
        if path in self._named:
            self.problems.append(f"{path} is written after it got its name")

    def _tell(self) -> None:
        """Something is on stdout: whoever reads it relies on everything that was done so far."""
        if not self.told:
            self.problems += [f"success is told, and {folder} is not synced: {why}" for folder, why in self._waiting()]
        self.told = True

    def _waiting(self) -> list[tuple[str, str]]:
        return sorted(self._pending.items())

    def _sync(self, call: Call) -> None:
        path = call.behind[0]
        self._unsynced.discard(path)
        self._pending.pop(path, None)
        self._synced.add(path)

    def _publish(self, call: Call) -> None:
        source, name = self._source(call), call.paths[-1]
        if not self._ours(name):
            return
        if source in self._unsynced or source not in self._synced:
            self.problems.append(f"{name} gets its name before the file is synced")
        if call.name in _RENAMES and os.path.basename(os.path.dirname(name)) == "claims":
            self.problems += [
                f"{name} gives way, and {folder} is not synced: {why}"
                for folder, why in self._waiting()
                if folder != os.path.dirname(name)
            ]
        if not self.published:
            missing = [path for path in self.relied_on if path not in self._synced]
            self.problems += [f"{name} vouches for {path}, which is not synced" for path in missing]
        self._named |= {source, name}
        self.published.append(Published("link" if call.name in _LINKS else "rename", name))
        self._pending[os.path.dirname(name)] = f"{os.path.basename(name)} is new"

    def _source(self, call: Call) -> str:
        through = _THROUGH_FD.match(call.named[0])
        return call.paths[0] if through is None else self._behind[int(through[1])]

    def _folder(self, call: Call) -> None:
        path = call.paths[-1]
        if self._ours(path):
            self._pending[os.path.dirname(path)] = f"the folder {os.path.basename(path)} is new"

    def _cut(self, call: Call) -> None:
        if self._ours(call.paths[0]):
            self.problems.append(f"{call.paths[0]} is cut in place")

    def _remove(self, call: Call) -> None:
        """What got its name in this very trace must not come back; on an old beat nothing depends."""
        path = call.paths[-1]
        if path in self._named and not _is_aside(path):
            self._pending[os.path.dirname(path)] = f"{os.path.basename(path)} was removed"


def check_order(calls: Iterable[Call], root: str, relied_on: Sequence[str] = ()) -> tuple[list[Published], list[str]]:
    """What was published below `root`, and everything that is out of order in a trace that ends in success.

    Args:
        calls: the trace.
        root: the folder whose files count; calls elsewhere are ignored.
        relied_on: files and folders that must be synced before the first name is given.
    """
    trace = _Trace(root, relied_on)
    for call in calls:
        trace.feed(call)
    problems = trace.problems
    if not trace.told:
        problems = [*problems, "success is never told"]
    return trace.published, problems
