"""Tombstones: what stands in a record's place once its contents were put away."""

import pytest

from repokernel.core.ids import Key
from repokernel.core.jsontext import canonical, parse
from repokernel.core.phase import Cell, Event
from repokernel.core.record import Record, decode, digest, follow, link_problem, tombstone
from tests.unit.builders import ANN, NOW, OUTPUT, code_of, entry, in_cell

KEY = Key("t1")
FILES = [{"path": "a.md", "bytes": 1, "sha256": "0" * 64}]


def read(data: bytes, seq: int = 1) -> Record:
    return decode(data, KEY, seq, "a record")


def whole() -> bytes:
    one = entry(body="long", notes=[{"at": NOW, "by": ANN, "text": "hm"}], x_new=1)
    return follow(None, one, Event.ADD, ANN, NOW, op_id="op-1", nonce="n0nce")[1]


def test_a_tombstone_says_who_did_what_and_carries_the_hash_of_the_whole() -> None:
    before, after = read(whole()), read(tombstone(read(whole())))
    names = ("seq", "event", "by", "at", "op_id", "nonce", "prev", "spec", "digest")
    assert [getattr(after, name) for name in names] == [getattr(before, name) for name in names]
    assert (before.tombstone, after.tombstone) == (False, True)
    assert (after.entry["body"], after.entry["notes"], {**after.entry}["x_new"]) == ("", [], 1)


def test_a_tombstone_of_a_tombstone_is_the_same() -> None:
    once = tombstone(read(whole()))
    assert tombstone(read(once)) == once


def test_the_next_record_links_to_the_tombstone_as_to_the_whole() -> None:
    later, data = follow(read(whole()), in_cell(Cell.HELD), Event.CLAIM, ANN, NOW, op_id="op-2", nonce="n")
    assert link_problem(later, tombstone(read(whole())), "it") is None
    assert link_problem(read(data, 2), whole(), "it") is None


def test_what_follows_a_tombstone_is_written_as_after_the_whole() -> None:
    after = [
        follow(read(prior), in_cell(Cell.HELD), Event.CLAIM, ANN, NOW, op_id="op-2", nonce="n")[1]
        for prior in (whole(), tombstone(read(whole())))
    ]
    assert after[0] == after[1]


@pytest.mark.parametrize("prior", [b"{", b"[]", b"7", canonical({"tombstone": "f" * 64}), canonical({})])
def test_nothing_else_passes_for_what_was_there(prior: bytes) -> None:
    later, _ = follow(read(whole()), in_cell(Cell.HELD), Event.CLAIM, ANN, NOW, op_id="op-2", nonce="n")
    assert "doesn't link" in (link_problem(later, prior, "it") or "")


@pytest.mark.parametrize("said", [None, 1, "", "f" * 63, "g" * 64, "F" * 64])
def test_a_tombstone_without_a_hash_is_no_record(said: object) -> None:
    value = parse(tombstone(read(whole())))
    assert isinstance(value, dict)
    assert code_of(read, canonical({**value, "tombstone": said})) == "record_invalid"


def test_the_output_of_something_done_stays_without_its_list_of_files() -> None:
    value = parse(follow(None, in_cell(Cell.DONE), Event.ADD, ANN, NOW, op_id="o", nonce="n")[1])
    assert isinstance(value, dict)
    data = canonical({**value, "state": {**value["state"], "output": {**OUTPUT, "files": FILES}}})
    output = read(tombstone(read(data))).entry["output"]
    assert output == OUTPUT
    assert read(tombstone(read(data))).digest == digest(data)
