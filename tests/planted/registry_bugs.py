"""Bugs in the registry's merge: mistakes that known merge drivers make."""

from typing import TYPE_CHECKING

from repokernel.core import registry_fields, registry_join
from repokernel.ops import merge_registry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from repokernel.core.registry import Entry, Id
    from repokernel.core.registry_join import Report
    from tests.planted.table import Patch


def our_value_wins(patch: "Patch") -> None:
    """A field that both sides changed keeps the value of the side that is called ours."""
    original = registry_fields.plain

    def plain(base: object, sides: "Sequence[object]", diverged: "Callable[[], None]") -> object:
        return original(base, sides[:1], diverged)

    patch.setattr(registry_join, "plain", plain)


def failed_outranks_done(patch: "Patch") -> None:
    """The statuses stand in a wrong order, which every law is content with."""
    patch.setattr(registry_fields, "RANK", {**registry_fields.RANK, "failed": 7, "done": 4})


def removal_wins(patch: "Patch") -> None:
    """An entry that one side removed is gone, whatever the other has done to it."""
    original = registry_join._entry

    def entry(
        name: "Id", base: "Entry | None", a: "Entry | None", b: "Entry | None", said: "set[Report]"
    ) -> "Entry | None":
        gone = base is not None and (a is None or b is None)
        return None if gone else original(name, base, a, b, said)

    patch.setattr(registry_join, "_entry", entry)


def ours_is_left_standing(patch: "Patch") -> None:
    """A side that can't be read leaves our side in the file, as Git alone would."""
    patch.setattr(merge_registry, "conflict", lambda ours, _: ours)
