"""What came of a run with a fault: judged by what it said, by the board, and by how one goes on from there.

The three rules: (1) success means that the whole effect is there and was synced, a failure says so and
leaves the board as it was or with the whole effect; (2) `rk doctor` finds nothing; (3) nobody has to mend
anything: the same command again, or another worker once the lease is over, goes on.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from repokernel.adapters.board_folder import settings
from repokernel.adapters.outputs_file import FileOutputs, from_uri
from repokernel.adapters.store_file import FileStore
from repokernel.adapters.system import Machine
from repokernel.bootstrap import examine
from repokernel.cli.main import run
from repokernel.core.errors import RkError
from repokernel.core.ids import Key, TaskId
from repokernel.core.lease import beat_problem
from repokernel.core.record import decode
from repokernel.ops.claim import claim
from repokernel.ports.world import World
from tests.faults.operations import Beat, Operation
from tests.faults.syscalls import Call, Fault, Said
from tests.shell.runner import BOARD, snapshot

_ASIDE = ".tmp-"
_BEAT = "beats/t1.00000001.json"
_MONTH_MS = 31 * 24 * 3600 * 1000
_BROKEN = 3
_WRITABLE = ("O_WRONLY", "O_RDWR")
_CHANGES = frozenset({"close", "fdatasync", "fsync", "link", "linkat", "mkdir", "rename", "renameat", "renameat2",
                      "unlink", "unlinkat", "utimensat", "write"})  # fmt: skip

Board = dict[str, tuple[str, bytes]]


class Effect(StrEnum):
    """How much of an operation's effect a board shows."""

    BEFORE = "as it was"
    PART = "a part of the effect"
    WHOLE = "the whole effect"


class Run(NamedTuple):
    """One faulted run, and what is needed to judge it."""

    operation: Operation
    fault: Fault
    point: Call
    exempt: bool  # the interpreter's own call: it can't be asked to say what went wrong
    said: Said
    calls: Sequence[Call]  # those of the point's name
    published: bool  # whether everything had its name when the fault came
    before: Board
    work: Path


def changes(call: Call) -> bool:
    """Whether a call writes, syncs, names or lets go of something."""
    if call.name in ("open", "openat"):
        return any(flag in call.args for flag in _WRITABLE)
    return call.name in _CHANGES


def board_of(work: Path) -> Board:
    """All that lies in the board of a working folder."""
    return snapshot(work / BOARD)


def effect_of(operation: Operation, before: Board, after: Board) -> tuple[Effect, list[str]]:
    """How much of the effect is there, and what is there besides or torn."""
    now = {name: what for name, what in after.items() if not _is_aside(name)}
    steps = operation.steps
    different = {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)}
    there = [name for name in steps if name in different and name in now]
    odd = [] if there == steps[: len(there)] else [f"out of order: {there}"]
    allowed = {*steps, _BEAT, *(("archive",) if operation.kept else ())}
    odd += [f"{name} doesn't belong there, has changed or is gone" for name in sorted(different - allowed)]
    odd += [f"{name} is gone" for name in steps if name in before and name not in now]
    for name in there:
        odd += _step_problems(operation, name, before, now)
    written, beat_odd = _beat(operation, before, now, recorded=bool(there))
    odd += beat_odd
    whole = len(there) == len(steps) and (written or operation.beat is not Beat.WRITTEN)
    return Effect.WHOLE if whole else Effect.PART if there else Effect.BEFORE, odd


def _is_aside(name: str) -> bool:
    return name.rpartition("/")[2].startswith(_ASIDE)


def _step_problems(operation: Operation, name: str, before: Board, now: Board) -> list[str]:
    """What is wrong with one file of the effect."""
    events = {f"claims/{record}.json": event for record, event in operation.records}
    if name in events:
        return _record_problems(name, events[name], now[name][1])
    buried = [before[f"claims/{record}.json"][1] for record in operation.buried]
    if name not in before:
        return [] if now[name][1] == b"".join(buried) else [f"{name} isn't what was to be kept"]
    key, seq = _name_of(name)
    try:
        stone = decode(now[name][1], key, seq, name)
    except RkError as cause:
        return [f"torn: {cause.message}"]
    right = stone.tombstone and stone.digest == hashlib.sha256(before[name][1]).hexdigest()
    return [] if right else [f"{name} is no tombstone of what it was"]


def _name_of(name: str) -> tuple[Key, int]:
    key, _, seq = name.removeprefix("claims/").removesuffix(".json").rpartition(".")
    return Key(key), int(seq)


def _record_problems(name: str, event: str, data: bytes) -> list[str]:
    try:
        record = decode(data, *_name_of(name), name)
    except RkError as cause:
        return [f"torn: {cause.message}"]
    problems = [] if record.event == event else [f"{name} is a {record.event}, not a {event}"]
    output = record.entry["output"]
    if output is not None:
        content = Path(from_uri(output["uri"])).read_bytes()
        if hashlib.sha256(content).hexdigest() != output["sha256"]:
            problems.append(f"{name} vouches for another output than is there")
    return problems


def _beat(operation: Operation, before: Board, after: Board, *, recorded: bool) -> tuple[bool, list[str]]:
    """Whether the beat was written, and what is wrong with it."""
    was, now = before.get(_BEAT), after.get(_BEAT)
    if was == now:
        return False, []
    if now is None:
        allowed = operation.beat is Beat.DROPPED and recorded
        return False, [] if allowed else ["the beat of a living token is gone"]
    problem = "is not a file" if now[0] != "file" else beat_problem(now[1])
    if operation.beat not in (Beat.WRITTEN, Beat.WRITTEN_TOO):
        problem = "has changed"
    return True, [f"the beat {problem}"] if problem else []


