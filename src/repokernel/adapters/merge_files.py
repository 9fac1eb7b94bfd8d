"""The files of a registry merge, on disk."""

from __future__ import annotations

import os
import stat

from repokernel.adapters.publish import replace_whole, shut
from repokernel.core.errors import RkError, error

_CHUNK = 1 << 20


class DiskMergeFiles:
    """The `MergeFiles` port over three paths; an empty base is none."""

    def __init__(self, current: str, other: str, base: str) -> None:
        """Keep the paths; nothing is read yet."""
        self._current = current
        self._other = other
        self._base = base

    def sides(self) -> tuple[bytes, bytes]:
        """See `ports.registry.MergeFiles.sides`."""
        try:
            # what would be replaced is a link's own name, and what was read is the file behind it: so none is followed
            return _read(self._current, os.O_NOFOLLOW), self._read_other()
        except OSError as cause:
            raise _refusal(cause, "read", self._current) from cause

    def _read_other(self) -> bytes:
        try:
            return _read(self._other, 0)
        except OSError as cause:
            raise _refusal(cause, "read", self._other) from cause

    def base(self) -> bytes | None:
        """See `ports.registry.MergeFiles.base`."""
        if not self._base:
            return None
        try:
            return _read(self._base, 0)
        except OSError:  # no base removes nothing, and the merge says that it had none
            return None

    def replace_ours(self, data: bytes) -> None:
        """See `ports.registry.MergeFiles.replace_ours`.

        The folder isn't synced: Git reads the file at once and stores it under another name.
        """
        try:
            folder_fd = os.open(os.path.dirname(self._current) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                replace_whole(folder_fd, os.path.basename(self._current), data)
            finally:
                shut(folder_fd)
        except OSError as cause:
            raise _refusal(cause, "write", self._current) from cause


def _read(path: str, flags: int) -> bytes:
    """All of a regular file; a pipe isn't waited for."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(0, "not a regular file")
        parts = []
        while part := os.read(fd, _CHUNK):
            parts.append(part)
        return b"".join(parts)
    finally:
        shut(fd)


def _refusal(cause: OSError, doing: str, path: str) -> RkError:
    why = os.strerror(cause.errno) if cause.errno else str(cause.strerror)
    said = f"can't {doing} {path}: {why}; nothing was merged, and our side stands as it was"
    return error("registry_io", said, path=path, errno=cause.errno or None)
