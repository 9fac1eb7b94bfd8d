"""The words of the task's specification: what is asked, what is answered, and what a task is."""

from typing import Any, NamedTuple

SETTLED = ("done", "failed", "cancelled")


class Call(NamedTuple):
    """What was asked for.

    Attributes:
        what: the operation.
        by: who asks.
        token: the token that is presented; None: that of whoever asks.
        text: what it says: a note, a reason, an error code, a question, an answer, whom to evict.
        name: the operation's own name, under which it may be repeated.
        ms: the lease that is asked for; None: as long as at the claim.
        limit: how many attempts a new task has.
    """

    what: str
    by: str
    token: int | None = None
    text: str = ""
    name: str = ""
    ms: float | None = None
    limit: int = 3

    def __str__(self) -> str:
        """The call as short as it can be told."""
        said = [f"{name}={value}" for name, value in self._asdict().items() if value not in ("", None)]
        return f"{self.what}({', '.join(said[1:-1] if self.what != 'add' else said[1:])})"


class Answer(NamedTuple):
    """What came back: the code of a refusal or None, and what the answer says of the task, by field."""

    code: str | None
    saw: tuple[tuple[str, Any], ...] = ()

    def fits(self, task: "Task") -> bool:
        """Whether what it says of the task is true of this one."""
        return all(getattr(task, name) == value for name, value in self.saw)

    def __str__(self) -> str:
        """The answer as short as it can be told."""
        return f"{self.code or 'ok'} {' '.join(f'{name}={value}' for name, value in self.saw)}".strip()


class Task(NamedTuple):
    """A task with an owner or none."""

    status: str = "absent"
    owner: str | None = None
    token: int = 0
    epoch: int = 0
    attempts: int = 0
    limit: int = 0
    hold: str | None = None
    question: str | None = None
    error: str | None = None
    waits: bool = False  # it has a back-off, perhaps one that is over
    notes: int = 0
    last_note: str = ""
    owners: tuple[str, ...] = ()  # all it ever had, in the order of the alphabet
    seq: int = 0  # how many records have been written
    last_owner: str = ""  # shows only in what whoever presents no token may do
    # known only between an earliest and a latest instant
    claimed_ms: float = 0  # the latest
    lease_ms: float = 0
    lapse_ms: tuple[float, float] = (0, 0)  # the end of the lease, renewals aside; of an orphan: since when
    wait_ms: tuple[float, float] = (0, 0)  # the end of the back-off
    applied: frozenset[object] = frozenset()  # the operations that can be repeated

    @property
    def settled(self) -> bool:
        """Whether nothing more happens to it by itself."""
        return self.status in SETTLED

    def to(self, **changes: Any) -> "Task":
        """The task one record later."""
        return self._replace(seq=self.seq + 1, **changes)

    def let_go(self, status: str, **changes: Any) -> "Task":
        """The task one record later, with no owner."""
        return self.to(status=status, owner=None, **changes)


SEEN = Task._fields[: Task._fields.index("last_owner")]
ABSENT = Task()

Outcome = tuple[str | None, Task]  # the code of the refusal or None, and the task afterwards


def saw(task: Task, *, seq: bool = False) -> tuple[tuple[str, Any], ...]:
    """Everything that an answer can say of a task; only `show` tells how many records it has."""
    return tuple((name, getattr(task, name)) for name in SEEN if seq or name != "seq")
