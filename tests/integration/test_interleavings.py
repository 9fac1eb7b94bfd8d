"""What others do, and what the store fails to do, between a decision and its record."""

from functools import partial
from typing import TYPE_CHECKING

import pytest

from repokernel.core.errors import error
from repokernel.core.ids import TaskId
from repokernel.core.output import Depth
from repokernel.ops import carry, steer
from repokernel.ops.claim import claim, claim_next
from repokernel.ops.log import CONTENTION_MAX, history, require_head
from repokernel.ops.verify import verify
from tests.boards import ANN, BEN, FIRST, LEASE_MS, PERSON, BoardHere, code_of, refusal
from tests.faulty_store import FaultyStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from repokernel.core.errors import RkError
    from repokernel.core.ids import Key
    from repokernel.ports.world import World

    Operation = Callable[[World], object]


@pytest.fixture
def store(board: BoardHere) -> FaultyStore:
    return FaultyStore(board.another().store)


@pytest.fixture
def world(board: BoardHere, store: FaultyStore) -> "World":
    """A participant whose store does what the test says."""
    board.write("a.md")
    return board.another(store)


def entry_of(board: BoardHere, task: TaskId = FIRST) -> dict[str, object]:
    return dict(require_head(board.another(), task).entry)


# a record that came first -------------------------------------------------------------------------


def test_a_claim_lost_between_decision_and_record_is_an_ordinary_no(
    board: BoardHere, store: FaultyStore, world: "World"
) -> None:
    board.add()
    store.before["append"] = [lambda: claim(board.world, FIRST, ANN, LEASE_MS)]
    found = refusal(lambda: claim(world, FIRST, BEN, LEASE_MS))
    assert (found.code, found.fields["owner"], found.fields["token"]) == ("held", ANN, 1)
    assert len(board.records()) == 2


def test_a_note_between_decision_and_record_costs_a_claim_nothing(
    board: BoardHere, store: FaultyStore, world: "World"
) -> None:
    board.add()
    store.before["append"] = [lambda: steer.note(board.world, FIRST, PERSON, "look out")]
    entry = claim(world, FIRST, BEN, LEASE_MS).entry
    assert (entry["owner"], entry["token"], len(entry["notes"])) == (BEN, 1, 1)


def test_a_hold_between_decision_and_record_stops_a_claim(board: BoardHere, store: FaultyStore, world: "World") -> None:
    board.add()
    store.before["append"] = [lambda: steer.hold(board.world, FIRST, PERSON, "no")]
    assert code_of(lambda: claim(world, FIRST, BEN, LEASE_MS)) == "on_hold"


def test_losing_the_best_task_means_the_next_best(board: BoardHere, store: FaultyStore, world: "World") -> None:
    for name in ("t1", "t2", "t3"):
        board.add(name)
    store.before["append"] = [lambda: claim(board.world, FIRST, ANN, LEASE_MS)]
    entry = claim_next(world, BEN, LEASE_MS)
    assert entry["id"] in ("t2", "t3")
    assert entry_of(board, TaskId(entry["id"]))["owner"] == BEN


def test_losing_the_only_task_means_not_yet(board: BoardHere, store: FaultyStore, world: "World") -> None:
    board.add()
    store.before["append"] = [lambda: claim(board.world, FIRST, ANN, LEASE_MS)]
    assert code_of(lambda: claim_next(world, BEN, LEASE_MS)) == "not_yet"


CARRYING: dict[str, "Operation"] = {
    "done": lambda world: carry.done(world, FIRST, ANN, 1, "a.md"),
    "fail": lambda world: carry.fail(world, FIRST, ANN, 1, "flaky", "503"),
    "release": lambda world: carry.release(world, FIRST, ANN, 1),
    "ask": lambda world: carry.ask(world, FIRST, ANN, 1, "which?"),
}


@pytest.mark.parametrize("name", CARRYING)
def test_a_takeover_between_decision_and_record_is_lease_lost(
    board: BoardHere, store: FaultyStore, world: "World", name: str
) -> None:
    board.add()
    board.claim()
    board.lapse()
    store.before["append"] = [lambda: board.claim(by=BEN)]
    assert code_of(lambda: CARRYING[name](world)) == "lease_lost"
    after = entry_of(board)
    assert (after["owner"], after["token"], after["status"]) == (BEN, 2, "in_progress")


