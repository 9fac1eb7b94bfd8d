"""The process behind `tests.races.histories`: does random operations on a board and says what came of each.

Run as `python -m tests.races.history_worker`. An order is a JSON line, the plan of one history; the answer is
a line with all its events. Its chance is seeded; the schedule, which is the kernel's, isn't. To make rare
schedules common it sometimes gives way in the middle of an operation, now and then for longer than a lease.
"""

import json
import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from repokernel.adapters.store_file import FileStore
from repokernel.bootstrap import open_world
from repokernel.core.entry import Entry
from repokernel.core.errors import RkError
from repokernel.core.ids import Key, TaskId
from repokernel.ops import carry, steer
from repokernel.ops.add import add
from repokernel.ops.claim import claim, claim_next
from repokernel.ops.log import require_head
from repokernel.ports.world import World
from tests.sim.task_words import Answer, Call

# how often each operation is drawn
WEIGHTS = {
    "claim": 24, "claim_next": 8, "renew": 9, "done": 9, "fail": 8, "release": 7, "ask": 4, "answer": 4, "note": 5,
    "hold": 3, "unhold": 5, "cancel": 2, "reopen": 7, "retry": 4, "evict": 2, "show": 7, "add": 2, "repeat": 8,
}  # fmt: skip
ENDS = ("done", "fail", "release", "ask")
NAMED = ("note", "answer", "hold", "unhold", "cancel", "reopen", "retry")
CODES = ("too_hard", "agent_failed", "agent_limited")
LIMITS = (2, 3, 1000)
LOST = 0.008  # the share of writes whose answer is lost, half of them before anything was written
GIVES_WAY, PAUSES = 0.15, 0.02  # the share of writes before which another process may run; of those it lets a lease end
FORGETS = 0.4  # the share of claims that are left to lapse
_ABOUT = {
    "held": ("owner", "token"), "lease_lost": ("status", "owner", "current_token"), "not_owner": ("owner",),
    "on_hold": ("hold",), "settled": ("status",), "wrong_phase": ("status",), "needs_person": ("status",),
    "not_claimed": ("status",), "attempts_exhausted": ("attempts",),
}  # fmt: skip

# the task, called and answered in ns, what was asked and answered; the latter two None where the answer was lost
Event = tuple[str, int, int | None, Call, Answer | None]
Said = list[tuple[str, Call, Answer | None]]


class AnswerLostError(Exception):
    """Nobody knows what became of a write."""


class GivingWay(FileStore):
    """The real store, whose callers are sometimes overtaken before they write or read once more, or hear nothing."""

    def __init__(self, root: str, draw: random.Random, lease_ms: float) -> None:
        super().__init__(root)
        self._draw = draw
        self._lease_ms = min(lease_ms, 50)

    def _give_way(self) -> None:
        chance = self._draw.random()
        if chance < PAUSES:
            time.sleep(self._lease_ms * 1.3 / 1000)
        elif chance < GIVES_WAY:
            os.sched_yield()

    def append(self, key: Key, seq: int, data: bytes, *, stir: bool = False) -> bool:
        """See `ports.store.Store.append`."""
        self._give_way()
        lost = self._draw.random()
        if lost < LOST / 2:
            raise AnswerLostError
        created = super().append(key, seq, data, stir=stir)
        if lost < LOST:
            raise AnswerLostError
        return created

    def write_side(self, side: str, name: str, data: bytes) -> None:
        """See `ports.store.Store.write_side`."""
        self._give_way()
        super().write_side(side, name, data)
        self._give_way()


def seen_in(entry: Entry) -> dict[str, Any]:
    """What an entry says of a task, in the words of the specification."""
    return {
        **{name: entry[name] for name in ("status", "owner", "token", "epoch", "attempts", "hold", "question")},
        "limit": entry["max_attempts"],
        "error": entry["last_error"] and entry["last_error"]["code"],
        "waits": entry["not_before"] is not None,
        "notes": len(entry["notes"]),
        "last_note": entry["notes"][-1]["text"] if entry["notes"] else "",
        "owners": sorted(entry["claimed_by"]),
    }


def seen_in_refusal(cause: RkError) -> dict[str, Any]:
    """What a refusal says of a task."""
    names = _ABOUT.get(cause.code, ())
    return {name.removeprefix("current_"): cause.fields[name] for name in names if name in cause.fields}


