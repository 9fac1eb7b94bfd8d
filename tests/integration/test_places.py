"""Where a board is made and found: plain folders, and real Git repositories in all their shapes."""

import os
import subprocess
from pathlib import Path

import pytest

from repokernel.adapters.board_folder import Place
from repokernel.bootstrap import identity, locate, make_board, open_world
from repokernel.core.errors import RkError
from repokernel.core.ids import TaskId
from repokernel.core.owner import parse_owner
from repokernel.ops.add import add
from repokernel.ops.log import require_head
from tests.boards import PERSON, BoardHere, code_of


def git(folder: Path, *words: str) -> str:
    """Real Git, under the sealed environment of the test."""
    command = [
        "git",
        "-c",
        "user.name=tester",
        "-c",
        "user.email=tester@example.org",
        "-c",
        "protocol.file.allow=always",
    ]
    done = subprocess.run([*command, *words], cwd=folder, capture_output=True, text=True, timeout=30, check=True)
    return done.stdout.strip()


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    folder = tmp_path / "plain"
    (folder / "sub" / "deep").mkdir(parents=True)
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "sub" / "deep").mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "a.txt").write_text("a\n", encoding="utf-8")
    git(folder, "add", "a.txt")
    git(folder, "commit", "--quiet", "--message=first")
    return folder


def made(folder: Path, url: str | None = None) -> tuple[Place, bool]:
    return make_board(url, str(folder))


def found(folder: Path) -> tuple[str, bool]:
    place = locate(None, str(folder))
    return os.path.realpath(place.root), place.repository


# plain folders ------------------------------------------------------------------------------------


def test_a_board_of_a_plain_folder_lies_in_it_and_is_found_from_below(plain: Path) -> None:
    place, new = made(plain)
    assert (place.root, place.repository, new) == (str(plain / ".repokernel"), False, True)
    for folder in (plain, plain / "sub", plain / "sub" / "deep", plain / ".repokernel" / "claims"):
        assert found(folder) == (str(plain / ".repokernel"), False)


def test_making_a_board_again_changes_nothing(plain: Path) -> None:
    made(plain)
    world = open_world(None, str(plain))
    add(world, {"id": "t1", "title": "t"}, PERSON)
    before = {path: path.read_bytes() for path in plain.rglob("*") if path.is_file()}
    assert made(plain)[1] is False
    assert {path: path.read_bytes() for path in plain.rglob("*") if path.is_file()} == before


def test_making_a_board_again_puts_back_what_is_missing(plain: Path) -> None:
    made(plain)
    (plain / ".repokernel" / "beats").rmdir()
    assert made(plain)[1] is False
    assert (plain / ".repokernel" / "beats").is_dir()


def test_the_nearest_board_is_the_one(plain: Path) -> None:
    made(plain)
    made(plain / "sub")
    assert found(plain / "sub" / "deep") == (str(plain / "sub" / ".repokernel"), False)
    assert found(plain) == (str(plain / ".repokernel"), False)


def test_no_board_is_said_not_made(plain: Path) -> None:
    assert code_of(lambda: locate(None, str(plain))) == "board_missing"
    assert code_of(lambda: open_world(str(plain / "nowhere"), str(plain))) == "board_missing"
    assert [path.name for path in plain.rglob("*")] == ["sub", "deep"]


@pytest.mark.parametrize("url", ["queue", "file:queue", "file:{plain}/queue", "file://{plain}/queue", "{plain}/queue/"])
def test_a_board_may_lie_where_a_url_says(plain: Path, url: str) -> None:
    url = url.format(plain=plain)
    assert made(plain, url)[0].root == str(plain / "queue")
    assert locate(url, str(plain)).root == str(plain / "queue")
    assert open_world(url, str(plain)).store.url == f"file:{plain}/queue"


@pytest.mark.parametrize("url", ["s3://bucket/board", "file://elsewhere/board", "postgresql://x/y", "file:", "a\0b"])
def test_a_url_of_another_kind_is_refused(plain: Path, url: str) -> None:
    assert code_of(lambda: made(plain, url)) == "bad_value"
    assert code_of(lambda: locate(url, str(plain))) == "bad_value"


@pytest.mark.parametrize(
    ("text", "code"),
    [(b"", "record_invalid"), (b"{", "record_invalid"), (b"[]", "record_invalid"), (b'{"board": 0}', "record_invalid"),
     (b'{"board": true}', "record_invalid"), (b'{"board": 2}', "schema_newer")],
)  # fmt: skip
def test_a_board_of_a_format_that_is_not_known_is_left_alone(plain: Path, text: bytes, code: str) -> None:
    made(plain)
    meta = plain / ".repokernel" / "board.json"
    meta.write_bytes(text)
    assert code_of(lambda: open_world(None, str(plain / "sub"))) == code
    assert code_of(lambda: made(plain)) == code
    assert meta.read_bytes() == text


# Git repositories ---------------------------------------------------------------------------------


def test_a_repositorys_board_lies_in_the_git_folder_and_is_found_from_anywhere_inside(repository: Path) -> None:
    place, _ = made(repository / "sub")
    root = str(repository / ".git" / "repokernel")
    assert (place.root, place.repository) == (root, True)
    for folder in (repository, repository / "sub" / "deep", repository / ".git", repository / ".git" / "refs"):
        assert found(folder) == (root, True)
    assert git(repository, "status", "--porcelain") == ""


