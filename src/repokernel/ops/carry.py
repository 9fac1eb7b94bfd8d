"""What the holder of a task does with it: renew, done, fail, release, ask. Each presents the token."""

from __future__ import annotations

from repokernel.core import task as core
from repokernel.core.entry import VERDICTS, is_code
from repokernel.core.errors import RefusedError, error
from repokernel.core.ids import TaskId, fold
from repokernel.core.lease import backoff_ms, beat_bytes, with_beat
from repokernel.core.phase import Actor, Event, Phase
from repokernel.core.ready import binding
from repokernel.core.times import format_instant, parse_instant
from repokernel.ops.log import BEATS, Applied, beat_name, ending_op, history, moment, require_head, transition
from repokernel.ops.said import said

TYPE_CHECKING = False
if TYPE_CHECKING:
    from repokernel.core.entry import Entry, Output
    from repokernel.core.task import Moment
    from repokernel.ops.log import Head
    from repokernel.ports.world import World


def token_of(head: Head, by: str, token: int | None) -> int:
    """The token to act with: the one given, else the head's if `by` is the owner.

    Raises:
        RefusedError: `not_owner`, `not_claimed`, or `settled` where nobody holds the task any more.
    """
    if token is not None:
        return token
    entry = head.entry
    if entry["owner"] == by:
        return entry["token"]
    if entry["owner"] is None and entry["claimed_by"] and entry["claimed_by"][-1] == by:
        return entry["token"]  # it was ours: the fence gives the true answer
    if entry["owner"] is None:
        raise error(
            "settled" if core.is_settled(entry) else "not_claimed",
            f"nobody holds {entry['id']}: it is {entry['status']}",
            hint=f"`rk claim {entry['id']}` first, or give the --token of your claim",
            id=entry["id"],
            status=entry["status"],
        )
    raise error(
        "not_owner",
        f"{entry['id']} is held by {entry['owner']}, and you are {by}",
        hint="give the --token of your claim (or set RK_TOKEN), or set RK_INSTANCE and --role as at the claim",
        id=entry["id"],
        owner=entry["owner"],
    )


def renew(world: World, task: TaskId, by: str, token: int | None, lease_ms: int | None) -> Entry:
    """The entry with its lease extended to `lease_ms` from now (None: as long as at the claim).

    The beat is written first and the head read again afterwards: the renewal has succeeded only if
    the token is still the current one then.

    Raises:
        RefusedError: `lease_lost`, and those of `token_of`.
    """
    head = require_head(world, task)
    held = token_of(head, by, token)
    core.fence(head.entry, held, Event.RENEW)
    facts = moment(world, head.entry, by)
    core.guard(head.entry, Event.RENEW, Actor.OWNER, facts)
    at_claim = head.record.entry
    if lease_ms is None:
        lease_ms = parse_instant(at_claim["lease_expires"] or "") - parse_instant(at_claim["owned_since"] or "")
    beat = beat_bytes(held, facts.now_ms + lease_ms, facts.now_ms)
    world.store.write_side(BEATS, beat_name(fold(task), held), beat)
    again = require_head(world, task)
    core.fence(again.entry, held, Event.RENEW)
    return with_beat(again.entry, beat)


def _end(world: World, task: TaskId, token: int, applied: Applied) -> Applied:
    """The token has ended: its beat has no reader any more."""
    if applied.changed:
        world.store.drop_side(BEATS, beat_name(fold(task), token))
    return applied


def done(
    world: World, task: TaskId, by: str, token: int | None, output: str | None, verdict: str | None = None
) -> Applied:
    """The task as done, its output checked now and made durable before the record is.

    Raises:
        RefusedError: `lease_lost`, `output_missing`, `output_empty`, `output_refused`, `needs_landing`,
            `not_review`, `verdict_missing`, `verdict_void`.
    """
    head = require_head(world, task)
    held = token_of(head, by, token)
    _check_verdict(world, head.entry, verdict)
    described: Output | None = None
    if head.entry["owner"] is not None and head.entry["token"] == held and output is not None:
        described = world.outputs.describe(output, format_instant(world.store.now_ms()))
    op_id = ending_op(Event.DONE, held, output, verdict)

    def decide(entry: Entry, now: Moment) -> Entry:
        return core.done(entry, now, held, described, verdict)

    return _end(world, task, held, transition(world, task, Event.DONE, by, decide, op_id))


