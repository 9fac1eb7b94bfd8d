"""Task ids by example: what may be one, and how spellings meet."""

import pytest

from repokernel.core.ids import TaskId, fold, generated_id, id_problem, task_id
from tests.unit.builders import refusal

GOOD = [
    *("a", "Z", "0", "7", "T-01", "task.one", "a_b-c.d", "x" * 64),
    *("lock", "a.locked", "a.lock.b", "lock.a", "con1", "console", "com", "lpt", "com10", "nulx", "a.con", "aux-1"),
]

BAD = [
    *("", " ", "a b", "a/b", "a\\b", "a\nb", "a\n", "a\x00", "\x1b[31m", "a:b", "a*", "a?", "a~1", "a^", "a[", "a@{1}"),
    *(".", "..", ".hidden", "-rf", "_a", "a..b", "a...b", "a.", "a.b.", "x" * 65, "é", "aé", "а", "ａ", "a\u200b", "①"),
    *("a.lock", "a.LOCK", "a.Lock", "x.y.lock"),
    *("con", "CON", "Con", "prn", "aux", "nul", "NUL.txt", "con.a.b", "com1", "COM9.log", "lpt1", "LPT9", "com0"),
]


@pytest.mark.parametrize("text", GOOD)
def test_a_good_id_is_kept_as_it_is_spelled(text: str) -> None:
    assert id_problem(text) is None
    assert task_id(text) == text


@pytest.mark.parametrize("text", BAD)
def test_a_bad_id_is_refused(text: str) -> None:
    assert id_problem(text)
    refused = refusal(lambda: task_id(text))
    assert (refused.code, refused.fields["field"]) == ("bad_value", "id")


@pytest.mark.parametrize(("number", "text"), [(0, "0"), (7, "7"), (10**63, "1" + "0" * 63)])
def test_a_whole_number_becomes_its_text(number: int, text: str) -> None:
    assert task_id(number) == text


@pytest.mark.parametrize("value", [None, True, False, 1.0, -1, 10**64, b"a", ["a"], {"id": "a"}])
def test_what_is_neither_text_nor_a_whole_number_is_refused(value: object) -> None:
    assert refusal(lambda: task_id(value)).code == "bad_value"


@pytest.mark.parametrize("sign", [1, -1])
def test_a_number_too_long_to_be_written_is_refused(sign: int) -> None:
    assert refusal(lambda: task_id(sign * 10**5000)).code == "bad_value"


def test_a_refused_id_is_quoted_shortened() -> None:
    refused = refusal(lambda: task_id("/" * 10_000_000))
    assert len(refused.message) < 300
    assert len(str(refused.fields["value"])) <= 80


def test_two_spellings_of_one_id_have_one_key() -> None:
    assert fold(TaskId("Task-A.b")) == fold(TaskId("tASK-a.B")) == "task-a.b"


def test_a_generated_id_has_a_character_for_each_of_six_bytes() -> None:
    assert generated_id(bytes([0, 1, 30, 31, 32, 255, 9, 9])) == "23z239"


def test_a_generated_id_uses_no_characters_that_look_alike() -> None:
    used = set("".join(generated_id(bytes([byte] * 6)) for byte in range(256)))
    assert len(used) == 31
    assert used.isdisjoint("01ilo")
