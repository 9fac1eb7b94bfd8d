"""Processes of two versions on one board, both live: neither harms what the other does."""

import hashlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from repokernel import Board
from tests.workers import ROOT, Worker, document, rk, start_rk, until

NEWER = ("record-2", "schema-2")
LONG_MS = 600_000
ABSENT, FIELDS = (None, None), (["calm"], {"grams": 5})  # what a record has of the version `more`
Start = Callable[[str], "Participant"]


class Participant(Worker):
    """A process of one version (see `newer_version`)."""

    def __init__(self, board: Path, version: str) -> None:
        command = [sys.executable, "-m", "tests.races.newer_version", str(board), version]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._heard = b""
        assert self.hear() == {"ready": version}

    def code(self, order: str, **facts: object) -> str:
        """The code that an order is refused with."""
        answer = self.ask(order, **facts)
        assert answer["ok"] is False, answer
        return str(answer["code"])


@pytest.fixture
def start(place: Path) -> Iterator[Start]:
    """Starts processes of one version or the other; none is left afterwards."""
    with ExitStack() as stack:
        yield lambda version: stack.enter_context(Participant(place, version))


def log_of(place: Path, task: str) -> list[dict[str, Any]]:
    """The records of a task as they lie there, after a look at their numbers and links."""
    paths = sorted((place / "claims").glob(f"{task}.*.json"))
    datas = [path.read_bytes() for path in paths]
    records: list[dict[str, Any]] = [json.loads(data) for data in datas]
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))
    assert [record["prev"] for record in records[1:]] == [hashlib.sha256(data).hexdigest() for data in datas[:-1]]
    return records


def is_newer(record: dict[str, Any]) -> bool:
    """Whether the present version can't read a record."""
    return bool(record["record"] > 1 or record["state"].get("schema", 1) > 1)


def sound(place: Path, task: str) -> list[dict[str, Any]]:
    """The log of a task that is done, once: tokens rise by one, and nothing present follows something newer."""
    records = log_of(place, task)
    assert Counter(record["event"] for record in records)["done"] == 1, records
    assert records[-1]["event"] == "done"
    token = 0
    for record in records:
        token += record["event"] == "claim"
        assert record["state"].get("token", 0) == token
    newer = [is_newer(record) for record in records]
    assert newer == sorted(newer)
    return records


def tasks(board: Board, count: int) -> list[str]:
    """So many new tasks, with attempts enough."""
    names = [f"t{number:03d}" for number in range(count)]
    board.add_all([{"id": name, "title": name, "max_attempts": 99} for name in names])
    return names


def left_by_the_dead(start: Start, names: list[str], version: str) -> set[str]:
    """Tasks that processes of a version held when they were killed, some with a renewed lease."""
    for name in names:
        one = start(version)
        assert one.ask("claim", task=name, lease_ms=LONG_MS)["task"]["token"] == 1
        assert one.ask("prolong", task=name, token=1, lease_ms=2 * LONG_MS)["ok"]
        one.kill()
    return set(names)


def drained(team: list[Participant]) -> tuple[list[tuple[str, int]], list[dict[str, Any]]]:
    """Let all drain the board at once: what was finished by whom, and what each was told at the end."""
    for one in team:
        one.tell("drain")
    answers = [one.hear() for one in team]
    assert all(answer["ok"] for answer in answers), answers
    return [(name, token) for answer in answers for name, token in answer["finished"]], [
        answer["stopped"] for answer in answers
    ]


@pytest.mark.parametrize("version", NEWER)
def test_beside_a_newer_format_all_tasks_are_done_once_and_none_is_touched_by_who_cant_read_it(
    board: Board, place: Path, start: Start, scaled: Callable[[int], int], version: str
) -> None:
    names = tasks(board, scaled(1_000))
    lost_by_present = left_by_the_dead(start, names[:3], "present")
    lost_by_newer = left_by_the_dead(start, names[3:6], version)
    newer, present = [start(version) for _ in range(3)], [start("present") for _ in range(3)]
    finished, stopped = drained([*newer, *present])
    assert sorted(name for name, _ in finished) == names
    # the present version always leaves what is written in the newer format to somebody else
    assert [one["code"] for one in stopped] == ["drained"] * 3 + ["not_yet"] * 3
    logs = {name: sound(place, name) for name in names}
    by_newer = {name for name, log in logs.items() if is_newer(log[-1])}
    assert lost_by_newer <= by_newer < set(names)
    assert {one["fields"]["for_a_person"] for one in stopped[3:]} <= set(range(3, len(by_newer) + 1))
    for name in lost_by_present | lost_by_newer:
        assert [record["event"] for record in logs[name]] == ["add", "claim", "claim", "done"]
    check_commands(place, set(names) - by_newer, by_newer)


