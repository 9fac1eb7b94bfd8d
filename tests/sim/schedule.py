"""One schedule from one seed: set a board up, let agents at it, bring it to an end, judge.

`python -m tests.sim SEED` tells the schedule of a seed, `python -m tests.sim SEED COUNT` runs many.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from repokernel.core.errors import RkError
from repokernel.core.ids import TaskId, fold
from repokernel.core.settings import Settings
from repokernel.core.times import parse_instant
from repokernel.ops import carry
from repokernel.ops.add import add
from repokernel.ops.claim import claim_next
from repokernel.ports.world import World
from tests.sim.calls import Asked, Call
from tests.sim.chance import Chance, shrink
from tests.sim.engine import Engine, SimMachine, SimOutputs, SimStore
from tests.sim.hub import HOUR_MS, Agent, Hub
from tests.sim.judge import Judge
from tests.sim.scripts import LEASE_MS, Script
from tests.sim.truth import SETTLED, State, facts_of, waits_for

if TYPE_CHECKING:
    from repokernel.core.entry import Entry

SETTINGS = Settings(
    {"lease.default": "1m", "lease.skew": "5s", "backoff.base": "10s", "backoff.cap": "1m", "attempts.max": 3}
)
_ROUNDS_MAX = 300


class Outcome(NamedTuple):
    """What came of a schedule: its draws, what must not be, its story, and counts."""

    draws: list[int]
    problems: list[str]
    story: list[str]
    counts: dict[str, int]


class Schedule:
    """A board, its agents and what they are asked to do."""

    def __init__(self, chance: Chance, *, telling: bool = False) -> None:
        self.chance = chance
        self.hub = Hub(chance, telling=telling)
        self.engine = Engine(self.hub, stale=chance.once_in(8))
        self.asked = Asked()
        self.tasks: list[str] = []
        self.ended_ms = 0
        self._set_up()
        self._enlist()

    def world(self, agent: Agent, *, lasting: bool) -> World:
        """The ports of one agent."""
        store, outputs = SimStore(self.engine, agent), SimOutputs(self.engine, agent)
        return World(store, SimMachine(agent), outputs, lambda: SETTINGS, repository=False, lasting=lasting)

    def _set_up(self) -> None:
        chance, boss = self.chance, Agent(self.hub, "boss", "boss@desk", 9)
        world = self.world(boss, lasting=False)
        for number in range(1 + chance.below(3)):
            given: dict[str, object] = {
                "id": f"t{number}",
                "title": f"task {number}",
                "max_attempts": 3 - chance.below(3),
                "expects": ("output", "none")[chance.below(2)],
            }
            if number and chance.once_in(3):
                when = ("done", "done", "failed", "settled")[chance.below(4)]
                given["depends_on"] = [{"id": f"t{chance.below(number)}", "when": when}]
            elif number and chance.once_in(8):
                given = {"id": f"t{number}", "title": "review", "review_of": f"t{chance.below(number)}"}
            self.tasks.append(add(world, given, boss.owner, planned=chance.once_in(8))["id"])

    def _enlist(self) -> None:
        chance = self.chance
        people = 1 + chance.below(2)
        for number in range(3 + chance.below(6)):
            person = number >= 2 and number < 2 + people
            # two agents that go by one name, now and then: two shells of one login, or a pod that came back
            name = f"w{number - 1 if number and chance.once_in(10) else number}"
            owner = f"person@{name}" if person else f"{name}@{name}"
            agent = Agent(self.hub, f"a{number}", owner, chance.below(2))
            agent.rate = (1.0, 1.0, 0.5, 2.0)[chance.below(4)]
            script = Script(agent, self.world(agent, lasting=chance.below(2) == 1), self.asked, self.tasks)
            agent.begin(script.step_in if person else script.work)
            self.hub.agents.append(agent)

    def run(self) -> Outcome:
        """Play it, end it, judge it."""
        self.hub.play(crashes_max=3)
        self.ended_ms = self.hub.now_ms
        problems = self._end()
        judge = Judge(facts_of(self.engine.log), self.asked.calls, stale=self.engine.stale, gone=self._gone)
        counts = {"calls": len(self.asked.calls), "records": len(self.engine.log), "ticks": self.hub.tick}
        return Outcome(self.chance.drawn, judge.problems + problems, self.hub.story, counts)

    def _gone(self, state: State, call: Call) -> bool:
        """Whether an owner may have looked gone to a caller: dead, late, or by a clock that is wrong."""
        wrong_clock = any(agent.offset_ms for agent in self.hub.agents)
        dead = all(agent.end_tick < call.ended for agent in self.hub.agents if agent.owner == state["owner"])
        return wrong_clock or dead or parse_instant(state["lease_expires"]) < self.ended_ms

    # the end ------------------------------------------------------------------------------------

    def _end(self) -> list[str]:
        """All faults stop, time passes, two honest workers do what there is; what is stuck after that."""
        self.hub.tell("--- calm; two honest workers go on")
        self.engine.deliver(everything=True)
        self.hub.now_ms += 100 * HOUR_MS
        worlds: dict[str, World] = {}
        for name in ("first@end", "second@fin"):  # nobody reviews what they have done themselves
            agent = Agent(self.hub, name, name, 7)
            self.hub.agents.append(agent)
            worlds[name] = self.world(agent, lasting=False)
        records, answers = 0, [""]
        while len(self.engine.log) > records:
            records = len(self.engine.log)
            answers = [self._finish_all(world, name) for name, world in worlds.items()]
            if not all(answers):
                return ["the board doesn't come to an end"]
        return self._left_over(answers[0])

    def _finish_all(self, world: World, by: str) -> str:
        """Claim and complete until there is nothing for this worker, an hour later neither; the last answer."""
        waited = False
        for _ in range(_ROUNDS_MAX):
            try:
                entry = claim_next(world, by, LEASE_MS)
            except RkError as cause:
                if waited or cause.code != "not_yet":
                    return cause.code
                self.hub.now_ms += HOUR_MS
                waited = True
            else:
                self._finish(world, entry, by)
                waited = False
        return ""

    def _finish(self, world: World, entry: "Entry", by: str) -> None:
        outputs = world.outputs
        assert isinstance(outputs, SimOutputs)
        task = TaskId(entry["id"])
        where = None if entry["expects"] == "none" else outputs.write(outputs.place(fold(task), entry["token"]))
        carry.done(world, task, by, entry["token"], where, "accepted" if entry["review_of"] else None)

    def _left_over(self, answer: str) -> list[str]:
        tasks: dict[str, State] = {fact.task: fact.state for fact in facts_of(self.engine.log)}
        waits = {name: waits_for(name, tasks, {}) for name, state in tasks.items() if state["status"] not in SETTLED}
        problems = [
            f"{name} is stuck at {answer}: {dict(tasks[name])}" for name, what in waits.items() if what == "worker"
        ]
        expected = "not_yet" if "person" in waits.values() else "drained"
        if not problems and answer != expected:
            problems.append(f"at the end the answer is {answer}, and what is left waits so: {waits}")
        return problems


def simulate(seed: int) -> Outcome:
    """What comes of the schedule of a seed."""
    return Schedule(Chance(seed)).run()


def replay(draws: Sequence[int], *, telling: bool = False) -> Outcome:
    """What comes of a list of draws."""
    return Schedule(Chance(replay=draws), telling=telling).run()


def _kind(problem: str) -> str:
    """What sort of problem it is: the line without names and numbers."""
    return re.sub(r"\w*\d\w*|\{.*", "", problem)


def explain(seed: int) -> str:
    """The shortest schedule found that fails as that of `seed` does, told line by line."""
    outcome = simulate(seed)
    if not outcome.problems:
        return f"seed {seed}: nothing is wrong"
    wanted = _kind(outcome.problems[0])
    draws = shrink(outcome.draws, lambda tried: wanted in map(_kind, replay(tried).problems))
    told = replay(draws, telling=True)
    lines = [f"seed {seed}, made smaller to {len(draws)} of {len(outcome.draws)} draws:", *told.story]
    return "\n".join([*lines, "what must not be:", *told.problems, "as it was first found:", *outcome.problems])
