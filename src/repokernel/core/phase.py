"""The lifecycle, in three literal tables: where a task can go, what a task's cell is, who may do what.

The docs' diagram and tables are drawn from here (`docs/lifecycle.md`); nothing else decides a phase.
"""

from __future__ import annotations

from enum import StrEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Phase(StrEnum):
    """Axis 1 of a task: how far the work is. The field is `status`."""

    PLANNED = "planned"
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    IN_REVIEW = "in_review"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Event(StrEnum):
    """What can happen to a task; each but `renew` appends one record."""

    ADD = "add"
    OPEN = "open"
    CLAIM = "claim"
    RENEW = "renew"
    DONE = "done"
    FAIL = "fail"
    RELEASE = "release"
    ASK = "ask"
    ANSWER = "answer"
    NOTE = "note"
    HOLD = "hold"
    UNHOLD = "unhold"
    EVICT = "evict"
    EXHAUST = "exhaust"
    RETRY = "retry"
    REOPEN = "reopen"
    CANCEL = "cancel"


class Cell(StrEnum):
    """A task's place in the phase × owner table."""

    PLANNED = "planned"
    PENDING = "pending"
    ORPHAN = "orphan"
    HALTED = "halted"
    HELD = "held"
    STALE = "stale"
    IN_REVIEW = "in_review"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Actor(StrEnum):
    """In which role somebody acts: whoever wants the task, who holds its current token, or a person."""

    WORKER = "worker"
    OWNER = "owner"
    PERSON = "person"


_P = Phase
OPEN_PHASES = frozenset({_P.PLANNED, _P.PENDING, _P.IN_PROGRESS, _P.IN_REVIEW})
SETTLED_PHASES = frozenset({_P.DONE, _P.FAILED, _P.CANCELLED})

# (phase, event) -> the phases that the task may be in afterwards
TRANSITIONS: Mapping[tuple[Phase, Event], frozenset[Phase]] = {
    (_P.PLANNED, Event.OPEN): frozenset({_P.PENDING}),
    (_P.PENDING, Event.CLAIM): frozenset({_P.IN_PROGRESS}),
    (_P.IN_PROGRESS, Event.CLAIM): frozenset({_P.IN_PROGRESS}),
    (_P.IN_PROGRESS, Event.RENEW): frozenset({_P.IN_PROGRESS}),
    (_P.IN_PROGRESS, Event.DONE): frozenset({_P.DONE}),
    (_P.IN_PROGRESS, Event.FAIL): frozenset({_P.PENDING, _P.FAILED}),
    (_P.IN_PROGRESS, Event.RELEASE): frozenset({_P.PENDING}),
    (_P.IN_PROGRESS, Event.ASK): frozenset({_P.IN_PROGRESS}),
    (_P.IN_PROGRESS, Event.ANSWER): frozenset({_P.PENDING}),
    (_P.IN_PROGRESS, Event.EVICT): frozenset({_P.IN_PROGRESS}),
    (_P.IN_PROGRESS, Event.EXHAUST): frozenset({_P.FAILED}),
    (_P.IN_PROGRESS, Event.RETRY): frozenset({_P.PENDING}),
    (_P.PENDING, Event.RETRY): frozenset({_P.PENDING}),
    (_P.FAILED, Event.RETRY): frozenset({_P.PENDING}),
    (_P.DONE, Event.REOPEN): frozenset({_P.PENDING}),
    (_P.FAILED, Event.REOPEN): frozenset({_P.PENDING}),
    (_P.CANCELLED, Event.REOPEN): frozenset({_P.PENDING}),
    **{(phase, Event.CANCEL): frozenset({_P.CANCELLED}) for phase in OPEN_PHASES},
    **{(phase, Event.HOLD): frozenset({phase}) for phase in OPEN_PHASES},
    **{(phase, Event.UNHOLD): frozenset({phase}) for phase in OPEN_PHASES},
    **{(phase, Event.NOTE): frozenset({phase}) for phase in Phase},
}

_STEER = frozenset({Event.NOTE, Event.HOLD, Event.UNHOLD, Event.CANCEL})
_TAKE = frozenset({Event.CLAIM, Event.EXHAUST})
_CARRY = frozenset({Event.RENEW, Event.DONE, Event.FAIL, Event.RELEASE, Event.ASK, Event.NOTE})
_NOTHING: frozenset[Event] = frozenset()

# cell -> actor -> the events that they may cause.  HALTED's claim is for auto-resumable reasons only (`halt.py`)
WHO: Mapping[Cell, Mapping[Actor, frozenset[Event]]] = {
    Cell.PLANNED: {Actor.WORKER: _NOTHING, Actor.OWNER: _NOTHING, Actor.PERSON: _STEER | {Event.OPEN}},
    Cell.PENDING: {
        Actor.WORKER: frozenset({Event.CLAIM}),
        Actor.OWNER: _NOTHING,
        Actor.PERSON: _STEER | {Event.RETRY},
    },
    Cell.ORPHAN: {Actor.WORKER: _TAKE, Actor.OWNER: _NOTHING, Actor.PERSON: _STEER | {Event.RETRY}},
    Cell.HALTED: {Actor.WORKER: _TAKE, Actor.OWNER: _NOTHING, Actor.PERSON: _STEER | {Event.RETRY, Event.ANSWER}},
    Cell.HELD: {Actor.WORKER: _NOTHING, Actor.OWNER: _CARRY, Actor.PERSON: _STEER | {Event.EVICT}},
    Cell.STALE: {Actor.WORKER: _TAKE, Actor.OWNER: _CARRY, Actor.PERSON: _STEER | {Event.EVICT, Event.RETRY}},
    Cell.IN_REVIEW: {Actor.WORKER: _NOTHING, Actor.OWNER: _NOTHING, Actor.PERSON: _STEER},
    Cell.DONE: {
        Actor.WORKER: _NOTHING,
        Actor.OWNER: _NOTHING,
        Actor.PERSON: frozenset({Event.NOTE, Event.REOPEN}),
    },
    Cell.FAILED: {
        Actor.WORKER: _NOTHING,
        Actor.OWNER: _NOTHING,
        Actor.PERSON: frozenset({Event.NOTE, Event.REOPEN, Event.RETRY}),
    },
    Cell.CANCELLED: {
        Actor.WORKER: _NOTHING,
        Actor.OWNER: _NOTHING,
        Actor.PERSON: frozenset({Event.NOTE, Event.REOPEN}),
    },
}
