"""`rk --help`, the help page of each command, `rk --version`, `rk completion`."""

from __future__ import annotations

from repokernel import __version__
from repokernel.cli.spec import Call, Command, Opt, Result
from repokernel.cli.table import COMMANDS, EVERYDAY, load
from repokernel.core.errors import error

_HEAD = """\
RepoKernel keeps the state of agents that work in parallel: claims, leases, verified outputs.

usage: rk [COMMAND] [ARGUMENTS] [--json] [--board URL] [-C DIR]

"""
_SHELLS = ("bash", "zsh", "fish")


def version() -> Result:
    """The version."""
    return Result({"version": __version__}, lambda: f"rk {__version__}")


def _group(group: str) -> str:
    rows = [(name, summary) for name, (_, of, summary) in COMMANDS.items() if of == group]
    wide = max(len(name) for name, _ in rows)
    return "\n".join(f"  {name:<{wide}}  {summary}" for name, summary in rows)


def help_page(words: list[str]) -> Result:
    """The overview, one group (`rk help board`), or the page of one command.

    Raises:
        UsageError: `bad_usage` for a word that is neither.
    """
    groups = {group.lower(): group for _, group, _ in COMMANDS.values()}
    if not words:
        others = "\n".join(
            f"  rk help {key:<12} " + ", ".join(name for name, (_, of, _) in COMMANDS.items() if of == group)
            for key, group in groups.items()
            if group != EVERYDAY
        )
        text = f"{_HEAD}{_group(EVERYDAY)}\n\nmore\n{others}\n\nrk COMMAND --help shows a command with examples."
        return Result({"commands": {name: summary for name, (_, _, summary) in COMMANDS.items()}}, lambda: text)
    if words[0] in groups:
        page = _group(groups[words[0]])
        return Result({"commands": words[0]}, lambda: page)
    if words[0] not in COMMANDS:
        from repokernel.cli.spec import near

        raise error("bad_usage", f"there is no command {words[0]!r:.80}", hint=near(words[0], list(COMMANDS)))
    return command_page(load(words[0]))


def _option(opt: Opt) -> tuple[str, str]:
    names = f"{opt.short}, {opt.name}" if opt.short else opt.name
    value = opt.metavar if opt.bare else f" {opt.metavar}" if opt.metavar else ""
    return names + value, opt.help + (" (may be repeated)" if opt.many else "")


def page_text(command: Command) -> str:
    """The help page of a command."""
    options = [_option(opt) for opt in command.opts.values()]
    wide = max(len(name) for name, _ in options)
    lines = [f"usage: rk {command.name} {command.args}".rstrip(), "", command.about, "", "options"]
    lines += [f"  {name:<{wide}}  {text}" for name, text in options]
    lines += ["", "examples", *(f"  {example}" for example in command.examples)]
    return "\n".join(lines)


def command_page(command: Command) -> Result:
    """The help page of a command as a result."""
    return Result({"help": page_text(command)}, lambda: page_text(command))


def _completion(call: Call) -> Result:
    shell = call.args[0]
    if shell not in _SHELLS:
        raise error("bad_value", f"{shell!r:.80} is none of {', '.join(_SHELLS)}", field="shell")
    from repokernel.cli.completion import script

    text = script(shell)
    return Result({"script": text}, lambda: text)


commands = {
    "completion": Command(
        "completion",
        _completion,
        args="bash|zsh|fish",
        count=(1, 1),
        about="Prints a completion script for a shell.",
        examples=['eval "$(rk completion bash)"', "rk completion fish > ~/.config/fish/completions/rk.fish"],
    )
}
