"""Looking at a board: list, status, why, verify, require, history, doctor. Reads never write."""

from collections.abc import Callable

import pytest

from repokernel.bootstrap import examine
from repokernel.core.ids import TaskId
from repokernel.core.output import Depth
from repokernel.core.times import format_instant
from repokernel.ops import carry, steer
from repokernel.ops.add import add
from repokernel.ops.history import board_history
from repokernel.ops.log import history, require_head
from repokernel.ops.query import EVERYTHING, list_tasks, status, why
from repokernel.ops.verify import require, verify
from tests.boards import ANN, BEN, FIRST, LEASE_MS, MINUTE_MS, PERSON, BoardHere, code_of, refusal


@pytest.fixture
def busy(board: BoardHere) -> BoardHere:
    """A board with a task in every state."""
    board.add("done")
    board.finish(TaskId("done"))
    board.add("unusable", epic="e1")
    board.finish(TaskId("unusable"))
    (board.folder / "out" / "unusable-1.md").unlink()
    verify(board.world, [TaskId("unusable")], Depth.SIZE)
    board.add("stale")
    board.claim(TaskId("stale"))
    board.lapse()
    board.add("held", epic="e1")
    board.claim(TaskId("held"), BEN)
    board.add("ready", epic="e1", priority=7)
    board.add("after", depends_on=["held"])
    board.add("stopped", hold="no")
    board.add("later", not_before=format_instant(board.clock.now_ms + MINUTE_MS))
    add(board.world, {"id": "plan", "title": "t"}, PERSON, planned=True)
    board.add("asks")
    carry.ask(board.world, TaskId("asks"), ANN, board.claim(TaskId("asks"))["token"], "which?")
    board.add("failed", max_attempts=1)
    carry.fail(board.world, TaskId("failed"), ANN, board.claim(TaskId("failed"))["token"], "flaky", "")
    board.add("gone")
    steer.cancel(board.world, TaskId("gone"), PERSON)
    board.add("never", depends_on=["gone"])
    board.add("torn")
    (board.root / "claims" / "torn.00000002.json").write_bytes(b'{"record": 1')
    return board


def ids(board: BoardHere, **wanted: object) -> list[str]:
    found = list_tasks(board.another(), EVERYTHING._replace(**wanted))  # type: ignore[arg-type]
    return [row.entry["id"] for row in found.rows]


def test_a_list_has_every_task_and_names_those_that_cant_be_read(busy: BoardHere) -> None:
    listing = list_tasks(busy.another(), EVERYTHING)
    assert listing.rows[0].entry["id"] == "ready"
    assert len(listing.rows) == 13
    assert [(one["id"], one["code"]) for one in listing.faults] == [("torn", "record_invalid")]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"status": frozenset({"done"})}, ["done", "unusable"]),
        ({"status": frozenset({"failed", "cancelled"})}, ["failed", "gone"]),
        ({"epic": "e1"}, ["ready", "unusable", "held"]),
        ({"ready": True}, ["ready", "stale"]),
        ({"stale": True}, ["stale"]),
        ({"unusable": True}, ["unusable"]),
        ({"epic": "e1", "ready": True}, ["ready"]),
        ({"epic": "e2"}, []),
    ],
    ids=["done", "failed or cancelled", "epic", "ready", "stale", "unusable", "both", "nothing"],
)
def test_a_list_is_narrowed_to_what_is_wanted(busy: BoardHere, wanted: dict[str, object], expected: list[str]) -> None:
    assert ids(busy, **wanted) == expected


def test_the_status_puts_every_task_where_it_belongs(busy: BoardHere) -> None:
    stand = status(busy.another())
    assert {row.entry["id"]: row.cell for row in stand.held} == {"stale": "stale", "held": "held"}
    assert [row.entry["id"] for row in stand.ready] == ["ready"]
    waiting = {row.entry["id"]: [blocker.code for blocker in found] for row, found in stand.waiting}
    assert waiting == {
        "after": ["waiting"],
        "stopped": ["on_hold"],
        "later": ["backing_off"],
        "plan": ["not_open"],
        "asks": ["needs_person"],
        "never": ["dependency_failed"],
    }
    assert [row.entry["id"] for row in stand.failed] == ["unusable", "failed"]
    assert [one["id"] for one in stand.faults] == ["torn"]
    assert sum(stand.counts.values()) == 13


