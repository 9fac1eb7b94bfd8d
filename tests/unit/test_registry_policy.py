"""Which side wins, and why: the laws also hold for a wrong order of statuses, so the policy has a table of its own."""

import json

import pytest

from repokernel.core.phase import Phase
from repokernel.core.registry_fields import RANK, RANK_UNKNOWN
from repokernel.core.registry_join import Refused
from repokernel.core.registry_merge import merge

E = dict[str, object]
NO = None  # the entry isn't there

# name -> (base, one side, the other, result, reports)
POLICY: dict[str, tuple[E | None, E | None, E | None, E | None, str]] = {
    # progress
    "more progress wins": ({"status": "planned"}, {"status": "failed"}, {"status": "done"}, {"status": "done"}, ""),
    "done outranks in_review": (
        {"status": "pending"},
        {"status": "in_review"},
        {"status": "done"},
        {"status": "done"},
        "",
    ),
    "in_review outranks failed": (NO, {"status": "failed"}, {"status": "in_review"}, {"status": "in_review"}, ""),
    "failed outranks in_progress": (NO, {"status": "in_progress"}, {"status": "failed"}, {"status": "failed"}, ""),
    "in_progress outranks pending": (
        NO,
        {"status": "pending"},
        {"status": "in_progress"},
        {"status": "in_progress"},
        "",
    ),
    "pending outranks planned": (NO, {"status": "planned"}, {"status": "pending"}, {"status": "pending"}, ""),
    "planned outranks cancelled": (NO, {"status": "cancelled"}, {"status": "planned"}, {"status": "planned"}, ""),
    "an unknown status loses no progress": (
        {"status": "in_review"},
        {"status": "shipping"},
        {"status": "in_review"},
        {"status": "shipping"},
        "unknown_status:shipping",
    ),
    "an unknown status doesn't outrank done": (
        {"status": "pending"},
        {"status": "shipping"},
        {"status": "done"},
        {"status": "done"},
        "unknown_status:shipping",
    ),
    "of two unknown statuses the least text": (
        {"status": "pending"},
        {"status": "b"},
        {"status": "a"},
        {"status": "a"},
        "contended:t unknown_status:a unknown_status:b",
    ),
    # epochs
    "a step back without an epoch loses": (
        {"status": "done"},
        {"status": "pending"},
        {"status": "done"},
        {"status": "done"},
        "",
    ),
    "a step back of both sides loses to the base": (
        {"status": "done"},
        {"status": "pending"},
        {"status": "failed"},
        {"status": "done"},
        "",
    ),
    "a reopen with an epoch stands": (
        {"status": "done"},
        {"status": "pending", "epoch": 1},
        {"status": "done"},
        {"status": "pending", "epoch": 1},
        "",
    ),
    "a stale copy can't undo a reopen": (
        {"status": "done", "epoch": 1},
        {"status": "pending", "epoch": 2},
        {"status": "done", "epoch": 1, "note": "x"},
        {"status": "pending", "epoch": 2, "note": "x"},
        "",
    ),
    "of two reopens the further": (
        {"status": "done"},
        {"status": "pending", "epoch": 1},
        {"status": "in_progress", "epoch": 1},
        {"status": "in_progress", "epoch": 1},
        "",
    ),
    "the higher epoch beats any progress": (
        {"status": "done"},
        {"status": "planned", "epoch": 2},
        {"status": "done", "epoch": 1},
        {"status": "planned", "epoch": 2},
        "",
    ),
    "a lower epoch than the base's is a step back": (
        {"status": "pending", "epoch": 3},
        {"status": "done", "epoch": 2},
        {"status": "pending", "epoch": 3},
        {"status": "pending", "epoch": 3},
        "",
    ),
    "a cancel without an epoch loses": (
        {"status": "in_progress"},
        {"status": "cancelled"},
        {"status": "in_progress"},
        {"status": "in_progress"},
        "",
    ),
    "a cancel with an epoch stands": (
        {"status": "in_progress"},
        {"status": "cancelled", "epoch": 1},
        {"status": "done"},
        {"status": "cancelled", "epoch": 1},
        "",
    ),
    # the group
    "owner and output come with the status": (
        {"status": "in_progress", "owner": "a@1"},
        {"status": "in_progress", "owner": "b@2"},
        {"status": "done", "output": {"uri": "file:o"}},
        {"status": "done", "output": {"uri": "file:o"}},
        "",
    ),
    "the owner of the less progressed side isn't mixed in": (
        {"status": "pending"},
        {"status": "in_progress", "owner": "a@1"},
        {"status": "failed", "last_error": None},
        {"status": "failed", "last_error": None},
        "",
    ),
    "changed over unchanged at the same rank": (
        {"status": "failed", "owner": "a@1"},
        {"status": "failed"},
        {"status": "failed", "owner": "a@1"},
        {"status": "failed"},
        "",
    ),
    "two claims: the later lease": (
        {"status": "pending"},
        {"status": "in_progress", "owner": "a@1", "lease_expires": "2026-01-01T10:00:00Z"},
        {"status": "in_progress", "owner": "b@2", "lease_expires": "2026-01-01T11:00:00Z"},
        {"status": "in_progress", "owner": "b@2", "lease_expires": "2026-01-01T11:00:00Z"},
        "contended:t",
    ),
    "leases are compared as instants, not as texts": (
        {"status": "pending"},
        {"status": "in_progress", "owner": "a@1", "lease_expires": "2026-01-01T10:00:00+02:00"},
        {"status": "in_progress", "owner": "b@2", "lease_expires": "2026-01-01T09:00:00Z"},
        {"status": "in_progress", "owner": "b@2", "lease_expires": "2026-01-01T09:00:00Z"},
        "contended:t",
    ),
    "no lease loses to a lease": (
        {"status": "pending"},
        {"status": "failed", "owner": "a@1"},
        {"status": "failed", "owner": "b@2", "lease_expires": "2026-01-01T09:00:00Z"},
        {"status": "failed", "owner": "b@2", "lease_expires": "2026-01-01T09:00:00Z"},
        "contended:t",
    ),
    "two claims without a lease: the least text": (
        {"status": "pending"},
        {"status": "failed", "owner": "b@2"},
        {"status": "failed", "owner": "a@1"},
        {"status": "failed", "owner": "a@1"},
        "contended:t",
    ),
    "attempts: the larger number": (
        {"status": "failed", "attempts": 1},
        {"status": "failed", "attempts": 3},
        {"status": "failed", "attempts": 2},
        {"status": "failed", "attempts": 3},
        "",
    ),
    "attempts never go below the base's": (
        {"status": "failed", "attempts": 2},
        {"status": "failed"},
        {"status": "done", "attempts": 1},
        {"status": "done", "attempts": 2},
        "",
    ),
    # removal
    "removed and untouched is gone": ({"status": "done"}, NO, {"status": "done"}, NO, ""),
    "removed by both is gone": ({"status": "done"}, NO, NO, NO, ""),
    "removed and progressed is kept": (
        {"status": "pending"},
        NO,
        {"status": "done"},
        {"status": "done"},
        "kept_despite_removal:t",
    ),
    "removed and edited is kept": (
        {"status": "done"},
        NO,
        {"status": "done", "title": "x"},
        {"status": "done", "title": "x"},
        "kept_despite_removal:t",
    ),
    "removed and stepped back counts as untouched": ({"status": "done"}, NO, {"status": "pending"}, NO, ""),
    "removed and reopened is kept": (
        {"status": "done"},
        NO,
        {"status": "pending", "epoch": 1},
        {"status": "pending", "epoch": 1},
        "kept_despite_removal:t",
    ),
    "added on one side stays": (NO, NO, {"status": "planned"}, {"status": "planned"}, ""),
    # fields
    "a field changed on one side": (
        {"status": "done", "title": "a"},
        {"status": "done", "title": "z"},
        {"status": "done", "title": "a"},
        {"status": "done", "title": "z"},
        "",
    ),
    "a field changed on both sides alike": (
        {"status": "done", "title": "a"},
        {"status": "done", "title": "z"},
        {"status": "done", "title": "z"},
        {"status": "done", "title": "z"},
        "",
    ),
    "a field changed on both sides: the least": (
        {"status": "done", "title": "a"},
        {"status": "done", "title": "z"},
        {"status": "done", "title": "m"},
        {"status": "done", "title": "m"},
        "diverged:t.title",
    ),
    "a field removed on one side is gone": (
        {"status": "done", "title": "a"},
        {"status": "done"},
        {"status": "done", "title": "a"},
        {"status": "done"},
        "",
    ),
    "a field removed and changed is changed": (
        {"status": "done", "title": "a"},
        {"status": "done"},
        {"status": "done", "title": "z"},
        {"status": "done", "title": "z"},
        "",
    ),
    "1, 1.0 and true are three values": (
        {"status": "done", "x": 1},
        {"status": "done", "x": True},
        {"status": "done", "x": 1},
        {"status": "done", "x": True},
        "",
    ),
    "a field of a newer version is kept": (
        {"status": "planned"},
        {"status": "planned", "x_new": {"a": [1]}},
        {"status": "done"},
        {"status": "done", "x_new": {"a": [1]}},
        "",
    ),
    # lists without order
    "additions of both": (
        {"status": "done", "labels": ["a"]},
        {"status": "done", "labels": ["a", "c"]},
        {"status": "done", "labels": ["b", "a"]},
        {"status": "done", "labels": ["a", "b", "c"]},
        "",
    ),
    "removals of both": (
        {"status": "done", "depends_on": ["a", "b", "c"]},
        {"status": "done", "depends_on": ["a", "b"]},
        {"status": "done", "depends_on": ["b", "c"]},
        {"status": "done", "depends_on": ["b"]},
        "",
    ),
    "a narrowed scope stays narrow": (
        {"status": "done", "owned_paths": ["/a", "/b"]},
        {"status": "done", "owned_paths": ["/a"]},
        {"status": "done", "owned_paths": ["/a", "/b"]},
        {"status": "done", "owned_paths": ["/a"]},
        "",
    ),
    "another order is no change": (
        {"status": "done", "labels": ["b", "a"]},
        NO,
        {"status": "done", "labels": ["a", "b"]},
        NO,
        "",
    ),
    "a list taken away is an empty one": (
        {"status": "done", "labels": ["a"]},
        {"status": "done"},
        {"status": "done", "labels": ["a"]},
        {"status": "done", "labels": []},
        "",
    ),
    "a list taken away keeps what the other side adds": (
        {"status": "done", "labels": ["a"]},
        {"status": "done"},
        {"status": "done", "labels": ["a", "b"]},
        {"status": "done", "labels": ["b"]},
        "",
    ),
    "a list that becomes something else wins, and is reported": (
        {"status": "done", "labels": ["a"]},
        {"status": "done", "labels": None},
        {"status": "done", "labels": ["a", "b"]},
        {"status": "done", "labels": None},
        "diverged:t.labels",
    ),
    "a list that becomes something else on one side": (
        {"status": "done", "labels": ["a"]},
        {"status": "done", "labels": None},
        {"status": "done", "labels": ["a"]},
        {"status": "done", "labels": None},
        "",
    ),
    "a list that becomes something else beside another change": (
        {"status": "done", "labels": ["a"]},
        {"status": "done", "labels": None},
        {"status": "done", "labels": ["a"], "title": "z"},
        {"status": "done", "labels": None, "title": "z"},
        "",
    ),
    "a list that is emptied beside another change": (
        {"status": "done", "labels": ["a"]},
        {"status": "done", "labels": []},
        {"status": "done", "labels": ["a"], "title": "z"},
        {"status": "done", "labels": [], "title": "z"},
        "",
    ),
    "something else that is taken away beside another change": (
        {"status": "done", "labels": None},
        {"status": "done"},
        {"status": "done", "labels": None, "title": "z"},
        {"status": "done", "title": "z"},
        "",
    ),
    "something else that becomes a list": (
        {"status": "done", "labels": None},
        {"status": "done", "labels": []},
        {"status": "done", "labels": None},
        {"status": "done", "labels": []},
        "",
    ),
    "something else that is taken away": (
        {"status": "done", "labels": None},
        {"status": "done"},
        {"status": "done", "labels": None},
        {"status": "done"},
        "",
    ),
    "something else that stays": (
        {"status": "done", "labels": "x"},
        {"status": "done", "labels": "x"},
        {"status": "done", "labels": "x", "n": 1},
        {"status": "done", "labels": "x", "n": 1},
        "",
    ),
    "dependencies with a condition are told apart": (
        {"status": "done", "depends_on": ["a"]},
        {"status": "done", "depends_on": ["a", {"id": "b", "when": "failed"}]},
        {"status": "done", "depends_on": [{"when": "failed", "id": "b"}, "a", {"id": "b", "when": "done"}]},
        {"status": "done", "depends_on": ["a", {"id": "b", "when": "done"}, {"id": "b", "when": "failed"}]},
        "",
    ),
}


