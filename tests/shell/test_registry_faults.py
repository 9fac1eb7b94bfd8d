"""Every system call of the merge driver made to fail, one a run: our side is as it was, or the whole result."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from repokernel.core.registry_join import Refused
from repokernel.core.registry_merge import conflict, merge
from tests.shell.runner import Outcome
from tests.shell.strace import SystemCall, traced, unusable

_UNUSABLE = unusable()
pytestmark = pytest.mark.skipif(bool(_UNUSABLE), reason=_UNUSABLE)

OURS = b'[{"id":"a","status":"done"}]'
SIDES = {"merged": b'[{"id":"b","status":"done"}]', "refused": b"<<<<<<< no registry"}
ARGV = ("registry-merge-driver", "--current", "A", "--other", "B", "--base", "O")
ERRORS = ("EIO", "ENOSPC")


def driven(folder: Path, theirs: bytes, inject: str = "") -> tuple[Outcome, list[SystemCall]]:
    folder.mkdir()
    for name, data in (("A", OURS), ("B", theirs), ("O", b"[]")):
        (folder / name).write_bytes(data)
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "TMPDIR": str(folder.parent)}
    said, calls = traced(folder, ARGV, env, inject)
    ours = [number for number, call in enumerate(calls) if str(folder / "A") in call.paths]  # before: the interpreter
    return said, [call for call in calls[ours[0] :] if any(path.startswith(str(folder)) for path in call.paths)]


def faults(calls: list[SystemCall]) -> Iterator[str]:
    for call in calls:
        for error in ERRORS:
            yield f"{call.name}:error={error}:when={call.number}"


@pytest.mark.parametrize("outcome", SIDES)
def test_our_side_is_as_it_was_or_the_whole_result(tmp_path: Path, outcome: str) -> None:
    theirs = SIDES[outcome]
    done = merge(b"[]", OURS, theirs)
    result = conflict(OURS, theirs) if isinstance(done, Refused) else done.data
    said, calls = driven(tmp_path / "dry", theirs)
    assert said.status == int(isinstance(done, Refused))
    assert {"openat", "read", "write", "fsync"} <= {call.name for call in calls}
    hit = 0
    for number, inject in enumerate(faults(calls)):
        folder = tmp_path / str(number)
        said, after = driven(folder, theirs, inject)
        hit += any(call.injected for call in after)
        found = (folder / "A").read_bytes()
        assert found in (OURS, result), inject
        assert said.status in (0, 1, 3), (inject, said.text)
        assert found == result or said.status == 3, (inject, said.text)
        assert b"Traceback" not in said.err, inject
        assert not [name for name in os.listdir(tmp_path) if name.startswith("rk-defect")], inject
        assert (folder / "B").read_bytes() == theirs
    assert hit >= 10
