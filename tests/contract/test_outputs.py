"""What every outputs adapter promises (`ports/system.py`, Outputs), shown on this machine's files."""

import hashlib
import os
import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from repokernel.adapters.outputs_file import FileOutputs, from_uri, to_uri
from repokernel.core import jsontext
from repokernel.core.ids import Key
from repokernel.core.output import FILES_MAX, Depth
from tests.boards import code_of
from tests.contract.tracing import traced

AT = "2027-01-15T08:00:00.000Z"
DEPTHS = (Depth.EXISTS, Depth.SIZE, Depth.SHA256)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def outputs(tmp_path: Path) -> FileOutputs:
    (tmp_path / "here").mkdir()
    return FileOutputs(str(tmp_path / "board"), str(tmp_path / "here"))


@pytest.fixture
def here(outputs: FileOutputs, tmp_path: Path) -> Path:
    return tmp_path / "here"


def tree(folder: Path) -> Path:
    (folder / "sub").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "z.md").write_bytes(b"zz")
    (folder / "sub" / "a.md").write_bytes(b"aaa")
    (folder / "sub" / "nothing").write_bytes(b"")
    return folder


# describing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"text\n", b"x" * 3_000_000], ids=["empty", "text", "several reads"])
def test_a_file_is_described_by_uri_bytes_and_sha256(outputs: FileOutputs, here: Path, data: bytes) -> None:
    (here / "a.md").write_bytes(data)
    expected = {"uri": f"file://{here}/a.md", "bytes": len(data), "sha256": sha256(data), "written_at": AT}
    assert outputs.describe("a.md", AT) == expected


@pytest.mark.parametrize(
    "spelling", ["a.md", "./a.md", "x/../a.md", "{here}/a.md", "file://{here}/a.md", "file:{here}/a.md"]
)
def test_every_spelling_of_a_path_names_the_same_output(outputs: FileOutputs, here: Path, spelling: str) -> None:
    (here / "a.md").write_bytes(b"text")
    assert outputs.describe(spelling.format(here=here), AT)["uri"] == f"file://{here}/a.md"


def test_a_folder_is_described_by_a_manifest_of_its_files(outputs: FileOutputs, here: Path) -> None:
    tree(here / "out")
    output = outputs.describe("out", AT)
    files = [
        {"path": "sub/a.md", "bytes": 3, "sha256": sha256(b"aaa")},
        {"path": "sub/nothing", "bytes": 0, "sha256": sha256(b"")},
        {"path": "z.md", "bytes": 2, "sha256": sha256(b"zz")},
    ]
    assert output["files"] == files
    assert (output["uri"], output["bytes"]) == (f"file://{here}/out", 5)
    assert output["sha256"] == sha256(jsontext.canonical(files))


def test_equal_folders_have_equal_digests_wherever_they_are(outputs: FileOutputs, here: Path) -> None:
    one, other = outputs.describe(str(tree(here / "one")), AT), outputs.describe(str(tree(here / "other")), AT)
    assert (one["sha256"], one["files"]) == (other["sha256"], other["files"])


def test_each_token_of_each_task_has_a_place_of_its_own(outputs: FileOutputs) -> None:
    places = {outputs.place(Key(key), token) for key in ("t1", "t11") for token in (1, 2, 11)}
    assert len(places) == 6
    assert not any(os.path.exists(place) for place in places)


# refusing -----------------------------------------------------------------------------------------


def missing(here: Path) -> str:
    return "nowhere.md"


def below_a_file(here: Path) -> str:
    (here / "file").write_bytes(b"x")
    return "file/a.md"


def dangling(here: Path) -> str:
    (here / "link").symlink_to("nowhere")
    return "link"


def empty_folder(here: Path) -> str:
    (here / "out" / "sub").mkdir(parents=True)
    return "out"


def fifo(here: Path) -> str:
    os.mkfifo(here / "fifo")
    return "fifo"


def device(here: Path) -> str:
    return "/dev/null"


def listening(here: Path) -> str:
    with socket.socket(socket.AF_UNIX) as one:
        fd = os.open(here, os.O_RDONLY)
        one.bind(f"/proc/self/fd/{fd}/socket")
        os.close(fd)
    return "socket"


def folder_with_fifo(here: Path) -> str:
    os.mkfifo(tree(here / "out") / "sub" / "fifo")
    return "out"


def folder_with_link(here: Path) -> str:
    (tree(here / "out") / "link").symlink_to("z.md")
    return "out"


def folder_with_link_to_folder(here: Path) -> str:
    (tree(here / "out") / "link").symlink_to("sub")
    return "out"


def folder_with_link_out_of_it(here: Path) -> str:
    (tree(here / "out") / "link").symlink_to(here.parent)
    return "out"


