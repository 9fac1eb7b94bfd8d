"""Becoming the owner of a named task, or of the next one, on a real board."""

import pytest

from repokernel.core.ids import TaskId
from repokernel.core.lease import Alive
from repokernel.core.times import format_instant, parse_instant
from repokernel.ops import carry, steer
from repokernel.ops.add import add
from repokernel.ops.claim import claim, claim_next
from repokernel.ops.log import history, require_head
from tests.boards import ANN, BEN, FIRST, LEASE_MS, MINUTE_MS, PERSON, SKEW_MS, BoardHere, code_of, error_code, refusal


def take_next(board: BoardHere, by: str = ANN) -> str:
    board.clock.advance(1000)
    return claim_next(board.world, by, LEASE_MS)["id"]


# a named task -------------------------------------------------------------------------------------


def test_a_claim_makes_an_owner_with_token_attempt_and_lease(board: BoardHere) -> None:
    board.add()
    entry = board.claim()
    assert (entry["status"], entry["owner"], entry["token"], entry["attempts"]) == ("in_progress", ANN, 1, 1)
    assert entry["claimed_by"] == [ANN]
    assert parse_instant(entry["owned_since"] or "") == board.clock.now_ms
    assert parse_instant(entry["lease_expires"] or "") == board.clock.now_ms + LEASE_MS
    assert require_head(board.another(), FIRST).entry == entry


def test_a_loser_learns_who_holds_it_and_until_when_and_leaves_no_trace(board: BoardHere) -> None:
    board.add()
    held = board.claim()
    before = board.contents()
    found = refusal(lambda: board.claim(by=BEN))
    assert (found.code, found.kind, found.exit_status) == ("held", "busy", 75)
    assert (found.fields["owner"], found.fields["lease_expires"]) == (ANN, held["lease_expires"])
    assert board.contents() == before


def test_claiming_what_one_holds_returns_it(board: BoardHere) -> None:
    board.add()
    first = board.claim()
    board.clock.advance(MINUTE_MS)
    again = claim(board.another(), FIRST, ANN, LEASE_MS)
    assert (again.entry, again.changed) == (first, False)


def test_a_claim_that_came_after_ours_began_is_a_rivals_even_under_our_name(board: BoardHere) -> None:
    board.add()
    board.clock.advance(1000)
    claim(board.another(), FIRST, ANN, LEASE_MS)
    assert code_of(lambda: claim(board.world, FIRST, ANN, LEASE_MS)) == "held"


def test_a_lease_is_respected_until_it_and_the_skew_margin_have_passed(board: BoardHere) -> None:
    board.add()
    board.claim()
    board.clock.advance(LEASE_MS + SKEW_MS - 1000)
    assert code_of(lambda: board.claim(by=BEN)) == "held"
    board.clock.advance(1)
    entry = board.claim(by=BEN)
    assert (entry["owner"], entry["token"], entry["attempts"]) == (BEN, 2, 2)
    assert entry["claimed_by"] == [ANN, BEN]
    assert error_code(entry) == "crashed"


def test_a_task_is_taken_over_at_once_when_its_owners_process_is_gone(board: BoardHere) -> None:
    board.add()
    board.claim()
    board.machine.known[ANN] = Alive.NO
    assert board.claim(by=BEN)["token"] == 2


def test_a_live_process_does_not_keep_a_lapsed_lease(board: BoardHere) -> None:
    board.add()
    board.claim()
    board.machine.known[ANN] = Alive.YES
    board.lapse()
    assert board.claim(by=BEN)["token"] == 2


def test_a_lease_on_this_machine_is_respected_while_it_lasts(board: BoardHere) -> None:
    board.add()
    board.claim()
    board.machine.known[ANN] = Alive.YES
    assert code_of(lambda: board.claim(by=BEN)) == "held"


