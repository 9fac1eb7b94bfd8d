"""The merge driver as Git calls it: what stands in the file, the exit status, what is said."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from repokernel.core.registry_join import Refused
from repokernel.core.registry_merge import conflict, merge
from tests.registry_cases import Case, kept, kinds, shared
from tests.shell.runner import Outcome, Rk

KEPT = kept()
GOOD = b'{"entries":[\n{"id":"a","status":"done"}\n],"version":1}\n'
OLD = b'{"entries":[{"id":"a","status":"pending"}],"version":1}'
NAME = ".repokernel/registry.json"


def driven(
    rk: Rk, folder: Path, base: bytes, ours: bytes, theirs: bytes, more: Sequence[str] = (), *, real: bool = False
) -> Outcome:
    for name, data in (("O", base), ("A", ours), ("B", theirs)):
        (folder / name).write_bytes(data)
    argv = ("registry-merge-driver", "--current", "A", "--other", "B", "--base", "O", "--path", NAME, *more)
    said = rk(folder, argv, real=real)
    assert sorted(os.listdir(folder)) == ["A", "B", "O"], "something was left behind"
    assert (folder / "B").read_bytes() == theirs
    assert rk.defects() == []
    return said


def check(rk: Rk, folder: Path, case: Case) -> None:
    written = set()
    for ours, theirs in ((case.a, case.b), (case.b, case.a)):
        said = driven(rk, folder, case.base, ours, theirs)
        lines = said.err.decode().splitlines()
        data = (folder / "A").read_bytes()
        assert said.out == b""
        if case.merged:
            written.add(data)
            assert (said.status, json.loads(data)) == (0, case.doc)
            assert all(line.startswith(f"{NAME}: ") for line in lines)
            assert sorted({line.split(": ")[1] for line in lines}) == kinds(case.reports)
        else:
            assert (said.status, data, len(lines)) == (1, conflict(ours, theirs), 1)
            assert lines[0].startswith(f"rk: {NAME} is not merged: ")
    assert len(written) == case.merged


@pytest.mark.parametrize("case", KEPT, ids=lambda case: case.id)
def test_a_case_gives_its_listed_result_in_both_orders(rk: Rk, tmp_path: Path, case: Case) -> None:
    check(rk, tmp_path, case)


def test_the_cases_of_public_ledgers_and_the_huge_ones_do_so_too(rk: Rk, tmp_path: Path, shared_data: Path) -> None:
    for case in shared(shared_data):
        check(rk, tmp_path, case)


@pytest.mark.parametrize("case", KEPT[::30], ids=lambda case: case.id)
def test_a_process_of_its_own_does_the_same(rk: Rk, tmp_path: Path, case: Case) -> None:
    said = driven(rk, tmp_path, case.base, case.a, case.b, real=True)
    done = merge(case.base, case.a, case.b)
    expected = conflict(case.a, case.b) if isinstance(done, Refused) else done.data
    assert (said.status, (tmp_path / "A").read_bytes()) == (int(not case.merged), expected)


# hostile sides -------------------------------------------------------------------------------------------

HOSTILE = {
    "nul": b"\x00" * 100,
    "a lone surrogate": b'[{"id":"a","status":"done","x":"\\udc00"}]',
    "deep nesting": b"[" * 1_000_000,
    "deep nesting in an entry": b'[{"id":"a","status":"done","x":%s}]' % (b"[" * 5000 + b"]" * 5000),
    "an integer of 10,000 digits": b'[{"id":"a","status":"done","x":%s}]' % (b"9" * 10_000),
    "a side without final newline": b"{",
    "a newer version": b'{"version":99,"entries":[]}',
    "terminal escapes": b'[{"id":"\\u001b[2J\\u202e","status":null}]',
    "an endless id": b'[{"id":"%s","status":null}]' % (b"x" * 100_000),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("mine", [True, False])
def test_a_side_that_cannot_be_read_leaves_both_between_markers_and_one_line(
    rk: Rk, tmp_path: Path, name: str, *, mine: bool
) -> None:
    ours, theirs = (HOSTILE[name], GOOD) if mine else (GOOD, HOSTILE[name])
    said = driven(rk, tmp_path, OLD, ours, theirs)
    assert (said.status, said.out, said.err.count(b"\n")) == (1, b"", 1)
    assert (tmp_path / "A").read_bytes() == conflict(ours, theirs)
    assert f"{'ours' if mine else 'theirs'}: " in said.err.decode()
    assert len(said.err) < 1000
    assert b"\x1b" not in said.err


def test_a_side_of_many_megabytes_is_not_parsed_and_kept_whole(rk: Rk, tmp_path: Path) -> None:
    huge = b"[" + b" " * (64 << 20)
    assert driven(rk, tmp_path, OLD, GOOD, huge).status == 1
    assert (tmp_path / "A").read_bytes() == conflict(GOOD, huge)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_base_that_cannot_be_read_removes_nothing(rk: Rk, tmp_path: Path, name: str) -> None:
    said = driven(rk, tmp_path, HOSTILE[name], GOOD, b'{"entries":[],"version":1}')
    assert (said.status, (tmp_path / "A").read_bytes()) == (0, GOOD)
    assert b"base_unreadable" in said.err


def test_reports_show_nothing_raw(rk: Rk, tmp_path: Path) -> None:
    side = json.dumps([{"id": "\x1b[2J\u202e\nrk: all is well", "status": "\x07odd"}]).encode()
    said = driven(rk, tmp_path, b"[]", side, b"[]")
    assert (said.status, said.err.count(b"\n")) == (0, 1)
    assert not {b"\x1b", b"\x07", "\u202e".encode()} & {
        said.err[i : i + n] for i in range(len(said.err)) for n in (1, 3)
    }


def test_ids_14_as_number_and_as_text_stand_side_by_side(rk: Rk, tmp_path: Path) -> None:
    said = driven(rk, tmp_path, b"[]", b'[{"id":14,"status":"done"}]', b'[{"id":"14","status":"failed"}]')
    assert (tmp_path / "A").read_bytes() == b'[\n{"id":14,"status":"done"},\n{"id":"14","status":"failed"}\n]\n'
    assert b"confusable_ids" in said.err


def test_a_merge_without_anything_to_say_is_quiet(rk: Rk, tmp_path: Path) -> None:
    said = driven(rk, tmp_path, OLD, OLD, GOOD)
    assert (said.status, said.out, said.err) == (0, b"", b"")
    assert (tmp_path / "A").read_bytes() == GOOD


def test_with_json_the_reports_are_findings(rk: Rk, tmp_path: Path) -> None:
    said = driven(rk, tmp_path, GOOD, b'{"entries":[],"version":1}', GOOD.replace(b"done", b"odd"), ["--json"])
    told = json.loads(said.out)
    assert (said.status, said.err, told["outcome"], told["path"]) == (0, b"", "merged", NAME)
    assert [(one["code"], one["what"]) for one in told["findings"]] == [("unknown_status", "odd")]
    said = driven(rk, tmp_path, GOOD, b"{", GOOD, ["--json"])
    refused = json.loads(said.out)["error"]
    assert (said.status, refused["code"]) == (1, "registry_conflict")
    assert refused["fields"] == {"path": NAME, "side": "ours", "fault": "not_json"}


# hostile places ------------------------------------------------------------------------------------------


def test_a_symlink_in_the_place_of_ours_is_not_followed(rk: Rk, tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(GOOD)
    (tmp_path / "B").write_bytes(OLD)
    (tmp_path / "A").symlink_to("real")
    said = rk(tmp_path, ["registry-merge-driver", "--current", "A", "--other", "B"])
    assert (said.status, said.err.count(b"\n"), b"can't read" in said.err) == (3, 1, True)
    assert (tmp_path / "A").is_symlink()
    assert (tmp_path / "real").read_bytes() == GOOD


@pytest.mark.parametrize("bad", ["nowhere", "folder", "pipe", "locked/B"])
@pytest.mark.parametrize("mine", [True, False])
def test_a_side_that_is_no_file_is_said_and_nothing_is_written(rk: Rk, tmp_path: Path, bad: str, *, mine: bool) -> None:
    (tmp_path / "good").write_bytes(GOOD)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    ours, theirs = (bad, "good") if mine else ("good", bad)
    said = rk(tmp_path, ["registry-merge-driver", "--current", ours, "--other", theirs, "--json"])
    assert (said.status, json.loads(said.out)["error"]["code"]) == (3, "registry_io")
    assert (tmp_path / "good").read_bytes() == GOOD
    assert sorted(os.listdir(tmp_path)) == ["folder", "good", "pipe"]


@pytest.mark.parametrize("base", [[], ["--base", ""], ["--base", "nowhere"], ["--base", "."]])
def test_a_base_that_is_missing_is_none(rk: Rk, tmp_path: Path, base: list[str]) -> None:
    (tmp_path / "A").write_bytes(GOOD)
    (tmp_path / "B").write_bytes(b'{"entries":[],"version":1}')
    said = rk(tmp_path, ["registry-merge-driver", "--current", "A", "--other", "B", *base])
    assert (said.status, (tmp_path / "A").read_bytes()) == (0, GOOD)
    assert said.err.startswith(b"the registry: base_unreadable: ")


def test_paths_are_found_from_the_folder_that_was_named(rk: Rk, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "A").write_bytes(OLD)
    (tmp_path / "in" / "B").write_bytes(GOOD)
    said = rk(tmp_path, ["registry-merge-driver", "-C", "in", "--current", "A", "--other", str(tmp_path / "in" / "B")])
    assert (said.status, (tmp_path / "in" / "A").read_bytes()) == (0, GOOD)


@pytest.mark.parametrize("words", [["--current", "A"], ["--other", "B"], [], ["--current", "", "--other", "B"]])
def test_both_sides_must_be_named(rk: Rk, tmp_path: Path, words: list[str]) -> None:
    said = rk(tmp_path, ["registry-merge-driver", *words])
    assert (said.status, said.err.count(b"\n")) == (2, 2)


def test_a_merge_whose_reports_nobody_hears_is_still_a_merge(rk: Rk, tmp_path: Path) -> None:
    for name, data in (("A", OLD), ("B", GOOD)):
        (tmp_path / name).write_bytes(data)
    words = "registry-merge-driver --current A --other B"
    script = f'exec 2>&-; "$0" -m repokernel {words}'
    done = subprocess.run(["/bin/sh", "-c", script, sys.executable], cwd=tmp_path, check=False, timeout=30)
    assert (done.returncode, (tmp_path / "A").read_bytes()) == (0, GOOD)
