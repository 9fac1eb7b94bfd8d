"""The joints of the registry's commands, which need no board: Git's driver must start fast."""

from __future__ import annotations

import os

from repokernel.adapters.merge_files import DiskMergeFiles
from repokernel.ops.merge_registry import merge_registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from repokernel.core.registry_join import Report


def merge_driver(cwd: str, current: str, other: str, base: str, name: str) -> tuple[Report, ...]:
    """What is to be said about the merge of the files at these paths, which now stands at `current`.

    Raises:
        RefusedError: `registry_conflict`.
        BrokenError: `registry_io`.
    """
    paths = [path and os.path.join(cwd, path) for path in (current, other, base)]
    return merge_registry(DiskMergeFiles(*paths), name)
