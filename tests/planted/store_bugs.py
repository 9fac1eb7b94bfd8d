"""Bugs in how records and beats reach the disk: what SIGKILL alone can't reveal, and what faults do."""

import errno
import os
import stat
from typing import TYPE_CHECKING, Any

from repokernel.adapters import board_folder, outputs_file, publish, store_file
from repokernel.adapters.store_file import CLAIMS, FileStore

if TYPE_CHECKING:
    from repokernel.core.ids import Key
    from tests.planted.table import Patch

_SYNCING = (publish, store_file)
_LINKING = (publish, store_file, board_folder)


def _unsynced(patch: "Patch", *, folders: bool) -> None:
    real = publish.full_sync

    def full_sync(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode) is not folders:
            real(fd)

    for module in _SYNCING:
        patch.setattr(module, "full_sync", full_sync)


def file_not_synced(patch: "Patch") -> None:
    """A record gets its name before its contents are on the disk."""
    _unsynced(patch, folders=False)


def folder_not_synced(patch: "Patch") -> None:
    """Success is said before the name is on the disk."""
    _unsynced(patch, folders=True)


def create_then_write(patch: "Patch") -> None:
    """The name is taken first and filled afterwards: a crash in between leaves an empty claim."""

    def link_new(folder_fd: int, name: str, data: bytes) -> bool:
        try:
            fd = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666, dir_fd=folder_fd)
        except FileExistsError:
            return False
        os.write(fd, data)
        publish.full_sync(fd)
        os.close(fd)
        return True

    for module in _LINKING:
        patch.setattr(module, "link_new", link_new)


def beat_in_place(patch: "Patch") -> None:
    """A beat is emptied and written anew, so that a reader or a crash finds half of it."""

    def replace_whole(folder_fd: int, name: str, data: bytes) -> None:
        fd = os.open(name, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o666, dir_fd=folder_fd)
        os.write(fd, data)
        publish.full_sync(fd)
        os.close(fd)
        publish.full_sync(folder_fd)

    for module in (publish, store_file):
        patch.setattr(module, "replace_whole", replace_whole)


def sync_failure_swallowed(patch: "Patch") -> None:
    """A disk that says it couldn't sync is not listened to."""
    real = publish.full_sync

    def full_sync(fd: int) -> None:
        try:
            real(fd)
        except OSError:
            return

    for module in _SYNCING:
        patch.setattr(module, "full_sync", full_sync)


def interrupted_link_given_up(patch: "Patch") -> None:
    """A signal in the middle of link(2) makes the claim fail."""
    real = os.link

    def link(*given: Any, **named: Any) -> None:
        try:
            real(*given, **named)
        except InterruptedError as cause:
            raise OSError(errno.EIO, "interrupted") from cause

    patch.setattr(os, "link", link)


def last_writer_wins(patch: "Patch") -> None:
    """A record is renamed over whatever stands under its name."""

    def link_new(folder_fd: int, name: str, data: bytes) -> bool:
        publish.replace_whole(folder_fd, name, data)
        return True

    for module in _LINKING:
        patch.setattr(module, "link_new", link_new)


def lost_answer_is_a_loss(patch: "Patch") -> None:
    """A name that is taken means that somebody else was faster, even where the bytes are our own."""
    real = FileStore.append

    def append(self: FileStore, key: "Key", seq: int, data: bytes, *, stir: bool = False) -> bool:
        return not self._exists(key, seq) and real(self, key, seq, data, stir=stir)

    patch.setattr(FileStore, "append", append)


def names_freed_by_archiving(patch: "Patch") -> None:
    """Archiving removes old records, so that a late writer can create their names again."""

    def bury(self: FileStore, key: "Key", seq: int, data: bytes) -> None:
        os.unlink(f"{key}.{seq:08d}.json", dir_fd=self._fd(CLAIMS))

    patch.setattr(FileStore, "bury", bury)


def gap_is_filled(patch: "Patch") -> None:
    """A listing that lacks a record is taken as it is, and the missing name is written."""
    patch.setattr(FileStore, "_gap", lambda *_: None)


def output_not_synced(patch: "Patch") -> None:
    """`done` is durable before the output that it points to."""
    patch.setattr(outputs_file, "full_sync", lambda _: None)
    patch.setattr(outputs_file, "sync_folder", lambda _: None)


def output_not_looked_at(patch: "Patch") -> None:
    """`done` takes the worker's word for it."""
    patch.setattr(
        outputs_file.FileOutputs,
        "describe",
        lambda _self, where, at: {"uri": f"file://{where}", "bytes": 1, "sha256": "0" * 64, "written_at": at},
    )
