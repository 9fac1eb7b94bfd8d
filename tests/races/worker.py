"""The process behind `tests.workers.Worker`: reads orders as JSON lines, answers with JSON lines.

Run as `python -m tests.races.worker BOARD`. An order with `gated` says "at the gate" just before its
first append and waits for one more line: that is how a test makes all racers decide on the same head.
"""

import json
import os
import sys
from typing import Any

from repokernel.adapters.board_folder import Place, settings
from repokernel.adapters.outputs_file import FileOutputs
from repokernel.adapters.store_file import FileStore
from repokernel.adapters.system import Machine
from repokernel.api.board import Board
from repokernel.api.claim import Claim
from repokernel.bootstrap import identity
from repokernel.core.errors import RkError
from repokernel.core.ids import Key, TaskId
from repokernel.ops import carry, steer
from repokernel.ops.claim import claim, claim_next
from repokernel.ops.work import nap
from repokernel.ports.world import World
from tests.faulty_store import FaultyStore

Facts = dict[str, Any]


def say(**facts: object) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def gate() -> None:
    say(at="gate")
    sys.stdin.readline()


class Hand:
    """Carries orders out on one board."""

    def __init__(self, board: str) -> None:
        place = Place(board, repository=False)
        self.store = FaultyStore(FileStore(board))
        self.world = World(
            self.store, Machine(), FileOutputs(board, os.getcwd()), lambda: settings(place.root), repository=False
        )
        self.me = identity(os.environ, role="racer", owner_pid=None, own_process=True)
        self.held: Claim | None = None

    def carry_out(self, facts: Facts) -> Facts:
        order = getattr(self, facts["order"])
        self.store.before["append"] = [gate] if facts.get("gated") else []
        try:
            return {"ok": True, **order(facts)}
        except RkError as cause:
            return {"ok": False, **cause.as_dict()}

    def hello(self, facts: Facts) -> Facts:
        return {"me": self.me}

    def append(self, facts: Facts) -> Facts:
        return {"created": self.store.append(Key(facts["key"]), facts["seq"], facts["text"].encode())}

    def claim(self, facts: Facts) -> Facts:
        return {"task": claim(self.world, TaskId(facts["task"]), self.me, facts.get("lease_ms", 600_000)).entry}

    def release(self, facts: Facts) -> Facts:
        return {"task": carry.release(self.world, TaskId(facts["task"]), self.me, facts["token"]).entry}

    def note(self, facts: Facts) -> Facts:
        return {"task": steer.note(self.world, TaskId(facts["task"]), self.me, facts["text"]).entry}

    def drain(self, facts: Facts) -> Facts:
        """Claim and complete task after task; what was handed out, with its token."""
        handed: list[list[object]] = []
        while True:
            cursor = self.store.wait(None, 0)
            try:
                entry = claim_next(self.world, self.me, 600_000)
            except RkError as cause:
                if cause.code == "drained":
                    return {"handed": handed}
                if cause.kind != "busy":
                    raise
                nap(self.world, cursor, cause)
                continue
            handed.append([entry["id"], entry["token"]])
            carry.done(self.world, TaskId(entry["id"]), self.me, entry["token"], None)

    def hold(self, facts: Facts) -> Facts:
        """Claim a task as a Python program does, renewed in the background."""
        self.held = Board(self.world, role="racer").claim(facts["task"], lease=facts["lease"])
        self.held.__enter__()
        return {"token": self.held.token, "path": str(self.held.output_path("out.txt"))}

    def held_claim(self) -> Claim:
        assert self.held is not None
        return self.held

    def wait_lost(self, facts: Facts) -> Facts:
        return {"lost": self.held_claim().lost.wait(20)}

    def complete(self, facts: Facts) -> Facts:
        path = self.held_claim().output_path("out.txt")
        path.write_text(facts["text"], encoding="utf-8")
        return {"task": self.held_claim().complete(path)}

    def give_up(self, facts: Facts) -> Facts:
        return {"task": self.held_claim().fail("too_hard", "no")}

    def give_back(self, facts: Facts) -> Facts:
        return {"task": self.held_claim().release()}

    def renew(self, facts: Facts) -> Facts:
        return {"task": self.held_claim().renew()}


def main(board: str) -> None:
    hand = Hand(board)
    for line in sys.stdin:
        say(**hand.carry_out(json.loads(line)))


if __name__ == "__main__":
    main(sys.argv[1])
