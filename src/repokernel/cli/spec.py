"""Commands as data, and a parser for them that costs nothing to import.

Every command states its arguments, options and examples once; parsing, `--help`, completion and the
documentation come from there. (argparse alone would cost a hot command 8 ms.)
"""

from __future__ import annotations

from repokernel.core.errors import error
from repokernel.core.times import parse_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Opt:
    """One option: `metavar` empty means a flag; `many` collects repetitions; `bare` allows no value."""

    __slots__ = ("bare", "help", "many", "metavar", "name", "short")

    def __init__(
        self, name: str, metavar: str, text: str, *, many: bool = False, bare: bool = False, short: str = ""
    ) -> None:
        """Describe `--name METAVAR`."""
        self.name = name
        self.metavar = metavar
        self.help = text
        self.many = many
        self.bare = bare
        self.short = short


class Command:
    """One command: what it takes and what runs it."""

    __slots__ = ("about", "args", "args_max", "args_min", "examples", "name", "opts", "run")

    def __init__(
        self,
        name: str,
        run: Callable[[Call], Result],
        *,
        args: str = "",
        count: tuple[int, int] = (0, 0),
        opts: Sequence[Opt] = (),
        about: str = "",
        examples: Sequence[str] = (),
    ) -> None:
        """Describe `rk name ARGS`.

        Args:
            name: the command's word.
            run: from the call to its result.
            args: the positional arguments as the usage line shows them.
            count: how many there may be at least and at most.
            opts: its options, besides the common ones.
            about: a paragraph for `--help`.
            examples: command lines.
        """
        self.name = name
        self.run = run
        self.args = args
        self.args_min, self.args_max = count
        self.opts = {opt.name: opt for opt in (*opts, *COMMON)}
        self.about = about
        self.examples = examples


COMMON = (
    Opt("--json", "", "one JSON document on standard output"),
    Opt("--board", "URL", "the board: a path or file:PATH (default: RK_BOARD, else found from the folder)"),
    Opt("-C", "DIR", "run as if started in DIR"),
    Opt("--help", "", "show this help", short="-h"),
)
_SHORT = {opt.short: opt.name for opt in COMMON if opt.short}
ROLE = Opt("--role", "R", "in which role you act (default: RK_ROLE, else your login)")
TOKEN = Opt("--token", "N", "the token of your claim (default: RK_TOKEN, else the head's if you are its owner)")
LEASE = Opt("--lease", "TIME", "length of the lease, such as 90s, 10m or 8h")
OWNER_PID = Opt("--owner-pid", "PID", "tie the claim to this process: when it is gone, others may take over at once")
OP_ID = Opt("--op-id", "NAME", "name this operation; repeating it under the same name has no second effect")


class Call:
    """A parsed command line, with what it is run in."""

    __slots__ = ("args", "command", "cwd", "env", "rest", "values")

    def __init__(self, command: Command, cwd: str, env: Mapping[str, str]) -> None:
        """Start with nothing parsed."""
        self.command = command
        self.cwd = cwd
        self.env = env
        self.args: list[str] = []
        self.rest: list[str] = []
        self.values: dict[str, list[str]] = {}

    def flag(self, name: str) -> bool:
        """Whether an option was given at all."""
        return name in self.values

    def one(self, name: str) -> str | None:
        """The last value of an option, or None."""
        given = self.values.get(name)
        return given[-1] if given else None

    def many(self, name: str) -> list[str]:
        """All values of an option."""
        return self.values.get(name, [])

    def whole(self, name: str, low: int, high: int) -> int | None:
        """An option's whole number.

        Raises:
            UsageError: `bad_value`.
        """
        text = self.one(name)
        return None if text is None else whole(text, name, low, high)

    def choice(self, name: str, allowed: Sequence[str]) -> str | None:
        """An option's value, one of a closed list.

        Raises:
            UsageError: `bad_value`.
        """
        text = self.one(name)
        if text is not None and text not in allowed:
            said = f"{name} {text!r:.80} must be one of {', '.join(allowed)}"
            raise error("bad_value", said, field=name.strip("-"))
        return text

    def duration_ms(self, name: str) -> int | None:
        """An option's duration in milliseconds.

        Raises:
            UsageError: `bad_value`.
        """
        text = self.one(name)
        if text is None:
            return None
        try:
            return parse_duration(text)
        except ValueError as cause:
            raise error("bad_value", f"{name} {text!r:.80} is {cause}", field=name.strip("-")) from None


_DIGITS_MAX = 18


def whole(text: str, name: str, low: int, high: int) -> int:
    """The whole number that `text` is.

    Raises:
        UsageError: `bad_value`.
    """
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS_MAX and low <= int(text) <= high):
        said = f"{name} {text!r:.80} is not a whole number between {low:,} and {high:,}"
        raise error("bad_value", said, field=name.strip("-"))
    return int(text)


class Result:
    """What a command answers: a document for `--json`, text for people, and the exit status."""

    __slots__ = ("document", "status", "text")

    def __init__(self, document: Mapping[str, object], text: Callable[[], str], status: int = 0) -> None:
        """Keep both forms; the text is made only if it is shown."""
        self.document = document
        self.text = text
        self.status = status


def near(word: str, known: Sequence[str]) -> str:
    """A hint that names what was probably meant, or nothing."""
    from difflib import get_close_matches

    found = get_close_matches(word, known, 1)
    return f"did you mean {found[0]}?" if found else ""


def _usage(command: Command, message: str, hint: str = "") -> Exception:
    return error("bad_usage", f"{command.name}: {message}", hint=hint or f"rk {command.name} --help")


def parse(command: Command, argv: Sequence[str], call: Call) -> None:
    """Fill `call` from the words after the command's name.

    Raises:
        UsageError: `bad_usage`.
    """
    words = list(argv)
    if "--" in words:
        cut = words.index("--")
        words, call.rest = words[:cut], words[cut + 1 :]
    words.reverse()
    while words:
        word = words.pop()
        if word.startswith("-") and word != "-":
            _option(command, word, words, call)
        else:
            call.args.append(word)
    if not command.args.startswith("--"):  # whatever follows `--` is no option, though it may look like one
        call.args += call.rest
    if not call.flag("--help") and not command.args_min <= len(call.args) <= command.args_max:
        wanted = command.args or "no arguments"
        raise _usage(command, f"takes {wanted}, and was given {len(call.args)} arguments")


def _option(command: Command, word: str, words: list[str], call: Call) -> None:
    """Take one option, and its value from the end of `words` where it has one there."""
    name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
    opt = command.opts.get(_SHORT.get(name, name))
    if opt is None:
        guess = near(name, list(command.opts))
        hint = f"{guess} (rk {command.name} --help)" if guess else "a text that begins with a dash goes after `--`"
        raise _usage(command, f"there is no option {name!r:.80}", hint)
    if not opt.metavar and equals:
        raise _usage(command, f"{name} takes no value")
    if opt.metavar and not equals and not opt.bare:
        if not words:
            raise _usage(command, f"{name} needs a value: {name} {opt.metavar}")
        value = words.pop()
    given = call.values.setdefault(opt.name, [])
    if given and not opt.many and opt.metavar:
        raise _usage(command, f"{name} was given twice")
    given.append(value)
