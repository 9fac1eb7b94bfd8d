"""Starting a process and learning what it cost."""

from __future__ import annotations

import os
import time
from statistics import median
from typing import NamedTuple


class Cost(NamedTuple):
    """What one process cost, in milliseconds."""

    wall_ms: float
    cpu_ms: float


def environment() -> dict[str, str]:
    """This environment, less what would make an interpreter slower than a user's."""
    dropped = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONUNBUFFERED", "RK_BOARD")
    return {name: value for name, value in os.environ.items() if name not in dropped}


def run(argv: list[str], *, expect: int = 0) -> Cost:
    """The cost of one process, from before its start to its end.

    Raises:
        SystemExit: it didn't end with `expect`.
    """
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
    started = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, environment(), file_actions=quiet)
    _, status, usage = os.wait4(pid, 0)
    wall_ms = (time.perf_counter() - started) * 1000
    if os.waitstatus_to_exitcode(status) != expect:
        raise SystemExit(f"{' '.join(argv)}: exit status {os.waitstatus_to_exitcode(status)}, expected {expect}")
    return Cost(wall_ms, (usage.ru_utime + usage.ru_stime) * 1000)


def middle(costs: list[Cost]) -> Cost:
    """The medians."""
    return Cost(median(c.wall_ms for c in costs), median(c.cpu_ms for c in costs))
