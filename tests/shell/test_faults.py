"""A full disk, a disk that fails, a read-only file system, an interrupted call: injected with strace."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

from tests.shell.hostile import FAULTS
from tests.shell.hostile.model import Effect, Fault
from tests.shell.runner import BOARD, Outcome, Rk, Verdict, check_error, check_screen, sample, set_up, snapshot
from tests.shell.strace import SystemCall, resolve, traced, unusable

_A_FEW = 3
_TRIES = 3  # another process that writes byte code, or edits the source, moves the count of calls
_UNUSABLE = unusable()

Board = dict[str, tuple[str, bytes]]

pytestmark = pytest.mark.skipif(bool(_UNUSABLE), reason=_UNUSABLE)


def _chosen() -> frozenset[str]:
    """A few of each operation."""
    by_operation: dict[str, list[str]] = {}
    for fault in FAULTS:
        by_operation.setdefault(f"{fault.argv[0]} {'head' in fault.name}", []).append(fault.name)
    return frozenset(name for names in by_operation.values() for name in sample(names, _A_FEW if names[3:] else 1))


_CHOSEN = _chosen()


def records(board: Board) -> list[str]:
    return sorted(name for name in board if name.startswith("claims/t1."))


def with_fault(fault: Fault, argv: tuple[str, ...], ready: Path, rk: Rk) -> tuple[Outcome, Path] | None:
    """What the command says when the call fails, and where; None where it makes no such call."""
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "TMPDIR": str(rk.scratch)}
    head = (records(snapshot(ready / BOARD)) or [""])[-1]
    for turn in range(_TRIES):
        dry, work = (ready.with_name(f"{name}{turn}") for name in ("dry", "work"))
        for copy in (dry, work):
            shutil.copytree(ready, copy, symlinks=True)
        said, calls = traced(dry, argv, env)
        assert said.status == 0, f"the dry run fails: {said.text}"
        call = resolve(fault, calls, dry, head)
        if call is None:
            return None
        said, calls = traced(work, argv, env, f"{call.name}:error={fault.error}:when={call.number}")
        if _same(call, next((one for one in calls if one.injected), None), dry, work):
            return said, work
    pytest.fail(f"the call that was to fail was another one each time, {_TRIES} times")


def _same(planned: SystemCall, hit: SystemCall | None, dry: Path, work: Path) -> bool:
    """Whether the call that failed is the one that the dry run chose; names aside are random."""
    if hit is None:
        return False
    folders = [os.path.dirname(path).replace(str(dry), str(work)) for path in planned.paths]
    return hit.name == planned.name and [os.path.dirname(path) for path in hit.paths] == folders


def check_effect(verdict: Verdict, fault: Fault, said: Outcome, before: Board, after: Board) -> None:
    new = sorted(after.keys() - before.keys())
    changed = sorted(name for name in before if after.get(name) != before[name])
    untouched = not new and not changed
    beat = fault.argv[0] == "renew"
    links = not beat and _links(new, before, after)
    dropped = [name for name in changed if name.startswith("beats/")]  # nothing reads the beat of an ended token
    published = (
        (not changed and len(new) == 1 and new[0].startswith("beats/")) if beat else links and changed == dropped
    )
    holds = {
        Effect.UNCHANGED: untouched,
        Effect.PUBLISHED: published,
        Effect.EITHER: published or (untouched and said.status != 0),
    }[fault.effect]
    verdict.expect(holds, f"the effect isn't: {fault.effect.value}; new: {new}, changed: {changed}")


def _links(new: list[str], before: Board, after: Board) -> bool:
    if len(new) != 1 or not new[0].startswith("claims/t1."):
        return False
    record = json.loads(after[new[0]][1])
    heads = records(before)
    prev = hashlib.sha256(before[heads[-1]][1]).hexdigest() if heads else None
    return bool(record["seq"] == len(heads) + 1 and record["prev"] == prev)


def check_recovery(verdict: Verdict, fault: Fault, said: Outcome, work: Path, rk: Rk) -> None:
    """The same without the fault, and the doctor."""
    again = rk(work, fault.argv)
    wanted = (0,) if fault.effect is Effect.UNCHANGED and said.status == 3 else (0, 1)
    verdict.expect(again.status in wanted, f"repeated without the fault: {again.text}")
    doctor = rk(work, ("doctor",))
    verdict.expect(doctor.status == 0, f"afterwards: {doctor.text}")


@pytest.mark.parametrize(
    "fault",
    [pytest.param(one, id=one.name, marks=[] if one.name in _CHOSEN else [pytest.mark.nightly]) for one in FAULTS],
)
def test_a_failing_call_is_reported_and_never_tears_the_board(rk: Rk, tmp_path: Path, fault: Fault) -> None:
    ready = tmp_path / "ready"
    ready.mkdir()
    rk.make_board(ready)
    for name, content in fault.files.items():
        (ready / name).write_bytes(content)
    set_up(rk, ready, fault.setup)
    before = snapshot(ready / BOARD)
    rk.defects()
    argv = (*fault.argv, "--json") if fault.code else fault.argv
    outcome = with_fault(fault, argv, ready, rk)
    if outcome is None:
        assert fault.optional, "the command makes no such call"
        return
    said, work = outcome
    verdict = Verdict()
    allowed = fault.among if fault.exit is None else (fault.exit,)
    verdict.expect(said.status in allowed, f"the status is {said.status}, wanted is {' or '.join(map(str, allowed))}")
    check_screen(verdict, said, as_json=bool(fault.code))
    if said.status != 0:
        check_error(verdict, said, as_json=bool(fault.code), code=fault.code)
    check_effect(verdict, fault, said, before, snapshot(work / BOARD))
    check_recovery(verdict, fault, said, work, rk)
    verdict.problems += [f"a defect: {text}" for text in rk.defects()]
    assert not verdict.problems, f"{fault.name} ({fault.why}):\n" + "\n".join([*verdict.problems, said.text])
