"""New tasks, one or a file full, on a real board."""

from typing import Any

import pytest

from repokernel.core.errors import error
from repokernel.core.ids import TaskId
from repokernel.core.plan import parse_import
from repokernel.core.times import parse_instant
from repokernel.ops.add import add, import_tasks
from repokernel.ops.history import board_history
from repokernel.ops.log import require_head
from repokernel.ops.query import EVERYTHING, list_tasks
from tests.boards import FIRST, PERSON, START_MS, BoardHere, code_of, refusal
from tests.faulty_store import FaultyStore


def shown(board: BoardHere, name: str) -> dict[str, Any]:
    return dict(require_head(board.another(), TaskId(name)).entry)


def order(board: BoardHere) -> list[str]:
    return [row.entry["id"] for row in list_tasks(board.another(), EVERYTHING).rows]


# one ----------------------------------------------------------------------------------------------


def test_a_task_is_read_back_as_it_was_added(board: BoardHere) -> None:
    given = {
        "id": "T-7.a_b",
        "title": "größer → 漢字",
        "body": "two\nlines",
        "labels": ["a", "b"],
        "priority": -5,
        "inputs": {"topic": 7, "deep": {"x": [1, None]}},
        "expects": "none",
        "max_attempts": 9,
        "epic": "e1",
        "x_unknown": {"kept": True},
    }
    entry = add(board.world, given, PERSON)
    assert shown(board, "T-7.a_b") == entry
    assert {**entry, **given} == entry
    facts = (entry["status"], entry["token"], entry["epoch"], entry["attempts"], entry["owner"])
    assert facts == ("pending", 0, 0, 0, None)
    assert parse_instant(entry["created_at"]) == START_MS


def test_a_planned_task_waits_to_be_opened(board: BoardHere) -> None:
    assert add(board.world, {"title": "t"}, PERSON, planned=True)["status"] == "planned"


def test_tasks_without_an_id_get_different_short_ones(board: BoardHere) -> None:
    names = {add(board.world, {"title": "t"}, PERSON)["id"] for _ in range(20)}
    assert len(names) == 20
    assert max(map(len, names)) == 6


def test_an_id_drawn_twice_is_drawn_again(board: BoardHere) -> None:
    one, other = board.another(seed="same"), board.another(seed="same")
    assert add(one, {"title": "t"}, PERSON)["id"] != add(other, {"title": "t"}, PERSON)["id"]


def test_a_whole_number_becomes_its_text(board: BoardHere) -> None:
    assert add(board.world, {"title": "t", "id": 7}, PERSON)["id"] == "7"


@pytest.mark.parametrize("name", ["t1", "T1"])
def test_an_id_in_use_is_refused_under_any_spelling(board: BoardHere, name: str) -> None:
    board.add("t1")
    before = board.contents()
    found = refusal(lambda: add(board.world, {"title": "other", "id": name}, PERSON))
    assert (found.code, found.fields["taken_by"]) == ("id_taken", "t1")
    assert board.contents() == before


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"title": ""}, "invalid_task"),
        ({"title": "a\nb"}, "invalid_task"),
        ({}, "invalid_task"),
        ({"title": "t", "priority": "high"}, "invalid_task"),
        ({"title": "t", "schema": 2}, "schema_newer"),
        ({"title": "t", "depends_on": ["nowhere"]}, "dependency_unknown"),
        ({"title": "t", "review_of": "nowhere"}, "dependency_unknown"),
        ({"title": "t", "id": "self", "depends_on": ["self"]}, "dependency_cycle"),
        ({"title": "t", "id": "self", "depends_on": [{"id": "SELF"}]}, "dependency_cycle"),
        ({"title": "t", "owned_paths": ["src/**"]}, "no_repository"),
        ({"title": "t", "id": "a/b"}, "bad_value"),
        ({"title": "t", "id": "a.lock"}, "bad_value"),
    ],
)
def test_a_bad_task_is_refused_and_nothing_is_written(board: BoardHere, given: dict[str, object], code: str) -> None:
    before = board.contents()
    assert code_of(lambda: add(board.world, given, PERSON)) == code
    assert board.contents() == before


