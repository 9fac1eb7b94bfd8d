"""How the processes of a run and the stage meet: small files in one folder, published whole.

A worker that a fault shall strike says where it stands and waits; the stage then sends the signal, so
that each fault falls in mid-task whatever the machine's load.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from repokernel.demo.job import Fault

POLL_S = 0.01
_STAND_S_MAX = 60.0
_RUNS_MAX = 1000


class Place(NamedTuple):
    """Who stands at a fault: the process that does the task, and the worker that it does it for."""

    agent: int
    worker: int


class Marks:
    """The files of one run."""

    def __init__(self, folder: Path) -> None:
        """Use `folder`, which must exist."""
        self._folder = folder

    def stand(self, fault: Fault, worker: int) -> None:
        """Worker's side: say that the fault's place is reached, and wait for what comes.

        Ends the process if its parent has died, or nothing came.
        """
        parent, ends = os.getppid(), time.monotonic() + _STAND_S_MAX
        aside = self._folder / f"at-{fault}.new"
        aside.write_text(json.dumps([os.getpid(), worker]), encoding="ascii")
        aside.replace(self._folder / f"at-{fault}")
        while not (self._folder / f"go-{fault}").exists():
            if os.getppid() != parent or time.monotonic() > ends:
                os._exit(1)
            time.sleep(POLL_S)

    def at(self, fault: Fault) -> Place | None:
        """Stage's side: who stands there, or None."""
        try:
            return Place(*json.loads((self._folder / f"at-{fault}").read_text(encoding="ascii")))
        except FileNotFoundError:
            return None

    def let_go(self, fault: Fault) -> None:
        """Stage's side: who stands there may go on."""
        (self._folder / f"go-{fault}").touch()

    def begin(self, task: str) -> int:
        """The number of this attempt at a task: 1, 2, …; no two processes get the same."""
        for number in range(1, _RUNS_MAX):
            try:
                (self._folder / f"run-{number}-{task}").touch(exist_ok=False)
            except FileExistsError:
                continue
            return number
        raise RuntimeError(f"{task} was begun {_RUNS_MAX} times")

    def note(self, what: str, task: str) -> None:
        """Keep a fact for the report; one line at a time, from any process."""
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
