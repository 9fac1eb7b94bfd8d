"""`rk bench`."""

from __future__ import annotations

import contextlib
import signal
import sys
from typing import TYPE_CHECKING

from repokernel import bootstrap
from repokernel.cli.screen import line, table
from repokernel.cli.spec import Call, Command, Opt, Result
from repokernel.core.errors import error

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from repokernel.ops.bench import Measure, Race, Report
    from repokernel.ops.bench_part import Stretch

_SECONDS, _PROCESSES = 4, 8
_WORDS = {
    "bare": "bare write, sync, link, sync",
    "publish": "publish a record",
    "renew": "renew a lease",
    "claim_done": "claim a task and complete it",
    "read_head": "read a task's head",
    "race": "race for one name",
}
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LINE_COLUMNS = 60


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Leave once; what is cleaned up then is not interrupted again."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


@contextlib.contextmanager
def _ending_on_signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _bench(call: Call) -> Result:
    if call.args != ["store"]:
        what = f"can't measure {call.args[0]!r:.80}" if call.args else "needs to know what to measure"
        raise error("bad_usage", f"rk bench {what}: there is `store`", hint="rk bench store")
    seconds = call.whole("--seconds", 1, 3600) or _SECONDS
    processes = call.whole("--processes", 2, 64) or _PROCESSES
    watched = sys.stderr.isatty() and not call.flag("--json")

    def tell(stretch: Stretch) -> None:
        if watched:
            many = "1 process" if stretch.processes == 1 else f"{stretch.processes} processes"
            _overwrite(f"{_WORDS[stretch.kind]}, {many} …")

    url = call.one("--board") or call.env.get("RK_BOARD")
    words = ("repokernel.cli.bench_process", str(processes), str(seconds))
    try:
        with _ending_on_signals():
            store, report = bootstrap.bench_store(url, call.cwd, words, processes, seconds, tell)
    finally:
        if watched:
            _overwrite("")
    document = {
        "outcome": "measured" if report.race.fair else "store_unfit",
        "store": store,
        "measures": [_as_dict(one) for one in report.measures],
        "race": report.race._asdict(),
    }
    return Result(document, lambda: _text(store, report), 0 if report.race.fair else 1)


def _overwrite(text: str) -> None:
    sys.stderr.write(f"\r{text:<{_LINE_COLUMNS}}" if text else f"\r{'':<{_LINE_COLUMNS}}\r")
    sys.stderr.flush()


def _as_dict(one: Measure) -> dict[str, object]:
    share = None if one.of_bare is None else round(one.of_bare, 3)
    return {
        "name": one.kind.value,
        "processes": one.processes,
        "per_second": round(one.per_second, 1),
        "p50_ms": round(one.p50_ms, 3),
        "p99_ms": round(one.p99_ms, 3),
        "of_bare": share,
    }


def _text(store: str, report: Report) -> str:
    rows = [("", "processes", "per second", "p50 ms", "p99 ms", "of bare")]
    for one in report.measures:
        share = "" if one.of_bare is None else f"{one.of_bare:.0%}"
        figures = (f"{one.per_second:,.0f}", f"{one.p50_ms:.2f}", f"{one.p99_ms:.2f}")
        rows.append((_WORDS[one.kind], str(one.processes), *figures, share))
    wide = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    aligned = [[row[0], *(cell.rjust(size) for cell, size in zip(row[1:], wide[1:], strict=True))] for row in rows]
    return f"{line(store)}\n\n{table(aligned)}\n\n{_race(report.race)}"


def _race(race: Race) -> str:
    told = f"{race.rounds:,} rounds of {race.processes} processes for one name"
    if race.fair:
        return f"{told}: one winner each time"
    return (
        f"{told}: {race.double_wins:,} with several winners, {race.no_wins:,} with none, {race.torn:,} with another's "
        "record\nThis place doesn't keep the promise that a board needs (store_unfit): put the board on a local disk."
    )


commands = {
    "bench": Command(
        "bench",
        _bench,
        args="store",
        count=(0, 1),
        opts=(
            Opt("--seconds", "N", f"how long to measure, in seconds, start-up not counted (default: {_SECONDS})"),
            Opt("--processes", "N", f"how many processes at once, from 2 on (default: {_PROCESSES})"),
        ),
        about=(
            "Measures what the store of the board can do, where the board lies: durable publications, renewals,\n"
            "claims and reads, each by one process and by several at once, beside the same system calls made without\n"
            "rk (`bare`). Then all race for one name, again and again: each time exactly one may win, else the exit\n"
            "status is 1. It works in a scratch folder inside the board's and removes it; no task is touched."
        ),
        examples=["rk bench store", "rk bench store --seconds 60 --processes 16", "rk bench store --json"],
    )
}
