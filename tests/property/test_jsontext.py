"""Laws of JSON text."""

import json
import math

from hypothesis import given, strategies as st

from repokernel.core.jsontext import canonical, parse
from tests.property.strategies import json_objects, json_values
from tests.unit.builders import is_value_error


def same(one: object, other: object) -> bool:
    """Equality that tells 1 from 1.0 and from true, and 0.0 from -0.0."""
    return repr(one) == repr(other)


def ordered(value: object) -> object:
    """The value with its keys in order, inside too."""
    match value:
        case dict():
            return {key: ordered(value[key]) for key in sorted(value)}
        case list():
            return [ordered(item) for item in value]
        case _:
            return value


@given(json_values)
def test_what_is_written_is_read_back(value: object) -> None:
    assert same(parse(canonical(value)), ordered(value))


@given(json_values)
def test_any_other_writer_is_read_and_written_in_the_one_form(value: object) -> None:
    for data in (json.dumps(value), json.dumps(value, indent=3, ensure_ascii=False)):
        assert canonical(parse(data.encode())) == canonical(value)


@given(json_objects, st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(value: dict[str, object], random: object) -> None:
    keys = list(value)
    random.shuffle(keys)  # type: ignore[attr-defined]
    assert canonical({key: value[key] for key in keys}) == canonical(value)


@given(json_values)
def test_a_text_is_one_line(value: object) -> None:
    data = canonical(value)
    assert data.endswith(b"\n")
    assert data.count(b"\n") == 1


@given(st.binary(max_size=30) | st.text('{}[]":,0123456789.eE+-tfnaul\\ud8NI ', max_size=30).map(str.encode))
def test_bytes_are_a_value_that_can_be_written_or_refused(data: bytes) -> None:
    if not is_value_error(lambda: parse(data)):
        assert parse(canonical(parse(data))) == parse(data)


@given(json_objects.filter(bool), st.data())
def test_a_key_that_stands_twice_is_refused(value: dict[str, object], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(value)))
    body = canonical(value).strip()[:-1]
    twice = body + b"," + canonical(key).strip() + b":null}"
    assert is_value_error(lambda: parse(twice))
    assert is_value_error(lambda: parse(b"[" + twice + b"]"))


@given(json_objects, st.sampled_from([math.nan, math.inf, -math.inf, "\ud800", "a\udfff"]), st.booleans())
def test_what_json_cannot_hold_is_not_written(value: dict[str, object], bad: object, inside: bool) -> None:
    assert is_value_error(lambda: canonical({**value, "bad": [bad] if inside else bad}))


@given(json_values, st.data())
def test_a_text_that_is_cut_short_is_refused(value: object, data: st.DataObject) -> None:
    whole = canonical({"value": value}).strip()
    cut = data.draw(st.integers(0, len(whole) - 1))
    assert is_value_error(lambda: parse(whole[:cut]))
