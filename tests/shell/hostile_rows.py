"""Hostile input for `rk`, as tables: what is asked, what may be answered, and why.

Written from the contract alone (DESIGN.md 2, 4, 5, 6, 11, 13; issue 2, Shows 4). Data only; a runner
gives each row a fresh folder and keeps to this order: `rk init` (unless `board` is false), `files` and
the `made` things of the working folder, `setup` (each command exits 0; without the row's `env`), `later`,
then `plant`, `grafts` and the `made` things of the board (what is in their way is removed), then `argv`
with `env` and `stdin`. Where `code` is set the runner appends `--json`.

Holds for every row, whatever its exit status:
- It ends (60 s), and nothing of `NEVER_RAW` is in stderr, nor in stdout where that isn't JSON.
  After a row of `SHOWN_SAFELY` that was accepted the same holds for `list`, `status`, `show t1` and `history`.
- The status is `exit`, or one of `among` where the contract leaves it open. 3 is in `among` only where
  the store or the environment is at fault: elsewhere 3 would be a defect.
- A status other than 0 says so in one sentence, names what and where, and leaves the board as it was,
  byte for byte, names and link targets included (`may_write` rows excepted). A command of `READS` leaves
  it so with status 0 too. Below `beats/` only planted names count: a holder's own commands may renew.
- What was planted is still there, unchanged.
- stdout contains each text of `shows`; each task of `status_after` that `rk show` finds has that status.
"""

import json
import shlex
from collections.abc import Iterable, Mapping
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


def _split(commands: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(shlex.split(part)) for part in commands.split(";") if part.strip())


class _Extra(TypedDict, total=False):
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


def _row(name: str, argv: str | tuple[str, ...], want: Want, why: str, setup: str = "", **extra: Unpack[_Extra]) -> Row:
    """A row whose command may be written as one line, and whose setup is lines joined by `;`."""
    return Row(
        name=name,
        argv=tuple(shlex.split(argv)) if isinstance(argv, str) else argv,
        exit=want if isinstance(want, int) else None,
        among=() if isinstance(want, int) else want,
        why=why,
        setup=_split(setup),
        **extra,
    )


def _from(name: str, text: str | bytes, want: Want, why: str, setup: str = "", **extra: Unpack[_Extra]) -> Row:
    """`rk add --from tasks.json` with this content."""
    content = text if isinstance(text, bytes) else text.encode("utf-8")
    extra["files"] = {"tasks.json": content}
    return _row(name, ("add", "--from", "tasks.json"), want, why, setup, **extra)


def _item(name: str, fields: Mapping[str, object], want: Want, why: str, setup: str = "") -> Row:
    """`rk add --from` of one item: a good one with these fields laid over it."""
    return _from(name, json.dumps([{"id": "t1", "title": "one"} | dict(fields)]), want, why, setup)


# --- 1: ids and titles -------------------------------------------------------------------------------

_BAD_IDS: tuple[tuple[str, str, str], ...] = (
    ("dots", "..", "a parent folder is no id"),
    ("dot", ".", "a folder is no id"),
    ("dotdot-inside", "a..b", "`..` makes no valid ref component"),
    ("slash", "a/b", "an id is one name, not a path"),
    ("traversal", "../../etc/passwd", "ids are validated before they become a path"),
    ("absolute", "/tmp/x", "an absolute path would leave the board"),
    ("backslash", "a\\b", "outside the alphabet; a separator elsewhere"),
    ("lock", "a.lock", "`.lock` is Git's own suffix"),
    ("lock-upper", "a.LOCK", "refs use the case-folded id, so this is `.lock` too"),
    ("final-dot", "a.", "no valid ref component on every platform"),
    ("empty", "", "an empty id names nothing"),
    ("space", " ", "outside the alphabet"),
    ("inner-space", "a b", "outside the alphabet"),
    ("long", "a" * 65, "one more than 64"),
    ("leading-dot", ".a", "the first character is a letter or digit"),
    ("leading-dash", "-a", "would read as an option everywhere"),
    ("leading-underscore", "_a", "the first character is a letter or digit"),
    ("device-con", "CON", "a device name"),
    ("device-nul", "nul", "a device name in lower case"),
    ("device-com1", "com1", "a device name with a digit"),
    ("device-lpt9", "Lpt9", "a device name in mixed case"),
    ("umlaut", "\u00e4", "only ASCII letters are in the alphabet"),
    ("fullwidth", "\uff54\uff11", "isalnum() is not the alphabet"),
    ("kelvin", "\u212a1", "case-folds into ASCII `k1`, but isn't ASCII itself"),
    ("arabic-digit", "t\u0663", "\\d is not [0-9]"),
    ("final-newline", "t1\n", "`$` in a regular expression lets one newline pass"),
    ("carriage-return", "t1\r", "a control character"),
    ("escape", "t\x1b[2J", "a control character; the message mustn't carry it raw"),
    ("glob", "t*", "outside the alphabet; never a pattern"),
    ("at-brace", "a@{0}", "Git's reflog syntax"),
    ("colon", "a:b", "outside the alphabet; a stream name elsewhere"),
    ("not-utf8", "t\udcff", "an argument that isn't UTF-8 can't be an id"),
)
_BAD_TITLES: tuple[tuple[str, str, str], ...] = (
    ("empty", "", "a task without a title says nothing to a worker"),
    ("blank", " \t ", "white space alone is an empty title"),
    ("not-utf8", "\udcff", "what isn't UTF-8 can't be stored unchanged as JSON"),
)
_NO_TASK: tuple[tuple[str, str, str], ...] = (
    ("show", "../../etc/passwd", "a path"),
    ("claim", "../beats/x", "a path into the board's other folder"),
    ("renew", "t1/../t2", "a path to itself"),
    ("release", "", "nothing"),
    ("cancel", "t*", "a pattern"),
    ("reopen", "..", "a folder"),
    ("why", "t1\n", "a newline that `$` lets pass"),
    ("history", "t\udcff", "not UTF-8"),
    ("open", "t\x1b[2J", "an escape; never echoed raw"),
    ("verify", "a" * 100_000, "longer than any file name"),
)
_TWINS = "add one --id Task-A"

IDS_AND_TITLES: tuple[Row, ...] = (
    *(_row(f"id-{n}", ("add", "x", "--id", v), NO, why) for n, v, why in _BAD_IDS),
    *(_row(f"title-{n}", ("add", v), NO, why) for n, v, why in _BAD_TITLES),
    *(_row(f"{verb}-id", (verb, v), NO, f"no task has such a name: {why}") for verb, v, why in _NO_TASK),
    _row("id-device-extension", "add x --id con.txt", OPEN, "a device on old Windows; is it a device name?"),
    _row("id-case-twin", "add two --id task-a", 1, "another spelling is id_taken", setup=_TWINS, code="id_taken"),
    _row("id-case-twin-upper", "add two --id TASK-A", 1, "another spelling is id_taken", setup=_TWINS, code="id_taken"),
    _row("id-again", "add other --id t1", 1, "another task has this id; its record is never replaced", setup=T1),
    _row("id-other-spelling-shown", "show T1", OPEN, "resolved by the folded key, or unknown", setup=T1),
    _row("title-dash", ("add", "-dash"), 2, "without `--` this is an unknown option"),
    _row("title-dash-after", ("add", "--", "-dash"), (0, 2), "a title after `--`, or no such form"),
    _item("title-10-mb", {"title": "x" * 10_000_000}, NO, "a title is a line, not a file"),
    _item("body-10-mb", {"body": "x" * 10_000_000}, OPEN, "the contract sets no limit for the body"),
    _item("id-nul", {"id": "a\0b"}, NO, "NUL can't be in a name"),
    _item("id-surrogate", {"id": "a\ud800"}, NO, "a lone surrogate is no character"),
    _item("id-true", {"id": True}, NO, "true is no number, so it doesn't become its text"),
    _item("id-list", {"id": ["t1"]}, NO, "an id is a string or a number"),
    _item("id-negative", {"id": -7}, NO, "its text `-7` has a leading dash"),
    _item("id-null", {"id": None}, OPEN, "no id (then one is generated), or a wrong type"),
    _item("id-twin-in-file", {"id": "TASK-A"}, NO, "the twin is on the board already", _TWINS),
)  # fmt: skip

