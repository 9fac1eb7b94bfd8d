"""Group 4: what may follow what."""

from tests.shell.hostile.model import (
    DONE,
    HELD,
    NO,
    NOT_YET,
    OPEN,
    OTHER,
    OUT,
    T1,
    UNUSABLE,
    WORK_FILES,
    Kind,
    Made,
    Place,
    Row,
    Want,
    row,
)

_AGAIN = "add one --id t1; claim t1; release t1; claim t1"  # the current token is 2
_REPLACED = "add one --id t1; claim t1; cancel t1; reopen t1; claim t1"  # the same, and nobody has released
_GIVEN_BACK = "add one --id t1; claim t1; release t1"
_CANCELLED = "add one --id t1; cancel t1"
_PLANNED = "add one --id t1 --planned"
_SPENT = "add one --id t1 --max-attempts 1; claim t1; fail t1 --code c --detail d"
_STEPS: tuple[tuple[str, str, str, Want, str], ...] = (
    ("claim-unknown", "", "claim nope", NO, "a claim makes no task"),
    ("claim-done", DONE, "claim t1", 1, "settled: nothing to wait for, and not ready"),
    ("claim-cancelled", _CANCELLED, "claim t1", 1, "settled"),
    ("claim-spent", _SPENT, "claim t1", 1, "attempts are exhausted: failed, until `rk retry`"),
    ("claim-planned", _PLANNED, "claim t1", NOT_YET, "not yet opened"),
    ("claim-on-hold", "add one --id t1; hold t1 --reason r", "claim t1", NOT_YET, "a person's stop sign"),
    ("claim-waiting", "add one --id t1; add two --id t2 --after t1", "claim t2", NOT_YET, "t1 isn't done"),
    ("next-empty", "", "claim --next", 69, "an empty board is drained"),
    ("next-all-done", DONE, "claim --next", 69, "all is settled"),
    ("next-cancelled", _CANCELLED, "claim --next", 69, "all is settled"),
    ("next-planned", _PLANNED, "claim --next", 75, "may still be opened: not drained"),
    ("next-on-hold", "add one --id t1; hold t1 --reason r", "claim --next", 75, "may be unheld: not drained"),
    ("next-backing-off", "add one --id t1; claim t1; fail t1 --code c --detail d", "claim --next", 75, "backs off"),
    ("done-unknown", "", "done nope --output out.txt", NO, "no such task"),
    ("done-unclaimed", T1, "done t1 --output out.txt", 1, "only an owner finishes a task"),
    ("done-unclaimed-token", T1, "done t1 --output out.txt --token 1", 1, "no claim ever had token 1"),
    ("done-cancelled", _CANCELLED, "done t1 --output out.txt", 1, "cancel ended it"),
    ("done-cancelled-in-work", f"{HELD}; cancel t1", "done t1 --output out.txt --token 1", 1, "cancel ends a token"),
    ("done-given-back", _GIVEN_BACK, "done t1 --output out.txt --token 1", 1, "release ends a token"),
    ("done-planned", _PLANNED, "done t1 --output out.txt", 1, "not even opened"),
    ("done-twice", DONE, "done t1 --output out.txt --token 1", (0, 1), "safe to repeat, or settled"),
    ("done-other-output", DONE, "done t1 --output second.txt --token 1", 1, "what is done keeps its output"),
    ("done-no-output", HELD, "done t1", NO, "done needs something behind it"),
    ("done-empty-output", HELD, "done t1 --output ''", NO, "an empty URI is nothing"),
    (
        "done-non-empty",
        "add one --id t1 --expects non_empty; claim t1",
        "done t1 --output empty.txt",
        1,
        "the task expects non_empty",
    ),
    ("done-fifo", HELD, "done t1 --output fifo", NO, "opening it would wait for ever"),
    ("done-device", HELD, "done t1 --output /dev/zero", NO, "reading it would never end"),
    ("done-device-uri", HELD, "done t1 --output file:///dev/zero", NO, "the same as a URI"),
    ("done-loop", HELD, "done t1 --output loop", 1, "a link to itself is not there"),
    ("done-folder-loop", HELD, "done t1 --output cyclic", (0, 1), "a manifest ends, though a link points upwards"),
    ("done-scheme", HELD, "done t1 --output gopher://x/y", NO, "no such kind of output"),
    ("done-host", HELD, "done t1 --output file://elsewhere/out.txt", NO, "another host's file can't be verified here"),
    ("done-nul-uri", HELD, "done t1 --output file:///tmp/a%00b", NO, "no path has a NUL; no ValueError defect"),
    ("done-http-refused", HELD, "done t1 --output http://127.0.0.1:9/x", UNUSABLE, "nobody answers: not verified"),
    ("done-http-port", HELD, "done t1 --output http://127.0.0.1:99999/x", UNUSABLE, "no such port"),
    ("done-git", HELD, "done t1 --output git:0000000000000000000000000000000000000000", UNUSABLE, "no repository here"),
    ("done-long-name", HELD, f"done t1 --output {'n' * 5000}", NO, "no file has so long a name: not there"),
    ("done-verdict", HELD, "done t1 --verdict accepted", NO, "not a review task"),
    ("review-own-work", f"{DONE}; add r --id r1 --review-of t1", "claim r1", NOT_YET, "its owner may be none of t1's"),
    ("next-own-review", f"{DONE}; add r --id r1 --review-of t1", "claim --next", 75, "free for others: not drained"),
    ("fail-no-code", HELD, "fail t1", (0, 2), "is there a default code?"),
    ("fail-code-missing", HELD, "fail t1 --code", 2, "the option takes a value"),
    ("fail-code-empty", HELD, "fail t1 --code '' --detail d", NO, "last_error.code says what went wrong"),
    ("fail-code-odd", HELD, "fail t1 --code 'a\nb' --detail d", OPEN, "the alphabet of a code is open"),
    ("fail-unclaimed", T1, "fail t1 --code c --detail d", 1, "only an owner fails a task"),
    ("fail-done", DONE, "fail t1 --code c --detail d --token 1", 1, "a verified done isn't undone by a late worker"),
    ("renew-unclaimed", T1, "renew t1", 1, "nothing to extend"),
    ("renew-given-back", _GIVEN_BACK, "renew t1 --token 1", 1, "release ends a token"),
    ("renew-done", DONE, "renew t1 --token 1", 1, "settled"),
    ("release-unclaimed", T1, "release t1", (0, 1), "nothing to give back"),
    ("release-done", DONE, "release t1 --token 1", 1, "a done task isn't made pending by its worker"),
    ("ask-unclaimed", T1, "ask t1 why", 1, "a worker's question needs a worker"),
    ("answer-no-question", T1, "answer t1 because", 1, "nobody asked"),
    ("answer-no-text", T1, "answer t1", NO, "nobody asked, and nothing is said"),
    ("retry-pending", T1, "retry t1", (0, 1), "nothing to clear"),
    ("reopen-pending", T1, "reopen t1", (0, 1), "open already"),
    ("cancel-cancelled", _CANCELLED, "cancel t1", (0, 1), "safe to repeat, or settled"),
    ("open-pending", T1, "open t1", (0, 1), "open already"),
    ("unhold-free", T1, "unhold t1", (0, 1), "no stop sign to take away"),
    ("retry-unknown", "", "retry nope", NO, "no such task"),
    ("reopen-unknown", "", "reopen nope", NO, "no such task"),
    ("cancel-unknown", "", "cancel nope", NO, "no such task"),
    ("evict-nobody", HELD, "evict nobody@nowhere --reason r", (0, 1), "frees nothing; t1 stays held"),
    ("evict-deployment", HELD, "evict '#nope' --reason r", (0, 1), "frees nothing; t1 stays held"),
    ("evict-no-owner", HELD, "evict nonsense --reason r", OPEN, "not role@instance: frees nothing"),
    ("evict-empty", HELD, "evict '' --reason r", NO, "mustn't match every owner"),
    ("evict-hash", HELD, "evict '#' --reason r", NO, "an empty deployment mustn't match every owner"),
    ("evict-nothing", HELD, "evict", 2, "an owner is needed"),
)
_LATE: tuple[tuple[str, str], ...] = (
    ("renew", "renew t1"),
    ("done", "done t1 --output out.txt"),
    ("fail", "fail t1 --code c --detail d"),
    ("release", "release t1"),
)
_WORK_MADE = (
    Made(place=Place.WORK, kind=Kind.FIFO, name="fifo"),
    Made(place=Place.WORK, kind=Kind.SYMLINK, name="loop", target="loop"),
    Made(place=Place.WORK, kind=Kind.SYMLINK, name="gone", target="nowhere"),
    Made(place=Place.WORK, kind=Kind.SYMLINK, name="cyclic/up", target="../cyclic"),
)


