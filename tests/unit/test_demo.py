"""The demo's job and summariser, the agent that suffers its faults, and what the report takes for right."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from repokernel.core.plan import import_item
from repokernel.demo.agent import AgentError, write_summary
from repokernel.demo.counts import BoardCounts, NaiveCounts, count_naive, is_good
from repokernel.demo.job import OLD_DONE, POISON, TOPICS, Fault, documents, fault_of, queue, victim
from repokernel.demo.marks import Marks
from repokernel.demo.report import Report
from repokernel.demo.summarise import page, summarise

if TYPE_CHECKING:
    from pathlib import Path

GOOD = BoardCounts(
    usable=26,
    phantoms=0,
    duplicates=0,
    stuck=0,
    failed={POISON: "attempts_exhausted: 3 of 3 attempts used; the last one: no_such_topic"},
    claims=32,
    done=26,
    failures=4,
    upload_failures=1,
    takeovers=2,
    refused=1,
    old_done=3,
)
NAIVE = NaiveCounts(usable=21, phantoms=5, duplicates=7, stuck=1, overwrites=2)

# the summariser ---------------------------------------------------------------------------------------

DOCUMENT = """Heading of it
*************

Every generator function makes generator objects that yield values. In the
meantime somebody else wrote about weather.

   >>> every generator function makes generator objects that yield values.

Such generator objects give values whenever somebody asks. Every generator
function makes generator objects that yield values. Generator values end.
"""


def test_the_sentences_with_the_most_frequent_words_are_kept_once_and_in_their_order() -> None:
    first = "- Every generator function makes generator objects that yield values.\n"
    second = "- Such generator objects give values whenever somebody asks.\n"
    third = "- In the meantime somebody else wrote about weather.\n"
    assert [summarise(DOCUMENT, count) for count in (1, 2)] == [first, first + second]
    assert summarise(DOCUMENT) == first + third + second


@pytest.mark.parametrize("text", ["", "\n\n", "***", "no sentence ends here", "Too short."])
def test_what_holds_no_sentence_has_an_empty_summary(text: str) -> None:
    assert summarise(text) == ""


def test_every_document_is_summarised_in_sentences_of_its_own() -> None:
    for name, text in documents().items():
        flat = " ".join(text.split())
        lines = page(name, text).splitlines()
        assert lines[:2] == [f"# {name}", ""]
        assert len(set(lines[2:])) == 5, name
        assert all(line.startswith("- ") and line[2:] in flat for line in lines[2:]), name


# the job ----------------------------------------------------------------------------------------------


def test_the_queue_is_in_the_old_form_and_can_be_imported() -> None:
    tasks = queue()
    assert {frozenset(task) for task in tasks} == {frozenset({"id", "title", "done"})}
    assert [task["id"] for task in tasks] == [*documents(), POISON]
    assert sum(import_item(task, place)[2] for place, task in enumerate(tasks)) == OLD_DONE
    assert len(tasks) == TOPICS + 1
    assert POISON not in documents()


def test_each_fault_strikes_the_first_attempt_of_one_topic_that_is_still_to_be_done() -> None:
    struck = {victim(fault): fault for fault in Fault}
    assert len(struck) == len(Fault)
    assert {name: fault_of(name, 1) for name in struck} == struck
    assert [fault_of(name, 2) for name in struck] == [None] * len(Fault)
    assert [task["done"] for task in queue() if task["id"] in struck] == [False] * len(Fault)


def unexpected(fault: Fault) -> None:
    raise AssertionError(fault)


def test_an_agent_writes_exactly_the_page(tmp_path: Path) -> None:
    name = victim(Fault.FULL)
    write_summary(name, 2, tmp_path / "out", unexpected)
    assert is_good(name, tmp_path / "out")
    assert not is_good(victim(Fault.KILL), tmp_path / "out")


def test_an_agent_without_room_fails_with_half_a_page_and_can_write_again(tmp_path: Path) -> None:
    name, path = victim(Fault.FULL), tmp_path / "out"
    with pytest.raises(AgentError) as caught:
        write_summary(name, 1, path, unexpected)
    assert caught.value.code == "upload_failed"
    assert 0 < path.stat().st_size < len(page(name, documents()[name]).encode())
    assert not is_good(name, path)
    write_summary(name, 2, path, unexpected)
    assert is_good(name, path)


@pytest.mark.parametrize("fault", [Fault.KILL, Fault.PAUSE])
def test_an_agent_is_struck_when_its_output_is_half_written(fault: Fault, tmp_path: Path) -> None:
    name, path = victim(fault), tmp_path / "out"
    seen: list[tuple[Fault, int]] = []
    write_summary(name, 1, path, lambda struck: seen.append((struck, path.stat().st_size)))
    assert seen == [(fault, path.stat().st_size // 2)]
    assert is_good(name, path)


def test_no_agent_can_do_the_poisonous_task(tmp_path: Path) -> None:
    with pytest.raises(AgentError) as caught:
        write_summary(POISON, 3, tmp_path / "out", unexpected)
    assert caught.value.code == "no_such_topic"
    assert not is_good(POISON, tmp_path / "out")


def test_attempts_on_the_file_are_numbered_and_facts_are_kept(tmp_path: Path) -> None:
    marks = Marks(tmp_path)
    assert [marks.begin("try"), marks.begin("try"), marks.begin("with")] == [1, 2, 1]
    assert (marks.noted("written"), marks.at(Fault.KILL)) == ([], None)
    marks.note("written", "try")
    marks.note("written", "with")
    assert marks.noted("written") == ["try", "with"]


# the report -------------------------------------------------------------------------------------------


def test_the_file_is_counted_by_what_it_says_and_what_is_there(tmp_path: Path) -> None:
    first, second, third, fourth = list(documents())[:4]
    for name in (first, fourth):
        (tmp_path / f"{name}.md").write_text(page(name, documents()[name]), encoding="utf-8")
    (tmp_path / f"{second}.md").write_text("half a page", encoding="utf-8")
    said = {first: True, second: True, third: True, fourth: False}
    file = tmp_path / "queue.json"
    file.write_text(json.dumps([{"id": name, "done": done} for name, done in said.items()]), encoding="utf-8")
    counts = count_naive(file, tmp_path, [first, fourth, first, first, fourth], 4)
    assert counts == NaiveCounts(usable=1, phantoms=2, duplicates=3, stuck=1, overwrites=4)


def test_the_report_is_good_when_every_number_is_right() -> None:
    report = Report(GOOD, NAIVE, 1.0)
    assert (report.wrong(), report.good) == ([], True)


@pytest.mark.parametrize(
    "change",
    [
        {"usable": 25},
        {"done": 27, "claims": 33},
        {"phantoms": 1},
        {"duplicates": 1},
        {"stuck": 1},
        {"failed": {**GOOD.failed, "try": ""}},
        {"failed": {POISON: "crashed: its process is gone"}},
        {"upload_failures": 0},
        {"takeovers": 1, "refused": 0, "claims": 31},
        {"refused": 0},
        {"refused": 2},
        {"claims": 33},
        {"old_done": 2},
    ],
)
def test_one_wrong_number_makes_the_report_bad(change: dict[str, object]) -> None:
    report = Report(GOOD._replace(**change), NAIVE, 1.0)  # type: ignore[arg-type]
    assert len(report.wrong()) == 1
    assert (report.good, report.as_dict()["outcome"]) == (False, "wrong")


@pytest.mark.parametrize("field", [*NaiveCounts._fields[1:]])
def test_a_fault_that_leaves_no_trace_on_the_file_makes_the_report_bad(field: str) -> None:
    report = Report(GOOD, NAIVE._replace(**{field: 0}), 1.0)
    assert len(report.wrong()) == 1


def test_a_further_takeover_from_a_worker_that_lives_is_fine_if_that_is_refused_too() -> None:
    assert Report(GOOD._replace(takeovers=3, refused=2, claims=33), NAIVE, 1.0).good


def test_each_duplicate_costs_85_000_tokens() -> None:
    said = Report(GOOD, NAIVE, 1.0).as_dict()
    assert isinstance(said["board"], dict)
    assert isinstance(said["naive"], dict)
    assert (said["board"]["tokens_wasted"], said["naive"]["tokens_wasted"]) == (0, 595_000)


TEXT = """\
The job: 26 topics of Python's own reference are summarised by 4 processes.
Meanwhile one worker is killed in mid-task, one is paused in mid-task and wakes
up late, one summary can't be written at first, and a 27th task can't be done by
anybody. The queue is a JSON file of {id, title, done}, and 3 of its entries say
`done: true` with nothing behind them. Once with just that file, then with
RepoKernel, with the same faults:

                                                    plain file        RepoKernel
  usable summaries, of 26                                   21                26
  done with nothing usable behind it (phantoms)              5                 0
  done once more by somebody else (duplicates)               7                 0
  late writes that destroyed others' updates                 2     0 (1 refused)
  stuck: neither done nor failed                             1                 0
  tokens wasted, 85,000 a duplicate                    595,000                 0

