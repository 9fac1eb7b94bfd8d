"""Instants and durations by example."""

from calendar import monthrange
from datetime import date
from itertools import product

import pytest

from repokernel.core.times import (
    DURATION_MS_MAX,
    INSTANT_MS_MAX,
    format_duration,
    format_instant,
    parse_duration,
    parse_instant,
)
from tests.unit.builders import NOW_MS, is_value_error

DAY_MS = 86_400_000

READ = [
    ("1970-01-01T00:00:00Z", 0),
    ("1970-01-01T00:00:00.001Z", 1),
    ("2026-12-01T09:30:00Z", NOW_MS),
    ("2026-12-01t09:30:00z", NOW_MS),
    ("2026-12-01 09:30:00Z", NOW_MS),
    ("2026-12-01T09:30:00.5Z", NOW_MS + 500),
    ("2026-12-01T09:30:00.123456789Z", NOW_MS + 123),
    ("2026-12-01T09:30:00.0009Z", NOW_MS),
    ("2026-12-01T15:00:00+05:30", NOW_MS),
    ("2026-12-01T01:30:00-08:00", NOW_MS),
    ("2026-12-01T09:30:00-00:00", NOW_MS),
    ("1970-01-01T23:59:00+23:59", 0),
    ("2016-12-31T23:59:60Z", 1_483_228_799_000),
    ("2000-02-29T00:00:00Z", 951_782_400_000),
    ("9999-12-31T23:59:59.999Z", INSTANT_MS_MAX),
]

NO_INSTANT = [
    "",
    "now",
    "2026-12-01",
    "2026-12-01T09:30:00",
    "2026-12-01T09:30Z",
    "2026-12-01T09:30:00.Z",
    "2026-12-01T09:30:00.1234567890Z",
    " 2026-12-01T09:30:00Z",
    "2026-12-01T09:30:00Z\n",
    "2026-12-01T09:30:00+0530",
    "2026-12-01T09:30:00+5:30",
    "26-12-01T09:30:00Z",
    "12026-12-01T09:30:00Z",
    "2026-1-01T09:30:00Z",
    "٢٠٢٦-12-01T09:30:00Z",
    "2026-00-01T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-32T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "2100-02-29T00:00:00Z",
    "2026-12-01T24:00:00Z",
    "2026-12-01T09:60:00Z",
    "2026-12-01T09:30:61Z",
    "1969-12-31T23:59:59.999Z",
    "1970-01-01T00:00:00+00:01",
    "0000-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999-00:01",
    # RFC 3339, 5.6: the hour of an offset ends at 23, its minute at 59
    "2026-12-01T09:30:00+24:00",
    "2026-12-01T09:30:00+00:60",
    "2026-12-01T09:30:00-99:99",
]

LONG = [
    ("1ms", 1),
    ("1500ms", 1500),
    ("90s", 90_000),
    ("0.5s", 500),
    ("1.5m", 90_000),
    ("10m", 600_000),
    ("8h", 28_800_000),
    ("2d", 2 * DAY_MS),
    ("3660d", DURATION_MS_MAX),
]

NO_DURATION = [
    *("", "10", "m", "10 m", " 10m", "10m\n", "-5m", "+5m", "1e3s", "10M", "1h30m", "1.5.5h", ".5h", "1.h", "٥m"),
    *("0s", "0ms", "0.1ms", "1.2345s", "3660.001d", "3661d", "999999999d", "9999999999ms"),
]

SHOWN = [
    (-5, "0ms"),
    (0, "0ms"),
    (850, "850ms"),
    (999, "999ms"),
    (1000, "1s"),
    (42_999, "42s"),
    (60_000, "1m"),
    (90_000, "1m 30s"),
    (550_000, "9m 10s"),
    (3_600_000, "1h"),
    (3_605_000, "1h"),
    (28_799_000, "7h 59m"),
    (DAY_MS, "1d"),
    (DAY_MS + 59_000, "1d"),
    (3 * DAY_MS + 4 * 3_600_000 + 5, "3d 4h"),
]


@pytest.mark.parametrize(("text", "instant_ms"), READ)
def test_an_instant_is_read(text: str, instant_ms: int) -> None:
    assert parse_instant(text) == instant_ms


# the form that we write is read on a way of its own
@pytest.mark.parametrize("text", [*NO_INSTANT, *(text[:-1] + ".000Z" for text in NO_INSTANT if text[16:17] == ":")])
def test_what_is_no_instant_is_refused(text: str) -> None:
    assert is_value_error(lambda: parse_instant(text))


@pytest.mark.parametrize("place", range(24))
@pytest.mark.parametrize("char", ["x", "/", "٣"])
def test_a_text_with_one_wrong_character_is_no_instant(place: int, char: str) -> None:
    good = "2026-12-01T09:30:00.000Z"
    assert is_value_error(lambda: parse_instant(good[:place] + char + good[place + 1 :]))


@pytest.mark.parametrize("end", ["Z", ".000Z"])
def test_a_month_has_the_days_of_the_calendar(end: str) -> None:
    for year, month, day in product(range(2096, 2105), range(14), range(33)):
        text = f"{year}-{month:02d}-{day:02d}T00:00:00{end}"
        there = 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]
        assert is_value_error(parse_instant, text) is not there


def test_every_year_begins_and_ends_where_datetime_has_it() -> None:
    for year in range(1970, 10_000):
        for month, day in ((1, 1), (2, 28), (3, 1), (12, 31)):
            instant_ms = (date(year, month, day) - date(1970, 1, 1)).days * DAY_MS
            assert format_instant(instant_ms) == f"{year}-{month:02d}-{day:02d}T00:00:00.000Z"
            assert parse_instant(f"{year}-{month:02d}-{day:02d}T00:00:00Z") == instant_ms


@pytest.mark.parametrize(
    ("instant_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (NOW_MS + 7, "2026-12-01T09:30:00.007Z"),
        (951_782_400_000 - 1, "2000-02-28T23:59:59.999Z"),
        (951_782_400_000 + DAY_MS, "2000-03-01T00:00:00.000Z"),
        (INSTANT_MS_MAX, "9999-12-31T23:59:59.999Z"),
        (INSTANT_MS_MAX + 1, "9999-12-31T23:59:59.999Z"),
        (-1, "1970-01-01T00:00:00.000Z"),
    ],
)
def test_an_instant_is_written_in_utc_and_kept_inside_the_calendar(instant_ms: int, text: str) -> None:
    assert format_instant(instant_ms) == text


@pytest.mark.parametrize(("text", "duration_ms"), LONG)
def test_a_duration_is_read(text: str, duration_ms: int) -> None:
    assert parse_duration(text) == duration_ms


@pytest.mark.parametrize("text", NO_DURATION)
def test_what_is_no_duration_is_refused(text: str) -> None:
    assert is_value_error(lambda: parse_duration(text))


@pytest.mark.parametrize(("duration_ms", "text"), SHOWN)
def test_a_duration_is_shown_in_its_two_largest_units(duration_ms: int, text: str) -> None:
    assert format_duration(duration_ms) == text
