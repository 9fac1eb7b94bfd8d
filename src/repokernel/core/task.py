"""The transitions: each takes the joined entry and facts, and returns the entry after it or refuses.

A caller appends what is returned after the very record it decided on; losing that append means
deciding again. `guard` asks the tables of `phase.py`; nothing here consults a clock.
"""

from __future__ import annotations

from repokernel.core.entry import EXPECTS, checked
from repokernel.core.errors import error
from repokernel.core.lease import cell, halt_lets_claim
from repokernel.core.phase import SETTLED_PHASES, TRANSITIONS, WHO, Actor, Cell, Event, Phase
from repokernel.core.times import format_instant, parse_instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from repokernel.core.entry import Entry, Output
    from repokernel.core.errors import RkError
    from repokernel.core.lease import Alive

    class Moment(NamedTuple):
        """When a decision is made, by whom, and what is known of the present owner."""

        now_ms: int
        by: str
        alive: Alive
        skew_ms: int
else:
    from collections import namedtuple

    Moment = namedtuple("Moment", "now_ms by alive skew_ms")

# codes of a failure that did the task no harm: the attempt is given back
UNHARMED = frozenset({"agent_limited", "environment"})
NOTES_MAX = 1000
_QUOTED_CHARS_MAX = 2000


def held_by(entry: Entry) -> RkError:
    """The ordinary answer to losing a claim: who holds the task, and until when."""
    return error(
        "held",
        f"{entry['id']} is held by {entry['owner']} until {entry['lease_expires']}",
        hint="try again later, or take another task with `rk claim --next`",
        id=entry["id"],
        owner=entry["owner"],
        lease_expires=entry["lease_expires"],
        token=entry["token"],
    )


_SAY = {
    Cell.PLANNED: ("not_open", "is planned and not yet opened", "open it with `rk open {id}`"),
    Cell.PENDING: ("not_claimed", "is pending: nobody holds it", "take it with `rk claim {id}`"),
    Cell.ORPHAN: ("not_claimed", "is in progress without an owner", "take it with `rk claim {id}`"),
    Cell.HALTED: ("needs_person", "is halted and waits for a person", "see `rk why {id}`"),
    Cell.HELD: ("wrong_phase", "is in progress", "see `rk show {id}`"),
    Cell.STALE: ("wrong_phase", "is in progress", "see `rk show {id}`"),
    Cell.IN_REVIEW: ("wrong_phase", "is in review", "see `rk show {id}`"),
    Cell.DONE: ("settled", "is done", "`rk reopen {id}` starts it anew"),
    Cell.FAILED: ("settled", "has failed", "`rk retry {id}` gives it more attempts"),
    Cell.CANCELLED: ("settled", "is cancelled", "`rk reopen {id}` starts it anew"),
}


def guard(entry: Entry, event: Event, actor: Actor, moment: Moment) -> None:
    """Pass if the tables let `actor` cause `event` in the task's cell.

    Raises:
        RefusedError, BusyError: with the code that belongs to the cell.
    """
    where = cell(entry, moment.now_ms, moment.skew_ms, moment.alive)
    allowed = event in WHO[where][actor] and (Phase(entry["status"]), event) in TRANSITIONS
    if event in (Event.CLAIM, Event.EXHAUST) and allowed and not halt_lets_claim(entry):
        where, allowed = Cell.HALTED, False
    if allowed:
        return
    if event is Event.CLAIM and where is Cell.HELD:
        raise held_by(entry)
    code, says, hint = _SAY[where]
    reason = f" ({entry['halt']['reason']})" if entry["halt"] and where is Cell.HALTED else ""
    raise error(
        code,
        f"{entry['id']} {says}{reason}; {event.value} doesn't apply",
        hint=hint.format(id=entry["id"]),
        id=entry["id"],
        status=entry["status"],
        event=event.value,
    )


