"""What the demo found, held against what must be, and said so that a newcomer understands it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from repokernel.demo.job import OLD_DONE, POISON, TOKENS_PER_TOPIC, TOPICS, WORKERS

if TYPE_CHECKING:
    from repokernel.demo.counts import BoardCounts, NaiveCounts

_COLUMNS = 80
_INTRODUCTION = (
    f"The job: {TOPICS} topics of Python's own reference are summarised by {WORKERS} processes. Meanwhile one worker"
    " is killed in mid-task, one is paused in mid-task and wakes up late, one summary can't be written at first,"
    f" and a {TOPICS + 1}th task can't be done by anybody. The queue is a JSON file of {{id, title, done}}, and"
    f" {OLD_DONE} of its entries say `done: true` with nothing behind them. Once with just that file, then with"
    " RepoKernel, with the same faults:"
)


class Report:
    """Both sides, and whether every number is as it must be."""

    def __init__(self, board: BoardCounts, naive: NaiveCounts, seconds: float, kept: str | None = None) -> None:
        """Take the counts, how long it took, and where all of it was kept."""
        self.board = board
        self.naive = naive
        self.seconds = seconds
        self.kept = kept

    def wrong(self) -> list[str]:
        """Every number that isn't what it must be."""
        b, n = self.board, self.naive
        expected = {
            f"{b.usable} usable summaries, not {TOPICS}": b.usable == TOPICS,
            f"{b.done} times done, not {TOPICS}": b.done == TOPICS,
            f"{b.phantoms} phantoms": b.phantoms == 0,
            f"{b.duplicates} duplicates": b.duplicates == 0,
            f"{b.stuck} stuck tasks": b.stuck == 0,
            f"failed are {sorted(b.failed)}, not {POISON} alone": list(b.failed) == [POISON],
            f"{POISON} has not failed by attempts_exhausted": b.failed.get(POISON, "").startswith("attempts_exhausted"),
            f"{b.upload_failures} failed uploads, not 1": b.upload_failures == 1,
            f"{b.takeovers} takeovers, where 2 were forced": b.takeovers >= 2,  # noqa: PLR2004
            # each but the killed worker lives to be told so
            f"{b.refused} late writes refused for {b.takeovers} takeovers": b.refused == b.takeovers - 1,
            f"{b.claims} claims, and not all accounted for": b.claims == b.done + b.failures + b.takeovers,
            f"{b.old_done} findings about old entries, not {OLD_DONE}": b.old_done == OLD_DONE,
            "the faults didn't show on the file": min(n.phantoms - OLD_DONE, n.duplicates, n.stuck, n.overwrites) > 0,
        }
        return [text for text, holds in expected.items() if not holds]

    @property
    def good(self) -> bool:
        """Whether every number is right."""
        return not self.wrong()

    def as_dict(self) -> dict[str, object]:
        """The report as a document."""
        board, naive = self.board._asdict(), self.naive._asdict()
        for side in (board, naive):
            side["tokens_wasted"] = side["duplicates"] * TOKENS_PER_TOPIC
        return {
            "outcome": "good" if self.good else "wrong",
            "topics": TOPICS,
            "workers": WORKERS,
            "board": board,
            "naive": naive,
            "wrong": self.wrong(),
            "seconds": round(self.seconds, 1),
            "kept": self.kept,
        }

    def text(self) -> str:
        """The report for people, at most 80 columns wide."""
        parts = [_filled(_INTRODUCTION), self._table(), self._file(), self._records(), self._verdict()]
        return "\n\n".join(parts)

    def _table(self) -> str:
        b, n = self.board, self.naive
        rows = [
            ("", "plain file", "RepoKernel"),
            (f"usable summaries, of {TOPICS}", n.usable, b.usable),
            ("done with nothing usable behind it (phantoms)", n.phantoms, b.phantoms),
            ("done once more by somebody else (duplicates)", n.duplicates, b.duplicates),
            ("late writes that destroyed others' updates", n.overwrites, f"0 ({b.refused} refused)"),
            ("stuck: neither done nor failed", n.stuck, b.stuck),
            (f"tokens wasted, {TOKENS_PER_TOPIC:,} a duplicate",
             f"{n.duplicates * TOKENS_PER_TOPIC:,}", f"{b.duplicates * TOKENS_PER_TOPIC:,}"),
        ]  # fmt: skip
        return "\n".join(f"  {what:<46}{left:>14}{right:>18}" for what, left, right in rows)

    @staticmethod
    def _file() -> str:
        return _filled(
            "On the file the killed worker's topic stays taken for ever; an agent that failed is `done` because it"
            " has ended; and the paused worker wrote the file back as it had read it: what the others had finished"
            " meanwhile was open again, and was done again. Saves that cross by chance come on top (these agents"
            " need milliseconds; slower ones cross less often)."
        )

    def _records(self) -> str:
        b = self.board
        lines = [
            f"claims: {b.claims} ({b.done} done, {b.failures} failed attempts, {b.takeovers} taken over by others)",
            f"takeovers: {b.takeovers} (the killed worker's task at once, the paused one's later)",
            f"late writes refused: {b.refused} (the paused worker's, when it woke up)",
            f"failed uploads: {b.upload_failures} (upload_failed; written at the next attempt)",
            f"old entries without output: {b.old_done} (found at import, then done for real)",
            f"outputs read again: {b.usable} (each has the sha256 that was recorded)",
            *(f"failed for good: {name} ({why})" for name, why in b.failed.items()),
        ]
        return "\n".join(["RepoKernel's side in detail:", *(_filled(line, "  - ") for line in lines)])

    def _verdict(self) -> str:
        verdict = "Every number is as it must be." if self.good else "WRONG: " + "; ".join(self.wrong()) + "."
        text = _filled(f"{verdict} ({self.seconds:.0f} s)")
        return f"{text}\nLook at it with: rk -C {self.kept}/board list" if self.kept else text


def _filled(text: str, bullet: str = "") -> str:
    return textwrap.fill(
        text,
        _COLUMNS,
        initial_indent=bullet,
        subsequent_indent=" " * len(bullet),
        break_on_hyphens=False,
    )