def test_a_linked_worktree_shares_the_board(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "--quiet", "-b", "topic", str(tmp_path / "linked"))
    (tmp_path / "linked" / "sub").mkdir()
    made(tmp_path / "linked" / "sub")
    root = str(repository / ".git" / "repokernel")
    assert found(repository) == found(tmp_path / "linked") == found(tmp_path / "linked" / "sub") == (root, True)
    add(open_world(None, str(tmp_path / "linked")), {"id": "t1", "title": "t", "owned_paths": ["src/**"]}, PERSON)
    assert require_head(open_world(None, str(repository)), TaskId("t1")).entry["owned_paths"] == ["src/**"]


def test_a_worktree_inside_the_repository_shares_the_board(repository: Path) -> None:
    git(repository, "worktree", "add", "--quiet", "-b", "topic", str(repository / "trees" / "topic"))
    made(repository)
    assert found(repository / "trees" / "topic") == (str(repository / ".git" / "repokernel"), True)


def test_a_bare_clone_has_a_board_of_its_own_shared_by_its_worktrees(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(repository), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "--quiet", str(tmp_path / "tree"), "main")
    made(tmp_path / "tree")
    root = str(tmp_path / "bare.git" / "repokernel")
    assert found(tmp_path / "bare.git") == found(tmp_path / "tree") == (root, True)
    assert code_of(lambda: locate(None, str(repository))) == "board_missing"


def test_a_git_folder_kept_elsewhere_is_followed(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    git(tmp_path / "tree", "init", "--quiet", "--separate-git-dir", str(tmp_path / "store.git"))
    made(tmp_path / "tree")
    assert found(tmp_path / "tree") == (str(tmp_path / "store.git" / "repokernel"), True)


def test_a_submodule_has_a_board_of_its_own(repository: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "--quiet")
    git(outer, "submodule", "--quiet", "add", str(repository), "inner")
    for folder in (outer, outer / "inner"):
        made(folder)
    assert found(outer) == (str(outer / ".git" / "repokernel"), True)
    assert found(outer / "inner") == (str(outer / ".git" / "modules" / "inner" / "repokernel"), True)


def test_a_repository_without_a_board_hides_the_board_of_a_folder_above(plain: Path) -> None:
    made(plain)
    git(plain / "sub", "init", "--quiet")
    assert code_of(lambda: locate(None, str(plain / "sub" / "deep"))) == "board_missing"


def test_a_board_in_a_plain_subfolder_of_a_repository_is_found_first(repository: Path) -> None:
    made(repository)
    make_board(str(repository / "sub" / ".repokernel"), str(repository))
    assert found(repository / "sub" / "deep") == (str(repository / "sub" / ".repokernel"), False)


def test_the_environment_of_a_git_hook_changes_nothing(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(repository)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_WORK_TREE", "/nowhere")
    assert found(repository) == (str(repository / ".git" / "repokernel"), True)


@pytest.mark.parametrize("text", ["", "gitdir: nowhere\n", "gitdir: ", "\xff", "not a pointer\n"])
def test_a_file_that_only_looks_like_a_git_pointer_is_none(plain: Path, text: str) -> None:
    (plain / "sub" / ".git").write_text(text, encoding="latin-1")
    made(plain)
    assert found(plain / "sub" / "deep") == (str(plain / ".repokernel"), False)


def test_an_empty_folder_called_git_is_no_repository(plain: Path) -> None:
    (plain / "sub" / ".git").mkdir()
    made(plain)
    assert found(plain / "sub") == (str(plain / ".repokernel"), False)


# many boards in one program -----------------------------------------------------------------------


def test_boards_that_are_opened_and_forgotten_leave_no_descriptor_behind(board: BoardHere) -> None:
    board.add()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        world = open_world(str(board.root), "/")
        require_head(world, TaskId("t1"))
        del world
    assert len(os.listdir("/proc/self/fd")) <= before + 4


# who we are ---------------------------------------------------------------------------------------


def test_a_claim_by_hand_is_tied_to_host_boot_and_login() -> None:
    owner = parse_owner(identity({}, role=None, owner_pid=None, own_process=False))
    assert owner is not None
    assert (owner.role, owner.deployment) == ("tester", "")
    assert owner.instance.split(":")[2:] == ["tester"]


def test_a_supervisor_is_tied_to_its_process() -> None:
    owner = parse_owner(identity({"RK_INSTANCE": "w1"}, role="writer", owner_pid=None, own_process=True))
    assert owner is not None
    name, _, place = owner.instance.partition("~")
    assert (owner.role, name, place.split(":")[3]) == ("writer", "w1", str(os.getpid()))


@pytest.mark.parametrize(
    ("env", "role", "expected"),
    [
        ({"RK_INSTANCE": "i-1"}, None, "tester@i-1"),
        ({"RK_INSTANCE": "i-1", "RK_ROLE": "editor"}, None, "editor@i-1"),
        ({"RK_INSTANCE": "i-1", "RK_ROLE": "editor"}, "writer", "writer@i-1"),
        ({"RK_INSTANCE": "i-1", "RK_DEPLOYMENT": "blue"}, "writer", "writer@i-1#blue"),
    ],
)
def test_the_environment_may_name_role_instance_and_deployment(
    env: dict[str, str], role: str | None, expected: str
) -> None:
    assert identity(env, role=role, owner_pid=None, own_process=False) == expected


@pytest.mark.parametrize(
    ("env", "role", "pid"),
    [({}, "a b", None), ({}, "", None), ({"RK_INSTANCE": "a@b"}, None, None), ({"RK_DEPLOYMENT": "#"}, None, None),
     ({}, None, 0), ({}, None, 2**31 - 1)],
)  # fmt: skip
def test_an_identity_that_cant_be_is_refused(env: dict[str, str], role: str | None, pid: int | None) -> None:
    with pytest.raises(RkError) as caught:
        identity(env, role=role, owner_pid=pid, own_process=False)
    assert caught.value.code == "bad_value"
