"""Reading a registry strictly, writing it in one form, and what a merge says about what it can't read."""

import json

import pytest

from repokernel.core import jsontext
from repokernel.core.registry import BYTES_MAX, Registry, Unreadable, in_order, read, write
from repokernel.core.registry_join import Kind, Refused, Report, folded_id, settled
from repokernel.core.registry_merge import Merged, conflict, merge

GOOD = b'{"entries":[\n{"id":"a","status":"done"}\n],"version":1}\n'

# bytes -> (fault, what the message names)
UNREADABLE = {
    b"": ("empty", "empty"),
    b" \r\n": ("empty", "empty"),
    b"\xef\xbb\xbf": ("empty", "empty"),
    b'{"version": 1, "entries": [{"id": "a", "st': ("not_json", "line 1, column 40"),
    b'{"version": 1,\n"entries": [}': ("not_json", "line 2"),
    b'\xff\xfe{\x00"\x00': ("not_json", "not UTF-8 at byte 0"),
    b'[{"id": "caf\xe9", "status": "done"}]': ("not_json", "not UTF-8 at byte 12"),
    b'{"entries": [\n<<<<<<< ours\n]}': ("not_json", "conflict markers from line 2"),
    b'[{"id": "a", "status": "done", "x": NaN}]': ("not_json", "NaN"),
    b'[{"id": "a", "status": "done", "x": -Infinity}]': ("not_json", "Infinity"),
    b'[{"id": "a", "status": "done", "x": 1e999}]': ("not_json", "beyond any number"),
    b'[{"id": "a", "status": "done", "x": "\\ud800"}]': ("not_json", "surrogate"),
    b'[{"id": "a", "status": "done", "x": "\x00"}]': ("not_json", "line 1"),
    b'[{"id": "a", "status": "done", "x": %s}]' % (b"9" * 10_000): ("not_json", "digits"),
    b"[" * 100_000: ("not_json", "nested too deeply"),
    b'[{"id": "a", "status": "done", "x": %s}]' % (b"[" * 200 + b"]" * 200): ("not_json", "nested too deeply"),
    GOOD + GOOD: ("not_json", "line 4"),
    b'[{"id": "a", "status": "done", "status": "failed"}]': ("duplicate_key", "'status' of 'a'"),
    b'{"entries": [], "entries": []}': ("duplicate_key", "'entries'"),
    b"42": ("no_entries_list", "entries"),
    b"{}": ("no_entries_list", "entries"),
    b'{"entries": {"a": "done"}}': ("no_entries_list", "entries"),
    b'["a"]': ("entry_without_id", "entry 1"),
    b'[{"id": "a", "status": "done"}, {"status": "done"}]': ("entry_without_id", "entry 2"),
    b'[{"id": null, "status": "done"}]': ("bad_id", "entry 1"),
    b'[{"id": 1.0, "status": "done"}]': ("bad_id", "entry 1"),
    b'[{"id": true, "status": "done"}]': ("bad_id", "entry 1"),
    b'[{"id": ["a"], "status": "done"}]': ("bad_id", "entry 1"),
    b'[{"id": "a"}]': ("bad_status", "'a'"),
    b'[{"id": 14, "status": null}]': ("bad_status", "14"),
    b'[{"id": "a", "status": "done", "epoch": "1"}]': ("bad_epoch", "'a'"),
    b'[{"id": "a", "status": "done", "epoch": true}]': ("bad_epoch", "'a'"),
    b'{"version": "1", "entries": []}': ("bad_version", "version"),
    b'{"version": 2, "entries": []}': ("newer_version", "`version` is 2"),
}


