"""The log: an immutable record per transition, linked by hash, holding the whole state after it.

`RECORD_FORMAT` is the version of the envelope and the state together. A newer one is refused, and the
record is left alone; unknown fields of the envelope and of the state are kept by whoever writes next.
"""

from __future__ import annotations

from repokernel.core import jsontext
from repokernel.core.chars import HEX, made_of
from repokernel.core.entry import SCHEMA, SPEC_FIELDS, complete, entry_problems, sparse
from repokernel.core.errors import error
from repokernel.core.ids import TaskId, fold
from repokernel.core.owner import parse_owner
from repokernel.core.times import parse_instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from hashlib import sha256

    from repokernel.core.entry import Entry
    from repokernel.core.ids import Key
    from repokernel.core.phase import Event
else:  # pragma: no cover - which of them is there depends on the interpreter
    # hashlib loads OpenSSL, which costs 2 ms that records of some hundred bytes never earn back
    try:
        from _sha2 import sha256
    except ImportError:
        try:
            from _sha256 import sha256  # Python 3.11
        except ImportError:
            from hashlib import sha256

RECORD_FORMAT = 1
RECORD_BYTES_MAX = 4 * 1024 * 1024
RECORD_BYTES_SPARE = 1024 * 1024
_DIGEST_CHARS = 64
_ADDS_TEXT = frozenset({"add", "note", "ask"})
_ENVELOPE = frozenset({"record", "seq", "prev", "op_id", "nonce", "event", "by", "at", "spec", "state", "tombstone"})
# what takes room, and is needed of the newest record only
_PUT_AWAY = frozenset(
    {"body", "inputs", "notes", "labels", "depends_on", "claimed_by", "question", "halt", "last_error", "review",
     "owned_paths", "shared_paths", "forbidden_paths", "check", "usage"}
)  # fmt: skip


class Record:
    """One decoded record.

    `entry` is the state after it, `digest` the hash that the next one links to, `linked` whether its
    own link to the record before has been checked, `tombstone` whether its contents were put away (`entry`
    is then a part of what it was, and `digest` that of the whole).
    """

    __slots__ = (
        "at", "by", "digest", "entry", "event", "extra", "linked", "nonce", "op_id", "prev", "seq", "spec", "tombstone"
    )  # fmt: skip

    def __init__(self, envelope: Mapping[str, object], entry: Entry, digest: str) -> None:
        """Take over a validated envelope."""
        self.seq = int(str(envelope["seq"]))
        self.prev = envelope["prev"] if isinstance(envelope["prev"], str) else None
        self.op_id = str(envelope["op_id"])
        self.nonce = str(envelope["nonce"])
        self.event = str(envelope["event"])
        self.by = str(envelope["by"])
        self.at = str(envelope["at"])
        self.spec = str(envelope["spec"])
        self.extra = {name: value for name, value in envelope.items() if name not in _ENVELOPE}
        self.entry = entry
        self.tombstone = "tombstone" in envelope
        self.digest = str(envelope["tombstone"]) if self.tombstone else digest
        self.linked = self.seq == 1


def digest(data: bytes) -> str:
    """The hash that the next record carries as `prev`."""
    return sha256(data).hexdigest()


def follow(
    prior: Record | None, entry: Entry, event: Event, by: str, at: str, *, op_id: str, nonce: str
) -> tuple[Record, bytes]:
    """The record after `prior`, and its bytes.

    Raises:
        RefusedError: `invalid_task` when the record would be too large.
    """
    envelope = {
        **(prior.extra if prior else {}),
        "record": RECORD_FORMAT,
        "seq": prior.seq + 1 if prior else 1,
        "prev": prior.digest if prior else None,
        "op_id": op_id,
        "nonce": nonce,
        "event": event.value,
        "by": by,
        "at": at,
        "spec": prior.spec if prior else spec_digest(entry),
        "state": sparse(entry),
    }
    data = jsontext.canonical(envelope)
    # what adds text stops earlier, so that a full task can still be claimed, finished and cancelled
    bytes_max = RECORD_BYTES_MAX - (RECORD_BYTES_SPARE if event in _ADDS_TEXT else 0)
    if len(data) > bytes_max:
        raise error(
            "invalid_task",
            f"task {entry['id']} would take {len(data):,} bytes; a record has at most {bytes_max:,}",
            hint="keep large inputs in files and name them in `inputs`",
        )
    record = Record(envelope, entry, digest(data))
    record.linked = True
    return record, data


def tombstone(record: Record) -> bytes:
    """What stands in a record's place once its contents were put away: who did what when, and its hash."""
    state = {name: value for name, value in sparse(record.entry).items() if name not in _PUT_AWAY}
    if isinstance(output := state.get("output"), dict):
        state["output"] = {name: value for name, value in output.items() if name != "files"}
    names = ("seq", "prev", "op_id", "nonce", "event", "by", "at", "spec")
    said = {name: getattr(record, name) for name in names}
    envelope = {**record.extra, **said, "record": RECORD_FORMAT, "state": state, "tombstone": record.digest}
    return jsontext.canonical(envelope)


