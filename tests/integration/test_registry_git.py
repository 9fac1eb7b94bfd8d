"""The merge driver under real Git: what `git merge` leaves, and that it stops where both sides can't be joined."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from repokernel.core.registry_join import Refused
from repokernel.core.registry_merge import conflict, merge
from tests.registry_cases import Case, kept, shared

NAME = ".repokernel/registry.json"
THIRD = kept()[::3]
GOOD = b'{"entries":[\n{"id":"a","status":"done"}\n],"version":1}\n'


class Repository:
    """A repository whose registry has a base, and two branches that change it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "--quiet", "--initial-branch=main")
        self.file = folder / NAME
        words = f"'{sys.executable}' -P -m repokernel registry-merge-driver"
        driver = f"{words} --current %A --other %B --base %O --path %P"
        self.git("config", "merge.repokernel-registry.driver", driver)
        (folder / ".gitattributes").write_text(f"{NAME} merge=repokernel-registry\n", encoding="utf-8")

    def git(self, *words: str, status: int = 0, env: dict[str, str] | None = None) -> str:
        who = ["-c", "user.name=tester", "-c", "user.email=tester@example.invalid"]
        done = subprocess.run(
            ["git", *who, *words],
            cwd=self.folder,
            env={**os.environ, **(env or {})},
            capture_output=True,
            check=False,
            timeout=30,
        )
        said = (done.stdout + done.stderr).decode("utf-8", "replace")
        assert done.returncode == status, said
        return said

    def commit(self, data: bytes | None) -> None:
        if data is None:
            self.file.unlink(missing_ok=True)
        else:
            self.file.parent.mkdir(exist_ok=True)
            self.file.write_bytes(data)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message=x")

    def branches(self, base: bytes | None, ours: bytes, theirs: bytes) -> None:
        """`main` and `other`, which started from `base` (None: the file wasn't there yet)."""
        self.commit(base)
        self.git("branch", "other")
        self.commit(ours)
        self.git("switch", "--quiet", "other")
        self.commit(theirs)
        self.git("switch", "--quiet", "main")

    def committed(self) -> bytes:
        done = subprocess.run(
            ["git", "cat-file", "blob", f"HEAD:{NAME}"], cwd=self.folder, capture_output=True, check=True, timeout=30
        )
        return done.stdout


def check(repository: Repository, case: Case) -> None:
    repository.branches(case.base, case.a, case.b)
    if case.base in (case.a, case.b) or case.a == case.b:  # Git takes the side that changed, and asks nobody
        repository.git("merge", "--quiet", "--no-edit", "other")
        assert repository.committed() == (case.b if case.base == case.a else case.a)
        return
    done = merge(case.base, case.a, case.b)
    assert isinstance(done, Refused) is not case.merged
    said = repository.git("merge", "--quiet", "--no-edit", "other", status=0 if case.merged else 1)
    if isinstance(done, Refused):
        assert repository.file.read_bytes() == conflict(case.a, case.b)
        assert repository.git("status", "--porcelain", "--", NAME) == f"UU {NAME}\n"
        assert f"rk: {NAME} is not merged: " in said
    else:
        assert repository.committed() == repository.file.read_bytes() == done.data
        assert json.loads(done.data) == case.doc
        assert repository.git("status", "--porcelain") == ""


@pytest.mark.parametrize("case", THIRD, ids=lambda case: case.id)
def test_a_case_merges_in_a_repository_as_listed(tmp_path: Path, case: Case) -> None:
    check(Repository(tmp_path), case)


@pytest.mark.parametrize("number", range(0, 12, 3))
def test_a_case_of_a_public_ledger_does_so_too(tmp_path: Path, shared_data: Path, number: int) -> None:
    check(Repository(tmp_path), shared(shared_data)[number])


@pytest.mark.parametrize("mine", [True, False])
@pytest.mark.parametrize("bad", [b"", b"{", b"\xff\x00", GOOD + GOOD, b'{"version":2,"entries":[]}'])
def test_a_side_that_cannot_be_read_stops_the_merge_with_both_sides_in_the_file(
    tmp_path: Path, bad: bytes, *, mine: bool
) -> None:
    repository = Repository(tmp_path)
    sides = (bad, GOOD) if mine else (GOOD, bad)
    repository.branches(b'{"entries":[],"version":1}', *sides)
    said = repository.git("merge", "--no-edit", "other", status=1)
    assert repository.file.read_bytes() == conflict(*sides)
    assert repository.git("ls-files", "--unmerged", "--", NAME).count("\n") == 3
    assert f"{NAME} is not merged: {'ours' if mine else 'theirs'}: " in said
    assert sorted(os.listdir(tmp_path)) == [".git", ".gitattributes", ".repokernel"]


def test_when_both_sides_made_the_file_nothing_is_lost(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.branches(None, GOOD, GOOD.replace(b'"a"', b'"b"'))
    said = repository.git("merge", "--no-edit", "other")
    assert json.loads(repository.committed())["entries"] == [{"id": name, "status": "done"} for name in "ab"]
    assert f"{NAME}: base_unreadable: " in said


def test_rebase_and_cherry_pick_and_merge_end_in_the_same_bytes(tmp_path: Path) -> None:
    results = set()
    for way in (("merge", "--no-edit", "other"), ("rebase", "other"), ("cherry-pick", "other")):
        folder = tmp_path / way[0]
        folder.mkdir()
        repository = Repository(folder)
        sides = (GOOD.replace(b"done", b"in_progress"), GOOD.replace(b'"a","status":"done"', b'"b","status":"failed"'))
        repository.branches(b'{"entries":[],"version":1}', *sides)
        repository.git(*way)
        results.add(repository.committed())
    assert len(results) == 1


def test_branches_that_cross_are_merged_over_bases_that_git_merges_itself(tmp_path: Path) -> None:
    repository = Repository(tmp_path)

    def side(**status: str) -> bytes:
        return json.dumps([{"id": name, "status": of} for name, of in status.items()]).encode()

    repository.branches(side(a="planned", b="planned"), side(a="done", b="planned"), side(a="planned", b="failed"))
    repository.git("branch", "old-main")
    repository.git("merge", "--quiet", "--no-edit", "other")
    repository.commit(side(a="done", b="failed", c="pending"))
    repository.git("switch", "--quiet", "other")
    repository.git("merge", "--quiet", "--no-edit", "old-main")
    repository.commit(side(a="done", b="done"))
    repository.git("switch", "--quiet", "main")
    assert len(repository.git("merge-base", "--all", "main", "other").split()) == 2
    repository.git("merge", "--quiet", "--no-edit", "other")
    assert {one["id"]: one["status"] for one in json.loads(repository.committed())} == {
        "a": "done",
        "b": "done",
        "c": "pending",
    }
