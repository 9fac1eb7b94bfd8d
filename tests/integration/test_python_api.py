"""The board from Python: `Board` and `Claim` on a real folder and a real machine."""

import threading
from pathlib import Path

import pytest

from repokernel import Board, Claim, RkError
from tests.boards import code_of
from tests.workers import PATIENCE_S


@pytest.fixture
def board(tmp_path: Path) -> Board:
    board = Board.open(tmp_path / "queue", role="writer", create=True)
    (tmp_path / "queue" / "config.toml").write_text('[backoff]\nbase = "1ms"\n', encoding="utf-8")
    return board


def other(board: Board, role: str = "critic") -> Board:
    """Another participant in this process, with a name of its own."""
    return Board.open(board.url, role=role, instance="other")


def error_of(board: Board, task: str) -> str | None:
    last = board.show(task)["last_error"]
    return last and last["code"]


def test_a_board_is_made_once_and_opened_by_url_path_or_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert code_of(lambda: Board.open(tmp_path / "queue")) == "board_missing"
    made = Board.open(tmp_path / "queue", create=True)
    made.add("first", id="t1")
    assert Board.open(tmp_path / "queue", create=True).show("t1")["title"] == "first"
    assert Board.open(made.url).show("t1")["title"] == "first"
    monkeypatch.setenv("RK_BOARD", made.url)
    assert Board.open().show("t1")["title"] == "first"


def test_a_claim_is_completed_with_an_output_in_a_place_of_its_own(board: Board) -> None:
    board.add("t", id="t1", inputs={"topic": 7})
    with board.claim() as claim:
        assert (claim.id, claim.token, claim.inputs) == ("t1", 1, {"topic": 7})
        path = claim.output_path("summary.md")
        assert "t1" in path.parts[-2:]
        path.write_text("text", encoding="utf-8")
        assert claim.complete(path)["status"] == "done"
    assert [entry["id"] for entry in board.require(["t1"], depth="sha256")] == ["t1"]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/a", "a\0b"])
def test_an_output_name_that_leaves_its_folder_is_refused(board: Board, name: str) -> None:
    board.add("t", id="t1")
    with board.claim() as claim:
        assert code_of(lambda: claim.output_path(name)) == "bad_value"


def test_leaving_the_body_by_an_exception_fails_the_attempt(board: Board) -> None:
    board.add("t", id="t1")
    with pytest.raises(ValueError, match="no such topic"), board.claim("t1"):
        raise ValueError("no such topic\x1b[2J")
    assert (error_of(board, "t1"), board.show("t1")["attempts"]) == ("exception", 1)


@pytest.mark.parametrize("way", ["quietly", "by interrupt"])
def test_leaving_the_body_without_a_word_gives_the_task_back(board: Board, way: str) -> None:
    board.add("t", id="t1")
    if way == "quietly":
        with board.claim("t1"):
            pass
    else:
        with pytest.raises(KeyboardInterrupt), board.claim("t1"):
            raise KeyboardInterrupt
    entry = board.show("t1")
    assert (entry["status"], entry["attempts"], entry["last_error"]) == ("pending", 0, None)


@pytest.mark.parametrize("way", ["fail", "release", "ask"])
def test_what_the_body_ended_itself_is_left_as_it_is(board: Board, way: str) -> None:
    board.add("t", id="t1")
    with board.claim("t1") as claim:
        getattr(claim, way)(*{"fail": ["too_hard", "no"], "ask": ["which?"]}.get(way, []))
    assert [record.event for record in board.history("t1")] == ["add", "claim", way]


def test_the_body_is_told_that_its_lease_is_lost_and_can_do_no_more(board: Board) -> None:
    board.add("t", id="t1")
    with board.claim("t1", lease="150ms") as claim:
        board.cancel("t1", "out of scope")
        assert claim.lost.wait(PATIENCE_S)
        for call in (claim.renew, claim.release, lambda: claim.fail("x"), lambda: claim.ask("?"), claim.complete):
            assert code_of(call) == "lease_lost"
    assert board.show("t1")["status"] == "cancelled"


def test_a_lease_is_renewed_while_the_body_works(board: Board) -> None:
    board.add("t", id="t1")
    with board.claim("t1", lease="150ms") as claim:
        first = claim.entry["lease_expires"] or ""
        for _ in range(200):
            if claim.lost.wait(0.02) or (board.show("t1")["lease_expires"] or "") > first:
                break
        assert (board.show("t1")["lease_expires"] or "") > first
    assert not claim.lost.is_set()


