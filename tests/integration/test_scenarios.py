"""Situations that people reported, as far as they concern the board (step 1, Show 5).

They're read from where they lie: each test names the scenario that it plays, and each scenario is
either played here or listed with the reason why it isn't about the board.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from repokernel import Board
from tests.workers import document, rk

PLAYED = {"IS-01", "IS-05", "IS-29", "IS-35"}
ELSEWHERE = {
    "IS-07": "an untracked deliverable in a worktree: seen when a branch is submitted",
    "IS-11": "a merge conflict: seen by the gate",
    "IS-13": "an edit of the main checkout: seen by the scope's classifier",
    "IS-16": "deletions outside the scope: seen by the scope's classifier",
    "IS-18": "a worktree on an old base: a matter of dispatch",
    "IS-20": "worktrees locked by dead processes: a matter of dispatch",
    "IS-22": "a branch that another worktree has checked out: a matter of dispatch",
    "IS-24": "commits of an earlier worker that are swept away: a matter of dispatch",
    "IS-41": "two changes that break each other: seen by the gate",
}


@pytest.fixture
def scenarios(shared_data: Path) -> dict[str, dict[str, Any]]:
    text = (shared_data / "scenarios" / "scenarios.json").read_text(encoding="utf-8")
    return {one["id"]: one for one in json.loads(text)["scenarios"]}


@pytest.fixture
def expected(scenarios: dict[str, dict[str, Any]]) -> Callable[[str, str], None]:
    """Says that a scenario is there and expects, in its words, what the test asserts next."""

    def expects(name: str, words: str) -> None:
        assert any(words in line for line in scenarios[name]["expect"]), (words, scenarios[name]["expect"])

    return expects


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit and a board."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=first")
    assert rk(Path(), "init", "-C", str(folder), RK_BOARD="").returncode == 0
    return folder / ".git" / "repokernel"


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=tester", "-c", "user.email=tester@example.org")
    done = subprocess.run(
        ["git", *identity, *words], cwd=folder, capture_output=True, text=True, timeout=30, check=True
    )
    return done.stdout


def test_every_scenario_is_played_or_belongs_elsewhere(scenarios: dict[str, dict[str, Any]]) -> None:
    assert PLAYED | ELSEWHERE.keys() == scenarios.keys()
    assert not PLAYED & ELSEWHERE.keys()


def test_is_01_of_eight_agents_no_two_get_the_same_task(repository: Path, expected: Callable[[str, str], None]) -> None:
    names = {f"T-{number:02d}" for number in range(1, 21)}
    Board.open(repository).add_all([{"id": name, "title": "t"} for name in sorted(names)])
    before = git(repository, "worktree", "list"), git(repository, "branch", "--list")

    def agent(number: int) -> tuple[list[str], str]:
        got = []
        while True:
            said = document(rk(repository, "claim", "--next", "--json", RK_INSTANCE=f"i-{number}"))
            if said["ok"]:
                got.append(said["task"]["id"])
            elif said["error"]["code"] != "contention":
                return got, said["error"]["code"]

    with ThreadPoolExecutor(8) as pool:
        ended = list(pool.map(agent, range(8)))
    expected("IS-01", "each task id is handed out exactly once")
    assert Counter(name for got, _ in ended for name in got) == Counter(names)
    assert {code for _, code in ended} == {"not_yet"}

    expected("IS-01", "a refused claim names the holder and exits with its own code")
    owner = document(rk(repository, "show", "T-01", "--json"))["task"]["owner"]
    late = rk(repository, "claim", "T-01", "--json", RK_INSTANCE="late")
    assert (late.returncode, document(late)["error"]["fields"]["owner"]) == (75, owner)

    expected("IS-01", "no worktree or branch exists for a refused claim")
    assert (git(repository, "worktree", "list"), git(repository, "branch", "--list")) == before


def test_is_05_a_program_that_did_nothing_has_done_nothing(
    repository: Path, expected: Callable[[str, str], None]
) -> None:
    (repository / "config.toml").write_text('[backoff]\nbase = "1ms"\n', encoding="utf-8")
    rk(repository, "add", "change x", "--id", "T-01")
    ended = rk(repository, "work", "--max-tasks", "1", "--json", "--", "true")
    assert (ended.returncode, document(ended)["ids"]["failed"]) == (1, ["T-01"])
    entry = document(rk(repository, "show", "T-01", "--json"))["task"]
    expected("IS-05", "phase is not done")
    assert entry["status"] == "pending"
    expected("IS-05", "halt reason says: no change")
    assert entry["last_error"]["code"] == "output_missing"
    expected("IS-05", "attempts is 1")
    assert entry["attempts"] == 1
    expected("IS-05", "the task is offered again by next")
    offered = rk(repository, "claim", "--next", "--wait=10s", "--json", RK_INSTANCE="next")
    assert document(offered)["task"]["id"] == "T-01"


def test_is_29_what_a_dead_worker_holds_is_seen_and_claimed_at_once(
    repository: Path, expected: Callable[[str, str], None]
) -> None:
    rk(repository, "add", "held by the dead", "--id", "T-01", "--priority", "200")
    rk(repository, "add", "open", "--id", "T-02")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as worker:
        claimed = rk(repository, "claim", "T-01", "--lease", "1h", "--owner-pid", str(worker.pid), "--json")
        assert claimed.returncode == 0
        live = document(rk(repository, "status", "--json"))
        assert [(row["id"], row["cell"]) for row in live["held"]] == [("T-01", "held")]
        worker.kill()

    expected("IS-29", "T-01 shows owner dead")
    standing = document(rk(repository, "status", "--json"))
    assert [(row["id"], row["cell"]) for row in standing["held"]] == [("T-01", "stale")]
    assert standing["held"][0]["lease_expires"] == document(claimed)["task"]["lease_expires"]

    expected("IS-29", "T-02 is offered at once")
    offered = [document(rk(repository, "claim", "--next", "--json", RK_INSTANCE="i-2")) for _ in range(2)]
    assert [(one["task"]["id"], one["task"]["token"]) for one in offered] == [("T-02", 1), ("T-01", 2)]

    expected("IS-29", "returns with a reason instead of hanging")
    waited = rk(repository, "claim", "--next", "--wait=100ms", "--json", RK_INSTANCE="i-3")
    assert (waited.returncode, document(waited)["error"]["code"]) == (75, "not_yet")


def test_is_35_a_task_whose_record_cant_be_read_does_not_disappear(
    repository: Path, expected: Callable[[str, str], None]
) -> None:
    for name in ("T-01", "T-02"):
        rk(repository, "add", "t", "--id", name)
    record = repository / "claims" / "t-01.00000001.json"
    ours = record.read_text(encoding="utf-8")
    record.write_text(f"<<<<<<< ours\n{ours}=======\n{ours}>>>>>>> theirs\n", encoding="utf-8")
    before = {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()}

    expected("IS-35", "no task disappears silently; nothing is rewritten")
    for command in ("status", "list"):
        said = document(rk(repository, command, "--json"))
        assert [(one["id"], one["code"]) for one in said["findings"]] == [("t-01", "record_invalid")]
    for words in (("show", "T-01"), ("claim", "T-01"), ("add", "again", "--id", "T-01"), ("note", "T-01", "x")):
        refused = rk(repository, *words, "--json")
        assert (refused.returncode, document(refused)["error"]["code"]) == (1, "record_invalid")
    assert rk(repository, "doctor").returncode == 1
    assert {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()} == before
    assert document(rk(repository, "claim", "--next", "--json"))["task"]["id"] == "T-02"
    assert rk(repository, "claim", "--next", RK_INSTANCE="next").returncode == 75
