"""Outputs: how deep to look, what a folder's digest is, and whether what is there is what was recorded."""

from __future__ import annotations

from enum import StrEnum

from repokernel.core import jsontext
from repokernel.core.record import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NamedTuple

    from repokernel.core.entry import Output, OutputFile

    class Problem(NamedTuple):
        """Why an output is not usable: a code of `errors.CODES` and what was seen."""

        code: str
        detail: str
else:
    from collections import namedtuple

    Problem = namedtuple("Problem", "code detail")

FILES_MAX = 10_000


class Depth(StrEnum):
    """How deep a reader checks: that it is there, its size, or its content."""

    EXISTS = "exists"
    SIZE = "size"
    SHA256 = "sha256"


def folder_output(uri: str, files: Sequence[OutputFile], written_at: str) -> Output:
    """The output of a folder: its bytes are the sum, its sha256 that of the canonical manifest."""
    ordered = sorted(files, key=lambda one: one["path"])
    return {
        "uri": uri,
        "bytes": sum(one["bytes"] for one in ordered),
        "sha256": digest(jsontext.canonical(ordered)),
        "written_at": written_at,
        "files": ordered,
    }


def size_problem(name: str, bytes_expected: int, bytes_seen: int) -> Problem | None:
    """What is wrong with a size, or None."""
    if bytes_expected == bytes_seen:
        return None
    return Problem("output_mismatch", f"{name} has {bytes_seen:,} bytes, recorded were {bytes_expected:,}")


def digest_problem(name: str, sha256_expected: str, sha256_seen: str) -> Problem | None:
    """What is wrong with a content, or None."""
    if sha256_expected == sha256_seen:
        return None
    return Problem("output_mismatch", f"{name} has sha256 {sha256_seen[:12]}…, recorded was {sha256_expected[:12]}…")
