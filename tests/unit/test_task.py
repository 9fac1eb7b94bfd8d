"""Each transition by example: what changes, what is refused."""

from collections.abc import Callable

import pytest

from repokernel.core import task
from repokernel.core.entry import Entry, Output, entry_problems
from repokernel.core.lease import Alive
from repokernel.core.phase import Cell
from tests.unit.builders import (
    ANN,
    BOB,
    DESK,
    LEASE_MS,
    NOW,
    NOW_MS,
    OUTPUT,
    at,
    code_of,
    halt,
    in_cell,
    moment,
    refusal,
)

LATER = at(NOW_MS + 1)
SPENT = {"attempts": 3, "max_attempts": 3}
FREE = {"owner": None, "owned_since": None, "lease_expires": None}
FAILURE = {"code": "upload_failed", "detail": "Disk full.", "at": NOW}


def changes(before: Entry, after: Entry) -> dict[str, object]:
    """The fields that differ, as they are now; what comes out of a transition is valid."""
    assert entry_problems(after) == {}
    then: dict[str, object] = {**before}
    now: dict[str, object] = {**after}
    return {name: value for name, value in now.items() if name not in then or then[name] != value}


def claim(entry: Entry, by: str = BOB) -> Entry:
    return task.claim(entry, moment(by), LEASE_MS)


def test_a_claim_makes_the_claimant_the_owner_under_the_next_token() -> None:
    before = in_cell(Cell.PENDING, not_before=NOW, token=4, attempts=1, claimed_by=[ANN])
    assert changes(before, claim(before)) == {
        "status": "in_progress",
        "owner": BOB,
        "owned_since": NOW,
        "lease_expires": at(NOW_MS + LEASE_MS),
        "token": 5,
        "attempts": 2,
        "claimed_by": [ANN, BOB],
        "not_before": None,
    }


def test_who_claims_again_stands_once_among_the_claimants_and_last() -> None:
    assert claim(in_cell(Cell.PENDING, claimed_by=[BOB, ANN]))["claimed_by"] == [ANN, BOB]


def test_an_orphan_keeps_the_error_of_its_last_attempt() -> None:
    assert claim(in_cell(Cell.ORPHAN, last_error=FAILURE))["last_error"] == FAILURE


@pytest.mark.parametrize("alive", [Alive.NO, Alive.UNKNOWN])
def test_a_takeover_notes_that_the_owner_before_has_crashed(alive: Alive) -> None:
    stale = in_cell(Cell.STALE)
    after = task.claim(stale, moment(alive=alive), LEASE_MS)
    error = after["last_error"]
    assert error is not None
    assert (error["code"], error["at"], ANN in error["detail"]) == ("crashed", NOW, True)
    assert (after["owner"], after["token"], after["attempts"]) == (BOB, 5, 3)


def test_a_takeover_tells_a_dead_process_from_a_lease_that_ended() -> None:
    stale = in_cell(Cell.STALE)
    told = {alive: task.crashed(stale, moment(alive=alive))["detail"] for alive in Alive}
    ended = str(stale["lease_expires"])
    assert {alive: ended in detail for alive, detail in told.items()} == {
        Alive.NO: False,
        Alive.UNKNOWN: True,
        Alive.YES: True,
    }


def test_a_claim_ends_a_halt_that_needs_no_person() -> None:
    after = claim(in_cell(Cell.HALTED, halt=halt("interrupted"), question="Which one?"))
    assert (after["halt"], after["question"]) == (None, None)


