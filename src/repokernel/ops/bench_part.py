"""One process of `rk bench store`: goes through the plan with the others and keeps what each act took.

All processes begin a stretch together, so that what is measured with one process is not disturbed by the
others. Every stretch comes several times, in turns: a disk that is busy for a while slows down all kinds.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from repokernel.core.errors import error
from repokernel.core.ids import Key, TaskId
from repokernel.core.phase import Event
from repokernel.core.plan import first_entry
from repokernel.core.record import follow
from repokernel.core.times import format_instant
from repokernel.ops.add import add
from repokernel.ops.carry import done, renew
from repokernel.ops.claim import claim
from repokernel.ops.log import require_head

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from repokernel.ports.bench import Bare, Meet
    from repokernel.ports.world import World

    Act = Callable[[], object]


class Kind(StrEnum):
    """What is measured, by its name in JSON."""

    BARE = "bare"
    PUBLISH = "publish"
    RENEW = "renew"
    CLAIM_DONE = "claim_done"
    READ_HEAD = "read_head"
    RACE = "race"


class Stretch(NamedTuple):
    """A part of the plan: one kind of act, by so many processes at once, for so long."""

    kind: Kind
    processes: int
    seconds: float


class Kit(NamedTuple):
    """What one process works with: scratch boards, and the others.

    Attributes:
        records: a board for bare records and for the race.
        held: a board with one task for each process, which it holds all the time; it doesn't grow.
        cycles: a board for tasks that are claimed and done.
        bare: the reference.
        meet: where all wait for each other.
        ticks: a clock in nanoseconds.
    """

    records: World
    held: World
    cycles: World
    bare: Bare
    meet: Meet
    ticks: Callable[[], int]


BOARDS = ("records", "held", "cycles")
_TURNS = 4
_RACE_SHARES = 3
_ROUNDS_MIN = 3
_LEASE_MS = 3_600_000
_PATIENCE_NS = 60 * 10**9
_RACE_REPEATS = 100  # makes what a racer writes about as long as a record


def plan(seconds: float, processes: int) -> list[Stretch]:
    """What all processes do one after the other; kinds that are compared stand side by side."""
    turn = [(kind, number) for number in (1, processes) for kind in Kind if kind is not Kind.RACE]
    share_s = seconds / (_TURNS * len(turn) + _RACE_SHARES)
    stretches = [Stretch(kind, number, share_s) for kind, number in turn * _TURNS]
    return [*stretches, Stretch(Kind.RACE, processes, share_s * _RACE_SHARES)]


def race_key(turn: int) -> Key:
    """The name that is raced for in one round."""
    return Key(f"race-{turn:08d}")


def race_bytes(me: int, turn: int) -> bytes:
    """What one process publishes if it wins a round."""
    return f"{me:03d} {turn:08d}\n".encode() * _RACE_REPEATS


def _record(world: World) -> bytes:
    """The first record of a task, as long as such records are."""
    now_ms = world.store.now_ms()
    entry = first_entry({"id": "t", "title": "a task of the bench"}, now_ms, planned=False, repository=False)
    facts = {"op_id": "op-" + "0" * 24, "nonce": "0" * 32}
    return follow(None, entry, Event.ADD, "bench@store", format_instant(now_ms), **facts)[1]


class Part:
    """What one of the processes does."""

    def __init__(self, kit: Kit, me: int) -> None:
        """Take a number and a task to hold."""
        self._kit = kit
        self._me = me
        self._by = f"bench@process-{me}"
        self._numbers = count()
        self._data = _record(kit.records)
        self._held = self._add(kit.held)
        self._token = claim(kit.held, self._held, self._by, _LEASE_MS).entry["token"]

    def play(self, stretches: Sequence[Stretch]) -> list[list[int]]:
        """For each stretch the nanoseconds that each act took; for the race 1 for each round won, else 0.

        Raises:
            BrokenError: the store failed; `command_failed`: the others didn't come.
        """
        ready: dict[Kind, Callable[[], Act]] = {
            Kind.BARE: self._bare,
            Kind.PUBLISH: self._publish,
            Kind.RENEW: self._renew,
            Kind.CLAIM_DONE: self._claim_done,
            Kind.READ_HEAD: self._read_head,
        }
        found: list[list[int]] = []
        for stretch in stretches:
            self._meet(self._kit.ticks() + _PATIENCE_NS)
            if stretch.kind is Kind.RACE:
                found.append(self._race(stretch.seconds))
            else:
                found.append(self._spans(ready[stretch.kind], stretch) if self._me < stretch.processes else [])
        return found

    def _meet(self, ends_ns: int) -> None:
        if not self._kit.meet(ends_ns, eager=False):
            raise error("command_failed", "the processes of the bench waited for each other in vain")

    def _spans(self, ready: Callable[[], Act], stretch: Stretch) -> list[int]:
        """What each act took, at least one; making it ready isn't counted."""
        ticks = self._kit.ticks
        ends, spans = ticks() + int(stretch.seconds * 1e9), list[int]()
        while True:
            act = ready()
            began = ticks()
            act()
            now = ticks()
            spans.append(now - began)
            if now >= ends:
                return spans

    def _name(self) -> str:
        return f"p{self._me}-{next(self._numbers)}"

    def _add(self, world: World) -> TaskId:
        fields = {"id": self._name(), "title": "a task of the bench", "expects": "none"}
        return TaskId(add(world, fields, self._by)["id"])

    def _bare(self) -> Act:
        name = self._name()
        return lambda: self._kit.bare(name, self._data)

    def _publish(self) -> Act:
        key = Key(self._name())
        return lambda: self._kit.records.store.append(key, 1, self._data)

    def _renew(self) -> Act:
        return lambda: renew(self._kit.held, self._held, self._by, self._token, None)

    def _claim_done(self) -> Act:
        world, by = self._kit.cycles, self._by
        task = self._add(world)

        def act() -> None:
            done(world, task, by, claim(world, task, by, _LEASE_MS).entry["token"], None)

        return act

    def _read_head(self) -> Act:
        self._kit.held.decoded.clear()  # as a command does that has just started
        return lambda: require_head(self._kit.held, self._held)

    def _race(self, seconds: float) -> list[int]:
        """Whether we won, round by round. All play the first rounds; after that, time ends the race for each.

        A round that not all came to is the last one.
        """
        ticks, store = self._kit.ticks, self._kit.records.store
        ends, wins = ticks() + int(seconds * 1e9), list[int]()
        while len(wins) < _ROUNDS_MIN or ticks() < ends:
            turn = len(wins)
            if not self._kit.meet(ends if turn >= _ROUNDS_MIN else ticks() + _PATIENCE_NS, eager=True):
                break
            wins.append(int(store.append(race_key(turn), 1, race_bytes(self._me, turn))))
        return wins
