"""Who: `role@instance` or `role@instance#deployment`.

The instance, never the role, is what a lease belongs to: a worker restarted under the same name is
another instance. An instance that RepoKernel makes itself names where it runs, so that others can
tell whether it is still there:

- `host:boot:pidns:pid:start` is tied to one process (`start`: clock ticks since boot, so that a
  reused pid is another process);
- `host:boot:login` is tied to a login on one boot, for a claim made by hand.

Either may carry a chosen name in front: `name~host:boot:pidns:pid:start`. Anything else is a name of
the user's own, about which nothing is known.
"""

from __future__ import annotations

from repokernel.core.chars import WORD, made_of
from repokernel.core.errors import error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    class Process(NamedTuple):
        """A process: unique over reboots, pid reuse and containers of one machine."""

        host: str
        boot: str
        pidns: str
        pid: int
        start: int

    class Owner(NamedTuple):
        """The three parts of an owner; `deployment` may be empty."""

        role: str
        instance: str
        deployment: str
else:
    from collections import namedtuple

    Process = namedtuple("Process", "host boot pidns pid start")
    Owner = namedtuple("Owner", "role instance deployment")

_PROCESS_PARTS = 5
_INSTANCE = WORD + ":~+"
_ROLE_CHARS_MAX, _INSTANCE_CHARS_MAX = 64, 200


def clean_part(text: str, fallback: str) -> str:
    """`text` reduced to what an owner may hold, at most 64 characters; `fallback` if nothing stays."""
    kept = "".join(ch if ch in WORD else " " for ch in text)
    return "-".join(kept.split()).strip("-._")[:64] or fallback


def _is_role(text: str) -> bool:
    return made_of(text, WORD, _ROLE_CHARS_MAX)


def _is_instance(text: str) -> bool:
    return made_of(text, _INSTANCE, _INSTANCE_CHARS_MAX)


def make_owner(role: str, instance: str, deployment: str = "") -> str:
    """The owner's text.

    Raises:
        UsageError: `bad_value`, naming the part.
    """
    for name, value, rule in (("role", role, _is_role), ("instance", instance, _is_instance)):
        if not rule(value):
            raise error(
                "bad_value",
                f"{value!r:.80} can't be the {name} of an owner: letters, digits and . _ - only",
                field=name,
            )
    if deployment and not _is_instance(deployment):
        raise error("bad_value", f"{deployment!r:.80} can't be the deployment of an owner", field="deployment")
    return f"{role}@{instance}#{deployment}" if deployment else f"{role}@{instance}"


def parse_owner(text: str) -> Owner | None:
    """The parts of an owner, or None where the text is none."""
    role, at, rest = text.partition("@")
    instance, hash_, deployment = rest.partition("#")
    well_formed = at and _is_role(role) and _is_instance(instance)
    if not well_formed or (hash_ and not _is_instance(deployment)):
        return None
    return Owner(role, instance, deployment)


def process_instance(process: Process, name: str = "") -> str:
    """The instance that is tied to `process`."""
    place = f"{process.host}:{process.boot}:{process.pidns}:{process.pid}:{process.start}"
    return f"{name}~{place}" if name else place


def login_instance(host: str, boot: str, login: str) -> str:
    """The instance of somebody who claims by hand: tied to a host, a boot and a login."""
    return f"{host}:{boot}:{login}"


def process_of(owner: str) -> Process | None:
    """The process that an owner is tied to, or None where it is tied to none."""
    parsed = parse_owner(owner)
    if parsed is None:
        return None
    parts = parsed.instance.rpartition("~")[2].split(":")
    if len(parts) != _PROCESS_PARTS or not (
        parts[3].isascii() and parts[3].isdigit() and parts[4].isascii() and parts[4].isdigit()
    ):
        return None
    return Process(parts[0], parts[1], parts[2], int(parts[3]), int(parts[4]))


def short_owner(owner: str) -> str:
    """What people are shown of an owner: role, the telling part of the instance, deployment."""
    role, _, rest = owner.partition("@")
    instance, _, deployment = rest.partition("#")
    name, tilde, place = instance.rpartition("~")
    host, *more = place.split(":")
    process = process_of(owner)
    shown = name if tilde else f"{host}:{process.pid}" if process else host if more else instance
    return f"{role}@{shown}" + (f"#{deployment}" if deployment else "")


def shares_identity(one: str, other: str) -> bool:
    """Whether two owners are the same by role or by instance (a restarted worker keeps its name)."""
    a, b = parse_owner(one), parse_owner(other)
    if a is None or b is None:
        return one == other
    return a.role == b.role or a.instance.partition("~")[0] == b.instance.partition("~")[0]
