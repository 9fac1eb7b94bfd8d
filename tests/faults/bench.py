"""One operation in one folder: the board before it, the calls that it makes, and which of them are to fail."""

import random
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from repokernel.cli.main import run
from tests.faults.operations import DYING, Operation
from tests.faults.syscalls import Call, Fault, Program
from tests.faults.verdicts import Board, Run, board_of, changes, problems_of
from tests.shell.runner import BOARD

TRIES = 5  # another process that is busy on the machine may move the count of calls
_BOOT_POINTS = 10
_OTHER_POINTS = 10
_NAMES = frozenset({"link", "linkat", "rename", "renameat", "renameat2"})


class Bench:
    """One operation in one folder: the board before it, and its calls."""

    def __init__(self, program: Program, operation: Operation, folder: Path) -> None:
        self.program, self.operation = program, operation
        self.ready, self.work = folder / "ready", folder / "work"
        self.argv = (*operation.argv, "--json")
        folder.mkdir()
        prepare(operation, self.ready)
        self.before: Board = board_of(self.ready)
        self.known: set[str] = set()
        said, self.calls, self.begins = program.dry(self.fresh(), self.argv)
        assert said.status == 0, f"without a fault: {said}"
        # a point after this one comes when everything has its name
        self.named = max(place for place, call in enumerate(self.calls) if call.name in _NAMES)

    def fresh(self) -> Path:
        """The working folder as it is before the operation; always the same one, for equal calls."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.ready, self.work)
        return self.work

    def judge(self, point: Call, fault: Fault) -> list[str] | None:
        """What is wrong after a fault at `point`; None if it couldn't be hit."""
        for _ in range(TRIES):
            struck = self.program.faulted(self.fresh(), self.argv, point, fault)
            if struck is not None:
                said, calls = struck
                place = self.calls.index(point)
                exempt, published = place < self.begins or self.program.is_interpreters(point), place > self.named
                one = Run(self.operation, fault, point, exempt, said, calls, published, self.before, self.work)
                found = problems_of(one, self.known)
                return [*found, f"status {said.status}, {said.out[:300]!r}, {said.err[-300:]!r}"] if found else []
        return None


def prepare(operation: Operation, folder: Path) -> None:
    """The folder in which the operation starts."""
    folder.mkdir()
    with subprocess.Popen(["sleep", "60"]) as dying:
        try:
            for argv in (("init",), *operation.setup):
                run(("-C", str(folder), *(str(dying.pid) if word == DYING else word for word in argv)))
        finally:
            dying.kill()
    for name, content in operation.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def publishing(calls: Sequence[Call], work: Path) -> list[Call]:
    """The calls on the board from the first that writes or syncs to the last."""
    folder = str(work / BOARD)
    ours = [call for call in calls if any(path.startswith(folder) for path in call.paths)]
    first = next(place for place, call in enumerate(ours) if call.name != "close" and changes(call))
    return ours[first:]


def chosen(
    name: str, every: Sequence[Call], begins: int, work: Path, fault: Fault, scaled: Callable[[int], int]
) -> Iterator[Call]:
    """The points of one case."""
    chance = random.Random(f"{name} {fault}")
    boot = every[1 : begins - 1]  # the first call starts python
    # an error of exit_group would be a kernel that doesn't end processes
    calls = [call for call in every[begins:] if call.name != "exit_group" or fault is Fault.SIGKILL]
    yield from chance.sample(boot, scaled(_BOOT_POINTS))
    if scaled(_OTHER_POINTS) == _OTHER_POINTS:
        yield from calls
        return
    always = publishing(calls, work) if fault in (Fault.SIGKILL, Fault.EIO) else []
    yield from always
    yield from chance.sample([call for call in calls if call not in always], scaled(_OTHER_POINTS))
