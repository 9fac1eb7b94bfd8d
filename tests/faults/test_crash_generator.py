"""The crash-state generator on traces of which every state is known, and on planted bugs, each of which it finds."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.crash_states import contents, problem, seen, states
from tests.faults.crash_trace import ROOT_NODE, Effect, Names, Resize, Said, Sync, Trace, Tree, Write, snapshot, traced
from tests.faults.test_crash_states import OPERATIONS, RUN_RK, TWO_AT_ONCE, run

BY_NAME = {operation.name: operation for operation in OPERATIONS}
HOOK = "import os, stat, sys\nreal = os.fsync\nis_folder = lambda fd: stat.S_ISDIR(os.fstat(fd).st_mode)\n"
FILE, FOLDER, OTHER = 1, 2, 3


def _trace(*effects: Effect, made: frozenset[int] = frozenset()) -> Trace:
    return Trace({ROOT_NODE: {}}, {}, effects, made)


def _trees(trace: Trace, *, ordered: bool = False) -> set[tuple[tuple[str, bytes | None], ...]]:
    found = states(trace, 1_000, ordered=ordered)
    assert found.complete
    return {tuple(sorted(state.tree.items())) for state in found.states}


def _as_set(*trees: Tree) -> set[tuple[tuple[str, bytes | None], ...]]:
    return {tuple(sorted(tree.items())) for tree in trees}


def _created(name: str, node: int, folder: int = ROOT_NODE) -> Names:
    return Names(folder, ((name, node),))


def test_data_that_was_not_synced_may_be_there_in_part_or_as_zeros() -> None:
    trace = _trace(_created("a", FILE), Write(FILE, 0, b"1234"), Sync(ROOT_NODE))
    assert _trees(trace) == _as_set({}, {"a": b""}, {"a": b"12"}, {"a": b"1234"}, {"a": b"\0\0\0\0"})


def test_a_file_synced_in_a_folder_that_was_not_is_whole_or_absent() -> None:
    trace = _trace(Write(FILE, 0, b"1234"), Sync(FILE), _created("a", FILE))
    assert _trees(trace) == _as_set({}, {"a": b"1234"})


def test_a_folder_synced_around_a_file_that_was_not_keeps_the_name_alone() -> None:
    trace = _trace(_created("a", FILE), Sync(ROOT_NODE), Write(FILE, 0, b"12"), Sync(FILE), Said(b"done"))
    assert _trees(trace) == _as_set({}, {"a": b""}, {"a": b"1"}, {"a": b"\0\0"}, {"a": b"12"})
    assert [state.tree for state in states(trace, 100).states if state.said] == [{"a": b"12"}]


def test_of_two_writes_the_later_alone_may_be_left() -> None:
    assert contents(b"", [Write(FILE, 0, b"a"), Write(FILE, 1, b"b")]) == [b"ab", b"", b"a", b"\0\0", b"\0b"]


def test_a_file_that_was_cut_may_be_as_long_as_before() -> None:
    assert contents(b"1234", [Resize(FILE, 2)]) == [b"12", b"1234"]


def test_a_rename_within_a_folder_is_one_change() -> None:
    trace = Trace(
        {ROOT_NODE: {"aside": FILE, "name": OTHER}},
        {FILE: b"new", OTHER: b"old"},
        (Names(ROOT_NODE, (("aside", None), ("name", FILE))),),
    )
    assert _trees(trace) == _as_set({"aside": b"new", "name": b"old"}, {"name": b"new"})


def test_a_rename_may_survive_the_creation_of_what_it_renames() -> None:
    rename = Names(ROOT_NODE, (("aside", None), ("name", FILE)))
    trace = _trace(_created("aside", FILE), Write(FILE, 0, b"new"), Sync(FILE), rename)
    assert {"name": b"new"} in [state.tree for state in states(trace, 100).states]
    assert {"aside": b""} in [state.tree for state in states(trace, 100).states]


def test_a_new_folder_is_lost_with_all_in_it_unless_the_folder_above_was_synced() -> None:
    inside = (Write(FILE, 0, b"1"), Sync(FILE), _created("a", FILE, FOLDER), Sync(FOLDER))
    trace = _trace(_created("new", FOLDER), *inside, Said(b"done"), made=frozenset({FOLDER}))
    assert [state.tree for state in states(trace, 100).states if state.said] == [{"new": None, "new/a": b"1"}, {}]


def test_names_of_one_folder_are_lost_independently_or_from_the_last_if_that_is_said() -> None:
    trace = _trace(_created("a", FILE), _created("b", OTHER))
    both: Tree = {"a": b"", "b": b""}
    assert _trees(trace) == _as_set({}, {"a": b""}, {"b": b""}, both)
    assert _trees(trace, ordered=True) == _as_set({}, {"a": b""}, both)


def test_too_many_states_are_sampled_by_seed_around_the_ends() -> None:
    trace = _trace(*(_created(f"n{number}", number) for number in range(1, 20)))
    drawn, again, other = (states(trace, 100, seed) for seed in ("a", "a", "b"))
    assert not drawn.complete
    assert len(drawn.states) == 100
    assert drawn == again != other
    assert all(tree in [state.tree for state in drawn.states] for tree in seen(trace))


def test_a_few_states_more_than_the_limit_are_sampled_too() -> None:
    trace = _trace(*(_created(f"n{number}", number) for number in range(1, 9)))
    found = states(trace, 100)
    assert (len(found.states), found.complete) == (100, False)
    assert states(trace, 300).complete


SCRIPT = """
import os
fd = os.open("a", os.O_CREAT | os.O_RDWR)
os.write(fd, b"first")
os.writev(fd, [b" and", b" second"])
os.pwrite(fd, b"F", 0)
os.ftruncate(fd, 9)
os.fsync(fd)
os.close(fd)
fd = os.open("a", os.O_WRONLY | os.O_APPEND)
os.write(fd, bytes(range(256)))
os.close(fd)
os.mkdir("d")
os.makedirs("d/e/f")
os.link("a", "d/same")
os.rename("a", "d/e/moved")
os.rename("d", "g")
os.rmdir("g/e/f")
fd = os.open("g", os.O_TMPFILE | os.O_WRONLY)
os.write(fd, b"nameless")
folder = os.open("g", os.O_RDONLY)
os.link(f"/proc/self/fd/{fd}", "name", dst_dir_fd=folder, follow_symlinks=True)
os.write(fd, b", and written on")
os.unlink("there")
with open("g/e/again", "w") as stream:
    stream.write("text")
