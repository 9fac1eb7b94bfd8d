"""`python -m tests.figures`: the first line of a file of figures, which says what they are of."""

import json
import os
import platform
import subprocess
import sys
import time

from tests.workers import ROOT


def about() -> dict[str, object]:
    """Commit, day and machine of a run."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return {
        "name": "run",
        "commit": commit.stdout.strip() or "unknown",
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(about(), sort_keys=True) + "\n")
