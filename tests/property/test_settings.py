"""Laws of the configuration."""

from hypothesis import given, strategies as st

from repokernel.core.settings import SETTINGS, read_settings
from tests.property.strategies import any_text, json_values
from tests.unit.builders import code_of, refusal_or_none

UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
DURATIONS = sorted(key for key, (_, kind, _) in SETTINGS.items() if kind == "duration")
keys = st.sampled_from([*SETTINGS, "lease", "lease.default.x", "backoff.skew", ""]) | any_text


@given(st.dictionaries(keys, json_values | any_text, max_size=3))
def test_any_document_is_a_configuration_or_refused_by_key(document: dict[str, object]) -> None:
    refused = refusal_or_none(lambda: read_settings(document, "config.toml"))
    if refused is not None:
        assert refused.code == ("bad_value" if refused.fields["key"] in SETTINGS else "unknown_key")
        assert len(refused.message.splitlines()) == 1
    else:
        assert all(key in SETTINGS or value == {} for key, value in document.items() if not isinstance(value, dict))


@given(st.sampled_from(DURATIONS), st.integers(1, 9999), st.sampled_from(sorted(UNITS_MS)))
def test_a_duration_is_kept_in_milliseconds_under_its_own_name(key: str, count: int, unit: str) -> None:
    settings = read_settings({key: f"{count}{unit}"}, "config.toml")
    assert getattr(settings, key.replace(".", "_") + "_ms") == count * UNITS_MS[unit]


@given(st.sampled_from(sorted(SETTINGS)), json_values)
def test_a_table_and_a_dotted_key_say_the_same(key: str, value: object) -> None:
    table, _, name = key.rpartition(".")
    nested: dict[str, object] = {table: {name: value}} if table else {name: value}
    assert code_of(lambda: read_settings(nested, "x")) == code_of(lambda: read_settings({key: value}, "x"))
