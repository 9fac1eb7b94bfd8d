"""A store that delegates to a real one and does what a test says before or after a chosen call."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from repokernel.core.errors import RkError
    from repokernel.core.ids import Key
    from repokernel.ports.store import Store


class FaultyStore:
    """Runs the next waiting hook of a method before or after delegating; a hook that raises is the fault.

    A hook that raises before the call is an engine that refused; one that raises after it is an engine
    whose answer was lost or bad though the work was done.

    Attributes:
        before: hooks by method, each used once, in order.
        after: the same, for after the delegated call.
        calls: the methods called so far.
    """

    def __init__(self, inner: "Store") -> None:
        self.inner = inner
        self.before: dict[str, list[Callable[[], object]]] = {}
        self.after: dict[str, list[Callable[[], object]]] = {}
        self.calls: list[str] = []

    def _enter(self, method: str) -> None:
        self.calls.append(method)
        self._run(self.before.get(method))

    def _leave(self, method: str) -> None:
        self._run(self.after.get(method))

    @staticmethod
    def _run(waiting: list[Callable[[], object]] | None) -> None:
        if waiting:
            waiting.pop(0)()

    @property
    def url(self) -> str:
        return self.inner.url

    def append(self, key: "Key", seq: int, data: bytes, *, stir: bool = False) -> bool:
        self._enter("append")
        created = self.inner.append(key, seq, data, stir=stir)
        self._leave("append")
        return created

    def top(self, key: "Key", known: int = 0) -> int:
        self._enter("top")
        return self.inner.top(key, known)

    def tops(self) -> "Mapping[Key, int | RkError]":
        self._enter("tops")
        return self.inner.tops()

    def changes(self, cursor: int | None) -> "tuple[int, list[tuple[Key, int]] | None]":
        self._enter("changes")
        return self.inner.changes(cursor)

    def read(self, key: "Key", seq: int) -> bytes | None:
        self._enter("read")
        return self.inner.read(key, seq)

    def put_away(self, key: "Key", top: int, data: bytes) -> None:
        self._enter("put_away")
        self.inner.put_away(key, top, data)

    def bury(self, key: "Key", seq: int, data: bytes) -> None:
        self._enter("bury")
        self.inner.bury(key, seq, data)

    def confirm(self) -> None:
        self._enter("confirm")
        self.inner.confirm()

    def read_side(self, side: str, name: str) -> bytes | None:
        self._enter("read_side")
        return self.inner.read_side(side, name)

    def write_side(self, side: str, name: str, data: bytes) -> None:
        self._enter("write_side")
        self.inner.write_side(side, name, data)
        self._leave("write_side")

    def drop_side(self, side: str, name: str) -> None:
        self._enter("drop_side")
        self.inner.drop_side(side, name)

    def sides(self, side: str) -> frozenset[str]:
        self._enter("sides")
        return self.inner.sides(side)

    def foreign(self) -> list[str]:
        self._enter("foreign")
        return self.inner.foreign()

    def now_ms(self) -> int:
        return self.inner.now_ms()

    def wait(self, cursor: object, timeout_s: float) -> object:
        return self.inner.wait(cursor, timeout_s)
