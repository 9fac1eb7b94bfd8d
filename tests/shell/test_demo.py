"""The demo, run for real: processes, signals and all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def test_the_demo_keeps_its_promises_and_leaves_nothing_behind(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "repokernel", "demo", "board", "--json"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=False,
    )
    report = json.loads(ran.stdout)
    assert (ran.returncode, report["wrong"]) == (0, []), ran.stderr
    board, naive = report["board"], report["naive"]
    assert (board["usable"], list(board["failed"]), board["old_done"]) == (26, ["poison"], 3)
    assert (board["duplicates"], board["phantoms"], board["unsettled"]) == (0, 0, 0)
    assert naive["duplicates"] >= 1  # the paused agent's topic was done by another
    assert naive["phantoms"] == 5  # three old entries, the upload that failed, the poisonous one
    assert naive["late"] == 1
    assert naive["tokens_wasted"] == naive["duplicates"] * 85_000
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_demo_is_named() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "repokernel", "demo", "nonsense", "--json"], capture_output=True, timeout=60, check=False
    )
    assert (ran.returncode, json.loads(ran.stdout)["error"]["code"]) == (2, "bad_value")
