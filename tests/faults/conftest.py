"""What the tests with injected faults share."""

import pytest

from tests.faults.syscalls import Program


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """`rk`, to be run under strace."""
    return Program(tmp_path_factory.mktemp("program"))
