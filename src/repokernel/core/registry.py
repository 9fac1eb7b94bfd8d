"""The registry file: strict reading, one byte form out.

Read: UTF-8 JSON, an object with the list `entries` or that list alone; byte-order mark, line ends, order
and spaces don't matter. What can't be read is a value that says why and where, never half a registry.
Written: entries sorted by id (numbers before texts), one a line, keys sorted, LF, a final newline.
"""

from __future__ import annotations

from enum import StrEnum
from marshal import dumps

from repokernel.core import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, NamedTuple

    Id = int | str
    Entry = Mapping[str, object]

    class Registry(NamedTuple):
        """A registry that was read or joined."""

        # what stands beside `entries`; None where the file is a bare list
        top: Mapping[str, object] | None
        entries: Mapping[Id, Entry]
        # further entries of an id that stands more than once
        again: tuple[Entry, ...]

    class Unreadable(NamedTuple):
        """Why bytes are no registry, and the place in words."""

        fault: Fault
        message: str

else:
    from collections import namedtuple

    Registry = namedtuple("Registry", "top entries again")
    Unreadable = namedtuple("Unreadable", "fault message")


class Fault(StrEnum):
    """Why a registry can't be read, or two can't be joined."""

    BAD_EPOCH = "bad_epoch"
    BAD_ID = "bad_id"
    BAD_STATUS = "bad_status"
    BAD_VERSION = "bad_version"
    DUPLICATE_KEY = "duplicate_key"
    EMPTY = "empty"
    ENTRY_WITHOUT_ID = "entry_without_id"
    MASS_REMOVAL = "mass_removal"
    NEWER_VERSION = "newer_version"
    NO_ENTRIES_LIST = "no_entries_list"
    NOT_JSON = "not_json"
    SHAPE_DIFFERS = "shape_differs"
    TOO_LARGE = "too_large"


VERSION = 1
# beyond this nobody's tasks, and more than a merge should hold in memory as objects
BYTES_MAX = 64 << 20
# lists whose order carries no meaning
SETS = frozenset({"depends_on", "labels", "owned_paths"})
_BOM = b"\xef\xbb\xbf"
# what no registry says by chance
_BETWEEN = "~repokernel: next entry~"
_MARKER = "<<<<<<< "


def read(data: bytes) -> Registry | Unreadable:
    """The registry that the bytes hold, its set-like lists sorted."""
    if len(data) > BYTES_MAX:
        return Unreadable(Fault.TOO_LARGE, f"larger than {BYTES_MAX >> 20} MiB")
    data = data.removeprefix(_BOM)
    if not data.strip():
        return Unreadable(Fault.EMPTY, "empty")
    try:
        value = jsontext.parse(data)
    except jsontext.DuplicateKeyError as cause:
        return Unreadable(Fault.DUPLICATE_KEY, str(cause))
    except ValueError as cause:
        return _no_json(data, str(cause))
    return _registry(None, value) if isinstance(value, list) else _object(value)


def _object(value: object) -> Registry | Unreadable:
    entries = value.pop("entries", None) if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(entries, list):
        return Unreadable(Fault.NO_ENTRIES_LIST, "there is no list `entries`")
    version = value.get("version", VERSION)
    if type(version) is not int:
        return Unreadable(Fault.BAD_VERSION, "`version` is not a whole number")
    if version > VERSION:
        return Unreadable(Fault.NEWER_VERSION, f"`version` is {version}, and this rk merges {VERSION}: upgrade it")
    return _registry(value, entries)


def _no_json(data: bytes, said: str) -> Unreadable:
    """Why a text isn't JSON: a marker line is what a person looks for first; the rest is the parser's word."""
    lines = data.decode("utf-8", "replace").splitlines()
    marked = next((n for n, line in enumerate(lines, 1) if line.startswith(_MARKER)), None)
    if marked is not None:
        return Unreadable(Fault.NOT_JSON, f"conflict markers from line {marked} on")
    # a number of more digits than the interpreter turns into one is told with advice for programmers
    return Unreadable(Fault.NOT_JSON, said.partition(";")[0])


