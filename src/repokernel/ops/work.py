"""The worker loop: claim the next task, have it done, go on until the board is drained."""

from __future__ import annotations

from repokernel.core.errors import RkError
from repokernel.core.task import is_coding
from repokernel.ops.claim import claim_next
from repokernel.ops.hold_on import Hold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from repokernel.core.entry import Entry
    from repokernel.ports.world import World

_NAP_S = 0.5
_NAP_MIN_S = 0.02


class Tally:
    """What a worker has done, task ids by outcome, and why it stopped."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.outcomes: dict[str, list[str]] = {"done": [], "failed": [], "lost": [], "released": []}
        self.stopped: RkError | None = None

    @property
    def exit_status(self) -> int:
        """0 all done, 1 some failed or lost, 75 the rest waits for a person.

        Tasks count, not attempts: what failed first and was done at last is done.
        """
        if {*self.outcomes["failed"], *self.outcomes["lost"]} - {*self.outcomes["done"]}:
            return 1
        return 75 if self.stopped is not None and self.stopped.code == "not_yet" else 0


def work(
    world: World,
    by: str,
    lease_ms: int,
    run_one: Callable[[Hold], str],
    *,
    wants: Callable[[Entry], bool] = lambda _: True,
    tasks_max: int | None = None,
    wait_for_people: bool = False,
    on_wait: Callable[[RkError], None] = lambda _: None,
) -> Tally:
    """Work until the board is drained, or all that is left waits for a person.

    Coding tasks are left alone: they are done by landing, which no program run here can do.

    Args:
        world: the board.
        by: the worker.
        lease_ms: length of each lease.
        run_one: does one claimed task, completes or fails it, and returns its outcome: a key of
            `Tally.outcomes`.
        wants: narrows the choice.
        tasks_max: stop after so many.
        wait_for_people: wait for holds, questions and unopened tasks too.
        on_wait: told each time that nothing is claimable yet.
    """
    tally = Tally()
    while tasks_max is None or sum(map(len, tally.outcomes.values())) < tasks_max:
        cursor = world.store.wait(None, 0)
        sent_ms = world.system.monotonic_ms()
        try:
            entry = claim_next(world, by, lease_ms, wants=lambda one: wants(one) and not is_coding(one))
        except RkError as cause:
            if cause.code == "contention":
                continue
            if cause.code == "not_yet" and (cause.fields["by_itself"] or wait_for_people):
                on_wait(cause)
                nap(world, cursor, cause)
                continue
            if cause.kind == "broken":
                raise
            tally.stopped = cause
            return tally
        outcome = run_one(Hold(world, entry, lease_ms, sent_ms))
        tally.outcomes[outcome].append(entry["id"])
    return tally


def nap(world: World, cursor: object, cause: RkError, ends_ms: int | None = None) -> None:
    """Wait until the board changes, the nearest instant that `cause` names comes, or half a second.

    Never beyond `ends_ms` of the monotonic clock.
    """
    until_ms = cause.fields.get("until_ms")
    left_s = (until_ms - world.store.now_ms()) / 1000 if isinstance(until_ms, int) else _NAP_S
    if ends_ms is not None:
        left_s = min(left_s, (ends_ms - world.system.monotonic_ms()) / 1000)
    world.store.wait(cursor, min(max(left_s, _NAP_MIN_S), _NAP_S))