def check_commands(place: Path, readable: set[str], newer: set[str]) -> None:
    """`rk list`, `rk status` and `rk doctor` name what they can't read, and show all the rest."""
    for command in ("list", "status", "doctor"):
        ended = rk(place, command, "--json")
        said = document(ended)
        assert ended.returncode == 1
        assert {one["id"]: one["code"] for one in said["findings"]} == dict.fromkeys(newer, "schema_newer")
        if command == "list":
            assert {one["id"] for one in said["tasks"]} == readable
        elif command == "status":
            assert sum(said["counts"].values()) == len(readable)


def test_beside_a_compatible_newer_version_all_is_shared_and_its_fields_are_kept(
    board: Board, place: Path, start: Start, scaled: Callable[[int], int]
) -> None:
    names = tasks(board, scaled(1_000))
    lost = left_by_the_dead(start, names[:3], "present") | left_by_the_dead(start, names[3:6], "more")
    finished, stopped = drained([start("more"), start("present"), start("more"), start("present")])
    assert sorted(name for name, _ in finished) == names
    assert [one["code"] for one in stopped] == ["drained"] * 4
    kept = 0
    for name in names:
        log = sound(place, name)
        assert not any(map(is_newer, log))
        known = [(record.get("mood"), record["state"].get("weight")) for record in log]
        assert known == sorted(known, key=lambda one: one != ABSENT)  # once there, they stay
        assert all(one in (ABSENT, FIELDS) for one in known)
        kept += FIELDS in known
    assert kept >= len(lost) // 2
    assert document(rk(place, "doctor", "--json"))["outcome"] == "well"
    assert {entry["status"] for entry in board.tasks()} == {"done"}


def test_fields_of_a_newer_version_survive_each_change_by_the_present_one(
    board: Board, place: Path, start: Start
) -> None:
    newer, present = start("more"), start("present")
    assert newer.ask("add", task="t1")["ok"]
    for words in (("hold", "t1", "--reason", "wait"), ("unhold", "t1"), ("note", "t1", "remark"), ("cancel", "t1")):
        assert rk(place, *words).returncode == 0, words
    assert rk(place, "reopen", "t1").returncode == 0
    token = present.ask("claim", task="t1")["task"]["token"]
    assert present.ask("release", task="t1", token=token)["ok"]
    token = present.ask("claim", task="t1")["task"]["token"]
    assert present.ask("finish", task="t1", token=token)["ok"]
    log = log_of(place, "t1")
    assert [(record["mood"], record["state"]["weight"]) for record in log] == [FIELDS] * 10
    assert newer.ask("show", task="t1")["task"]["weight"] == {"grams": 5}


@pytest.mark.parametrize("version", NEWER)
def test_a_task_in_a_newer_format_is_refused_by_each_command_and_left_as_it_is(
    board: Board, place: Path, start: Start, version: str
) -> None:
    board.add("the newer version's", id="t1")
    board.add("anybody's", id="t2")
    board.add("waits", id="t3", depends_on=["t1"])
    newer = start(version)
    token = newer.ask("claim", task="t1", lease_ms=LONG_MS)["task"]["token"]
    before = {path: path.read_bytes() for path in (place / "claims").glob("t1.*")}
    words = ("claim", "renew", "release", "reopen", "retry", "unhold", "open", "show", "history", "why", "done")
    more = (
        ("note", "t1", "x"),
        ("hold", "t1", "--reason", "x"),
        ("add", "again", "--id", "T1"),
        ("fail", "t1", "--code", "bad"),
    )
    for command in (*((word, "t1") for word in words), *more, ("cancel", "t1")):
        ended = rk(place, *command, "--json")
        assert (ended.returncode, document(ended)["error"]["code"]) == (1, "schema_newer"), command
    ended = rk(place, "work", "--json", "--", "sh", "-c", 'echo x > "$RK_OUTPUT_DIR/out"')
    said = document(ended)
    assert (ended.returncode, said["ids"]["done"], said["outcome"]) == (75, ["t2"], "not_yet")
    ended = rk(place, "claim", "--next", "--json")
    assert (ended.returncode, document(ended)["error"]["code"]) == (75, "not_yet")
    check_commands(place, {"t2", "t3"}, {"t1"})
    assert {path: path.read_bytes() for path in (place / "claims").glob("t1.*")} == before
    assert newer.ask("finish", task="t1", token=token)["ok"]
    assert newer.ask("drain")["stopped"]["code"] == "drained"
    for name in ("t1", "t2", "t3"):
        sound(place, name)