def folder_with_dangling_link(here: Path) -> str:
    (tree(here / "out") / "link").symlink_to("nowhere")
    return "out"


def folder_with_name_that_is_no_text(here: Path) -> str:
    with open(os.fsencode(tree(here / "out")) + b"/\xff", "wb"):
        return "out"


def too_long(here: Path) -> str:
    return "x" * 300


def loop(here: Path) -> str:
    (here / "loop").symlink_to("loop")
    return "loop"


REFUSALS: list[tuple[Callable[[Path], str], str]] = [
    (missing, "output_missing"),
    (below_a_file, "output_missing"),
    (dangling, "output_missing"),
    (empty_folder, "output_missing"),
    (fifo, "output_refused"),
    (device, "output_refused"),
    (listening, "output_refused"),
    (folder_with_fifo, "output_refused"),
    (folder_with_link, "output_refused"),
    (folder_with_link_to_folder, "output_refused"),
    (folder_with_link_out_of_it, "output_refused"),
    (folder_with_dangling_link, "output_refused"),
    (folder_with_name_that_is_no_text, "output_refused"),
    (too_long, "output_missing"),
    (loop, "output_missing"),
]


@pytest.mark.parametrize(("make", "code"), REFUSALS, ids=[make.__name__ for make, _ in REFUSALS])
def test_what_cant_be_read_again_as_it_was_is_refused(
    outputs: FileOutputs, here: Path, make: Callable[[Path], str], code: str
) -> None:
    where = make(here)
    assert code_of(lambda: outputs.describe(where, AT)) == code


@pytest.mark.parametrize(
    "where",
    ["", "a\0b", "s3://bucket/key", "https://example.org/a", "gs://b/k", "git+file:///repo", "file://elsewhere/a",
     "file:a.md", "file:", "file:///%zz", "file:///a%", "file:///a%4", "file:///a%  b", "file:///a%00b"],
)  # fmt: skip
def test_what_is_no_path_of_this_machine_is_refused(outputs: FileOutputs, here: Path, where: str) -> None:
    (here / "a.md").write_bytes(b"x")
    assert code_of(lambda: outputs.describe(where, AT)) == "output_refused"


@pytest.mark.nightly
def test_a_folder_of_too_many_files_is_refused(outputs: FileOutputs, here: Path) -> None:
    (here / "out").mkdir()
    for number in range(FILES_MAX + 1):
        (here / "out" / str(number)).touch()
    assert code_of(lambda: outputs.describe("out", AT)) == "output_refused"


# looking again ------------------------------------------------------------------------------------


def leave(path: Path) -> None:
    pass


def touch(path: Path) -> None:
    os.utime(path, (1, 1))


def replace_by_same_bytes(path: Path) -> None:
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)


def remove(path: Path) -> None:
    path.unlink()


def grow(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"!")


def empty(path: Path) -> None:
    path.write_bytes(b"")


def alter(path: Path) -> None:
    path.write_bytes(b"#" * path.stat().st_size)


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def as_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def as_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


# damage -> the code at each depth: exists, size, sha256
SEEN: dict[Callable[[Path], None], tuple[str | None, str | None, str | None]] = {
    leave: (None, None, None),
    touch: (None, None, None),
    replace_by_same_bytes: (None, None, None),
    remove: ("output_missing",) * 3,
    grow: (None, "output_mismatch", "output_mismatch"),
    empty: (None, "output_mismatch", "output_mismatch"),
    alter: (None, None, "output_mismatch"),
    as_folder: ("output_mismatch",) * 3,
    as_fifo: ("output_mismatch",) * 3,
    as_loop: ("unverifiable",) * 3,
}


@pytest.mark.parametrize("kind", ["file", "folder"])
@pytest.mark.parametrize("damage", SEEN, ids=lambda damage: damage.__name__)
def test_each_depth_sees_what_it_looks_at(
    outputs: FileOutputs, here: Path, damage: Callable[[Path], None], kind: str
) -> None:
    victim = tree(here / "out") / "sub" / "a.md"
    output = outputs.describe(str(victim) if kind == "file" else "out", AT)
    damage(victim)
    problems = [outputs.probe(output, depth) for depth in DEPTHS]
    assert tuple(problem and problem.code for problem in problems) == SEEN[damage]


def test_a_folder_that_is_gone_is_missing_at_every_depth(outputs: FileOutputs, here: Path) -> None:
    tree(here / "out")
    output = outputs.describe("out", AT)
    (here / "out").rename(here / "elsewhere")
    (here / "out").write_bytes(b"a file now")
    assert {(problem and problem.code) for problem in (outputs.probe(output, depth) for depth in DEPTHS)} == {
        "output_missing"
    }


