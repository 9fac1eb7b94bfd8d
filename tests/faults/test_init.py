"""`rk init`, faulted at every system call: repeated without the fault it ends with a board that has no past."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.bench import TRIES, chosen
from tests.faults.syscalls import Call, Fault, Program
from tests.faults.verdicts import another_worker, ask, code_of, findings
from tests.shell.runner import BOARD
from tests.shell.strace import unusable

_UNUSABLE = unusable()
_ARGV = ("init", "--json")

pytestmark = pytest.mark.skipif(bool(_UNUSABLE), reason=_UNUSABLE)


def _fresh(folder: Path) -> Path:
    """An empty folder; always the same one, for equal calls."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def _problems(program: Program, work: Path, point: Call, fault: Fault, *, exempt: bool) -> list[str] | None:
    """What is wrong after a fault at `point`; None if it couldn't be hit."""
    for _ in range(TRIES):
        struck = program.faulted(_fresh(work), _ARGV, point, fault)
        if struck is not None:
            break
    else:
        return None
    said, problems = struck[0], []
    if not exempt and said.status > 0:
        code = code_of(said)
        wanted = (2, "bad_value") if point.name == "getcwd" else (3, code)
        if (said.status, code) != wanted or code in (None, "defect"):
            problems.append(f"status {said.status}, {said.out[:300]!r}, {said.err[-300:]!r}")
    if said.status == 0:
        problems += findings(work)
    again = ask(work, ("init",))
    if again not in ("made", "unchanged") or (said.status == 0 and again == "made"):
        problems.append(f"repeated without the fault: {again}")
    return problems + findings(work) + _life(work)


def _life(work: Path) -> list[str]:
    """What is wrong with the board at its first task; and it is drained when that is done."""
    said = [ask(work, ("add", "first", "--id", "t1")), another_worker(work, "t1")]
    said += [ask(work, ("cancel", "t1")), ask(work, ("claim", "--next"))]
    left = [name.name for name in (work / BOARD / "claims").iterdir() if not name.name.startswith(("t1.", ".tmp-"))]
    wanted = ["added", "", "cancelled", "refused: drained"]
    return [f"the first task goes: {said}"] * (said != wanted) + [f"left among the claims: {left}"] * bool(left)


@pytest.mark.parametrize("fault", list(Fault))
def test_a_new_board_that_is_struck_at_any_call_is_made_by_a_repetition(
    program: Program, fault: Fault, tmp_path: Path, scaled: Callable[[int], int], figure: Callable[..., None]
) -> None:
    work = tmp_path / "work"
    said, calls, begins = program.dry(_fresh(work), _ARGV)
    assert said.status == 0, said
    points = list(chosen("init", calls, begins, work, fault, scaled))
    boot = set(calls[:begins])
    found = {
        str(point): _problems(program, work, point, fault, exempt=point in boot or program.is_interpreters(point))
        for point in points
    }
    wrong = {point: problems for point, problems in found.items() if problems != []}
    if wrong:
        pytest.fail(
            "\n".join(f"{point}: {problems or 'was not hit'}" for point, problems in wrong.items()), pytrace=False
        )
    figure("faults", operation="init", fault=str(fault), points=len(points), runs=len(points))
