"""Put new tasks on the board, one or a file full, all or none as far as their content goes."""

from __future__ import annotations

from repokernel.core.errors import RkError, error
from repokernel.core.ids import TaskId, fold, generated_id, task_id as checked_id
from repokernel.core.phase import Event, Phase
from repokernel.core.plan import check_batch, first_entry, import_item
from repokernel.core.record import digest
from repokernel.core.times import format_instant
from repokernel.ops.log import append, draw_op, newest, read_head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NamedTuple

    from repokernel.core.entry import Entry
    from repokernel.core.ids import Key
    from repokernel.ports.world import World

    class Imported(NamedTuple):
        """What an import made: new entries, ids that were there already, and remarks by id."""

        added: list[Entry]
        present: list[str]
        findings: list[dict[str, str]]
else:
    from collections import namedtuple

    Imported = namedtuple("Imported", "added present findings")

_DRAWS_MAX = 20


def _existing(world: World, key: Key) -> Entry | None:
    return _at(world, key, world.store.top(key))


def _at(world: World, key: Key, top: int | RkError) -> Entry | None:
    if isinstance(top, RkError):
        raise top
    return newest(world, key, top, link=False).entry if top else None


def _taken(entry: Entry, by: Entry) -> RkError:
    spelling = "" if by["id"] == entry["id"] else f" (spelled {by['id']})"
    return error(
        "id_taken",
        f"there is a task {entry['id']} already{spelling}",
        hint=f"`rk show {by['id']}` shows it; leave --id out for a free one",
        id=entry["id"],
        taken_by=by["id"],
    )


def add(world: World, given: Mapping[str, object], by: str, *, planned: bool = False, op_id: str = "") -> Entry:
    """The entry of the new task, written as its first record.

    Args:
        world: the board.
        given: its fields; without an `id` a short random one is drawn.
        by: who adds it.
        planned: whether it waits for `rk open`.
        op_id: names the operation, so that a repetition finds the task instead of refusing.

    Raises:
        RefusedError: `invalid_task`, `id_taken`, `dependency_unknown`, `no_repository`.
    """
    for draw in range(_DRAWS_MAX):
        identity = given.get("id")
        if identity is None:  # the same operation draws the same id, and so finds the task that it made before
            identity = generated_id(
                bytes.fromhex(digest(f"{op_id} {draw}".encode())) if op_id else world.system.entropy(8)
            )
        said = {"max_attempts": world.settings.attempts_max, **given, "id": identity}
        entry = first_entry(said, world.store.now_ms(), planned=planned, repository=world.repository)
        check_batch([entry], lambda key: _existing(world, key))
        key = fold(TaskId(entry["id"]))
        if world.store.top(key) == 0 and append(world, None, entry, Event.ADD, by, op_id or draw_op(world)):
            return entry
        first = newest(world, key, 1, link=False)
        if op_id and first.op_id == op_id:
            world.store.confirm()
            return first.entry
        if given.get("id") is not None:
            raise _taken(entry, newest(world, key, world.store.top(key), link=False).entry)
    raise error("contention", "no free id was found", hint="give one with --id")


def import_tasks(
    world: World, items: Sequence[Mapping[str, object]], by: str, *, output: str | None, planned: bool = False
) -> Imported:
    """Add the tasks of a file. What is on the board already under the same id and title is left alone.

    Nothing is written unless every item is valid. The items are then written one by one; repeating
    an import that was cut short adds what is missing.

    Args:
        world: the board.
        items: parsed items (`core.plan.parse_import`).
        by: who adds them.
        output: a path with `{id}`: where the output of an old `done: true` would be.
        planned: whether all of them wait for `rk open`.

    Raises:
        RefusedError: as `add`, and `id_taken` where another title stands under an id.
    """
    now_ms, tops = world.store.now_ms(), world.store.tops()  # listed once, not for each item
    new: list[Entry] = []
    present: list[str] = []
    was_done: set[str] = set()
    for place, item in enumerate(items):
        given, starts_planned, done = import_item(item, place)
        given = {"max_attempts": world.settings.attempts_max, **given}
        # one instant a task, so that "age" is the order of the file
        entry = first_entry(given, now_ms + place, planned=starts_planned or planned, repository=world.repository)
        key = fold(checked_id(entry["id"]))
        there = _at(world, key, tops.get(key, 0))
        if there is not None and (there["id"], there["title"]) == (entry["id"], entry["title"]):
            present.append(entry["id"])
            continue
        if there is not None:
            raise _taken(entry, there)
        new.append(entry)
        if done:
            was_done.add(entry["id"])
    check_batch(new, lambda key: _at(world, key, tops.get(key, 0)))
    findings: list[dict[str, str]] = []
    added = [_place(world, entry, by, output if entry["id"] in was_done else None, findings) for entry in new]
    known = {finding["id"] for finding in findings}
    findings += [
        {"id": name, "code": "output_missing", "detail": "said done with nothing behind it: now pending"}
        for name in sorted(was_done - known)
        if output is None
    ]
    return Imported(added, present, findings)


def _place(world: World, entry: Entry, by: str, output: str | None, findings: list[dict[str, str]]) -> Entry:
    """The entry as written: `done` where an old `done: true` has an output, else as it is."""
    if output is not None:
        where = output.replace("{id}", entry["id"])
        try:
            described = world.outputs.describe(where, format_instant(world.store.now_ms()))
        except RkError as cause:
            text = f"said done, but {cause.message}: now pending"
            findings.append({"id": entry["id"], "code": cause.code, "detail": text})
        else:
            entry = {
                **entry,
                "status": Phase.DONE.value,
                "output": described,
                "completed_by": by,
                "completed_at": format_instant(world.store.now_ms()),
            }
    if not append(world, None, entry, Event.ADD, by, draw_op(world)):
        there = read_head(world, TaskId(entry["id"]))
        if there is None or there.entry["title"] != entry["title"]:
            raise error("id_taken", f"somebody else has just added a task {entry['id']}", id=entry["id"])
        return there.entry
    return entry
