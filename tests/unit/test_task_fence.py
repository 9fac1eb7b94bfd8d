"""Fencing: whatever ends a token, its holder is too late with everything afterwards."""

from collections.abc import Callable
from itertools import product

import pytest

from repokernel.core import task
from repokernel.core.entry import Entry
from repokernel.core.lease import Alive
from repokernel.core.phase import Cell, Event
from tests.unit.builders import ANN, BOB, DESK, LEASE_MS, NOW_MS, OUTPUT, in_cell, moment, refusal

TOKEN = 4
LATE_MS = NOW_MS + 10 * LEASE_MS
NO_HALT_NO_OWNER = [cell for cell in Cell if cell not in (Cell.HELD, Cell.STALE)]

HELD = in_cell(Cell.HELD)
LAST = in_cell(Cell.HELD, attempts=3, max_attempts=3)
LATE = moment(BOB, LATE_MS)

ENDS: dict[str, Callable[[], Entry]] = {
    "done": lambda: task.done(HELD, moment(), TOKEN, OUTPUT, None),
    "failed": lambda: task.fail(HELD, moment(), TOKEN, "upload_failed", "", 1000),
    "failed for good": lambda: task.fail(LAST, moment(), TOKEN, "upload_failed", "", 1000),
    "failed unharmed": lambda: task.fail(HELD, moment(), TOKEN, "environment", "", 1000),
    "released": lambda: task.release(HELD, moment(), TOKEN),
    "asked": lambda: task.ask(HELD, moment(), TOKEN, "Which one?"),
    "evicted": lambda: task.evict(HELD, moment(DESK), "New roll-out."),
    "cancelled": lambda: task.cancel(HELD, moment(DESK), "Never mind."),
    "retried when stale": lambda: task.retry(HELD, LATE),
    "exhausted": lambda: task.exhaust(LAST, LATE),
    "taken over": lambda: task.claim(HELD, LATE, LEASE_MS),
    "taken over at once": lambda: task.claim(HELD, moment(BOB, alive=Alive.NO), LEASE_MS),
    "taken over by the same name": lambda: task.claim(HELD, moment(ANN, LATE_MS), LEASE_MS),
    "claimed again": lambda: task.claim(ENDS["released"](), moment(ANN), LEASE_MS),
    "claimed after eviction": lambda: task.claim(ENDS["evicted"](), moment(BOB), LEASE_MS),
    "reopened": lambda: task.reopen(ENDS["done"](), moment(DESK)),
    "reopened and claimed": lambda: task.claim(ENDS["reopened"](), moment(ANN), LEASE_MS),
    "answered and claimed": lambda: task.claim(task.answer(ENDS["asked"](), LATE, "Left."), LATE, LEASE_MS),
}

WRITES: dict[str, Callable[[Entry, int], object]] = {
    "renew": lambda entry, token: task.fence(entry, token, Event.RENEW),
    "done": lambda entry, token: task.done(entry, moment(ANN), token, OUTPUT, None),
    "fail": lambda entry, token: task.fail(entry, moment(ANN), token, "upload_failed", "", 0),
    "release": lambda entry, token: task.release(entry, moment(ANN), token),
    "ask": lambda entry, token: task.ask(entry, moment(ANN), token, "Which one?"),
}

BETWEEN: dict[str, Callable[[Entry], Entry]] = {
    "note": lambda entry: task.note(entry, moment(DESK), "How far?"),
    "hold": lambda entry: task.hold(entry, moment(DESK), "Wait."),
    "unhold": lambda entry: task.unhold(entry, moment(DESK)),
}


@pytest.mark.parametrize(("ended", "write"), list(product(ENDS, WRITES)))
def test_a_token_that_has_ended_is_too_late(ended: str, write: str) -> None:
    after = ENDS[ended]()
    refused = refusal(lambda: WRITES[write](after, TOKEN))
    assert (refused.code, refused.kind) == ("lease_lost", "refused")
    assert refused.fields == {
        "id": "t1",
        "token": TOKEN,
        "current_token": after["token"],
        "status": after["status"],
        "owner": after["owner"],
    }


@pytest.mark.parametrize(("token", "write"), list(product([0, 3, 5, -1], WRITES)))
def test_any_token_but_the_current_one_is_refused(token: int, write: str) -> None:
    assert refusal(lambda: WRITES[write](HELD, token)).code == "lease_lost"


@pytest.mark.parametrize(("cell", "write"), list(product(NO_HALT_NO_OWNER, WRITES)))
def test_where_nobody_holds_no_token_is_current(cell: Cell, write: str) -> None:
    there = in_cell(cell)
    assert refusal(lambda: WRITES[write](there, there["token"])).code == "lease_lost"


@pytest.mark.parametrize(("between", "write"), list(product(BETWEEN, WRITES)))
def test_what_a_person_does_in_between_costs_the_holder_nothing(between: str, write: str) -> None:
    WRITES[write](BETWEEN[between](HELD), TOKEN)


@pytest.mark.parametrize("write", list(WRITES))
def test_a_holder_that_was_not_replaced_is_heard_past_its_lease(write: str) -> None:
    WRITES[write](in_cell(Cell.STALE), TOKEN)


@pytest.mark.parametrize("write", [name for name in WRITES if name != "renew"])
def test_what_is_being_landed_is_out_of_its_holders_hands(write: str) -> None:
    landing = in_cell(Cell.HELD, status="in_review")
    assert refusal(lambda: WRITES[write](landing, TOKEN)).code == "wrong_phase"


def test_a_token_never_returns() -> None:
    assert {name: ended()["token"] for name, ended in ENDS.items() if ended()["owner"] is None} == {
        name: TOKEN for name, ended in ENDS.items() if ended()["owner"] is None
    }
    assert {ended()["token"] for ended in ENDS.values() if ended()["owner"] is not None} == {TOKEN + 1}
