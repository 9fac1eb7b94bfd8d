"""The order of syncs, links and words in the traces of all operations; and that wrong orders are seen."""

from pathlib import Path

import pytest

from tests.faults.bench import prepare
from tests.faults.operations import OPERATIONS, OUTPUT, Beat, Operation
from tests.faults.order import Published, check_order
from tests.faults.syscalls import Program, read
from tests.shell.runner import BOARD
from tests.shell.strace import unusable

_UNUSABLE = unusable()
_BEAT = "beats/t1.00000001.json"
_WRITTEN = (Beat.WRITTEN, Beat.WRITTEN_TOO)
_FOLDER = ".repokernel/outputs/t1/t1"
needs_strace = pytest.mark.skipif(bool(_UNUSABLE), reason=_UNUSABLE)

# the right way: aside, written, synced, named, the folder synced, told
RIGHT = {
    "open": 'openat(3</b/claims>, ".", O_WRONLY|O_CLOEXEC|O_TMPFILE, 0666) = 4</b/claims/#77>(deleted)',
    "write": 'write(4</b/claims/#77>(deleted), "{}", 2) = 2',
    "sync": "fsync(4</b/claims/#77>(deleted)) = 0",
    "link": 'linkat(3</b/claims>, "/proc/self/fd/4", 3</b/claims>, "t1.00000001.json", AT_SYMLINK_FOLLOW) = 0',
    "sync folder": "fsync(3</b/claims>) = 0",
    "tell": 'write(1<pipe:[12]>, "{}", 2) = 2',
}
RIGHT_RENAME = {
    "open": 'openat(3</b/beats>, ".tmp-9-ab", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0666) = 4</b/beats/.tmp-9-ab>',
    "write": 'write(4</b/beats/.tmp-9-ab>, "{}", 2) = 2',
    "sync": "fdatasync(4</b/beats/.tmp-9-ab>) = 0",
    "rename": 'renameat(3</b/beats>, ".tmp-9-ab", 3</b/beats>, "t1.00000001.json") = 0',
    "sync folder": "fsync(3</b/beats>) = 0",
    "tell": 'write(1<pipe:[12]>, "{}", 2) = 2',
}
BURIAL = [
    'openat(6</b/archive>, ".", O_WRONLY|O_CLOEXEC|O_TMPFILE, 0666) = 7</b/archive/#78>(deleted)',
    "fsync(7</b/archive/#78>(deleted)) = 0",
    'linkat(6</b/archive>, "/proc/self/fd/7", 6</b/archive>, "t1.jsonl", AT_SYMLINK_FOLLOW) = 0',
    *(line.replace("beats", "claims") for line in RIGHT_RENAME.values()),
]
KEPT = "fsync(6</b/archive>) = 0"
NAMED_AT_ONCE = (
    'openat(3</b/claims>, "t1.00000001.json", O_WRONLY|O_CREAT|O_EXCL, 0666) = 4</b/claims/t1.00000001.json>'
)
NO_SYNC = "fsync(4</b/claims/#77>(deleted)) = -1 EIO (Input/output error)"
OUTPUT_SYNC = "fsync(5</b/out/a.md>) = 0"
MADE = 'mkdir("/b/claims", 0777) = 0'
REMOVED = 'unlinkat(3</b/claims>, "t1.00000001.json", 0) = 0'
CUT = "ftruncate(4</b/claims/#77>(deleted), 0) = 0"


def judged(lines: list[str], relied_on: tuple[str, ...] = ()) -> list[str]:
    """What the checker says of a trace made by hand."""
    return check_order(read("".join(f"7 {line}\n" for line in lines)), "/b", relied_on)[1]


def steps(*names: str, trace: dict[str, str] = RIGHT) -> list[str]:
    """Lines by their name; what is no name is a line."""
    return [trace.get(name, name) for name in names]


