"""This machine: its clocks, its chance, its processes.

A process is identified by host, boot, pid namespace, pid and start time, so that neither a reboot nor
a reused pid nor a container looks like the old process. On Linux all of it comes from `/proc`
(proc(5)); elsewhere from `ps` and `sysctl`, which cost a spawn.
"""

from __future__ import annotations

import os
import sys
import time

from repokernel.adapters.publish import shut
from repokernel.core.errors import RkError, error
from repokernel.core.lease import Alive
from repokernel.core.owner import Process, clean_part, process_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_LINUX = sys.platform.startswith("linux")
_BOOT_CHARS = 12


def _slurp(path: str) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 4096).decode("ascii", "replace")
    finally:
        shut(fd)


def _answer(*argv: str) -> str:
    from repokernel.adapters.process import run  # only where /proc is missing

    return run(argv, timeout_s=5).out.strip()


def wall_ms() -> int:
    """This machine's clock, milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Machine:
    """The `System` port on the machine that this process runs on."""

    def __init__(self, ask: Callable[[str], Alive] | None = None) -> None:
        """Take the configured answer for owners elsewhere, if there is one."""
        self._ask = ask
        self._known: dict[str, Alive] = {}
        self._place: tuple[str, str, str] | None = None

    def place(self) -> tuple[str, str, str]:
        """(host, boot, pid namespace) of this process."""
        if self._place is None:
            try:
                self._place = self._look_around()
            except OSError as cause:
                said = f"can't find out which machine this is: {os.strerror(cause.errno or 0)}"
                raise error("store_io", said, hint="look at /proc") from cause
        return self._place

    @staticmethod
    def _look_around() -> tuple[str, str, str]:
        host = clean_part(os.uname().nodename, "host")
        if _LINUX:
            boot = _slurp("/proc/sys/kernel/random/boot_id").strip().replace("-", "")[:_BOOT_CHARS]
            return host, boot, os.readlink("/proc/self/ns/pid").strip("pid:[]")
        boot = clean_part(_answer("sysctl", "-n", "kern.bootsessionuuid").replace("-", ""), "boot")
        return host, boot[:_BOOT_CHARS], "0"

    @staticmethod
    def _started(pid: int) -> int | None:
        """When a process started, in units that only equality is asked of; None if it is gone."""
        if not _LINUX:
            text = _answer("ps", "-o", "lstart=", "-p", str(pid))
            return int.from_bytes(text.encode()[-12:], "big") % 10**15 if text else None
        try:
            text = _slurp(f"/proc/{pid}/stat")
        except OSError:
            return None
        fields = text.rpartition(")")[2].split()  # the name in parentheses may hold anything
        return None if fields[0] in ("Z", "X") else int(fields[19])  # field 22 of proc(5), state is field 3

    def process(self, pid: int) -> Process | None:
        """See `ports.system.System.process`."""
        start = self._started(pid)
        return None if start is None else Process(*self.place(), pid, start)

    def login(self) -> str:
        """Who is logged in, fit for an owner."""
        name = os.environ.get("LOGNAME") or os.environ.get("USER") or ""
        if not name:
            import pwd

            try:
                name = pwd.getpwuid(os.getuid()).pw_name
            except KeyError:
                name = f"uid{os.getuid()}"
        return clean_part(name, "someone")

    def alive(self, owner: str) -> Alive:
        """See `ports.system.System.alive`."""
        known = self._known.get(owner)
        if known is None:
            known = self._look(owner)
            if known is Alive.NO:  # a process that is gone doesn't come back; all else may change
                self._known[owner] = known
        return known

    def _look(self, owner: str) -> Alive:
        process = process_of(owner)
        if process is not None and tuple(process[:3]) == self.place():
            return Alive.YES if self._started(process.pid) == process.start else Alive.NO
        if self._ask is None:
            return Alive.UNKNOWN
        try:
            return self._ask(owner)
        except RkError:
            return Alive.UNKNOWN

    def monotonic_ms(self) -> int:
        """See `ports.system.System.monotonic_ms`."""
        clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
        return time.clock_gettime_ns(clock) // 1_000_000

    def sleep(self, seconds: float) -> None:
        """See `ports.system.System.sleep`."""
        time.sleep(seconds)

    def entropy(self, count: int) -> bytes:
        """See `ports.system.System.entropy`."""
        try:
            return os.urandom(count)
        except OSError as cause:
            raise error("store_io", f"the system gives no random bytes: {os.strerror(cause.errno or 0)}") from cause
