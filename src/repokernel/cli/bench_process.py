"""One of the processes that `rk bench store` starts: `python -m repokernel.cli.bench_process N SECONDS FOLDER ME`."""

from __future__ import annotations

import json
import sys

from repokernel import bootstrap
from repokernel.core.errors import RkError


def main(processes: str, seconds: str, folder: str, number: str) -> int:
    """Play one part and print what it took as JSON, or the refusal that ended it; the exit status."""
    try:
        print(json.dumps(bootstrap.bench_part(folder, int(number), int(processes), float(seconds))))
    except RkError as refusal:
        print(json.dumps({"error": refusal.as_dict()}))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