# --- shown safely: refused, or accepted and never raw on a terminal (also by `show`, `list`, `status`) --

_ODD: tuple[tuple[str, str, str], ...] = (
    ("clear", "a\x1b[2Jb", "clears the screen"),
    ("colour", "\x1b[31mred", "leaves the terminal red"),
    ("osc-title", "\x1b]0;owned\x07", "renames the window"),
    ("osc-52", "\x1b]52;c;cm0gLXJm\x07", "writes the clipboard"),
    ("c1-csi", "a\u009b2Jb", "CSI as one 8-bit control"),
    ("backspace", "safe\b\b\b\bevil", "overprints what stands before it"),
    ("delete", "a\x7fb", "a control above ASCII's printables"),
    ("return", "a\rb", "overwrites its own line"),
    ("newline", "a\nt9  done  forged row", "forges a row of `list`"),
    ("bidi", "a\u202egnp.exe", "shows in another order than it is"),
    ("line-separator", "a\u2028b", "a line break to str.splitlines()"),
)
SHOWN_SAFELY: tuple[Row, ...] = (
    *(_row(f"odd-title-{n}", ("add", v, "--id", "t1"), OPEN, why) for n, v, why in _ODD),
    *(_row(f"odd-note-{n}", ("note", "t1", v), OPEN, why, setup=T1) for n, v, why in _ODD[:3]),
    *(_row(f"odd-hold-{n}", ("hold", "t1", "--reason", v), OPEN, why, setup=T1) for n, v, why in _ODD[:3]),
    *(
        _row(f"odd-detail-{n}", ("fail", "t1", "--code", "c", "--detail", v), OPEN, why, setup=HELD)
        for n, v, why in _ODD[:3]
    ),
    *(_row(f"odd-question-{n}", ("ask", "t1", v), OPEN, why, setup=HELD) for n, v, why in _ODD[:2]),
    *(_row(f"odd-role-{n}", ("claim", "t1", "--role", v), OPEN, why, setup=T1) for n, v, why in _ODD[:2]),
    *(_row(f"odd-label-{n}", ("add", "x", "--label", v), OPEN, why) for n, v, why in _ODD[:2]),
    *(_row(f"odd-epic-{n}", ("add", "x", "--epic", v), OPEN, why) for n, v, why in _ODD[:2]),
    *(_row(f"odd-input-{n}", ("add", "x", "--input", f"{v}=1"), OPEN, why) for n, v, why in _ODD[:2]),
    *(_row(f"odd-command-{n}", (v,), 2, f"an echoed unknown command {why}") for n, v, why in _ODD[:5]),
    *(_row(f"odd-option-{n}", ("list", f"--{v}"), 2, f"an echoed option {why}") for n, v, why in _ODD[:5]),
    _item("odd-title-nul", {"title": "a\0b"}, OPEN, "NUL ends a string elsewhere"),
    _item("odd-title-surrogate", {"title": "a\ud800b"}, OPEN, "can't be encoded when shown"),
    _item("odd-body-escapes", {"body": "\x1b[2J\x07"}, OPEN, "a body is prose, and shown by `show`"),
    _item("odd-unknown-key", {"\x1b[2J": 1}, OPEN, "the name of an unknown field is data too"),
    _from("odd-json-position", '[{"id": "t1", "title": "\x1b[2J"}]', OPEN, "a raw control in JSON, echoed?"),
    _row("odd-instance", "claim t1", OPEN, "the owner is shown by `status`", setup=T1,
         env={"RK_INSTANCE": "a\x1b[2Jb"}),
    _row("odd-output", ("done", "t1", "--output", "\x1b[2J.txt"), OPEN, "the URI is shown", setup=HELD,
         files={"\x1b[2J.txt": b"x"}),
)  # fmt: skip

# --- 2: option values --------------------------------------------------------------------------------

_USAGE: tuple[tuple[str, str, str], ...] = (
    ("lease-negative", "claim t1 --lease -1s", "a lease ends in the future"),
    ("lease-negative-joined", "claim t1 --lease=-1s", "the same, joined"),
    ("lease-zero", "claim t1 --lease 0", "a lease of no length holds nothing"),
    ("lease-zero-s", "claim t1 --lease 0s", "the same with a unit"),
    ("lease-huge", "claim t1 --lease 1e99h", "no instant can be written that far away"),
    ("lease-overflow", "claim t1 --lease 99999999999h", "past year 9999; no overflow defect"),
    ("lease-unit", "claim t1 --lease 10x", "no such unit"),
    ("lease-nan", "claim t1 --lease nan", "float() takes it, a duration doesn't"),
    ("lease-inf", "claim t1 --lease inf", "float() takes it, a duration doesn't"),
    ("lease-empty", "claim t1 --lease ''", "an empty duration"),
    ("lease-missing", "claim t1 --lease", "the option takes a value"),
    ("wait-unit", "claim --next --wait=10x", "no duration, and no value for a switch"),
    ("priority-word", "add x --priority high", "priority is a whole number"),
    ("priority-fraction", "add x --priority 1.5", "priority is a whole number"),
    ("priority-empty", "add x --priority ''", "an empty number"),
    ("max-attempts-word", "add x --max-attempts x", "not a number"),
    ("expects-word", "add x --expects maybe", "output, non_empty or none"),
    ("input-no-value", "add x --input novalue", "written k=v"),
    ("status-word", "list --status bogus", "not a phase; an empty list would be a lie"),
    ("status-missing", "list --status", "the option takes a value"),
    ("depth-word", "verify t1 --depth deep", "exists, size or sha256"),
    ("depth-empty", "verify t1 --depth ''", "exists, size or sha256"),
    ("verdict-word", "done t1 --verdict maybe", "accepted, changes_requested or rejected"),
    ("token-word", "done t1 --output out.txt --token abc", "a token is a whole number"),
    ("token-fraction", "renew t1 --token 1.5", "a token is a whole number"),
    ("owner-pid-word", "claim t1 --owner-pid abc", "a pid is a number"),
    ("owner-pid-zero", "claim t1 --owner-pid 0", "no process; kill(0) would ask the whole group"),
    ("owner-pid-negative", "claim t1 --owner-pid=-1", "no process; kill(-1) would ask everybody"),
    ("unknown-option", "list --frobnicate", "a typing error mustn't be ignored"),
    ("unknown-short", "list -Z", "a typing error mustn't be ignored"),
    ("unknown-before", "--frobnicate list", "before the command too"),
    ("unknown-command", "frobnicate", "no such command"),
    ("empty-command", "''", "an empty word is no command (bare `rk` is)"),
    ("command-case", "LIST", "commands are spelled one way"),
    ("switch-value", "claim --next=yes", "a switch takes no value"),
    ("add-nothing", "add", "a title or --from is needed"),
    ("claim-nothing", "claim", "an id or --next is needed"),
    ("claim-both", "claim t1 --next", "ID and --next contradict"),
    ("add-both", "add title --from tasks.json", "a title and --from contradict"),
    ("show-nothing", "show", "an id is needed"),
    ("done-nothing", "done --output out.txt", "an id is needed"),
    ("note-no-text", "note t1", "a remark is needed"),
    ("ask-no-text", "ask t1", "a question is needed"),
    ("renew-nothing", "renew", "an id is needed"),
    ("work-no-command", "work --role r", "a program to run is needed"),
    ("work-empty-command", "work --role r --", "a program to run is needed"),
    ("completion-shell", "completion klingon", "no such shell"),
    ("extra-show", "show t1 t2", "one id; the second mustn't be dropped"),
    ("extra-claim", "claim t1 t2", "one id; the second mustn't be dropped"),
    ("extra-list", "list t1", "filters are options"),
    ("extra-schema", "schema extra", "takes no argument"),
    ("board-missing-value", "list --board", "the option takes a value"),
)
_CHOICE: tuple[tuple[str, str, Want, str], ...] = (
    ("status-empty", "list --status ''", (0, 2), "no phase, or no filter"),
    ("token-empty", "renew t1 --token ''", NO, "an unset shell variable isn't the head's token"),
    ("token-zero", "renew t1 --token 0", NO, "0 is no claim's token: malformed, or simply not current"),
    ("token-negative", "renew t1 --token=-1", NO, "tokens count up from 1"),
    ("token-huge", f"renew t1 --token {10**30}", NO, "no such claim; no overflow defect"),
    ("token-5000-digits", f"renew t1 --token {'9' * 5000}", NO, "int() itself refuses so many digits"),
    ("priority-huge", f"add x --priority {10**30}", OPEN, "no range is given"),
    ("max-attempts-negative", "add x --max-attempts=-1", NO, "fewer than none"),
    ("max-attempts-zero", "add x --max-attempts 0", OPEN, "no limit, or never claimable: say which"),
    ("input-no-key", "add x --input =v", NO, "a value without a name"),
    ("lease-underscore", "claim t1 --lease 1_0m", (0, 2), "int() takes it; the grammar is open"),
    ("owner-pid-nobody", "claim t1 --owner-pid 4194399", NO, "above any pid: dead before it began"),
    ("after-unknown", "add x --after nope", OPEN, "is a dependency on what comes later allowed?"),
    ("after-bad-id", "add x --after ../t1", NO, "no task can have this name"),
    ("after-self", "add x --id t9 --after t9", NO, "waits for itself for ever"),
    ("review-of-self", "add x --id t9 --review-of t9", NO, "nobody's work reviews itself"),
    ("review-of-unknown", "add x --review-of nope", OPEN, "as for --after"),
    ("role-at", "claim t1 --role a@b", NO, "`@` parts role and instance"),
    ("role-hash", "claim t1 --role a#b", NO, "`#` parts off the deployment"),
    ("role-space", "claim t1 --role 'a b'", OPEN, "the alphabet of a role is open"),
    ("role-empty", "claim t1 --role ''", OPEN, "refused, or as if not given"),
    ("verify-unknown", "verify nope", NO, "fails loudly, naming the task"),
    ("show-unknown", "show nope", NO, "there is no such task"),
    ("why-unknown", "why nope", NO, "there is no such task"),
    ("history-unknown", "history nope", NO, "there is no such task"),
    ("note-unknown", "note nope hello", NO, "a remark makes no task"),
    ("hold-unknown", "hold nope --reason r", NO, "a stop sign makes no task"),
    ("hold-no-reason", "hold t1", (0, 2), "the contract writes --reason without brackets"),
    ("inputs-file-missing", "add x --inputs-file nope.json", UNUSABLE, "no such file"),
    ("inputs-file-list", "add x --inputs-file list.json", NO, "inputs is an object"),
    ("inputs-file-broken", "add x --inputs-file broken.json", NO, "not JSON"),
    ("board-scheme", "list --board zz://x/y", UNUSABLE, "no such store"),
    ("board-no-folder", "list --board file:nope", UNUSABLE, "no board there; a read makes none"),
    ("board-no-folder-add", "add x --board file:nope", UNUSABLE, "only `rk init` makes a board"),
    ("board-is-file", "list --board file:out.txt", UNUSABLE, "a file is no folder"),
    ("board-empty", "list --board ''", OPEN, "refused, or as if not given"),
    ("board-nul-escape", "list --board file:a%00b", UNUSABLE, "no path has a NUL"),
    ("dir-missing", "-C nope list", UNUSABLE, "no such folder"),
    ("dir-is-file", "-C out.txt list", UNUSABLE, "a file is no folder"),
)
_ENV: tuple[tuple[str, str, Mapping[str, str], Want, str], ...] = (
    ("role-at", "claim t1", {"RK_ROLE": "a@b"}, NO, "checked like --role"),
    ("role-empty", "claim t1", {"RK_ROLE": ""}, OPEN, "an empty variable is mostly an unset one"),
    ("instance-at", "claim t1", {"RK_INSTANCE": "a@b"}, OPEN, "read back as one owner, or refused"),
    ("instance-empty", "claim t1", {"RK_INSTANCE": ""}, OPEN, "never an owner `role@`"),
    ("instance-long", "claim t1", {"RK_INSTANCE": "i" * 100_000}, OPEN, "shown and stored with every record"),
    ("token-word", "renew t1", {"RK_TOKEN": "abc"}, NO, "checked like --token"),
    ("token-list", "renew t1", {"RK_TOKEN": "1,2"}, NO, "one token"),
    ("board-scheme", "list", {"RK_BOARD": "zz://x"}, UNUSABLE, "checked like --board"),
    ("board-no-folder", "list", {"RK_BOARD": "file:nope"}, UNUSABLE, "checked like --board"),
)
_SIDE_FILES = OUT | {"list.json": b"[1]", "broken.json": b'{"a": ', "tasks.json": b'[{"title": "x"}]'}

