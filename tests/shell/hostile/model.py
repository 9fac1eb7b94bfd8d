"""What a hostile row and a fault are, and the short forms in which the tables write them."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypedDict, Unpack


class Kind(StrEnum):
    FOLDER = "folder"
    SYMLINK = "symlink"
    FIFO = "fifo"


class Place(StrEnum):
    WORK = "work"
    BOARD = "board"


@dataclass(frozen=True, kw_only=True)
class Made:
    """Something that isn't a regular file, made in the working or the board folder."""

    place: Place
    kind: Kind
    name: str
    target: str = ""


@dataclass(frozen=True, kw_only=True)
class Graft:
    """A record that is right in all but `changes` (dotted keys; the value `ABSENT` removes the key).

    It is a copy of the record `onto` with seq + 1, prev = SHA-256 of `onto`'s bytes, a new op_id and nonce,
    and then the changes. Where `name` is `onto`, the record is changed in place and nothing else is.
    """

    onto: str
    name: str
    changes: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Row:
    name: str
    argv: tuple[str, ...]
    exit: int | None
    why: str
    among: tuple[int, ...] = ()
    code: str | None = None
    stdin: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    later: Mapping[str, bytes] = field(default_factory=dict)
    plant: Mapping[str, bytes] = field(default_factory=dict)
    grafts: tuple[Graft, ...] = ()
    made: tuple[Made, ...] = ()
    setup: tuple[tuple[str, ...], ...] = ()
    shows: tuple[str, ...] = ()
    status_after: Mapping[str, str] = field(default_factory=dict)
    board: bool = True
    may_write: bool = False


ABSENT = "@absent@"
READS = frozenset({"list", "status", "show", "why", "history", "schema", "doctor", "completion"})
NEVER_RAW = (b"\x00", b"\x07", b"\x08", b"\x1b", b"\x7f", b"\xc2\x9b", b"Traceback")

Want = int | tuple[int, ...]
NO = (1, 2)  # refused by a rule, or usage: the contract says no, and not which of the two
OPEN = (0, 1, 2)  # either answer is fine; a crash, a defect or raw output is not
UNUSABLE = (1, 2, 3)  # the thing named can't be used; whose fault that is, is open
NOT_YET = (1, 75)  # refused by a rule, or "not now"
DAMAGED = (1, 3)  # a finding that refuses the task, or a broken store
T1 = "add one --id t1"
T12 = "add one --id t1; add two --id t2"
HELD = "add one --id t1; claim t1"
DONE = "add one --id t1; claim t1; done t1 --output out.txt"
OUT = {"out.txt": b"made\n"}
OTHER = {"RK_ROLE": "other", "RK_INSTANCE": "elsewhere"}
TWINS = "add one --id Task-A"
GOOD = '[{"id": "t1", "title": "one"}, {"id": "t2", "title": "two"}]'
WORK_FILES = OUT | {"empty.txt": b"", "second.txt": b"second\n", "cyclic/a.txt": b"a"}


def split(commands: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(shlex.split(part)) for part in commands.split(";") if part.strip())


class Extra(TypedDict, total=False):
    code: str
    stdin: str
    env: Mapping[str, str]
    files: Mapping[str, bytes]
    later: Mapping[str, bytes]
    plant: Mapping[str, bytes]
    grafts: tuple[Graft, ...]
    made: tuple[Made, ...]
    shows: tuple[str, ...]
    status_after: Mapping[str, str]
    board: bool
    may_write: bool


def row(name: str, argv: str | tuple[str, ...], want: Want, why: str, setup: str = "", **extra: Unpack[Extra]) -> Row:
    """A row whose command may be written as one line, and whose setup is lines joined by `;`."""
    return Row(
        name=name,
        argv=tuple(shlex.split(argv)) if isinstance(argv, str) else argv,
        exit=want if isinstance(want, int) else None,
        among=() if isinstance(want, int) else want,
        why=why,
        setup=split(setup),
        **extra,
    )


def from_text(name: str, text: str | bytes, want: Want, why: str, setup: str = "", **extra: Unpack[Extra]) -> Row:
    """`rk add --from tasks.json` with this content."""
    content = text if isinstance(text, bytes) else text.encode("utf-8")
    extra["files"] = {"tasks.json": content}
    return row(name, ("add", "--from", "tasks.json"), want, why, setup, **extra)


def item(name: str, fields: Mapping[str, object], want: Want, why: str, setup: str = "") -> Row:
    """`rk add --from` of one item: a good one with these fields laid over it."""
    return from_text(name, json.dumps([{"id": "t1", "title": "one"} | dict(fields)]), want, why, setup)


class When(StrEnum):
    """Which call fails. A dry run under `strace -f -y` on a copy of the board turns it into `when=N`.

    N counts all calls of the named system calls, as strace does. The publishing call is the one whose new
    name is the task's next record (for `renew`: its beat). Only calls on paths or descriptors in the board's
    folder are candidates; an `openat` before publishing is one for writing. Byte code must not be written
    (PYTHONDONTWRITEBYTECODE=1).
    """

    LAST_BEFORE = "the last candidate before the publishing call"
    PUBLISH = "the publishing call itself"
    FIRST_AFTER = "the first candidate after the publishing call"
    HEAD_READ = "the first candidate on the task's head record"


class Errno(StrEnum):
    EIO = "EIO"
    ENOSPC = "ENOSPC"
    EROFS = "EROFS"
    EINTR = "EINTR"


class Effect(StrEnum):
    UNCHANGED = "the board is as it was, byte for byte"
    PUBLISHED = "the new record is there, whole, and links; nothing else differs"
    EITHER = "status 0: as PUBLISHED; else as UNCHANGED or PUBLISHED; nothing is torn"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """`rk argv` with one system call failing: `-e inject=SYSCALL:error=ERROR:when=N`.

    `optional`: where the dry run has no such call the row doesn't apply; elsewhere that is a failure.
    After each, the same command without the fault (and `doctor`) finds a board that works.
    """

    name: str
    argv: tuple[str, ...]
    syscall: str
    error: Errno
    when: When
    exit: int | None
    effect: Effect
    why: str
    among: tuple[int, ...] = ()
    code: str | None = None
    setup: tuple[tuple[str, ...], ...] = ()
    files: Mapping[str, bytes] = field(default_factory=lambda: dict(OUT))
    optional: bool = False
