"""Makes one system call of `rk` fail: a dry run under strace finds which, a second run has it fail.

strace counts a call among those of its own name, so a fault is injected into the one name that the dry run
found (`inject=linkat:error=EIO:when=1`), whatever the row's list of alternatives is.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.shell.hostile.model import Fault, When
from tests.shell.runner import BOARD, Outcome, run_process

# `?`: a call that this machine doesn't have is left out
TRACED = "?open,openat,read,pread64,write,pwrite64,writev,fsync,fdatasync,?link,linkat,?rename,renameat,renameat2"
_LINE = re.compile(r"^(?:\d+ +)?(?P<name>\w+)\((?P<args>.*)$")
_AT = re.compile(r'(?:AT_FDCWD|\d+)<(?P<folder>[^>]*)>(?:\(deleted\))?, "(?P<name>[^"]*)"')
_FD = re.compile(r"^\d+<(?P<path>[^>]*)>")
_PATH = re.compile(r'^"(?P<path>[^"]*)"')
_PUBLISHING = frozenset({"link", "linkat", "rename", "renameat", "renameat2"})
_RELATIVE = frozenset({"openat", "linkat", "renameat", "renameat2"})
_WRITING = ("O_WRONLY", "O_RDWR")


@dataclass(frozen=True)
class SystemCall:
    """One call of a trace: its name, its place among those of that name, the paths it is about."""

    name: str
    number: int
    paths: tuple[str, ...]
    args: str
    injected: bool


def unusable() -> str:
    """Why faults can't be injected here, or nothing."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    inject = ("-e", "trace=openat", "-e", "inject=openat:error=EIO:when=9999")
    tried = subprocess.run(["strace", "-f", *inject, "true"], capture_output=True, check=False, timeout=60)
    return "" if tried.returncode == 0 else f"strace can't trace here: {tried.stderr.decode().splitlines()[-1]}"


def _paths(name: str, args: str) -> tuple[str, ...]:
    if name in _RELATIVE:
        return tuple(os.path.normpath(os.path.join(at["folder"], at["name"])) for at in _AT.finditer(args))
    first = _FD.match(args) or _PATH.match(args)
    return (first["path"],) if first is not None else ()


def read_trace(text: str) -> list[SystemCall]:
    """The calls of a trace, in order."""
    counts: dict[str, int] = {}
    calls = []
    for line in text.splitlines():
        matched = _LINE.match(line)
        if matched is None:
            continue
        name, args = matched["name"], matched["args"]
        counts[name] = counts.get(name, 0) + 1
        calls.append(SystemCall(name, counts[name], _paths(name, args), args, args.endswith("(INJECTED)")))
    return calls


def traced(
    work: Path, argv: Sequence[str], env: Mapping[str, str], inject: str = ""
) -> tuple[Outcome, list[SystemCall]]:
    """Run `rk` under strace; what it said, and its calls."""
    log = work.with_name(f"{work.name}.strace")
    program = ["strace", "-f", "-y", "-s", "32", "-o", str(log), "-e", f"trace={TRACED}"]
    if inject:
        program += ["-e", f"inject={inject}"]
    said = run_process([*program, sys.executable, "-m", "repokernel"], work, argv, env=env)
    return said, read_trace(log.read_text(encoding="utf-8", errors="replace"))


def _below(call: SystemCall, folder: str) -> bool:
    return any(path == folder or path.startswith(folder + "/") for path in call.paths)


def _publishes(call: SystemCall, fault: Fault, folder: str) -> bool:
    place = f"{folder}/beats/" if fault.argv[0] == "renew" else f"{folder}/claims/"
    # the new name is the last one; a record that is written aside lies in the same folder
    return call.name in _PUBLISHING and bool(call.paths) and call.paths[-1].startswith(place)


def resolve(fault: Fault, calls: Sequence[SystemCall], work: Path, head: str) -> SystemCall | None:
    """The call that is to fail, or None if there is none such.

    Args:
        fault: what is to fail.
        calls: the dry run's trace.
        work: its working folder.
        head: the head record's name, relative to the board.
    """
    folder = str(work / BOARD)
    names = frozenset(name.lstrip("?") for name in fault.syscall.split(","))
    published = next((place for place, call in enumerate(calls) if _publishes(call, fault, folder)), None)

    def wanted(call: SystemCall) -> bool:
        return call.name in names and _below(call, folder)

    def writing(call: SystemCall) -> bool:
        return wanted(call) and (call.name != "openat" or any(flag in call.args for flag in _WRITING))

    def first(found: Sequence[SystemCall], fits: Callable[[SystemCall], bool]) -> SystemCall | None:
        return next((call for call in found if fits(call)), None)

    if fault.when is When.HEAD_READ:
        return first(calls, lambda call: wanted(call) and f"{folder}/{head}" in call.paths)
    if published is None:
        return None
    match fault.when:
        case When.PUBLISH:
            return first(calls[published:], wanted)
        case When.FIRST_AFTER:
            return first(calls[published + 1 :], wanted)
        case _:
            return first(calls[:published][::-1], writing)
