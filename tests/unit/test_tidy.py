"""Limits on the shape of the sources, and on what they may mention."""

import ast
import configparser
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "repokernel"
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 50
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "managers", "misc"}
PRINTING = {"cli", "demo"}
SPAWNER = "adapters/process.py"
CLOCK = "adapters/system.py"

# In two parts, so that this file doesn't find itself.
MACHINE_PATH = re.compile(r"(?<![\w.~-])/" + r"(?:work/|root\b)")


def sources() -> list[Path]:
    """All modules of the package, in a fixed order."""
    files = sorted(PACKAGE.rglob("*.py"))
    assert files, "there are no sources to check"
    return files


def place(path: Path, line: int | None = None) -> str:
    name = path.relative_to(ROOT).as_posix()
    return name if line is None else f"{name}:{line}"


def found(matches: Callable[[ast.AST], bool]) -> Iterator[tuple[Path, ast.AST]]:
    """Each node of the package that matches, with its file."""
    for path in sources():
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        yield from ((path, node) for node in ast.walk(tree) if matches(node))


def line_of(node: ast.AST) -> int:
    assert isinstance(node, ast.expr | ast.stmt)
    return node.lineno


def test_no_file_is_longer_than_the_limit() -> None:
    lines = {place(path): len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}
    assert {name: count for name, count in lines.items() if count > FILE_LINES_MAX} == {}


def test_no_function_is_longer_than_the_limit() -> None:
    too_long = {}
    for path, node in found(lambda node: isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if lines > FUNCTION_LINES_MAX:
            too_long[f"{place(path, node.lineno)} {node.name}"] = lines
    assert too_long == {}


def test_every_module_has_a_name_that_says_what_it_is_for() -> None:
    vague = [
        place(path) for path in sources() if VAGUE_NAMES & {part.lstrip("_") for part in (path.parent.name, path.stem)}
    ]
    assert vague == []


def test_only_the_shells_print() -> None:
    def is_print(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"

    printing = [
        place(path, line_of(node))
        for path, node in found(is_print)
        if path.relative_to(PACKAGE).with_suffix("").parts[0] not in PRINTING
    ]
    assert printing == []


@pytest.mark.parametrize(
    ("owner", "modules", "attributes"),
    [
        pytest.param(
            SPAWNER,
            {"subprocess", "multiprocessing", "pty"},
            {
                *("os.system", "os.popen", "os.fork", "os.forkpty"),
                *("os.posix_spawn", "os.posix_spawnp"),
            },
            id="programs are started",
        ),
        pytest.param(
            CLOCK,
            set[str](),
            {
                *("time.time", "time.time_ns"),
                *("datetime.now", "datetime.today", "datetime.utcnow", "date.today"),
            },
            id="the clock is read",
        ),
    ],
)
def test_one_module_alone_does_it(owner: str, modules: set[str], attributes: set[str]) -> None:
    def is_use(node: ast.AST) -> bool:
        match node:
            case ast.Import(names=names):
                return any(alias.name.split(".")[0] in modules for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                full = {f"{module}.{alias.name}" for alias in names}
                return module.split(".")[0] in modules or not full.isdisjoint(attributes)
            case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr=attr):
                return f"{name}.{attr}" in attributes
            case _:
                return False

    elsewhere = [
        place(path, line_of(node)) for path, node in found(is_use) if path.relative_to(PACKAGE).as_posix() != owner
    ]
    assert elsewhere == []


def test_every_store_is_named_in_the_contract_that_keeps_stores_apart() -> None:
    stores = {path.stem for path in (PACKAGE / "adapters").glob("store_*")}
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter", encoding="utf-8")
    layers = contracts["importlinter:contract:stores"]["layers"]
    assert stores <= set(re.findall(r"\w+", layers))


def test_no_file_mentions_a_path_of_the_machine_it_was_written_on() -> None:
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others"]
    listing = subprocess.run(
        [*command, "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, timeout=5
    ).stdout.decode()
    mentions = []
    for path in (ROOT / name for name in listing.split("\0") if name):
        if not path.is_file() or path.is_symlink():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        mentions += [
            place(path, number) for number, line in enumerate(text.splitlines(), start=1) if MACHINE_PATH.search(line)
        ]
    assert mentions == []
