"""What a person says of a task: `note`, `hold`, `answer`, `open`, `retry`, `reopen`, `cancel`, `evict`."""

from __future__ import annotations

from repokernel.cli import context
from repokernel.cli.screen import line
from repokernel.cli.spec import OP_ID, ROLE, Call, Command, Opt, Result
from repokernel.core.errors import error
from repokernel.ops import steer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from repokernel.core.ids import TaskId
    from repokernel.ops.log import Applied
    from repokernel.ports.world import World

_REASON = Opt("--reason", "TEXT", "why")
_SHARED = (ROLE, OP_ID)


def _reason(call: Call) -> str:
    reason = call.one("--reason")
    if reason is None:
        raise error("bad_usage", f"rk {call.command.name} needs --reason", hint=f"rk {call.command.name} --help")
    return reason


def _simple(
    operate: Callable[[World, TaskId, str, Call], Applied], outcome: str, says: str
) -> Callable[[Call], Result]:
    def run(call: Call) -> Result:
        applied = operate(context.world(call), context.task(call), context.who(call), call)
        entry = applied.entry
        same = "" if applied.changed else " (nothing to change)"
        text = line(says.format(id=entry["id"], status=entry["status"])) + same
        return context.told(entry, outcome if applied.changed else "unchanged", text)

    return run


def _evict(call: Call) -> Result:
    freed = steer.evict(context.world(call), call.args[0], context.who(call), _reason(call))
    names = ", ".join(entry["id"] for entry in freed) or "nothing"
    return Result({"outcome": "evicted" if freed else "unchanged", "tasks": freed}, lambda: f"freed {names}")


def _one(
    name: str,
    run: Callable[[Call], Result],
    about: str,
    example: str,
    *,
    args: str = "ID",
    count: int = 1,
    opts: tuple[Opt, ...] = (),
) -> Command:
    return Command(name, run, args=args, count=(count, count), opts=(*opts, *_SHARED), about=about, examples=[example])


commands = {
    "note": _one(
        "note",
        _simple(lambda w, t, by, c: steer.note(w, t, by, c.args[1], context.op_id(c)), "noted", "noted on {id}"),
        "Adds a remark, which the next worker reads. Nobody's hold ends by it; your own lease starts anew.",
        "rk note topic-7 'the second source is wrong'",
        args="ID TEXT",
        count=2,
    ),
    "hold": _one(
        "hold",
        _simple(lambda w, t, by, c: steer.hold(w, t, by, _reason(c), context.op_id(c)), "held", "{id} is on hold"),
        "Keeps a task from being claimed. A worker in mid-work loses nothing.",
        "rk hold topic-7 --reason 'waiting for the new data'",
        opts=(_REASON,),
    ),
    "unhold": _one(
        "unhold",
        _simple(lambda w, t, by, c: steer.unhold(w, t, by, context.op_id(c)), "unheld", "{id} is no longer on hold"),
        "Takes a hold back.",
        "rk unhold topic-7",
    ),
    "answer": _one(
        "answer",
        _simple(
            lambda w, t, by, c: steer.answer(w, t, by, c.args[1], context.op_id(c)),
            "answered",
            "{id} is {status} again",
        ),
        "Answers a question that a worker asked; question and answer stay among the notes.",
        "rk answer topic-7 'the second edition'",
        args="ID TEXT",
        count=2,
    ),
    "open": _one(
        "open",
        _simple(lambda w, t, by, c: steer.open_planned(w, t, by, context.op_id(c)), "opened", "{id} is {status}"),
        "Offers a task that was added with --planned.",
        "rk open topic-7",
    ),
    "retry": _one(
        "retry",
        _simple(lambda w, t, by, c: steer.retry(w, t, by, context.op_id(c)), "retried", "{id} is {status}"),
        "Clears a task's back-off and halt. A task that has failed gets one more attempt.",
        "rk retry topic-7",
    ),
    "reopen": _one(
        "reopen",
        _simple(lambda w, t, by, c: steer.reopen(w, t, by, context.op_id(c)), "reopened", "{id} is {status} again"),
        "Starts a settled task anew, in the next epoch: output and verdicts are of the past, attempts count anew.",
        "rk reopen topic-7",
    ),
    "cancel": _one(
        "cancel",
        _simple(
            lambda w, t, by, c: steer.cancel(w, t, by, c.one("--reason") or "", context.op_id(c)),
            "cancelled",
            "{id} is {status}",
        ),
        "Ends an open task. Whoever holds it loses it: their next write is refused with lease_lost.",
        "rk cancel topic-7 --reason 'out of scope'",
        opts=(_REASON,),
    ),
    "evict": _one(
        "evict",
        _evict,
        "Frees what an owner holds, or a whole deployment that was replaced. Their tokens end at once.",
        "rk evict '#blue' --reason 'rolled back'",
        args="OWNER | '#DEPLOYMENT'",
        opts=(_REASON,),
    ),
}
