"""Histories of one task by hand: some that are right though they may look odd, and many that are wrong."""

from typing import Any

from tests.sim.linear import Op
from tests.sim.task_words import Answer, Call

GAP_MS = 10.0
LEASE_MS = 1000.0  # no lease lapses unless the history says so
SHORT_MS = 5.0
BACKOFF_MS = (100.0, 100.0)  # a failed task waits from 50 to 100 ms
UNANSWERED = "unanswered"


class Did:
    """One operation of a history by hand: each comes 10 ms after the one before, unless it says when."""

    def __init__(
        self, what: str, by: str = "ann", *, code: str | None = None, at: tuple[float, float | None] | None = None,
        token: int | None = None, text: str = "", name: str = "", ms: float | None = None, limit: int = 3, **saw: Any,
    ) -> None:  # fmt: skip
        if what == "claim" and ms is None:
            ms = LEASE_MS
        if what in ("claim", "show", "note"):  # they present no token, they are told one
            told = {"token": token} if token is not None else {}
            saw = {**told, **({"owner": by} if what == "claim" and code is None else {}), **saw}
            token = None
        self.call = Call(what, by, token, text, name, ms, limit)
        self.answer = None if code == UNANSWERED else Answer(code, tuple(saw.items()))
        self.at = at


def history(steps: list[Did]) -> list[Op]:
    """The operations, each at its time."""
    ops, now_ms = [], 0.0
    for number, step in enumerate(steps):
        called, answered = step.at if step.at is not None else (now_ms + GAP_MS, now_ms + GAP_MS + 1)
        if step.answer is None:
            answered = None
        now_ms = max(now_ms, called, answered or 0.0)
        ops.append(Op(part="t1", process=number, invoked=called, returned=answered, call=step.call, answer=step.answer))
    return ops


ADD = Did("add")
FIRST = Did("claim", token=1)
DONE, RELEASE = Did("done", token=1), Did("release", token=1)
ANEW = Did("reopen", "boss")
HELD_BY_ANN = [ADD, FIRST]
IS_DONE = [*HELD_BY_ANN, DONE]
LAPSED = [ADD, Did("claim", token=1, ms=SHORT_MS)]  # by the next operation
REPLACED = [*LAPSED, Did("claim", "ben", token=2, error="crashed")]
FAILED_ONCE = [*HELD_BY_ANN, Did("fail", token=1, text="too_hard", attempts=1, waits=True)]
LAST_ATTEMPT = [Did("add", limit=1), FIRST]

RIGHT: dict[str, list[Did]] = {
    "a life": [*IS_DONE, Did("show", status="done", owner=None, attempts=1, seq=3)],
    "a takeover after the lease": [
        *REPLACED, Did("done", token=1, code="lease_lost", owner="ben"), Did("done", token=2),
    ],
    "held while the lease lasts": [*HELD_BY_ANN, Did("claim", "ben", code="held", owner="ann", token=1)],
    "either, where the lease ends in between": [
        ADD, Did("claim", ms=SHORT_MS, token=1, at=(10, 11)),
        Did("claim", "ben", code="held", at=(12, 30)), Did("claim", "cyd", token=2, at=(12, 30)),
    ],
    "claiming what one holds": [*HELD_BY_ANN, Did("claim", token=1), Did("show", seq=2, attempts=1)],
    "a renewal is respected": [
        ADD, Did("claim", token=1, ms=15), Did("renew", token=1, ms=100), Did("claim", "ben", code="held"),
        Did("claim", "ben", code="held", at=(100, 101)), Did("claim", "ben", token=2, at=(150, 151)),
    ],
    "a takeover that a renewal came too late for": [
        ADD, Did("claim", token=1, ms=5), Did("claim", "ben", token=2, at=(30, 40)), Did("renew", token=1, at=(31, 35)),
    ],
    "a vain renewal seen by somebody": [
        *LAPSED, Did("claim", "ben", token=2, at=(30, 40)), Did("renew", token=1, code="lease_lost", at=(30, 41)),
        Did("claim", "cyd", code="held", owner="ann", at=(31, 36)),
    ],
    "a note renews its holder's lease": [
        ADD, Did("claim", token=1, ms=15), Did("note", text="x", owner="ann", token=1),
        Did("claim", "ben", code="held"),
    ],
    "a repetition of what was applied": [*IS_DONE, Did("done", token=1, status="done"), Did("show", seq=3)],
    "a repetition after the successor came": [
        *HELD_BY_ANN, RELEASE, Did("claim", "ben", token=2), Did("release", token=1, owner="ben"),
    ],
    "a named note is made once": [
        ADD, Did("note", name="n", text="x"), Did("note", name="n", text="x", notes=1), Did("show", notes=1, seq=2),
    ],
    "hold leaves the holder alone": [*HELD_BY_ANN, Did("hold", "boss", text="stop"), Did("done", token=1, hold="stop")],
    "back-off and then a claim": [
        *FAILED_ONCE, Did("claim", "ben", code="backing_off", at=(40, 41)), Did("claim", "ben", token=2, at=(140, 141)),
    ],
    "the last attempt fails": [
        *LAST_ATTEMPT, Did("fail", token=1, text="x", status="failed", error="attempts_exhausted"),
    ],
    "whoever would claim a spent task ends it": [
        Did("add", limit=1), Did("claim", token=1, ms=5), Did("claim", "ben", code="attempts_exhausted"),
        Did("show", status="failed", owner=None, seq=3),
    ],
    "whoever looks for work ends a spent task": [
        Did("add", limit=1), Did("claim", token=1, ms=5), Did("sweep", "ben"), Did("show", status="failed", seq=3),
    ],
    "a refusal that saw it ended, long under way": [
        Did("add", limit=1), Did("claim", token=1, ms=5), Did("hold", text="x", code="settled", at=(30, 90)),
        Did("sweep", "ben", at=(31, 40)), Did("reopen", "boss", at=(41, 50)),
        Did("show", status="pending", at=(51, 60)),
    ],
    "a sweep that a renewal came too late for": [
        Did("add", limit=1), Did("claim", token=1, ms=5), Did("sweep", "ben", at=(30, 50)),
        Did("renew", token=1, ms=1000, at=(31, 40)), Did("show", status="failed", at=(60, 61)),
    ],
    "a question and its answer": [
        *HELD_BY_ANN, Did("ask", token=1, text="which?"), Did("claim", "ben", code="needs_person"),
        Did("answer", "boss", text="that", notes=1, last_note="Question: which?\nAnswer: that"),
        Did("claim", "ben", token=2, attempts=1),
    ],
    "an unanswered claim that took effect late": [
        ADD, Did("claim", code=UNANSWERED, at=(11, None)), Did("show", status="pending", at=(20, 21)),
        Did("show", status="in_progress", owner="ann", token=1, at=(30, 31)),
    ],
    "an unanswered claim that never took effect": [ADD, Did("claim", code=UNANSWERED), Did("claim", "ben", token=1)],
    "contention says nothing": [*HELD_BY_ANN, Did("note", "ben", text="x", code="contention"), Did("show", seq=2)],
    "overlapping reads of old and new": [
        ADD, Did("cancel", "boss", at=(20, 60)), Did("show", status="pending", at=(25, 30)),
        Did("show", status="cancelled", at=(35, 40)),
    ],
}  # fmt: skip