def fence(entry: Entry, token: int, event: Event) -> None:
    """Pass while `token` is the current one of a held task: the fencing rule of every later write.

    Raises:
        RefusedError: `lease_lost`.
    """
    if entry["owner"] is not None and entry["token"] == token:
        return
    now = f"held by {entry['owner']} with token {entry['token']}" if entry["owner"] else str(entry["status"])
    raise error(
        "lease_lost",
        f"{event.value} of {entry['id']} with token {token} is too late: the task is {now}",
        hint="stop this work; what the task is now says `rk show " + entry["id"] + "`",
        id=entry["id"],
        token=token,
        current_token=entry["token"],
        status=entry["status"],
        owner=entry["owner"],
    )


def moved(entry: Entry, moment: Moment, event: Event, phase: Phase, **changes: object) -> Entry:
    """The checked entry after `event`: phase, stamp and `changes`, as the transition table allows."""
    assert phase in TRANSITIONS[Phase(entry["status"]), event], (entry["status"], event, phase)
    after: Entry = {**entry, **changes, "status": phase.value, "updated_at": format_instant(moment.now_ms)}  # type: ignore[typeddict-item]
    return checked(after)


_FREE: dict[str, object] = {"owner": None, "owned_since": None, "lease_expires": None}


def exhausted(entry: Entry) -> bool:
    """Whether a further claim would go over the limit."""
    return entry["attempts"] >= entry["max_attempts"]


def claim(entry: Entry, moment: Moment, lease_ms: int) -> Entry:
    """In progress, held by `moment.by` under the next token."""
    guard(entry, Event.CLAIM, Actor.WORKER, moment)
    if entry["hold"] is not None:
        raise error(
            "on_hold",
            f"{entry['id']} is on hold: {entry['hold']}",
            hint=f"`rk unhold {entry['id']}` lets it go on",
            id=entry["id"],
            hold=entry["hold"],
        )
    waits = entry["not_before"]
    if waits is not None and parse_instant(waits) > moment.now_ms:
        raise error("backing_off", f"{entry['id']} waits until {waits}", id=entry["id"], not_before=waits)
    if exhausted(entry):
        raise error(
            "attempts_exhausted",
            f"{entry['id']} has used its {entry['max_attempts']} attempts",
            hint=f"`rk retry {entry['id']}` gives it one more",
            id=entry["id"],
            attempts=entry["attempts"],
        )
    now = format_instant(moment.now_ms)
    changes: dict[str, object] = {
        "owner": moment.by,
        "owned_since": now,
        "lease_expires": format_instant(moment.now_ms + lease_ms),
        "token": entry["token"] + 1,
        "attempts": entry["attempts"] + 1,
        "claimed_by": [*(one for one in entry["claimed_by"] if one != moment.by), moment.by],
        "not_before": None,
        "halt": None,
        "question": None,
    }
    if entry["owner"] is not None:
        changes["last_error"] = crashed(entry, moment)
    return moved(entry, moment, Event.CLAIM, Phase.IN_PROGRESS, **changes)


def crashed(entry: Entry, moment: Moment) -> dict[str, str]:
    """The `last_error` that a takeover writes about the owner before."""
    why = "its process is gone" if moment.alive == "dead" else f"its lease ended {entry['lease_expires']}"
    return {"code": "crashed", "detail": f"{entry['owner']}: {why}", "at": format_instant(moment.now_ms)}


def _spent(entry: Entry, moment: Moment, code: str, detail: str) -> dict[str, str]:
    told = f"{entry['attempts']} of {entry['max_attempts']} attempts used; the last one: {code}: {detail}"
    return {"code": "attempts_exhausted", "detail": told[:2000], "at": format_instant(moment.now_ms)}


def exhaust(entry: Entry, moment: Moment) -> Entry:
    """Failed: what a claimant writes for a stale or orphaned task that has no attempt left."""
    guard(entry, Event.EXHAUST, Actor.WORKER, moment)
    assert exhausted(entry), entry["id"]
    last = crashed(entry, moment) if entry["owner"] else entry["last_error"] or {"code": "crashed", "detail": ""}
    spent = _spent(entry, moment, str(last["code"]), str(last["detail"]))
    return moved(entry, moment, Event.EXHAUST, Phase.FAILED, last_error=spent, halt=None, not_before=None, **_FREE)


