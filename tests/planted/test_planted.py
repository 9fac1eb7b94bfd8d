"""Each planted bug is caught by the test that the table names, and the same test passes without it."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.planted.table import BUGS, SIMULATION
from tests.sim.schedule import simulate
from tests.workers import ROOT

SEEDS = 1000
LAUNCHER = ROOT / "tests" / "planted" / "launcher"
_FAILED = 1  # pytest's exit status for a test that failed


def run(test: str, bug: str) -> subprocess.CompletedProcess[str]:
    """One test in a process of its own, where a bug is planted in each interpreter that it starts."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", test]
    path = os.pathsep.join([str(LAUNCHER), str(ROOT)])
    env = {**os.environ, "PYTHONPATH": path, "PLANTED_BUG": bug, "HYPOTHESIS_PROFILE": "dev"}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=110, check=False)


def fails(seed: int) -> bool:
    try:
        return bool(simulate(seed).problems)
    except AssertionError:  # the product's own
        return True


@pytest.mark.parametrize("name", [name for name, bug in BUGS.items() if bug.caught_by == SIMULATION])
def test_the_simulation_catches_it(name: str, monkeypatch: pytest.MonkeyPatch, figure: Callable[..., None]) -> None:
    BUGS[name].plant(monkeypatch)
    found = next((seed for seed in range(SEEDS) if fails(seed)), None)
    assert found is not None, f"not caught in {SEEDS} schedules: {BUGS[name].what}"
    figure("planted", bug=name, schedules=found + 1)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", [name for name, bug in BUGS.items() if bug.caught_by != SIMULATION])
def test_the_named_test_catches_it(name: str, figure: Callable[..., None]) -> None:
    done = run(BUGS[name].caught_by, name)
    assert done.returncode == _FAILED, f"{BUGS[name].what}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    assert " error" not in done.stdout.splitlines()[-1]
    figure("planted", bug=name)


def test_there_are_twenty_bugs_and_each_has_a_sentence() -> None:
    assert len(BUGS) >= 20
    assert all(bug.what.endswith(".") for bug in BUGS.values())


@pytest.mark.timeout(120)
def test_the_named_tests_pass_without_a_bug() -> None:
    tests = sorted({bug.caught_by for bug in BUGS.values()} - {SIMULATION})
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
