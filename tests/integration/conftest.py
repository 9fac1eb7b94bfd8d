"""A board in a real folder for every test of the operations."""

from pathlib import Path

import pytest

from tests.boards import BoardHere


@pytest.fixture
def board(tmp_path: Path) -> BoardHere:
    return BoardHere(tmp_path)
