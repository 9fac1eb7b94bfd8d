"""What a holder does with its task: renew, done, fail, release, ask."""

import pytest

from repokernel.core.ids import TaskId
from repokernel.core.times import parse_instant
from repokernel.ops import carry, steer
from repokernel.ops.claim import claim_next
from repokernel.ops.log import history, require_head
from tests.boards import ANN, BEN, FIRST, LEASE_MS, MINUTE_MS, PERSON, BoardHere, code_of, error_code, refusal
from tests.faulty_store import FaultyStore


@pytest.fixture
def token(board: BoardHere) -> int:
    """The token of t1, claimed by Ann."""
    board.add()
    return board.claim()["token"]


def left_ms(board: BoardHere) -> int:
    return parse_instant(require_head(board.another(), FIRST).entry["lease_expires"] or "") - board.clock.now_ms


# renew --------------------------------------------------------------------------------------------


def test_renewing_extends_the_lease_by_its_first_length_and_adds_no_record(board: BoardHere, token: int) -> None:
    board.clock.advance(8 * MINUTE_MS)
    entry = carry.renew(board.world, FIRST, ANN, token, None)
    assert parse_instant(entry["lease_expires"] or "") == board.clock.now_ms + LEASE_MS
    assert left_ms(board) == LEASE_MS
    assert len(board.records()) == 2


def test_a_renewed_lease_keeps_others_away(board: BoardHere, token: int) -> None:
    for _ in range(5):
        board.clock.advance(8 * MINUTE_MS)
        carry.renew(board.world, FIRST, ANN, token, None)
        assert code_of(lambda: board.claim(by=BEN)) == "held"
    board.lapse()
    assert board.claim(by=BEN)["token"] == token + 1


def test_a_lease_may_be_renewed_to_another_length(board: BoardHere, token: int) -> None:
    carry.renew(board.world, FIRST, ANN, token, 3 * LEASE_MS)
    assert left_ms(board) == 3 * LEASE_MS


def test_a_renewal_never_shortens_a_lease(board: BoardHere, token: int) -> None:
    carry.renew(board.world, FIRST, ANN, token, MINUTE_MS)
    assert left_ms(board) >= LEASE_MS - 1000


def test_since_when_a_task_is_held_is_not_changed_by_renewal(board: BoardHere, token: int) -> None:
    since = require_head(board.world, FIRST).entry["owned_since"]
    board.clock.advance(MINUTE_MS)
    assert carry.renew(board.world, FIRST, ANN, token, None)["owned_since"] == since


@pytest.mark.parametrize("times", [1, 5])
def test_a_note_between_renewals_does_not_lengthen_the_lease(board: BoardHere, token: int, times: int) -> None:
    for _ in range(times):
        board.clock.advance(8 * MINUTE_MS)
        carry.renew(board.world, FIRST, ANN, token, None)
        steer.note(board.world, FIRST, PERSON, "how is it going?")
    board.clock.advance(MINUTE_MS)
    carry.renew(board.world, FIRST, ANN, token, None)
    assert left_ms(board) == LEASE_MS


@pytest.mark.parametrize(("by", "left"), [(ANN, LEASE_MS), (PERSON, LEASE_MS - MINUTE_MS)])
def test_a_note_renews_the_lease_of_its_author_alone(board: BoardHere, token: int, by: str, left: int) -> None:
    board.clock.advance(MINUTE_MS)
    steer.note(board.world, FIRST, by, "half way")
    assert left_ms(board) == left


def test_a_note_stands_though_the_lease_was_lost_with_it(board: BoardHere, token: int) -> None:
    store = FaultyStore(board.another().store)
    store.after["write_side"] = [lambda: steer.cancel(board.world, FIRST, PERSON)]
    assert steer.note(board.another(store), FIRST, ANN, "half way").changed
    assert [note["text"] for note in require_head(board.another(), FIRST).entry["notes"]] == ["half way"]