if os.fork() == 0:
    os.replace("g/e/again", "g/name")
    os._exit(0)
os.wait()
with open("g/name", "w") as stream:
    stream.write("new")
os.write(1, b"done")
"""


def test_a_trace_explains_all_that_a_program_has_done_to_a_folder(tmp_path: Path) -> None:
    folder = (tmp_path / "work").resolve()
    folder.mkdir()
    (folder / "there").write_text("before")
    trace = traced([sys.executable, "-c", SCRIPT], folder, tmp_path / "trace", {})
    assert seen(trace)[0] == {"there": b"before"}
    assert seen(trace)[-1] == snapshot(folder)
    assert trace.effects[-1] == Said(b"done")


PLAIN = """
from repokernel.adapters import publish, store_file
def write(folder_fd, name, data, flags=os.O_EXCL):
    fd = os.open(name, os.O_CREAT | os.O_WRONLY | flags, dir_fd=folder_fd)
    os.write(fd, data)
    os.fsync(fd)
    os.close(fd)
    os.fsync(folder_fd)
    return True
def replace(folder_fd, name, data):
    write(folder_fd, name, data, os.O_TRUNC)
publish.link_new = store_file.link_new = write
store_file.replace_whole = replace
"""
SYNCED_LATE = """
from repokernel.adapters import store_file
def link(folder_fd, name, data):
    fd = os.open(".", os.O_TMPFILE | os.O_WRONLY, dir_fd=folder_fd)
    os.write(fd, data)
    os.link(f"/proc/self/fd/{fd}", name, dst_dir_fd=folder_fd, follow_symlinks=True)
    os.fsync(fd)
    os.close(fd)
    return True
def replace(folder_fd, name, data):
    fd = os.open(".tmp-1", os.O_CREAT | os.O_WRONLY, dir_fd=folder_fd)
    os.write(fd, data)
    os.replace(".tmp-1", name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
    os.fsync(fd)
    os.fsync(folder_fd)
store_file.link_new = link
store_file.replace_whole = replace
"""
EARLY = """
def fsync(fd):
    if is_folder(fd) and "/.repokernel/" in os.readlink(f"/proc/self/fd/{fd}"):
        os.write(1, b"done\\n")
    real(fd)
os.fsync = fsync
"""
OUTPUTS_LAST = """
from repokernel.adapters import outputs_file, store_file
late = []
outputs_file.full_sync = lambda fd: late.append(os.dup(fd))
outputs_file.sync_folder = lambda path: late.append(os.open(path, os.O_RDONLY))
append = store_file.FileStore.append
def appended(*args, **more):
    done = append(*args, **more)
    for fd in late:
        os.fsync(fd)
    return done
store_file.FileStore.append = appended
"""
FORGOTTEN = "from repokernel.adapters import outputs_file\noutputs_file.{} = lambda _: None\n"
PLANTED = {
    "files are never synced": (
        "os.fsync = lambda fd: real(fd) if is_folder(fd) else None\n",
        ("add", "claim", "first renew", "next renew", "done with a file", "verify"),
    ),
    "folders are never synced": (
        "os.fsync = lambda fd: None if is_folder(fd) else real(fd)\n",
        ("add", "takeover", "first renew", "next renew", "release", "verify"),
    ),
    "files are created under their names and then written": (PLAIN, ("add", "hold", "first renew", "next renew")),
    "files are synced when they have their names": (SYNCED_LATE, ("add", "claim --next", "first renew", "next renew")),
    "success is said before the folder is synced": (EARLY, ("add", "cancel", "next renew", "done with a folder")),
    "outputs are synced after the record": (OUTPUTS_LAST, ("done with a file", "done with a folder of the board's")),
    "the data of outputs is not synced": (FORGOTTEN.format("full_sync"), ("done with a file", "done with a folder")),
    "the names of outputs are not synced": (
        FORGOTTEN.format("sync_folder"),
        ("done with a file", "done with a folder"),
    ),
}


@pytest.mark.parametrize(
    ("bug", "name"), [(bug, name) for bug, (_, names) in PLANTED.items() for name in names], ids=str
)
def test_a_planted_bug_leaves_a_state_that_is_refused(bug: str, name: str) -> None:
    launcher = HOOK + PLANTED[bug][0] + RUN_RK
    with run(replace(BY_NAME[name], program=("-c", launcher))) as planted:
        found = states(planted.trace, 500, bug)
        assert any(problem(planted, state) is not None for state in found.states), f"{len(found.states)} states pass"


def test_without_order_of_names_a_record_lost_before_another_is_found_and_not_overlooked() -> None:
    """What is beyond the promises of the board: there no state is wrong in silence."""
    with run(TWO_AT_ONCE) as overtaken:
        problems = [problem(overtaken, state) for state in states(overtaken.trace, 500).states]
    assert [said for said in problems if said is not None and "lacks 2" not in said] == []
    assert any(problems)
