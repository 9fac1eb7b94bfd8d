"""Runs the examples of a page the way a reader would: in one terminal, in an empty folder, from top to bottom.

A `console` block has commands after `$ `, their further lines after `> `, and below them what they print; `…`
stands for anything within a line, and on a line of its own for any lines. `python` blocks that follow each other
without a command between them are one program.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_END = "\x1e"
TIMEOUT_S = 15


class Step(NamedTuple):
    """One command line of a page, and what the page says that it prints."""

    command: str
    shown: str


def blocks(text: str, *languages: str) -> list[tuple[str, str]]:
    """The fenced blocks of a page in those languages: (language, content)."""
    return [(found[1], found[2]) for found in _FENCE.finditer(text) if found[1] in languages]


def console_steps(block: str) -> list[Step]:
    """The commands of one console block."""
    steps: list[tuple[list[str], list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            steps.append(([line[2:]], []))
        elif line == ">" or (line.startswith("> ") and not steps[-1][1]):
            steps[-1][0].append(line[2:])
        else:
            steps[-1][1].append(line)
    return [Step("\n".join(command), "\n".join(shown)) for command, shown in steps]


def page_steps(text: str, scripts: Path) -> list[Step]:
    """All commands of a page in order; programs in Python are written into `scripts`."""
    steps: list[Step] = []
    program: list[str] = []

    def finish() -> None:
        if program:
            path = scripts / f"program-{len(steps)}.py"
            path.write_text("\n".join(program), encoding="utf-8")
            steps.append(Step(f"python3 {path}", ""))
            program.clear()

    for language, content in blocks(text, "console", "python"):
        if language == "python":
            program.append(content)
        else:
            finish()
            steps += console_steps(content)
    finish()
    return steps


def fits(shown: str, printed: str) -> bool:
    """Whether `printed` is what the page shows."""
    pattern = []
    for line in shown.splitlines():
        if line == "…":
            pattern.append(r"(?:.*\n)*?")
        else:
            pattern.append(".*?".join(re.escape(part) for part in line.split("…")) + "\n")
    return re.fullmatch("".join(pattern), printed and printed.rstrip("\n") + "\n") is not None


def tools(folder: Path) -> Path:
    """A folder for PATH in which `rk` and `python3` are those of this environment."""
    folder.mkdir()
    for name, words in (("rk", "-P -m repokernel"), ("python3", "-P")):
        tool = folder / name
        tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n', encoding="utf-8")
        tool.chmod(0o755)
    return folder


def play(steps: list[Step], folder: Path, bin_folder: Path) -> list[str]:
    """What each step printed, all run by one shell in `folder`; standard error comes with the rest."""
    script = "exec 2>&1\n"
    for step in steps:
        script += f"{step.command}\nrc=$?; printf '%s' '{_END}'; (exit $rc)\n"
    env = {**os.environ, "HOME": str(folder), "PATH": f"{bin_folder}:/usr/bin:/bin", "TMPDIR": str(bin_folder.parent)}
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    printed = done.stdout.decode().split(_END)
    assert len(printed) == len(steps) + 1, f"the shell stopped early, after: {printed[-1]}{done.stderr.decode()}"
    return printed[:-1]
