"""The command tree, made from the command table; a command's module is imported when it is chosen."""

import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from shutil import get_terminal_size
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from momo_cli.errors import Failure, usage
from momo_cli.flags import SWITCHES, VALUED
from momo_cli.frame.command_table import COMMANDS, FIRST, GROUPS, commands_meant, meanings, verb_alone, words_after

_EXTRA: Final = r"(?s)unexpected extra arguments?(?:\(s\))? \((.*)\)"
_NUMBER: Final = r"-[0-9][0-9.,]*"
_LIKE: Final = 0.6
"""How similar two words must be for a suggestion; the value of Python's own suggestions."""


def explain_problem(problem: Exception, command: str) -> Failure:
    """Return the failure (exit 2) for an exception of the parser; `command` is empty if there is only `momo`."""
    read = _READERS.get(type(problem).__name__, _as_it_is)
    typed = f"momo {command}".rstrip()
    return usage(read(problem, typed), f"{typed} --help")


def no_such_command(group: str, word: str, there: Iterable[str], groups: Sequence[str] = ()) -> Failure:
    """Return the failure for an unknown command, with what an ordinary word means, else the most similar one, as suggestion.

    `group` is the word before it, empty directly after `momo`; `there` are the valid words; `groups` have the command.
    """
    of = f"momo {group}".rstrip()
    if not group and (commands := commands_meant(word.lower())):
        next_ = (*(f"momo {each}" for each in commands), f"momo help {word}")
        named = commands[0].removesuffix(" --help")
        return usage(f"there is no command {word!r}; did you mean {named!r}?", *next_)
    if groups:
        needs = f"{word!r} needs a word before it: {', '.join(groups)}"
        return usage(needs, *(f"momo {each} {word}" for each in groups[:2]), f"{of} --help")
    meant = _alike(word, there)
    asked = f"; did you mean {meant!r}?" if meant else ""
    next_ = (f"{of} {meant}", f"{of} --help") if meant else (f"{of} --help",)
    return usage(f"there is no command {f'{group} {word}'.strip()!r}{asked}", *next_)


def check_words(command: Any, context: Any, words: Sequence[str]) -> None:  # the parser's own types
    """Reject (exit 2) mistakes that the parser accepts silently: a flag given twice, or a flag in the place of a value."""
    values, _, order = command.make_parser(context).parse_args(list(words))
    flags = {name for each in command.params for name in _names(each)} | {*SWITCHES, *VALUED}
    seen: set[str] = set()
    for each in order:
        if each.param_type_name != "option":
            continue
        name, value = _name(each), values.get(each.name)
        if isinstance(value, str) and value.startswith("--") and value.partition("=")[0] in flags:
            raise usage(f"{name} needs a value, but {value} is a flag")
        if name in seen and not each.multiple and not each.is_flag:
            raise usage(f"{name} is given twice, but takes one value")
        seen.add(name)


def _no_such_flag(problem: Any, command: str) -> str:
    word = str(problem.option_name)
    if re.fullmatch(_NUMBER, word):
        return f"there is no flag {word}; put -- before a value that begins with -"
    own = [name for each in _params(problem) for name in _names(each)]
    meant = _alike(word, [*own, *SWITCHES, *VALUED]) if word.startswith("--") else ""
    return f"{command} has no flag {word}" + (f"; did you mean {meant}?" if meant else "")


def _missing(problem: Any, command: str) -> str:  # noqa: ARG001  # every reader has this signature
    """Return a message with all missing arguments; the parser reads the given ones first."""
    read: Mapping[str, object] = problem.ctx.params if problem.ctx is not None else {}
    lacking = [each for each in _params(problem) if each.required and each.name not in read]
    names = [_name(each) for each in lacking] or [_name(problem.param)]
    *first, last = names
    return f"{', '.join(first)} and {last} are missing" if first else f"{last} is missing"


def _wrong_value(problem: Any, command: str) -> str:  # noqa: ARG001  # as above
    name = _name(problem.param) if problem.param is not None else "a value"
    kind = getattr(problem.param, "type", None)
    value = str(problem.message).partition(" is not ")[0]
    if choices := getattr(kind, "choices", None):
        return f"{name}: {value} is not one of {', '.join(str(each) for each in choices)}"
    if str(getattr(kind, "name", "")).startswith("int"):
        return f"{name}: {value} is not a whole number{_range(kind)}"
    return f"{name}: {problem.message}".rstrip(".")


