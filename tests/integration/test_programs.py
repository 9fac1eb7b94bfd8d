"""A task that is done by a program: what it is handed, and what is made of what comes of it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repokernel.bootstrap import shop
from repokernel.core.errors import RkError, error
from repokernel.core.ids import TaskId
from repokernel.core.output import Depth
from repokernel.ops import carry, steer
from repokernel.ops.hold_on import Hold
from repokernel.ops.log import require_head
from repokernel.ops.run_command import run_command
from repokernel.ops.verify import verify
from repokernel.ops.work import Tally, work
from tests.boards import ANN, FIRST, LEASE_MS, PERSON, BoardHere, code_of, error_code
from tests.faulty_store import FaultyStore
from tests.workers import RK


def run(board: BoardHere, script: str, by: str = ANN, task: TaskId = FIRST, **env: str) -> str:
    """The outcome of a claimed task whose program is a shell script."""
    hold = Hold(board.world, board.claim(task, by), LEASE_MS, board.clock())
    return run_command(board.world, hold, ["sh", "-ec", script], shop({**os.environ, **env}, out_to_err=True))


def shown(board: BoardHere, task: TaskId = FIRST) -> dict[str, Any]:
    return dict(require_head(board.another(), task).entry)


# what a program gets ------------------------------------------------------------------------------


def test_a_program_finds_its_task_in_the_environment_and_in_a_file(board: BoardHere, tmp_path: Path) -> None:
    board.add(inputs={"topic": "ü"}, expects="none")
    script = 'cp "$RK_TASK_FILE" "$SEEN/task.json"; env > "$SEEN/env"'
    assert run(board, script, by="writer@ann#blue", SEEN=str(tmp_path)) == "done"
    env = dict(line.partition("=")[::2] for line in (tmp_path / "env").read_text(encoding="utf-8").splitlines())
    task = json.loads((tmp_path / "task.json").read_text(encoding="utf-8"))
    assert (task["id"], task["token"], task["inputs"], task["owner"]) == ("t1", 1, {"topic": "ü"}, "writer@ann#blue")
    told = [env[f"RK_{name}"] for name in ("TASK", "TOKEN", "BOARD", "ROLE", "INSTANCE", "DEPLOYMENT")]
    assert told == ["t1", "1", f"file:{board.root}", "writer", "ann", "blue"]


def test_a_program_may_use_the_command_line_as_itself(board: BoardHere) -> None:
    board.add()
    script = f'echo text > "$RK_OUTPUT_DIR/a.md"; {RK} note "$RK_TASK" "half way"'
    assert run(board, script) == "done"
    (note,) = shown(board)["notes"]
    assert (note["text"], note["by"]) == ("half way", ANN)


def test_nothing_of_the_handover_stays(board: BoardHere, tmp_path: Path) -> None:
    board.add(expects="none")
    script = 'dirname "$RK_TASK_FILE" > "$SEEN/where"; echo "$RK_OUTPUT_DIR" >> "$SEEN/where"'
    run(board, script, SEEN=str(tmp_path))
    where = (tmp_path / "where").read_text(encoding="utf-8").splitlines()
    assert [os.path.exists(path) for path in where] == [False, False]


# what is made of what it leaves -------------------------------------------------------------------

ERROR = '{"error": {"code": "upload_failed", "detail": "HTTP 503"}}'
# script -> the outcome and the error code that the task has then
SCRIPTS: dict[str, tuple[str, str | None]] = {
    'echo x > "$RK_OUTPUT_DIR/a.md"': ("done", None),
    'echo x > "$RK_OUTPUT_DIR/a.md"; mkdir "$RK_OUTPUT_DIR/b"; echo y > "$RK_OUTPUT_DIR/b/c.md"': ("done", None),
    'echo x > "$HERE/a.md"; printf \'{"output": "%s"}\' "$HERE/a.md" > "$RK_RESULT_FILE"': ("done", None),
    "true": ("failed", "output_missing"),
    "exit 3": ("failed", "exit_3"),
    "kill -9 $$": ("failed", "signal_9"),
    'echo x > "$RK_OUTPUT_DIR/a.md"; exit 1': ("failed", "exit_1"),
    f"echo '{ERROR}' > \"$RK_RESULT_FILE\"": ("failed", "upload_failed"),
    f"echo '{ERROR}' > \"$RK_RESULT_FILE\"; exit 9": ("failed", "upload_failed"),
    f'echo x > "$RK_OUTPUT_DIR/a.md"; echo \'{ERROR}\' > "$RK_RESULT_FILE"': ("failed", "upload_failed"),
    'echo \'{"output": "nowhere.md"}\' > "$RK_RESULT_FILE"': ("failed", "output_missing"),
    'echo \'{"output": "s3://b/k"}\' > "$RK_RESULT_FILE"': ("failed", "output_refused"),
    'echo \'{"output": 7}\' > "$RK_RESULT_FILE"': ("failed", "bad_result"),
    'echo \'{"otuput": "a.md"}\' > "$RK_RESULT_FILE"': ("failed", "bad_result"),
    'echo \'{"error": {"code": "Not a code"}}\' > "$RK_RESULT_FILE"': ("failed", "bad_result"),
    'echo \'{"verdict": "fine"}\' > "$RK_RESULT_FILE"': ("failed", "bad_result"),
    'echo \'{"verdict": "accepted"}\' > "$RK_RESULT_FILE"; echo x > "$RK_OUTPUT_DIR/a.md"': ("failed", "not_review"),
    'echo "[1]" > "$RK_RESULT_FILE"': ("failed", "bad_result"),
    'echo "{" > "$RK_RESULT_FILE"': ("failed", "bad_result"),
    'head -c 2000000 /dev/zero > "$RK_RESULT_FILE"': ("failed", "bad_result"),
    'mkfifo "$RK_RESULT_FILE"; echo x > "$RK_OUTPUT_DIR/a.md"': ("failed", "bad_result"),
    'ln -s /etc/passwd "$RK_RESULT_FILE"; echo x > "$RK_OUTPUT_DIR/a.md"': ("done", None),
    'mkdir "$RK_RESULT_FILE"; echo x > "$RK_OUTPUT_DIR/a.md"': ("failed", "bad_result"),
    'mkfifo "$RK_OUTPUT_DIR/fifo"': ("failed", "output_refused"),
    'rmdir "$RK_OUTPUT_DIR"': ("failed", "output_missing"),
    'rmdir "$RK_OUTPUT_DIR"; echo x > "$RK_OUTPUT_DIR"': ("failed", "output_missing"),
    'rm -r "$(dirname "$RK_RESULT_FILE")"; echo x > "$RK_OUTPUT_DIR/a.md"': ("done", None),
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_a_program_leaves_decides_what_becomes_of_its_task(board: BoardHere, script: str) -> None:
    board.add()
    assert (run(board, script, HERE=str(board.folder)), error_code(shown(board))) == SCRIPTS[script]  # type: ignore[arg-type]
    entry = shown(board)
    assert entry["owner"] is None
    assert entry["attempts"] == 1
    if entry["status"] == "done":
        (found,) = verify(board.another(), [FIRST], Depth.SHA256)
        assert found.problem is None


def test_a_programs_remark_stays_with_the_task(board: BoardHere) -> None:
    board.add(expects="none")
    run(board, 'echo \'{"note": "saw two sources"}\' > "$RK_RESULT_FILE"')
    assert [note["text"] for note in shown(board)["notes"]] == ["saw two sources"]


def test_a_remark_that_cant_be_kept_fails_the_attempt_and_not_the_worker(board: BoardHere) -> None:
    board.add(expects="none")
    assert run(board, 'printf \'{"note": "\\\\u001b[2J"}\' > "$RK_RESULT_FILE"') == "failed"
    assert shown(board)["owner"] is None


def test_a_program_reviews_by_its_result(board: BoardHere) -> None:
    board.add()
    board.finish()
    board.add("review", review_of="t1")
    script = 'echo \'{"verdict": "accepted"}\' > "$RK_RESULT_FILE"'
    assert run(board, script, by="critic@cy", task=TaskId("review")) == "done"
    assert shown(board, TaskId("review"))["review"]["verdict"] == "accepted"


@pytest.mark.parametrize(
    ("command", "outcome", "status"),
    [
        ('echo x > a.md; {rk} done "$RK_TASK" --output a.md', "done", "done"),
        ('{rk} fail "$RK_TASK" --code too_hard', "failed", "pending"),
        ('{rk} release "$RK_TASK"', "released", "pending"),
        ('{rk} ask "$RK_TASK" "which one?"', "released", "in_progress"),
    ],
)
def test_a_program_that_ended_its_task_itself_has_not_lost_it(
    board: BoardHere, command: str, outcome: str, status: str
) -> None:
    board.add()
    script = f'cd "$HERE"; {command.format(rk=RK)}'
    assert (run(board, script, HERE=str(board.folder)), shown(board)["status"]) == (outcome, status)


class NoHold(Hold):
    """A hold that is found lost at the first look."""

    def keep(self) -> bool:
        self._look_at_ms = 0
        return super().keep()


def test_a_program_that_ended_its_task_goes_on_to_its_end(board: BoardHere, tmp_path: Path) -> None:
    board.add()
    hold = NoHold(board.world, board.claim(), LEASE_MS, board.clock())
    script = f'cd "$HERE"; echo x > a.md; {RK} done "$RK_TASK" --output a.md; sleep 0.5; echo end > "$SEEN/end"'
    env = {**os.environ, "HERE": str(board.folder), "SEEN": str(tmp_path)}
    assert run_command(board.world, hold, ["sh", "-ec", script], shop(env, out_to_err=True)) == "done"
    assert (tmp_path / "end").exists()


def test_a_program_whose_task_was_cancelled_is_stopped_long_before_a_renewal(board: BoardHere, tmp_path: Path) -> None:
    board.add()
    hold = NoHold(board.world, board.claim(), LEASE_MS, board.clock())
    steer.cancel(board.world, FIRST, PERSON)
    script = 'sleep 20; echo end > "$SEEN/end"'
    there_is = shop({**os.environ, "SEEN": str(tmp_path)}, out_to_err=True)
    assert run_command(board.world, hold, ["sh", "-ec", script], there_is) == "lost"
    assert not (tmp_path / "end").exists()


def test_a_look_that_fails_is_not_a_loss(board: BoardHere) -> None:
    board.add()
    store = FaultyStore(board.another().store)
    hold = NoHold(board.another(store), board.claim(), LEASE_MS, board.clock())

    def broken() -> None:
        raise error("store_io", "just now")

    store.before["top"] = [broken]
    assert hold.keep()
    assert hold.keep()
    assert store.before["top"] == []


def test_a_command_that_cant_be_started_costs_the_task_nothing(board: BoardHere) -> None:
    board.add()
    hold = Hold(board.world, board.claim(), LEASE_MS, board.clock())
    there_is = shop(os.environ, out_to_err=True)
    assert code_of(lambda: run_command(board.world, hold, ["/nowhere/agent"], there_is)) == "command_failed"
    assert (shown(board)["status"], shown(board)["attempts"]) == ("pending", 0)


def test_a_program_whose_task_moved_on_is_too_late(board: BoardHere) -> None:
    board.add()
    hold = Hold(board.world, board.claim(), LEASE_MS, board.clock())
    steer.cancel(board.world, FIRST, PERSON)
    script = ["sh", "-c", 'echo x > "$RK_OUTPUT_DIR/a.md"']
    assert run_command(board.world, hold, script, shop(os.environ, out_to_err=True)) == "lost"
    assert shown(board)["status"] == "cancelled"


# the loop -----------------------------------------------------------------------------------------


def completing(board: BoardHere, seen: list[str]) -> Callable[[Hold], str]:
    def run_one(hold: Hold) -> str:
        seen.append(hold.entry["id"])
        carry.done(board.world, TaskId(hold.entry["id"]), ANN, hold.entry["token"], None)
        return "done"

    return run_one


def looped(board: BoardHere, run_one: Callable[[Hold], str], **how: Any) -> Tally:
    return work(board.world, ANN, LEASE_MS, run_one, **how)


def test_a_worker_goes_on_until_the_board_is_drained(board: BoardHere) -> None:
    board.add("a", expects="none", priority=200)
    board.add("c", expects="none", depends_on=["a"])
    board.add("b", expects="none", depends_on=["c"], priority=1)
    seen: list[str] = []
    tally = looped(board, completing(board, seen))
    assert seen == ["a", "c", "b"]
    assert tally.outcomes["done"] == seen
    assert tally.stopped is not None
    assert (tally.stopped.code, tally.exit_status) == ("drained", 0)


def test_a_worker_stops_when_all_the_rest_waits_for_a_person(board: BoardHere) -> None:
    board.add("a", expects="none")
    board.add("b", hold="no")
    tally = looped(board, completing(board, []))
    assert tally.stopped is not None
    assert (tally.stopped.code, tally.exit_status, tally.outcomes["done"]) == ("not_yet", 75, ["a"])


def test_a_worker_stops_after_so_many_tasks(board: BoardHere) -> None:
    for name in ("a", "b", "c"):
        board.add(name, expects="none")
    tally = looped(board, completing(board, []), tasks_max=2)
    assert (tally.outcomes["done"], tally.stopped, tally.exit_status) == (["a", "b"], None, 0)


def test_a_worker_waits_for_what_others_hold(board: BoardHere) -> None:
    board.add("a", expects="none")
    board.add("b", expects="none", depends_on=["a"])
    board.claim(TaskId("a"), "writer@ben")

    def waited(cause: RkError) -> None:
        if not shown(board, TaskId("a"))["completed_by"]:
            carry.done(board.another(), TaskId("a"), "writer@ben", None, None)

    seen: list[str] = []
    looped(board, completing(board, seen), on_wait=waited)
    assert seen == ["b"]


def test_a_failed_task_is_in_the_workers_exit_status(board: BoardHere) -> None:
    board.add("a", max_attempts=1)

    def run_one(hold: Hold) -> str:
        carry.fail(board.world, TaskId("a"), ANN, hold.entry["token"], "flaky", "")
        return "failed"

    assert looped(board, run_one).exit_status == 1


def test_a_broken_store_ends_the_worker(board: BoardHere) -> None:
    board.add("a")

    def run_one(hold: Hold) -> str:
        raise error("store_io", "the disk is gone")

    assert code_of(lambda: looped(board, run_one)) == "store_io"


def test_a_task_that_failed_first_and_was_done_at_last_is_no_failure() -> None:
    tally = Tally()
    tally.outcomes["failed"] += ["a", "a"]
    assert tally.exit_status == 1
    tally.outcomes["done"] += ["a"]
    assert tally.exit_status == 0


def test_coding_tasks_are_left_alone_by_the_loop(tmp_path: Path) -> None:
    board = BoardHere(tmp_path, repository=True)
    board.add("code", owned_paths=["src/**"], expects="none")
    board.add("text", expects="none")
    seen: list[str] = []
    tally = work(board.world, ANN, LEASE_MS, completing(board, seen))
    assert (seen, tally.exit_status) == (["text"], 0)
    assert shown(board, TaskId("code"))["attempts"] == 0
