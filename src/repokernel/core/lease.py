"""Lease arithmetic: when a hold ends, who may take over, how long to wait before the next attempt.

No clock is consulted for safety, which the token carries; the rules here only decide when a takeover
is worth while. Instants are milliseconds since 1970 of the store's clock.
"""

from __future__ import annotations

from enum import StrEnum

from repokernel.core import jsontext
from repokernel.core.halt import auto_resumable
from repokernel.core.phase import Cell, Phase
from repokernel.core.times import format_instant, parse_instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from repokernel.core.entry import Entry

BEAT_FORMAT = 1
# an agent stops, and a holder gives up, this share of the lease before it runs out
STOP_MARGIN = 0.1
RENEW_SHARE = 1 / 3


class Alive(StrEnum):
    """What is known about the process behind an owner."""

    YES = "alive"
    NO = "dead"
    UNKNOWN = "unknown"


def beat_bytes(token: int, lease_expires_ms: int, now_ms: int) -> bytes:
    """The beat that a renewal leaves beside the log."""
    return jsontext.canonical(
        {
            "beat": BEAT_FORMAT,
            "token": token,
            "lease_expires": format_instant(lease_expires_ms),
            "renewed_at": format_instant(now_ms),
        }
    )


def beat_problem(beat: bytes) -> str | None:
    """What keeps a beat from being read, if anything does; one of a newer format is not ours to judge."""
    try:
        value = jsontext.parse(beat)
        if not isinstance(value, dict):
            return "is no JSON object"
        if value.get("beat") != BEAT_FORMAT:
            return None if isinstance(value.get("beat"), int) else "has no format"
        if not isinstance(value.get("token"), int):
            return "has no token"
        parse_instant(value["lease_expires"])
    except (ValueError, KeyError, TypeError):
        return "can't be read"
    return None


def with_beat(entry: Entry, beat: bytes | None) -> Entry:
    """`entry` with the lease that its holder has renewed to.

    A beat of another token, one that can't be read, or one that ends earlier changes nothing:
    renewal extends, and what can't be understood gives nobody a longer hold. A newer format keeps the
    meaning of `token` and `lease_expires`, so that an older reader doesn't take over from a live holder.
    """
    if beat is None or entry["lease_expires"] is None:
        return entry
    try:
        value = jsontext.parse(beat)
        if not isinstance(value, dict) or not _is_format(value.get("beat")) or value.get("token") != entry["token"]:
            return entry
        expires = value["lease_expires"]
        later = parse_instant(expires) > parse_instant(entry["lease_expires"])
    except (ValueError, KeyError, TypeError):
        return entry
    return {**entry, "lease_expires": expires} if later else entry


def _is_format(value: object) -> bool:
    return type(value) is int and value >= BEAT_FORMAT


def lease_left_ms(entry: Entry, now_ms: int) -> int | None:
    """How long the hold lasts from `now_ms` on (negative: lapsed), or None without an owner."""
    expires = entry["lease_expires"]
    return None if expires is None else parse_instant(expires) - now_ms


def lapsed(entry: Entry, now_ms: int, skew_ms: int, alive: Alive) -> bool:
    """Whether somebody else may take over from the present owner.

    At once when the owner's process is known to be gone, else when the lease and the skew margin have
    passed. A live process doesn't keep a lapsed lease: it may hang.
    """
    left_ms = lease_left_ms(entry, now_ms)
    return left_ms is not None and (alive is Alive.NO or left_ms + skew_ms < 0)


_SETTLED: Mapping[str, Cell] = {
    Phase.PLANNED: Cell.PLANNED,
    Phase.PENDING: Cell.PENDING,
    Phase.IN_REVIEW: Cell.IN_REVIEW,
    Phase.DONE: Cell.DONE,
    Phase.FAILED: Cell.FAILED,
    Phase.CANCELLED: Cell.CANCELLED,
}


def cell(entry: Entry, now_ms: int, skew_ms: int, alive: Alive) -> Cell:
    """The task's place in the phase × owner table."""
    if entry["status"] != Phase.IN_PROGRESS:
        return _SETTLED[entry["status"]]
    if entry["owner"] is not None:
        return Cell.STALE if lapsed(entry, now_ms, skew_ms, alive) else Cell.HELD
    return Cell.HALTED if entry["halt"] is not None else Cell.ORPHAN


def halt_lets_claim(entry: Entry) -> bool:
    """Whether the task's halt, if it has one, may be resumed without a person."""
    halt = entry["halt"]
    return halt is None or auto_resumable(halt["reason"])


def backoff_ms(attempt: int, base_ms: int, cap_ms: int, chance: float) -> int:
    """How long to wait after failed attempt number `attempt` (1, 2, …): doubling, jittered, capped.

    `chance` lies in [0, 1); the wait in [half, full) of the doubled base ("equal jitter", so that it
    is never near nothing and workers don't come back together).
    """
    full = min(cap_ms, base_ms * 2 ** min(max(attempt - 1, 0), 40))
    return int(full * (0.5 + chance / 2))
