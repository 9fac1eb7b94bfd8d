"""The demo, run for real: processes, signals and all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from repokernel import Board
from repokernel.demo.board import run
from tests.workers import Program, gone, until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.timeout(120)

DEMO = [sys.executable, "-m", "repokernel", "demo", "board"]


def demo(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The demo's end, with `folder` for its temporary files."""
    return subprocess.run(
        [*DEMO, *words],
        env={**os.environ, "TMPDIR": str(folder)},
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_the_demo_keeps_its_promises_and_leaves_nothing_behind(tmp_path: Path) -> None:
    ran = demo(tmp_path, "--json")
    report = json.loads(ran.stdout)
    assert (ran.returncode, ran.stderr, report["ok"], report["wrong"]) == (0, "", True, [])
    board, naive = report["board"], report["naive"]
    assert (report["topics"], board["usable"], board["done"]) == (26, 26, 26)
    assert (board["phantoms"], board["duplicates"], board["stuck"], board["tokens_wasted"]) == (0, 0, 0, 0)
    assert list(board["failed"]) == ["goto"]
    assert board["failed"]["goto"].startswith("attempts_exhausted: 3 of 3 attempts used; the last one: no_such_topic")
    assert (board["upload_failures"], board["failures"], board["old_done"]) == (1, 4, 3)
    assert board["takeovers"] >= 2  # the killed worker's and the paused one's
    assert board["refused"] == board["takeovers"] - 1  # all but the killed one's
    assert board["claims"] == 26 + 4 + board["takeovers"]
    assert naive["phantoms"] >= 4  # three old entries and the upload that failed
    assert naive["duplicates"] >= 1  # what the paused worker wrote over was done again
    assert naive["overwrites"] >= 1
    assert naive["stuck"] >= 1  # the killed worker's
    assert naive["usable"] < 26
    assert naive["tokens_wasted"] == naive["duplicates"] * 85_000
    assert list(tmp_path.iterdir()) == []


def test_what_was_kept_can_be_looked_at_and_is_not_written_over(tmp_path: Path) -> None:
    place = tmp_path / "kept"
    report = run(keep=str(place))
    assert (report.wrong(), report.kept) == ([], str(place))
    board = Board.open(place / "board" / ".repokernel")
    phases = [task["status"] for task in board.tasks()]
    assert (phases.count("done"), phases.count("failed"), len(phases)) == (26, 1, 27)
    again = demo(tmp_path, "--keep", str(place), "--json")
    assert (again.returncode, json.loads(again.stdout)["error"]["code"]) == (2, "bad_value")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_demo_that_is_interrupted_leaves_neither_files_nor_processes(tmp_path: Path, number: signal.Signals) -> None:
    # whoever runs the tests may ignore SIGINT, and what ignores it hands that down
    listen = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
    running = Program([sys.executable, "-c", listen, *DEMO], {"TMPDIR": str(tmp_path)})
    until(lambda: list(tmp_path.glob("rk-demo-*/file/marks/at-pause")), "a worker is paused")
    pids = [pid for mark in tmp_path.glob("rk-demo-*/file/marks/at-*[le]") for pid in json.loads(mark.read_bytes())]
    running.process.send_signal(number)
    assert running.finish().returncode == 130
    assert list(tmp_path.iterdir()) == []
    until(lambda: all(gone(pid) for pid in pids), "the workers have ended")


def test_an_unknown_demo_is_named() -> None:
    ran = subprocess.run([*DEMO[:-1], "nonsense", "--json"], capture_output=True, timeout=60, check=False)
    assert (ran.returncode, json.loads(ran.stdout)["error"]["code"]) == (2, "bad_value")