def test_every_bad_field_is_named(board: BoardHere) -> None:
    found = refusal(lambda: add(board.world, {"title": 7, "priority": None, "labels": "x"}, PERSON))
    problems = found.fields["problems"]
    assert isinstance(problems, dict)
    assert set(problems) == {"title", "priority", "labels"}


def test_adding_again_under_the_same_operation_finds_the_task(board: BoardHere) -> None:
    first = add(board.world, {"title": "t", "id": "t1"}, PERSON, op_id="run-7")
    board.finish()
    assert add(board.another(), {"title": "t", "id": "t1"}, PERSON, op_id="run-7")["created_at"] == first["created_at"]
    assert shown(board, "t1")["status"] == "done"


def test_adding_again_under_the_same_operation_without_an_id_adds_no_second_task(board: BoardHere) -> None:
    first = add(board.world, {"title": "t"}, PERSON, op_id="run-7")
    again = add(board.another(), {"title": "t"}, PERSON, op_id="run-7")
    assert (again["id"], order(board)) == (first["id"], [first["id"]])


def test_of_two_who_add_one_id_at_once_the_first_has_it(board: BoardHere) -> None:
    store = FaultyStore(board.another().store)
    store.before["append"] = [lambda: add(board.world, {"title": "first", "id": "t1"}, PERSON)]
    late = board.another(store)
    assert code_of(lambda: add(late, {"title": "late", "id": "t1"}, PERSON)) == "id_taken"
    assert shown(board, "t1")["title"] == "first"


# many ---------------------------------------------------------------------------------------------


def test_an_import_keeps_the_order_of_the_file(board: BoardHere) -> None:
    items: list[dict[str, object]] = [{"id": f"t{n}", "title": f"task {n}"} for n in (9, 3, 7, 1)]
    items[2]["priority"] = 1
    made = import_tasks(board.world, items, PERSON, output=None)
    assert [entry["id"] for entry in made.added] == ["t9", "t3", "t7", "t1"]
    assert order(board) == ["t7", "t9", "t3", "t1"]


def test_an_import_may_depend_forwards_and_on_the_board(board: BoardHere) -> None:
    board.add("old")
    items: list[dict[str, object]] = [
        {"id": "b", "title": "b", "depends_on": ["c", {"id": "old", "when": "settled"}]},
        {"id": "c", "title": "c"},
    ]
    assert len(import_tasks(board.world, items, PERSON, output=None).added) == 2


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ({"title": "no id"}, "invalid_task"),
        ({"id": "a", "title": "a again"}, "id_taken"),
        ({"id": "A", "title": "a again"}, "id_taken"),
        ({"id": "x", "title": "x", "status": "in_progress"}, "invalid_task"),
        ({"id": "x", "title": "x", "owner": "writer@ann"}, "invalid_task"),
        ({"id": "x", "title": "x", "done": "yes"}, "invalid_task"),
        ({"id": "x", "title": "x", "depends_on": ["nowhere"]}, "dependency_unknown"),
        ({"id": "x", "title": "x", "depends_on": ["y"]}, "dependency_cycle"),
        ({"id": "there", "title": "another title"}, "id_taken"),
        ({"id": "../x", "title": "x"}, "bad_value"),
    ],
)
def test_an_import_with_one_bad_item_writes_nothing(board: BoardHere, bad: dict[str, object], code: str) -> None:
    board.add("there")
    before = board.contents()
    items: list[dict[str, object]] = [
        {"id": "a", "title": "a"},
        bad,
        {"id": "y", "title": "y", "depends_on": ["x"] if bad.get("id") == "x" else []},
    ]
    assert code_of(lambda: import_tasks(board.world, items, PERSON, output=None)) == code
    assert board.contents() == before


