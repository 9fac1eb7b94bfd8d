"""The entry by example: fields, defaults, bad values, contradictions between fields."""

from itertools import product

import pytest

from repokernel.core.entry import (
    FIELDS,
    SPEC_FIELDS,
    checked,
    complete,
    dependencies,
    entry_problems,
    field_problems,
    json_schema,
    line_problem,
    sparse,
    text_problem,
)
from repokernel.core.phase import Cell, Phase
from tests.unit.builders import ANN, LEASE_MS, NOW, NOW_MS, OUTPUT, at, entry, in_cell, problems_of, refusal, some

MUST = {"id", "title", "status", "created_at", "updated_at"}
DEFAULTS = {
    "schema": 1,
    "body": "",
    "epic": None,
    "labels": [],
    "priority": 100,
    "depends_on": [],
    "expects": "output",
    "owned_paths": [],
    "shared_paths": [],
    "forbidden_paths": [],
    "check": None,
    "inputs": {},
    "hold": None,
    "owner": None,
    "owned_since": None,
    "lease_expires": None,
    "token": 0,
    "epoch": 0,
    "attempts": 0,
    "max_attempts": 3,
    "claimed_by": [],
    "completed_by": None,
    "not_before": None,
    "output": None,
    "last_error": None,
    "halt": None,
    "notes": [],
    "question": None,
    "branch": None,
    "base": None,
    "head": None,
    "review": None,
    "landed": None,
    "review_of": None,
    "usage": {},
    "completed_at": None,
}
TIMES = ("owned_since", "lease_expires", "not_before", "created_at", "updated_at", "completed_at")
PATHS = ("owned_paths", "shared_paths", "forbidden_paths")
TEN_MB = "x" * 10_000_000
GOOD: list[tuple[str, object]] = [
    *[("title", text) for text in some("x", "x" * 300, "日本 😀", "a\u00a0b")],
    *[("body", text) for text in some("", "a\tb\r\nc", "x" * 100_000)],
    *[("priority", number) for number in some(-1_000_000_000, 0, 1_000_000_000)],
    *[("depends_on", [item]) for item in some("a", {"id": "a"}, {"id": "a", "when": "accepted"}, "x" * 64)],
    *[("depends_on", [{"id": "a", "when": when}]) for when in some("done", "failed", "settled")],
    *[("expects", word) for word in some("output", "non_empty", "none")],
    *[("check", value) for value in some(None, "make test", ["make", "test"], "two\nlines")],
    *[("inputs", value) for value in some({}, {"k": [1, {"x": None}]})],
    *[("owner", text) for text in some(None, ANN, "coder@w1#blue")],
    *[("token", number) for number in some(0, 2**53 - 1)],
    *[("max_attempts", number) for number in some(1, 2**53 - 1)],
    *[("labels", value) for value in some([], ["ui"], ["x"] * 1000)],
    *[("output", value) for value in some(None, OUTPUT, {**OUTPUT, "files": []}, {**OUTPUT, "etag": "x"})],
    ("output", {**OUTPUT, "files": [{"path": "a", "bytes": 0, "sha256": "0" * 64}]}),
    ("last_error", {"code": "upload_failed", "detail": "", "at": NOW}),
    ("last_error", {"code": "x" * 64, "detail": "two\nlines", "at": NOW}),
    ("halt", {"reason": "needs_input", "at": NOW, "where": "ask", "else": 1}),
    ("notes", [{"at": NOW, "by": ANN, "text": "done soon"}]),
    *[(name, "2026-12-01T09:30:00+01:00") for name in TIMES],
]