CLAIM_REFUSED = [
    (in_cell(Cell.PENDING, hold="Wait for Ann."), "on_hold"),
    (in_cell(Cell.STALE, hold="Wait for Ann."), "on_hold"),
    (in_cell(Cell.PENDING, not_before=LATER), "backing_off"),
    (in_cell(Cell.PENDING, **SPENT), "attempts_exhausted"),
    (in_cell(Cell.ORPHAN, **SPENT), "attempts_exhausted"),
    (in_cell(Cell.STALE, attempts=7, max_attempts=3), "attempts_exhausted"),
    (in_cell(Cell.HELD), "held"),
    (in_cell(Cell.HALTED), "needs_person"),
    (in_cell(Cell.PLANNED), "not_open"),
    (in_cell(Cell.IN_REVIEW), "wrong_phase"),
    (in_cell(Cell.DONE), "settled"),
    # the person's stop sign first, then time, then attempts
    (in_cell(Cell.PENDING, hold="Wait.", not_before=LATER, **SPENT), "on_hold"),
    (in_cell(Cell.PENDING, not_before=LATER, **SPENT), "backing_off"),
]


@pytest.mark.parametrize(("before", "code"), CLAIM_REFUSED)
def test_a_claim_is_refused_with_its_reason(before: Entry, code: str) -> None:
    refused = refusal(lambda: claim(before))
    assert (refused.code, refused.fields["id"]) == (code, "t1")


def test_a_start_date_that_has_come_is_no_obstacle() -> None:
    assert claim(in_cell(Cell.PENDING, not_before=NOW))["not_before"] is None


def test_done_records_the_output_and_who_finished_it() -> None:
    before = in_cell(Cell.HELD, last_error=FAILURE)
    assert changes(before, task.done(before, moment(), 4, OUTPUT, None)) == {
        **FREE,
        "status": "done",
        "output": OUTPUT,
        "completed_by": ANN,
        "completed_at": NOW,
        "last_error": None,
    }


def test_done_of_a_review_adds_the_verdict_to_what_it_is_bound_to() -> None:
    before = in_cell(Cell.HELD, review_of="t0", expects="none", review={"of": "t0", "token": 2})
    after = task.done(before, moment(), 4, None, "accepted")
    assert after["review"] == {"of": "t0", "token": 2, "verdict": "accepted", "at": NOW}


def test_a_verdict_stands_alone_where_the_claim_noted_nothing() -> None:
    after = task.done(in_cell(Cell.HELD, expects="none"), moment(), 4, None, "rejected")
    assert after["review"] == {"verdict": "rejected", "at": NOW}


EMPTY = {**OUTPUT, "bytes": 0}


@pytest.mark.parametrize(
    ("fields", "output", "code"),
    [
        ({}, None, "output_missing"),
        ({"expects": "non_empty"}, None, "output_missing"),
        ({"expects": "non_empty"}, EMPTY, "output_empty"),
        ({"owned_paths": ["src"]}, OUTPUT, "needs_landing"),
        ({"shared_paths": ["CHANGELOG.md"]}, OUTPUT, "needs_landing"),
        ({"owned_paths": ["src"], "expects": "none"}, None, "needs_landing"),
    ],
)
def test_done_without_what_the_task_expects_is_refused(
    fields: dict[str, object], output: Output | None, code: str
) -> None:
    assert refusal(lambda: task.done(in_cell(Cell.HELD, **fields), moment(), 4, output, None)).code == code


@pytest.mark.parametrize(
    ("fields", "output"),
    [
        ({"expects": "none"}, None),
        ({"expects": "none"}, OUTPUT),
        ({"expects": "output"}, EMPTY),
        ({"expects": "non_empty"}, OUTPUT),
        ({"forbidden_paths": ["secrets"]}, OUTPUT),
    ],
)
def test_done_with_what_the_task_expects_is_done(fields: dict[str, object], output: Output | None) -> None:
    after = task.done(in_cell(Cell.HELD, **fields), moment(), 4, output, None)
    assert (after["status"], after["output"], after["review"]) == ("done", output, None)


def test_a_failure_waits_before_the_next_attempt() -> None:
    before = in_cell(Cell.HELD)
    assert changes(before, task.fail(before, moment(), 4, "upload_failed", "Disk full.", 5000)) == {
        **FREE,
        "status": "pending",
        "last_error": FAILURE,
        "not_before": at(NOW_MS + 5000),
    }


