"""Lease arithmetic by example: beats, lapse, cells, back-off."""

import pytest

from repokernel.core.jsontext import canonical, parse
from repokernel.core.lease import (
    RENEW_SHARE,
    STOP_MARGIN,
    Alive,
    backoff_ms,
    beat_bytes,
    cell,
    halt_lets_claim,
    lapsed,
    lease_left_ms,
    with_beat,
)
from repokernel.core.phase import Cell
from tests.unit.builders import LEASE_MS, NOW, NOW_MS, SKEW_MS, at, entry, halt, in_cell

END_MS = NOW_MS + LEASE_MS
LATER = at(END_MS + 5000)
GOOD_BEAT = {"beat": 1, "token": 4, "lease_expires": LATER, "renewed_at": NOW}


def test_a_beat_says_token_end_and_instant() -> None:
    assert parse(beat_bytes(4, END_MS, NOW_MS)) == {
        "beat": 1,
        "token": 4,
        "lease_expires": at(END_MS),
        "renewed_at": NOW,
    }


def test_a_beat_extends_the_lease_of_its_token_and_nothing_else() -> None:
    held = in_cell(Cell.HELD)
    assert with_beat(held, beat_bytes(4, END_MS + 5000, NOW_MS)) == {**held, "lease_expires": LATER}
    assert held == in_cell(Cell.HELD)


def test_a_beat_of_a_newer_format_extends_the_lease_too() -> None:
    held = in_cell(Cell.HELD)
    newer = with_beat(held, canonical({**GOOD_BEAT, "beat": 2, "load": 0.5}))
    assert newer == with_beat(held, canonical(GOOD_BEAT))
    assert newer != held


@pytest.mark.parametrize(
    "beat",
    [
        pytest.param(None, id="none"),
        pytest.param(b"", id="empty"),
        pytest.param(b"\x00" * 50, id="zeros"),
        pytest.param(canonical(GOOD_BEAT)[:-9], id="cut short"),
        pytest.param(b"[]", id="no object"),
        pytest.param(b"null", id="null"),
        pytest.param(beat_bytes(3, END_MS + 5000, NOW_MS), id="of an old token"),
        pytest.param(beat_bytes(5, END_MS + 5000, NOW_MS), id="of a later token"),
        pytest.param(beat_bytes(4, END_MS, NOW_MS), id="that ends at the same instant"),
        pytest.param(beat_bytes(4, END_MS - 1, NOW_MS), id="that ends earlier"),
        pytest.param(canonical({**GOOD_BEAT, "beat": 0}), id="of no format"),
        pytest.param(canonical({**GOOD_BEAT, "beat": True}), id="of a format that is no number"),
        pytest.param(
            canonical({**GOOD_BEAT, "beat": 2, "lease_expires": {"in": 5}}), id="of a newer one with another end"
        ),
        pytest.param(canonical({**GOOD_BEAT, "beat": None}), id="without format"),
        pytest.param(canonical({**GOOD_BEAT, "token": "4"}), id="with a token that is a text"),
        pytest.param(canonical({**GOOD_BEAT, "lease_expires": None}), id="that ends never"),
        pytest.param(canonical({**GOOD_BEAT, "lease_expires": 1}), id="that ends at a number"),
        pytest.param(canonical({**GOOD_BEAT, "lease_expires": "soon"}), id="that ends some time"),
        pytest.param(canonical({"beat": 1, "token": 4}), id="without an end"),
        pytest.param(canonical(GOOD_BEAT)[:-2] + b',"token":4}', id="with a key twice"),
    ],
)
def test_any_other_beat_changes_nothing(beat: bytes | None) -> None:
    held = in_cell(Cell.HELD)
    assert with_beat(held, beat) is held


@pytest.mark.parametrize("where", [Cell.ORPHAN, Cell.PENDING, Cell.DONE])
def test_a_beat_gives_nobody_a_hold_that_has_ended(where: Cell) -> None:
    ended = in_cell(where)
    assert with_beat(ended, beat_bytes(ended["token"], END_MS + 5000, NOW_MS)) is ended


@pytest.mark.parametrize(("now_ms", "left_ms"), [(NOW_MS, LEASE_MS), (END_MS, 0), (END_MS + 7, -7)])
def test_what_is_left_of_a_lease_turns_negative_when_it_has_ended(now_ms: int, left_ms: int) -> None:
    assert lease_left_ms(in_cell(Cell.HELD), now_ms) == left_ms


