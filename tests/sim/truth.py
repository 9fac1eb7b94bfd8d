"""What is true of a board, read from its log alone; shares no code with the product."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sim.engine import Published

State = Mapping[str, Any]
DEFAULTS: State = {
    "token": 0, "epoch": 0, "attempts": 0, "max_attempts": 3, "owner": None, "hold": None, "halt": None,
    "depends_on": [], "review_of": None, "not_before": None, "lease_expires": None, "output": None,
    "expects": "output",
}  # fmt: skip
SETTLED = ("done", "failed", "cancelled")
ENDS_TOKEN = {"done", "fail", "release", "ask", "evict", "cancel", "exhaust", "retry", "claim"}
_CARRIED = {"done", "fail", "release", "ask"}
_REMARKS = {"hold", "unhold", "note"}
_GIVES_BACK = {"release", "ask"}


class Fact:
    """One record as anybody can read it."""

    __slots__ = ("by", "event", "linked", "op_id", "seq", "state", "task", "tick")

    def __init__(self, published: "Published", prior: "Published | None") -> None:
        envelope = json.loads(published.data)
        self.tick = published.tick
        self.seq = published.seq
        self.event: str = envelope["event"]
        self.op_id: str = envelope["op_id"]
        self.by: str = envelope["by"]
        self.state: State = {**DEFAULTS, **envelope["state"]}
        self.task: str = self.state["id"]
        self.linked = envelope["seq"] == published.seq and envelope["prev"] == (
            hashlib.sha256(prior.data).hexdigest() if prior else None
        )


def facts_of(log: "Sequence[Published]") -> list[Fact]:
    """All records in the order of their publication."""
    newest: dict[str, Published] = {}
    facts = []
    for one in log:
        facts.append(Fact(one, newest.get(one.key)))
        newest[one.key] = one
    return facts


def chain_problems(records: Sequence[Fact]) -> list[str]:
    """What is wrong in the log of one task: its links, token, owner, attempts, epoch."""
    problems = []
    prior: State | None = None
    for place, one in enumerate(records):
        where = f"{one.task}.{one.seq} ({one.event})"
        if one.seq != place + 1 or not one.linked:
            problems.append(f"{where} doesn't link to the record before it")
        if prior is not None:
            problems += [f"{where}: {what}" for what in _step_problems(prior, one)]
        if one.state["attempts"] > one.state["max_attempts"]:
            problems.append(f"{where}: {one.state['attempts']} attempts of {one.state['max_attempts']}")
        prior = one.state
    return problems


def _step_problems(prior: State, one: Fact) -> list[str]:
    after, event = one.state, one.event
    attempts = prior["attempts"]
    if event == "claim":
        attempts += 1
    elif event in _GIVES_BACK or (event == "fail" and after["last_error"]["code"] in ("environment", "agent_limited")):
        attempts -= 1
    elif event == "reopen":
        attempts = 0
    ended = event in ENDS_TOKEN or event == "reopen"
    expected = {
        "token": prior["token"] + (event == "claim"),
        "epoch": prior["epoch"] + (event in ("reopen", "cancel")),
        "attempts": attempts,
        "owner": one.by if event == "claim" else None if ended else prior["owner"],
    }
    problems = [f"{name} is {after[name]!r}, not {value!r}" for name, value in expected.items() if after[name] != value]
    return problems + [what for what, so in _wrong(prior, one, attempts).items() if so]


def _wrong(prior: State, one: Fact, attempts: int) -> dict[str, Any]:
    """What must not be, with whether it is so."""
    after, event = one.state, one.event
    return {
        "ends a token that had ended": event in _CARRIED and prior["owner"] is None,
        "claimed while on hold": event == "claim" and prior["hold"],
        "claimed while settled or planned": event == "claim" and prior["status"] not in ("pending", "in_progress"),
        "done with nothing behind it": event == "done" and after["expects"] != "none" and after["output"] is None,
        "the lease was changed": event in _REMARKS and after["lease_expires"] != prior["lease_expires"],
        "still halted": event in ("answer", "claim", "retry", "reopen", "cancel", "done") and after["halt"],
        "failed with attempts left": event == "fail"
        and after["status"] == "failed"
        and attempts < prior["max_attempts"],
    }


def needs_of(state: State) -> list[tuple[str, str]]:
    """The (task, status) pairs that must hold before a task may be claimed; `settled` is any end."""
    needs = [(one, "done") if isinstance(one, str) else (one["id"], one["when"]) for one in state["depends_on"]]
    return [*needs, (state["review_of"], "done")] if state["review_of"] else needs


def waits_for(task: str, tasks: Mapping[str, State], usable: Mapping[str, bool]) -> str:
    """What an unsettled task waits for: `worker`, `person`, or `never`."""
    state = tasks[task]
    found = {"worker"}
    if state["status"] == "planned" or state["hold"] or (state["halt"] and not state["owner"]):
        found.add("person")
    for needed, when in needs_of(state):
        status = tasks[needed]["status"]
        if status not in SETTLED:
            found.add(waits_for(needed, tasks, usable))
        elif status == "done" and when == "done" and not usable.get(needed, True):
            found.add("person")
        elif when not in ("settled", status):
            found.add("never")
    return "never" if "never" in found else "person" if "person" in found else "worker"


def all_over(tasks: Mapping[str, State], gone: Callable[[State], bool]) -> bool:
    """Whether nothing will ever be claimable again, unless somebody revives a settled task.

    `gone` says of a task with an owner whether that one may be taken for gone.
    """
    return all(
        state["status"] in SETTLED or ((not state["owner"] or gone(state)) and waits_for(name, tasks, {}) == "never")
        for name, state in tasks.items()
    )
