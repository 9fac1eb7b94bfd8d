"""Group 5: things planted in the store."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.shell.hostile.model import ABSENT, DAMAGED, OTHER, T12, Graft, Kind, Made, Place, Row, Want, row

_R1, _R2, _R3 = (f"claims/t1.{seq:08d}.json" for seq in (1, 2, 3))
_B1 = "beats/t1.00000001.json"
_OWNED = {
    "state.owner": "a@b",
    "state.owned_since": "2026-01-01T00:00:00Z",
    "state.lease_expires": "2099-01-01T00:00:00Z",
}
_UNOWNED: dict[str, object] = {"state.owner": None, "state.owned_since": None, "state.lease_expires": None}
_LAPSED: dict[str, object] = {f"state.{key}": "2001-01-01T00:00:00Z" for key in
                              ("created_at", "updated_at", "owned_since", "lease_expires")}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Damage:
    """One thing that is wrong below the board's folder, on a board with the tasks t1 and t2."""

    name: str
    why: str
    claimed: bool = False
    plant: Mapping[str, bytes] = field(default_factory=dict)
    grafts: tuple[Graft, ...] = ()
    made: tuple[Made, ...] = ()


def _raw(name: str, content: bytes, why: str, where: str = _R2) -> Damage:
    return Damage(name=name, why=why, plant={where: content}, claimed=where.startswith("beats/"))


def _odd(name: str, kind: Kind, target: str, why: str, where: str = _R2) -> Damage:
    made = (Made(place=Place.BOARD, kind=kind, name=where, target=target),)
    return Damage(name=name, why=why, made=made, claimed=where.startswith("beats/"))


def _next(name: str, changes: Mapping[str, object], why: str, claimed: bool = False) -> Damage:
    """The next record is there, and right but for the changes."""
    onto, new = (_R2, _R3) if claimed else (_R1, _R2)
    return Damage(name=name, why=why, claimed=claimed, grafts=(Graft(onto=onto, name=new, changes=changes),))


