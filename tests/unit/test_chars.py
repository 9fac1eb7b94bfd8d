"""Plain tests of what a text is made of, by example."""

import pytest

from repokernel.core.chars import ALNUM, HEX, LOWER, WORD, made_of


@pytest.mark.parametrize(
    ("text", "is_made"),
    [
        ("a", True),
        ("aB9", True),
        ("a.b", True),
        ("a-", True),
        ("a" * 5, True),
        ("", False),
        ("a" * 6, False),
        (".a", False),
        ("-a", False),
        ("a b", False),
        ("a/b", False),
        ("a\n", False),
        ("é", False),
        ("aé", False),
        ("٣", False),
    ],
)
def test_a_word_starts_with_a_letter_or_digit_and_has_no_other_characters(text: str, is_made: bool) -> None:
    assert made_of(text, WORD, 5) is is_made


@pytest.mark.parametrize(("text", "is_made"), [("a1", True), ("1a", False), ("A1", False), ("", False)])
def test_the_first_character_may_have_a_rule_of_its_own(text: str, is_made: bool) -> None:
    assert made_of(text, LOWER + "0123456789", 5, first=LOWER) is is_made


def test_the_sets_hold_what_their_names_say() -> None:
    plain = {chr(code) for code in range(128)}
    assert set(ALNUM) == {char for char in plain if char.isalnum()}
    assert set(WORD) == set(ALNUM) | set("._-")
    assert set(LOWER) == {char for char in plain if char.islower()}
    assert set(HEX) == set("0123456789abcdef")
