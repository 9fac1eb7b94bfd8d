"""`rk doctor` and `rk trust`."""

from __future__ import annotations

from repokernel import bootstrap
from repokernel.cli.screen import line
from repokernel.cli.spec import Call, Command, Opt, Result


def _doctor(call: Call) -> Result:
    found = bootstrap.examine(call.one("--board") or call.env.get("RK_BOARD"), call.cwd, fix=call.flag("--fix"))
    lines = [f"finding: {line(str(one['detail']))}" for one in found.findings]
    lines += [f"fixed: {line(text)}" for text in found.fixed]
    lines.append(f"{len(found.findings)} findings in {found.where}" if found.findings else f"{found.where} is well")
    document = {
        "outcome": "findings" if found.findings else "well",
        "board": found.where,
        "findings": found.findings,
        "fixed": found.fixed,
    }
    return Result(document, lambda: "\n".join(lines), 1 if found.findings else 0)


def _trust(call: Call) -> Result:
    place = bootstrap.locate(call.one("--board") or call.env.get("RK_BOARD"), call.cwd)
    command, was = bootstrap.trust_commands(place, allow=call.flag("--yes"))
    if command is None:
        return Result({"outcome": "unchanged", "commands": []}, lambda: "the configuration names no command")
    state = "trusted" if was or call.flag("--yes") else "not trusted; `rk trust --yes` allows exactly this text"
    document = {"outcome": "trusted" if was or call.flag("--yes") else "shown", "commands": [command]}
    return Result(document, lambda: f"liveness = {line(' '.join(command))}\n{state}")


commands = {
    "doctor": Command(
        "doctor",
        _doctor,
        opts=(Opt("--fix", "", "put back missing folders, sweep up what killed writers left aside"),),
        about=(
            "Looks for everything that is wrong with the board and this machine, on a broken board too: foreign\n"
            "files, records that can't be read, logs that don't link, a file system that doesn't keep its\n"
            "promises, bad configuration. Records are never changed. Exits with 1 if something was found."
        ),
        examples=["rk doctor", "rk doctor --fix"],
    ),
    "trust": Command(
        "trust",
        _trust,
        opts=(Opt("--yes", "", "trust the commands shown"),),
        about=(
            "Shows the commands that the board's configuration would have rk run (`liveness`), and with --yes\n"
            "trusts exactly this text, for you alone. A changed text must be trusted again."
        ),
        examples=["rk trust", "rk trust --yes"],
    ),
}