BAD: list[tuple[str, object]] = [
    *[("schema", value) for value in some(0, 2, True, "1", None)],
    *[("id", value) for value in some(None, 1, "", "a/b", "a..b", "a.lock", "con", "x" * 65)],
    *[
        ("title", value)
        for value in some(None, 1, "", "  ", "x" * 301, TEN_MB, "a\nb", "a\x00", "\x1b[31m", "a\u2028b")
    ],
    *[("title", value) for value in some("a\u2029b", "a\x85b", "\ud800", "a\x7f", ["a"])],
    *[
        ("body", value)
        for value in some(None, 1, "a\x00b", "\x1b]0;x\x07", "a\x0bb", "\udfff", "a\x9fb", "x" * 100_001)
    ],
    *[("epic", value) for value in some(1, "", "a b", "a/b")],
    *[("labels", value) for value in some(None, "ui", ["ui", ""], [1], ["a\nb"], ["x"] * 1001, {"ui": True})],
    *[("priority", value) for value in some(None, "1", 1.0, True, -1_000_000_001, 1_000_000_001)],
    *[("depends_on", value) for value in some(None, "a", {"id": "a"}, [None], [1], [""], ["a/b"], [["a"]])],
    *[
        ("depends_on", [value])
        for value in some({}, {"when": "done"}, {"id": "a", "when": "Done"}, {"id": "a", "x": 1})
    ],
    *[("depends_on", [{"id": "a", "when": value}]) for value in some(None, [], "", "ready")],
    *[("depends_on", [{"id": value}]) for value in some(None, [], 1, "a/b")],
    *[("expects", value) for value in some(None, "", "Output", 1, [], {})],
    *[(name, value) for name in PATHS for value in some(None, "src", [""], [1], ["a\nb"], ["x" * 4097])],
    *[("check", value) for value in some("", "  ", 1, [], [""], [1], ["make", "a\nb"], {}, "a\x00", False)],
    *[("inputs", value) for value in some(None, [], "x", 1)],
    *[("hold", value) for value in some("", 1, "a\nb", "x" * 301, False)],
    *[("status", value) for value in some(None, "", "Done", "claimed", 1, [], {})],
    *[("owner", value) for value in some("", "coder", "coder@", 1, ["coder@w1"], False)],
    *[
        (name, value)
        for name in TIMES
        for value in some("", "now", 1, True, "2026-12-01", "2026-02-30T00:00:00Z", [NOW])
    ],
    *[(name, value) for name in ("token", "epoch", "attempts") for value in some(None, -1, 2**53, 1.0, "1", True)],
    *[("max_attempts", value) for value in some(None, 0, -1, 2**53, "3", True)],
    *[("claimed_by", value) for value in some(None, ANN, [""], [None], ["coder"])],
    *[("completed_by", value) for value in some("", "coder", 1)],
    *[("output", value) for value in some("file:x", [], {}, {**OUTPUT, "uri": ""}, {**OUTPUT, "uri": 1})],
    *[("output", {**OUTPUT, "uri": value}) for value in some("a\nb", "x" * 4097, None)],
    *[("output", {**OUTPUT, "bytes": value}) for value in some(None, -1, 1.0, True, "5", 2**53)],
    *[("output", {**OUTPUT, "sha256": value}) for value in some(None, "", "5A" * 32, "5a" * 31, "5a" * 32 + "\n", 1)],
    *[("output", {**OUTPUT, "written_at": value}) for value in some(None, "now", 1)],
    *[("output", {**OUTPUT, "files": value}) for value in some(None, {}, ["a"], [{"path": "a"}], [{**OUTPUT}])],
    *[("last_error", value) for value in some("x", [], {}, {"code": "x"}, {"code": "X", "detail": "", "at": NOW})],
    *[
        ("last_error", {"code": value, "detail": "", "at": NOW})
        for value in some(None, "", "1x", "x" * 65, "a b", [], 1)
    ],
    *[("last_error", {"code": "x", "detail": value, "at": NOW}) for value in some(None, 1, "\x1b[0m", "\ud800")],
    ("last_error", {"code": "x", "detail": "", "at": "now"}),
    *[("halt", value) for value in some("held", [], {}, {"reason": "held"}, {"reason": "held", "at": "now"})],
    *[("halt", {"reason": value, "at": NOW}) for value in some(None, "", "tired", [], {}, 1)],
    # reasons of a run never belong to a task
    *[("halt", {"reason": value, "at": NOW}) for value in some("limit_reached", "nothing_ready", "drained")],
    *[("notes", value) for value in some(None, {}, ["x"], [{}], [{"at": NOW, "by": ANN}], [{"at": NOW, "text": "x"}])],
    *[("notes", [{"at": NOW, "by": value, "text": "x"}]) for value in some("", "me", 1)],
    *[("notes", [{"at": value, "by": ANN, "text": "x"}]) for value in some("", "now", 1)],
    *[("question", value) for value in some(1, [], "\x1b[31m")],
    *[(name, value) for name in ("branch", "base", "head") for value in some("", 1, "a\nb")],
    *[(name, value) for name in ("review", "landed") for value in some("", 1, [])],
    *[("review_of", value) for value in some("", 1, "a/b")],
    *[("usage", value) for value in some(None, 1, [])],
    # what JSON can't hold can't be written down later either
    *[("inputs", {"k": value}) for value in some(float("nan"), float("inf"), "\ud800", {1, 2}, b"x")],
    *[("inputs", value) for value in some({1: "x"}, {"k": {None: 1}}, {"\udfff": 1})],
    ("usage", {"cost": float("nan")}),
    ("review", {"k": float("inf")}),
    ("landed", {"k": "\ud800"}),
]


