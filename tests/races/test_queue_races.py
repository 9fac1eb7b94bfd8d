"""Many processes drain one queue: nothing is handed out twice, nothing is lost."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from repokernel import Board
from tests.workers import until, workers


def filled(board: Board, count: int) -> set[str]:
    """A queue of so many tasks, some of which wait for the one before."""
    names = [f"q{number:04d}" for number in range(count)]
    items: list[dict[str, object]] = [
        {"id": name, "title": name, "expects": "none", "priority": number % 3, "max_attempts": 99}
        for number, name in enumerate(names)
    ]
    for number in range(7, count, 10):
        items[number]["depends_on"] = [names[number - 1]]
    board.add_all(items)
    return set(names)


def test_sixteen_processes_hand_out_each_task_once(board: Board, place: Path, scaled: Callable[[int], int]) -> None:
    names = filled(board, scaled(1000))
    with workers(16, place) as team:
        for one in team:
            one.tell("drain")
        handed = [(name, token) for one in team for name, token in one.hear()["handed"]]
    assert Counter(handed) == Counter((name, 1) for name in names)
    assert {entry["id"] for entry in board.tasks("done")} == names
    assert {len(board.history(name)) for name in names} == {3}


def test_a_queue_whose_workers_are_killed_is_drained_all_the_same(
    board: Board, place: Path, scaled: Callable[[int], int]
) -> None:
    names = filled(board, scaled(400))
    done = len(names)

    def published(count: int) -> Callable[[], bool]:
        return lambda: len(list((place / "claims").iterdir())) >= count

    with workers(8, place) as team:
        for one in team:
            one.tell("drain")
        for number, one in enumerate(team[:6], start=1):
            until(published(done + done * 2 * number // 10), "the queue moves on")
            one.kill()
        for one in team[6:]:
            one.hear()
    assert {entry["id"] for entry in board.tasks("done")} == names
    for name in names:
        events = Counter(record.event for record in board.history(name))
        assert (events["add"], events["done"]) == (1, 1)
        assert board.show(name)["token"] == events["claim"]