def test_an_output_of_a_kind_that_is_not_known_is_unverifiable_not_fine(outputs: FileOutputs, here: Path) -> None:
    (here / "a.md").write_bytes(b"text")
    output = outputs.describe("a.md", AT)
    output["uri"] = "s3://bucket/a.md"
    problem = outputs.probe(output, Depth.EXISTS)
    assert problem is not None
    assert problem.code == "unverifiable"


# URIs ---------------------------------------------------------------------------------------------

ODD_NAMES = [b"a b", "ü€".encode(), b"%41", b"a#b?c&d", b"new\nline", b"\xff\xfe", b"'\"`$()", b"a;b:c", b"back\\slash",
             b"\x01\x7f", b"-rf", b"file:", b"~", b"+,=@"]  # fmt: skip


@pytest.mark.parametrize("name", ODD_NAMES)
def test_an_output_with_an_odd_name_is_found_again(outputs: FileOutputs, here: Path, name: bytes) -> None:
    path = os.path.join(os.fsencode(here), name)
    with open(path, "wb") as stream:
        stream.write(b"text")
    output = outputs.describe(os.fsdecode(path), AT)
    assert re.fullmatch(r"file://[!-~]+", output["uri"])
    assert os.fsencode(from_uri(output["uri"])) == path
    assert outputs.probe(output, Depth.SHA256) is None


@given(st.binary(max_size=300).filter(lambda raw: b"\0" not in raw))
def test_a_path_survives_the_round_trip_byte_for_byte(raw: bytes) -> None:
    path = os.fsdecode(b"/" + raw)
    assert from_uri(to_uri(path)) == path


@pytest.mark.parametrize(
    ("uri", "path"),
    [("file:///a/b", "/a/b"), ("file:/a/b", "/a/b"), ("file://localhost/a/b", "/a/b"), ("file:///a%2fb%C3%bc", "/a/bü"),
     ("file:///ü", "/ü")],
)  # fmt: skip
def test_uris_that_others_wrote_are_read(uri: str, path: str) -> None:
    assert from_uri(uri) == path


# durability ---------------------------------------------------------------------------------------

DONE = """
    import os, sys
    from repokernel import bootstrap
    from repokernel.core.ids import TaskId
    from repokernel.ops.add import add
    from repokernel.ops.carry import done
    from repokernel.ops.claim import claim
    bootstrap.make_board("board", os.getcwd())
    world = bootstrap.open_world("board", os.getcwd())
    add(world, {"id": "t1", "title": "t"}, "boss@desk")
    token = claim(world, TaskId("t1"), "writer@ann", 60_000).entry["token"]
    os.write(1, b"READY\\n")
    place = world.outputs.place("t1", token) if sys.argv[1] == "place" else os.path.join(os.getcwd(), "out")
    os.makedirs(os.path.join(place, "sub"))
    for name in ("a.md", "sub/b.md"):
        with open(os.path.join(place, name), "wb") as stream:
            stream.write(b"text")
    done(world, TaskId("t1"), "writer@ann", token, os.path.join(place, sys.argv[2]))
"""


def synced_before_the_record(folder: Path, *argv: str) -> set[str]:
    """The files and folders, relative to `folder`, that were synced before the record `done` was published."""
    calls, status = traced(DONE, folder, argv=argv)
    assert status == 0
    published = next(n for n, call in enumerate(calls) if call.name == "linkat" and "t1.00000003.json" in call.args)
    paths = [re.search(r"<(.*?)>", call.args) for call in calls[:published] if call.name in ("fsync", "fdatasync")]
    return {os.path.relpath(path[1], folder) for path in paths if path is not None}


def test_a_file_and_its_folder_are_synced_before_the_task_is_done(tmp_path: Path) -> None:
    assert {"out/a.md", "out"} <= synced_before_the_record(tmp_path, "out", "a.md")


def test_every_file_and_folder_of_a_manifest_is_synced_before_the_task_is_done(tmp_path: Path) -> None:
    assert {"out/a.md", "out/sub/b.md", "out/sub", "out"} <= synced_before_the_record(tmp_path, "out", ".")


def test_the_name_of_a_folder_is_synced_too_before_the_task_is_done(tmp_path: Path) -> None:
    assert "." in synced_before_the_record(tmp_path, "out", ".")


def test_the_new_folders_above_an_output_in_its_place_are_synced_before_the_task_is_done(tmp_path: Path) -> None:
    new = {"board/outputs/t1/t1/a.md", "board/outputs/t1/t1", "board/outputs/t1", "board/outputs"}
    assert new <= synced_before_the_record(tmp_path, "place", "a.md")
