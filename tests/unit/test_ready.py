"""Readiness by example: each blocker, what dependencies wait for, verdicts, order."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from repokernel.core.entry import Entry
from repokernel.core.ids import Key, TaskId
from repokernel.core.lease import Alive
from repokernel.core.phase import Cell
from repokernel.core.ready import (
    Outlook,
    View,
    binding,
    blockers,
    cycle,
    in_order,
    needs,
    outlooks,
    reviews_of,
    verdict_on,
)
from repokernel.core.task import claim, done, reopen
from tests.unit.boards import board, found, outlook, review, task
from tests.unit.builders import LEASE_MS, NOW, NOW_MS, OUTPUT, SKEW_MS, at, entry, halt, in_cell, moment

LATER_MS = NOW_MS + 1000
SPENT: dict[str, Any] = {"attempts": 3, "max_attempts": 3}
MANY = 5000

# an entry alone on its board -> the codes of what blocks it, its outlook
ALONE = [
    (task("a"), [], Outlook.READY),
    (task("a", cell=Cell.ORPHAN), [], Outlook.READY),
    (task("a", cell=Cell.STALE), [], Outlook.READY),
    (task("a", cell=Cell.HALTED, halt=halt("crashed")), [], Outlook.READY),
    (task("a", not_before=at(NOW_MS)), [], Outlook.READY),
    (task("a", not_before=at(LATER_MS)), ["backing_off"], Outlook.TIME),
    (task("a", cell=Cell.HELD), ["held"], Outlook.WORKER),
    (task("a", cell=Cell.PLANNED), ["not_open"], Outlook.PERSON),
    (task("a", cell=Cell.IN_REVIEW), ["in_review"], Outlook.PERSON),
    (task("a", cell=Cell.HALTED), ["needs_person"], Outlook.PERSON),
    (task("a", cell=Cell.STALE, halt=halt("check_failed")), ["needs_person"], Outlook.PERSON),
    (task("a", cell=Cell.STALE, halt=halt("interrupted")), [], Outlook.READY),
    (task("a", hold="Wait."), ["on_hold"], Outlook.PERSON),
    (task("a", **SPENT), ["attempts_exhausted"], Outlook.NEVER),
    (task("a", cell=Cell.ORPHAN, **SPENT), ["attempts_exhausted"], Outlook.WORKER),
    (task("a", cell=Cell.STALE, **SPENT), ["attempts_exhausted"], Outlook.WORKER),
    (task("a", cell=Cell.HALTED, halt=halt("crashed"), **SPENT), ["attempts_exhausted"], Outlook.WORKER),
    # the last attempt is still running
    (task("a", cell=Cell.HELD, **SPENT), ["held"], Outlook.WORKER),
    (task("a", cell=Cell.DONE), ["settled"], Outlook.SETTLED),
    (task("a", cell=Cell.FAILED), ["settled"], Outlook.SETTLED),
    (task("a", cell=Cell.CANCELLED, hold="Wait."), ["settled"], Outlook.SETTLED),
    # it waits for the furthest of its blockers
    (task("a", hold="Wait.", not_before=at(LATER_MS)), ["on_hold", "backing_off"], Outlook.PERSON),
    (task("a", cell=Cell.HELD, hold="Wait."), ["held", "on_hold"], Outlook.WORKER),
    (task("a", "nowhere"), ["dependency_unknown"], Outlook.PERSON),
    (task("a", "a"), ["waiting"], Outlook.NEVER),
]


@pytest.mark.parametrize(("one", "codes", "seen"), ALONE)
def test_a_task_alone_is_blocked_by_its_own_state(one: Entry, codes: list[str], seen: Outlook) -> None:
    view = board(one)
    assert [blocker.code for blocker in found(view, "a")] == codes
    assert outlook(view, "a") is seen


# the dependency's cell, whether its output verified, -> for each `when` the code of the blocker and the outlook
DEPENDENCY = """
planned     -      done waiting PERSON       accepted waiting PERSON       failed waiting PERSON            settled waiting PERSON
pending     -      done waiting WORKER       accepted waiting WORKER       failed waiting WORKER            settled waiting WORKER
orphan      -      done waiting WORKER       accepted waiting WORKER       failed waiting WORKER            settled waiting WORKER
halted      -      done waiting PERSON       accepted waiting PERSON       failed waiting PERSON            settled waiting PERSON
held        -      done waiting WORKER       accepted waiting WORKER       failed waiting WORKER            settled waiting WORKER
stale       -      done waiting WORKER       accepted waiting WORKER       failed waiting WORKER            settled waiting WORKER
in_review   -      done waiting PERSON       accepted waiting PERSON       failed waiting PERSON            settled waiting PERSON
done        None   done - READY              accepted waiting PERSON       failed dependency_failed NEVER   settled - READY
done        True   done - READY              accepted waiting PERSON       failed dependency_failed NEVER   settled - READY
done        False  done dependency_unusable PERSON  accepted dependency_unusable PERSON  failed dependency_failed NEVER  settled - READY
failed      -      done dependency_failed NEVER  accepted dependency_failed NEVER  failed - READY           settled - READY
cancelled   -      done dependency_failed NEVER  accepted dependency_failed NEVER  failed dependency_failed NEVER  settled - READY
"""  # noqa: E501


def dependency_rows() -> Iterator[tuple[str, str, str, str, str]]:
    for line in DEPENDENCY.strip().splitlines():
        cell, usable, *rest = line.split()
        for place in range(0, len(rest), 3):
            yield cell, usable, rest[place], rest[place + 1], rest[place + 2]


@pytest.mark.parametrize(("cell", "usable", "when", "code", "seen"), list(dependency_rows()))
def test_a_dependency_lets_its_task_go_as_its_when_says(
    cell: str, usable: str, when: str, code: str, seen: str
) -> None:
    known = {"None": None, "-": None, "True": True, "False": False}[usable]
    view = board(task("d", cell=Cell(cell)), task("a", {"id": "d", "when": when}), usable={"d": known})
    assert [blocker.code for blocker in found(view, "a")] == [code] * (code != "-")
    assert outlook(view, "a") is Outlook[seen]


def test_the_table_of_dependencies_has_every_cell_and_every_when() -> None:
    rows = {(cell, when) for cell, _, when, _, _ in dependency_rows()}
    assert rows == {(str(cell), when) for cell in Cell for when in ("done", "accepted", "failed", "settled")}


def test_what_waits_for_time_alone_makes_its_dependents_wait_for_a_worker() -> None:
    assert outlook(board(task("d", not_before=at(LATER_MS)), task("a", "d")), "a") is Outlook.WORKER


def test_what_can_never_become_ready_keeps_its_dependents_for_ever() -> None:
    view = board(task("d", cell=Cell.FAILED), task("a", "d"), task("b", "a"), task("c", "b", hold="Wait."))
    assert [outlook(view, name) for name in "abc"] == [Outlook.NEVER] * 3


def test_a_dependency_that_cannot_be_read_is_a_persons_to_mend() -> None:
    view = board(task("a", "d"), faults=["d"])
    assert [(one.code, one.outlook, one.on) for one in found(view, "a")] == [
        ("dependency_unknown", Outlook.PERSON, "d")
    ]


def test_a_blocker_names_the_dependency_as_it_is_spelled_and_the_instant() -> None:
    view = board(task("Lib"), task("a", "LIB", cell=Cell.HELD, not_before=at(LATER_MS)))
    assert [(one.code, one.on, one.until_ms) for one in found(view, "a")] == [
        ("held", None, NOW_MS + LEASE_MS + SKEW_MS),
        ("backing_off", None, LATER_MS),
        ("waiting", "Lib", None),
    ]


def test_every_dependency_that_blocks_is_told() -> None:
    view = board(task("x"), task("y", cell=Cell.DONE), task("z", cell=Cell.FAILED), task("a", "x", "y", "z", "gone"))
    assert [(one.on, one.code) for one in found(view, "a")] == [
        ("x", "waiting"),
        ("z", "dependency_failed"),
        ("gone", "dependency_unknown"),
    ]


def test_without_the_board_an_open_dependency_counts_as_being_worked_on() -> None:
    view = board(task("d", cell=Cell.PLANNED), task("a", "d"))
    assert [one.outlook for one in blockers(view, view.entries[Key("a")], {})] == [Outlook.WORKER]


@pytest.mark.parametrize(
    ("alive", "where"), [(Alive.NO, Cell.STALE), (Alive.YES, Cell.HELD), (Alive.UNKNOWN, Cell.HELD)]
)
def test_the_view_asks_about_the_owner_that_it_looks_at(alive: Alive, where: Cell) -> None:
    asked: list[str] = []

    def about(owner: str) -> Alive:
        asked.append(owner)
        return alive

    view = board(task("a", cell=Cell.HELD), task("b"), alive=about)
    assert view.cell(view.entries[Key("a")]) is where
    assert view.cell(view.entries[Key("b")]) is Cell.PENDING
    assert asked == ["coder@w1"]


# --- dependencies in rows and circles


def test_a_long_chain_does_not_recurse() -> None:
    names = [f"t{place}" for place in range(MANY)]
    chain = [task(names[0]), *(task(name, before) for before, name in pairwise(names))]
    seen = outlooks(board(*reversed(chain)))
    assert seen.pop(Key("t0")) is Outlook.READY
    assert set(seen.values()) == {Outlook.WORKER}
    assert cycle({Key(name): [Key(before)] for before, name in pairwise(names)}) is None


def test_a_task_that_many_paths_lead_to_is_looked_at_once() -> None:
    steps = [(f"a{place}", f"b{place}", f"a{place - 1}", f"b{place - 1}") for place in range(1, 200)]
    ladder = [task(name, *below) for a, b, *below in steps for name in (a, b)]
    seen = outlooks(board(task("a0"), task("b0"), *ladder))
    assert seen[Key("a199")] is Outlook.WORKER
    edges = {Key(name): [Key(one) for one in below] for a, b, *below in steps for name in (a, b)}
    assert cycle(edges) is None
    assert cycle(dict(reversed(edges.items()))) is None


def test_a_long_circle_is_never_ready() -> None:
    names = [f"t{place}" for place in range(MANY)]
    ring = [task(name, before) for before, name in pairwise([names[-1], *names])]
    assert set(outlooks(board(*ring)).values()) == {Outlook.NEVER}
    circle = cycle({Key(name): [Key(before)] for before, name in pairwise([names[-1], *names])})
    assert circle is not None
    assert len(circle) == MANY + 1


def test_what_hangs_on_a_circle_is_never_ready_and_what_stands_beside_it_is() -> None:
    view = board(task("a", "b"), task("b", "a"), task("c", "a"), task("d", "e"), task("e"))
    assert [outlook(view, name) for name in "abcde"] == [
        *(Outlook.NEVER, Outlook.NEVER, Outlook.NEVER, Outlook.WORKER, Outlook.READY)
    ]


def test_a_circle_that_a_settled_task_breaks_is_none() -> None:
    circle = {"a": task("a", "b"), "b": task("b", "c", cell=Cell.DONE), "c": task("c", "a")}
    for order in ("abc", "bca", "cab", "acb"):
        view = board(*(circle[name] for name in order))
        assert (outlook(view, "a"), outlook(view, "c")) == (Outlook.READY, Outlook.WORKER)


@pytest.mark.parametrize(
    ("edges", "circle"),
    [
        ({}, None),
        ({"a": []}, None),
        ({"a": ["b", "b"], "b": []}, None),
        ({"a": ["b", "c"], "b": ["d"], "c": ["d"]}, None),
        ({"a": ["nowhere"]}, None),
        ({"a": ["a"]}, ["a", "a"]),
        ({"a": ["b"], "b": ["a"]}, ["a", "b", "a"]),
        ({"x": ["a"], "a": ["b"], "b": ["c"], "c": ["a"]}, ["a", "b", "c", "a"]),
    ],
)
def test_a_circle_is_told_in_order(edges: dict[Key, list[Key]], circle: list[str] | None) -> None:
    assert cycle(edges) == circle


# --- reviews

WORK = in_cell(Cell.DONE, id="a")


def test_a_verdict_is_bound_to_task_epoch_token_and_content() -> None:
    assert binding(WORK) == {"of": "a", "epoch": 0, "token": 4, "sha256": OUTPUT["sha256"]}
    assert binding(in_cell(Cell.DONE, id="a", output=None))["sha256"] is None


@pytest.mark.parametrize("bound", [{"of": "b"}, {"epoch": 1}, {"token": 3}, {"sha256": "00" * 32}, {"sha256": None}])
def test_a_verdict_on_anything_else_does_not_count(bound: dict[str, Any]) -> None:
    assert verdict_on(WORK, [review("r", WORK, "accepted", **bound)]) is None


def test_the_newest_verdict_counts_and_at_one_instant_the_less_friendly() -> None:
    older, newer = at(NOW_MS - 1), NOW
    assert verdict_on(WORK, [review("r", WORK, "accepted", newer), review("s", WORK, "rejected", older)]) == "accepted"
    assert verdict_on(WORK, [review("r", WORK, "accepted"), review("s", WORK, "changes_requested")]) != "accepted"


@pytest.mark.parametrize(
    "no_verdict",
    [
        entry(id="r", review_of="a", expects="none"),
        entry(id="r", review_of="a", expects="none", status="done", completed_at=NOW),
        entry(id="r", review_of="a", expects="none", status="done", completed_at=NOW, review=binding(WORK)),
        entry(id="r", review_of="a", expects="none", status="failed", review={**binding(WORK), "verdict": "accepted"}),
    ],
)
def test_a_review_that_is_not_done_with_a_verdict_says_nothing(no_verdict: Entry) -> None:
    assert verdict_on(WORK, [no_verdict]) is None


def test_a_verdict_lapses_when_the_work_is_reopened() -> None:
    verdict = review("r", WORK, "accepted")
    assert verdict_on(WORK, [verdict]) == "accepted"
    again = reopen(WORK, moment())
    assert verdict_on(again, [verdict]) is None
    redone = done(claim(again, moment(), LEASE_MS), moment(), 5, OUTPUT, None)
    assert verdict_on(redone, [verdict]) is None


def test_reviews_are_found_under_any_spelling() -> None:
    view = board(task("Work"), task("None"), entry(id="r", review_of="WORK"), entry(id="s", review_of="other"))
    assert [one["id"] for one in reviews_of(view, Key("work"))] == ["r"]
    assert reviews_of(view, Key("none")) == []


ACCEPT = task("b", {"id": "a", "when": "accepted"})


@pytest.mark.parametrize(
    ("reviews", "codes", "seen"),
    [
        ([], ["waiting"], Outlook.PERSON),
        ([entry(id="r", review_of="a")], ["waiting"], Outlook.WORKER),
        ([in_cell(Cell.FAILED, id="r", review_of="a")], ["waiting"], Outlook.PERSON),
        ([review("r", WORK, "accepted")], [], Outlook.READY),
        ([review("r", WORK, "rejected")], ["waiting"], Outlook.PERSON),
        ([review("r", WORK, "changes_requested")], ["waiting"], Outlook.PERSON),
        ([review("r", WORK, "rejected"), entry(id="s", review_of="a")], ["waiting"], Outlook.WORKER),
        ([review("r", WORK, "accepted", token=3)], ["waiting"], Outlook.PERSON),
    ],
)
def test_accepted_waits_for_a_verdict_on_the_work_as_it_stands(
    reviews: list[Entry], codes: list[str], seen: Outlook
) -> None:
    view = board(WORK, ACCEPT, *reviews)
    assert [one.code for one in found(view, "b")] == codes
    assert outlook(view, "b") is seen


def test_a_review_needs_what_it_reviews_to_be_done() -> None:
    assert needs(entry(id="r", review_of="A", depends_on=[{"id": "B", "when": "failed"}])) == [
        ("b", "failed"),
        ("a", "done"),
    ]
    assert outlook(board(task("a"), entry(id="r", review_of="a")), "r") is Outlook.WORKER


class Counted(dict[Key, Entry]):
    """Entries that count how many of them were looked at one after the other."""

    seen = 0

    def values(self) -> Iterator[Entry]:  # type: ignore[override]
        for one in super().values():
            self.seen += 1
            yield one


def test_looking_for_verdicts_does_not_read_the_board_once_a_task() -> None:
    view = board(*(task(f"d{n}", cell=Cell.DONE) for n in range(200)))
    waiting = [task(f"a{n}", {"id": f"d{n}", "when": "accepted"}) for n in range(200)]
    entries = Counted({**view.entries, **{Key(one["id"]): one for one in waiting}})
    outlooks(View(entries, {}, NOW_MS, 0, view.alive, view.usable))
    looked_at, there = entries.seen, len(entries)
    assert looked_at < 10 * there


# --- order


def test_the_lowest_priority_number_is_first_then_age_then_id() -> None:
    rows = [("d", 1, 9), ("b", 5, 1), ("e", 5, 2), ("a", 5, 3), ("c", 5, 3), ("f", -1, 9)]
    entries = [entry(id=name, priority=priority, created_at=at(NOW_MS + age)) for name, priority, age in rows]
    assert [one["id"] for one in in_order(reversed(entries))] == ["f", "d", "b", "e", "a", "c"]
    assert in_order([]) == []


def test_a_task_id_of_another_spelling_is_the_same_need() -> None:
    assert needs(task("a", TaskId("Lib"))) == needs(task("a", TaskId("lIB"))) == [("lib", "done")]
