"""The task entry: one table of fields from which defaults, validation and the JSON schema come.

An entry is a JSON object (`Entry`), never changed in place. In a record a field at its default is
left out; `complete` puts it back. Unknown fields are kept as they are.
"""

from __future__ import annotations

import re

from repokernel.core import jsontext
from repokernel.core.chars import HEX, LOWER, made_of
from repokernel.core.errors import error
from repokernel.core.halt import HALTS, Who
from repokernel.core.ids import id_problem
from repokernel.core.owner import parse_owner
from repokernel.core.phase import Phase
from repokernel.core.times import parse_instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, NotRequired, TypedDict

    class OutputFile(TypedDict):
        """One file of an output that is a folder; `path` is relative to the output."""

        path: str
        bytes: int
        sha256: str

    class Output(TypedDict):
        """The pointer that makes `done` checkable."""

        uri: str
        bytes: int
        sha256: str
        written_at: str
        files: NotRequired[list[OutputFile]]

    class LastError(TypedDict):
        """Why the last attempt ended badly."""

        code: str
        detail: str
        at: str

    class Entry(TypedDict):
        """A task as everybody sees it; DESIGN section 4 has the meaning of each field."""

        schema: int
        id: str
        title: str
        body: str
        epic: str | None
        labels: list[str]
        priority: int
        depends_on: list[str | dict[str, str]]
        expects: str
        owned_paths: list[str]
        shared_paths: list[str]
        forbidden_paths: list[str]
        check: str | list[str] | None
        inputs: dict[str, object]
        hold: str | None
        status: str
        owner: str | None
        owned_since: str | None
        lease_expires: str | None
        token: int
        epoch: int
        attempts: int
        max_attempts: int
        claimed_by: list[str]
        completed_by: str | None
        not_before: str | None
        output: Output | None
        last_error: LastError | None
        halt: dict[str, Any] | None
        notes: list[dict[str, Any]]
        question: str | None
        branch: str | None
        base: str | None
        head: str | None
        review: dict[str, Any] | None
        landed: dict[str, Any] | None
        review_of: str | None
        usage: dict[str, Any]
        created_at: str
        updated_at: str
        completed_at: str | None

    Check = Callable[[object], str | None]
else:
    Entry = Output = LastError = OutputFile = dict

SCHEMA = 1
TITLE_CHARS_MAX = 300
TEXT_CHARS_MAX = 100_000
LIST_ITEMS_MAX = 1_000
LOG_ITEMS_MAX = 100_000  # what the log adds by itself must never be what stops a task
PRIORITY_MAX = 1_000_000_000
MAX_ATTEMPTS_DEFAULT = 3
COUNT_MAX = 2**53 - 1
WHEN = ("done", "accepted", "failed", "settled")
EXPECTS = ("output", "non_empty", "none")
VERDICTS = ("accepted", "changes_requested", "rejected")

# searched only in a text that isn't plainly printable
_LINE_BAD = r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]"
_TEXT_BAD = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]"
_CODE_CHARS_MAX = 64
_SHA256_CHARS = 64


def is_code(value: object) -> bool:
    """Whether `value` can be the code of a failure: a word such as `upload_failed`."""
    return isinstance(value, str) and made_of(value, LOWER + "0123456789_", _CODE_CHARS_MAX, first=LOWER)


def line_problem(value: object, chars_max: int = TITLE_CHARS_MAX) -> str | None:
    """Why `value` can't be a line of text for people, or None."""
    if not isinstance(value, str):
        return "must be a text"
    if not value.strip():
        return "must not be empty"
    if len(value) > chars_max:
        return f"is {len(value):,} characters long; at most {chars_max:,}"
    bad = None if value.isprintable() else re.search(_LINE_BAD, value)
    return f"holds the control character U+{ord(bad[0]):04X}" if bad else None


def text_problem(value: object) -> str | None:
    """Why `value` can't be a text of several lines, or None."""
    if not isinstance(value, str):
        return "must be a text"
    if len(value) > TEXT_CHARS_MAX:
        return f"is {len(value):,} characters long; at most {TEXT_CHARS_MAX:,}"
    bad = None if value.isprintable() else re.search(_TEXT_BAD, value)
    return f"holds the control character U+{ord(bad[0]):04X}" if bad else None


