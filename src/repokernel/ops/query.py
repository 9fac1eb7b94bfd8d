"""Questions about the board: list, status, why. Nothing here writes."""

from __future__ import annotations

from repokernel.core.ids import TaskId, fold
from repokernel.core.phase import SETTLED_PHASES, Cell, Phase
from repokernel.core.ready import Outlook, blockers, in_order, outlooks
from repokernel.ops.log import require_head
from repokernel.ops.view import board_view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from repokernel.core.entry import Entry
    from repokernel.core.errors import RkError
    from repokernel.core.ids import Key
    from repokernel.core.ready import Blocker, View
    from repokernel.ports.world import World

    class Wanted(NamedTuple):
        """What `rk list` narrows to; None and False narrow nothing."""

        status: frozenset[str] | None
        epic: str | None
        ready: bool
        stale: bool
        unusable: bool

    class Row(NamedTuple):
        """One task as lists show it."""

        entry: Entry
        cell: Cell
        outlook: Outlook
        usable: bool | None

    class Listing(NamedTuple):
        """Tasks in order, and the tasks that can't be read."""

        rows: list[Row]
        faults: list[dict[str, object]]
        now_ms: int

    class Standing(NamedTuple):
        """The board at a glance."""

        counts: dict[str, int]
        held: list[Row]
        ready: list[Row]
        waiting: list[tuple[Row, list[Blocker]]]
        failed: list[Row]
        faults: list[dict[str, object]]
        now_ms: int
else:
    from collections import namedtuple

    Wanted = namedtuple("Wanted", "status epic ready stale unusable")
    Row = namedtuple("Row", "entry cell outlook usable")
    Listing = namedtuple("Listing", "rows faults now_ms")
    Standing = namedtuple("Standing", "counts held ready waiting failed faults now_ms")

EVERYTHING = Wanted(None, None, False, False, False)


def faults_as_findings(faults: dict[Key, RkError]) -> list[dict[str, object]]:
    """The tasks that can't be read, as findings."""
    return [{"id": key, "code": cause.code, "detail": cause.message} for key, cause in sorted(faults.items())]


def _row(view: View, key: Key, entry: Entry, seen: dict[Key, Outlook]) -> Row:
    usable = view.usable(entry) if entry["status"] == Phase.DONE else None
    return Row(entry, view.cell(entry), seen[key], usable)


def _fits(row: Row, wanted: Wanted) -> bool:
    return (
        (wanted.status is None or row.entry["status"] in wanted.status)
        and (wanted.epic is None or row.entry["epic"] == wanted.epic)
        and (not wanted.ready or row.outlook is Outlook.READY)
        and (not wanted.stale or row.cell in (Cell.STALE, Cell.ORPHAN))
        and (not wanted.unusable or row.usable is False)
    )


def list_tasks(world: World, wanted: Wanted) -> Listing:
    """The tasks that fit, lowest priority number first, then age."""
    view = board_view(world)
    seen = outlooks(view)
    rows = [_row(view, fold(TaskId(e["id"])), e, seen) for e in in_order(view.entries.values())]
    return Listing([row for row in rows if _fits(row, wanted)], faults_as_findings(dict(view.faults)), view.now_ms)  # type: ignore[arg-type]


def status(world: World) -> Standing:
    """Who does what, what is ready, what waits for what, what has failed."""
    view = board_view(world)
    seen = outlooks(view)
    counts = dict.fromkeys((phase.value for phase in Phase), 0)
    held, ready, waiting, failed = [], [], [], []
    for entry in in_order(view.entries.values()):
        row = _row(view, fold(TaskId(entry["id"])), entry, seen)
        counts[entry["status"]] += 1
        if row.entry["owner"] is not None:
            held.append(row)
        elif row.outlook is Outlook.READY:
            ready.append(row)
        elif entry["status"] not in SETTLED_PHASES:
            waiting.append((row, blockers(view, entry, seen)))
        if entry["status"] == Phase.FAILED or row.usable is False:
            failed.append(row)
    faults = faults_as_findings(dict(view.faults))  # type: ignore[arg-type]
    return Standing(counts, held, ready, waiting, failed, faults, view.now_ms)


def why(world: World, task: TaskId) -> tuple[Entry, list[tuple[int, str, Blocker]]]:
    """Why a task isn't ready: (depth, task id, blocker) step by step, down to what everything waits for.

    Raises:
        RefusedError: `task_unknown` and those of reading it.
    """
    head = require_head(world, task)
    view = board_view(world)
    seen = outlooks(view)
    steps: list[tuple[int, str, Blocker]] = []
    told: set[Key] = set()
    stack: list[tuple[int, Key]] = [(0, fold(task))]
    while stack:
        depth, key = stack.pop()
        entry = view.entries.get(key)
        if entry is None or key in told:
            continue
        told.add(key)
        below = []
        for blocker in blockers(view, entry, seen):
            if blocker.code != "settled" or depth == 0:
                steps.append((depth, entry["id"], blocker))
            if blocker.on is not None and blocker.code == "waiting":
                below.append((depth + 1, fold(TaskId(blocker.on))))
        stack.extend(reversed(below))
    return head.entry, steps
