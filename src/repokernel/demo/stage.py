"""The stage of one run: starts its processes, strikes with the faults, and waits, never for ever."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

from repokernel.adapters.process import LocalPrograms, run
from repokernel.adapters.system import Machine
from repokernel.core.errors import error
from repokernel.demo.job import Fault
from repokernel.demo.marks import POLL_S, Marks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from repokernel.adapters.process import Running

_LINE_CHARS_MAX = 200


def say(text: str) -> None:
    """Tell somebody who watches how far it is."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{text}\n")


class Stage:
    """One run in a folder of its own; `ends_s` is the instant of the monotonic clock at which it is given up."""

    def __init__(self, folder: Path, ends_s: float) -> None:
        """Make what the run needs below `folder`."""
        self._folder = folder
        self._ends_s = ends_s
        self._workers: list[Running] = []
        for name in ("marks", "tmp", "logs"):
            (folder / name).mkdir(parents=True)
        self.marks = Marks(folder / "marks")
        mine = {name: value for name, value in os.environ.items() if not name.startswith("RK_")}
        self._env = {**mine, "TMPDIR": str(folder / "tmp")}

    def run(self, *words: str) -> str:
        """What `python -m WORDS…` printed.

        Raises:
            BrokenError: `command_failed`.
        """
        left_s = max(self._ends_s - time.monotonic(), 0.1)
        done = run([sys.executable, "-m", *words], timeout_s=left_s, env=self._env)
        if done.status != 0:
            raise _failure(f"`{' '.join(words[:2])}` ended with {done.status}: {done.err.strip() or done.out.strip()}")
        return done.out

    def start(self, *words: str) -> None:
        """Start one more worker, `python -m WORDS…`."""
        log = str(self._folder / "logs" / f"worker-{len(self._workers) + 1}")
        self._workers.append(LocalPrograms().start([sys.executable, "-m", *words], self._env, log=log))

    def until(self, holds: Callable[[], object], what: str) -> None:
        """Return once `holds` is true.

        Raises:
            BrokenError: `command_failed`: it isn't in time, or all workers have ended without it.
        """
        while not holds():
            if time.monotonic() > self._ends_s:
                raise _failure(f"waited in vain: {what}")
            if self._all_ended() and not holds():
                raise _failure(f"all workers have ended before {what}; the last one said: {self.said()[-1]}")
            time.sleep(POLL_S)

    def _at(self, fault: Fault) -> tuple[int, Running]:
        """The process that stands at a fault's place, and the worker that it does the task for."""
        self.until(lambda: self.marks.at(fault), f"a worker is in the middle of the task to {fault} it in")
        place = self.marks.at(fault)
        assert place is not None, fault
        return place.agent, next(worker for worker in self._workers if worker.pid == place.worker)

    def kill(self) -> None:
        """SIGKILL the worker in mid-task, and it alone; its program ends with it."""
        agent, worker = self._at(Fault.KILL)
        worker.signal(signal.SIGKILL)
        self.until(lambda: worker.wait(0) is not None, "the killed worker has ended")
        self.until(lambda: _gone(agent), "the killed worker's program has ended")

    def pause(self) -> None:
        """SIGSTOP the worker in mid-task, and its program."""
        agent, worker = self._at(Fault.PAUSE)
        worker.signal(signal.SIGSTOP)
        os.kill(agent, signal.SIGSTOP)

    def wake(self) -> None:
        """SIGCONT the paused program, and its worker once the program has done what it still had to do."""
        agent, worker = self._at(Fault.PAUSE)
        self.marks.let_go(Fault.PAUSE)
        os.kill(agent, signal.SIGCONT)
        if agent != worker.pid:
            self.until(lambda: _gone(agent), "the woken program has ended")
        worker.signal(signal.SIGCONT)

    def finish(self) -> None:
        """Wait until all workers have ended by themselves."""
        self.until(self._all_ended, "the workers have ended")

    def _all_ended(self) -> bool:
        return all(worker.wait(0) is not None for worker in self._workers)

    def said(self) -> list[str]:
        """The last line that each worker said."""
        logs = [self._folder / "logs" / f"worker-{place + 1}" for place in range(len(self._workers))]
        texts = [log.read_text(encoding="utf-8", errors="replace").rstrip() for log in logs]
        return [text.rpartition("\n")[2] for text in texts]

    def end(self) -> None:
        """End whoever still runs, stopped or not."""
        for worker in self._workers:
            if worker.wait(0) is None:
                worker.stop(0)


def _gone(pid: int) -> bool:
    """Whether a process has ended (one that nobody has waited for yet counts as ended)."""
    return Machine().process(pid) is None


def _failure(text: str) -> Exception:
    shown = "".join(ch if ch.isprintable() else " " for ch in text)
    return error("command_failed", f"the demo could not be carried through: {shown[: 4 * _LINE_CHARS_MAX]}")
