"""Records by example: what is written, what is read back, what is refused."""

import pytest

from repokernel.core.entry import Entry
from repokernel.core.ids import Key
from repokernel.core.jsontext import canonical, parse
from repokernel.core.phase import Cell, Event
from repokernel.core.record import (
    RECORD_BYTES_MAX,
    Record,
    decode,
    digest,
    follow,
    link_problem,
    peek_event,
    spec_digest,
)
from repokernel.core.task import cancel, claim, done, fail, note
from tests.unit.builders import ANN, LEASE_MS, NOW, NOW_MS, OUTPUT, code_of, entry, in_cell, moment, refusal, some

KEY = Key("t1")
ENVELOPE = {"record", "seq", "prev", "op_id", "nonce", "event", "by", "at", "spec", "state"}


def written(prior: Record | None, after: Entry, event: Event = Event.NOTE) -> bytes:
    return follow(prior, after, event, ANN, NOW, op_id="op-1", nonce="n0nce")[1]


def first() -> bytes:
    return written(None, entry(), Event.ADD)


def read(data: bytes, seq: int = 1) -> Record:
    return decode(data, KEY, seq, "a record")


def second() -> bytes:
    return written(read(first()), in_cell(Cell.HELD), Event.CLAIM)


def changed(data: bytes, **changes: object) -> bytes:
    """The record with fields of its envelope changed; `...` takes one out."""
    value = parse(data)
    assert isinstance(value, dict)
    return canonical({name: said for name, said in {**value, **changes}.items() if said is not ...})


def test_the_first_record_says_all_of_its_envelope_and_only_the_state_that_is_no_default() -> None:
    assert parse(first()) == {
        "record": 1,
        "seq": 1,
        "prev": None,
        "op_id": "op-1",
        "nonce": "n0nce",
        "event": "add",
        "by": ANN,
        "at": NOW,
        "spec": spec_digest(entry()),
        "state": {"id": "t1", "title": "A task", "status": "pending", "created_at": NOW, "updated_at": NOW},
    }


def test_the_next_record_links_to_the_bytes_of_the_one_before() -> None:
    value = parse(second())
    assert isinstance(value, dict)
    assert (value["seq"], value["prev"]) == (2, digest(first()))


def test_a_record_is_read_back_as_it_was_written() -> None:
    record = read(second(), 2)
    assert record.entry == in_cell(Cell.HELD)
    assert (record.seq, record.prev, record.digest) == (2, digest(first()), digest(second()))
    assert (record.event, record.by, record.at) == ("claim", ANN, NOW)
    assert (record.op_id, record.nonce, record.extra) == ("op-1", "n0nce", {})


def test_the_record_that_comes_with_the_bytes_is_the_one_that_they_hold() -> None:
    record, data = follow(read(first()), in_cell(Cell.HELD), Event.CLAIM, ANN, NOW, op_id="op-2", nonce="n")
    again = read(data, 2)
    assert record.linked
    assert {name: getattr(record, name) for name in Record.__slots__ if name != "linked"} == {
        name: getattr(again, name) for name in Record.__slots__ if name != "linked"
    }


def test_the_hash_of_the_specification_stays_that_of_the_first_record() -> None:
    after = read(written(read(first()), entry(title="Another"), Event.NOTE), 2)
    assert after.spec == read(first()).spec == spec_digest(entry())


@pytest.mark.parametrize("event", list(Event))
def test_the_event_of_a_record_is_seen_without_reading_the_rest(event: Event) -> None:
    said = entry(body='"event":"x"', inputs={"event": "y", '"event":"': 1}, labels=["event"])
    assert peek_event(written(None, said, event)) == event.value


@pytest.mark.parametrize("data", [b"", b"null", b"{}", b'{"event":1}', b"\x00" * 50])
def test_no_event_is_seen_where_there_is_none(data: bytes) -> None:
    assert peek_event(data) == ""


