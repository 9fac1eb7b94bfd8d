"""Each command once through its text and its JSON, in this process: what is said, and with which exit status."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from repokernel.cli.main import main
from repokernel.cli.table import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Say = Callable[..., tuple[int, str, str]]


OFF = [
    line.split()
    for line in (
        "claim",
        "claim t1 --next",
        "add",
        "fail t1",
        "hold t1",
        "done t1 --verdict fine",
        "list --status active",
        "verify --depth deep",
        "claim t1 --lease soon",
        "show ../x",
        "renew t1 --token 0",
        "add x --input novalue",
        "add x --from y",
        "history --last",
        "note t1 x y",
        "list --ready=1",
        "claim t1 --lease 1m --lease 2m",
        "add x --op-id op-1",
        "claim --next --wait=soon",
        "completion tcsh",
        "add --from nowhere.json",
    )
]


@pytest.fixture
def say(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Say:
    monkeypatch.setenv("RK_INSTANCE", "here")
    monkeypatch.setenv("RK_ROLE", "writer")

    def run(*argv: str) -> tuple[int, str, str]:
        status = main([argv[0], "-C", str(tmp_path), *argv[1:]])
        told = capfd.readouterr()
        return status, told.out, told.err

    assert run("init")[0] == 0
    return run


def document(say: Say, *argv: str) -> dict[str, object]:
    status, out, err = say(argv[0], "--json", *argv[1:])
    found: dict[str, object] = json.loads(out)
    assert (found["ok"], err) == (status == 0, "")
    return found


def test_a_task_goes_its_whole_way(say: Say, tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text('{"topic": 7}', encoding="utf-8")
    (tmp_path / "out.md").write_text("an output\n", encoding="utf-8")
    added = say(
        "add", "write it", "--id", "t1", "--inputs-file", "in.json", "--input", "k=v", "--label", "x", "--priority", "5"
    )
    assert (added[0], added[1]) == (0, "added t1: write it\n")
    assert say("add", "merge", "--id", "t2", "--after", "t1", "--body", "long", "--max-attempts", "2")[0] == 0
    assert "t1 is pending" in say("why", "t2")[1]
    assert say("why", "t1")[1] == "t1 is ready: rk claim t1\n"
    assert "token 1" in say("claim", "--next", "--label", "x", "--lease", "10m")[1]
    assert "was yours already" in say("claim", "t1")[1]
    assert say("renew", "t1", "--lease", "1h")[0] == 0
    assert say("note", "t1", "half way")[1] == "noted on t1\n"
    assert "writer@here" in say("status")[1]
    assert "t1 is done: file://" in say("done", "t1", "--output", "out.md")[1]
    assert say("verify")[1] == "1 of 1 usable\n"
    (tmp_path / "out.md").write_text("torn\n", encoding="utf-8")
    assert say("verify", "t1", "--depth", "sha256")[0] == 1
    assert "output doesn't verify" in say("list", "--unusable")[1]
    assert "half way" in say("show", "t1")[1]
    assert [line.split()[4] for line in say("history", "t1", "--last", "2")[1].splitlines()] == ["note", "done"]
    assert len(say("history")[1].splitlines()) == 5


def test_what_goes_wrong_is_said_and_put_right(say: Say) -> None:
    for name in ("a", "b", "c"):
        assert say("add", name, "--id", name, "--expects", "none")[0] == 0
    assert say("claim", "a")[0] == 0
    assert "a waits until" in say("fail", "a", "--code", "upload_failed", "--detail", "HTTP 503")[1]
    assert say("claim", "a")[0] == 75
    assert say("retry", "a")[1] == "a is pending\n"
    assert say("retry", "a")[1] == "a is pending (nothing to change)\n"
    assert say("claim", "a")[0] == 0
    assert say("ask", "a", "which one?")[1] == "a waits for an answer\n"
    assert "needs_input" in say("why", "a")[1]
    assert say("answer", "a", "the second")[1] == "a is pending again\n"
    assert say("hold", "a", "--reason", "wait for data")[1] == "a is on hold\n"
    assert "on hold: wait for data" in say("list")[1]
    assert say("unhold", "a")[0] == 0
    assert say("claim", "a")[0] == 0
    assert say("release", "a")[1] == "a is pending again\n"
    assert say("claim", "b")[0] == 0
    assert say("evict", "writer@here", "--reason", "rolled back")[1] == "freed b\n"
    assert say("cancel", "c", "--reason", "out of scope")[1] == "c is cancelled\n"
    assert say("reopen", "c")[1] == "c is pending again\n"
    assert say("add", "later", "--id", "d", "--planned", "--not-before", "2099-01-01T00:00:00Z")[0] == 0
    assert say("open", "d")[1] == "d is pending\n"
    assert "waits for a date" in say("list", "--status", "pending")[1]


def test_every_answer_has_a_document(say: Say, tmp_path: Path) -> None:
    tasks = [{"id": 1, "title": "one", "done": True}, {"id": "two", "title": "two", "epic": "e", "done": False}]
    (tmp_path / "tasks.json").write_text(json.dumps(tasks), encoding="utf-8")
    made = document(say, "add", "--from", "tasks.json")
    assert [one["id"] for one in made["findings"]] == ["1"]  # type: ignore[attr-defined]
    assert document(say, "add", "--from", "tasks.json")["present"] == ["1", "two"]
    assert document(say, "claim", "--next", "--epic", "e")["outcome"] == "claimed"
    assert [one["id"] for one in document(say, "list", "--ready")["tasks"]] == ["1"]  # type: ignore[attr-defined]
    assert document(say, "status")["counts"]["in_progress"] == 1  # type: ignore[index]
    assert document(say, "why", "two")["ready"] is False
    assert document(say, "verify")["outcome"] == "verified"
    assert document(say, "doctor")["outcome"] == "well"
    assert document(say, "trust")["outcome"] == "unchanged"
    assert document(say, "schema")["schema"]["title"] == "RepoKernel task entry"  # type: ignore[index]
    assert document(say, "history", "two")["records"][1]["event"] == "claim"  # type: ignore[index]
    assert document(say, "show", "nowhere")["error"]["code"] == "task_unknown"  # type: ignore[index]


def test_a_worker_drains_the_board(say: Say, tmp_path: Path) -> None:
    for name in ("good", "bad"):
        assert say("add", name, "--id", name, "--max-attempts", "1")[0] == 0
    script = (
        "import os, pathlib\n"
        "if os.environ['RK_TASK'] == 'good': pathlib.Path(os.environ['RK_OUTPUT_DIR'], 'a').write_text('x')"
    )
    status, out, _ = say("work", "--lease", "1m", "--max-tasks", "5", "--", sys.executable, "-c", script)
    assert (status, out) == (1, "1 done, 1 failed; the board is drained: 2 settled\n")
    assert document(say, "work", "--", "true")["outcome"] == "drained"
    assert say("work")[0] == 2


def test_words_that_are_off_get_a_hint(say: Say) -> None:
    assert "did you mean claim?" in say("clam")[2]
    assert "did you mean --output?" in say("done", "t1", "--outptu", "x")[2]
    for argv in OFF:
        status, out, err = say(*argv)
        assert (status, out) == (2, ""), argv
        assert err.startswith("rk: "), argv


def test_help_is_there_for_every_command(say: Say, capfd: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        assert f"usage: rk {name}" in say(name, "--help")[1]
        assert main(["help", name]) == 0
    for argv in (["--help"], ["help"], ["help", "board"], ["--version"], ["help", "nothing"]):
        assert main(argv) == (2 if argv[-1] == "nothing" else 0)
    for shell in ("bash", "zsh", "fish"):
        assert "claim" in say("completion", shell)[1]
    capfd.readouterr()


def test_waiting_ends_with_its_time(say: Say) -> None:
    assert say("add", "t", "--id", "t1", "--not-before", "2099-01-01T00:00:00Z")[0] == 0
    assert say("claim", "--next", "--wait=20ms")[0] == 75


def test_a_broken_board_is_examined_and_mended(say: Say, tmp_path: Path) -> None:
    board = tmp_path / ".repokernel"
    (board / "beats").rmdir()
    (board / "claims" / "notes.txt").write_text("mine", encoding="utf-8")
    assert say("doctor")[0] == 1
    status, out, _ = say("doctor", "--fix")
    assert (status, "fixed: made" in out, "notes.txt" in out) == (1, True, True)
    (board / "claims" / "notes.txt").unlink()
    assert "is well" in say("doctor")[1]
    (board / "claims" / "t1.00000001.json").write_text("{", encoding="utf-8")
    assert [say(command)[0] for command in ("list", "status", "doctor")] == [1, 1, 1]


def test_a_configured_command_is_trusted_as_shown(say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    answer = tmp_path / "alive.sh"
    answer.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    answer.chmod(0o700)
    (tmp_path / ".repokernel" / "config.toml").write_text(f'liveness = ["{answer}"]\n', encoding="utf-8")
    assert say("add", "t", "--id", "t1")[0] == 0
    monkeypatch.setenv("RK_INSTANCE", "elsewhere")
    assert say("claim", "t1")[0] == 0
    monkeypatch.setenv("RK_INSTANCE", "here")
    assert "not trusted" in say("trust")[1]
    assert say("claim", "t1")[0] == 75  # not asked: nobody has trusted it yet
    assert say("trust", "--yes")[0] == 0
    assert "trusted" in say("trust")[1]
    assert "token 2" in say("claim", "t1")[1]  # it says that the owner is gone


def test_a_defect_leaves_a_report_and_one_line(say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(os, "getcwd", lambda: 7)
    found = document(say, "list")["error"]
    assert isinstance(found, dict)
    assert (found["code"], "Traceback" in (tmp_path / os.path.basename(found["fields"]["report"])).read_text()) == (
        "defect",
        True,
    )


def test_a_text_that_begins_with_a_dash_goes_after_two(say: Say) -> None:
    status, _, err = say("add", "-5 degrees")
    assert (status, "after `--`" in err) == (2, True)
    assert say("add", "--id", "cold", "--", "-5 degrees")[0] == 0
    found = document(say, "show", "cold")["task"]
    assert isinstance(found, dict)
    assert found["title"] == "-5 degrees"


def test_a_board_below_another_is_made_and_said_so(say: Say, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert main(["init", "-C", str(below)]) == 0
    assert f"there is a board above, {tmp_path}/.repokernel" in capfd.readouterr().out
    assert main(["init", "-C", str(below)]) == 0
    assert "above" not in capfd.readouterr().out


def test_an_output_that_is_gone_is_named_with_the_way_on(say: Say, tmp_path: Path) -> None:
    output = tmp_path / "out.md"
    output.write_text("x\n", encoding="utf-8")
    assert say("add", "t", "--id", "t1")[0] == say("claim", "t1")[0] == say("done", "t1", "--output", "out.md")[0] == 0
    assert "unusable" not in say("show", "t1")[1]
    output.unlink()
    assert say("verify")[0] == 1
    assert "`rk reopen t1` starts it anew" in say("show", "t1")[1]
