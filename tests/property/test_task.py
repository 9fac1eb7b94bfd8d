"""Laws of single transitions, from any valid entry."""

import copy
from collections.abc import Callable

from hypothesis import given, strategies as st

from repokernel.core import task
from repokernel.core.entry import SPEC_FIELDS, Entry, Output, entry_problems
from repokernel.core.errors import RkError
from repokernel.core.ids import TaskId, fold
from repokernel.core.lease import Alive
from repokernel.core.phase import Event
from repokernel.core.record import decode, follow
from repokernel.core.task import Moment
from tests.property.strategies import any_text, entries, lines, near_ms, outputs, owners
from tests.unit.builders import OUTPUT, code_of
from tests.unit.expected_lifecycle import phases_after

Step = Callable[[Entry, Moment, int, str], Entry]
CODES = ["upload_failed", "agent_limited", "environment", "No Code"]

STEPS: dict[str, Step] = {
    "claim": lambda entry, now, _token, _text: task.claim(entry, now, 5000),
    "exhaust": lambda entry, now, _token, _text: task.exhaust(entry, now),
    "done": lambda entry, now, token, _text: task.done(entry, now, token, OUTPUT, None),
    "fail": lambda entry, now, token, text: task.fail(entry, now, token, CODES[len(text) % 4], text, len(text)),
    "release": lambda entry, now, token, _text: task.release(entry, now, token),
    "ask": task.ask,
    "answer": lambda entry, now, _token, text: task.answer(entry, now, text),
    "note": lambda entry, now, _token, text: task.note(entry, now, text),
    "hold": lambda entry, now, _token, text: task.hold(entry, now, text),
    "unhold": lambda entry, now, *_: task.unhold(entry, now),
    "open": lambda entry, now, _token, _text: task.open_planned(entry, now),
    "evict": lambda entry, now, _token, text: task.evict(entry, now, text),
    "retry": lambda entry, now, _token, _text: task.retry(entry, now),
    "reopen": lambda entry, now, _token, _text: task.reopen(entry, now),
    "cancel": lambda entry, now, _token, text: task.cancel(entry, now, text),
}
KEEP_THE_HOLD = {"note", "hold", "unhold"}
TOKENED = {"done", "fail", "release", "ask"}

moments = st.builds(
    Moment, now_ms=near_ms, by=owners, alive=st.sampled_from(list(Alive)), skew_ms=st.sampled_from([0, 1500])
)
steps = st.sampled_from(sorted(STEPS))


def after(name: str, entry: Entry, now: Moment, text: str = "Why not.") -> Entry | None:
    """The entry after a step with the current token, or None where it is refused."""
    try:
        return STEPS[name](entry, now, entry["token"], text)
    except RkError:
        return None
    except AssertionError:
        assert name == "exhaust"  # a caller's mistake: there are attempts left
        assert not task.exhausted(entry)
        return None


@given(steps, entries, moments, lines | any_text)
def test_what_comes_out_is_valid_and_can_be_written(name: str, entry: Entry, now: Moment, text: str) -> None:
    before = copy.deepcopy(entry)
    result = after(name, entry, now, text)
    assert entry == before
    if result is not None:
        assert entry_problems(result) == {}
        _, data = follow(None, result, Event(name), now.by, result["updated_at"], op_id="o", nonce="n")
        assert decode(data, fold(TaskId(entry["id"])), 1, "it").entry == result


@given(steps, entries, moments)
def test_a_task_goes_where_the_table_says(name: str, entry: Entry, now: Moment) -> None:
    result = after(name, entry, now)
    if result is not None:
        assert result["status"] in phases_after()[entry["status"], name]


@given(steps, entries, moments)
def test_what_the_task_is_and_what_nobody_here_knows_stays(name: str, entry: Entry, now: Moment) -> None:
    result = after(name, entry, now)
    if result is not None:
        told = set(SPEC_FIELDS) - ({"max_attempts"} if name == "retry" else set())
        known = {"priority", "created_at", "branch", "base", "head", "landed", "usage", "schema", *told}
        unknown = {"x_new", "Title", "a b"} & set(entry)
        assert all({**result}[field] == {**entry}[field] for field in known | unknown)
        assert set(result) == set(entry)


@given(steps, entries, moments)
def test_a_token_rises_by_one_at_a_claim_and_never_else(name: str, entry: Entry, now: Moment) -> None:
    result = after(name, entry, now)
    if result is not None:
        assert result["token"] - entry["token"] == (name == "claim")
        assert set(result["claimed_by"]) >= set(entry["claimed_by"])


@given(steps, entries, moments)
def test_an_epoch_rises_by_one_at_reopening_and_cancelling_and_never_else(name: str, entry: Entry, now: Moment) -> None:
    result = after(name, entry, now)
    if result is not None:
        assert result["epoch"] - entry["epoch"] == (name in ("reopen", "cancel"))


@given(steps, entries, moments)
def test_attempts_stay_within_their_limit(name: str, entry: Entry, now: Moment) -> None:
    result = after(name, entry, now)
    if result is not None:
        assert 0 <= result["attempts"] <= max(entry["attempts"], result["max_attempts"])
        assert name != "claim" or result["attempts"] <= result["max_attempts"]
        assert name == "retry" or result["max_attempts"] == entry["max_attempts"]
        assert name != "retry" or not task.exhausted(result)


@given(steps, entries, moments)
def test_a_hold_ends_with_every_step_but_those_that_leave_the_holder_alone(
    name: str, entry: Entry, now: Moment
) -> None:
    result = after(name, entry, now)
    if result is None:
        return
    hold = {field: {**entry}[field] for field in ("owner", "owned_since", "lease_expires")}
    kept = {field: {**result}[field] for field in hold}
    if name in KEEP_THE_HOLD:
        assert kept == hold
    elif name == "claim":
        assert result["owner"] == now.by
    else:
        assert set(kept.values()) == {None}


@given(st.sampled_from(sorted(TOKENED)), entries, moments, st.integers(0, 7))
def test_any_token_but_that_of_a_present_holder_is_lost(name: str, entry: Entry, now: Moment, token: int) -> None:
    code = code_of(lambda: STEPS[name](entry, now, token, "Why not."))
    assert (code == "lease_lost") is (entry["owner"] is None or token != entry["token"])


@given(steps, entries, moments, st.sampled_from(sorted(TOKENED)))
def test_a_holder_is_too_late_after_every_step_that_ends_a_hold(
    name: str, entry: Entry, now: Moment, late: str
) -> None:
    result = after(name, entry, now)
    if result is not None and name not in KEEP_THE_HOLD:
        assert code_of(lambda: STEPS[late](result, now, entry["token"], "Why not.")) == "lease_lost"


@given(entries, moments, outputs)
def test_done_always_has_the_output_that_it_expects(entry: Entry, now: Moment, described: Output) -> None:
    for output in (None, described):
        code = code_of(task.done, entry, now, entry["token"], output, None)
        if code is None:
            assert output is not None or entry["expects"] == "none"
            assert output is None or output["bytes"] > 0 or entry["expects"] != "non_empty"
