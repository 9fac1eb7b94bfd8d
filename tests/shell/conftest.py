"""The command, shared by the tests that run it very often."""

from collections.abc import Iterator

import pytest

from tests.shell.runner import Rk


@pytest.fixture(scope="session")
def rk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rk]:
    """`rk` at the price of a fork."""
    with Rk(tmp_path_factory.mktemp("rk")) as command:
        yield command
