"""What is wrong with a board on this machine; works on a broken one, changes nothing by itself."""

from __future__ import annotations

from repokernel.core.errors import RkError
from repokernel.core.lease import beat_problem
from repokernel.core.record import link_problem
from repokernel.ops.log import BEATS, read_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from repokernel.core.ids import Key
    from repokernel.ports.world import World


def _chain(world: World, key: Key, top: int) -> dict[str, object] | None:
    """The first thing that is wrong in the log of one task, or None."""
    for seq in range(top, 0, -1):
        source = f"record {seq} of task {key}"
        try:
            record = read_record(world, key, seq)
            prior = world.store.read(key, seq - 1) if seq > 1 else None
        except RkError as cause:
            return {"id": key, "code": cause.code, "detail": cause.message}
        problem = f"{source} is not there" if record is None else link_problem(record, prior, source)
        if problem is not None:
            return {"id": key, "code": "record_invalid", "detail": problem}
    return None


def _beats(world: World) -> list[dict[str, object]]:
    """Beats that nobody can read: their leases count as not renewed."""
    odd: dict[str, str] = {}
    for name in sorted(world.store.sides(BEATS)):
        data = world.store.read_side(BEATS, name)
        problem = "can't be read" if data is None else beat_problem(data)
        if problem is not None:
            odd[name] = f"{BEATS}/{name}.json {problem}; it was left as it is"
    # a holder that was done in between has removed its own
    there = world.store.sides(BEATS) if odd else frozenset()
    return [{"id": None, "code": "beat_invalid", "detail": text} for name, text in odd.items() if name in there]


def examine(world: World) -> list[dict[str, object]]:
    """Every finding: foreign files, records that can't be read, logs that don't link."""
    findings: list[dict[str, object]] = []
    try:
        findings += [
            {"id": None, "code": "foreign_file", "detail": f"{name} is not the board's; it was left as it is"}
            for name in world.store.foreign()
        ]
        findings += _beats(world)
    except RkError as cause:
        findings.append({"id": None, "code": cause.code, "detail": cause.message})
    try:
        tops = world.store.tops()
    except RkError as cause:
        return [*findings, {"id": None, "code": cause.code, "detail": cause.message}]
    for key, top in sorted(tops.items()):
        if isinstance(top, RkError):
            findings.append({"id": key, "code": top.code, "detail": top.message})
            continue
        found = _chain(world, key, top)
        if found is not None:
            findings.append(found)
    try:
        settings = world.settings
        assert settings is not None
    except RkError as cause:
        findings.append({"id": None, "code": cause.code, "detail": cause.message})
    return findings
