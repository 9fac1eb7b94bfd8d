"""The stores that the contract suite runs over: how to open each, and how to damage it from outside."""

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from repokernel.adapters.board_folder import Place, make
from repokernel.adapters.store_file import FileStore

if TYPE_CHECKING:
    from repokernel.core.ids import Key
    from repokernel.ports.store import Store

# names that look like records and are none, and what else people leave about
FOREIGN_NAMES = (
    "notes.txt",
    "t1.json",
    "t1.00000002.json~",
    "t1.00000002.json.bak",
    "t1.0000002.json",
    "t1.000000002.json",
    "t1.00000000.json",
    "t1x00000002.json",
    "t1.0000000x.json",
    "t1.+0000002.json",
    "t1.٠٠٠٠٠٠٠٢.json",
    "T1.00000002.json",
    ".t1.00000002.json",
    ".00000002.json",
    "t1..00000002.json",
    "t1.lock.00000001.json",
    "con.00000001.json",
    "-t1.00000002.json",
    "ü.00000001.json",
)


class Kit(Protocol):
    """One kind of store, in a place of its own."""

    folder: Path

    def open(self) -> "Store":
        """A further handle on the same store."""

    def lose(self, key: "Key", seq: int) -> None:
        """Take a published record away, as no operation ever does."""

    def plant(self, name: str) -> str:
        """Put something foreign under a name among the records; how `foreign` calls it."""


class FileKit:
    """The file store, in a board's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        make(Place(str(folder), repository=False), b"12345678", 0)

    def open(self) -> "Store":
        return FileStore(str(self.folder))

    def lose(self, key: "Key", seq: int) -> None:
        (self.folder / "claims" / f"{key}.{seq:08d}.json").unlink()

    def plant(self, name: str) -> str:
        (self.folder / "claims" / name).write_bytes(b"foreign")
        return f"claims/{name}"
