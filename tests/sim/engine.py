"""The simulated world behind the ports: one store for all agents, a machine for each, outputs.

The store keeps its one promise (a name is created once) and nothing beyond the port's contract: answers get
lost after the work was done, requests arrive twice or late, a listing is put together while others write.
"""

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from repokernel.core.errors import RkError, error
from repokernel.core.lease import Alive
from repokernel.core.output import Depth, Problem

if TYPE_CHECKING:
    from repokernel.core.entry import Output
    from repokernel.core.ids import Key
    from repokernel.core.owner import Process
    from tests.sim.hub import Agent, Hub


class Published(NamedTuple):
    """One record as it got its name."""

    tick: int
    key: "Key"
    seq: int
    data: bytes
    stir: bool


class Engine:
    """What all agents share.

    Attributes:
        records: the bytes of each record.
        heads: the highest sequence number of each task.
        log: all records in the order in which they got their names.
        outputs: the digest of what lies at each place.
        stale: listings and side documents may be those of a moment ago.
    """

    def __init__(self, hub: "Hub", *, stale: bool) -> None:
        self.hub = hub
        self.stale = stale
        self.records: dict[tuple[Key, int], bytes] = {}
        self.heads: dict[Key, int] = {}
        self.log: list[Published] = []
        self.sides: dict[str, dict[str, list[bytes]]] = {"beats": {}, "verified": {}}
        self.outputs: dict[str, str] = {}
        self._late: list[Published] = []

    def create(self, key: "Key", seq: int, data: bytes, *, stir: bool) -> bool:
        """The one primitive: whether the name was free."""
        if (key, seq) in self.records:
            return False
        self.records[key, seq] = data
        self.heads[key] = max(self.heads.get(key, 0), seq)
        self.log.append(Published(self.hub.tick, key, seq, data, stir))
        return True

    def delay(self, key: "Key", seq: int, data: bytes, *, stir: bool) -> None:
        """Keep a request that its sender has given up; it arrives some time."""
        self._late.append(Published(0, key, seq, data, stir))

    def deliver(self, *, everything: bool = False) -> None:
        """Let a late request arrive, or all of them."""
        while self._late:
            late = self._late.pop(0)
            if self.create(late.key, late.seq, late.data, stir=late.stir):
                self.hub.tell(f"a late request creates {late.key}.{late.seq}")
            if not everything:
                return


