"""Boards of entries for the tests of readiness."""

from collections.abc import Callable, Iterable, Mapping

from repokernel.core.entry import Entry
from repokernel.core.ids import Key, TaskId, fold
from repokernel.core.lease import Alive
from repokernel.core.phase import Cell
from repokernel.core.ready import Blocker, Outlook, View, binding, blockers, outlooks
from tests.unit.builders import NOW_MS, SKEW_MS, at, entry, in_cell

VERDICT_AT = at(NOW_MS)


def board(
    *entries: Entry,
    faults: Iterable[str] = (),
    alive: Callable[[str], Alive] = lambda _: Alive.UNKNOWN,
    usable: Mapping[str, bool | None] | None = None,
) -> View:
    """What one queue sees at NOW_MS; `usable` says by id what the last verification found."""
    known = usable or {}
    return View(
        {fold(TaskId(one["id"])): one for one in entries},
        {Key(key): "can't be read" for key in faults},
        NOW_MS,
        SKEW_MS,
        alive,
        lambda one: known.get(one["id"]),
    )


def task(name: str, *needed: object, cell: Cell = Cell.PENDING, **changes: object) -> Entry:
    """The entry of task `name` in `cell`, which depends on `needed`."""
    return in_cell(cell, id=name, depends_on=list(needed), **changes)


def review(name: str, work: Entry, verdict: str, done_at: str = VERDICT_AT, **bound: object) -> Entry:
    """A finished review task with its verdict on `of` as it stands; `bound` says what it saw instead."""
    seen = {**binding(work), **bound, "verdict": verdict}
    return entry(
        id=name, review_of=work["id"], expects="none", status="done", completed_at=done_at, review=seen, token=1
    )


def found(view: View, name: str) -> list[Blocker]:
    """What keeps task `name` from being claimed, in the light of the whole board."""
    return blockers(view, view.entries[Key(name)], outlooks(view))


def outlook(view: View, name: str) -> Outlook:
    return outlooks(view)[Key(name)]