def test_nothing_is_left_where_nobody_holds() -> None:
    assert lease_left_ms(in_cell(Cell.ORPHAN), NOW_MS) is None


# the margin counts for an owner that may be elsewhere; a process known to be gone needs none; a live one may hang
LAPSED = [
    (Alive.NO, -1, True),
    (Alive.NO, 0, True),
    (Alive.NO, SKEW_MS, True),
    (Alive.NO, SKEW_MS + 1, True),
    (Alive.YES, -1, False),
    (Alive.YES, 0, False),
    (Alive.YES, SKEW_MS, False),
    (Alive.YES, SKEW_MS + 1, True),
    (Alive.UNKNOWN, -1, False),
    (Alive.UNKNOWN, 0, False),
    (Alive.UNKNOWN, SKEW_MS, False),
    (Alive.UNKNOWN, SKEW_MS + 1, True),
]


@pytest.mark.parametrize(("alive", "past_end_ms", "is_lapsed"), LAPSED)
def test_a_lease_lapses_past_its_end_and_margin_or_with_its_process(
    alive: Alive, past_end_ms: int, is_lapsed: bool
) -> None:
    held = in_cell(Cell.HELD)
    assert lapsed(held, END_MS + past_end_ms, SKEW_MS, alive) is is_lapsed
    assert cell(held, END_MS + past_end_ms, SKEW_MS, alive) is (Cell.STALE if is_lapsed else Cell.HELD)


@pytest.mark.parametrize("alive", list(Alive))
def test_what_nobody_holds_does_not_lapse(alive: Alive) -> None:
    assert not lapsed(in_cell(Cell.ORPHAN), NOW_MS, SKEW_MS, alive)


@pytest.mark.parametrize("where", list(Cell))
def test_an_entry_is_in_the_cell_of_the_table_that_its_fields_name(where: Cell) -> None:
    assert cell(in_cell(where), NOW_MS, SKEW_MS, Alive.UNKNOWN) is where


@pytest.mark.parametrize("past_end_ms", [-1, SKEW_MS + 1])
def test_a_landing_is_in_review_whatever_its_lease(past_end_ms: int) -> None:
    landing = in_cell(Cell.HELD, status="in_review")
    assert cell(landing, END_MS + past_end_ms, SKEW_MS, Alive.NO) is Cell.IN_REVIEW


@pytest.mark.parametrize(("past_end_ms", "where"), [(0, Cell.HELD), (SKEW_MS + 1, Cell.STALE)])
def test_a_halted_task_that_somebody_holds_is_held_or_stale(past_end_ms: int, where: Cell) -> None:
    held = in_cell(Cell.HELD, halt=halt("check_failed"))
    assert cell(held, END_MS + past_end_ms, SKEW_MS, Alive.UNKNOWN) is where


@pytest.mark.parametrize(
    ("said", "lets"), [(None, True), (halt("crashed"), True), (halt("needs_input"), False), (halt("held"), False)]
)
def test_a_halt_lets_a_worker_claim_only_for_a_reason_that_needs_no_person(
    said: dict[str, str] | None, lets: bool
) -> None:
    assert halt_lets_claim(entry(status="in_progress", halt=said)) is lets


@pytest.mark.parametrize(
    ("attempt", "chance", "wait_ms"),
    [
        (1, 0.0, 5_000),
        (1, 0.5, 7_500),
        (2, 0.0, 10_000),
        (3, 0.5, 30_000),
        (7, 0.0, 320_000),
        (8, 0.0, 450_000),
        (8, 0.5, 675_000),
        (10_000, 0.0, 450_000),
    ],
)
def test_the_wait_doubles_with_each_attempt_up_to_the_cap(attempt: int, chance: float, wait_ms: int) -> None:
    assert backoff_ms(attempt, 10_000, 900_000, chance) == wait_ms


@pytest.mark.parametrize("attempt", [0, -1])
def test_an_attempt_that_was_given_back_waits_like_the_first(attempt: int) -> None:
    assert backoff_ms(attempt, 10_000, 900_000, 0.0) == 5_000
    assert backoff_ms(attempt, 10_000, 4_000, 0.0) == 2_000


def test_a_holder_renews_well_before_it_gives_up() -> None:
    assert STOP_MARGIN > 0
    assert 0 < 2 * RENEW_SHARE < 1 - STOP_MARGIN  # one renewal may fail
