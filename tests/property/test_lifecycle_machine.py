"""Any sequence of events against a model of its own; every state goes through the log."""

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from repokernel.core import task
from repokernel.core.entry import Entry, entry_problems
from repokernel.core.ids import Key
from repokernel.core.lease import Alive, lapsed
from repokernel.core.phase import Event
from repokernel.core.record import Record, decode, follow, link_problem
from repokernel.core.task import Moment
from tests.property.lifecycle_model import LEASE_MS, SKEW_MS, WAIT_MS, Model
from tests.unit.builders import NOW_MS, OUTPUT, at, code_of, entry

WORKERS = ["coder@w1", "coder@w2", "reviewer@w3#blue"]
DESK = "person@desk"
workers = st.sampled_from(WORKERS)
behind = st.sampled_from([0, 0, 0, 1, 2])  # how far a token is behind the current one
failures = st.sampled_from(["upload_failed", "agent_limited", "environment"])
# what a person does: in the model, and in core
STEER: dict[Event, tuple[Callable[[Model], str | None], Callable[[Entry, Moment], Entry]]] = {
    Event.NOTE: (Model.note, lambda entry, now: task.note(entry, now, "Hm.")),
    Event.HOLD: (lambda model: model.hold(on=True), lambda entry, now: task.hold(entry, now, "Wait.")),
    Event.UNHOLD: (lambda model: model.hold(on=False), task.unhold),
    Event.EVICT: (Model.evict, lambda entry, now: task.evict(entry, now, "New roll-out.")),
    Event.OPEN: (Model.open, task.open_planned),
    Event.ANSWER: (Model.answer, lambda entry, now: task.answer(entry, now, "Left.")),
    Event.RETRY: (Model.retry, task.retry),
    Event.REOPEN: (Model.reopen, task.reopen),
    Event.CANCEL: (Model.cancel, lambda entry, now: task.cancel(entry, now, "Never mind.")),
}


class Lifecycle(RuleBasedStateMachine):
    """One task, some workers and a person."""

    entry: Entry
    model: Model
    head: Record | None = None
    head_data = b""

    @initialize(limit=st.integers(1, 3), planned=st.booleans())
    def begin(self, limit: int, planned: bool) -> None:
        self.model = Model(limit, NOW_MS, planned=planned)
        self.entry = entry(status="planned" if planned else "pending", max_attempts=limit, x_new={"kept": 1})
        self.write(self.entry, Event.ADD)

    def write(self, after: Entry, event: Event) -> None:
        """Put a state into the log and go on from what is read back."""
        _, data = follow(self.head, after, event, DESK, at(self.model.now_ms), op_id="o", nonce="n")
        record = decode(data, Key("t1"), self.head.seq + 1 if self.head else 1, "it")
        assert link_problem(record, self.head_data, "it") is None
        assert record.entry == after
        self.head, self.head_data, self.entry = record, data, record.entry

    def now(self, by: str = DESK) -> Moment:
        alive = Alive.NO if self.model.owner_is_dead else Alive.UNKNOWN
        return Moment(self.model.now_ms, by, alive, SKEW_MS)

    def step(self, event: Event, expected: str | None, decide: Callable[[], Entry]) -> None:
        """Take a step in core that the model has taken, or has refused with `expected`."""
        after: list[Entry] = []
        assert code_of(lambda: after.append(decide())) == expected
        if expected is None:
            self.write(after[0], event)

    # --- time and death

    @rule(ms=st.sampled_from([1, WAIT_MS - 1, WAIT_MS, LEASE_MS, LEASE_MS + SKEW_MS, LEASE_MS + SKEW_MS + 1]))
    def time_passes(self, ms: int) -> None:
        self.model.now_ms += ms

    @precondition(lambda self: self.model.owner is not None)
    @rule()
    def the_owner_dies(self) -> None:
        self.model.owner_is_dead = True

    # --- workers

    @rule(by=workers)
    def claim(self, by: str) -> None:
        now = self.now(by)
        self.step(Event.CLAIM, self.model.claim(by), lambda: task.claim(self.entry, now, LEASE_MS))

    @precondition(lambda self: self.model.may_end_as_exhausted())
    @rule(by=workers)
    def exhaust(self, by: str) -> None:
        now = self.now(by)
        self.model.exhaust()
        self.step(Event.EXHAUST, None, lambda: task.exhaust(self.entry, now))

    # --- who holds the task, or did

    @rule(behind=behind)
    def done(self, behind: int) -> None:
        now, token = self.now(), self.model.token - behind
        self.step(Event.DONE, self.model.done(token), lambda: task.done(self.entry, now, token, OUTPUT, None))

    @rule(behind=behind, code=failures)
    def fail(self, behind: int, code: str) -> None:
        now, token = self.now(), self.model.token - behind
        expected = self.model.fail(token, code)
        self.step(Event.FAIL, expected, lambda: task.fail(self.entry, now, token, code, "No.", WAIT_MS))

    @rule(behind=behind)
    def release(self, behind: int) -> None:
        now, token = self.now(), self.model.token - behind
        self.step(Event.RELEASE, self.model.release(token), lambda: task.release(self.entry, now, token))

    @rule(behind=behind)
    def ask(self, behind: int) -> None:
        now, token = self.now(), self.model.token - behind
        self.step(Event.ASK, self.model.ask(token), lambda: task.ask(self.entry, now, token, "Which one?"))

    # --- a person

    @rule(event=st.sampled_from([Event.NOTE, Event.HOLD, Event.UNHOLD, Event.EVICT]))
    def a_person_steps_in(self, event: Event) -> None:
        self.steer(event)

    @rule(event=st.sampled_from([Event.OPEN, Event.ANSWER, Event.RETRY, Event.REOPEN, Event.CANCEL]))
    def a_person_moves_the_task(self, event: Event) -> None:
        self.steer(event)

    def steer(self, event: Event) -> None:
        now = self.now()
        expected = STEER[event][0](self.model)
        self.step(event, expected, lambda: STEER[event][1](self.entry, now))

    # --- what holds at all times

    @invariant()
    def the_task_is_as_the_model_has_it(self) -> None:
        model, one = self.model, self.entry
        assert (one["status"], one["owner"]) == (model.phase, model.owner)
        assert (one["token"], one["epoch"]) == (model.token, model.epoch)
        assert (one["attempts"], one["max_attempts"]) == (model.attempts, model.limit)
        assert one["not_before"] == (None if model.waits_until_ms is None else at(model.waits_until_ms))
        assert (one["hold"] is not None, one["question"] is not None) == (model.on_hold, model.asks)
        assert (one["halt"] or {}).get("reason") == ("needs_input" if model.asks else None)
        assert (one["output"] is not None) is (one["completed_at"] is not None) is model.has_output
        assert (one["last_error"] or {"code": None})["code"] == model.error
        assert (len(one["notes"]), one["claimed_by"]) == (model.notes, model.owners)
        assert {**one}["x_new"] == {"kept": 1}

    @invariant()
    def the_entry_is_valid_and_within_its_limits(self) -> None:
        assert entry_problems(self.entry) == {}
        assert 0 <= self.entry["attempts"] <= self.entry["max_attempts"]
        assert lapsed(self.entry, self.model.now_ms, SKEW_MS, self.now().alive) is self.model.replaceable

    @invariant()
    def every_former_token_is_too_late(self) -> None:
        last = self.model.token - (self.model.owner is not None)
        for token in range(max(0, last - 2), last + 1):
            assert code_of(task.fence, self.entry, token, Event.RENEW) == "lease_lost"


TestLifecycle = Lifecycle.TestCase
