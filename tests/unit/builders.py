"""Entries, moments and refusals that the tests of core are written with."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from repokernel.core.entry import Entry, Output, complete
from repokernel.core.errors import RkError
from repokernel.core.lease import Alive
from repokernel.core.phase import Cell
from repokernel.core.task import Moment

NOW_MS = 1_796_117_400_000  # 2026-12-01T09:30:00.000Z
LEASE_MS = 600_000
SKEW_MS = 30_000
ANN = "coder@w1"
BOB = "coder@w2"
DESK = "person@desk"


def at(instant_ms: int) -> str:
    """The RFC 3339 text of an instant, by way of `datetime`."""
    instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=instant_ms)
    return instant.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


NOW = at(NOW_MS)
OUTPUT: Output = {"uri": "file:out/t1.md", "bytes": 5, "sha256": "5a" * 32, "written_at": NOW}

_LIVE = {
    "status": "in_progress",
    "owner": ANN,
    "owned_since": NOW,
    "lease_expires": at(NOW_MS + LEASE_MS),
    "token": 4,
    "attempts": 2,
    "claimed_by": [BOB, ANN],
}
_FREED = {"status": "in_progress", "token": 4, "attempts": 2, "claimed_by": [BOB, ANN]}
_DONE = {"output": OUTPUT, "completed_by": ANN, "completed_at": NOW, "token": 4, "attempts": 2, "claimed_by": [ANN]}
_IN_CELL: dict[Cell, dict[str, object]] = {
    Cell.PLANNED: {"status": "planned"},
    Cell.PENDING: {"status": "pending"},
    Cell.ORPHAN: {**_FREED},
    Cell.HALTED: {**_FREED, "halt": {"reason": "needs_input", "at": NOW}, "question": "Which one?"},
    Cell.HELD: {**_LIVE},
    Cell.STALE: {**_LIVE, "lease_expires": at(NOW_MS - SKEW_MS - 1)},
    Cell.IN_REVIEW: {**_FREED, "status": "in_review"},
    Cell.DONE: {**_DONE, "status": "done"},
    Cell.FAILED: {"status": "failed", "token": 4, "attempts": 3, "claimed_by": [ANN]},
    Cell.CANCELLED: {"status": "cancelled", "epoch": 1},
}


def entry(**changes: object) -> Entry:
    """A valid entry, pending unless `changes` say otherwise."""
    state = {"id": "t1", "title": "A task", "status": "pending", "created_at": NOW, "updated_at": NOW}
    return complete({**state, **changes})


def in_cell(cell: Cell, **changes: object) -> Entry:
    """A valid entry that is in `cell` at NOW_MS."""
    return entry(**{**_IN_CELL[cell], **changes})


def some(*values: object) -> tuple[object, ...]:
    """Values of any type, for the rows of a table."""
    return values


def halt(reason: str) -> dict[str, str]:
    return {"reason": reason, "at": NOW}


def moment(by: str = BOB, now_ms: int = NOW_MS, alive: Alive = Alive.UNKNOWN) -> Moment:
    return Moment(now_ms, by, alive, SKEW_MS)


def refusal(call: Callable[[], object]) -> RkError:
    """What `call` is refused with; the test fails if it isn't."""
    with pytest.raises(RkError) as caught:
        call()
    return caught.value


def refusal_or_none(call: Callable[..., object], *args: object) -> RkError | None:
    """What `call` is refused with, or None if it passes."""
    try:
        call(*args)
    except RkError as cause:
        return cause
    return None


def code_of(call: Callable[..., object], *args: object) -> str | None:
    """The code that `call` is refused with, or None if it passes."""
    refused = refusal_or_none(call, *args)
    return refused.code if refused else None


def problems_of(refused: RkError) -> set[str]:
    """The names of the bad fields that a refusal carries."""
    problems = refused.fields["problems"]
    assert isinstance(problems, dict)
    return set(problems)


def is_value_error(call: Callable[..., object], *args: object) -> bool:
    """Whether `call` fails with ValueError, in one line of text."""
    try:
        call(*args)
    except ValueError as cause:
        said = str(cause)
    else:
        return False
    assert len(said.splitlines()) == 1
    return True
