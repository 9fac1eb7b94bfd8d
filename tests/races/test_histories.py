"""What real processes did to one board is linearizable: some order, one at a time, explains every answer."""

import random
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tests.conftest import NIGHTLY
from tests.races.histories import BACKOFF_MS, OPERATIONS, PROCESSES, SKEW_MS, Team, counted, team
from tests.sim.linear import Op, Problem
from tests.sim.made_histories import Made, corrupted
from tests.sim.task_model import check

HISTORIES = 1000 if NIGHTLY else 200  # the number that is promised, not scaled
BATCHES = 8
SEED = 20_261_201
# what must have happened, or the histories weren't worth judging
WORTH = (
    "answers lost", "takeovers", "held", "lease_lost", "on_hold", "backing_off", "attempts_exhausted", "settled",
    "needs_person", "wrong_phase", "not_claimed", "not_owner", "id_taken", "task_unknown",
)  # fmt: skip


@pytest.fixture(scope="module")
def historians(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """Eight processes that make all the histories."""
    with team(tmp_path_factory.mktemp("histories")) as made:
        yield made


def problems_of(operations: list[Op]) -> list[Problem]:
    return check(operations, skew_ms=SKEW_MS, backoff_ms=BACKOFF_MS)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_history_of_eight_processes_on_one_board_is_linearizable(
    batch: int, historians: Team, figure: Callable[..., None]
) -> None:
    seeds = range(SEED + batch, SEED + HISTORIES, BATCHES)
    counts: Counter[str] = Counter()
    for seed in seeds:
        operations = historians.record(seed)
        counts += counted(operations)
        problems = problems_of(operations)
        assert not problems, f"history {seed}:\n" + "\n".join(str(problem) for problem in problems)
    figure(
        "histories",
        histories=len(seeds),
        operations=counts["operations"],
        processes=PROCESSES,
        takeovers=counts["takeovers"],
        lost_answers=counts["answers lost"],
        seed=SEED,
    )
    assert counts["operations"] >= OPERATIONS * len(seeds)
    assert [what for what in WORTH if counts[what] == 0] == []


def test_a_recorded_history_with_one_answer_altered_is_rejected(historians: Team) -> None:
    recorded = historians.record(SEED - 1)
    assert problems_of(recorded) == []
    for seed in range(50):
        wrong, place = corrupted(random.Random(seed), [Made(op, frozenset()) for op in recorded], grossly=True)
        (problem,) = problems_of(wrong)
        assert wrong[place] in problem.left, seed
