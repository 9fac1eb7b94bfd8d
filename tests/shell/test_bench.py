"""`rk bench store`, run for real."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.workers import Program, gone, rk, until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.timeout(120)

BENCH = [sys.executable, "-m", "repokernel", "bench", "store"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    assert rk(tmp_path / "board", "init", "--board", str(tmp_path / "board")).returncode == 0
    return tmp_path / "board"


def started(pid: int) -> list[int]:
    """The processes that a process has started."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as stream:
        return [int(word) for word in stream.read().split()]


def test_a_bench_says_what_the_store_can_do_and_nothing_on_the_side(place: Path) -> None:
    before = sorted(path.name for path in place.rglob("*"))
    ran = subprocess.run(
        [*BENCH, "--seconds", "1", "--processes", "2", "--board", str(place), "--json"],
        capture_output=True,
        timeout=60,
        check=False,
    )
    said = json.loads(ran.stdout)
    assert (ran.returncode, ran.stderr, said["ok"], said["outcome"]) == (0, b"", True, "measured")
    assert said["store"] == f"file:{place}"
    assert {one["name"] for one in said["measures"]} == {"bare", "publish", "renew", "claim_done", "read_head"}
    assert all(one["per_second"] > 0 for one in said["measures"])
    assert (said["race"]["processes"], said["race"]["double_wins"]) == (2, 0)
    assert sorted(path.name for path in place.rglob("*")) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_bench_that_is_interrupted_leaves_neither_files_nor_processes(place: Path, number: signal.Signals) -> None:
    # whoever runs the tests may ignore SIGINT, and what ignores it hands that down
    listen = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
    words = ["--seconds", "60", "--processes", "2", "--board", str(place)]
    running = Program([sys.executable, "-c", listen, *BENCH, *words], {})
    until(lambda: list(place.glob(".bench-*/records/claims/p*")), "records are published")
    pids = started(running.pid)
    running.process.send_signal(number)
    ended = running.finish()
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "rk: interrupted\n")
    assert list(place.glob(".bench-*")) == []
    assert len(pids) == 2
    until(lambda: all(gone(pid) for pid in pids), "the processes have ended")


def test_the_next_bench_sweeps_what_a_killed_one_left(place: Path) -> None:
    running = Program([*BENCH, "--seconds", "60", "--processes", "2", "--board", str(place)], {})
    until(lambda: list(place.glob(".bench-*/records/claims/p*")), "records are published")
    pids = started(running.pid)
    running.process.kill()
    running.finish()
    until(lambda: all(gone(pid) for pid in pids), "the processes have ended with it")
    assert len(list(place.glob(".bench-*"))) == 1
    assert rk(place, "bench", "store", "--seconds", "1", "--processes", "2").returncode == 0
    assert list(place.glob(".bench-*")) == []