def _registry(top: Mapping[str, object] | None, found: list[Any]) -> Registry | Unreadable:
    entries: dict[Id, Entry] = {}
    again: list[Entry] = []
    for place, entry in enumerate(found, 1):
        name = entry.get("id") if type(entry) is dict else None
        if type(name) is not str and type(name) is not int:
            return _without_id(place, entry)
        if type(entry.get("status")) is not str:
            said = f"entry {place}, {name!r:.80}, has no status that is a text"
            return Unreadable(Fault.BAD_STATUS, said)
        if type(entry.get("epoch", 0)) is not int:
            said = f"the epoch of entry {place}, {name!r:.80}, is not a whole number"
            return Unreadable(Fault.BAD_EPOCH, said)
        for field in SETS:
            if field in entry and type(value := entry[field]) is list and len(value) > 1:
                entry[field] = _sorted(value)
        if name in entries:
            again.append(entry)
        else:
            entries[name] = entry
    return Registry(top, entries, tuple(again))


def _without_id(place: int, entry: object) -> Unreadable:
    if not isinstance(entry, dict) or "id" not in entry:
        return Unreadable(Fault.ENTRY_WITHOUT_ID, f"entry {place} has no id")
    return Unreadable(Fault.BAD_ID, f"the id of entry {place} is neither a text nor a whole number")


def _sorted(value: list[Any]) -> list[Any]:
    try:
        "".join(value)  # the cheapest way to learn that all are texts
    except TypeError:
        return as_list(by_key(value))
    return sorted(set(value))


def by_key(value: object) -> dict[tuple[bool, str], object]:
    """The elements of a set-like list by what tells them apart, texts first; none if it isn't a list."""
    if not isinstance(value, list):
        return {}
    return {(False, one) if isinstance(one, str) else (True, jsontext.line(one)): one for one in value}


def as_list(elements: Mapping[tuple[bool, str], object]) -> list[object]:
    """Those elements in order."""
    return [elements[key] for key in sorted(elements)]


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal as JSON, where 1, 1.0 and true are three."""
    if one is other:
        return True
    if one != other:
        return False
    # equal objects are mostly written alike too: comparing dumps is a tenth of comparing canonical forms
    return dumps(one, 2) == dumps(other, 2) or jsontext.line(one) == jsontext.line(other)


def unchanged(base: Any, one: Any, other: Any) -> bool:
    """Whether three values are surely equal, which most entries are: with three dumps instead of four."""
    return bool(one == base == other) and dumps(one, 2) == dumps(base, 2) == dumps(other, 2)


def in_order(names: Iterable[Id]) -> list[Id]:
    """Ids as a registry lists them: numbers by value, then texts by code point."""
    every = list(names)
    texts: list[Id] = [*sorted([name for name in every if isinstance(name, str)])]
    if len(texts) == len(every):
        return texts
    return [*sorted([name for name in every if isinstance(name, int)]), *texts]


def write(registry: Registry) -> bytes:
    """The one byte form of a registry; it must have no id twice."""
    assert not registry.again, "join the entries of one id before writing"
    lines = _lines([registry.entries[name] for name in in_order(registry.entries)])
    listed = f"[\n{lines}\n]" if lines else "[]"
    if registry.top is None:
        return f"{listed}\n".encode()
    parts = {name: jsontext.line(value) for name, value in registry.top.items()} | {"entries": listed}
    return ("{" + ",".join([f"{jsontext.line(name)}:{parts[name]}" for name in sorted(parts)]) + "}\n").encode()


def _lines(entries: list[Entry]) -> str:
    """The entries one a line; encoded at one go, which takes half the time of as many calls."""
    parted = [one for entry in entries for one in (entry, _BETWEEN)][:-1]
    text = jsontext.line(parted)[1:-1]
    if text.count(_BETWEEN) != len(parted) // 2:  # an entry says the same
        return ",\n".join(map(jsontext.line, entries))
    return text.replace(f',"{_BETWEEN}",', ",\n")
