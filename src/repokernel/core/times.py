"""Instants and durations: whole milliseconds inside, RFC 3339 UTC (`Z`) and `90s`/`10m`/`8h` outside.

Written out by hand since every hot command needs it and `datetime` costs 2 ms of start-up.
The calendar is the proleptic Gregorian one; the day count follows Howard Hinnant's
"chrono-Compatible Low-Level Date Algorithms".
"""

from __future__ import annotations

import re
from functools import lru_cache

MS_PER_S = 1000
_MS_PER_DAY = 86_400_000
_INSTANT = r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:([Zz])|([+-])([01]\d|2[0-3]):([0-5]\d))"
_MONTH_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": _MS_PER_DAY}
_DURATION = r"(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)"
DURATION_MS_MAX = 3660 * _MS_PER_DAY
INSTANT_MS_MAX = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z


def _days_from_civil(year: int, month: int, day: int) -> int:
    year -= month <= 2
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def _civil_from_days(days: int) -> tuple[int, int, int]:
    days += 719_468
    era = days // 146_097
    day_of_era = days - era * 146_097
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + (3 if shifted < 10 else -9)
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1


def format_instant(instant_ms: int) -> str:
    """RFC 3339 text in UTC with milliseconds, such as `2026-12-01T09:30:00.000Z`."""
    instant_ms = min(max(instant_ms, 0), INSTANT_MS_MAX)
    days, rest = divmod(instant_ms, _MS_PER_DAY)
    year, month, day = _civil_from_days(days)
    seconds, ms = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}.{ms:03d}Z"


@lru_cache(1024)  # a record names one instant several times
def _plain(text: str) -> int | None:
    """Milliseconds of an instant in the form that we write, without a regular expression; else None."""
    digits = text[0:4] + text[5:7] + text[8:10] + text[11:13] + text[14:16] + text[17:19] + text[20:23]
    marks = text[4:5] + text[7:8] + text[10:11] + text[13:14] + text[16:17] + text[19:20] + text[23:]
    if marks != "--T::.Z" or len(digits) != 17 or not (digits.isascii() and digits.isdigit()):
        return None
    month, day, seconds = int(digits[4:6]), int(digits[6:8]), int(digits[12:14])
    hour, minute = int(digits[8:10]), int(digits[10:12])
    if not (1 <= month <= 12 and 1 <= day <= 28 and hour < 24 and minute < 60 and seconds < 60):
        return None  # the end of a month, or nonsense: the careful way decides
    days = _days_from_civil(int(digits[:4]), month, day)
    instant_ms = ((days * 24 + hour) * 60 + minute) * 60_000 + seconds * 1000 + int(digits[14:])
    return instant_ms if instant_ms >= 0 else None


def parse_instant(text: str) -> int:
    """Milliseconds since 1970 of an RFC 3339 instant; any offset is accepted, none is not.

    Raises:
        ValueError: `text` is not such an instant, or lies before 1970.
    """
    known = _plain(text)
    if known is not None:
        return known
    match = re.fullmatch(_INSTANT, text, re.ASCII)
    if match is None:
        raise ValueError("not an RFC 3339 instant such as 2026-12-01T09:30:00Z")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    in_calendar = 1 <= month <= 12 and 1 <= day <= _MONTH_DAYS[month - 1] and (leap or (month, day) != (2, 29))
    if not in_calendar or hour > 23 or minute > 59 or second > 60:
        raise ValueError("no such date or time of day")
    ms = int((match[7] or "0")[:3].ljust(3, "0"))
    offset_min = 0 if match[9] is None else int(match[10]) * 60 + int(match[11])
    if match[9] == "-":
        offset_min = -offset_min
    total_min = (_days_from_civil(year, month, day) * 24 + hour) * 60 + minute - offset_min
    instant_ms = (total_min * 60 + min(second, 59)) * 1000 + ms
    if not 0 <= instant_ms <= INSTANT_MS_MAX:
        raise ValueError("outside the years 1970 to 9999")
    return instant_ms


def parse_duration(text: str) -> int:
    """Milliseconds of `1500ms`, `90s`, `10m`, `8h` or `2d`.

    Raises:
        ValueError: not of that form, zero, or over ten years.
    """
    match = re.fullmatch(_DURATION, text, re.ASCII)
    if match is None:
        raise ValueError("not a duration such as 90s, 10m, 8h or 2d")
    duration_ms = round(float(match[1]) * _UNIT_MS[match[2]])
    if not 0 < duration_ms <= DURATION_MS_MAX:
        raise ValueError("a duration is more than nothing and at most ten years")
    return duration_ms


def format_duration(duration_ms: int) -> str:
    """A short text for people: `850ms`, `42s`, `9m 10s`, `7h 59m`, `3d 4h`."""
    if duration_ms < 1000:
        return f"{max(duration_ms, 0)}ms"
    seconds = duration_ms // 1000
    parts = (
        (seconds // 86_400, "d"),
        (seconds // 3600 % 24, "h"),
        (seconds // 60 % 60, "m"),
        (seconds % 60, "s"),
    )
    first = next(i for i, (count, _) in enumerate(parts) if count)
    return " ".join(f"{count}{unit}" for count, unit in parts[first : first + 2] if count)
