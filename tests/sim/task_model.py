"""What one task of a board does when its operations come one at a time, as a person would tell it.

The sequential specification for `linear.py`; it shares no code with what it judges. Time is known only from
when operations were called and answered, so a lease, and a back-off, has an earliest and a latest end: a
takeover is explained if it can have come after the end, a `held` if it can have come before.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tests.sim.linear import Op, Problem, check as check_parts
from tests.sim.task_words import ABSENT, Answer, Call, Outcome, Task

NEVER = float("inf")
SLOP_MS = 2.0  # instants on the board are whole milliseconds of another clock than the history's
HARMLESS = ("agent_limited", "environment")


class Beat(NamedTuple):
    """A renewal: when it was asked for and answered, for how long, and whether it was granted."""

    invoked: float
    returned: float
    ms: float | None
    granted: bool


def _end(op: Op) -> float:
    return NEVER if op.returned is None else op.returned


def _beats(operations: Iterable[Op]) -> dict[int | None, list[Beat]]:
    """The renewals of a history by token (None: not known): by `renew`, and by the notes of a task's own holder."""
    found: dict[int | None, list[Beat]] = {}
    for op in operations:
        call, answer = op.call, op.answer
        told = dict(answer.saw) if answer is not None else {}
        if call.what == "note" and answer is not None and told.get("owner") != call.by:
            continue
        if call.what in ("renew", "note"):
            token = told.get("token") if call.what == "note" else call.token
            # a repeated note renews nothing, and perhaps this one is repeated
            granted = answer is not None and answer.code is None and token is not None and not call.name
            found.setdefault(token, []).append(Beat(op.invoked, _end(op), call.ms, granted))
    return found