@pytest.mark.parametrize("data", UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_is_no_registry_is_refused_with_fault_and_place(data: bytes) -> None:
    fault, place = UNREADABLE[data]
    found = read(data)
    assert isinstance(found, Unreadable)
    assert (found.fault.value, place in found.message, "\n" in found.message) == (fault, True, False), found.message


def test_what_is_too_large_is_not_parsed() -> None:
    found = read(b" " * (BYTES_MAX + 1))
    assert isinstance(found, Unreadable)
    assert found.fault.value == "too_large"


@pytest.mark.parametrize("data", UNREADABLE, ids=range(len(UNREADABLE)))
def test_an_unreadable_side_is_named_and_an_unreadable_base_removes_nothing(data: bytes) -> None:
    ours, theirs = merge(GOOD, data, GOOD), merge(GOOD, GOOD, data)
    assert isinstance(ours, Refused)
    assert isinstance(theirs, Refused)
    assert (ours.fault.value, ours.side, theirs.side) == (UNREADABLE[data][0], "ours", "theirs")
    done = merge(data, GOOD, b'{"entries": [], "version": 1}')
    assert isinstance(done, Merged)
    assert (done.data, [one.kind for one in done.reports]) == (GOOD, [Kind.BASE_UNREADABLE])


def test_no_base_is_as_good_as_an_empty_one() -> None:
    done = merge(None, GOOD, GOOD)
    assert isinstance(done, Merged)
    assert (done.data, done.reports) == (GOOD, (Report(Kind.BASE_UNREADABLE, "there is none"),))


LAYOUTS = {
    "spaces": b'{ "version": 1,\n "entries" : [\n  {"status": "done", "id" : "a"}\n ]\n}',
    "crlf": GOOD.replace(b"\n", b"\r\n"),
    "byte-order mark": b"\xef\xbb\xbf" + GOOD,
    "minified": GOOD.replace(b"\n", b""),
    "escapes": b'{"entries":[{"\\u0069d":"\\u0061","status":"done"}],"version":1}',
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_of_a_side_has_no_influence(layout: str) -> None:
    done = merge(GOOD, LAYOUTS[layout], GOOD)
    assert isinstance(done, Merged)
    assert (done.data, done.reports) == (GOOD, ())


def canonical(text: str) -> str:
    found = read(text.encode())
    assert isinstance(found, Registry)
    return write(found).decode()


def test_entries_are_written_one_a_line_numbers_before_texts_keys_sorted() -> None:
    text = (
        '[{"status":"done","id":"é"},{"id":"14","status":"done"},{"id":"A","status":"done"},{"id":14,"status":"done"}]'
    )
    assert canonical(text) == (
        '[\n{"id":14,"status":"done"},\n{"id":"14","status":"done"},\n{"id":"A","status":"done"},\n'
        '{"id":"é","status":"done"}\n]\n'
    )


def test_what_stands_beside_the_entries_is_sorted_among_them() -> None:
    assert canonical('{"z":1,"version":1,"a":{"c":1,"b":2},"entries":[]}') == (
        '{"a":{"b":2,"c":1},"entries":[],"version":1,"z":1}\n'
    )


def test_an_entry_that_says_what_parts_entries_while_writing_is_written_as_it_is() -> None:
    text = '[\n{"id":"a","status":"done","x":["b",%s,"c"]},\n{"id":"b","status":"done","y":%s}\n]\n'
    said = '"~repokernel: next entry~"'
    assert canonical(text % (said, said)) == text % (said, said)


def test_lists_without_order_are_sorted_and_others_kept() -> None:
    text = '[{"id":1,"status":"x","labels":["b","a","b",2],"owned_paths":"b","notes":["b","a"]}]'
    assert canonical(text) == '[\n{"id":1,"labels":["a","b",2],"notes":["b","a"],"owned_paths":"b","status":"x"}\n]\n'


def test_the_written_form_is_read_as_what_was_written() -> None:
    found = read(GOOD)
    assert isinstance(found, Registry)
    assert write(found) == GOOD
    assert read(write(found)) == found


def test_ids_are_compared_exactly_and_sorted_by_value_and_code_point() -> None:
    names = in_order(["b", "10", 9, 10, "é", "～", "😀", -1, "B"])
    assert names == [-1, 9, 10, "10", "B", "b", "é", "～", "😀"]


@pytest.mark.parametrize(
    ("ids", "folded"),
    [(["café", "cafe\u0301"], "café"), (["S-1", "s-1"], "s-1"), (["ｓ-1", "s-1"], "s-1"), ([14, "14"], "14")],
)
def test_ids_that_look_alike_are_kept_apart_and_reported(ids: list[object], folded: str) -> None:
    sides = [json.dumps([{"id": name, "status": "done"}]).encode() for name in ids]
    done = merge(b"[]", *sides)
    assert isinstance(done, Merged)
    assert len(json.loads(done.data)) == 2
    assert done.reports == (Report(Kind.CONFUSABLE, folded),)
    assert len({folded_id(name) for name in ids}) == 1  # type: ignore[arg-type]


def test_a_registry_by_itself_has_its_entries_of_one_id_joined() -> None:
    found = read(b'[{"id":"a","status":"done","x":2},{"id":"a","status":"odd","x":1},{"id":"A","status":"done"}]')
    assert isinstance(found, Registry)
    done = settled(found)
    assert write(done.registry) == b'[\n{"id":"A","status":"done"},\n{"id":"a","status":"done","x":1}\n]\n'
    assert [f"{one.kind.value}:{one.what}" for one in done.reports] == [
        "confusable_ids:a",
        "diverged:a.x",
        "duplicate_id:a",
        "unknown_status:odd",
    ]


def many(count: int) -> bytes:
    return json.dumps([{"id": number, "status": "planned"} for number in range(count)]).encode()


@pytest.mark.parametrize(
    ("before", "after", "refused"), [(40, 0, True), (20, 10, True), (20, 11, False), (21, 11, False), (9, 0, False)]
)
def test_a_side_that_lost_ten_entries_and_half_of_all_is_refused(before: int, after: int, refused: bool) -> None:
    for ours, theirs, side in ((many(after), many(before), "ours"), (many(before), many(after), "theirs")):
        done = merge(many(before), ours, theirs)
        assert isinstance(done, Refused) is refused
        if isinstance(done, Refused):
            assert (done.fault.value, done.side) == ("mass_removal", side)


def test_a_list_and_an_object_are_not_joined_but_a_base_of_the_other_shape_serves() -> None:
    as_list = b'[{"id":"a","status":"done"}]'
    done = merge(GOOD, as_list, GOOD)
    assert isinstance(done, Refused)
    assert (done.fault.value, done.side) == ("shape_differs", "")
    gone = merge(as_list, GOOD, b'{"entries":[],"version":1}')
    assert isinstance(gone, Merged)
    assert (gone.data, gone.reports) == (b'{"entries":[],"version":1}\n', ())


def test_both_sides_stand_whole_between_the_markers() -> None:
    assert conflict(b"a\nb", b"c\r\n") == b"<<<<<<< ours\na\nb\n=======\nc\r\n>>>>>>> theirs\n"
    assert conflict(b"", b"\xff") == b"<<<<<<< ours\n=======\n\xff\n>>>>>>> theirs\n"


def test_a_line_is_the_canonical_form_without_its_end() -> None:
    value = {"b": [1, "é"], "a": None}
    assert f"{jsontext.line(value)}\n".encode() == jsontext.canonical(value)
