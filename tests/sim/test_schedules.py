"""Random schedules of the whole board: 20,000 in every run, 1,000,000 at night; each failure is one seed."""

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from tests.conftest import NIGHTLY
from tests.sim.schedule import explain, replay, simulate

SCHEDULES = 1_000_000 if NIGHTLY else 20_000
BATCHES = 40 if NIGHTLY else 4
SEED = 1_000_000_000
PIECE = 500


def failing(start: int) -> tuple[list[int], dict[str, int]]:
    """The failing seeds of one piece, and what its schedules amounted to."""
    bad, total = [], dict.fromkeys(("calls", "records", "ticks"), 0)
    for seed in range(start, start + PIECE):
        outcome = simulate(seed)
        if outcome.problems:
            bad.append(seed)
        for name, count in outcome.counts.items():
            total[name] += count
    return bad, total


@pytest.mark.parametrize("batch", range(BATCHES))
def test_no_schedule_breaks_a_promise(batch: int, figure: Callable[..., None]) -> None:
    size = SCHEDULES // BATCHES
    pieces = range(SEED + batch * size, SEED + (batch + 1) * size, PIECE)
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), get_context("spawn")) as pool:
        results = list(pool.map(failing, pieces))
    bad = [seed for seeds, _ in results for seed in seeds]
    assert not bad, f"{len(bad)} of {size:,} schedules fail; the first:\n{explain(bad[0])}"
    totals = {name: sum(total[name] for _, total in results) for name in ("calls", "records", "ticks")}
    figure("simulation", schedules=size, seed=pieces.start, **totals)


def test_a_schedule_is_the_same_each_time_it_is_run() -> None:
    for seed in range(20):
        first, second = simulate(seed), simulate(seed)
        assert first == second
        assert replay(first.draws).counts == first.counts


def test_the_dullest_schedule_is_one_that_goes_well() -> None:
    told = replay([], telling=True)
    assert not told.problems
    assert any("claim_next t0 (token 1) -> changed" in line for line in told.story)
    assert not any("crashes" in line for line in told.story)
