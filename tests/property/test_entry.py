"""Laws of the entry."""

import re

from hypothesis import given, strategies as st

from repokernel.core.entry import (
    FIELDS,
    Entry,
    complete,
    dependencies,
    entry_problems,
    field_problems,
    json_schema,
    line_problem,
    sparse,
    text_problem,
)
from repokernel.core.jsontext import canonical, parse
from tests.property.strategies import any_text, entries, json_values, lines, paragraphs
from tests.unit.builders import entry

JSON_TYPE = {str: "string", int: "integer", dict: "object", list: "array", type(None): "null", bool: "boolean"}


@given(entries)
def test_what_is_drawn_is_valid(one: Entry) -> None:
    assert entry_problems(one) == {}


@given(entries)
def test_what_is_stored_is_the_whole_entry(one: Entry) -> None:
    stored = sparse(one)
    assert complete(stored) == one
    assert sparse(complete(stored)) == stored


@given(entries)
def test_an_entry_is_json(one: Entry) -> None:
    assert parse(canonical(one)) == one


@given(st.sampled_from(sorted(FIELDS)), json_values | any_text)
def test_any_value_of_a_field_is_good_or_named_and_never_a_crash(name: str, value: object) -> None:
    problems = field_problems({**entry(), name: value})
    assert set(problems) <= {name}


@given(
    st.sampled_from(["output", "last_error", "halt", "notes", "depends_on", "review", "check"]),
    st.dictionaries(
        st.sampled_from(
            [
                "id",
                "when",
                "uri",
                "bytes",
                "sha256",
                "written_at",
                "files",
                "code",
                "detail",
                "at",
                "reason",
                "by",
                "text",
            ]
        ),
        json_values,
        max_size=4,
    ),
    st.booleans(),
)
def test_any_object_in_a_field_is_good_or_named_and_never_a_crash(
    name: str, value: dict[str, object], in_list: bool
) -> None:
    problems = field_problems({**entry(), name: [value] if in_list else value})
    assert set(problems) <= {name}


@given(st.dictionaries(st.sampled_from(sorted(FIELDS)), json_values, max_size=4))
def test_bad_fields_are_named_together_as_each_alone(changes: dict[str, object]) -> None:
    together = field_problems({**entry(), **changes})
    alone = {name for name, value in changes.items() if field_problems({**entry(), name: value})}
    assert set(together) == alone


@given(st.dictionaries(st.sampled_from(sorted(FIELDS)), json_values, max_size=3))
def test_any_state_is_judged_and_never_a_crash(state: dict[str, object]) -> None:
    missing = {"id", "title", "status", "created_at", "updated_at"} - set(state)
    assert missing <= set(entry_problems(complete(state)))


@given(any_text)
def test_a_text_for_people_holds_no_control_characters(text: str) -> None:
    controls = re.search("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]", text)
    assert (line_problem(text) is None) is (bool(text.strip()) and controls is None)
    within = re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]", text)
    assert (text_problem(text) is None) is (within is None)


@given(lines, paragraphs)
def test_what_can_be_written_for_people_can_be_written_as_json(line: str, paragraph: str) -> None:
    assert line_problem(line) is None
    assert text_problem(paragraph) is None
    assert parse(canonical([line, paragraph])) == [line, paragraph]


@given(entries)
def test_there_is_one_pair_for_each_dependency(one: Entry) -> None:
    assert [name for name, _ in dependencies(one)] == [
        item if isinstance(item, str) else item["id"] for item in one["depends_on"]
    ]


def conforms(value: object, schema: dict[str, object]) -> bool:
    """Whether a value fits the few words of JSON Schema that ours uses."""
    assert set(schema) <= {"type", "const", "enum", "minimum", "maxLength", "pattern", "items", "format", "default"}
    types = schema.get("type", [JSON_TYPE[type(value)]])
    items = schema.get("items", {})
    assert isinstance(items, dict)
    return (
        JSON_TYPE[type(value)] in (types if isinstance(types, list) else [types])
        and value == schema.get("const", value)
        and value in schema.get("enum", [value])  # type: ignore[operator]
        and (not isinstance(value, int) or value >= schema.get("minimum", value))  # type: ignore[operator]
        and (not isinstance(value, str) or len(value) <= schema.get("maxLength", len(value)))  # type: ignore[operator]
        and (not isinstance(value, str) or re.search(str(schema.get("pattern", "")), value) is not None)
        and (not isinstance(value, list) or all(conforms(item, items) for item in value))
    )


@given(entries)
def test_a_valid_entry_fits_the_json_schema(one: Entry) -> None:
    properties = json_schema()["properties"]
    assert isinstance(properties, dict)
    assert [name for name, said in properties.items() if not conforms({**one}[name], said)] == []
