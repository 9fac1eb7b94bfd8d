"""Every operation is safe to repeat: the second time changes nothing, also after others have gone on."""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import pytest

from repokernel.core.errors import BusyError, RefusedError
from repokernel.ops import carry, steer
from repokernel.ops.add import add
from repokernel.ops.claim import claim, claim_next
from repokernel.ops.log import require_head
from tests.boards import ANN, BEN, FIRST, LEASE_MS, PERSON, BoardHere, code_of

if TYPE_CHECKING:
    from repokernel.ops.log import Applied
    from repokernel.ports.world import World

    Operation = Callable[[World, str], Applied]


def pending(board: BoardHere) -> None:
    board.add()


def held(board: BoardHere) -> None:
    board.add()
    board.claim()
    board.clock.advance(1000)


def planned(board: BoardHere) -> None:
    add(board.world, {"id": "t1", "title": "t"}, PERSON, planned=True)


def asked(board: BoardHere) -> None:
    held(board)
    carry.ask(board.world, FIRST, ANN, 1, "which?")


def on_hold(board: BoardHere) -> None:
    board.add(hold="no")


def backing_off(board: BoardHere) -> None:
    held(board)
    carry.fail(board.world, FIRST, ANN, 1, "flaky", "")


def settled(board: BoardHere) -> None:
    board.add()
    board.finish()


class Case(NamedTuple):
    """An operation, and the board that it is for; the text is the operation's name, or empty."""

    given: Callable[[BoardHere], None]
    do: "Operation"


NAMED: dict[str, Case] = {
    "note": Case(pending, lambda w, op: steer.note(w, FIRST, PERSON, "remark", op)),
    "hold": Case(pending, lambda w, op: steer.hold(w, FIRST, PERSON, "not yet", op)),
    "unhold": Case(on_hold, lambda w, op: steer.unhold(w, FIRST, PERSON, op)),
    "answer": Case(asked, lambda w, op: steer.answer(w, FIRST, PERSON, "that one", op)),
    "open": Case(planned, lambda w, op: steer.open_planned(w, FIRST, PERSON, op)),
    "retry": Case(backing_off, lambda w, op: steer.retry(w, FIRST, PERSON, op)),
    "reopen": Case(settled, lambda w, op: steer.reopen(w, FIRST, PERSON, op)),
    "cancel": Case(held, lambda w, op: steer.cancel(w, FIRST, PERSON, "no more", op)),
    "claim": Case(pending, lambda w, op: claim(w, FIRST, BEN, LEASE_MS, op)),
}
ENDING: dict[str, Case] = {
    "done": Case(held, lambda w, _: carry.done(w, FIRST, ANN, 1, "a.md")),
    "fail": Case(held, lambda w, _: carry.fail(w, FIRST, ANN, 1, "flaky", "503")),
    "release": Case(held, lambda w, _: carry.release(w, FIRST, ANN, 1)),
    "ask": Case(held, lambda w, _: carry.ask(w, FIRST, ANN, 1, "which?")),
}
# what says again what is so already, without a name for the operation
SAME = {name: NAMED[name] for name in ("hold", "unhold", "open", "retry", "reopen", "cancel")}


def successor(board: BoardHere) -> None:
    """Somebody else goes on from wherever the task is now, as far as it goes."""
    entry = require_head(board.world, FIRST).entry
    board.lapse()
    for step in (
        lambda: steer.unhold(board.world, FIRST, PERSON),
        lambda: steer.answer(board.world, FIRST, PERSON, "x"),
        lambda: steer.reopen(board.world, FIRST, PERSON),
        lambda: steer.retry(board.world, FIRST, PERSON),
        lambda: board.claim(by="writer@cy"),
        lambda: steer.note(board.world, FIRST, PERSON, "went on"),
    ):
        with suppress(RefusedError, BusyError):
            step()
    assert require_head(board.world, FIRST).entry != entry


def refused(board: BoardHere, do: "Operation") -> str:
    return code_of(lambda: do(board.another(), ""))


