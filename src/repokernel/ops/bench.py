"""What a board's store can do, measured with one process and with several, and whether it keeps its promise."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from repokernel.core.errors import CODES, RkError, error
from repokernel.ops.bench_part import Kind, Stretch, race_bytes, race_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from repokernel.ports.bench import Crew
    from repokernel.ports.store import Store
    from repokernel.ports.system import Child, System

_TICK_S = 0.1
_PATIENCE_S = 60
_SAID_CHARS_MAX = 300


class Measure(NamedTuple):
    """One line of the answer.

    Attributes:
        kind: what was done.
        processes: how many did it at once.
        per_second: how often all of them together can do it.
        p50_ms: half of all took at most so long.
        p99_ms: 99 of 100 took at most so long.
        of_bare: for publications: their rate as a share of the bare ones' beside them.
    """

    kind: Kind
    processes: int
    per_second: float
    p50_ms: float
    p99_ms: float
    of_bare: float | None = None


class Race(NamedTuple):
    """How often all raced for one name, and what went wrong: several winners, none, or not the winner's record."""

    rounds: int
    processes: int
    double_wins: int
    no_wins: int
    torn: int

    @property
    def fair(self) -> bool:
        """Whether there was exactly one winner each time."""
        return not (self.double_wins or self.no_wins or self.torn)


class Report(NamedTuple):
    """All that was found out about a store."""

    measures: list[Measure]
    race: Race


def measure(
    crew: Crew, system: System, store: Store, stretches: Sequence[Stretch], tell: Callable[[Stretch], None]
) -> Report:
    """Run the plan with as many processes as the race has; none of them is left afterwards.

    Args:
        crew: the processes.
        system: the clock by which the bench is given up.
        store: where the race is run.
        stretches: the plan (`ops.bench_part.plan`).
        tell: hears of each stretch that begins.

    Raises:
        RkError: what the store refused one of the processes; `command_failed`.
    """
    children: list[Child] = []
    try:
        for number in range(stretches[-1].processes):
            children.append(crew.start(number))  # noqa: PERF401 - what was started is stopped, whatever comes
        _wait(crew, system, children, stretches, tell)
    finally:
        for child in children:
            if child.wait(0) is None:
                child.stop(0)
    parts: list[list[list[int]]] = [json.loads(crew.said(number)) for number in range(len(children))]
    *_, races = zip(*parts, strict=True)
    return Report(summary(stretches, parts), judge(store, races))


def _wait(
    crew: Crew, system: System, children: Sequence[Child], stretches: Sequence[Stretch], tell: Callable[[Stretch], None]
) -> None:
    """Return once all have ended well."""
    patience_s = _PATIENCE_S + 3 * sum(stretch.seconds for stretch in stretches)
    ends_ms = system.monotonic_ms() + int(patience_s * 1000)
    running, told = dict(enumerate(children)), 0
    while running:
        for number, child in list(running.items()):
            status = child.wait(0)
            if status is not None and status != 0:
                raise _failure(crew.said(number), status)
            if status == 0:
                del running[number]
        begun = min(crew.met(), len(stretches))
        if begun > told:
            told = begun
            tell(stretches[told - 1])
        if running and system.monotonic_ms() > ends_ms:
            raise error("command_failed", f"the bench was not over after {patience_s:.0f} s", hint="is the disk well?")
        for child in list(running.values())[:1]:
            child.wait(_TICK_S)


def _failure(said: bytes, status: int) -> RkError:
    """What ended one of the processes: its refusal, else its last words."""
    last = said.decode(errors="replace").strip().rpartition("\n")[2]
    try:
        found = json.loads(last)["error"]
        if found["code"] in CODES:
            return error(found["code"], found["message"], hint=found["hint"])
    except (ValueError, TypeError, KeyError):
        pass
    return error("command_failed", f"a process of the bench ended with {status}: {last[:_SAID_CHARS_MAX]}")


def summary(stretches: Sequence[Stretch], parts: Sequence[Sequence[Sequence[int]]]) -> list[Measure]:
    """The measures, in the order of the plan, from the nanoseconds by process and stretch."""
    spans: dict[tuple[Kind, int], list[list[int]]] = {}
    for place, stretch in enumerate(stretches):
        if stretch.kind is not Kind.RACE:
            mine = spans.setdefault((stretch.kind, stretch.processes), [[] for _ in range(stretch.processes)])
            for number, kept in enumerate(mine):
                kept.extend(parts[number][place])
    rates = {which: sum(len(one) * 1e9 / max(sum(one), 1) for one in mine) for which, mine in spans.items()}
    measures = []
    for (kind, processes), mine in spans.items():
        took = sorted(span for one in mine for span in one)
        share = rates[kind, processes] / rates[Kind.BARE, processes] if kind is Kind.PUBLISH else None
        p50, p99 = percentile(took, 50) / 1e6, percentile(took, 99) / 1e6
        measures.append(Measure(kind, processes, rates[kind, processes], p50, p99, share))
    return measures


def percentile(ordered: Sequence[int], percent: int) -> int:
    """The least value that so many percent of all are not above; `ordered` is not empty."""
    return ordered[max(-(-len(ordered) * percent // 100), 1) - 1]


def judge(store: Store, races: Sequence[Sequence[int]]) -> Race:
    """Who won what, by process and round, held against what is in the store.

    A round that some didn't come to doesn't count, unless two have won it.
    """
    complete = min(len(wins) for wins in races)
    double = none = torn = 0
    for turn in range(max(len(wins) for wins in races)):
        winners = [me for me, wins in enumerate(races) if turn < len(wins) and wins[turn]]
        double += len(winners) > 1
        none += turn < complete and not winners
        torn += len(winners) == 1 and store.read(race_key(turn), 1) != race_bytes(winners[0], turn)
    return Race(complete, len(races), double, none, torn)
