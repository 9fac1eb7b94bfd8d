"""Boards for tests: a real folder, with a clock and a machine that the test sets."""

import atexit
import functools
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from repokernel.adapters.board_folder import CONFIG, Place, make, settings
from repokernel.adapters.outputs_file import FileOutputs
from repokernel.adapters.store_file import FileStore
from repokernel.core.errors import RkError
from repokernel.core.ids import TaskId
from repokernel.core.lease import Alive
from repokernel.core.owner import Process
from repokernel.ops.add import add
from repokernel.ops.carry import done
from repokernel.ops.claim import claim
from repokernel.ports.world import World

if TYPE_CHECKING:
    from repokernel.core.entry import Entry
    from repokernel.ports.store import Store

START_MS = 1_800_000_000_000
MINUTE_MS = 60_000
LEASE_MS = 10 * MINUTE_MS
SKEW_MS = 30_000
FIRST = TaskId("t1")
ANN, BEN, PERSON = "writer@ann", "writer@ben", "boss@desk"


@functools.cache
def _template() -> str:
    """An empty board to copy: making one syncs a dozen times."""
    folder = tempfile.TemporaryDirectory(prefix="rk-test-board-")
    atexit.register(folder.cleanup)
    root = os.path.join(folder.name, "board")
    make(Place(root, repository=False), b"12345678", START_MS)
    return root


class Clock:
    """The store's clock; it moves when it is told to."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def advance(self, ms: int) -> None:
        self.now_ms += ms


class StillMachine:
    """The `System` port of a machine where nothing happens by itself; chance is a seeded sequence."""

    def __init__(self, clock: Clock, seed: str = "") -> None:
        self.clock = clock
        self.known: dict[str, Alive] = {}
        self.slept: list[float] = []
        self._seed = seed
        self._draws = 0

    def monotonic_ms(self) -> int:
        return self.clock.now_ms

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def entropy(self, count: int) -> bytes:
        self._draws += 1
        return hashlib.shake_128(f"{self._seed}/{self._draws}".encode()).digest(count)

    def process(self, pid: int) -> Process | None:
        return None

    def alive(self, owner: str) -> Alive:
        return self.known.get(owner, Alive.UNKNOWN)


class BoardHere:
    """A board in a folder: `world` is one participant's view of it, `another` makes further ones."""

    def __init__(self, folder: Path, *, repository: bool = False) -> None:
        self.folder = folder
        self.root = folder / ".repokernel"
        self.repository = repository
        self.clock = Clock()
        self.machine = StillMachine(self.clock)
        shutil.copytree(_template(), self.root)
        self.world = self.another()

    def another(self, store: "Store | None" = None, seed: str = "other") -> World:
        """One more participant, with a store handle and chance of its own."""
        machine = self.machine
        if store is not None or hasattr(self, "world"):
            machine = StillMachine(self.clock, seed)
            machine.known = self.machine.known
        where = str(self.root)
        return World(
            store if store is not None else FileStore(where, self.clock),
            machine,
            FileOutputs(where, str(self.folder)),
            lambda: settings(where),
            repository=self.repository,
        )

    def configure(self, text: str) -> None:
        """Write the configuration file; worlds opened before have read it or haven't."""
        (self.root / CONFIG).write_text(text, encoding="utf-8")

    def write(self, name: str, text: str = "text\n") -> str:
        """A file beside the board; its name, which is a path relative to where outputs are looked for."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return name

    def add(self, name: str = "t1", **fields: object) -> TaskId:
        """A new task, put there by the person a second after the one before."""
        self.clock.advance(1000)
        add(self.world, {"title": f"title of {name}", **fields, "id": name}, PERSON)
        return TaskId(name)

    def claim(self, task: TaskId = FIRST, by: str = ANN, lease_ms: int = LEASE_MS) -> "Entry":
        """The task, claimed a second later."""
        self.clock.advance(1000)
        return claim(self.world, task, by, lease_ms).entry

    def finish(self, task: TaskId = FIRST, by: str = ANN, text: str = "text\n") -> "Entry":
        """The task, claimed by `by` and done with a file of its own as output."""
        token = self.claim(task, by)["token"]
        return done(self.world, task, by, token, self.write(f"out/{task}-{token}.md", text)).entry

    def lapse(self) -> None:
        """Let every lease that was taken for `LEASE_MS`, and the skew margin, pass."""
        self.clock.advance(LEASE_MS + SKEW_MS + 1)

    def contents(self) -> dict[str, bytes]:
        """Every file of the board, by relative path."""
        found = {}
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = Path(folder, name)
                found[str(path.relative_to(self.root))] = path.read_bytes()
        return found

    def records(self) -> list[str]:
        """The names of all published records."""
        return sorted(os.listdir(self.root / "claims"))


def refusal(call: Callable[[], object]) -> RkError:
    """What `call` refuses with."""
    with pytest.raises(RkError) as caught:
        call()
    return caught.value


def code_of(call: Callable[[], object]) -> str:
    """The code that `call` refuses with."""
    return refusal(call).code


def error_code(entry: "Entry") -> str | None:
    """The code of a task's last error."""
    return entry["last_error"] and entry["last_error"]["code"]
