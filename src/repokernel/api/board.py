"""`Board`: the task board from Python.

board = Board.open()
with board.claim(role="writer") as claim:
    path = claim.output_path("summary.md")
    path.write_text("...")
    claim.complete(path)
"""

from __future__ import annotations

import os
from pathlib import Path

from repokernel import bootstrap
from repokernel.api.claim import Claim, Keeper
from repokernel.core.errors import RkError, error
from repokernel.core.ids import task_id
from repokernel.core.output import Depth
from repokernel.core.phase import Phase
from repokernel.core.times import parse_duration
from repokernel.ops import query, steer
from repokernel.ops.add import add, import_tasks
from repokernel.ops.claim import claim, claim_next
from repokernel.ops.hold_on import Hold
from repokernel.ops.log import history, require_head
from repokernel.ops.verify import require, verify
from repokernel.ops.view import board_view
from repokernel.ops.work import nap, work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from repokernel.core.entry import Entry
    from repokernel.core.record import Record
    from repokernel.ops.add import Imported
    from repokernel.ops.archive import PutAway
    from repokernel.ops.query import Row, Standing
    from repokernel.ops.verify import Checked
    from repokernel.ops.work import Tally
    from repokernel.ports.world import World

__all__ = ["Board", "Claim"]


class Board:
    """All tasks that one queue sees. Safe to use from several threads."""

    def __init__(self, world: World, *, role: str | None = None, instance: str | None = None) -> None:
        """Use `Board.open`."""
        self._world = world
        self._role = role
        self._keeper = Keeper()
        self._env = {**os.environ, **({"RK_INSTANCE": instance} if instance else {})}

    @classmethod
    def open(
        cls,
        url: str | Path | None = None,
        *,
        role: str | None = None,
        instance: str | None = None,
        create: bool = False,
    ) -> Board:
        """A board by its URL or path, else `RK_BOARD`, else the one that the working folder lies in.

        Args:
            url: a path or `file:PATH`.
            role: in which role this program acts (default: `RK_ROLE`, else the login).
            instance: a name for this program; host, process and start time are added to it.
            create: make the board if it isn't there.

        Raises:
            BrokenError: `board_missing`.
        """
        cwd = str(Path.cwd())
        said = str(url) if url is not None else os.environ.get("RK_BOARD")
        if create:
            bootstrap.make_board(said, cwd)
        return cls(bootstrap.open_world(said, cwd, lasting=True), role=role, instance=instance)

    @property
    def url(self) -> str:
        """How to open this board again."""
        return self._world.store.url

    def _who(self, role: str | None = None) -> str:
        return bootstrap.identity(self._env, role=role or self._role, owner_pid=None, own_process=True)

    # tasks --------------------------------------------------------------------------------------

    def add(self, title: str, *, planned: bool = False, **fields: object) -> Entry:
        """A new task's entry; `fields` are those of `rk schema` that a person may give (id, inputs, …).

        Raises:
            RefusedError: `invalid_task`, `id_taken`, `dependency_unknown`.
        """
        return add(self._world, {**fields, "title": title}, self._who(), planned=planned)

    def add_all(self, items: Sequence[Mapping[str, object]], *, output: str | None = None) -> Imported:
        """Many tasks at once, as `rk add --from` takes them: all valid, or none is written."""
        return import_tasks(self._world, items, self._who(), output=output)

    def show(self, task: str) -> Entry:
        """One task's entry.

        Raises:
            RefusedError: `task_unknown`.
        """
        return require_head(self._world, task_id(task)).entry

    def tasks(self, *statuses: str) -> list[Entry]:
        """All tasks, or those in the given phases; lowest priority number first, then age."""
        unknown = [one for one in statuses if one not in list(Phase)]
        if unknown:
            hint = "one of " + ", ".join(Phase)
            raise error("bad_value", f"{unknown[0]!r:.80} is no status", hint=hint, field="status")
        wanted = query.EVERYTHING._replace(status=frozenset(statuses) or None)
        return [row.entry for row in query.list_tasks(self._world, wanted).rows]

    def rows(self) -> Sequence[Row]:
        """All tasks with what lists show beside them: cell, outlook, usable."""
        return query.list_tasks(self._world, query.EVERYTHING).rows

    def status(self) -> Standing:
        """The board at a glance."""
        return query.status(self._world)

    def history(self, task: str) -> Sequence[Record]:
        """Every record of a task, oldest first."""
        return history(self._world, task_id(task))

    # people -------------------------------------------------------------------------------------

    def note(self, task: str, text: str) -> Entry:
        """Add a remark; the entry after it."""
        return steer.note(self._world, task_id(task), self._who(), text).entry

    def hold(self, task: str, reason: str) -> Entry:
        """Keep a task from being claimed; the entry after it."""
        return steer.hold(self._world, task_id(task), self._who(), reason).entry

    def unhold(self, task: str) -> Entry:
        """Take a hold back; the entry after it."""
        return steer.unhold(self._world, task_id(task), self._who()).entry

    def answer(self, task: str, text: str) -> Entry:
        """Answer a worker's question; the entry after it."""
        return steer.answer(self._world, task_id(task), self._who(), text).entry

    def open_planned(self, task: str) -> Entry:
        """Offer a planned task; the entry after it."""
        return steer.open_planned(self._world, task_id(task), self._who()).entry

    def retry(self, task: str) -> Entry:
        """Clear back-off and halt; the entry after it."""
        return steer.retry(self._world, task_id(task), self._who()).entry

    def reopen(self, task: str) -> Entry:
        """Start a settled task anew; the entry after it."""
        return steer.reopen(self._world, task_id(task), self._who()).entry

    def cancel(self, task: str, reason: str = "") -> Entry:
        """End an open task; the entry after it."""
        return steer.cancel(self._world, task_id(task), self._who(), reason).entry

    def evict(self, whom: str, reason: str) -> Sequence[Entry]:
        """Free what an owner or a `#deployment` holds; the entries that were freed."""
        return steer.evict(self._world, whom, self._who(), reason)

    def archive(self, *tasks: str, older: str = "30d") -> Sequence[PutAway]:
        """Put the old records of settled tasks away: of those named, else of all that are settled for longer.

        Raises:
            RefusedError: `wrong_phase` for a named task that isn't settled.
            UsageError: `bad_value` for an age that is none.
        """
        from repokernel.ops.archive import archive

        return archive(self._world, [task_id(task) for task in tasks], _duration_ms(older, "older") or 0)

    # work ---------------------------------------------------------------------------------------

    def claim(
        self,
        task: str | None = None,
        *,
        role: str | None = None,
        lease: str | None = None,
        wait: str | None = None,
    ) -> Claim:
        """The named task, or the next one that is ready, as a context manager.

        Args:
            task: an id; None claims the best ready task.
            role: in which role.
            lease: such as "10m" (default: `lease.default`).
            wait: how long to wait for a task to become claimable, such as "5m" (default: not at all).

        Raises:
            BusyError: `held`, `not_yet`, … : not now.
            RefusedError: `drained` and every other reason why it never will be.
            UsageError: `bad_value`.
        """
        lease_ms = _duration_ms(lease, "lease") or self._world.settings.lease_default_ms
        ends_ms = self._world.system.monotonic_ms() + (_duration_ms(wait, "wait") or 0)
        by = self._who(role)
        while True:
            cursor = self._world.store.wait(None, 0)
            sent_ms = self._world.system.monotonic_ms()
            try:
                if task is None:
                    entry = claim_next(self._world, by, lease_ms)
                else:
                    entry = claim(self._world, task_id(task), by, lease_ms).entry
                return Claim(self._world, Hold(self._world, entry, lease_ms, sent_ms), self._keeper)
            except RkError as cause:
                if cause.kind != "busy" or self._world.system.monotonic_ms() >= ends_ms:
                    raise
                nap(self._world, cursor, cause, ends_ms)

    def work(
        self,
        handler: Callable[[Claim], str | Path | None],
        *,
        role: str | None = None,
        lease: str | None = None,
        tasks_max: int | None = None,
    ) -> Tally:
        """Call `handler` for task after task until the board is drained.

        What it returns is the task's output (None: it has completed, failed or released the claim itself,
        or the task expects no output). An exception fails the attempt and the loop goes on.
        """
        lease_ms = _duration_ms(lease, "lease") or self._world.settings.lease_default_ms

        def run_one(hold: Hold) -> str:
            one = Claim(self._world, hold, self._keeper)
            outcome = "released"
            try:
                with one:
                    outcome = _handle(one, handler)
            except RkError as cause:
                if cause.kind == "broken":
                    raise
                return one.outcome
            except Exception:  # the handler's own failure is on the task; the worker goes on  # noqa: BLE001
                return one.outcome
            return outcome

        return work(self._world, self._who(role), lease_ms, run_one, tasks_max=tasks_max)

    # outputs ------------------------------------------------------------------------------------

    def require(self, ids: Iterable[str], *, depth: str | None = None) -> list[Entry]:
        """The entries of tasks that are all done with outputs that verify; one error names all that aren't.

        Raises:
            RefusedError: `output_unusable`; `fields["tasks"]` lists id, uri, code and detail of each.
        """
        return require(self._world, [task_id(one) for one in ids], self._depth(depth))

    def verify(self, ids: Iterable[str], *, depth: str | None = None) -> Sequence[Checked]:
        """What is wrong with each task's output, in the order of `ids` (`problem` None: usable)."""
        return verify(self._world, [task_id(one) for one in ids], self._depth(depth))

    def _depth(self, text: str | None) -> Depth:
        said = self._world.settings.verify_depth if text is None else text
        if said not in list(Depth):
            raise error("bad_value", f"depth {said!r:.80} must be one of {', '.join(Depth)}", field="depth")
        return Depth(said)

    def watch(self, *, timeout: str | None = None) -> Iterator[Entry]:
        """Each task's entry whenever it has changed, for ever or until `timeout` passes without a change."""
        seen: dict[str, str] = {}
        board_view(self._world)
        seen.update({key: record.digest for key, record in self._world.decoded.items()})
        cursor = self._world.store.wait(None, 0)
        limit_ms = _duration_ms(timeout, "timeout")
        quiet_ms = self._world.system.monotonic_ms()
        while True:
            cursor = self._world.store.wait(cursor, 0.5)
            board_view(self._world)
            for key, record in list(self._world.decoded.items()):
                if seen.get(key) != record.digest:
                    seen[key] = record.digest
                    quiet_ms = self._world.system.monotonic_ms()
                    yield record.entry
            if limit_ms is not None and self._world.system.monotonic_ms() - quiet_ms >= limit_ms:
                return


def _handle(one: Claim, handler: Callable[[Claim], str | Path | None]) -> str:
    output = handler(one)
    if not one.ended:
        try:
            one.complete(output)
        except RkError as cause:
            if cause.code == "lease_lost" or cause.kind == "broken":
                raise
            one.fail(cause.code, cause.message)
            return "failed"
    return one.outcome


def _duration_ms(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    try:
        return parse_duration(text)
    except ValueError as cause:
        raise error("bad_value", f"{name} {text!r:.80} is {cause}", field=name) from None
