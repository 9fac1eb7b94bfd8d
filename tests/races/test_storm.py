"""A storm of SIGKILLs and SIGSTOPs over sixteen workers; afterwards the logs and journals are all that is asked."""

import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from repokernel import Board, bootstrap
from tests.races.conftest import CONFIG
from tests.races.storm import Plan, few_attempts
from tests.races.storm_worker import name_of
from tests.workers import ROOT

if TYPE_CHECKING:
    from repokernel.core.record import Record

SEED = 3
WORKERS = 16
PATIENCE_S = 1_200
ENDINGS = ("done", "fail", "release")


class Line(NamedTuple):
    """One event of a worker's journal."""

    serial: int
    event: str
    task: str = ""
    token: int = 0
    how: str = ""
    code: str = ""


class Aftermath:
    """What a storm left behind: its report, the whole log by task, and every journal line by worker."""

    def __init__(self, board: Board, folder: Path, report: dict[str, Any], plan: Plan) -> None:
        self.board = board
        self.plan = plan
        self.killed: set[int] = set(report["killed"])
        self.stops = [tuple(one) for one in report["stopped"]]
        self.report = report
        self.logs: dict[str, list[Record]] = {
            name: list(board.history(name)) for name in map(name_of, range(plan.tasks))
        }
        self.journals: dict[int, list[Line]] = defaultdict(list)
        for path in sorted(folder.glob("slot-*.log")):
            for text in path.read_text(encoding="utf-8").splitlines():
                line = parsed(text)
                self.journals[line.serial].append(line)

    def lines(self, event: str) -> list[Line]:
        """All journal lines of one event."""
        return [line for lines in self.journals.values() for line in lines if line.event == event]

    def ended(self) -> dict[tuple[str, int], str]:
        """How the holder of each token ended it, for those that were ended by their holder."""
        found: dict[tuple[str, int], str] = {}
        for name, log in self.logs.items():
            for record in log:
                if record.event in ENDINGS:
                    assert found.setdefault((name, record.entry["token"]), record.event) == record.event
        return found

    def killed_in(self, event: str) -> list[Line]:
        """The last lines of those killed workers who were in the middle of `event`."""
        last = [self.journals[serial][-1] for serial in self.killed if self.journals[serial]]
        return [line for line in last if line.event == event]


def parsed(text: str) -> Line:
    """A line of a journal."""
    serial, event, *rest = text.split()
    if event not in ("got", "presenting", "accepted", "refused"):
        return Line(int(serial), event)
    task, token, *more = rest
    return Line(int(serial), event, task, int(token), *more)


def leftovers(board: Path) -> list[str]:
    """The processes that were started for this board and still exist."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes()
        except OSError:
            continue
        if str(board).encode() in text:
            found.append(path.parent.name)
    return found


@pytest.fixture
def aftermath(
    board: Board, place: Path, tmp_path: Path, scaled: Callable[[int], int], figure: Callable[..., None]
) -> Aftermath:
    """A storm of this run's size, from its first worker to its last (`figure` first: it counts the seconds)."""
    (place / "config.toml").write_text(CONFIG + 'cap = "20ms"\n', encoding="utf-8")
    plan = Plan(WORKERS, scaled(1_000), scaled(10_000), scaled(1_000), SEED)
    argv = [sys.executable, "-m", "tests.races.storm", str(place), json.dumps(plan._asdict())]
    # a worker dies with the storm, so that none is left even if this takes too long
    ended = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=scaled(PATIENCE_S))
    assert ended.returncode == 0, ended.stderr
    defects = [path.read_text(encoding="utf-8") for path in (tmp_path / "journals").glob("*.defect")]
    assert defects == []
    return Aftermath(board, tmp_path / "journals", json.loads(ended.stdout), plan)


def check_logs(after: Aftermath) -> None:
    """Each task done exactly once, or exhausted; tokens rise by one a claim; the limit holds."""
    for number, name in enumerate(map(name_of, range(after.plan.tasks))):
        log = after.logs[name]
        events = Counter(record.event for record in log)
        token = 0
        for record in log:
            token += record.event == "claim"
            assert (record.entry["token"], record.entry["epoch"]) == (token, 0)
            assert record.entry["attempts"] <= record.entry["max_attempts"]
        last = log[-1].entry
        if last["status"] == "failed":
            assert few_attempts(number)
            assert events["done"] == 0
            assert last["last_error"] is not None
            assert last["last_error"]["code"] == "attempts_exhausted"
        else:
            assert (last["status"], events["done"], log[-1].event) == ("done", 1, "done")


