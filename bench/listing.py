"""`list` and `--next` on 10,000 tasks, in processor time a task."""

from __future__ import annotations

import sys
import tempfile

from bench.hot import _rk
from bench.measure import middle, run
from repokernel import Board

TASKS = 10_000
GOAL_US = 40.0


def listing(rounds: int) -> bool:
    """Print what the commands cost; a goal, not a gate."""
    rk = _rk()
    with tempfile.TemporaryDirectory() as folder:
        url = f"{folder}/board"
        board = Board.open(url, create=True)
        board.add_all([{"id": f"t{n}", "title": f"task {n}"} for n in range(TASKS)])
        floor = middle([run([sys.executable, "-I", "-c", "import json, hashlib"]) for _ in range(rounds)])
        print(f"on {TASKS:,} tasks, medians of {rounds}, less the floor of {floor.cpu_ms:.1f} ms CPU")
        for what, argv in {
            "list": ["list"],
            "list --json": ["list", "--json"],
            "list --ready": ["list", "--ready"],
            "claim --next": ["claim", "--next"],
            "claim ID": ["claim", "t77"],
        }.items():
            cost = middle([run([*rk, *argv, "--board", url]) for _ in range(rounds)])
            us = (cost.cpu_ms - floor.cpu_ms) * 1000 / TASKS
            print(f"  {what:<14} {cost.wall_ms:7.0f} ms wall {cost.cpu_ms:7.0f} ms CPU {us:6.1f} us a task")
        print(f"  goal: {GOAL_US:.0f} us of CPU a task")
    return True
