"""`rk verify`."""

from __future__ import annotations

from repokernel.cli import context
from repokernel.cli.screen import line
from repokernel.cli.spec import Call, Command, Opt, Result
from repokernel.core.ids import task_id
from repokernel.core.output import Depth
from repokernel.core.phase import Phase
from repokernel.ops.query import EVERYTHING, list_tasks
from repokernel.ops.verify import verify


def _verify(call: Call) -> Result:
    depth = call.choice("--depth", list(Depth))
    world = context.world(call)
    named = [task_id(name) for name in call.args]
    faults: list[dict[str, object]] = []
    if not named:
        listing = list_tasks(world, EVERYTHING._replace(status=frozenset({Phase.DONE})))
        named, faults = [task_id(row.entry["id"]) for row in listing.rows], listing.faults
    found = verify(world, named, Depth(depth or world.settings.verify_depth))
    findings = faults + [
        {
            "id": one.id,
            "code": one.problem.code,
            "detail": one.problem.detail,
            "uri": one.entry["output"]["uri"] if one.entry and one.entry["output"] else None,
        }
        for one in found
        if one.problem is not None
    ]
    usable = [one.id for one in found if one.problem is None]

    def text() -> str:
        lines = [f"unusable: {line(str(one['id']))}: {line(str(one['detail']))}" for one in findings]
        return "\n".join([*lines, f"{len(usable)} of {len(found) + len(faults)} usable"])

    outcome = "findings" if findings else "verified"
    return Result({"outcome": outcome, "usable": usable, "findings": findings}, text, 1 if findings else 0)


commands = {
    "verify": Command(
        "verify",
        _verify,
        args="[ID…]",
        count=(0, 100_000),
        opts=(Opt("--depth", "D", "exists, size (default) or sha256"),),
        about=(
            "Checks that tasks are done and their outputs are there and are what was recorded; without ids all that\n"
            "is done. Exits with 1 and names each task and URI that isn't usable. A verified output is there and\n"
            "unchanged; whether it is good is for a review task to say."
        ),
        examples=["rk verify", "rk verify topic-7 topic-8 --depth sha256"],
    )
}
