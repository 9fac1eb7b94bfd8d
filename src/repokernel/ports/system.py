"""What an operation needs of the machine: time, chance, and who lives where."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Protocol

    from repokernel.core.entry import Entry, Output
    from repokernel.core.ids import Key
    from repokernel.core.lease import Alive
    from repokernel.core.output import Depth, Problem
    from repokernel.core.owner import Process

    class System(Protocol):
        """Clock, chance and processes of this machine."""

        def monotonic_ms(self) -> int:
            """A clock that never goes back and counts suspend, in milliseconds."""

        def sleep(self, seconds: float) -> None:
            """Wait."""

        def entropy(self, count: int) -> bytes:
            """`count` random bytes."""

        def process(self, pid: int) -> Process | None:
            """The identity of a live process of this pid namespace, or None."""

        def alive(self, owner: str) -> Alive:
            """What is known about the process that an owner is tied to."""

    class Outputs(Protocol):
        """Outputs where they really are."""

        def describe(self, where: str, written_at: str) -> Output:
            """Stat, hash and make durable what lies at a path or URI.

            Raises:
                RefusedError: `output_missing`, `output_refused`.
                BrokenError: `output_io`.
            """

        def probe(self, output: Output, depth: Depth) -> Problem | None:
            """What is wrong with a recorded output, or None."""

        def place(self, key: Key, token: int) -> str:
            """The folder for what the holder of `token` writes (not created yet)."""

    class Child(Protocol):
        """A program that runs in a process group of its own and dies with its supervisor."""

        def wait(self, timeout_s: float) -> int | None:
            """Its exit status (negative: the signal that ended it), or None if it still runs."""

        def stop(self, grace_s: float) -> None:
            """TERM to the whole group, KILL after `grace_s`; returns once it has ended."""

    class Programs(Protocol):
        """Starts programs."""

        def start(self, argv: Sequence[str], env: Mapping[str, str], *, out_to_err: bool) -> Child:
            """Run `argv` on this process's standard output and error (`out_to_err`: on error alone).

            Raises:
                BrokenError: `command_failed`.
            """

    class Handover(Protocol):
        """What a program gets to know of its task, and how it tells what came of it."""

        def give(self, entry: Entry, place: str) -> Mapping[str, str]:
            """Write the entry to a file; the environment variables that say where things are."""

        def result(self) -> bytes | None:
            """The result file that the program wrote, or None."""

        def produced(self) -> str | None:
            """The one file in the output folder, or the folder where it holds several; None if empty."""

        def close(self) -> None:
            """Remove the files of the handover; outputs stay."""

    class Workshop(Protocol):
        """Makes handovers."""

        def handover(self) -> Handover:
            """A new one, in a temporary folder of its own."""
