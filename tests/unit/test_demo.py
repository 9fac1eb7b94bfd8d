"""The demo's summariser, and what its report takes for right."""

from __future__ import annotations

import pytest

from repokernel.demo.report import BoardCounts, NaiveCounts, Report, count_naive
from repokernel.demo.summarise import documents, is_whole, page, summarise

GOOD = BoardCounts(
    usable=26,
    failed={"poison": "3 of 3 attempts used"},
    unsettled=0,
    claims=32,
    takeovers=2,
    upload_failures=1,
    refused=1,
    duplicates=0,
    phantoms=0,
    old_done=3,
)
NAIVE = NaiveCounts(usable=23, said_done=27, phantoms=5, duplicates=4, forgotten=1, late=1)


def test_every_document_has_a_summary_of_its_own_sentences() -> None:
    texts = documents(26)
    assert len(texts) == 26
    for name, text in texts.items():
        flat = " ".join(text.split())
        lines = summarise(text).splitlines()
        assert 1 <= len(lines) <= 5, name
        assert all(line.startswith("- ") and line[2:] in flat for line in lines), name


def test_a_summary_is_the_same_each_time() -> None:
    assert [documents(26), summarise("A b.")] == [documents(26), summarise("A b.")]


@pytest.mark.parametrize("text", ["", "\n\n", "***", "no sentence ends here", "Too short."])
def test_what_holds_no_sentence_has_an_empty_summary(text: str) -> None:
    assert summarise(text) == ""


def test_a_torn_page_is_told_from_a_whole_one() -> None:
    whole = page("try", "text")
    assert is_whole("try", whole)
    assert not is_whole("try", whole[:-3])
    assert not is_whole("with", whole)


def test_the_report_is_good_when_every_number_is_right() -> None:
    assert Report(GOOD, NAIVE, 1.0).wrong() == []


@pytest.mark.parametrize(
    "change",
    [
        {"usable": 25},
        {"failed": {}},
        {"failed": {"poison": "", "try": ""}},
        {"unsettled": 1},
        {"takeovers": 1},
        {"upload_failures": 0},
        {"refused": 0},
        {"duplicates": 1},
        {"phantoms": 1},
    ],
)
def test_one_wrong_number_makes_the_report_bad(change: dict[str, object]) -> None:
    report = Report(GOOD._replace(**change), NAIVE, 1.0)  # type: ignore[arg-type]
    assert len(report.wrong()) == 1
    assert not report.good


def test_the_report_fits_a_terminal() -> None:
    assert max(map(len, Report(GOOD, NAIVE, 1.0).text().splitlines())) <= 80


def test_the_naive_side_is_counted_from_what_its_agents_noted() -> None:
    counts = count_naive(
        ran=["a", "b", "a", "c", "a"],
        failed=["c", "old"],
        late=["a"],
        said={"a": True, "b": False, "c": True, "old": True},
        whole={"a", "b"},
    )
    assert counts == NaiveCounts(usable=2, said_done=3, phantoms=2, duplicates=2, forgotten=1, late=1)
