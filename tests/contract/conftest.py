"""Each test of the store contract runs once for every store."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.contract.stores import FileKit, Kit

if TYPE_CHECKING:
    from repokernel.ports.store import Store


def _file(folder: Path, patch: pytest.MonkeyPatch) -> Kit:
    return FileKit(folder)


def _file_with_names(folder: Path, patch: pytest.MonkeyPatch) -> Kit:
    """The file store where the system has no nameless files, as on macOS and NFS."""
    patch.delattr(os, "O_TMPFILE", raising=False)
    return FileKit(folder)


KITS: dict[str, Callable[[Path, pytest.MonkeyPatch], Kit]] = {
    "file": _file,
    "file-without-tmpfile": _file_with_names,
}


@pytest.fixture(params=KITS)
def kit(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kit:
    return KITS[request.param](tmp_path / "board", monkeypatch)


@pytest.fixture
def store(kit: Kit) -> "Store":
    return kit.open()
