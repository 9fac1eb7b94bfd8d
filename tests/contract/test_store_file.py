"""The file store alone: odd things under a record's name, durability, faults and crashes on the way."""

import os
import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from repokernel.adapters.store_file import FileStore
from repokernel.core.errors import RkError
from repokernel.core.ids import Key
from repokernel.core.record import RECORD_BYTES_MAX
from tests.boards import code_of
from tests.contract.stores import FileKit
from tests.contract.tracing import Call, traced

T1, T2 = Key("t1"), Key("t2")
NAME = "t1.00000001.json"


@pytest.fixture
def board(tmp_path: Path) -> FileKit:
    return FileKit(tmp_path / "board")


# what may lie under a record's name ---------------------------------------------------------------


def as_fifo(path: Path) -> None:
    os.mkfifo(path)


def as_folder(path: Path) -> None:
    path.mkdir()


def as_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        here = os.open(path.parent, os.O_RDONLY)
        one.bind(f"/proc/self/fd/{here}/{path.name}")
        os.close(here)


def as_link_to_a_record(path: Path) -> None:
    victim = path.parents[2] / "victim"
    victim.write_bytes(b"not yours\n")
    path.symlink_to(victim)


def as_dangling_link(path: Path) -> None:
    path.symlink_to(path.parents[2] / "nowhere")


def as_link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


