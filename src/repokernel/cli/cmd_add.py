"""`rk add`: one task, or a file of them."""

from __future__ import annotations

import os
import sys

from repokernel.cli import context
from repokernel.cli.screen import line
from repokernel.cli.spec import OP_ID, ROLE, Call, Command, Opt, Result
from repokernel.core.entry import EXPECTS
from repokernel.core.errors import error

_FILE_BYTES_MAX = 256 * 1024 * 1024


def _read(path: str, cwd: str) -> bytes:
    try:
        if path == "-" and sys.stdin is None:
            raise error("bad_input", "standard input is closed", file=path)
        if path == "-":
            return sys.stdin.buffer.read(_FILE_BYTES_MAX)
        fd = os.open(os.path.join(cwd, path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as stream:
            return stream.read(_FILE_BYTES_MAX)
    except (OSError, ValueError) as cause:
        said = cause.strerror if isinstance(cause, OSError) else cause
        raise error("bad_input", f"can't read {path!r:.200}: {said}", file=path[:200]) from None


def _inputs(call: Call) -> dict[str, object]:
    inputs: dict[str, object] = {}
    path = call.one("--inputs-file")
    if path is not None:
        from repokernel.core import jsontext

        try:
            value = jsontext.parse(_read(path, call.cwd).removeprefix(b"\xef\xbb\xbf"))
        except ValueError as cause:
            raise error("bad_input", f"{path}: {cause}", file=path) from None
        if not isinstance(value, dict):
            raise error("bad_input", f"{path} must hold a JSON object", file=path)
        inputs |= value
    for pair in call.many("--input"):
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise error("bad_value", f"--input {pair!r:.80} must be NAME=VALUE", field="input")
        inputs[key] = text
    return inputs


def _after(text: str) -> object:
    name, colon, when = text.partition(":")
    return {"id": name, "when": when} if colon else name


def _given(call: Call) -> dict[str, object]:
    given: dict[str, object] = {"title": call.args[0]}
    call.choice("--expects", EXPECTS)
    for option, field in (("--id", "id"), ("--epic", "epic"), ("--expects", "expects"), ("--review-of", "review_of"),
                          ("--body", "body"), ("--not-before", "not_before")):  # fmt: skip
        if call.one(option) is not None:
            given[field] = call.one(option)
    for option, field, low in (("--priority", "priority", -1_000_000_000), ("--max-attempts", "max_attempts", 1)):
        number = call.whole(option, low, 1_000_000_000)
        if number is not None:
            given[field] = number
    for option, field in (("--owns", "owned_paths"), ("--shares", "shared_paths"), ("--forbids", "forbidden_paths"),
                          ("--label", "labels")):  # fmt: skip
        if call.many(option):
            given[field] = call.many(option)
    if call.many("--after"):
        given["depends_on"] = [_after(text) for text in call.many("--after")]
    inputs = _inputs(call)
    return {**given, "inputs": inputs} if inputs else given


def _add(call: Call) -> Result:
    from repokernel.ops.add import add

    path = call.one("--from")
    if path is not None:
        return _import(call, path)
    if not call.args:
        raise error("bad_usage", "rk add needs a title, or --from FILE", hint='rk add "write the summary"')
    world, by = context.world(call), context.who(call)
    entry = add(world, _given(call), by, planned=call.flag("--planned"), op_id=context.op_id(call))
    return context.told(entry, "added", line(f"added {entry['id']}: {entry['title']}"))


def _import(call: Call, path: str) -> Result:
    from repokernel.core.plan import parse_import
    from repokernel.ops.add import import_tasks

    if call.args:
        raise error("bad_usage", "rk add takes a title or --from, not both", hint="rk add --help")
    world, by = context.world(call), context.who(call)
    items = parse_import(_read(path, call.cwd))
    made = import_tasks(world, items, by, output=call.one("--output"), planned=call.flag("--planned"))

    def text() -> str:
        lines = [f"added {len(made.added)} tasks" + (f"; {len(made.present)} were there" if made.present else "")]
        return "\n".join(lines + [f"finding: {one['id']}: {one['detail']}" for one in made.findings])

    return Result({"outcome": "added", "tasks": made.added, "present": made.present, "findings": made.findings}, text)


commands = {
    "add": Command(
        "add",
        _add,
        args="TITLE | --from FILE",
        count=(0, 1),
        opts=(
            Opt("--id", "ID", "the task's id (default: a short random one)"),
            Opt("--after", "ID[:WHEN]", "wait for another task: done (default), accepted, failed, settled", many=True),
            Opt("--priority", "N", "lower runs first (default 100)"),
            Opt("--input", "K=V", "an input for the worker", many=True),
            Opt("--inputs-file", "FILE", "inputs from a JSON object"),
            Opt("--max-attempts", "N", "claims before the task has failed (default: attempts.max)"),
            Opt("--epic", "ID", "the group that it belongs to"),
            Opt("--label", "TEXT", "a label", many=True),
            Opt("--body", "TEXT", "what is to be done, at length"),
            Opt("--expects", "WHAT", "what stands behind done: output (default), non_empty, none"),
            Opt("--review-of", "ID", "make this the review of another task"),
            Opt("--not-before", "INSTANT", "not claimable before this RFC 3339 instant"),
            Opt("--planned", "", "not offered until `rk open`"),
            Opt("--owns", "PATTERN", "paths that only this task may change (a Git repository)", many=True),
            Opt("--shares", "PATTERN", "paths that several tasks may change", many=True),
            Opt("--forbids", "PATTERN", "paths that it must not touch", many=True),
            Opt("--from", "FILE", "a JSON array of tasks; - is standard input"),
            Opt("--output", "PATH", "with --from: where an old `done: true` has its output, such as 'out/{id}.md'"),
            ROLE,
            OP_ID,
        ),
        about=(
            "Puts a task on the board. --from takes a JSON array of tasks with the fields of `rk schema`, all or\n"
            "none if one of them is wrong; repeating it adds what is missing. The old form {id, title, done} is\n"
            "read too: done: true becomes pending with a finding, unless --output verifies."
        ),
        examples=[
            'rk add "summarise topic 7" --id topic-7 --input topic=7',
            'rk add "merge the summaries" --after topic-7 --priority 10',
            "rk add --from tasks.json --output 'out/{id}.md'",
        ],
    )
}
