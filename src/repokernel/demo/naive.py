"""The same job as it is often done: a JSON file with `done: true` that every worker reads and writes.

`python -m repokernel.demo.naive QUEUE OUT MARKS`. A worker takes the first topic that is not done and
has no owner, puts its name there, runs the agent, and marks the topic done when the agent has ended.
It is written with care: the file is read anew for each change and replaced whole, never torn.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repokernel.demo.agent import AgentError, write_summary
from repokernel.demo.job import Fault, fault_of
from repokernel.demo.marks import Marks

if TYPE_CHECKING:
    from collections.abc import Callable

_TASKS_MAX = 300


class Queue:
    """The file, as one worker sees it."""

    def __init__(self, path: Path, marks: Marks) -> None:
        """Name the file."""
        self._path = path
        self._marks = marks

    def change(self, how: Callable[[list[dict[str, Any]]], str | None], before_writing: Callable[[], None]) -> str:
        """Read the file, let `how` change it, write it back; what `how` returns (empty: nothing to change)."""
        text = self._path.read_text(encoding="utf-8")
        tasks = json.loads(text)
        task = how(tasks)
        if task is None:
            return ""
        before_writing()
        aside = self._path.with_suffix(f".{os.getpid()}")
        aside.write_text(json.dumps(tasks, indent=1), encoding="utf-8")
        if self._path.read_text(encoding="utf-8") != text:  # for the report alone: nobody looks, as a rule
            self._marks.note("overwrote", task)
        aside.replace(self._path)
        return task


def _take(tasks: list[dict[str, Any]]) -> str | None:
    for task in tasks:
        if not task["done"] and not task.get("owner"):
            task["owner"] = f"agent-{os.getpid()}"
            return str(task["id"])
    return None


def _finish(tasks: list[dict[str, Any]], name: str) -> str:
    next(task for task in tasks if task["id"] == name)["done"] = True
    return name


def _work_on(name: str, file: Queue, out: Path, marks: Marks) -> None:
    attempt, me = marks.begin(name), os.getpid()

    def stand(fault: Fault) -> None:
        if fault is Fault.KILL:
            marks.stand(fault, me)

    def before_writing() -> None:
        if fault_of(name, attempt) is Fault.PAUSE:
            marks.stand(Fault.PAUSE, me)

    try:
        write_summary(name, attempt, out / f"{name}.md", stand)
        marks.note("written", name)
    except AgentError:
        pass  # the agent has ended, and that is what counts here
    file.change(lambda tasks: _finish(tasks, name), before_writing)


def main(queue: Path, out: Path, marks: Marks) -> None:
    """Work until the file has nothing to take."""
    file = Queue(queue, marks)
    for _ in range(_TASKS_MAX):
        name = file.change(_take, lambda: None)
        if not name:
            return
        _work_on(name, file, out, marks)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Marks(Path(sys.argv[3])))