def test_a_lapsed_lease_that_nobody_took_may_be_renewed(board: BoardHere, token: int) -> None:
    board.lapse()
    carry.renew(board.world, FIRST, ANN, token, None)
    assert code_of(lambda: board.claim(by=BEN)) == "held"


def test_a_renewal_counts_only_if_the_token_is_still_current_afterwards(board: BoardHere, token: int) -> None:
    def replace() -> None:
        board.lapse()
        board.claim(by=BEN)

    store = FaultyStore(board.another().store)
    store.after["write_side"] = [replace]
    found = refusal(lambda: carry.renew(board.another(store), FIRST, ANN, token, None))
    assert (found.code, found.fields["current_token"]) == ("lease_lost", 2)
    assert left_ms(board) == LEASE_MS


def test_a_beat_that_is_garbage_gives_nobody_a_longer_hold(board: BoardHere, token: int) -> None:
    carry.renew(board.world, FIRST, ANN, token, 5 * LEASE_MS)
    (beat,) = (board.root / "beats").iterdir()
    beat.write_bytes(b"\xff{")
    board.lapse()
    assert board.claim(by=BEN)["token"] == token + 1


# done ---------------------------------------------------------------------------------------------


def test_done_records_an_output_that_was_checked(board: BoardHere, token: int) -> None:
    board.write("a.md", "hello\n")
    entry = carry.done(board.world, FIRST, ANN, token, "a.md").entry
    assert (entry["status"], entry["owner"], entry["completed_by"]) == ("done", None, ANN)
    assert entry["output"] is not None
    assert (entry["output"]["uri"], entry["output"]["bytes"]) == (f"file://{board.folder}/a.md", 6)
    assert require_head(board.another(), FIRST).entry == entry


@pytest.mark.parametrize(
    ("expects", "output", "code"),
    [
        ("output", None, "output_missing"),
        ("output", "nowhere.md", "output_missing"),
        ("output", "s3://b/k", "output_refused"),
        ("non_empty", None, "output_missing"),
        ("non_empty", "empty.md", "output_empty"),
        ("none", "nowhere.md", "output_missing"),
    ],
)
def test_a_task_is_not_done_without_what_must_stand_behind_it(
    board: BoardHere, expects: str, output: str | None, code: str
) -> None:
    board.add(expects=expects)
    board.write("empty.md", "")
    token = board.claim()["token"]
    before = board.contents()
    assert code_of(lambda: carry.done(board.world, FIRST, ANN, token, output)) == code
    assert board.contents() == before


@pytest.mark.parametrize(("expects", "output"), [("none", None), ("none", "empty.md"), ("output", "empty.md")])
def test_a_task_is_done_with_what_it_expects(board: BoardHere, expects: str, output: str | None) -> None:
    board.add(expects=expects)
    board.write("empty.md", "")
    assert carry.done(board.world, FIRST, ANN, board.claim()["token"], output).entry["status"] == "done"


def test_a_coding_task_is_done_by_landing_alone(board: BoardHere) -> None:
    board.world.repository = True
    board.add(owned_paths=["src/**"])
    token = board.claim()["token"]
    board.write("a.md")
    assert code_of(lambda: carry.done(board.world, FIRST, ANN, token, "a.md")) == "needs_landing"


def test_done_clears_the_error_of_an_earlier_attempt(board: BoardHere, token: int) -> None:
    carry.fail(board.world, FIRST, ANN, token, "upload_failed", "503")
    board.clock.advance(MINUTE_MS)
    assert board.finish(by=BEN)["last_error"] is None


# fail, release, ask -------------------------------------------------------------------------------


def test_a_failure_says_what_went_wrong(board: BoardHere, token: int) -> None:
    entry = carry.fail(board.world, FIRST, ANN, token, "upload_failed", "HTTP 503\nfrom the bucket").entry
    assert entry["last_error"] is not None
    assert (entry["last_error"]["code"], entry["last_error"]["detail"]) == (
        "upload_failed",
        "HTTP 503\nfrom the bucket",
    )


