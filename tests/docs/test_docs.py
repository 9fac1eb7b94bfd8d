"""What the documentation says is so: its examples run, its tables are those of the code, its links lead somewhere."""

import json
import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import pytest

from repokernel.cli.spec import Call, parse
from repokernel.cli.table import COMMANDS, load
from repokernel.core import jsontext
from repokernel.core.entry import complete
from repokernel.core.ids import fold, task_id
from repokernel.core.lease import with_beat
from repokernel.core.phase import Cell, Phase
from repokernel.core.record import decode
from tests.docs.session import blocks, fits, page_steps, play, tools

ROOT = Path(__file__).resolve().parents[2]
GENERATOR: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "generate.py"))
PAGES = [*GENERATOR["pages"](), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
RUN = [page for page in PAGES if blocks(page.read_text(encoding="utf-8"), "console", "python")]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def text(page: Path | str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings get on the usual hosts."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text(page), flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


# examples -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", RUN, ids=name)
def test_every_example_does_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    folder, scripts = tmp_path / "reader", tmp_path / "scripts"
    folder.mkdir()
    scripts.mkdir()
    steps = page_steps(text(page), scripts)
    printed = play(steps, folder, tools(tmp_path / "bin"))
    wrong = [
        f"$ {step.command}\nshown:\n{step.shown}\nprinted:\n{out}"
        for step, out in zip(steps, printed, strict=True)
        if not fits(step.shown, out)
    ]
    assert not wrong, "\n\n".join(wrong)


def test_the_pages_that_have_examples_are_the_expected_ones() -> None:
    expected = {"README.md", *(f"docs/{name}.md" for name in ("errors", "format", "python", "registry", "workers"))}
    assert {name(page) for page in RUN} == expected


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a …", "a 12\n", True),
        ("a …", "b 12\n", False),
        ("…", "", True),
        ("a\n…\nz", "a\nb\nc\nz\n", True),
        ("a\n…\nz", "a\nb\nc\n", False),
        ("", "something\n", False),
        ("", "", True),
        ("a.c", "abc\n", False),
    ],
)
def test_an_ellipsis_stands_for_what_varies_and_for_nothing_else(shown: str, printed: str, same: bool) -> None:
    assert fits(shown, printed) is same


# generated parts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", GENERATOR["pages"](), ids=name)
def test_generated_parts_are_what_the_generator_makes(page: Path) -> None:
    assert GENERATOR["rewritten"](text(page)) == text(page), "run `make docs`"


def test_every_generated_part_stands_on_one_page() -> None:
    used = [part for page in GENERATOR["pages"]() for part in GENERATOR["parts_of"](text(page))]
    markers = [part for page in GENERATOR["pages"]() for part in re.findall(r"<!-- (?:generated|end): ", text(page))]
    assert sorted(used) == sorted(GENERATOR["PARTS"])
    assert len(markers) == 2 * len(used)


# commands -------------------------------------------------------------------------------------------


def rk_words(example: str) -> list[str]:
    """The words of the `rk` call in an example, less what the shell around it takes."""
    inner = re.fullmatch(r'eval "\$\((.*)\)"', example)
    words = shlex.split(inner[1] if inner else example)
    return words[: words.index(">")] if ">" in words else words


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_what_it_does_and_has_examples_that_parse(command: str) -> None:
    told = load(command)
    assert told.name == command
    assert told.about.strip()
    assert told.examples
    for example in told.examples:
        words = rk_words(example)
        assert words[0] == "rk"
        if words == ["rk"]:
            assert command == "status"
            continue
        assert words[1] == command
        parse(told, words[2:], Call(told, "/", {}))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_says_what_it_does(command: str) -> None:
    for option in load(command).opts.values():
        assert option.help.strip(), option.name


def test_every_command_has_a_heading_in_the_reference() -> None:
    headings = re.findall(r"^### rk (\S+)$", text("docs/commands.md"), re.MULTILINE)
    assert headings == list(COMMANDS)


# words ----------------------------------------------------------------------------------------------


def test_the_glossary_has_every_phase_and_the_lifecycle_every_cell() -> None:
    missing: list[str] = [phase for phase in Phase if f"`{phase}`" not in text("docs/glossary.md")]
    missing += [cell for cell in Cell if f"`{cell}`" not in text("docs/lifecycle.md")]
    assert missing == []


def test_every_environment_variable_of_the_code_is_in_the_reference_and_no_other() -> None:
    # docs/configuration.md describes what users meet; the sources say what there is
    sources = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "src").rglob("*.py")))
    pattern = r"\bRK_[A-Z_]+\b"
    in_code = set(re.findall(pattern, sources))
    assert set(re.findall(pattern, text("docs/configuration.md"))) == in_code


def test_the_record_and_the_beat_that_the_format_shows_are_read_as_such() -> None:
    record, beat = (json.loads(content) for _, content in blocks(text("docs/format.md"), "json"))
    found = decode(jsontext.canonical(record), fold(task_id("ch-1")), 2, "the example")
    assert found.extra == {}
    assert with_beat(found.entry, jsontext.canonical(beat))["lease_expires"] == beat["lease_expires"]
    assert found.entry == complete(record["state"])


def test_the_readme_names_the_make_commands_that_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", text("Makefile"), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z]+)`", text("README.md")))
    assert {"demo", "test"} <= named <= targets


def test_the_architecture_names_modules_that_exist() -> None:
    modules = re.findall(r"`([a-z]+/[a-z_]+\.py|bootstrap\.py)`", text("ARCHITECTURE.md"))
    assert modules
    assert [module for module in modules if not (ROOT / "src" / "repokernel" / module).is_file()] == []


# links ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for link in LINK.findall(text(page)):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []
