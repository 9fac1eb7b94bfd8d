"""Reviews, and what a task may wait for: the `when` of a dependency, outputs that no longer verify."""

import pytest

from repokernel.core.ids import TaskId
from repokernel.core.lease import Alive
from repokernel.ops import carry, steer
from repokernel.ops.claim import claim, claim_next
from repokernel.ops.log import require_head
from tests.boards import ANN, BEN, FIRST, LEASE_MS, PERSON, BoardHere, code_of, refusal

REVIEW, NEXT = TaskId("review"), TaskId("next")
CRITIC = "critic@cy"


def under_review(board: BoardHere, when: str = "accepted") -> None:
    """t1 done by Ann, its review open, and a task that waits for the verdict."""
    board.add()
    board.add("review", review_of="t1")
    board.add("next", depends_on=[{"id": "t1", "when": when}])
    board.finish()


def judge(board: BoardHere, verdict: str, by: str = CRITIC) -> None:
    token = board.claim(REVIEW, by)["token"]
    carry.done(board.world, REVIEW, by, token, None, verdict)


# who may review -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reviewer",
    [ANN, "writer@other", "critic@ann", "writer@ann#green", "critic@ann#green", "critic@ann~vm:boot:1:11:5"],
    ids=["itself", "by role", "by instance", "other deployment", "instance elsewhere", "restarted"],
)
def test_nobody_reviews_what_they_worked_on(board: BoardHere, reviewer: str) -> None:
    under_review(board)
    before = board.contents()
    found = refusal(lambda: board.claim(REVIEW, reviewer))
    assert (found.code, found.fields["author"]) == ("self_review", ANN)
    assert board.contents() == before


def test_every_owner_that_the_work_ever_had_is_kept_from_its_review(board: BoardHere) -> None:
    board.add()
    board.claim(by="drafter@dan")
    board.machine.known["drafter@dan"] = Alive.NO
    board.finish(by=ANN)
    board.add("review", review_of="t1")
    assert code_of(lambda: board.claim(REVIEW, "drafter@new")) == "self_review"
    assert board.claim(REVIEW, CRITIC)["owner"] == CRITIC


def test_a_worker_is_offered_other_work_than_its_own_review(board: BoardHere) -> None:
    under_review(board)
    board.add("other", priority=200)
    assert claim_next(board.world, ANN, LEASE_MS)["id"] == "other"
    found = refusal(lambda: claim_next(board.world, ANN, LEASE_MS))
    assert (found.code, found.fields["for_a_person"]) == ("not_yet", 1)


def test_a_review_waits_for_the_work(board: BoardHere) -> None:
    board.add()
    board.add("review", review_of="t1")
    assert code_of(lambda: board.claim(REVIEW, CRITIC)) == "waiting"
    board.finish()
    assert board.claim(REVIEW, CRITIC)["owner"] == CRITIC


# verdicts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", [None, "", "fine", "ACCEPTED"])
def test_a_review_is_done_by_a_verdict_alone(board: BoardHere, verdict: str | None) -> None:
    under_review(board)
    token = board.claim(REVIEW, CRITIC)["token"]
    assert code_of(lambda: carry.done(board.world, REVIEW, CRITIC, token, None, verdict)) == "verdict_missing"


def test_a_verdict_belongs_to_a_review(board: BoardHere) -> None:
    board.add()
    token = board.claim()["token"]
    board.write("a.md")
    assert code_of(lambda: carry.done(board.world, FIRST, ANN, token, "a.md", "accepted")) == "not_review"


def test_a_verdict_is_bound_to_the_token_and_hash_that_were_seen(board: BoardHere) -> None:
    under_review(board)
    judge(board, "accepted")
    review = require_head(board.another(), REVIEW).entry["review"] or {}
    seen = require_head(board.another(), FIRST).entry
    assert seen["output"] is not None
    bound = (review["of"], review["token"], review["sha256"], review["verdict"])
    assert bound == ("t1", seen["token"], seen["output"]["sha256"], "accepted")


def test_accepted_work_lets_what_waits_for_it_go_on(board: BoardHere) -> None:
    under_review(board)
    assert code_of(lambda: board.claim(NEXT, BEN)) == "waiting"
    judge(board, "accepted")
    assert board.claim(NEXT, BEN)["owner"] == BEN


@pytest.mark.parametrize("verdict", ["changes_requested", "rejected"])
def test_work_that_was_not_accepted_keeps_what_waits_for_it(board: BoardHere, verdict: str) -> None:
    under_review(board)
    judge(board, verdict)
    assert code_of(lambda: board.claim(NEXT, BEN)) == "waiting"
    assert refusal(lambda: claim_next(board.world, BEN, LEASE_MS)).fields["for_a_person"] == 1


def test_a_later_review_overrules_an_earlier_one(board: BoardHere) -> None:
    under_review(board)
    judge(board, "rejected")
    board.add("again", review_of="t1")
    token = board.claim(TaskId("again"), "critic@dee")["token"]
    board.clock.advance(1000)
    carry.done(board.world, TaskId("again"), "critic@dee", token, None, "accepted")
    assert board.claim(NEXT, BEN)["owner"] == BEN


