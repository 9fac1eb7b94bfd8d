"""What a whole `rk` process costs on a board of 1,000 tasks, beside `python -I -c "import json, hashlib"`."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from bench.measure import Cost, middle, run

GATE = 2.0
TASKS = 1000


def _rk() -> list[str]:
    script = Path(sys.executable).with_name("rk")
    if not script.exists():
        raise SystemExit("bench: install the project first (make bench does)")
    return [sys.executable, str(script)]


def hot(rounds: int) -> bool:
    """Print the table; whether every ratio keeps to the gate."""
    rk, floor = _rk(), [sys.executable, "-I", "-c", "import json, hashlib"]
    costs: dict[str, list[Cost]] = {}
    with tempfile.TemporaryDirectory() as folder:
        tasks = [{"id": f"t{n}", "title": f"task {n}"} for n in range(TASKS)]
        Path(folder, "tasks.json").write_text(json.dumps(tasks), encoding="utf-8")
        Path(folder, "out.txt").write_text("an output\n", encoding="utf-8")
        at = ["--board", f"{folder}/board"]
        run([*rk, "init", *at])
        run([*rk, "add", "--from", f"{folder}/tasks.json", *at])
        for n in range(rounds):
            name = f"t{n}"
            for what, argv in {
                "floor": floor,
                "claim": [*rk, "claim", name, *at],
                "renew": [*rk, "renew", name, *at],
                "show": [*rk, "show", name, *at],
                "done": [*rk, "done", name, "--output", f"{folder}/out.txt", *at],
            }.items():
                costs.setdefault(what, []).append(run(argv))
    base = middle(costs["floor"])
    print(f"whole process, board of {TASKS:,} tasks, medians of {rounds}, {sys.executable}")
    print(f"  {'floor':<8} {base.wall_ms:7.1f} ms wall {base.cpu_ms:7.1f} ms CPU")
    good = True
    for what in ("claim", "renew", "show", "done"):
        cost = middle(costs[what])
        wall, cpu = cost.wall_ms / base.wall_ms, cost.cpu_ms / base.cpu_ms
        good &= max(wall, cpu) <= GATE
        print(f"  {what:<8} {cost.wall_ms:7.1f} ms wall {cost.cpu_ms:7.1f} ms CPU   {wall:.2f} x wall {cpu:.2f} x CPU")
    print(f"  at most {GATE} x: {'kept' if good else 'BROKEN'}")
    return good
