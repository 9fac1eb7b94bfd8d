"""How one field, or one group of fields, of two sides is joined against their base.

Every rule is a maximum in an order that the base alone fixes and in which the base's own value is the
least. So each is commutative, associative for a fixed base and idempotent, and so is whatever is put
together from them. `sides` holds one value a side.
"""

from __future__ import annotations

from repokernel.core import jsontext
from repokernel.core.registry import SETS, as_list, by_key, same
from repokernel.core.times import parse_instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from repokernel.core.registry import Entry

# how far the work is; what this version doesn't know loses no progress, and doesn't outrank done
RANK: Mapping[str, int] = {
    "cancelled": 0,
    "planned": 1,
    "pending": 2,
    "in_progress": 3,
    "failed": 4,
    "in_review": 5,
    "done": 7,
}
RANK_UNKNOWN = 6
# these come together from one side: mixed they would say "done, owned by B, output of A"
GROUP = (
    "status",
    "epoch",
    "owner",
    "owned_since",
    "lease_expires",
    "output",
    "completed_at",
    "last_error",
    "halt",
)
ABSENT = object()


def plain(base: object, sides: Sequence[object], diverged: Callable[[], None]) -> object:
    """Untouched < removed < changed; of two changes the least canonical text."""
    changed = {
        jsontext.line(one): one for one in sides if one is not ABSENT and (base is ABSENT or not same(one, base))
    }
    if changed:
        if len(changed) > 1:
            diverged()
        return changed[min(changed)]
    return ABSENT if ABSENT in sides else base


def as_set(base: object, sides: Sequence[object], diverged: Callable[[], None]) -> object:
    """What is in all of base and sides, and what any side added; a change to something else than a list wins."""
    odd = [one for one in sides if one is not ABSENT and not isinstance(one, list)]
    if any(base is ABSENT or not same(one, base) for one in odd):
        lists = [one for one in sides if isinstance(one, list) and not (base is not ABSENT and same(one, base))]
        if lists:
            diverged()
        return plain(base, odd, diverged)
    before, found = by_key(base), [by_key(one) for one in sides]
    union = {key: one for keyed in (before, *found) for key, one in keyed.items()}
    kept = {key: one for key, one in union.items() if key not in before or all(key in keyed for keyed in found)}
    if kept:
        return as_list(kept)
    if any(isinstance(one, list) for one in (base, *sides)):
        return []
    return ABSENT if ABSENT in sides else base


def largest(base: object, sides: Sequence[object]) -> object:
    """The larger number; what is no number comes after all numbers, and the least text of it first."""
    return _most(base, sides, lambda one: one if type(one) is int or type(one) is float else None)


def latest(base: object, sides: Sequence[object]) -> object:
    """The later instant, with the same care for what is none."""
    return _most(base, sides, instant_ms)


def instant_ms(value: object) -> int | None:
    """Milliseconds of an RFC 3339 text; None if it isn't one."""
    if not isinstance(value, str):
        return None
    try:
        return parse_instant(value)
    except ValueError:
        return None


def _most(base: object, sides: Sequence[object], measure: Callable[[object], float | None]) -> object:
    known = [one for one in (base, *sides) if one is not ABSENT]
    sizes = [size for size in map(measure, known) if size is not None]
    if sizes:
        top = max(sizes)
        known = [one for one in known if measure(one) == top]
    return min(known, key=jsontext.line, default=ABSENT)


def group(base: Entry | None, sides: Sequence[Entry], contended: Callable[[], None]) -> Entry:
    """The fields that go with the status, from the side that is further.

    Higher epoch, then higher rank, then changed over unchanged; of two changes the least status, the
    later lease, the least canonical text. A step back without a higher epoch loses to the base itself.
    """
    every = sides if base is None else (base, *sides)
    heights = [height(one) for one in every]
    top = max(heights)
    groups = [_group_of(one) for one, height in zip(every, heights, strict=True) if height == top]
    tied = {jsontext.line(one): one for one in groups}
    if base is not None and len(tied) > 1:
        tied.pop(jsontext.line(_group_of(base)), None)
    if len(tied) == 1:
        return next(iter(tied.values()))
    contended()
    return tied[min(tied, key=lambda text: (str(tied[text]["status"]), -_lease_ms(tied[text]), text))]


def height(entry: Entry) -> tuple[int, int]:
    """How far an entry is: its epoch, then the rank of its status."""
    epoch = entry.get("epoch", 0)
    assert isinstance(epoch, int), "reading checked it"
    return epoch, RANK.get(str(entry["status"]), RANK_UNKNOWN)


def raised(base: Entry, side: Entry) -> Entry:
    """One side that differs from its base, raised to it: what the rules above make of it alone."""
    entry = dict(side)
    if height(side) < height(base):
        entry = {**{name: one for name, one in side.items() if name not in GROUP}, **_group_of(base)}
    if "attempts" in base:
        entry["attempts"] = largest(base["attempts"], [side.get("attempts", ABSENT)])
    for field in SETS:
        if field not in side and isinstance(base.get(field), list):
            entry[field] = []
    return entry


def _lease_ms(entry: Entry) -> int:
    found = instant_ms(entry.get("lease_expires"))
    return -1 if found is None else found


def _group_of(entry: Entry) -> Entry:
    return {name: entry[name] for name in GROUP if name in entry}
