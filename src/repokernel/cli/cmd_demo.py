"""`rk demo`."""

from __future__ import annotations

import os

from repokernel.cli.spec import Call, Command, Opt, Result
from repokernel.core.errors import error


def _demo(call: Call) -> Result:
    if call.args[0] != "board":
        raise error("bad_value", f"there is no demo {call.args[0]!r:.80}", hint="rk demo board", field="demo")
    from repokernel.demo.board import run

    keep = call.one("--keep")
    report = run(keep=os.path.join(call.cwd, keep) if keep else None)
    return Result(report.as_dict(), report.text, 0 if report.good else 1)


commands = {
    "demo": Command(
        "demo",
        _demo,
        args="board",
        count=(1, 1),
        opts=(Opt("--keep", "DIR", "work in DIR and leave it there to look at"),),
        about=(
            "Runs a real job with real faults: 26 documents are summarised by four worker processes while one is\n"
            "killed, one is paused past its lease, one output fails to be written and one task is poisonous; and the\n"
            "same on a plain `done: true` file, to see the difference."
        ),
        examples=["rk demo board", "rk demo board --keep /tmp/rk-demo"],
    )
}
