"""What all tests share: Hypothesis profiles, the skip rule, a sealed environment, time limits.

Everything that the tests take from outside is read here once, before the environment is sealed:
``CI``, ``HYPOTHESIS_PROFILE``, ``RK_FIGURES``, ``RK_NIGHTLY`` and ``RK_SHARED_DATA``.
"""

import json
import os
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import hypothesis
import pytest

TESTS = Path(__file__).resolve().parent
CI = os.environ.get("CI") == "true"
NIGHTLY = os.environ.get("RK_NIGHTLY") == "1"
SHARED_DATA = os.environ.get("RK_SHARED_DATA")
FIGURES = os.environ.get("RK_FIGURES")

TIMEOUT_S = 20
TIMEOUT_S_BY_TIER = {"faults": 120, "property": 60, "races": 60, "shell": 60, "sim": 300}
NIGHTLY_TIMEOUT_FACTOR = 60

DROPPED = ("GIT_", "RK_", "XDG_")
SEALED = {
    "COLUMNS": "80",
    "EDITOR": "false",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C.UTF-8",
    "LOGNAME": "tester",
    "NO_COLOR": "1",
    "TERM": "dumb",
    "TZ": "UTC",
    "USER": "tester",
    "VISUAL": "false",
}

hypothesis.settings.register_profile("dev", max_examples=50, deadline=None)
hypothesis.settings.register_profile(
    "ci", max_examples=500, deadline=None, derandomize=True, database=None, print_blob=True
)
hypothesis.settings.register_profile(
    "nightly",
    max_examples=5000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if CI else "dev"))


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    config.addinivalue_line("markers", "nightly: runs only with RK_NIGHTLY=1 (make nightly)")
    config.addinivalue_line("markers", "races: starts processes that compete; set by the folder")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each test its tier's marker and time limit; leave nightly tests to the nightly run."""
    for item in items:
        tier = _tier(item)
        if tier == "races":
            item.add_marker("races")
        if item.get_closest_marker("timeout") is None:
            timeout_s = TIMEOUT_S_BY_TIER.get(tier, TIMEOUT_S)
            item.add_marker(pytest.mark.timeout(timeout_s * (NIGHTLY_TIMEOUT_FACTOR if NIGHTLY else 1)))
    if not NIGHTLY:
        # Deselected, not skipped: they aren't part of this run, so CI misses nothing.
        left_out = [item for item in items if item.get_closest_marker("nightly")]
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if not item.get_closest_marker("nightly")]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure under CI; an expected failure stays what it is."""
    report = yield
    if CI and report.skipped and not hasattr(report, "wasxfail"):
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn the skip of a whole module into an error under CI."""
    report = yield
    if CI and report.skipped:
        _fail(report)
    return report


@pytest.fixture(autouse=True)
def sealed_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The test's own empty home; nothing of the caller's environment shows through."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(DROPPED)]:
            patch.delenv(name)
        for name, value in SEALED.items():
            patch.setenv(name, value)
        patch.setenv("HOME", str(home))
        time.tzset()
        yield home
    time.tzset()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of shared test data; the test is skipped where there is none."""
    if not SHARED_DATA:
        pytest.skip("RK_SHARED_DATA is not set: the shared test data is not here")
    folder = Path(SHARED_DATA)
    assert folder.is_dir(), f"RK_SHARED_DATA is not a folder: {folder}"
    return folder


@pytest.fixture(scope="session")
def scaled() -> Callable[[int], int]:
    """A function from a nightly count to this run's: all of it at night, else a tenth."""
    return lambda count: count if NIGHTLY else max(1, count // 10)


@pytest.fixture
def figure() -> Callable[..., None]:
    """Keeps what a test has counted, for `docs/guarantees.md`: a name, and facts by name.

    Each call adds a JSON line to the file that RK_FIGURES names; the seconds since the test began are added.
    """
    began = time.monotonic()

    def keep(name: str, **facts: int | str) -> None:
        if FIGURES:
            line = json.dumps({"name": name, **facts, "seconds": round(time.monotonic() - began)}, sort_keys=True)
            with Path(FIGURES).open("a", encoding="utf-8") as stream:
                stream.write(line + "\n")

    return keep


def _tier(item: pytest.Item) -> str:
    if not item.path.is_relative_to(TESTS):
        return ""
    return item.path.relative_to(TESTS).parts[0]


def _fail(report: pytest.TestReport | pytest.CollectReport) -> None:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    report.outcome = "failed"
    report.longrepr = f"With CI=true a skip is a failure. {reason}"
