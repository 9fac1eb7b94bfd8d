"""Outputs by example: the digest of a folder, and what differs."""

import hashlib

import pytest

from repokernel.core.entry import OutputFile, field_problems
from repokernel.core.errors import CODES
from repokernel.core.output import Depth, digest_problem, folder_output, size_problem
from tests.unit.builders import NOW, entry

A: OutputFile = {"path": "a.md", "bytes": 3, "sha256": "aa" * 32}
B: OutputFile = {"path": "b/c.md", "bytes": 4, "sha256": "bb" * 32}
EMPTY_SHA = hashlib.sha256(b"[]\n").hexdigest()


def test_a_folder_is_the_sum_and_the_manifest_of_its_files() -> None:
    manifest = (
        f'[{{"bytes":3,"path":"a.md","sha256":"{"aa" * 32}"}},{{"bytes":4,"path":"b/c.md","sha256":"{"bb" * 32}"}}]\n'
    )
    assert folder_output("file:out", [B, A], NOW) == {
        "uri": "file:out",
        "bytes": 7,
        "sha256": hashlib.sha256(manifest.encode()).hexdigest(),
        "written_at": NOW,
        "files": [A, B],
    }


def test_an_empty_folder_has_no_bytes_and_a_digest() -> None:
    described = folder_output("file:out", [], NOW)
    assert (described["bytes"], described["sha256"], described["files"]) == (0, EMPTY_SHA, [])


def test_the_output_of_a_folder_may_stand_in_an_entry() -> None:
    assert field_problems({**entry(), "output": folder_output("file:out", [A, B], NOW)}) == {}


@pytest.mark.parametrize("changed", [{"path": "A.md"}, {"bytes": 2}, {"sha256": "ab" * 32}])
def test_any_change_of_a_file_changes_the_digest(changed: dict[str, object]) -> None:
    other: OutputFile = {**A, **changed}  # type: ignore[typeddict-item]
    assert folder_output("file:out", [other, B], NOW)["sha256"] != folder_output("file:out", [A, B], NOW)["sha256"]


@pytest.mark.parametrize("seen", [4, 6, 0])
def test_another_size_is_a_mismatch(seen: int) -> None:
    problem = size_problem("file:x", 5, seen)
    assert problem is not None
    assert problem.code == "output_mismatch"
    assert problem.code in CODES
    assert all(said in problem.detail for said in ("file:x", "5", str(seen)))


def test_another_content_is_a_mismatch() -> None:
    problem = digest_problem("file:x", "aa" * 32, "ab" * 32)
    assert problem is not None
    assert problem.code == "output_mismatch"
    assert all(said in problem.detail for said in ("file:x", "aaaaaaaaaaaa", "abababababab"))


def test_what_is_as_recorded_is_no_problem() -> None:
    assert size_problem("file:x", 0, 0) is None
    assert digest_problem("file:x", "aa" * 32, "aa" * 32) is None


def test_a_reader_looks_at_three_depths() -> None:
    assert [depth.value for depth in Depth] == ["exists", "size", "sha256"]