def test_why_goes_down_to_what_everything_waits_for(busy: BoardHere) -> None:
    busy.add("mid", depends_on=["after"])
    busy.add("top", depends_on=["mid"])
    _, steps = why(busy.another(), TaskId("top"))
    assert [(depth, name, blocker.code) for depth, name, blocker in steps] == [
        (0, "top", "waiting"),
        (1, "mid", "waiting"),
        (2, "after", "waiting"),
        (3, "held", "held"),
    ]
    assert why(busy.another(), TaskId("ready"))[1] == []


READS: dict[str, Callable[[BoardHere], object]] = {
    "list": lambda board: list_tasks(board.another(), EVERYTHING),
    "status": lambda board: status(board.another()),
    "why": lambda board: why(board.another(), TaskId("after")),
    "show": lambda board: require_head(board.another(), TaskId("held")),
    "history": lambda board: board_history(board.another()),
    "doctor": lambda board: examine(str(board.root), str(board.folder), fix=False),
}


@pytest.mark.parametrize("read", READS)
def test_reads_never_write(busy: BoardHere, read: str) -> None:
    before = busy.contents()
    READS[read](busy)
    assert busy.contents() == before


# verify -------------------------------------------------------------------------------------------


def test_verify_says_of_each_task_what_is_wrong_in_the_order_asked(busy: BoardHere) -> None:
    names = ["unusable", "done", "ready", "nowhere", "torn", "failed"]
    found = verify(busy.another(), [TaskId(name) for name in names], Depth.SHA256)
    assert [(one.id, one.problem and one.problem.code) for one in found] == [
        ("unusable", "output_missing"),
        ("done", None),
        ("ready", "output_missing"),
        ("nowhere", "task_unknown"),
        ("torn", "record_invalid"),
        ("failed", "output_missing"),
    ]


def test_require_is_one_error_that_names_each_task_and_uri(busy: BoardHere) -> None:
    found = refusal(lambda: require(busy.another(), [TaskId(n) for n in ("done", "unusable", "nowhere")], Depth.SIZE))
    assert (found.code, found.exit_status) == ("output_unusable", 1)
    tasks = found.fields["tasks"]
    assert isinstance(tasks, list)
    uri = f"file://{busy.folder}/out/unusable-1.md"
    assert [(one["id"], one["uri"], one["code"]) for one in tasks] == [
        ("unusable", uri, "output_missing"),
        ("nowhere", None, "task_unknown"),
    ]


def test_require_returns_the_entries_of_what_is_usable(busy: BoardHere) -> None:
    assert [entry["id"] for entry in require(busy.another(), [TaskId("done")], Depth.SHA256)] == ["done"]
    assert require(busy.another(), [], Depth.SHA256) == []


def test_a_list_shows_the_last_known_result_and_never_looks_itself(board: BoardHere) -> None:
    board.add()
    board.finish()
    path = board.folder / "out" / "t1-1.md"
    text = path.read_text(encoding="utf-8")

    def shown() -> bool | None:
        return list_tasks(board.another(), EVERYTHING).rows[0].usable

    path.unlink()
    assert shown() is None
    verify(board.world, [FIRST], Depth.SIZE)
    assert shown() is False
    path.write_text(text, encoding="utf-8")
    assert shown() is False
    verify(board.world, [FIRST], Depth.SIZE)
    assert shown() is True


def test_a_result_says_nothing_about_a_later_output(board: BoardHere) -> None:
    board.add()
    board.finish()
    (board.folder / "out" / "t1-1.md").unlink()
    verify(board.world, [FIRST], Depth.SIZE)
    steer.reopen(board.world, FIRST, PERSON)
    board.finish()
    assert list_tasks(board.another(), EVERYTHING).rows[0].usable is None


def test_many_outputs_are_looked_at_together(board: BoardHere) -> None:
    names = [TaskId(f"t{n}") for n in range(40)]
    for name in names:
        board.add(name)
        board.finish(name)
    (board.folder / "out" / "t7-1.md").unlink()
    found = verify(board.another(), names, Depth.SHA256)
    assert [one.id for one in found] == names
    assert [one.id for one in found if one.problem] == ["t7"]


# history ------------------------------------------------------------------------------------------


def test_the_boards_history_is_in_the_order_of_time(board: BoardHere) -> None:
    for name in ("b", "a"):
        board.add(name)
    board.claim(TaskId("b"))
    board.claim(TaskId("a"), BEN)
    told = [(one.event, one.entry["id"]) for one in board_history(board.another())]
    assert told == [("add", "b"), ("add", "a"), ("claim", "b"), ("claim", "a")]