OPTION_VALUES: tuple[Row, ...] = (
    *(_row(f"usage-{n}", c, 2, why, setup=T12, files=_SIDE_FILES) for n, c, why in _USAGE),
    *(_row(f"choice-{n}", c, want, why, setup=HELD if "token" in n else T12, files=_SIDE_FILES)
      for n, c, want, why in _CHOICE),
    *(_row(f"env-{n}", c, want, why, setup=HELD if "token" in n else T1, env=env)
      for n, c, env, want, why in _ENV),
    _row("no-board-list", "list", UNUSABLE, "there is no board here, and a read makes none", board=False),
    _row("no-board-add", "add x", UNUSABLE, "there is no board here; only `rk init` makes one", board=False),
)  # fmt: skip

# --- 3: add --from -----------------------------------------------------------------------------------

_GOOD = '[{"id": "t1", "title": "one"}, {"id": "t2", "title": "two"}]'
_TEXTS: tuple[tuple[str, str | bytes, Want, str], ...] = (
    ("truncated", _GOOD[:-9], NO, "half a file is no file: none of its tasks is added"),
    ("empty", "", NO, "nothing is not JSON"),
    ("blank", " \r\n", NO, "nothing is not JSON"),
    ("bom-only", b"\xef\xbb\xbf", NO, "a mark before nothing"),
    ("two-documents", _GOOD + _GOOD, NO, "which of the two?"),
    ("trailing-comma", _GOOD[:-1] + ",]", NO, "not JSON"),
    ("python-repr", "[{'id': 't1', 'title': 'one'}]", NO, "not JSON"),
    ("duplicate-keys", '[{"id": "t1", "title": "one", "title": "two"}]', NO, "which title? the last one is a guess"),
    ("duplicate-id-key", '[{"id": "t1", "id": "t2", "title": "x"}]', NO, "which id?"),
    ("duplicate-inner-key", '[{"id": "t1", "title": "x", "inputs": {"a": 1, "a": 2}}]', NO, "inside, too"),
    ("nan", '[{"id": "t1", "title": "x", "priority": NaN}]', NO, "no JSON number, no whole number"),
    ("infinity", '[{"id": "t1", "title": "x", "inputs": {"a": -Infinity}}]', NO, "records are JSON: no Infinity"),
    ("overflow", '[{"id": "t1", "title": "x", "priority": 1e400}]', NO, "becomes infinite; no whole number"),
    ("overflow-input", '[{"id": "t1", "title": "x", "inputs": {"a": 1e400}}]', OPEN, "never stored as Infinity"),
    ("digits", '[{"id": "t1", "title": "x", "priority": %s}]' % ("9" * 5000), NO, "int() itself refuses it"),
    ("number", "42", NO, "no list of tasks"),
    ("string", '"t1"', NO, "no list of tasks"),
    ("null", "null", NO, "no list of tasks"),
    ("true", "true", NO, "no list of tasks"),
    ("list-of-numbers", "[1, 2]", NO, "a number is no task"),
    ("list-of-nulls", "[null]", NO, "null is no task"),
    ("list-in-list", '[[{"title": "x"}]]', NO, "a list is no task"),
    ("list-of-strings", '["one"]', OPEN, "titles alone: a form, or a wrong type"),
    ("empty-list", "[]", OPEN, "nothing to add"),
    ("empty-object", "{}", OPEN, "nothing to add, or a task without a title"),
    ("no-title", '[{"id": "t1"}]', NO, "a task needs a title"),
    ("deep", "[" * 100_000, NO, "no recursion defect"),
    ("deep-closed", "[" * 100_000 + "]" * 100_000, NO, "no recursion defect"),
    ("deep-input", '[{"title": "x", "inputs": {"a": %s}}]' % ("[" * 100_000 + "]" * 100_000), NO, "nor here"),
    ("deep-object", '{"a":' * 100_000 + "1" + "}" * 100_000, NO, "no recursion defect"),
    ("not-utf8", b'[{"id": "t1", "title": "\xff\xfe"}]', NO, "not UTF-8; replaced characters would be a guess"),
    ("overlong", b'[{"id": "t1", "title": "\xc0\xaf"}]', NO, "an overlong form is not UTF-8"),
    ("utf16", _GOOD.encode("utf-16"), OPEN, "json.loads guesses it; the contract doesn't say"),
    ("binary", bytes(range(256)), NO, "no text"),
    ("duplicate-ids", '[{"id": "t1", "title": "a"}, {"id": "t1", "title": "b"}]', NO, "which of the two?"),
    ("twin-ids", '[{"id": "t1", "title": "a"}, {"id": "T1", "title": "b"}]', NO, "one key for both"),
    ("number-twin", '[{"id": 7, "title": "a"}, {"id": "7", "title": "b"}]', NO, "a number becomes its text: one id"),
    ("one-bad", '[{"id": "t1", "title": "a"}, {"id": "..", "title": "b"}]', NO, "all or nothing: t1 isn't added"),
    ("last-bad", _GOOD[:-1] + ', {"id": "t3", "title": 5}]', NO, "all or nothing: t1, t2 aren't added"),
    (
        "cycle",
        '[{"id": "a", "title": "a", "depends_on": ["b"]}, {"id": "b", "title": "b", "depends_on": ["a"]}]',
        NO,
        "neither could ever become ready",
    ),
    (
        "cycle-by-case",
        '[{"id": "a", "title": "a", "depends_on": ["B"]}, {"id": "b", "title": "b", "depends_on": ["A"]}]',
        OPEN,
        "the same cycle by the folded keys, or two unknown ids",
    ),
)
_FIELDS: tuple[tuple[str, Mapping[str, object], Want, str], ...] = (
    ("schema-newer", {"schema": 2}, NO, "a newer schema is refused"),
    ("schema-text", {"schema": "1"}, NO, "an integer"),
    ("schema-true", {"schema": True}, NO, "true == 1 in Python, and is no integer here"),
    ("title-number", {"title": 5}, NO, "only an id's number becomes text"),
    ("title-null", {"title": None}, NO, "a task needs a title"),
    ("title-list", {"title": ["one"]}, NO, "a string"),
    ("body-number", {"body": 5}, NO, "a string"),
    ("epic-object", {"epic": {}}, NO, "a string"),
    ("labels-object", {"labels": {"a": 1}}, NO, "a list"),
    ("labels-of-numbers", {"labels": [1]}, OPEN, "its text, or a wrong type"),
    ("priority-word", {"priority": "high"}, NO, "a whole number"),
    ("priority-fraction", {"priority": 1.5}, NO, "a whole number"),
    ("priority-true", {"priority": True}, NO, "bool is an int in Python, and none here"),
    ("max-attempts-word", {"max_attempts": "x"}, NO, "a whole number"),
    ("max-attempts-negative", {"max_attempts": -1}, NO, "fewer than none"),
    ("max-attempts-fraction", {"max_attempts": 1.5}, NO, "a whole number"),
    ("max-attempts-true", {"max_attempts": True}, NO, "bool is no count"),
    ("max-attempts-zero", {"max_attempts": 0}, OPEN, "no limit, or never claimable"),
    ("depends-text", {"depends_on": "t0"}, NO, "a list; else `t` and `0` are dependencies"),
    ("depends-number", {"depends_on": 7}, NO, "a list"),
    ("depends-null", {"depends_on": [None]}, NO, "an id or {id, when}"),
    ("depends-empty", {"depends_on": [{}]}, NO, "an id is needed"),
    ("depends-when", {"depends_on": [{"id": "t0", "when": "someday"}]}, NO, "done, accepted, failed or settled"),
    ("depends-bad-id", {"depends_on": ["../t0"]}, NO, "no task can have this name"),
    ("depends-self", {"depends_on": ["t1"]}, NO, "waits for itself for ever"),
    ("depends-self-case", {"depends_on": ["T1"]}, OPEN, "itself by the folded key, or unknown"),
    ("depends-unknown", {"depends_on": ["nope"]}, OPEN, "is a dependency on what comes later allowed?"),
    ("expects-word", {"expects": "maybe"}, NO, "output, non_empty or none"),
    ("inputs-list", {"inputs": [1]}, NO, "an object"),
    ("inputs-text", {"inputs": "a=1"}, NO, "an object"),
    ("hold-number", {"hold": 5}, NO, "a reason, or null"),
    ("check-object", {"check": {}}, NO, "a string, a list or null"),
    ("check-of-numbers", {"check": [1]}, OPEN, "its text, or a wrong type"),
    ("owned-paths", {"owned_paths": ["src/**"]}, NO, "refused on a board without a repository"),
    ("shared-paths", {"shared_paths": ["CHANGELOG"]}, NO, "a coding task too: refused without a repository"),
    ("not-before-word", {"not_before": "yesterday"}, NO, "RFC 3339"),
    ("not-before-number", {"not_before": 0}, NO, "RFC 3339, no epoch seconds"),
    ("not-before-day", {"not_before": "2026-02-30T00:00:00Z"}, NO, "there is no such day"),
    ("not-before-year-0", {"not_before": "0000-01-01T00:00:00Z"}, OPEN, "RFC 3339 has this year, datetime doesn't"),
    ("not-before-9999", {"not_before": "9999-12-31T23:59:59Z"}, OPEN, "no overflow when anything is added"),
    ("review-of-list", {"review_of": ["t0"]}, NO, "one id, or null"),
    ("review-of-self", {"review_of": "t1"}, NO, "nobody's work reviews itself"),
    ("created-at-word", {"created_at": "once upon a time"}, OPEN, "refused, or ignored: the board sets it"),
    ("unknown-field", {"x_future": {"a": 1}}, OPEN, "kept in entries; on input the contract doesn't say"),
)
_FORGED: tuple[tuple[str, Mapping[str, object], str], ...] = (
    ("status", {"status": "done"}, "an import can't make a task done: nothing was verified"),
    (
        "status-output",
        {"status": "done", "output": {"uri": "file:///nope", "bytes": 1, "sha256": "0" * 64}},
        "a phantom",
    ),
    ("token", {"token": 99, "epoch": 9, "attempts": 5}, "the board counts these"),
    (
        "owner",
        {"owner": "x@y", "owned_since": "2026-01-01T00:00:00Z", "lease_expires": "2099-01-01T00:00:00Z"},
        "an owner is made by a claim; pending with an owner is refused on write",
    ),
    ("old-text", {"done": "false"}, "the old form with a string that Python takes for true"),
)
_OLD_DONE = '[{"id": "t1", "title": "one", "done": true}, {"id": "t2", "title": "two", "done": false}]'

