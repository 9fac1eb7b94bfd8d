"""Who may do what in each cell of the table, tried against `guard`; what `moved` lets through."""

from itertools import product

import pytest

from repokernel.core.entry import Entry
from repokernel.core.halt import HALTS
from repokernel.core.phase import Actor, Cell, Event, Phase
from repokernel.core.task import guard, moved
from tests.unit.builders import (
    ANN,
    LEASE_MS,
    NOW_MS,
    OUTPUT,
    at,
    code_of,
    halt,
    in_cell,
    moment,
    problems_of,
    refusal,
    refusal_or_none,
)
from tests.unit.expected_lifecycle import allowed, halts, phases_after, refusals

CELLS = [cell for cell in Cell if cell is not Cell.HALTED]
EVERYTHING = list(product(Actor, Event))


def codes(entry: Entry, actor: Actor) -> dict[str, str | None]:
    """What each event is refused with (None: it is let through)."""
    return {event.value: code_of(guard, entry, event, actor, moment()) for event in Event}


def expected(cell: Cell, actor: Actor, *, resumable: bool) -> dict[str, str | None]:
    may = allowed(resumable=resumable)[cell.value, actor.value]
    refused = refusals()[cell.value] if resumable or actor is not Actor.WORKER else "needs_person"
    said: dict[str, str | None] = {event.value: None if event in may else refused for event in Event}
    if cell is Cell.HELD:
        said["claim"] = "held"
    return said


@pytest.mark.parametrize(("cell", "actor"), list(product(CELLS, Actor)))
def test_the_guard_lets_through_what_the_table_says_and_nothing_else(cell: Cell, actor: Actor) -> None:
    assert codes(in_cell(cell), actor) == expected(cell, actor, resumable=True)


@pytest.mark.parametrize(("reason", "actor"), list(product(sorted(HALTS), Actor)))
def test_a_halted_task_is_taken_by_a_worker_only_for_a_reason_that_needs_no_person(reason: str, actor: Actor) -> None:
    halted = in_cell(Cell.HALTED, halt=halt(reason), question=None)
    resumable = halts()[reason] == "auto"
    assert codes(halted, actor) == expected(Cell.HALTED, actor, resumable=resumable)


@pytest.mark.parametrize(("reason", "takes"), [("crashed", None), ("check_failed", "needs_person")])
def test_a_stale_task_that_is_halted_is_taken_only_for_a_reason_that_needs_no_person(
    reason: str, takes: str | None
) -> None:
    stale = in_cell(Cell.STALE, halt=halt(reason))
    said = codes(stale, Actor.WORKER)
    assert (said["claim"], said["exhaust"]) == (takes, takes)


def test_losing_a_claim_says_who_holds_the_task_until_when() -> None:
    refused = refusal(lambda: guard(in_cell(Cell.HELD), Event.CLAIM, Actor.WORKER, moment()))
    assert (refused.code, refused.kind) == ("held", "busy")
    assert refused.fields == {"id": "t1", "owner": ANN, "lease_expires": at(NOW_MS + LEASE_MS), "token": 4}


def test_a_refusal_of_the_guard_carries_the_facts() -> None:
    refused = refusal(lambda: guard(in_cell(Cell.DONE), Event.RETRY, Actor.PERSON, moment()))
    assert refused.fields == {"id": "t1", "status": "done", "event": "retry"}


def test_a_hint_names_the_task() -> None:
    for cell, (actor, event) in product(Cell, EVERYTHING):
        refused = refusal_or_none(guard, in_cell(cell), event, actor, moment())
        assert refused is None or "{" not in refused.hint


@pytest.mark.parametrize(("cell", "event"), list(product(Cell, Event)))
def test_nothing_moves_where_the_table_of_transitions_has_no_way(cell: Cell, event: Event) -> None:
    entry = in_cell(cell)
    ways = phases_after().get((entry["status"], event.value), set())
    for phase in set(Phase) - {Phase(way) for way in ways}:
        with pytest.raises((AssertionError, KeyError)):  # a defect, not a refusal
            moved(entry, moment(), event, phase)


def test_what_has_moved_has_its_phase_and_its_stamp() -> None:
    later = moment(now_ms=NOW_MS + 5)
    before = in_cell(Cell.PLANNED)
    assert moved(before, later, Event.OPEN, Phase.PENDING, hold="wait") == {
        **before,
        "status": "pending",
        "updated_at": at(NOW_MS + 5),
        "hold": "wait",
    }


def test_what_would_break_the_schema_does_not_move() -> None:
    held = in_cell(Cell.HELD)
    refused = refusal(lambda: moved(held, moment(), Event.DONE, Phase.DONE, output=OUTPUT))
    assert (refused.code, problems_of(refused)) == ("invalid_task", {"owner", "completed_at"})
