"""A process that runs the present code, or that code as a later version would write and read.

Run as `python -m tests.races.newer_version BOARD VERSION`; it carries out the orders of `tests.races.worker`
and a few more. The versions:

- `present`: as it is.
- `more`: a compatible one. It writes fields that the present one doesn't know, in envelope and state.
- `cause`: a compatible one too. A new field of the envelope says which event has led to this one.
- `record-2`, `schema-2`: incompatible ones. Each reads what the present one writes, and writes records of a
  form of its own, in which `status` has another name. `record-2` has new beats too.
- `beat-2`: writes records as ever, and beats of a newer form.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from repokernel.core import jsontext, lease, record
from repokernel.core.entry import Entry
from repokernel.core.errors import RkError
from repokernel.core.ids import Key, TaskId, fold
from repokernel.core.phase import Event
from repokernel.core.record import Record
from repokernel.ops import add, carry, log
from repokernel.ops.claim import claim_next
from repokernel.ops.work import nap
from tests.races import worker
from tests.races.worker import Facts, Hand, say

VERSIONS = ("present", "more", "cause", "record-2", "schema-2", "beat-2")
Fields = dict[str, Any]


def _newer_state(state: Fields) -> Fields:
    """A state as the incompatible versions write it."""
    return {**{name: value for name, value in state.items() if name != "status"}, "stage": {"name": state["status"]}}


def _older_state(state: Fields) -> Fields:
    """The same state as the present version writes it."""
    return {**{name: value for name, value in state.items() if name != "stage"}, "status": state["stage"]["name"]}


def _more(value: Fields) -> Fields:
    return {**value, "mood": ["calm"], "state": {**value["state"], "weight": {"grams": 5}}}


def _cause(value: Fields) -> Fields:
    return {**value, "cause": {"event": "done", "task": "another"}}


def _record_2(value: Fields) -> Fields:
    return {**value, "record": 2, "state": _newer_state(value["state"])}


def _schema_2(value: Fields) -> Fields:
    return {**value, "state": {**_newer_state(value["state"]), "schema": 2}}


def _read_back(value: Fields) -> Fields:
    """What the present version would have written in place of a record of an incompatible one."""
    state = value.get("state", {})
    if value.get("record") == 1 and state.get("schema", 1) == 1:
        return value
    older = {name: part for name, part in _older_state(state).items() if name != "schema"}
    return {**value, "record": 1, "state": older}


def _replace(module: ModuleType, **names: object) -> None:
    for name, value in names.items():
        assert hasattr(module, name), name
        setattr(module, name, value)


def _write_as(form: Callable[[Fields], Fields]) -> None:
    """Have this process write records in `form`, and read them."""
    follow, decode = record.follow, record.decode

    def newer_decode(data: bytes, key: Key, seq: int, source: str) -> Record:
        value = jsontext.parse(data)
        assert isinstance(value, dict)
        found = decode(jsontext.canonical(_read_back(value)), key, seq, source)
        found.digest = record.digest(data)
        return found

    def newer_follow(
        prior: Record | None, entry: Entry, event: Event, by: str, at: str, **names: str
    ) -> tuple[Record, bytes]:
        _, data = follow(prior, entry, event, by, at, **names)
        value = jsontext.parse(data)
        assert isinstance(value, dict)
        data = jsontext.canonical(form(value))
        written = newer_decode(data, fold(TaskId(entry["id"])), value["seq"], "what was just written")
        written.linked = True
        return written, data

    _replace(log, decode=newer_decode, follow=newer_follow)


def _beat_as_2() -> None:
    """Have this process write beats of a newer form, and read both."""
    write, read = lease.beat_bytes, lease.with_beat

    def beat_bytes(token: int, lease_expires_ms: int, now_ms: int) -> bytes:
        value = jsontext.parse(write(token, lease_expires_ms, now_ms))
        assert isinstance(value, dict)
        return jsontext.canonical({**value, "beat": 2, "load": 0.5})

    def with_beat(entry: Entry, beat: bytes | None) -> Entry:
        value = None if beat is None else jsontext.parse(beat)
        return read(entry, jsontext.canonical({**value, "beat": 1}) if isinstance(value, dict) else None)

    _replace(carry, beat_bytes=beat_bytes, with_beat=with_beat)
    _replace(log, with_beat=with_beat)


_FORMS: Mapping[str, Callable[[Fields], Fields]] = {
    "more": _more,
    "cause": _cause,
    "record-2": _record_2,
    "schema-2": _schema_2,
}


def become(version: str) -> None:
    """Have this process be of that version from now on."""
    if version in _FORMS:
        _write_as(_FORMS[version])
    if version in ("record-2", "beat-2"):
        _beat_as_2()


class MixedHand(Hand):
    """Carries out what the tests of two versions need beyond the ordinary orders."""

    def __init__(self, board: str) -> None:
        super().__init__(board)
        self.world.lasting = True

    def add(self, facts: Facts) -> Facts:
        """Put a task on the board."""
        return {"task": add.add(self.world, {"title": facts["task"], "id": facts["task"]}, self.me)}

    def show(self, facts: Facts) -> Facts:
        """The task as this version reads it."""
        return {"task": log.require_head(self.world, TaskId(facts["task"])).entry}

    def finish(self, facts: Facts) -> Facts:
        """Complete a task under a token, with a file as output."""
        task, token = TaskId(facts["task"]), facts["token"]
        path = Path(self.world.outputs.place(fold(task), token), "out.txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{task} by {self.me}\n", encoding="utf-8")
        return {"task": carry.done(self.world, task, self.me, token, str(path)).entry}

    def prolong(self, facts: Facts) -> Facts:
        """Renew a lease."""
        return {"task": carry.renew(self.world, TaskId(facts["task"]), self.me, facts["token"], facts["lease_ms"])}

    def next(self, facts: Facts) -> Facts:
        """Claim the next task."""
        return {"task": claim_next(self.world, self.me, 600_000)}

    def drain(self, facts: Facts) -> Facts:
        """Claim and complete task after task until nothing more comes by itself; what was done, and why it ended."""
        finished: list[list[object]] = []
        while True:
            cursor = self.store.wait(None, 0)
            try:
                entry = claim_next(self.world, self.me, 600_000)
            except RkError as cause:
                if cause.kind == "busy" and (cause.code != "not_yet" or cause.fields["by_itself"]):
                    nap(self.world, cursor, cause)
                    continue
                return {"finished": finished, "stopped": cause.as_dict()}
            self.finish({"task": entry["id"], "token": entry["token"]})
            finished.append([entry["id"], entry["token"]])


def main(board: str, version: str) -> None:
    """Be a process of that version on a board."""
    assert version in VERSIONS, version
    become(version)
    worker.Hand = MixedHand  # type: ignore[misc]
    say(ready=version)
    worker.main(board)


if __name__ == "__main__":
    main(*sys.argv[1:])
