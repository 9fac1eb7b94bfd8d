"""The store port: create the next record if it is absent, and read what is there."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from repokernel.core.errors import RkError
    from repokernel.core.ids import Key

    class Store(Protocol):
        """Where records are kept. All methods raise `BrokenError` when the engine fails."""

        @property
        def url(self) -> str:
            """How to open this store again."""

        def append(self, key: Key, seq: int, data: bytes, *, stir: bool = False) -> bool:
            """Publish record `seq` whole and durably; False if that name is taken by another's.

            `stir` has everybody's next `changes` say that anything may have changed.

            Raises:
                BrokenError: `durability_unknown` when the record is visible but perhaps not durable;
                    any other code when nothing was published.
            """

        def top(self, key: Key, known: int = 0) -> int:
            """The highest sequence number of a task, 0 if it never had a record.

            `known` is one that the caller has seen: the search may start there.

            Raises:
                RefusedError: `record_invalid` when a lower one is missing.
            """

        def tops(self) -> Mapping[Key, int | RkError]:
            """`top` of every task; where it would raise, the exception."""

        def changes(self, cursor: int | None) -> tuple[int, list[tuple[Key, int]] | None]:
            """(a new cursor, the records that were published since `cursor`), for processes that live long.

            None in place of the records: unknown, so look at everything (always so for cursor None).
            None too after somebody has stirred. Everything that was acknowledged before the call, by any
            process, is in the answer.
            """

        def read(self, key: Key, seq: int) -> bytes | None:
            """The bytes of one record, or None.

            Raises:
                RefusedError: `record_invalid` when what is there can't be a record (no file, too large).
            """

        def put_away(self, key: Key, top: int, data: bytes) -> None:
            """Keep the contents of records below `top` elsewhere, durably; what was kept before stays."""

        def bury(self, key: Key, seq: int, data: bytes) -> None:
            """Replace the contents of a record below the head by its tombstone, whole and durably.

            The name stays taken for ever: were it free, a late writer would create it.
            """

        def confirm(self) -> None:
            """Make everything that this process can see durable."""

        def read_side(self, side: str, name: str) -> bytes | None:
            """A small replaceable document beside the log (a beat, the last verification), or None."""

        def write_side(self, side: str, name: str, data: bytes) -> None:
            """Replace such a document, whole and durably."""

        def drop_side(self, side: str, name: str) -> None:
            """Remove such a document if it is there; nothing depends on it."""

        def sides(self, side: str) -> frozenset[str]:
            """The names of all documents of one kind."""

        def foreign(self) -> list[str]:
            """What lies in the store and isn't its own, by name."""

        def now_ms(self) -> int:
            """The store's clock, milliseconds since 1970."""

        def wait(self, cursor: object, timeout_s: float) -> object:
            """A new cursor once records were added since `cursor` (None: at once), or after `timeout_s`."""
