"""Laws of owners."""

import re

from hypothesis import given, strategies as st

from repokernel.core.owner import (
    Process,
    clean_part,
    make_owner,
    parse_owner,
    process_instance,
    process_of,
    shares_identity,
)
from tests.property.strategies import any_text, owners
from tests.unit.builders import code_of

ROLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
INSTANCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:~+-]{0,199}")

near_parts = st.text("aZ0.:~+-@# /é\n", max_size=6) | any_text
parts = st.text("aZ09._-", min_size=1, max_size=8).filter(lambda text: text[0].isalnum())
processes = st.builds(Process, parts, parts, parts, st.integers(0, 2**22), st.integers(0, 2**60))


@given(near_parts, near_parts, near_parts)
def test_an_owner_is_made_of_good_parts_alone_and_leads_back_to_them(role: str, instance: str, deployment: str) -> None:
    named = ROLE.fullmatch(role) and INSTANCE.fullmatch(instance)
    good = named and (not deployment or INSTANCE.fullmatch(deployment))
    assert code_of(lambda: make_owner(role, instance, deployment)) == (None if good else "bad_value")
    if good:
        assert parse_owner(make_owner(role, instance, deployment)) == (role, instance, deployment)


@given(st.text("aZ0.:~@#-\n", max_size=10) | any_text)
def test_a_text_that_is_an_owner_is_made_again_from_its_parts(text: str) -> None:
    owner = parse_owner(text)
    if owner is not None:
        assert make_owner(owner.role, owner.instance, owner.deployment) == text


@given(any_text, st.sampled_from(["box", "x1"]))
def test_any_text_becomes_a_part_of_an_owner(text: str, fallback: str) -> None:
    part = clean_part(text, fallback)
    assert ROLE.fullmatch(part)
    assert clean_part(part, fallback).startswith(part.rstrip("-._"))


@given(processes, st.just("") | parts, parts, st.just("") | parts)
def test_an_owner_leads_back_to_its_process(process: Process, name: str, role: str, deployment: str) -> None:
    assert process_of(make_owner(role, process_instance(process, name), deployment)) == process


@given(processes, processes)
def test_different_processes_are_different_instances(one: Process, other: Process) -> None:
    assert (process_instance(one) == process_instance(other)) is (one == other)


@given(st.text("a0:~@#-", max_size=30) | any_text)
def test_any_text_is_tied_to_a_process_or_to_none(text: str) -> None:
    process = process_of(text)
    if process is not None:
        assert parse_owner(text) is not None
        assert min(process.pid, process.start) >= 0


@given(owners | any_text, owners | any_text)
def test_being_the_same_goes_both_ways_and_everybody_is_themselves(one: str, other: str) -> None:
    assert shares_identity(one, one)
    assert shares_identity(one, other) is shares_identity(other, one)
