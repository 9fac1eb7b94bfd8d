"""A power loss at any point of an operation leaves every task as before it or as after it, and a board that works.

Each operation is traced as it really runs; `crash_states` says what a loss may leave. Every such state is laid
down where the operation ran and looked at by the real operations, then carried on from: once by repeating the
operation, once by another worker who comes when all leases have lapsed.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from repokernel.adapters.board_folder import Place, make
from repokernel.adapters.system import wall_ms
from repokernel.core.output import Depth
from repokernel.core.plan import parse_import
from repokernel.ops.add import add, import_tasks
from repokernel.ops.archive import archive
from repokernel.ops.carry import done, fail, release, renew
from repokernel.ops.claim import claim, claim_next
from repokernel.ops.steer import cancel, hold, note
from repokernel.ops.verify import verify
from tests.boards import ANN, BEN, FIRST, LEASE_MS, MINUTE_MS, BoardHere, Clock
from tests.faults.crash_states import Operation, Run, Spot, problem, read, seen, states
from tests.faults.crash_trace import Said, Trace, lay, rk, snapshot, traced

HOUR_MS = 60 * MINUTE_MS
STATES_MAX = 5_000
ASIDE = ", named aside"
ENV = {"RK_ROLE": "writer", "RK_INSTANCE": "ann"}
RUN_RK = "from repokernel.__main__ import main\nsys.exit(main())\n"
# a file system without nameless files: records are written aside under a name
NAMED_ASIDE = f"import os, sys\ndel os.O_TMPFILE\n{RUN_RK}"
# between the link of our record and the sync of its folder another process appends the next one, and ends
OVERTAKEN = f"""
import os, stat, subprocess, sys
real = os.fsync
def fsync(fd):
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        os.fsync = real
        other = [sys.executable, "-m", "repokernel", "hold", "t1", "--reason", "wait"]
        subprocess.run(other, stdout=subprocess.DEVNULL, check=True)
    real(fd)
