"""The operations that are faulted: what the board is before, the command, and what may be there after it.

A row is all it takes to have one more operation faulted at every call, its order of syncs checked too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

DYING = "{pid}"  # in a setup: the id of a process that is there, and gone before the operation
OUTPUT = ".repokernel/outputs/t1/t1/summary.md"
_ADD = ("add", "first task", "--id", "t1")
_CLAIM = ("claim", "t1", "--role", "ann")
_HELD = (_ADD, _CLAIM)
_MORE = b'[{"id": "t8", "title": "eighth"}, {"id": "t9", "title": "ninth"}]'


class Beat(StrEnum):
    """What an operation does to the beat of token 1."""

    NONE = "none"
    WRITTEN = "written"  # the effect itself
    WRITTEN_TOO = "written too"  # by the way: the holder is evidently there
    DROPPED = "dropped"  # by the way: nobody reads the beat of an ended token


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One command, and what is legal after it.

    Attributes:
        name: what the figures call it.
        setup: commands that make the board before it; each succeeds.
        argv: the command.
        records: the records that the whole effect consists of, in the order of their publication: (name, event).
        beat: what becomes of the holder's beat.
        kept: the file below `archive/` that keeps what was buried, written before.
        buried: the records that give way to a tombstone, in this order.
        again: outcomes or codes that repeating it may end with once the effect is there.
        task: the task that another worker then turns to.
        next_before: the code that this worker gets where nothing was changed; empty: it has the task.
        next_after: the code where the effect is there.
        files: what lies in the working folder.
        whole: whether the effect appears at once, so that a part of it is to be seen only where rk was killed.
    """

    name: str
    setup: Sequence[Sequence[str]]
    argv: Sequence[str]
    records: Sequence[tuple[str, str]] = ()
    beat: Beat = Beat.NONE
    kept: str = ""
    buried: Sequence[str] = ()
    again: frozenset[str]
    task: str = "t1"
    next_before: str = ""
    next_after: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)
    whole: bool = True

    @property
    def steps(self) -> list[str]:
        """The files of the board that the effect consists of, in the order in which they appear or change."""
        kept = [f"archive/{self.kept}"] if self.kept else []
        return [f"claims/{name}.json" for name, _ in self.records] + kept + [f"claims/{n}.json" for n in self.buried]


_RENEWED = (*_HELD, ("renew", "t1", "--role", "ann"))

OPERATIONS = (
    Operation(
        name="claim",
        setup=(_ADD,),
        argv=_CLAIM,
        records=(("t1.00000002", "claim"),),
        again=frozenset({"already_held"}),
    ),
    Operation(
        name="claim --next",
        setup=(_ADD, ("add", "second task", "--id", "t2", "--priority", "5"), ("add", "third task", "--id", "t3")),
        argv=("claim", "--next", "--role", "ann", "--op-id", "step-1"),
        records=(("t2.00000002", "claim"),),
        again=frozenset({"claimed"}),
        task="t2",
    ),
    Operation(
        name="takeover",
        setup=(
            _ADD,
            ("claim", "t1", "--role", "ben", "--owner-pid", DYING),
            ("renew", "t1", "--token", "1"),
        ),
        argv=_CLAIM,
        records=(("t1.00000003", "claim"),),
        beat=Beat.DROPPED,
        again=frozenset({"already_held"}),
    ),
    Operation(
        name="renew",
        setup=_RENEWED,
        argv=("renew", "t1", "--role", "ann", "--lease", "20h"),
        beat=Beat.WRITTEN,
        again=frozenset({"renewed"}),
    ),
    Operation(
        name="done",
        setup=_RENEWED,
        argv=("done", "t1", "--role", "ann", "--output", OUTPUT),
        records=(("t1.00000003", "done"),),
        beat=Beat.DROPPED,
        again=frozenset({"unchanged"}),
        next_after="settled",
        files={OUTPUT: b"what the task came to\n"},
    ),
    Operation(
        name="fail",
        setup=_RENEWED,
        argv=("fail", "t1", "--role", "ann", "--code", "upload_failed", "--detail", "HTTP 503"),
        records=(("t1.00000003", "fail"),),
        beat=Beat.DROPPED,
        again=frozenset({"unchanged"}),
    ),
    Operation(
        name="release",
        setup=_RENEWED,
        argv=("release", "t1", "--role", "ann"),
        records=(("t1.00000003", "release"),),
        beat=Beat.DROPPED,
        again=frozenset({"unchanged"}),
    ),
    Operation(
        name="ask",
        setup=_RENEWED,
        argv=("ask", "t1", "which edition?", "--role", "ann"),
        records=(("t1.00000003", "ask"),),
        beat=Beat.DROPPED,
        again=frozenset({"unchanged"}),
        next_after="needs_person",
    ),
    Operation(
        name="note",
        setup=_RENEWED,
        argv=("note", "t1", "half way", "--role", "ann", "--op-id", "note-1"),
        records=(("t1.00000003", "note"),),
        beat=Beat.WRITTEN_TOO,
        again=frozenset({"unchanged"}),
    ),
    Operation(
        name="hold",
        setup=(_ADD,),
        argv=("hold", "t1", "--role", "boss", "--reason", "new data is coming"),
        records=(("t1.00000002", "hold"),),
        again=frozenset({"unchanged"}),
        next_after="on_hold",
    ),
    Operation(
        name="cancel",
        setup=_RENEWED,
        argv=("cancel", "t1", "--role", "boss", "--reason", "out of scope"),
        records=(("t1.00000003", "cancel"),),
        again=frozenset({"unchanged"}),
        next_after="settled",
    ),
    Operation(
        name="add",
        setup=(_ADD,),
        argv=("add", "second task", "--id", "t2", "--after", "t1:settled", "--role", "boss"),
        records=(("t2.00000001", "add"),),
        again=frozenset({"id_taken"}),
        task="t1",
    ),
    Operation(
        name="add --from",
        setup=(_ADD,),
        argv=("add", "--from", "more.json", "--role", "boss"),
        records=(("t8.00000001", "add"), ("t9.00000001", "add")),
        again=frozenset({"added"}),
        files={"more.json": _MORE},
        whole=False,
    ),
    Operation(
        name="archive",
        setup=(*_RENEWED, ("cancel", "t1", "--reason", "out of scope")),
        argv=("archive", "t1"),
        kept="t1.00000003.jsonl",
        buried=("t1.00000001", "t1.00000002"),
        again=frozenset({"unchanged"}),
        next_before="settled",
        next_after="settled",
        whole=False,
    ),
)