@pytest.mark.parametrize(
    ("code", "detail"),
    [("", "d"), ("Upload failed", "d"), ("x" * 65, "d"), ("ok", "a\0b"), ("ok", "\x1b[31m"), ("ok", "x" * 100_001)],
)
def test_a_failure_that_cant_be_recorded_is_refused_and_costs_nothing(
    board: BoardHere, token: int, code: str, detail: str
) -> None:
    assert code_of(lambda: carry.fail(board.world, FIRST, ANN, token, code, detail)) == "bad_value"
    assert require_head(board.world, FIRST).entry["token"] == token


def test_a_released_task_is_unharmed(board: BoardHere, token: int) -> None:
    entry = carry.release(board.world, FIRST, ANN, token).entry
    facts = (entry["status"], entry["owner"], entry["attempts"], entry["token"], entry["not_before"])
    assert facts == ("pending", None, 0, token, None)
    assert claim_next(board.world, BEN, LEASE_MS)["token"] == token + 1


def test_a_question_halts_the_task_and_the_answer_offers_it_again(board: BoardHere, token: int) -> None:
    entry = carry.ask(board.world, FIRST, ANN, token, "Which edition?").entry
    assert (entry["halt"] or {})["reason"] == "needs_input"
    assert (entry["question"], entry["owner"], entry["attempts"]) == ("Which edition?", None, 0)
    found = refusal(lambda: claim_next(board.world, BEN, LEASE_MS))
    assert (found.code, found.fields["for_a_person"]) == ("not_yet", 1)
    entry = steer.answer(board.world, FIRST, PERSON, "The second.").entry
    assert (entry["status"], entry["halt"], entry["question"]) == ("pending", None, None)
    assert ["Which edition?" in note["text"] and "The second." in note["text"] for note in entry["notes"]] == [True]
    assert claim_next(board.world, BEN, LEASE_MS)["id"] == "t1"


def test_a_token_that_ended_leaves_no_beat(board: BoardHere, token: int) -> None:
    carry.renew(board.world, FIRST, ANN, token, None)
    carry.release(board.world, FIRST, ANN, token)
    assert list((board.root / "beats").iterdir()) == []


# who may act --------------------------------------------------------------------------------------


def test_the_current_token_is_enough_to_act_on_it(board: BoardHere, token: int) -> None:
    board.write("a.md")
    entry = carry.done(board.world, FIRST, "deputy@elsewhere", token, "a.md").entry
    assert entry["completed_by"] == ANN


def test_the_owner_needs_no_token(board: BoardHere, token: int) -> None:
    board.write("a.md")
    assert carry.done(board.another(), FIRST, ANN, None, "a.md").changed


def test_somebody_else_without_a_token_is_no_owner(board: BoardHere, token: int) -> None:
    for call in (
        lambda: carry.renew(board.world, FIRST, BEN, None, None),
        lambda: carry.done(board.world, FIRST, BEN, None, None),
        lambda: carry.fail(board.world, FIRST, BEN, None, "x", ""),
        lambda: carry.release(board.world, FIRST, BEN, None),
        lambda: carry.ask(board.world, FIRST, BEN, None, "?"),
    ):
        assert code_of(call) == "not_owner"


def test_nobody_acts_on_what_nobody_holds(board: BoardHere) -> None:
    board.add()
    assert code_of(lambda: carry.release(board.world, FIRST, ANN, None)) == "not_claimed"
    board.finish(by=BEN)
    assert code_of(lambda: carry.release(board.world, FIRST, ANN, None)) == "settled"
    assert code_of(lambda: carry.release(board.world, TaskId("t9"), ANN, None)) == "task_unknown"


def test_the_log_tells_who_did_what(board: BoardHere, token: int) -> None:
    steer.note(board.world, FIRST, PERSON, "remark")
    carry.fail(board.world, FIRST, ANN, token, "upload_failed", "503")
    records = history(board.another(), FIRST)
    assert [(one.seq, one.event, one.by) for one in records] == [
        (1, "add", PERSON),
        (2, "claim", ANN),
        (3, "note", PERSON),
        (4, "fail", ANN),
    ]
    assert error_code(records[-1].entry) == "upload_failed"
