"""Prepares a hostile row's folder, runs `rk` in it, and holds what came of it against the row."""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.shell.hostile import SHOWN_SAFELY
from tests.shell.hostile.model import ABSENT, NEVER_RAW, READS, Graft, Kind, Made, Place, Row
from tests.shell.zygote import TIMED_OUT

BOARD = ".repokernel"
TIMEOUT_S = 60
LINE_CHARS_MAX = 1000  # a message quotes what it is about, cut short
# not in NEVER_RAW, and as able to forge what a person sees
ALSO_RAW = tuple(text.encode() for text in ("\r", "\u202e", "\u2028"))
TELLS_ON_STDOUT = frozenset({"doctor", "verify", "list", "status", "work"})  # status 1 with a report, not an error
_SAFELY = frozenset(row.name for row in SHOWN_SAFELY)


@dataclass(frozen=True)
class Outcome:
    """What one command said."""

    argv: tuple[str, ...]
    status: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """All of it, for the message of a failed test."""
        shown = [word if len(word) < 200 else f"{word[:200]}…" for word in self.argv]
        return f"rk {shown} -> {self.status}\n  stdout: {self.out[:1500]!r}\n  stderr: {self.err[:1500]!r}"


class Rk:
    """`rk` as a command: forked from a warm interpreter, or (`real`) as a process of its own."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        program = Path(__file__).with_name("zygote.py")
        self._server = subprocess.Popen(
            [sys.executable, "-B", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env=os.environ | {"LC_ALL": "C.UTF-8"},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self._server.wait(timeout=TIMEOUT_S)
        self._server.stdout.close()

    def __call__(
        self,
        cwd: Path,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        real: bool = False,
    ) -> Outcome:
        whole_env = {**os.environ, "TMPDIR": str(self.scratch), **(env or {})}
        if real:
            return run_process((sys.executable, "-m", "repokernel"), cwd, argv, env=whole_env, stdin=stdin)
        names = {name: str(self.scratch / name) for name in ("stdin", "out", "err")}
        (self.scratch / "stdin").write_bytes(stdin)
        request = {"argv": list(argv), "cwd": str(cwd), "env": whole_env, "timeout_s": TIMEOUT_S, **names}
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        status = int(self._server.stdout.readline())
        out, err = (self.scratch / "out").read_bytes(), (self.scratch / "err").read_bytes()
        return Outcome(tuple(argv), status, out, err)

    def make_board(self, work: Path) -> None:
        """What `rk init` makes, copied from the first time (nothing in a new board names its folder)."""
        first = self.scratch / "first"
        if not first.exists():
            first.mkdir()
            set_up(self, first, [("init",)])
        shutil.copytree(first / BOARD, work / BOARD)

    def defects(self) -> list[str]:
        """The reports of defects so far; each is told once."""
        found = sorted(self.scratch.glob("rk-defect-*"))
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in found]
        for path in found:
            path.unlink()
        return texts


def run_process(
    program: Sequence[str], cwd: Path, argv: Sequence[str], *, env: Mapping[str, str], stdin: bytes = b""
) -> Outcome:
    """Run a command as a process of its own."""
    try:
        done = subprocess.run(
            [*program, *argv], cwd=cwd, env=env, input=stdin, capture_output=True, check=False, timeout=TIMEOUT_S
        )
    except subprocess.TimeoutExpired as late:
        return Outcome(tuple(argv), TIMED_OUT, late.stdout or b"", late.stderr or b"")
    return Outcome(tuple(argv), done.returncode, done.stdout, done.stderr)


def sample(names: Sequence[str], count: int) -> frozenset[str]:
    """A choice that is the same in every run of one version of the table."""
    return frozenset(random.Random(f"hostile:{len(names)}").sample(list(names), min(count, len(names))))


# the folder ----------------------------------------------------------------------------------------------


def snapshot(folder: Path) -> dict[str, tuple[str, bytes]]:
    """Every name below `folder`, with what is behind it; nothing is followed, nothing that could block is opened."""
    found: dict[str, tuple[str, bytes]] = {}
    for top, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(top, name)
            found[os.path.relpath(path, folder)] = _behind(path)
    return found


def _behind(path: str) -> tuple[str, bytes]:
    if os.path.islink(path):
        return "link", os.fsencode(os.readlink(path))
    if os.path.isdir(path):
        return "folder", b""
    if os.path.isfile(path):
        return "file", Path(path).read_bytes()
    return "special", b""


def _free(path: Path) -> Path:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _make(folder: Path, one: Made) -> None:
    path = _free(folder / one.name)
    match one.kind:
        case Kind.FOLDER:
            path.mkdir()
        case Kind.SYMLINK:
            path.symlink_to(one.target)
        case Kind.FIFO:
            os.mkfifo(path)


def _graft(board: Path, graft: Graft) -> None:
    data = (board / graft.onto).read_bytes()
    record = json.loads(data)
    if graft.name != graft.onto:
        record["seq"] += 1
        record["prev"] = hashlib.sha256(data).hexdigest()
        record["op_id"] = f"op-{hashlib.sha256(graft.name.encode()).hexdigest()[:24]}"
        record["nonce"] = hashlib.sha256(b"nonce" + data).hexdigest()[:32]
    for dotted, value in graft.changes.items():
        *above, last = dotted.split(".")
        place = record
        for name in above:
            place = place[name]
        if value == ABSENT:
            place.pop(last, None)
        else:
            place[last] = value
    text = json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    _free(board / graft.name).write_bytes((text + "\n").encode())


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def set_up(rk: Rk, work: Path, commands: Sequence[Sequence[str]]) -> None:
    """Run commands that must succeed."""
    for argv in commands:
        made = rk(work, argv)
        assert made.status == 0, f"the row's setup fails: {made.text}"


def prepare(rk: Rk, row: Row, work: Path) -> None:
    """Bring the folder into the state in which the row's command is run."""
    board = work / BOARD
    if row.board:
        rk.make_board(work)
    _write(work, row.files)
    for one in row.made:
        if one.place is Place.WORK:
            _make(work, one)
    set_up(rk, work, row.setup)
    _write(work, row.later)
    for name, content in row.plant.items():
        _free(board / name).write_bytes(content)
    for graft in row.grafts:
        _graft(board, graft)
    for one in row.made:
        if one.place is Place.BOARD:
            _make(board, one)


