"""The join of two registries against their base: pure, total, and the same in both orders to the byte.

For a fixed base it is associative and idempotent too, so any number of branches agree in any order. Each
entry is first raised to its base: a step back without a higher epoch is no change. Then untouched <
removed < changed, and two changes are joined field by field (`registry_fields.py`).
"""

from __future__ import annotations

from enum import StrEnum

from repokernel.core.registry import SETS, Fault, Registry, in_order, same, unchanged
from repokernel.core.registry_fields import ABSENT, GROUP, RANK, as_set, group, largest, latest, plain, raised

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import NamedTuple

    from repokernel.core.registry import Entry, Id

    class Report(NamedTuple):
        """Something that a person may want to look at; `what` is an id, an id and a field, or a text."""

        kind: Kind
        what: str

    class Joined(NamedTuple):
        """The joined registry and the reports about it, in a fixed order."""

        registry: Registry
        reports: tuple[Report, ...]

    class Refused(NamedTuple):
        """Two sides that aren't joined: the fault, on which side (empty: between them), and the place in words."""

        fault: Fault
        side: str
        message: str

else:
    from collections import namedtuple

    Report = namedtuple("Report", "kind what")
    Joined = namedtuple("Joined", "registry reports")
    Refused = namedtuple("Refused", "fault side message")


class Kind(StrEnum):
    """What a report is about."""

    BASE_UNREADABLE = "base_unreadable"
    CONFUSABLE = "confusable_ids"
    CONTENDED = "contended"
    DIVERGED = "diverged"
    DUPLICATE = "duplicate_id"
    KEPT = "kept_despite_removal"
    UNKNOWN_STATUS = "unknown_status"


# fewer may go at once, and so may less than half
REMOVAL_MIN = 10
_APART = frozenset({"id", "attempts", *GROUP})
_TOP_APART = frozenset({"version", "generated_at"})
_NO_ENTRIES: Mapping[Id, Entry] = {}
SIDES = ("ours", "theirs")


def join(base: Registry | None, ours: Registry, theirs: Registry) -> Joined | Refused:
    """The two sides joined; without a base nothing counts as removed."""
    said: set[Report] = set()
    if (ours.top is None) != (theirs.top is None):
        return Refused(Fault.SHAPE_DIFFERS, "", "one side is a list, the other an object with `entries`")
    before = _NO_ENTRIES if base is None else _united(base, _NO_ENTRIES, set())
    for side, one in zip(SIDES, (ours, theirs), strict=True):
        lost = len(before.keys() - one.entries.keys())
        if lost >= REMOVAL_MIN and 2 * lost >= len(before):
            return Refused(Fault.MASS_REMOVAL, side, f"it has lost {lost:,} of {len(before):,} entries")
    a, b = _united(ours, before, said), _united(theirs, before, said)
    entries: dict[Id, Entry] = {}
    for name in in_order(a.keys() | b.keys()):
        entry = _entry(name, before.get(name), a.get(name), b.get(name), said)
        if entry is not None:
            entries[name] = entry
    top = _top((base.top if base else None) or {}, ours.top, theirs.top, said)
    _notice_statuses(ours, theirs, said)
    _notice_confusable(entries, said)
    return Joined(Registry(top, entries, ()), tuple(sorted(said)))


def settled(registry: Registry) -> Joined:
    """A registry by itself, its entries of one id joined."""
    said: set[Report] = set()
    entries = _united(registry, _NO_ENTRIES, said)
    _notice_statuses(registry, registry, said)
    _notice_confusable(entries, said)
    return Joined(Registry(registry.top, entries, ()), tuple(sorted(said)))


def _united(registry: Registry, before: Mapping[Id, Entry], said: set[Report]) -> Mapping[Id, Entry]:
    """The entries by id, those of one id joined (a file merged by `merge=union` has such)."""
    if not registry.again:
        return registry.entries
    entries = dict(registry.entries)
    for entry in registry.again:
        name = entry["id"]
        assert isinstance(name, str | int), "reading checked it"
        said.add(Report(Kind.DUPLICATE, str(name)))
        entries[name] = joined(before.get(name), (entries[name], entry), said)
    return entries


