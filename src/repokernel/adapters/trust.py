"""Commands that a board's configuration names run only after the user has trusted exactly their text.

What was trusted is kept for each user, outside every board, keyed by the board's folder and the hash
of the command. What runs gets a small environment and no input.
"""

from __future__ import annotations

import os

from repokernel.adapters.process import run
from repokernel.core import jsontext
from repokernel.core.errors import error
from repokernel.core.lease import Alive
from repokernel.core.record import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_TIMEOUT_S = 10
_PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "KUBECONFIG", "SSH_AUTH_SOCK")


def _file() -> str:
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "repokernel", "trusted.json")


def _mark(command: Sequence[str], root: str) -> str:
    return digest(jsontext.canonical([os.path.realpath(root), list(command)]))


def _trusted() -> list[str]:
    try:
        with open(_file(), "rb") as stream:
            value = jsontext.parse(stream.read(1 << 20))
    except (OSError, ValueError):
        return []
    return [mark for mark in value if isinstance(mark, str)] if isinstance(value, list) else []


def is_trusted(command: Sequence[str], root: str) -> bool:
    """Whether the user has trusted this very command of this very board."""
    return _mark(command, root) in _trusted()


def trust(command: Sequence[str], root: str) -> None:
    """Remember that the user trusts the command.

    Raises:
        BrokenError: `store_io`.
    """
    path = _file()
    marks = sorted({*_trusted(), _mark(command, root)})
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        aside = f"{path}.{os.getpid()}"
        with open(aside, "wb") as stream:
            stream.write(jsontext.canonical(marks))
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(aside, path)
    except OSError as cause:
        raise error("store_io", f"can't write {path}: {cause.strerror}") from cause


def ask_liveness(command: Sequence[str], owner: str, root: str) -> Alive:
    """What the configured command says of an owner: exit 0 alive, 1 dead, anything else unknown."""
    if not is_trusted(command, root):
        return Alive.UNKNOWN
    env = {name: os.environ[name] for name in _PASSED if name in os.environ}
    finished = run([*command, owner], timeout_s=_TIMEOUT_S, env={**env, "RK_OWNER": owner})
    if finished.status == 0:
        return Alive.YES
    return Alive.NO if finished.status == 1 else Alive.UNKNOWN
