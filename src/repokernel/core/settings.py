"""Every default and every configuration key, in one table.

The table is the configuration reference (`docs/configuration.md`); an unknown key is refused by name.
"""

from __future__ import annotations

from repokernel.core.errors import error
from repokernel.core.times import parse_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# dotted key -> (default, kind, meaning).  kinds: duration, count, depth, command
SETTINGS: Mapping[str, tuple[str | int | None, str, str]] = {
    "lease.default": ("10m", "duration", "lease of a claim that a process renews (`rk work`, Python)"),
    "lease.manual": ("8h", "duration", "lease of a claim made by hand (`rk claim`)"),
    "lease.skew": (
        "30s",
        "duration",
        "how long after its end a lease is still respected, unless its owner is known to be gone",
    ),
    "attempts.max": (3, "count", "claims that a task may use up before it has failed"),
    "backoff.base": ("10s", "duration", "wait after the first failed attempt; doubles with each further one"),
    "backoff.cap": ("15m", "duration", "longest wait between two attempts"),
    "verify.depth": ("size", "depth", "how deep readers check an output: exists, size or sha256"),
    "liveness": (None, "command", "command that answers whether an owner elsewhere is alive: exit 0 yes, 1 no"),
}
_COUNT_MAX = 1_000_000
_DEPTHS = ("exists", "size", "sha256")


class Settings:
    """The values in force; durations in milliseconds."""

    __slots__ = (
        "attempts_max",
        "backoff_base_ms",
        "backoff_cap_ms",
        "lease_default_ms",
        "lease_manual_ms",
        "lease_skew_ms",
        "liveness",
        "verify_depth",
    )

    def __init__(self, values: Mapping[str, object]) -> None:
        """Take checked dotted values; what is absent has its default."""
        said = {key: values.get(key, default) for key, (default, _, _) in SETTINGS.items()}
        self.lease_default_ms = parse_duration(str(said["lease.default"]))
        self.lease_manual_ms = parse_duration(str(said["lease.manual"]))
        self.lease_skew_ms = parse_duration(str(said["lease.skew"]))
        self.attempts_max = int(str(said["attempts.max"]))
        self.backoff_base_ms = parse_duration(str(said["backoff.base"]))
        self.backoff_cap_ms = parse_duration(str(said["backoff.cap"]))
        self.verify_depth = str(said["verify.depth"])
        command = said["liveness"]
        self.liveness = tuple(command) if isinstance(command, list) else None


def _flat(document: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    values: dict[str, object] = {}
    for key, value in document.items():
        if isinstance(value, dict):
            values |= _flat(value, f"{prefix}{key}.")
        else:
            values[prefix + key] = value
    return values


def _problem(kind: str, value: object) -> str | None:
    if kind == "duration":
        if not isinstance(value, str):
            return "must be a text such as '10m'"
        try:
            parse_duration(value)
        except ValueError as cause:
            return f"is wrong: {cause}"
    elif kind == "count" and (type(value) is not int or not 1 <= value <= _COUNT_MAX):
        return "must be a whole number from 1 to 1,000,000"
    elif kind == "depth" and value not in _DEPTHS:
        return "must be one of " + ", ".join(_DEPTHS)
    elif kind == "command" and not (isinstance(value, list) and value and all(isinstance(v, str) and v for v in value)):
        return "must be a list of texts: the program and its arguments"
    return None


def read_settings(document: Mapping[str, object], source: str) -> Settings:
    """The settings of a parsed configuration.

    Raises:
        UsageError: `unknown_key` or `bad_value`, naming key and file.
    """
    values = _flat(document)
    for key, value in values.items():
        if key not in SETTINGS:
            near = [known for known in SETTINGS if known.rpartition(".")[2] == key.rpartition(".")[2]]
            hint = f"did you mean {near[0]}?" if near else "known keys: " + ", ".join(SETTINGS)
            raise error("unknown_key", f"{source}: there is no key {key!r:.80}", hint=hint, key=key)
        problem = _problem(SETTINGS[key][1], value)
        if problem is not None:
            raise error("bad_value", f"{source}: {key} {problem}", key=key)
    return Settings(values)


def commented_defaults() -> str:
    """The configuration file that `rk init` writes: every key with its default, commented out."""
    lines = ["# RepoKernel board configuration. Every line shows a default; remove the # to change it."]
    for key, (default, kind, meaning) in SETTINGS.items():
        shown = '["program", "argument"]' if kind == "command" else repr(default).replace("'", '"')
        lines += ["", f"# {meaning}", f"# {key} = {shown}"]
    return "\n".join(lines) + "\n"
