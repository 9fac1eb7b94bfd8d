"""Merging the registry for Git: the joined file in the place of ours, or both sides between conflict markers."""

from __future__ import annotations

from repokernel.core.errors import error
from repokernel.core.registry_join import Refused
from repokernel.core.registry_merge import conflict, merge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from repokernel.core.registry_join import Report
    from repokernel.ports.registry import MergeFiles


def merge_registry(files: MergeFiles, name: str) -> tuple[Report, ...]:
    """What is to be said about the merge that now stands in the place of ours; `name` is the file's for messages.

    Raises:
        RefusedError: `registry_conflict`; both sides stand there between conflict markers, since Git would
            leave ours alone, without a word.
        BrokenError: `registry_io`; nothing was written.
    """
    ours, theirs = files.sides()
    done = merge(files.base(), ours, theirs)
    if isinstance(done, Refused):
        files.replace_ours(conflict(ours, theirs))
        told = f"{done.side}: {done.message}" if done.side else done.message
        said = f"{name} is not merged: {told}; both sides stand there between conflict markers"
        raise error("registry_conflict", said, path=name, side=done.side, fault=done.fault.value)
    if done.data != ours:
        files.replace_ours(done.data)
    return done.reports
