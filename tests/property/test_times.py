"""Laws of instants and durations, against `datetime`."""

from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction

from hypothesis import assume, given, strategies as st

from repokernel.core.times import format_duration, format_instant, parse_duration, parse_instant
from tests.property.strategies import INSTANT_MS_MAX, any_text, instants_ms
from tests.unit.builders import at, is_value_error

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
ONE_MS = timedelta(milliseconds=1)


@given(instants_ms)
def test_what_is_written_is_what_datetime_writes(instant_ms: int) -> None:
    assert format_instant(instant_ms) == at(instant_ms)


@given(instants_ms)
def test_what_is_written_is_read_back(instant_ms: int) -> None:
    assert parse_instant(format_instant(instant_ms)) == instant_ms


@given(instants_ms, instants_ms)
def test_texts_are_ordered_as_instants_are(one_ms: int, other_ms: int) -> None:
    assert (format_instant(one_ms) < format_instant(other_ms)) == (one_ms < other_ms)


@given(st.integers(-(2**60), 2**60))
def test_any_number_is_written_as_an_instant_that_can_be_read(instant_ms: int) -> None:
    assert parse_instant(format_instant(instant_ms)) == min(max(instant_ms, 0), INSTANT_MS_MAX)


@given(
    st.datetimes(timezones=st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))),
    st.integers(0, 9),
    st.sampled_from("Tt "),
)
def test_any_offset_and_fraction_is_read_as_datetime_reads_it(instant: datetime, digits: int, between: str) -> None:
    base, _, offset = instant.strftime("%Y-%m-%dT%H:%M:%S %z").rpartition(" ")
    base = base.rjust(19, "0")  # strftime doesn't fill the year up everywhere
    fraction = f"{instant.microsecond:06d}000"[:digits]
    text = base.replace("T", between) + (f".{fraction}" if digits else "") + f"{offset[:3]}:{offset[3:5]}"
    exact = instant.replace(microsecond=int(fraction.ljust(6, "0")[:6]))
    expected_ms = (exact - EPOCH) // ONE_MS
    if 0 <= expected_ms <= INSTANT_MS_MAX:
        assert parse_instant(text) == expected_ms
    else:
        assert is_value_error(lambda: parse_instant(text))


@given(*[st.integers(*bounds) for bounds in ((1970, 9999), (0, 13), (0, 32), (0, 24), (0, 60), (0, 59), (0, 999))])
def test_only_what_datetime_takes_for_a_date_is_one(
    year: int, month: int, day: int, hour: int, minute: int, second: int, ms: int
) -> None:
    text = f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}.{ms:03d}Z"
    try:
        expected = datetime(year, month, day, hour, minute, second, ms * 1000, tzinfo=UTC)
    except ValueError:
        assert is_value_error(lambda: parse_instant(text))
    else:
        assert parse_instant(text) == (expected - EPOCH) // ONE_MS


@given(instants_ms.map(at), st.integers(0, 23), any_text)
def test_a_text_that_was_tampered_with_is_an_instant_or_refused(text: str, place: int, put: str) -> None:
    tampered = text[:place] + put + text[place + 1 :]
    if not is_value_error(lambda: parse_instant(tampered)):
        assert 0 <= parse_instant(tampered) <= INSTANT_MS_MAX
        assert tampered.isascii()


@given(any_text)
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    if not is_value_error(lambda: parse_duration(text)):
        assert parse_duration(text) > 0


@given(st.integers(1, 10**9 - 1), st.sampled_from(sorted(UNIT_MS)))
def test_a_count_of_units_is_read_back(count: int, unit: str) -> None:
    assume(count * UNIT_MS[unit] <= 3660 * UNIT_MS["d"])
    assert parse_duration(f"{count}{unit}") == count * UNIT_MS[unit]


@given(st.integers(0, 9999), st.integers(0, 999), st.sampled_from(sorted(UNIT_MS)))
def test_a_fraction_of_units_is_the_nearest_millisecond(whole: int, thousandths: int, unit: str) -> None:
    exact = (whole + Fraction(thousandths, 1000)) * UNIT_MS[unit]
    text = f"{whole}.{thousandths:03d}{unit}"
    if 1 <= exact <= 3660 * UNIT_MS["d"]:
        assert abs(parse_duration(text) - exact) <= Fraction(1, 2)
    elif exact < Fraction(1, 2) or exact > 3660 * UNIT_MS["d"] + 1:
        assert is_value_error(lambda: parse_duration(text))


@given(st.integers(0, 20_000 * UNIT_MS["d"]))
def test_a_duration_is_shown_to_less_than_its_smaller_unit(duration_ms: int) -> None:
    parts = format_duration(duration_ms).split(" ")
    units = [part.lstrip("0123456789") for part in parts]
    shown_ms = sum(int(part.removesuffix(unit)) * UNIT_MS[unit] for part, unit in zip(parts, units, strict=True))
    order = ["d", "h", "m", "s"]
    second = 1 if units == ["ms"] else UNIT_MS[order[min(order.index(units[0]) + 1, 3)]]
    assert len(parts) <= 2
    assert 0 <= duration_ms - shown_ms < second


@given(st.integers(1, 999), st.sampled_from(["ms", "s", "m", "h", "d"]))
def test_what_is_shown_in_one_unit_is_read_back(count: int, unit: str) -> None:
    duration_ms = count * UNIT_MS[unit]
    shown = format_duration(duration_ms)
    if " " not in shown:
        assert parse_duration(shown) == duration_ms
