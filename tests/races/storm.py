"""The storm: workers on one board that are killed and stopped at random instants until the numbers are reached.

Run as `python -m tests.races.storm BOARD PLAN`, where PLAN is the JSON of a `Plan`. The workers are forked
from this process, which is their parent: it alone kills and stops them, by pid, and no pid can come back as
somebody else's before it has waited for it. It prints a `Report` as JSON; everything else is in the board's
log and in the journals, in the folder `journals` beside the board.
"""

import gc
import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import NamedTuple

from repokernel import bootstrap
from repokernel.core.ids import TaskId
from repokernel.core.task import is_settled
from repokernel.ops.add import import_tasks
from repokernel.ops.log import history, read_head
from repokernel.ops.view import board_view
from repokernel.ports.world import World
from tests.races.storm_worker import Phase, Place, Seen, Slots, die_with_parent, fork_worker, name_of
from tests.workers import state

ENDLESS = 10**6
FEW_ATTEMPTS = 2
EVERY = 10  # of so many tasks one has few attempts
OPEN_MIN = 24  # below this nothing is said done until tasks have been added
STOCK = 40
STOPPED_MAX = 5
RENEWING_SHARE = 0.15
NAP_S = 0.1
PATIENCE_S = 60.0
_TICK_S = 0.0002
_FRESH_S = 0.5
# (where the worker is when the clock of its death starts, how many of a hundred, milliseconds at most)
_AIMS = (
    (Phase.STARTING, 4, 300.0),  # any time
    (Phase.CLAIMING, 30, 60.0),
    (Phase.TAKING, 15, 1.0),
    (Phase.HOLDING, 23, 20.0),
    (Phase.RENEWING, 8, 6.0),
    (Phase.PRESENTING, 8, 10.0),
    (Phase.ENDING, 12, 1.0),
)
_HOLDS = (Phase.HOLDING, Phase.RENEWING, Phase.PRESENTING, Phase.ENDING)


class Plan(NamedTuple):
    """How large the storm is."""

    workers: int
    tasks: int
    kills: int
    stops: int
    seed: int


class Stop(NamedTuple):
    """A worker that was stopped until another had its task, and then woken."""

    serial: int
    task: str
    token: int
    phase: str


class Report(NamedTuple):
    """What the storm did; `idle` counts kills of workers that had nothing to do."""

    killed: list[int]
    stopped: list[Stop]
    spawned: int
    defects: int
    idle: int


def few_attempts(number: int) -> bool:
    """Whether the task with this number may be claimed a few times only."""
    return number % EVERY == 0


def task_of(number: int) -> dict[str, object]:
    """The task with this number."""
    limit = FEW_ATTEMPTS if few_attempts(number) else ENDLESS
    return {"id": name_of(number), "title": f"task {number}", "max_attempts": limit}


class Victim:
    """The worker in one slot, and when its time has come."""

    def __init__(self, pid: int, serial: int, aim: Phase, delay_s: float) -> None:
        self.pid = pid
        self.serial = serial
        self.aim = aim
        self.delay_s = delay_s
        self.dies_at: float | None = None
        self.stopped: Seen | None = None
        self.woken: Seen | None = None
        self.since = 0.0

    def set_clock(self, phase: Phase, now: float) -> None:
        """Start the clock of its death, if the worker has come to where it is to start."""
        if self.aim in (Phase.STARTING, phase):
            self.dies_at = now + self.delay_s
        elif phase is Phase.NAPPING:  # it may never come to do what is waited for
            self.dies_at = now + NAP_S