WRONG: dict[str, list[Did]] = {
    "two claims of one token": [*HELD_BY_ANN, Did("claim", "ben", token=1)],
    "two at once with one token": [ADD, Did("claim", token=1, at=(20, 40)), Did("claim", "ben", token=1, at=(21, 39))],
    "two holders at once": [*HELD_BY_ANN, Did("claim", "ben", token=2)],
    "a takeover within the skew": [ADD, Did("claim", token=1, ms=15), Did("claim", "ben", token=2, at=(21, 25))],
    "a renewal that isn't respected": [
        ADD, Did("claim", token=1, ms=15), Did("renew", token=1, ms=100), Did("claim", "ben", token=2, at=(60, 61)),
    ],
    "a holder's note that doesn't renew": [
        ADD, Did("claim", token=1, ms=15), Did("note", text="x", owner="ann", token=1), Did("claim", "ben", token=2),
    ],
    "done accepted after a takeover": [*REPLACED, Did("done", token=1)],
    "done accepted after a release": [*HELD_BY_ANN, RELEASE, DONE],
    "done accepted with a token that never was": [*HELD_BY_ANN, Did("done", token=2)],
    "a release that ends the successor": [
        *REPLACED, Did("release", token=1, code="lease_lost"), Did("show", owner=None),
    ],
    "a renewal after the token ended": [*HELD_BY_ANN, RELEASE, Did("renew", token=1)],
    "a renewal after the takeover": [*REPLACED, Did("renew", token=1)],
    "a lost done": [*IS_DONE, Did("show", status="pending")],
    "a lost done, seen by a claim": [*IS_DONE, Did("claim", "ben", token=2)],
    "a stale read of a claim": [*HELD_BY_ANN, Did("show", status="pending", owner=None)],
    "a stale read by its number": [*IS_DONE, Did("show", seq=2)],
    "reads that go back": [
        ADD, Did("cancel", "boss", at=(20, 90)), Did("show", status="cancelled", at=(25, 30)),
        Did("show", status="pending", at=(35, 40)),
    ],
    "a record that nobody wrote": [*HELD_BY_ANN, Did("show", seq=3)],
    "a hold that ends the holder's token": [
        *HELD_BY_ANN, Did("hold", text="stop"), Did("done", token=1, code="lease_lost"),
    ],
    "a note that ends the holder's token": [
        *HELD_BY_ANN, Did("note", "ben", text="x"), Did("done", token=1, code="lease_lost"),
    ],
    "a token that goes back": [
        *HELD_BY_ANN, RELEASE, Did("claim", "ben", token=2), Did("release", token=2), Did("claim", token=1),
    ],
    "a token that goes back by reopening": [*IS_DONE, ANEW, Did("show", token=0)],
    "a token used again after a release": [*HELD_BY_ANN, RELEASE, Did("claim", "ben", token=1)],
    "a token that is passed over": [ADD, Did("claim", token=2)],
    "an attempt counted twice": [ADD, Did("claim", token=1, attempts=2)],
    "a release that keeps the attempt": [*HELD_BY_ANN, Did("release", token=1, attempts=1)],
    "a failure that gives the attempt back": [*HELD_BY_ANN, Did("fail", token=1, text="too_hard", attempts=0)],
    "a claim over the limit": [
        Did("add", limit=1), Did("claim", token=1, ms=SHORT_MS), Did("claim", "ben", token=2),
    ],
    "exhausted with an attempt left": [*LAPSED, Did("claim", "ben", code="attempts_exhausted")],
    "a last attempt that is offered again": [*LAST_ATTEMPT, Did("fail", token=1, text="x", status="pending")],
    "a spent task ended in spite of a renewal": [
        Did("add", limit=1), Did("claim", token=1, ms=15), Did("renew", token=1, ms=1000), Did("sweep", "ben"),
        Did("show", status="failed"),
    ],
    "a spent task ended under its holder": [*LAST_ATTEMPT, Did("sweep", "ben"), Did("show", status="failed")],
    "a lost note": [ADD, Did("note", text="x"), Did("note", "ben", text="y"), Did("show", notes=1)],
    "a note made twice": [ADD, Did("note", text="x", name="n"), Did("note", text="x", name="n", notes=2)],
    "a cancel that leaves the owner": [*HELD_BY_ANN, Did("cancel", "boss"), Did("show", owner="ann")],
    "done after a cancel": [*HELD_BY_ANN, Did("cancel", "boss"), DONE],
    "a cancel without a new epoch": [*HELD_BY_ANN, Did("cancel", "boss", epoch=0)],
    "a reopening without a new epoch": [*IS_DONE, Did("reopen", "boss", epoch=0)],
    "a reopening that keeps the attempts": [*IS_DONE, Did("reopen", "boss", attempts=1)],
    "a reopening of open work": [*HELD_BY_ANN, ANEW],
    "a claim while on hold": [ADD, Did("hold", "boss", text="stop"), FIRST],
    "on hold after unhold": [
        ADD, Did("hold", "boss", text="stop"), Did("unhold", "boss"), Did("claim", code="on_hold"),
    ],
    "held though nobody holds it": [ADD, Did("claim", code="held")],
    "held though it is done": [*IS_DONE, Did("claim", "ben", code="held")],
    "held long after the lease": [*LAPSED, Did("claim", "ben", code="held", at=(100, 101))],
    "held by the wrong one": [*HELD_BY_ANN, Did("claim", "ben", code="held", owner="cyd")],
    "held told to the holder": [*HELD_BY_ANN, Did("claim", code="held", at=(100, 101))],
    "a claim within the back-off": [*FAILED_ONCE, Did("claim", "ben", token=2)],
    "backing off for too long": [*FAILED_ONCE, Did("claim", "ben", code="backing_off", at=(300, 301))],
    "backing off without a failure": [*HELD_BY_ANN, RELEASE, Did("claim", "ben", code="backing_off")],
    "lease lost told to the holder": [*HELD_BY_ANN, Did("done", token=1, code="lease_lost")],
    "lease lost told in a repetition": [*IS_DONE, Did("done", token=1, code="lease_lost")],
    "a repetition with another argument": [*FAILED_ONCE, Did("fail", token=1, text="other")],
    "a repetition that is done again": [*HELD_BY_ANN, RELEASE, Did("release", token=1), Did("show", attempts=-1)],
    "one id added twice": [ADD, ADD],
    "a task that is unknown once added": [ADD, Did("show", code="task_unknown")],
    "a task claimed before it is added": [FIRST, ADD],
    "an evicted holder that finishes": [*HELD_BY_ANN, Did("evict", "boss", text="ann"), DONE],
    "an eviction that spares the holder": [*HELD_BY_ANN, Did("evict", "boss", text="ann", code="nothing")],
    "a claim over an open question": [*HELD_BY_ANN, Did("ask", token=1, text="?"), Did("claim", "ben", token=2)],
    "an answer to no question": [ADD, Did("answer", "boss", text="x")],
    "a retry that ends a live hold": [*HELD_BY_ANN, Did("retry", "boss")],
    "settled told of open work": [ADD, Did("claim", code="settled")],
    "not owner told to the owner": [*HELD_BY_ANN, Did("release", code="not_owner")],
    "settled told to the one who did it": [*IS_DONE, Did("done", code="settled")],
    "contention that wrote": [ADD, Did("note", text="x", code="contention"), Did("show", notes=1)],
    "an effect before its cause": [
        ADD, FIRST, Did("show", status="done", at=(40, 41)), Did("done", token=1, code=UNANSWERED, at=(50, None)),
    ],
    "an unanswered claim that counts twice": [
        ADD, Did("claim", code=UNANSWERED), Did("release", token=1), Did("claim", "ben", token=3),
    ],
}  # fmt: skip
