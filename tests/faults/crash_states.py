"""The states in which a power loss may leave a folder, by the weakest promises that a file system makes.

After each effect of an operation the power may go. What is durable by then is what was synced: a file's
data by a sync of the file, a folder's names by a sync of the folder. Of the rest any part may be there:

* each change of a name that was not synced is kept or lost by itself (a rename within one folder is one
  change), so a name may outlive the data of its file, and the other way round;
* data that was not synced is all there, not there, there up to the end or the middle of any write, or
  zeros of the full length; of several writes the last alone may be there.

No order among them is assumed, which is less than the file systems of Linux promise, unless `ordered` is said:
then of the changes in one folder those that are kept are the earlier ones.

A state is judged by the real operations, on the spot where the traced one ran (outputs have absolute paths).
"""

import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, assert_never

from repokernel.adapters.board_folder import Place, check_meta, look_at, settings
from repokernel.adapters.outputs_file import FileOutputs
from repokernel.adapters.store_file import FileStore
from repokernel.core.errors import RkError
from repokernel.core.ids import Key, TaskId
from repokernel.core.output import Depth
from repokernel.core.phase import Phase
from repokernel.core.task import exhausted
from repokernel.ops.add import add
from repokernel.ops.carry import done
from repokernel.ops.claim import claim
from repokernel.ops.doctor import examine
from repokernel.ops.log import joined, newest, require_head
from repokernel.ops.steer import reopen, retry, unhold
from repokernel.ops.verify import last_known
from repokernel.ports.world import World
from tests.boards import LEASE_MS, MINUTE_MS, PERSON, BoardHere, Clock, StillMachine, code_of
from tests.faults.crash_trace import ROOT_NODE, Names, Resize, Said, Sync, Trace, Tree, Write, lay

if TYPE_CHECKING:
    from repokernel.core.entry import Entry

_COMBINATIONS_MAX = 1 << 18  # more aren't looked at one by one
_DRAWS = 4  # for one state wanted, since many are the same
_DAY_MS = 24 * 60 * MINUTE_MS  # longer than any lease here
_CARL = "writer@carl"
# what a repetition brings about again; times and chance are its own
_LASTING = ("status", "owner", "token", "epoch", "attempts", "hold", "claimed_by", "completed_by")
_HARMLESS = "litter"
_CHANCES = itertools.count()  # two worlds never draw the same


class State(NamedTuple):
    """What a power loss left."""

    tree: Tree
    after: int  # effects before the loss
    said: bool  # whether success had been said
    lost: str  # for people


class Enumerated(NamedTuple):
    """The different states of an operation, and whether these are all."""

    states: Sequence[State]
    complete: bool


Layout = frozenset[tuple[int, str, int]]  # folder, name, node


class _Point(NamedTuple):
    """What is durable and what is undecided after so many effects."""

    layout: Layout
    names: Sequence[Names]
    contents: Mapping[int, Sequence[bytes]]
    after: int
    said: bool

    def combinations(self) -> int:
        return math.prod(map(len, self.contents.values())) << len(self.names)


def _apply(content: bytes, change: Write | Resize, *, zeros: bool = False, size: int | None = None) -> bytes:
    """`content` after one change, or after the first `size` bytes of it, or with zeros in place of the data."""
    if isinstance(change, Resize):
        return content[: change.size].ljust(change.size, b"\0")
    data = (bytes(len(change.data)) if zeros else change.data)[:size]
    return content[: change.offset].ljust(change.offset, b"\0") + data + content[change.offset + len(data) :]


