"""What a person does to tasks: hold, note, open, retry, reopen, cancel, evict."""

import pytest

from repokernel.core.ids import TaskId
from repokernel.core.times import format_instant
from repokernel.ops import carry, steer
from repokernel.ops.add import add
from repokernel.ops.claim import claim_next
from repokernel.ops.log import require_head
from tests.boards import ANN, BEN, FIRST, LEASE_MS, MINUTE_MS, PERSON, BoardHere, code_of, error_code, refusal

BLUE_1, BLUE_2, GREEN = "writer@pod1#blue", "writer@pod2#blue", "writer@pod3#green"


def test_a_task_on_hold_is_not_offered_until_it_is_let_go(board: BoardHere) -> None:
    board.add()
    steer.hold(board.world, FIRST, PERSON, "wait for the data")
    assert refusal(lambda: claim_next(board.world, ANN, LEASE_MS)).fields["for_a_person"] == 1
    steer.unhold(board.world, FIRST, PERSON)
    assert claim_next(board.world, ANN, LEASE_MS)["id"] == "t1"


def test_a_hold_may_get_another_reason(board: BoardHere) -> None:
    board.add(hold="one")
    assert steer.hold(board.world, FIRST, PERSON, "two").changed
    assert require_head(board.another(), FIRST).entry["hold"] == "two"


def test_a_stale_task_on_hold_is_not_taken_over(board: BoardHere) -> None:
    board.add()
    board.claim()
    steer.hold(board.world, FIRST, PERSON, "no")
    board.lapse()
    assert code_of(lambda: board.claim(by=BEN)) == "on_hold"


def test_notes_stay_in_order_with_author_and_time(board: BoardHere) -> None:
    board.add()
    for who, text in ((PERSON, "first"), (ANN, "second\nline")):
        board.clock.advance(1000)
        steer.note(board.world, FIRST, who, text)
    notes = require_head(board.another(), FIRST).entry["notes"]
    at_ms = board.clock.now_ms
    assert [(note["by"], note["text"], note["at"]) for note in notes] == [
        (PERSON, "first", format_instant(at_ms - 1000)),
        (ANN, "second\nline", format_instant(at_ms)),
    ]


@pytest.mark.parametrize("text", ["", " \n", "a\0b", "\x1b[2J", "x" * 100_001, "\ud800"])
def test_a_note_that_cant_be_kept_is_refused(board: BoardHere, text: str) -> None:
    board.add()
    before = board.contents()
    assert code_of(lambda: steer.note(board.world, FIRST, PERSON, text)) == "bad_value"
    assert board.contents() == before


def test_a_planned_task_is_offered_once_it_is_opened(board: BoardHere) -> None:
    add(board.world, {"id": "t1", "title": "t"}, PERSON, planned=True)
    assert code_of(lambda: claim_next(board.world, ANN, LEASE_MS)) == "not_yet"
    assert steer.open_planned(board.world, FIRST, PERSON).entry["status"] == "pending"
    assert claim_next(board.world, ANN, LEASE_MS)["id"] == "t1"


def test_retry_ends_a_back_off(board: BoardHere) -> None:
    board.add()
    carry.fail(board.world, FIRST, ANN, board.claim()["token"], "flaky", "")
    entry = steer.retry(board.world, FIRST, PERSON).entry
    assert (entry["not_before"], entry["max_attempts"], error_code(entry)) == (None, 3, "flaky")
    assert claim_next(board.world, BEN, LEASE_MS)["attempts"] == 2


def test_retry_gives_an_exhausted_task_one_more_attempt(board: BoardHere) -> None:
    board.add(max_attempts=1)
    for more in (2, 3):
        carry.fail(board.world, FIRST, ANN, board.claim()["token"], "flaky", "")
        assert require_head(board.world, FIRST).entry["status"] == "failed"
        entry = steer.retry(board.world, FIRST, PERSON).entry
        assert (entry["status"], entry["max_attempts"], entry["attempts"]) == ("pending", more, more - 1)


def test_retry_of_a_question_offers_the_task_without_an_answer(board: BoardHere) -> None:
    board.add()
    carry.ask(board.world, FIRST, ANN, board.claim()["token"], "which?")
    entry = steer.retry(board.world, FIRST, PERSON).entry
    assert (entry["status"], entry["halt"], entry["question"]) == ("pending", None, None)


def test_a_held_task_is_not_retried_under_its_worker(board: BoardHere) -> None:
    board.add()
    board.claim()
    assert code_of(lambda: steer.retry(board.world, FIRST, PERSON)) == "wrong_phase"