def done(entry: Entry, moment: Moment, token: int, output: Output | None, verdict: str | None) -> Entry:
    """Done, with the output that was checked and, for a review task, its verdict."""
    fence(entry, token, Event.DONE)
    guard(entry, Event.DONE, Actor.OWNER, moment)
    if is_coding(entry):
        raise error("needs_landing", f"{entry['id']} is a coding task: it is done by landing", id=entry["id"])
    if entry["expects"] != EXPECTS[2] and output is None:
        raise error(
            "output_missing",
            f"{entry['id']} is done only with an output",
            hint=f"rk done {entry['id']} --output PATH",
            id=entry["id"],
        )
    if entry["expects"] == "non_empty" and output is not None and output["bytes"] == 0:
        raise error("output_empty", f"{output['uri']} is empty, and {entry['id']} expects more", id=entry["id"])
    changes: dict[str, object] = {
        "output": output,
        "completed_by": entry["owner"],
        "completed_at": format_instant(moment.now_ms),
        "last_error": None,
        **_FREE,
    }
    if verdict is not None:
        changes["review"] = {**(entry["review"] or {}), "verdict": verdict, "at": format_instant(moment.now_ms)}
    return moved(entry, moment, Event.DONE, Phase.DONE, **changes)


def fail(entry: Entry, moment: Moment, token: int, code: str, detail: str, wait_ms: int) -> Entry:
    """Pending again after a back-off of `wait_ms`, or failed at the last attempt."""
    fence(entry, token, Event.FAIL)
    guard(entry, Event.FAIL, Actor.OWNER, moment)
    unharmed = code in UNHARMED
    if exhausted(entry) and not unharmed:
        spent = _spent(entry, moment, code, detail)
        return moved(entry, moment, Event.FAIL, Phase.FAILED, last_error=spent, **_FREE)
    return moved(
        entry,
        moment,
        Event.FAIL,
        Phase.PENDING,
        last_error={"code": code, "detail": detail, "at": format_instant(moment.now_ms)},
        not_before=format_instant(moment.now_ms + wait_ms),
        attempts=entry["attempts"] - unharmed,
        **_FREE,
    )


def release(entry: Entry, moment: Moment, token: int) -> Entry:
    """Pending again, unharmed: the attempt is given back."""
    fence(entry, token, Event.RELEASE)
    guard(entry, Event.RELEASE, Actor.OWNER, moment)
    return moved(entry, moment, Event.RELEASE, Phase.PENDING, attempts=entry["attempts"] - 1, **_FREE)


def ask(entry: Entry, moment: Moment, token: int, question: str) -> Entry:
    """Halted for `needs_input`; the hold ends and, as nothing went wrong, the attempt is given back."""
    fence(entry, token, Event.ASK)
    guard(entry, Event.ASK, Actor.OWNER, moment)
    halt = {
        "reason": "needs_input",
        "detail": question,
        "where": "ask",
        "evidence": entry["owner"],
        "at": format_instant(moment.now_ms),
        "resume": f"rk answer {entry['id']} TEXT",
    }
    changes = {"halt": halt, "question": question, "attempts": entry["attempts"] - 1, **_FREE}
    return moved(entry, moment, Event.ASK, Phase.IN_PROGRESS, **changes)


def answer(entry: Entry, moment: Moment, text: str) -> Entry:
    """Pending, with question and answer among the notes for the next worker."""
    guard(entry, Event.ANSWER, Actor.PERSON, moment)
    if entry["question"] is None:
        raise error("no_question", f"{entry['id']} has no open question", id=entry["id"])
    question = entry["question"][:_QUOTED_CHARS_MAX]  # the log has all of it
    notes = _noted(entry, moment, f"Question: {question}\nAnswer: {text}")
    return moved(entry, moment, Event.ANSWER, Phase.PENDING, notes=notes, question=None, halt=None)


