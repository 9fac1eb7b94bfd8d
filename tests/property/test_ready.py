"""Laws of readiness, against a slow model that looks at the whole board again and again."""

from itertools import pairwise

from hypothesis import given, strategies as st

from repokernel.core.ids import Key
from repokernel.core.phase import SETTLED_PHASES, Cell
from repokernel.core.ready import Outlook, View, blockers, cycle, in_order, needs, outlooks, verdict_on
from tests.unit.boards import board, review, task
from tests.unit.builders import NOW_MS, OUTPUT, at, entry, in_cell

NAMES = ["a", "b", "c", "d", "e", "f"]
WHENS = ["done", "accepted", "failed", "settled"]
KINDS: list[tuple[Cell, dict[str, object]]] = [
    (Cell.PENDING, {}),
    (Cell.PENDING, {"not_before": at(NOW_MS + 1)}),
    (Cell.PENDING, {"attempts": 3}),
    (Cell.PENDING, {"review_of": "a"}),
    (Cell.PLANNED, {}),
    (Cell.HELD, {}),
    (Cell.HALTED, {}),
    (Cell.ORPHAN, {"hold": "Wait."}),
    (Cell.DONE, {}),
    (Cell.FAILED, {}),
]

graphs = st.dictionaries(
    st.sampled_from(NAMES),
    st.tuples(
        st.sampled_from(KINDS),
        st.lists(
            st.builds(lambda name, when: {"id": name, "when": when}, st.sampled_from(NAMES), st.sampled_from(WHENS)),
            max_size=3,
        ),
    ),
    min_size=1,
)
orders = st.permutations(NAMES)
Graph = dict[str, tuple[tuple[Cell, dict[str, object]], list[dict[str, str]]]]


def view_of(graph: Graph, order: list[str]) -> View:
    tasks = {name: task(name, *needed, cell=cell, **fields) for name, ((cell, fields), needed) in graph.items()}
    return board(*(tasks[name] for name in order if name in tasks))


def open_needs(view: View, key: Key) -> set[Key]:
    """The open tasks that an open task waits for; one that is held waits for nothing but its holder."""
    if view.cell(view.entries[key]) is Cell.HELD:
        return set()
    there = {needed for needed, _ in needs(view.entries[key]) if needed in view.entries}
    return {needed for needed in there if view.entries[needed]["status"] not in SETTLED_PHASES}


def in_circle(view: View, key: Key) -> bool:
    """Whether a task waits for itself in the end."""
    seen: set[Key] = set()
    todo = open_needs(view, key)
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            todo |= open_needs(view, one)
    return key in seen


def model(view: View) -> dict[Key, Outlook]:
    """What each task waits for: starts from nothing known and grows until nothing changes."""
    keys = list(view.entries)
    seen = {key: Outlook.NEVER if in_circle(view, key) else Outlook.READY for key in keys}
    for key in keys:
        if view.entries[key]["status"] in SETTLED_PHASES:
            seen[key] = Outlook.SETTLED
    for _ in keys:
        for key in keys:
            found = blockers(view, view.entries[key], seen)
            held = view.cell(view.entries[key]) is Cell.HELD
            seen[key] = Outlook.WORKER if held else max([seen[key], *(blocker.outlook for blocker in found)])
    return seen


@given(graphs, orders)
def test_the_outlook_of_each_task_is_that_of_the_slow_model(graph: Graph, order: list[str]) -> None:
    view = view_of(graph, order)
    assert outlooks(view) == model(view)


@given(graphs, orders, orders)
def test_the_order_of_the_board_does_not_matter(graph: Graph, one: list[str], other: list[str]) -> None:
    assert outlooks(view_of(graph, one)) == outlooks(view_of(graph, other))


@given(graphs, orders)
def test_a_task_is_ready_exactly_where_nothing_blocks_it(graph: Graph, order: list[str]) -> None:
    view = view_of(graph, order)
    seen = outlooks(view)
    for key, one in view.entries.items():
        found = blockers(view, one, seen)
        assert (seen[key] is Outlook.READY) is (not found)
        assert (seen[key] is Outlook.SETTLED) is (one["status"] in SETTLED_PHASES)


@given(graphs, orders)
def test_a_task_is_never_nearer_than_what_it_waits_for(graph: Graph, order: list[str]) -> None:
    view = view_of(graph, order)
    seen = outlooks(view)
    for key in view.entries:
        if seen[key] is not Outlook.SETTLED:
            assert all(seen[needed] <= seen[key] or seen[key] is Outlook.WORKER for needed in open_needs(view, key))
            assert not open_needs(view, key) or seen[key] >= Outlook.WORKER


edges = st.dictionaries(
    st.sampled_from(NAMES).map(Key), st.lists(st.sampled_from([*NAMES, "gone"]).map(Key), max_size=3)
)


@given(edges)
def test_a_circle_is_found_exactly_where_there_is_one(graph: dict[Key, list[Key]]) -> None:
    left = dict(graph)
    for _ in graph:  # take away whatever needs nothing that is left
        left = {key: needed for key, needed in left.items() if any(name in left for name in needed)}
    circle = cycle(graph)
    assert (circle is not None) is bool(left)
    if circle is not None:
        assert circle[0] == circle[-1]
        assert len(set(circle)) == len(circle) - 1
        assert all(after in graph[before] for before, after in pairwise(circle))


rows = st.lists(st.tuples(st.integers(-1, 1), st.integers(0, 2), st.sampled_from(NAMES)), max_size=6)


@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_offers_is_total_and_does_not_depend_on_where_it_started(
    said: list[tuple[int, int, str]], random: object
) -> None:
    tasks = [entry(id=name, priority=number, created_at=at(NOW_MS + age)) for number, age, name in said]
    ordered = in_order(tasks)
    random.shuffle(tasks)  # type: ignore[attr-defined]
    assert in_order(tasks) == ordered
    assert [(one["priority"], one["created_at"], one["id"]) for one in ordered] == sorted(
        (number, at(NOW_MS + age), name) for number, age, name in said
    )


verdicts = st.lists(
    st.tuples(
        st.sampled_from(["accepted", "changes_requested", "rejected"]),
        st.integers(0, 2),
        st.sampled_from([{}, {"token": 3}, {"epoch": 1}, {"sha256": None}]),
    ),
    max_size=4,
)


@given(verdicts, st.randoms(use_true_random=False))
def test_the_newest_bound_verdict_counts_whatever_the_order(
    said: list[tuple[str, int, dict[str, object]]], random: object
) -> None:
    work = in_cell(Cell.DONE, id="a", output=OUTPUT)
    reviews = [
        review(f"r{place}", work, verdict, at(NOW_MS + age), **bound)
        for place, (verdict, age, bound) in enumerate(said)
    ]
    counts = [(age, verdict) for verdict, age, bound in said if not bound]
    random.shuffle(reviews)  # type: ignore[attr-defined]
    assert verdict_on(work, reviews) == (max(counts)[1] if counts else None)