def _range(kind: Any) -> str:
    least, most = getattr(kind, "min", None), getattr(kind, "max", None)
    if least is not None and most is not None:
        return f" from {least} to {most}"
    if least is not None:
        return f" of at least {least}"
    return f" of at most {most}" if most is not None else ""


def _wrong_use(problem: Any, command: str) -> str:
    name = str(problem.option_name)
    if "does not take a value" in problem.message:
        return f"{name} takes no value"
    if "requires an argument" in problem.message:
        return f"{name} needs a value"
    return _as_it_is(problem, command)


def _misused(problem: Any, command: str) -> str:
    extra = re.search(_EXTRA, str(problem.message))
    if extra is None:
        return _as_it_is(problem, command)
    taken = [_name(each) for each in _params(problem) if each.param_type_name == "argument"]
    takes = f"takes {' '.join(taken)}" if taken else "takes flags only"
    return f"unexpected {extra[1]!r}: {command} {takes} (quote a value that has spaces)"


def _as_it_is(problem: Any, command: str) -> str:  # noqa: ARG001  # as above
    said = str(problem.format_message()).rstrip(".")
    return said[:1].lower() + said[1:]


_READERS: Final = {
    "NoSuchOption": _no_such_flag,
    "MissingParameter": _missing,
    "BadParameter": _wrong_value,
    "BadOptionUsage": _wrong_use,
    "UsageError": _misused,
}
"""One reader per class of mistake, by the name of the class."""


def _params(problem: Any) -> list[Any]:
    return [] if problem.ctx is None else list(problem.ctx.command.params)


def _names(param: Any) -> list[str]:
    return [*param.opts, *param.secondary_opts] if param.param_type_name == "option" else []


def _name(param: Any) -> str:
    """Return the name of a parameter: `--phone`, or for an argument the word of the usage line."""
    if param.param_type_name == "option":
        return str(max(param.opts, key=len))
    return str(param.metavar or param.name.upper()).strip("[]")


