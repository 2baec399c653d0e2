"""Compare a network's own statement with the messages and the orders: what one has and the others have not.

It names money on the statement that no message told of, messages whose money is not on the statement, amounts that
differ, payments that wait for a person although the network has them, and what to type next. Nothing becomes paid by a
statement: only a person or a message does that. Statements of MTN and Telecel are known by the names of their columns; for
any other say --column id=NAME --column amount=NAME. The same file again says the same. Exit 6: something differs.
"""

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import exits
from momo_cli.answer import Answer, Call, Cell, Field, Head, Row, View
from momo_cli.client import Client, path_of
from momo_cli.errors import usage
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.times import stamp
from momo_cli.values import dumps
from momo_cli.words import money
from parsers.money import render
from parsers.phone import read_phone
from parsers.statement import FIELDS, Entry, Statement, read_statement

EXAMPLES: Final = """\
  momo statement import mtn-november.csv --line 0244124567
  momo statement import mtn-november.csv --dry-run --json
  momo statement import other.csv --column id=Reference --column amount=Value
"""
BATCH: Final = 400
FILE_BYTES_MAX: Final = 32 * 1024 * 1024
PAGE: Final = 500
_SLACK: Final = timedelta(hours=1)
"""A statement and a message may name times so far apart."""
_LATE: Final = timedelta(days=3)
"""So long after its payment a message may come in."""
_WORDS: Final = {
    "untold": Cell("! NO MESSAGE", "yellow"),
    "held": Cell("! WAITS FOR YOU", "yellow"),
    "amount": Cell("✗ OTHER AMOUNT", "red"),
    "line": Cell("! OTHER NUMBER", "yellow"),
    "not_on_statement": Cell("✗ NOT ON STATEMENT", "red"),
}
VIEW: Final = View(
    fields=(
        Field("finding"),
        Field("id"),
        Field("at"),
        Field("statement_amount"),
        Field("told_amount"),
        Field("reference"),
        Field("review_id"),
        Field("claimed_by"),
        Field("file_line"),
        Field("next"),
    ),
    heads=(
        Head("WHAT", lambda row, _: _WORDS[row["finding"]]),
        Head("ID", lambda row, _: clean(row["id"])),
        Head("WHEN", lambda row, _: clean(row["at"]).replace("T", " ")[:16]),
        Head("STATEMENT", lambda row, _: money(row["statement_amount"]) or "—", right=True),
        Head("MESSAGE", lambda row, _: money(row["told_amount"]) or "—", right=True),
        Head("NEXT", lambda row, _: clean(row["next"])),
    ),
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo statement import`."""

    file: str
    line: str | None
    columns: tuple[str, ...]
    dry_run: bool


def command(
    file: Annotated[str, typer.Argument(metavar="FILE.csv", help="The statement, as CSV.")],
    line: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Your number that it is of.")
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="FIELD=NAME", help=f"A column: {', '.join(FIELDS)}."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("-n", "--dry-run", help="Compare, and note nothing in the journal.")
    ] = False,
) -> Call:
    """Read the flags."""
    return Call(run, Options(file, line, tuple(columns or ()), dry_run), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Read the file, ask what the messages say of it, and look for what it does not have."""
    line = None if options.line is None else read_phone(options.line.strip())
    if options.line is not None and line is None:
        raise usage(f"--line: {options.line!r} is no phone number")
    data = _bytes(options.file)
    statement = _read(data, options)
    found = list(_told(client, statement, line))
    known = {entry.id for entry in statement.entries}
    span = _span(statement, terminal)
    if span is not None:
        found += _not_there(client, known, line, span)
    counts = Counter(row["finding"] for row in found)
    summary = {
        "file": options.file,
        "line": line,
        "columns": dict(statement.columns),
        "entries": len(statement.entries),
        "left_the_wallet": statement.out,
        "unread_lines": list(statement.unread),
        "agrees": len(statement.entries) - sum(counts.values()) + counts["not_on_statement"],
        "differences": dict(counts),
    }
    noted = False
    if not options.dry_run:
        note = {"sha256": hashlib.sha256(data).hexdigest(), "agrees": summary["agrees"], **counts}
        reply = client.call("POST", Path.LOCAL_STATEMENT, body={"line": line, "note": note})
        noted = bool(reply.data.get("noted"))
    document = {"success": True, "data": {**summary, "noted": noted, "findings": found}}
    return _answer(dumps(document), summary, found, dated=span is not None)


def _answer(document: str, summary: Row, found: Sequence[Row], *, dated: bool) -> Answer:
    said = f"{summary['agrees']} of {summary['entries']} payments on the statement agree"
    unread = summary["unread_lines"]
    notes = []
    if unread:
        shown = ", ".join(map(str, unread[:5])) + (" ..." if len(unread) > 5 else "")
        lines = "1 line" if len(unread) == 1 else f"{len(unread)} lines"
        notes.append(f"{lines} could not be read: {shown}.")
    if not dated:
        notes.append(
            "No line has a time that can be read: what the statement lacks was not looked for."
        )
    steps = list(dict.fromkeys(row["next"] for row in found))
    return Answer(
        document,
        found,
        heading=f"{said}; {len(found)} differences",
        empty="" if found else f"{said}. Nothing differs.",
        notes=notes,
        next=steps[:3],
        exit_code=exits.FINDINGS if found or unread else exits.OK,
    )


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123  # pathlib is not needed here
            data = file.read(FILE_BYTES_MAX + 1)
    except OSError as problem:
        raise usage(f"{path}: {problem.strerror}") from None
    if len(data) > FILE_BYTES_MAX:
        raise usage(f"{path}: a statement of more than 32 MB; export one month at a time")
    return data


def _read(data: bytes, options: Options) -> Statement:
    named = {}
    for given in options.columns:
        name, equals, column = given.partition("=")
        if not equals or name not in FIELDS:
            raise usage(f"--column: {given!r}: write FIELD=NAME, FIELD one of {', '.join(FIELDS)}")
        named[name] = column
    text = data.decode("utf-8-sig", "replace")
    first = text[:4096]
    delimiter = max(",;\t", key=first.count)
    try:
        rows: Sequence[Sequence[str]] = list(
            csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        )
    except csv.Error as problem:
        raise usage(f"{options.file}: this is no CSV ({problem})") from None
    statement = read_statement(rows, named)
    if statement.missing:
        there = ", ".join(name.strip() for name in statement.header if name.strip())[:300]
        wants = " ".join(f"--column {name}=NAME" for name in statement.missing)
        raise usage(
            f"{options.file}: no column is known for {' and '.join(statement.missing)}; say {wants}. There are: {there}"
        )
    return statement


def _told(client: Client, statement: Statement, line: str | None) -> Iterator[dict[str, Any]]:
    """Ask what the messages say of each entry; give those that differ."""
    entries = statement.entries
    for start in range(0, len(entries), BATCH):
        batch = entries[start : start + BATCH]
        body = {
            "line": line,
            "entries": [{"id": entry.id, "amount_minor": entry.minor} for entry in batch],
        }
        reply = client.call("POST", Path.LOCAL_STATEMENT, body=body)
        for entry, said in zip(batch, reply.data["entries"], strict=True):
            if said["finding"] != "agrees":
                yield _differs(entry, said)


def _differs(entry: Entry, said: Row) -> dict[str, Any]:
    return {
        "finding": said["finding"],
        "id": entry.id,
        "at": "" if entry.at is None else entry.at.isoformat(),
        "statement_amount": render(entry.minor),
        "told_amount": said["told_amount"],
        "reference": said["reference"],
        "review_id": said["review_id"],
        "claimed_by": said["claimed_by"],
        "file_line": entry.line,
        "next": _next(said),
    }


def _next(said: Row) -> str:
    if said["finding"] == "held":
        review = said["review_id"]
        return (
            f"momo review show {review}" if review else f"momo messages show {said['message_id']}"
        )
    if said["finding"] == "untold":
        claimed = said["claimed_by"]
        return f"momo tx show {claimed}" if claimed else "momo messages list --state unparsed"
    if said["finding"] == "line":
        return "momo lines"
    return f"momo tx show {said['reference']}" if said["reference"] else "momo review list"


def _span(statement: Statement, terminal: Terminal) -> tuple[datetime, datetime] | None:
    """Return the first and the last time on the statement, which names no zone: it is the shop's."""
    times = [entry.at.replace(tzinfo=terminal.zone) for entry in statement.entries if entry.at]
    return (min(times).astimezone(UTC), max(times).astimezone(UTC)) if times else None


def _not_there(
    client: Client, known: set[str], line: str | None, span: tuple[datetime, datetime]
) -> Iterator[dict[str, Any]]:
    """Give the payments within the statement's time that are not on it."""
    first, last = (stamp(time) for time in span)
    after: int | None = 0
    query = {"from": stamp(span[0] - _SLACK), "to": stamp(span[1] + _LATE), "limit": PAGE}
    while after is not None:
        reply = client.get(path_of(Path.LOCAL_EXPORT, what="payments"), after=after, **query)
        for row in reply.data or ():
            there = first <= str(row["timestamp"]) <= last
            mine = line is None or row["line"] == line
            if (
                there
                and mine
                and not row["test"]
                and row["telco_transaction_id"].upper() not in known
            ):
                yield {
                    "finding": "not_on_statement",
                    "id": row["telco_transaction_id"],
                    "at": row["timestamp"],
                    "statement_amount": None,
                    "told_amount": row["amount"],
                    "reference": row["reference"],
                    "review_id": None,
                    "claimed_by": None,
                    "file_line": None,
                    "next": f"momo tx show {row['reference']}"
                    if row["reference"]
                    else f"momo messages show {row['message_id']} --show-body",
                }
        after = at(reply.body, "meta.next")
