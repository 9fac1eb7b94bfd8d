"""The same job as it is often done: a JSON file with `done: true`, read and written back by every agent.

`python -m repokernel.demo.naive QUEUE OUT FAULTS`. Each agent reads the file, picks a topic that isn't
done, works, and saves its copy with the topic marked done when the agent has ended, as a script that
trusts an exit status does. Nothing here is made worse than that on purpose.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

from repokernel.demo.agent import POISON, TOPICS
from repokernel.demo.faults import KILL, PAUSE, UPLOAD, Faults
from repokernel.demo.summarise import documents, page

_TASKS_MAX = 200


def _agent(name: str, out: Path, faults: Faults, texts: dict[str, str]) -> None:
    for kind in (KILL, PAUSE):
        if faults.strikes(name, kind):
            (out / f"{name}.md").write_text(f"# {name}\n\nhalf a summ", encoding="utf-8")
            faults.stand(name, kind)
            faults.note("late", name)
    if name == POISON:
        raise ValueError("the document can't be understood")
    where = Path("/dev/full") if faults.strikes(name, UPLOAD) else out / f"{name}.md"
    where.write_text(page(name, texts[name]), encoding="utf-8")


def main(queue: str, out: str, folder: str) -> None:
    """Work until the file says that all is done."""
    file, faults, texts = Path(queue), Faults(folder), documents(TOPICS)
    chance = random.Random(os.getpid())  # noqa: S311 - which topic first is no secret
    for _ in range(_TASKS_MAX):
        tasks = json.loads(file.read_text(encoding="utf-8"))
        waiting = [task for task in tasks if not task["done"]]
        if not waiting:
            return
        task = chance.choice(waiting)
        try:
            _agent(task["id"], Path(out), faults, texts)
        except (OSError, ValueError):
            faults.note("failed", task["id"])
        faults.note("ran", task["id"])
        task["done"] = True
        aside = file.with_suffix(f".{os.getpid()}")
        aside.write_text(json.dumps(tasks, indent=1), encoding="utf-8")
        os.replace(aside, file)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3])
