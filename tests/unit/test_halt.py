"""The closed list of halt reasons against DESIGN section 10."""

import pytest

from repokernel.core.halt import HALTS, Who, auto_resumable
from tests.unit.expected_lifecycle import halts


def test_the_list_is_that_of_the_design() -> None:
    assert {reason: who.value for reason, (who, _, _) in HALTS.items()} == halts()


@pytest.mark.parametrize("reason", sorted(HALTS))
def test_a_reason_is_resumable_exactly_where_the_design_says_auto(reason: str) -> None:
    assert auto_resumable(reason) is (halts()[reason] == "auto")


@pytest.mark.parametrize("reason", ["", "auto", "newer_reason", "NO_CHANGES"])
def test_an_unknown_reason_waits_for_a_person(reason: str) -> None:
    assert not auto_resumable(reason)


@pytest.mark.parametrize("reason", sorted(HALTS))
def test_a_reason_names_the_command_to_go_on_with_and_its_evidence(reason: str) -> None:
    who, resume, evidence = HALTS[reason]
    assert resume.format(id="t1").startswith("rk ")
    assert evidence
    assert ("{id}" in resume) <= (who is not Who.RUN)


@pytest.mark.parametrize(
    ("reason", "command"),
    [("needs_input", "rk answer {id} TEXT"), ("held", "rk unhold {id}"), ("check_failed", "rk retry {id}")],
)
def test_a_reason_has_its_own_way_on(reason: str, command: str) -> None:
    assert HALTS[reason][1] == command
