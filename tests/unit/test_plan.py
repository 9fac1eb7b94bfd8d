"""New tasks by example: first entries, task files, the old form, batches."""

import json
from collections.abc import Mapping

import pytest

from repokernel.core.entry import Entry
from repokernel.core.ids import Key
from repokernel.core.plan import IMPORT_ITEMS_MAX, check_batch, first_entry, import_item, parse_import
from tests.unit.builders import NOW, NOW_MS, OUTPUT, entry, problems_of, refusal

GIVEN = {"id": "t1", "title": "A task"}


def new(given: Mapping[str, object] | None = None, *, planned: bool = False, repository: bool = False) -> Entry:
    return first_entry({**GIVEN, **(given or {})}, NOW_MS, planned=planned, repository=repository)


def test_a_new_task_is_pending_and_stamped() -> None:
    assert new() == entry()
    assert (new()["created_at"], new()["updated_at"]) == (NOW, NOW)


def test_a_planned_task_waits_to_be_opened() -> None:
    assert new(planned=True) == entry(status="planned")


def test_what_was_said_is_in_the_entry() -> None:
    given: dict[str, object] = {
        "body": "Text.",
        "epic": "e1",
        "labels": ["ui"],
        "priority": -5,
        "expects": "non_empty",
        "hold": "Wait.",
        "inputs": {"k": [1]},
        "max_attempts": 7,
        "not_before": NOW,
        "check": ["make"],
        "x_new": {"kept": True},
    }
    assert new(given) == entry(**given)


def test_numbers_become_ids() -> None:
    assert new({"id": 7})["id"] == "7"
    assert new({"depends_on": [0, 12, "b", {"id": "c", "when": "failed"}]})["depends_on"] == [
        "0",
        "12",
        "b",
        {"id": "c", "when": "failed"},
    ]
    assert new({"depends_on": [{"id": 3, "when": "failed"}]})["depends_on"] == [{"id": "3", "when": "failed"}]
    assert new({"review_of": 0})["review_of"] == "0"


def test_a_review_expects_no_output_unless_it_says_so() -> None:
    assert new({"review_of": "t0"})["expects"] == "none"
    assert new({"review_of": "t0", "expects": "output"})["expects"] == "output"
    assert new({"review_of": None})["expects"] == "output"


@pytest.mark.parametrize("given", [{"id": None}, {"id": "a/b"}, {"id": ""}, {"id": 1.5}, {"id": True}])
def test_a_task_without_a_good_id_is_refused(given: dict[str, object]) -> None:
    assert refusal(lambda: new(given)).code == "bad_value"


def test_every_bad_field_is_named() -> None:
    bad: dict[str, object] = {
        "title": "",
        "body": 1,
        "epic": "a b",
        "labels": "ui",
        "priority": "high",
        "depends_on": ["a/b"],
        "expects": "all",
        "owned_paths": [""],
        "shared_paths": "x",
        "forbidden_paths": [1],
        "check": "",
        "inputs": [],
        "hold": "",
        "max_attempts": 0,
        "not_before": "soon",
        "review_of": "",
        "schema": "1",
    }
    refused = refusal(lambda: new(bad))
    assert (refused.code, refused.fields["id"]) == ("invalid_task", "t1")
    assert problems_of(refused) == set(bad)


@pytest.mark.parametrize("depends_on", [None, "a", 1, {"id": "a"}, [-1], [True], [1.0], [None]])
def test_dependencies_of_another_form_are_refused(depends_on: object) -> None:
    assert problems_of(refusal(lambda: new({"depends_on": depends_on}))) == {"depends_on"}


def test_a_title_must_be_given() -> None:
    refused = refusal(lambda: first_entry({"id": "t1"}, NOW_MS, planned=False, repository=False))
    assert problems_of(refused) == {"title"}


@pytest.mark.parametrize("schema", [2, 99])
def test_a_task_of_a_newer_schema_is_refused_as_such(schema: int) -> None:
    assert refusal(lambda: new({"schema": schema, "title": ["of", "another", "form"]})).code == "schema_newer"


