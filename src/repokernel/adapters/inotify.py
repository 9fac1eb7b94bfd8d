"""The names that appear in a folder, told by the kernel (inotify(7)), for processes that live long.

A record is visible to a reader once link(2) has returned, and its event is queued by then: whoever
drains the queue after hearing of a record has that record's name. On a network file system events of
other machines are missing, and elsewhere than on Linux there is no inotify: callers must be right
without it.
"""

from __future__ import annotations

import ctypes
import os
import struct

_ADDED = 0x100 | 0x80  # IN_CREATE | IN_MOVED_TO
_REMOVED = 0x200 | 0x40  # IN_DELETE | IN_MOVED_FROM
_STIRRED = 0x4  # IN_ATTRIB: somebody has touched the folder itself to have all look anew
_LOST = _STIRRED | 0x400 | 0x800 | 0x2000 | 0x4000 | 0x8000  # DELETE_SELF, MOVE_SELF, UNMOUNT, Q_OVERFLOW, IGNORED
_HEADER = struct.Struct("iIII")
_QUEUE_BYTES = 1 << 16


class FolderEvents:
    """The names added to one folder since the last look."""

    def __init__(self, path: str) -> None:
        """Start to watch.

        Raises:
            OSError: not possible here (another system, or the user's limit of watches is reached).
        """
        libc = ctypes.CDLL(None, use_errno=True)
        if not hasattr(libc, "inotify_init1"):
            raise OSError("no inotify on this system")
        self.pid = os.getpid()
        self._fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        watch = -1 if self._fd < 0 else libc.inotify_add_watch(self._fd, os.fsencode(path), _ADDED | _REMOVED | _LOST)
        if watch < 0:
            number = ctypes.get_errno()
            self.close()
            raise OSError(number, os.strerror(number))

    @property
    def mine(self) -> bool:
        """Whether this process made it; a forked child shares the queue with its parent."""
        return self.pid == os.getpid()

    def close(self) -> None:
        """Stop watching."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def take(self) -> list[str] | None:
        """The names added since the last call, or None when that can't be said and all must be read anew."""
        if not self.mine:
            return None
        names: list[str] = []
        all_known = True
        while True:
            try:
                data = os.read(self._fd, _QUEUE_BYTES)
            except BlockingIOError:
                return names if all_known else None
            place = 0
            while place < len(data):
                _, mask, _, length = _HEADER.unpack_from(data, place)
                place += _HEADER.size + length
                all_known = all_known and not mask & (_LOST | _REMOVED)
                names.append(os.fsdecode(data[place - length : place].rstrip(b"\0")))
