"""What the hot commands may load: each further module costs every user at every call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

# what `python -I -c "import json, hashlib"` and the interpreter's start load is free
OURS = {
    "repokernel",
    "repokernel.__main__",
    "repokernel.adapters",
    "repokernel.adapters.board_folder",
    "repokernel.adapters.git_dir",
    "repokernel.adapters.outputs_file",
    "repokernel.adapters.publish",
    "repokernel.adapters.store_file",
    "repokernel.adapters.system",
    "repokernel.bootstrap",
    "repokernel.cli",
    "repokernel.cli.context",
    "repokernel.cli.main",
    "repokernel.cli.screen",
    "repokernel.cli.spec",
    "repokernel.cli.table",
    "repokernel.core",
    "repokernel.core.chars",
    "repokernel.core.entry",
    "repokernel.core.errors",
    "repokernel.core.halt",
    "repokernel.core.ids",
    "repokernel.core.jsontext",
    "repokernel.core.lease",
    "repokernel.core.output",
    "repokernel.core.owner",
    "repokernel.core.phase",
    "repokernel.core.record",
    "repokernel.core.settings",
    "repokernel.core.task",
    "repokernel.core.times",
    "repokernel.ops",
    "repokernel.ops.log",
    "repokernel.ports",
    "repokernel.ports.world",
}
CARRY = {"repokernel.cli.cmd_carry", "repokernel.ops.carry", "repokernel.ops.said", "repokernel.core.ready"}
CLAIM = {"repokernel.cli.cmd_claim", "repokernel.ops.claim", "repokernel.ops.offers", "repokernel.ops.verify"}
CLAIM |= {"repokernel.ops.view", "repokernel.core.ready"}
ALLOWED = {
    "claim": OURS | CLAIM,
    "renew": OURS | CARRY,
    "show": OURS | {"repokernel.cli.cmd_show"},
    "done": OURS | CARRY,
}
DRIVER = {
    "repokernel",
    "repokernel.__main__",
    "repokernel.adapters",
    "repokernel.adapters.merge_files",
    "repokernel.adapters.publish",
    "repokernel.bootstrap_registry",
    "repokernel.cli",
    "repokernel.cli.cmd_registry",
    "repokernel.cli.main",
    "repokernel.cli.screen",
    "repokernel.cli.spec",
    "repokernel.cli.table",
    "repokernel.core",
    "repokernel.core.chars",
    "repokernel.core.errors",
    "repokernel.core.jsontext",
    "repokernel.core.owner",
    "repokernel.core.registry",
    "repokernel.core.registry_fields",
    "repokernel.core.registry_join",
    "repokernel.core.registry_merge",
    "repokernel.core.times",
    "repokernel.ops",
    "repokernel.ops.merge_registry",
}
# the login's name; a hash without OpenSSL; numbers of errors; no code at all
STANDARD = {"pwd", "_sha2", "_sha256", "errno", "__future__"}
PROBE = """
import json, sys
before = set(sys.modules)
import hashlib, json
free = set(sys.modules)
from repokernel.__main__ import main
sys.argv[1:] = json.loads(sys.argv[1])
status = main()
with open({report!r}, "w") as stream:
    json.dump([status, sorted(set(sys.modules) - free)], stream)
"""


def loaded(folder: Path, *argv: str) -> tuple[int, set[str]]:
    report = folder / "modules.json"
    subprocess.run(
        [sys.executable, "-c", PROBE.format(report=str(report)), json.dumps(argv)],
        cwd=folder,
        env=dict(os.environ),
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=60,
    )
    status, modules = json.loads(report.read_text(encoding="utf-8"))
    return status, set(modules)


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_hot_commands_load_what_is_listed_and_nothing_else(tmp_path: Path, as_json: tuple[str, ...]) -> None:
    for setup in (("init",), ("add", "one", "--id", "t1"), ("add", "two", "--id", "t2")):
        assert loaded(tmp_path, *setup)[0] == 0
    (tmp_path / "out.txt").write_text("an output\n", encoding="utf-8")
    for argv in (("claim", "t1"), ("renew", "t1"), ("show", "t1"), ("done", "t1", "--output", "out.txt")):
        status, modules = loaded(tmp_path, *argv, *as_json)
        assert status == 0, argv
        surplus = modules - ALLOWED[argv[0]] - STANDARD
        assert not surplus, f"{argv[0]} loads {sorted(surplus)}"


@pytest.mark.parametrize("as_json", [(), ("--json",)])
@pytest.mark.parametrize(("ours", "expected"), [('[{"id":"x","status":"failed"}]', 0), ("not a registry", 1)])
def test_the_merge_driver_loads_no_board_nor_anything_else_it_does_without(
    tmp_path: Path, as_json: tuple[str, ...], ours: str, expected: int
) -> None:
    for name, text in (("A", ours), ("B", '[{"id":"x","status":"done"}]'), ("O", "")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    argv = ("registry-merge-driver", "--current", "A", "--other", "B", "--base", "O", *as_json)
    status, modules = loaded(tmp_path, *argv)
    assert status == expected
    surplus = modules - DRIVER - {"__future__", "errno", "gc"}
    assert not surplus, f"the driver loads {sorted(surplus)}"
