"""The three-way merge cases of the registry: those kept here, and those that stay in the shared data."""

import gzip
import json
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parent / "data" / "registry"


class Case(NamedTuple):
    """One merge and its right result; `reports` are kinds, or the fault where it is refused."""

    id: str
    category: str
    base: bytes
    a: bytes
    b: bytes
    c: bytes | None
    merged: bool
    doc: object
    doc_abc: object
    reports: tuple[str, ...]


def _case(raw: dict[str, object]) -> Case:
    def data(side: str) -> bytes:
        return str(raw[side]).encode("utf-8", "surrogatepass")

    expect = raw["expect"]
    assert isinstance(expect, dict)
    third = data("c") if "c" in raw else None
    reports = tuple(sorted(expect["reports"]))
    merged = expect["outcome"] == "merged"
    sides = (data("base"), data("a"), data("b"), third)
    return Case(
        str(raw["id"]),
        str(raw["category"]),
        *sides,
        merged,
        expect.get("doc"),
        expect.get("doc_abc"),
        reports,
    )


def kept() -> list[Case]:
    """The made-up cases."""
    return [_case(raw) for raw in json.loads((DATA / "cases.json").read_text(encoding="ascii"))]


def shared(folder: Path) -> list[Case]:
    """The cases from public ledgers, and the huge ones."""
    raw = json.loads((folder / "registry" / "cases.json").read_text(encoding="utf-8"))
    huge = [json.loads(gzip.decompress(path.read_bytes())) for path in sorted((folder / "registry").glob("*.json.gz"))]
    return [_case(one) for one in [*raw, *huge] if one["category"] in ("real", "huge")]


def kinds(reports: tuple[str, ...]) -> list[str]:
    """The kinds alone, each once."""
    return sorted({one.partition(":")[0] for one in reports})