def claimed(after: Aftermath) -> set[tuple[str, int]]:
    """Every token that a claim in the log has given out."""
    return {(name, r.entry["token"]) for name, log in after.logs.items() for r in log if r.event == "claim"}


def check_journals(after: Aftermath) -> None:
    """What workers were told is what the log says, no more and no less."""
    ended = after.ended()
    got = Counter((line.task, line.token) for line in after.lines("got"))
    assert set(got) <= claimed(after)
    assert set(got.values()) == {1}
    accepted = Counter((line.task, line.token) for line in after.lines("accepted"))
    assert set(accepted.values()) == {1}
    for line in after.lines("accepted"):
        assert ended[line.task, line.token] == line.how
    for line in after.lines("refused"):
        assert line.code == "lease_lost"
        assert (line.task, line.token) not in ended
    # nobody but a killed worker has ended a token without hearing of it
    unheard = set(ended) - set(accepted)
    dead = {(line.task, line.token) for line in after.killed_in("presenting")}
    assert unheard <= dead


def check_zombies(after: Aftermath) -> None:
    """Whoever was stopped until another had the task was refused, and nothing of theirs is published."""
    assert len(after.stops) == after.plan.stops
    refused = {(line.serial, line.task, line.token) for line in after.lines("refused")}
    assert {(serial, task, token) for serial, task, token, _ in after.stops} <= refused


def check_outputs(after: Aftermath, place: Path) -> None:
    """Each output verifies, and lies in the folder of the token that was accepted."""
    done = {name: log[-1].entry for name, log in after.logs.items() if log[-1].event == "done"}
    assert [one.problem for one in after.board.verify(done, depth="sha256")] == [None] * len(done)
    for name, entry in done.items():
        assert entry["output"] is not None
        path = place / "outputs" / name / f"t{entry['token']}" / "out.txt"
        assert entry["output"]["uri"] == path.as_uri()
        assert path.read_text(encoding="utf-8").startswith(f"{name} token {entry['token']} ")


def takeovers(after: Aftermath) -> Counter[str]:
    """Claims that took a task from its owner, by how it was known that they may."""
    found: Counter[str] = Counter()
    for log in after.logs.values():
        for before, record in pairwise(log):
            if record.event == "claim" and before.entry["owner"] is not None:
                error = record.entry["last_error"]
                assert error is not None
                found["process gone" if "process is gone" in error["detail"] else "lease lapsed"] += 1
    return found


def test_in_a_storm_each_task_is_done_once_and_every_zombie_is_refused(
    aftermath: Aftermath, place: Path, figure: Callable[..., None]
) -> None:
    after, plan = aftermath, aftermath.plan
    assert len(after.killed) == len(after.report["killed"]) == plan.kills
    check_logs(after)
    check_journals(after)
    check_zombies(after)
    check_outputs(after, place)
    assert bootstrap.examine(str(place), str(place), fix=False).findings == []
    assert leftovers(place) == []
    taken = takeovers(after)
    ended = after.ended()
    presenting = after.killed_in("presenting")
    published = sum((line.task, line.token) in ended for line in presenting)
    counts = {
        "killed_while_claiming": len(after.killed_in("claiming")),
        "killed_after_claiming": len(claimed(after)) - len(after.lines("got")),
        "killed_while_presenting": len(presenting),
        "killed_after_publishing": published,
        "killed_while_renewing": len(after.killed_in("renewing")),
        "taken_from_the_dead": taken["process gone"],
        "taken_after_lapse": taken["lease lapsed"],
        "exhausted": sum(log[-1].entry["status"] == "failed" for log in after.logs.values()),
    }
    assert min(counts.values()) > 0, counts
    figure(
        "storm",
        kills=plan.kills,
        stops=plan.stops,
        tasks=plan.tasks,
        workers=plan.workers,
        takeovers=taken.total(),
        refused=len(after.lines("refused")),
        seed=plan.seed,
        records=sum(map(len, after.logs.values())),
        killed_while_idle=after.report["idle"],
        **counts,
    )