def as_something_too_large(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(RECORD_BYTES_MAX + 1)


def as_something_endless(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(1 << 40)


ODD = [
    as_fifo,
    as_folder,
    as_socket,
    as_link_to_a_record,
    as_dangling_link,
    as_link_to_itself,
    as_something_too_large,
    as_something_endless,
]


@pytest.mark.parametrize("plant", ODD)
def test_what_cant_be_a_record_is_refused_and_left_as_it_is(board: FileKit, plant: Callable[[Path], None]) -> None:
    store, path = board.open(), board.folder / "claims" / NAME
    plant(path)
    before = path.lstat()
    assert code_of(lambda: store.read(T1, 1)) == "record_invalid"
    assert code_of(lambda: store.append(T1, 1, b"mine\n")) == "record_invalid"
    after = path.lstat()
    assert (after.st_ino, after.st_mode, after.st_size) == (before.st_ino, before.st_mode, before.st_size)
    assert not (board.folder.parent / "nowhere").exists()


@pytest.mark.parametrize("plant", ODD)
def test_what_cant_be_a_record_hides_no_other_task(board: FileKit, plant: Callable[[Path], None]) -> None:
    store = board.open()
    plant(board.folder / "claims" / NAME)
    assert store.append(T2, 1, b"2\n")
    assert (store.top(T2), store.read(T2, 1), store.tops()[T2]) == (1, b"2\n", 1)
    assert T1 in store.tops()


@pytest.mark.parametrize("plant", ODD)
def test_a_side_that_cant_be_read_is_none(board: FileKit, plant: Callable[[Path], None]) -> None:
    plant(board.folder / "beats" / "t1.json")
    assert board.open().read_side("beats", "t1") is None


def test_a_side_under_a_link_is_replaced_not_followed(board: FileKit) -> None:
    path = board.folder / "beats" / "t1.json"
    as_link_to_a_record(path)
    board.open().write_side("beats", "t1", b"beat")
    assert (path.is_symlink(), path.read_bytes()) == (False, b"beat")
    assert (board.folder.parent / "victim").read_bytes() == b"not yours\n"


@pytest.mark.parametrize("folder", ["claims", "beats"])
def test_a_folder_that_is_a_link_is_not_followed(board: FileKit, folder: str) -> None:
    elsewhere = board.folder.parent / "elsewhere"
    (board.folder / folder).rename(elsewhere)
    (board.folder / folder).symlink_to(elsewhere)
    store = board.open()
    calls: dict[str, Callable[[], object]] = {
        "claims": lambda: store.append(T1, 1, b"1\n"),
        "beats": lambda: store.write_side("beats", "t1", b"beat"),
    }
    assert code_of(calls[folder]) == "board_missing"
    assert list(elsewhere.iterdir()) == []


def test_litter_that_vanishes_while_it_is_looked_for_is_no_litter(board: FileKit) -> None:
    class Busy(FileStore):
        """Between its listing and the look at each name a writer has finished."""

        def _names(self, folder: str) -> list[str]:
            return [*super()._names(folder), ".tmp-1-vanished"]

    assert Busy(str(board.folder)).litter(0) == []


def test_litter_is_swept_once_it_is_old(board: FileKit) -> None:
    store = FileStore(str(board.folder))
    old, new = board.folder / "claims" / ".tmp-1-old", board.folder / "beats" / ".tmp-1-new"
    for path in (old, new):
        path.write_bytes(b"half a reco")
    os.utime(old, (1, 1))
    assert (store.litter(3600), store.foreign(), dict(store.tops())) == (["claims/.tmp-1-old"], [], {})
    store.sweep(store.litter(3600))
    assert (old.exists(), new.exists()) == (False, True)


# durability, as the kernel sees it ----------------------------------------------------------------

APPEND = """
    import os, sys
    if "names" in sys.argv:
        del os.O_TMPFILE
    from repokernel.adapters.store_file import FileStore
    from repokernel.core.errors import RkError
    store = FileStore(sys.argv[1])
    store.tops()
    os.write(1, b"READY\\n")
    try:
        store.append("t1", 1, b"record\\n")
    except RkError as cause:
        os.write(1, cause.code.encode())
        sys.exit(cause.exit_status)
    os.write(1, b"SUCCESS")
"""


def place_of(calls: list[Call], name: str, *needles: str) -> int:
    found = [n for n, call in enumerate(calls) if call.name == name and all(one in call.args for one in needles)]
    assert len(found) == 1, (name, needles, calls)
    return found[0]


@pytest.mark.parametrize("how", ["nameless", "names"])
def test_a_record_is_synced_then_linked_then_its_folder_synced_then_success_said(board: FileKit, how: str) -> None:
    calls, status = traced(APPEND, board.folder.parent, argv=(str(board.folder), how))
    claims = board.folder / "claims"
    assert status == 0
    written = place_of(calls, "write", '"record\\n"')
    descriptor = re.match(r"\d+<", calls[written].args)
    assert descriptor is not None
    synced = place_of(calls, "fsync", descriptor[0] + str(claims) + "/")
    linked = place_of(calls, "linkat", f'"{NAME}"')
    folder_synced = place_of(calls, "fsync", f"<{claims}>")
    said = place_of(calls, "write", '"SUCCESS"')
    assert written < synced < linked < folder_synced < said
    assert [call.result for call in (calls[synced], calls[linked], calls[folder_synced])] == [0, 0, 0]


def test_a_side_is_synced_then_renamed_then_its_folder_synced(board: FileKit) -> None:
    script = APPEND.replace('store.append("t1", 1, b"record\\n")', 'store.write_side("beats", "t1", b"record\\n")')
    calls, status = traced(script, board.folder.parent, argv=(str(board.folder),))
    beats = board.folder / "beats"
    assert status == 0
    synced = place_of(calls, "fsync", f"<{beats}/.tmp-")
    renamed = next(n for n, call in enumerate(calls) if call.name.startswith("rename"))
    assert place_of(calls, "write", '"record\\n"') < synced < renamed < place_of(calls, "fsync", f"<{beats}>")


# inject -> (what the caller is told, whether the record is visible)
FAULTS = {
    # the first write says READY, the second is the record
    "write:error=ENOSPC:when=2": ("store_full", False),
    "write:error=EIO:when=2": ("store_io", False),
    "fsync:error=EIO:when=1": ("store_io", False),
    "fsync:error=ENOSPC:when=1": ("store_full", False),
    "fsync:error=EIO:when=2": ("durability_unknown", True),
    "fsync:error=ENOSPC:when=2": ("durability_unknown", True),
    "linkat:error=ENOSPC": ("store_full", False),
    "linkat:error=EDQUOT": ("store_full", False),
    "linkat:error=EIO": ("store_io", False),
    "linkat:error=EROFS": ("store_readonly", False),
    "linkat:error=EACCES": ("store_readonly", False),
    "linkat:error=EINTR:when=1": ("SUCCESS", True),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failing_disk_never_gives_a_false_answer(board: FileKit, fault: str) -> None:
    code, visible = FAULTS[fault]
    calls, status = traced(APPEND, board.folder.parent, inject=fault, argv=(str(board.folder),))
    assert place_of(calls, "write", f'"{code}"')
    assert (status == 0) is (code == "SUCCESS")
    store = board.open()
    assert store.read(T1, 1) == (b"record\n" if visible else None)
    assert store.append(T1, 1, b"record\n")
    assert (store.read(T1, 1), store.top(T1)) == (b"record\n", 1)


@pytest.mark.parametrize("how", ["nameless", "names"])
@pytest.mark.parametrize(
    ("moment", "visible"),
    [
        ("fsync:signal=SIGKILL:when=1", False),
        ("linkat:signal=SIGKILL", False),
        ("fsync:signal=SIGKILL:when=2", True),
    ],
)
def test_a_writer_killed_on_the_way_leaves_the_record_absent_or_whole(
    board: FileKit, moment: str, visible: bool, how: str
) -> None:
    calls, status = traced(APPEND, board.folder.parent, inject=moment, argv=(str(board.folder), how))
    assert status != 0
    assert not [call for call in calls if '"SUCCESS"' in call.args]
    store = board.open()
    seen = store.read(T1, 1)
    assert seen in ((b"record\n",) if visible else (None, b"record\n"))
    assert not [top for top in store.tops().values() if isinstance(top, RkError)]
    assert store.append(T1, 1 if seen is None else 2, b"next\n")
    assert store.foreign() == []