@pytest.mark.parametrize("version", [*NEWER, "more", "beat-2"])
def test_who_slept_past_the_lease_is_refused_whichever_version_came_after(
    board: Board, place: Path, start: Start, version: str
) -> None:
    for number, (before, after) in enumerate([("present", version), (version, version)]):
        board.add("wanted", id=f"t{number}")
        sleeper, successor = start(before), start(after)
        assert sleeper.ask("claim", task=f"t{number}", lease_ms=300)["ok"]
        sleeper.stop()
        until(lambda n=number, s=successor: s.ask("claim", task=f"t{n}", lease_ms=LONG_MS)["ok"], "the lease lapses")  # type: ignore[misc]
        sleeper.wake()
        late = {
            sleeper.code(order, task=f"t{number}", token=1, lease_ms=300) for order in ("finish", "prolong", "release")
        }
        assert late == {"schema_newer" if before == "present" and version in NEWER else "lease_lost"}
        assert successor.ask("finish", task=f"t{number}", token=2)["ok"]
        assert len(sound(place, f"t{number}")) == 4


def test_a_worker_whose_task_a_newer_version_has_changed_goes_on_with_the_others(
    board: Board, place: Path, start: Start, tmp_path: Path
) -> None:
    names = tasks(board, 4)
    program = (
        f'touch "{tmp_path}/$RK_TASK"; until [ -e "{tmp_path}/go" ]; do sleep 0.02; done; echo x > "$RK_OUTPUT_DIR/o"'
    )
    supervisor = start_rk(place, "work", "--json", "--", "sh", "-c", program)
    try:
        until((tmp_path / names[0]).exists, "the first task is in work")
        assert start("record-2").ask("note", task=names[0], text="a remark of a person")["ok"]
    finally:
        (tmp_path / "go").touch()
        ended = supervisor.finish()
    assert document(ended)["ids"] == {"done": names[1:], "failed": [], "lost": names[:1], "released": []}


def test_a_worker_is_not_told_that_all_is_done_while_a_newer_version_holds_a_task(
    board: Board, place: Path, start: Start
) -> None:
    tasks(board, 2)
    present, newer = start("present"), start("cause")
    assert present.ask("next")["task"]["id"] == "t000"
    assert present.ask("finish", task="t000", token=1)["ok"]
    assert newer.ask("claim", task="t001", lease_ms=LONG_MS)["ok"]
    assert present.code("next") == "not_yet"


def test_a_lease_that_a_newer_version_has_renewed_is_respected(board: Board, place: Path, start: Start) -> None:
    board.add("wanted", id="t1")
    board.add("a clock", id="t2")
    holder, present = start("beat-2"), start("present")
    for name in ("t1", "t2"):  # the other lapses after the one
        assert holder.ask("claim", task=name, lease_ms=300)["ok"]
    assert holder.ask("prolong", task="t1", token=1, lease_ms=LONG_MS)["ok"]
    until(lambda: present.ask("claim", task="t2")["ok"], "a lease that nobody renewed has lapsed")
    assert present.code("claim", task="t1") == "held"


def test_a_lease_that_a_newer_version_renewed_is_safe_whoever_respects_it(
    board: Board, place: Path, start: Start
) -> None:
    board.add("wanted", id="t1", max_attempts=99)
    board.add("a clock", id="t2")
    holder, present = start("beat-2"), start("present")
    for name in ("t1", "t2"):
        assert holder.ask("claim", task=name, lease_ms=300)["ok"]
    assert holder.ask("prolong", task="t1", token=1, lease_ms=LONG_MS)["ok"]
    until(lambda: present.ask("claim", task="t2")["ok"], "a lease that nobody renewed has lapsed")
    taken = present.ask("claim", task="t1")["ok"]
    answers = [holder.ask("finish", task="t1", token=1), present.ask("finish", task="t1", token=2)]
    assert [answer["ok"] for answer in answers] == [not taken, taken]
    assert answers[not taken]["code"] == "lease_lost"
    sound(place, "t1")