FROM_FILE: tuple[Row, ...] = (
    *(_from(f"from-{n}", text, want, why) for n, text, want, why in _TEXTS),
    *(_item(f"field-{n}", fields, want, why) for n, fields, want, why in _FIELDS),
    *(_from(f"forged-{n}", json.dumps([{"id": "t1", "title": "one"} | dict(fields)]), OPEN, why,
            status_after={"t1": "pending"}, may_write=True)
      for n, fields, why in _FORGED),
    _from("from-case-twin", '[{"id": "new", "title": "n"}, {"id": "task-a", "title": "a"}]', 1,
          "another spelling is id_taken, and nothing of the file is added", _TWINS, code="id_taken"),
    _from("from-taken", '[{"id": "new", "title": "n"}, {"id": "t1", "title": "other"}]', NO,
          "t1 is another task already; nothing is added", T1),
    _row("from-old-done", "add --from tasks.json", (0, 1), "an old done: true becomes pending, with a finding",
         files={"tasks.json": _OLD_DONE.encode()}, status_after={"t1": "pending", "t2": "pending"}, may_write=True),
    _row("from-old-done-missing", "add --from tasks.json --output 'out/{id}.md'", (0, 1),
         "no such output: it stays a task to do", files={"tasks.json": _OLD_DONE.encode()},
         status_after={"t1": "pending", "t2": "pending"}, may_write=True),
    _row("from-missing", "add --from nope.json", UNUSABLE, "no such file"),
    _row("from-empty-name", "add --from ''", UNUSABLE, "no name"),
    _row("from-no-value", "add --from", 2, "the option takes a value"),
    _row("from-folder", "add --from folder", UNUSABLE, "a folder is no file",
         made=(Made(place=Place.WORK, kind=Kind.FOLDER, name="folder"),)),
    _row("from-symlink-loop", "add --from loop.json", UNUSABLE, "a link to itself is no file",
         made=(Made(place=Place.WORK, kind=Kind.SYMLINK, name="loop.json", target="loop.json"),)),
    _row("from-broken-link", "add --from gone.json", UNUSABLE, "a link to nothing is no file",
         made=(Made(place=Place.WORK, kind=Kind.SYMLINK, name="gone.json", target="nope.json"),)),
    _row("from-name-below-file", "add --from out.txt/tasks.json", UNUSABLE, "a file has no files", files=OUT),
)  # fmt: skip