_HEAD: tuple[Damage, ...] = (
    _raw("empty", b"", "a claim of no bytes is what create-then-write leaves; it is no `no claim`"),
    _raw("blank", b"\n", "as the empty one"),
    _raw("truncated", b'{"record": 1, "seq": 2, "prev": "', "half a record"),
    _raw("not-object", b"[]", "JSON, and no record"),
    _raw("null", b"null", "JSON, and no record"),
    _raw("not-utf8", b'{"record": 1, "seq": 2, "by": "\xff\xfe"}', "not UTF-8"),
    _raw("zeros", b"\0" * 4096, "what a crash without fsync leaves"),
    _raw("deep", b"[" * 100_000, "no recursion defect"),
    _raw("duplicate-keys", b'{"record": 1, "seq": 2, "seq": 2, "prev": null, "prev": null, "state": {}}', "which one?"),
    _raw("far-ahead", b"{}", "seq 99999999 with a gap below; the width is spent", "claims/t1.99999999.json"),
    _odd("folder", Kind.FOLDER, "", "a folder of this name can't be read, nor overwritten"),
    _odd("link-passwd", Kind.SYMLINK, "/etc/passwd", "a record is never a link: what is behind isn't read or shown"),
    _odd("link-first", Kind.SYMLINK, "t1.00000001.json", "a link to a good record is not that record"),
    _odd("link-nowhere", Kind.SYMLINK, "nowhere", "exists() says no, link(2) says yes: no claim, and no endless race"),
    _odd("link-loop", Kind.SYMLINK, "t1.00000002.json", "a link to itself"),
    _odd("link-zero", Kind.SYMLINK, "/dev/zero", "reading it would never end"),
    _odd("fifo", Kind.FIFO, "", "opening it would wait for ever"),
    _next("newer-record", {"record": 99}, "a newer format is refused, not guessed at"),
    _next("newer-schema", {"state.schema": 99}, "a newer schema is refused, not guessed at"),
    _next("wrong-prev", {"prev": "0" * 64}, "a head that doesn't link refuses the task, never an older state"),
    _next("no-prev", {"prev": None}, "only the first record has none"),
    _next("other-id", {"state.id": "t2"}, "the name says t1"),
    _next("other-seq", {"seq": 7}, "the name says 2"),
    _next("no-state", {"state": ABSENT}, "a record holds the whole state"),
    _next("no-status", {"state.status": ABSENT}, "a field that must be there"),
    _next("unknown-status", {"state.status": "sleeping"}, "not a phase"),
    _next("token-text", {"state.token": "1"}, "an integer"),
    _next("token-negative", {"state.token": -1}, "never goes back"),
    _next("pending-owned", _OWNED, "pending has no owner"),
    _next("planned-owned", _OWNED | {"state.status": "planned"}, "planned has no owner"),
    _next("done-owned", _OWNED | {"state.status": "done"}, "settled has no owner"),
    _next("half-owned", {"state.lease_expires": None}, "all three set, or none", claimed=True),
    _next("owner-shape", {"state.owner": "nobody"}, "role@instance", claimed=True),
    _next("lease-word", {"state.lease_expires": "yesterday"}, "no time; neither lapsed nor live", claimed=True),
    _next("lease-day", {"state.lease_expires": "2026-02-30T00:00:00Z"}, "there is no such day", claimed=True),
    _next("lease-number", {"state.lease_expires": 0}, "no time", claimed=True),
    Damage(name="link-good", why="a record is never a link, be there a good one behind it",
           grafts=(Graft(onto=_R1, name="outputs/aside.json", changes={}),),
           made=(Made(place=Place.BOARD, kind=Kind.SYMLINK, name=_R2, target="../outputs/aside.json"),)),
    Damage(name="gap", why="record 3 without 2: the head has nothing to link to",
           grafts=(Graft(onto=_R1, name=_R3, changes={"seq": 3, "prev": "1" * 64}),)),
    Damage(name="rewritten", why="record 1 was changed after record 2 had linked to it", claimed=True,
           grafts=(Graft(onto=_R1, name=_R1, changes={"state.title": "another"}),)),
)  # fmt: skip
_FOREIGN: tuple[Damage, ...] = (
    _raw("text", b"hello\n", "a foreign file is a finding, and stays", "claims/foreign.txt"),
    _raw("binary", bytes(range(256)), "a foreign file isn't parsed", "claims/photo.jpeg"),
    _raw("backup", b"{}", "an editor's copy is no record", "claims/t1.00000002.json~"),
    _raw("conflict", b"{}", "a sync tool's copy is no record", "claims/t1.00000002 (conflicted copy).json"),
    _odd("folder", Kind.FOLDER, "", "a foreign folder is a finding, and stays", "claims/old"),
    _odd("link", Kind.SYMLINK, "/", "never followed: the walk ends", "claims/root"),
    _raw("escape", b"x", "its name is shown by doctor, never raw", "claims/\x1b[2J.txt"),
)
_NO_FIRST: tuple[Damage, ...] = (
    _raw("empty", b"", "never read as `no record`: t3 isn't free", "claims/t3.00000001.json"),
    _raw("truncated", b'{"record": 1, "se', "never read as `no record`", "claims/t3.00000001.json"),
    _odd("link-nowhere", Kind.SYMLINK, "nowhere", "the name is taken", "claims/t3.00000001.json"),
)
_NAMES: tuple[Damage, ...] = (
    _raw("narrow", b"{}", "seq isn't of fixed width", "claims/t1.2.json"),
    _raw("wide", b"{}", "nine digits", "claims/t1.000000002.json"),
    _raw("zero", b"{}", "records count from 1", "claims/t1.00000000.json"),
    _raw("sign", b"{}", "int() takes a sign", "claims/t1.+0000002.json"),
    _raw("upper", b"{}", "keys are case-folded", "claims/T1.00000002.json"),
    _raw("arabic", b"{}", "int() takes other digits", "claims/t1.0000000\u0662.json"),
)
_BEATS: tuple[Damage, ...] = (
    _raw("empty", b"", "an unreadable beat is no lapse", _B1),
    _raw("truncated", b'{"token": 1, "lease_ex', "an unreadable beat is no lapse", _B1),
    _raw("not-object", b"[]", "an unreadable beat is no lapse", _B1),
    _odd("folder", Kind.FOLDER, "", "a folder is no beat, and no lapse", _B1),
    _odd("link-nowhere", Kind.SYMLINK, "nowhere", "never written through", _B1),
    _odd("fifo", Kind.FIFO, "", "opening it would wait for ever", _B1),
)
_FAR = b'{"beat": 1, "record": 1, "token": 1, "at": "9999-12-31T23:59:59Z", "lease_expires": "9999-12-31T23:59:59Z"}'
_ORPHAN = _next("orphan", _UNOWNED, "in_progress without an owner is claimable", claimed=True)
_FUTURE = _next("future", {"x_future": 7, "state.x_future": {"a": 1}}, "unknown fields are kept", claimed=True)
_STALE = Damage(
    name="old-beat",
    why="the lease of token 2 has lapsed; a beat of token 1 doesn't keep it alive",
    claimed=True,
    plant={_B1: _FAR},
    grafts=(
        Graft(
            onto=_R2,
            name=_R3,
            changes=_LAPSED | {"state.token": 2, "state.attempts": 2, "state.max_attempts": 9},
        ),
    ),
)
_YEAR_9999 = Damage(name="year-9999", why="no overflow, and no lapse", claimed=True, plant={_B1: _FAR})
_DEEP = Damage(name="deep-link", why="record 2 was changed: the chain is broken below the head", claimed=True,
               grafts=(Graft(onto=_R2, name=_R3, changes={}),
                       Graft(onto=_R1, name=_R1, changes={"state.title": "another"})))  # fmt: skip
