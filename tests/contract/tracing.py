"""What a piece of code really asks of the kernel: a script under strace, with faults put in its way."""

import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

_CALL = re.compile(r"^(?:\[pid +\d+\] +|\d+ +)?(\w+)\((.*)\) += (-?\d+)(.*)$")
_WATCHED = "openat,write,fsync,fdatasync,linkat,renameat,renameat2,rename,unlinkat,mkdir,close"


class Call(NamedTuple):
    """One system call: its name, its arguments and its result; strace names the file behind each descriptor."""

    name: str
    args: str
    result: int

    def is_on(self, path: Path) -> bool:
        """Whether the call's first descriptor is the file or folder `path`."""
        return f"<{path}>" in self.args


def traced(script: str, folder: Path, *, inject: str = "", argv: tuple[str, ...] = ()) -> tuple[list[Call], int]:
    """The calls that `script` makes after it has said READY, and its exit status.

    Args:
        script: Python text; it prints READY once it is set up.
        folder: where it runs.
        inject: a fault, as `strace -e inject=` takes it. It counts calls from the script's start.
        argv: arguments of the script.
    """
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    (folder / "traced.py").write_text(textwrap.dedent(script), encoding="utf-8")
    log = folder / "trace.log"
    fault = ["-e", f"inject={inject}"] if inject else []
    command = ["strace", "-f", "-y", "-s", "64", "-o", str(log), "-e", f"trace={_WATCHED}", *fault]
    done = subprocess.run(
        [*command, sys.executable, "traced.py", *argv], cwd=folder, capture_output=True, timeout=60, check=False
    )
    text = log.read_text(encoding="utf-8", errors="replace")
    matches = [_CALL.match(line) for line in text.splitlines()]
    calls = [Call(match[1], match[2], int(match[3])) for match in matches if match is not None]
    ready = [place for place, call in enumerate(calls) if call.name == "write" and '"READY\\n"' in call.args]
    assert ready, done.stderr.decode()
    return calls[ready[0] + 1 :], done.returncode