On the file the killed worker's topic stays taken for ever; an agent that failed
is `done` because it has ended; and the paused worker wrote the file back as it
had read it: what the others had finished meanwhile was open again, and was done
again. Saves that cross by chance come on top (these agents need milliseconds;
slower ones cross less often).

RepoKernel's side in detail:
  - claims: 32 (26 done, 4 failed attempts, 2 taken over by others)
  - takeovers: 2 (the killed worker's task at once, the paused one's later)
  - late writes refused: 1 (the paused worker's, when it woke up)
  - failed uploads: 1 (upload_failed; written at the next attempt)
  - old entries without output: 3 (found at import, then done for real)
  - outputs read again: 26 (each has the sha256 that was recorded)
  - failed for good: goto (attempts_exhausted: 3 of 3 attempts used; the last
    one: no_such_topic)

Every number is as it must be. (7 s)
"""


def test_the_report_explains_itself_in_80_columns() -> None:
    assert Report(GOOD, NAIVE, 6.8).text() + "\n" == TEXT
    assert max(map(len, TEXT.splitlines())) <= 80


def test_a_bad_report_says_what_is_wrong_and_a_kept_one_where_it_is() -> None:
    text = Report(GOOD._replace(usable=25, phantoms=1), NAIVE, 6.8, "/tmp/demo").text()
    assert text.splitlines()[-2:] == [
        "WRONG: 25 usable summaries, not 26; 1 phantoms. (7 s)",
        "Look at it with: rk -C /tmp/demo/board list",
    ]
