"""Task ids: what may be one, how two spellings are told apart, how a new one is made.

An id must also serve as a file name on any disk and as a component of a Git ref, so `..`,
a final dot, `.lock` and the device names of Windows are refused (git-check-ref-format(1);
"Naming Files, Paths, and Namespaces" of the Windows documentation).
"""

from __future__ import annotations

from repokernel.core.chars import WORD, made_of
from repokernel.core.errors import error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NewType

    TaskId = NewType("TaskId", str)
    Key = NewType("Key", str)
else:
    TaskId = Key = str

ID_CHARS_MAX = 64
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$"] + [f"{port}{n}" for port in ("com", "lpt") for n in range(10)]
)
# no vowels but "a"/"e" would make words; no 0/o, 1/l/i look-alikes
_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
GENERATED_CHARS = 6


def id_problem(text: str) -> str | None:
    """Why `text` can't be a task id, or None."""
    if not made_of(text, WORD, ID_CHARS_MAX):
        return "an id is 1 to 64 of A-Z a-z 0-9 . _ - and starts with a letter or digit"
    folded = text.lower()
    if ".." in text or text.endswith(".") or folded.endswith(".lock"):
        return "an id has no '..', no final dot and doesn't end in .lock (Git could not name a branch after it)"
    if folded.split(".", 1)[0] in _DEVICES:
        return "this is a device name on some systems"
    return None


def task_id(value: object) -> TaskId:
    """A checked task id; a whole number becomes its text.

    Raises:
        UsageError: `bad_value`.
    """
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**ID_CHARS_MAX:
        value = str(value)
    if not isinstance(value, str):
        raise error("bad_value", f"a task id is a text or a whole number of at most {ID_CHARS_MAX} digits", field="id")
    problem = id_problem(value)
    if problem is not None:
        raise error("bad_value", f"{value!r:.80} can't be a task id: {problem}", field="id", value=value[:80])
    return TaskId(value)


def fold(task: TaskId) -> Key:
    """The key that files, refs and branches use, equal for all spellings of one id."""
    return Key(task.lower())


def generated_id(entropy: bytes) -> TaskId:
    """A short random id; `entropy` gives one character a byte (six or more bytes).

    31**6 is 887 million: creation is create-if-absent, so a collision is seen and drawn again.
    """
    return TaskId("".join(_ALPHABET[byte % len(_ALPHABET)] for byte in entropy[:GENERATED_CHARS]))
