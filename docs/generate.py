"""Rewrites the generated parts of the documentation from the tables in the code (`make docs`).

A generated part stands between `<!-- generated: NAME -->` and `<!-- end: NAME -->`; the text around it
is written by hand. `tests/docs` fails while a part is not what this program makes.
"""  # noqa: INP001 - a program, not a package

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from repokernel.cli.cmd_help import page_text
from repokernel.cli.cmd_registry import SENTENCES
from repokernel.cli.table import COMMANDS, load
from repokernel.core import jsontext
from repokernel.core.entry import FIELDS, json_schema
from repokernel.core.errors import CODES, EXIT, EXIT_DRAINED, EXIT_INTERRUPTED, Kind, error
from repokernel.core.halt import HALTS
from repokernel.core.phase import TRANSITIONS, WHO, Actor, Event, Phase
from repokernel.core.registry import BYTES_MAX, VERSION, Fault
from repokernel.core.registry_fields import RANK, RANK_UNKNOWN
from repokernel.core.registry_join import REMOVAL_MIN
from repokernel.core.settings import SETTINGS, commented_defaults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "docs" / "nightly.jsonl"
_PART = re.compile(r"<!-- generated: ([a-z-]+) -->\n(.*?)<!-- end: \1 -->\n", re.DOTALL)

# an event that leaves every phase as it is isn't drawn: it would be a loop at each node
_NOT_DRAWN = frozenset({Event.HOLD, Event.UNHOLD, Event.NOTE})

MEANINGS = {
    "schema": "version of this form; a newer one is refused",
    "id": "1 to 64 of letters, digits and `. _ -`; two spellings that differ in case only are one task",
    "title": "one line for people",
    "body": "what is to be done, at length",
    "epic": "a named group of tasks",
    "labels": "words to choose by",
    "priority": "lower runs first",
    "depends_on": "ids, or `{id, when}` with `when` one of `done`, `accepted`, `failed`, `settled`",
    "expects": "what must stand behind done: `output`, `non_empty`, `none`",
    "owned_paths": "paths that only this task may change; a task with such paths can't be completed by `rk done`",
    "shared_paths": "paths that several tasks may change; the same restriction",
    "forbidden_paths": "paths that it must not touch",
    "check": "a command to check the work with; kept, not run",
    "inputs": "anything the worker needs",
    "hold": "a person's stop sign: the reason",
    "status": "the phase",
    "owner": "who is responsible now: `role@instance` or `role@instance#deployment`",
    "owned_since": "when the owner claimed it",
    "lease_expires": "when the lease ends unless it is renewed",
    "token": "the fencing token: grows by one at each claim",
    "epoch": "grows by one at each reopen and cancel",
    "attempts": "claims that count; those ended by `release`, `ask`, `agent_limited` or `environment` don't",
    "max_attempts": "at this many the task has failed",
    "claimed_by": "every owner it ever had, the latest last",
    "completed_by": "who completed it",
    "not_before": "not claimable earlier: a start date, or a back-off",
    "output": "`{uri, bytes, sha256, written_at}`, and `files` for a folder",
    "last_error": "`{code, detail, at}` of the last attempt that ended badly",
    "halt": "`{reason, detail, where, evidence, at, resume}` while it waits for a person",
    "notes": "remarks: `{at, by, text}`",
    "question": "what the worker asks",
    "branch": "kept, not used",
    "base": "kept, not used",
    "head": "kept, not used",
    "review": "of a review task: what was under review, and the verdict",
    "landed": "kept, not used",
    "review_of": "makes this the review task of that one",
    "usage": "kept, not used",
    "created_at": "when it was added",
    "updated_at": "when the newest record was written",
    "completed_at": "when it was done",
}


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows])


