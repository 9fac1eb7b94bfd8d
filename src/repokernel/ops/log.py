"""Reading a task's head and appending after it: the one loop that every transition goes through.

Whoever creates the next record first has it. Losing means reading again and deciding again. Repeating
an operation is safe: a record with its `op_id` that is already in the log is the answer.
"""

from __future__ import annotations

from repokernel.core.chars import WORD, made_of
from repokernel.core.errors import RkError, error
from repokernel.core.ids import TaskId, fold
from repokernel.core.lease import Alive, with_beat
from repokernel.core.phase import Event
from repokernel.core.record import decode, digest, follow, link_problem
from repokernel.core.task import Moment
from repokernel.core.times import format_instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NamedTuple

    from repokernel.core.entry import Entry
    from repokernel.core.ids import Key
    from repokernel.core.record import Record
    from repokernel.ports.world import World

    class Head(NamedTuple):
        """The newest record of a task, and the entry with its holder's renewals."""

        record: Record
        entry: Entry

    class Applied(NamedTuple):
        """The entry after an operation; `changed` is False where nothing had to be written."""

        entry: Entry
        changed: bool
else:
    from collections import namedtuple

    Head = namedtuple("Head", "record entry")
    Applied = namedtuple("Applied", "entry changed")

CONTENTION_MAX = 100
_OP_CHARS_MAX = 128
BEATS = "beats"
# who remembers what is on offer (`ops/offers.py`) understands these from the record's name alone
_FORESEEN = frozenset({Event.ADD, Event.CLAIM, Event.DONE})
_DRAWN, _ENDS = "op-", "end-"  # operation ids drawn at random; derived from a token that they end


def beat_name(key: Key, token: int) -> str:
    """The name of a holder's beat."""
    return f"{key}.{token:08d}"


def unknown(task: TaskId | Key) -> RkError:
    """The refusal for an id that never had a record."""
    return error("task_unknown", f"there is no task {task}", hint="`rk list` shows what there is", id=task)


def read_record(world: World, key: Key, seq: int) -> Record | None:
    """One record of a task, or None.

    Raises:
        RefusedError: `record_invalid`, `schema_newer`.
    """
    data = world.store.read(key, seq)
    return None if data is None else decode(data, key, seq, f"record {seq} of task {key}")


def newest(world: World, key: Key, seq: int, *, link: bool) -> Record:
    """Record `seq` of a task, from memory where it was read before; `link` checks that it follows the last.

    Raises:
        RefusedError: `record_invalid`, `schema_newer`.
    """
    known = world.decoded.get(key)
    record = known if known is not None and known.seq == seq else read_record(world, key, seq)
    source = f"record {seq} of task {key}"
    problem = f"{source} was listed but is not there" if record is None else None
    if record is not None and link and not record.linked:
        problem = link_problem(record, world.store.read(key, seq - 1) if seq > 1 else None, source)
        record.linked = problem is None
    if record is None or problem is not None:
        raise error("record_invalid", f"{problem}; it was left as it is", hint="see `rk doctor`", task=key, seq=seq)
    world.decoded[key] = record
    return record


def read_head(world: World, task: TaskId) -> Head | None:
    """The head of a task with its beat, or None if it never had a record.

    Raises:
        RefusedError: `id_taken` for another spelling of a task's id, `record_invalid`, `schema_newer`.
    """
    key = fold(task)
    known = world.decoded.get(key)
    top = world.store.top(key, known.seq if known else 0)
    if top == 0:
        return None
    record = newest(world, key, top, link=True)
    if record.entry["id"] != task:
        raise error(
            "id_taken",
            f"{task} is another spelling of the task {record.entry['id']}",
            hint=f"use {record.entry['id']}",
            id=task,
            taken_by=record.entry["id"],
        )
    return Head(record, joined(world, key, record.entry))


def joined(world: World, key: Key, entry: Entry) -> Entry:
    """A head's entry with the beat of its present token."""
    if entry["owner"] is None:
        return entry
    return with_beat(entry, world.store.read_side(BEATS, beat_name(key, entry["token"])))


def require_head(world: World, task: TaskId) -> Head:
    """`read_head` of a task that must exist.

    Raises:
        RefusedError: `task_unknown` and those of `read_head`.
    """
    head = read_head(world, task)
    if head is None:
        raise unknown(task)
    return head