# the verdict ---------------------------------------------------------------------------------------------


@dataclass
class Verdict:
    """What is wrong, gathered so that a row tells everything at once."""

    problems: list[str] = field(default_factory=list)

    def expect(self, holds: object, problem: str) -> None:
        """Note `problem` unless it holds."""
        if not holds:
            self.problems.append(problem)


def verb(argv: Sequence[str]) -> str:
    """The command's name."""
    words = list(argv)
    while words and words[0].startswith("-"):
        del words[: 2 if words[0] in ("-C", "--board") else 1]
    return words[0] if words else ""


def check_screen(verdict: Verdict, said: Outcome, *, as_json: bool) -> None:
    """Nothing raw reaches a terminal."""
    shown = said.err if as_json else said.err + said.out
    for raw in (*NEVER_RAW, *ALSO_RAW):
        verdict.expect(raw not in shown, f"{raw!r} is shown raw by rk {verb(said.argv)}")


def check_error(verdict: Verdict, said: Outcome, *, as_json: bool, code: str | None) -> None:
    """A status other than 0 says so, once, in one form."""
    if as_json:
        verdict.expect(said.err == b"", "with --json something is on stderr")
        verdict.expect(said.out.count(b"\n") == 1 and said.out.endswith(b"\n"), "--json prints other than one line")
        document = json.loads(said.out)
        verdict.expect(document["ok"] is False, "ok isn't false")
        found = document.get("error", {}).get("code")
        verdict.expect(code is None or found == code, f"the code is {found}, wanted is {code}")
        return
    lines = said.err.decode("utf-8", "replace").splitlines()
    if not lines and verb(said.argv) in TELLS_ON_STDOUT:
        verdict.expect(said.out.strip(), "it fails and says nothing")
        return
    verdict.expect(lines and lines[0].startswith("rk: ") and len(lines[0]) > len("rk: ") + 5, "no error line on stderr")
    verdict.expect(
        len(lines) <= 2 and all(line.startswith("hint: ") for line in lines[1:]), "more than a line and a hint"
    )
    verdict.expect(all(len(line) <= LINE_CHARS_MAX for line in lines), "the error line is endless")
    verdict.expect(said.out == b"", "an error, and something on stdout")


