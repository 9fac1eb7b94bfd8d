"""What one task should do, written as a person would tell it; it shares no code with core."""

LEASE_MS = 10_000
SKEW_MS = 2_000
WAIT_MS = 5_000
HARMLESS = {"agent_limited", "environment"}


class Model:
    """A task with an owner or none. Each method returns the code of the refusal, or None once it is done."""

    def __init__(self, limit: int, now_ms: int, *, planned: bool) -> None:
        self.now_ms = now_ms
        self.phase = "planned" if planned else "pending"
        self.owner: str | None = None
        self.owner_is_dead = False
        self.lease_end_ms = 0
        self.token = 0
        self.epoch = 0
        self.attempts = 0
        self.limit = limit
        self.waits_until_ms: int | None = None
        self.on_hold = False
        self.asks = False
        self.has_output = False
        self.error: str | None = None
        self.notes = 0
        self.owners: list[str] = []

    @property
    def replaceable(self) -> bool:
        """Whether somebody holds it who is gone, or late by more than the margin."""
        return self.owner is not None and (self.owner_is_dead or self.now_ms > self.lease_end_ms + SKEW_MS)

    @property
    def settled(self) -> bool:
        return self.phase in ("done", "failed", "cancelled")

    def let_go(self, phase: str) -> None:
        self.phase, self.owner = phase, None

    # --- workers

    def why_not_claimable(self) -> str | None:
        reasons = {
            "settled": self.settled,
            "not_open": self.phase == "planned",
            "held": self.owner is not None and not self.replaceable,
            "needs_person": self.asks,
            "on_hold": self.on_hold,
            "backing_off": self.waits_until_ms is not None and self.waits_until_ms > self.now_ms,
            "attempts_exhausted": self.attempts >= self.limit,
        }
        return next((code for code, applies in reasons.items() if applies), None)

    def claim(self, by: str) -> str | None:
        code = self.why_not_claimable()
        if code is not None:
            return code
        if self.owner is not None:
            self.error = "crashed"
        self.phase, self.owner, self.owner_is_dead = "in_progress", by, False
        self.lease_end_ms = self.now_ms + LEASE_MS
        self.token += 1
        self.attempts += 1
        self.waits_until_ms = None
        if by in self.owners:
            self.owners.remove(by)
        self.owners.append(by)
        return None

    def may_end_as_exhausted(self) -> bool:
        unheld = self.owner is None and not self.asks
        return self.phase == "in_progress" and self.attempts >= self.limit and (unheld or self.replaceable)

    def exhaust(self) -> None:
        self.let_go("failed")
        self.error, self.waits_until_ms = "attempts_exhausted", None

    # --- the holder

    def lost(self, token: int) -> bool:
        return self.owner is None or token != self.token

    def done(self, token: int) -> str | None:
        if self.lost(token):
            return "lease_lost"
        self.let_go("done")
        self.has_output, self.error = True, None
        return None

    def fail(self, token: int, code: str) -> str | None:
        if self.lost(token):
            return "lease_lost"
        if code not in HARMLESS and self.attempts >= self.limit:
            self.let_go("failed")
            self.error = "attempts_exhausted"
            return None
        self.let_go("pending")
        self.error, self.waits_until_ms = code, self.now_ms + WAIT_MS
        self.attempts -= 1 if code in HARMLESS else 0
        return None

    def release(self, token: int) -> str | None:
        if self.lost(token):
            return "lease_lost"
        self.let_go("pending")
        self.attempts -= 1
        return None

    def ask(self, token: int) -> str | None:
        if self.lost(token):
            return "lease_lost"
        self.let_go("in_progress")
        self.attempts -= 1
        self.asks = True
        return None

    # --- people

    def note(self) -> None:
        self.notes += 1

    def answer(self) -> str | None:
        if self.asks:
            self.let_go("pending")
            self.asks = False
            self.notes += 1
            return None
        return self.not_now()

    def hold(self, *, on: bool) -> str | None:
        if self.settled:
            return "settled"
        self.on_hold = on
        return None

    def open(self) -> str | None:
        if self.phase != "planned":
            return self.not_now()
        self.phase = "pending"
        return None

    def evict(self) -> str | None:
        if self.owner is None:
            return self.not_now()
        self.let_go("in_progress")
        self.error = "evicted"
        return None

    def retry(self) -> str | None:
        if self.phase in ("planned", "done", "cancelled") or (self.owner is not None and not self.replaceable):
            return self.not_now()
        if self.owner is not None:
            self.error = "crashed"
        self.let_go("pending")
        self.asks, self.waits_until_ms = False, None
        self.limit = max(self.limit, self.attempts + 1)
        return None

    def reopen(self) -> str | None:
        if not self.settled:
            return self.not_now()
        self.let_go("pending")
        self.epoch += 1
        self.attempts = 0
        self.has_output, self.error, self.waits_until_ms = False, None, None
        return None

    def cancel(self) -> str | None:
        if self.settled:
            return "settled"
        self.let_go("cancelled")
        self.epoch += 1
        self.notes += 1
        self.asks, self.waits_until_ms = False, None
        return None

    def not_now(self) -> str:
        """What an operation that doesn't apply is refused with."""
        if self.settled:
            return "settled"
        if self.phase == "planned":
            return "not_open"
        if self.owner is not None:
            return "wrong_phase"
        return "needs_person" if self.asks else "not_claimed"
