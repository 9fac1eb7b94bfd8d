"""Where a Git repository keeps what all its worktrees share, found without starting Git.

Follows gitrepository-layout(5): `.git` is a folder, or a file `gitdir: …`; a worktree's own folder
names the shared one in `commondir`. Inherited `GIT_*` variables are not consulted.
"""

from __future__ import annotations

import os

from repokernel.adapters.publish import shut

_POINTER_BYTES_MAX = 4096


def _line(path: str) -> str | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.fsdecode(os.read(fd, _POINTER_BYTES_MAX)).rstrip("\n")
    except OSError:
        return None
    finally:
        shut(fd)


def _is_git_dir(path: str) -> bool:
    has = {name: os.path.lexists(os.path.join(path, name)) for name in ("HEAD", "objects", "refs", "commondir")}
    return has["HEAD"] and (has["commondir"] or (has["objects"] and has["refs"]))


def _common(git_dir: str) -> str:
    pointer = _line(os.path.join(git_dir, "commondir"))
    return os.path.realpath(os.path.join(git_dir, pointer)) if pointer else os.path.realpath(git_dir)


def common_dir(folder: str) -> str | None:
    """The shared Git folder if `folder` is the top of a work tree, or itself a Git folder; else None."""
    dot_git = os.path.join(folder, ".git")
    if os.path.isdir(dot_git):
        return _common(dot_git) if _is_git_dir(dot_git) else None
    pointer = _line(dot_git)
    if pointer is not None and pointer.startswith("gitdir: "):
        target = os.path.normpath(os.path.join(folder, pointer[len("gitdir: ") :]))
        return _common(target) if _is_git_dir(target) else None
    return _common(folder) if _is_git_dir(folder) else None