class Actor:
    """One process of a history: draws calls, makes them, and remembers what it needs to draw well."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.draw = random.Random(plan["seed"])
        self.me: str = plan["owners"][plan["process"]]
        self.owners: list[str] = plan["owners"]
        self.tasks: list[str] = plan["tasks"]
        self.lease_ms: float = plan["lease_ms"]
        self.world: World = open_world(plan["board"], plan["board"], lasting=self.draw.random() < 0.5)
        self.world.store = GivingWay(plan["board"], self.draw, self.lease_ms)
        self.mine: dict[str, list[int]] = {task: [] for task in self.tasks}
        self.holds: dict[str, int] = {}
        self.known = dict.fromkeys(self.tasks, 1)
        self.unknown: set[str] = set()
        self.settled: set[str] = set()
        self.said: list[tuple[str, Call]] = []
        self.events: list[Event] = []

    def call(self, what: str, task: str) -> Call:
        """An operation's call with arguments drawn."""
        name = f"{self.me}:{len(self.events)}" if what in NAMED and self.draw.random() < 0.4 else ""
        call = Call(what=what, by=self.me, name=name)
        if what in ("claim", "claim_next"):
            return call._replace(ms=self.lease_ms * self.draw.choice((1, 1, 2)))
        if what == "renew":
            return call._replace(token=self.token(task), ms=self.draw.choice((None, self.lease_ms, 6 * self.lease_ms)))
        if what in ENDS:
            text = {"fail": self.draw.choice(CODES), "ask": "which?"}.get(what, "")
            return call._replace(token=None if self.draw.random() < 0.1 else self.token(task), text=text)
        if what == "add":
            return call._replace(limit=self.draw.choice(LIMITS))
        texts = {"hold": self.draw.choice(("stop", "wait")), "evict": self.draw.choice(self.owners)}
        said = f"{self.me[-2:]} {len(self.events)}"
        return call._replace(text=texts.get(what, said if what in ("note", "answer", "cancel") else ""))

    def token(self, task: str) -> int:
        """A token to present: mostly the one that one holds, but also an old one, or somebody else's."""
        chance = self.draw.random()
        if task in self.holds and chance < 0.8:
            return self.holds[task]
        return self.draw.choice(self.mine[task]) if self.mine[task] and chance < 0.9 else self.known[task]

    def choose(self) -> tuple[str, str]:
        """(an operation, a task), drawn so that not most of all answers are refusals."""
        what, task = self.draw.choices(list(WEIGHTS), list(WEIGHTS.values()))[0], self.draw.choice(self.tasks)
        if self.draw.random() < 0.3:
            return what, task
        if task in self.unknown:
            return "add", task
        if what in (*ENDS, "renew"):
            return (what, self.draw.choice(list(self.holds))) if self.holds else ("claim", task)
        return ("reopen" if task in self.settled and what in ("claim", "hold", "answer") else what), task

    def act(self) -> None:
        """Do one operation and write down what came of it."""
        what, task = self.choose()
        if what != "repeat":
            call = self.call(what, task)
        elif self.said:
            task, call = self.draw.choice(self.said[-6:])
        else:
            call = self.call("claim", task)
        self.make(task, call)
        if what in ENDS or call.name:
            self.said.append((task, call))

    def make(self, task: str, call: Call) -> None:
        """Make one call and write down what came of it."""
        called_ns = time.monotonic_ns()
        try:
            answers = {"claim_next": self.next, "evict": self.evict}.get(call.what, self.single)(task, call)
        except RkError as cause:
            answers = self.refused(task, call, cause)
        except AnswerLostError:
            answers = self.unheard(task, call)
        answered_ns = time.monotonic_ns()
        for name, said, answer in answers:
            self.events.append((name, called_ns, None if answer is None else answered_ns, said, answer))
            if answer is not None:
                self.remember(name, said, answer)

    def remember(self, name: str, call: Call, answer: Answer) -> None:
        """Keep what an answer says of a task, for the next draw."""
        told = dict(answer.saw)
        self.known[name] = told.get("token", self.known[name])
        (self.unknown.add if answer.code == "task_unknown" else self.unknown.discard)(name)
        if told.get("status") in ("done", "failed", "cancelled"):
            self.settled.add(name)
        elif "status" in told:
            self.settled.discard(name)
        if call.what in ("claim", "claim_next") and answer.code is None:
            self.mine[name].append(told["token"])
            if self.draw.random() >= FORGETS:
                self.holds[name] = told["token"]
        elif (call.what in ENDS and answer.code is None) or answer.code == "lease_lost":
            self.holds.pop(name, None)

    def refused(self, task: str, call: Call, cause: RkError) -> Said:
        """A refusal; that of an operation on the whole board says nothing of a single task, but may have swept it."""
        if call.what == "claim_next":
            assert cause.code in ("not_yet", "drained", "contention"), cause
            return self.swept()
        assert call.what != "evict", cause
        return [(task, call, Answer(cause.code, tuple(seen_in_refusal(cause).items())))]

    def unheard(self, task: str, call: Call) -> Said:
        """Perhaps it was done, perhaps not; an operation on the whole board perhaps to any task."""
        names = self.tasks if call.what in ("claim_next", "evict") else [task]
        return [(name, call, None) for name in names] + (self.swept() if call.what == "claim_next" else [])

    def swept(self) -> Said:
        """A search for the next task, as every task may have felt it."""
        return [(name, Call(what="sweep", by=self.me), Answer(None)) for name in self.tasks]

    def next(self, _: str, call: Call) -> Said:
        entry = claim_next(self.world, self.me, int(call.ms or 0))
        return [*self.swept(), (entry["id"], call, Answer(None, tuple(seen_in(entry).items())))]

    def evict(self, _: str, call: Call) -> Said:
        freed = {entry["id"]: entry for entry in steer.evict(self.world, call.text, self.me, "away")}
        nothing = Answer("nothing")
        return [
            (name, call, Answer(None, tuple(seen_in(freed[name]).items())) if name in freed else nothing)
            for name in self.tasks
        ]

    def single(self, name: str, call: Call) -> Said:
        task = TaskId(name)
        if call.what == "show":
            head = require_head(self.world, task)
            seen = {**seen_in(head.entry), "seq": head.record.seq}
        elif call.what == "note":
            applied = steer.note(self.world, task, self.me, call.text, call.name)
            seen = seen_in(applied.entry)
            if applied.changed and seen["owner"] == self.me:  # its holder has renewed after it: that answer is later
                seen = {name: seen[name] for name in ("owner", "token")}
        else:
            seen = seen_in(_DO[call.what](self.world, task, call))
        return [(name, call, Answer(None, tuple(seen.items())))]


