"""New tasks: from what a person or a file says to checked first entries, all or none.

Also reads the old form `{"id", "title", "done"}`: an old `done: true` has nothing behind it, so it
becomes `pending` with a finding unless an output verifies.
"""

from __future__ import annotations

from repokernel.core import jsontext
from repokernel.core.entry import FIELDS, SCHEMA, checked, complete, dependencies, field_problems
from repokernel.core.errors import error
from repokernel.core.ids import ID_CHARS_MAX, TaskId, fold, task_id
from repokernel.core.ready import cycle
from repokernel.core.times import format_instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from repokernel.core.entry import Entry
    from repokernel.core.ids import Key

IMPORT_ITEMS_MAX = 100_000
# what a new task may say; the rest is the log's business
GIVEN = frozenset(
    [
        "id",
        "title",
        "body",
        "epic",
        "labels",
        "priority",
        "depends_on",
        "expects",
        "owned_paths",
        "shared_paths",
        "forbidden_paths",
        "check",
        "inputs",
        "hold",
        "max_attempts",
        "not_before",
        "review_of",
        "schema",
    ]
)
_STARTS = ("planned", "pending")


def first_entry(given: Mapping[str, object], now_ms: int, *, planned: bool, repository: bool) -> Entry:
    """The entry of a new task.

    Args:
        given: the fields that were said; `id` and `title` among them.
        now_ms: when.
        planned: whether it waits to be opened.
        repository: whether the board belongs to a Git repository (else paths are refused).

    Raises:
        RefusedError: `invalid_task` with every bad field, or `no_repository`.
    """
    now = format_instant(now_ms)
    identity = task_id(given.get("id"))
    state: dict[str, object] = {"expects": "none"} if given.get("review_of") is not None else {}
    state.update(given)
    state |= {
        "schema": given.get("schema", SCHEMA),
        "id": identity,
        "status": "planned" if planned else "pending",
        "created_at": now,
        "updated_at": now,
    }
    state["depends_on"] = _ids_as_text(given.get("depends_on", []))
    state["review_of"] = _id_as_text(given.get("review_of"))
    schema = state["schema"]
    if type(schema) is int and schema > SCHEMA:
        raise error("schema_newer", f"task {identity} has schema {schema}; this version knows {SCHEMA}", id=identity)
    problems = {**field_problems(state), **_logged(given)}
    if problems:
        said = "; ".join(f"{name} {problem}" for name, problem in problems.items())
        raise error("invalid_task", f"task {identity}: {said}", problems=problems, id=identity)
    entry = checked(complete(state))
    paths = [name for name in ("owned_paths", "shared_paths", "forbidden_paths") if entry[name]]
    if paths and not repository:
        raise error(
            "no_repository",
            f"task {identity}: {paths[0]} needs a Git repository, and this board has none",
            hint="leave the paths out, or run `rk init` in the repository",
            id=identity,
        )
    return entry


def _ids_as_text(value: object) -> object:
    if not isinstance(value, list):
        return value
    return [
        {**item, "id": _id_as_text(item.get("id"))} if isinstance(item, dict) else _id_as_text(item) for item in value
    ]


def _id_as_text(value: object) -> object:
    return str(value) if type(value) is int and 0 <= value < 10**ID_CHARS_MAX else value


def _logged(said: Mapping[str, object]) -> dict[str, str]:
    """What only the log can say and yet was said, unless it says nothing."""
    names = [key for key in said if key in FIELDS and key not in GIVEN and key != "status"]
    return {key: "is written by the log, never given" for key in names if said[key] not in (None, 0, [], {})}


def parse_import(data: bytes) -> list[dict[str, object]]:
    """The items of a task file: a JSON array of objects, or {"tasks": [...]}; a BOM is ignored.

    Raises:
        UsageError: `bad_input`, with the place.
    """
    try:
        value = jsontext.parse(data.removeprefix(b"\xef\xbb\xbf"))
    except ValueError as cause:
        raise error("bad_input", f"the task file: {cause}") from None
    if isinstance(value, dict) and isinstance(value.get("tasks"), list):
        value = value["tasks"]
    if not isinstance(value, list):
        raise error("bad_input", "the task file must be a JSON array of tasks, or an object with `tasks`")
    if len(value) > IMPORT_ITEMS_MAX:
        raise error("bad_input", f"the task file has {len(value):,} tasks; at most {IMPORT_ITEMS_MAX:,} at once")
    for place, item in enumerate(value):
        if not isinstance(item, dict):
            raise error("bad_input", f"item {place + 1} of the task file is not an object")
    return value


def import_item(item: Mapping[str, object], place: int) -> tuple[dict[str, object], bool, bool]:
    """(the fields given, whether it starts as planned, whether the old form said done) of one item.

    Raises:
        RefusedError: `invalid_task`, when the item says what only the log can say.
    """
    old_done = item.get("done", False)
    status = item.get("status", "pending")
    name = item.get("id", f"item {place + 1}")
    problems = {}
    if not isinstance(old_done, bool):
        problems["done"] = "must be true or false"
    if status not in (*_STARTS, "done"):
        problems["status"] = "must be planned, pending or done in a task file"
    if "id" not in item:
        problems["id"] = "is missing"
    known = {key: value for key, value in item.items() if (key != "done" and key not in FIELDS) or key in GIVEN}
    problems |= _logged(item)
    if problems:
        said = "; ".join(f"{key} {problem}" for key, problem in problems.items())
        raise error("invalid_task", f"task {name!r:.80} in the task file: {said}", problems=problems)
    return known, status == "planned", old_done is True or status == "done"


def check_batch(new: Sequence[Entry], existing: Callable[[Key], Entry | None]) -> None:
    """Pass if `new` fits together and onto the board.

    Raises:
        RefusedError: `id_taken`, `dependency_unknown` or `dependency_cycle`.
    """
    keys: dict[Key, Entry] = {}
    for entry in new:
        key = fold(TaskId(entry["id"]))
        if key in keys:
            raise error("id_taken", f"{entry['id']} stands twice among the new tasks", id=entry["id"])
        keys[key] = entry
    edges: dict[Key, list[Key]] = {}
    for key, entry in keys.items():
        names = [name for name, _ in dependencies(entry)]
        names += [entry["review_of"]] if entry["review_of"] else []
        for name in names:
            needed = fold(TaskId(name))
            if needed not in keys and existing(needed) is None:
                raise error(
                    "dependency_unknown",
                    f"{entry['id']} needs {name}, and no such task exists",
                    hint="add the other task first, or both in one file",
                    id=entry["id"],
                    needs=name,
                )
            edges.setdefault(key, []).append(needed)
    circle = cycle(edges)
    if circle is not None:
        said = " -> ".join(circle)
        raise error("dependency_cycle", f"tasks would wait for each other: {said}", cycle=list(circle))
