"""Real processes for tests: workers that take orders line by line, and bounded waiting for facts."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[1]
RK = str(Path(sys.executable).with_name("rk"))
PATIENCE_S = 30.0
_POLL_S = 0.01


def until(holds: Callable[[], object], what: str, patience_s: float = PATIENCE_S) -> None:
    """Return once `holds` is true; fail if it isn't within the patience."""
    ends = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < ends, f"waited in vain: {what}"
        time.sleep(_POLL_S)


def state(pid: int) -> str:
    """One letter for what a process does (proc(5)); empty once it is no more."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return text.rpartition(")")[2].split()[0]


def gone(pid: int) -> bool:
    """Whether a process has ended (one that nobody has waited for yet counts as ended)."""
    return state(pid) in ("", "Z", "X")


def halt(pid: int) -> None:
    """SIGSTOP a process and wait until it really stands still."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: state(pid) == "T", f"process {pid} stands still")


class Worker:
    """A process running `tests.races.worker` on a board; it does what it is told and says what came of it."""

    def __init__(self, board: Path) -> None:
        command = [sys.executable, "-m", "tests.races.worker", str(board)]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._heard = b""

    @property
    def pid(self) -> int:
        return self.process.pid

    def tell(self, order: str, **facts: object) -> None:
        """Give an order; the answer is fetched by `hear`."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"order": order, **facts}).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self, patience_s: float = PATIENCE_S) -> dict[str, Any]:
        """The next line that the worker says."""
        assert self.process.stdout is not None
        fd, ends = self.process.stdout.fileno(), time.monotonic() + patience_s
        ready = select.poll()
        ready.register(fd, select.POLLIN)
        while b"\n" not in self._heard:
            left_s = ends - time.monotonic()
            assert left_s > 0, f"worker {self.pid} said nothing"
            if ready.poll(left_s * 1000):
                piece = os.read(fd, 65_536)
                assert piece, f"worker {self.pid} has ended"
                self._heard += piece
        line, _, self._heard = self._heard.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, order: str, **facts: object) -> dict[str, Any]:
        """Give an order and wait for the answer."""
        self.tell(order, **facts)
        return self.hear()

    def go(self) -> None:
        """Open the gate that the worker stands at."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def stop(self) -> None:
        """SIGSTOP, and wait until the process really stands still."""
        halt(self.pid)

    def wake(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


def race(team: Sequence[Worker], order: str, **facts: object) -> list[dict[str, Any]]:
    """Everybody's answer to one order; nobody's first record is written before all have decided on theirs."""
    for one in team:
        one.tell(order, gated=True, **facts)
    answers = [one.hear() for one in team]
    assert [answer for answer in answers if answer.get("at") == "gate"] == answers, answers
    for one in team:
        one.go()
    return [one.hear() for one in team]


@contextmanager
def workers(count: int, board: Path) -> Iterator[list[Worker]]:
    """So many workers on one board; none is left afterwards."""
    team = [Worker(board) for _ in range(count)]
    try:
        yield team
    finally:
        for one in team:
            one.__exit__(None, None, None)


class Program:
    """A started program; what it says goes to files, so that nobody who inherits them keeps the test waiting."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="rk-test-"))
        self._ended: subprocess.CompletedProcess[str] | None = None
        with (self._folder / "out").open("wb") as out, (self._folder / "err").open("wb") as err:
            self.process = subprocess.Popen(
                list(argv),
                env={**os.environ, **env},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    def finish(self) -> subprocess.CompletedProcess[str]:
        """What it said, once it has ended; it is killed if that takes too long."""
        if self._ended is None:
            try:
                status = self.process.wait(PATIENCE_S)
            finally:
                self.process.kill()
                self.process.wait()
                said = [(self._folder / name).read_text(encoding="utf-8") for name in ("out", "err")]
                shutil.rmtree(self._folder)
            self._ended = subprocess.CompletedProcess(self.process.args, status, *said)
        return self._ended


def rk(board: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command line on a board to its end."""
    return start_rk(board, *words, **env).finish()


def start_rk(board: Path, *words: str, **env: str) -> Program:
    """Start the command line on a board."""
    return Program([RK, *words], {"RK_BOARD": str(board), **env})


def document(finished: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The JSON document that a command printed."""
    said: dict[str, Any] = json.loads(finished.stdout)
    return said
