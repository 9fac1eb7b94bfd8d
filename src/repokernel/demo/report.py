"""What the demo found, counted from the records and outputs, and said so that a newcomer understands it."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from repokernel.core.phase import Event
from repokernel.demo.agent import POISON, TOPICS

if TYPE_CHECKING:
    from repokernel.api.board import Board
    from repokernel.core.entry import Entry

TOKENS_PER_TOPIC = 85_000


class BoardCounts(NamedTuple):
    """The board's side."""

    usable: int
    failed: dict[str, str]
    unsettled: int
    claims: int
    takeovers: int
    upload_failures: int
    refused: int
    duplicates: int
    phantoms: int
    old_done: int


class NaiveCounts(NamedTuple):
    """The file's side."""

    usable: int
    said_done: int
    phantoms: int
    duplicates: int
    forgotten: int
    late: int


def _error(entry: Entry) -> tuple[str, str]:
    last = entry["last_error"]
    return (last["code"], last["detail"]) if last else ("", "")


def count_board(board: Board, refused: int, old_done: int) -> BoardCounts:
    """Count from the log of every task; outputs are read again, byte by byte."""
    entries = board.tasks()
    records = {entry["id"]: board.history(entry["id"]) for entry in entries}
    events = [(record, before) for log in records.values() for before, record in pairwise(log)]
    claims = [(record, before) for record, before in events if record.event == Event.CLAIM]
    checked = board.verify([entry["id"] for entry in entries if entry["status"] == "done"], depth="sha256")
    uploads = (record for record, _ in events if record.event == Event.FAIL)
    return BoardCounts(
        usable=sum(one.problem is None for one in checked),
        failed={e["id"]: _error(e)[1] for e in entries if e["status"] == "failed"},
        unsettled=sum(entry["status"] not in ("done", "failed", "cancelled") for entry in entries),
        claims=len(claims),
        takeovers=sum(before.entry["owner"] is not None for _, before in claims),
        upload_failures=sum(_error(record.entry)[0] == "upload_failed" for record in uploads),
        refused=refused,
        duplicates=sum(max(sum(r.event == Event.DONE for r in log) - 1, 0) for log in records.values()),
        phantoms=sum(one.problem is not None for one in checked),
        old_done=old_done,
    )


def count_naive(
    ran: list[str], failed: list[str], late: list[str], said: dict[str, bool], whole: set[str]
) -> NaiveCounts:
    """Count from what the agents noted (`ran`, `failed`, `late`), the file and the outputs."""
    return NaiveCounts(
        usable=len(whole),
        said_done=sum(said.values()),
        phantoms=len(set(failed)),
        duplicates=sum(times - 1 for times in Counter(ran).values()),
        forgotten=sum(not said[name] for name in set(ran)),
        late=len(late),
    )


class Report:
    """Both sides, and whether the board kept its promises."""

    def __init__(self, board: BoardCounts, naive: NaiveCounts, seconds: float) -> None:
        """Take the counts."""
        self.board = board
        self.naive = naive
        self.seconds = seconds

    def wrong(self) -> list[str]:
        """Every number of the board that isn't what it must be."""
        b = self.board
        expected = {
            f"usable topics: {b.usable}, not {TOPICS}": b.usable == TOPICS,
            f"failed tasks: {sorted(b.failed)}, not {POISON} alone": set(b.failed) == {POISON},
            f"unsettled tasks: {b.unsettled}": b.unsettled == 0,
            f"takeovers: {b.takeovers}, fewer than the 2 that were forced": b.takeovers >= 2,  # noqa: PLR2004
            f"failed uploads on record: {b.upload_failures}, not 1": b.upload_failures == 1,
            f"late writes refused: {b.refused}, fewer than the 1 that was forced": b.refused >= 1,
            f"duplicates: {b.duplicates}": b.duplicates == 0,
            f"phantoms: {b.phantoms}": b.phantoms == 0,
        }
        return [text for text, holds in expected.items() if not holds]

    @property
    def good(self) -> bool:
        """Whether every number is right."""
        return not self.wrong()

    def as_dict(self) -> dict[str, object]:
        """The report as a document."""
        wasted = self.naive.duplicates * TOKENS_PER_TOPIC
        board, naive = self.board._asdict(), {**self.naive._asdict(), "tokens_wasted": wasted}
        return {"board": board, "naive": naive, "wrong": self.wrong(), "seconds": round(self.seconds, 1)}

    def text(self) -> str:
        """The report for people, at most 80 columns wide."""
        b, n = self.board, self.naive
        rows = [
            ("", "done: true file", "RepoKernel"),
            (f"topics with a whole summary, of {TOPICS}", f"{n.usable}", f"{b.usable}"),
            ("done with nothing behind it (phantoms)", f"{n.phantoms}", f"{b.phantoms}"),
            ("work done again (duplicates)", f"{n.duplicates}", f"{b.duplicates}"),
            ("finished work that the record forgot", f"{n.forgotten}", f"{b.unsettled}"),
            ("late writes by a worker that was replaced", f"{n.late} went through", f"{b.refused} refused"),
            ("the poisonous document", "done: true", "failed, by name"),
            (f"tokens wasted, at {TOKENS_PER_TOPIC:,} a topic", f"{n.duplicates * TOKENS_PER_TOPIC:,}",
             f"{b.duplicates * TOKENS_PER_TOPIC:,}"),
        ]  # fmt: skip
        table = [f"  {what:<43}{left:>17}{right:>17}" for what, left, right in rows]
        failed = "; ".join(f"{name}: {detail}" for name, detail in b.failed.items())
        lines = [
            f"{TOPICS} topics of Python's language reference, summarised by 4 worker processes",
            "while one is killed in mid-task, one is paused past its lease and woken, one",
            "output can't be written, and a 27th document is poisonous. First on a plain",
            "JSON file, then on the board, with the same faults.",
            "",
            *table,
            "",
            f"  the board's log: {b.claims} claims, {b.takeovers} takeovers, {b.refused} refused late writes,",
            f"  {b.upload_failures} failed upload tried again; {b.old_done} old `done: true` with nothing behind",
            "  became pending; every output was read again and matches its sha256",
            f"  {failed[:76]}",
            "",
            f"  {'every number is right' if self.good else 'WRONG: ' + '; '.join(self.wrong())} ({self.seconds:.0f} s)",
        ]
        return "\n".join(lines)
