"""`rk demo board`: the same job with the same faults on a plain file and on a board, compared."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from repokernel.api.board import Board
from repokernel.core.errors import error
from repokernel.demo.counts import BoardCounts, NaiveCounts, count_board, count_naive
from repokernel.demo.job import WORKERS, Fault, queue, victim
from repokernel.demo.report import Report
from repokernel.demo.stage import Stage, say

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_PATIENCE_S = 50.0
_SLEPT_THROUGH = 6  # topics that the others finish while the file's paused worker sleeps
_CONFIG = """\
# short times, so that the demo is over soon
[lease]
default = "3s"
skew = "200ms"
[backoff]
base = "100ms"
cap = "400ms"
"""


def run(keep: str | None = None) -> Report:
    """Run the demo in a temporary folder, or in `keep`, which must be empty or not there.

    Raises:
        UsageError: `bad_value` for `keep`.
        BrokenError: `command_failed`: the demo could not be carried through.
    """
    began_s = time.monotonic()
    with _ending_on_signals(), _folder(keep) as root:
        try:
            naive = _on_a_file(root / "file", began_s + _PATIENCE_S)
            board = _on_a_board(root / "board", began_s + _PATIENCE_S)
        except OSError as cause:
            raise error("command_failed", f"the demo could not be carried through: {cause}") from cause
        return Report(board, naive, time.monotonic() - began_s, str(root) if keep else None)


@contextlib.contextmanager
def _folder(keep: str | None) -> Iterator[Path]:
    if keep is not None:
        root = Path(keep).absolute()
        try:
            root.mkdir(parents=True, exist_ok=True)
            empty = not any(root.iterdir())
        except OSError as cause:
            raise error("bad_value", f"--keep {keep!r:.200}: {cause.strerror}", field="keep") from cause
        if not empty:
            raise error("bad_value", f"--keep {keep!r:.200} is not empty", hint="name a new folder", field="keep")
        yield root
        return
    root = Path(tempfile.mkdtemp(prefix="rk-demo-"))
    try:
        yield root
    finally:
        for _ in range(50):  # a program that was killed a moment ago may still write a last file
            shutil.rmtree(root, ignore_errors=True)
            if not root.exists():
                break
            time.sleep(0.02)


@contextlib.contextmanager
def _ending_on_signals() -> Iterator[None]:
    """Leave the body, and whatever it cleans up, as Ctrl-C does when asked to end otherwise."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _on_a_file(folder: Path, ends_s: float) -> NaiveCounts:
    """The workers begin one after the other, which spares the file a first collision of all four."""
    say(f"{WORKERS} workers on a JSON file with `done: true` …")
    stage = Stage(folder, ends_s)
    file, out = folder / "queue.json", folder / "out"
    out.mkdir()
    file.write_text(json.dumps(queue()), encoding="utf-8")
    words = ("repokernel.demo.naive", str(file), str(out), str(folder / "marks"))

    def done() -> int:
        return sum(bool(task["done"]) for task in json.loads(file.read_text(encoding="utf-8")))

    try:
        stage.start(*words)
        stage.kill()
        stage.start(*words)
        stage.pause()
        enough = done() + _SLEPT_THROUGH
        for _ in range(WORKERS - 2):
            stage.start(*words)
        stage.until(lambda: done() >= enough, "the others finish some topics")
        stage.wake()
        stage.finish()
    finally:
        stage.end()
    return count_naive(file, out, stage.marks.noted("written"), len(stage.marks.noted("overwrote")))


def _on_a_board(folder: Path, ends_s: float) -> BoardCounts:
    say(f"{WORKERS} workers on a board, with the same faults …")
    stage = Stage(folder, ends_s)
    place, file = folder / ".repokernel", folder / "queue.json"
    file.write_text(json.dumps(queue()), encoding="utf-8")
    stage.run("repokernel", "init", "--board", str(place))
    (place / "config.toml").write_text(_CONFIG, encoding="utf-8")
    imported = json.loads(stage.run("repokernel", "add", "--from", str(file), "--board", str(place), "--json"))
    agent = (sys.executable, "-m", "repokernel.demo.agent", str(folder / "marks"))
    board = Board.open(place)
    try:
        for _ in range(WORKERS):
            stage.start("repokernel", "work", "--role", "summariser", "--board", str(place), "--json", "--", *agent)
        stage.pause()
        stage.kill()
        say("one worker is killed, one is paused until its lease has run out …")
        stage.until(lambda: board.show(victim(Fault.PAUSE))["status"] == "done", "another does the paused one's topic")
        stage.wake()
        stage.finish()
    finally:
        stage.end()
    tallies = [json.loads(line)["ids"] for line in stage.said() if line.startswith("{")]
    return count_board(board, tallies, len(imported["findings"]))