LOGGED: dict[str, object] = {
    "token": 7,
    "epoch": 1,
    "attempts": 2,
    "claimed_by": ["coder@w1"],
    "completed_by": "coder@w1",
    "output": OUTPUT,
    "notes": [{"at": NOW, "by": "coder@w1", "text": "x"}],
    "question": "Which?",
    "halt": {"reason": "crashed", "at": NOW},
    "last_error": {"code": "x", "detail": "", "at": NOW},
    "branch": "main",
    "base": "b",
    "head": "h",
    "review": {"verdict": "accepted"},
    "landed": {"at": NOW},
    "usage": {"cost": 1},
    "owner": "coder@w1",
    "owned_since": NOW,
    "lease_expires": NOW,
    "completed_at": NOW,
}


@pytest.mark.parametrize("name", sorted(LOGGED))
def test_what_the_log_alone_may_say_is_refused_by_name(name: str) -> None:
    for call in (lambda: new({name: LOGGED[name]}), lambda: import_item({**GIVEN, name: LOGGED[name]}, 0)):
        refused = refusal(call)
        assert refused.code == "invalid_task"
        assert name in problems_of(refused)


@pytest.mark.parametrize("name", ["owned_paths", "shared_paths", "forbidden_paths"])
def test_paths_need_a_repository(name: str) -> None:
    paths: dict[str, object] = {name: ["src"]}
    assert refusal(lambda: new(paths)).code == "no_repository"
    assert new(paths, repository=True) == entry(**paths)


# --- task files


@pytest.mark.parametrize(
    ("data", "items"),
    [
        (b"[]", []),
        (b'[{"id": "a"}]', [{"id": "a"}]),
        (b'\xef\xbb\xbf[{"id": "a"}]\r\n', [{"id": "a"}]),
        (b'{"tasks": [{"id": "a"}], "version": 1}', [{"id": "a"}]),
        (b'{"tasks": []}', []),
    ],
)
def test_a_task_file_is_an_array_or_an_object_with_tasks(data: bytes, items: list[object]) -> None:
    assert parse_import(data) == items


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"[", b"null", b"1", b'"x"', b"{}", b'{"tasks": {}}', b'{"tasks": null}', b"[1]", b'[{"id": "a"}, []]'),
        *(b'[{"id": 1, "id": 2}]', b'[{"x": NaN}]', b'[{"x": 1e999}]', b'[{"x": "\\ud800"}]', b"\xff\xfe[]"),
        *(b"\xef\xbb\xbf\xef\xbb\xbf[]", b"[" * 100_000, b"id: a\ntitle: A"),
        *('[{"id": "a"}]'.encode("utf-16"), b"[" + b"0," * IMPORT_ITEMS_MAX + b"0]"),
    ],
)
def test_any_other_file_is_refused(data: bytes) -> None:
    assert refusal(lambda: parse_import(data)).code == "bad_input"


def test_a_file_may_hold_a_hundred_thousand_tasks() -> None:
    assert IMPORT_ITEMS_MAX == 100_000
    assert len(parse_import(b"[" + b"{}," * (IMPORT_ITEMS_MAX - 1) + b"{}]")) == IMPORT_ITEMS_MAX
    assert refusal(lambda: parse_import(b"[" + b"{}," * IMPORT_ITEMS_MAX + b"{}]")).code == "bad_input"


ITEMS = [
    ({}, {}, False, False),
    ({"status": "pending"}, {}, False, False),
    ({"status": "planned"}, {}, True, False),
    # the old form
    ({"done": False}, {}, False, False),
    ({"done": True}, {}, False, True),
    ({"status": "done"}, {}, False, True),
    ({"status": "done", "done": False}, {}, False, True),
    # fields that nobody has filled in are no claim about the past
    ({"owner": None, "token": 0, "notes": [], "usage": {}, "output": None}, {}, False, False),
    ({"priority": 5, "x_new": [1]}, {"priority": 5, "x_new": [1]}, False, False),
]


