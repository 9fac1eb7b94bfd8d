"""Laws of ids and of what a text is made of."""

import re

from hypothesis import given, strategies as st

from repokernel.core.chars import ALNUM, HEX, WORD, made_of
from repokernel.core.ids import fold, generated_id, id_problem, task_id
from tests.property.strategies import any_text, task_ids
from tests.unit.builders import code_of

near_ids = st.text(st.sampled_from("aZ0._-/ .\n\x00éK\u0131"), max_size=6) | any_text
DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}


def is_id(text: str) -> bool:
    """The rule of DESIGN section 4, written down a second time."""
    well_formed = re.fullmatch("[A-Za-z0-9][A-Za-z0-9._-]{0,63}", text) is not None
    no_ref = ".." in text or text.lower().endswith((".", ".lock"))
    return well_formed and not no_ref and re.split("[.]", text.lower())[0] not in DEVICES


@given(near_ids | st.sampled_from(sorted(DEVICES)) | st.from_regex(r"[Cc][oO][nNmM][0-9.]?[.a]?", fullmatch=True))
def test_an_id_is_what_the_design_says(text: str) -> None:
    assert (id_problem(text) is None) is is_id(text)
    assert code_of(lambda: task_id(text)) == (None if is_id(text) else "bad_value")


@given(st.integers(0, 10**70))
def test_a_number_is_the_id_of_its_digits(number: int) -> None:
    text = str(number)
    assert code_of(lambda: task_id(number)) == ("bad_value" if len(text) > 64 else None)
    if len(text) <= 64:
        assert task_id(number) == text


@given(task_ids, st.data())
def test_all_spellings_of_an_id_share_one_key_that_is_an_id(text: str, data: st.DataObject) -> None:
    upper = data.draw(st.lists(st.booleans(), min_size=len(text), max_size=len(text)))
    other = "".join(char.upper() if up else char.lower() for char, up in zip(text, upper, strict=True))
    key = fold(task_id(text))
    assert key == fold(task_id(other))
    assert id_problem(key) is None
    assert fold(task_id(key)) == key


@given(task_ids, task_ids)
def test_ids_that_differ_by_more_than_case_have_different_keys(one: str, other: str) -> None:
    assert (fold(task_id(one)) == fold(task_id(other))) is (one.casefold() == other.casefold())


@given(st.binary(min_size=6, max_size=12))
def test_a_generated_id_is_an_id_and_its_own_key(entropy: bytes) -> None:
    made = generated_id(entropy)
    assert id_problem(made) is None
    assert str(fold(made)) == made
    assert len(made) == 6


@given(near_ids, st.sampled_from([ALNUM, WORD, HEX]), st.integers(1, 8))
def test_a_text_is_made_of_characters_when_each_of_them_is_one(text: str, chars: str, count_max: int) -> None:
    expected = 0 < len(text) <= count_max and text[0] in ALNUM and set(text) <= set(chars)
    assert made_of(text, chars, count_max) is expected
