"""Every system call of every operation that changes the board, faulted in turn: killed, EIO, ENOSPC, EINTR.

At night all calls from the program's first on are faulted, and ten of the interpreter's start; else those
by which records and beats are published (killed, and with EIO), and a few of the others.
"""

from collections.abc import Callable

import pytest

from tests.faults.bench import Bench, chosen
from tests.faults.operations import OPERATIONS, Operation
from tests.faults.syscalls import Fault, Program
from tests.shell.strace import unusable

_TOLD_MAX = 20
_UNUSABLE = unusable()

pytestmark = pytest.mark.skipif(bool(_UNUSABLE), reason=_UNUSABLE)


@pytest.fixture(scope="module")
def bench_of(program: Program, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Operation], Bench]:
    """The bench of an operation, made when it is first asked for."""
    benches: dict[str, Bench] = {}

    def made(operation: Operation) -> Bench:
        if operation.name not in benches:
            folder = tmp_path_factory.mktemp("bench") / "board"
            benches[operation.name] = Bench(program, operation, folder)
        return benches[operation.name]

    return made


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name.replace(" ", ""))
def test_an_operation_that_is_struck_at_any_call_ends_clean(
    bench_of: Callable[[Operation], Bench],
    operation: Operation,
    fault: Fault,
    scaled: Callable[[int], int],
    figure: Callable[..., None],
) -> None:
    bench = bench_of(operation)
    told, missed, points = [], [], 0
    for point in chosen(operation.name, bench.calls, bench.begins, bench.work, fault, scaled):
        points += 1
        found = bench.judge(point, fault)
        if found is None:
            missed.append(str(point))
        elif found:
            told.append(f"{point}:\n    " + "\n    ".join(found))
    if told:
        pytest.fail(f"{len(told)} of {points} points:\n" + "\n".join(told[:_TOLD_MAX]), pytrace=False)
    if missed:
        pytest.fail(f"{len(missed)} of {points} points were not hit: {missed[:_TOLD_MAX]}", pytrace=False)
    figure("faults", operation=operation.name, fault=str(fault), points=points, runs=points - len(missed))