os.fsync = fsync
{RUN_RK}"""
TWO = json.dumps([{"id": "n1", "title": "one"}, {"id": "n2", "title": "two"}])


def _init(spot: Spot) -> None:
    make(Place(str(spot.root), repository=False), os.urandom(8), spot.clock())


def _add(board: BoardHere) -> None:
    board.add("t1")


def _add_three(board: BoardHere) -> None:
    for name in ("t1", "t2", "t3"):
        board.add(name, priority=50 if name == "t2" else 100)


def _held(board: BoardHere, by: str = ANN, lease_ms: int = 3 * HOUR_MS, **fields: object) -> None:
    board.add("t1", **fields)
    board.claim(by=by, lease_ms=lease_ms)


def _renewed(board: BoardHere) -> None:
    _held(board)
    board.clock.advance(1000)
    renew(board.world, FIRST, ANN, None, None)


def _finished(board: BoardHere) -> None:
    board.add("t1")
    board.finish()


def _outlived(board: BoardHere) -> None:
    _finished(board)
    shutil.rmtree(board.folder / "out")


def _done(spot: Spot, where: str, *names: str) -> None:
    spot.write(*names)
    done(spot.world(), FIRST, ANN, None, where)


def _import(spot: Spot) -> None:
    import_tasks(spot.world(), parse_import(TWO.encode()), ANN, output=None)


def _claim(spot: Spot) -> None:
    claim(spot.world(), FIRST, ANN, LEASE_MS)


def _fail(spot: Spot) -> None:
    fail(spot.world(), FIRST, ANN, None, "broken", "it broke")


def _renew(spot: Spot) -> None:
    renew(spot.world(), FIRST, ANN, None, None)


def _overtaken(spot: Spot) -> None:
    _claim(spot)
    hold(spot.world(), FIRST, ANN, "wait")


def _unmade(board: BoardHere) -> None:
    shutil.rmtree(board.root)


OWN = ".repokernel/outputs/t1/t1"
FAIL = ("fail", "t1", "--code", "broken", "--detail", "it broke")
WORKER = ("sh", "-c", 'printf text > "$RK_OUTPUT_DIR/o.md"')
# a new command is a row: its words, the same by way of `ops`, and what is there before
OPERATIONS = [
    Operation("init", ("init",), _init, setup=_unmade),
    Operation("init of a deep folder", ("init", "--board", "a/b/c/d"), _init, setup=_unmade, root="a/b/c/d"),
    Operation(
        "add",
        ("add", "one", "--id", "n1", "--op-id", "x"),
        lambda spot: add(spot.world(), {"title": "one", "id": "n1"}, ANN, op_id="x"),
    ),
    Operation("add --from", ("add", "--from", "two.json"), _import, setup=lambda board: board.write("two.json", TWO)),
    Operation("claim", ("claim", "t1"), _claim, setup=_add),
    Operation(
        "claim --next",
        ("claim", "--next", "--op-id", "x"),
        lambda spot: claim_next(spot.world(), ANN, LEASE_MS, op_id="x"),
        setup=_add_three,
    ),
    Operation("takeover", ("claim", "t1"), _claim, setup=partial(_held, by=BEN, lease_ms=LEASE_MS)),
    Operation("first renew", ("renew", "t1"), _renew, setup=_held),
    Operation("next renew", ("renew", "t1"), _renew, setup=_renewed),
    Operation(
        "done with a file",
        ("done", "t1", "--output", "o.md"),
        lambda spot: _done(spot, "o.md", "o.md"),
        setup=_renewed,
        before="printf text > o.md",
    ),
    Operation(
        "done with a file in a new folder",
        ("done", "t1", "--output", "out/o.md"),
        lambda spot: _done(spot, "out/o.md", "out/o.md"),
        setup=_held,
        before="mkdir out; printf text > out/o.md",
    ),
    Operation(
        "done with a folder",
        ("done", "t1", "--output", "out"),
        lambda spot: _done(spot, "out", "out/a", "out/b"),
        setup=_held,
        before="mkdir out; printf text > out/a; printf text > out/b",
    ),
    Operation(
        "done with a folder of the board's",
        ("done", "t1", "--output", OWN),
        lambda spot: _done(spot, OWN, f"{OWN}/a", f"{OWN}/b"),
        setup=_held,
        before=f"mkdir {OWN[:-3]} {OWN}; printf text > {OWN}/a; printf text > {OWN}/b",
    ),
    Operation("fail", FAIL, _fail, setup=_held),
    Operation("last fail", FAIL, _fail, setup=partial(_held, max_attempts=1)),
    Operation("release", ("release", "t1"), lambda spot: release(spot.world(), FIRST, ANN, None), setup=_renewed),
    Operation(
        "hold", ("hold", "t1", "--reason", "wait"), lambda spot: hold(spot.world(), FIRST, ANN, "wait"), setup=_held
    ),
    Operation(
        "note of the holder",
        ("note", "t1", "words"),
        lambda spot: note(spot.world(), FIRST, ANN, "words"),
        setup=_renewed,
        stepwise=True,
    ),
    Operation("cancel", ("cancel", "t1"), lambda spot: cancel(spot.world(), FIRST, ANN), setup=_held),
    Operation(
        "verify",
        ("verify", "t1"),
        lambda spot: verify(spot.world(), [FIRST], Depth.SIZE),
        setup=_outlived,
        status=1,
    ),
    Operation(
        "archive", ("archive", "t1"), lambda spot: archive(spot.world(), [FIRST], 0), setup=_finished, stepwise=True
    ),
    Operation("work", ("work", "--", *WORKER), None, setup=_add_three, stepwise=True),
]
TWO_AT_ONCE = Operation(
    "claim, overtaken", ("claim", "t1"), _overtaken, setup=_add, program=("-c", OVERTAKEN), ordered=True, stepwise=True
)


@contextmanager
def run(operation: Operation) -> Iterator[Run]:
    """Trace an operation on a board of its own; the folder is removed afterwards."""
    fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="rk-crash-", dir=fast) as scratch:
        folder = Path(scratch).resolve() / "work"
        board = BoardHere(folder)
        board.clock.now_ms = wall_ms() - HOUR_MS
        operation.setup(board)
        spot = Spot(folder, folder / operation.root, Clock())
        readings = [read(spot)]
        command = rk(operation.words, operation.before, operation.program)
        trace = traced(command, folder, Path(scratch, "trace"), ENV, operation.status)
        spot.clock.now_ms = wall_ms() + 1000
        steps = seen(trace)
        assert steps[-1] == snapshot(folder), "the trace doesn't explain what the operation left"
        for step in steps[1:] if operation.stepwise else steps[-1:]:
            lay(folder, step)
            readings.append(read(spot))
        yield Run(operation, spot, readings, _last_said(trace) if operation.stepwise else trace)


def _last_said(trace: Trace) -> Trace:
    """Without what was said of the steps before the last."""
    said = [place for place, effect in enumerate(trace.effects) if isinstance(effect, Said)][:-1]
    return trace._replace(effects=[effect for place, effect in enumerate(trace.effects) if place not in said])


def _aside(operation: Operation) -> Operation:
    return replace(operation, name=operation.name + ASIDE, program=("-c", NAMED_ASIDE))


@pytest.mark.parametrize(
    "operation", [*OPERATIONS, *map(_aside, OPERATIONS), TWO_AT_ONCE], ids=lambda operation: operation.name
)
def test_a_power_loss_leaves_an_operation_whole_or_undone(
    operation: Operation, scaled: Callable[[int], int], figure: Callable[..., None]
) -> None:
    with run(operation) as traced_run:
        trace = traced_run.trace
        found = states(trace, scaled(STATES_MAX), operation.name, ordered=operation.ordered)
        problems = [said for state in found.states if (said := problem(traced_run, state)) is not None]
    coverage = "all" if found.complete else "sampled"
    facts = {"states": len(found.states), "effects": len(trace.effects), "coverage": coverage}
    print(operation.name, facts)  # noqa: T201 - shown where it fails
    assert not problems, f"{len(problems)} of {len(found.states)} states:\n" + "\n".join(problems[:5])
    figure("crash_states", operation=operation.name, **facts)
