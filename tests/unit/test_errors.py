"""Refusals: codes, kinds, exit statuses, and the object that every interface shows."""

import ast
import copy
import pickle
from pathlib import Path

import pytest

import repokernel
from repokernel.core.errors import (
    CODES,
    BrokenError,
    BusyError,
    Kind,
    RefusedError,
    RkError,
    UsageError,
    error,
)

CLASSES = {"usage": UsageError, "refused": RefusedError, "busy": BusyError, "broken": BrokenError}

# DESIGN 13: 1 refused by a rule · 2 usage · 3 store or environment broken · 69 drained · 75 busy · 130 interrupted
EXAMPLES = [
    ("bad_usage", "usage", 2),
    ("unknown_key", "usage", 2),
    ("invalid_task", "refused", 1),
    ("lease_lost", "refused", 1),
    ("on_hold", "refused", 1),
    ("needs_person", "refused", 1),
    ("attempts_exhausted", "refused", 1),
    ("output_missing", "refused", 1),
    ("schema_newer", "refused", 1),
    ("drained", "refused", 69),
    ("held", "busy", 75),
    ("not_yet", "busy", 75),
    ("backing_off", "busy", 75),
    ("waiting", "busy", 75),
    ("contention", "busy", 75),
    ("store_io", "broken", 3),
    ("durability_unknown", "broken", 3),
    ("defect", "broken", 3),
    ("interrupted", "broken", 130),
]

# codes are a promise: one that goes, or changes its kind, breaks somebody's script
ALL = """
usage    bad_usage bad_value bad_input unknown_key
refused  invalid_task id_taken task_unknown dependency_unknown dependency_cycle no_repository not_ready on_hold
refused  not_open needs_person settled not_claimed not_owner wrong_phase lease_lost attempts_exhausted self_review
refused  not_review verdict_missing verdict_void needs_landing no_question output_missing output_mismatch
refused  output_empty output_refused output_unusable unverifiable dependency_unusable untrusted_config findings
refused  record_invalid schema_newer board_exists drained
busy     held not_yet backing_off waiting contention
broken   board_missing store_io store_full store_readonly store_unfit durability_unknown output_io command_failed
broken   interrupted defect
"""


def test_no_code_has_gone_or_changed_its_kind() -> None:
    rows = [line.split() for line in ALL.strip().splitlines()]
    promised = {code: kind for kind, *codes in rows for code in codes}
    assert {code: CODES[code][0].value for code in promised} == promised


@pytest.mark.parametrize(("code", "kind", "exit_status"), EXAMPLES)
def test_a_code_has_its_kind_and_exit_status(code: str, kind: str, exit_status: int) -> None:
    refused = error(code, "No.")
    assert (refused.kind, refused.exit_status) == (kind, exit_status)


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_makes_the_exception_of_its_kind(code: str) -> None:
    kind, meaning = CODES[code]
    refused = error(code, "No.")
    assert type(refused) is CLASSES[kind.value]
    assert isinstance(refused, RkError)
    assert refused.kind is kind
    assert refused.code == code
    assert meaning


def test_only_drained_and_interrupted_leave_the_exit_status_of_their_kind() -> None:
    usual = {"usage": 2, "refused": 1, "busy": 75, "broken": 3}
    unusual = {code for code, (kind, _) in CODES.items() if error(code, "No.").exit_status != usual[kind.value]}
    assert unusual == {"drained", "interrupted"}


def test_there_are_four_kinds() -> None:
    assert {kind.value for kind in Kind} == set(CLASSES)


def test_an_unknown_code_is_a_defect() -> None:
    with pytest.raises(KeyError):
        error("no_such_code", "No.")


def test_the_object_shown_holds_all_facts() -> None:
    assert error("held", "Held.", hint="Wait.", id="t1", token=3).as_dict() == {
        "code": "held",
        "kind": "busy",
        "message": "Held.",
        "hint": "Wait.",
        "fields": {"id": "t1", "token": 3},
    }


def test_a_refusal_without_facts_shows_empty_ones() -> None:
    shown = error("held", "Held.").as_dict()
    assert (shown["hint"], shown["fields"]) == ("", {})


def test_the_facts_are_a_copy_of_what_was_given() -> None:
    given: dict[str, object] = {"id": "t1"}
    refused = RefusedError("settled", "No.", "", given)
    given["id"] = "t2"
    assert refused.fields == {"id": "t1"}


def test_the_text_of_a_refusal_is_its_sentence() -> None:
    assert str(error("held", "Held.", hint="Wait.")) == "Held."


def test_a_refusal_survives_the_way_between_processes() -> None:
    refused = error("held", "Held.", hint="Wait.", id="t1")
    assert pickle.loads(pickle.dumps(refused)).as_dict() == refused.as_dict()
    assert copy.copy(refused).as_dict() == refused.as_dict()


def test_every_code_that_the_sources_raise_is_in_the_table() -> None:
    raised = set()
    for path in sorted(Path(repokernel.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="error"), args=[ast.Constant(value=str(code)), *_]):
                    raised.add(code)
                case _:
                    pass
    assert len(raised) > 30
    assert raised <= set(CODES)
