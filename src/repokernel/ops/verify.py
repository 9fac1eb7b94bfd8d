"""Whether what is done is usable: its output is there and is what was recorded."""

from __future__ import annotations

from repokernel.core import jsontext
from repokernel.core.errors import RkError, error
from repokernel.core.ids import TaskId, fold
from repokernel.core.output import Depth, Problem
from repokernel.core.phase import Phase
from repokernel.core.times import format_instant
from repokernel.ops.log import read_head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NamedTuple

    from repokernel.core.entry import Entry
    from repokernel.core.ids import Key
    from repokernel.ports.world import World

    class Checked(NamedTuple):
        """One task that was looked at: its entry (None: unknown), and what is wrong with it (None: usable)."""

        id: str
        entry: Entry | None
        problem: Problem | None
else:
    from collections import namedtuple

    Checked = namedtuple("Checked", "id entry problem")

VERIFIED = "verified"
_THREADS_MAX = 16
_NAMED_MAX = 20


def probe(world: World, entry: Entry, depth: Depth) -> Problem | None:
    """What keeps a task from being usable, or None; the result is remembered for `rk list`."""
    if entry["status"] != Phase.DONE:
        return Problem("output_missing", f"{entry['id']} is {entry['status']}, not done")
    if entry["output"] is None:
        return None
    try:
        problem = world.outputs.probe(entry["output"], depth)
    except RkError as cause:
        problem = Problem(cause.code, cause.message)
    _remember(world, entry, depth, problem)
    return problem


def _remember(world: World, entry: Entry, depth: Depth, problem: Problem | None) -> None:
    key = fold(TaskId(entry["id"]))
    if last_known(world, entry) is (problem is None) or (problem is None and last_known(world, entry) is None):
        return
    said = {
        "token": entry["token"],
        "epoch": entry["epoch"],
        "usable": problem is None,
        "depth": depth.value,
        "code": problem.code if problem else None,
        "detail": problem.detail if problem else None,
        "at": format_instant(world.store.now_ms()),
    }
    try:
        world.store.write_side(VERIFIED, key, jsontext.canonical(said))
    except RkError:  # a board that can't be written can still be verified
        return


def last_known(world: World, entry: Entry) -> bool | None:
    """What the last verification of this very output found, or None if there was none."""
    data = world.store.read_side(VERIFIED, fold(TaskId(entry["id"])))
    if data is None:
        return None
    try:
        said = jsontext.parse(data)
    except ValueError:
        return None
    bound = isinstance(said, dict) and (said.get("token"), said.get("epoch")) == (entry["token"], entry["epoch"])
    return bool(said["usable"]) if bound and isinstance(said, dict) and "usable" in said else None


def remembered(world: World) -> Callable[[Entry], bool | None]:
    """`last_known` for many tasks: asks only for those that have a result."""
    names: frozenset[str] | None = None

    def usable(entry: Entry) -> bool | None:
        nonlocal names
        if names is None:
            names = world.store.sides(VERIFIED)
        key: Key = fold(TaskId(entry["id"]))
        return last_known(world, entry) if key in names else None

    return usable


def verify(world: World, ids: Iterable[TaskId], depth: Depth) -> list[Checked]:
    """Each task looked at, in the order of `ids`, several at a time."""

    def look(task: TaskId) -> Checked:
        try:
            head = read_head(world, task)
        except RkError as cause:
            return Checked(task, None, Problem(cause.code, cause.message))
        if head is None:
            return Checked(task, None, Problem("task_unknown", f"there is no task {task}"))
        return Checked(task, head.entry, probe(world, head.entry, depth))

    wanted = list(ids)
    if not wanted[1:]:
        return [look(task) for task in wanted]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(_THREADS_MAX, len(wanted))) as pool:
        return list(pool.map(look, wanted))


def require(world: World, ids: Iterable[TaskId], depth: Depth) -> list[Entry]:
    """The entries of tasks that are all done with outputs that verify.

    Raises:
        RefusedError: `output_unusable`, listing every task and URI that is not.
    """
    found = verify(world, ids, depth)
    bad = [
        {
            "id": one.id,
            "uri": one.entry["output"]["uri"] if one.entry and one.entry["output"] else None,
            "code": one.problem.code,
            "detail": one.problem.detail,
        }
        for one in found
        if one.problem is not None
    ]
    if bad:
        said = "; ".join(f"{row['id']}: {row['detail']}" for row in bad[:_NAMED_MAX])
        more = f"; and {len(bad) - _NAMED_MAX} more" if len(bad) > _NAMED_MAX else ""
        raise error("output_unusable", f"{len(bad)} of {len(found)} tasks are not usable: {said}{more}", tasks=bad)
    return [one.entry for one in found if one.entry is not None]
