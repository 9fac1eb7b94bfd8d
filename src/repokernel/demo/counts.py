"""What came of a run: the board's side counted from its records, the file's side from what there is."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from repokernel.adapters.outputs_file import from_uri
from repokernel.core.errors import RefusedError
from repokernel.core.phase import SETTLED_PHASES, Event, Phase
from repokernel.demo.job import documents
from repokernel.demo.summarise import page

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from repokernel.api.board import Board
    from repokernel.core.entry import Entry
    from repokernel.core.record import Record


class BoardCounts(NamedTuple):
    """RepoKernel's side. All but the last two comes from the board's records and outputs."""

    usable: int
    phantoms: int
    duplicates: int
    stuck: int
    failed: Mapping[str, str]
    claims: int
    done: int
    failures: int
    upload_failures: int
    takeovers: int
    refused: int
    old_done: int


class NaiveCounts(NamedTuple):
    """The file's side."""

    usable: int
    phantoms: int
    duplicates: int
    stuck: int
    overwrites: int


def is_good(name: str, path: Path) -> bool:
    """Whether the file holds exactly the summary of a topic."""
    text = documents().get(name)
    try:
        return text is not None and path.read_bytes() == page(name, text).encode()
    except FileNotFoundError:
        return False


def count_board(board: Board, tallies: Iterable[Mapping[str, Sequence[str]]], old_done: int) -> BoardCounts:
    """Read every record and every output again.

    Args:
        board: the board when all workers have ended.
        tallies: task ids by outcome, as each worker that has ended by itself says.
        old_done: findings of the import.
    """
    entries = board.tasks()
    logs = [board.history(entry["id"]) for entry in entries]
    steps = [step for log in logs for step in pairwise(log)]
    claimed = [before for before, record in steps if record.event == Event.CLAIM]
    failed = [record.entry["last_error"] for _, record in steps if record.event == Event.FAIL]
    done = [entry["id"] for entry in entries if entry["status"] == Phase.DONE]
    usable = _usable(board, list(documents()))
    return BoardCounts(
        usable=len(usable),
        phantoms=len(set(done) - usable),
        duplicates=sum(max(_times(log, Event.DONE) - 1, 0) for log in logs),
        stuck=sum(entry["status"] not in SETTLED_PHASES for entry in entries),
        failed={entry["id"]: _why(entry) for entry in entries if entry["status"] == Phase.FAILED},
        claims=len(claimed),
        done=sum(_times(log, Event.DONE) for log in logs),
        failures=len(failed),
        upload_failures=sum(one is not None and one["code"] == "upload_failed" for one in failed),
        takeovers=sum(before.entry["owner"] is not None for before in claimed),
        refused=sum(len(tally["lost"]) for tally in tallies),
        old_done=old_done,
    )


def _times(log: Sequence[Record], event: Event) -> int:
    return sum(record.event == event for record in log)


def _why(entry: Entry) -> str:
    last = entry["last_error"]
    return f"{last['code']}: {last['detail']}" if last else ""


def _usable(board: Board, names: Sequence[str]) -> set[str]:
    """The topics whose output has the recorded sha256 and is the summary that it should be."""
    unusable: set[str] = set()
    try:
        board.require(names, depth="sha256")
    except RefusedError as cause:
        rows = cause.fields["tasks"]
        assert isinstance(rows, list), rows
        unusable = {row["id"] for row in rows}
    outputs = {name: board.show(name)["output"] for name in names if name not in unusable}
    return {name for name, output in outputs.items() if output and is_good(name, Path(from_uri(output["uri"])))}


def count_naive(queue: Path, out: Path, written: Iterable[str], overwrites: int) -> NaiveCounts:
    """Look at the file and the outputs.

    Args:
        queue: the file when all workers have ended.
        out: the folder of the outputs.
        written: the topics that an agent has summarised, as often as one has.
        overwrites: how often the file was written over what it held.
    """
    tasks = json.loads(queue.read_text(encoding="utf-8"))
    done = [task["id"] for task in tasks if task["done"]]
    good = [name for name in done if is_good(name, out / f"{name}.md")]
    return NaiveCounts(
        usable=len(good),
        phantoms=len(done) - len(good),
        duplicates=sum(times - 1 for times in Counter(written).values()),
        stuck=len(tasks) - len(done),
        overwrites=overwrites,
    )
