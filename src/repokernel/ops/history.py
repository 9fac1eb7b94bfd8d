"""The log of the whole board, in the order of time."""

from __future__ import annotations

from repokernel.core.errors import RkError
from repokernel.ops.log import read_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from repokernel.core.record import Record
    from repokernel.ports.world import World


def board_history(world: World) -> list[Record]:
    """Every record that can be read, oldest first; what can't be is `rk doctor`'s."""
    records: list[Record] = []
    for key, top in world.store.tops().items():
        if isinstance(top, RkError):
            continue
        for seq in range(1, top + 1):
            try:
                record = read_record(world, key, seq)
            except RkError:
                continue
            if record is not None:
                records.append(record)
    return sorted(records, key=lambda record: (record.at, record.entry["id"], record.seq))