_PEEKED = ((1, b"at"), (5, b"by"), (9, b"event"))
_PEEKED_EVENT = 11
_OURS = b'"record":%d,"seq":' % RECORD_FORMAT


def peek_event(data: bytes) -> str:
    """The event of a record's bytes without reading the rest; empty unless they begin as this version writes them.

    Keys are sorted, and neither an instant nor an owner holds a quote. A hint to save work by: a record
    that is newer, or has further fields before this one, must be read whole.
    """
    parts = data.split(b'"', _PEEKED_EVENT + 1)
    if len(parts) <= _PEEKED_EVENT + 1 or any(parts[place] != name for place, name in _PEEKED):
        return ""
    return parts[_PEEKED_EVENT].decode("ascii", "replace") if _OURS in data and b'"schema":' not in data else ""


def spec_digest(entry: Entry) -> str:
    """The hash of what is to be done, apart from what has become of it."""
    return digest(jsontext.canonical({name: entry[name] for name in SPEC_FIELDS}))  # type: ignore[literal-required]


def _envelope_problem(value: object, seq: int) -> str | None:
    if not isinstance(value, dict):
        return "is not an object"
    version = value.get("record")
    if type(version) is int and version > RECORD_FORMAT:
        return f"has format {version}, newer than {RECORD_FORMAT}"
    if version != RECORD_FORMAT or type(version) is not int:
        return "has no known format"
    if type(value.get("seq")) is not int or value["seq"] != seq:
        return f"says seq {value.get('seq')!r:.40}, its name says {seq}"
    texts = ("op_id", "nonce", "event", "by", "at", "spec")
    bad = [name for name in texts if not isinstance(value.get(name), str)]
    if bad or not isinstance(value.get("state"), dict):
        return "lacks " + ", ".join(bad or ["state"])
    prev = value.get("prev", ...)
    if (prev is None) != (seq == 1) or not isinstance(prev, str | None):
        return "has a wrong `prev`"
    if not _is_digest(value.get("tombstone", "0" * _DIGEST_CHARS)):
        return "has a `tombstone` that is no hash"
    return _event_problem(value)


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and len(value) == _DIGEST_CHARS and made_of(value, HEX, _DIGEST_CHARS)


def _event_problem(envelope: Mapping[str, object]) -> str | None:
    try:
        parse_instant(str(envelope["at"]))
    except ValueError:
        return "has an `at` that is no instant"
    return None if parse_owner(str(envelope["by"])) else "has a `by` that is no owner"


def _state_problem(state: Mapping[str, object], key: Key) -> str | None:
    schema = state.get("schema", 1)
    if type(schema) is int and schema > 1:
        return f"has schema {schema}, newer than 1"
    problems = entry_problems(state)
    if problems:
        return "; ".join(f"{name} {problem}" for name, problem in problems.items())
    if fold(TaskId(str(state["id"]))) != key:
        return f"is about task {state['id']!r:.80}"
    return None


def _is_newer(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    version, state = value.get("record"), value.get("state")
    if type(version) is int and version == RECORD_FORMAT and isinstance(state, dict):
        schema = state.get("schema", SCHEMA)
        return type(schema) is int and schema > SCHEMA
    return type(version) is int and version > RECORD_FORMAT


def decode(data: bytes, key: Key, seq: int, source: str) -> Record:
    """The record that `data` holds, checked against the name it was found under.

    Args:
        data: the file's bytes.
        key: the folded task id of the name.
        seq: the sequence number of the name.
        source: what to call the record in messages.

    Raises:
        RefusedError: `record_invalid` or `schema_newer`, naming the record and what is wrong.
    """
    try:
        value = jsontext.parse(data)
    except ValueError as cause:
        value, problem = None, f"is unreadable: {cause}"
    else:
        problem = _envelope_problem(value, seq) or ""
    if not problem and isinstance(value, dict):
        problem = _state_problem(value["state"], key) or ""
        if not problem:
            return Record(value, complete(value["state"]), digest(data))
    code = "schema_newer" if _is_newer(value) else "record_invalid"
    hint = "use the newer version of rk" if code == "schema_newer" else "`rk doctor` lists every such finding"
    raise error(code, f"{source} {problem}; it was left as it is", hint=hint, task=key, seq=seq)


def link_problem(record: Record, prior_data: bytes | None, source: str) -> str | None:
    """Why `record` doesn't link to the bytes of the record before it, or None."""
    if record.seq == 1:
        return None
    if prior_data is None:
        return f"{source} follows record {record.seq - 1}, which is not there"
    if digest(prior_data) != record.prev and _put_away(prior_data) != record.prev:
        return f"{source} doesn't link to record {record.seq - 1} as it stands"
    return None


def _put_away(data: bytes) -> object:
    """The hash of what a tombstone stands for, or None for any other bytes."""
    try:
        value = jsontext.parse(data)
    except ValueError:
        return None
    return value.get("tombstone") if isinstance(value, dict) else None
