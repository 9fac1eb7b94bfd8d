"""Plain tests of what a text is made of; compiling a regular expression costs a hot command more."""

from __future__ import annotations

ALNUM = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
WORD = ALNUM + "._-"
HEX = "0123456789abcdef"
LOWER = "abcdefghijklmnopqrstuvwxyz"


def made_of(text: str, chars: str, count_max: int, *, first: str = ALNUM) -> bool:
    """Whether `text` is 1 to `count_max` of `chars` and starts with one of `first`."""
    return 0 < len(text) <= count_max and text[0] in first and not text.strip(chars)
