"""The command tree, made from the command table; a command's module is imported when it is chosen."""

import importlib
from collections.abc import Mapping, Sequence
from functools import partial
from shutil import get_terminal_size
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from momo_cli.frame.command_table import COMMANDS, FIRST, GROUPS, meanings, verb_alone, words_after
from momo_cli.frame.usage_errors import check_words, no_such_command

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
        if (
            alone
            and all(word.startswith("-") for word in args[:1])
            and not {"-h", "--help"} & {*args}
        ):
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
    app.command(
        name=full.rsplit(maxsplit=1)[-1], cls=MomoCommand, context_settings=dict(_SETTINGS)
    )(parser_of(marked))
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
