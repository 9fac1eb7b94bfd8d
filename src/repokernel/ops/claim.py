"""Become the owner of a task: of a named one, or of the next that is ready."""

from __future__ import annotations

from repokernel.core import task as core
from repokernel.core.entry import dependencies
from repokernel.core.errors import BusyError, RefusedError, RkError, error
from repokernel.core.ids import TaskId, fold
from repokernel.core.lease import cell, halt_lets_claim
from repokernel.core.output import Depth
from repokernel.core.owner import shares_identity
from repokernel.core.phase import Cell, Event, Phase
from repokernel.core.ready import Outlook, View, binding, blockers, needs
from repokernel.core.times import parse_instant
from repokernel.ops.log import (
    BEATS,
    CONTENTION_MAX,
    Applied,
    Head,
    append,
    beat_name,
    draw_op,
    joined,
    moment,
    newest,
    require_head,
)
from repokernel.ops.offers import Offers, offers
from repokernel.ops.verify import probe, remembered
from repokernel.ops.view import board_view, still_so

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from repokernel.core.entry import Entry
    from repokernel.core.ids import Key
    from repokernel.core.ready import Blocker
    from repokernel.core.record import Record
    from repokernel.core.task import Moment
    from repokernel.ports.world import World


# where a task without an attempt left is written down as failed by whoever would claim it
_ENDS = (Cell.ORPHAN, Cell.STALE, Cell.HALTED)


def _neighbourhood(world: World, entry: Entry) -> View:
    """The part of the board that the readiness of one task hangs on."""
    if any(when == "accepted" for _, when in dependencies(entry)):
        return board_view(world)
    entries: dict[Key, Entry] = {}
    faults: dict[Key, RkError] = {}
    for key, _ in needs(entry):
        try:
            top = world.store.top(key)
            if top:
                entries[key] = joined(world, key, newest(world, key, top, link=True).entry)
        except RkError as cause:
            faults[key] = cause
    now_ms, skew_ms = world.store.now_ms(), world.settings.lease_skew_ms
    return View(entries, faults, now_ms, skew_ms, world.system.alive, remembered(world))


def _refusal(entry: Entry, blocker: Blocker) -> RkError:
    code = blocker.code
    if code == "dependency_failed" or (code == "waiting" and blocker.outlook is Outlook.NEVER):
        code = "not_ready"
    return error(
        code,
        f"{entry['id']} is not ready: {blocker.text}",
        hint=f"`rk why {entry['id']}` explains it step by step",
        id=entry["id"],
        on=blocker.on,
    )


def check_dependencies(world: World, entry: Entry) -> None:
    """Pass if everything that the task needs is there, outputs probed.

    Raises:
        RefusedError, BusyError: with the code of the first blocker.
    """
    if not entry["depends_on"] and entry["review_of"] is None:
        return
    view = _neighbourhood(world, entry)
    view.entries = {**view.entries, fold(TaskId(entry["id"])): entry}
    for key, when in needs(entry):
        dependency = view.entries.get(key)
        if dependency is not None and dependency["status"] == Phase.DONE and when in ("done", "accepted"):
            probe(world, dependency, Depth(world.settings.verify_depth))
    for blocker in blockers(view, entry, {}):
        if blocker.on is not None:
            raise _refusal(entry, blocker)


def _as_reviewer(world: World, entry: Entry, after: Entry) -> Entry:
    """A review claim notes what exactly is under review; an owner of that work can't make it."""
    if entry["review_of"] is None:
        return after
    reviewed = require_head(world, TaskId(entry["review_of"])).entry
    owner = after["owner"] or ""
    conflict = next((one for one in reviewed["claimed_by"] if shares_identity(owner, one)), None)
    if conflict is not None:
        raise error(
            "self_review",
            f"{owner} can't review {reviewed['id']}: it was worked on by {conflict}",
            hint="somebody with another role and instance has to review it",
            id=entry["id"],
            author=conflict,
        )
    return {**after, "review": binding(reviewed)}


