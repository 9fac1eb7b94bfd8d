"""The demo's job: which documents, in which queue, and which task suffers what."""

from __future__ import annotations

from enum import StrEnum
from functools import cache

from repokernel.core.errors import error

TOPICS = 26
WORKERS = 4
OLD_DONE = 3  # entries of the old queue that say done with nothing behind them
POISON = "goto"  # Python has no such statement, so no agent will ever find the document
TOKENS_PER_TOPIC = 85_000


class Fault(StrEnum):
    """What goes wrong with one task at its first attempt, while its output is half written."""

    KILL = "kill"
    PAUSE = "pause"
    FULL = "full"


# by place in the queue: the first ones after the entries that say done
_STRUCK = {OLD_DONE: Fault.KILL, OLD_DONE + 1: Fault.FULL, OLD_DONE + 2: Fault.PAUSE}


@cache
def documents() -> dict[str, str]:
    """The longest topics of Python's language reference by name, as this interpreter ships them.

    Raises:
        BrokenError: `command_failed`: it ships none.
    """
    try:
        from pydoc_data.topics import topics
    except ImportError as cause:
        hint = "use a Python with its whole standard library"
        raise error("command_failed", "this Python lacks its own reference (pydoc_data)", hint=hint) from cause
    longest = sorted(topics, key=lambda name: (-len(topics[name]), name))[:TOPICS]
    return {name: topics[name] for name in sorted(longest)}


def queue() -> list[dict[str, object]]:
    """The tasks in the old form `{id, title, done}`."""
    tasks = [*documents(), POISON]
    return [
        {"id": name, "title": f"summarise the topic {name}", "done": place < OLD_DONE}
        for place, name in enumerate(tasks)
    ]


def fault_of(task: str, attempt: int) -> Fault | None:
    """What an attempt suffers."""
    places = {name: place for place, name in enumerate(documents())}
    return _STRUCK.get(places.get(task, -1)) if attempt == 1 else None


def victim(fault: Fault) -> str:
    """The task that suffers a fault."""
    return next(name for name in documents() if fault_of(name, 1) is fault)
