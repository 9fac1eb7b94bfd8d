"""Readiness: what stands between a task and a worker, whom it waits for, and who is next.

Everything is computed from the heads of one board at one instant. `Outlook` orders what a task waits
for by how far away it is; a task waits for the furthest of its blockers, and for a dependency as long
as that dependency itself waits.
"""

from __future__ import annotations

from enum import IntEnum

from repokernel.core.entry import dependencies
from repokernel.core.ids import TaskId, fold
from repokernel.core.lease import cell, halt_lets_claim
from repokernel.core.phase import SETTLED_PHASES, Cell, Phase
from repokernel.core.task import exhausted
from repokernel.core.times import parse_instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import NamedTuple

    from repokernel.core.entry import Entry
    from repokernel.core.ids import Key
    from repokernel.core.lease import Alive

    class Blocker(NamedTuple):
        """One reason why a task can't be claimed now."""

        code: str
        text: str
        outlook: Outlook
        on: str | None
        until_ms: int | None
else:
    from collections import namedtuple

    Blocker = namedtuple("Blocker", "code text outlook on until_ms")


class Outlook(IntEnum):
    """What a task waits for, nearest first."""

    READY = 0
    TIME = 1
    WORKER = 2
    PERSON = 3
    NEVER = 4
    SETTLED = 5


class View:
    """One board at one instant: the joined entries, and what is known about owners and outputs.

    Attributes:
        entries: joined entries by folded id.
        faults: what can't be read, by folded id: such a task exists but is never offered.
        alive: what is known of an owner's process.
        usable: whether a done task's output verified when last looked at (None: never looked at).
        heads: the number of each task's newest record when the board was listed (0: it can't be told).
    """

    __slots__ = ("_indexed", "_reviews", "alive", "entries", "faults", "heads", "now_ms", "skew_ms", "usable")

    def __init__(
        self,
        entries: Mapping[Key, Entry],
        faults: Mapping[Key, object],
        now_ms: int,
        skew_ms: int,
        alive: Callable[[str], Alive],
        usable: Callable[[Entry], bool | None],
    ) -> None:
        """Bundle what readiness is computed from."""
        self.entries = entries
        self.faults = faults
        self.now_ms = now_ms
        self.skew_ms = skew_ms
        self.alive = alive
        self.usable = usable
        self.heads: Mapping[Key, int] = {}
        self._indexed: Mapping[Key, Entry] | None = None
        self._reviews: Mapping[Key, list[Entry]] = {}

    def cell(self, entry: Entry) -> Cell:
        """The entry's place in the phase × owner table."""
        owner = entry["owner"]
        alive = "unknown" if owner is None else self.alive(owner)
        return cell(entry, self.now_ms, self.skew_ms, alive)  # type: ignore[arg-type]

    def reviews(self) -> Mapping[Key, list[Entry]]:
        """The review tasks by the folded id of what they review."""
        if self._indexed is not self.entries:
            found: dict[Key, list[Entry]] = {}
            for entry in self.entries.values():
                if entry["review_of"] is not None:
                    found.setdefault(fold(TaskId(entry["review_of"])), []).append(entry)
            self._indexed, self._reviews = self.entries, found
        return self._reviews


def binding(entry: Entry) -> dict[str, object]:
    """What a verdict is bound to: exactly the work that the reviewer saw."""
    output = entry["output"]
    return {
        "of": entry["id"],
        "epoch": entry["epoch"],
        "token": entry["token"],
        "sha256": output["sha256"] if output else None,
    }


def verdict_on(entry: Entry, reviews: Iterable[Entry]) -> str | None:
    """The newest verdict among `reviews` that is bound to `entry` as it stands, or None."""
    bound = binding(entry)
    verdicts = [
        (review["completed_at"] or "", str(review["review"]["verdict"]))
        for review in reviews
        if review["status"] == Phase.DONE
        and review["review"] is not None
        and "verdict" in review["review"]
        and all(review["review"].get(name) == value for name, value in bound.items())
    ]
    return max(verdicts)[1] if verdicts else None


def reviews_of(view: View, key: Key) -> list[Entry]:
    """The review tasks of one task."""
    return view.reviews().get(key, [])


def needs(entry: Entry) -> list[tuple[Key, str]]:
    """The (folded id, when) pairs that must hold first; a review needs what it reviews to be done."""
    pairs = [(fold(TaskId(name)), when) for name, when in dependencies(entry)]
    if entry["review_of"] is not None:
        pairs.append((fold(TaskId(entry["review_of"])), "done"))
    return pairs


def _met(view: View, dependency: Entry, when: str) -> tuple[bool, str]:
    """Whether a settled dependency satisfies `when`, and what is wrong if not."""
    status = dependency["status"]
    if when == "settled":
        return True, ""
    if when == "failed":
        return status == Phase.FAILED, "settled"
    if status != Phase.DONE:
        return False, "settled"
    if view.usable(dependency) is False:
        return False, "unusable"
    if when == "accepted":
        found = verdict_on(dependency, reviews_of(view, fold(TaskId(dependency["id"]))))
        return found == "accepted", "unreviewed" if found is None else "rejected"
    return True, ""