def test_one_who_lapsed_may_claim_again_under_a_new_token(board: BoardHere) -> None:
    board.add()
    board.claim()
    board.lapse()
    entry = board.claim()
    assert (entry["token"], entry["attempts"], entry["claimed_by"]) == (2, 2, [ANN])


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("unknown", "task_unknown"),
        ("spelling", "id_taken"),
        ("planned", "not_open"),
        ("on hold", "on_hold"),
        ("done", "settled"),
        ("cancelled", "settled"),
        ("asking", "needs_person"),
        ("later", "backing_off"),
    ],
)
def test_what_is_not_to_be_had_says_why(board: BoardHere, how: str, code: str) -> None:
    task = FIRST
    match how:
        case "unknown":
            task = TaskId("t9")
        case "spelling":
            board.add()
            task = TaskId("T1")
        case "planned":
            board.add("other")
            add(board.world, {"id": "t1", "title": "t"}, PERSON, planned=True)
        case "on hold":
            board.add(hold="not yet")
        case "done":
            board.add()
            board.finish()
        case "cancelled":
            board.add()
            steer.cancel(board.world, FIRST, PERSON)
        case "asking":
            board.add()
            carry.ask(board.world, FIRST, ANN, board.claim()["token"], "which?")
        case _:
            board.add(not_before=format_instant(board.clock.now_ms + 60 * MINUTE_MS))
    before = board.contents()
    assert code_of(lambda: board.claim(task, BEN)) == code
    assert board.contents() == before


# attempts -----------------------------------------------------------------------------------------


def test_a_failure_backs_off_and_then_the_task_is_offered_again(board: BoardHere) -> None:
    board.add()
    entry = carry.fail(board.world, FIRST, ANN, board.claim()["token"], "upload_failed", "503").entry
    wait_ms = parse_instant(entry["not_before"] or "") - board.clock.now_ms
    assert 5_000 <= wait_ms < 10_000
    assert (entry["status"], entry["attempts"], entry["owner"]) == ("pending", 1, None)
    found = refusal(lambda: board.claim(by=BEN))
    assert (found.code, found.fields["not_before"]) == ("backing_off", entry["not_before"])
    board.clock.advance(wait_ms)
    assert board.claim(by=BEN)["attempts"] == 2


def test_each_failure_waits_longer_up_to_the_cap(board: BoardHere) -> None:
    board.configure('[backoff]\nbase = "10s"\ncap = "1m"\n')
    board.add(max_attempts=9)
    waits = []
    for _ in range(6):
        entry = carry.fail(board.world, FIRST, ANN, board.claim()["token"], "flaky", "").entry
        waits.append(parse_instant(entry["not_before"] or "") - board.clock.now_ms)
        board.clock.advance(waits[-1])
    highest = [10_000, 20_000, 40_000, 60_000, 60_000, 60_000]
    assert all(full / 2 <= wait < full for wait, full in zip(waits, highest, strict=True))


def test_the_last_attempt_fails_for_good(board: BoardHere) -> None:
    board.add(max_attempts=1)
    entry = carry.fail(board.world, FIRST, ANN, board.claim()["token"], "upload_failed", "503").entry
    assert (entry["status"], error_code(entry)) == ("failed", "attempts_exhausted")
    assert code_of(lambda: board.claim(by=BEN)) == "settled"


@pytest.mark.parametrize("code", ["agent_limited", "environment"])
def test_what_did_no_harm_costs_no_attempt(board: BoardHere, code: str) -> None:
    board.add(max_attempts=1)
    entry = carry.fail(board.world, FIRST, ANN, board.claim()["token"], code, "").entry
    assert (entry["status"], entry["attempts"]) == ("pending", 0)


def test_a_poisonous_task_that_kills_its_workers_ends(board: BoardHere) -> None:
    board.add(max_attempts=2)
    for worker in (ANN, BEN):
        board.claim(by=worker)
        board.machine.known[worker] = Alive.NO
    found = refusal(lambda: board.claim(by="writer@cy"))
    assert (found.code, found.fields["attempts"]) == ("attempts_exhausted", 2)
    entry = require_head(board.another(), FIRST).entry
    assert (entry["status"], entry["owner"], entry["token"]) == ("failed", None, 2)
    assert error_code(entry) == "attempts_exhausted"