@pytest.mark.parametrize("name", CARRYING)
def test_notes_and_holds_between_decision_and_record_cost_a_worker_nothing(
    board: BoardHere, store: FaultyStore, world: "World", name: str
) -> None:
    board.add()
    board.claim()
    store.before["append"] = [
        lambda: steer.note(board.world, FIRST, PERSON, "look out"),
        lambda: steer.hold(board.world, FIRST, PERSON, "no more"),
    ]
    CARRYING[name](world)
    records = history(board.another(), FIRST)
    assert [one.event for one in records] == ["add", "claim", "note", "hold", name]
    assert (records[-1].entry["hold"], len(records[-1].entry["notes"])) == ("no more", 1)


def test_a_cancel_races_with_done_and_one_of_them_stands(board: BoardHere, store: FaultyStore, world: "World") -> None:
    board.add()
    board.claim()
    store.before["append"] = [lambda: CARRYING["done"](board.world)]
    assert code_of(lambda: steer.cancel(world, FIRST, PERSON)) == "settled"
    assert entry_of(board)["status"] == "done"


def test_eviction_leaves_alone_what_was_finished_meanwhile(
    board: BoardHere, store: FaultyStore, world: "World"
) -> None:
    board.add()
    board.claim()
    store.before["append"] = [lambda: CARRYING["done"](board.world)]
    assert steer.evict(world, ANN, PERSON, "gone") == []
    assert entry_of(board)["status"] == "done"


def test_of_two_who_see_a_task_exhausted_one_writes_it_down(
    board: BoardHere, store: FaultyStore, world: "World"
) -> None:
    board.add(max_attempts=1)
    board.claim()
    board.lapse()
    store.before["append"] = [lambda: code_of(lambda: claim(board.world, FIRST, BEN, LEASE_MS))]
    assert code_of(lambda: claim(world, FIRST, "writer@cy", LEASE_MS)) == "settled"
    assert [one.event for one in history(board.another(), FIRST)] == ["add", "claim", "exhaust"]


@pytest.mark.parametrize(
    "do",
    [
        lambda world: steer.note(world, FIRST, PERSON, "mine"),
        lambda world: claim(world, FIRST, BEN, LEASE_MS),
        lambda world: claim_next(world, BEN, LEASE_MS),
    ],
    ids=["note", "claim", "claim next"],
)
def test_one_who_always_comes_second_gives_up_as_busy(
    board: BoardHere, store: FaultyStore, world: "World", do: "Operation"
) -> None:
    board.add()
    busy = [lambda: steer.note(board.world, FIRST, PERSON, "again")] * (CONTENTION_MAX * 3)
    store.before["append"] = list(busy)
    found = refusal(lambda: do(world))
    assert (found.code, found.exit_status) == ("contention", 75)
    assert len(store.before["append"]) >= CONTENTION_MAX


# answers that were lost or bad --------------------------------------------------------------------


def unknown() -> None:
    raise error("durability_unknown", "the folder could not be synced")


def broken() -> None:
    raise error("store_io", "the disk is gone")


def given(board: BoardHere, name: str) -> None:
    board.add()
    if name in CARRYING:
        board.claim()
    board.clock.advance(1000)


ALL: dict[str, "Operation"] = {
    **CARRYING,
    "claim": lambda world: claim(world, FIRST, BEN, LEASE_MS),
    "claim next": lambda world: claim_next(world, BEN, LEASE_MS, op_id="run-7"),
    "note": lambda world: steer.note(world, FIRST, PERSON, "mine", "run-7"),
    "hold": lambda world: steer.hold(world, FIRST, PERSON, "no"),
    "cancel": lambda world: steer.cancel(world, FIRST, PERSON, "no"),
}


@pytest.mark.parametrize("name", ALL)
def test_a_record_of_unknown_durability_is_reported_as_that_and_confirmed_by_repeating(
    board: BoardHere, store: FaultyStore, world: "World", name: str
) -> None:
    given(board, name)
    store.after["append"] = [unknown]
    found = refusal(lambda: ALL[name](world))
    assert (found.code, found.kind, found.exit_status) == ("durability_unknown", "broken", 3)
    after, records = entry_of(board), board.records()
    board.clock.advance(1000)
    store.calls.clear()
    ALL[name](world)
    assert "confirm" in store.calls
    assert (entry_of(board), board.records()) == (after, records)


