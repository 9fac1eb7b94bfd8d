"""A worker that lives long hears of all that happens: its next claim is as if it had just been started."""

import threading
from collections.abc import Callable

import pytest

from repokernel.core.ids import TaskId
from repokernel.core.lease import Alive
from repokernel.core.times import format_instant
from repokernel.ops import carry, steer
from repokernel.ops.add import add
from repokernel.ops.claim import claim, claim_next
from repokernel.ports.world import World
from tests.boards import ANN, BEN, LEASE_MS, MINUTE_MS, PERSON, BoardHere, code_of
from tests.workers import PATIENCE_S

A, B, C = TaskId("a"), TaskId("b"), TaskId("c")


@pytest.fixture
def worker(board: BoardHere) -> World:
    """A world that has claimed twice already, so that it remembers what was on offer: b, then c."""
    for name in ("w1", "w2"):
        board.add(name, priority=0, expects="none")
    for name in ("a", "b", "c"):
        board.add(name, priority=50, expects="none", hold="no" if name == "a" else None)
    board.add("after", priority=10, depends_on=["w1"])
    world = board.another()
    for name in ("w1", "w2"):
        assert claim_next(world, ANN, LEASE_MS)["id"] == name
    return world


def next_of(world: World) -> str:
    return claim_next(world, ANN, LEASE_MS)["id"]


def add_better(board: BoardHere) -> str:
    board.add("better", priority=1)
    return "better"


def let_go(board: BoardHere) -> str:
    steer.unhold(board.world, A, PERSON)
    for other in (B, C):
        steer.hold(board.world, other, PERSON, "no")
    return "a"


def stop_the_first(board: BoardHere) -> str:
    steer.hold(board.world, B, PERSON, "no")
    return "c"


def cancel_the_first(board: BoardHere) -> str:
    steer.cancel(board.world, B, PERSON)
    return "c"


def claim_the_first(board: BoardHere) -> str:
    claim(board.world, B, BEN, LEASE_MS)
    return "c"


def claim_and_release_the_first(board: BoardHere) -> str:
    token = claim(board.world, B, BEN, LEASE_MS).entry["token"]
    carry.release(board.world, B, BEN, token)
    return "b"


def finish_what_another_waits_for(board: BoardHere) -> str:
    carry.done(board.world, TaskId("w1"), ANN, 1, None)
    return "after"


def lose_the_owner_of_the_first(board: BoardHere) -> str:
    claim(board.world, B, BEN, MINUTE_MS)
    board.clock.advance(2 * MINUTE_MS)
    return "b"


def open_a_planned_one(board: BoardHere) -> str:
    add(board.world, {"id": "plan", "title": "t", "priority": 1}, PERSON, planned=True)
    steer.open_planned(board.world, TaskId("plan"), PERSON)
    return "plan"


def let_a_date_pass(board: BoardHere) -> str:
    board.add("later", priority=1, not_before=format_instant(board.clock.now_ms + MINUTE_MS))
    board.clock.advance(2 * MINUTE_MS)
    return "later"


def reopen_one(board: BoardHere) -> str:
    carry.done(board.world, TaskId("w2"), ANN, 1, None)
    steer.reopen(board.world, TaskId("w2"), PERSON)
    return "w2"


def note_the_first(board: BoardHere) -> str:
    steer.note(board.world, B, PERSON, "look out")
    return "b"


def kill_the_worker_of_one(board: BoardHere) -> str:
    claim(board.world, B, BEN, LEASE_MS)
    board.machine.known[BEN] = Alive.NO
    board.clock.advance(6000)
    return "b"


HAPPENINGS = [
    add_better,
    let_go,
    stop_the_first,
    cancel_the_first,
    claim_the_first,
    claim_and_release_the_first,
    finish_what_another_waits_for,
    lose_the_owner_of_the_first,
    open_a_planned_one,
    let_a_date_pass,
    reopen_one,
    note_the_first,
    kill_the_worker_of_one,
]


@pytest.mark.parametrize("happens", HAPPENINGS, ids=lambda happens: happens.__name__)
def test_the_next_claim_is_the_best_after_what_happened(
    board: BoardHere, worker: World, happens: Callable[[BoardHere], str]
) -> None:
    expected = happens(board)
    assert next_of(worker) == expected


def test_a_worker_that_was_behind_does_not_fill_the_gap_that_a_lost_record_left(
    board: BoardHere, worker: World
) -> None:
    """Absence of a record means nothing where a later one is there: `done` must not come before its cancel."""
    task = TaskId("w1")
    steer.note(board.world, task, PERSON, "third record")
    steer.cancel(board.world, task, PERSON)
    (board.root / "claims" / "w1.00000003.json").unlink()
    before = board.contents()
    assert code_of(lambda: carry.done(worker, task, ANN, 1, None)) == "record_invalid"
    assert board.contents() == before


def test_drained_is_said_only_once_it_is_so(board: BoardHere, worker: World) -> None:
    for task in (A, B, C, TaskId("after")):
        steer.cancel(board.world, task, PERSON)
    assert code_of(lambda: next_of(worker)) == "not_yet"
    for name in ("w1", "w2"):
        carry.done(board.world, TaskId(name), ANN, 1, None)
    assert code_of(lambda: next_of(worker)) == "drained"
    board.add("new")
    assert next_of(worker) == "new"


def test_two_workers_share_a_queue_without_handing_out_twice(board: BoardHere, worker: World) -> None:
    for number in range(30):
        board.add(f"q{number}")
    other, handed = board.another(), []
    for _ in range(16):
        handed += [next_of(worker), claim_next(other, BEN, LEASE_MS)["id"]]
    assert len(set(handed)) == len(handed) == 32


def test_several_threads_of_one_program_drain_a_queue_without_handing_out_twice(
    board: BoardHere, scaled: Callable[[int], int]
) -> None:
    count = scaled(1000)
    for number in range(count):
        add(board.world, {"id": f"q{number}", "title": "t", "expects": "none"}, PERSON)
    world, handed, problems = board.another(), [], []

    def drain(who: str) -> None:
        try:
            while True:
                entry = claim_next(world, who, LEASE_MS)
                handed.append(entry["id"])
                carry.done(world, TaskId(entry["id"]), who, entry["token"], None)
        except Exception as cause:  # noqa: BLE001
            problems.append(cause)

    threads = [threading.Thread(target=drain, args=(f"writer@thread-{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert sorted(handed) == sorted(f"q{number}" for number in range(count))
    assert {getattr(cause, "code", repr(cause)) for cause in problems} <= {"drained", "not_yet"}