def code_of(said: Said) -> str | None:
    """The code of the error that was told, if one was told in the one form."""
    if said.out == "" and said.err.startswith("rk: standard output can't be written"):
        return "output_unwritten"
    try:
        document: dict[str, Any] = json.loads(said.out)
        return str(document["error"]["code"])
    except (ValueError, KeyError, TypeError):
        return None


def problems_of(one: Run, known: set[str]) -> list[str]:
    """Everything that is wrong after a faulted run; `known` remembers what was shown of boards as they were."""
    after = board_of(one.work)
    effect, problems = effect_of(one.operation, one.before, after)
    problems += _word_problems(one, effect)
    problems += [f"a report of a defect, though the fault was in a call of ours: {effect}"] if _defect(one) else []
    litter = [name for name in after if _is_aside(name)]
    if litter and one.fault is not Fault.SIGKILL and not one.exempt and not one.point.name.startswith("unlink"):
        problems.append(f"litter though nobody was killed: {litter}")
    if after == one.before and not problems:
        if one.operation.name in known:
            return []
        known.add(one.operation.name)
    return problems + _way_on(one, effect)


def _defect(one: Run) -> bool:
    told = "Traceback" in one.said.err or "Exception ignored" in one.said.err or code_of(one.said) == "defect"
    return told and not one.exempt


def _word_problems(one: Run, effect: Effect) -> list[str]:
    """Whether the status and the words are true."""
    status, code = one.said.status, code_of(one.said)
    if status == 0:
        problems = [] if effect is Effect.WHOLE else [f"success is told, and the board is {effect}"]
        return problems + _sync_problems(one)
    if one.fault is Fault.SIGKILL:
        return []
    problems = []
    if effect is Effect.PART and one.operation.whole:
        problems.append(f"{effect}, and {code} is told")
    if one.exempt:
        return problems
    if status != _BROKEN and code != _users_fault(one):
        problems.append(f"the status is {status}, the code {code}")
    if code is None:
        problems.append("no error is told in the one form")
    looks = one.published and not changes(one.point)  # what was looked at afterwards couldn't be read
    if effect is Effect.WHOLE and not looks and code not in ("durability_unknown", "output_unwritten"):
        problems.append(f"{effect}, and {code} is told")
    return problems


def _users_fault(one: Run) -> str:
    """The code where the status is 2: what the user has pointed at can't be read."""
    if one.point.name == "getcwd":
        return "bad_value"
    given = {str(one.work / name) for name in one.operation.files}
    return "bad_input" if given & set(one.point.paths) else ""


def _sync_problems(one: Run) -> list[str]:
    """A sync that failed can't end in success, unless it was made again and succeeded."""
    if one.point.name not in ("fsync", "fdatasync") or one.fault is Fault.SIGKILL:
        return []
    if one.operation.beat is Beat.WRITTEN_TOO and any(f"{BOARD}/beats" in path for path in one.point.paths):
        return []  # not a part of what success is told about
    later = one.calls[one.point.number :]
    again = any(call.paths == one.calls[one.point.number - 1].paths and not call.failed for call in later)
    return [] if again else ["success is told after a sync that failed"]


def _way_on(one: Run, effect: Effect) -> list[str]:
    """What stands in the way of the doctor, of another worker and of a repetition."""
    operation, problems = one.operation, findings(one.work)
    aside = one.work.with_name("aside")
    shutil.copytree(one.work, aside)
    try:
        code = another_worker(aside, operation.task)
        wanted = operation.next_after if effect is Effect.WHOLE else operation.next_before
        if effect is not Effect.PART and code != wanted:
            problems.append(f"another worker: {code or 'claimed'} instead of {wanted or 'claimed'}")
        problems += findings(aside)
    finally:
        shutil.rmtree(aside)
    said = ask(one.work, operation.argv)
    first_time = effect is not Effect.WHOLE and said not in operation.again and "refused" not in said
    if not first_time and said not in operation.again:
        problems.append(f"repeated without the fault: {said}")
    then, odd = effect_of(operation, one.before, board_of(one.work))
    problems += odd + findings(one.work)
    if then is not Effect.WHOLE:
        problems.append(f"repeated without the fault, and the board is {then}")
    return problems


def findings(work: Path) -> list[str]:
    """What `rk doctor` finds."""
    return [f"doctor: {one['code']}: {one['detail']}" for one in examine(None, str(work), fix=False).findings]


def ask(work: Path, argv: Sequence[str]) -> str:
    """The outcome of a command in this process, or `refused: ` and the code."""
    try:
        return str(run(("-C", str(work), *argv)).document["outcome"])
    except RkError as cause:
        return cause.code if cause.code == "id_taken" else f"refused: {cause.code}"


def another_worker(work: Path, task: str) -> str:
    """What another worker who wants the task gets when every lease is over: nothing (it is theirs) or a code."""
    root = str(work / BOARD)

    def in_a_month() -> int:
        return time.time_ns() // 1_000_000 + _MONTH_MS

    configured: Callable[[], Any] = lambda: settings(root)  # noqa: E731 - a port, not a function of this module
    world = World(FileStore(root, in_a_month), Machine(), FileOutputs(root, str(work)), configured, repository=False)
    try:
        claim(world, TaskId(task), "other@elsewhere", 60_000)
    except RkError as cause:
        return cause.code
    return ""