def _entry(name: Id, base: Entry | None, a: Entry | None, b: Entry | None, said: set[Report]) -> Entry | None:
    """What becomes of one entry; None if it is gone."""
    if a is not None and b is not None:
        if base is not None and unchanged(base, a, b):
            return base
        return joined(base, (a,) if same(a, b) else (a, b), said)
    one = a if a is not None else b
    assert one is not None, "an id comes from one of the sides"
    if base is None:
        return joined(None, (one,), said)
    kept = joined(base, (one,), said)
    if same(kept, base):
        return None
    said.add(Report(Kind.KEPT, str(name)))
    return kept


def joined(base: Entry | None, sides: Sequence[Entry], said: set[Report]) -> Entry:
    """One entry of one or two sides, raised to its base."""
    if base is not None:
        sides = [one for one in sides if not same(one, base)] or [base]
    if len(sides) == 1:
        return sides[0] if base is None or sides[0] is base else raised(base, sides[0])
    name = str(sides[0]["id"])
    entry = {"id": sides[0]["id"], **group(base, sides, lambda: said.add(Report(Kind.CONTENDED, name)))}
    known: Entry = {} if base is None else base
    attempts = largest(known.get("attempts", ABSENT), [one.get("attempts", ABSENT) for one in sides])
    if attempts is not ABSENT:
        entry["attempts"] = attempts
    entry.update(_fields(known, sides, _APART, f"{name}.", said))
    return entry


def _fields(
    base: Entry, sides: Sequence[Entry], apart: Iterable[str], prefix: str, said: set[Report]
) -> dict[str, object]:
    """All fields but those `apart`, each by the rule of its kind."""
    found: dict[str, object] = {}
    for field in {*base, *(field for one in sides for field in one)}.difference(apart):
        rule = as_set if prefix and field in SETS else plain
        report = Report(Kind.DIVERGED, f"{prefix}{field}")
        was, values = base.get(field, ABSENT), [one.get(field, ABSENT) for one in sides]
        value = rule(was, values, lambda report=report: said.add(report))  # type: ignore[misc]
        if value is not ABSENT:
            found[field] = value
    return found


def _top(
    base: Mapping[str, object],
    ours: Mapping[str, object] | None,
    theirs: Mapping[str, object] | None,
    said: set[Report],
) -> Mapping[str, object] | None:
    """What stands beside `entries`."""
    if ours is None or theirs is None:
        return None
    sides = (ours, theirs)
    found = _fields(base, sides, _TOP_APART, "", said)
    for field, rule in (("version", largest), ("generated_at", latest)):
        value = rule(base.get(field, ABSENT), [one.get(field, ABSENT) for one in sides])
        if value is not ABSENT:
            found[field] = value
    return found


def _notice_statuses(ours: Registry, theirs: Registry, said: set[Report]) -> None:
    every = (*ours.entries.values(), *ours.again, *theirs.entries.values(), *theirs.again)
    unknown = {one["status"] for one in every} - RANK.keys()
    said.update(Report(Kind.UNKNOWN_STATUS, str(status)) for status in unknown)


def _notice_confusable(entries: Mapping[Id, Entry], said: set[Report]) -> None:
    """Ids that differ only in case, width, normal form, or in being a number."""
    folded = [folded_id(name) for name in entries]
    if len(set(folded)) < len(folded):
        seen: set[str] = set()
        for name in folded:
            if name in seen:
                said.add(Report(Kind.CONFUSABLE, name))
            seen.add(name)


def folded_id(name: Id) -> str:
    """What look-alike ids have in common."""
    text = str(name)
    if text.isascii():
        return text.lower()
    from unicodedata import normalize

    return normalize("NFKC", normalize("NFKC", text).casefold())
