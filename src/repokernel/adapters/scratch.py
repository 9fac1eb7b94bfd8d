"""What a bench needs of the machine: a scratch folder inside a board's, a place to meet, bare publications.

A scratch folder is locked (flock(2)) as long as its bench lives. The kernel ends the lock with the process,
so the folder of a killed bench is known by its free lock, and the next bench sweeps it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import sys
import time
from typing import TYPE_CHECKING

from repokernel.adapters.process import LocalPrograms
from repokernel.adapters.publish import full_sync, store_error
from repokernel.core.errors import error

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from repokernel.adapters.process import Running

_NAME = re.compile(r"\.bench-[0-9a-f]{16}")
_DRAWS_MAX = 10
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_POLL_S = 0.001


@contextlib.contextmanager
def scratch(root: str) -> Iterator[str]:
    """A new folder inside the board's, on its file system; it is gone afterwards.

    Raises:
        BrokenError: it can't be made.
    """
    for _ in range(_DRAWS_MAX):
        path, fd = os.path.join(root, f".bench-{os.urandom(8).hex()}"), None
        try:
            try:
                os.mkdir(path, 0o700)
                fd = os.open(path, _FOLDER)
                mine = _lock(fd) and os.path.isdir(path)
            except OSError as cause:
                if not (isinstance(cause, FileNotFoundError) and os.path.isdir(root)):
                    raise store_error(cause, "can't make", path) from cause
                mine = False  # somebody who sweeps was faster
            if mine:
                yield path
                return
        finally:
            shutil.rmtree(path, ignore_errors=True)
            if fd is not None:
                os.close(fd)
    raise error("store_io", f"no folder could be kept in {root}", hint="look at the disk")


def _lock(fd: int) -> bool:
    """Whether the lock is ours; where there are no locks it is, and nobody ever sweeps."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # somebody sweeps: we were not fast enough
        return False
    except OSError:
        return True
    return True


def left_over(root: str, *, sweep: bool) -> list[str]:
    """The scratch folders of benches that were killed, by name; `sweep` removes them."""
    try:
        names = sorted(name for name in os.listdir(root) if _NAME.fullmatch(name))
    except OSError:  # whoever examines the board says what is wrong with its folder
        return []
    return [name for name in names if _is_left_over(os.path.join(root, name), sweep=sweep)]


def _is_left_over(path: str, *, sweep: bool) -> bool:
    try:
        fd = os.open(path, _FOLDER)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if sweep:  # still under the lock: whoever makes such a folder looks again once it has the lock
            shutil.rmtree(path, ignore_errors=True)
        return True
    except OSError:
        return False
    finally:
        os.close(fd)


class Meeting:
    """The `Meet` port: a file that grows by one byte for each arrival."""

    def __init__(self, folder: str, processes: int) -> None:
        """Open the one of a scratch folder."""
        self._processes = processes
        self._wanted = 0
        self._path = meeting_file(folder)
        self._fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def __call__(self, ends_ns: int, *, eager: bool) -> bool:
        """See `ports.bench.Meet`."""
        self._wanted += self._processes
        try:
            os.write(self._fd, b".")
        except OSError as cause:
            raise store_error(cause, "can't write", self._path) from cause
        while os.fstat(self._fd).st_size < self._wanted:
            if ticks() > ends_ns:
                return False
            time.sleep(0 if eager else _POLL_S)  # 0 lets others run
        return True


def meeting_file(folder: str) -> str:
    """Where the processes of a bench meet."""
    return os.path.join(folder, "meeting")


def ticks() -> int:
    """A clock that all processes of this machine share, in nanoseconds."""
    return time.monotonic_ns()


class BareFiles:
    """The `Bare` port: the fewest calls that publish durably; of the store's code it has `full_sync` alone."""

    def __init__(self, folder: str) -> None:
        """Publish into a folder of the scratch folder."""
        self._path = os.path.join(folder, "bare")
        os.makedirs(self._path, exist_ok=True)
        self._fd = os.open(self._path, _FOLDER)
        self._nameless = self._can_be_nameless()

    def _can_be_nameless(self) -> bool:
        if not hasattr(os, "O_TMPFILE"):
            return False
        try:
            os.close(os.open(self._path, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        except OSError:
            return False
        return True

    def __call__(self, name: str, data: bytes) -> None:
        """See `ports.bench.Bare`."""
        try:
            self._publish(name, data)
            full_sync(self._fd)
        except OSError as cause:
            raise store_error(cause, "can't write", os.path.join(self._path, name)) from cause

    def _publish(self, name: str, data: bytes) -> None:
        here, aside = self._fd, f"aside-{name}"
        if self._nameless:
            fd = os.open(".", os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=here)
        else:
            fd = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=here)
        try:
            os.write(fd, data)
            full_sync(fd)
            source = f"/proc/self/fd/{fd}" if self._nameless else aside
            os.link(source, name, src_dir_fd=here, dst_dir_fd=here, follow_symlinks=self._nameless)
        finally:
            os.close(fd)
            if not self._nameless:
                os.unlink(aside, dir_fd=here)


class Processes:
    """The `Crew` port: `python -m WORDS… FOLDER NUMBER`, each a process of its own that dies with this one."""

    def __init__(self, folder: str, words: Sequence[str], processes: int) -> None:
        """Say how a process is started; `folder` is the scratch folder."""
        self._folder = folder
        self._words = words
        self._processes = processes
        self._env = {name: value for name, value in os.environ.items() if not name.startswith("RK_")}

    def _log(self, number: int) -> str:
        return os.path.join(self._folder, f"said-{number}")

    def start(self, number: int) -> Running:
        """See `ports.bench.Crew.start`; -P keeps modules of the working folder out."""
        argv = [sys.executable, "-P", "-m", *self._words, self._folder, str(number)]
        return LocalPrograms().start(argv, self._env, log=self._log(number))

    def said(self, number: int) -> bytes:
        """See `ports.bench.Crew.said`."""
        try:
            with open(self._log(number), "rb") as stream:
                return stream.read()
        except OSError as cause:
            raise store_error(cause, "can't read", self._log(number)) from cause

    def met(self) -> int:
        """See `ports.bench.Crew.met`."""
        try:
            return os.stat(meeting_file(self._folder)).st_size // self._processes
        except FileNotFoundError:
            return 0
