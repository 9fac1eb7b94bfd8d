"""A worker that slept past its lease and was replaced: whatever it does next is refused (step 1, Show 3)."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from repokernel.core.lease import Alive
from repokernel.core.output import Depth
from repokernel.ops import carry, steer
from repokernel.ops.log import require_head
from repokernel.ops.verify import verify
from tests.boards import ANN, BEN, FIRST, LEASE_MS, PERSON, BoardHere, refusal

if TYPE_CHECKING:
    from repokernel.ports.world import World

LATE: dict[str, Callable[["World", int], object]] = {
    "renew": lambda world, token: carry.renew(world, FIRST, ANN, token, None),
    "done": lambda world, token: carry.done(world, FIRST, ANN, token, "late.md"),
    "done without an output": lambda world, token: carry.done(world, FIRST, ANN, token, None),
    "done with a lost output": lambda world, token: carry.done(world, FIRST, ANN, token, "nowhere.md"),
    "fail": lambda world, token: carry.fail(world, FIRST, ANN, token, "too_hard", "no"),
    "release": lambda world, token: carry.release(world, FIRST, ANN, token),
    "ask": lambda world, token: carry.ask(world, FIRST, ANN, token, "which?"),
}


def replaced(board: BoardHere) -> None:
    board.lapse()
    board.claim(by=BEN)


def replaced_and_done(board: BoardHere) -> None:
    board.lapse()
    board.finish(by=BEN, text="the successor's\n")


def replaced_and_released(board: BoardHere) -> None:
    board.lapse()
    carry.release(board.world, FIRST, BEN, board.claim(by=BEN)["token"])


def cancelled(board: BoardHere) -> None:
    steer.cancel(board.world, FIRST, PERSON, "out of scope")


def cancelled_and_reopened(board: BoardHere) -> None:
    steer.cancel(board.world, FIRST, PERSON)
    steer.reopen(board.world, FIRST, PERSON)


def evicted(board: BoardHere) -> None:
    steer.evict(board.world, ANN, PERSON, "rolled back")


def lapsed_and_retried(board: BoardHere) -> None:
    board.lapse()
    steer.retry(board.world, FIRST, PERSON)


ENDS = [
    replaced,
    replaced_and_done,
    replaced_and_released,
    cancelled,
    cancelled_and_reopened,
    evicted,
    lapsed_and_retried,
]


@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_a_token_that_has_ended_moves_nothing(board: BoardHere, late: str, end: Callable[[BoardHere], None]) -> None:
    board.add(expects="none" if late == "done without an output" else "output")
    token = board.claim()["token"]
    board.write("late.md", "too late\n")
    zombie = board.another()
    require_head(zombie, FIRST)
    end(board)
    records, entry = board.records(), require_head(board.world, FIRST).entry
    found = refusal(lambda: LATE[late](zombie, token))
    assert (found.code, found.exit_status, found.fields["token"]) == ("lease_lost", 1, token)
    assert found.fields["current_token"] == entry["token"]
    assert board.records() == records
    assert require_head(board.another(), FIRST).entry == entry


@pytest.mark.parametrize("late", LATE)
def test_a_late_worker_without_its_token_at_hand_is_refused_too(board: BoardHere, late: str) -> None:
    board.add()
    board.claim()
    board.write("late.md")
    replaced(board)
    found = refusal(lambda: LATE[late](board.another(), None))  # type: ignore[arg-type]
    assert found.code == "not_owner"


def test_the_successors_output_stands(board: BoardHere) -> None:
    board.add()
    zombie, token = board.another(), board.claim()["token"]
    late = Path(zombie.outputs.place(FIRST, token))  # type: ignore[arg-type]
    board.lapse()
    own = Path(board.world.outputs.place(FIRST, token + 1))  # type: ignore[arg-type]
    for folder, text in ((late, "early work\n"), (own, "the successor's\n")):
        folder.mkdir(parents=True)
        (folder / "out.md").write_text(text, encoding="utf-8")
    board.claim(by=BEN)
    carry.done(board.world, FIRST, BEN, token + 1, str(own / "out.md"))
    (late / "out.md").write_text("written after all\n", encoding="utf-8")
    assert refusal(lambda: carry.done(zombie, FIRST, ANN, token, str(late / "out.md"))).code == "lease_lost"
    (found,) = verify(board.another(), [FIRST], Depth.SHA256)
    assert found.problem is None
    assert found.entry is not None
    assert found.entry["completed_by"] == BEN
    assert (own / "out.md").read_text(encoding="utf-8") == "the successor's\n"


@pytest.mark.parametrize("late", ["renew", "done", "fail", "release", "ask"])
def test_a_persons_hold_and_note_in_mid_work_cost_the_worker_nothing(board: BoardHere, late: str) -> None:
    board.add()
    token = board.claim()["token"]
    board.write("late.md")
    worker = board.another()
    require_head(worker, FIRST)
    steer.note(board.world, FIRST, PERSON, "see page 7")
    steer.hold(board.world, FIRST, PERSON, "no more after this")
    LATE[late](worker, token)
    after = require_head(board.another(), FIRST).entry
    assert (after["hold"], len(after["notes"])) == ("no more after this", 1)
    assert after["status"] == {"renew": "in_progress", "done": "done", "ask": "in_progress"}.get(late, "pending")


def test_a_worker_that_nobody_replaced_may_finish_late(board: BoardHere) -> None:
    board.add()
    token = board.claim()["token"]
    board.lapse()
    board.write("a.md")
    assert carry.done(board.world, FIRST, ANN, token, "a.md").entry["status"] == "done"


def test_tokens_never_go_back(board: BoardHere) -> None:
    board.add(max_attempts=99)
    tokens = []
    for end in (replaced, evicted, lapsed_and_retried, cancelled_and_reopened, replaced_and_released):
        tokens.append(board.claim()["token"])
        end(board)
        if end is replaced:
            tokens.append(require_head(board.world, FIRST).entry["token"])
            board.clock.advance(LEASE_MS * 2)
    board.finish()
    steer.reopen(board.world, FIRST, PERSON)
    tokens.append(board.claim()["token"])
    assert tokens == sorted(set(tokens))


def test_a_beat_of_an_old_token_does_not_lengthen_a_successors_lease(board: BoardHere) -> None:
    board.add()
    token = board.claim()["token"]
    carry.renew(board.world, FIRST, ANN, token, 50 * LEASE_MS)
    board.machine.known[ANN] = Alive.NO
    entry = board.claim(by=BEN)
    refusal(lambda: carry.renew(board.world, FIRST, ANN, token, 50 * LEASE_MS))
    assert require_head(board.another(), FIRST).entry["lease_expires"] == entry["lease_expires"]
