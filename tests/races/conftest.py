"""A board on this machine, with its real clock, for processes that compete."""

from pathlib import Path

import pytest

from repokernel import Board

# so that a lease is taken over as soon as it has lapsed, and a failed task is offered again at once
CONFIG = """
[lease]
skew = "1ms"
[backoff]
base = "1ms"
"""


@pytest.fixture
def board(tmp_path: Path) -> Board:
    """The test's own view of the board that its processes compete for."""
    board = Board.open(tmp_path / "board", role="tester", create=True)
    (tmp_path / "board" / "config.toml").write_text(CONFIG, encoding="utf-8")
    return board


@pytest.fixture
def place(board: Board) -> Path:
    """The board's folder."""
    return Path(board.url.removeprefix("file:"))