def _noted(entry: Entry, moment: Moment, text: str) -> list[dict[str, object]]:
    return [*entry["notes"], {"at": format_instant(moment.now_ms), "by": moment.by, "text": text}]


def note(entry: Entry, moment: Moment, text: str) -> Entry:
    """One more remark; nothing else changes, and nobody's hold ends."""
    if len(entry["notes"]) >= NOTES_MAX:
        raise error("invalid_task", f"{entry['id']} has {NOTES_MAX:,} notes, the most a task can hold", id=entry["id"])
    return moved(entry, moment, Event.NOTE, Phase(entry["status"]), notes=_noted(entry, moment, text))


def hold(entry: Entry, moment: Moment, reason: str) -> Entry:
    """Not claimable until `unhold`; a worker in mid-work goes on."""
    guard(entry, Event.HOLD, Actor.PERSON, moment)
    return moved(entry, moment, Event.HOLD, Phase(entry["status"]), hold=reason)


def unhold(entry: Entry, moment: Moment) -> Entry:
    """The stop sign taken down."""
    guard(entry, Event.UNHOLD, Actor.PERSON, moment)
    return moved(entry, moment, Event.UNHOLD, Phase(entry["status"]), hold=None)


def open_planned(entry: Entry, moment: Moment) -> Entry:
    """Pending: offered to workers."""
    guard(entry, Event.OPEN, Actor.PERSON, moment)
    return moved(entry, moment, Event.OPEN, Phase.PENDING)


def evict(entry: Entry, moment: Moment, reason: str) -> Entry:
    """An orphan, claimable at once: the owner's token has ended."""
    guard(entry, Event.EVICT, Actor.PERSON, moment)
    last = {"code": "evicted", "detail": f"{entry['owner']}: {reason}", "at": format_instant(moment.now_ms)}
    return moved(entry, moment, Event.EVICT, Phase.IN_PROGRESS, last_error=last, **_FREE)


def retry(entry: Entry, moment: Moment) -> Entry:
    """Pending, with back-off and halt cleared; an exhausted task gets one more attempt."""
    guard(entry, Event.RETRY, Actor.PERSON, moment)
    limit = max(entry["max_attempts"], entry["attempts"] + 1)
    changes: dict[str, object] = {"not_before": None, "halt": None, "question": None, "max_attempts": limit, **_FREE}
    if entry["owner"] is not None:
        changes["last_error"] = crashed(entry, moment)
    return moved(entry, moment, Event.RETRY, Phase.PENDING, **changes)


def reopen(entry: Entry, moment: Moment) -> Entry:
    """Pending in a new epoch: attempts count anew, output and verdict are of the past."""
    guard(entry, Event.REOPEN, Actor.PERSON, moment)
    cleared: dict[str, object] = dict.fromkeys(
        ("output", "completed_by", "completed_at", "last_error", "not_before", "halt", "question", "review")
    )
    return moved(entry, moment, Event.REOPEN, Phase.PENDING, epoch=entry["epoch"] + 1, attempts=0, **cleared)


def cancel(entry: Entry, moment: Moment, reason: str) -> Entry:
    """Cancelled in a new epoch; whoever held it has lost it."""
    guard(entry, Event.CANCEL, Actor.PERSON, moment)
    notes = _noted(entry, moment, f"Cancelled: {reason}") if reason else entry["notes"]
    changes: dict[str, object] = {"notes": notes, "halt": None, "question": None, "not_before": None, **_FREE}
    return moved(entry, moment, Event.CANCEL, Phase.CANCELLED, epoch=entry["epoch"] + 1, **changes)


def is_coding(entry: Entry) -> bool:
    """Whether the task is done by landing: it owns or shares paths."""
    return bool(entry["owned_paths"] or entry["shared_paths"])


def is_settled(entry: Entry) -> bool:
    """Whether nothing more will happen to the task by itself."""
    return entry["status"] in SETTLED_PHASES
