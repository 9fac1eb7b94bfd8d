"""The whole board at one instant: every head, joined with its beat, and what could not be read."""

from __future__ import annotations

from repokernel.core.errors import RkError
from repokernel.core.phase import Event, Phase
from repokernel.core.ready import View
from repokernel.core.record import peek_event
from repokernel.ops.log import BEATS, beat_name, joined, newest
from repokernel.ops.verify import remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Set as AbstractSet

    from repokernel.core.entry import Entry
    from repokernel.core.ids import Key
    from repokernel.ports.world import World


def board_view(world: World, struck: AbstractSet[Key] = frozenset()) -> View:
    """Read the heads of all tasks; records that this process has read already are not read again.

    Args:
        world: the board.
        struck: tasks that somebody has claimed since they were read, and that nobody waits for: of
            those that are done by now no more is read than that.
    """
    entries: dict[Key, Entry] = {}
    faults: dict[Key, RkError] = {}
    beats: frozenset[str] | None = None
    tops = world.store.tops()
    for key, top in tops.items():
        if isinstance(top, RkError):
            faults[key] = top
            continue
        try:
            entry = (key in struck and _done_meanwhile(world, key, top)) or newest(world, key, top, link=False).entry
            if entry["owner"] is not None:
                beats = world.store.sides(BEATS) if beats is None else beats
                if beat_name(key, entry["token"]) in beats:
                    entry = joined(world, key, entry)
        except RkError as cause:
            faults[key] = cause
            continue
        entries[key] = entry
    view = View(
        entries, faults, world.store.now_ms(), world.settings.lease_skew_ms, world.system.alive, remembered(world)
    )
    view.heads = _heads(tops)
    return view


def _heads(tops: Mapping[Key, int | RkError]) -> dict[Key, int]:
    return {key: 0 if isinstance(top, RkError) else top for key, top in tops.items()}


def still_so(world: World, view: View) -> bool:
    """Whether no record has been added since the board was listed for `view`.

    Heads are read one after the other, while others write: a view may hold an early state of one task beside
    a late one of another, a board that never was. With two equal listings around the reading (the double
    collect of Afek et al., 1993) all of it was so at one instant.
    """
    return _heads(world.store.tops()) == view.heads


def _done_meanwhile(world: World, key: Key, top: int) -> Entry | None:
    """The entry as far as it matters to others, if the task is done at `top` and more than that isn't known."""
    known = world.decoded.get(key)
    if known is None or known.seq == top or peek_event(world.store.read(key, top) or b"") != Event.DONE:
        return None
    over: Entry = {**known.entry, "owner": None, "owned_since": None, "lease_expires": None, "halt": None}
    over["status"] = Phase.DONE.value
    return over