class TaskModel:
    """The specification, for one history of one task.

    Args:
        operations: the history, from which only the times of renewals and sweeps are taken.
        skew_ms: how long after its end a lease is still respected.
        backoff_ms: the first wait after a failure, and the longest.
        slop_ms: how far the history's clock may be from the board's.
    """

    initial = ABSENT

    def __init__(
        self,
        operations: Sequence[Op] = (),
        *,
        skew_ms: float = 1,
        backoff_ms: tuple[float, float] = (4, 16),
        slop_ms: float = SLOP_MS,
    ) -> None:
        self._skew_ms = skew_ms
        self._backoff_ms = backoff_ms
        self._slop_ms = slop_ms
        self._beats = _beats(operations)
        # whoever looks for the next task also ends those that have no attempt left
        self._sweeps = [(op.invoked, _end(op)) for op in operations if op.call.what == "sweep"]

    # --- for the checker

    def step(self, state: Task, op: Op) -> Iterator[Task]:
        """See `linear.Model.step`."""
        yield from self._step(state, op)
        for swept in self.swept(state, op):
            yield from self._step(swept, op)

    def reads(self, op: Op) -> bool:
        """See `linear.Model.reads`."""
        if op.answer is None:
            return False
        return op.call.what in ("show", "sweep") or op.answer.code not in (None, "attempts_exhausted")

    def tell(self, state: Task) -> str:
        """See `linear.Model.tell`."""
        told = [f"{name}={getattr(state, name)}" for name in Task._fields[1:-1] if getattr(state, name)]
        return " ".join([state.status, *told])

    def _step(self, state: Task, op: Op) -> Iterator[Task]:
        answer: Answer | None = op.answer
        if answer is not None and answer.code == "contention":  # others always came first: nothing was written
            yield state
            return
        for code, after in self.outcomes(state, op):
            if answer is None or (code == answer.code and answer.fits(after)):
                yield after

    # --- the specification

    def outcomes(self, task: Task, op: Op) -> list[Outcome]:
        """What can come of an operation: more than one thing only where time decides."""
        call: Call = op.call
        if call.what == "add":
            fresh = task.to(status="pending", limit=call.limit)
            return [(None, fresh)] if task.status == "absent" else [("id_taken", task)]
        if call.what == "evict":
            return _evict(task, op)
        if call.what == "sweep" or (call.what == "show" and task.status != "absent"):
            return [(None, task)]
        if task.status == "absent":
            return [("task_unknown", task)]
        if call.name and call.name in task.applied:
            return [(None, task)]
        return [(code, _named(task, after, call.name)) for code, after in self._decided(task, op)]

    def _decided(self, task: Task, op: Op) -> list[Outcome]:
        call: Call = op.call
        if call.what in _PERSONS:
            return [_PERSONS[call.what](task, call)]
        if call.what == "retry":
            return self._retry(task, op)
        return self._claim(task, op) if call.what in ("claim", "claim_next") else self._carry(task, op)

    # --- time

    def _earliest_lapse(self, task: Task, called: float, answered: float) -> float:
        """The earliest end of the lease that an operation of this time can have seen.

        Of several renewals the last written one counts; which one that was is known only of those that came
        one after the other. One that was answered after the operation was called can have been overlooked.
        """
        beats = self._beats_of(task)
        known = [beat.invoked for beat in beats if beat.granted and beat.returned <= called]
        if not known:
            return task.lapse_ms[0]
        last = [beat for beat in beats if beat.returned >= max(known) and beat.invoked <= answered]
        return max(task.lapse_ms[0], min(beat.invoked + self._length(task, beat) for beat in last))

    def _latest_lapse(self, task: Task, op: Op) -> float:
        """The latest end of the lease that `op` can have seen; a renewal in vain was visible for a moment, too."""
        beats = [beat for beat in self._beats_of(task) if beat.invoked <= _end(op)]
        ends = (min(beat.returned, _end(op)) + self._length(task, beat) for beat in beats)
        return max([task.lapse_ms[1], *ends])

    def _beats_of(self, task: Task) -> list[Beat]:
        return [*self._beats.get(task.token, ()), *self._beats.get(None, ())]

    @staticmethod
    def _length(task: Task, beat: Beat) -> float:
        return task.lease_ms if beat.ms is None else beat.ms

    def _may_be_live(self, task: Task, op: Op) -> bool:
        return op.invoked <= self._latest_lapse(task, op) + self._skew_ms + self._slop_ms

    def _may_be_late(self, task: Task, op: Op) -> bool:
        return self._lapsed_for(task, op.invoked, _end(op))

    def _lapsed_for(self, task: Task, called: float, answered: float) -> bool:
        return answered + self._slop_ms > self._earliest_lapse(task, called, answered) + self._skew_ms

    def swept(self, task: Task, op: Op) -> list[Task]:
        """What the task is before `op` if somebody who looked for the next task ended it; empty if nobody can have."""
        if not self._sweeps or task.status != "in_progress" or task.question is not None or not _spent(task):
            return []
        before = [(called, answered) for called, answered in self._sweeps if called <= _end(op)]
        if task.owner is None:
            can = any(answered + self._slop_ms >= task.lapse_ms[0] for _, answered in before)
        else:
            can = any(self._lapsed_for(task, called, answered) for called, answered in before)
        return [_exhausted(task)] if can else []

    # --- workers

    def _claim(self, task: Task, op: Op) -> list[Outcome]:
        if task.settled:
            return [("settled", task)]
        if task.question is not None:
            return [("needs_person", task)]
        if task.owner is None:
            return self._take(task, op)
        found: list[Outcome] = []
        if self._may_be_live(task, op):
            mine = task.owner == op.call.by
            if mine and op.call.what == "claim":
                found.append((None, task))
            if not mine or task.claimed_ms + self._slop_ms >= op.invoked:  # of one instant: perhaps a rival's
                found.append(("held", task))
        if self._may_be_late(task, op):
            found += self._take(task, op)
        return found

    def _take(self, task: Task, op: Op) -> list[Outcome]:
        if task.status == "in_progress" and _spent(task):
            return [("attempts_exhausted", _exhausted(task))]
        if task.hold is not None:
            return [("on_hold", task)]
        found: list[Outcome] = []
        if task.waits:
            if op.invoked <= task.wait_ms[1] + self._slop_ms:
                found.append(("backing_off", task))
            if _end(op) + self._slop_ms < task.wait_ms[0]:
                return found
        if _spent(task):
            return [*found, ("attempts_exhausted", task)]
        call = op.call
        taken = task.to(
            status="in_progress",
            owner=call.by,
            token=task.token + 1,
            attempts=task.attempts + 1,
            waits=False,
            last_owner=call.by,
            owners=tuple(sorted({*task.owners, call.by})),
            error="crashed" if task.owner is not None else task.error,
            claimed_ms=_end(op),
            lease_ms=call.ms,
            lapse_ms=(op.invoked + call.ms, _end(op) + call.ms),
        )
        return [*found, (None, taken)]

    def _carry(self, task: Task, op: Op) -> list[Outcome]:
        call: Call = op.call
        if call.token is not None:
            return [self._with_token(task, op, call.token)]
        if task.owner == call.by:
            return [self._with_token(task, op, task.token)]
        if task.owner is not None:
            found: list[Outcome] = [("not_owner", task)]
        else:
            found = [] if call.by == task.last_owner else [("settled" if task.settled else "not_claimed", task)]
        if call.by in task.owners:  # the hold may have ended between two looks; which of its tokens was meant?
            found.append(("lease_lost", task))
            repeated = (("ended", call.what, token, call.text) for token in range(1, task.token + 1))
            found += [(None, task)] if any(key in task.applied for key in repeated) else []
        return found

    def _with_token(self, task: Task, op: Op, token: int) -> Outcome:
        call: Call = op.call
        key = ("ended", call.what, token, call.text)
        if task.owner is None or task.token != token:
            return (None, task) if key in task.applied else ("lease_lost", task)
        if call.what == "renew":
            return None, task
        return None, self._ended(task, op)._replace(applied=task.applied | {key})

    def _ended(self, task: Task, op: Op) -> Task:
        call: Call = op.call
        if call.what == "done":
            return task.let_go("done", error=None)
        if call.what == "release":
            return task.let_go("pending", attempts=task.attempts - 1)
        if call.what == "ask":
            return task.let_go("in_progress", attempts=task.attempts - 1, question=call.text)
        assert call.what == "fail", call
        if _spent(task) and call.text not in HARMLESS:
            return task.let_go("failed", error="attempts_exhausted")
        base_ms, cap_ms = self._backoff_ms
        full_ms = min(cap_ms, base_ms * 2 ** min(task.attempts - 1, 30))
        wait_ms = op.invoked + full_ms / 2 - 1, _end(op) + full_ms
        attempts = task.attempts - (call.text in HARMLESS)
        return task.let_go("pending", error=call.text, waits=True, wait_ms=wait_ms, attempts=attempts)

    # --- a person whose word hangs on time

    def _retry(self, task: Task, op: Op) -> list[Outcome]:
        if task.status in ("done", "cancelled"):
            return [("settled", task)]
        if task.status == "pending" and not task.waits and not _spent(task):
            return [(None, task)]
        limit = max(task.limit, task.attempts + 1)
        error = task.error if task.owner is None else "crashed"
        again = task.let_go("pending", waits=False, question=None, limit=limit, error=error)
        found: list[Outcome] = []
        if task.owner is not None and self._may_be_live(task, op):
            found.append(("wrong_phase", task))
        if task.owner is None or self._may_be_late(task, op):
            found.append((None, again))
        return found


