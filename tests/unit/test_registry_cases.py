"""The merge cases through the pure merge: the listed result in both orders, and in any order of three branches."""

import itertools
import json
from pathlib import Path

import pytest

from repokernel.core.registry_join import Refused
from repokernel.core.registry_merge import merge
from tests.registry_cases import Case, kept, kinds, shared

KEPT = kept()


def told(case: Case, a: bytes, b: bytes) -> tuple[object, tuple[str, ...], bytes]:
    """The parsed result, the reports, the bytes."""
    done = merge(case.base, a, b)
    if isinstance(done, Refused):
        return None, (done.fault.value,), b""
    return json.loads(done.data), tuple(f"{one.kind.value}:{one.what}" for one in done.reports), done.data


def check(case: Case) -> None:
    one, other = told(case, case.a, case.b), told(case, case.b, case.a)
    assert one == other, "the order of the sides makes a difference"
    assert one[0] == (case.doc if case.merged else None)
    assert kinds(one[1]) == kinds(case.reports)
    if case.category in ("real", "huge", "mixture"):
        assert one[1] == case.reports


@pytest.mark.parametrize("case", KEPT, ids=lambda case: case.id)
def test_a_case_gives_its_listed_result_in_both_orders(case: Case) -> None:
    check(case)


def test_the_cases_of_public_ledgers_and_the_huge_ones_do_so_too(shared_data: Path) -> None:
    cases = shared(shared_data)
    assert len(cases) == 12
    for case in cases:
        check(case)


@pytest.mark.parametrize("case", [case for case in KEPT if case.c], ids=lambda case: case.id)
def test_three_branches_give_one_result_in_every_order(case: Case) -> None:
    results = set()
    for one, two, three in itertools.permutations((case.a, case.b, case.c or b"")):
        first = told(case, one, two)[2]
        results |= {told(case, first, three)[2], told(case, three, first)[2]}
    assert len(results) == 1
    assert json.loads(results.pop()) == case.doc_abc
