"""The one place that starts programs: no shell, own process group, no orphans."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys

from repokernel.core.errors import error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NamedTuple

    class Finished(NamedTuple):
        """What a program said: exit status (negative: the signal), standard output and error as text."""

        status: int
        out: str
        err: str
else:
    from collections import namedtuple

    Finished = namedtuple("Finished", "status out err")

_PR_SET_PDEATHSIG = 1  # prctl(2)


def run(argv: Sequence[str], *, timeout_s: float, env: Mapping[str, str] | None = None) -> Finished:
    """Run a program to its end with no input.

    Raises:
        BrokenError: `command_failed`: not found, not executable, or not finished in time.
    """
    try:
        done = subprocess.run(
            list(argv), stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, env=env, check=False
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as cause:
        raise error("command_failed", f"{argv[0]} could not be run: {cause}") from cause
    return Finished(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


class Running:
    """The `Child` port: a program that leads its own process group."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        """Take over a started program."""
        self._popen = popen

    @property
    def pid(self) -> int:
        """Its process id, which is its process group too."""
        return self._popen.pid

    def wait(self, timeout_s: float) -> int | None:
        """See `ports.system.Child.wait`."""
        try:
            return self._popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def signal(self, number: int) -> None:
        """Send a signal to its whole group, if there is still one."""
        try:
            os.killpg(self._popen.pid, number)
        except (ProcessLookupError, PermissionError):  # the whole group has ended
            return

    def stop(self, grace_s: float) -> None:
        """See `ports.system.Child.stop`."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)
        self.wait(grace_s)
        self.signal(signal.SIGKILL)
        self._popen.wait()


class LocalPrograms:
    """The `Programs` port: starts programs on this machine."""

    def start(
        self, argv: Sequence[str], env: Mapping[str, str], *, out_to_err: bool = False, log: str | None = None
    ) -> Running:
        """See `ports.system.Programs.start`; with `log`, all that it says goes to the end of that file."""
        parent = os.getpid()
        libc = ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None

        def die_with_parent() -> None:
            if libc is not None:
                libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
                if os.getppid() != parent:  # it died between fork and here
                    os._exit(127)

        try:
            with open(log or os.devnull, "ab") as stream:
                popen = subprocess.Popen(
                    list(argv),
                    env=dict(env),
                    stdin=subprocess.DEVNULL,
                    stdout=stream if log else sys.stderr.fileno() if out_to_err else None,
                    stderr=stream if log else None,
                    start_new_session=True,
                    preexec_fn=die_with_parent,  # noqa: PLW1509 - it calls one function that was loaded before
                )
        except (OSError, ValueError, subprocess.SubprocessError) as cause:
            raise error("command_failed", f"{argv[0]} could not be started: {cause}", argv=list(argv)) from cause
        return Running(popen)