def test_reopen_starts_anew_in_the_next_epoch(board: BoardHere) -> None:
    board.add()
    done = board.finish()
    entry = steer.reopen(board.world, FIRST, PERSON).entry
    assert (entry["status"], entry["epoch"], entry["attempts"], entry["output"]) == ("pending", 1, 0, None)
    assert (entry["token"], entry["claimed_by"], entry["completed_by"]) == (done["token"], [ANN], None)
    assert board.claim(by=BEN)["token"] == done["token"] + 1


@pytest.mark.parametrize("phase", ["planned", "pending", "in_progress", "halted"])
def test_an_open_task_can_be_cancelled(board: BoardHere, phase: str) -> None:
    add(board.world, {"id": "t1", "title": "t"}, PERSON, planned=phase == "planned")
    if phase in ("in_progress", "halted"):
        token = board.claim()["token"]
        if phase == "halted":
            carry.ask(board.world, FIRST, ANN, token, "which?")
    entry = steer.cancel(board.world, FIRST, PERSON, "out of scope").entry
    facts = (entry["status"], entry["owner"], entry["halt"], entry["epoch"])
    assert facts == ("cancelled", None, None, 1)
    assert "out of scope" in entry["notes"][-1]["text"]


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        (lambda w: steer.hold(w, FIRST, PERSON, "no"), "settled"),
        (lambda w: steer.open_planned(w, FIRST, PERSON), "settled"),
        (lambda w: steer.cancel(w, FIRST, PERSON), "settled"),
        (lambda w: steer.retry(w, FIRST, PERSON), "settled"),
        (lambda w: steer.answer(w, FIRST, PERSON, "x"), "settled"),
    ],
    ids=["hold", "open", "cancel", "retry", "answer"],
)
def test_a_done_task_takes_notes_and_reopen_alone(board: BoardHere, operation: object, code: str) -> None:
    board.add()
    board.finish()
    assert callable(operation)
    assert code_of(lambda: operation(board.world)) == code
    steer.note(board.world, FIRST, PERSON, "well done")


def test_an_answer_without_a_question_is_refused(board: BoardHere) -> None:
    board.add()
    before = board.contents()
    refusal(lambda: steer.answer(board.world, FIRST, PERSON, "x"))
    assert board.contents() == before


# evict --------------------------------------------------------------------------------------------


def held_by(board: BoardHere, **owners: str) -> None:
    for name, owner in owners.items():
        board.claim(board.add(name), owner)


def test_evicting_a_deployment_frees_what_it_holds_and_nothing_else(board: BoardHere) -> None:
    held_by(board, a=BLUE_1, b=BLUE_2, c=GREEN, d=ANN)
    freed = steer.evict(board.world, "#blue", PERSON, "rolled back")
    assert sorted(entry["id"] for entry in freed) == ["a", "b"]
    heads = {name: require_head(board.another(), TaskId(name)).entry for name in "abcd"}
    assert [heads[name]["owner"] for name in "abcd"] == [None, None, GREEN, ANN]
    assert {error_code(heads[name]) for name in "ab"} == {"evicted"}
    assert {claim_next(board.world, GREEN, LEASE_MS)["id"] for _ in range(2)} == {"a", "b"}


def test_evicting_an_owner_frees_its_tasks_alone(board: BoardHere) -> None:
    held_by(board, a=BLUE_1, b=BLUE_2)
    assert [entry["id"] for entry in steer.evict(board.world, BLUE_1, PERSON, "replaced")] == ["a"]


def test_an_owner_may_be_named_as_people_are_shown_it(board: BoardHere) -> None:
    held_by(board, a="writer@ben~desk:b00t:4026531836:8461:349776", b="writer@bob", c="reader@ben")
    assert [entry["id"] for entry in steer.evict(board.world, "writer@ben", PERSON, "replaced")] == ["a"]


def test_evicting_a_renewed_hold_frees_it_too(board: BoardHere) -> None:
    held_by(board, a=BLUE_1)
    carry.renew(board.world, TaskId("a"), BLUE_1, 1, 90 * MINUTE_MS)
    steer.evict(board.world, "#blue", PERSON, "rolled back")
    assert board.claim(TaskId("a"), GREEN)["token"] == 2


@pytest.mark.parametrize("whom", ["", "#", "ann", "#b c", "@x", "writer@"])
def test_evicting_somebody_who_cant_be_is_refused(board: BoardHere, whom: str) -> None:
    assert code_of(lambda: steer.evict(board.world, whom, PERSON, "gone")) == "bad_value"


def test_a_task_that_cant_be_read_keeps_no_other_from_being_freed(board: BoardHere) -> None:
    held_by(board, a=BLUE_1, b=BLUE_1, c=BLUE_1, d=BLUE_1)
    first = board.root / "claims" / "b.00000001.json"
    first.write_bytes(first.read_bytes().replace(b"title of b", b"title of x"))
    freed = steer.evict(board.another(), "#blue", PERSON, "rolled back")
    assert sorted(entry["id"] for entry in freed) == ["a", "c", "d"]
