"""Laws of leases, beats and back-off."""

from hypothesis import given, strategies as st

from repokernel.core.entry import Entry, entry_problems
from repokernel.core.jsontext import canonical, parse
from repokernel.core.lease import Alive, backoff_ms, beat_bytes, cell, lapsed, lease_left_ms, with_beat
from repokernel.core.phase import Cell
from repokernel.core.times import parse_instant
from tests.property.strategies import entries, json_values, near_ms
from tests.unit.builders import NOW_MS, in_cell

alives = st.sampled_from(list(Alive))
skews_ms = st.sampled_from([0, 1, 1000, 30_000])
HELD = in_cell(Cell.HELD)
END_MS = parse_instant(HELD["lease_expires"] or "")


@given(entries, st.integers(0, 5), near_ms)
def test_a_beat_only_ever_extends_the_lease_of_its_own_token(one: Entry, token: int, until_ms: int) -> None:
    after = with_beat(one, beat_bytes(token, until_ms, NOW_MS))
    assert entry_problems(after) == {}
    assert {**after, "lease_expires": None} == {**one, "lease_expires": None}
    before_ms, after_ms = lease_left_ms(one, 0), lease_left_ms(after, 0)
    if before_ms is None or token != one["token"]:
        assert after is one
    else:
        assert after_ms == max(before_ms, until_ms)


@given(st.lists(st.integers(END_MS - 3, END_MS + 3), max_size=4))
def test_the_longest_of_several_beats_counts_in_whatever_order_they_are_read(untils_ms: list[int]) -> None:
    after = HELD
    for until_ms in untils_ms:
        after = with_beat(after, beat_bytes(4, until_ms, NOW_MS))
    assert lease_left_ms(after, 0) == max([END_MS, *untils_ms])


@given(st.binary(max_size=200) | st.dictionaries(st.sampled_from(["beat", "token", "lease_expires"]), json_values))
def test_any_bytes_are_a_beat_or_change_nothing(beat: bytes | dict[str, object]) -> None:
    data = beat if isinstance(beat, bytes) else canonical({"beat": 1, "token": 4, "renewed_at": "x", **beat})
    after = with_beat(HELD, data)
    if after is not HELD:
        said = parse(data)
        assert isinstance(said, dict)
        assert after == {**HELD, "lease_expires": said["lease_expires"]}
        assert entry_problems(after) == {}


@given(st.data())
def test_a_beat_that_was_tampered_with_never_shortens_a_lease(data: st.DataObject) -> None:
    beat = beat_bytes(4, END_MS + 1000, NOW_MS)
    place = data.draw(st.integers(0, len(beat) - 1))
    tampered = beat[:place] + data.draw(st.binary(max_size=2)) + beat[place + 1 :]
    left_ms = lease_left_ms(with_beat(HELD, tampered), 0)
    assert left_ms is not None
    assert left_ms >= END_MS


@given(entries, near_ms, skews_ms, alives)
def test_a_hold_lapses_with_its_process_or_after_its_end_and_the_margin(
    one: Entry, now_ms: int, skew_ms: int, alive: Alive
) -> None:
    expires = one["lease_expires"]
    over = expires is not None and parse_instant(expires) + skew_ms < now_ms
    assert lapsed(one, now_ms, skew_ms, alive) is (expires is not None and (over or alive is Alive.NO))


@given(entries, near_ms, st.integers(0, 5000), skews_ms, alives)
def test_what_has_lapsed_stays_so(one: Entry, now_ms: int, more_ms: int, skew_ms: int, alive: Alive) -> None:
    assert lapsed(one, now_ms, skew_ms, alive) <= lapsed(one, now_ms + more_ms, skew_ms, alive)
    assert lapsed(one, now_ms, skew_ms + more_ms, alive) <= lapsed(one, now_ms, skew_ms, alive)


@given(entries, near_ms, skews_ms, alives)
def test_an_entry_is_in_one_cell_that_agrees_with_phase_and_owner(
    one: Entry, now_ms: int, skew_ms: int, alive: Alive
) -> None:
    where = cell(one, now_ms, skew_ms, alive)
    if one["status"] != "in_progress":
        assert where.value == one["status"]
    elif one["owner"] is None:
        assert where is (Cell.ORPHAN if one["halt"] is None else Cell.HALTED)
    else:
        assert where is (Cell.STALE if lapsed(one, now_ms, skew_ms, alive) else Cell.HELD)


attempts = st.integers(1, 200)
bases_ms = st.integers(1, 10**6)
chances = st.floats(0, 1, exclude_max=True)


@given(attempts, bases_ms, st.integers(1, 10**8), chances)
def test_the_wait_lies_between_half_and_all_of_the_doubled_base_within_the_cap(
    attempt: int, base_ms: int, cap_ms: int, chance: float
) -> None:
    full = min(cap_ms, base_ms * 2 ** (attempt - 1))
    wait_ms = backoff_ms(attempt, base_ms, cap_ms, chance)
    assert full // 2 <= wait_ms <= full <= cap_ms
    assert type(wait_ms) is int


@given(attempts, bases_ms, st.integers(1, 10**8), chances, chances)
def test_the_wait_grows_with_the_attempt_and_with_chance(
    attempt: int, base_ms: int, cap_ms: int, low: float, high: float
) -> None:
    low, high = sorted([low, high])
    wait_ms = backoff_ms(attempt, base_ms, cap_ms, low)
    assert wait_ms <= backoff_ms(attempt + 1, base_ms, cap_ms, low)
    assert wait_ms <= backoff_ms(attempt, base_ms, cap_ms, high)
