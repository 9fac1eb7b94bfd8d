"""What merging a registry needs of the world: the three files that Git hands over."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class MergeFiles(Protocol):
        """The two sides of a merge and their base."""

        def sides(self) -> tuple[bytes, bytes]:
            """Ours and theirs.

            Raises:
                BrokenError: `registry_io`.
            """

        def base(self) -> bytes | None:
            """What both started from; None if there is nothing to read."""

        def replace_ours(self, data: bytes) -> None:
            """Put `data` in the place of ours: whole and synced, or not at all.

            Raises:
                BrokenError: `registry_io`; ours is as it was.
            """
