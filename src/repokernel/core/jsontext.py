"""JSON as bytes: one canonical form out, strict reading in.

Canonical: sorted keys, no spaces, UTF-8, final newline, so that equal values have equal hashes.
Strict: duplicate keys, NaN and Infinity, a byte-order mark inside a record and anything that isn't
UTF-8 are errors (RFC 8259 leaves them to the reader; two readers that differ would be a silent fork).
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# far from the interpreter's limit, so that what was read can be written from anywhere
DEPTH_MAX = 100

_ENCODE = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode


class DuplicateKeyError(ValueError):
    """An object has a key twice; `key` is it, `owner` the object's id if it has one."""

    def __init__(self, key: str, owner: object) -> None:
        """Say so in one line."""
        of = f" of {owner!r:.80}" if isinstance(owner, str | int) else ""
        super().__init__(f"the key {key!r:.80}{of} stands twice")
        self.key = key


def line(value: object) -> str:
    """The canonical form of a JSON value as text, without a final newline.

    Raises:
        ValueError: not representable (NaN).
    """
    return _ENCODE(value)


def canonical(value: object) -> bytes:
    """The one byte form of a JSON value, with a final newline.

    Raises:
        ValueError: not representable (NaN, a lone surrogate).
    """
    return (_ENCODE(value) + "\n").encode()


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise DuplicateKeyError(twice, value.get("id"))
    return value


def _constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _float(text: str) -> float:
    value = float(text)
    if value - value != 0:  # only infinity differs from itself by anything
        raise ValueError(f"{text:.40} is beyond any number that can be written back")
    return value


def _check_depth(value: object) -> None:
    """Refuse what has a value `DEPTH_MAX` levels down; only what holds something can."""
    level: list[object] = [value]
    for _ in range(DEPTH_MAX - 1):
        level = [one for many in level for one in _inside(many) if one and (type(one) is dict or type(one) is list)]
        if not level:
            return
    raise ValueError("nested too deeply")


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)


def parse(data: bytes) -> object:
    """The value of strict JSON text.

    Raises:
        ValueError: with the place, in one line.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as cause:
        raise ValueError(f"not UTF-8 at byte {cause.start}") from None
    try:
        value = _DECODER.decode(text)
        if text.count("[") + text.count("{") > DEPTH_MAX:
            _check_depth(value)
        if "\\u" in text:  # an escape may stand for half a character, which can't be written back
            _ENCODE(value).encode()
        return value
    except json.JSONDecodeError as cause:
        raise ValueError(f"not JSON at line {cause.lineno}, column {cause.colno}: {cause.msg}") from None
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair stands alone") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
