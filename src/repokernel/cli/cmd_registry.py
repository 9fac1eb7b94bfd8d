"""`rk registry-merge-driver`."""

from __future__ import annotations

import gc
import os

from repokernel import bootstrap_registry
from repokernel.cli.screen import line
from repokernel.cli.spec import Call, Command, Opt, Result
from repokernel.core.errors import error
from repokernel.core.registry_join import Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from repokernel.core.registry_join import Report

# what each report says, about `{}`
SENTENCES: Mapping[Kind, str] = {
    Kind.BASE_UNREADABLE: "there is no base to compare with ({}), so nothing counts as removed",
    Kind.CONFUSABLE: "several ids read as {}",
    Kind.CONTENDED: "{} was changed on both sides and is equally far on both; one side's owner and output stand",
    Kind.DIVERGED: "{} was changed differently on both sides; the value that sorts first stands",
    Kind.DUPLICATE: "{} stood twice on one side; its entries were joined",
    Kind.KEPT: "{} was removed on one side and changed on the other; it is kept",
    Kind.UNKNOWN_STATUS: "the status {} is not known here; it ranks just below done",
}
_NAME = "the registry"
_CHARS_MAX = 120


def _driver(call: Call) -> Result:
    current, other = call.one("--current"), call.one("--other")
    if not current or not other:
        missing = "--other" if current else "--current"
        raise error("bad_usage", f"registry-merge-driver needs {missing}", hint="rk registry-merge-driver --help")
    name = call.one("--path") or _NAME
    collects = gc.isenabled()
    gc.disable()  # nothing here makes cycles, and looking for them costs a third
    try:
        reports = bootstrap_registry.merge_driver(call.cwd, current, other, call.one("--base") or "", name)
    finally:
        if collects:
            gc.enable()
    if not call.flag("--json"):
        _tell(name, reports)
    findings = [{"code": one.kind.value, "what": one.what, "detail": _sentence(one)} for one in reports]
    return Result({"outcome": "merged", "path": name, "findings": findings}, str)


def _sentence(report: Report) -> str:
    what = report.what if len(report.what) <= _CHARS_MAX else report.what[:_CHARS_MAX] + "…"
    return SENTENCES[report.kind].format(what)


def _tell(name: str, reports: tuple[Report, ...]) -> None:
    """Reports go to standard error; a merge that succeeded doesn't fail because nobody listens."""
    lines = [line(f"{name}: {one.kind.value}: {_sentence(one)}") + "\n" for one in reports]
    data = "".join(lines).encode("utf-8", "backslashreplace")
    try:
        while data:
            data = data[os.write(2, data) :]
    except OSError:
        return


commands = {
    "registry-merge-driver": Command(
        "registry-merge-driver",
        _driver,
        opts=(
            Opt("--current", "FILE", "our version, replaced by the merge (Git's %A)"),
            Opt("--other", "FILE", "their version (%B)"),
            Opt("--base", "FILE", "what both started from (%O); missing or empty: there is none"),
            Opt("--path", "NAME", "the file's name in the repository, for messages (%P)"),
        ),
        about=(
            "Merges two versions of .repokernel/registry.json: by id, the more progressed status wins, both orders\n"
            "give the same bytes, and no conflict is left. What a person may want to look at is said on standard\n"
            "error, one line each. A version that can't be read, or that has lost most entries, is not merged: both\n"
            "stand between conflict markers, and the exit status is 1. Git runs this command once it is configured."
        ),
        examples=["rk registry-merge-driver --current %A --other %B --base %O --path %P"],
    ),
}
