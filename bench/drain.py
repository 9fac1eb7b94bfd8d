"""16 processes drain a queue of no-op tasks, beside as many bare durable publications by 16 processes."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from repokernel import Board

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.synchronize import Barrier

GATE = 0.25
PROCESSES = 16
TASKS = 2000


def _worker(url: str, _number: int, start: Barrier) -> None:
    board = Board.open(url, role="worker")
    start.wait()
    board.work(lambda _: None)


def _bare(folder: str, number: int, start: Barrier) -> None:
    """What a publication can't do without: sync the file, link it to its name, sync the folder."""
    folder_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    data = b"x" * 900
    start.wait()
    for n in range(2 * TASKS // PROCESSES):
        fd = os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o666, dir_fd=folder_fd)
        os.write(fd, data)
        os.fsync(fd)
        os.link(f"/proc/self/fd/{fd}", f"{number}-{n}", src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
        os.close(fd)
        os.fsync(folder_fd)


def _race(target: Callable[[str, int, Barrier], None], where: str) -> float:
    """Seconds from the common start to the end of the last of 16 processes."""
    context = multiprocessing.get_context("fork")
    start = context.Barrier(PROCESSES + 1)
    racers = [context.Process(target=target, args=(where, n, start)) for n in range(PROCESSES)]
    for racer in racers:
        racer.start()
    start.wait()
    began = time.perf_counter()
    for racer in racers:
        racer.join()
        if racer.exitcode != 0:
            raise SystemExit(f"bench: a process ended with {racer.exitcode}")
    return time.perf_counter() - began


def _once(folder: str) -> tuple[float, float]:
    url = f"{folder}/board"
    board = Board.open(url, create=True)
    board.add_all([{"id": f"t{n}", "title": f"task {n}", "expects": "none"} for n in range(TASKS)])
    Path(folder, "bare").mkdir()
    bare_s = _race(_bare, f"{folder}/bare")
    drain_s = _race(_worker, url)
    done = len(board.tasks("done"))
    if done != TASKS:
        raise SystemExit(f"bench: {done} of {TASKS} tasks are done")
    return drain_s, bare_s


def drain(rounds: int) -> bool:
    """Print the rates; whether the median ratio keeps to the gate."""
    ratios = []
    print(f"{PROCESSES} processes drain {TASKS:,} no-op tasks: two publications a task (claim, done)")
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            drain_s, bare_s = _once(folder)
        ratios.append(bare_s / drain_s)
        told = f"{2 * TASKS / drain_s:8.0f} publications/s, bare {2 * TASKS / bare_s:8.0f}/s"
        print(f"  {TASKS / drain_s:6.0f} tasks/s = {told}: ratio {ratios[-1]:.2f}")
    good = median(ratios) >= GATE
    print(f"  median {median(ratios):.2f}, at least {GATE}: {'kept' if good else 'BROKEN'}")
    return good