@pytest.mark.parametrize("changes", [{"aware": 1}, {"cause": {"event": "done"}}, {"record": 2}])
def test_no_event_is_seen_in_a_record_that_a_newer_version_wrote(changes: dict[str, object]) -> None:
    assert peek_event(changed(first(), **changes)) == ""


def test_no_event_is_seen_in_a_record_of_a_newer_schema() -> None:
    value = parse(first())
    assert isinstance(value, dict)
    assert peek_event(canonical({**value, "state": {**value["state"], "schema": 2}})) == ""


def test_only_the_first_record_is_linked_without_a_look_at_the_one_before() -> None:
    assert read(first()).linked
    assert not read(second(), 2).linked


def test_equal_entries_have_equal_records() -> None:
    backwards: Entry = dict(reversed(entry().items()))  # type: ignore[assignment]
    assert written(None, backwards, Event.ADD) == first()


def test_a_digest_is_the_sha256_of_the_bytes() -> None:
    assert digest(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.parametrize("value", [None, 0, "x", {"a": [1]}, []])
def test_unknown_fields_of_envelope_and_state_survive_a_transition(value: object) -> None:
    state = parse(first())
    assert isinstance(state, dict)
    newer = changed(first(), x_env=value, state={**state["state"], "x_state": value})
    record = read(newer)
    after = written(record, claim(record.entry, moment(), LEASE_MS), Event.CLAIM)
    value_after = parse(after)
    assert isinstance(value_after, dict)
    assert (value_after["x_env"], value_after["state"]["x_state"]) == (value, value)
    assert set(value_after) == ENVELOPE | {"x_env"}


def test_an_event_that_a_newer_version_may_write_is_read() -> None:
    assert read(changed(first(), event="land")).event == "land"


NEWER = [
    pytest.param({"record": 2}, id="record format"),
    pytest.param({"record": 10**9, "seq": ..., "state": ..., "prev": "?"}, id="record format of another shape"),
    pytest.param({"state": {"schema": 2}}, id="schema of the state"),
    pytest.param({"state": {"schema": 99, "id": "t1", "token": "many"}}, id="schema of another shape"),
]


@pytest.mark.parametrize("changes", NEWER)
def test_a_record_of_a_newer_format_is_refused_as_such(changes: dict[str, object]) -> None:
    assert refusal(lambda: read(changed(first(), **changes))).code == "schema_newer"


INVALID: list[dict[str, object]] = [
    *[{"record": value} for value in some(..., None, 0, -1, True, 1.0, 2.0, "1", "2", [])],
    *[{"seq": value} for value in some(..., None, 0, 2, True, 1.0, "1", "newer than")],
    *[{"prev": value} for value in some(..., "5a" * 32, "", 0, False, [])],
    *[{name: value} for name in ("op_id", "nonce", "event", "by", "at", "spec", "state") for value in some(...)],
    *[{name: value} for name in ("op_id", "nonce", "event", "by", "at", "spec") for value in some(None, 1, [])],
    *[{"state": value} for value in some(None, [], "x", {}, {"id": "t1"}, {"schema": True}, {"schema": "2"})],
    # what is read from `by` and `at` is used as an owner and as an instant
    *[{"at": value} for value in some("", "yesterday", "2026-02-30T00:00:00Z")],
    *[{"by": value} for value in some("", "me", "\x1b[31m@w1")],
]


@pytest.mark.parametrize("changes", [pytest.param(one, id=f"{i}-{next(iter(one))}") for i, one in enumerate(INVALID)])
def test_an_envelope_that_is_off_is_refused(changes: dict[str, object]) -> None:
    refused = refusal(lambda: read(changed(first(), **changes)))
    assert (refused.code, refused.fields) == ("record_invalid", {"task": KEY, "seq": 1})


@pytest.mark.parametrize("value", [None, 1, [], {}])
def test_a_later_record_must_say_what_it_follows(value: object) -> None:
    assert refusal(lambda: read(changed(second(), prev=value), 2)).code == "record_invalid"


@pytest.mark.parametrize(
    "state",
    [
        {"title": ""},
        {"status": "in_flight"},
        {"owner": ANN},
        {"token": -1},
        {"halt": {"reason": []}},
        {"id": "t2"},
        {"id": "T1/x"},
        {"id": 1},
    ],
)
def test_a_state_that_breaks_the_schema_is_refused(state: dict[str, object]) -> None:
    value = parse(first())
    assert isinstance(value, dict)
    data = changed(first(), state={**value["state"], **state})
    assert refusal(lambda: read(data)).code == "record_invalid"


def test_another_spelling_of_the_id_is_read_under_the_same_key() -> None:
    assert read(written(None, entry(id="T1"), Event.ADD)).entry["id"] == "T1"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\x00" * 300,
        first()[:-20],
        b"\xef\xbb\xbf" + first(),
        first().decode().encode("utf-16"),
        first()[:-2] + b',"seq":1}\n',
        b'{"newer than":1,"newer than":2}',
    ],
)
def test_bytes_that_are_no_record_are_refused(data: bytes) -> None:
    assert refusal(lambda: read(data)).code == "record_invalid"


