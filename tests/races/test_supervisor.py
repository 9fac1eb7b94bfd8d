"""`rk work` and the program that it runs live and die together."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from repokernel import Board
from tests.boards import error_code
from tests.workers import RK, Program, document, gone, rk, until

# the program and a process of its own, in one group
PROGRAM = """
sleep 300 & echo $! > "$SEEN/grandchild"
echo $$ > "$SEEN/new"; mv "$SEEN/new" "$SEEN/child"
wait
"""
# whoever runs the tests may ignore SIGINT, and what ignores it hands that down
LISTEN = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"


Supervise = Callable[..., Program]


@pytest.fixture
def supervise(place: Path, tmp_path: Path) -> Iterator[Supervise]:
    """Starts `rk work` with the program above; returns once that runs. None of it is left after the test."""
    started: list[Program] = []

    def begin(*words: str) -> Program:
        command = [sys.executable, "-c", LISTEN, RK, "work", *words, "--", "sh", "-c", PROGRAM]
        started.append(Program(command, {"RK_BOARD": str(place), "SEEN": str(tmp_path), "TMPDIR": str(tmp_path)}))
        until((tmp_path / "child").exists, "the program runs")
        return started[-1]

    yield begin
    for one in started:
        one.process.kill()
        one.finish()
    with suppress(FileNotFoundError, ProcessLookupError):
        os.killpg(pid_of(tmp_path, "child"), signal.SIGKILL)


def pid_of(folder: Path, name: str) -> int:
    return int((folder / name).read_text(encoding="utf-8"))


def none_is_left(folder: Path) -> bool:
    return gone(pid_of(folder, "child")) and gone(pid_of(folder, "grandchild"))


def test_a_supervisor_that_is_killed_takes_its_program_with_it_and_leaves_the_task_to_others(
    board: Board, place: Path, tmp_path: Path, supervise: Supervise
) -> None:
    board.add("wanted", id="t1")
    supervisor = supervise("--lease", "1h")
    supervisor.process.kill()
    supervisor.process.wait()
    until(lambda: gone(pid_of(tmp_path, "child")), "the program has ended")
    claimed = rk(place, "claim", "t1", "--json", RK_INSTANCE="next")
    assert (claimed.returncode, document(claimed)["task"]["token"]) == (0, 2)
    assert error_code(board.show("t1")) == "crashed"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_supervisor_that_is_interrupted_gives_the_task_back_unharmed_and_leaves_no_process(
    board: Board, place: Path, tmp_path: Path, supervise: Supervise, number: signal.Signals
) -> None:
    board.add("wanted", id="t1")
    supervisor = supervise("--lease", "1h")
    supervisor.process.send_signal(number)
    assert supervisor.finish().returncode == 130
    entry = board.show("t1")
    assert (entry["status"], entry["owner"], entry["attempts"], entry["last_error"]) == ("pending", None, 0, None)
    until(lambda: none_is_left(tmp_path), "the program and its own have ended")
    assert rk(place, "claim", "--next", RK_INSTANCE="next").returncode == 0


@pytest.mark.parametrize("how", ["cancelled", "evicted"])
def test_a_task_that_is_taken_away_ends_its_program(
    board: Board, tmp_path: Path, supervise: Supervise, how: str
) -> None:
    board.add("wanted", id="t1")
    supervisor = supervise("--lease", "1h", "--max-tasks", "1", "--json")  # long before a renewal is due
    if how == "cancelled":
        board.cancel("t1", "out of scope")
    else:
        board.hold("t1", "not again")
        board.evict(board.show("t1")["owner"] or "", "rolled back")
    ended = supervisor.finish()
    assert (ended.returncode, document(ended)["ids"]["lost"]) == (1, ["t1"])
    until(lambda: none_is_left(tmp_path), "the program and its own have ended")


def test_a_program_that_kills_its_workers_ends(board: Board, place: Path, tmp_path: Path) -> None:
    board.add("poison", id="t1", max_attempts=2)
    for _ in range(2):
        killed = rk(place, "work", "--", "sh", "-c", "kill -9 $PPID", TMPDIR=str(tmp_path))
        assert killed.returncode == -signal.SIGKILL
    assert document(rk(place, "work", "--json", "--", "true"))["outcome"] == "drained"
    assert (board.show("t1")["status"], error_code(board.show("t1"))) == ("failed", "attempts_exhausted")
