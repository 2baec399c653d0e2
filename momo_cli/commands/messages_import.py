"""Take in the SMS of an old phone, from its backup: shown and counted as history.

Nothing is paid by it and nothing is sent: a file proves less than a phone. `momo reconcile` finds its payments by their
ID, `momo replay --include-historical` sends them where you say. Only messages from the network's own senders are
taken, never anybody's private ones. The same file again changes nothing.
FILE is the XML of "SMS Backup & Restore" for Android, CSV with the columns sender, text, date (and type, smsc), or one PDU a line.
"""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.batch import Work, told
from momo_cli.client import Client
from momo_cli.errors import Failure, usage
from momo_cli.input_file import NO_TEXT, STDIN
from momo_cli.phone_backup import CHUNK, FORMS, Found, messages_of
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo messages import sms-backup.xml --line 0244124567 --dry-run
  momo messages import sms-backup.xml --line 0244124567
  momo messages import - --line 0244124567 --format csv < inbox.csv
"""
VIEW: Final = View(
    fields=tuple(
        Field(name) for name in ("file_line", "ok", "fate", "state", "id", "code", "message")
    )
)
_AT_ONCE: Final = 50
_CHARACTERS_AT_ONCE: Final = 12_000
"""A batch stays well below what the daemon reads of one body, whatever the characters."""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo messages import`."""

    file: str
    line: str
    form: str | None
    dry_run: bool


def command(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="The backup; - reads stdin.")],
    line: Annotated[
        str, typer.Option(metavar="NUMBER", help="Your number that the messages came to.")
    ],
    form: Annotated[
        str | None, typer.Option("--format", metavar="|".join(FORMS), help="Of the file.")
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("-n", "--dry-run", help="Say what would become of each, and store nothing."),
    ] = False,
) -> Call:
    """Read the flags."""
    if form is not None and form not in FORMS:
        raise usage(f"--format: {form!r} is not one of {', '.join(FORMS)}")
    return Call(run, Options(file, line.strip(), form, dry_run), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Look through the whole file first, so that a bad one changes nothing; then send it."""
    with ExitStack() as opened:
        file = _opened(terminal, options.file, opened)
        total = sum(1 for _ in _found(file, options, terminal))
        stack = opened.pop_all()
    if options.dry_run:
        terminal.note("Dry run: this would become of them, and nothing is stored.")
    work = Work(
        _outcomes(client, file, options, terminal, stack),
        total,
        "Taking in",
        "read",
        counted=("new", "known", "skipped"),
    )
    return told(terminal, work, ("momo messages list --state historical",))


def _opened(terminal: Terminal, path: str, stack: ExitStack) -> IO[str]:
    """Open the file; stdin is kept in a nameless one, because it is read twice."""
    try:
        if path != STDIN:
            return stack.enter_context(open(path, encoding="utf-8", newline=""))  # noqa: PTH123  # pathlib is not needed here
        unnamed = tempfile.TemporaryFile("w+", encoding="utf-8", newline="")  # noqa: SIM115  # the stack closes it
        kept = stack.enter_context(unnamed)
        while piece := terminal.stdin.read(CHUNK):
            kept.write(piece)
    except OSError as problem:
        raise usage(f"{path}: {problem.strerror}") from None
    except ValueError:
        raise usage(f"{path}: {NO_TEXT}") from None
    return kept


def _found(file: IO[str], options: Options, terminal: Terminal) -> Iterator[Found]:
    file.seek(0)
    try:
        yield from messages_of(iter(lambda: file.read(CHUNK), ""), options.form, terminal.zone)
    except Failure as failure:
        raise usage(f"{options.file}: {failure.message}") from None
    except OSError as problem:
        raise usage(f"{options.file}: {problem.strerror}") from None
    except ValueError:
        raise usage(f"{options.file}: {NO_TEXT}") from None


def _outcomes(
    client: Client, file: IO[str], options: Options, terminal: Terminal, stack: ExitStack
) -> Iterator[dict[str, Any]]:
    with stack:
        batch: list[Found] = []
        characters = 0
        for found in _found(file, options, terminal):
            length = sum(len(str(value)) for value in found.body.values())
            if batch and (len(batch) == _AT_ONCE or characters + length > _CHARACTERS_AT_ONCE):
                yield from _send(client, batch, options)
                batch, characters = [], 0
            batch.append(found)
            characters += length
        yield from _send(client, batch, options)


def _send(client: Client, batch: list[Found], options: Options) -> Iterator[dict[str, Any]]:
    """Send those of a batch that can be sent, and tell what came of each, in the file's order."""
    good = [found.body for found in batch if not found.problem]
    said: Iterator[dict[str, Any]] = iter(())
    if good:
        body = {"line": options.line, "messages": good, "dry_run": options.dry_run}
        said = iter(client.call("POST", Path.LOCAL_IMPORT, body=body).data["messages"])
    for found in batch:
        row: dict[str, Any] = {"file_line": found.line}
        if found.problem:
            yield {**row, "ok": False, "code": "UNREADABLE", "message": found.problem}
            continue
        one = next(said)
        if one["fate"] == "unreadable":
            yield {**row, "ok": False, "code": "UNREADABLE", "message": one["why"]}
            continue
        yield {
            **row,
            "ok": True,
            "fate": one["fate"],
            "state": one["state"],
            "id": one["id"],
            "new": one["fate"] == "new",
            "known": one["fate"] == "known",
            "skipped": one["fate"] == "other_sender",
        }
