"""What the holder of a task says: `renew`, `done`, `fail`, `release`, `ask`."""

from __future__ import annotations

from repokernel.cli import context
from repokernel.cli.screen import line, local
from repokernel.cli.spec import LEASE, ROLE, TOKEN, Call, Command, Opt, Result
from repokernel.core.entry import VERDICTS
from repokernel.core.errors import error
from repokernel.ops import carry


def _renew(call: Call) -> Result:
    world, by, task = context.world(call), context.who(call), context.task(call)
    entry = carry.renew(world, task, by, context.token(call, task), call.duration_ms("--lease"))
    return context.told(entry, "renewed", f"{entry['id']} is yours until {local(entry['lease_expires'])}")


def _done(call: Call) -> Result:
    verdict = call.choice("--verdict", VERDICTS)
    world, by, task = context.world(call), context.who(call), context.task(call)
    applied = carry.done(world, task, by, context.token(call, task), call.one("--output"), verdict)
    output = applied.entry["output"]
    behind = f": {output['uri']} ({output['bytes']:,} bytes, sha256 {output['sha256'][:12]}…)" if output else ""
    return context.told(applied.entry, "done" if applied.changed else "unchanged", line(f"{task} is done{behind}"))


def _fail(call: Call) -> Result:
    code = call.one("--code")
    if code is None:
        raise error("bad_usage", "rk fail needs --code", hint="rk fail ID --code upload_failed --detail 'HTTP 503'")
    world, by, task = context.world(call), context.who(call), context.task(call)
    applied = carry.fail(world, task, by, context.token(call, task), code, call.one("--detail") or "")
    entry = applied.entry
    text = (
        f"{task} has failed for good"
        if entry["status"] == "failed"
        else f"{task} waits until {local(entry['not_before'])}"
    )
    return context.told(entry, "failed" if applied.changed else "unchanged", text)


def _release(call: Call) -> Result:
    world, by, task = context.world(call), context.who(call), context.task(call)
    applied = carry.release(world, task, by, context.token(call, task))
    return context.told(applied.entry, "released" if applied.changed else "unchanged", f"{task} is pending again")


def _ask(call: Call) -> Result:
    world, by, task = context.world(call), context.who(call), context.task(call)
    applied = carry.ask(world, task, by, context.token(call, task), call.args[1])
    return context.told(applied.entry, "asked" if applied.changed else "unchanged", f"{task} waits for an answer")


commands = {
    "renew": Command(
        "renew",
        _renew,
        args="[ID]",
        count=(0, 1),
        opts=(LEASE, TOKEN, ROLE),
        about="Extends your lease, by its first length unless --lease says another. Without ID: RK_TASK.",
        examples=["rk renew topic-7 --token 3", "rk renew topic-7 --lease 30m"],
    ),
    "done": Command(
        "done",
        _done,
        args="[ID]",
        count=(0, 1),
        opts=(
            Opt("--output", "PATH-or-URI", "the file or folder that the work produced: a path or a file: URI"),
            Opt("--verdict", "V", "of a review task: accepted, changes_requested or rejected"),
            TOKEN,
            ROLE,
        ),
        about=(
            "Completes a task. Its output is read now: bytes and sha256 are recorded, and whoever builds on it can\n"
            "check them again. If it is not there the task is not done. A token that is no longer current is\n"
            "refused with lease_lost. Without ID: RK_TASK."
        ),
        examples=["rk done topic-7 --output out/topic-7.md", "rk done review-7 --verdict accepted"],
    ),
    "fail": Command(
        "fail",
        _fail,
        args="[ID]",
        count=(0, 1),
        opts=(
            Opt("--code", "C", "what went wrong, as a word: upload_failed (agent_limited, environment: no attempt)"),
            Opt("--detail", "T", "what went wrong, in a sentence"),
            TOKEN,
            ROLE,
        ),
        about="Ends this attempt. The task is offered again after a back-off; at its last attempt it has failed.",
        examples=["rk fail topic-7 --code upload_failed --detail 'HTTP 503 from the bucket'"],
    ),
    "release": Command(
        "release",
        _release,
        args="[ID]",
        count=(0, 1),
        opts=(TOKEN, ROLE),
        about="Gives a task back unharmed: it is pending at once and the attempt doesn't count.",
        examples=["rk release topic-7"],
    ),
    "ask": Command(
        "ask",
        _ask,
        args="ID TEXT",
        count=(2, 2),
        opts=(TOKEN, ROLE),
        about="Halts a task with a question (needs_input). Your hold ends; `rk answer` makes the task pending again.",
        examples=["rk ask topic-7 'Which of the two editions is meant?'"],
    ),
}
