"""Whether a history of overlapping operations could have come from doing them one at a time.

An own checker after Wing and Gong, with Lowe's just-in-time linearization: a history is read as a row of
invocations and returns, and an operation is only given its place when some operation has to have had one,
that is when it returns. What is remembered is each pair of (open operations that have their place, state
of the model) that is still possible; a history is wrong once none is left.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

State = TypeVar("State", bound=Hashable)

TOLD_MAX = 12  # how many operations before the trouble a report shows


@dataclass(frozen=True, kw_only=True, slots=True)
class Op:
    """One operation as its process saw it.

    Attributes:
        part: what it was done to; histories are judged part by part.
        process: who did it.
        invoked: when it was called, in milliseconds.
        returned: when it was answered; None: it never was, so it may take effect at any later time or never.
        call: what was asked for.
        answer: what came back; None if nothing did.
    """

    part: str
    process: int
    invoked: float
    returned: float | None
    call: Any
    answer: Any

    def __str__(self) -> str:
        """One line for people."""
        until = "       ..." if self.returned is None else f"{self.returned:10.3f}"
        return f"[{self.invoked:10.3f} {until}] p{self.process} {self.call} -> {self.answer}"


class Model(Protocol[State]):
    """What one part does when its operations come one at a time."""

    @property
    def initial(self) -> State:
        """The state before the first operation."""

    def step(self, state: State, op: Op) -> Iterable[State]:
        """The states that `op` can have led to from `state` with the answer that it got; none: impossible.

        For an operation that was never answered: the states that it would lead to.
        """

    def reads(self, op: Op) -> bool:
        """Whether `op`, by the answer that it got, can't itself have changed anything, in whatever state."""

    def tell(self, state: State) -> str:
        """A state as one short line."""


class Problem(NamedTuple):
    """A part whose operations have no order that explains their answers."""

    part: str
    placed: list[Op]  # the longest row of operations that can be explained
    left: list[Op]  # the operations that can't come next
    state: str  # what the part was after the row

    def __str__(self) -> str:
        """A report of a few lines."""
        lines = [f"{self.part}: no order explains these answers; {len(self.placed)} can be placed, the last of them:"]
        lines += [f"    {op}" for op in self.placed[-TOLD_MAX:]]
        lines += [f"  after which it is {self.state}", "  and none of these can come next:"]
        return "\n".join(lines + [f"    {op}" for op in self.left])


_Path = tuple["_Path", Op] | None
_Config = tuple[int, State]  # the open operations that have their place, as bits; the state that they led to


@dataclass(slots=True)
class _Search(Generic[State]):
    """The walk over one part's history."""

    model: Model[State]
    open: dict[int, Op] = field(default_factory=dict)  # by bit
    configs: dict[tuple[int, State], Any] = field(default_factory=dict)  # with the row that led there

    def settle(self, mask: int, state: State, path: Any) -> tuple[int, Any]:
        """All open operations that fit here and change nothing get their place at once.

        That loses nothing: wherever such an operation could come later, it could come here as well.
        """
        for bit, op in self.open.items():
            if not mask & bit and self.model.reads(op) and state in self.model.step(state, op):
                mask, path = mask | bit, (path, op)
        return mask, path

    def close(self, wanted: int) -> list[tuple[int, State, Any]]:
        """Keep what is possible with the open operation `wanted` in its place; if nothing is: all that was tried."""
        kept: dict[tuple[int, State], Any] = {}
        seen: set[tuple[int, State]] = set()
        tried: list[tuple[int, State, Any]] = []
        stack = [(mask, state, path) for (mask, state), path in self.configs.items()]
        while stack:
            mask, state, path = stack.pop()
            mask, path = self.settle(mask, state, path)
            if (mask, state) in seen:
                continue
            seen.add((mask, state))
            if mask & wanted:
                kept.setdefault((mask ^ wanted, state), path)
                continue
            tried.append((mask, state, path))
            for bit, op in self.open.items():
                if not mask & bit:
                    stack += [
                        (mask | bit, after, (path, op))
                        for after in self.model.step(state, op)
                        if after != state or op.returned is not None
                    ]
        if not kept:
            return tried
        del self.open[wanted]
        self.configs = self.sparing(kept)
        return []

    def sparing(self, kept: dict[tuple[int, State], Any]) -> dict[tuple[int, State], Any]:
        """Only what needs the fewest of the operations that were never answered: those left may come at any time."""
        silent = sum(bit for bit, op in self.open.items() if op.returned is None)
        if not silent:
            return kept
        found: dict[tuple[int, State], list[int]] = {}
        spared = {}
        for mask, state in sorted(kept, key=lambda one: (one[0] & silent).bit_count()):
            fewer = found.setdefault((mask & ~silent, state), [])
            if not any(used & mask == used for used in fewer):
                fewer.append(mask & silent)
                spared[mask, state] = kept[mask, state]
        return spared


def _events(operations: Sequence[Op]) -> list[tuple[float, int, int]]:
    """(when, 0 for an invocation or 1 for a return, number of the operation); what touches overlaps."""
    events = [(op.invoked, 0, number) for number, op in enumerate(operations)]
    events += [(op.returned, 1, number) for number, op in enumerate(operations) if op.returned is not None]
    return sorted(events)


def _row(path: Any) -> list[Op]:
    placed = []
    while path is not None:
        path, op = path
        placed.append(op)
    return placed[::-1]


def judge(operations: Sequence[Op], model: Model[State]) -> Problem | None:
    """What is wrong with the history of one part, or None."""
    search = _Search(model)
    search.configs[0, model.initial] = None
    free: list[int] = []
    bits: dict[int, int] = {}
    for _, is_return, number in _events(operations):
        if not is_return:
            bits[number] = free.pop() if free else 1 << len(bits)
            search.open[bits[number]] = operations[number]
            continue
        tried = search.close(bits[number])
        if tried:
            rows = [(_row(path), mask, state) for mask, state, path in tried]
            placed, mask, state = max(rows, key=lambda one: len(one[0]))
            left = [op for bit, op in search.open.items() if not mask & bit]
            return Problem(operations[number].part, placed, left, model.tell(state))
        free.append(bits.pop(number))
    return None


def check(history: Iterable[Op], model_of: Callable[[Sequence[Op]], Model[State]]) -> list[Problem]:
    """What is wrong with a history, part by part; empty if it is linearizable.

    Args:
        history: operations in any order.
        model_of: from the operations of one part to the model that judges them.
    """
    parts: dict[str, list[Op]] = {}
    for op in history:
        parts.setdefault(op.part, []).append(op)
    problems = [judge(operations, model_of(operations)) for _, operations in sorted(parts.items())]
    return [problem for problem in problems if problem is not None]
