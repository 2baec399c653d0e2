"""The result of a command: the document, the rows, and how they are shown.

A command is a function with the parameters client, terminal and its flags (`momo_cli.frame.command`). It returns an
`Answer`, which is then written in the requested form. So no command prints.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from momo_cli import exit_codes
from momo_cli.errors import in_sandbox
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client, Reply
from momo_cli.text import at

Row = Mapping[str, Any]
"""One record, as the API gave it."""


class Field(NamedTuple):
    """One field for programs: a column of plain, csv and ndjson, and a name for `--fields`."""

    name: str
    path: str = ""
    """Dotted path in the row; the name when empty."""
    extra: bool = False
    """Is written only if `--fields` names it."""


def fields(*texts: str) -> tuple[Field, ...]:
    """Return the fields that the texts name: `id amount`, or `payer=payer.name` where the path differs."""
    parts = (word.partition("=") for text in texts for word in text.split())
    return tuple(Field(name, path) for name, _, path in parts)


class Cell(NamedTuple):
    """The content of one cell of a table on a terminal."""

    text: str
    style: str = ""


class Head(NamedTuple):
    """One column of a table on a terminal."""

    title: str
    show: Callable[[Row, Terminal], Cell | str]
    right: bool = False
    cut: bool = False
    """May be shortened in its middle if the terminal is narrow; for ids."""
    short: bool = False
    """Is shortened at its end if the terminal is narrow, not wrapped; for texts that another command shows in full."""
    optional: bool = False
    """Is left out if the first rows have nothing in it."""


@dataclass(frozen=True, slots=True)
class View:
    """How the rows of a command are written: as `fields` for programs, as a table of `heads` for people.

    There are no heads if the answer has lines instead. `id` is the dotted path that `-o id` prints.
    """

    fields: tuple[Field, ...]
    heads: tuple[Head, ...] = ()
    id: str = "id"
    by_result: bool = False
    """The columns are known only with the result: `Answer.view` has them."""


def view_of(*parts: str | Field | Head, id: str = "id") -> View:  # noqa: A002  # named as the attribute
    """Return the view with these columns: fields, or their names as `fields` reads them, and heads."""
    named = [fields(part) if isinstance(part, str) else (part,) for part in parts]
    columns = [part for group in named for part in group]
    return View(
        tuple(part for part in columns if isinstance(part, Field)),
        tuple(part for part in columns if isinstance(part, Head)),
        id,
    )


NOTHING = View(fields=())
"""The view of a command without rows."""
BY_RESULT = View(fields=(), by_result=True)
"""The view of a command with columns that are known only with the result."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a command.

    Attributes:
        document: The text that `--json` prints: the API's body, byte for byte.
        rows: The records, for every other form.
        lines: Lines for people instead of the table; may contain colour from `Terminal.style`.
        verbatim: Lines for people after `lines`, to be copied or read by a program: neither wrapped nor changed.
        plain: The plain output instead of the rows, if no fields were chosen.
        heading: The line above a table on a terminal.
        empty: The message on stderr if there are no rows.
        notes: Lines for stderr.
        next: Commands to type next; shown to people only.
        exit_code: One of `momo_cli.exit_codes`.
        stream: The rows come over time: `--json` writes one line each (ndjson).
        summary: With `stream`, end ndjson with a line of type summary.
        text: The text for stdout, unchanged, in place of the rows; `--json` and `--get` still use the document.
        ended: Returns the exit code after the rows are written, if only they decide it; it may still add to `notes`.
        faults: The problems that a command run by cron found. With `--quiet` and no output form chosen, it prints
            nothing if there are none, else one error line and one next line. None: always print the rows.
        view: The view of the rows, if the command's is `BY_RESULT`.
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
    exit_code: int = exit_codes.OK
    stream: bool = False
    summary: bool = False
    text: Iterable[str] | None = None
    ended: Callable[[], int] | None = None
    faults: Sequence[str] | None = None
    view: View | None = None

    def next_lines(self, *, sandbox: bool = False) -> list[str]:
        """Return the lines with the commands to type next, each command once; with `--sandbox` if this one has it."""
        commands = dict.fromkeys(map(in_sandbox, self.next) if sandbox else self.next)
        return [("next:  " if i == 0 else "       ") + each for i, each in enumerate(commands)]


@dataclass(frozen=True, slots=True)
class Call:
    """A parsed command line: the command with its flags, and the view of its rows."""

    run: Callable[[Client, Terminal], Answer]
    view: View = NOTHING
    read: bool = False
    """People read the answer: it keeps its form in a pipe."""


def dumps(value: object) -> str:
    """Return compact JSON with keys in their given order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def document_of(data: object) -> str:
    """Return the JSON document of a result that no call of the API returned."""
    return dumps({"success": True, "data": data})


def made(row: Row) -> tuple[str, list[Row]]:
    """Return the document and the rows of an answer with one row that no call of the API returned."""
    return document_of(row), [row]


def unchanged(seen: Reply | None = None, *notes: str) -> Answer:
    """Return the answer to a "no" of the operator (exit 10)."""
    document, rows = ("", []) if seen is None else seen.parts
    said, code = ["Nothing was changed."], exit_codes.CANCELLED
    return Answer(document, rows, lines=said, notes=notes, exit_code=code)


def with_status(body: Row, status: str) -> str:
    """Return an answer of the API with the resulting status added: `paused`, `already_paused`."""
    return dumps({**body, "data": {**body["data"], "status": status}})


def ended(reply: Reply, status: str, said: str, next_: str) -> Answer:
    """Return the answer of a command that ended a thing for good, or found it ended: `revoked`, `already_revoked`."""
    rows = [{**reply.data, "status": status}]
    return Answer(with_status(reply.body, status), rows, lines=[said], next=[next_])


def record_of(fields: Sequence[Field], row: Row) -> dict[str, object]:
    """Return the values of these fields by their names."""
    return {field.name: at(row, field.path or field.name) for field in fields}


def raw(value: object) -> str:
    """Return a value without quotes; empty for null, JSON for objects and lists."""
    if value is None:
        return ""
    return value if isinstance(value, str) else dumps(value)