def test_the_last_attempt_that_fails_ends_the_task() -> None:
    before = in_cell(Cell.HELD, **SPENT)
    after = task.fail(before, moment(), 4, "upload_failed", "x" * 90_000, 5000)
    said = changes(before, after)
    error = said.pop("last_error")
    assert said == {"status": "failed", **FREE}
    assert isinstance(error, dict)
    assert (error["code"], error["at"]) == ("attempts_exhausted", NOW)
    assert "upload_failed" in error["detail"]
    assert len(error["detail"]) <= 2000


@pytest.mark.parametrize("code", ["agent_limited", "environment"])
@pytest.mark.parametrize("attempts", [1, 3])
def test_a_failure_that_did_no_harm_gives_the_attempt_back(code: str, attempts: int) -> None:
    after = task.fail(in_cell(Cell.HELD, attempts=attempts, max_attempts=3), moment(), 4, code, "", 5000)
    assert (after["status"], after["attempts"], after["not_before"]) == ("pending", attempts - 1, at(NOW_MS + 5000))
    assert type(after["attempts"]) is int


def test_a_code_that_is_none_is_refused() -> None:
    held = in_cell(Cell.HELD)
    assert refusal(lambda: task.fail(held, moment(), 4, "No Code", "", 0)).code == "invalid_task"


def test_a_release_gives_the_attempt_back() -> None:
    before = in_cell(Cell.HELD)
    assert changes(before, task.release(before, moment(), 4)) == {**FREE, "status": "pending", "attempts": 1}


def test_a_question_halts_the_task_and_gives_the_attempt_back() -> None:
    before = in_cell(Cell.HELD)
    said = changes(before, task.ask(before, moment(), 4, "Which one?"))
    halted = said.pop("halt")
    assert said == {**FREE, "question": "Which one?", "attempts": 1}
    assert isinstance(halted, dict)
    assert {name: halted[name] for name in ("reason", "detail", "evidence", "at", "resume")} == {
        "reason": "needs_input",
        "detail": "Which one?",
        "evidence": ANN,
        "at": NOW,
        "resume": "rk answer t1 TEXT",
    }


def test_an_answer_is_noted_with_its_question_for_the_next_worker() -> None:
    before = in_cell(Cell.HALTED)
    after = task.answer(before, moment(DESK), "The left one.")
    assert changes(before, after) == {
        "status": "pending",
        "halt": None,
        "question": None,
        "notes": [{"at": NOW, "by": DESK, "text": "Question: Which one?\nAnswer: The left one."}],
    }


@pytest.mark.parametrize("reason", ["check_failed", "crashed"])
def test_there_is_no_answer_without_a_question(reason: str) -> None:
    halted = in_cell(Cell.HALTED, halt=halt(reason), question=None)
    assert refusal(lambda: task.answer(halted, moment(DESK), "Left.")).code == "no_question"


@pytest.mark.parametrize(("chars", "must_fit"), [(1000, True), (50_000, False), (100_000, False)])
def test_a_question_that_was_asked_can_be_answered(chars: int, must_fit: bool) -> None:
    question = "?" * chars
    code = code_of(task.ask, in_cell(Cell.HELD), moment(), 4, question)
    assert code in ((None,) if must_fit else (None, "invalid_task"))
    if code is None:
        asked = task.ask(in_cell(Cell.HELD), moment(), 4, question)
        assert task.answer(asked, moment(DESK), "Yes.")["status"] == "pending"


@pytest.mark.parametrize("cell", list(Cell))
def test_a_note_changes_nothing_but_the_notes(cell: Cell) -> None:
    before = in_cell(cell, notes=[{"at": NOW, "by": ANN, "text": "One."}])
    after = task.note(before, moment(DESK, NOW_MS + 1), "Two.")
    assert changes(before, after) == {
        "updated_at": LATER,
        "notes": [*before["notes"], {"at": LATER, "by": DESK, "text": "Two."}],
    }


def test_a_task_holds_a_thousand_notes() -> None:
    noted = [{"at": NOW, "by": ANN, "text": "x"}]
    assert len(task.note(in_cell(Cell.HELD, notes=noted * 999), moment(), "x")["notes"]) == 1000
    assert refusal(lambda: task.note(in_cell(Cell.HELD, notes=noted * 1000), moment(), "x")).code == "invalid_task"