@pytest.mark.parametrize(("name", "value"), GOOD)
def test_a_good_value_is_no_problem(name: str, value: object) -> None:
    assert field_problems({**entry(), name: value}) == {}


@pytest.mark.parametrize(("name", "value"), [pytest.param(n, v, id=f"{n}-{i}") for i, (n, v) in enumerate(BAD)])
def test_a_bad_value_is_named_by_its_field_in_one_short_line(name: str, value: object) -> None:
    problems = field_problems({**entry(), name: value})
    assert set(problems) == {name}
    assert len(problems[name]) < 200
    assert problems[name].isprintable()


def test_every_field_has_a_bad_value_in_the_table() -> None:
    assert {name for name, _ in BAD} == set(FIELDS)


def test_every_bad_field_is_named_at_once() -> None:
    state = {**entry(), "title": "", "priority": "high", "token": -1}
    del state["created_at"]
    assert set(field_problems(state)) == {"title", "priority", "token", "created_at"}
    refused = refusal(lambda: checked(complete(state)))
    assert (refused.code, problems_of(refused)) == (
        "invalid_task",
        {"title", "priority", "token", "created_at"},
    )


def test_an_empty_state_lacks_what_has_no_default() -> None:
    assert set(field_problems({})) == MUST


def test_the_defaults_are_those_of_the_design() -> None:
    whole: dict[str, object] = {**complete({})}
    assert whole == DEFAULTS
    assert set(FIELDS) == MUST | set(DEFAULTS)


def test_a_stored_state_leaves_out_what_is_at_its_default() -> None:
    state = {"id": "t1", "title": "A task", "status": "pending", "created_at": NOW, "updated_at": NOW, "x_new": None}
    assert sparse(complete(state)) == state


@pytest.mark.parametrize(
    ("name", "value"), [("x_new", None), ("x_new", 0), ("x_new", {"deep": [1]}), ("Title", "twice")]
)
def test_an_unknown_field_is_kept_and_no_problem(name: str, value: object) -> None:
    state: dict[str, object] = {**sparse(entry()), name: value}
    assert entry_problems(complete(state)) == {}
    assert sparse(complete(state))[name] == value


OWNED = {"owner": ANN, "owned_since": NOW, "lease_expires": at(NOW_MS + LEASE_MS)}