_PHANTOM = _next("phantom", _UNOWNED | {"state.status": "done", "state.output": None, "state.completed_by": "a@b",
                                        "state.completed_at": "2026-01-01T00:00:00Z"},
                 "done with nothing behind it is never usable", claimed=True)  # fmt: skip

_Probe = tuple[str, Want, tuple[str, ...]]
_ONLY_T2: tuple[_Probe, ...] = (("list", (0, 1), ("t2",)), ("show t2", 0, ()), ("claim --next", 0, ("t2",)))
_ON_HEAD: tuple[_Probe, ...] = (
    ("show t1", DAMAGED, ()), ("claim t1", DAMAGED, ()), ("cancel t1", DAMAGED, ()), ("add again --id t1", DAMAGED, ()),
    ("doctor", 1, ("t1",)), *_ONLY_T2,
)  # fmt: skip
_ON_FOREIGN: tuple[_Probe, ...] = (
    ("show t1", 0, ()), ("claim t1", 0, ()), ("list", (0, 1), ("t1", "t2")), ("doctor", 1, ()),
)  # fmt: skip
_ON_NO_FIRST: tuple[_Probe, ...] = (
    ("show t3", DAMAGED, ()), ("claim t3", DAMAGED, ()), ("add three --id t3", DAMAGED, ()), ("doctor", 1, ("t3",)),
    ("list", (0, 1), ("t1", "t2")), ("claim --next", 0, ("t1",)),
)  # fmt: skip
_ON_NAME: tuple[_Probe, ...] = (
    ("show t1", (0, 1, 3), ()), ("claim t1", (0, 1, 3), ()), ("doctor", 1, ()), ("list", (0, 1), ("t2",)),
    ("claim t2", 0, ()),
)  # fmt: skip
_ON_BEAT: tuple[_Probe, ...] = (
    ("show t1", (0, 1, 3), ()), ("claim t1", (1, 3, 75), ()), ("doctor", 1, ()), *_ONLY_T2,
)  # fmt: skip
_ON_FAR: tuple[_Probe, ...] = (
    ("show t1", (0, 1, 3), ()), ("claim t1", (1, 3, 75), ()), ("doctor", (0, 1), ()),
    *_ONLY_T2,
)  # fmt: skip
_ON_CLAIMABLE: tuple[_Probe, ...] = (("show t1", 0, ()), ("claim t1", 0, ("t1",)), ("list", 0, ("t1", "t2")))
_ON_FUTURE: tuple[_Probe, ...] = (("show t1 --json", 0, ("x_future",)), ("claim t1", 75, ()), ("list", 0, ("t1", "t2")))
_ON_DEEP: tuple[_Probe, ...] = (("show t1", (0, 1, 3), ()), ("doctor", 1, ("t1",)), *_ONLY_T2)
_ON_PHANTOM: tuple[_Probe, ...] = (("verify t1", DAMAGED, ()), ("claim t1", DAMAGED, ()), *_ONLY_T2)


def _probes(group: str, damages: Iterable[Damage], probes: tuple[_Probe, ...]) -> tuple[Row, ...]:
    """Each damage asked each question, by another owner than the one who may hold t1."""
    return tuple(
        row(
            f"{group}-{damage.name}-{command.replace(' --', '-').replace(' ', '-')}",
            command,
            want,
            damage.why,
            setup=f"{T12}; claim t1" if damage.claimed else T12,
            env=OTHER,
            plant=damage.plant,
            grafts=damage.grafts,
            made=damage.made,
            shows=shows,
        )
        for damage in damages
        for command, want, shows in probes
    )


PLANTED: tuple[Row, ...] = (
    *_probes("head", _HEAD, _ON_HEAD),
    *_probes("foreign", _FOREIGN, _ON_FOREIGN),
    *_probes("no-first", _NO_FIRST, _ON_NO_FIRST),
    *_probes("name", _NAMES, _ON_NAME),
    *_probes("beat", _BEATS, _ON_BEAT),
    *_probes("beat", (_YEAR_9999,), _ON_FAR),
    *_probes("claimable", (_ORPHAN, _STALE), _ON_CLAIMABLE),
    *_probes("kept", (_FUTURE,), _ON_FUTURE),
    *_probes("chain", (_DEEP,), _ON_DEEP),
    *_probes("done", (_PHANTOM,), _ON_PHANTOM),
)
