"""Bugs in what is decided: each takes a MonkeyPatch and breaks one rule of the claim, the lease or the log.

Most are mistakes that known systems have made, and each is a small change of one function.
"""

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from repokernel.core import jsontext, lease, ready, task
from repokernel.core.errors import error
from repokernel.core.phase import Event
from repokernel.ops import carry, claim, log, offers
from repokernel.ops.log import Applied, Head

if TYPE_CHECKING:
    from repokernel.core.entry import Entry
    from repokernel.core.task import Moment
    from repokernel.ports.world import World
    from tests.planted.table import Patch


def no_nonce(patch: "Patch") -> None:
    """Two processes of one owner write the same bytes, so that each finds "its own" claim."""
    original = resolve_name("repokernel.ops.log:follow")

    def follow(prior: Any, entry: Any, event: Any, by: str, at: str, *, op_id: str, nonce: str) -> Any:
        return original(prior, entry, event, by, entry["created_at"], op_id=op_id, nonce="")

    def claim_task(entry: "Entry", moment: "Moment", lease_ms: int) -> "Entry":
        after: Entry = real(entry, moment, lease_ms)
        return {**after, "owned_since": entry["created_at"], "updated_at": entry["created_at"]}

    real = task.claim
    patch.setattr(task, "claim", claim_task)
    patch.setattr(log, "follow", follow)
    patch.setattr(claim, "draw_op", lambda _: "op-claim")


def takeover_keeps_token(patch: "Patch") -> None:
    """A claim doesn't raise the token: its predecessor's still fits."""
    original = task.claim

    def claim_task(entry: "Entry", moment: "Moment", lease_ms: int) -> "Entry":
        return {**original(entry, moment, lease_ms), "token": max(entry["token"], 1)}

    patch.setattr(task, "claim", claim_task)


def fence_by_clock(patch: "Patch") -> None:
    """Who may write is decided by the lease on the wall clock, not by the token."""

    def done(entry: "Entry", moment: "Moment", token: int, output: Any, verdict: Any) -> "Entry":
        if entry["owner"] is None or lease.lapsed(entry, moment.now_ms, 0, moment.alive):
            raise error("lease_lost", "late", id=entry["id"])
        return original(entry, moment, entry["token"], output, verdict)

    original = task.done
    patch.setattr(task, "done", done)


def fence_by_owner(patch: "Patch") -> None:
    """Anybody may write as long as somebody holds the task."""

    def fence(entry: "Entry", token: int, event: Event) -> None:
        if entry["owner"] is None:
            raise error("lease_lost", "nobody holds it", id=entry["id"])

    patch.setattr(task, "fence", fence)


def fence_by_adjacency(patch: "Patch") -> None:
    """The holder may only write directly after its own record: a person's note costs it the task."""
    original = log.transition

    def transition(world: "World", name: Any, event: Event, by: str, decide: Any, op_id: str = "") -> Applied:
        head = log.require_head(world, name)
        foreign = head.record.event in ("hold", "unhold", "note")
        if event in (Event.DONE, Event.FAIL, Event.RELEASE) and foreign:
            raise error("lease_lost", "somebody wrote in between", id=name)
        return original(world, name, event, by, decide, op_id)

    patch.setattr(carry, "transition", transition)


def renew_without_reread(patch: "Patch") -> None:
    """A renewal reports success by what it read before it wrote."""
    original, real = resolve_name("repokernel.ops.carry:require_head"), carry.renew
    first: dict[World, Head] = {}

    def require_head(world: "World", name: Any) -> Head:
        return first.setdefault(world, original(world, name)) if world in first else original(world, name)

    def renew(world: "World", name: Any, by: str, token: int | None, lease_ms: int | None) -> "Entry":
        first[world] = original(world, name)
        try:
            return real(world, name, by, token, lease_ms)
        finally:
            del first[world]

    patch.setattr(carry, "require_head", require_head)
    patch.setattr(carry, "renew", renew)


def hold_steals_the_slot(patch: "Patch") -> None:
    """A person's hold frees the task as if its worker were gone."""
    original = task.hold
    free = {"owner": None, "owned_since": None, "lease_expires": None}
    patch.setattr(task, "hold", lambda *given: {**original(*given), **free})


def old_beat_honoured(patch: "Patch") -> None:
    """A beat counts whatever token it was written under."""
    original = lease.with_beat

    def with_beat(entry: "Entry", beat: bytes | None) -> "Entry":
        if beat is None:
            return entry
        mine = {**jsontext.parse(beat), "token": entry["token"]}  # type: ignore[dict-item]
        return original(entry, jsontext.canonical(mine))

    for module in (log, carry):
        patch.setattr(module, "beat_name", lambda key, _: f"{key}.00000000")
        patch.setattr(module, "with_beat", with_beat)
    patch.setattr(claim, "beat_name", lambda key, _: f"{key}.gone")


