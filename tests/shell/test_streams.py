"""Streams and folders that a command may be started with: full, closed, gone."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.shell.runner import Rk

FULL = Path("/dev/full")


def shell(work: Path, command: str) -> subprocess.CompletedProcess[str]:
    rk = f"'{sys.executable}' -m repokernel"
    script = command.replace("rk ", f"{rk} ")
    return subprocess.run(["sh", "-c", script], cwd=work, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def work(rk: Rk, tmp_path: Path) -> Path:
    rk.make_board(tmp_path)
    assert rk(tmp_path, ("add", "one", "--id", "t1")).status == 0
    return tmp_path


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", ["rk list", "rk list --json", "rk claim t1", "rk show nope --json"])
def test_a_full_stdout_is_no_defect_and_no_success(work: Path, command: str) -> None:
    said = shell(work, f"{command} >{FULL}")
    assert said.returncode not in (0, 70)
    assert "bug" not in said.stderr
    assert "Traceback" not in said.stderr
    assert "left as it was" not in said.stderr


@pytest.mark.parametrize("closing", [">&-", "2>&-", "<&-"])
@pytest.mark.parametrize("command", ["rk list", "rk show nope", "rk claim t1 --json"])
def test_a_closed_stream_is_no_defect(work: Path, command: str, closing: str) -> None:
    said = shell(work, f"{command} {closing}")
    assert "bug" not in said.stderr + said.stdout
    assert "Traceback" not in said.stderr


def test_a_closed_stdin_is_named(work: Path) -> None:
    said = shell(work, "rk add --from - <&-")
    assert (said.returncode, said.stderr.count("\n")) == (2, 1)
    assert "bug" not in said.stderr


def test_a_folder_that_is_gone_is_named(work: Path) -> None:
    said = shell(work, "mkdir gone && cd gone && rmdir ../gone && rk list")
    assert said.returncode in (2, 3)
    assert "bug" not in said.stderr
    elsewhere = shell(work, f"mkdir gone && cd gone && rmdir ../gone && rk -C '{work}' show t1")
    assert elsewhere.returncode == 0, elsewhere.stderr