def contents(durable: bytes, changes: Sequence[Write | Resize]) -> list[bytes]:
    """What a file may hold whose last changes were not synced; the first is all of them, the second none."""
    steps = [durable]
    torn = []
    zeros = lone = durable
    for place, change in enumerate(changes):
        if isinstance(change, Write) and len(change.data) > 1:
            torn.append(_apply(steps[-1], change, size=len(change.data) // 2))
        steps.append(_apply(steps[-1], change))
        zeros = _apply(zeros, change, zeros=True)
        lone = _apply(lone, change, zeros=place < len(changes) - 1)
    return list(dict.fromkeys([steps[-1], *steps[:-1], *torn, zeros, lone]))


def _point(trace: Trace, after: int) -> _Point:
    layout = frozenset((folder, name, node) for folder, there in trace.names.items() for name, node in there.items())
    pending: list[Names] = []
    durable = dict(trace.data)
    dirty: dict[int, list[Write | Resize]] = {}
    said = False
    for effect in trace.effects[:after]:
        match effect:
            case Names():
                pending.append(effect)
            case Write() | Resize():
                dirty.setdefault(effect.node, []).append(effect)
            case Sync(node):
                layout = reduce(_changed, (change for change in pending if change.folder == node), layout)
                pending = [change for change in pending if change.folder != node]
                durable[node] = contents(durable.get(node, b""), dirty.pop(node, []))[0]
            case Said():
                said = True
            case _:
                assert_never(effect)
    settled = {node: [content] for node, content in durable.items()}
    loose = {node: contents(durable.get(node, b""), changes) for node, changes in dirty.items()}
    return _Point(layout, pending, {**settled, **loose}, after, said)


def _changed(layout: Layout, change: Names) -> Layout:
    names = {name for name, _ in change.changes}
    stays = {one for one in layout if one[0] != change.folder or one[1] not in names}
    return frozenset(stays | {(change.folder, name, node) for name, node in change.changes if node is not None})


def _lost(change: Names) -> str:
    return " ".join(f"{'-' if node is None else '+'}{name}" for name, node in change.changes)


class _Kept(NamedTuple):
    """What has become of the names so far, and the folders that have lost a change."""

    layout: Layout
    short: frozenset[int]

    def keep(self, change: Names) -> "_Kept":
        return self._replace(layout=_changed(self.layout, change))

    def lose(self, change: Names) -> "_Kept":
        return self._replace(short=self.short | {change.folder})


def _layouts(point: _Point, *, ordered: bool) -> dict[_Kept, str]:
    """Every set of names that may be left, with one account of what was lost."""
    found = {_Kept(point.layout, frozenset()): ""}
    for change in point.names:
        step: dict[_Kept, str] = {}
        for kept, lost in found.items():
            if not ordered or change.folder not in kept.short:
                step.setdefault(kept.keep(change), lost)
            step.setdefault(kept.lose(change) if ordered else kept, f"{lost} {_lost(change)}")
        found = step
    return found


def _draw(point: _Point, chance: random.Random, *, ordered: bool) -> tuple[_Kept, str]:
    kept, lost = _Kept(point.layout, frozenset()), ""
    for change in point.names:
        if chance.random() < 1 / 2 and not (ordered and change.folder in kept.short):
            kept = kept.keep(change)
        else:
            kept, lost = kept.lose(change), f"{lost} {_lost(change)}"
    return kept, lost


def _paths(trace: Trace, layout: Layout) -> dict[str, int | None]:
    """The file behind every path that can be reached, None for a folder."""
    names: dict[int, list[tuple[str, int]]] = {folder: [] for folder in (*trace.names, *trace.made)}
    for folder, name, node in layout:
        names[folder].append((name, node))
    found: dict[str, int | None] = {}
    waiting = [("", ROOT_NODE)]
    while waiting:
        above, folder = waiting.pop()
        for name, node in names[folder]:
            found[above + name] = None if node in names else node
            if node in names:
                waiting.append((f"{above}{name}/", node))
    return found


def _filled(
    trace: Trace, point: _Point, layout: Layout, lost: str, pick: Callable[[int], Sequence[int]]
) -> Iterator[State]:
    """The states of one set of names; `pick` says which of so many contents a file may have."""
    paths = _paths(trace, layout)
    nodes = sorted({node for node in paths.values() if node is not None})
    options = {node: point.contents.get(node, [b""]) for node in nodes}
    for picks in itertools.product(*(pick(len(options[node])) for node in nodes)):
        chosen = dict(zip(nodes, picks, strict=True))
        tree = {path: None if node is None else options[node][chosen[node]] for path, node in paths.items()}
        less = "".join(f" data of {path}" for path, node in paths.items() if node is not None and chosen[node])
        yield State(tree, point.after, point.said, (lost + less).strip() or "nothing")


def _ends(trace: Trace, point: _Point) -> Iterator[State]:
    """All kept, and all lost, of names and of data."""
    whole = reduce(_changed, point.names, point.layout)
    for layout, lost in ((whole, ""), (point.layout, "all names")):
        yield from _filled(trace, point, layout, lost, lambda _: (0,))
        yield from _filled(trace, point, layout, lost, lambda count: (min(1, count - 1),))


def seen(trace: Trace) -> list[Tree]:
    """The folder as processes saw it, before the first effect and after each."""
    return [next(_ends(trace, _point(trace, after))).tree for after in range(len(trace.effects) + 1)]


def states(trace: Trace, limit: int, seed: str = "", *, ordered: bool = False) -> Enumerated:
    """The different states that a loss after any effect may leave, about `limit` at most.

    Where there are more: those in which all or nothing was lost after each effect, and a sample by `seed`.
    """
    points = [_point(trace, after) for after in range(len(trace.effects) + 1)]
    found: dict[tuple[bool, frozenset[tuple[str, bytes | None]]], State] = {}

    def keep(some: Iterable[State]) -> None:
        for state in some:
            found.setdefault((state.said, frozenset(state.tree.items())), state)

    keep(state for point in points for state in _ends(trace, point))
    ends, chance = len(found), random.Random(seed)
    few = sum(point.combinations() for point in points) <= _COMBINATIONS_MAX
    for point in points if few else ():
        for kept, lost in _layouts(point, ordered=ordered).items():
            keep(_filled(trace, point, kept.layout, lost, range))
    for _ in range(0 if few else limit * _DRAWS):
        point = chance.choice(points)
        kept, lost = _draw(point, chance, ordered=ordered)
        keep(_filled(trace, point, kept.layout, lost, lambda count: (chance.randrange(count),)))
    each = list(found.values())
    if len(each) <= max(limit, ends):
        return Enumerated(each, complete=few)
    return Enumerated(each[:ends] + chance.sample(each[ends:], max(0, limit - ends)), complete=False)


class Spot(NamedTuple):
    """Where an operation runs: a working folder and the board in it."""

    folder: Path
    root: Path
    clock: Clock

    def world(self) -> World:
        """A newcomer's view of the board, with nothing remembered."""
        where = str(self.root)
        store, outputs = FileStore(where, self.clock), FileOutputs(where, str(self.folder))
        return World(
            store, StillMachine(self.clock, str(next(_CHANCES))), outputs, lambda: settings(where), repository=False
        )

    def write(self, *names: str) -> None:
        """Files of the working folder, as a worker writes them."""
        for name in names:
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("text", encoding="utf-8")


class Reading(NamedTuple):
    """What a task is, whether its output is there byte for byte, and what its last verification found."""

    entry: "Entry"
    usable: bool
    verified: bool | None


Readings = Mapping[Key, Reading]


@dataclass(frozen=True)
class Operation:
    """A command, the board that it runs on, and the same operation in this process."""

    name: str
    words: tuple[str, ...]
    again: Callable[[Spot], object] | None  # None: it is many, and another worker goes on with them
    setup: Callable[[BoardHere], object] = BoardHere.records
    before: str = ""  # what the worker does first, and doesn't sync
    root: str = ".repokernel"
    status: int = 0
    program: tuple[str, ...] = ("-m", "repokernel")
    stepwise: bool = False  # whether it is several changes, and a loss may leave any number of them
    ordered: bool = False  # whether it counts on the names of one folder to reach the disk in order


def read(spot: Spot) -> Readings | None:
    """Every task as the board's own operations read it, or None where there is no board.

    Raises:
        RkError: what can't be read, and every other finding of a doctor.
    """
    if not (spot.root / "board.json").exists():
        return None
    check_meta(str(spot.root))
    world = spot.world()
    odd = look_at(Place(str(spot.root), repository=False), None) + examine(world)
    assert all(one["code"] == _HARMLESS for one in odd), odd
    found = {}
    for key, top in world.store.tops().items():
        assert isinstance(top, int), top
        entry = joined(world, key, newest(world, key, top, link=True).entry)
        there = entry["output"] is None or world.outputs.probe(entry["output"], Depth.SHA256) is None
        found[key] = Reading(entry, there, last_known(world, entry))
    return found


class Run(NamedTuple):
    """An operation that was traced: where, how the board read before it, in between and after it, what it did."""

    operation: Operation
    spot: Spot
    readings: Sequence[Readings | None]
    trace: Trace


def _check_reading(run: Run, state: State) -> None:
    """Assert that every task is as before the operation or as after it; as after it once that was said."""
    here = read(run.spot)
    allowed = run.readings[-1:] if state.said else run.readings
    assert here is not None or None in allowed, "the board is gone"
    for key in {*(here or {}), *(run.readings[0] or {}), *(run.readings[-1] or {})}:
        now = (here or {}).get(key)
        assert any(now == (one or {}).get(key) for one in allowed), (key, now)


def _check_repeated(run: Run, spot: Spot, again: Callable[[Spot], object]) -> None:
    """Assert that the operation, done again, has come to the same end."""
    again(spot)
    here, after = read(spot), run.readings[-1]
    assert here is not None
    assert after is not None
    assert here.keys() == after.keys()
    for key, (entry, usable, _) in here.items():
        assert usable == after[key].usable, key
        wanted: dict[str, object] = {**after[key].entry}
        other = {name: value for name, value in entry.items() if name in _LASTING and value != wanted[name]}
        assert not other, (key, other)


def _check_carried_on(spot: Spot) -> None:
    """Assert that another worker can complete every task, and a new one."""
    spot.clock.advance(_DAY_MS)
    world = spot.world()
    add(world, {"title": "after the loss", "id": "later"}, PERSON)
    for key, reading in (read(spot) or {}).items():
        task = TaskId(reading.entry["id"])
        if reading.entry["hold"] is not None:
            unhold(world, task, PERSON)
        if reading.entry["status"] in (Phase.CANCELLED, Phase.DONE):
            reopen(world, task, PERSON)
        if reading.entry["status"] == Phase.FAILED:
            retry(world, task, PERSON)
        if reading.entry["status"] == Phase.IN_PROGRESS and exhausted(reading.entry):
            assert code_of(lambda: claim(world, task, _CARL, LEASE_MS)) == "attempts_exhausted"  # noqa: B023
            retry(world, task, PERSON)
        token = claim(world, task, _CARL, LEASE_MS).entry["token"]
        spot.write(f"{key}.carl")
        done(world, task, _CARL, token, f"{key}.carl")
        assert require_head(world, task).entry["status"] == Phase.DONE
    assert read(spot) is not None


def problem(run: Run, state: State) -> str | None:
    """What is wrong with a state, or None if it is as before or after, and the board goes on from it."""
    spot = run.spot._replace(clock=Clock(run.spot.clock()))
    try:
        lay(spot.folder, state.tree)
        _check_reading(run, state)
        if read(spot) is not None:
            _check_carried_on(spot)
        if run.operation.again is not None:
            lay(spot.folder, state.tree)
            spot.clock.now_ms = run.spot.clock()
            _check_repeated(run, spot, run.operation.again)
            _check_carried_on(spot)
    except (AssertionError, RkError) as cause:
        said = "said" if state.said else "not said"
        return f"after {state.after} effects, success {said}, lost: {state.lost}: {cause!r:.300}"
    return None