@pytest.mark.parametrize("name", NAMED | ENDING)
def test_the_same_operation_twice_changes_the_board_once(board: BoardHere, name: str) -> None:
    case = (NAMED | ENDING)[name]
    board.write("a.md")
    case.given(board)
    first = case.do(board.world, "run-7")
    after, records = require_head(board.world, FIRST).entry, board.records()
    assert (first.changed, first.entry) == (True, after)
    for world in (board.world, board.another()):
        board.clock.advance(1000)
        again = case.do(world, "run-7")
        assert (again.changed, again.entry) == (False, after)
    assert board.records() == records


@pytest.mark.parametrize("name", NAMED | ENDING)
def test_a_repetition_after_a_successor_went_on_changes_nothing(board: BoardHere, name: str) -> None:
    case = (NAMED | ENDING)[name]
    board.write("a.md")
    case.given(board)
    case.do(board.world, "run-7")
    successor(board)
    after, records = require_head(board.world, FIRST).entry, board.records()
    if name == "claim":  # a claim that has ended is no claim: the successor holds the task
        assert code_of(lambda: case.do(board.another(), "run-7")) == "held"
    else:
        assert case.do(board.another(), "run-7").changed is False
    assert board.records() == records
    assert require_head(board.another(), FIRST).entry == after


@pytest.mark.parametrize("name", SAME)
def test_saying_again_what_is_so_is_no_error_and_changes_nothing(board: BoardHere, name: str) -> None:
    case = SAME[name]
    case.given(board)
    case.do(board.world, "")
    records = board.records()
    assert case.do(board.another(), "").changed is False
    assert board.records() == records


@pytest.mark.parametrize("name", ENDING)
def test_another_ending_of_an_ended_token_is_refused(board: BoardHere, name: str) -> None:
    board.write("a.md")
    board.write("b.md")
    held(board)
    ENDING[name].do(board.world, "")
    others: dict[str, Operation] = {
        "done": lambda w, _: carry.done(w, FIRST, ANN, 1, "b.md"),
        "fail": lambda w, _: carry.fail(w, FIRST, ANN, 1, "other", "503"),
        "ask": lambda w, _: carry.ask(w, FIRST, ANN, 1, "another?"),
        "release": lambda w, _: carry.release(w, FIRST, ANN, 1),
    }
    records = board.records()
    for other, do in others.items():
        if other != name or name != "release":
            assert refused(board, do) == "lease_lost"
    assert board.records() == records


def test_an_operation_with_a_random_name_is_a_new_one_each_time(board: BoardHere) -> None:
    pending(board)
    for _ in range(2):
        assert steer.note(board.world, FIRST, PERSON, "remark").changed
    assert len(require_head(board.world, FIRST).entry["notes"]) == 2


def test_evicting_again_frees_nothing(board: BoardHere) -> None:
    held(board)
    assert [entry["id"] for entry in steer.evict(board.world, ANN, PERSON, "gone")] == ["t1"]
    records = board.records()
    assert steer.evict(board.another(), ANN, PERSON, "gone") == []
    assert board.records() == records


def test_renewing_again_extends_and_nothing_else(board: BoardHere) -> None:
    held(board)
    records = board.records()
    first = carry.renew(board.world, FIRST, ANN, 1, None)
    assert carry.renew(board.another(), FIRST, ANN, 1, None) == first
    assert board.records() == records


def test_one_token_of_another_epoch_is_not_taken_for_a_repetition(board: BoardHere) -> None:
    held(board)
    carry.release(board.world, FIRST, ANN, 1)
    token = claim_next(board.world, ANN, LEASE_MS)["token"]
    assert carry.release(board.world, FIRST, ANN, token).changed


def test_without_a_token_only_whoever_ended_it_last_repeats_it(board: BoardHere) -> None:
    board.add(expects="none")
    for by in (ANN, BEN):
        carry.release(board.world, FIRST, by, board.claim(by=by)["token"])
    board.claim(by=ANN)
    assert carry.done(board.world, FIRST, ANN, None, None).changed
    assert not carry.done(board.another(), FIRST, ANN, None, None).changed
    assert code_of(lambda: carry.done(board.another(), FIRST, BEN, None, None)) == "settled"
