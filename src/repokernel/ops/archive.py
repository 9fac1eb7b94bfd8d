"""Put the old records of settled tasks away: a tombstone each, the contents kept in one file a task.

The head stays as it is, and no name becomes free: a late writer would create it, and be told that it has
written after a state that is long past.
"""

from __future__ import annotations

from repokernel.core.errors import RkError, error
from repokernel.core.ids import TaskId, fold
from repokernel.core.phase import SETTLED_PHASES
from repokernel.core.record import link_problem, tombstone
from repokernel.core.times import parse_instant
from repokernel.ops.log import newest, read_record, require_head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NamedTuple

    from repokernel.core.ids import Key
    from repokernel.core.record import Record
    from repokernel.ports.world import World

    class PutAway(NamedTuple):
        """What was done for one task: its id, and how many records and bytes were put away."""

        id: str
        records: int
        bytes: int
else:
    from collections import namedtuple

    PutAway = namedtuple("PutAway", "id records bytes")


def archive(world: World, tasks: Sequence[TaskId], older_ms: int, *, dry_run: bool = False) -> list[PutAway]:
    """Put away what the named settled tasks, or all that are settled for long enough, don't need any more.

    Repeating it goes on where a run was cut short.

    Args:
        world: the board.
        tasks: the tasks; none: all whose newest record is older than `older_ms`. One that can't be read is
            left alone then.
        older_ms: the age, in milliseconds.
        dry_run: only tell what would be done.

    Raises:
        RefusedError: `task_unknown`, `wrong_phase` for a named task that isn't settled, `record_invalid`.
    """
    if tasks:
        heads = [(fold(task), require_head(world, task).record) for task in tasks]
        for _, head in heads:
            _check_settled(head)
    else:
        before_ms = world.store.now_ms() - older_ms
        heads = [(key, head) for key, head in _heads(world) if parse_instant(head.at) < before_ms]
    done = []
    for key, head in heads:
        try:
            put = _put_away(world, key, head, dry_run=dry_run)
        except RkError as cause:
            if tasks or cause.kind != "refused":
                raise
            continue
        if put.records:
            done.append(put)
    return done


def _check_settled(head: Record) -> None:
    entry = head.entry
    if entry["status"] not in SETTLED_PHASES:
        said = f"{entry['id']} is {entry['status']}: only what is settled can be archived"
        raise error("wrong_phase", said, hint="`rk list --status done` shows what is", id=entry["id"])


def _heads(world: World) -> list[tuple[Key, Record]]:
    """The heads of all settled tasks that can be read."""
    found = []
    for key, top in world.store.tops().items():
        if isinstance(top, RkError):
            continue
        try:
            head = newest(world, key, top, link=False)
        except RkError:
            continue
        if head.entry["status"] in SETTLED_PHASES:
            found.append((key, head))
    return found


def _put_away(world: World, key: Key, head: Record, *, dry_run: bool) -> PutAway:
    whole: list[tuple[Record, bytes]] = []
    later = head
    for seq in range(head.seq - 1, 0, -1):
        data, record = world.store.read(key, seq), read_record(world, key, seq)
        problem = link_problem(later, data, f"record {later.seq} of task {key}")
        if data is None or record is None or problem is not None:
            raise error("record_invalid", f"{problem}; nothing was put away", hint="see `rk doctor`", task=key, seq=seq)
        if not record.tombstone:
            whole.append((record, data))
        later = record
    whole.reverse()
    size = sum(len(data) for _, data in whole)
    if whole and not dry_run:
        world.store.put_away(key, head.seq, b"".join(data for _, data in whole))
        for record, _ in whole:
            world.store.bury(key, record.seq, tombstone(record))
    return PutAway(head.entry["id"], len(whole), size)
