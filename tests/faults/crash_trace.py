"""From a traced operation to the list of its effects on a folder: what a power loss takes a part of.

A real `rk` runs under strace, with every byte that it writes in the trace. Files and folders are numbered
nodes, since names come and go. The list is checked against the folder as the operation left it: an effect
that the reader doesn't know would show there.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

Tree = dict[str, bytes | None]  # by path relative to the folder: a file's bytes, None for a folder

ROOT_NODE = 0
_TRACED = (
    "?open,openat,?creat,write,pwrite64,writev,?truncate,ftruncate,fsync,fdatasync,?link,linkat,?rename,renameat,"
    "renameat2,?unlink,unlinkat,?mkdir,mkdirat,?rmdir"
)
_LINE = re.compile(r"^(?P<pid>\d+) +(?P<name>\w+)\((?P<args>.*)\) += (?P<result>\d+)(?P<rest>.*)$")
_UNFINISHED = re.compile(r"^(?P<pid>\d+) +(?P<start>\w+\(.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"^(?P<pid>\d+) +<\.\.\. \w+ resumed>(?P<end>.*)$")
_HEX = r"(?:\\x[0-9a-f]{2})*"
_TEXT = re.compile(rf'"({_HEX})"(\.\.\.)?')
_PLACE = re.compile(rf'(?:AT_FDCWD|\d+)<({_HEX})>(?:\(deleted\))?, "({_HEX})"|(?:^|, )"({_HEX})"')
_FD = re.compile(rf"^(\d+)<({_HEX})>")
_OWN_FD = re.compile(r"^/proc/self/fd/(\d+)$")
_PATIENCE_S = 60


class Names(NamedTuple):
    """One change of names in a folder, which a loss takes whole or not at all; None: the name is gone."""

    folder: int
    changes: tuple[tuple[str, int | None], ...]


class Write(NamedTuple):
    """Bytes put into a file."""

    node: int
    offset: int
    data: bytes


class Resize(NamedTuple):
    """A file cut, or made longer by zeros."""

    node: int
    size: int


class Sync(NamedTuple):
    """A file's data, or a folder's names, made durable."""

    node: int


class Said(NamedTuple):
    """Success said on standard output."""

    text: bytes


Effect = Names | Write | Resize | Sync | Said


class Trace(NamedTuple):
    """A folder before an operation, all of it durable, and what the operation did to it."""

    names: Mapping[int, Mapping[str, int]]  # by folder
    data: Mapping[int, bytes]  # by file
    effects: Sequence[Effect]
    made: frozenset[int] = frozenset()  # the new folders


def snapshot(folder: Path) -> Tree:
    """Every file and folder below `folder`."""
    found: Tree = {}
    for where, folders, names in os.walk(folder):
        for name in folders:
            found[os.path.relpath(os.path.join(where, name), folder)] = None
        for name in names:
            path = os.path.join(where, name)
            found[os.path.relpath(path, folder)] = Path(path).read_bytes()
    return found


def lay(folder: Path, tree: Tree) -> None:
    """Make `folder` hold `tree` and nothing else."""
    for one in os.scandir(folder):
        shutil.rmtree(one.path) if one.is_dir(follow_symlinks=False) else os.unlink(one.path)
    for path in sorted(tree):
        content = tree[path]
        if content is None:
            os.mkdir(folder / path)
        else:
            (folder / path).write_bytes(content)


def planted(tree: Tree) -> tuple[dict[int, dict[str, int]], dict[int, bytes]]:
    """Names by folder node, and data by file node, of a tree that is durable."""
    nodes: dict[str, int] = {"": ROOT_NODE}
    names: dict[int, dict[str, int]] = {ROOT_NODE: {}}
    data: dict[int, bytes] = {}
    for path in sorted(tree):
        above, _, name = path.rpartition("/")
        node = nodes[path] = len(nodes)
        names[nodes[above]][name] = node
        content = tree[path]
        if content is None:
            names[node] = {}
        else:
            data[node] = content
    return names, data


def _plain(coded: str) -> bytes:
    return bytes.fromhex(coded.replace("\\x", ""))


def _path(coded: str) -> str:
    return os.fsdecode(_plain(coded))


class _Call(NamedTuple):
    pid: str
    name: str
    args: str
    result: int
    rest: str

    def places(self, base: str) -> list[str]:
        """The paths that the call names, absolute."""
        return [
            os.path.normpath(os.path.join(base, _path(at or ""), _path(below if below is not None else alone)))
            for at, below, alone in (match.groups() for match in _PLACE.finditer(self.args))
        ]

    def fd(self) -> tuple[int, str]:
        """The call's first descriptor, and the path that it stands for."""
        match = _FD.match(self.args)
        assert match is not None, self
        return int(match[1]), _path(match[2])

    def bytes(self) -> bytes:
        """What the call wrote."""
        pieces = _TEXT.findall(self.args)
        assert not any(cut for _, cut in pieces), f"strace has cut the data of {self.name}"
        return b"".join(_plain(text) for text, _ in pieces)[: self.result]


