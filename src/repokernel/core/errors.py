"""The expected ways to say no: one table of codes, four kinds, one exit status each.

A *refusal* carries a code from `CODES`; anything else that is raised is a defect.
Exit statuses are those of DESIGN section 13: 1 refused, 2 usage, 3 broken, 69 drained, 75 busy.
"""

from __future__ import annotations

from enum import StrEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Kind(StrEnum):
    """Who can act on a refusal."""

    USAGE = "usage"
    REFUSED = "refused"
    BUSY = "busy"
    BROKEN = "broken"


EXIT = {Kind.USAGE: 2, Kind.REFUSED: 1, Kind.BUSY: 75, Kind.BROKEN: 3}
EXIT_DRAINED = 69
EXIT_INTERRUPTED = 130

_U, _R, _B, _X = Kind.USAGE, Kind.REFUSED, Kind.BUSY, Kind.BROKEN

CODES: Mapping[str, tuple[Kind, str]] = {
    # usage
    "bad_usage": (_U, "the command line can't be read"),
    "bad_value": (_U, "a value has the wrong form"),
    "bad_input": (_U, "a file or document that was given can't be read"),
    "unknown_key": (_U, "the configuration has a key that doesn't exist"),
    # refused by a rule
    "invalid_task": (_R, "a task's fields break the schema; each bad field is named"),
    "id_taken": (_R, "the id, or another spelling of it, is in use"),
    "task_unknown": (_R, "no task has this id"),
    "dependency_unknown": (_R, "a task depends on an id that doesn't exist"),
    "dependency_cycle": (_R, "tasks depend on each other in a circle"),
    "no_repository": (_R, "owned, shared and forbidden paths need a Git repository"),
    "not_ready": (_R, "the task can't be claimed now, and waiting alone won't change it"),
    "on_hold": (_R, "a person has put the task on hold"),
    "not_open": (_R, "the task is planned and not yet opened"),
    "needs_person": (_R, "the task is halted and waits for a person"),
    "settled": (_R, "the task is done, failed or cancelled"),
    "not_claimed": (_R, "nobody holds the task"),
    "not_owner": (_R, "somebody else holds the task"),
    "wrong_phase": (_R, "the operation doesn't exist in the task's phase"),
    "lease_lost": (_R, "the token is no longer the current one: the task has moved on"),
    "attempts_exhausted": (_R, "the task has used all its attempts"),
    "self_review": (_R, "a reviewer may not be an owner that the task ever had"),
    "not_review": (_R, "a verdict belongs to a review task"),
    "verdict_missing": (_R, "a review task is done by a verdict"),
    "verdict_void": (_R, "the reviewed work has changed since the review was claimed"),
    "needs_landing": (_R, "a coding task is done by landing"),
    "no_question": (_R, "the task has no open question"),
    "output_missing": (_R, "the output is not there"),
    "output_mismatch": (_R, "the output differs from what was recorded"),
    "output_empty": (_R, "the task expects a non-empty output"),
    "output_refused": (_R, "this kind of output can't be recorded"),
    "output_unusable": (_R, "tasks that were required aren't done, or their outputs don't verify"),
    "unverifiable": (_R, "the output can't be checked"),
    "dependency_unusable": (_R, "a dependency is done but its output doesn't verify"),
    "untrusted_config": (_R, "a configured command has not been trusted"),
    "findings": (_R, "something was found that a person should look at"),
    "record_invalid": (_R, "a stored record can't be read; it was left as it is"),
    "schema_newer": (_R, "a record or board was written by a newer version"),
    "registry_conflict": (_R, "the registry can't be merged; both sides stand between conflict markers"),
    "board_exists": (_R, "there is a board already"),
    "drained": (_R, "nothing will ever be claimable"),
    # busy
    "held": (_B, "somebody holds the task"),
    "not_yet": (_B, "nothing is claimable yet"),
    "backing_off": (_B, "the task waits before its next attempt, or for its start date"),
    "waiting": (_B, "the task waits for another one"),
    "contention": (_B, "too many others write to this task"),
    # broken
    "board_missing": (_X, "there is no board here"),
    "store_io": (_X, "the store failed"),
    "store_full": (_X, "the store has no room"),
    "store_readonly": (_X, "the store can't be written"),
    "store_unfit": (_X, "the file system doesn't keep the promises a board needs"),
    "durability_unknown": (_X, "the write is visible but perhaps not durable"),
    "output_io": (_X, "an output can't be read"),
    "registry_io": (_X, "a file of a registry merge can't be read or written"),
    "command_failed": (_X, "a program could not be run"),
    "output_unwritten": (_X, "standard output can't be written; the command itself has run"),
    "interrupted": (_X, "stopped by the user"),
    "defect": (_X, "a bug of RepoKernel"),
}


class RkError(Exception):
    """A refusal: an expected "no" with a code, a sentence, a way on and facts."""

    kind = Kind.REFUSED

    def __init__(self, code: str, message: str, hint: str, fields: Mapping[str, object]) -> None:
        """Keep the facts; `code` must stand in `CODES` under this class's kind."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.fields = dict(fields)

    def __reduce__(self) -> tuple[type[RkError], tuple[str, str, str, dict[str, object]]]:
        """What makes an equal refusal in another process."""
        return type(self), (self.code, self.message, self.hint, self.fields)

    @property
    def exit_status(self) -> int:
        """The process exit status that this refusal maps to."""
        if self.code == "drained":
            return EXIT_DRAINED
        if self.code == "interrupted":
            return EXIT_INTERRUPTED
        return EXIT[self.kind]

    def as_dict(self) -> dict[str, object]:
        """The object that goes to `--json`, to Python and over MCP."""
        return {
            "code": self.code,
            "kind": self.kind.value,
            "message": self.message,
            "hint": self.hint,
            "fields": self.fields,
        }


class UsageError(RkError):
    """The caller's words are off; the caller can mend them."""

    kind = Kind.USAGE


class RefusedError(RkError):
    """A rule says no."""

    kind = Kind.REFUSED


class BusyError(RkError):
    """Not now: somebody holds it, or it isn't time yet. Trying again later may succeed."""

    kind = Kind.BUSY


class BrokenError(RkError):
    """The store, the environment or RepoKernel itself failed."""

    kind = Kind.BROKEN


_CLASS = {
    Kind.USAGE: UsageError,
    Kind.REFUSED: RefusedError,
    Kind.BUSY: BusyError,
    Kind.BROKEN: BrokenError,
}


def error(code: str, message: str, hint: str = "", **fields: object) -> RkError:
    """The exception for `code`, ready to be raised.

    Raises:
        KeyError: `code` is not in `CODES` (a defect).
    """
    return _CLASS[CODES[code][0]](code, message, hint, fields)
