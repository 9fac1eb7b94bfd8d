"""Whether what happened in a schedule may happen: every answer against the log, and the log against the rules."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tests.sim.calls import OK
from tests.sim.truth import ENDS_TOKEN, SETTLED, Fact, all_over, chain_problems, needs_of

if TYPE_CHECKING:
    from tests.sim.calls import Call
    from tests.sim.truth import State

_NEVER = 1 << 60
# what a refusal says, of some instant between question and answer
_SAID: "Mapping[str, Callable[[State], object]]" = {
    "held": lambda state: state["owner"],
    "settled": lambda state: state["status"] in SETTLED,
    "on_hold": lambda state: state["hold"],
    "not_open": lambda state: state["status"] == "planned",
    "needs_person": lambda state: state["halt"] and not state["owner"],
    "backing_off": lambda state: state["not_before"],
    "attempts_exhausted": lambda state: state["attempts"] >= state["max_attempts"],
    "waiting": lambda state: state["depends_on"] or state["review_of"],
    "not_ready": lambda state: state["depends_on"] or state["review_of"],
    "wrong_phase": lambda state: state["owner"],
    "not_claimed": lambda state: not state["owner"],
}
_ENDING = {"done": ("done",), "fail": ("fail",), "release": ("release",), "ask": ("ask",)}


class Judge:
    """The log of one schedule, sorted by task, and the calls that were made.

    Attributes:
        problems: what must not be, a line each.
    """

    def __init__(
        self, facts: Sequence[Fact], calls: "Sequence[Call]", *, stale: bool, gone: "Callable[[State, Call], bool]"
    ) -> None:
        self.facts = facts
        self.calls = calls
        self.stale = stale
        self.gone = gone
        self.by_task: dict[str, list[Fact]] = {}
        self.by_op: dict[str, Fact] = {}
        for fact in facts:
            self.by_task.setdefault(fact.task, []).append(fact)
        self.problems = [line for records in self.by_task.values() for line in chain_problems(records)]
        applied: dict[tuple[str, str], Fact] = {}
        for fact in facts:
            self.by_op[fact.op_id] = fact
            again = applied.setdefault((fact.task, fact.op_id), fact) is not fact
            if again and fact.event != "claim":  # a claim that is repeated after its lease has lapsed is a new one
                self.problems.append(f"{fact.task}.{fact.seq}: {fact.event} by {fact.op_id} was applied before")
        self._won: dict[tuple[str, int], Call] = {}
        for call in calls:
            problem = self._look(call)
            if problem:
                said = f"{call.agent}: {call.what} {call.task} token {call.token} -> {call.answer}"
                self.problems.append(f"{said}: {problem}")

    def _look(self, call: "Call") -> str:
        if call.answer is None:
            return ""
        said = _SAID.get(call.answer) if call.task in self.by_task else None
        if said is not None and not any(map(said, self._meanwhile(call))):
            return f"that was so at no time from {call.began} to {call.ended}"
        if call.what in ("claim", "claim_next"):
            return self._claimed(call)
        if call.what == "renew":
            return self._renewed(call)
        if call.what in _ENDING:
            return self._ended(call)
        if call.what == "show":
            return self._shown(call)
        return self._steered(call)

    def _claimed(self, call: "Call") -> str:
        if call.answer == "drained":
            return "" if self.stale or self._was_over(call) else "there was always something left to claim"
        if call.answer != OK:
            return self._left_no_trace(call)
        made = [one for one in self.by_task[call.task] if one.event == "claim" and one.state["token"] == call.token]
        if len(made) != 1 or made[0].tick > call.ended:
            return f"there are {len(made)} such claims in the log"
        if made[0].by != call.by:
            return f"it was {made[0].by} who claimed it"
        if call.changed:
            other = self._won.setdefault((call.task, call.token), call)
            if other is not call:
                return f"{other.agent} was told the same"
        return self._unfair(call, made[0])

    def _unfair(self, call: "Call", made: Fact) -> str:
        """Why the task wasn't to be had: something it needs was not so, or its claimant reviews their own work."""
        for needed, when in needs_of(made.state):
            seen = {state["status"] for state in self._meanwhile(call, needed)}
            if call.changed and not seen & ({*SETTLED} if when == "settled" else {when}):
                return f"it needs {needed} to be {when}, and that was {', '.join(seen)}"
        work = self.by_task.get(made.state["review_of"], [])
        if any(one.event == "claim" and one.by == call.by and one.tick <= call.began for one in work):
            return "its claimant has worked on what is to be reviewed"
        return ""

    def _end_of(self, task: str, token: int) -> Fact | None:
        after = [one for one in self.by_task.get(task, []) if one.event in ENDS_TOKEN]
        claims = [one.seq for one in after if one.event == "claim" and one.state["token"] == token]
        return next((one for one in after if claims and one.seq > claims[0]), None)

    def _renewed(self, call: "Call") -> str:
        end = self._end_of(call.task, call.token)
        tick = end.tick if end else _NEVER
        if call.answer == OK:
            return (
                "" if tick > call.beat else f"the token had ended before the beat was written, by {end and end.event}"
            )
        return "" if call.answer != "lease_lost" or tick <= call.ended else "the token is still current"

    def _ended(self, call: "Call") -> str:
        end = self._end_of(call.task, call.token)
        if call.answer == OK:
            if end is None or end.event not in _ENDING[call.what] or end.tick > call.ended:
                return f"the token was ended by {end and end.event}"
            return ""
        late = end is not None and end.tick <= call.ended
        return "" if call.answer != "lease_lost" or late else "the token is still current"

    def _shown(self, call: "Call") -> str:
        published = [one.seq for one in self.by_task.get(call.task, []) if one.tick <= call.began]
        known = max(published, default=0)
        return "" if call.seq >= known else f"record {known} was there before, and {call.seq} was read"

    def _steered(self, call: "Call") -> str:
        if call.answer != OK:
            return self._left_no_trace(call)
        if call.changed and call.op_id not in self.by_op:
            return "its record is not in the log"
        return ""

    def _left_no_trace(self, call: "Call") -> str:
        """A refused operation wrote nothing; an earlier try of the same, with an unknown outcome, may have."""
        wrote = self.by_op.get(call.op_id) if call.op_id else None
        if wrote is None or wrote.event == "exhaust":
            return ""
        unknown = [one for one in self.calls if one.op_id == call.op_id and one is not call and one.answer is None]
        return "" if unknown or call.answer == "id_taken" else f"it was refused, and wrote {wrote.task}.{wrote.seq}"

    def _meanwhile(self, call: "Call", task: str = "") -> "list[State]":
        """The states of the call's task, or of another one, from question to answer."""
        records = self.by_task[task or call.task]
        before = [one.state for one in records if one.tick <= call.began]
        return before[-1:] + [one.state for one in records if call.began < one.tick <= call.ended]

    def _was_over(self, call: "Call") -> bool:
        tasks: dict[str, State] = {}

        def gone(state: "State") -> bool:
            return self.gone(state, call)

        for fact in self.facts:
            if fact.tick > call.began and all_over(tasks, gone):
                return True
            if fact.tick > call.ended:
                return False
            tasks[fact.task] = fact.state
        return all_over(tasks, gone)
