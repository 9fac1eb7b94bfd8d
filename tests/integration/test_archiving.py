"""Old records of settled tasks are put away; nothing is lost, no name becomes free, every answer stays."""

import json
import os

import pytest

from repokernel.core.ids import Key, TaskId
from repokernel.core.output import Depth
from repokernel.ops import carry, steer
from repokernel.ops.add import add
from repokernel.ops.archive import archive
from repokernel.ops.claim import claim_next
from repokernel.ops.doctor import examine
from repokernel.ops.log import history, require_head
from repokernel.ops.verify import require
from tests.boards import ANN, FIRST, LEASE_MS, MINUTE_MS, PERSON, BoardHere, code_of
from tests.faulty_store import FaultyStore

DAY_MS = 24 * 60 * MINUTE_MS


@pytest.fixture
def settled(board: BoardHere) -> BoardHere:
    """A board with a task that took a long body and many notes to get done."""
    board.add("t1", body="text " * 2000, inputs={"x": 1})
    for number in range(3):
        steer.note(board.world, FIRST, PERSON, f"remark {number}")
    board.finish()
    return board


def test_contents_go_to_one_file_and_every_answer_stays(settled: BoardHere) -> None:
    before = [(one.seq, one.event, one.by, one.at, one.op_id, one.digest) for one in history(settled.world, FIRST)]
    entry = require_head(settled.world, FIRST).entry
    originals = b"".join(settled.contents()[f"claims/{name}"] for name in settled.records()[:-1])
    put = archive(settled.world, [FIRST], 0)
    assert [(one.id, one.records, one.bytes) for one in put] == [("t1", 5, len(originals))]
    fresh = settled.another()
    assert [(one.seq, one.event, one.by, one.at, one.op_id, one.digest) for one in history(fresh, FIRST)] == before
    assert require_head(fresh, FIRST).entry == entry
    assert require(fresh, [FIRST], Depth.SHA256) == [entry]
    assert examine(fresh) == []
    assert settled.contents()["archive/t1.00000006.jsonl"] == originals
    claims = [data for name, data in settled.contents().items() if name.startswith("claims/")]
    assert max(map(len, sorted(claims, key=len)[:-1])) < 1000


def test_no_name_becomes_free_for_a_late_writer(settled: BoardHere) -> None:
    names = settled.records()
    archive(settled.world, [FIRST], 0)
    assert settled.records() == names
    for seq in range(1, 7):
        assert not settled.world.store.append(Key("t1"), seq, b"{}")


def test_a_task_goes_on_after_it_was_archived(settled: BoardHere) -> None:
    archive(settled.world, [FIRST], 0)
    fresh = settled.another()
    steer.reopen(fresh, FIRST, PERSON)
    assert claim_next(fresh, ANN, LEASE_MS)["body"] == "text " * 2000
    carry.fail(fresh, FIRST, ANN, 2, "no_luck", "")
    steer.cancel(fresh, FIRST, PERSON)
    assert [(one.records) for one in archive(fresh, [FIRST], 0)] == [4]
    assert examine(settled.another()) == []


def test_an_operation_that_was_archived_is_still_found_when_it_is_repeated(board: BoardHere) -> None:
    add(board.world, {"id": "t1", "title": "one"}, PERSON, op_id="first")
    steer.note(board.world, FIRST, PERSON, "once", "remark")
    steer.cancel(board.world, FIRST, PERSON)
    archive(board.world, [FIRST], 0)
    fresh = board.another()
    assert not steer.note(fresh, FIRST, PERSON, "once", "remark").changed
    assert add(fresh, {"id": "t1", "title": "one"}, PERSON, op_id="first")["id"] == "t1"
    assert carry.outcome_of(fresh, FIRST, 1) == "lost"


def test_repeating_it_changes_nothing(settled: BoardHere) -> None:
    archive(settled.world, [FIRST], 0)
    before = settled.contents()
    assert archive(settled.another(), [FIRST], 0) == []
    assert settled.contents() == before


def test_what_was_cut_short_is_completed(settled: BoardHere) -> None:
    store = FaultyStore(settled.world.store)
    store.before["bury"] = [lambda: None, lambda: None, pytest.fail]
    with pytest.raises(pytest.fail.Exception):
        archive(settled.another(store), [FIRST], 0)
    kept = settled.contents()["archive/t1.00000006.jsonl"]
    assert [one.records for one in archive(settled.another(), [FIRST], 0)] == [3]
    assert settled.contents()["archive/t1.00000006.jsonl"] == kept
    assert examine(settled.another()) == []


def test_only_what_is_settled_for_long_enough_is_taken(settled: BoardHere) -> None:
    settled.clock.advance(DAY_MS)
    settled.add("open")
    settled.finish(settled.add("young"))
    assert [one.id for one in archive(settled.another(), [], DAY_MS // 2, dry_run=True)] == ["t1"]
    assert not (settled.root / "archive").exists()
    assert [one.id for one in archive(settled.another(), [], DAY_MS // 2)] == ["t1"]


def test_a_named_task_that_is_not_settled_is_refused(board: BoardHere) -> None:
    board.add()
    before = board.contents()
    assert code_of(lambda: archive(board.world, [FIRST], 0)) == "wrong_phase"
    assert code_of(lambda: archive(board.world, [TaskId("nope")], 0)) == "task_unknown"
    assert board.contents() == before


def test_a_log_that_does_not_link_is_left_alone(settled: BoardHere) -> None:
    path = settled.root / "claims" / "t1.00000002.json"
    record = json.loads(path.read_bytes())
    os.unlink(path)
    path.write_text(json.dumps({**record, "nonce": "other"}), encoding="utf-8")
    before = settled.contents()
    assert code_of(lambda: archive(settled.another(), [FIRST], 0)) == "record_invalid"
    settled.clock.advance(DAY_MS)
    assert archive(settled.another(), [], 1) == []
    assert settled.contents() == before


def test_a_tombstone_of_something_else_does_not_link(settled: BoardHere) -> None:
    archive(settled.world, [FIRST], 0)
    path = settled.root / "claims" / "t1.00000003.json"
    record = json.loads(path.read_bytes())
    path.write_text(json.dumps({**record, "tombstone": "0" * 64}), encoding="utf-8")
    assert [one["code"] for one in examine(settled.another())] == ["record_invalid"]
