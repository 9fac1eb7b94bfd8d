"""`rk work`."""

from __future__ import annotations

import signal
import sys

from repokernel import bootstrap
from repokernel.cli import context
from repokernel.cli.screen import line
from repokernel.cli.spec import LEASE, ROLE, Call, Command, Opt, Result
from repokernel.core.errors import error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

    from repokernel.core.entry import Entry
    from repokernel.ops.hold_on import Hold


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _work(call: Call) -> Result:
    from repokernel.ops.run_command import run_command
    from repokernel.ops.work import work

    if not call.rest:
        raise error("bad_usage", "rk work needs a command after --", hint="rk work --role writer -- ./agent.sh")
    world, by = context.world(call, lasting=True), context.who(call, own_process=True)
    shop = bootstrap.shop(call.env, out_to_err=call.flag("--json"))
    quiet = call.flag("--json") or not sys.stderr.isatty()
    signal.signal(signal.SIGTERM, _interrupt)
    epic, labels = call.one("--epic"), set(call.many("--label"))

    def run_one(hold: Hold) -> str:
        entry = hold.entry
        if not quiet:
            sys.stderr.write(line(f"{entry['id']} (attempt {entry['attempts']}): {entry['title']}") + "\n")
        outcome = run_command(world, hold, call.rest, shop)
        if not quiet:
            sys.stderr.write(line(f"{entry['id']}: {outcome}") + "\n")
        return outcome

    def wants(entry: Entry) -> bool:
        return (epic is None or entry["epic"] == epic) and labels <= set(entry["labels"])

    tally = work(
        world,
        by,
        call.duration_ms("--lease") or world.settings.lease_default_ms,
        run_one,
        wants=wants,
        tasks_max=call.whole("--max-tasks", 1, 10**9),
        wait_for_people=call.flag("--wait"),
    )
    counts = {name: len(ids) for name, ids in tally.outcomes.items()}
    said = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing done"
    why = f"; {tally.stopped.message}" if tally.stopped else ""
    document: dict[str, object] = {
        "outcome": tally.stopped.code if tally.stopped else "limit_reached",
        "counts": counts,
    }
    document |= {"ids": tally.outcomes, "stopped": tally.stopped.as_dict() if tally.stopped else None}
    return Result(document, lambda: line(said + why), tally.exit_status)


commands = {
    "work": Command(
        "work",
        _work,
        args="-- COMMAND…",
        opts=(
            LEASE,
            Opt("--max-tasks", "N", "stop after so many tasks"),
            Opt("--epic", "ID", "only of this epic"),
            Opt("--label", "TEXT", "only with this label", many=True),
            Opt("--wait", "", "wait also while all that is left waits for a person"),
            ROLE,
        ),
        about=(
            "The whole worker loop for any program. Claims the next task, runs COMMAND for it, renews the lease\n"
            "while it runs, completes or fails the task by what came of it, and goes on until the board is drained.\n"
            "Start as many as you like. Tasks that own paths are left alone: a program can't complete them.\n"
            "\n"
            "COMMAND finds the task in $RK_TASK and, whole, in the JSON file $RK_TASK_FILE. It writes its output into\n"
            "$RK_OUTPUT_DIR, or names it in the JSON file $RK_RESULT_FILE:\n"
            '  {"output": "PATH"}  or  {"error": {"code": "upload_failed", "detail": "HTTP 503"}}\n'
            '  (also "note": TEXT, and "verdict" for a review task)\n'
            "Its exit status is a claim, not a result: without an output that is there the task isn't done. It runs\n"
            "in a process group of its own, which ends with this process or when the lease is lost.\n"
            "Exits with 0 if all were done, 1 if some failed, 75 if the rest waits for a person."
        ),
        examples=[
            "rk work --role summariser -- python summarise.py",
            'rk work --lease 2m --max-tasks 10 -- sh -c \'my-agent < "$RK_TASK_FILE" > "$RK_OUTPUT_DIR/out.md"\'',
        ],
    )
}