def test_repeating_an_import_that_was_cut_short_adds_what_is_missing(board: BoardHere) -> None:
    items = [{"id": f"t{n}", "title": f"task {n}"} for n in range(5)]
    store = FaultyStore(board.another().store)

    def full() -> None:
        raise error("store_full", "no room")

    store.before["append"] = [lambda: None, lambda: None, full]
    world = board.another(store)
    assert code_of(lambda: import_tasks(world, items, PERSON, output=None)) == "store_full"
    made = import_tasks(board.world, items, PERSON, output=None)
    assert ([e["id"] for e in made.added], made.present) == (["t2", "t3", "t4"], ["t0", "t1"])
    assert import_tasks(board.world, items, PERSON, output=None).added == []
    assert len(board_history(board.world)) == 5


def test_two_imports_of_one_file_at_once_add_each_task_once(board: BoardHere) -> None:
    items = [{"id": f"t{n}", "title": f"task {n}"} for n in range(3)]
    store = FaultyStore(board.another().store)
    store.before["append"] = [lambda: import_tasks(board.world, items, PERSON, output=None)]
    import_tasks(board.another(store), items, PERSON, output=None)
    assert len(board_history(board.world)) == 3


# the old form -------------------------------------------------------------------------------------


def old_file(board: BoardHere) -> list[dict[str, object]]:
    board.write("out/a.md", "all of a\n")
    return parse_import(
        b"\xef\xbb\xbf"
        b'[{"id": "a", "title": "A", "done": true}, {"id": "b", "title": "B", "done": true},'
        b' {"id": 3, "title": "C", "done": false}]'
    )


def test_an_old_done_with_nothing_behind_it_becomes_pending_with_a_finding(board: BoardHere) -> None:
    made = import_tasks(board.world, old_file(board), PERSON, output=None)
    assert {entry["id"]: entry["status"] for entry in made.added} == {"a": "pending", "b": "pending", "3": "pending"}
    found = sorted((one["id"], one["code"]) for one in made.findings)
    assert found == [("a", "output_missing"), ("b", "output_missing")]


def test_an_old_done_whose_output_is_there_is_done(board: BoardHere) -> None:
    made = import_tasks(board.world, old_file(board), PERSON, output="out/{id}.md")
    assert {entry["id"]: entry["status"] for entry in made.added} == {"a": "done", "b": "pending", "3": "pending"}
    assert [(one["id"], one["code"]) for one in made.findings] == [("b", "output_missing")]
    output = shown(board, "a")["output"]
    assert (output["bytes"], output["uri"]) == (9, f"file://{board.folder}/out/a.md")
    assert shown(board, "a")["completed_by"] == PERSON


def test_an_import_leaves_alone_what_has_gone_on_since(board: BoardHere) -> None:
    items = old_file(board)
    import_tasks(board.world, items, PERSON, output=None)
    board.finish(TaskId("b"))
    made = import_tasks(board.world, items, PERSON, output=None)
    assert (made.added, made.present) == ([], ["a", "b", "3"])
    assert shown(board, "b")["status"] == "done"


@pytest.mark.parametrize(
    "data",
    [b"", b"[", b'{"id": "a"}', b'["a"]', b'[{"id": "a", "id": "b"}]', b"\xff", b'[{"id": NaN}]', b"[" * 100_000],
)
def test_a_file_that_is_no_list_of_tasks_is_refused(data: bytes) -> None:
    assert code_of(lambda: parse_import(data)) == "bad_input"


def test_paths_are_accepted_where_there_is_a_repository(board: BoardHere) -> None:
    board.world.repository = True
    add(board.world, {"title": "t", "id": FIRST, "owned_paths": ["src/**"]}, PERSON)
    assert shown(board, "t1")["owned_paths"] == ["src/**"]


def test_a_file_that_is_imported_again_is_looked_up_in_one_listing(board: BoardHere) -> None:
    items = [{"id": f"t{number}", "title": "one", "depends_on": ["t0"] if number else []} for number in range(20)]
    import_tasks(board.world, items, PERSON, output=None)
    store = FaultyStore(board.another().store)
    again = import_tasks(
        board.another(store), [*items, {"id": "new", "title": "n", "depends_on": ["t1"]}], PERSON, output=None
    )
    assert (len(again.present), [entry["id"] for entry in again.added]) == (20, ["new"])
    assert (store.calls.count("tops"), store.calls.count("top")) == (1, 0)