def test_a_record_under_another_name_is_refused() -> None:
    assert refusal(lambda: decode(first(), Key("t2"), 1, "a record")).code == "record_invalid"
    assert refusal(lambda: decode(first(), KEY, 2, "a record")).code == "record_invalid"


def test_a_flip_of_any_bit_is_refused_or_breaks_the_link_of_the_next_record() -> None:
    data, following = first(), read(second(), 2)
    assert link_problem(following, data, "it") is None
    for place in range(len(data)):
        for bit in range(8):
            flipped = data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]
            assert code_of(read, flipped) in (None, "record_invalid", "schema_newer")
            assert link_problem(following, flipped, "it")


def test_the_first_record_needs_nothing_before_it() -> None:
    assert link_problem(read(first()), None, "it") is None


def test_a_record_whose_predecessor_is_not_there_does_not_link() -> None:
    assert link_problem(read(second(), 2), None, "it")


def test_the_hash_of_a_specification_changes_with_what_is_to_be_done_alone() -> None:
    base = entry()
    assert spec_digest(base) == spec_digest(in_cell(Cell.DONE, priority=7, hold="wait", notes=[]))
    assert spec_digest(base) != spec_digest(entry(title="Another"))
    assert spec_digest(base) != spec_digest(entry(inputs={"k": 1}))


def test_a_record_may_be_exactly_as_large_as_the_limit() -> None:
    room = RECORD_BYTES_MAX - len(written(None, entry(inputs={"k": ""}), Event.CANCEL))
    assert len(written(None, entry(inputs={"k": "x" * room}), Event.CANCEL)) == RECORD_BYTES_MAX
    assert code_of(written, None, entry(inputs={"k": "x" * (room + 1)}), Event.CANCEL) == "invalid_task"


def fits(after: Entry, event: Event) -> bool:
    return code_of(written, read(first()), after, event) is None


def full_of_remarks() -> Entry:
    """A held task with as many remarks as its record has room for."""
    full = in_cell(Cell.HELD)
    for size in (90_000, 9_000, 900, 90, 9, 1):
        more = note(full, moment(), "x" * size)
        while fits(more, Event.NOTE):
            full, more = more, note(more, moment(), "x" * size)
    return full


def test_a_task_that_is_full_of_remarks_can_still_be_worked_on_and_ended() -> None:
    full = full_of_remarks()
    late = moment(now_ms=NOW_MS + 10 * LEASE_MS)
    ways_on = [
        (Event.DONE, done(full, moment(), 4, OUTPUT, None)),
        (Event.FAIL, fail(full, moment(), 4, "upload_failed", "No room.", 0)),
        (Event.CANCEL, cancel(full, moment(), "No longer needed.")),
        (Event.CLAIM, claim(full, late, LEASE_MS)),
    ]
    assert [str(event) for event, after in ways_on if not fits(after, event)] == []
