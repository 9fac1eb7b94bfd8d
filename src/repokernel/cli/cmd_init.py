"""`rk init`."""

from __future__ import annotations

from repokernel import bootstrap
from repokernel.cli.spec import Call, Command, Result


def _init(call: Call) -> Result:
    place, made = bootstrap.make_board(call.one("--board") or call.env.get("RK_BOARD"), call.cwd)
    where = "this Git repository, shared by all its worktrees" if place.repository else "this folder"
    text = f"{'made a board' if made else 'there is a board already'} for {where}: {place.root}"
    above = bootstrap.board_above(place) if made else None
    if above is not None:
        text += f"\nnote: there is a board above, {above}; commands in this folder now use the new one"
    document = {
        "outcome": "made" if made else "unchanged",
        "board": {"url": f"file:{place.root}", "repository": place.repository},
    }
    following = 'rk add "my first task"' if made else "rk status"
    return Result(document, lambda: f"{text}\nnext: {following}")


commands = {
    "init": Command(
        "init",
        _init,
        about=(
            "Makes a board. In a Git repository it lies in the common Git folder, so that every worktree and\n"
            "subfolder shares it; in a plain folder in .repokernel/. With --board it lies where that says.\n"
            "Running it again changes nothing."
        ),
        examples=["rk init", "rk init --board file:/srv/queue"],
    )
}