def _fence(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def _code(text: str) -> str:
    return f"`{text}`"


def _in_order(events: Iterable[Event]) -> list[Event]:
    wanted = set(events)
    return [event for event in Event if event in wanted]


def _events(events: Iterable[Event]) -> str:
    return ", ".join(_code(one) for one in _in_order(events)) or "-"


# lifecycle ------------------------------------------------------------------------------------------


def diagram() -> str:
    """The phases and what leads from one to another, as a Mermaid state diagram."""
    edges: dict[tuple[Phase, Phase], list[Event]] = {}
    for (phase, event), afters in TRANSITIONS.items():
        if event not in _NOT_DRAWN:
            for after in afters:
                edges.setdefault((phase, after), []).append(event)
    order = list(Phase)
    lines = ["stateDiagram-v2", "    [*] --> planned : add", "    [*] --> pending : add"]
    for (phase, after), events in sorted(edges.items(), key=lambda edge: [order.index(one) for one in edge[0]]):
        said = ", ".join(_in_order(events))
        lines.append(f"    {phase} --> {after} : {said}")
    return _fence("mermaid", "\n".join(lines))


def transitions() -> str:
    """What each event makes of each phase."""
    rows = []
    for event in Event:
        afters = [TRANSITIONS.get((phase, event), frozenset()) for phase in Phase]
        if any(afters):
            cells = [" or ".join(_code(one) for one in Phase if one in after) or "-" for after in afters]
            rows.append((f"**{event}**", *cells))
    return _table(("event", *(f"in {phase}" for phase in Phase)), rows)


def who() -> str:
    """Who may do what, by cell."""
    rows = [(_code(cell), *(_events(allowed[actor]) for actor in Actor)) for cell, allowed in WHO.items()]
    return _table(("cell", *(f"a {actor}" if actor is not Actor.OWNER else "the owner" for actor in Actor)), rows)


def halts() -> str:
    """The halt table."""
    rows = [(_code(reason), who, _code(resume), evidence) for reason, (who, resume, evidence) in HALTS.items()]
    return _table(("reason", "who goes on", "with", "evidence"), rows)


# references -----------------------------------------------------------------------------------------


def commands() -> str:
    """The help page of every command, by group."""
    parts: list[str] = []
    group_before = ""
    for name, (_, group, summary) in COMMANDS.items():
        if group != group_before:
            parts.append(f"## {group}")
            group_before = group
        parts += [f"### rk {name}", f"{summary[0].upper()}{summary[1:]}.", _fence("text", page_text(load(name)))]
    return "\n\n".join(parts)


def command_index() -> str:
    """Every command with its summary and a link to its page."""
    rows = [(f"[`rk {name}`](#rk-{name})", group, text) for name, (_, group, text) in COMMANDS.items()]
    return _table(("command", "group", "what it does"), rows)


def settings() -> str:
    """Every configuration key with its default."""
    rows = [
        (_code(key), "none" if default is None else _code(str(default)), kind, meaning)
        for key, (default, kind, meaning) in SETTINGS.items()
    ]
    return _table(("key", "default", "kind", "meaning"), rows)


def config_file() -> str:
    """The configuration file that `rk init` writes."""
    return _fence("toml", commented_defaults())


def errors() -> str:
    """Every code with kind, exit status and meaning."""
    rows = [(_code(code), kind, str(error(code, "").exit_status), meaning) for code, (kind, meaning) in CODES.items()]
    return _table(("code", "kind", "exit", "meaning"), rows)


def exits() -> str:
    """The exit statuses."""
    rows = [
        ("0", "done"),
        (str(EXIT[Kind.REFUSED]), "refused by a rule, or something was found"),
        (str(EXIT[Kind.USAGE]), "usage: the command line or a value is wrong"),
        (str(EXIT[Kind.BROKEN]), "the store or the environment is broken, or a defect of RepoKernel"),
        (str(EXIT_DRAINED), "drained: nothing will ever be claimable without a person"),
        (str(EXIT[Kind.BUSY]), "busy: somebody holds it, or nothing is claimable yet; try again"),
        (str(EXIT_INTERRUPTED), "interrupted"),
    ]
    return _table(("exit", "meaning"), rows)


# the format -----------------------------------------------------------------------------------------


def fields() -> str:
    """Every field of an entry: its default and meaning."""
    schema = json_schema()["properties"]
    assert isinstance(schema, dict)
    rows = []
    for name in FIELDS:
        default = schema[name].get("default", ...)
        shown = "always given" if default is ... else _code(jsontext.canonical(default).decode().strip())
        rows.append((_code(name), shown, MEANINGS[name]))
    return _table(("field", "default", "meaning"), rows)


# the registry ---------------------------------------------------------------------------------------

FAULTS = {
    Fault.BAD_EPOCH: "an entry's `epoch` is not a whole number",
    Fault.BAD_ID: "an entry's id is neither a text nor a whole number",
    Fault.BAD_STATUS: "an entry has no status, or one that is no text",
    Fault.BAD_VERSION: "`version` is not a whole number",
    Fault.DUPLICATE_KEY: "an object has one key twice",
    Fault.EMPTY: "the file is empty",
    Fault.ENTRY_WITHOUT_ID: "an entry has no id, or is no object",
    Fault.MASS_REMOVAL: f"a side has lost {REMOVAL_MIN} entries or more, and at least half of the base's",
    Fault.NEWER_VERSION: f"`version` is above {VERSION}: a newer rk wrote it",
    Fault.NO_ENTRIES_LIST: "neither an object with the list `entries` nor a list",
    Fault.NOT_JSON: "not UTF-8, not JSON, conflict markers, NaN, half a surrogate pair, nested too deeply",
    Fault.SHAPE_DIFFERS: "one side is a list, the other an object with `entries`",
    Fault.TOO_LARGE: f"larger than {BYTES_MAX >> 20} MiB",
}


def registry_ranks() -> str:
    """The statuses from the least to the furthest."""
    names = {rank: _code(name) for name, rank in RANK.items()} | {RANK_UNKNOWN: "any status not known here"}
    return "  " + " < ".join(names[rank] for rank in sorted(names))


def registry_reports() -> str:
    """What a merge may report."""
    return _table(("report", "says"), [(_code(kind), text.format("…")) for kind, text in SENTENCES.items()])


def registry_faults() -> str:
    """Why a merge is refused."""
    return _table(("fault", "meaning"), [(_code(fault), FAULTS[fault]) for fault in Fault])


# the proof ------------------------------------------------------------------------------------------

# name of a figure -> (what was done, where, the facts that are added up, those that are told once)
ATTACKS: dict[str, tuple[str, str, tuple[str, ...], tuple[str, ...]]] = {
    "simulation": (
        "simulated schedules without a broken promise",
        "tests/sim",
        ("schedules", "calls", "records"),
        (),
    ),
    "faults": (
        "system calls of a command made to fail or to be its last, one a run",
        "tests/faults",
        ("points", "runs"),
        (),
    ),
    "crash_states": ("states after a power loss", "tests/faults", ("states",), ()),
    "storm": (
        "a storm over worker processes",
        "tests/races",
        ("kills", "stops", "tasks", "takeovers", "refused"),
        ("workers", "seed"),
    ),
    "histories": (
        "histories of real processes, each linearizable",
        "tests/races",
        ("histories", "operations", "takeovers"),
        ("processes",),
    ),
    "planted": ("planted bugs, all caught", "tests/planted", (), ()),
}


def planted() -> str:
    """Every planted bug and the test that catches it."""
    sys.path.insert(0, str(ROOT))
    from tests.planted.table import BUGS, SIMULATION

    def catcher(test: str) -> str:
        return "the simulation" if test == SIMULATION else _code(test.rpartition("::")[2])

    return _table(
        ("planted", "what goes wrong", "caught by"),
        [(_code(name), bug.what, catcher(bug.caught_by)) for name, bug in BUGS.items()],
    )


def figures() -> str:
    """What the last full run counted, from the file that `make nightly` writes."""
    said = [json.loads(line) for line in FIGURES.read_text(encoding="utf-8").splitlines()]
    about = next(one for one in said if one["name"] == "run")
    rows = []
    for name, (what, where, sums, facts) in ATTACKS.items():
        found = [one for one in said if one["name"] == name]
        told = [f"{sum(one[fact] for one in found):,} {fact}" for fact in sums] or [f"{len(found):,}"]
        told += [f"{fact} {found[0][fact]}" for fact in facts if found]
        rows.append((what, _code(where), ", ".join(told), f"{sum(one['seconds'] for one in found):,} s"))
    head = f"Commit {_code(about['commit'])}, {about['date']}, {about['cores']} cores, Python {about['python']}:"
    return f"{head}\n\n{_table(('attack', 'in', 'counted', 'took'), rows)}"


PARTS: dict[str, Callable[[], str]] = {
    "command-index": command_index,
    "commands": commands,
    "config-file": config_file,
    "diagram": diagram,
    "errors": errors,
    "exits": exits,
    "fields": fields,
    "figures": figures,
    "halts": halts,
    "planted": planted,
    "registry-faults": registry_faults,
    "registry-ranks": registry_ranks,
    "registry-reports": registry_reports,
    "settings": settings,
    "transitions": transitions,
    "who": who,
}


def pages() -> list[Path]:
    """Every page that may have generated parts."""
    return [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]


def parts_of(text: str) -> list[str]:
    """The names of the generated parts of a page."""
    return [found[1] for found in _PART.finditer(text)]


def rewritten(text: str) -> str:
    """A page with its generated parts made anew; each name must stand in `PARTS`."""
    return _PART.sub(
        lambda found: f"<!-- generated: {found[1]} -->\n{PARTS[found[1]]()}\n<!-- end: {found[1]} -->\n", text
    )


def main() -> int:
    """Rewrite every page that is out of date."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        made = rewritten(text)
        if made != text:
            page.write_text(made, encoding="utf-8")
            sys.stdout.write(f"rewrote {page.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