def _calls(text: str) -> Iterator[_Call]:
    """The calls that succeeded, in the order in which they ended."""
    begun: dict[str, str] = {}
    for raw in text.splitlines():
        line = raw
        if (half := _UNFINISHED.match(line)) is not None:
            begun[half["pid"]] = half["start"]
            continue
        if (half := _RESUMED.match(line)) is not None:
            line = f"{half['pid']} {begun.pop(half['pid'])}{half['end']}"
        if (match := _LINE.match(line)) is not None:
            yield _Call(match["pid"], match["name"], match["args"], int(match["result"]), match["rest"])


class Reader:
    """Turns calls into effects on one folder; what lies outside of it is left out."""

    def __init__(self, root: str, tree: Tree) -> None:
        self.root = root
        names, data = planted(tree)
        self._sizes = {node: len(content) for node, content in data.items()}
        self._nodes = {root: ROOT_NODE}
        self._count = 1 + len(tree)
        self._walk(root, ROOT_NODE, names)
        self._opened: dict[tuple[str, int], int] = {}
        self._position: dict[int, int] = {}
        self.effects: list[Effect] = []
        self.made: set[int] = set()

    def _walk(self, path: str, node: int, names: Mapping[int, Mapping[str, int]]) -> None:
        for name, below in names.get(node, {}).items():
            self._nodes[f"{path}/{name}"] = below
            self._walk(f"{path}/{name}", below, names)

    def _new(self) -> int:
        self._count += 1
        return self._count - 1

    def _inside(self, path: str) -> bool:
        return path == self.root or path.startswith(self.root + "/")

    def _name(self, path: str, node: int | None) -> tuple[int, tuple[str, int | None]]:
        above, _, name = path.rpartition("/")
        return self._nodes[above], (name, node)

    def _change(self, path: str, node: int | None) -> None:
        folder, change = self._name(path, node)
        self.effects.append(Names(folder, (change,)))
        if node is None:
            self._nodes.pop(path)
        else:
            self._nodes[path] = node

    def feed(self, call: _Call) -> None:
        """Add what one call did."""
        getattr(self, "_do_" + _ALIKE.get(call.name, call.name))(call)

    def _do_open(self, call: _Call) -> None:
        match = re.match(rf"<({_HEX})>", call.rest)
        path = _path(match[1]) if match is not None else ""
        if not self._inside(path):
            self._opened.pop((call.pid, call.result), None)
            return
        if "O_TMPFILE" in call.args:
            self._nodes[path] = self._new()
        elif path not in self._nodes:
            assert "O_CREAT" in call.args or call.name == "creat", (call, path)
            self._change(path, self._new())
        node = self._opened[call.pid, call.result] = self._nodes[path]
        size = self._sizes.setdefault(node, 0)
        if ("O_TRUNC" in call.args or call.name == "creat") and size:
            self._sizes[node] = 0
            self.effects.append(Resize(node, 0))
        self._position[node] = self._sizes[node] if "O_APPEND" in call.args else 0

    def _do_write(self, call: _Call) -> None:
        fd, path = call.fd()
        if fd == 1 and path.startswith("pipe:"):
            self.effects.append(Said(call.bytes()))
        elif self._inside(path):
            node = self._nodes[path]
            self._put(node, self._position[node], call.bytes())
            self._position[node] += call.result

    def _do_pwrite64(self, call: _Call) -> None:
        _, path = call.fd()
        if self._inside(path):
            self._put(self._nodes[path], int(call.args.rpartition(", ")[2]), call.bytes())

    def _put(self, node: int, offset: int, data: bytes) -> None:
        self.effects.append(Write(node, offset, data))
        self._sizes[node] = max(self._sizes[node], offset + len(data))

    def _do_truncate(self, call: _Call) -> None:
        path = call.fd()[1] if call.name == "ftruncate" else call.places(self.root)[0]
        if self._inside(path):
            size = self._sizes[self._nodes[path]] = int(call.args.rpartition(", ")[2])
            self.effects.append(Resize(self._nodes[path], size))

    def _do_fsync(self, call: _Call) -> None:
        _, path = call.fd()
        if self._inside(path):
            self.effects.append(Sync(self._nodes[path]))

    def _do_link(self, call: _Call) -> None:
        source, target = call.places(self.root)
        if self._inside(target):
            own = _OWN_FD.match(source)
            self._change(target, self._opened[call.pid, int(own[1])] if own is not None else self._nodes[source])

    def _do_rename(self, call: _Call) -> None:
        source, target = call.places(self.root)
        assert self._inside(source) == self._inside(target), call
        if not self._inside(source):
            return
        assert "RENAME_" not in call.args, call
        node = self._nodes[source]
        (old, gone), (new, there) = self._name(source, None), self._name(target, node)
        halves = [Names(new, (gone, there))] if old == new else [Names(new, (there,)), Names(old, (gone,))]
        self.effects.extend(halves)
        for path in [path for path in self._nodes if path == source or path.startswith(source + "/")]:
            self._nodes[target + path[len(source) :]] = self._nodes.pop(path)

    def _do_unlink(self, call: _Call) -> None:
        path = call.places(self.root)[0]
        if self._inside(path):
            self._change(path, None)

    def _do_mkdir(self, call: _Call) -> None:
        path = call.places(self.root)[0]
        if self._inside(path):
            self.made.add(self._count)
            self._change(path, self._new())


