"""What the property tests of core draw from. Narrow where ties and collisions matter."""

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from repokernel.core.entry import Entry, complete
from repokernel.core.ids import id_problem
from repokernel.core.phase import Phase
from tests.unit.builders import at

Fields = SearchStrategy[dict[str, object]]

INSTANT_MS_MAX = 253_402_300_799_999
ID_CHARS = "abcXYZ019._-"

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
lines = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=30).filter(str.strip)
paragraphs = st.text(st.one_of(st.characters(exclude_categories=["Cc", "Cs"]), st.sampled_from("\n\t\r")), max_size=40)
any_text = st.text(st.characters(), max_size=20)  # surrogates and control characters too

json_leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)


def _containers(inner: SearchStrategy[object]) -> SearchStrategy[object]:
    return st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)


json_values: SearchStrategy[object] = st.recursive(json_leaves, _containers, max_leaves=8)
json_objects: SearchStrategy[dict[str, object]] = st.dictionaries(texts, json_values, max_size=3)

instants_ms = st.integers(0, INSTANT_MS_MAX)
instants = instants_ms.map(at)
near_ms = st.integers(0, 4).map(lambda step: 1_796_117_400_000 + step * 1000)
task_ids = st.text(ID_CHARS, min_size=1, max_size=8).filter(lambda text: id_problem(text) is None)
few_ids = st.sampled_from(["a", "b", "c", "D", "e1"])
owners = st.sampled_from(["coder@w1", "coder@w2", "coder@w3#blue", "reviewer@box:b00t:7:42:9", "ann@box:b00t:ann"])
sha256s = st.binary(min_size=32, max_size=32).map(bytes.hex)
unknown_fields = st.dictionaries(st.sampled_from(["x_new", "Title", "a b"]), json_leaves | json_values, max_size=1)


outputs: Fields = st.fixed_dictionaries(
    {
        "uri": few_ids.map("file:out/{}".format),
        "bytes": st.integers(0, 2**53 - 1),
        "sha256": sha256s,
        "written_at": near_ms.map(at),
    }
)
_wait = st.fixed_dictionaries({"id": few_ids, "when": st.sampled_from(["done", "accepted", "failed", "settled"])})
# what is to be done, each field present or not
specs: Fields = st.fixed_dictionaries(
    {"id": task_ids, "title": lines},
    optional={
        "body": paragraphs,
        "epic": few_ids,
        "labels": st.lists(lines, max_size=2),
        "priority": st.integers(-2, 2),
        "depends_on": st.lists(few_ids | _wait, max_size=2),
        "expects": st.sampled_from(["output", "non_empty", "none"]),
        "inputs": json_objects,
        "hold": st.none() | lines,
        "max_attempts": st.integers(1, 4),
        "not_before": st.none() | near_ms.map(at),
        "review_of": st.none() | few_ids,
    },
)
_halts: Fields = st.fixed_dictionaries(
    {"reason": st.sampled_from(["crashed", "needs_input", "held"]), "at": near_ms.map(at)}
)
_held: Fields = st.fixed_dictionaries(
    {"owner": owners, "owned_since": near_ms.map(at), "lease_expires": near_ms.map(at)}
)
_asked: Fields = st.fixed_dictionaries({"halt": st.none() | _halts, "question": st.none() | paragraphs})
_finished: Fields = st.fixed_dictionaries({"output": outputs, "completed_by": owners, "completed_at": near_ms.map(at)})
_nothing: Fields = st.just({})
# what each phase demands or allows
_BY_PHASE: dict[Phase, Fields] = {
    Phase.PLANNED: _nothing,
    Phase.PENDING: _nothing,
    Phase.IN_PROGRESS: _held | _asked,
    Phase.IN_REVIEW: _held | _nothing,
    Phase.DONE: _finished,
    Phase.FAILED: _nothing,
    Phase.CANCELLED: _nothing,
}
_errors = st.fixed_dictionaries({"code": st.just("upload_failed"), "detail": paragraphs, "at": near_ms.map(at)})
_logs = st.fixed_dictionaries(
    {
        "token": st.integers(4, 6),
        "attempts": st.integers(1, 4),
        "epoch": st.integers(0, 2),
        "claimed_by": st.lists(owners, unique=True, max_size=3),
        "last_error": st.none() | _errors,
    }
)
_stamps = st.fixed_dictionaries({"created_at": instants, "updated_at": instants})
_states = st.sampled_from(list(Phase)).flatmap(
    lambda phase: st.tuples(
        unknown_fields,
        specs,
        _stamps,
        st.just({"status": phase.value}),
        _nothing if phase in (Phase.PLANNED, Phase.PENDING) else _logs,
        _BY_PHASE[phase],
    )
)


def _joined(parts: tuple[dict[str, object], ...]) -> Entry:
    return complete({name: value for part in parts for name, value in part.items()})


# a valid entry of any phase, perhaps with fields that only a newer version knows
entries: SearchStrategy[Entry] = _states.map(_joined)