def document(entry: E | None, **top: object) -> bytes:
    return json.dumps({"version": 1, "entries": [] if entry is None else [{"id": "t", **entry}], **top}).encode()


@pytest.mark.parametrize("name", POLICY)
def test_the_right_side_wins(name: str) -> None:
    base, one, other, expected, reports = POLICY[name]
    for a, b in ((one, other), (other, one)):
        done = merge(document(base), document(a), document(b))
        assert not isinstance(done, Refused)
        entries = json.loads(done.data)["entries"]
        assert entries == ([] if expected is None else [{"id": "t", **expected}])
        assert " ".join(f"{report.kind.value}:{report.what}" for report in done.reports) == reports


def test_the_table_is_not_a_small_one() -> None:
    assert len(POLICY) >= 40


def test_every_phase_has_a_rank_of_its_own_and_what_is_unknown_has_one_below_done() -> None:
    assert set(RANK) == {phase.value for phase in Phase}
    assert sorted([*RANK.values(), RANK_UNKNOWN]) == list(range(8))
    assert RANK["done"] == RANK_UNKNOWN + 1
    assert [name for name, _ in sorted(RANK.items(), key=lambda pair: pair[1])] == [
        "cancelled",
        "planned",
        "pending",
        "in_progress",
        "failed",
        "in_review",
        "done",
    ]