# --- 4: transitions ----------------------------------------------------------------------------------

_AGAIN = "add one --id t1; claim t1; release t1; claim t1"  # the current token is 2
_GIVEN_BACK = "add one --id t1; claim t1; release t1"
_CANCELLED = "add one --id t1; cancel t1"
_PLANNED = "add one --id t1 --planned"
_SPENT = "add one --id t1 --max-attempts 1; claim t1; fail t1 --code c --detail d"
_STEPS: tuple[tuple[str, str, str, Want, str], ...] = (
    ("claim-unknown", "", "claim nope", NO, "a claim makes no task"),
    ("claim-done", DONE, "claim t1", 1, "settled: nothing to wait for, and not ready"),
    ("claim-cancelled", _CANCELLED, "claim t1", 1, "settled"),
    ("claim-spent", _SPENT, "claim t1", 1, "attempts are exhausted: failed, until `rk retry`"),
    ("claim-planned", _PLANNED, "claim t1", NOT_YET, "not yet opened"),
    ("claim-on-hold", "add one --id t1; hold t1 --reason r", "claim t1", NOT_YET, "a person's stop sign"),
    ("claim-waiting", "add one --id t1; add two --id t2 --after t1", "claim t2", NOT_YET, "t1 isn't done"),
    ("next-empty", "", "claim --next", 69, "an empty board is drained"),
    ("next-all-done", DONE, "claim --next", 69, "all is settled"),
    ("next-cancelled", _CANCELLED, "claim --next", 69, "all is settled"),
    ("next-planned", _PLANNED, "claim --next", 75, "may still be opened: not drained"),
    ("next-on-hold", "add one --id t1; hold t1 --reason r", "claim --next", 75, "may be unheld: not drained"),
    ("next-backing-off", "add one --id t1; claim t1; fail t1 --code c --detail d", "claim --next", 75, "backs off"),
    ("done-unknown", "", "done nope --output out.txt", NO, "no such task"),
    ("done-unclaimed", T1, "done t1 --output out.txt", 1, "only an owner finishes a task"),
    ("done-unclaimed-token", T1, "done t1 --output out.txt --token 1", 1, "no claim ever had token 1"),
    ("done-cancelled", _CANCELLED, "done t1 --output out.txt", 1, "cancel ended it"),
    ("done-cancelled-in-work", f"{HELD}; cancel t1", "done t1 --output out.txt --token 1", 1, "cancel ends a token"),
    ("done-given-back", _GIVEN_BACK, "done t1 --output out.txt --token 1", 1, "release ends a token"),
    ("done-planned", _PLANNED, "done t1 --output out.txt", 1, "not even opened"),
    ("done-twice", DONE, "done t1 --output out.txt --token 1", (0, 1), "safe to repeat, or settled"),
    ("done-other-output", DONE, "done t1 --output second.txt --token 1", 1, "what is done keeps its output"),
    ("done-no-output", HELD, "done t1", NO, "done needs something behind it"),
    ("done-empty-output", HELD, "done t1 --output ''", NO, "an empty URI is nothing"),
    (
        "done-non-empty",
        "add one --id t1 --expects non_empty; claim t1",
        "done t1 --output empty.txt",
        1,
        "the task expects non_empty",
    ),
    ("done-fifo", HELD, "done t1 --output fifo", NO, "opening it would wait for ever"),
    ("done-device", HELD, "done t1 --output /dev/zero", NO, "reading it would never end"),
    ("done-device-uri", HELD, "done t1 --output file:///dev/zero", NO, "the same as a URI"),
    ("done-loop", HELD, "done t1 --output loop", 1, "a link to itself is not there"),
    ("done-folder-loop", HELD, "done t1 --output cyclic", (0, 1), "a manifest ends, though a link points upwards"),
    ("done-scheme", HELD, "done t1 --output gopher://x/y", NO, "no such kind of output"),
    ("done-host", HELD, "done t1 --output file://elsewhere/out.txt", NO, "another host's file can't be verified here"),
    ("done-nul-uri", HELD, "done t1 --output file:///tmp/a%00b", NO, "no path has a NUL; no ValueError defect"),
    ("done-http-refused", HELD, "done t1 --output http://127.0.0.1:9/x", UNUSABLE, "nobody answers: not verified"),
    ("done-http-port", HELD, "done t1 --output http://127.0.0.1:99999/x", UNUSABLE, "no such port"),
    ("done-git", HELD, "done t1 --output git:0000000000000000000000000000000000000000", UNUSABLE, "no repository here"),
    ("done-long-name", HELD, f"done t1 --output {'n' * 5000}", NO, "no file has so long a name: not there"),
    ("done-verdict", HELD, "done t1 --verdict accepted", NO, "not a review task"),
    ("review-own-work", f"{DONE}; add r --id r1 --review-of t1", "claim r1", NOT_YET, "its owner may be none of t1's"),
    ("next-own-review", f"{DONE}; add r --id r1 --review-of t1", "claim --next", 75, "free for others: not drained"),
    ("fail-no-code", HELD, "fail t1", (0, 2), "is there a default code?"),
    ("fail-code-missing", HELD, "fail t1 --code", 2, "the option takes a value"),
    ("fail-code-empty", HELD, "fail t1 --code '' --detail d", NO, "last_error.code says what went wrong"),
    ("fail-code-odd", HELD, "fail t1 --code 'a\nb' --detail d", OPEN, "the alphabet of a code is open"),
    ("fail-unclaimed", T1, "fail t1 --code c --detail d", 1, "only an owner fails a task"),
    ("fail-done", DONE, "fail t1 --code c --detail d --token 1", 1, "a verified done isn't undone by a late worker"),
    ("renew-unclaimed", T1, "renew t1", 1, "nothing to extend"),
    ("renew-given-back", _GIVEN_BACK, "renew t1 --token 1", 1, "release ends a token"),
    ("renew-done", DONE, "renew t1 --token 1", 1, "settled"),
    ("release-unclaimed", T1, "release t1", (0, 1), "nothing to give back"),
    ("release-done", DONE, "release t1 --token 1", 1, "a done task isn't made pending by its worker"),
    ("ask-unclaimed", T1, "ask t1 why", 1, "a worker's question needs a worker"),
    ("answer-no-question", T1, "answer t1 because", 1, "nobody asked"),
    ("answer-no-text", T1, "answer t1", NO, "nobody asked, and nothing is said"),
    ("retry-pending", T1, "retry t1", (0, 1), "nothing to clear"),
    ("reopen-pending", T1, "reopen t1", (0, 1), "open already"),
    ("cancel-cancelled", _CANCELLED, "cancel t1", (0, 1), "safe to repeat, or settled"),
    ("open-pending", T1, "open t1", (0, 1), "open already"),
    ("unhold-free", T1, "unhold t1", (0, 1), "no stop sign to take away"),
    ("retry-unknown", "", "retry nope", NO, "no such task"),
    ("reopen-unknown", "", "reopen nope", NO, "no such task"),
    ("cancel-unknown", "", "cancel nope", NO, "no such task"),
    ("evict-nobody", HELD, "evict nobody@nowhere --reason r", (0, 1), "frees nothing; t1 stays held"),
    ("evict-deployment", HELD, "evict '#nope' --reason r", (0, 1), "frees nothing; t1 stays held"),
    ("evict-no-owner", HELD, "evict nonsense --reason r", OPEN, "not role@instance: frees nothing"),
    ("evict-empty", HELD, "evict '' --reason r", NO, "mustn't match every owner"),
    ("evict-hash", HELD, "evict '#' --reason r", NO, "an empty deployment mustn't match every owner"),
    ("evict-nothing", HELD, "evict", 2, "an owner is needed"),
)
_LATE: tuple[tuple[str, str], ...] = (
    ("renew", "renew t1"),
    ("done", "done t1 --output out.txt"),
    ("fail", "fail t1 --code c --detail d"),
    ("release", "release t1"),
)
_WORK_FILES = OUT | {"empty.txt": b"", "second.txt": b"second\n", "cyclic/a.txt": b"a"}
_WORK_MADE = (
    Made(place=Place.WORK, kind=Kind.FIFO, name="fifo"),
    Made(place=Place.WORK, kind=Kind.SYMLINK, name="loop", target="loop"),
    Made(place=Place.WORK, kind=Kind.SYMLINK, name="gone", target="nowhere"),
    Made(place=Place.WORK, kind=Kind.SYMLINK, name="cyclic/up", target="../cyclic"),
)

