"""What a worker could claim next, remembered between two calls so that a long queue is read once.

A process that lives long hears of each new record (`Store.changes`) and keeps its list of ready tasks
by striking out what others have claimed or done; anything else that happens, and the passing of an
instant that matters, has the whole board judged anew. Being wrong costs a lost race at most: a claim is
decided on a record and is appended only directly after it. "Nothing is claimable" is never said from
memory.
"""

from __future__ import annotations

from repokernel.core.ids import TaskId, fold
from repokernel.core.phase import SETTLED_PHASES, Event
from repokernel.core.ready import Outlook, in_order, needs, outlooks
from repokernel.core.record import peek_event
from repokernel.core.times import parse_instant
from repokernel.ops.view import board_view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from repokernel.core.entry import Entry
    from repokernel.core.ids import Key
    from repokernel.core.ready import View
    from repokernel.ports.world import World

_TRUSTED_MS = 5000  # how long a dead owner elsewhere may go unnoticed while there is other work
_NEAR = 4  # after a lost race, pick among so many of the same priority; doubled with each further loss
_LOSSES_MAX = 5.0
_CALM = 0.25  # a loss is forgotten after so many wins: four


class Offers:
    """The ready tasks of one board, in order.

    Attributes:
        view: the board as it was judged.
        seen: the outlook of each task then.
        fresh: whether this was judged in the present call.
        losses: lost races lately; decides how far to spread.
    """

    def __init__(self, view: View, cursor: int | None, losses: float) -> None:
        """Judge the board."""
        self.view = view
        self.seen = outlooks(view)
        self.fresh = True
        self.losses = losses
        self.cursor = cursor
        self._ready = in_order(e for key, e in view.entries.items() if self.seen[key] is Outlook.READY)
        self.struck: set[Key] = set()
        self.needed = _needed(view)
        self._until_ms = min(_instants(view), default=view.now_ms + _TRUSTED_MS)

    def absorb(self, world: World, changed: Iterable[tuple[Key, int]]) -> bool:
        """Strike out what `changed` took; False if the board must be judged anew."""
        holds = world.store.now_ms() < self._until_ms
        for key, seq in changed:
            if key not in self.view.entries or (key in self.needed and _event(world, key, seq) != Event.CLAIM):
                holds = False
            self.struck.add(key)
        self.fresh = False
        return holds

    def strike(self, entry: Entry, *, won: bool) -> None:
        """Not to be had any more: we have it, or somebody came first."""
        self.struck.add(fold(TaskId(entry["id"])))
        self.losses = max(self.losses - _CALM, 0.0) if won else min(self.losses + 1, _LOSSES_MAX)

    def best(self, wants: Callable[[Entry], bool], passed: set[str], chance: int) -> Entry | None:
        """The first ready task that is wanted; after lost races one of the first few of its priority.

        Args:
            wants: narrows the choice.
            passed: ids that this caller can't take.
            chance: a random number that picks among the few.
        """
        few = _NEAR << int(self.losses - 1) if self.losses >= 1 else 1
        near: list[Entry] = []
        kept = 0
        for place, entry in enumerate(self._ready):
            if fold(TaskId(entry["id"])) in self.struck:
                kept += place == kept  # a whole front of struck ones is dropped below
                continue
            if near and (len(near) == few or entry["priority"] != near[0]["priority"]):
                break
            if entry["id"] not in passed and wants(entry):
                near.append(entry)
        del self._ready[:kept]
        return near[chance % len(near)] if near else None


def _event(world: World, key: Key, seq: int) -> str:
    known = world.decoded.get(key)
    if known is not None and known.seq == seq:
        return known.event
    return peek_event(world.store.read(key, seq) or b"")


def _needed(view: View) -> set[Key]:
    return {key for e in view.entries.values() if e["status"] not in SETTLED_PHASES for key, _ in needs(e)}


def _instants(view: View) -> list[int]:
    """When something may become claimable by time alone, and when to look anew at all events."""
    found = [view.now_ms + _TRUSTED_MS]
    for entry in view.entries.values():
        if entry["lease_expires"] is not None:
            found.append(parse_instant(entry["lease_expires"]) + view.skew_ms)
        if entry["not_before"] is not None and entry["status"] not in SETTLED_PHASES:
            found.append(parse_instant(entry["not_before"]))
    return [instant_ms for instant_ms in found if instant_ms > view.now_ms]


def offers(world: World, *, anew: bool = False) -> Offers:
    """What is on offer now; `anew` judges the board whatever is remembered."""
    old = world.offers if isinstance(world.offers, Offers) else None
    if old is None and not world.lasting:
        new = Offers(board_view(world), None, 0.0)
    elif old is None:
        cursor, _ = world.store.changes(None)
        new = Offers(board_view(world), cursor, 0.0)
    else:
        cursor, changed = world.store.changes(old.cursor)
        holds = changed is not None and old.absorb(world, changed)
        if holds and not anew:
            return old
        new = Offers(board_view(world, old.struck - old.needed), cursor, old.losses)
    world.offers = new
    return new