def moment(world: World, entry: Entry, by: str) -> Moment:
    """The facts that a decision about `entry` is made on."""
    owner = entry["owner"]
    alive = Alive.UNKNOWN if owner is None else Alive.YES if owner == by else world.system.alive(owner)
    return Moment(world.store.now_ms(), by, alive, world.settings.lease_skew_ms)


def append(world: World, prior: Record | None, entry: Entry, event: Event, by: str, op_id: str) -> bool:
    """Whether the record after `prior` was published as ours."""
    key = fold(TaskId(entry["id"]))
    nonce = world.system.entropy(16).hex()
    at = format_instant(world.store.now_ms())
    record, data = follow(prior, entry, event, by, at, op_id=op_id, nonce=nonce)
    if not world.store.append(key, record.seq, data, stir=event not in _FORESEEN):
        return False
    world.decoded[key] = record
    return True


def checked_op(text: str) -> str:
    """`text` itself, once it can name an operation of the caller's.

    Raises:
        UsageError: `bad_value`.
    """
    if not made_of(text, WORD + ":@+", _OP_CHARS_MAX) or text.startswith((_DRAWN, _ENDS)):
        said = f"{text!r:.80} can't name an operation: up to {_OP_CHARS_MAX} letters, digits and . _ - : @ +"
        raise error("bad_value", said, hint=f"and not starting with {_DRAWN} or {_ENDS}", field="op-id")
    return text


def draw_op(world: World) -> str:
    """A random name for an operation that nobody will repeat."""
    return _DRAWN + world.system.entropy(12).hex()


def ending_op(event: Event, token: int, *facts: object) -> str:
    """The name of an operation that ends a token: equal for a repetition, since a token ends once."""
    return _ENDS + digest(repr((event.value, token, facts)).encode())[:32]


def transition(
    world: World, task: TaskId, event: Event, by: str, decide: Callable[[Entry, Moment], Entry], op_id: str = ""
) -> Applied:
    """Decide on the head and append, until it is done or refused.

    Args:
        world: the board.
        task: the task, which must exist.
        event: what happens.
        by: who causes it.
        decide: from the joined entry and the moment to the entry after; returning the same object
            means that nothing needs to change.
        op_id: names the operation, so that repeating it finds what it did before.

    Raises:
        RkError: whatever `decide` refuses with; `contention` when others always came first.
    """
    op_id = op_id or draw_op(world)
    for turn in range(CONTENTION_MAX):
        head = require_head(world, task)
        try:
            after = decide(head.entry, moment(world, head.entry, by))
        except RkError:
            if applied_before(world, head.record, op_id):
                world.store.confirm()
                return Applied(head.entry, changed=False)
            raise
        if after is head.entry or (not op_id.startswith(_ENDS) and applied_before(world, head.record, op_id)):
            world.store.confirm()
            return Applied(head.entry, changed=False)
        if append(world, head.record, _unrenewed(head, after), event, by, op_id):
            return Applied(after, changed=True)
        world.system.sleep(min(0.001 * 2 ** min(turn, 6), 0.05) * (world.system.entropy(1)[0] / 255))
    raise error("contention", f"others kept writing to {task} {CONTENTION_MAX} times in a row", id=task)


def _unrenewed(head: Head, after: Entry) -> Entry:
    """`after` with the lease as the claim made it: renewals stand in the beat alone, never in the log."""
    if after["owner"] is None or after["token"] != head.entry["token"]:
        return after
    return {**after, "lease_expires": head.record.entry["lease_expires"]}


def applied_before(world: World, head: Record, op_id: str) -> bool:
    """Whether the operation is in the log already; generated ids are looked up in the head alone."""
    if head.op_id == op_id:
        return True
    if op_id.startswith(_DRAWN):
        return False
    key = fold(TaskId(head.entry["id"]))
    for seq in range(head.seq - 1, 0, -1):
        record = read_record(world, key, seq)
        if record is not None and record.op_id == op_id:
            return True
    return False


def history(world: World, task: TaskId) -> list[Record]:
    """All records of a task, oldest first.

    Raises:
        RefusedError: `task_unknown`, `record_invalid`, `schema_newer`.
    """
    head = require_head(world, task)
    key = fold(task)
    found = [read_record(world, key, seq) for seq in range(1, head.record.seq)]
    return [record for record in found if record is not None] + [head.record]
