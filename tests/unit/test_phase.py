"""The tables of the lifecycle against DESIGN section 4."""

from itertools import product

import pytest

from repokernel.core.phase import OPEN_PHASES, SETTLED_PHASES, TRANSITIONS, WHO, Actor, Cell, Event, Phase
from tests.unit.expected_lifecycle import allowed, phases_after


@pytest.mark.parametrize(("phase", "event"), list(product(Phase, Event)))
def test_an_event_leads_where_the_design_says(phase: Phase, event: Event) -> None:
    after = {str(one) for one in TRANSITIONS.get((phase, event), frozenset())}
    assert after == phases_after().get((phase.value, event.value), set())


@pytest.mark.parametrize(("cell", "actor"), list(product(Cell, Actor)))
def test_an_actor_may_do_what_the_design_says(cell: Cell, actor: Actor) -> None:
    may = {event.value for event in WHO[cell][actor]}
    assert may == allowed(resumable=True)[cell.value, actor.value]


def test_the_tables_hold_nothing_else() -> None:
    assert {(str(phase), str(event)) for phase, event in TRANSITIONS} == set(phases_after())
    assert {(str(cell), str(actor)) for cell, row in WHO.items() for actor in row} == set(allowed(resumable=True))


def test_the_words_are_those_of_the_design() -> None:
    assert [str(phase) for phase in Phase] == [
        *("planned", "pending", "in_progress", "in_review", "done", "failed", "cancelled")
    ]
    assert [str(cell) for cell in Cell] == [
        *("planned", "pending", "orphan", "halted", "held", "stale", "in_review", "done", "failed", "cancelled")
    ]


def test_a_phase_is_either_open_or_settled() -> None:
    assert {"done", "failed", "cancelled"} == SETTLED_PHASES
    assert set(Phase) - SETTLED_PHASES == OPEN_PHASES


def test_only_a_person_leads_out_of_a_settled_phase() -> None:
    leaving = {event for phase, event in TRANSITIONS if phase in SETTLED_PHASES} - {Event.NOTE}
    assert leaving == {Event.REOPEN, Event.RETRY}
    for cell, actor in product((Cell.DONE, Cell.FAILED, Cell.CANCELLED), (Actor.WORKER, Actor.OWNER)):
        assert WHO[cell][actor] == frozenset()


def test_every_event_but_the_first_can_happen_to_somebody() -> None:
    possible = {event for row in WHO.values() for events in row.values() for event in events}
    assert possible == set(Event) - {Event.ADD}