def test_the_next_claimant_writes_down_that_a_crashed_task_is_exhausted(board: BoardHere) -> None:
    board.add(max_attempts=1)
    board.add("t2")
    board.claim()
    board.lapse()
    assert take_next(board, BEN) == "t2"
    assert require_head(board.another(), FIRST).entry["status"] == "failed"
    assert len(history(board.world, FIRST)) == 3


# the next task ------------------------------------------------------------------------------------


def test_the_lowest_priority_number_comes_first_then_age(board: BoardHere) -> None:
    for name, priority in (("a", 100), ("b", 50), ("c", 100), ("d", -1), ("e", 50)):
        board.add(name, priority=priority)
    assert [take_next(board) for _ in range(5)] == ["d", "b", "e", "a", "c"]


def test_only_what_is_wanted_is_claimed(board: BoardHere) -> None:
    board.add("a", epic="one")
    board.add("b", epic="two")
    wanted = claim_next(board.world, ANN, LEASE_MS, wants=lambda entry: entry["epic"] == "two")
    assert wanted["id"] == "b"
    found = refusal(lambda: claim_next(board.world, BEN, LEASE_MS, wants=lambda entry: entry["epic"] == "three"))
    assert found.code == "drained"


def test_nothing_yet_counts_who_waits_for_what_and_names_the_next_instant(board: BoardHere) -> None:
    board.add("held")
    board.claim(TaskId("held"))
    board.add("after", depends_on=["held"])
    board.add("stopped", hold="no")
    board.add("later", not_before=format_instant(board.clock.now_ms + MINUTE_MS))
    board.add("gone")
    steer.cancel(board.world, TaskId("gone"), PERSON)
    board.add("never", depends_on=["gone"])
    found = refusal(lambda: claim_next(board.world, BEN, LEASE_MS))
    assert (found.code, found.exit_status) == ("not_yet", 75)
    counts = {name: found.fields[name] for name in ("by_itself", "for_a_person", "never", "settled")}
    assert counts == {"by_itself": 3, "for_a_person": 1, "never": 1, "settled": 1}
    later = require_head(board.world, TaskId("later")).entry["not_before"]
    assert found.fields["until_ms"] == parse_instant(later or "")


def test_a_board_is_drained_when_nothing_can_become_ready(board: BoardHere) -> None:
    board.add("t1")
    board.add("t2", depends_on=["t1"])
    steer.cancel(board.world, FIRST, PERSON)
    found = refusal(lambda: claim_next(board.world, BEN, LEASE_MS))
    assert (found.code, found.exit_status) == ("drained", 69)
    assert (found.fields["settled"], found.fields["never"]) == (1, 1)


def test_a_board_with_a_task_that_cant_be_read_is_not_drained(board: BoardHere) -> None:
    board.add()
    (board.root / "claims" / "t2.00000001.json").write_bytes(b"<<<<<<< ours\n")
    board.finish()
    found = refusal(lambda: claim_next(board.another(), BEN, LEASE_MS))
    assert (found.code, found.fields["for_a_person"]) == ("not_yet", 1)


def test_the_same_operation_claims_no_second_task(board: BoardHere) -> None:
    for name in ("a", "b"):
        board.add(name)
    first = claim_next(board.world, ANN, LEASE_MS, op_id="run-7")
    assert claim_next(board.another(), ANN, LEASE_MS, op_id="run-7") == first
    assert claim_next(board.another(), BEN, LEASE_MS, op_id="run-8")["id"] == "b"


def test_many_tasks_that_are_not_for_the_claimant_dont_keep_it_from_one_that_is(board: BoardHere) -> None:
    board.add()
    board.finish(by=ANN)
    for number in range(120):
        board.add(f"r{number}", review_of="t1", priority=1)
    board.add("mine", priority=2)
    assert claim_next(board.another(), ANN, LEASE_MS)["id"] == "mine"


def test_a_task_that_cant_be_read_is_never_offered_and_hides_no_other(board: BoardHere) -> None:
    board.add("a")
    board.add("b")
    (board.root / "claims" / "a.00000002.json").write_bytes(b"{}")
    assert take_next(board) == "b"
    assert code_of(lambda: board.claim(TaskId("a"))) == "record_invalid"
    assert (board.root / "claims" / "a.00000002.json").read_bytes() == b"{}"
