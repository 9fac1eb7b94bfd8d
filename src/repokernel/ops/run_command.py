"""Have one claimed task done by a program: hand over, supervise, take the outcome.

The program's exit status is a claim, not a result: it is `done` only with an output that is there.
"""

from __future__ import annotations

from repokernel.core import jsontext
from repokernel.core.entry import VERDICTS, is_code
from repokernel.core.errors import RkError, UsageError
from repokernel.core.ids import TaskId, fold
from repokernel.core.owner import parse_owner
from repokernel.ops import carry, steer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NamedTuple

    from repokernel.ops.hold_on import Hold
    from repokernel.ports.system import Child, Handover, Programs, Workshop
    from repokernel.ports.world import World

    class Shop(NamedTuple):
        """What it takes to run a program for a task."""

        programs: Programs
        workshop: Workshop
        env: Mapping[str, str]
        out_to_err: bool

    class Told(NamedTuple):
        """What a program said came of its task; empty where it said nothing."""

        output: str | None
        verdict: str | None
        code: str
        detail: str
        note: str
else:
    from collections import namedtuple

    Shop = namedtuple("Shop", "programs workshop env out_to_err")
    Told = namedtuple("Told", "output verdict code detail note")

_GRACE_S = 5.0
_TICK_S = 0.2


def run_command(world: World, hold: Hold, argv: Sequence[str], shop: Shop) -> str:
    """The outcome of one task: `done`, `failed`, `lost` or `released`."""
    entry = hold.entry
    owner = parse_owner(entry["owner"] or "")
    assert owner is not None, entry["owner"]
    handover = shop.workshop.handover()
    try:
        place = world.outputs.place(fold(TaskId(entry["id"])), entry["token"])
        env = {
            **shop.env,
            **handover.give(entry, place),
            "RK_TASK": entry["id"],
            "RK_TOKEN": str(entry["token"]),
            "RK_BOARD": world.store.url,
            "RK_ROLE": owner.role,
            "RK_INSTANCE": owner.instance,
            "RK_DEPLOYMENT": owner.deployment,
        }
        status = _supervise(hold, shop.programs.start(argv, env, out_to_err=shop.out_to_err))
        if status is None:
            return "lost"
        return _settle(world, hold, _told(handover, status))
    except RkError as cause:
        if cause.kind == "refused":  # lost, ended by the program itself, or changed by a newer version
            return carry.outcome_of(world, TaskId(entry["id"]), entry["token"])
        if cause.code == "command_failed":
            _give_back(world, hold)
        raise
    except BaseException:
        _give_back(world, hold)
        raise
    finally:
        handover.close()


def _give_back(world: World, hold: Hold) -> None:
    """We were interrupted: the task is nobody's fault and claimable at once."""
    entry = hold.entry
    try:
        carry.release(world, TaskId(entry["id"]), entry["owner"] or "", entry["token"])
    except RkError:  # it was lost before, or the store is gone: the lease will lapse
        return


def _supervise(hold: Hold, child: Child) -> int | None:
    """The exit status, or None if the lease was lost and the program stopped."""
    try:
        while True:
            status = child.wait(_TICK_S if hold.lost else min(hold.wait_s(), _TICK_S))
            if status is not None:
                return status
            # a program that has said itself what came of its task may go on to its end
            if hold.lost is None and not hold.keep() and hold.outcome() == "lost":
                child.stop(0)
                return None
    except BaseException:
        child.stop(_GRACE_S)
        raise


def _told(handover: Handover, status: int) -> Told:
    data = handover.result()
    said: object = {}
    if data is not None:
        try:
            said = jsontext.parse(data)
        except ValueError as cause:
            return Told(None, None, "bad_result", f"the result file: {cause}", "")
    told = _read_result(said)
    if told.code or status == 0:
        return told if told.output or told.code else told._replace(output=handover.produced())
    code = f"exit_{status}" if status > 0 else f"signal_{-status}"
    return told._replace(code=code, detail=told.detail or f"the program ended with {code.replace('_', ' ')}")


def _read_result(said: object) -> Told:
    """The checked content of a result file: {output, verdict, error: {code, detail}, note}."""
    if not isinstance(said, dict):
        return Told(None, None, "bad_result", "the result file is not an object", "")
    output, verdict, note = said.get("output"), said.get("verdict"), said.get("note", "")
    failure = said.get("error") or {}
    wrong = [key for key in said if key not in ("output", "verdict", "error", "note")]
    if not isinstance(output, str | None) or not isinstance(note, str) or not isinstance(failure, dict):
        wrong.append("output, note or error")
    if verdict is not None and verdict not in VERDICTS:
        wrong.append("verdict")
    code, detail = (failure.get("code", ""), failure.get("detail", "")) if isinstance(failure, dict) else ("", "")
    if failure and (not is_code(code) or not isinstance(detail, str)):
        wrong.append("error.code")
    if wrong:
        return Told(None, None, "bad_result", f"the result file has a bad {wrong[0]!r:.80}", "")
    return Told(output, verdict, code, detail, note)


def _settle(world: World, hold: Hold, told: Told) -> str:
    entry = hold.entry
    task, by, token = TaskId(entry["id"]), entry["owner"] or "", entry["token"]
    if told.note:
        try:
            steer.note(world, task, by, told.note)
        except UsageError as cause:
            return _failed(world, hold, "bad_result", cause.message)
    if told.code:
        return _failed(world, hold, told.code, told.detail)
    try:
        carry.done(world, task, by, token, told.output, told.verdict)
    except RkError as cause:
        if cause.code == "lease_lost" or cause.kind == "broken":
            raise
        return _failed(world, hold, cause.code, cause.message)
    return "done"


def _failed(world: World, hold: Hold, code: str, detail: str) -> str:
    entry = hold.entry
    detail = "".join(ch if ch.isprintable() or ch == "\n" else "?" for ch in detail)[:4000]
    carry.fail(world, TaskId(entry["id"]), entry["owner"] or "", entry["token"], code, detail)
    return "failed"
