"""`rk bench store`: what it measures, how it judges a store, and what it leaves behind."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from repokernel import bootstrap
from repokernel.adapters.scratch import BareFiles, Meeting, left_over, meeting_file, scratch, ticks
from repokernel.cli.main import main
from repokernel.core.errors import BrokenError
from repokernel.ops.bench import Measure, Race, Report, judge, measure, percentile, summary
from repokernel.ops.bench_part import Kind, Kit, Part, Stretch, plan, race_bytes, race_key
from tests.boards import BoardHere, refusal
from tests.workers import PATIENCE_S, gone, until

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from repokernel.core.ids import Key
    from repokernel.ports.store import Store
    from repokernel.ports.world import World

WORDS = ("repokernel.cli.bench_process", "2", "0.5")
KILLED = ".bench-0123456789abcdef"
RACE_ONLY = [Stretch(Kind.RACE, 3, 0.05)]


def names(board: BoardHere) -> list[str]:
    return sorted(os.listdir(board.root))


# a whole bench ------------------------------------------------------------------------------------


def test_a_bench_measures_everything_and_leaves_the_board_as_it_was(board: BoardHere) -> None:
    board.add()
    before = board.contents()
    told: list[Stretch] = []
    store, report = bootstrap.bench_store(str(board.root), "/", WORDS, 2, 0.5, told.append)
    assert store == f"file:{board.root}"
    kinds = [kind for kind in Kind if kind is not Kind.RACE]
    assert [(one.kind, one.processes) for one in report.measures] == [(kind, n) for n in (1, 2) for kind in kinds]
    for one in report.measures:
        assert one.per_second > 0
        assert 0 < one.p50_ms <= one.p99_ms
        assert (one.of_bare is not None) == (one.kind is Kind.PUBLISH)
    assert report.race.fair
    assert report.race.rounds >= 3
    assert told
    assert board.contents() == before


def test_a_process_that_cannot_do_its_part_ends_the_bench_and_leaves_nothing(board: BoardHere) -> None:
    before = names(board)
    found = refusal(
        lambda: bootstrap.bench_store(str(board.root), "/", ("repokernel.nowhere",), 2, 0.5, lambda _: None)
    )
    assert found.code == "command_failed"
    assert "repokernel.nowhere" in found.message
    assert names(board) == before


def test_a_bench_needs_a_board(tmp_path: Path) -> None:
    found = refusal(lambda: bootstrap.bench_store(None, str(tmp_path), WORDS, 2, 0.5, lambda _: None))
    assert (found.code, found.exit_status) == ("board_missing", 3)


# what is left behind ------------------------------------------------------------------------------


def test_what_a_killed_bench_left_is_named_by_doctor_and_swept(board: BoardHere) -> None:
    (board.root / KILLED / "records").mkdir(parents=True)
    (board.root / ".bench-notes").mkdir()  # somebody's own
    found = bootstrap.examine(str(board.root), "/", fix=False)
    assert [finding["code"] for finding in found.findings] == ["litter"]
    assert KILLED in str(found.findings[0]["detail"])
    fixed = bootstrap.examine(str(board.root), "/", fix=True)
    assert (fixed.findings, len(fixed.fixed)) == ([], 1)
    assert [name for name in names(board) if name.startswith(".bench")] == [".bench-notes"]


def test_a_bench_sweeps_what_a_killed_one_left(board: BoardHere) -> None:
    (board.root / KILLED / "records").mkdir(parents=True)
    bootstrap.bench_store(str(board.root), "/", WORDS, 2, 0.5, lambda _: None)
    assert KILLED not in names(board)


def test_the_folder_of_a_bench_that_lives_is_nobody_elses_to_sweep(board: BoardHere) -> None:
    root = str(board.root)
    with scratch(root) as path:
        assert left_over(root, sweep=True) == []
        assert os.path.isdir(path)
        assert bootstrap.examine(root, "/", fix=True).findings == []
    assert not os.path.lexists(path)


def test_a_link_with_the_name_of_a_scratch_folder_is_not_followed(board: BoardHere, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (board.root / KILLED).symlink_to(tmp_path / "precious")
    assert left_over(str(board.root), sweep=True) == []
    assert (tmp_path / "precious").is_dir()


def test_no_folder_is_kept_where_the_board_is_gone(tmp_path: Path) -> None:
    with pytest.raises(BrokenError, match="can't make") as caught, scratch(str(tmp_path / "nowhere")):
        pass
    assert caught.value.code == "board_missing"


def test_a_folder_that_was_swept_before_it_was_locked_is_made_anew(
    board: BoardHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, swept = os.mkdir, list[list[str]]()

    def mkdir(path: str, mode: int) -> None:
        real(path, mode)
        if len(swept) < 2:
            swept.append(left_over(str(board.root), sweep=True))

    monkeypatch.setattr(os, "mkdir", mkdir)
    with scratch(str(board.root)) as path:
        assert os.path.isdir(path)
        assert [len(one) for one in swept] == [1, 1]
        assert path not in [str(board.root / name) for one in swept for name in one]


# the race -----------------------------------------------------------------------------------------


class LyingStore:
    """A store that tells everybody that the name was free."""

    def __init__(self, real: Store) -> None:
        self._real = real
        self.now_ms = real.now_ms
        self.read = real.read

    def append(self, key: Key, seq: int, data: bytes, *, stir: bool = False) -> bool:
        self._real.append(key, seq, data, stir=stir)
        return True


def play(board: BoardHere, world: World, me: int, races: dict[int, list[list[int]]]) -> None:
    held = board.another()
    kit = Kit(world, held, held, BareFiles(str(board.folder)), Meeting(str(board.folder), 3), ticks)
    races[me] = Part(kit, me).play(RACE_ONLY)


def race(board: BoardHere, worlds: Sequence[World]) -> Race:
    races: dict[int, list[list[int]]] = {}
    threads = [Thread(target=play, args=(board, world, me, races)) for me, world in enumerate(worlds)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    return judge(board.world.store, [races[me][0] for me in range(len(worlds))])


def test_a_store_that_keeps_its_promise_wins_every_round(board: BoardHere) -> None:
    found = race(board, [board.another() for _ in range(3)])
    assert found.fair
    assert found.processes == 3
    assert found.rounds >= 3


def test_a_store_that_lets_several_win_is_found_out(board: BoardHere) -> None:
    worlds = [board.another() for _ in range(3)]
    for world in worlds:
        world.store = LyingStore(world.store)  # type: ignore[assignment]
    found = race(board, worlds)
    assert not found.fair
    assert found.double_wins >= found.rounds >= 3


@pytest.mark.parametrize(
    ("races", "written", "expected"),
    [
        pytest.param([[1, 0], [0, 1]], {0: 0, 1: 1}, (2, 0, 0, 0), id="one winner each"),
        pytest.param([[1], [1]], {0: 0}, (1, 1, 0, 0), id="two winners"),
        pytest.param([[0], [0]], {0: 0}, (1, 0, 1, 0), id="no winner"),
        pytest.param([[1], [0]], {0: 1}, (1, 0, 0, 1), id="the loser's record"),
        pytest.param([[1], [0]], {}, (1, 0, 0, 1), id="no record"),
        pytest.param([[1, 0], [0]], {0: 0}, (1, 0, 0, 0), id="a round that not all came to"),
        pytest.param([[1, 1], [0, 1], [0]], {0: 0, 1: 0}, (1, 1, 0, 0), id="two winners where not all came"),
    ],
)
def test_a_race_is_judged_by_what_was_said_and_by_what_is_there(
    board: BoardHere, races: list[list[int]], written: dict[int, int], expected: tuple[int, ...]
) -> None:
    for turn, me in written.items():
        assert board.world.store.append(race_key(turn), 1, race_bytes(me, turn))
    rounds, double, none, torn = expected
    found = judge(board.world.store, races)
    assert found == Race(rounds, len(races), double, none, torn)
    assert found.fair is (double + none + torn == 0)


# the figures --------------------------------------------------------------------------------------


def test_rates_add_up_over_processes_and_shares_compare_with_the_bare_ones() -> None:
    stretches = [Stretch(Kind.BARE, 2, 1.0), Stretch(Kind.PUBLISH, 2, 1.0), Stretch(Kind.RACE, 2, 1.0)]
    parts = [[[1_000_000] * 4, [2_000_000] * 4, [1]], [[1_000_000] * 2, [2_000_000, 2_000_000], [0]]]
    assert summary(stretches, parts) == [
        Measure(Kind.BARE, 2, 2000.0, 1.0, 1.0),
        Measure(Kind.PUBLISH, 2, 1000.0, 2.0, 2.0, 0.5),
    ]


@pytest.mark.parametrize(("percent", "value"), [(0, 1), (1, 1), (50, 50), (99, 99), (100, 100)])
def test_a_percentile_is_a_value_that_was_seen(percent: int, value: int) -> None:
    assert percentile(range(1, 101), percent) == value
    assert percentile([7], percent) == 7


def test_the_plan_takes_the_time_it_was_given_and_ends_with_the_race() -> None:
    stretches = plan(10, 4)
    assert sum(stretch.seconds for stretch in stretches) == pytest.approx(10)
    assert [stretch.kind for stretch in stretches].index(Kind.RACE) == len(stretches) - 1
    for before, after in pairwise(stretches):
        if after.kind is Kind.PUBLISH:
            assert (before.kind, before.processes) == (Kind.BARE, after.processes)


def test_bare_publications_work_where_files_need_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    BareFiles(str(tmp_path))("one", b"data")
    assert {path.name: path.read_bytes() for path in (tmp_path / "bare").iterdir()} == {"one": b"data"}


def test_who_waits_in_vain_is_told(tmp_path: Path) -> None:
    meet = Meeting(str(tmp_path), 2)
    assert meet(ticks(), eager=True) is False
    assert os.stat(meeting_file(str(tmp_path))).st_size == 1


# processes ----------------------------------------------------------------------------------------


class FakeChild:
    """A process that has ended with a status, or runs until it is stopped."""

    def __init__(self, status: int | None) -> None:
        self.status = status
        self.stopped = False

    def wait(self, timeout_s: float) -> int | None:
        return self.status

    def stop(self, grace_s: float) -> None:
        self.stopped = True


class FakeCrew:
    """Processes that do nothing."""

    def __init__(self, words: bytes, *children: FakeChild) -> None:
        self._words = words
        self._children = children

    def start(self, number: int) -> FakeChild:
        return self._children[number]

    def said(self, number: int) -> bytes:
        return self._words

    def met(self) -> int:
        return 0


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param(
            b'noise\n{"error": {"code": "store_full", "message": "no room", "hint": "make room"}}\n', "store_full"
        ),
        pytest.param(b"Traceback\nOSError: odd\n", "command_failed"),
        pytest.param(b'{"error": {"code": "unheard_of"}}', "command_failed"),
        pytest.param(b"[1]\n", "command_failed"),
        pytest.param(b"", "command_failed"),
    ],
)
def test_the_refusal_of_one_process_is_that_of_the_bench_and_the_others_are_stopped(
    board: BoardHere, words: bytes, code: str
) -> None:
    ended, running = FakeChild(1), FakeChild(None)
    crew = FakeCrew(words, ended, running)
    stretches = [Stretch(Kind.RACE, 2, 0.1)]
    found = refusal(lambda: measure(crew, board.machine, board.world.store, stretches, lambda _: None))
    assert (found.code, found.exit_status) == (code, 3)
    assert (ended.stopped, running.stopped) == (False, True)


def test_a_bench_that_does_not_end_is_given_up(board: BoardHere) -> None:
    class LateChild(FakeChild):
        def wait(self, timeout_s: float) -> int | None:
            board.clock.advance(20_000)
            return None

    child = LateChild(None)
    stretches = [Stretch(Kind.RACE, 1, 0.1)]
    found = refusal(lambda: measure(FakeCrew(b"", child), board.machine, board.world.store, stretches, lambda _: None))
    assert (found.code, child.stopped) == ("command_failed", True)


def test_processes_are_stopped_when_the_bench_is_interrupted(board: BoardHere) -> None:
    pids: list[int] = []

    def interrupt(_: Stretch) -> None:
        pids.extend(int(pid) for pid in set(children()) - others)
        raise KeyboardInterrupt

    before, others = names(board), set(children())
    with pytest.raises(KeyboardInterrupt):
        bootstrap.bench_store(str(board.root), "/", ("repokernel.cli.bench_process", "2", "60"), 2, 60, interrupt)
    assert len(pids) >= 2
    until(lambda: all(gone(pid) for pid in pids), "the processes have ended")
    assert names(board) == before


def children() -> list[str]:
    """The processes that this one has started."""
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as stream:
        return stream.read().split()


# the command --------------------------------------------------------------------------------------


def test_a_lost_race_is_exit_1_and_says_so(
    board: BoardHere, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    report = Report([Measure(Kind.PUBLISH, 1, 1234.5, 0.5, 9.0, 0.91)], Race(40, 8, 2, 1, 0))
    monkeypatch.setattr(bootstrap, "bench_store", lambda *_: ("file:somewhere", report))
    assert main(["bench", "store", "--json"]) == 1
    said = json.loads(capfd.readouterr().out)
    assert (said["ok"], said["outcome"], said["race"]["double_wins"]) == (False, "store_unfit", 2)
    assert main(["bench", "store"]) == 1
    text = capfd.readouterr().out
    assert "2 with several winners, 1 with none" in text
    assert "store_unfit" in text
    assert "1,234" in text
    assert "91%" in text


@pytest.mark.parametrize(
    "words", [(), ("disk",), ("store", "more"), ("store", "--seconds", "0"), ("store", "--processes", "1")]
)
def test_what_can_be_measured_is_said_to_who_asks_for_something_else(
    words: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *words]) == 2
    told = capfd.readouterr()
    assert told.out == ""
    assert "store" in told.err or words[1].startswith("--")
