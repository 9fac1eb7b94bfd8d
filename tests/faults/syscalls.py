"""Runs `rk` under strace: once to list every system call it makes, then once for each call that is to fail.

strace counts a call among those of its own name, so a point is (name, number); the faulted run's trace
shows whether the call that was hit is the planned one. The real interpreter runs the real program: a
two-line launcher makes a call that no program makes, then does what `python -m repokernel` does, so that
the trace says where the interpreter's start ends and the program's begins.

`--seccomp-bpf` halves the price of a run, but with it strace 6.1 loses the signal that it was to inject:
the call succeeds and nobody is killed. So SIGKILL is injected without it.
"""

import compileall
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import repokernel

_TIMEOUT_S = 60
_MARK = "/rk-begins-here"
_LAUNCHER = f"""\
import os, runpy
os.access({_MARK!r}, os.F_OK)
runpy.run_module("repokernel", run_name="__main__", alter_sys=True)
"""
_LINE = re.compile(r"^(?P<pid>\d+) +(?P<name>\w+)\((?P<args>.*)\) += (?P<result>.*)$")
_BEHIND_FD = re.compile(r"(?:AT_FDCWD|\b\d+)<([^>]*)>")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
# whose quoted arguments are names of files, not data
_NAMING = re.compile(r"(open|stat|access|link|rename|mkdir|readlink|chmod|chown|utime|execve)")
_CHANCE = re.compile(r"[0-9a-f]{12,}|(?<=\.tmp-)\d+|(?<=#)\d+|(?<=\[)\d+(?=\])")
_MEMORY = frozenset({"brk", "madvise", "mmap", "mprotect", "mremap", "munmap"})
_RUNTIME = frozenset({"arch_prctl", "futex", "prlimit64", "rseq", "set_robust_list", "set_tid_address", "sysinfo"})
_SIGNALS = frozenset({"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack"})
_SYSTEM_LIBRARIES = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/local/lib/", "/etc/ld.so.")


class Fault(StrEnum):
    """What happens at a point."""

    SIGKILL = "SIGKILL"
    EIO = "EIO"
    ENOSPC = "ENOSPC"
    EINTR = "EINTR"


class Call(NamedTuple):
    """One system call of a trace."""

    name: str
    number: int  # among those of its name, from 1
    args: str
    result: str

    @property
    def behind(self) -> tuple[str, ...]:
        """The paths behind its descriptors; the working folder is one where a path is relative to it."""
        return tuple(_BEHIND_FD.findall(self.args))

    @property
    def named(self) -> tuple[str, ...]:
        """The paths that it names, as it names them."""
        found = tuple(_QUOTED.findall(self.args)) if _NAMING.search(self.name) else ()
        return found[:1] if self.name.startswith("readlink") else found  # the other one is what it has read

    @property
    def paths(self) -> tuple[str, ...]:
        """What it is about, whole: names joined with the folders that they are relative to."""
        fds, names = self.behind, self.named
        if not names:
            return fds
        if len(fds) == len(names):
            return tuple(os.path.normpath(os.path.join(*pair)) for pair in zip(fds, names, strict=True))
        return tuple(os.path.normpath(os.path.join(fds[0], name)) if fds else name for name in names)

    @property
    def failed(self) -> bool:
        """Whether it returned an error."""
        return self.result.startswith("-1 ")

    @property
    def signature(self) -> tuple[object, ...]:
        """What is equal in two runs of one command in one folder: all but chance, addresses and data."""
        return (self.name, *(_CHANCE.sub("…", path) for path in (*self.behind, *self.named)))

    def __str__(self) -> str:
        return f"{self.name} {self.number} {' '.join(self.paths)}"


class Said(NamedTuple):
    """How a run ended: its status (negative: the signal that killed it) and what it said."""

    status: int
    out: str
    err: str


class Program:
    """`rk` as a process, in an environment of its own.

    The package is copied and compiled: an edit of the sources in the middle of a long run, or another
    process that writes byte code, would move the count of calls.
    """

    def __init__(self, folder: Path) -> None:
        self.source = folder / "program"
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        package = Path(repokernel.__file__).parent
        shutil.copytree(package, self.source / "repokernel", ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(self.source, quiet=1)

    def _strace(self, work: Path, argv: Sequence[str], *options: str) -> tuple[Said, str]:
        log = self.scratch / "trace"
        env = {
            **os.environ,
            "HOME": str(self.scratch),  # each test has its own, and the interpreter looks into it
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": str(self.source),
            "TMPDIR": str(self.scratch),
        }
        program = ["strace", "-f", "-y", "-s", "48", "-o", str(log), *options, sys.executable, "-P", "-c", _LAUNCHER]
        ended = subprocess.run(
            [*program, *argv],
            cwd=work,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=_TIMEOUT_S,
        )
        return Said(ended.returncode, ended.stdout, ended.stderr), log.read_text(encoding="utf-8", errors="replace")

    def dry(self, work: Path, argv: Sequence[str]) -> tuple[Said, list[Call], int]:
        """What it says without a fault, all its calls, and the place of the program's first one."""
        said, text = self._strace(work, argv)
        calls = list(read(text))
        mark = next(place for place, call in enumerate(calls) if call.named == (_MARK,))
        return said, calls, mark + 1

    def faulted(self, work: Path, argv: Sequence[str], point: Call, fault: Fault) -> tuple[Said, list[Call]] | None:
        """What it says with a fault at `point`, and its calls of that name; None if another call was hit."""
        what, how = "signal=KILL" if fault is Fault.SIGKILL else f"error={fault}", ("-e", f"trace={point.name}")
        quick = () if fault is Fault.SIGKILL else ("--seccomp-bpf",)
        said, text = self._strace(work, argv, *quick, *how, "-e", f"inject={point.name}:{what}:when={point.number}")
        calls = list(read(text))
        if len(calls) < point.number:
            return None
        hit = calls[point.number - 1]
        struck = hit.result == "?" and said.status < 0 if fault is Fault.SIGKILL else "(INJECTED)" in hit.result
        return (said, calls) if struck and hit.signature == point.signature else None

    def is_interpreters(self, call: Call) -> bool:
        """Whether a call is made by the interpreter for itself, where no program can catch what goes wrong.

        Memory, signals and the C library's own start; and whatever is about the interpreter, the
        libraries or the modules that are imported (found by their path, the program's own included).
        """
        if call.name in _MEMORY | _RUNTIME | _SIGNALS or call.name == "exit_group":
            return True
        installed = str(Path(repokernel.__file__).parents[1])
        roots = (sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), installed, str(self.source))
        inside = tuple(root + "/" for root in roots)
        return any(path in roots or path.startswith((*inside, *_SYSTEM_LIBRARIES)) for path in call.paths)


def read(text: str) -> Iterator[Call]:
    """The calls of a trace of one process, in order."""
    counts: dict[str, int] = {}
    pids = set()
    for line in text.splitlines():
        matched = _LINE.match(line)
        if matched is None:
            assert "unfinished" not in line, f"more than one thread: {line}"
            continue
        pids.add(matched["pid"])
        name = matched["name"]
        counts[name] = counts.get(name, 0) + 1
        yield Call(name, counts[name], matched["args"], matched["result"])
    assert len(pids) <= 1, "rk has started a process"
