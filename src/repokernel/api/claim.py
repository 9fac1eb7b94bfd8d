"""One claim, held while a `with` body works on it."""

from __future__ import annotations

import threading
from pathlib import Path

from repokernel.core.errors import BusyError, RkError, error
from repokernel.core.ids import TaskId, fold
from repokernel.ops import carry, steer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from repokernel.core.entry import Entry
    from repokernel.ops.hold_on import Hold
    from repokernel.ports.world import World

_DETAIL_CHARS_MAX = 4000


class Claim:
    """A task that is yours while the lease holds; renewed in the background inside a `with` body.

    Leaving the body by an exception fails the attempt (`exception`), Ctrl-C or leaving it without
    `complete`, `fail`, `release` or `ask` gives the task back unharmed.

    Attributes:
        lost: set once the lease is lost. The body should stop then; whatever it writes later through
            this claim is refused.
    """

    def __init__(self, world: World, hold: Hold) -> None:
        """Take over a claim; `Board.claim` makes them."""
        self._world = world
        self._hold = hold
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._ended = False
        self.lost = threading.Event()

    @property
    def entry(self) -> Entry:
        """The task as it was when it was claimed."""
        return self._hold.entry

    @property
    def id(self) -> TaskId:
        """The task's id."""
        return TaskId(self._hold.entry["id"])

    @property
    def token(self) -> int:
        """The fencing token of this claim."""
        return self._hold.entry["token"]

    @property
    def inputs(self) -> dict[str, object]:
        """The task's inputs."""
        return self._hold.entry["inputs"]

    @property
    def _by(self) -> str:
        return self._hold.entry["owner"] or ""

    def output_path(self, name: str) -> Path:
        """Where to write an output so that no successor's is overwritten: the path names the token.

        Raises:
            UsageError: `bad_value` for a name that isn't one plain file name.
        """
        if not name or name in (".", "..") or "/" in name or "\0" in name:
            raise error("bad_value", f"{name!r:.80} is not a plain file name", field="name")
        folder = Path(self._world.outputs.place(fold(self.id), self.token))
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name

    def complete(self, output: str | Path | None = None, *, verdict: str | None = None) -> Entry:
        """Done, with an output that is there; the entry after it.

        Raises:
            RefusedError: `lease_lost`, `output_missing` and the others of `rk done`.
        """
        where = None if output is None else str(output)
        applied = carry.done(self._world, self.id, self._by, self.token, where, verdict)
        self._ended = True
        return applied.entry

    def fail(self, code: str, detail: str = "") -> Entry:
        """End this attempt with an error; the entry after it.

        Raises:
            RefusedError: `lease_lost`.
        """
        applied = carry.fail(self._world, self.id, self._by, self.token, code, detail)
        self._ended = True
        return applied.entry

    def release(self) -> Entry:
        """Give the task back unharmed; the entry after it."""
        applied = carry.release(self._world, self.id, self._by, self.token)
        self._ended = True
        return applied.entry

    def ask(self, question: str) -> Entry:
        """Halt the task with a question to a person; the entry after it."""
        applied = carry.ask(self._world, self.id, self._by, self.token, question)
        self._ended = True
        return applied.entry

    def note(self, text: str) -> Entry:
        """Add a remark; the entry after it."""
        return steer.note(self._world, self.id, self._by, text).entry

    def renew(self) -> Entry:
        """Extend the lease now, as the background does by itself.

        Raises:
            RefusedError: `lease_lost`.
        """
        return carry.renew(self._world, self.id, self._by, self.token, self._hold.lease_ms)

    def __enter__(self) -> Self:
        """Start renewing in the background."""
        self._thread = threading.Thread(target=self._renewing, name=f"rk-renew-{self.id}", daemon=True)
        self._thread.start()
        return self

    def _renewing(self) -> None:
        while not self._stop.wait(max(self._hold.wait_s(), 0.001)):
            if not self._hold.keep():
                self.lost.set()
                return

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop renewing; fail or release what the body left open."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if self._ended:
            return
        try:
            if kind is not None and issubclass(kind, Exception) and not self._is_loss(value):
                detail = "".join(ch if ch.isprintable() else " " for ch in f"{kind.__name__}: {value}")
                self.fail("exception", detail[:_DETAIL_CHARS_MAX])
            else:
                self.release()
        except RkError as cause:
            if cause.code != "lease_lost" and kind is None:
                raise
        self._ended = True

    @staticmethod
    def _is_loss(value: BaseException | None) -> bool:
        return isinstance(value, BusyError) or (isinstance(value, RkError) and value.code == "lease_lost")

    @property
    def ended(self) -> bool:
        """Whether this claim was completed, failed, released or halted."""
        return self._ended

    @property
    def outcome(self) -> str:
        """What became of this claim: `done`, `failed`, `released`, or `lost` (as the log has it)."""
        return carry.outcome_of(self._world, self.id, self.token)
