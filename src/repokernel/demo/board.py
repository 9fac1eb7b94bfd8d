"""The stage of `rk demo board`: sets the job up, strikes with the faults, and has the result counted."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import repokernel
from repokernel.adapters.process import LocalPrograms, Running
from repokernel.api.board import Board
from repokernel.core.errors import error
from repokernel.demo.agent import POISON, TOPICS
from repokernel.demo.faults import KILL, PAUSE, UPLOAD, DemoError, Faults, wait_for
from repokernel.demo.report import BoardCounts, NaiveCounts, Report, count_board, count_naive
from repokernel.demo.summarise import documents, is_whole

if TYPE_CHECKING:
    from collections.abc import Callable

WORKERS = 4
_OLD_DONE = 3  # entries of the old queue that say done with nothing behind
_CONFIG = '[lease]\nskew = "200ms"\n[backoff]\nbase = "100ms"\ncap = "400ms"\n'


def run(keep: str | None = None) -> Report:
    """Run the demo in a temporary folder, or in `keep`, which must not hold a demo yet.

    Raises:
        BrokenError: `command_failed`: the demo could not be carried through.
    """
    root = Path(keep).absolute() if keep else Path(tempfile.mkdtemp(prefix="rk-demo-"))
    try:
        root.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        naive = _naive(_make(root / "naive"))
        counts = _board(_make(root / "board"))
        return Report(counts, naive, time.monotonic() - began)
    except (DemoError, OSError) as cause:
        raise error("command_failed", f"the demo could not be carried through: {cause}") from cause
    finally:
        if keep is None:
            shutil.rmtree(root, ignore_errors=True)


def _say(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"{text} …\n")


def _make(folder: Path) -> Path:
    """A folder with the queue in the old form and an empty one for faults."""
    (folder / "faults").mkdir(parents=True)
    (folder / "out").mkdir()
    names = [*documents(TOPICS), POISON]
    tasks = [{"id": name, "title": f"summarise {name}", "done": place < _OLD_DONE} for place, name in enumerate(names)]
    (folder / "queue.json").write_text(json.dumps(tasks), encoding="utf-8")
    return folder


class _Crew:
    """Four worker processes and the faults that strike them."""

    def __init__(self, module: str, *args: str, faults: Faults) -> None:
        source = str(Path(repokernel.__file__).parent.parent)
        path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")]))
        env = {**os.environ, "PYTHONPATH": path}
        argv = [sys.executable, "-m", f"repokernel.demo.{module}", *args]
        self.faults = faults
        self.workers = [LocalPrograms().start(argv, env, out_to_err=True) for _ in range(WORKERS)]

    def at(self, task: str, kind: str) -> Running:
        """The worker that has reached a fault."""
        wait_for(lambda: self.faults.reached(task, kind) is not None, f"a worker to reach {task}")
        pid = self.faults.reached(task, kind)
        return next(worker for worker in self.workers if worker.pid == pid)

    def finish(self) -> None:
        """Wait until all have ended by themselves."""
        wait_for(lambda: all(worker.wait(0.01) is not None for worker in self.workers), "the workers to end")

    def end(self) -> None:
        """End whoever still runs."""
        for worker in self.workers:
            if worker.wait(0) is None:
                worker.stop(0)


def _victims() -> tuple[str, str, str]:
    """Which topic suffers which fault: killed, paused, not written."""
    names = list(documents(TOPICS))
    return names[4], names[9], names[14]


def _strike(crew: _Crew, while_paused: Callable[[], bool]) -> None:
    """Kill one worker in mid-task; pause another until its work has been done without it, and wake it."""
    killed, paused, _ = _victims()
    sleeper = crew.at(paused, PAUSE)
    sleeper.signal(signal.SIGSTOP)
    crew.at(killed, KILL).stop(0)
    wait_for(while_paused, f"others to do {paused}")
    crew.faults.let_go(paused)
    sleeper.signal(signal.SIGCONT)
    crew.finish()


def _plan(folder: Path) -> Faults:
    faults = Faults(str(folder / "faults"))
    for task, kind in zip(_victims(), (KILL, PAUSE, UPLOAD), strict=True):
        faults.plan(task, kind)
    return faults


def _naive(folder: Path) -> NaiveCounts:
    _say(f"{WORKERS} agents share a JSON file with done: true")
    queue, out = folder / "queue.json", folder / "out"
    tasks = json.loads(queue.read_text(encoding="utf-8"))
    skipped = {task["id"] for task in tasks if task["done"]}
    faults = _plan(folder)
    _, paused, _ = _victims()
    crew = _Crew("naive", str(queue), str(out), str(folder / "faults"), faults=faults)
    try:
        _strike(crew, lambda: paused in faults.noted("ran"))
    finally:
        crew.end()
    said = {task["id"]: task["done"] for task in json.loads(queue.read_text(encoding="utf-8"))}
    whole = {name for name in documents(TOPICS) if _is_whole(out / f"{name}.md", name)}
    return count_naive(faults.noted("ran"), faults.noted("failed") + sorted(skipped), faults.noted("late"), said, whole)


def _is_whole(path: Path, name: str) -> bool:
    return path.exists() and is_whole(name, path.read_text(encoding="utf-8"))


def _board(folder: Path) -> BoardCounts:
    _say(f"{WORKERS} workers share the board, with the same faults")
    url = str(folder / "store")
    board = Board.open(url, role="stage", create=True)
    (folder / "store" / "config.toml").write_text(_CONFIG, encoding="utf-8")
    board = Board.open(url, role="stage")
    made = board.add_all(json.loads((folder / "queue.json").read_text(encoding="utf-8")))
    faults = _plan(folder)
    _, paused, _ = _victims()
    crew = _Crew("agent", url, str(folder / "faults"), faults=faults)
    try:
        _strike(crew, lambda: board.show(paused)["status"] == "done")
    finally:
        crew.end()
    return count_board(board, len(faults.noted("refused")), len(made.findings))
