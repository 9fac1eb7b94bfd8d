"""Many processes want one task: exactly one has it, and tokens only rise (step 1, Show 2)."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from repokernel import Board
from tests.boards import code_of
from tests.workers import Worker, document, race, rk, start_rk, workers

RACERS = 16
ENDLESS = 10**6


def winner_of(answers: list[dict[str, Any]]) -> int:
    """The one who has the task; everybody else was told so."""
    won = [number for number, answer in enumerate(answers) if answer["ok"]]
    assert len(won) == 1, answers
    owner = answers[won[0]]["task"]["owner"]
    lost = [answer for answer in answers if not answer["ok"]]
    assert {(answer["code"], answer["fields"]["owner"]) for answer in lost} == {("held", owner)}
    return won[0]


def test_of_sixteen_processes_one_has_the_task_each_round(
    board: Board, place: Path, scaled: Callable[[int], int]
) -> None:
    rounds = scaled(500)
    board.add("wanted", id="t1")
    tokens = []
    with workers(RACERS, place) as team:
        for _ in range(rounds):
            answers = race(team, "claim", task="t1")
            won = winner_of(answers)
            tokens.append(answers[won]["task"]["token"])
            assert team[won].ask("release", task="t1", token=tokens[-1])["ok"]
    assert tokens == list(range(1, rounds + 1))
    assert len(board.history("t1")) == 1 + 2 * rounds


def test_a_winner_that_is_killed_is_replaced_at_once_under_a_higher_token(
    board: Board, place: Path, scaled: Callable[[int], int]
) -> None:
    rounds = scaled(500)
    board.add("wanted", id="t1", max_attempts=ENDLESS)
    tokens, owners = [], []
    with workers(RACERS, place) as team:
        for _ in range(rounds):
            answers = race(team, "claim", task="t1")
            won = winner_of(answers)
            tokens.append(answers[won]["task"]["token"])
            owners.append(answers[won]["task"]["owner"])
            team[won].__exit__(None, None, None)
            team[won] = Worker(place)
    assert tokens == list(range(1, rounds + 1))
    assert [record.by for record in board.history("t1")][1:] == owners
    entry = board.show("t1")
    assert (entry["attempts"], len(entry["claimed_by"])) == (rounds, rounds)


def test_racers_that_start_when_they_like_have_one_winner_too(
    board: Board, place: Path, scaled: Callable[[int], int]
) -> None:
    board.add("wanted", id="t1")
    with workers(RACERS, place) as team:
        for _ in range(scaled(200)):
            for one in team:
                one.tell("claim", task="t1")
            answers = [one.hear() for one in team]
            won = winner_of(answers)
            team[won].ask("release", task="t1", token=answers[won]["task"]["token"])


def test_of_many_command_lines_one_exits_with_0_and_the_rest_with_75(
    board: Board, place: Path, scaled: Callable[[int], int]
) -> None:
    board.add("wanted", id="t1")
    for token in range(1, scaled(40) + 1):
        before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
        racers = [start_rk(place, "claim", "t1", "--json", RK_INSTANCE=f"i-{n}") for n in range(12)]
        ended = [one.finish() for one in racers]
        (won,) = [number for number, one in enumerate(ended) if one.returncode == 0]
        assert sorted(one.returncode for one in ended) == [0] + [75] * 11
        assert document(ended[won])["task"]["token"] == token
        errors = [document(one)["error"] for number, one in enumerate(ended) if number != won]
        assert {(one["code"], one["fields"]["owner"]) for one in errors} == {("held", f"tester@i-{won}")}
        after = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
        (new,) = after.keys() - before.keys()
        assert (new.name, {path: after[path] for path in before}) == (f"t1.{2 * token:08d}.json", before)
        assert rk(place, "release", "t1", RK_INSTANCE=f"i-{won}").returncode == 0


def test_twenty_notes_at_once_are_all_kept(board: Board, place: Path) -> None:
    board.add("discussed", id="t1")
    held = board.claim("t1")
    with workers(20, place) as team:
        for one in team:
            one.tell("note", task="t1", text=f"from {one.pid}", gated=True)
        assert [one.hear() for one in team] == [{"at": "gate"}] * 20
        for one in team:
            one.go()
        assert [one.hear()["ok"] for one in team] == [True] * 20
        expected = {f"from {one.pid}" for one in team}
    assert {note["text"] for note in board.show("t1")["notes"]} == expected
    assert len(board.history("t1")) == 22
    assert held.release()["attempts"] == 0


def test_boards_made_at_once_are_one_sound_board(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    racers = [start_rk(Path(), "init", "-C", str(folder), RK_BOARD="") for _ in range(8)]
    ended = [one.finish() for one in racers]
    assert [one.returncode for one in ended] == [0] * 8
    assert rk(folder / ".repokernel", "add", "first", "--id", "t1").returncode == 0
    assert document(rk(folder / ".repokernel", "doctor", "--json"))["ok"] is True
    assert sorted(os.listdir(folder / ".repokernel")) == [
        "beats", "board.json", "claims", "config.toml", "outputs", "verified",
    ]  # fmt: skip


def test_one_id_added_by_many_at_once_is_one_task(board: Board, place: Path) -> None:
    racers = [start_rk(place, "add", f"title {n}", "--id", "t1", "--json") for n in range(8)]
    ended = [one.finish() for one in racers]
    assert sorted(one.returncode for one in ended) == [0] + [1] * 7
    (won,) = [document(one)["task"]["title"] for one in ended if one.returncode == 0]
    assert board.show("t1")["title"] == won
    assert code_of(lambda: board.add("again", id="T1")) == "id_taken"
