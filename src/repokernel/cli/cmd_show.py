"""`rk show`, `rk history`, `rk schema`: what is recorded, as it is."""

from __future__ import annotations

from repokernel.cli import context
from repokernel.cli.screen import line, local, owner, safe, table
from repokernel.cli.spec import Call, Command, Opt, Result
from repokernel.ops.log import require_head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from repokernel.core.entry import Entry
    from repokernel.core.record import Record
    from repokernel.ports.world import World

_TIMES = frozenset({"owned_since", "lease_expires", "not_before", "created_at", "updated_at", "completed_at"})
_HEAD = ("id", "title", "status")


def _value(name: str, value: object) -> str:
    if name in _TIMES and isinstance(value, str):
        return local(value)
    if isinstance(value, str):
        return value
    import json

    return json.dumps(value, ensure_ascii=False)


def _page(entry: Entry) -> str:
    rows = [(name, _value(name, entry[name])) for name in _HEAD]  # type: ignore[literal-required]
    for name, value in entry.items():
        if name not in _HEAD and name not in ("body", "notes", "schema") and value not in (None, [], {}, ""):
            rows.append((name, _value(name, value)))
    text = table(rows, last_columns=1000)
    for note in entry["notes"]:
        text += f"\n\nnote {local(note['at'])} {line(owner(note['by']))}\n{safe(note['text'])}"
    return text + (f"\n\n{safe(entry['body'])}" if entry["body"] else "")


def _remark(world: World, entry: Entry) -> str:
    """What the last look at a done task's output found, if it found something wrong."""
    if entry["status"] != "done":
        return ""
    from repokernel.ops.verify import last_known

    if last_known(world, entry) is not False:
        return ""
    ways = f"`rk verify {entry['id']}` says why, `rk reopen {entry['id']}` starts it anew"
    return f"\n\nunusable: the output didn't verify when last looked at; {ways}"


def _show(call: Call) -> Result:
    world = context.world(call)
    entry = require_head(world, context.task(call)).entry
    return Result({"task": entry}, lambda: _page(entry) + _remark(world, entry))


def _as_document(record: Record) -> dict[str, object]:
    names = ("seq", "event", "by", "at", "op_id", "prev", "digest")
    said = {name: getattr(record, name) for name in names}
    entry = record.entry
    return {**said, "id": entry["id"], "status": entry["status"], "token": entry["token"], "owner": entry["owner"]}


def _history(call: Call) -> Result:
    from repokernel.ops.history import board_history
    from repokernel.ops.log import history

    world = context.world(call)
    records = history(world, context.task(call)) if call.args else board_history(world)
    limit = call.whole("--last", 1, 10**9)
    shown = records[-limit:] if limit else records

    def text() -> str:
        return table(
            [
                (
                    local(r.at),
                    r.entry["id"],
                    str(r.seq),
                    r.event,
                    r.entry["status"],
                    f"t{r.entry['token']}",
                    owner(r.by),
                )
                for r in shown
            ]
        )

    return Result({"records": [_as_document(record) for record in shown]}, text)


def _schema(_call: Call) -> Result:
    import json

    from repokernel.core.entry import json_schema

    schema = json_schema()
    return Result({"schema": schema}, lambda: json.dumps(schema, indent=2))


commands = {
    "show": Command(
        "show",
        _show,
        args="[ID]",
        count=(0, 1),
        about="Shows one task with every field that says something; --json gives the whole entry. Without ID: RK_TASK.",
        examples=["rk show topic-7", "rk show topic-7 --json"],
    ),
    "history": Command(
        "history",
        _history,
        args="[ID]",
        count=(0, 1),
        opts=(Opt("--last", "N", "only the newest N records"),),
        about="The log: every record of a task, or of the whole board in the order of time.",
        examples=["rk history topic-7", "rk history --last 20"],
    ),
    "schema": Command(
        "schema",
        _schema,
        about="Prints the task entry as a JSON Schema document (2020-12).",
        examples=["rk schema > task.schema.json"],
    ),
}