TRANSITIONS: tuple[Row, ...] = (
    *(_row(f"step-{n}", c, want, why, setup=setup, files=_WORK_FILES, made=_WORK_MADE,
           status_after={"t1": "in_progress"} if n.startswith("evict") else {})
      for n, setup, c, want, why in _STEPS),
    *(_row(f"late-{n}", f"{c} --token 1", 1, "the task was claimed again: token 2 is current", setup=_AGAIN,
           files=OUT, code="lease_lost", status_after={"t1": "in_progress"}) for n, c in _LATE),
    *(_row(f"late-env-{n}", c, 1, "RK_TOKEN is as good as --token", setup=_AGAIN, files=OUT,
           env={"RK_TOKEN": "1"}, code="lease_lost", status_after={"t1": "in_progress"}) for n, c in _LATE),
    *(_row(f"stranger-{n}", c, NOT_YET, "the head's token is only its owner's default", setup=HELD, files=OUT,
           env=OTHER, status_after={"t1": "in_progress"}) for n, c in _LATE),
    *(_row(f"missing-output-{n}", f"done t1 --output {o}", 1, why, setup=HELD, made=_WORK_MADE,
           files=_WORK_FILES, code="output_missing", status_after={"t1": "in_progress"})
      for n, o, why in (("file", "nope.txt", "it isn't there"), ("link", "gone", "the link's target isn't there"),
                        ("below-file", "out.txt/x", "a file has no files"))),
    _row("held-by-id", "claim t1", 75, "somebody holds it", setup=HELD, env=OTHER),
    _row("held-next", "claim --next", 75, "all is held: not drained", setup=HELD, env=OTHER),
    _row("verify-shorter", "verify t1", 1, "done, and what is behind it has another size", setup=DONE, files=OUT,
         later={"out.txt": b"m"}),
    _row("verify-other-bytes", "verify t1 --depth sha256", 1, "same size, other bytes", setup=DONE, files=OUT,
         later={"out.txt": b"fake\n"}),
    _row("dependency-unusable", "claim t2", NOT_YET, "done and *usable*: t1's output has changed", files=OUT,
         setup=f"{DONE}; add two --id t2 --after t1", later={"out.txt": b"m"}),
    _row("dependency-unusable-next", "claim --next", (69, 75), "nothing is ready while t1's output is wrong",
         setup=f"{DONE}; add two --id t2 --after t1", files=OUT, later={"out.txt": b"m"}),
)  # fmt: skip

# --- what looks hostile and must work ----------------------------------------------------------------

_UNICODE = "\u65e5\u672c\u8a9e \U0001f389 e\u0301"
_CWIDE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0"}
WORKS: tuple[Row, ...] = (
    _from("works-bom", b"\xef\xbb\xbf" + _GOOD.encode(), 0, "editors write a BOM",
          status_after={"t1": "pending", "t2": "pending"}),
    _from("works-crlf", _GOOD.replace(" {", "\r\n{") + "\r\n", 0, "editors write CRLF",
          status_after={"t1": "pending", "t2": "pending"}),
    _item("works-schema-1", {"schema": 1}, 0, "the schema of this version"),
    _item("works-id-number", {"id": 7}, 0, "a number becomes its text"),
    _from("works-depends-number", '[{"id": 7, "title": "a"}, {"id": "b", "title": "b", "depends_on": [7]}]', 0,
          "so does a dependency's"),
    _from("works-order-free", '[{"id": "b", "title": "b", "depends_on": ["a"]}, {"id": "a", "title": "a"}]', 0,
          "a file is read whole before dependencies are looked up"),
    *(_row(f"works-id-{i[:12]}", ("add", "x", "--id", i), 0, "allowed by the rule for ids", setup=T1)
      for i in ("b" * 64, "com10", "console", "null", "0", "a.locks", "lock", "HEAD", "t1.00000002", "t1.json")),
    _row("works-record-like-id", "claim t1", 0, "an id that looks like a record's name is another task",
         setup="add one --id t1; add two --id t1.00000002; add three --id t1.00000002.json"),
    _row("works-unicode", ("add", _UNICODE, "--id", "t1"), 0, "titles are in people's languages"),
    _row("works-ascii-terminal", "list", 0, "a C locale mustn't end in an encoding error", env=_CWIDE,
         setup=f"add '{_UNICODE}' --id t1", shows=("t1",)),
    *(_row(f"works-env-{n}", "list", 0, "no environment breaks a read", env=env, setup=T1, shows=("t1",))
      for n, env in (("tz", {"TZ": "No/Where"}), ("columns-word", {"COLUMNS": "abc"}), ("columns-0", {"COLUMNS": "0"}),
                     ("home", {"HOME": "/nonexistent"}), ("term", {"TERM": ""}))),
    _row("works-stdin", "add x", 0, "what nobody asked for isn't read", stdin="\x00junk\n"),
    _row("works-claim-own", "claim t1", 0, "claiming what you hold returns it", setup=HELD),
    _row("works-token", "done t1 --output out.txt --token 1", 0, "the current token is enough", setup=HELD,
         files=OUT, env=OTHER, status_after={"t1": "done"}),
    _row("works-held-in-work", "done t1 --output out.txt --token 1", 0, "a person's hold costs the worker nothing",
         setup=f"{HELD}; hold t1 --reason r", files=OUT, status_after={"t1": "done"}),
    _row("works-note-in-work", "done t1 --output out.txt --token 1", 0, "nor does a remark",
         setup=f"{HELD}; note t1 hello", files=OUT, status_after={"t1": "done"}),
    _row("works-expects-none", "done t1", 0, "nothing need stand behind it", status_after={"t1": "done"},
         setup="add one --id t1 --expects none; claim t1"),
    _row("works-empty-output", "done t1 --output empty.txt", 0, "an empty file is an output (not a non_empty one)",
         setup=HELD, files=_WORK_FILES, status_after={"t1": "done"}),
    _row("works-folder-output", "done t1 --output folder", 0, "a folder is a manifest", setup=HELD,
         files={"folder/a.txt": b"a", "folder/b/c.txt": b"c"}, status_after={"t1": "done"}),
    _row("works-verify-size", "verify t1", 0, "depth `size` never reads: other bytes of one size pass",
         setup=DONE, files=OUT, later={"out.txt": b"fake\n"}),
)  # fmt: skip

# --- 5: planted in the store -------------------------------------------------------------------------

_R1, _R2, _R3 = (f"claims/t1.{seq:08d}.json" for seq in (1, 2, 3))
_B1 = "beats/t1.00000001.json"
_OWNED = {
    "state.owner": "a@b",
    "state.owned_since": "2026-01-01T00:00:00Z",
    "state.lease_expires": "2099-01-01T00:00:00Z",
}
_UNOWNED: dict[str, object] = {"state.owner": None, "state.owned_since": None, "state.lease_expires": None}
_LAPSED: dict[str, object] = {f"state.{key}": "2001-01-01T00:00:00Z" for key in
                              ("created_at", "updated_at", "owned_since", "lease_expires")}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Damage:
    """One thing that is wrong below the board's folder, on a board with the tasks t1 and t2."""

    name: str
    why: str
    claimed: bool = False
    plant: Mapping[str, bytes] = field(default_factory=dict)
    grafts: tuple[Graft, ...] = ()
    made: tuple[Made, ...] = ()


