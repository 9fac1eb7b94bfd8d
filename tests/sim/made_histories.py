"""Histories that are right because the specification itself has made them, and ways to make them wrong."""

import random
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.sim.linear import Op
from tests.sim.task_model import TaskModel
from tests.sim.task_words import ABSENT, Answer, Call, Task, saw

if TYPE_CHECKING:
    from collections.abc import Callable

PEOPLE = ("ann", "ben", "cyd")
GAP_MS = 0.5, 8.0
LEASE_MS = 20.0
WHAT = {
    "claim": 24, "claim_next": 4, "renew": 9, "done": 7, "fail": 9, "release": 6, "ask": 5, "answer": 5, "note": 6,
    "hold": 2, "unhold": 6, "cancel": 2, "reopen": 8, "retry": 4, "evict": 2, "show": 7, "add": 1, "sweep": 2,
}  # fmt: skip
ENDS = ("done", "fail", "release", "ask")
NAMED = ("note", "hold", "cancel", "reopen", "retry")
_CODES = ("too_hard", "environment")
# refusals that the operation never gives
_ALIEN = {"claim": "lease_lost", "show": "held", "note": "settled", "done": "held", "reopen": "on_hold", "hold": "held"}


class Made(NamedTuple):
    """An operation of a history that was made one by one, with every answer that it could have got."""

    op: Op
    codes: frozenset[str | None]


def _call(draw: random.Random, what: str, task: Task, said: list[Call]) -> Call:
    by = draw.choice(PEOPLE)
    if said and draw.random() < 0.08:
        return draw.choice(said)
    call = Call(what=what, by=by, name=f"op{draw.randrange(9)}" if what in NAMED and draw.random() < 0.3 else "")
    if what in ("claim", "claim_next"):
        return call._replace(ms=LEASE_MS)
    if what in (*ENDS, "renew"):
        tokenless = what != "renew" and draw.random() < 0.1
        token = None if tokenless else draw.choice((task.token, task.token, max(task.token - 1, 1)))
        text = {"fail": draw.choice(_CODES), "ask": "which?"}.get(what, "")
        return call._replace(token=token, text=text)
    text = {"hold": draw.choice(("stop", "wait")), "evict": draw.choice(PEOPLE)}.get(what, f"says {draw.randrange(99)}")
    return call._replace(text=text if what in ("hold", "evict", "note", "answer", "cancel") else "")


def _answered(draw: random.Random, code: str | None, task: Task, call: Call) -> Answer:
    """An answer that tells some of what is so; a note of the holder always tells whose the task is."""
    if call.what == "sweep" or code in ("nothing", "task_unknown", "id_taken"):
        return Answer(code)
    told = saw(task, seq=call.what == "show")
    if code is not None:
        return Answer(code, tuple(pair for pair in told if pair[0] in ("status", "owner", "token")))
    if call.what == "note":
        return Answer(code, tuple(pair for pair in told if pair[0] in ("owner", "token", "notes")))
    must = ("token",) if call.what.startswith("claim") else ()
    return Answer(code, tuple(pair for pair in told if pair[0] in must or draw.random() < 0.7))


def made_one_by_one(draw: random.Random, count: int, *, sweeps: bool = True) -> list[Made]:
    """A history without overlaps: each operation has its place at one instant."""
    task, now_ms, made = ABSENT, 0.0, list[Made]()
    said: list[Call] = []
    names = [name for name in WHAT if sweeps or name != "sweep"]
    while len(made) < count:
        now_ms += draw.uniform(*GAP_MS)
        what = "add" if not made else draw.choices(names, [WHAT[name] for name in names])[0]
        call = _call(draw, what, task, said)
        op = Op(part="t1", process=PEOPLE.index(call.by), invoked=now_ms, returned=now_ms, call=call, answer=None)
        model = TaskModel([*(one.op for one in made), op], slop_ms=0)
        possible = model.outcomes(task, op)
        if call.what == "sweep":
            possible = [(None, after) for after in model.swept(task, op)] or possible
        if call.what == "claim_next":  # a search that finds nothing is no operation on this task
            possible = [one for one in possible if one[0] is None]
        if not possible:
            continue
        code, task = draw.choice(possible)
        answer = _answered(draw, code, task, call)
        made.append(Made(_with(op, answer=answer), frozenset(one[0] for one in possible)))
        if code is None and (call.name or call.what in ENDS):
            said = [*said[-3:], call]
    return made


def _with(op: Op, **changes: Any) -> Op:
    facts = {name: getattr(op, name) for name in ("part", "process", "invoked", "returned", "call", "answer")}
    return Op(**{**facts, **changes})


def widened(draw: random.Random, history: list[Op], most_ms: float, unanswered: float = 0.0) -> list[Op]:
    """The same history as it might be seen: called earlier, answered later, or never answered."""
    seen = []
    for op in history:
        assert op.returned is not None
        early, late = op.invoked - draw.uniform(0, most_ms), op.returned + draw.uniform(0, most_ms)
        lost = draw.random() < unanswered and op.call.what not in ("sweep", "claim_next")
        seen.append(_with(op, invoked=early, returned=None if lost else late, answer=None if lost else op.answer))
    return seen


def _altered(value: Any, *, grossly: bool) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + (1000 if grossly else 1)
    return (*value, "ghost") if isinstance(value, tuple) else f"{value}?"


def _field_altered(draw: random.Random, made: Made, *, grossly: bool) -> Op | None:
    """The operation with one fact of its answer altered; by so much, if `grossly`, that it never was so."""
    facts = list(made.op.answer.saw) if made.op.answer is not None else []
    places = [n for n, (_, value) in enumerate(facts) if not (grossly and isinstance(value, bool))]
    if not places:
        return None
    place = draw.choice(places)
    facts[place] = facts[place][0], _altered(facts[place][1], grossly=grossly)
    return _with(made.op, answer=Answer(made.op.answer.code, tuple(facts)))


def _code_altered(draw: random.Random, made: Made, *, grossly: bool) -> Op | None:
    """The operation with another code in its answer: one that it couldn't get there, or never gets at all."""
    what = made.op.call.what
    if what == "sweep" or made.op.answer is None:
        return None
    if grossly:
        return _with(made.op, answer=Answer(_ALIEN[what])) if what in _ALIEN else None
    codes = {None, "held", "lease_lost", "settled", "on_hold", "not_claimed", "task_unknown"} - made.codes
    return _with(made.op, answer=Answer(draw.choice(sorted(codes, key=str))))


def corrupted(draw: random.Random, made: list[Made], *, grossly: bool) -> tuple[list[Op], int]:
    """The history with one answer that can't be, and the number of that operation.

    Args:
        draw: chance.
        made: a right history.
        grossly: whether the answer is wrong at whatever instant, so that no overlap explains it.
    """
    alterations: list[Callable[..., Op | None]] = [_field_altered, _code_altered]
    while True:
        place = draw.randrange(len(made))
        op = draw.choice(alterations)(draw, made[place], grossly=grossly)
        if op is not None:
            return [op if n == place else one.op for n, one in enumerate(made)], place