STEER: list[tuple[Cell, Callable[[Entry], Entry], dict[str, object]]] = [
    (Cell.HELD, lambda entry: task.hold(entry, moment(DESK), "Wait."), {"hold": "Wait."}),
    (Cell.PLANNED, lambda entry: task.hold(entry, moment(DESK), "Wait."), {"hold": "Wait."}),
    (Cell.PLANNED, lambda entry: task.open_planned(entry, moment(DESK)), {"status": "pending"}),
    (Cell.CANCELLED, lambda entry: task.reopen(entry, moment(DESK)), {"status": "pending", "epoch": 2}),
    (
        Cell.DONE,
        lambda entry: task.reopen(entry, moment(DESK)),
        {
            "status": "pending",
            "epoch": 1,
            "attempts": 0,
            "output": None,
            "completed_by": None,
            "completed_at": None,
        },
    ),
    (Cell.HELD, lambda entry: task.cancel(entry, moment(DESK), ""), {"status": "cancelled", "epoch": 1, **FREE}),
    (
        Cell.HALTED,
        lambda entry: task.cancel(entry, moment(DESK), "Never mind."),
        {
            "status": "cancelled",
            "epoch": 1,
            "halt": None,
            "question": None,
            "notes": [{"at": NOW, "by": DESK, "text": "Cancelled: Never mind."}],
        },
    ),
    (Cell.FAILED, lambda entry: task.retry(entry, moment(DESK)), {"status": "pending", "max_attempts": 4}),
    (
        Cell.HALTED,
        lambda entry: task.retry(entry, moment(DESK)),
        {"status": "pending", "halt": None, "question": None},
    ),
    (
        Cell.HELD,
        lambda entry: task.evict(entry, moment(DESK), "New roll-out."),
        {**FREE, "last_error": {"code": "evicted", "detail": f"{ANN}: New roll-out.", "at": NOW}},
    ),
]


@pytest.mark.parametrize(("cell", "step", "changed"), STEER)
def test_a_person_steers(cell: Cell, step: Callable[[Entry], Entry], changed: dict[str, object]) -> None:
    before = in_cell(cell)
    assert changes(before, step(before)) == changed


def test_a_hold_is_taken_back() -> None:
    before = in_cell(Cell.PENDING, hold="Wait.")
    assert changes(before, task.unhold(before, moment(DESK))) == {"hold": None}


def test_a_retry_clears_the_back_off_and_keeps_a_limit_that_leaves_attempts() -> None:
    before = in_cell(Cell.PENDING, not_before=LATER, last_error=FAILURE, attempts=1)
    assert changes(before, task.retry(before, moment(DESK))) == {"not_before": None}


def test_a_retry_of_a_stale_task_ends_its_token_and_notes_the_crash() -> None:
    before = in_cell(Cell.STALE)
    said = changes(before, task.retry(before, moment(DESK)))
    error = said.pop("last_error")
    assert said == {"status": "pending", **FREE}
    assert isinstance(error, dict)
    assert error["code"] == "crashed"


def test_reopening_clears_what_is_of_the_past() -> None:
    old = {"last_error": FAILURE, "not_before": NOW, "review": {"verdict": "accepted"}}
    after = task.reopen(in_cell(Cell.DONE, **old), moment(DESK))
    assert (after["last_error"], after["not_before"], after["review"]) == (None, None, None)


def test_the_words_of_a_transition_are_checked_before_they_are_written() -> None:
    held = in_cell(Cell.HELD)
    assert refusal(lambda: task.note(held, moment(), "\x1b[31m")).code == "invalid_task"
    assert refusal(lambda: task.hold(held, moment(), "")).code == "invalid_task"
    assert refusal(lambda: task.ask(held, moment(), 4, "\x00")).code == "invalid_task"
    assert refusal(lambda: task.claim(in_cell(Cell.PENDING), moment("nobody"), LEASE_MS)).code == "invalid_task"
