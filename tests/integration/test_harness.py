"""The rules of tests/conftest.py, seen from outside: pytest runs with a copy of it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"

TESTS = """
import os
import time
import pytest

def test_skips():
    pytest.skip("no engine")

@pytest.mark.skip(reason="not today")
def test_is_marked():
    pass

@pytest.mark.xfail(reason="known", strict=True)
def test_is_expected_to_fail():
    assert False

@pytest.mark.nightly
def test_is_for_the_night():
    pass

def test_is_sealed(tmp_path, scaled):
    assert "RK_ROLE" not in os.environ
    assert "GIT_DIR" not in os.environ
    assert os.environ["HOME"] != str(tmp_path)
    assert os.listdir(os.environ["HOME"]) == []
    assert time.tzname[0] == "UTC"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(CONFTEST, tmp_path)
    (tmp_path / "test_sample.py").write_text(TESTS, encoding="utf-8")
    return tmp_path


def outcome(folder: Path, monkeypatch: pytest.MonkeyPatch, **env: str) -> tuple[int, str]:
    """Pytest's exit status and the end of its output: the reasons, then the closing line."""
    for name in ("CI", "HYPOTHESIS_PROFILE", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (env | {"RK_ROLE": "x", "GIT_DIR": "x", "TZ": "Asia/Tokyo"}).items():
        monkeypatch.setenv(name, value)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", "--rootdir", str(folder)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.timeout(60)
def test_a_skip_is_a_skip_on_a_desk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, output = outcome(folder, monkeypatch)
    assert status == 0
    assert "1 passed, 2 skipped, 1 deselected, 1 xfailed" in output


@pytest.mark.timeout(60)
def test_a_skip_is_a_failure_in_ci(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, output = outcome(folder, monkeypatch, CI="true")
    assert status == 1
    assert "1 failed, 1 passed, 1 deselected, 1 xfailed, 1 error" in output
    assert "With CI=true a skip is a failure. Skipped: no engine" in output
    assert "With CI=true a skip is a failure. Skipped: not today" in output


@pytest.mark.timeout(60)
def test_a_skipped_module_is_an_error_in_ci(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "test_module.py").write_text(
        "import pytest\npytest.skip('nothing here', allow_module_level=True)\n", encoding="utf-8"
    )
    status, output = outcome(folder, monkeypatch, CI="true")
    assert status == 2
    assert "1 error" in output
    assert "With CI=true a skip is a failure. Skipped: nothing here" in output


@pytest.mark.timeout(60)
def test_nightly_tests_run_at_night(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, output = outcome(folder, monkeypatch, RK_NIGHTLY="1")
    assert status == 0
    assert "2 passed, 2 skipped, 1 xfailed" in output
