"""What a command hands back: the document, the rows, and how each is to be shown. No I/O.

A command module has a function `command` whose signature is the command's flags; it returns a
`Call`. The frame (`frame.py`) then makes the client, calls `run(client, terminal, options)` and
writes the `Answer` in the form that was asked for. So no command prints.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from momo_cli import exits
from momo_cli.client import Client
from momo_cli.terminal import Terminal

Row = Mapping[str, Any]
"""One record, as the API gave it."""


class Field(NamedTuple):
    """One field for programs: a column of plain, csv and ndjson, and a name for `--fields`."""

    name: str
    path: str = ""
    """Dotted path in the row; the name when empty."""


class Cell(NamedTuple):
    """What stands in one cell of a table on a terminal."""

    text: str
    style: str = ""


class Head(NamedTuple):
    """One column for people."""

    title: str
    show: Callable[[Row, Terminal], Cell | str]
    right: bool = False
    cut: bool = False
    """May be cut in its middle when the terminal is narrow; for ids."""


@dataclass(frozen=True, slots=True)
class View:
    """How the rows of a command are written.

    Attributes:
        fields: For programs, in order.
        heads: The table on a terminal; empty when the answer has lines for people instead.
        id: The dotted path that `-o id` prints.
    """

    fields: tuple[Field, ...]
    heads: tuple[Head, ...] = ()
    id: str = "id"


NOTHING = View(fields=())
"""The view of a command that has no rows."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a command.

    Attributes:
        document: The text that `--json` prints: the API's body, byte for byte.
        rows: The records, for every other form.
        lines: For people, instead of the table; may carry colour from `Terminal.style`.
        verbatim: For people, after the lines: what they copy or a program reads, so it is neither wrapped nor changed.
        plain: What plain says instead of the rows, when no fields were chosen.
        heading: The line above a table on a terminal.
        empty: What to say on stderr when there are no rows.
        notes: For stderr.
        next: Commands to type next; shown to people only.
        exit_code: One of `exits`.
        stream: The rows come over time: `--json` writes one line each (ndjson).
        summary: With `stream`, end ndjson with a line of type summary.
        text: What stdout gets as it is, in place of the rows; `--json` and `--get` still take the document.
        ended: Gives the exit code once the rows are written, where only they decide it; it may
            still add to `notes`.
        faults: Of a command that cron runs, what is wrong. With `--quiet`, and no form asked for, it says nothing
            when all is well, and one error line and one next line when not. None: its rows are what was asked for.
    """

    document: str = ""
    rows: Iterable[Row] = ()
    lines: Sequence[str] = ()
    verbatim: Sequence[str] = ()
    plain: str = ""
    heading: str = ""
    empty: str = ""
    notes: Sequence[str] = ()
    next: Sequence[str] = ()
    exit_code: int = exits.OK
    stream: bool = False
    summary: bool = False
    text: Iterable[str] | None = None
    ended: Callable[[], int] | None = None
    faults: Sequence[str] | None = None

    def next_lines(self) -> list[str]:
        """Return what to type next as people see it, each command once."""
        commands = dict.fromkeys(self.next)
        return [("next:  " if i == 0 else "       ") + each for i, each in enumerate(commands)]


@dataclass(frozen=True, slots=True)
class Call:
    """A parsed command line: what to run, and how its rows are written."""

    run: Callable[[Client, Terminal, Any], Answer]
    options: object
    view: View = NOTHING
