"""Completion scripts, made from the command table."""

from __future__ import annotations

from repokernel.cli.table import COMMANDS, load


def _options(name: str) -> str:
    return " ".join(load(name).opts)


def _bash() -> str:
    cases = "\n".join(f'    {name}) words="{_options(name)}" ;;' for name in COMMANDS)
    return f"""\
_rk() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" words
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(COMMANDS)}" -- "$word"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}}
complete -F _rk rk repokernel
"""


def _zsh() -> str:
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash()


def _fish() -> str:
    lines = ["complete -c rk -n __fish_use_subcommand -f"]
    for name, (_, _, summary) in COMMANDS.items():
        told = summary.replace("'", "\\'")
        lines.append(f"complete -c rk -n __fish_use_subcommand -f -a {name} -d '{told}'")
        for opt in load(name).opts.values():
            flag = f"-l {opt.name[2:]}" if opt.name.startswith("--") else f"-o {opt.name[1:]}"
            about = opt.help.replace("'", "\\'")
            lines.append(f"complete -c rk -n '__fish_seen_subcommand_from {name}' {flag} -d '{about}'")
    return "\n".join(lines) + "\n"


def script(shell: str) -> str:
    """The script for `bash`, `zsh` or `fish`."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()
