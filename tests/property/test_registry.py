"""The laws of the registry's join, on registries so narrow that ties, removals and regressions are common.

They also hold for a wrong order of statuses: which side wins is the business of `tests/unit/test_registry_policy.py`.
"""

import json

from hypothesis import given, settings, strategies as st
from hypothesis.strategies import SearchStrategy

from repokernel.core.registry import Registry, read
from repokernel.core.registry_fields import RANK, RANK_UNKNOWN
from repokernel.core.registry_join import Report
from repokernel.core.registry_merge import Merged, merge
from tests.property.strategies import json_values

Entry = dict[str, object]
Sides = tuple[bytes, bytes, bytes, bytes]
Height = tuple[int, int]

# 300 where the profile asks for as many, 10,000 at night
EXAMPLES = settings().max_examples
LAW = settings(max_examples=min(EXAMPLES, 300) if EXAMPLES < 5000 else 10_000)

IDS: tuple[str | int, ...] = ("a", "b", "A", 1, "1")
STATUSES: SearchStrategy[object] = st.sampled_from(
    ["cancelled", "planned", "pending", "in_progress", "failed", "in_review", "done", "odd", "x"]
)
LEASES: SearchStrategy[object] = st.sampled_from([None, "2026-01-01T10:00:00Z", "2026-01-01T11:00:00+02:00", "soon", 7])
NEAR: SearchStrategy[object] = st.sampled_from([1, True, 1.0, "1", None, 0, False, [1], [True]])
LISTS: SearchStrategy[object] = st.lists(st.sampled_from(["u", "v", 1, True]), max_size=2) | st.sampled_from(
    ["u", None]
)
TOP_LISTS: SearchStrategy[object] = st.sampled_from([["b", "a"], ["a"]])
FIELDS: dict[str, SearchStrategy[object]] = {
    "status": STATUSES,
    "epoch": st.integers(0, 2),
    "owner": st.sampled_from([None, "a@1", "b@2"]),
    "lease_expires": LEASES,
    "attempts": st.sampled_from([0, 1, 2, 2.0, 1.5, "many", None]),
    "title": NEAR,
    "labels": LISTS,
    "x_new": NEAR,
}
GONE = object()


@st.composite
def edited(draw: st.DrawFn, base: dict[str | int, Entry]) -> dict[str | int, Entry]:
    """A side: of each entry of the base the same, an edited one, or nothing, and some new ones."""
    side: dict[str | int, Entry] = {}
    for name in IDS:
        what = draw(st.sampled_from(["same", "same", "edit", "edit", "gone" if name in base else "new"]))
        if what == "gone" or (what == "same" and name not in base):
            continue
        entry = dict(base.get(name) or {"id": name, "status": draw(STATUSES)})
        for field in draw(st.lists(st.sampled_from(list(FIELDS)), max_size=3)) if what != "same" else ():
            value = draw(FIELDS[field] if field == "status" else FIELDS[field] | st.just(GONE))
            entry.pop(field, None) if value is GONE else entry.update({field: value})
        side[name] = entry
    return side


def document(entries: dict[str | int, Entry], top: Entry, order: list[str | int]) -> bytes:
    listed = [entries[name] for name in order if name in entries]
    return json.dumps({"version": 1, "entries": listed, **top}).encode()


@st.composite
def sides(draw: st.DrawFn) -> Sides:
    """A base (perhaps none) and three branches."""
    tops: SearchStrategy[Entry] = st.fixed_dictionaries(
        {}, optional={"x": NEAR, "generated_at": LEASES, "labels": TOP_LISTS}
    )
    orders = st.permutations(IDS)
    before = draw(edited({}))
    drawn = [draw(edited(before)) for _ in range(3)]
    base = document(before, draw(tops), draw(orders)) if draw(st.integers(0, 4)) else b""
    one, two, three = (document(side, draw(tops), draw(orders)) for side in drawn)
    return base, one, two, three


