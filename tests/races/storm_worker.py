"""One worker of the storm: claims, works, renews, completes, fails, releases, and says so in its journal.

It is forked, never executed, so that ten thousand of them are affordable. What it does is told twice: in
a journal, a line per event in the order of the events, from which the test judges; and in a few bytes of
shared memory, from which the storm picks its victims without asking anybody.
"""

import ctypes
import mmap
import os
import random
import signal
import struct
import time
import traceback
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple, NoReturn

from repokernel import bootstrap
from repokernel.adapters.store_file import FileStore
from repokernel.core.entry import Entry
from repokernel.core.errors import RkError
from repokernel.core.ids import Key, TaskId
from repokernel.ops import carry
from repokernel.ops.claim import claim_next
from repokernel.ops.hold_on import Hold
from repokernel.ops.work import nap
from repokernel.ports.world import World

LEASE_MS = 500
WORK_S = 0.0, 0.03
RENEWED_MS = 240  # the lease of those who work longer and renew it
RENEWED_WORK_S = 0.08, 0.25
DEFECT_STATUS = 70
FAILS, RELEASES = 0.2, 0.4  # the share that fails; the share that fails or is released: more work for the storm
_SLOT = struct.Struct("<IIII")  # phase, number of the task, token, answers heard so far
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


class Phase(IntEnum):
    """What a worker is doing."""

    STARTING = 0
    CLAIMING = 1
    TAKING = 2  # publishing the claim
    HOLDING = 3
    RENEWING = 4
    PRESENTING = 5
    ENDING = 6  # publishing the end
    ANSWERED = 7
    NAPPING = 8


class Seen(NamedTuple):
    """What the storm sees of a worker at one instant."""

    phase: Phase
    task: int
    token: int
    answers: int


class Slots:
    """Shared memory: whether the storm is over, and what the worker of each slot is doing."""

    def __init__(self, count: int) -> None:
        self._memory = mmap.mmap(-1, _SLOT.size * (count + 1))

    def see(self, slot: int) -> Seen:
        """What the worker of a slot is doing now."""
        phase, *rest = _SLOT.unpack_from(self._memory, _SLOT.size * (slot + 1))
        return Seen(Phase(phase), *rest)

    def show(self, slot: int, seen: Seen) -> None:
        """Say what the worker of a slot is doing."""
        _SLOT.pack_into(self._memory, _SLOT.size * (slot + 1), *seen)

    @property
    def over(self) -> bool:
        """Whether no further task will be added: a drained board means that the work is done."""
        return self._memory[0] == 1

    @over.setter
    def over(self, value: bool) -> None:
        self._memory[0] = int(value)

    @property
    def scarce(self) -> bool:
        """Whether so few tasks are open that what is said done would leave the storm nobody to strike."""
        return self._memory[1] == 1

    @scarce.setter
    def scarce(self, value: bool) -> None:
        self._memory[1] = int(value)


class Place(NamedTuple):
    """Which of all workers one is, in which slot, and what it draws its chance from."""

    slot: int
    serial: int
    renews: bool
    seed: int


def name_of(number: int) -> str:
    """The id of the storm's task with this number."""
    return f"t{number:04d}"


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class TellingStore(FileStore):
    """The real store, which says when it is about to publish."""

    def __init__(self, root: str, tell: Callable[[bool], None]) -> None:
        super().__init__(root)
        self._tell = tell

    def append(self, key: Key, seq: int, data: bytes, *, stir: bool = False) -> bool:
        """See `ports.store.Store.append`."""
        self._tell(True)
        published = super().append(key, seq, data, stir=stir)
        self._tell(published)
        return published


