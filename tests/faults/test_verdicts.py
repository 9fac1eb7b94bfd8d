"""The judge of faulted runs sees what is wrong: a torn board, a success without an effect, words that aren't true."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from repokernel.cli.main import run
from tests.faults.bench import prepare
from tests.faults.operations import OPERATIONS, Operation
from tests.faults.syscalls import Call, Fault, Said
from tests.faults.verdicts import Run, board_of, problems_of
from tests.shell.runner import BOARD

RECORD = f"{BOARD}/claims/t1.00000002.json"
FSYNC = Call("fsync", 1, "3</b/claims>", "-1 EIO (Input/output error) (INJECTED)")
SYNCED = Call("fsync", 2, "3</b/claims>", "0")
READ = Call("read", 1, "3</b/claims/t1.00000001.json>", "-1 EIO (Input/output error) (INJECTED)")
DONE = Said(0, '{"ok": true}', "")


def failed(code: str, status: int = 3) -> Said:
    return Said(status, json.dumps({"ok": False, "error": {"code": code}}), "")


def operation(name: str) -> Operation:
    return next(one for one in OPERATIONS if one.name == name)


def whole(work: Path) -> None:
    run(("-C", str(work), *operation("claim").argv))


def nothing(work: Path) -> None:
    """The command had no effect."""


def empty(work: Path) -> None:
    (work / RECORD).write_bytes(b"")


def torn(work: Path) -> None:
    whole(work)
    (work / RECORD).write_bytes((work / RECORD).read_bytes()[:-40])


def other(work: Path) -> None:
    run(("-C", str(work), *operation("hold").argv))


def unlinked(work: Path) -> None:
    whole(work)
    record = json.loads((work / RECORD).read_bytes())
    text = json.dumps({**record, "prev": "0" * 64}, sort_keys=True, separators=(",", ":"))
    (work / RECORD).write_text(text + "\n", encoding="utf-8")


def littered(work: Path) -> None:
    (work / BOARD / "claims" / ".tmp-1-ab").write_bytes(b"")


def meddled(work: Path) -> None:
    (work / BOARD / "claims" / "t1.00000001.json").write_bytes(b"{}")


def foreign(work: Path) -> None:
    (work / BOARD / "claims" / "t1.json").write_bytes(b"{}")


def judged(
    folder: Path, effect: Callable[[Path], None], said: Said, point: Call = FSYNC, fault: Fault = Fault.EIO
) -> list[str]:
    """What the judge says of a claim that was struck at `point`."""
    work = folder / "work"
    prepare(operation("claim"), work)
    before = board_of(work)
    effect(work)
    one = Run(
        operation("claim"),
        fault,
        point,
        exempt=False,
        said=said,
        calls=[point],
        published=True,
        before=before,
        work=work,
    )
    return problems_of(one, set())


@pytest.mark.parametrize(
    ("effect", "said", "point", "fault"),
    [
        (nothing, failed("store_io"), FSYNC, Fault.EIO),
        (whole, failed("durability_unknown"), FSYNC, Fault.EIO),
        (whole, failed("store_io"), READ, Fault.EIO),
        (whole, DONE, READ, Fault.EINTR),
        (nothing, Said(-9, "", ""), FSYNC, Fault.SIGKILL),
        (whole, Said(-9, "", ""), FSYNC, Fault.SIGKILL),
        (littered, Said(-9, "", ""), FSYNC, Fault.SIGKILL),
    ],
)
def test_an_honest_end_is_accepted(
    tmp_path: Path, effect: Callable[[Path], None], said: Said, point: Call, fault: Fault
) -> None:
    assert judged(tmp_path, effect, said, point, fault) == []


@pytest.mark.parametrize(
    ("effect", "said", "problem"),
    [
        (nothing, DONE, "success is told, and the board is as it was"),
        (whole, DONE, "success is told after a sync that failed"),
        (whole, failed("store_io"), "the whole effect, and store_io is told"),
        (nothing, failed("defect"), "a defect"),
        (nothing, failed("bad_value", 2), "the status is 2"),
        (nothing, Said(3, "", ""), "no error is told"),
        (nothing, Said(1, "", "Traceback (most recent call last):\n"), "a defect"),
        (empty, failed("store_io"), "torn"),
        (torn, failed("store_io"), "torn"),
        (torn, Said(-9, "", ""), "torn"),
        (other, failed("store_io"), "is a hold, not a claim"),
        (unlinked, failed("durability_unknown"), "doctor: record_invalid"),
        (littered, failed("store_io"), "litter"),
        (meddled, failed("store_io"), "has changed"),
        (foreign, failed("store_io"), "doesn't belong there"),
    ],
)
def test_a_dishonest_end_is_seen(tmp_path: Path, effect: Callable[[Path], None], said: Said, problem: str) -> None:
    found = judged(tmp_path, effect, said)
    assert [text for text in found if problem in text], found


def test_a_sync_that_was_made_again_may_end_in_success(tmp_path: Path) -> None:
    work = tmp_path / "work"
    prepare(operation("claim"), work)
    before = board_of(work)
    whole(work)
    one = Run(operation("claim"), Fault.EINTR, FSYNC, False, DONE, [FSYNC, SYNCED], True, before, work)
    assert problems_of(one, set()) == []
