"""Workers that are stopped past their lease, replaced and woken: refused, and the successor's work stands."""

import json
import signal
from pathlib import Path

import pytest

from repokernel import Board, Claim, RkError
from tests.workers import Worker, document, gone, halt, start_rk, until

LEASE = "400ms"


def taken_over(board: Board) -> Claim:
    """The successor's claim, as soon as the lease before it has lapsed."""
    claims: list[Claim] = []

    def taken() -> bool:
        try:
            claims.append(Board.open(board.url, role="successor").claim("t1", lease="10m"))
        except RkError as cause:
            if cause.code != "held":
                raise
        return bool(claims)

    until(taken, "the lease lapses")
    return claims[0]


def succeed(board: Board) -> Path:
    """Take the task over and complete it; the successor's output."""
    claim = taken_over(board)
    path = claim.output_path("out.txt")
    path.write_text("the successor's\n", encoding="utf-8")
    claim.complete(path)
    return path


def stands(board: Board, path: Path) -> None:
    """Whether the successor's work is what the board and the disk have."""
    (found,) = board.verify(["t1"], depth="sha256")
    assert found.problem is None
    entry = board.show("t1")
    assert (entry["status"], entry["token"]) == ("done", 2)
    assert (entry["completed_by"] or "").startswith("successor@")
    assert path.read_text(encoding="utf-8") == "the successor's\n"


@pytest.mark.parametrize("late", ["renew", "complete", "give_up", "give_back"])
def test_a_program_that_slept_past_its_lease_is_refused(board: Board, place: Path, late: str) -> None:
    board.add("wanted", id="t1")
    with Worker(place) as zombie:
        assert zombie.ask("hold", task="t1", lease=LEASE)["token"] == 1
        zombie.stop()
        path = succeed(board)
        records = [record.digest for record in board.history("t1")]
        zombie.tell(late, text="written too late\n")
        zombie.wake()
        answer = zombie.hear()
        assert (answer["ok"], answer["code"], answer["fields"]["current_token"]) == (False, "lease_lost", 2)
        assert zombie.ask("wait_lost")["lost"] is True
    assert [record.digest for record in board.history("t1")] == records
    stands(board, path)


def test_a_program_that_sleeps_while_its_successor_works_is_refused(board: Board, place: Path) -> None:
    board.add("wanted", id="t1")
    with Worker(place) as zombie:
        zombie.ask("hold", task="t1", lease=LEASE)
        zombie.stop()
        claim = taken_over(board)
        zombie.wake()
        assert zombie.ask("complete", text="late\n")["code"] == "lease_lost"
    path = claim.output_path("out.txt")
    path.write_text("the successor's\n", encoding="utf-8")
    claim.complete(path)
    stands(board, path)


def test_a_renewed_lease_is_not_taken_over(board: Board, place: Path) -> None:
    board.add("wanted", id="t1")
    with Worker(place) as holder:
        holder.ask("hold", task="t1", lease=LEASE)
        first = board.show("t1")["lease_expires"] or ""
        until(lambda: (board.show("t1")["lease_expires"] or "") > first, "the lease is renewed")
        with pytest.raises(RkError) as caught:
            Board.open(board.url, role="successor").claim("t1")
        assert caught.value.code == "held"
        assert holder.ask("complete", text="in time\n")["ok"]


# the child says that it runs, and waits until the test lets it go on
CHILD = """
echo $$ > "$SEEN/pid.new"; mv "$SEEN/pid.new" "$SEEN/pid"
until [ -e "$SEEN/go" ]; do sleep 0.02; done
echo late > "$RK_OUTPUT_DIR/out.txt"
"""


@pytest.mark.parametrize("child", ["has finished", "still runs"])
def test_a_supervisor_that_slept_past_its_lease_is_refused_and_ends_its_child(
    board: Board, place: Path, tmp_path: Path, child: str
) -> None:
    board.add("wanted", id="t1")
    words = ("work", "--role", "zombie", "--lease", LEASE, "--json", "--", "sh", "-c", CHILD)
    supervisor = start_rk(place, *words, SEEN=str(tmp_path))
    try:
        until((tmp_path / "pid").exists, "the child runs")
        pid = int((tmp_path / "pid").read_text(encoding="utf-8"))
        halt(supervisor.pid)
        if child == "has finished":
            (tmp_path / "go").touch()
            until(lambda: gone(pid), "the child has finished")
        path = succeed(board)
        supervisor.process.send_signal(signal.SIGCONT)
    finally:
        ended = supervisor.finish()
    assert (ended.returncode, document(ended)["ids"]["lost"]) == (1, ["t1"])
    until(lambda: gone(pid), "the child has ended")
    stands(board, path)
    assert json.loads(ended.stdout)["counts"] == {"done": 0, "failed": 0, "lost": 1, "released": 0}