@pytest.mark.parametrize("trace", [RIGHT, RIGHT_RENAME])
def test_the_right_order_is_accepted(trace: dict[str, str]) -> None:
    assert judged(list(trace.values())) == []


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (steps("open", "write", "link", "sync folder", "tell"), "before the file is synced"),
        (steps("open", "write", NO_SYNC, "link", "sync folder", "tell"), "before the file is synced"),
        (steps("open", "write", "link", "sync", "sync folder", "tell"), "before the file is synced"),
        (steps("open", "write", "sync", "write", "link", "sync folder", "tell"), "before the file is synced"),
        (steps("open", "write", "sync", "link", "write", "sync", "sync folder", "tell"), "after it got its name"),
        (steps("open", "write", "sync", "sync folder", "link", "tell"), "claims is not synced"),
        (steps("open", "write", "sync", "link", "tell", "sync folder"), "claims is not synced"),
        (steps("open", "write", "sync", "link", "tell"), "claims is not synced"),
        (steps(NAMED_AT_ONCE, "sync folder", "tell"), "at its final name"),
        (steps("open", "write", "sync", "link", "sync folder", CUT, "tell"), "cut in place"),
        (steps("open", "write", "sync", "link", "sync folder"), "never told"),
        (steps("open", "write", "sync", "rename", "tell", trace=RIGHT_RENAME), "beats is not synced"),
        (steps("open", "write", "rename", "sync folder", "tell", trace=RIGHT_RENAME), "before the file is synced"),
        (steps(MADE, *RIGHT), "/b is not synced"),
        (steps("open", "write", "sync", "link", "sync folder", REMOVED, "tell"), "was removed"),
        ([*BURIAL[:-1], KEPT, BURIAL[-1]], "gives way"),
    ],
)  # fmt: skip
def test_a_wrong_order_is_seen(lines: list[str], problem: str) -> None:
    found = judged(lines)
    assert [text for text in found if problem in text], found


def test_a_record_that_gives_way_once_its_contents_are_kept_is_accepted() -> None:
    assert judged([*BURIAL[:3], KEPT, *BURIAL[3:]]) == []


@pytest.mark.parametrize("place", [None, 4, 5])
def test_an_output_that_is_synced_too_late_is_seen(place: int | None) -> None:
    lines = list(RIGHT.values())
    if place is not None:
        lines.insert(place, OUTPUT_SYNC)
    assert judged(lines, ("/b/out/a.md",)) == [
        "/b/claims/t1.00000001.json vouches for /b/out/a.md, which is not synced"
    ]


def test_an_output_that_is_synced_in_time_is_accepted() -> None:
    assert judged([OUTPUT_SYNC, *RIGHT.values()], ("/b/out/a.md",)) == []


def _published(operation: Operation, board: Path) -> list[Published]:
    buried = {f"claims/{name}.json" for name in operation.buried}
    expected = [Published("rename" if name in buried else "link", str(board / name)) for name in operation.steps]
    return [*expected, Published("rename", str(board / _BEAT))] if operation.beat in _WRITTEN else expected


@needs_strace
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name.replace(" ", ""))
def test_an_operation_syncs_everything_before_it_is_relied_on(
    program: Program, operation: Operation, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    prepare(operation, work)
    relied_on = [work / OUTPUT, *(work / OUTPUT).parents[:3]] if OUTPUT in operation.argv else []
    said, calls, begins = program.dry(work, (*operation.argv, "--json"))
    published, problems = check_order(calls[begins:], str(work), [str(path) for path in relied_on])
    assert said.status == 0, said
    assert problems == []
    assert published == _published(operation, work / BOARD)


@needs_strace
def test_a_folder_as_output_is_synced_whole_before_the_record(program: Program, tmp_path: Path) -> None:
    done = next(one for one in OPERATIONS if one.name == "done")
    work = tmp_path / "work"
    prepare(done, work)
    deep = work / _FOLDER / "parts" / "one.txt"
    deep.parent.mkdir()
    deep.write_text("one\n", encoding="utf-8")
    relied_on = [deep, work / OUTPUT, *deep.parents[:4]]
    _, calls, begins = program.dry(work, ("done", "t1", "--role", "ann", "--output", _FOLDER))
    published, problems = check_order(calls[begins:], str(work), [str(path) for path in relied_on])
    assert problems == []
    assert published == _published(done, work / BOARD)


@needs_strace
def test_a_new_board_is_durable_with_all_its_folders_before_it_is_told(program: Program, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    _, calls, begins = program.dry(work, ("init",))
    published, problems = check_order(calls[begins:], str(work))
    assert problems == []
    names = [Path(one.path).name for one in published]
    assert [name for name in names if "probe" not in name] == ["config.toml", "board.json"]
