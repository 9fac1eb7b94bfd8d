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
_DOZE_S = 1.0


class Claim:
    """A task that is yours while the lease holds; renewed in the background inside a `with` body.

    Leaving the body by an exception fails the attempt (`exception`), Ctrl-C or leaving it without
    `complete`, `fail`, `release` or `ask` gives the task back unharmed.

    Attributes:
        lost: set once the lease is lost. The body should stop then; whatever it writes later through
            this claim is refused.
    """

    def __init__(self, world: World, hold: Hold, keeper: Keeper) -> None:
        """Take over a claim; `Board.claim` makes them."""
        self._world = world
        self._hold = hold
        self._keeper = keeper
        self._ended = ""
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
        self._ended = "done"
        return applied.entry

    def fail(self, code: str, detail: str = "") -> Entry:
        """End this attempt with an error; the entry after it.

        Raises:
            RefusedError: `lease_lost`.
        """
        applied = carry.fail(self._world, self.id, self._by, self.token, code, detail)
        self._ended = "failed"
        return applied.entry

    def release(self) -> Entry:
        """Give the task back unharmed; the entry after it."""
        applied = carry.release(self._world, self.id, self._by, self.token)
        self._ended = "released"
        return applied.entry

    def ask(self, question: str) -> Entry:
        """Halt the task with a question to a person; the entry after it."""
        applied = carry.ask(self._world, self.id, self._by, self.token, question)
        self._ended = "released"
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
        self._keeper.keep(self._hold, self.lost)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop renewing; fail or release what the body left open."""
        self._keeper.let_go(self._hold)
        if self._ended:
            return
        try:
            if kind is not None and issubclass(kind, Exception) and not self._is_loss(value):
                detail = "".join(ch if ch.isprintable() else " " for ch in f"{kind.__name__}: {value}")
                self.fail("exception", detail[:_DETAIL_CHARS_MAX])
            else:
                self.release()
        except RkError as cause:
            self._ended = carry.outcome_of(self._world, self.id, self.token) if cause.code == "lease_lost" else "lost"
            if cause.code != "lease_lost" and kind is None:
                raise

    @staticmethod
    def _is_loss(value: BaseException | None) -> bool:
        return isinstance(value, BusyError) or (isinstance(value, RkError) and value.code == "lease_lost")

    @property
    def ended(self) -> bool:
        """Whether this claim was completed, failed, released or halted."""
        return bool(self._ended)

    @property
    def outcome(self) -> str:
        """What became of this claim: `done`, `failed`, `released`, or `lost` (as the log has it)."""
        return self._ended or carry.outcome_of(self._world, self.id, self.token)


class Keeper:
    """Renews the leases of all claims of one program that are inside their `with` body, on one thread."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._change = threading.Condition()
        self._holds: dict[Hold, threading.Event] = {}
        self._wakes_in_s: float | None = None
        self._running = False

    def keep(self, hold: Hold, lost: threading.Event) -> None:
        """Renew `hold` until it is let go; set `lost` if that fails."""
        with self._change:
            self._holds[hold] = lost
            if not self._running:
                self._running = True
                threading.Thread(target=self._run, name="rk-renew", daemon=True).start()
            elif self._wakes_in_s is None or self._wakes_in_s > hold.wait_s():
                self._change.notify()

    def let_go(self, hold: Hold) -> None:
        """Stop renewing `hold`."""
        with self._change:
            self._holds.pop(hold, None)

    def _run(self) -> None:
        while True:
            with self._change:
                due = [(hold, lost) for hold, lost in self._holds.items() if hold.wait_s() <= 0]
                if not due:
                    # with nothing to renew it dozes on for a while: the next claim mostly comes soon
                    self._wakes_in_s = min((hold.wait_s() for hold in self._holds), default=_DOZE_S)
                    woken = self._change.wait(self._wakes_in_s)
                    if not woken and not self._holds:
                        self._running = False
                        return
                    continue
            for hold, lost in due:
                if not hold.keep():
                    lost.set()
                    self.let_go(hold)