def _check_verdict(world: World, entry: Entry, verdict: str | None) -> None:
    if entry["review_of"] is None:
        if verdict is not None:
            raise error("not_review", f"{entry['id']} is not a review task: it takes no verdict", id=entry["id"])
        return
    if verdict not in VERDICTS:
        options = "|".join(VERDICTS)
        raise error(
            "verdict_missing",
            f"{entry['id']} reviews {entry['review_of']}: it is done by a verdict",
            hint=f"rk done {entry['id']} --verdict {options}",
            id=entry["id"],
        )
    if entry["status"] != Phase.IN_PROGRESS:
        return
    seen = entry["review"] or {}
    now = binding(require_head(world, TaskId(entry["review_of"])).entry)
    if any(seen.get(name) != value for name, value in now.items()):
        raise error(
            "verdict_void",
            f"{entry['review_of']} has changed since {entry['id']} was claimed",
            hint=f"`rk release {entry['id']}`, claim it again and look once more",
            id=entry["id"],
        )


def fail(world: World, task: TaskId, by: str, token: int | None, code: str, detail: str) -> Applied:
    """The task as pending after a back-off, or failed for good at its last attempt.

    Raises:
        UsageError: `bad_value` for a code that is none.
        RefusedError: `lease_lost`.
    """
    if not is_code(code):
        raise error("bad_value", f"{code!r:.80} is no error code: a-z, 0-9 and _ only", field="code")
    if detail:
        said(detail, "detail")
    head = require_head(world, task)
    held = token_of(head, by, token)
    chance = world.system.entropy(1)[0] / 256

    def decide(entry: Entry, now: Moment) -> Entry:
        base, cap = world.settings.backoff_base_ms, world.settings.backoff_cap_ms
        return core.fail(entry, now, held, code, detail, backoff_ms(entry["attempts"], base, cap, chance))

    op_id = ending_op(Event.FAIL, held, code, detail)
    return _end(world, task, held, transition(world, task, Event.FAIL, by, decide, op_id))


def release(world: World, task: TaskId, by: str, token: int | None) -> Applied:
    """The task as pending again, its attempt given back.

    Raises:
        RefusedError: `lease_lost`.
    """
    held = token_of(require_head(world, task), by, token)
    op_id = ending_op(Event.RELEASE, held)
    applied = transition(world, task, Event.RELEASE, by, lambda entry, now: core.release(entry, now, held), op_id)
    return _end(world, task, held, applied)


def ask(world: World, task: TaskId, by: str, token: int | None, question: str) -> Applied:
    """The task as halted for `needs_input`; the hold has ended.

    Raises:
        RefusedError: `lease_lost`.
    """
    said(question, "question")
    held = token_of(require_head(world, task), by, token)
    op_id = ending_op(Event.ASK, held, question)
    applied = transition(world, task, Event.ASK, by, lambda entry, now: core.ask(entry, now, held, question), op_id)
    return _end(world, task, held, applied)


_ENDINGS = {
    Event.DONE: "done",
    Event.FAIL: "failed",
    Event.EXHAUST: "failed",
    Event.RELEASE: "released",
    Event.ASK: "released",
}


def outcome_of(world: World, task: TaskId, token: int) -> str:
    """What became of a claim: `done`, `failed`, `released` by its own holder, else `lost`.

    A log that can't be read (a newer version has written to it) is as good as lost.
    """
    try:
        records = history(world, task)
    except RefusedError:
        return "lost"
    for record in reversed(records):
        if record.entry["token"] < token:
            break
        if record.entry["token"] == token and record.event in _ENDINGS:
            return _ENDINGS[Event(record.event)]
    return "lost"
