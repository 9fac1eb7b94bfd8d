"""What the agents of a schedule asked of the board, and what they were answered."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from repokernel.core.errors import RkError

if TYPE_CHECKING:
    from tests.sim.hub import Agent

OK = "ok"


@dataclass(slots=True, kw_only=True)
class Call:
    """One operation: `answer` is `ok`, a code, or None if there was none (a crash, an unknown outcome).

    `began` and `ended` are ticks; `seq` is what a read saw, `token` what was presented or got.
    """

    agent: str
    by: str
    what: str
    task: str
    began: int
    op_id: str = ""
    token: int = 0
    ended: int = 0
    answer: str | None = None
    changed: bool = False
    seq: int = 0
    beat: int = 0
    result: Any = None


class Asked:
    """All calls of a schedule."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._count = 0

    def op_id(self, agent: "Agent") -> str:
        """A name for an operation that its caller may repeat."""
        self._count += 1
        return f"op:{agent.name}:{self._count}"

    def ask(self, agent: "Agent", what: str, task: str, do: Callable[[Call], Any], **facts: Any) -> Call:
        """What came of `do`; its result is None when it was refused or nothing is known."""
        hub = agent.hub
        call = Call(agent=agent.name, by=agent.owner, what=what, task=task, began=hub.tick, **facts)
        self.calls.append(call)
        try:
            call.result = do(call)
        except RkError as cause:
            call.answer = None if cause.kind == "broken" else cause.code
            hub.tell(f"{agent.name}: {what} {task} {_token(call)}-> {cause.code}")
        else:
            call.answer = OK
            hub.tell(f"{agent.name}: {what} {call.task} {_token(call)}-> {'changed' if call.changed else 'ok'}")
        call.ended = hub.tick
        return call


def _token(call: Call) -> str:
    return f"(token {call.token}) " if call.token else ""