@pytest.mark.parametrize(("item", "more", "planned", "was_done"), ITEMS)
def test_an_item_of_a_task_file_is_read(
    item: dict[str, object], more: dict[str, object], planned: bool, was_done: bool
) -> None:
    assert import_item({**GIVEN, **item}, 0) == ({**GIVEN, **more}, planned, was_done)


@pytest.mark.parametrize(
    ("item", "bad"),
    [
        ({"title": "A", "id": "a", "done": "yes"}, {"done"}),
        ({"title": "A", "id": "a", "done": 1}, {"done"}),
        ({"title": "A", "id": "a", "done": None}, {"done"}),
        ({"title": "A", "id": "a", "status": "failed"}, {"status"}),
        ({"title": "A", "id": "a", "status": ["done"]}, {"status"}),
        ({"title": "A", "id": "a", "status": None}, {"status"}),
        ({"title": "A"}, {"id"}),
        ({"done": 0, "status": "in_progress", "token": 3}, {"done", "status", "id", "token"}),
    ],
)
def test_every_bad_field_of_an_item_is_named(item: dict[str, object], bad: set[str]) -> None:
    refused = refusal(lambda: import_item(item, 4))
    assert refused.code == "invalid_task"
    assert problems_of(refused) == bad


def test_the_old_form_becomes_pending_tasks() -> None:
    items = parse_import(json.dumps([{"id": 1, "title": "One", "done": True}, {"id": 2, "title": "Two"}]).encode())
    read = [import_item(item, place) for place, item in enumerate(items)]
    assert [done for _, _, done in read] == [True, False]
    entries = [first_entry(given, NOW_MS, planned=planned, repository=False) for given, planned, _ in read]
    assert entries == [entry(id="1", title="One"), entry(id="2", title="Two")]


# --- batches


def batch(*new: Entry, there: tuple[str, ...] = ()) -> None:
    existing = {Key(key): entry(id=key) for key in there}
    check_batch(new, existing.get)


def test_a_batch_that_fits_together_and_onto_the_board_passes() -> None:
    batch()
    batch(entry(id="a", depends_on=["B", {"id": "old"}]), entry(id="b", depends_on=["OLD"]), there=("old",))
    batch(entry(id="r", review_of="a"), entry(id="a"))
    batch(entry(id="r", review_of="OLD"), there=("old",))


@pytest.mark.parametrize(
    ("new", "code"),
    [
        ([entry(id="a"), entry(id="a")], "id_taken"),
        ([entry(id="a"), entry(id="A")], "id_taken"),
        ([entry(id="a", depends_on=["gone"])], "dependency_unknown"),
        ([entry(id="a", review_of="gone")], "dependency_unknown"),
        ([entry(id="a", depends_on=["a"])], "dependency_cycle"),
        ([entry(id="a", depends_on=["b"]), entry(id="b", depends_on=["A"])], "dependency_cycle"),
        ([entry(id="a", review_of="b"), entry(id="b", depends_on=["a"])], "dependency_cycle"),
        ([entry(id="a", review_of="a")], "dependency_cycle"),
    ],
)
def test_a_batch_that_does_not_fit_is_refused(new: list[Entry], code: str) -> None:
    assert refusal(lambda: batch(*new, there=("old",))).code == code


def test_a_refused_batch_names_who_needs_what() -> None:
    refused = refusal(lambda: batch(entry(id="a", depends_on=["Gone"])))
    assert refused.fields == {"id": "a", "needs": "Gone"}


def test_a_circle_is_named_from_one_task_back_to_it() -> None:
    ring = [entry(id=name, depends_on=[needed]) for name, needed in ("ab", "bc", "ca")]
    assert refusal(lambda: batch(*ring)).fields == {"cycle": ["a", "b", "c", "a"]}
