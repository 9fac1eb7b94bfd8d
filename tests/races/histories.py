"""Histories of one board as eight real processes saw it, recorded for the linearizability checker."""

import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

from repokernel.bootstrap import make_board
from tests.sim.linear import Op
from tests.sim.task_words import Answer, Call
from tests.workers import ROOT, Worker

PROCESSES = 8
OPERATIONS = 500
BACKOFF_MS = (6, 24)
SKEW_MS = 1
CONFIG = f"""
[lease]
skew = "{SKEW_MS}ms"
[backoff]
base = "{BACKOFF_MS[0]}ms"
cap = "{BACKOFF_MS[1]}ms"
"""
OWNERS = [f"racer@p{number}" for number in range(PROCESSES)]
SHORT_MS, LONG_MS, LONG = (5, 5, 10, 20, 40), 60_000, 0.2  # leases; the share of histories in which none lapses
_MEMORY = Path("/dev/shm")


class Historian(Worker):
    """A process that takes part in one history after the other."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.races.history_worker"]
        self.process = Popen(command, cwd=ROOT, stdin=PIPE, stdout=PIPE)
        self._heard = b""


@contextmanager
def team(fallback: Path) -> Iterator["Team"]:
    """Eight processes; neither they nor their boards are left afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="rk-histories-", dir=_MEMORY if os.access(_MEMORY, os.W_OK) else fallback))
    historians = [Historian() for _ in range(PROCESSES)]
    try:
        yield Team(folder, historians)
    finally:
        for one in historians:
            one.__exit__(None, None, None)
        shutil.rmtree(folder)


class Team:
    """Processes that make histories, each on a board of its own in `folder`, which lies in memory if it can."""

    def __init__(self, folder: Path, historians: list[Historian]) -> None:
        self.folder = folder
        self.historians = historians

    def record(self, seed: int) -> list[Op]:
        """What eight processes did to one board; the seed decides what they ask, the kernel when."""
        draw = random.Random(seed)
        board = self.folder / f"board-{seed}"
        make_board(str(board), str(self.folder))
        (board / "config.toml").write_text(CONFIG, encoding="utf-8")
        plan = {
            "board": str(board),
            "owners": OWNERS,
            "tasks": [f"t{number}" for number in range(draw.randint(3, 6))],
            "lease_ms": LONG_MS if draw.random() < LONG else draw.choice(SHORT_MS),
            "operations": -(-OPERATIONS // PROCESSES),
        }
        for number, one in enumerate(self.historians):
            line = json.dumps({**plan, "process": number, "seed": draw.getrandbits(48)})
            assert one.process.stdin is not None
            one.process.stdin.write(line.encode() + b"\n")
            one.process.stdin.flush()
        said: list[Any] = [one.hear() for one in self.historians]
        shutil.rmtree(board)
        return history(said)


def history(said: list[Any]) -> list[Op]:
    """The operations of a history from what each process said, in milliseconds from the first call."""
    first_ns = min(event[1] for events in said for event in events)
    return [
        Op(
            part=part,
            process=process,
            invoked=(called_ns - first_ns) / 1e6,
            returned=None if answered_ns is None else (answered_ns - first_ns) / 1e6,
            call=Call(*call),
            answer=None if answer is None else _answer(*answer),
        )
        for process, events in enumerate(said)
        for part, called_ns, answered_ns, call, answer in events
    ]


def _answer(code: str | None, saw: list[Any]) -> Answer:
    return Answer(code, tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in saw))


def counted(operations: list[Op]) -> Counter[str]:
    """How often what happened: the operations, each kind of answer, takeovers, lost answers."""
    counts: Counter[str] = Counter(operations=len({(op.process, op.invoked) for op in operations}))
    counts["answers lost"] = len({op.invoked for op in operations if op.answer is None})
    told = [(op, dict(op.answer.saw)) for op in operations if op.answer is not None and op.call.what != "sweep"]
    let_go = {(op.part, saw["token"]) for op, saw in told if saw.get("owner", "") is None and "token" in saw}
    for op, saw in told:
        code = op.answer.code or "ok"
        counts[code] += 1
        counts[f"{op.call.what} {code}"] += 1
        claims = op.call.what.startswith("claim") and code == "ok" and saw["token"] > 1
        counts["takeovers"] += claims and saw["error"] == "crashed" and (op.part, saw["token"] - 1) not in let_go
    return counts
