"""The limits of a task: attempts that run out, and logs that must never be what stops it."""

import pytest

from repokernel.core import task
from repokernel.core.entry import Entry
from repokernel.core.errors import RkError
from repokernel.core.phase import Cell
from tests.unit.builders import ANN, BOB, DESK, LEASE_MS, NOW, NOW_MS, at, halt, in_cell, moment

LATER = at(NOW_MS + 1)
SPENT = {"attempts": 3, "max_attempts": 3}
FAILURE = {"code": "upload_failed", "detail": "Disk full.", "at": NOW}


def test_a_task_with_very_many_claimants_is_claimed_again() -> None:
    many = [f"coder@w{number}" for number in range(10, 1010)]
    before = in_cell(Cell.PENDING, claimed_by=many, token=1000)
    assert task.claim(before, moment(), LEASE_MS)["claimed_by"] == [*many, BOB]


def test_a_task_full_of_notes_can_be_cancelled_and_answered() -> None:
    noted = [{"at": NOW, "by": ANN, "text": "x"}] * 1000
    assert task.cancel(in_cell(Cell.HELD, notes=noted), moment(DESK), "Too slow.")["status"] == "cancelled"
    assert task.answer(in_cell(Cell.HALTED, notes=noted), moment(DESK), "Left.")["status"] == "pending"


@pytest.mark.parametrize(
    ("before", "told"),
    [
        (in_cell(Cell.STALE, **SPENT), f"crashed: {ANN}"),
        (in_cell(Cell.ORPHAN, **SPENT, last_error=FAILURE), "upload_failed: Disk full."),
        (in_cell(Cell.ORPHAN, **SPENT), "3 of 3"),
        (in_cell(Cell.HALTED, **SPENT, halt=halt("crashed"), not_before=LATER, question=None), "3 of 3"),
    ],
)
def test_a_task_without_attempts_left_ends_with_the_error_of_the_last(before: Entry, told: str) -> None:
    after = task.exhaust(before, moment())
    error = after["last_error"]
    assert error is not None
    assert (error["code"], error["at"], told in error["detail"]) == ("attempts_exhausted", NOW, True)
    assert (after["status"], after["owner"], after["halt"], after["not_before"]) == ("failed", None, None, None)


@pytest.mark.parametrize("cell", [Cell.STALE, Cell.ORPHAN])
def test_a_task_with_attempts_left_does_not_end(cell: Cell) -> None:
    with pytest.raises((RkError, AssertionError)):
        task.exhaust(in_cell(cell), moment())


@pytest.mark.parametrize(
    ("attempts", "limit", "is_exhausted"), [(0, 1, False), (2, 3, False), (3, 3, True), (4, 3, True)]
)
def test_a_task_is_exhausted_at_its_limit(attempts: int, limit: int, is_exhausted: bool) -> None:
    assert task.exhausted(in_cell(Cell.PENDING, attempts=attempts, max_attempts=limit)) is is_exhausted


@pytest.mark.parametrize("cell", list(Cell))
def test_a_task_is_settled_when_it_is_done_failed_or_cancelled(cell: Cell) -> None:
    assert task.is_settled(in_cell(cell)) is (cell in (Cell.DONE, Cell.FAILED, Cell.CANCELLED))
