"""Every hostile row, run against the command (the rows are in `tests/shell/hostile/`, which states the contract)."""

from pathlib import Path

import pytest

from tests.shell.hostile import PLANTED, ROWS
from tests.shell.hostile.model import Row
from tests.shell.runner import Rk, judge, sample

_TENTH = sample([row.name for row in PLANTED], len(PLANTED) // 10)
_LEFT_OUT = frozenset(row.name for row in PLANTED) - _TENTH
_REAL = sample([row.name for row in ROWS if row.name not in _LEFT_OUT], 30)
_INTERPRETER = ("PYTHON", "LC_", "LANG")  # what only a new interpreter looks at


def is_real(row: Row) -> bool:
    return row.name in _REAL or any(name.startswith(_INTERPRETER) for name in row.env)


@pytest.mark.parametrize(
    "row",
    [pytest.param(row, id=row.name, marks=[pytest.mark.nightly] if row.name in _LEFT_OUT else []) for row in ROWS],
)
def test_hostile_input_is_answered_in_one_line_and_leaves_the_board_alone(rk: Rk, tmp_path: Path, row: Row) -> None:
    problems = judge(rk, row, tmp_path, real=is_real(row))
    assert not problems, f"{row.name} ({row.why}):\n" + "\n".join(problems)


def test_rows_have_names_of_their_own() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS) > 60


def test_the_forked_command_says_what_a_process_says(rk: Rk, tmp_path: Path) -> None:
    for argv in (("init",), ("add", "x", "--id", "t1"), ("show", "nope"), ("list", "--nope"), ("list", "--json"), ()):
        forked, real = tmp_path / "forked", tmp_path / "real"
        for folder in (forked, real):
            folder.mkdir(exist_ok=True)
        one, other = rk(forked, argv), rk(real, argv, real=True)
        assert one.status == other.status, (one.text, other.text)
        assert one.err == other.err.replace(b"/real", b"/forked")
        assert len(one.out.splitlines()) == len(other.out.splitlines())
