"""Laws of new tasks."""

from hypothesis import given, strategies as st

from repokernel.core.entry import Entry, entry_problems
from repokernel.core.ids import Key, TaskId, fold
from repokernel.core.jsontext import canonical
from repokernel.core.plan import check_batch, first_entry, import_item, parse_import
from repokernel.core.ready import needs
from tests.property.strategies import any_text, few_ids, instants_ms, json_objects, json_values, specs
from tests.unit.builders import at, code_of, entry, refusal_or_none

REFUSALS = {"bad_value", "invalid_task", "no_repository", "schema_newer"}
FIELD_NAMES = [
    *("id", "title", "body", "epic", "labels", "priority", "depends_on", "expects", "owned_paths", "check", "inputs"),
    *("hold", "max_attempts", "not_before", "review_of", "schema", "status", "token", "done", "output", "x_new"),
]
wild = st.dictionaries(st.sampled_from(FIELD_NAMES), json_values | any_text, max_size=5)


@given(specs, instants_ms, st.booleans())
def test_a_new_task_says_what_was_given_and_nothing_has_happened_to_it(
    given_fields: dict[str, object], now_ms: int, planned: bool
) -> None:
    made = first_entry(given_fields, now_ms, planned=planned, repository=False)
    assert entry_problems(made) == {}
    assert {**made} | given_fields == made
    assert (made["token"], made["epoch"], made["attempts"], made["owner"]) == (0, 0, 0, None)
    assert (made["status"], made["created_at"]) == ("planned" if planned else "pending", at(now_ms))


@given(wild, st.booleans())
def test_any_fields_are_a_new_task_or_refused(fields: dict[str, object], repository: bool) -> None:
    def make() -> Entry:
        return first_entry({"id": "a", "title": "A", **fields}, 0, planned=False, repository=repository)

    code = code_of(make)
    assert code in {None, *REFUSALS}
    if code is None:
        assert entry_problems(make()) == {}


@given(wild)
def test_any_item_of_a_task_file_is_read_or_refused(item: dict[str, object]) -> None:
    refused = refusal_or_none(lambda: import_item(item, 0))
    if refused is not None:
        assert (refused.code, bool(refused.fields["problems"])) == ("invalid_task", True)
    else:
        known, _, _ = import_item(item, 0)
        assert known.items() <= item.items()
        assert {"id"} <= set(known) <= set(item) - {"done", "status", "token", "output"}


@given(st.lists(json_objects, max_size=3), st.sampled_from([b"", b"\xef\xbb\xbf"]), st.booleans())
def test_a_task_file_has_its_items_in_order(items: list[dict[str, object]], mark: bytes, wrapped: bool) -> None:
    data = canonical({"tasks": items} if wrapped else items)
    assert parse_import(mark + data) == items


@given(st.binary(max_size=40) | json_values.map(canonical))
def test_any_bytes_are_a_task_file_or_refused(data: bytes) -> None:
    assert code_of(lambda: parse_import(data)) in {None, "bad_input"}


batches = st.lists(
    st.builds(lambda name, needed: entry(id=name, depends_on=needed), few_ids, st.lists(few_ids, max_size=2)),
    max_size=4,
)


@given(batches, st.sets(few_ids.map(str.lower), max_size=2))
def test_a_batch_that_passes_can_be_added_one_after_the_other(new: list[Entry], there: set[str]) -> None:
    existing = {Key(key): entry(id=key) for key in there}
    code = code_of(lambda: check_batch(new, existing.get))
    keys = [fold(TaskId(one["id"])) for one in new]
    needed = {key: {name for name, _ in needs(one)} for key, one in zip(keys, new, strict=True)}
    placed = set(there)
    for _ in new:
        placed |= {key for key in keys if needed[key] - set(keys) <= set(there) and needed[key] & set(keys) <= placed}
    if code is None:
        assert len(set(keys)) == len(keys)
        assert set(keys) <= placed
    else:
        known = set().union(*needed.values()) <= set(keys) | set(there)
        expected = "id_taken" if len(set(keys)) < len(keys) else "dependency_cycle" if known else "dependency_unknown"
        assert code == expected
