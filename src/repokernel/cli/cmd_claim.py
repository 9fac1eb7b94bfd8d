"""`rk claim`."""

from __future__ import annotations

from repokernel.cli import context
from repokernel.cli.screen import line, local
from repokernel.cli.spec import LEASE, OP_ID, OWNER_PID, ROLE, Call, Command, Opt, Result
from repokernel.core.errors import RkError, error
from repokernel.core.times import parse_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from repokernel.core.entry import Entry
    from repokernel.ops.log import Applied
    from repokernel.ports.world import World


def _claim(call: Call) -> Result:
    if bool(call.args) == call.flag("--next"):
        raise error("bad_usage", "rk claim takes a task's id or --next, one of them", hint="rk claim --next")
    world, by = context.world(call), context.who(call)
    lease_ms = call.duration_ms("--lease") or world.settings.lease_manual_ms
    op_id = context.op_id(call)

    def attempt() -> Applied:
        if call.args:
            from repokernel.ops.claim import claim

            return claim(world, context.task(call), by, lease_ms, op_id)
        from repokernel.ops.claim import claim_next
        from repokernel.ops.log import Applied

        return Applied(claim_next(world, by, lease_ms, wants=_wants(call), op_id=op_id), changed=True)

    applied = _waited(world, attempt, call) if call.flag("--wait") else attempt()
    entry = applied.entry
    return context.told(entry, "claimed" if applied.changed else "already_held", _says(applied))


def _says(applied: Applied) -> str:
    entry = applied.entry
    until = local(entry["lease_expires"])
    if applied.changed:
        return f"{entry['id']} is yours until {until}: {line(entry['title'])}\ntoken {entry['token']}"
    return (
        f"{entry['id']} was yours already, until {until}: {line(entry['title'])}\ntoken {entry['token']}\n"
        f"hint: if it was another worker of yours, give each a name: RK_INSTANCE or --role"
    )


def _wants(call: Call) -> Callable[[Entry], bool]:
    epic, labels = call.one("--epic"), set(call.many("--label"))
    return lambda entry: (epic is None or entry["epic"] == epic) and labels <= set(entry["labels"])


def _waited(world: World, attempt: Callable[[], Applied], call: Call) -> Applied:
    """Try again each time the board changes, until it succeeds, can't any more, or the time is over."""
    from repokernel.ops.work import nap

    text = call.one("--wait")
    ends_ms: int | None = None
    if text:
        try:
            ends_ms = world.system.monotonic_ms() + parse_duration(text)
        except ValueError as cause:
            raise error("bad_value", f"--wait {text!r:.80} is {cause}", field="wait") from None
    while True:
        cursor = world.store.wait(None, 0)
        try:
            return attempt()
        except RkError as cause:
            over = ends_ms is not None and world.system.monotonic_ms() >= ends_ms
            if cause.kind != "busy" or over:
                raise
            nap(world, cursor, cause, ends_ms)


commands = {
    "claim": Command(
        "claim",
        _claim,
        args="ID | --next",
        count=(0, 1),
        opts=(
            Opt("--next", "", "the best task that is ready: lowest priority number, then age"),
            LEASE,
            Opt("--wait", "[=TIME]", "wait until there is one, at most TIME", bare=True),
            Opt("--epic", "ID", "with --next: only of this epic"),
            Opt("--label", "TEXT", "with --next: only with this label", many=True),
            ROLE,
            OWNER_PID,
            OP_ID,
        ),
        about=(
            "Makes you the owner of a task by one conditional write: of all who try at once, one succeeds.\n"
            "The others exit with 75 and learn who holds it and until when. --next exits with 75 while nothing is\n"
            "claimable yet, and with 69 once nothing ever will be. --json returns the token; give it to later\n"
            "calls with --token or RK_TOKEN. Claiming what you hold returns it. Several agents under one login\n"
            "need a name each: set RK_INSTANCE, or give each a --role."
        ),
        examples=["rk claim topic-7", "rk claim --next --role writer --lease 10m --json", "rk claim --next --wait=5m"],
    )
}