def lost_race_is_won(patch: "Patch") -> None:
    """Who finds the name taken takes the record there for its own."""
    original = log.append

    def append(world: "World", prior: Any, entry: "Entry", event: Event, by: str, op_id: str) -> bool:
        original(world, prior, entry, event, by, op_id)
        return True

    patch.setattr(log, "append", append)
    patch.setattr(claim, "append", append)


def decided_once(patch: "Patch") -> None:
    """After a lost race the first decision is written after the new head, without deciding again."""
    original = log.transition

    def transition(world: "World", name: Any, event: Event, by: str, decide: Any, op_id: str = "") -> Applied:
        decided: list[Any] = []

        def once(entry: "Entry", moment: "Moment") -> "Entry":
            decided[:] = decided or [decide(entry, moment)]
            return decided[0]  # type: ignore[no-any-return]

        return original(world, name, event, by, once, op_id)

    patch.setattr(carry, "transition", transition)


def repeated_twice(patch: "Patch") -> None:
    """An operation that is repeated after an unknown outcome isn't looked up in the log."""
    patch.setattr(log, "applied_before", lambda *_: False)


def attempts_not_counted(patch: "Patch") -> None:
    """A takeover is free: a task that kills its workers is tried for ever."""
    original = task.claim

    def claim_task(entry: "Entry", moment: "Moment", lease_ms: int) -> "Entry":
        after = original(entry, moment, lease_ms)
        return {**after, "attempts": entry["attempts"]} if entry["owner"] else after

    patch.setattr(task, "claim", claim_task)


def exhausted_is_left(patch: "Patch") -> None:
    """A dead task without attempts left is refused, and nobody writes it down as failed."""
    patch.setattr(claim, "_is_spent", lambda *_: False)


def drained_from_a_torn_view(patch: "Patch") -> None:
    """`drained` is said from heads that were read one after the other while others wrote."""
    patch.setattr(claim, "still_so", lambda *_: True)


def exhausted_is_hopeless(patch: "Patch") -> None:
    """A task without attempts left is taken for lost while its late holder can still complete it."""
    original = resolve_name("repokernel.core.ready:Blocker")

    def blocker(code: str, text: str, outlook: Any, on: Any, until_ms: Any) -> Any:
        return original(code, text, ready.Outlook.NEVER if code == "attempts_exhausted" else outlook, on, until_ms)

    patch.setattr(ready, "Blocker", blocker)


def dead_is_never_noticed(patch: "Patch") -> None:
    """A lease never ends by itself: a crashed worker blocks its task for ever."""
    patch.setattr(lease, "lapsed", lambda *_: False)


def takeover_from_the_living(patch: "Patch") -> None:
    """A lease is taken over before its end, as by a reader whose clock is ahead."""
    original = lease.lapsed
    patch.setattr(lease, "lapsed", lambda entry, now_ms, *rest: original(entry, now_ms + 10, *rest))


def first_claimant_is_the_last(patch: "Patch") -> None:
    """Who holds a task for the second time is taken for an earlier owner, and an earlier one for the last."""
    original = task.claim

    def claim_task(entry: "Entry", moment: "Moment", lease_ms: int) -> "Entry":
        after: Entry = original(entry, moment, lease_ms)
        return {**after, "claimed_by": entry["claimed_by"]} if moment.by in entry["claimed_by"] else after

    patch.setattr(task, "claim", claim_task)


def reopen_in_the_same_epoch(patch: "Patch") -> None:
    """Reopening doesn't raise the epoch, so that a merge can take the old outcome for the newer one."""
    original = task.reopen
    patch.setattr(task, "reopen", lambda entry, moment: {**original(entry, moment), "epoch": entry["epoch"]})


def claim_through_a_hold(patch: "Patch") -> None:
    """A person's stop sign is looked at before the race only."""
    original = task.claim

    def claim_task(entry: "Entry", moment: "Moment", lease_ms: int) -> "Entry":
        after: Entry = original({**entry, "hold": None}, moment, lease_ms)
        return {**after, "hold": entry["hold"]}

    patch.setattr(task, "claim", claim_task)


def memory_is_trusted(patch: "Patch") -> None:
    """A worker goes by its list of offers and doesn't read on what others did."""
    patch.setattr(offers.Offers, "absorb", lambda *_: True)
