"""What commands share: opening the board, who is acting, which task and token are meant."""

from __future__ import annotations

from repokernel import bootstrap
from repokernel.cli.spec import Call, Result, whole
from repokernel.core.errors import error
from repokernel.core.ids import TaskId, task_id
from repokernel.ops.log import checked_op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from repokernel.core.entry import Entry
    from repokernel.ports.world import World

TOKEN_MAX = 2**53 - 1


def world(call: Call, *, lasting: bool = False) -> World:
    """The board that the call is about."""
    return bootstrap.open_world(call.one("--board") or call.env.get("RK_BOARD"), call.cwd, lasting=lasting)


def who(call: Call, *, own_process: bool = False) -> str:
    """The owner string of whoever makes the call."""
    role = call.one("--role") if "--role" in call.command.opts else None
    pid = call.whole("--owner-pid", 1, 2**31 - 1) if "--owner-pid" in call.command.opts else None
    return bootstrap.identity(call.env, role=role, owner_pid=pid, own_process=own_process)


def task(call: Call) -> TaskId:
    """The task that the first argument names, else the one that `RK_TASK` does.

    Raises:
        UsageError: `bad_usage`, `bad_value`.
    """
    name = call.args[0] if call.args else call.env.get("RK_TASK")
    if not name:
        raise error("bad_usage", f"rk {call.command.name} needs the id of a task", hint="`rk list` shows the ids")
    return task_id(name)


def token(call: Call, meant: TaskId) -> int | None:
    """The token that was given by option, or by `RK_TOKEN` where that is about the same task.

    Raises:
        UsageError: `bad_value`.
    """
    text, name = call.one("--token"), "--token"
    if text is None and call.env.get("RK_TASK", meant) == meant:
        text, name = call.env.get("RK_TOKEN") or None, "RK_TOKEN"
    # an empty variable is an unset one; an empty --token is a script's mistake, not leave to use the head's
    return None if text is None else whole(text, name, 1, TOKEN_MAX)


def told(entry: Entry, outcome: str, text: str) -> Result:
    """The usual answer: an outcome and the entry after it."""
    return Result({"outcome": outcome, "task": entry}, lambda: text)


def op_id(call: Call) -> str:
    """The name that the operation was given, empty if none.

    Raises:
        UsageError: `bad_value`.
    """
    text = call.one("--op-id")
    return "" if text is None else checked_op(text)