def _kept(found: dict[str, tuple[str, bytes]], row: Row, planted: frozenset[str]) -> dict[str, tuple[str, bytes]]:
    """What the row's command may not touch."""
    sides = () if verb(row.argv) in READS else ("beats/", "verified/")
    return {name: what for name, what in found.items() if not name.startswith(sides) or name in planted}


def check_board(verdict: Verdict, row: Row, said: Outcome, before: dict[str, tuple[str, bytes]], work: Path) -> None:
    """What must not be written isn't, and what was planted stands."""
    after = snapshot(work / BOARD)
    planted = frozenset(
        [*row.plant, *(graft.name for graft in row.grafts), *(m.name for m in row.made if m.place is Place.BOARD)]
    )
    for name in sorted(planted):
        verdict.expect(after.get(name) == before[name], f"the planted {name!r} was changed")
    if row.may_write or (said.status == 0 and verb(row.argv) not in READS):
        return
    was, now = _kept(before, row, planted), _kept(after, row, planted)
    differs = sorted(name for name in was.keys() | now.keys() if was.get(name) != now.get(name))
    verdict.expect(not differs, f"the board was changed: {differs[:5]}")


def check_after(verdict: Verdict, rk: Rk, row: Row, said: Outcome, work: Path) -> None:
    """What later commands say about it."""
    for task, status in row.status_after.items():
        shown = rk(work, ("show", task, "--json"))
        if shown.status == 0:
            found = json.loads(shown.out)["task"]["status"]
            verdict.expect(found == status, f"{task} is {found}, wanted is {status}")
    if row.name in _SAFELY and said.status == 0:
        for argv in (("list",), ("status",), ("show", "t1"), ("history",)):
            shown = rk(work, argv)
            check_screen(verdict, shown, as_json=False)
            forged = [line for line in shown.out.decode().splitlines() if line.startswith("t9")]
            verdict.expect(not forged, f"rk {argv[0]} shows a forged row")


def judge(rk: Rk, row: Row, work: Path, *, real: bool) -> list[str]:
    """Run a row; everything that is wrong with what came of it."""
    prepare(rk, row, work)
    before = snapshot(work / BOARD)
    rk.defects()
    argv = (*row.argv, "--json") if row.code else row.argv
    said = rk(work, argv, env=row.env, stdin=(row.stdin or "").encode(), real=real)
    as_json = "--json" in argv
    verdict = Verdict()
    allowed = row.among if row.exit is None else (row.exit,)
    verdict.expect(said.status != TIMED_OUT, "it doesn't end")
    verdict.expect(said.status in allowed, f"the status is {said.status}, wanted is {' or '.join(map(str, allowed))}")
    check_screen(verdict, said, as_json=as_json)
    if said.status not in (0, TIMED_OUT):
        check_error(verdict, said, as_json=as_json, code=row.code)
    for text in row.shows:
        verdict.expect(text.encode() in said.out, f"stdout lacks {text!r}")
    check_board(verdict, row, said, before, work)
    check_after(verdict, rk, row, said, work)
    verdict.problems += [f"a defect: {text}" for text in rk.defects()]
    return [*verdict.problems, said.text] if verdict.problems else []