class Stormed:
    """A worker in one slot, with a journal to write and a chance of its own."""

    def __init__(self, world: World, slots: Slots, place: Place, journal: Path) -> None:
        self.world = world
        self.slots = slots
        self.place = place
        self.chance = random.Random(f"{place.seed}/{place.serial}")
        self.fd = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self.answers = 0
        # every fourth slot has somebody who isn't tied to a process: only the lease says that such a worker is gone
        tied = place.slot % 4 != 0
        env = {} if tied else {"RK_INSTANCE": f"desk-{place.slot}"}
        self.me = bootstrap.identity(env, role="storm", owner_pid=None, own_process=tied)
        self.world.lasting = self.chance.random() < 0.5
        self.world.store = TellingStore(world.store.url.removeprefix("file:"), self.publishing)
        self.lease_ms = RENEWED_MS if place.renews else LEASE_MS
        self.publishes = {Phase.CLAIMING: Phase.TAKING, Phase.PRESENTING: Phase.ENDING}
        self.phase, self.held = Phase.STARTING, (0, 0)

    def note(self, *words: object) -> None:
        """Add a line to the journal."""
        os.write(self.fd, (" ".join(map(str, (self.place.serial, *words))) + "\n").encode())

    def show(self, phase: Phase) -> None:
        """Let the storm see what this worker is doing."""
        self.phase = phase
        self.slots.show(self.place.slot, Seen(phase, *self.held, self.answers))

    def publishing(self, begins: bool) -> None:
        """Let the storm see that a record is being published; a race that was lost is not."""
        if begins:
            self.show(self.publishes.get(self.phase, self.phase))
        elif self.phase is Phase.TAKING:
            self.show(Phase.CLAIMING)

    def run(self) -> None:
        """Work until the storm is over and the board drained."""
        while True:
            cursor = self.world.store.wait(None, 0)
            sent_ms = self.world.system.monotonic_ms()
            self.note("claiming")
            self.show(Phase.CLAIMING)
            over = self.slots.over
            try:
                entry = claim_next(self.world, self.me, self.lease_ms)
            except RkError as cause:
                self.note("none", cause.code)
                self.show(Phase.NAPPING)
                if cause.code == "drained" and over:
                    return
                if cause.kind == "broken":
                    raise
                if cause.code != "contention":
                    nap(self.world, cursor, cause)
                continue
            self.note("got", entry["id"], entry["token"])
            self.work(entry, Hold(self.world, entry, self.lease_ms, sent_ms))

    def work(self, entry: Entry, hold: Hold) -> None:
        """Hold the task for a while, and end it whatever has become of the lease meanwhile."""
        self.held = int(entry["id"][1:]), entry["token"]
        self.show(Phase.HOLDING)
        ends = time.monotonic() + self.chance.uniform(*(RENEWED_WORK_S if self.place.renews else WORK_S))
        while time.monotonic() < ends:
            time.sleep(0.002)
            if self.place.renews and not self.kept(hold):
                break  # a program should stop here; this one is stubborn, and says done all the same
        drawn = self.chance.random()
        back = "release" if drawn < RELEASES or self.slots.scarce else "done"
        how = "done" if hold.lost else "fail" if drawn < FAILS else back
        self.note("presenting", entry["id"], entry["token"], how)
        self.show(Phase.PRESENTING)
        try:
            self.end(entry, how)
        except RkError as cause:
            if cause.kind == "broken":
                raise
            self.note("refused", entry["id"], entry["token"], how, cause.code)
        else:
            self.note("accepted", entry["id"], entry["token"], how)
        self.answers += 1
        self.show(Phase.ANSWERED)

    def kept(self, hold: Hold) -> bool:
        """Renew if it is time; whether the lease is still ours."""
        if hold.wait_s() > 0:
            return True
        self.note("renewing", hold.entry["id"], hold.entry["token"])
        self.show(Phase.RENEWING)
        kept = hold.keep()
        self.show(Phase.HOLDING)
        self.note("renewed" if kept else "lost", hold.entry["id"], hold.entry["token"])
        return kept

    def end(self, entry: Entry, how: str) -> None:
        """Present the token."""
        task, token = TaskId(entry["id"]), entry["token"]
        if how == "fail":
            carry.fail(self.world, task, self.me, token, "too_hard", "no luck")
        elif how == "release":
            carry.release(self.world, task, self.me, token)
        else:
            place = Path(self.world.outputs.place(Key(task), token))
            place.mkdir(parents=True, exist_ok=True)
            path = place / "out.txt"
            path.write_text(f"{task} token {token} by worker {self.place.serial}\n" * 20, encoding="utf-8")
            carry.done(self.world, task, self.me, token, str(path))


def fork_worker(world: World, slots: Slots, place: Place, journal: Path) -> int:
    """The pid of a new worker; it never returns into the code of its parent."""
    slots.show(place.slot, Seen(Phase.STARTING, 0, 0, 0))
    pid = os.fork()
    if pid == 0:
        _live(world, slots, place, journal)
    return pid


def _live(world: World, slots: Slots, place: Place, journal: Path) -> NoReturn:
    status = DEFECT_STATUS
    try:
        die_with_parent()
        os.nice(5)  # the storm itself has to strike in time
        Stormed(world, slots, place, journal).run()
        status = 0
    except BaseException:  # noqa: BLE001 - whatever it is, it must not go on as the storm
        with journal.with_suffix(".defect").open("a", encoding="utf-8") as stream:
            stream.write(f"worker {place.serial}\n{traceback.format_exc()}\n")
    finally:
        os._exit(status)