@pytest.mark.parametrize("phase", list(Phase))
def test_only_what_is_in_progress_or_in_review_has_an_owner(phase: Phase) -> None:
    done = {"output": OUTPUT, "completed_at": NOW} if phase is Phase.DONE else {}
    problems = entry_problems(entry(status=phase.value, token=1, **OWNED, **done))
    assert set(problems) == (set() if phase in ("in_progress", "in_review") else {"owner"})


@pytest.mark.parametrize("there", [t for t in product([True, False], repeat=3) if any(t) and not all(t)])
def test_owner_since_and_lease_are_set_together(there: tuple[bool, ...]) -> None:
    some = {name: value for (name, value), wanted in zip(OWNED.items(), there, strict=True) if wanted}
    assert set(entry_problems(entry(status="in_progress", token=1, **some))) == {"owner"}


@pytest.mark.parametrize(
    ("changes", "bad"),
    [
        ({"status": "in_progress", **OWNED}, {"token"}),
        ({"status": "in_progress", **OWNED, "token": 1}, set()),
        ({"status": "in_progress"}, set()),
        ({"status": "done", "completed_at": NOW}, {"output"}),
        ({"status": "done", "completed_at": NOW, "expects": "non_empty"}, {"output"}),
        ({"status": "done", "completed_at": NOW, "expects": "none"}, set()),
        ({"status": "done", "completed_at": NOW, "output": OUTPUT}, set()),
        ({"status": "done", "output": OUTPUT}, {"completed_at"}),
        ({"status": "done"}, {"output", "completed_at"}),
        ({"completed_at": NOW}, {"completed_at"}),
        ({"status": "failed", "completed_at": NOW}, {"completed_at"}),
        ({"status": "planned", **OWNED}, {"owner", "token"}),
        # a bad field hides contradictions: they can't be judged
        ({"status": "done", "title": ""}, {"title"}),
    ],
)
def test_fields_that_contradict_each_other_are_named(changes: dict[str, object], bad: set[str]) -> None:
    assert set(entry_problems(entry(**changes))) == bad


@pytest.mark.parametrize("cell", list(Cell))
def test_each_cell_of_the_table_has_a_valid_entry(cell: Cell) -> None:
    there = in_cell(cell)
    assert checked(there) is there


@pytest.mark.parametrize(
    ("depends_on", "pairs"),
    [
        ([], []),
        (["a", {"id": "b"}, {"id": "C", "when": "settled"}], [("a", "done"), ("b", "done"), ("C", "settled")]),
    ],
)
def test_a_dependency_waits_for_done_unless_it_says_otherwise(
    depends_on: list[object], pairs: list[tuple[str, str]]
) -> None:
    assert dependencies(entry(depends_on=depends_on)) == pairs


@pytest.mark.parametrize(("text", "fits"), [("x" * 5, True), ("x" * 6, False)])
def test_a_line_has_the_length_that_the_caller_allows(text: str, fits: bool) -> None:
    assert (line_problem(text, 5) is None) is fits


@pytest.mark.parametrize("value", [None, 5, b"x", ["x"]])
def test_only_a_text_is_a_text(value: object) -> None:
    assert line_problem(value)
    assert text_problem(value)


def test_the_specification_is_what_is_to_be_done_and_nothing_that_records_alone_change() -> None:
    assert set(SPEC_FIELDS) == {
        *("id", "title", "body", "epic", "labels", "depends_on", "expects", "owned_paths", "shared_paths"),
        *("forbidden_paths", "check", "inputs", "max_attempts", "review_of"),
    }


def test_the_json_schema_names_every_field_and_allows_others() -> None:
    schema = json_schema()
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert set(properties) == set(FIELDS) == set(schema["required"])  # type: ignore[call-overload]
    assert schema["additionalProperties"] is True
    assert {name: said["default"] for name, said in properties.items() if "default" in said} == DEFAULTS
    assert all({"type", "const", "enum"} & set(said) for said in properties.values())
    assert all("type" in said["items"] for said in properties.values() if said.get("type") == "array")
