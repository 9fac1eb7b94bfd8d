"""Owners by example: parts, the process behind one, and who counts as the same."""

import pytest

from repokernel.core.owner import (
    Owner,
    Process,
    clean_part,
    login_instance,
    make_owner,
    parse_owner,
    process_instance,
    process_of,
    shares_identity,
    short_owner,
)
from tests.unit.builders import refusal

HERE = Process("box", "b00t", "4026531836", 42, 123456)

OWNERS = [
    ("coder@w1", Owner("coder", "w1", "")),
    ("coder@w1#blue", Owner("coder", "w1", "blue")),
    ("a.b-c_d@box:b00t:4026531836:42:123456", Owner("a.b-c_d", "box:b00t:4026531836:42:123456", "")),
    ("r@w1~box:b00t:7:42:9#v1.2+3", Owner("r", "w1~box:b00t:7:42:9", "v1.2+3")),
    ("r" * 64 + "@" + "i" * 200, Owner("r" * 64, "i" * 200, "")),
]

NO_OWNERS = [
    *("", "@", "coder", "coder@", "@w1", "coder@w1#", "coder@#blue", "coder@w1#a#b", "coder@w1@w2", "co der@w1"),
    *("coder@w 1", "coder@w1\n", "coder@w1#b\n", "-coder@w1", "coder@-w1", ".x@w1", "coder@w1#-x", "codér@w1"),
    *("coder@wé", "r" * 65 + "@w1", "coder@" + "i" * 201, "coder@w1#" + "d" * 201, "coder@w1/2", "\x1b@w1"),
]


@pytest.mark.parametrize(("text", "owner"), OWNERS)
def test_an_owner_has_three_parts(text: str, owner: Owner) -> None:
    assert parse_owner(text) == owner
    assert make_owner(owner.role, owner.instance, owner.deployment) == text


@pytest.mark.parametrize("text", NO_OWNERS)
def test_what_is_no_owner_has_no_parts(text: str) -> None:
    assert parse_owner(text) is None
    assert process_of(text) is None


@pytest.mark.parametrize(
    ("role", "instance", "deployment", "field"),
    [
        ("", "w1", "", "role"),
        ("a:b", "w1", "", "role"),
        ("a@b", "w1", "", "role"),
        ("coder", "", "", "instance"),
        ("coder", "w1#x", "", "instance"),
        ("coder", "w@1", "", "instance"),
        ("coder", "w1", "a b", "deployment"),
        ("coder", "w1", "#", "deployment"),
    ],
)
def test_a_bad_part_is_refused_by_name(role: str, instance: str, deployment: str, field: str) -> None:
    refused = refusal(lambda: make_owner(role, instance, deployment))
    assert (refused.code, refused.fields["field"]) == ("bad_value", field)


@pytest.mark.parametrize("name", ["", "w1", "night~shift", "a:b:c"])
def test_an_owner_made_from_a_process_leads_back_to_it(name: str) -> None:
    assert process_of(make_owner("coder", process_instance(HERE, name), "blue")) == HERE


@pytest.mark.parametrize(
    "instance",
    [
        "w1",
        login_instance("box", "b00t", "ann"),
        "box:b00t:7:42",
        "box:b00t:7:42:9:1",
        "box:b00t:7:x:9",
        "box:b00t:7:42:x",
        "box:b00t:7::9",
        "box:b00t:7:42:",
        "box:b00t:7:-42:9",
        "box:b00t:7:42:9~w1",
    ],
)
def test_any_other_instance_is_tied_to_no_process(instance: str) -> None:
    assert process_of(f"coder@{instance}") is None


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("box", "box"),
        ("my box.local", "my-box.local"),
        ("a:b@c#d~e", "a-b-c-d-e"),
        ("--x--", "x"),
        ("._-", "spare"),
        ("", "spare"),
        ("日本", "spare"),
        ("é1", "1"),
        ("x" * 80, "x" * 64),
    ],
)
def test_a_part_is_reduced_to_what_an_owner_may_hold(text: str, part: str) -> None:
    assert clean_part(text, "spare") == part


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("coder@w1", "coder@w1", True),
        ("coder@w1", "coder@w2", True),
        ("coder@w1", "reviewer@w1", True),
        ("coder@w1", "reviewer@w2", False),
        ("coder@w1#blue", "reviewer@w2#blue", False),
        ("coder@w1#blue", "reviewer@w1#green", True),
        # a restarted worker keeps its chosen name
        ("coder@w1~box:b:7:42:9", "reviewer@w1~box:b:7:43:11", True),
        ("coder@w1~box:b:7:42:9", "reviewer@w1", True),
        ("coder@w1~box:b:7:42:9", "reviewer@w2~box:b:7:42:9", False),
        # without a chosen name only the very process is the same
        ("coder@box:b:7:42:9", "reviewer@box:b:7:43:11", False),
        ("coder@box:b:7:42:9", "reviewer@box:b:7:42:9", True),
        ("coder@box:b:ann", "reviewer@box:b:ann", True),
        ("coder@box:b:ann", "reviewer@box:b:bob", False),
        # what isn't an owner is the same as itself alone
        ("nobody", "nobody", True),
        ("nobody", "coder@w1", False),
        ("coder@w1", "nobody", False),
    ],
)
def test_two_owners_are_the_same_by_role_or_by_instance(one: str, other: str, same: bool) -> None:
    assert shares_identity(one, other) is same
    assert shares_identity(other, one) is same


@pytest.mark.parametrize(
    ("owner", "short"),
    [
        ("writer@ben", "writer@ben"),
        ("writer@ben#blue", "writer@ben#blue"),
        ("writer@desk:b00t:ann", "writer@desk"),
        ("writer@desk:b00t:4026531836:8461:349776", "writer@desk:8461"),
        ("writer@ben~desk:b00t:4026531836:8461:349776#blue", "writer@ben#blue"),
    ],
)
def test_people_are_shown_the_telling_part_of_an_owner(owner: str, short: str) -> None:
    assert short_owner(owner) == short
