"""What every store promises (`ports/store.py`), one suite over all of them."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from repokernel.bootstrap import open_world
from repokernel.core.errors import RkError
from repokernel.core.ids import Key
from repokernel.core.record import RECORD_BYTES_MAX
from tests.boards import code_of, refusal
from tests.contract.stores import FOREIGN_NAMES, Kit
from tests.workers import PATIENCE_S, workers

if TYPE_CHECKING:
    from repokernel.ports.store import Store

T1, T2 = Key("t1"), Key("t2")
SIDE = "beats"


def fill(store: "Store", key: Key, count: int) -> None:
    for seq in range(1, count + 1):
        assert store.append(key, seq, b"%d\n" % seq)


# one record ---------------------------------------------------------------------------------------


def test_a_record_is_created_once(store: "Store") -> None:
    assert [store.append(T1, 1, b"first\n"), store.append(T1, 1, b"second\n")] == [True, False]
    assert store.read(T1, 1) == b"first\n"


@pytest.mark.parametrize(
    "data", [b"x", bytes(range(256)) * 300, b"x" * RECORD_BYTES_MAX], ids=["byte", "all bytes", "largest"]
)
def test_what_is_read_is_what_was_written(kit: Kit, store: "Store", data: bytes) -> None:
    assert store.append(T1, 1, data)
    assert store.read(T1, 1) == data
    assert kit.open().read(T1, 1) == data


def test_a_record_that_was_never_written_is_none(store: "Store") -> None:
    fill(store, T1, 1)
    assert (store.read(T1, 2), store.read(T2, 1)) == (None, None)


def test_the_same_bytes_published_before_are_ours_since_an_answer_may_be_lost(kit: Kit, store: "Store") -> None:
    assert store.append(T1, 1, b"nonce 1\n")
    assert store.append(T1, 1, b"nonce 1\n")
    assert kit.open().append(T1, 1, b"nonce 1\n")


def test_a_store_is_found_again_by_its_url(store: "Store") -> None:
    fill(store, T1, 2)
    assert open_world(store.url, "/").store.read(T1, 2) == b"2\n"


def test_a_loser_leaves_no_trace(kit: Kit, store: "Store") -> None:
    fill(store, T1, 1)
    before = sorted(kit.folder.rglob("*"))
    assert not store.append(T1, 1, b"late\n")
    assert sorted(kit.folder.rglob("*")) == before


def test_confirming_changes_nothing(store: "Store") -> None:
    fill(store, T1, 1)
    store.confirm()
    assert (store.top(T1), store.read(T1, 1)) == (1, b"1\n")


def test_the_stores_clock_tells_the_time(store: "Store") -> None:
    before_ms = time.time_ns() // 1_000_000 - 5_000
    assert before_ms < store.now_ms() < before_ms + 60_000


# heads --------------------------------------------------------------------------------------------


def test_the_top_is_the_highest_record(store: "Store") -> None:
    assert (store.top(T1), dict(store.tops())) == (0, {})
    fill(store, T1, 12)
    assert (store.top(T1), store.top(T2), dict(store.tops())) == (12, 0, {T1: 12})


def test_keys_that_contain_each_other_are_told_apart(store: "Store") -> None:
    keys = ["a", "a.b", "ab", "a-1", "a_1", "1", "a.00000007", "a.00000007.json", "a.json", "a" * 64, "b.a"]
    for count, key in enumerate(keys, start=1):
        fill(store, Key(key), count)
    expected = {Key(key): count for count, key in enumerate(keys, start=1)}
    assert dict(store.tops()) == expected
    assert {key: store.top(key) for key in expected} == expected


def test_a_record_is_seen_by_others_at_once(kit: Kit, store: "Store") -> None:
    other = kit.open()
    for seq in range(1, 6):
        assert store.append(T1, seq, b"x")
        assert (other.top(T1), dict(other.tops()), other.read(T1, seq)) == (seq, {T1: seq}, b"x")


@pytest.mark.parametrize("lost", [[1], [2], [1, 2, 3], [2, 4]])
def test_a_gap_is_a_finding_that_names_the_task_and_hides_no_other(kit: Kit, store: "Store", lost: list[int]) -> None:
    fill(store, T1, 5)
    fill(store, T2, 3)
    for seq in lost:
        kit.lose(T1, seq)
    found = refusal(lambda: store.top(T1))
    assert (found.code, found.fields["task"]) == ("record_invalid", "t1")
    tops = store.tops()
    assert set(tops) == {T1, T2}
    listed = tops[T1]
    assert isinstance(listed, RkError)
    assert (listed.code, listed.fields["task"]) == ("record_invalid", "t1")
    assert (tops[T2], store.top(T2), store.read(T1, 5)) == (3, 3, b"5\n")


@pytest.mark.parametrize("name", FOREIGN_NAMES)
def test_a_foreign_name_is_listed_and_otherwise_ignored(kit: Kit, store: "Store", name: str) -> None:
    fill(store, T1, 1)
    called = kit.plant(name)
    assert store.foreign() == [called]
    assert store.top(T1) == 1
    assert dict(store.tops()) == {T1: 1}
    assert store.append(T1, 2, b"2\n")
    assert dict(store.tops()) == {T1: 2}


def test_a_store_with_records_and_sides_alone_has_nothing_foreign(store: "Store") -> None:
    fill(store, T1, 2)
    store.write_side(SIDE, "t1.00000001", b"beat")
    store.write_side("verified", "t1", b"result")
    assert store.foreign() == []


def test_a_search_that_starts_at_a_known_record_finds_the_same_top(kit: Kit, store: "Store") -> None:
    fill(kit.open(), T1, 7)
    assert [store.top(T1, known) for known in range(8)] == [7] * 8


# changes ------------------------------------------------------------------------------------------


def test_what_changed_is_unknown_to_a_first_call(store: "Store") -> None:
    fill(store, T1, 2)
    assert store.changes(None)[1] is None


def test_everything_acknowledged_since_the_cursor_is_told_or_unknown(kit: Kit, store: "Store") -> None:
    cursor, other = store.changes(None)[0], kit.open()
    told: list[tuple[Key, int]] = []
    for seq in range(1, 30):
        assert other.append(T1, seq, b"x")
        assert store.append(T2, seq, b"x")
        cursor, new = store.changes(cursor)
        told += new if new is not None else [(T1, seq), (T2, seq)]
    assert sorted(told) == sorted((key, seq) for key in (T1, T2) for seq in range(1, 30))


def test_stirring_has_everybody_look_at_everything(kit: Kit, store: "Store") -> None:
    other = kit.open()
    cursors = [one.changes(None)[0] for one in (store, other)]
    assert kit.open().append(T1, 1, b"x", stir=True)
    assert [one.changes(cursor)[1] for one, cursor in zip((store, other), cursors, strict=True)] == [None, None]


def test_changes_are_told_for_the_newest_cursor_alone(store: "Store") -> None:
    stale = store.changes(None)[0]
    store.changes(None)
    fill(store, T1, 1)
    assert store.changes(stale)[1] is None


@pytest.mark.parametrize("name", FOREIGN_NAMES)
def test_a_foreign_name_is_no_change(kit: Kit, store: "Store", name: str) -> None:
    cursor = store.changes(None)[0]
    kit.plant(name)
    assert not store.changes(cursor)[1]


# documents beside the log -------------------------------------------------------------------------


def test_a_side_is_replaced_and_dropped(kit: Kit, store: "Store") -> None:
    assert (store.read_side(SIDE, "t1"), store.sides(SIDE)) == (None, frozenset())
    store.write_side(SIDE, "t1", b"a longer first document")
    store.write_side(SIDE, "t1", b"second")
    store.write_side(SIDE, "t2", b"other")
    assert (store.read_side(SIDE, "t1"), kit.open().read_side(SIDE, "t1")) == (b"second", b"second")
    assert (store.sides(SIDE), store.sides("verified")) == (frozenset({"t1", "t2"}), frozenset())
    store.drop_side(SIDE, "t1")
    store.drop_side(SIDE, "t1")
    assert (store.read_side(SIDE, "t1"), store.sides(SIDE)) == (None, frozenset({"t2"}))


def test_a_reader_sees_a_side_whole_while_it_is_replaced(kit: Kit, scaled: Callable[[int], int]) -> None:
    documents = [b"a" * 70_000, b"b" * 10]
    kit.open().write_side(SIDE, "t1", documents[0])
    over = threading.Event()

    def write() -> None:
        store = kit.open()
        for turn in range(scaled(1000)):
            store.write_side(SIDE, "t1", documents[turn % 2])
        over.set()

    writer = threading.Thread(target=write)
    writer.start()
    reader, seen = kit.open(), set()
    while not over.is_set():
        seen.add(reader.read_side(SIDE, "t1"))
    writer.join(PATIENCE_S)
    assert seen <= set(documents)


# waiting ------------------------------------------------------------------------------------------


def test_waiting_wakes_on_a_new_record(kit: Kit, store: "Store") -> None:
    fill(store, T1, 1)
    cursor = store.wait(None, 0)
    cursors: list[object] = []
    waiter = threading.Thread(target=lambda: cursors.append(kit.open().wait(cursor, 600)))
    waiter.start()
    assert store.append(T1, 2, b"2\n")
    waiter.join(PATIENCE_S)
    assert not waiter.is_alive()
    assert cursors != [cursor]


def test_waiting_ends_when_its_time_is_over(store: "Store") -> None:
    cursor = store.wait(None, 600)
    assert store.wait(cursor, 0) == cursor
    assert store.wait(cursor, 0.06) == cursor


def test_a_record_between_cursor_and_wait_is_not_missed(kit: Kit, store: "Store") -> None:
    cursor = store.wait(None, 0)
    assert kit.open().append(T1, 1, b"1\n")
    assert store.wait(cursor, 600) != cursor


# races --------------------------------------------------------------------------------------------


def winners_of(stores: "list[Store]", seq: int) -> list[int]:
    """Who of one thread per store was told that record `seq` is its own."""
    start, won = threading.Barrier(len(stores)), []

    def run(number: int) -> None:
        start.wait(PATIENCE_S)
        if stores[number].append(T1, seq, b"racer %d\n" % number):
            won.append(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(stores))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    return won


@pytest.mark.parametrize("shared", [True, False], ids=["one handle", "a handle each"])
def test_of_eight_threads_one_wins_every_round(kit: Kit, shared: bool, scaled: Callable[[int], int]) -> None:
    stores = [kit.open()] * 8 if shared else [kit.open() for _ in range(8)]
    rounds = scaled(500)
    for seq in range(1, rounds + 1):
        won = winners_of(stores, seq)
        assert len(won) == 1
        assert stores[0].read(T1, seq) == b"racer %d\n" % won[0]
    assert kit.open().top(T1) == rounds


def test_of_eight_processes_one_wins_every_round(kit: Kit, scaled: Callable[[int], int]) -> None:
    store, rounds = kit.open(), scaled(500)
    with workers(8, kit.folder) as team:
        for seq in range(1, rounds + 1):
            for one in team:
                one.tell("append", key=T1, seq=seq, text=f"racer {one.pid}")
            won = [one.pid for one in team if one.hear()["created"]]
            assert len(won) == 1
            assert store.read(T1, seq) == f"racer {won[0]}".encode()
    assert store.top(T1) == rounds


def test_a_listing_made_during_writes_never_shows_a_gap(kit: Kit, scaled: Callable[[int], int]) -> None:
    over = threading.Event()

    def write(key: Key) -> None:
        fill(kit.open(), key, scaled(1000))
        over.set()

    writers = [threading.Thread(target=write, args=(key,)) for key in (T1, T2)]
    for writer in writers:
        writer.start()
    reader, highest = kit.open(), 0
    while not over.is_set():
        tops = reader.tops()
        assert not [top for top in tops.values() if isinstance(top, RkError)]
        assert reader.top(T1) >= highest
        highest = max(highest, reader.top(T1))
    for writer in writers:
        writer.join(PATIENCE_S)


def sixty_tasks(kit: Kit) -> list[Key]:
    """The keys of sixty tasks with a record and a side each."""
    store, keys = kit.open(), [Key(f"k{number}") for number in range(60)]
    for key in keys:
        assert store.append(key, 1, b"1\n")
        store.write_side(SIDE, key, b"beat")
    return keys


def test_one_handle_serves_several_threads(kit: Kit) -> None:
    keys = sixty_tasks(kit)
    store, wrong = kit.open(), list[object]()

    def look() -> None:
        for _ in range(20):
            try:
                found = (set(store.tops()), {store.top(key) for key in keys[:5]}, store.sides(SIDE))
            except RkError as cause:
                wrong.append(cause)
            else:
                wrong.extend([found] if found != (set(keys), {1}, frozenset(keys)) else [])

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert len(wrong) == 0


FORKED = """
import os, sys
from repokernel.bootstrap import open_world
store = open_world(sys.argv[1], "/").store
assert len(store.tops()) == 60
pid = os.fork()
wrong = sum(len(store.tops()) != 60 for _ in range(300))
if pid == 0:
    os._exit(bool(wrong))
sys.exit(bool(wrong) or os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def test_a_handle_that_was_used_before_a_fork_serves_both_processes(kit: Kit) -> None:
    sixty_tasks(kit)
    forked = subprocess.run([sys.executable, "-c", FORKED, kit.open().url], timeout=PATIENCE_S, check=False)
    assert forked.returncode == 0


def test_a_store_that_is_not_there_is_broken_not_empty(kit: Kit) -> None:
    kit.folder.rename(kit.folder.with_name("elsewhere"))
    store = kit.open()
    assert code_of(lambda: store.top(T1)) == "board_missing"
    assert code_of(store.tops) == "board_missing"
    assert code_of(lambda: store.append(T1, 1, b"x")) == "board_missing"