_Do = Callable[[World, TaskId, Call], Entry]
_DO: dict[str, _Do] = {
    "add": lambda w, t, c: add(w, {"id": t, "title": "x", "expects": "none", "max_attempts": c.limit}, c.by),
    "claim": lambda w, t, c: claim(w, t, c.by, int(c.ms or 0)).entry,
    "renew": lambda w, t, c: carry.renew(w, t, c.by, c.token, None if c.ms is None else int(c.ms)),
    "done": lambda w, t, c: carry.done(w, t, c.by, c.token, None).entry,
    "fail": lambda w, t, c: carry.fail(w, t, c.by, c.token, c.text, "").entry,
    "release": lambda w, t, c: carry.release(w, t, c.by, c.token).entry,
    "ask": lambda w, t, c: carry.ask(w, t, c.by, c.token, c.text).entry,
    "answer": lambda w, t, c: steer.answer(w, t, c.by, c.text, c.name).entry,
    "hold": lambda w, t, c: steer.hold(w, t, c.by, c.text, c.name).entry,
    "unhold": lambda w, t, c: steer.unhold(w, t, c.by, c.name).entry,
    "cancel": lambda w, t, c: steer.cancel(w, t, c.by, c.text, c.name).entry,
    "reopen": lambda w, t, c: steer.reopen(w, t, c.by, c.name).entry,
    "retry": lambda w, t, c: steer.retry(w, t, c.by, c.name).entry,
}


def take_part(plan: dict[str, Any]) -> list[Event]:
    """The events of one process in one history."""
    actor = Actor(plan)
    for name in plan["tasks"][plan["process"] :: len(plan["owners"])]:
        actor.make(name, actor.call("add", name))
    for _ in range(plan["operations"]):
        actor.act()
    return actor.events


def main() -> None:
    """Take part in one history after the other."""
    for line in sys.stdin:
        sys.stdout.write(json.dumps(take_part(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