# beside the entries: name -> (base, one side, the other, result, reports)
TOP: dict[str, tuple[E, E, E, E, str]] = {
    "generated_at: the later": (
        {"generated_at": "2026-01-01T00:00:00Z"},
        {"generated_at": "2026-01-02T00:00:00Z"},
        {"generated_at": "2026-01-01T23:00:00-02:00"},
        {"generated_at": "2026-01-01T23:00:00-02:00"},
        "",
    ),
    "generated_at: what is no instant comes last": (
        {},
        {"generated_at": "soon"},
        {"generated_at": "2026-01-01T00:00:00Z"},
        {"generated_at": "2026-01-01T00:00:00Z"},
        "",
    ),
    "a key of a newer version is kept": ({}, {"x": 1}, {"y": 2}, {"x": 1, "y": 2}, ""),
    "a key changed on both sides": ({"x": 0}, {"x": 2}, {"x": 1}, {"x": 1}, "diverged:x"),
    "a list beside the entries is one value": (
        {"labels": ["a"]},
        {"labels": ["b", "a"]},
        {"labels": ["a"]},
        {"labels": ["b", "a"]},
        "",
    ),
}


@pytest.mark.parametrize("name", TOP)
def test_the_right_value_stands_beside_the_entries(name: str) -> None:
    base, one, other, expected, reports = TOP[name]
    for a, b in ((one, other), (other, one)):
        done = merge(document(NO, **base), document(NO, **a), document(NO, **b))
        assert not isinstance(done, Refused)
        assert json.loads(done.data) == {"version": 1, "entries": [], **expected}
        assert " ".join(f"{report.kind.value}:{report.what}" for report in done.reports) == reports