def _raw(name: str, content: bytes, why: str, where: str = _R2) -> Damage:
    return Damage(name=name, why=why, plant={where: content}, claimed=where.startswith("beats/"))


def _odd(name: str, kind: Kind, target: str, why: str, where: str = _R2) -> Damage:
    made = (Made(place=Place.BOARD, kind=kind, name=where, target=target),)
    return Damage(name=name, why=why, made=made, claimed=where.startswith("beats/"))


def _next(name: str, changes: Mapping[str, object], why: str, claimed: bool = False) -> Damage:
    """The next record is there, and right but for the changes."""
    onto, new = (_R2, _R3) if claimed else (_R1, _R2)
    return Damage(name=name, why=why, claimed=claimed, grafts=(Graft(onto=onto, name=new, changes=changes),))


_HEAD: tuple[Damage, ...] = (
    _raw("empty", b"", "a claim of no bytes is what create-then-write leaves; it is no `no claim`"),
    _raw("blank", b"\n", "as the empty one"),
    _raw("truncated", b'{"record": 1, "seq": 2, "prev": "', "half a record"),
    _raw("not-object", b"[]", "JSON, and no record"),
    _raw("null", b"null", "JSON, and no record"),
    _raw("not-utf8", b'{"record": 1, "seq": 2, "by": "\xff\xfe"}', "not UTF-8"),
    _raw("zeros", b"\0" * 4096, "what a crash without fsync leaves"),
    _raw("deep", b"[" * 100_000, "no recursion defect"),
    _raw("duplicate-keys", b'{"record": 1, "seq": 2, "seq": 2, "prev": null, "prev": null, "state": {}}', "which one?"),
    _raw("far-ahead", b"{}", "seq 99999999 with a gap below; the width is spent", "claims/t1.99999999.json"),
    _odd("folder", Kind.FOLDER, "", "a folder of this name can't be read, nor overwritten"),
    _odd("link-passwd", Kind.SYMLINK, "/etc/passwd", "a record is never a link: what is behind isn't read or shown"),
    _odd("link-first", Kind.SYMLINK, "t1.00000001.json", "a link to a good record is not that record"),
    _odd("link-nowhere", Kind.SYMLINK, "nowhere", "exists() says no, link(2) says yes: no claim, and no endless race"),
    _odd("link-loop", Kind.SYMLINK, "t1.00000002.json", "a link to itself"),
    _odd("link-zero", Kind.SYMLINK, "/dev/zero", "reading it would never end"),
    _odd("fifo", Kind.FIFO, "", "opening it would wait for ever"),
    _next("newer-record", {"record": 99}, "a newer format is refused, not guessed at"),
    _next("newer-schema", {"state.schema": 99}, "a newer schema is refused, not guessed at"),
    _next("wrong-prev", {"prev": "0" * 64}, "a head that doesn't link refuses the task, never an older state"),
    _next("no-prev", {"prev": None}, "only the first record has none"),
    _next("other-id", {"state.id": "t2"}, "the name says t1"),
    _next("other-seq", {"seq": 7}, "the name says 2"),
    _next("no-state", {"state": ABSENT}, "a record holds the whole state"),
    _next("no-status", {"state.status": ABSENT}, "a field that must be there"),
    _next("unknown-status", {"state.status": "sleeping"}, "not a phase"),
    _next("token-text", {"state.token": "1"}, "an integer"),
    _next("token-negative", {"state.token": -1}, "never goes back"),
    _next("pending-owned", _OWNED, "pending has no owner"),
    _next("planned-owned", _OWNED | {"state.status": "planned"}, "planned has no owner"),
    _next("done-owned", _OWNED | {"state.status": "done"}, "settled has no owner"),
    _next("half-owned", {"state.lease_expires": None}, "all three set, or none", claimed=True),
    _next("owner-shape", {"state.owner": "nobody"}, "role@instance", claimed=True),
    _next("lease-word", {"state.lease_expires": "yesterday"}, "no time; neither lapsed nor live", claimed=True),
    _next("lease-day", {"state.lease_expires": "2026-02-30T00:00:00Z"}, "there is no such day", claimed=True),
    _next("lease-number", {"state.lease_expires": 0}, "no time", claimed=True),
    Damage(name="gap", why="record 3 without 2: the head has nothing to link to",
           grafts=(Graft(onto=_R1, name=_R3, changes={"seq": 3, "prev": "1" * 64}),)),
    Damage(name="rewritten", why="record 1 was changed after record 2 had linked to it", claimed=True,
           grafts=(Graft(onto=_R1, name=_R1, changes={"state.title": "another"}),)),
)  # fmt: skip
_FOREIGN: tuple[Damage, ...] = (
    _raw("text", b"hello\n", "a foreign file is a finding, and stays", "claims/foreign.txt"),
    _raw("binary", bytes(range(256)), "a foreign file isn't parsed", "claims/photo.jpeg"),
    _raw("backup", b"{}", "an editor's copy is no record", "claims/t1.00000002.json~"),
    _raw("conflict", b"{}", "a sync tool's copy is no record", "claims/t1.00000002 (conflicted copy).json"),
    _odd("folder", Kind.FOLDER, "", "a foreign folder is a finding, and stays", "claims/old"),
    _odd("link", Kind.SYMLINK, "/", "never followed: the walk ends", "claims/root"),
    _raw("escape", b"x", "its name is shown by doctor, never raw", "claims/\x1b[2J.txt"),
)
_NO_FIRST: tuple[Damage, ...] = (
    _raw("empty", b"", "never read as `no record`: t3 isn't free", "claims/t3.00000001.json"),
    _raw("truncated", b'{"record": 1, "se', "never read as `no record`", "claims/t3.00000001.json"),
    _odd("link-nowhere", Kind.SYMLINK, "nowhere", "the name is taken", "claims/t3.00000001.json"),
)
_NAMES: tuple[Damage, ...] = (
    _raw("narrow", b"{}", "seq isn't of fixed width", "claims/t1.2.json"),
    _raw("wide", b"{}", "nine digits", "claims/t1.000000002.json"),
    _raw("zero", b"{}", "records count from 1", "claims/t1.00000000.json"),
    _raw("sign", b"{}", "int() takes a sign", "claims/t1.+0000002.json"),
    _raw("upper", b"{}", "keys are case-folded", "claims/T1.00000002.json"),
    _raw("arabic", b"{}", "int() takes other digits", "claims/t1.0000000\u0662.json"),
)
_BEATS: tuple[Damage, ...] = (
    _raw("empty", b"", "an unreadable beat is no lapse", _B1),
    _raw("truncated", b'{"token": 1, "lease_ex', "an unreadable beat is no lapse", _B1),
    _raw("not-object", b"[]", "an unreadable beat is no lapse", _B1),
    _odd("folder", Kind.FOLDER, "", "a folder is no beat, and no lapse", _B1),
    _odd("link-nowhere", Kind.SYMLINK, "nowhere", "never written through", _B1),
    _odd("fifo", Kind.FIFO, "", "opening it would wait for ever", _B1),
)
_FAR = b'{"record": 1, "token": 1, "at": "9999-12-31T23:59:59Z", "lease_expires": "9999-12-31T23:59:59Z"}'
_ORPHAN = _next("orphan", _UNOWNED, "in_progress without an owner is claimable", claimed=True)
_FUTURE = _next("future", {"x_future": 7, "state.x_future": {"a": 1}}, "unknown fields are kept", claimed=True)
_STALE = Damage(
    name="old-beat",
    why="the lease of token 2 has lapsed; a beat of token 1 doesn't keep it alive",
    claimed=True,
    plant={_B1: _FAR},
    grafts=(
        Graft(
            onto=_R2,
            name=_R3,
            changes=_LAPSED | {"state.token": 2, "state.attempts": 2, "state.max_attempts": 9},
        ),
    ),
)
_YEAR_9999 = Damage(name="year-9999", why="no overflow, and no lapse", claimed=True, plant={_B1: _FAR})
_DEEP = Damage(name="deep-link", why="record 2 was changed: the chain is broken below the head", claimed=True,
               grafts=(Graft(onto=_R2, name=_R3, changes={}),
                       Graft(onto=_R1, name=_R1, changes={"state.title": "another"})))  # fmt: skip