def _attempt(world: World, head: Head, by: str, lease_ms: int, op_id: str) -> Entry | None:
    """The claimed entry, or None where another record came first."""
    facts = moment(world, head.entry, by)
    if _is_spent(head.entry, facts):
        if _end_spent(world, head.record, head.entry, facts):
            raise _exhausted(head.entry)
        return None
    after = _as_reviewer(world, head.entry, core.claim(head.entry, facts, lease_ms))
    check_dependencies(world, head.entry)
    if not append(world, head.record, after, Event.CLAIM, by, op_id):
        return None
    if head.entry["owner"] is not None:  # nobody reads the beat of the token that has just ended
        world.store.drop_side(BEATS, beat_name(fold(TaskId(head.entry["id"])), head.entry["token"]))
    return after


def _is_spent(entry: Entry, facts: Moment) -> bool:
    """Whether nobody holds the task any more and it has no attempt left: whoever would claim it ends it."""
    where = cell(entry, facts.now_ms, facts.skew_ms, facts.alive)
    return core.exhausted(entry) and where in _ENDS and halt_lets_claim(entry)


def _end_spent(world: World, record: Record, entry: Entry, facts: Moment) -> bool:
    """Whether `failed` was written for a task that is spent."""
    return append(world, record, core.exhaust(entry, facts), Event.EXHAUST, facts.by, draw_op(world))


def _exhausted(entry: Entry) -> RkError:
    return error(
        "attempts_exhausted",
        f"{entry['id']} has used its {entry['max_attempts']} attempts and is now failed",
        hint=f"`rk retry {entry['id']}` gives it one more",
        id=entry["id"],
        attempts=entry["attempts"],
    )


def claim(world: World, task: TaskId, by: str, lease_ms: int, op_id: str = "") -> Applied:
    """The task, held by `by`; unchanged if `by` holds it already.

    Raises:
        BusyError: `held`, `backing_off`, `waiting`, `contention`.
        RefusedError: any other reason why it can't be claimed.
    """
    started_ms = world.store.now_ms()
    op_id = op_id or draw_op(world)
    for _ in range(CONTENTION_MAX):
        head = require_head(world, task)
        entry = head.entry
        facts = moment(world, entry, by)
        held = cell(entry, facts.now_ms, facts.skew_ms, facts.alive) is Cell.HELD
        # a claim that came after we started is a rival's, even one that goes by our name
        rival = head.record.event == Event.CLAIM and parse_instant(head.record.at) >= started_ms
        if held and (head.record.op_id == op_id or (entry["owner"] == by and not rival)):
            world.store.confirm()
            return Applied(entry, changed=False)
        after = _attempt(world, head, by, lease_ms, op_id)
        if after is not None:
            return Applied(after, changed=True)
    raise error("contention", f"others kept writing to {task}", id=task)


def claim_next(
    world: World,
    by: str,
    lease_ms: int,
    *,
    wants: Callable[[Entry], bool] = lambda _: True,
    op_id: str = "",
) -> Entry:
    """The best task that is ready, claimed: lowest priority number, then age.

    Args:
        world: the board.
        by: the claimant.
        lease_ms: length of the lease.
        wants: narrows the choice, by epic or label.
        op_id: names the operation; a repetition returns the task that it claimed before.

    Raises:
        BusyError: `not_yet`: something may become claimable; `fields` say what waits for whom and
            the nearest instant (`until_ms`).
        RefusedError: `drained`: nothing ever will without a person's word.
    """
    passed: set[str] = set()
    drawn = not op_id
    op_id = op_id or draw_op(world)
    if not drawn:
        before = _claimed_before(world, by, op_id)
        if before is not None:
            world.store.confirm()
            return before
    losses = 0
    while losses < CONTENTION_MAX:
        entry = _best(world, by, wants, passed)
        known = len(passed)
        after = _take(world, entry, by, lease_ms, op_id, passed)
        _strike(world, entry, won=after is not None)
        if after is not None:
            return after
        losses += len(passed) == known
    raise error("contention", "others kept claiming first", hint="try again")


