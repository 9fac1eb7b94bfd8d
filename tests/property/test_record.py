"""Laws of records: whole round trips, and corruption that never passes unseen."""

from hypothesis import assume, given, strategies as st

from repokernel.core.entry import Entry
from repokernel.core.ids import Key, TaskId, fold
from repokernel.core.jsontext import canonical, parse
from repokernel.core.phase import Event
from repokernel.core.record import Record, decode, follow, link_problem, peek_event
from tests.property.strategies import entries, instants, json_values, owners, task_ids, texts
from tests.unit.builders import code_of, refusal_or_none

events = st.sampled_from(list(Event))
envelopes = st.tuples(events, owners, instants, texts, texts)
REFUSALS = {"record_invalid", "schema_newer"}


def written(prior: Record | None, after: Entry, envelope: tuple[Event, str, str, str, str]) -> bytes:
    event, by, at, op_id, nonce = envelope
    return follow(prior, after, event, by, at, op_id=op_id, nonce=nonce)[1]


def key_of(entry: Entry) -> Key:
    return fold(TaskId(entry["id"]))


def read(data: bytes, entry: Entry, seq: int = 1) -> Record:
    return decode(data, key_of(entry), seq, "a record")


def refused_with(data: bytes, entry: Entry, seq: int = 1) -> str | None:
    """The code that reading is refused with; anything but a refusal fails the test."""
    refused = refusal_or_none(lambda: read(data, entry, seq))
    assert refused is None or len(refused.message.splitlines()) == 1
    return refused.code if refused else None


@given(entries, envelopes)
def test_a_record_is_read_back_as_it_was_written(entry: Entry, envelope: tuple[Event, str, str, str, str]) -> None:
    record = read(written(None, entry, envelope), entry)
    assert record.entry == entry
    assert (record.event, record.by, record.at, record.op_id, record.nonce) == envelope


@given(entries, entries, envelopes)
def test_records_follow_each_other(first: Entry, second: Entry, envelope: tuple[Event, str, str, str, str]) -> None:
    second = {**second, "id": first["id"]}
    data = written(None, first, envelope)
    after = written(read(data, first), second, envelope)
    record = read(after, second, 2)
    assert record.seq == 2
    assert link_problem(record, data, "it") is None
    assert link_problem(record, after, "it") is not None


@given(entries, envelopes)
def test_the_same_record_has_the_same_bytes(entry: Entry, envelope: tuple[Event, str, str, str, str]) -> None:
    data = written(None, entry, envelope)
    assert written(None, read(data, entry).entry, envelope) == data
    assert canonical(parse(data)) == data


@given(entries, envelopes)
def test_the_event_is_seen_without_reading_the_rest(entry: Entry, envelope: tuple[Event, str, str, str, str]) -> None:
    assert peek_event(written(None, entry, envelope)) == envelope[0].value


@given(entries, envelopes, json_values)
def test_what_an_older_reader_does_not_know_is_in_the_next_record(
    entry: Entry, envelope: tuple[Event, str, str, str, str], value: object
) -> None:
    said = parse(written(None, entry, envelope))
    assert isinstance(said, dict)
    record = read(canonical({**said, "x_env": value}), entry)
    assert record.extra == {"x_env": value}
    after = parse(written(record, entry, envelope))
    assert isinstance(after, dict)
    assert after["x_env"] == value


@given(entries, envelopes, st.data())
def test_a_byte_that_was_changed_is_refused_or_breaks_the_link(
    entry: Entry, envelope: tuple[Event, str, str, str, str], data: st.DataObject
) -> None:
    whole = written(None, entry, envelope)
    following = read(written(read(whole, entry), entry, envelope), entry, 2)
    place = data.draw(st.integers(0, len(whole) - 1))
    changed = whole[:place] + data.draw(st.binary(max_size=3)) + whole[place + 1 :]
    assume(changed != whole)
    assert refused_with(changed, entry) in {None, *REFUSALS}
    assert link_problem(following, changed, "it") is not None


@given(entries, envelopes, st.data())
def test_a_record_that_is_cut_short_is_refused(
    entry: Entry, envelope: tuple[Event, str, str, str, str], data: st.DataObject
) -> None:
    whole = written(None, entry, envelope).strip()
    assert refused_with(whole[: data.draw(st.integers(0, len(whole) - 1))], entry) == "record_invalid"


@given(entries, envelopes, st.sampled_from(["record", "seq", "prev", "by", "at", "event", "state"]), json_values)
def test_any_value_in_the_envelope_is_read_or_refused(
    entry: Entry, envelope: tuple[Event, str, str, str, str], name: str, value: object
) -> None:
    said = parse(written(None, entry, envelope))
    assert isinstance(said, dict)
    assert refused_with(canonical({**said, name: value}), entry) in {None, *REFUSALS}
    del said[name]
    assert refused_with(canonical(said), entry) == "record_invalid"


@given(entries, envelopes, json_values)
def test_any_value_in_the_state_is_read_or_refused(
    entry: Entry, envelope: tuple[Event, str, str, str, str], value: object
) -> None:
    said = parse(written(None, entry, envelope))
    assert isinstance(said, dict)
    for name in ("halt", "owner", "output", "schema", "id", "depends_on"):
        data = canonical({**said, "state": {**said["state"], name: value}})
        assert refused_with(data, entry) in {None, *REFUSALS}


@given(entries, envelopes, task_ids, st.integers(1, 9))
def test_a_record_is_read_under_its_own_name_alone(
    entry: Entry, envelope: tuple[Event, str, str, str, str], other: str, seq: int
) -> None:
    data = written(None, entry, envelope)
    fits = fold(TaskId(other)) == key_of(entry) and seq == 1
    code = code_of(lambda: decode(data, fold(TaskId(other)), seq, "a record"))
    assert code == (None if fits else "record_invalid")


@given(entries, envelopes, st.integers(2, 99), json_values)
def test_a_newer_format_is_refused_as_newer_whatever_else_it_says(
    entry: Entry, envelope: tuple[Event, str, str, str, str], version: int, value: object
) -> None:
    said = parse(written(None, entry, envelope))
    assert isinstance(said, dict)
    assert refused_with(canonical({**said, "record": version, "state": value}), entry) == "schema_newer"
    newer = {**said["state"], "schema": version, "title": value}
    assert refused_with(canonical({**said, "state": newer}), entry) == "schema_newer"
