"""The linearizability checker and the specification of a task, tested themselves."""

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, strategies as st

from tests.conftest import NIGHTLY
from tests.sim import linear
from tests.sim.linear import Op
from tests.sim.made_histories import LEASE_MS, corrupted, made_one_by_one, widened
from tests.sim.task_model import TaskModel, check
from tests.sim.task_words import Task
from tests.sim.wrong_histories import BACKOFF_MS, RIGHT, WRONG, Did, history

SEEDS = 2000 if NIGHTLY else 200
OPERATIONS = 40


class Register:
    """A value that is written and read: a write is called with it, a read answered with it."""

    initial = 0

    def step(self, state: int, op: Op) -> Iterator[int]:
        if op.call is not None:
            yield op.call
        elif op.answer == state:
            yield state

    def reads(self, op: Op) -> bool:
        return op.call is None

    def tell(self, state: int) -> str:
        return str(state)


def explained(operations: Sequence[Op]) -> bool:
    """Whether any order at all explains a short history of a register: each one is tried."""
    asked = [op for op in operations if op.returned is not None]
    silent = [op for op in operations if op.returned is None]
    for count in range(len(silent) + 1):
        for took_effect in itertools.combinations(silent, count):
            for order in itertools.permutations([*asked, *took_effect]):
                if _in_time(order) and _in_words(order):
                    return True
    return False


def _in_time(order: Sequence[Op]) -> bool:
    return all(
        later.returned is None or later.returned >= earlier.invoked
        for earlier, later in itertools.combinations(order, 2)
    )


def _in_words(order: Sequence[Op]) -> bool:
    state = 0
    for op in order:
        if op.call is None and op.answer != state:
            return False
        state = state if op.call is None else op.call
    return True


@st.composite
def registers(draw: st.DrawFn) -> list[Op]:
    """Short histories of a register, about half of them right."""
    found = []
    for number in range(draw(st.integers(1, 5))):
        value, write = draw(st.integers(0, 2)), draw(st.booleans())
        called, took = draw(st.integers(0, 8)), draw(st.integers(0, 5))
        silent = write and draw(st.integers(0, 4)) == 0
        found.append(
            Op(
                part="r",
                process=number,
                invoked=called,
                returned=None if silent else called + took,
                call=value if write else None,
                answer=None if silent or write else value,
            )
        )
    return found


@given(registers())
def test_the_verdict_is_that_of_trying_every_order(operations: list[Op]) -> None:
    assert (linear.judge(operations, Register()) is None) == explained(operations)


@pytest.mark.parametrize("steps", RIGHT.values(), ids=RIGHT.keys())
def test_a_right_history_is_accepted(steps: list[Did]) -> None:
    assert check(history(steps), backoff_ms=BACKOFF_MS, slop_ms=0) == []


@pytest.mark.parametrize("steps", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_history_is_rejected(steps: list[Did]) -> None:
    assert len(check(history(steps), backoff_ms=BACKOFF_MS, slop_ms=0)) == 1


@pytest.mark.parametrize("steps", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_history_is_wrong_by_its_last_answers_only(steps: list[Did]) -> None:
    answered = [step for step in history(steps) if step.returned is not None]
    (problem,) = check(history(steps), backoff_ms=BACKOFF_MS, slop_ms=0)
    assert len(problem.placed) >= len(answered) - 2
    assert problem.left


@given(
    st.integers(0, 2**32),
    st.integers(1, OPERATIONS),
    st.sampled_from([0.0, 3.0, 2 * LEASE_MS]),
    st.sampled_from([0.0, 0.05]),
)
def test_what_was_done_one_by_one_is_accepted_however_wide_it_is_seen(
    seed: int, count: int, most_ms: float, unanswered: float
) -> None:
    draw = random.Random(seed)
    made = [one.op for one in made_one_by_one(draw, count)]
    assert check(made, slop_ms=0) == []
    assert check(widened(draw, made, most_ms, unanswered)) == []


def test_one_corrupted_answer_is_found_in_a_history_without_overlaps() -> None:
    for seed in range(SEEDS):
        draw = random.Random(seed)
        made = made_one_by_one(draw, OPERATIONS, sweeps=False)
        wrong, place = corrupted(draw, made, grossly=False)
        assert check([one.op for one in made], slop_ms=0) == [], seed
        (problem,) = check(wrong, slop_ms=0)
        assert problem.left == [wrong[place]], seed


def test_one_grossly_corrupted_answer_is_found_in_a_history_with_overlaps() -> None:
    for seed in range(SEEDS):
        draw = random.Random(seed)
        wrong, place = corrupted(draw, made_one_by_one(draw, OPERATIONS), grossly=True)
        seen = widened(draw, wrong, draw.choice((3.0, 10.0)))
        (problem,) = check(seen)
        assert seen[place] in problem.left, seed


def test_a_report_tells_what_came_before_and_what_cannot_come_next() -> None:
    (problem,) = check(history(WRONG["held though it is done"]), slop_ms=0)
    assert str(problem) == (
        "t1: no order explains these answers; 3 can be placed, the last of them:\n"
        "    [    10.000     11.000] p0 add(by=ann, limit=3) -> ok\n"
        "    [    21.000     22.000] p1 claim(by=ann, ms=1000.0) -> ok token=1 owner=ann\n"
        "    [    32.000     33.000] p2 done(by=ann, token=1) -> ok\n"
        "  after which it is done token=1 attempts=1 limit=3 owners=('ann',) seq=3 last_owner=ann claimed_ms=22.0"
        " lease_ms=1000.0 lapse_ms=(1021.0, 1022.0) wait_ms=(0, 0)\n"
        "  and none of these can come next:\n"
        "    [    43.000     44.000] p3 claim(by=ben, ms=1000.0) -> held"
    )


def test_tasks_are_judged_one_by_one() -> None:
    right, wrong = history(RIGHT["a life"]), history(WRONG["two holders at once"])
    other = [
        Op(part="t2", process=o.process, invoked=o.invoked, returned=o.returned, call=o.call, answer=o.answer)
        for o in wrong
    ]
    assert [problem.part for problem in check([*right, *other])] == ["t2"]


def test_a_thousand_operations_of_eight_processes_are_few_to_look_at() -> None:
    draw = random.Random(8)
    made = [one.op for one in made_one_by_one(draw, 1000)]
    seen, looks = widened(draw, made, 16.0), Counter[str]()

    class Counting(TaskModel):
        def step(self, state: Task, op: Op) -> Iterator[Task]:
            looks["steps"] += 1
            return super().step(state, op)

    assert sum(a.invoked < b.invoked < (a.returned or 0) for a, b in itertools.permutations(seen[:100], 2)) > 300
    assert linear.check(seen, Counting) == []
    assert looks["steps"] < 100 * len(seen)
