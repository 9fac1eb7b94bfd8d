"""The merge driver's whole process, beside a bare script that reads the three files and writes one back."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from pathlib import Path
from statistics import median

from bench.hot import _rk
from bench.measure import Cost, middle, run

GATE = 2.0
ENTRIES = 1000
MANY = 20_000
GOAL_S = 1.5
GOAL_MB = 300
STATUSES = ("planned", "pending", "in_progress", "failed", "in_review")
BARE = (
    "import json, sys\n"
    "sides = [json.loads(open(path, 'rb').read()) for path in sys.argv[1:]]\n"
    "open(sys.argv[2], 'w').write(json.dumps(sides[0]))\n"
)


def _write(folder: str, entries: int) -> None:
    """A base and two sides: each has progressed a tenth of the tasks, edited some, and added a few."""
    base = [
        {
            "id": f"t{n:05}",
            "status": STATUSES[n % 5],
            "title": f"task {n}, which has a title of a usual length",
            "owned_paths": [f"/src/m{n}/**", f"/tests/m{n}/**"],
            "epoch": n % 2,
        }
        for n in range(entries)
    ]
    sides = {"O": base}
    for side, first in (("A", 0), ("B", 5)):
        changed = [{**one, "status": "done"} if n % 10 == first else dict(one) for n, one in enumerate(base)]
        for one in changed[first::20]:
            one["labels"] = [side]
        sides[side] = changed + [{"id": f"{side}{n}", "status": "pending"} for n in range(entries // 50)]
    for side, listed in sides.items():
        text = json.dumps({"version": 1, "entries": listed}, indent=1)
        Path(folder, side).write_text(text, encoding="utf-8")


def _once(folder: str, ours: bytes, argv: list[str]) -> Cost:
    Path(folder, "A").write_bytes(ours)
    return run(argv)


def _driver(folder: str) -> list[str]:
    at = ["--current", f"{folder}/A", "--other", f"{folder}/B", "--base", f"{folder}/O"]
    return [*_rk(), "registry-merge-driver", *at]


def _ratios(rounds: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        _write(folder, ENTRIES)
        ours = Path(folder, "A").read_bytes()
        bare = [sys.executable, "-I", "-c", BARE, f"{folder}/O", f"{folder}/A", f"{folder}/B"]
        costs: dict[str, list[Cost]] = {"bare": [], "driver": []}
        for _ in range(rounds):
            costs["bare"].append(_once(folder, ours, bare))
            costs["driver"].append(_once(folder, ours, _driver(folder)))
    one, base = middle(costs["driver"]), middle(costs["bare"])
    wall, cpu = one.wall_ms / base.wall_ms, one.cpu_ms / base.cpu_ms
    print(f"the merge driver on {ENTRIES:,} entries, whole process, medians of {rounds}")
    print(f"  {'bare':<8} {base.wall_ms:7.1f} ms wall {base.cpu_ms:7.1f} ms CPU")
    print(f"  {'driver':<8} {one.wall_ms:7.1f} ms wall {one.cpu_ms:7.1f} ms CPU   {wall:.2f} x wall {cpu:.2f} x CPU")
    return wall, cpu


def _many(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _write(folder, MANY)
        ours = Path(folder, "A").read_bytes()
        walls = [_once(folder, ours, _driver(folder)).wall_ms for _ in range(rounds)]
    # the largest child so far: nothing else that was started here comes near
    peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"  {MANY:,} entries: {median(walls) / 1000:.2f} s wall, {peak_mb:.0f} MB at most")
    print(f"  goal: {GOAL_S} s, {GOAL_MB} MB")


def registry(rounds: int) -> bool:
    """Print what merges cost; whether the ratios on 1,000 entries keep to the gate."""
    good = max(_ratios(rounds)) <= GATE
    print(f"  at most {GATE} x: {'kept' if good else 'BROKEN'}")
    _many(max(1, rounds // 5))
    return good