class SimStore:
    """The `Store` port of one agent."""

    url = "sim:"

    def __init__(self, engine: Engine, agent: "Agent") -> None:
        self._engine = engine
        self._agent = agent
        self._chance = agent.hub.chance

    def _fault(self, out_of: int) -> int:
        """0 nothing, else which of several faults."""
        if self._agent.hub.calm:
            return 0
        roll = self._chance.below(out_of)
        return 0 if roll < out_of - 5 else roll - (out_of - 6)

    def append(self, key: "Key", seq: int, data: bytes, *, stir: bool = False) -> bool:
        engine, agent = self._engine, self._agent
        agent.pause(f"create {key}.{seq}")
        engine.deliver()
        fault = self._fault(40)
        if fault == 1:
            agent.hub.tell(f"{agent.name}'s request for {key}.{seq} is lost")
            raise error("store_io", "lost request")
        if fault == 2:
            agent.hub.tell(f"{agent.name}'s request for {key}.{seq} is delayed; it gives up")
            engine.delay(key, seq, data, stir=stir)
            raise error("store_io", "no answer")
        created = engine.create(key, seq, data, stir=stir)
        if fault in (3, 4):  # the answer is lost, or the request arrives twice: who asks again finds the name taken
            agent.hub.tell(f"{agent.name}'s answer for {key}.{seq} is lost; it asks again")
            agent.pause(f"ask again for {key}.{seq}")
            created = engine.create(key, seq, data, stir=stir)
        if not created and engine.records[key, seq] != data:
            return False
        if fault == 5:
            agent.hub.tell(f"{agent.name} can't tell whether {key}.{seq} is durable")
            raise error("durability_unknown", "sync failed")
        return True

    def top(self, key: "Key", known: int = 0) -> int:
        self._agent.pause(f"look for {key}")
        return self._engine.heads.get(key, 0)

    def tops(self) -> "dict[Key, int | RkError]":
        agent, engine = self._agent, self._engine
        agent.pause("list")
        found: dict[Key, int | RkError] = {}
        for key in list(engine.heads):  # what is added meanwhile is missed, what changes meanwhile may be seen
            top = engine.heads[key]
            if engine.stale and not agent.hub.calm:
                top = max(1, top - self._chance.below(3))
                if self._chance.once_in(8):
                    continue
            found[key] = top
            if self._chance_of_delay():
                agent.pause("list on")
        return found

    def _chance_of_delay(self) -> bool:
        return not self._agent.hub.calm and self._chance.once_in(4)

    def changes(self, cursor: int | None) -> "tuple[int, list[tuple[Key, int]] | None]":
        self._agent.pause("hear of changes")
        log = self._engine.log
        if cursor is None or self._fault(30) or any(one.stir for one in log[cursor:]):
            return len(log), None
        return len(log), [(one.key, one.seq) for one in log[cursor:]]

    def read(self, key: "Key", seq: int) -> bytes | None:
        self._agent.pause(f"read {key}.{seq}")
        if self._fault(200):
            raise error("store_io", "unreadable just now")
        return self._engine.records.get((key, seq))

    def put_away(self, key: "Key", top: int, data: bytes) -> None:
        self._agent.pause(f"put {key} away")

    def bury(self, key: "Key", seq: int, data: bytes) -> None:
        self._agent.pause(f"bury {key}.{seq}")
        self._engine.records[key, seq] = data

    def confirm(self) -> None:
        self._agent.pause("confirm")
        if self._fault(100):
            raise error("durability_unknown", "sync failed")

    def read_side(self, side: str, name: str) -> bytes | None:
        self._agent.pause(f"read {side}/{name}")
        versions = self._engine.sides[side].get(name)
        if not versions:
            return None
        back = self._chance.below(2) if self._engine.stale and len(versions) > 1 and not self._agent.hub.calm else 0
        return versions[-1 - back]

    def write_side(self, side: str, name: str, data: bytes) -> None:
        self._agent.pause(f"write {side}/{name}")
        fault = self._fault(60)
        if fault != 1:
            self._agent.beat_tick = self._agent.hub.tick
            self._engine.sides[side].setdefault(name, []).append(data)
        if fault:
            raise error("store_io", "lost")

    def drop_side(self, side: str, name: str) -> None:
        self._agent.pause(f"drop {side}/{name}")
        self._engine.sides[side].pop(name, None)

    def sides(self, side: str) -> frozenset[str]:
        self._agent.pause(f"list {side}")
        return frozenset(self._engine.sides[side])

    def foreign(self) -> list[str]:
        return []

    def now_ms(self) -> int:
        return self._agent.wall_ms()

    def wait(self, cursor: object, timeout_s: float) -> object:
        if cursor is not None:
            self._agent.sleep_ms(int(timeout_s * 1000))
        return len(self._engine.log)


class SimMachine:
    """The `System` port of one agent; chance is counted, so that it is as unique as it should be."""

    def __init__(self, agent: "Agent") -> None:
        self._agent = agent
        self._draws = 0

    def monotonic_ms(self) -> int:
        return self._agent.monotonic_ms()

    def sleep(self, seconds: float) -> None:
        self._agent.sleep_ms(int(seconds * 1000) + 1)

    def entropy(self, count: int) -> bytes:
        self._draws += 1
        return hashlib.shake_128(f"{self._agent.name}/{self._draws}".encode()).digest(count)

    def process(self, pid: int) -> "Process | None":
        return None

    def alive(self, owner: str) -> Alive:
        """A process of the same host is known to be dead once it is; of others nothing is known."""
        agent = self._agent
        theirs = [one for one in agent.hub.agents if one.owner == owner and one.host == agent.host]
        if not theirs:
            return Alive.UNKNOWN
        return Alive.YES if any(one.alive for one in theirs) else Alive.NO


class SimOutputs:
    """The `Outputs` port."""

    def __init__(self, engine: Engine, agent: "Agent") -> None:
        self._engine = engine
        self._agent = agent

    def write(self, where: str) -> str:
        """Put something at a place, the same each time; the place."""
        self._engine.outputs[where] = hashlib.sha256(where.encode()).hexdigest()
        return where

    def describe(self, where: str, written_at: str) -> "Output":
        self._agent.pause(f"describe {where}")
        digest = self._engine.outputs.get(where)
        if digest is None:
            raise error("output_missing", f"{where} is not there")
        return {"uri": "sim:" + where, "bytes": 4, "sha256": digest, "written_at": written_at}

    def probe(self, output: "Output", depth: Depth) -> Problem | None:
        self._agent.pause(f"probe {output['uri']}")
        there = self._engine.outputs.get(output["uri"].removeprefix("sim:"))
        return None if there == output["sha256"] else Problem("output_mismatch", f"{output['uri']} differs")

    def place(self, key: "Key", token: int) -> str:
        return f"{key}/t{token}"
