"""Faults that strike at a known place: a file says which task is to suffer what, and is used up once.

A worker that meets `kill` or `pause` says so (`at-…` with its pid) and waits; the stage that runs the
demo then sends it the signal, so that each fault falls in mid-task whatever the machine's load.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

KILL, PAUSE, UPLOAD = "kill", "pause", "upload"
_POLL_S = 0.01
WAIT_S_MAX = 45.0


class Faults:
    """The faults of one run, in a folder that all its processes share."""

    def __init__(self, folder: str) -> None:
        """Use `folder`, which must exist."""
        self._folder = Path(folder)

    def plan(self, task: str, kind: str) -> None:
        """Have `task` suffer `kind` at its next attempt."""
        (self._folder / f"plan-{kind}-{task}").touch()

    def strikes(self, task: str, kind: str) -> bool:
        """Whether this attempt is the one that suffers; true once."""
        try:
            os.unlink(self._folder / f"plan-{kind}-{task}")
        except FileNotFoundError:
            return False
        return True

    def stand(self, task: str, kind: str) -> None:
        """Worker's side: say that the place is reached, and wait for what comes."""
        (self._folder / f"at-{kind}-{task}.new").write_text(str(os.getpid()), encoding="ascii")
        os.replace(self._folder / f"at-{kind}-{task}.new", self._folder / f"at-{kind}-{task}")
        wait_for((self._folder / f"go-{task}").exists, f"the signal at {task}")

    def reached(self, task: str, kind: str) -> int | None:
        """Stage's side: the pid of the worker that stands there, or None."""
        try:
            return int((self._folder / f"at-{kind}-{task}").read_text(encoding="ascii"))
        except FileNotFoundError:
            return None

    def let_go(self, task: str) -> None:
        """Stage's side: let the worker go on."""
        (self._folder / f"go-{task}").touch()

    def note(self, what: str, task: str) -> None:
        """Keep a fact for the report, one line at a time from many processes."""
        fd = os.open(self._folder / f"log-{what}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(fd, f"{task}\n".encode())
        finally:
            os.close(fd)

    def noted(self, what: str) -> list[str]:
        """All facts of one kind."""
        try:
            return (self._folder / f"log-{what}").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []


class DemoError(Exception):
    """The demo could not be carried through; the text says where it stood."""


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Wait until `condition()` holds.

    Raises:
        DemoError: it didn't within `WAIT_S_MAX`.
    """
    ends = time.monotonic() + WAIT_S_MAX
    while not condition():
        if time.monotonic() > ends:
            raise DemoError(f"waited {WAIT_S_MAX:.0f} s in vain for {what}")
        time.sleep(_POLL_S)
