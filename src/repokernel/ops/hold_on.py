"""Holding a lease over time: when to renew, when to give up, counted on the monotonic clock.

Between two renewals the task is looked at now and then, for a person may have cancelled it.
"""

from __future__ import annotations

from repokernel.core.errors import RkError
from repokernel.core.ids import TaskId
from repokernel.core.lease import RENEW_SHARE, STOP_MARGIN
from repokernel.core.phase import Event
from repokernel.core.task import fence
from repokernel.ops.carry import outcome_of, renew
from repokernel.ops.log import require_head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from repokernel.core.entry import Entry
    from repokernel.ports.world import World


_LOOK_MS = 1000


class Hold:
    """One claim that is being worked on.

    The lease is counted from *before* the claim or renewal was sent, so that the holder always gives
    up earlier than anybody else may take over.
    """

    def __init__(self, world: World, entry: Entry, lease_ms: int, sent_ms: int) -> None:
        """Take over a claim that was sent at `sent_ms` of the monotonic clock."""
        self._world = world
        self.entry = entry
        self.lease_ms = lease_ms
        self.lost: RkError | None = None
        self._until_ms = sent_ms + lease_ms
        self._renew_at_ms = sent_ms + int(lease_ms * RENEW_SHARE)
        self._look_at_ms = sent_ms + _LOOK_MS

    @property
    def _task(self) -> TaskId:
        return TaskId(self.entry["id"])

    def wait_s(self) -> float:
        """How long to wait at most before the next `keep`."""
        next_ms = min(self._renew_at_ms, self._until_ms, self._look_at_ms)
        return max(next_ms - self._world.system.monotonic_ms(), 0) / 1000

    def outcome(self) -> str:
        """What became of the claim (`ops.carry.outcome_of`)."""
        return outcome_of(self._world, self._task, self.entry["token"])

    def keep(self) -> bool:
        """Renew if it is time; False once the lease is lost and the work must stop."""
        if self.lost is not None:
            return False
        sent_ms = self._world.system.monotonic_ms()
        if sent_ms < self._renew_at_ms:
            return sent_ms < self._look_at_ms or self._look(sent_ms)
        self._look_at_ms = sent_ms + _LOOK_MS
        try:
            renew(self._world, self._task, self.entry["owner"] or "", self.entry["token"], self.lease_ms)
        except RkError as cause:
            if cause.kind == "refused" or sent_ms >= self._until_ms - int(self.lease_ms * STOP_MARGIN):
                self.lost = cause
                return False
            self._renew_at_ms = sent_ms + max(int(self.lease_ms * STOP_MARGIN / 2), 1)
            return True
        self._until_ms = sent_ms + self.lease_ms
        self._renew_at_ms = sent_ms + int(self.lease_ms * RENEW_SHARE)
        return True

    def _look(self, now_ms: int) -> bool:
        """Whether the token is still the current one, as far as can be told just now."""
        self._look_at_ms = now_ms + _LOOK_MS
        try:
            fence(require_head(self._world, self._task).entry, self.entry["token"], Event.RENEW)
        except RkError as cause:
            if cause.kind == "refused":
                self.lost = cause
        return self.lost is None
