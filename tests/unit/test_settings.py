"""The configuration by example: defaults, values, what is refused by name."""

import re
import tomllib

import pytest

from repokernel.core.settings import SETTINGS, Settings, commented_defaults, read_settings
from tests.unit.builders import refusal

DEFAULTS = {
    "lease_default_ms": 600_000,
    "lease_manual_ms": 28_800_000,
    "lease_skew_ms": 30_000,
    "attempts_max": 3,
    "backoff_base_ms": 10_000,
    "backoff_cap_ms": 900_000,
    "verify_depth": "size",
    "liveness": None,
}


def values(settings: Settings) -> dict[str, object]:
    return {name: getattr(settings, name) for name in Settings.__slots__}


def test_without_a_configuration_every_default_of_the_table_is_in_force() -> None:
    assert values(read_settings({}, "none")) == DEFAULTS


@pytest.mark.parametrize(
    ("document", "changed"),
    [
        ({"lease": {"default": "90s"}}, {"lease_default_ms": 90_000}),
        ({"lease.default": "90s"}, {"lease_default_ms": 90_000}),
        ({"lease": {"manual": "1h", "skew": "5s"}}, {"lease_manual_ms": 3_600_000, "lease_skew_ms": 5_000}),
        ({"attempts": {"max": 1}}, {"attempts_max": 1}),
        ({"attempts": {"max": 1_000_000}}, {"attempts_max": 1_000_000}),
        ({"backoff": {"base": "1s", "cap": "2d"}}, {"backoff_base_ms": 1000, "backoff_cap_ms": 172_800_000}),
        ({"verify": {"depth": "exists"}}, {"verify_depth": "exists"}),
        ({"verify": {"depth": "sha256"}}, {"verify_depth": "sha256"}),
        ({"liveness": ["ask", "-q"]}, {"liveness": ("ask", "-q")}),
    ],
)
def test_a_value_takes_the_place_of_its_default_alone(document: dict[str, object], changed: dict[str, object]) -> None:
    assert values(read_settings(document, "config.toml")) == {**DEFAULTS, **changed}


@pytest.mark.parametrize(
    ("document", "key"),
    [
        ({"leese": "10m"}, "leese"),
        ({"lease": {"defualt": "10m"}}, "lease.defualt"),
        ({"lease": "10m"}, "lease"),
        ({"Lease": {"default": "10m"}}, "Lease.default"),
        ({"lease": {"default": {"s": 10}}}, "lease.default.s"),
        ({"liveness": {"command": ["ask"]}}, "liveness.command"),
        ({"skew": "10s"}, "skew"),
        ({"": 1}, ""),
        ({"attempts": {"max": 3}, "k" * 5000: 1}, "k" * 5000),
    ],
)
def test_an_unknown_key_is_refused_by_name(document: dict[str, object], key: str) -> None:
    refused = refusal(lambda: read_settings(document, "config.toml"))
    assert (refused.code, refused.fields["key"]) == ("unknown_key", key)
    assert len(refused.message) < 300
    assert refused.hint


def test_a_key_in_the_wrong_table_leads_to_the_right_one() -> None:
    assert "lease.skew" in refusal(lambda: read_settings({"backoff": {"skew": "1s"}}, "config.toml")).hint


BAD = [
    *[("lease.default", value) for value in ("", "10", "0s", "-1m", "ten", 600, 1.5, True, None, ["10m"])],
    *[("lease.skew", value) for value in ("4000d", "1h30m")],
    *[("attempts.max", value) for value in (0, -1, 1_000_001, "3", 1.0, True, None, [3])],
    *[("verify.depth", value) for value in ("", "Size", "deep", 1, None, ["size"])],
    *[("liveness", value) for value in ("ask -q", [], [""], ["ask", ""], ["ask", 1], 1, True, None)],
]


@pytest.mark.parametrize(("key", "value"), BAD)
def test_a_bad_value_is_refused_with_its_key(key: str, value: object) -> None:
    table, _, name = key.rpartition(".")
    document: dict[str, object] = {table: {name: value}} if table else {name: value}
    refused = refusal(lambda: read_settings(document, "config.toml"))
    assert (refused.code, refused.fields) == ("bad_value", {"key": key})
    assert "config.toml" in refused.message


@pytest.mark.parametrize("key", [key for key, (_, kind, _) in SETTINGS.items() if kind == "duration"])
def test_every_duration_of_the_table_is_checked(key: str) -> None:
    assert refusal(lambda: read_settings({key: "soon"}, "config.toml")).code == "bad_value"


def test_every_key_has_a_kind_and_a_meaning() -> None:
    assert {kind for _, kind, _ in SETTINGS.values()} <= {"duration", "count", "command", "depth"}
    assert all(meaning for _, _, meaning in SETTINGS.values())


def test_the_file_of_defaults_says_nothing_until_a_line_is_uncommented() -> None:
    assert tomllib.loads(commented_defaults()) == {}


def test_the_file_of_defaults_uncommented_is_the_defaults() -> None:
    lines = re.findall(r"^# ([a-z.]+ = .*)$", commented_defaults(), re.MULTILINE)
    assert [line.split(" = ")[0] for line in lines] == list(SETTINGS)
    settings = values(read_settings(tomllib.loads("\n".join(lines)), "config.toml"))
    # where there is no default, the line shows the form
    assert settings == {**DEFAULTS, "liveness": ("program", "argument")}
