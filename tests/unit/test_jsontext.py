"""JSON text by example: one form out, strict reading in."""

from collections.abc import Callable

import pytest

from repokernel.core.jsontext import canonical, parse
from tests.unit.builders import is_value_error

CANONICAL = [
    (None, b"null\n"),
    ({}, b"{}\n"),
    ({"b": 1, "a": [1, 2.5, True, None]}, b'{"a":[1,2.5,true,null],"b":1}\n'),
    ({"é": "\u2028", "z": "a\nb\x7f"}, '{"z":"a\\nb\x7f","é":"\u2028"}\n'.encode()),
    ("😀", '"😀"\n'.encode()),
]

STRICT = [
    pytest.param(b"", id="nothing"),
    pytest.param(b"  ", id="blank"),
    pytest.param(b'{"a":1', id="cut short"),
    pytest.param(b'{"a":1}{"b":2}', id="two values"),
    pytest.param(b'{"a":1,}', id="trailing comma"),
    pytest.param(b"{a:1}", id="bare key"),
    pytest.param(b"{'a':1}", id="single quotes"),
    pytest.param(b'{"a":1} // why', id="comment"),
    pytest.param(b'"a\nb"', id="raw line break in a text"),
    pytest.param(b'{"a":1,"a":1}', id="key twice"),
    pytest.param(b'{"a":1,"\\u0061":2}', id="key twice in two spellings"),
    pytest.param(b'[{"b":{"a":1,"a":2}}]', id="key twice inside"),
    pytest.param(b"NaN", id="NaN"),
    pytest.param(b'{"a":Infinity}', id="Infinity"),
    pytest.param(b"[-Infinity]", id="minus Infinity"),
    pytest.param(b"1e999", id="a number beyond any float"),
    pytest.param(b'{"a":[-1e999]}', id="the same inside"),
    pytest.param(b"1" * 5000, id="a number of too many digits"),
    pytest.param(b"\xef\xbb\xbf{}", id="byte order mark"),
    pytest.param('{"a":1}'.encode("utf-16"), id="UTF-16"),
    pytest.param(b'"\xff"', id="no UTF-8"),
    pytest.param(b'"\xed\xa0\x80"', id="a surrogate in UTF-8"),
    pytest.param(b'"\\ud800"', id="lone surrogate"),
    pytest.param(b'{"a":["x\\udc00"]}', id="lone surrogate inside"),
    pytest.param(b'{"\\uDBFF":1}', id="lone surrogate in a key"),
    pytest.param(b'{"a":1}\x00', id="NUL at the end"),
    pytest.param(b"[" * 100_000 + b"]" * 100_000, id="nested lists"),
    pytest.param(b'{"a":' * 100_000 + b"1" + b"}" * 100_000, id="nested objects"),
]


@pytest.mark.parametrize(("value", "data"), CANONICAL)
def test_a_value_has_one_byte_form(value: object, data: bytes) -> None:
    assert canonical(value) == data


@pytest.mark.parametrize("data", STRICT)
def test_what_readers_could_take_in_different_ways_is_refused(data: bytes) -> None:
    assert is_value_error(lambda: parse(data))


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b' {"a" : 1}\r\n', {"a": 1}),
        (b'{"a":{"x":1},"b":{"x":1}}', {"a": {"x": 1}, "b": {"x": 1}}),
        (b'"\\ud83d\\ude00"', "😀"),
        (b'"\\\\ud800"', "\\ud800"),
        (b"1e300", 1e300),
        (b"[[[[[[[[[[]]]]]]]]]]", [[[[[[[[[[]]]]]]]]]]),
    ],
)
def test_what_means_one_thing_is_read(data: bytes, value: object) -> None:
    assert parse(data) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": [float("-inf")]}, "\ud800", {"\udfff": 1}])
def test_what_json_cannot_hold_is_not_written(value: object) -> None:
    assert is_value_error(lambda: canonical(value))


def deeper(levels: int, call: Callable[[], object]) -> object:
    """What `call` returns that many calls further down."""
    return deeper(levels - 1, call) if levels else call()


@pytest.mark.parametrize("depth", [10, 50, 500, 800, 900])
def test_what_is_read_can_be_written_from_deeper_in_the_program(depth: int) -> None:
    data = b"[" * depth + b"]" * depth + b"\n"
    if not is_value_error(lambda: parse(data)):
        value = parse(data)
        assert deeper(200, lambda: canonical(value)) == data


def test_a_nesting_that_people_use_is_read() -> None:
    assert not is_value_error(lambda: parse(b"[" * 50 + b"]" * 50))


def test_a_key_that_stands_twice_is_named_shortened() -> None:
    key = b'"' + b"k" * 1_000_000 + b'"'
    with pytest.raises(ValueError, match="kkk") as caught:
        parse(b'{"other":0,' + key + b":1," + key + b":2}")
    assert len(str(caught.value)) < 300