@pytest.mark.parametrize("name", ALL)
def test_a_repetition_does_not_vouch_for_a_disk_that_still_fails(
    board: BoardHere, store: FaultyStore, world: "World", name: str
) -> None:
    given(board, name)
    store.after["append"] = [unknown]
    assert code_of(lambda: ALL[name](world)) == "durability_unknown"
    board.clock.advance(1000)
    store.before["confirm"] = [unknown]
    assert code_of(lambda: ALL[name](board.another(store))) == "durability_unknown"


@pytest.mark.parametrize("name", ALL)
def test_a_store_that_failed_kept_nothing_and_the_repetition_succeeds(
    board: BoardHere, store: FaultyStore, world: "World", name: str
) -> None:
    given(board, name)
    before = board.contents()
    store.before["append"] = [broken]
    assert code_of(lambda: ALL[name](world)) == "store_io"
    assert board.contents() == before
    ALL[name](world)
    assert len(board.records()) == len([one for one in before if one.startswith("claims/")]) + 1


def test_a_renewal_that_cant_be_written_is_no_renewal(board: BoardHere, store: FaultyStore, world: "World") -> None:
    given(board, "done")
    store.before["write_side"] = [broken]
    before = entry_of(board)
    assert code_of(lambda: carry.renew(world, FIRST, ANN, 1, 2 * LEASE_MS)) == "store_io"
    assert entry_of(board) == before
    carry.renew(world, FIRST, ANN, 1, 2 * LEASE_MS)
    assert entry_of(board) != before


def test_a_board_that_cant_be_written_can_still_be_verified(
    board: BoardHere, store: FaultyStore, world: "World"
) -> None:
    board.add()
    board.finish()
    (board.folder / "out" / "t1-1.md").unlink()
    store.before["write_side"] = [broken]
    (found,) = verify(world, [FIRST], Depth.SIZE)
    assert found.problem is not None
    assert found.problem.code == "output_missing"


def test_an_output_that_vanishes_before_the_task_is_done_is_missing(
    board: BoardHere, store: FaultyStore, world: "World"
) -> None:
    given(board, "done")
    store.before["top"] = [(board.folder / "a.md").unlink]
    assert code_of(lambda: CARRYING["done"](world)) == "output_missing"
    assert entry_of(board)["status"] == "in_progress"


# answers about the whole board -------------------------------------------------------------------


class TornListing(FaultyStore):
    """A store whose listings begin before others write and end after that."""

    def tops(self) -> "Mapping[Key, int | RkError]":
        known = self.inner.tops()
        self._enter("tops")
        return {key: self.inner.top(key) for key in known}


def test_drained_is_not_said_of_a_board_that_never_was(board: BoardHere) -> None:
    board.add(expects="none")
    token = board.claim()["token"]

    def go_on() -> None:
        board.add("follow-up", expects="none")
        carry.done(board.world, FIRST, ANN, token, None)

    store = TornListing(board.another().store)
    store.before["tops"] = [go_on]
    assert claim_next(board.another(store), BEN, LEASE_MS)["id"] == "follow-up"


def test_drained_is_not_said_while_a_late_holder_may_still_be_done(board: BoardHere, store: FaultyStore) -> None:
    board.add(max_attempts=1, expects="none")
    token = board.claim()["token"]
    board.add("after", depends_on=["t1"], expects="none")
    board.lapse()
    # between the look at the whole board and the look at this one task
    store.before["read_side"] = [lambda: carry.renew(board.world, FIRST, ANN, token, LEASE_MS)]
    assert code_of(lambda: claim_next(board.another(store), BEN, LEASE_MS)) == "not_yet"


def test_exhausted_is_not_said_of_a_task_that_was_done_in_between(
    board: BoardHere, store: FaultyStore, world: "World"
) -> None:
    board.add(max_attempts=1, expects="none")
    token = board.claim()["token"]
    board.lapse()
    store.before["append"] = [lambda: carry.done(board.world, FIRST, ANN, token, None)]
    assert code_of(lambda: claim(world, FIRST, BEN, LEASE_MS)) == "settled"


def test_a_board_that_never_stands_still_is_contention_not_drained(board: BoardHere) -> None:
    board.add("planned", expects="none")
    steer.cancel(board.world, TaskId("planned"), PERSON)
    store = TornListing(board.another().store)
    store.before["tops"] = [
        partial(steer.note, board.world, TaskId("planned"), PERSON, "again") for _ in range(2 * CONTENTION_MAX)
    ]
    assert code_of(lambda: claim_next(board.another(store), BEN, LEASE_MS)) == "contention"