def _dependency_blocker(view: View, key: Key, when: str, outlooks: Mapping[Key, Outlook]) -> Blocker | None:
    dependency = view.entries.get(key)
    if dependency is None:
        what = "can't be read" if key in view.faults else "doesn't exist"
        return Blocker("dependency_unknown", f"{key} {what}", Outlook.PERSON, key, None)
    name = dependency["id"]
    if dependency["status"] not in SETTLED_PHASES:
        outlook = outlooks.get(key, Outlook.WORKER)
        outlook = Outlook.WORKER if outlook in (Outlook.READY, Outlook.TIME) else outlook
        text = f"{name} is {dependency['status']} (needed: {when})"
        return Blocker("waiting", text, outlook, name, None)
    met, why = _met(view, dependency, when)
    if met:
        return None
    if why == "unusable":
        text = f"{name} is done but its output doesn't verify"
        return Blocker("dependency_unusable", text, Outlook.PERSON, name, None)
    if why in ("unreviewed", "rejected"):
        open_review = any(r["status"] not in SETTLED_PHASES for r in reviews_of(view, key))
        said = "is not yet reviewed" if why == "unreviewed" else "was not accepted"
        outlook = Outlook.WORKER if open_review else Outlook.PERSON
        return Blocker("waiting", f"{name} {said}", outlook, name, None)
    text = f"{name} is {dependency['status']} (needed: {when})"
    return Blocker("dependency_failed", text, Outlook.NEVER, name, None)


def _own_blockers(view: View, entry: Entry, where: Cell) -> list[Blocker]:
    found = []
    if where is Cell.HELD:
        text = f"held by {entry['owner']} until {entry['lease_expires']}"
        until_ms = parse_instant(entry["lease_expires"] or entry["updated_at"]) + view.skew_ms
        found.append(Blocker("held", text, Outlook.WORKER, None, until_ms))
    if where is Cell.PLANNED:
        found.append(Blocker("not_open", "planned and not yet opened", Outlook.PERSON, None, None))
    if where is Cell.IN_REVIEW:
        found.append(Blocker("in_review", "in review", Outlook.PERSON, None, None))
    if where in (Cell.HALTED, Cell.STALE) and not halt_lets_claim(entry) and entry["halt"] is not None:
        text = f"halted: {entry['halt']['reason']}: {entry['halt'].get('detail', '')}"
        found.append(Blocker("needs_person", text, Outlook.PERSON, None, None))
    if entry["hold"] is not None:
        found.append(Blocker("on_hold", f"on hold: {entry['hold']}", Outlook.PERSON, None, None))
    if exhausted(entry) and where in (Cell.PENDING, Cell.ORPHAN, Cell.STALE, Cell.HALTED):
        text = f"{entry['attempts']} of {entry['max_attempts']} attempts are used"
        # one in progress fails once a claimant writes that down; until then its holder may yet complete it
        outlook = Outlook.NEVER if where is Cell.PENDING else Outlook.WORKER
        found.append(Blocker("attempts_exhausted", text, outlook, None, None))
    waits = entry["not_before"]
    if waits is not None and parse_instant(waits) > view.now_ms:
        found.append(Blocker("backing_off", f"not before {waits}", Outlook.TIME, None, parse_instant(waits)))
    return found


def blockers(view: View, entry: Entry, outlooks: Mapping[Key, Outlook]) -> list[Blocker]:
    """Everything that keeps an open task from being claimed now; empty means ready."""
    where = view.cell(entry)
    if entry["status"] in SETTLED_PHASES:
        return [Blocker("settled", f"already {entry['status']}", Outlook.SETTLED, None, None)]
    found = _own_blockers(view, entry, where)
    for key, when in needs(entry):
        blocker = _dependency_blocker(view, key, when, outlooks)
        if blocker is not None:
            found.append(blocker)
    return found


def outlooks(view: View) -> dict[Key, Outlook]:
    """What each task waits for. A circle of dependencies never becomes ready.

    One that is held waits for its holder alone, who may complete it in spite of all that would keep it from
    being claimed.
    """
    known = {}
    for key, entry in view.entries.items():
        if entry["status"] in SETTLED_PHASES:
            known[key] = Outlook.SETTLED
        elif entry["owner"] is not None and view.cell(entry) is Cell.HELD:
            known[key] = Outlook.WORKER
    for start, entry in view.entries.items():
        if start in known:
            continue
        if entry["depends_on"] or entry["review_of"]:
            _follow(view, start, known)
        else:
            known[start] = max((found.outlook for found in blockers(view, entry, known)), default=Outlook.READY)
    return known


def _follow(view: View, start: Key, known: dict[Key, Outlook]) -> None:
    """Put `start` and everything that it waits for into `known`, dependencies first (no recursion)."""
    stack: list[tuple[Key, bool]] = [(start, False)]
    on_path: set[Key] = set()
    while stack:
        key, leaving = stack.pop()
        if leaving:
            on_path.discard(key)
            own = max((found.outlook for found in blockers(view, view.entries[key], known)), default=Outlook.READY)
            known[key] = max(own, known.get(key, own))
        elif key not in known and key in view.entries:
            on_path.add(key)
            stack.append((key, True))
            needed = [name for name, _ in needs(view.entries[key])]
            if on_path.intersection(needed):
                known[key] = Outlook.NEVER
            stack.extend((name, False) for name in needed if name not in known)


def in_order(entries: Iterable[Entry]) -> list[Entry]:
    """Lowest priority number first, then age, then id."""
    return sorted(entries, key=lambda e: (e["priority"], e["created_at"], e["id"]))


def cycle(edges: Mapping[Key, list[Key]]) -> list[Key] | None:
    """One circle in a graph of dependencies (its keys in order), or None."""
    settled: set[Key] = set()
    for start in edges:
        path: list[Key] = []
        on_path: set[Key] = set()
        stack: list[tuple[Key, bool]] = [(start, False)]
        while stack:
            key, leaving = stack.pop()
            if leaving:
                path.pop()
                on_path.discard(key)
                settled.add(key)
                continue
            if key in on_path:
                return [*path[path.index(key) :], key]
            if key in settled:
                continue
            path.append(key)
            on_path.add(key)
            stack.append((key, True))
            stack.extend((needed, False) for needed in edges.get(key, []))
    return None
