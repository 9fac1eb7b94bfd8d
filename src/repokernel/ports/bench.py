"""What measuring a store needs of the machine besides the ports of a board: processes that meet."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from repokernel.ports.system import Child

    class Meet(Protocol):
        """Where the processes of one bench wait for each other."""

        def __call__(self, ends_ns: int, *, eager: bool) -> bool:
            """Arrive; True once all have, False if they haven't by `ends_ns`; `eager` leaves without delay."""

    class Bare(Protocol):
        """A durable publication by the operating system's calls alone."""

        def __call__(self, name: str, data: bytes) -> None:
            """Publish `data` under a new name."""

    class Crew(Protocol):
        """The processes of one bench, from outside."""

        def start(self, number: int) -> Child:
            """Start one of them."""

        def said(self, number: int) -> bytes:
            """All that it has said so far."""

        def met(self) -> int:
            """How many times all have met so far."""
