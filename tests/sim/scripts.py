"""What simulated agents do: workers, sloppy and honest, and people who step in."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from repokernel.core.ids import TaskId, fold
from repokernel.ops import carry, steer
from repokernel.ops.add import add
from repokernel.ops.archive import archive
from repokernel.ops.claim import claim, claim_next
from repokernel.ops.hold_on import Hold
from repokernel.ops.log import read_head
from repokernel.ports.world import World
from tests.sim.engine import SimOutputs

if TYPE_CHECKING:
    from repokernel.core.entry import Entry
    from repokernel.ops.log import Applied
    from tests.sim.calls import Asked, Call
    from tests.sim.hub import Agent

LEASE_MS = 60_000
_REPEATS = 2

Steer = Callable[[World, TaskId, str, str], "Applied"]
STEERING: dict[str, Steer] = {
    "hold": lambda world, task, by, op: steer.hold(world, task, by, "wait", op),
    "unhold": steer.unhold,
    "cancel": lambda world, task, by, op: steer.cancel(world, task, by, "no more", op),
    "reopen": steer.reopen,
    "retry": steer.retry,
    "note": lambda world, task, by, op: steer.note(world, task, by, "look", op),
    "answer": lambda world, task, by, op: steer.answer(world, task, by, "the left one", op),
    "open": steer.open_planned,
}


class Script:
    """One agent at one board."""

    def __init__(self, agent: "Agent", world: World, asked: "Asked", tasks: list[str]) -> None:
        self.agent = agent
        self.world = world
        self.asked = asked
        self.tasks = tasks
        self.chance = agent.hub.chance

    # a worker -----------------------------------------------------------------------------------

    def work(self) -> None:
        """Take tasks and carry them to some end."""
        for _ in range(1 + self.chance.below(3)):
            sent_ms = self.agent.monotonic_ms()
            entry = self._take()
            if entry is None:
                self.agent.sleep_ms(self.chance.below(LEASE_MS))
            elif self._hold_on(entry, sent_ms):
                self._end(entry)

    def _take(self) -> "Entry | None":
        op_id = self.asked.op_id(self.agent) if self.chance.below(3) == 1 else ""
        named = self.chance.below(3) == 1
        task = self.tasks[self.chance.below(len(self.tasks))] if named else ""
        for _ in range(1 + _REPEATS):
            if named:
                call = self.asked.ask(self.agent, "claim", task, lambda call: self._claim(call, op_id), op_id=op_id)
            else:
                call = self.asked.ask(self.agent, "claim_next", "", lambda call: self._next(call, op_id), op_id=op_id)
            if call.answer is not None:
                return call.result  # type: ignore[no-any-return]
        return None

    def _claim(self, call: "Call", op_id: str) -> "Entry":
        applied = claim(self.world, TaskId(call.task), self.agent.owner, LEASE_MS, op_id)
        call.token, call.changed = applied.entry["token"], applied.changed
        return applied.entry

    def _next(self, call: "Call", op_id: str) -> "Entry":
        entry = claim_next(self.world, self.agent.owner, LEASE_MS, op_id=op_id)
        call.task, call.token, call.changed = entry["id"], entry["token"], not op_id
        return entry

    def _hold_on(self, entry: "Entry", sent_ms: int) -> bool:
        """Whether to present the token: an honest worker doesn't once it knows that the lease is lost."""
        hold = Hold(self.world, entry, LEASE_MS, sent_ms)
        for _ in range(self.chance.below(3)):
            self.agent.sleep_ms(self.chance.below(LEASE_MS * 3 // 2))
            if self.chance.below(2):
                self.asked.ask(self.agent, "renew", entry["id"], self._renew, token=entry["token"])
            elif not hold.keep():
                return bool(self.chance.below(2))
        return True

    def _renew(self, call: "Call") -> None:
        self.agent.beat_tick = 0
        carry.renew(self.world, TaskId(call.task), self.agent.owner, call.token, LEASE_MS)
        call.beat = self.agent.beat_tick

    def _end(self, entry: "Entry") -> None:
        if self.chance.once_in(4):
            self._add(None)  # a follow-up, found while working
        what = ("done", "done", "done", "done", "done", "fail", "release", "ask")[self.chance.below(8)]
        for _ in range(1 + _REPEATS):
            if self._present(what, entry).answer is not None and not self.chance.once_in(6):
                break
        if self.chance.once_in(6):
            self._present(("done", "fail", "release", "ask")[self.chance.below(4)], entry)

    def _present(self, what: str, entry: "Entry") -> "Call":
        return self.asked.ask(self.agent, what, entry["id"], self._ended(what, entry), token=entry["token"])

    def _ended(self, what: str, entry: "Entry") -> "Callable[[Call], None]":
        world, by, token, task = self.world, self.agent.owner, entry["token"], TaskId(entry["id"])

        def do(call: "Call") -> None:
            if what == "done":
                outputs = world.outputs
                assert isinstance(outputs, SimOutputs)
                where = None if entry["expects"] == "none" else outputs.write(outputs.place(fold(task), token))
                verdict = "accepted" if entry["review_of"] else None
                call.changed = carry.done(world, task, by, token, where, verdict).changed
            elif what == "fail":
                code = ("upload_failed", "environment")[self.chance.below(2)]
                call.changed = carry.fail(world, task, by, token, code, "no").changed
            elif what == "release":
                call.changed = carry.release(world, task, by, token).changed
            else:
                call.changed = carry.ask(world, task, by, token, "which one?").changed

        return do

    # people -------------------------------------------------------------------------------------

    def step_in(self) -> None:
        """Hold, cancel, reopen, add, evict, look: whatever a person may do."""
        for _ in range(1 + self.chance.below(4)):
            self.agent.sleep_ms(self.chance.below(LEASE_MS))
            task = self.tasks[self.chance.below(len(self.tasks))]
            choice = self.chance.below(len(STEERING) + 5)
            if choice < len(STEERING):
                self._steer(list(STEERING)[choice], task)
            elif choice == len(STEERING):
                self._add(task)
            elif choice == len(STEERING) + 1:
                self._evict(task)
            elif choice == len(STEERING) + 2:
                self.asked.ask(self.agent, "archive", "", lambda _: archive(self.world, [], 1))
            else:
                self.asked.ask(self.agent, "show", task, self._show)

    def _steer(self, what: str, task: str) -> None:
        op_id = self.asked.op_id(self.agent)

        def do(call: "Call") -> None:
            call.changed = STEERING[what](self.world, TaskId(task), self.agent.owner, op_id).changed

        for _ in range(1 + _REPEATS):
            if self.asked.ask(self.agent, what, task, do, op_id=op_id).answer is not None:
                return

    def _show(self, call: "Call") -> None:
        head = read_head(self.world, TaskId(call.task))
        call.seq = head.record.seq if head is not None else 0

    def _evict(self, task: str) -> None:
        head = self.world.decoded.get(fold(TaskId(task)))
        owner = head.entry["owner"] if head is not None else None
        if owner is not None:
            self.asked.ask(self.agent, "evict", "", lambda _: steer.evict(self.world, owner, self.agent.owner, "gone"))

    def _add(self, needs: str | None) -> None:
        op_id = self.asked.op_id(self.agent)
        name = f"n{len(self.asked.calls)}"
        given: dict[str, object] = {"id": name, "title": name, "expects": "none"}
        if needs is not None and self.chance.below(2):
            given["depends_on"] = [{"id": needs, "when": ("done", "settled", "failed")[self.chance.below(3)]}]

        def do(call: "Call") -> None:
            add(self.world, given, self.agent.owner, op_id=op_id)
            call.changed = True

        for _ in range(1 + _REPEATS):
            if self.asked.ask(self.agent, "add", name, do, op_id=op_id).answer is not None:
                return
