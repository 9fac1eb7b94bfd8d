"""From the words of the command line to an exit status: find the command, run it, say what came of it."""

from __future__ import annotations

import os
import sys

from repokernel.cli.screen import safe, safe_json, said
from repokernel.cli.spec import Call, parse
from repokernel.cli.table import COMMANDS, load
from repokernel.core.errors import RkError, error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from repokernel.cli.spec import Result

_VALUE_BEFORE = ("-C", "--board", "--role")


def _split(argv: Sequence[str]) -> tuple[str | None, list[str]]:
    """The command's name and all other words; common options may stand before the name."""
    place = 0
    while place < len(argv) and argv[place].startswith("-") and argv[place] != "--":
        place += 2 if argv[place] in _VALUE_BEFORE else 1
    if place >= len(argv) or argv[place] == "--":
        return None, list(argv)
    return argv[place], [*argv[:place], *argv[place + 1 :]]


def run(argv: Sequence[str]) -> Result:
    """The result of a command line.

    Raises:
        RkError: what the command refuses with.
    """
    name, rest = _split(argv)
    if name is None:
        if "--version" in rest:
            from repokernel.cli.cmd_help import version

            return version()
        name = "help" if "--help" in rest or "-h" in rest else "status"
    if name == "help":
        from repokernel.cli.cmd_help import help_page

        return help_page([word for word in rest if not word.startswith("-")])
    if name not in COMMANDS:
        from repokernel.cli.spec import near

        hint = near(name, list(COMMANDS)) or "`rk --help` lists the commands"
        raise error("bad_usage", f"there is no command {name!r:.80}", hint=hint)
    command = load(name)
    call = Call(command, _working_folder(), os.environ)
    parse(command, rest, call)
    if call.flag("--help"):
        from repokernel.cli.cmd_help import command_page

        return command_page(command)
    _move(call)
    return command.run(call)


def _move(call: Call) -> None:
    """Go where `-C` says."""
    folder = call.one("-C")
    if folder is not None:
        call.cwd = os.path.normpath(os.path.join(call.cwd, folder))
        if not os.path.isdir(call.cwd):
            raise error("bad_value", f"-C {folder!r:.200} is not a folder", field="C")
    if not call.cwd:
        raise error(
            "bad_value", "the working folder is gone", hint="change to one that exists, or give -C DIR", field="C"
        )


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # somebody has removed it
        return ""


class OutputLostError(Exception):
    """What was done is done; it could not be told."""


def _write(stream_fd: int, text: str) -> None:
    data = text.encode("utf-8", "backslashreplace")
    try:
        while data:
            data = data[os.write(stream_fd, data) :]
    except BrokenPipeError:
        raise
    except OSError as cause:
        raise OutputLostError(os.strerror(cause.errno or 0)) from cause


def show(result: Result, *, as_json: bool) -> int:
    """Print a result; its exit status."""
    if as_json:
        import json

        _write(1, safe_json(json.dumps({"ok": result.status == 0, **result.document}, ensure_ascii=False)) + "\n")
    else:
        text = result.text()
        if text:
            _write(1, safe(text.rstrip("\n")) + "\n")
    return result.status


def refuse(refusal: RkError, *, as_json: bool) -> int:
    """Print a refusal; its exit status."""
    if as_json:
        import json

        _write(1, safe_json(json.dumps({"ok": False, "error": refusal.as_dict()}, ensure_ascii=False)) + "\n")
    else:
        hint = f"\nhint: {said(refusal.hint)}" if refusal.hint else ""
        _write(2, f"rk: {said(refusal.message)}{hint}\n")
    return refusal.exit_status


def _defect() -> RkError:
    from repokernel.cli.defect import report

    return report()


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line.

    Returns:
        The exit status (DESIGN section 13).
    """
    words = list(sys.argv[1:] if argv is None else argv)
    before_dashes = words[: words.index("--")] if "--" in words else words
    as_json = "--json" in before_dashes
    try:
        return _answer(words, as_json=as_json)
    except RkError as refusal:
        return _told(refusal, as_json=as_json)
    except KeyboardInterrupt:
        return _told(error("interrupted", "interrupted"), as_json=as_json)
    except OutputLostError as lost:
        said = f"standard output can't be written: {lost}; the command itself has run"
        return _told(error("output_unwritten", said, hint="`rk status` says what became of it"), as_json=False)
    except Exception:  # the one place that a defect may reach  # noqa: BLE001
        return _told(_defect(), as_json=as_json)


def _answer(words: Sequence[str], *, as_json: bool) -> int:
    result = run(words)
    try:
        return show(result, as_json=as_json)
    except BrokenPipeError:  # the reader has seen enough, as in `rk list | head`
        return result.status


def _told(refusal: RkError, *, as_json: bool) -> int:
    try:
        return refuse(refusal, as_json=as_json)
    except (BrokenPipeError, OutputLostError):
        return refusal.exit_status