class Storm:
    """Keeps all slots filled, and strikes."""

    def __init__(self, world: World, journals: Path, plan: Plan) -> None:
        self.world = world
        self.journals = journals
        self.plan = plan
        self.chance = random.Random(plan.seed)
        self.slots = Slots(plan.workers)
        self.victims: dict[int, Victim] = {}
        self.report = Report([], [], 0, 0, 0)
        self.spawned = self.defects = self.idle = self.added = 0
        self.fresh_at = 0.0

    def run(self) -> Report:
        """Storm until the numbers are reached, then let the workers finish."""
        while len(self.report.killed) < self.plan.kills or len(self.report.stopped) < self.plan.stops:
            self.pace()
            self.fill()
            for slot, victim in self.victims.items():
                self.attend(slot, victim)
            self.reap()
            time.sleep(_TICK_S)
        self.calm()
        return self.report._replace(spawned=self.spawned, defects=self.defects, idle=self.idle)

    def pace(self) -> None:
        """Add tasks as the storm goes on, so that there is work left for those who are to be killed."""
        share = min(len(self.report.killed) / self.plan.kills, len(self.report.stopped) / self.plan.stops)
        due = int(STOCK + share * (self.plan.tasks - STOCK))
        if due > self.added:
            import_tasks(self.world, [task_of(n) for n in range(self.added, due)], "boss@desk", output=None)
            self.added = due

    def fill(self) -> None:
        """Have a worker in each slot; it inherits what this process knows of the board."""
        now = time.monotonic()
        if now > self.fresh_at:
            entries = board_view(self.world).entries.values()
            self.slots.scarce = sum(not is_settled(entry) for entry in entries) < OPEN_MIN
            self.fresh_at = now + _FRESH_S
        for slot in range(self.plan.workers):
            if slot in self.victims:
                continue
            aim, _, longest_ms = self.chance.choices(_AIMS, [weight for _, weight, _ in _AIMS])[0]
            # as many in the first hundredth of the span as in the last half
            delay_s = longest_ms / 1000 * 100 ** (self.chance.random() - 1)
            journal = self.journals / f"slot-{slot:02d}.log"
            renews = aim is Phase.RENEWING or self.chance.random() < RENEWING_SHARE
            place = Place(slot, self.spawned, renews, self.plan.seed)
            pid = fork_worker(self.world, self.slots, place, journal)
            self.victims[slot] = Victim(pid, self.spawned, aim, delay_s)
            self.spawned += 1

    def attend(self, slot: int, victim: Victim) -> None:
        """Stop the worker, watch it sleep or kill it, whatever it is time for."""
        now, seen = time.monotonic(), self.slots.see(slot)
        if victim.stopped is not None:
            self.watch(victim, victim.stopped, now)
        elif victim.woken is not None:
            self.hear(victim, victim.woken, seen, now)
        else:
            if victim.dies_at is None:
                victim.set_clock(seen.phase, now)
            if now >= (victim.dies_at or float("inf")):
                self.strike(slot, victim, seen, now)

    def strike(self, slot: int, victim: Victim, seen: Seen, now: float) -> None:
        """Stop or kill the worker, as the numbers want it."""
        if seen.phase in _HOLDS and self.wants_stop():
            self.stop(slot, victim, now)
        elif len(self.report.killed) < self.plan.kills:
            self.kill(victim, seen)

    def kill(self, victim: Victim, seen: Seen) -> None:
        """SIGKILL."""
        self.idle += seen.phase is Phase.NAPPING
        os.kill(victim.pid, signal.SIGKILL)
        self.report.killed.append(victim.serial)
        victim.dies_at = float("inf")

    def wants_stop(self) -> bool:
        """Whether this is to be a stop: so that both numbers are reached at about the same time."""
        asleep = sum(victim.stopped is not None for victim in self.victims.values())
        begun = len(self.report.stopped) + asleep
        if begun >= self.plan.stops or asleep >= STOPPED_MAX:
            return False
        return begun * self.plan.kills <= (len(self.report.killed) + self.plan.kills // 50) * self.plan.stops

    def stop(self, slot: int, victim: Victim, now: float) -> None:
        """SIGSTOP; if the worker doesn't hold a task once it stands still, it may go on."""
        os.kill(victim.pid, signal.SIGSTOP)
        while state(victim.pid) not in ("T", "Z", "X", ""):
            time.sleep(0)
        seen = self.slots.see(slot)
        if seen.phase in _HOLDS:
            victim.stopped, victim.since = seen, now
        else:
            os.kill(victim.pid, signal.SIGCONT)

    def watch(self, victim: Victim, seen: Seen, now: float) -> None:
        """SIGCONT once the token has ended: another has the task, or it is settled."""
        head = read_head(self.world, TaskId(name_of(seen.task)))
        assert head is not None
        entry = head.entry
        if entry["owner"] is not None and entry["token"] == seen.token:
            assert now - victim.since < PATIENCE_S, f"nobody took {entry['id']} over from a stopped worker"
            return
        victim.stopped, victim.since = None, now
        os.kill(victim.pid, signal.SIGCONT)
        if self.had_ended(TaskId(entry["id"]), seen.token):
            victim.dies_at = now
        else:
            victim.woken = seen
            self.report.stopped.append(Stop(victim.serial, name_of(seen.task), seen.token, seen.phase.name.lower()))

    def had_ended(self, task: TaskId, token: int) -> bool:
        """Whether the worker had published the end of its token itself before it was stopped."""
        records = history(self.world, task)
        return any(r.entry["token"] == token and r.event in ("done", "fail", "release") for r in records)

    @staticmethod
    def hear(victim: Victim, woken: Seen, seen: Seen, now: float) -> None:
        """Let it live until it has heard what came of its token."""
        if seen.answers > woken.answers:
            victim.woken, victim.dies_at = None, now + victim.delay_s
        else:
            assert now - victim.since < PATIENCE_S, f"worker {victim.serial} was woken and came to no end"

    def reap(self) -> None:
        """Wait for whoever has ended, and empty the slot."""
        for slot, victim in list(self.victims.items()):
            pid, status = os.waitpid(victim.pid, os.WNOHANG)
            if pid:
                self.defects += os.waitstatus_to_exitcode(status) not in (0, -signal.SIGKILL)
                del self.victims[slot]

    def calm(self) -> None:
        """Wake whoever still sleeps, and wait until all have ended by themselves."""
        self.pace()
        self.slots.over, self.slots.scarce = True, False
        ends = time.monotonic() + PATIENCE_S
        for victim in self.victims.values():
            os.kill(victim.pid, signal.SIGCONT)
        while self.victims:
            assert time.monotonic() < ends, f"the board isn't drained: {self.left()}"
            self.reap()
            time.sleep(_TICK_S)

    def left(self) -> list[str]:
        """What isn't settled, for a message."""
        return [entry["id"] for entry in board_view(self.world).entries.values() if not is_settled(entry)]


def main(board: str, plan: str) -> None:
    """Storm a board and print the report."""
    die_with_parent()
    world = bootstrap.open_world(board, os.getcwd())
    journals = Path(board).parent / "journals"
    journals.mkdir()
    storm = Storm(world, journals, Plan(**json.loads(plan)))
    gc.freeze()
    sys.stdout.write(json.dumps(storm.run()._asdict()) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
