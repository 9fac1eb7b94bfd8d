"""The merge of a registry's bytes: what Git hands over in, the merged file or the reason against it out."""

from __future__ import annotations

from repokernel.core.registry import Fault, Unreadable, read, write
from repokernel.core.registry_join import SIDES, Kind, Refused, Report, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    class Merged(NamedTuple):
        """The merged file, and the reports about it in a fixed order."""

        data: bytes
        reports: tuple[Report, ...]

else:
    from collections import namedtuple

    Merged = namedtuple("Merged", "data reports")


def merge(base: bytes | None, ours: bytes, theirs: bytes) -> Merged | Refused:
    """The merge of two files against their base; a base that is none, empty or unreadable removes nothing."""
    read_sides = []
    for side, data in zip(SIDES, (ours, theirs), strict=True):
        found = read(data)
        if isinstance(found, Unreadable):
            return Refused(found.fault, side, found.message)
        read_sides.append(found)
    before = Unreadable(Fault.EMPTY, "there is none") if base is None else read(base)
    reports: tuple[Report, ...] = ()
    if isinstance(before, Unreadable):
        reports = (Report(Kind.BASE_UNREADABLE, before.message),)
    done = join(None if isinstance(before, Unreadable) else before, *read_sides)
    if isinstance(done, Refused):
        return done
    return Merged(write(done.registry), reports + done.reports)


def conflict(ours: bytes, theirs: bytes) -> bytes:
    """Both sides whole between ordinary conflict markers."""
    return b"<<<<<<< ours\n%s=======\n%s>>>>>>> theirs\n" % (_ended(ours), _ended(theirs))


def _ended(data: bytes) -> bytes:
    return data if not data or data.endswith(b"\n") else data + b"\n"
