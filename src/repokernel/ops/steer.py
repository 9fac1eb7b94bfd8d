"""What a person does to a task: hold, note, answer, open, retry, reopen, cancel, evict.

Saying again what is so already changes nothing and is no error.
"""

from __future__ import annotations

from repokernel.core import task as core
from repokernel.core.errors import RefusedError, RkError, error
from repokernel.core.ids import TaskId
from repokernel.core.owner import parse_owner, short_owner
from repokernel.core.phase import Event, Phase
from repokernel.ops.carry import renew
from repokernel.ops.log import Applied, transition
from repokernel.ops.said import said
from repokernel.ops.view import board_view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from repokernel.core.entry import Entry
    from repokernel.core.task import Moment
    from repokernel.ports.world import World


def note(world: World, task: TaskId, by: str, text: str, op_id: str = "") -> Applied:
    """One more remark on a task; its holder, who is evidently there, keeps it as long again."""
    said(text, "note")
    applied = transition(world, task, Event.NOTE, by, lambda entry, moment: core.note(entry, moment, text), op_id)
    if not applied.changed or applied.entry["owner"] != by:
        return applied
    try:
        return Applied(renew(world, task, by, applied.entry["token"], None), changed=True)
    except RkError:  # lost in between, or no room for a beat; the note stands all the same
        return applied


def hold(world: World, task: TaskId, by: str, reason: str, op_id: str = "") -> Applied:
    """Keep a task from being claimed."""
    said(reason, "reason", line=True)

    def decide(entry: Entry, moment: Moment) -> Entry:
        return entry if entry["hold"] == reason else core.hold(entry, moment, reason)

    return transition(world, task, Event.HOLD, by, decide, op_id)


def unhold(world: World, task: TaskId, by: str, op_id: str = "") -> Applied:
    """Take a hold back."""

    def decide(entry: Entry, moment: Moment) -> Entry:
        return entry if entry["hold"] is None else core.unhold(entry, moment)

    return transition(world, task, Event.UNHOLD, by, decide, op_id)


def answer(world: World, task: TaskId, by: str, text: str, op_id: str = "") -> Applied:
    """Answer a worker's question; the task is pending again."""
    said(text, "answer")
    return transition(world, task, Event.ANSWER, by, lambda entry, moment: core.answer(entry, moment, text), op_id)


def open_planned(world: World, task: TaskId, by: str, op_id: str = "") -> Applied:
    """Offer a planned task."""

    def decide(entry: Entry, moment: Moment) -> Entry:
        return entry if entry["status"] == Phase.PENDING else core.open_planned(entry, moment)

    return transition(world, task, Event.OPEN, by, decide, op_id)


def retry(world: World, task: TaskId, by: str, op_id: str = "") -> Applied:
    """Clear back-off and halt; give an exhausted task one more attempt."""

    def decide(entry: Entry, moment: Moment) -> Entry:
        waits = entry["not_before"] is not None or core.exhausted(entry)
        return entry if entry["status"] == Phase.PENDING and not waits else core.retry(entry, moment)

    return transition(world, task, Event.RETRY, by, decide, op_id)


def reopen(world: World, task: TaskId, by: str, op_id: str = "") -> Applied:
    """Start a settled task anew."""

    def decide(entry: Entry, moment: Moment) -> Entry:
        again = entry["status"] == Phase.PENDING and entry["epoch"] > 0
        return entry if again else core.reopen(entry, moment)

    return transition(world, task, Event.REOPEN, by, decide, op_id)


def cancel(world: World, task: TaskId, by: str, reason: str = "", op_id: str = "") -> Applied:
    """End an open task; whoever holds it loses it."""
    if reason:
        said(reason, "reason")

    def decide(entry: Entry, moment: Moment) -> Entry:
        return entry if entry["status"] == Phase.CANCELLED else core.cancel(entry, moment, reason)

    return transition(world, task, Event.CANCEL, by, decide, op_id)


def evict(world: World, whom: str, by: str, reason: str) -> list[Entry]:
    """Free what an owner (as recorded, or short as people are shown it) or a deployment (`#NAME`) holds.

    Raises:
        UsageError: `bad_value` if `whom` is neither.
    """
    said(reason, "reason", line=True)
    meant = _whom(whom)
    held = [entry["id"] for entry in board_view(world).entries.values() if meant(entry)]
    freed = (_evict_one(world, TaskId(name), by, reason, meant) for name in held)
    return [entry for entry in freed if entry is not None]


def _whom(whom: str) -> Callable[[Entry], bool]:
    deployment = whom[1:] if whom.startswith("#") else None
    if parse_owner(f"any@any#{deployment}" if deployment is not None else whom) is None:
        hint = "give role@instance as `rk status` shows it, or '#deployment'"
        raise error("bad_value", f"{whom!r:.80} is no owner", hint=hint, field="owner")

    def meant(entry: Entry) -> bool:
        owner = parse_owner(entry["owner"] or "")
        if owner is None or entry["owner"] is None:
            return False
        return whom in (entry["owner"], short_owner(entry["owner"])) or owner.deployment == deployment

    return meant


def _evict_one(world: World, task: TaskId, by: str, reason: str, meant: Callable[[Entry], bool]) -> Entry | None:
    """The freed entry, or None if its owner has let go of it meanwhile."""

    def decide(entry: Entry, moment: Moment) -> Entry:
        return core.evict(entry, moment, reason) if meant(entry) else entry

    try:
        applied = transition(world, task, Event.EVICT, by, decide)
    except RefusedError:
        return None
    return applied.entry if applied.changed else None