def _nullable(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def _whole(low: int, high: int) -> Check:
    def check(value: object) -> str | None:
        if type(value) is not int:
            return "must be a whole number"
        return None if low <= value <= high else f"must lie between {low:,} and {high:,}"

    return check


def _one_of(allowed: tuple[str, ...]) -> Check:
    return lambda value: None if value in allowed else "must be one of " + ", ".join(allowed)


def _instant(value: object) -> str | None:
    if not isinstance(value, str):
        return "must be a text with an RFC 3339 instant"
    try:
        parse_instant(value)
    except ValueError as cause:
        return str(cause)
    return None


def _list_of(item: Check, items_max: int = LIST_ITEMS_MAX) -> Check:
    def check(value: object) -> str | None:
        if not isinstance(value, list):
            return "must be a list"
        if len(value) > items_max:
            return f"has {len(value):,} items; at most {items_max:,}"
        for place, one in enumerate(value):
            problem = item(one)
            if problem is not None:
                return f"item {place + 1} {problem}"
        return None

    return check


def _id(value: object) -> str | None:
    return (id_problem(value) and "is not a task id") if isinstance(value, str) else "must be a task id"


def _dependency(value: object) -> str | None:
    if isinstance(value, dict):
        if set(value) - {"id", "when"} or "id" not in value:
            return 'must be an id or {"id": …, "when": …}'
        if value.get("when", "done") not in WHEN:
            return "has a `when` that is none of " + ", ".join(WHEN)
        return _id(value["id"])
    return _id(value)


def _owner(value: object) -> str | None:
    return None if isinstance(value, str) and parse_owner(value) else "must be an owner: role@instance[#deployment]"


def _object(value: object) -> str | None:
    if not isinstance(value, dict):
        return "must be an object"
    try:
        same = not value or jsontext.parse(jsontext.canonical(value)) == value
    except (ValueError, TypeError, RecursionError):
        same = False
    return None if same else "must hold nothing that JSON can't hold"


def _command(value: object) -> str | None:
    if isinstance(value, list):
        return _list_of(lambda item: line_problem(item, TEXT_CHARS_MAX))(value) if value else "must not be empty"
    return text_problem(value) or (None if str(value).strip() else "must not be empty")


def _measured(value: Mapping[str, object]) -> str | None:
    count, digest = value.get("bytes"), value.get("sha256")
    if type(count) is not int or not 0 <= count <= COUNT_MAX:
        return "must have `bytes`, a whole number"
    if not isinstance(digest, str) or len(digest) != _SHA256_CHARS or not made_of(digest, HEX, _SHA256_CHARS):
        return "must have `sha256`, 64 hexadecimal digits"
    return None


def _output(value: object) -> str | None:
    if not isinstance(value, dict):
        return "must be an object"
    if not isinstance(value.get("uri"), str) or line_problem(value["uri"], 4096):
        return "must have a `uri`"
    files = value.get("files", [])
    if not isinstance(files, list):
        return "`files` must be a list"
    for one in files:
        if not isinstance(one, dict) or not isinstance(one.get("path"), str) or _measured(one):
            return "`files` must hold {path, bytes, sha256}"
    return _measured(value) or _instant(value.get("written_at"))


def _last_error(value: object) -> str | None:
    if not isinstance(value, dict) or not is_code(value.get("code")):
        return "must be an object with a `code` of a-z, 0-9 and _"
    return text_problem(value.get("detail")) or _instant(value.get("at"))


def _halt(value: object) -> str | None:
    reason = value.get("reason") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(reason, str) or HALTS.get(reason, (Who.RUN,))[0] is Who.RUN:
        return "must be an object with a task's `reason` from the halt table"
    return _instant(value.get("at"))


def _note(value: object) -> str | None:
    if not isinstance(value, dict):
        return "must be an object"
    return text_problem(value.get("text")) or _instant(value.get("at")) or _owner(value.get("by"))


# field -> (default, check, the JSON schema of a value); `...` marks a field that every entry must carry
FIELDS: Mapping[str, tuple[object, Check, Mapping[str, object]]] = {}
_S: Mapping[str, object] = {"type": "string"}
_NS: Mapping[str, object] = {"type": ["string", "null"]}
_I: Mapping[str, object] = {"type": "integer", "minimum": 0}
_T: Mapping[str, object] = {"type": "string", "format": "date-time"}
_NT: Mapping[str, object] = {"type": ["string", "null"], "format": "date-time"}
_O: Mapping[str, object] = {"type": "object"}
_NO: Mapping[str, object] = {"type": ["object", "null"]}
_L: Mapping[str, object] = {"type": "array", "items": {"type": "string"}}
_PATHS = _list_of(lambda value: line_problem(value, 4096))
FIELDS = {
    "schema": (SCHEMA, _whole(SCHEMA, SCHEMA), {"const": SCHEMA}),
    "id": (..., _id, {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"}),
    "title": (..., line_problem, {"type": "string", "maxLength": TITLE_CHARS_MAX}),
    "body": ("", text_problem, _S),
    "epic": (None, _nullable(_id), _NS),
    "labels": ([], _list_of(line_problem), _L),
    "priority": (100, _whole(-PRIORITY_MAX, PRIORITY_MAX), {"type": "integer"}),
    "depends_on": ([], _list_of(_dependency), {"type": "array", "items": {"type": ["string", "object"]}}),
    "expects": ("output", _one_of(EXPECTS), {"enum": list(EXPECTS)}),
    "owned_paths": ([], _PATHS, _L),
    "shared_paths": ([], _PATHS, _L),
    "forbidden_paths": ([], _PATHS, _L),
    "check": (None, _nullable(_command), {"type": ["string", "array", "null"]}),
    "inputs": ({}, _object, _O),
    "hold": (None, _nullable(line_problem), _NS),
    "status": (..., _one_of(tuple(Phase)), {"enum": list(Phase)}),
    "owner": (None, _nullable(_owner), _NS),
    "owned_since": (None, _nullable(_instant), _NT),
    "lease_expires": (None, _nullable(_instant), _NT),
    "token": (0, _whole(0, COUNT_MAX), _I),
    "epoch": (0, _whole(0, COUNT_MAX), _I),
    "attempts": (0, _whole(0, COUNT_MAX), _I),
    "max_attempts": (MAX_ATTEMPTS_DEFAULT, _whole(1, COUNT_MAX), {"type": "integer", "minimum": 1}),
    "claimed_by": ([], _list_of(_owner, LOG_ITEMS_MAX), _L),
    "completed_by": (None, _nullable(_owner), _NS),
    "not_before": (None, _nullable(_instant), _NT),
    "output": (None, _nullable(_output), _NO),
    "last_error": (None, _nullable(_last_error), _NO),
    "halt": (None, _nullable(_halt), _NO),
    "notes": ([], _list_of(_note, LOG_ITEMS_MAX), {"type": "array", "items": {"type": "object"}}),
    "question": (None, _nullable(text_problem), _NS),
    "branch": (None, _nullable(line_problem), _NS),
    "base": (None, _nullable(line_problem), _NS),
    "head": (None, _nullable(line_problem), _NS),
    "review": (None, _nullable(_object), _NO),
    "landed": (None, _nullable(_object), _NO),
    "review_of": (None, _nullable(_id), _NS),
    "usage": ({}, _object, _O),
    "created_at": (..., _instant, _T),
    "updated_at": (..., _instant, _T),
    "completed_at": (None, _nullable(_instant), _NT),
}
_DEFAULTS = {name: default for name, (default, _, _) in FIELDS.items() if default is not ...}
_REQUIRED = [name for name, (default, _, _) in FIELDS.items() if default is ...]
_CHECKS = {name: check for name, (_, check, _) in FIELDS.items()}
SPEC_FIELDS = (
    "id", "title", "body", "epic", "labels", "depends_on", "expects", "owned_paths", "shared_paths",
    "forbidden_paths", "check", "inputs", "max_attempts", "review_of",
)  # fmt: skip


def field_problems(state: Mapping[str, object]) -> dict[str, str]:
    """Each field of `state` that is missing or has a wrong value, with what is wrong."""
    problems = {name: "is missing" for name in _REQUIRED if name not in state}
    for name, value in state.items():
        check = _CHECKS.get(name)
        problem = check(value) if check is not None else None
        if problem is not None:
            problems[name] = problem
    return problems


def entry_problems(state: Mapping[str, object]) -> dict[str, str]:
    """`field_problems`, and where fields contradict each other (the phase × owner table)."""
    problems = field_problems(state)
    if problems:
        return problems
    entry = complete(state)
    owned = [entry["owner"] is not None, entry["owned_since"] is not None, entry["lease_expires"] is not None]
    if any(owned) and not all(owned):
        problems["owner"] = "owner, owned_since and lease_expires are set together or not at all"
    elif owned[0] and entry["status"] not in (Phase.IN_PROGRESS, Phase.IN_REVIEW):
        problems["owner"] = f"a task that is {entry['status']} has no owner"
    if owned[0] and entry["token"] == 0:
        problems["token"] = "a task with an owner has a token"
    done = entry["status"] == Phase.DONE
    if done and entry["expects"] != "none" and entry["output"] is None:
        problems["output"] = "a task is done only with an output"
    if done != (entry["completed_at"] is not None):
        problems["completed_at"] = "is set exactly when the task is done"
    return problems


def complete(state: Mapping[str, object]) -> Entry:
    """The whole entry of a stored state: defaults put in, unknown fields kept."""
    return {**_DEFAULTS, **state}  # type: ignore[typeddict-item]


def sparse(entry: Entry) -> dict[str, object]:
    """What a record stores: the entry less the fields at their default."""
    absent = object()
    return {name: value for name, value in entry.items() if _DEFAULTS.get(name, absent) != value}


def checked(entry: Entry) -> Entry:
    """`entry` itself.

    Raises:
        RefusedError: `invalid_task`; `fields["problems"]` names every bad field.
    """
    problems = entry_problems(sparse(entry))
    if problems:
        said = "; ".join(f"{name} {problem}" for name, problem in problems.items())
        raise error("invalid_task", f"task {entry.get('id')!r:.80}: {said}", problems=problems)
    return entry


def dependencies(entry: Entry) -> list[tuple[str, str]]:
    """The (id, when) pairs that `depends_on` holds."""
    return [
        (item, "done") if isinstance(item, str) else (item["id"], item.get("when", "done"))
        for item in entry["depends_on"]
    ]


def json_schema() -> dict[str, object]:
    """The entry as a JSON Schema (2020-12) document."""
    properties = {}
    for name, (default, _, schema) in FIELDS.items():
        properties[name] = dict(schema) if default is ... else {**schema, "default": default}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "RepoKernel task entry",
        "type": "object",
        "required": list(FIELDS),
        "properties": properties,
        "additionalProperties": True,
    }