def _best(world: World, by: str, wants: Callable[[Entry], bool], passed: set[str]) -> Entry:
    """The task to try next.

    Raises:
        RkError: `not_yet` or `drained`, never from memory.
    """
    anew = False
    with world.lock:
        for _ in range(CONTENTION_MAX):
            offer = offers(world, anew=anew)
            anew = offer.fresh and _end_exhausted(world, offer.view, by)
            if anew:
                continue
            entry = offer.best(wants, passed, world.system.entropy(1)[0])
            if entry is not None:
                return entry
            if offer.fresh:
                wanted = {key: entry for key, entry in offer.view.entries.items() if wants(entry)}
                refusal = nothing(offer.view, offer.seen, wanted, passed)
                if refusal.code != "drained" or still_so(world, offer.view):
                    raise refusal
            anew = True
    raise error("contention", "others kept changing the board", hint="try again")


def _strike(world: World, entry: Entry, *, won: bool) -> None:
    with world.lock:
        if isinstance(world.offers, Offers):
            world.offers.strike(entry, won=won)


def _take(world: World, entry: Entry, by: str, lease_ms: int, op_id: str, passed: set[str]) -> Entry | None:
    """The claimed entry, or None: somebody came first, or it is not for us (then it is in `passed`)."""
    key = fold(TaskId(entry["id"]))
    try:
        record = newest(world, key, world.decoded[key].seq, link=True)
        return _attempt(world, Head(record, joined(world, key, record.entry)), by, lease_ms, op_id)
    except BusyError:
        return None
    except RefusedError:  # not for us, or not any more: the next best
        passed.add(entry["id"])
        return None


def _claimed_before(world: World, by: str, op_id: str) -> Entry | None:
    view = board_view(world)
    mine = (e for key, e in view.entries.items() if e["owner"] == by and world.decoded[key].op_id == op_id)
    return next(mine, None)


def _end_exhausted(world: World, view: View, by: str) -> bool:
    """Whether any stale or orphaned task without an attempt left was written down as failed."""
    spent = [k for k, e in view.entries.items() if e["status"] == Phase.IN_PROGRESS and core.exhausted(e)]
    wrote = False
    for key in spent:
        record = world.decoded[key]  # perhaps newer than the view: decide on this very record
        entry = joined(world, key, record.entry)
        facts = moment(world, entry, by)
        if _is_spent(entry, facts):
            wrote = _end_spent(world, record, entry, facts) or wrote
    return wrote


def nothing(view: View, seen: dict[Key, Outlook], wanted: dict[Key, Entry], passed: set[str]) -> RkError:
    """Why nothing is claimable: `not_yet` with what waits for whom, or `drained`."""
    waits = {key: seen[key] for key in wanted if seen[key] not in (Outlook.SETTLED, Outlook.NEVER)}
    counts = {
        "by_itself": sum(o in (Outlook.TIME, Outlook.WORKER) for o in waits.values()),
        "for_a_person": sum(o is Outlook.PERSON for o in waits.values()) + len(view.faults) + len(passed),
        "never": sum(seen[key] is Outlook.NEVER for key in wanted),
        "settled": sum(seen[key] is Outlook.SETTLED for key in wanted),
    }
    if not waits and not view.faults:
        text = f"the board is drained: {counts['settled']} settled"
        never = f", {counts['never']} can never become ready" if counts["never"] else ""
        return error("drained", text + never, hint="`rk list` shows what became of them", **counts)
    moments = [
        blocker.until_ms
        for key in waits
        for blocker in blockers(view, view.entries[key], seen)
        if blocker.until_ms is not None
    ]
    text = f"nothing is claimable yet: {counts['by_itself']} wait for work or time"
    person = f", {counts['for_a_person']} for a person" if counts["for_a_person"] else ""
    return error(
        "not_yet",
        text + person,
        hint="`rk status` shows what waits for what",
        until_ms=min(moments, default=None),
        **counts,
    )