_PHANTOM = _next("phantom", _UNOWNED | {"state.status": "done", "state.output": None, "state.completed_by": "a@b",
                                        "state.completed_at": "2026-01-01T00:00:00Z"},
                 "done with nothing behind it is never usable", claimed=True)  # fmt: skip

_Probe = tuple[str, Want, tuple[str, ...]]
_ONLY_T2: tuple[_Probe, ...] = (("list", (0, 1), ("t2",)), ("show t2", 0, ()), ("claim --next", 0, ("t2",)))
_ON_HEAD: tuple[_Probe, ...] = (
    ("show t1", DAMAGED, ()), ("claim t1", DAMAGED, ()), ("cancel t1", DAMAGED, ()), ("add again --id t1", DAMAGED, ()),
    ("doctor", 1, ("t1",)), *_ONLY_T2,
)  # fmt: skip
_ON_FOREIGN: tuple[_Probe, ...] = (
    ("show t1", 0, ()), ("claim t1", 0, ()), ("list", (0, 1), ("t1", "t2")), ("doctor", 1, ()),
)  # fmt: skip
_ON_NO_FIRST: tuple[_Probe, ...] = (
    ("show t3", DAMAGED, ()), ("claim t3", DAMAGED, ()), ("add three --id t3", DAMAGED, ()), ("doctor", 1, ("t3",)),
    ("list", (0, 1), ("t1", "t2")), ("claim --next", 0, ("t1",)),
)  # fmt: skip
_ON_NAME: tuple[_Probe, ...] = (
    ("show t1", (0, 1, 3), ()), ("claim t1", (0, 1, 3), ()), ("doctor", 1, ()), ("list", (0, 1), ("t2",)),
    ("claim t2", 0, ()),
)  # fmt: skip
_ON_BEAT: tuple[_Probe, ...] = (
    ("show t1", (0, 1, 3), ()), ("claim t1", (1, 3, 75), ()), ("doctor", 1, ()), *_ONLY_T2,
)  # fmt: skip
_ON_FAR: tuple[_Probe, ...] = (
    ("show t1", (0, 1, 3), ()), ("claim t1", (1, 3, 75), ()), ("doctor", (0, 1), ()),
    *_ONLY_T2,
)  # fmt: skip
_ON_CLAIMABLE: tuple[_Probe, ...] = (("show t1", 0, ()), ("claim t1", 0, ("t1",)), ("list", 0, ("t1", "t2")))
_ON_FUTURE: tuple[_Probe, ...] = (("show t1 --json", 0, ("x_future",)), ("claim t1", 75, ()), ("list", 0, ("t1", "t2")))
_ON_DEEP: tuple[_Probe, ...] = (("show t1", (0, 1, 3), ()), ("doctor", 1, ("t1",)), *_ONLY_T2)
_ON_PHANTOM: tuple[_Probe, ...] = (("verify t1", DAMAGED, ()), ("claim t1", DAMAGED, ()), *_ONLY_T2)


def _probes(group: str, damages: Iterable[Damage], probes: tuple[_Probe, ...]) -> tuple[Row, ...]:
    """Each damage asked each question, by another owner than the one who may hold t1."""
    return tuple(
        _row(
            f"{group}-{damage.name}-{command.replace(' --', '-').replace(' ', '-')}",
            command,
            want,
            damage.why,
            setup=f"{T12}; claim t1" if damage.claimed else T12,
            env=OTHER,
            plant=damage.plant,
            grafts=damage.grafts,
            made=damage.made,
            shows=shows,
        )
        for damage in damages
        for command, want, shows in probes
    )


PLANTED: tuple[Row, ...] = (
    *_probes("head", _HEAD, _ON_HEAD),
    *_probes("foreign", _FOREIGN, _ON_FOREIGN),
    *_probes("no-first", _NO_FIRST, _ON_NO_FIRST),
    *_probes("name", _NAMES, _ON_NAME),
    *_probes("beat", _BEATS, _ON_BEAT),
    *_probes("beat", (_YEAR_9999,), _ON_FAR),
    *_probes("claimable", (_ORPHAN, _STALE), _ON_CLAIMABLE),
    *_probes("kept", (_FUTURE,), _ON_FUTURE),
    *_probes("chain", (_DEEP,), _ON_DEEP),
    *_probes("done", (_PHANTOM,), _ON_PHANTOM),
)

ROWS: tuple[Row, ...] = (
    *IDS_AND_TITLES, *SHOWN_SAFELY, *OPTION_VALUES, *FROM_FILE, *TRANSITIONS, *WORKS, *PLANTED,
)  # fmt: skip

# --- 6: injected faults ------------------------------------------------------------------------------


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


_SYNC = "fsync,fdatasync"
_WRITE = "write,pwrite64,writev"
_LINK = "?link,linkat,renameat2"
_RENAME = "?rename,renameat,renameat2,?link,linkat"
_HARD = (Errno.EIO, Errno.ENOSPC)
_DISK = (*_HARD, Errno.EROFS)
_Point = tuple[str, str, When, tuple[Errno, ...], Effect, str | None, str]
_BEFORE: tuple[_Point, ...] = (
    ("open", "openat", When.LAST_BEFORE, _DISK, Effect.UNCHANGED, None, "no file, no record"),
    ("write", _WRITE, When.LAST_BEFORE, _HARD, Effect.UNCHANGED, None, "half a record is never published"),
    ("sync", _SYNC, When.LAST_BEFORE, _HARD, Effect.UNCHANGED, None, "what may not be on disk isn't published"),
)
_LINKED: tuple[_Point, ...] = (
    ("link", _LINK, When.PUBLISH, _DISK, Effect.UNCHANGED, None, "not published; read back, not guessed"),
    ("folder-sync", _SYNC, When.FIRST_AFTER, _HARD, Effect.PUBLISHED, "durability_unknown",
     "visible, perhaps not durable: neither failure nor success"),
)  # fmt: skip
_RENAMED: tuple[_Point, ...] = (
    ("rename", _RENAME, When.PUBLISH, _DISK, Effect.UNCHANGED, None, "a lease that wasn't extended isn't said to be"),
)
_FAULTED: tuple[tuple[str, str, str, tuple[_Point, ...]], ...] = (
    ("add", "", "add one --id t1", (*_BEFORE, *_LINKED)),
    ("claim", T1, "claim t1", (*_BEFORE, *_LINKED)),
    ("done", HELD, "done t1 --output out.txt", (*_BEFORE, *_LINKED)),
    ("fail", HELD, "fail t1 --code upload_failed --detail gone", (*_BEFORE, *_LINKED)),
    ("release", HELD, "release t1", (*_BEFORE, *_LINKED)),
    ("renew", HELD, "renew t1", (*_BEFORE, *_RENAMED)),
)
_READ: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("show", "show t1", DAMAGED),
    ("claim", "claim t1", DAMAGED),
    ("done", "done t1 --output out.txt --token 1", DAMAGED),
    ("cancel", "cancel t1", DAMAGED),
    ("list", "list", (0, 1, 3)),
    ("doctor", "doctor", DAMAGED),
)


def _fault(name: str, argv: str, setup: str, point: _Point, error: Errno) -> Fault:
    at, syscall, when, _, effect, code, why = point
    interrupted = error is Errno.EINTR
    return Fault(
        name=f"{name}-{at}-{error.lower()}",
        argv=tuple(shlex.split(argv)),
        syscall=syscall,
        error=error,
        when=when,
        exit=None if interrupted else 3,
        among=(0, 3) if interrupted else (),
        effect=Effect.EITHER if interrupted else effect,
        code=None if interrupted else code,
        why="an interrupted call is made again, or truthfully reported" if interrupted else why,
        setup=_split(setup),
        optional=name == "renew" and at == "sync",  # a beat need not be durable
    )


FAULTS: tuple[Fault, ...] = (
    *(_fault(name, argv, setup, point, error)
      for name, setup, argv, points in _FAULTED
      for point in points
      for error in (*point[3], Errno.EINTR)),
    *(Fault(name=f"{name}-head-{call.partition(',')[0]}-eio", argv=tuple(shlex.split(argv)), syscall=call,
            error=Errno.EIO, when=When.HEAD_READ, exit=None, among=among, effect=Effect.UNCHANGED,
            setup=_split(HELD), why="a head that can't be read is never `no claim`, nor an older state")
      for name, argv, among in _READ
      for call in ("openat", "read,pread64")),
)  # fmt: skip