_ALIKE = {
    **dict.fromkeys(("openat", "creat"), "open"),
    "writev": "write",
    "ftruncate": "truncate",
    "fdatasync": "fsync",
    "linkat": "link",
    **dict.fromkeys(("renameat", "renameat2"), "rename"),
    **dict.fromkeys(("unlinkat", "rmdir"), "unlink"),
    "mkdirat": "mkdir",
}


def traced(command: Sequence[str], folder: Path, log: Path, env: Mapping[str, str], status: int = 0) -> Trace:
    """Run `command` in `folder`; what it did there.

    Args:
        command: a program that says on standard output that it has done its work.
        folder: where it runs; what it does elsewhere is left out.
        log: where strace writes.
        env: its environment, beside the present one.
        status: how it ends.
    """
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    before = snapshot(folder)
    strace = [
        "strace",
        "-f",
        "--seccomp-bpf",
        "-y",
        "-xx",
        "-s",
        "16777216",
        "-e",
        f"trace={_TRACED}",
        "-e",
        "signal=none",
    ]
    done = subprocess.run(
        [*strace, "-o", str(log), *command],
        cwd=folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    assert done.returncode == status, (command, done.returncode, done.stdout, done.stderr)
    reader = Reader(str(folder), before)
    for call in _calls(log.read_text(encoding="ascii")):
        reader.feed(call)
    names, data = planted(before)
    return Trace(names, data, tuple(reader.effects), frozenset(reader.made))


def rk(words: Sequence[str], before: str = "", program: Sequence[str] = ("-m", "repokernel")) -> list[str]:
    """The command that runs `rk`, after the shell has run `before` (what a worker does by itself)."""
    command = [sys.executable, *program, *words]
    return ["/bin/sh", "-e", "-c", f'{before}\nexec "$@"', "sh", *command] if before else command
