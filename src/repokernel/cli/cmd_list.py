"""`rk list`, `rk status`, `rk why`."""

from __future__ import annotations

from repokernel.cli import context
from repokernel.cli.screen import left, line, local, owner, said, table
from repokernel.cli.spec import Call, Command, Opt, Result
from repokernel.core.errors import error
from repokernel.core.phase import Cell, Phase
from repokernel.core.ready import Outlook
from repokernel.ops.query import Row, Standing, Wanted, list_tasks, status, why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from repokernel.core.ready import Blocker

_FEW = 10
_SAYS = {
    Outlook.READY: "ready",
    Outlook.TIME: "waits for a date or a back-off",
    Outlook.WORKER: "waits for other work",
    Outlook.PERSON: "waits for a person",
    Outlook.NEVER: "can never become ready",
    Outlook.SETTLED: "",
}


def _as_document(row: Row) -> dict[str, object]:
    return {**row.entry, "cell": row.cell.value, "outlook": row.outlook.name.lower(), "usable": row.usable}


def _remark(row: Row, now_ms: int) -> str:
    entry = row.entry
    if row.cell is Cell.HELD:
        return f"{owner(entry['owner'])}, {left(entry['lease_expires'], now_ms)}"
    if row.cell in (Cell.STALE, Cell.ORPHAN):
        return f"{row.cell.value}: {owner(entry['owner'])}"
    if row.usable is False:
        return "output doesn't verify"
    if entry["hold"]:
        return f"on hold: {entry['hold']}"
    if entry["status"] == Phase.FAILED and entry["last_error"]:
        return entry["last_error"]["detail"]
    return _SAYS[row.outlook]


def _rows(rows: Sequence[Row], now_ms: int) -> str:
    return table(
        [
            (r.entry["id"], r.entry["status"], str(r.entry["priority"]), _remark(r, now_ms), r.entry["title"])
            for r in rows
        ]
    )


def _faults(faults: Sequence[dict[str, object]]) -> str:
    return "\n".join(f"finding: {line(str(one['detail']))}" for one in faults)


def _list(call: Call) -> Result:
    phases = call.many("--status")
    for phase in phases:
        if phase not in list(Phase):
            hint = "one of " + ", ".join(Phase)
            raise error("bad_value", f"--status {phase!r:.80} is no status", hint=hint, field="status")
    chosen = frozenset(phases) if phases else None
    wanted = Wanted(chosen, call.one("--epic"), call.flag("--ready"), call.flag("--stale"), call.flag("--unusable"))
    found = list_tasks(context.world(call), wanted)

    def text() -> str:
        shown = _rows(found.rows, found.now_ms) or "no tasks"
        return shown + ("\n" + _faults(found.faults) if found.faults else "")

    document = {"tasks": [_as_document(row) for row in found.rows], "findings": found.faults}
    return Result(document, text, 1 if found.faults else 0)


def _status(call: Call) -> Result:
    stand = status(context.world(call))

    def blocked(blockers: Sequence[Blocker]) -> list[dict[str, object]]:
        return [{"code": b.code, "text": b.text, "outlook": b.outlook.name.lower(), "on": b.on} for b in blockers]

    document = {
        "counts": stand.counts,
        "held": [_as_document(row) for row in stand.held],
        "ready": [row.entry["id"] for row in stand.ready],
        "waiting": [{"id": row.entry["id"], "blockers": blocked(found)} for row, found in stand.waiting],
        "failed": [row.entry["id"] for row in stand.failed],
        "findings": stand.faults,
    }
    return Result(document, lambda: _status_page(stand), 1 if stand.faults else 0)


def _status_page(stand: Standing) -> str:
    total = sum(stand.counts.values())
    if not total and not stand.faults:
        return 'the board is empty\nnext: rk add "my first task"'
    parts = [f"{count} {name}" for name, count in stand.counts.items() if count]
    blocks = [f"{total} tasks: " + ", ".join(parts)]
    if stand.held:
        lines = [
            (r.entry["id"], r.cell.value, owner(r.entry["owner"]), f"since {local(r.entry['owned_since'])}",
             left(r.entry["lease_expires"], stand.now_ms), r.entry["title"])
            for r in stand.held
        ]  # fmt: skip
        blocks.append("in work\n" + table(lines))
    if stand.ready:
        more = f"\n… and {len(stand.ready) - _FEW} more" if len(stand.ready) > _FEW else ""
        blocks.append("ready\n" + table([(r.entry["id"], r.entry["title"]) for r in stand.ready[:_FEW]]) + more)
    if stand.waiting:
        more = f"\n… and {len(stand.waiting) - _FEW} more" if len(stand.waiting) > _FEW else ""
        rows = [(r.entry["id"], said("; ".join(b.text for b in found))) for r, found in stand.waiting[:_FEW]]
        blocks.append("waiting\n" + table(rows, last_columns=100) + more)
    if stand.failed:
        blocks.append("needs a look\n" + _rows(stand.failed[:_FEW], stand.now_ms))
    if stand.faults:
        blocks.append(_faults(stand.faults))
    return "\n\n".join(blocks) + "\n\n" + _next_step(stand)


def _next_step(stand: Standing) -> str:
    stale = [row for row in stand.held if row.cell is Cell.STALE]
    if stand.faults:
        return "next: rk doctor"
    if stale or stand.ready:
        return "next: rk claim --next"
    if stand.failed:
        return f"next: rk show {stand.failed[0].entry['id']}"
    if stand.waiting:
        return f"next: rk why {stand.waiting[0][0].entry['id']}"
    return "next: rk verify" if stand.counts[Phase.DONE] else "next: rk list"


def _why(call: Call) -> Result:
    entry, steps = why(context.world(call), context.task(call))
    rows = [
        {"depth": depth, "id": name, "code": b.code, "text": b.text, "outlook": b.outlook.name.lower(), "on": b.on}
        for depth, name, b in steps
    ]

    def text() -> str:
        if not steps:
            return f"{entry['id']} is ready: rk claim {entry['id']}"
        lines = []
        for depth, name, b in steps:
            says = f" ({_SAYS[b.outlook]})" if _SAYS[b.outlook] else ""
            lines.append("  " * depth + said(f"{name}: {b.text}{says}"))
        return "\n".join(lines)

    return Result({"task": entry, "ready": not steps, "steps": rows}, text)


commands = {
    "list": Command(
        "list",
        _list,
        opts=(
            Opt("--status", "PHASE", "only in this phase", many=True),
            Opt("--epic", "ID", "only of this epic"),
            Opt("--ready", "", "only what can be claimed now"),
            Opt("--stale", "", "only what its owner has lost or left"),
            Opt("--unusable", "", "only done tasks whose output didn't verify when last looked at"),
        ),
        about=(
            "Lists tasks, lowest priority number first, then by age. Outputs are not probed: see `rk verify`.\n"
            "Exits with 1 if a task can't be read; it is named as a finding and the others are listed."
        ),
        examples=["rk list", "rk list --ready", "rk list --status failed --status cancelled"],
    ),
    "status": Command(
        "status",
        _status,
        about=(
            "Who does what, since when, how much of the lease is left, and what waits for what.\n"
            "Exits with 1 if a task can't be read."
        ),
        examples=["rk status", "rk"],
    ),
    "why": Command(
        "why",
        _why,
        args="ID",
        count=(1, 1),
        about="Why a task isn't ready, step by step down to what everything waits for.",
        examples=["rk why merge"],
    ),
}