def _alike(word: str, there: Iterable[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  # only a mistake needs it

    return next(iter(get_close_matches(word, list(there), n=1, cutoff=_LIKE)), "")


_SETTINGS: Final[Mapping[str, Any]] = {"help_option_names": ["-h", "--help"]}
_WORD_MAX: Final = 22
_METAVARS: Final = {"str": "TEXT", "int": "N", "int range": "N", "float": "N"}
"""The metavar of a flag without one of its own, by Click's name of its type."""
_VALUES: Final = {
    "--phone": "NUMBER", "--expect-payer": "NUMBER", "--payer": "NUMBER", "--send-to": "NUMBER", "--line": "NUMBER",
    "--from": "TIME", "--to": "TIME", "--since": "TIME", "--until": "TIME", "--date": "DAY", "--expires": "24h",
    "--name": "NAME", "--expect-payer-name": "NAME", "--expected-payer-name": "NAME", "--shop": "NAME",
    "--client-ref": "REF", "--order": "REF|CODE", "--expect-txid": "TXID", "--provider": "PROVIDER",
    "--webhook-url": "URL", "--redirect-url": "URL", "--url": "URL", "--idempotency-key": "KEY",
    "--amount": "AMOUNT", "--status": "STATUS", "--since-event": "ID",
}  # fmt: skip
"""The metavar of a flag that has the same meaning in every command."""
_CLICK_MIN: Final = 52
"""Click writes its help for at least this width."""
_NARROW: Final = 8
_ABOUT: Final = "momo: collect mobile-money payments with your own phone or modem."


class HelpWanted(Exception):  # not an error: only a group was named
    """A group was named without a verb; carries its help and its verbs."""

    def __init__(self, text: str, group: str, verbs: Sequence[str]) -> None:
        super().__init__(text)
        self.group, self.verbs = group, verbs


class MomoCommand(TyperCommand):
    """A command that prints its examples unchanged."""

    examples: str = ""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # as in `format_epilog`
        """Write the page; on a narrow terminal each flag has a line of its own above its description."""
        if formatter.width < _CLICK_MIN:
            formatter.write_dl = partial(formatter.write_dl, col_max=_NARROW)
        super().format_help(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # as in `format_epilog`
        """Parse the words, and reject mistakes that Click would accept silently."""
        check_words(self, ctx, args)
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # as above
        """Return the words of the usage line, without Typer's braces around required arguments."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  # click's types are private in Typer
        """Write the examples, and where the flags of every command are described."""
        if self.examples:
            formatter.write(f"\nExamples:\n{self.examples.rstrip()}\n")
        formatter.write("\nFlags of every command: momo help formatting\n")


class LazyGroup(TyperGroup):
    """A group that knows only the names of its commands until one of them is resolved."""

    def __init__(self, prefix: str, **kwargs: Any) -> None:  # handed on to Typer
        super().__init__(rich_markup_mode=None, context_settings=dict(_SETTINGS), **kwargs)
        self._prefix = prefix
        self.commands = {word: TyperCommand(word) for word in words_after(prefix)}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # as above
        """Run the command that the name of the group stands for if there is no word of one; else show the help."""
        alone = verb_alone(self._prefix)
        if alone and all(word.startswith("-") for word in args[:1]) and not {"-h", "--help"} & {*args}:
            args = [alone, *args]
        if not args:
            raise HelpWanted(ctx.get_help(), self._prefix, list(self.commands))
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # as above
        """Return the command of the first word, or raise an error that suggests a similar one."""
        if not self._resolve(args[0]):
            groups = (full.rpartition(" ") for full in COMMANDS)
            after = [] if self._prefix else [group for group, _, verb in groups if verb == args[0]]
            raise no_such_command(self._prefix, args[0], self.commands, after)
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002  # as above
        """Import and return the command; None if there is none of that name."""
        word = self._resolve(cmd_name)
        if not word:
            return None
        full = f"{self._prefix} {word}".strip()
        if full in GROUPS:
            return LazyGroup(full, name=word, help=GROUPS[full][0] + ".")
        return load(full)

    def _resolve(self, word: str) -> str:
        """Return the command that a word or its alias names; empty if there is none."""
        return next((each for each in meanings(word) if each in self.commands), "")

    def format_options(self, ctx: Any, formatter: Any) -> None:  # as above
        """Write the flags and the commands; at the root the commands alone, so that they fit on a screen."""
        if self._prefix:
            super().format_options(ctx, formatter)
        else:
            self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  # as above
        """Write the commands from the table: at the root those of the first screen, and where the others are."""
        found = words_after(self._prefix)
        if self._prefix:
            with formatter.section("Commands"):
                _write_rows(formatter, [(word, about) for word, (about, _) in found.items()])
            return
        with formatter.section("Commands"):
            _write_rows(formatter, [(word, found[word][0]) for word in FIRST])
        more = len(found.keys() - {*FIRST})
        formatter.write(f"\n{more} more commands: momo help all\n")
        formatter.write("Flags and forms: momo help formatting\n")


def _write_rows(formatter: Any, rows: Sequence[tuple[str, str]]) -> None:
    """Write two columns, faster than Click's own writer, which takes a tenth of the time of the help."""
    indent = " " * formatter.current_indent
    room = min(_WORD_MAX, max(len(name) for name, _ in rows)) + 2
    for name, summary in rows:
        line, left = f"{indent}{name:<{room}}", formatter.width - len(indent) - room
        for word in summary.split():
            if len(line) + len(word) > len(indent) + room + left:
                formatter.write(line.rstrip() + "\n")
                line = f"{indent}{'':<{room}}"
            line += word + " "
        formatter.write(line.rstrip() + "\n")


def load(full: str) -> MomoCommand:
    """Import one command and return it as Typer sees it."""
    from momo_cli.frame.command import find, parser_of  # noqa: PLC0415  # the tree needs no client

    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    marked = find(importlib.import_module(COMMANDS[full].module), full)
    app.command(name=full.rsplit(maxsplit=1)[-1], cls=MomoCommand, context_settings=dict(_SETTINGS))(parser_of(marked))
    command = typer.main.get_command(app)
    assert isinstance(command, MomoCommand)
    for param in command.params:
        if param.param_type_name == "option" and param.metavar is None:
            found = (_VALUES.get(name) for name in param.opts)
            param.metavar = next(filter(None, found), None) or _METAVARS.get(param.type.name)
    command.help = COMMANDS[full].summary + "."
    if marked.about:
        command.help += "\n\n" + marked.about
    command.examples = marked.examples
    return command


def root() -> LazyGroup:
    """Return the whole tree."""
    tree = LazyGroup("", name="momo", help=_ABOUT)
    columns = get_terminal_size().columns
    if columns < _CLICK_MIN:
        tree.context_settings["terminal_width"] = columns
    return tree