def test_the_history_links_each_record_to_the_one_before(board: BoardHere) -> None:
    board.add()
    board.finish()
    records = history(board.another(), FIRST)
    assert [one.prev for one in records] == [None, *(one.digest for one in records[:-1])]


def test_the_history_of_nothing_is_refused(board: BoardHere) -> None:
    assert board_history(board.world) == []
    assert code_of(lambda: history(board.world, FIRST)) == "task_unknown"


# doctor -------------------------------------------------------------------------------------------


def findings(board: BoardHere, *, fix: bool = False) -> list[tuple[object, object]]:
    found = examine(str(board.root), str(board.folder), fix=fix).findings
    return sorted((str(one["id"]), str(one["code"])) for one in found)


def test_a_sound_board_has_no_findings(board: BoardHere) -> None:
    board.add()
    board.finish()
    assert findings(board) == []


def damage_first(board: BoardHere) -> tuple[str, str]:
    path = board.root / "claims" / "t1.00000001.json"
    path.write_bytes(path.read_bytes().replace(b"title of t1", b"title of T1"))
    return "t1", "record_invalid"


def damage_middle(board: BoardHere) -> tuple[str, str]:
    path = board.root / "claims" / "t1.00000002.json"
    path.write_bytes(path.read_bytes().replace(b"writer@ann", b"writer@anx"))
    return "t1", "record_invalid"


def lose_one(board: BoardHere) -> tuple[str, str]:
    (board.root / "claims" / "t1.00000002.json").unlink()
    return "t1", "record_invalid"


def tear_head(board: BoardHere) -> tuple[str, str]:
    path = board.root / "claims" / "t1.00000003.json"
    path.write_bytes(path.read_bytes()[:100])
    return "t1", "record_invalid"


def conflict_markers(board: BoardHere) -> tuple[str, str]:
    (board.root / "claims" / "t1.00000003.json").write_bytes(b"<<<<<<< ours\n{}\n=======\n{}\n>>>>>>> theirs\n")
    return "t1", "record_invalid"


def come_from_the_future(board: BoardHere) -> tuple[str, str]:
    path = board.root / "claims" / "t1.00000003.json"
    path.write_bytes(path.read_bytes().replace(b'"record":1', b'"record":2'))
    return "t1", "schema_newer"


def leave_a_file(board: BoardHere) -> tuple[str, str]:
    (board.root / "claims" / "notes.txt").write_bytes(b"x")
    return "None", "foreign_file"


def lose_a_folder(board: BoardHere) -> tuple[str, str]:
    (board.root / "outputs").rmdir()
    return "None", "board_missing"


def tear_the_description(board: BoardHere) -> tuple[str, str]:
    (board.root / "board.json").write_bytes(b"{")
    return "None", "record_invalid"


def misspell_the_configuration(board: BoardHere) -> tuple[str, str]:
    board.configure('[lease]\ndefualt = "10m"\n')
    return "None", "unknown_key"


DAMAGES = [
    damage_first,
    damage_middle,
    lose_one,
    tear_head,
    conflict_markers,
    come_from_the_future,
    leave_a_file,
    lose_a_folder,
    tear_the_description,
    misspell_the_configuration,
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_each_damage_is_a_finding_and_is_left_as_it_is(
    board: BoardHere, damage: Callable[[BoardHere], tuple[str, str]]
) -> None:
    board.add()
    board.finish()
    board.add("t2")
    expected = damage(board)
    before = board.contents()
    assert findings(board) == [expected]
    assert findings(board, fix=damage is not lose_a_folder) == [expected]
    assert board.contents() == before


def test_a_doctor_puts_missing_folders_back(board: BoardHere) -> None:
    lose_a_folder(board)
    assert findings(board, fix=True) == []
    assert (board.root / "outputs").is_dir()


def test_a_lost_side_folder_hides_no_finding_about_the_records(board: BoardHere) -> None:
    board.add()
    board.finish()
    tear_head(board)
    (board.root / "beats").rmdir()
    assert ("t1", "record_invalid") in findings(board)


def test_what_cant_be_read_is_never_overwritten_and_never_no_claim(busy: BoardHere) -> None:
    before = busy.contents()
    torn = TaskId("torn")
    for call in (
        lambda: busy.claim(torn),
        lambda: steer.note(busy.another(), torn, PERSON, "x"),
        lambda: steer.cancel(busy.another(), torn, PERSON),
        lambda: carry.renew(busy.another(), torn, ANN, 1, LEASE_MS),
        lambda: add(busy.another(), {"id": "torn", "title": "again"}, PERSON),
    ):
        assert code_of(call) == "record_invalid"
    assert busy.contents() == before