def test_reopening_the_work_voids_the_verdict(board: BoardHere) -> None:
    under_review(board)
    judge(board, "accepted")
    steer.reopen(board.world, FIRST, PERSON)
    assert code_of(lambda: board.claim(NEXT, BEN)) == "waiting"
    board.finish()
    assert code_of(lambda: board.claim(NEXT, BEN)) == "waiting"
    steer.reopen(board.world, REVIEW, PERSON)
    judge(board, "accepted")
    assert board.claim(NEXT, BEN)["owner"] == BEN


@pytest.mark.parametrize("redone", [False, True], ids=["reopened", "redone"])
def test_work_that_changed_under_the_reviewer_voids_the_verdict(board: BoardHere, redone: bool) -> None:
    under_review(board)
    token = board.claim(REVIEW, CRITIC)["token"]
    steer.reopen(board.world, FIRST, PERSON)
    if redone:
        board.finish()
    before = board.contents()
    assert code_of(lambda: carry.done(board.world, REVIEW, CRITIC, token, None, "accepted")) == "verdict_void"
    assert board.contents() == before
    carry.release(board.world, REVIEW, CRITIC, token)
    if not redone:
        board.finish()
    judge(board, "accepted")


# what a task waits for ----------------------------------------------------------------------------

OUTCOMES = ("pending", "held", "done", "failed", "cancelled")
# when -> the code of claiming a task that waits so, for each outcome of the other; None: claimed
MET: dict[str, tuple[str | None, ...]] = {
    "done": ("waiting", "waiting", None, "not_ready", "not_ready"),
    "failed": ("waiting", "waiting", "not_ready", None, "not_ready"),
    "settled": ("waiting", "waiting", None, None, None),
    "accepted": ("waiting", "waiting", "waiting", "not_ready", "not_ready"),
}


def bring_to(board: BoardHere, outcome: str) -> None:
    board.add(max_attempts=1)
    match outcome:
        case "held":
            board.claim()
        case "done":
            board.finish()
        case "failed":
            carry.fail(board.world, FIRST, ANN, board.claim()["token"], "flaky", "")
        case "cancelled":
            steer.cancel(board.world, FIRST, PERSON)
        case _:
            assert outcome == "pending"


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("when", MET)
def test_a_dependency_is_met_as_its_when_says(board: BoardHere, when: str, outcome: str) -> None:
    bring_to(board, outcome)
    board.add("next", depends_on=[{"id": "t1", "when": when}])
    expected = MET[when][OUTCOMES.index(outcome)]
    if expected is None:
        assert claim(board.world, NEXT, BEN, LEASE_MS).entry["owner"] == BEN
    else:
        found = refusal(lambda: claim(board.world, NEXT, BEN, LEASE_MS))
        assert (found.code, found.fields["on"]) == (expected, "t1")


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("when", MET)
def test_the_next_task_is_offered_exactly_when_its_dependencies_are_met(
    board: BoardHere, when: str, outcome: str
) -> None:
    bring_to(board, outcome)
    if outcome == "pending":
        steer.hold(board.world, FIRST, PERSON, "not this one")
    board.add("next", depends_on=[{"id": "t1", "when": when}])
    if MET[when][OUTCOMES.index(outcome)] is None:
        assert claim_next(board.world, BEN, LEASE_MS)["id"] == "next"
    else:
        assert code_of(lambda: claim_next(board.world, BEN, LEASE_MS)) in ("not_yet", "drained")


def test_done_without_a_usable_output_keeps_what_builds_on_it(board: BoardHere) -> None:
    board.add()
    board.add("next", depends_on=["t1"])
    board.finish()
    path = board.folder / "out" / "t1-1.md"
    text = path.read_text(encoding="utf-8")
    path.unlink()
    assert code_of(lambda: board.claim(NEXT, BEN)) == "dependency_unusable"
    assert code_of(lambda: claim_next(board.world, BEN, LEASE_MS)) == "not_yet"
    path.write_text(text, encoding="utf-8")
    assert board.claim(NEXT, BEN)["owner"] == BEN


def test_the_next_task_stands_on_outputs_that_were_looked_at_now(board: BoardHere) -> None:
    board.add()
    board.add("next", depends_on=["t1"], priority=1)
    board.add("other", priority=200)
    board.finish()
    (board.folder / "out" / "t1-1.md").unlink()
    assert claim_next(board.world, BEN, LEASE_MS)["id"] == "other"


def test_the_configured_depth_decides_how_deep_a_claim_looks(board: BoardHere) -> None:
    board.configure('[verify]\ndepth = "sha256"\n')
    board.add()
    board.add("next", depends_on=["t1"])
    board.finish(text="text\n")
    board.write("out/t1-1.md", "tex!\n")
    assert code_of(lambda: board.claim(NEXT, BEN)) == "dependency_unusable"


def test_settled_and_failed_need_no_output(board: BoardHere) -> None:
    board.add()
    board.add("next", depends_on=[{"id": "t1", "when": "settled"}])
    board.finish()
    (board.folder / "out" / "t1-1.md").unlink()
    assert board.claim(NEXT, BEN)["owner"] == BEN


def test_a_dependency_that_cant_be_read_waits_for_a_person(board: BoardHere) -> None:
    board.add()
    board.add("next", depends_on=["t1"])
    board.finish()
    (board.root / "claims" / "t1.00000003.json").write_bytes(b"{}")
    assert code_of(lambda: claim(board.another(), NEXT, BEN, LEASE_MS)) == "dependency_unknown"
    assert refusal(lambda: claim_next(board.another(), BEN, LEASE_MS)).fields["for_a_person"] == 2