def test_a_claim_waits_until_a_task_can_be_had(board: Board) -> None:
    board.add("t", id="t1", hold="not yet")
    claims: list[Claim] = []
    rival = other(board)
    waiter = threading.Thread(target=lambda: claims.append(rival.claim(wait="1h")))
    waiter.start()
    board.unhold("t1")
    waiter.join(PATIENCE_S)
    assert [claim.id for claim in claims] == ["t1"]


def test_a_claim_that_has_waited_in_vain_says_why(board: Board) -> None:
    board.add("t", id="t1")
    board.claim("t1")
    assert code_of(lambda: other(board).claim("t1", wait="30ms")) == "held"
    assert code_of(lambda: other(board).claim(wait="30ms")) == "not_yet"


def test_work_calls_the_handler_until_the_board_is_drained(board: Board) -> None:
    for number in range(3):
        board.add("t", id=f"t{number}")

    def handle(claim: Claim) -> Path:
        path = claim.output_path("a.md")
        path.write_text(claim.id, encoding="utf-8")
        return path

    tally = board.work(handle)
    assert tally.outcomes["done"] == ["t0", "t1", "t2"]
    assert (tally.exit_status, len(board.tasks("done"))) == (0, 3)


def raises(claim: Claim) -> None:
    raise ValueError("no such topic")


def returns_nothing(claim: Claim) -> None:
    return None


def returns_what_is_not_there(claim: Claim) -> str:
    return "/nowhere/a.md"


def fails(claim: Claim) -> None:
    claim.fail("too_hard", "no")


def gives_back(claim: Claim) -> None:
    claim.release()


@pytest.mark.parametrize(
    ("handle", "outcome", "code"),
    [
        (raises, "failed", "exception"),
        (returns_nothing, "failed", "output_missing"),
        (returns_what_is_not_there, "failed", "output_missing"),
        (fails, "failed", "too_hard"),
        (gives_back, "released", None),
    ],
)
def test_what_the_handler_does_is_the_outcome_and_the_loop_goes_on(
    board: Board, handle: object, outcome: str, code: str | None
) -> None:
    board.add("t", id="t1")
    assert callable(handle)
    tally = board.work(handle, tasks_max=1)
    assert tally.outcomes[outcome] == ["t1"]
    assert error_of(board, "t1") == code


def test_a_task_that_always_fails_ends_the_loop_as_failed(board: Board) -> None:
    board.add("t", id="t1", max_attempts=3)
    tally = board.work(raises)
    assert (board.show("t1")["status"], len(tally.outcomes["failed"]), tally.exit_status) == ("failed", 3, 1)


def test_watching_tells_each_change_once(board: Board) -> None:
    board.add("t", id="t1")
    watched, rival = board.watch(timeout="10s"), other(board)
    told: list[tuple[str, str]] = []
    started = threading.Event()

    def watch() -> None:
        started.set()
        for entry in watched:
            told.append((entry["id"], entry["status"]))
            if len(told) == 2:
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    started.wait(PATIENCE_S)
    rival.add("t", id="t2")
    while len(told) < 1 and watcher.is_alive():
        watcher.join(0.05)
    rival.cancel("t1")
    watcher.join(PATIENCE_S)
    assert told == [("t2", "pending"), ("t1", "cancelled")]


def test_require_is_one_error_that_lists_what_is_not_usable(board: Board) -> None:
    board.add("t", id="t1")
    with pytest.raises(RkError) as caught:
        board.require(["t1", "t2"])
    tasks = caught.value.fields["tasks"]
    assert isinstance(tasks, list)
    assert [(one["id"], one["code"]) for one in tasks] == [("t1", "output_missing"), ("t2", "task_unknown")]


def test_words_that_are_no_durations_depths_or_phases_are_refused(board: Board) -> None:
    board.add("t", id="t1")
    assert code_of(lambda: board.claim(lease="soon")) == "bad_value"
    assert code_of(lambda: board.claim(wait="0s")) == "bad_value"
    assert code_of(lambda: board.require(["t1"], depth="deep")) == "bad_value"
    assert code_of(lambda: board.show("../t1")) == "bad_value"
    assert code_of(lambda: board.tasks("active")) == "bad_value"
