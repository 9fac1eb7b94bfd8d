"""One simulated world: agents that run real code, one at a time, and what happens to them in between.

Each agent is a greenlet. Before each effect (a read, a write, a look at another process) it comes to
`pause`, and there chance decides: it goes on, another agent runs first, it crashes, its clock jumps.
Nothing else happens between two effects, so an agent that crashes before its next effect has crashed after
its last one: all crash points and all interleavings of effects are reachable.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from greenlet import greenlet

if TYPE_CHECKING:
    from tests.sim.chance import Chance

START_MS = 1_800_000_000_000
HOUR_MS = 3_600_000
_GO_ON = 40  # of 64 draws at a pause
_YIELD = 61
_PAUSES_MAX = 20_000


class CrashedError(BaseException):
    """The agent's process is gone; nothing that runs after it has any effect."""


class Agent:
    """One process: its script, its clocks, whether it lives.

    Attributes:
        name: unique in its schedule.
        owner: who it says it is; several agents may say the same.
        host: where it runs; only agents of one host know of each other whether they live.
        alive: False once it has crashed or ended.
        beat_tick: when it last wrote a beat.
        end_tick: when it crashed or ended.
    """

    def __init__(self, hub: "Hub", name: str, owner: str, host: int) -> None:
        self.hub = hub
        self.name = name
        self.owner = owner
        self.host = host
        self.alive = True
        self.offset_ms = 0
        self.rate = 1.0
        self.wakes_ms = 0
        self.beat_tick = 0
        self.end_tick = 1 << 60
        self.run: greenlet | None = None

    def begin(self, script: Callable[[], None]) -> None:
        """Give it something to do, once the hub lets it."""
        self.run = greenlet(lambda: self._run(script))

    def _run(self, script: Callable[[], None]) -> None:
        try:
            script()
        except CrashedError:
            return
        finally:
            self.alive = False
            self.end_tick = min(self.end_tick, self.hub.tick)

    # clocks -------------------------------------------------------------------------------------

    def wall_ms(self) -> int:
        """This machine's wall clock, which may be wrong."""
        return self.hub.now_ms + self.offset_ms

    def monotonic_ms(self) -> int:
        """A clock that runs at this machine's rate and never jumps."""
        return int((self.hub.now_ms - START_MS) * self.rate) + self.host * 1_000_000

    # effects ------------------------------------------------------------------------------------

    def pause(self, before: str) -> None:
        """Come to the next effect, which is named for the story; may never return."""
        hub = self.hub
        if not self.alive:
            raise CrashedError
        hub.tick += 1
        if hub.calm:
            return
        assert hub.tick < _PAUSES_MAX, "the schedule doesn't end"
        roll = hub.chance.below(64)
        if roll < _GO_ON:
            return
        if roll < _YIELD:
            hub.switch(self)
        elif roll == _YIELD:
            self.offset_ms += (0, 1, -1)[hub.chance.below(3)] * hub.chance.below(HOUR_MS)
            hub.tell(f"{self.name}'s clock is now {self.offset_ms:+,} ms off")
        elif hub.crashes_left and hub.chance.below(2):
            hub.crashes_left -= 1
            hub.tell(f"{self.name} crashes before it can {before}")
            self.alive = False
            self.end_tick = hub.tick
            raise CrashedError
        else:
            self.sleep_ms(hub.chance.below(200_000))
        if not self.alive:
            raise CrashedError

    def sleep_ms(self, ms: int) -> None:
        """Let so much time of this machine's clock pass."""
        if not self.alive:
            raise CrashedError
        self.wakes_ms = self.hub.now_ms + int(ms / self.rate)
        if self.hub.calm:
            self.hub.now_ms = self.wakes_ms
        else:
            self.hub.switch(self)


class Hub:
    """The agents, the true time, and the order of all effects.

    Attributes:
        now_ms: the true time.
        tick: counts pauses: the order of effects.
        calm: nothing goes wrong any more, and nobody else runs in between.
        story: lines that tell the schedule, where it is wanted.
    """

    def __init__(self, chance: "Chance", *, telling: bool = False) -> None:
        self.chance = chance
        self.now_ms = START_MS
        self.tick = 0
        self.calm = True
        self.crashes_left = 0
        self.agents: list[Agent] = []
        self.story: list[str] = []
        self._telling = telling

    def tell(self, line: str) -> None:
        """Add a line to the story."""
        if self._telling:
            self.story.append(f"{(self.now_ms - START_MS) / 1000:9.3f} s  {line}")

    def switch(self, leaving: Agent | None) -> None:
        """Let somebody run: any living agent, a sleeping one once time has moved on to its end."""
        ready = [agent for agent in self.agents if agent.alive and agent is not leaving]
        if leaving is not None and leaving.alive:
            ready.append(leaving)
        if not ready:
            return
        # mostly who is awake; else time passes and finds those who are awake as if they were paused
        awake = [agent for agent in ready if agent.wakes_ms <= self.now_ms]
        if not awake:
            awake = [min(ready, key=lambda agent: agent.wakes_ms)]
        elif len(ready) > len(awake) and self.chance.once_in(4):
            awake = ready
        chosen = awake[self.chance.below(len(awake))]
        self.now_ms = max(self.now_ms + self.chance.below(50), chosen.wakes_ms)
        if chosen is not leaving:
            assert chosen.run is not None
            chosen.run.switch()

    def play(self, crashes_max: int) -> None:
        """Run all agents until each has ended or crashed.

        Raises:
            BaseException: what one of them didn't catch.
        """
        self.calm, self.crashes_left = False, crashes_max
        while any(agent.alive for agent in self.agents):
            self.switch(None)
        self.calm = True
