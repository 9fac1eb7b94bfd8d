"""How things look on a terminal: nothing from data reaches it raw, columns align, times are local."""

from __future__ import annotations

import re

from repokernel.core.owner import short_owner
from repokernel.core.times import format_duration, parse_instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# C0, DEL, C1, bidirectional controls, line separators, lone surrogates: they could rewrite the screen
_RAW = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
_RAW_JSON = "[\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
_ELLIPSIS = "…"
_INSTANT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def safe(text: str) -> str:
    """`text` with every control character shown as its escape."""
    if text.replace("\n", "").isprintable():
        return text
    return re.sub(_RAW, lambda m: f"\\x{ord(m[0]):02x}" if m[0] < "\u0100" else f"\\u{ord(m[0]):04x}", text)


def safe_json(text: str) -> str:
    """JSON text with the same characters as JSON escapes."""
    if text.isascii() and "\x7f" not in text:
        return text
    return re.sub(_RAW_JSON, lambda m: f"\\u{ord(m[0]):04x}", text)


def line(text: str) -> str:
    """`safe` text on one line."""
    return safe(text).replace("\n", " ⏎ ").replace("\t", " ")


def width(text: str) -> int:
    """How many columns `text` takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(ch) else 2 if east_asian_width(ch) in "WF" else 1 for ch in text)


def cut(text: str, columns: int) -> str:
    """`text` in at most `columns` columns."""
    if width(text) <= columns:
        return text
    while text and width(text) > columns - 1:
        text = text[:-1]
    return text + _ELLIPSIS


def table(rows: Sequence[Sequence[str]], *, last_columns: int = 80) -> str:
    """Rows with aligned columns; the last column is cut, not padded."""
    clean = [[line(cell) for cell in row] for row in rows]
    if not clean:
        return ""
    widths = [max(width(row[i]) for row in clean) for i in range(len(clean[0]) - 1)]
    lines = []
    for row in clean:
        cells = [cell + " " * (wide - width(cell)) for cell, wide in zip(row, widths, strict=False)]
        lines.append("  ".join([*cells, cut(row[-1], last_columns)]).rstrip())
    return "\n".join(lines)


def local(instant: str | None) -> str:
    """An RFC 3339 instant in local time, to the second."""
    if instant is None:
        return "-"
    import time

    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(parse_instant(instant) // 1000))


def said(text: str) -> str:
    """A sentence on one line, its instants in local time."""
    return line(re.sub(_INSTANT, lambda m: local(m[0]), text)) if "Z" in text else line(text)


def left(instant: str | None, now_ms: int) -> str:
    """How long until an instant, or since when it has passed."""
    if instant is None:
        return "-"
    rest_ms = parse_instant(instant) - now_ms
    return f"{format_duration(rest_ms)} left" if rest_ms >= 0 else f"lapsed {format_duration(-rest_ms)} ago"


def owner(text: str | None) -> str:
    """An owner, short, or a dash for nobody."""
    return "-" if text is None else short_owner(text)