def _named(before: Task, after: Task, name: str) -> Task:
    """`after`, in which an operation that has a name and wrote something can be found again."""
    return after._replace(applied=after.applied | {name}) if name and after is not before else after


def _spent(task: Task) -> bool:
    return task.attempts >= task.limit


def _exhausted(task: Task) -> Task:
    return task.let_go("failed", error="attempts_exhausted", waits=False)


def _not_now(task: Task) -> Outcome:
    """What an operation that doesn't apply is refused with."""
    if task.settled:
        return "settled", task
    if task.owner is not None:
        return "wrong_phase", task
    return ("needs_person" if task.question is not None else "not_claimed"), task


def _evict(task: Task, op: Op) -> list[Outcome]:
    if task.owner != op.call.text:
        return [("nothing", task)]
    return [(None, task.let_go("in_progress", error="evicted", lapse_ms=(op.invoked, op.invoked)))]


def _note(task: Task, call: Call) -> Outcome:
    return None, task.to(notes=task.notes + 1, last_note=call.text)


def _answer(task: Task, call: Call) -> Outcome:
    if task.question is None:
        return _not_now(task)
    note = f"Question: {task.question}\nAnswer: {call.text}"
    return None, task.let_go("pending", question=None, notes=task.notes + 1, last_note=note)


def _hold(task: Task, call: Call) -> Outcome:
    if task.hold == call.text:
        return None, task
    return ("settled", task) if task.settled else (None, task.to(hold=call.text))


def _unhold(task: Task, call: Call) -> Outcome:
    if task.hold is None:
        return None, task
    return ("settled", task) if task.settled else (None, task.to(hold=None))


def _cancel(task: Task, call: Call) -> Outcome:
    if task.status == "cancelled":
        return None, task
    if task.settled:
        return "settled", task
    note = {"notes": task.notes + 1, "last_note": f"Cancelled: {call.text}"} if call.text else {}
    return None, task.let_go("cancelled", epoch=task.epoch + 1, question=None, waits=False, **note)


def _reopen(task: Task, call: Call) -> Outcome:
    if task.status == "pending" and task.epoch > 0:
        return None, task
    if not task.settled:
        return _not_now(task)
    return None, task.let_go("pending", epoch=task.epoch + 1, attempts=0, error=None, waits=False, question=None)


_PERSONS: dict[str, Callable[[Task, Call], Outcome]] = {
    "note": _note, "answer": _answer, "hold": _hold, "unhold": _unhold, "cancel": _cancel, "reopen": _reopen,
}  # fmt: skip


def check(history: Iterable[Op], **settings: Any) -> list[Problem]:
    """What is wrong with a history of operations on tasks; `settings` are those of `TaskModel`."""
    return check_parts(history, lambda operations: TaskModel(operations, **settings))