def done(base: bytes, a: bytes, b: bytes) -> tuple[bytes, tuple[Report, ...]]:
    merged = merge(base, a, b)
    assert isinstance(merged, Merged)
    return merged.data, merged.reports


def entries(data: bytes) -> dict[str | int, Entry]:
    found = read(data)
    assert isinstance(found, Registry)
    assert found.again == ()
    return {name: dict(entry) for name, entry in found.entries.items()}


def height(entry: Entry) -> Height:
    epoch = entry.get("epoch", 0)
    assert isinstance(epoch, int)
    return epoch, RANK.get(str(entry["status"]), RANK_UNKNOWN)


@LAW
@given(sides())
def test_the_order_of_the_sides_makes_no_difference(given_sides: Sides) -> None:
    base, a, b, _ = given_sides
    assert done(base, a, b) == done(base, b, a)


@LAW
@given(sides())
def test_branches_of_one_base_agree_in_any_order(given_sides: Sides) -> None:
    base, a, b, c = given_sides
    results = {done(base, done(base, one, two)[0], three)[0] for one, two, three in ((a, b, c), (b, c, a), (c, a, b))}
    assert len(results) == 1


@LAW
@given(sides())
def test_merging_a_result_with_itself_or_one_of_its_sides_gives_the_result(given_sides: Sides) -> None:
    base, a, b, _ = given_sides
    result = done(base, a, b)[0]
    assert done(base, result, result)[0] == result
    assert done(base, result, a)[0] == result
    assert done(base, b, result)[0] == result


@LAW
@given(sides())
def test_nothing_that_a_side_added_or_progressed_is_lost(given_sides: Sides) -> None:
    base, a, b, _ = given_sides
    before, after = entries(base) if base else {}, entries(done(base, a, b)[0])
    for side in (entries(a), entries(b)):
        for name, entry in side.items():
            if name not in before or height(entry) > height(before[name]):
                assert name in after
                assert height(after[name]) >= height(entry)


@LAW
@given(sides())
def test_no_epoch_and_no_progress_is_lowered(given_sides: Sides) -> None:
    base, a, b, _ = given_sides
    before, after = entries(base) if base else {}, entries(done(base, a, b)[0])
    for name, entry in after.items():
        heights = [height(side[name]) for side in (before, entries(a), entries(b)) if name in side]
        assert height(entry) == max(heights)


@LAW
@given(sides())
def test_no_entry_and_no_value_comes_from_nowhere(given_sides: Sides) -> None:
    base, a, b, _ = given_sides
    known = [entries(a), entries(b), entries(base) if base else {}]
    for name, entry in entries(done(base, a, b)[0]).items():
        assert name in known[0] or name in known[1]
        for field, value in entry.items():
            given_values = [json.dumps(side[name][field]) for side in known if name in side and field in side[name]]
            assert field == "labels" or json.dumps(value) in given_values


@LAW
@given(sides(), st.dictionaries(st.sampled_from(["x_1", "x_2", "notes"]), json_values, min_size=1))
def test_fields_that_this_version_does_not_know_are_kept(given_sides: Sides, unknown: dict[str, object]) -> None:
    base, a, b, _ = given_sides
    side = json.loads(a)
    for entry in side["entries"]:
        entry.update(unknown)
    after = entries(done(base, json.dumps(side | {"x_top": unknown}).encode(), b)[0])
    merged = json.loads(done(base, json.dumps(side | {"x_top": unknown}).encode(), b)[0])
    assert merged["x_top"] == unknown
    for entry in side["entries"]:
        assert {field: after[entry["id"]][field] for field in unknown} == unknown


@LAW
@given(st.binary(max_size=40) | json_values.map(lambda value: json.dumps(value).encode()), sides())
def test_any_bytes_at_all_are_a_registry_or_refused_with_a_sentence(data: bytes, given_sides: Sides) -> None:
    base, a, _, _ = given_sides
    for outcome in (merge(base, data, a), merge(base, a, data)):
        assert isinstance(outcome, Merged) or (outcome.message and "\n" not in outcome.message)
    assert isinstance(merge(data, a, a), Merged)