def _ended_by_others(name: str) -> str:
    """Token 1 is over, and not by the very command that comes late: repeating a release is no loss."""
    return _REPLACED if name == "release" else _AGAIN


TRANSITIONS: tuple[Row, ...] = (
    *(row(f"step-{n}", c, want, why, setup=setup, files=WORK_FILES, made=_WORK_MADE,
           status_after={"t1": "in_progress"} if n.startswith("evict") else {})
      for n, setup, c, want, why in _STEPS),
    *(row(f"late-{n}", f"{c} --token 1", 1, "the task was claimed again: token 2 is current", setup=_ended_by_others(n),
           files=OUT, code="lease_lost", status_after={"t1": "in_progress"}) for n, c in _LATE),
    *(row(f"late-env-{n}", c, 1, "RK_TOKEN is as good as --token", setup=_ended_by_others(n), files=OUT,
           env={"RK_TOKEN": "1"}, code="lease_lost", status_after={"t1": "in_progress"}) for n, c in _LATE),
    *(row(f"stranger-{n}", c, NOT_YET, "the head's token is only its owner's default", setup=HELD, files=OUT,
           env=OTHER, status_after={"t1": "in_progress"}) for n, c in _LATE),
    *(row(f"missing-output-{n}", f"done t1 --output {o}", 1, why, setup=HELD, made=_WORK_MADE,
           files=WORK_FILES, code="output_missing", status_after={"t1": "in_progress"})
      for n, o, why in (("file", "nope.txt", "it isn't there"), ("link", "gone", "the link's target isn't there"),
                        ("below-file", "out.txt/x", "a file has no files"))),
    row("held-by-id", "claim t1", 75, "somebody holds it", setup=HELD, env=OTHER),
    row("held-next", "claim --next", 75, "all is held: not drained", setup=HELD, env=OTHER),
    row("verify-shorter", "verify t1", 1, "done, and what is behind it has another size", setup=DONE, files=OUT,
         later={"out.txt": b"m"}),
    row("verify-other-bytes", "verify t1 --depth sha256", 1, "same size, other bytes", setup=DONE, files=OUT,
         later={"out.txt": b"fake\n"}),
    row("dependency-unusable", "claim t2", NOT_YET, "done and *usable*: t1's output has changed", files=OUT,
         setup=f"{DONE}; add two --id t2 --after t1", later={"out.txt": b"m"}),
    row("dependency-unusable-next", "claim --next", (69, 75), "nothing is ready while t1's output is wrong",
         setup=f"{DONE}; add two --id t2 --after t1", files=OUT, later={"out.txt": b"m"}),
)  # fmt: skip
