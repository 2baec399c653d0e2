"""The command statement import: compare a network's statement with the messages and transactions."""

import csv
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from daemon.wire import Path
from momo_cli import exit_codes
from momo_cli.errors import usage
from momo_cli.frame.command import command
from momo_cli.inputs.files import file_errors
from momo_cli.inputs.parameters import DryRun, argument, option
from momo_cli.show.answer import Answer, Cell, Head, Row, document_of, fields, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import counted, money
from momo_cli.socket.client import Client, path_of
from momo_cli.text import at, clean
from momo_cli.times import stamp
from parsers.money import render
from parsers.phone import read_phone
from parsers.statement import FIELDS, Entry, Statement, read_statement, rows_of

_BATCH: Final = 400
_FILE_BYTES_MAX: Final = 32 * 1024 * 1024
_PAGE: Final = 500
_SLACK: Final = timedelta(hours=1)
"""The largest difference between the times in a statement and in a message."""
_LATE: Final = timedelta(days=3)
"""The largest delay of a message after its payment."""
_WORDS: Final = {
    "untold": Cell("! NO MESSAGE", "yellow"),
    "held": Cell("! HELD FOR REVIEW", "yellow"),
    "amount": Cell("✗ OTHER AMOUNT", "red"),
    "line": Cell("! OTHER NUMBER", "yellow"),
    "not_on_statement": Cell("✗ NOT ON STATEMENT", "red"),
}
_FIELDS: Final = fields(
    "finding id at statement_amount told_amount reference review_id claimed_by file_line next"
)
_VIEW: Final = view_of(
    *_FIELDS,
    Head("WHAT", lambda row, _: _WORDS[row["finding"]]),
    Head("ID", lambda row, _: clean(row["id"])),
    Head("WHEN", lambda row, _: clean(row["at"]).replace("T", " ")[:16]),
    Head("STATEMENT", lambda row, _: money(row["statement_amount"]) or "—", right=True),
    Head("MESSAGE", lambda row, _: money(row["told_amount"]) or "—", right=True),
    Head("NEXT", lambda row, _: clean(row["next"])),
)


@command("data statement", view=_VIEW)
def import_(
    client: Client,
    terminal: Terminal,
    file: Annotated[str, argument("FILE.csv", "The statement, as CSV.")],
    line: Annotated[str | None, option("NUMBER", "The merchant number of the statement.")] = None,
    columns: Annotated[
        list[str] | None, option("--column", "FIELD=NAME", f"A column: {', '.join(FIELDS)}.")
    ] = None,
    dry_run: DryRun = False,
) -> Answer:
    """Compare a network's statement with the messages.

    It lists money on the statement without a message, messages whose money is not on the statement, different amounts,
    payments held for review although they are on the statement, and the next command for each. A statement does not
    make a transaction paid: only a message or an operator does. Columns of MTN and Telecel are recognised by their
    names; for another network give --column id=NAME --column amount=NAME. The same file again gives the same result.
    Exit 6: something differs.

    Examples:
        momo data statement mtn-november.csv --line 0244124567
        momo data statement mtn-november.csv --dry-run --json
        momo data statement other.csv --column id=Reference --column amount=Value
    """
    number = None if line is None else read_phone(line.strip())
    if line is not None and number is None:
        raise usage(f"--line: {line!r} is not a phone number")
    data = _bytes(file)
    statement = _read(data, file, columns or ())
    found = list(_compared(client, statement, number))
    known = {entry.id for entry in statement.entries}
    span = _span(statement, terminal)
    if span is not None:
        found += _missing(client, known, number, span)
    counts = Counter(row["finding"] for row in found)
    summary = {
        "file": file,
        "line": number,
        "columns": dict(statement.columns),
        "entries": len(statement.entries),
        "left_the_wallet": statement.out,
        "unread_lines": list(statement.unread),
        "agrees": len(statement.entries) - sum(counts.values()) + counts["not_on_statement"],
        "differences": dict(counts),
    }
    noted = False
    if not dry_run:
        note = {"sha256": hashlib.sha256(data).hexdigest(), "agrees": summary["agrees"], **counts}
        reply = client.call("POST", Path.LOCAL_STATEMENT, body={"line": number, "note": note})
        noted = bool(reply.data.get("noted"))
    document = document_of({**summary, "noted": noted, "findings": found})
    return _answer(document, summary, found, dated=span is not None)


def _answer(document: str, summary: Row, found: Sequence[Row], *, dated: bool) -> Answer:
    said = f"{summary['agrees']} of {summary['entries']} payments on the statement agree"
    unread = summary["unread_lines"]
    notes = []
    if unread:
        shown = ", ".join(map(str, unread[:5])) + (" ..." if len(unread) > 5 else "")
        notes.append(f"{counted(len(unread), 'line')} could not be read: {shown}.")
    if not dated:
        why = "No line has a readable time"
        notes.append(f"{why}, so payments missing on the statement were not searched.")
    steps = list(dict.fromkeys(row["next"] for row in found))
    return Answer(
        document,
        found,
        heading=f"{said}; {len(found)} differences",
        empty=f"{said}. Nothing differs.",
        notes=notes,
        next=steps[:3],
        exit_code=exit_codes.FINDINGS if found or unread else exit_codes.OK,
    )


def _bytes(path: str) -> bytes:
    with file_errors(path), open(path, "rb") as file:  # noqa: PTH123  # pathlib is not needed here
        data = file.read(_FILE_BYTES_MAX + 1)
    if len(data) > _FILE_BYTES_MAX:
        raise usage(f"{path}: the statement is larger than 32 MB; export one month at a time")
    return data


def _read(data: bytes, file: str, columns: Sequence[str]) -> Statement:
    named = {}
    for given in columns:
        name, equals, column = given.partition("=")
        if not equals or name not in FIELDS:
            raise usage(f"--column: {given!r}: write FIELD=NAME, FIELD one of {', '.join(FIELDS)}")
        named[name] = column
    text = data.decode("utf-8-sig", "replace")
    try:
        rows = rows_of(text)
    except csv.Error as problem:
        raise usage(f"{file}: not CSV ({problem})") from None
    statement = read_statement(rows, named)
    if statement.missing:
        there = ", ".join(name.strip() for name in statement.header if name.strip())[:300]
        wants = " ".join(f"--column {name}=NAME" for name in statement.missing)
        raise usage(
            f"{file}: no column found for {' and '.join(statement.missing)}; give {wants}. The columns are: {there}"
        )
    return statement


def _compared(client: Client, statement: Statement, line: str | None) -> Iterator[dict[str, Any]]:
    """Yield the entries that differ from the messages."""
    entries = statement.entries
    for start in range(0, len(entries), _BATCH):
        batch = entries[start : start + _BATCH]
        rows = [{"id": entry.id, "amount_minor": entry.minor} for entry in batch]
        body = {"line": line, "entries": rows}
        reply = client.call("POST", Path.LOCAL_STATEMENT, body=body)
        for entry, said in zip(batch, reply.data["entries"], strict=True):
            if said["finding"] != "agrees":
                yield _differs(entry, said)


def _differs(entry: Entry, said: Row) -> dict[str, Any]:
    return {
        **{field.name: said.get(field.name) for field in _FIELDS},
        "id": entry.id,
        "at": "" if entry.at is None else entry.at.isoformat(),
        "statement_amount": render(entry.minor),
        "file_line": entry.line,
        "next": _next(said),
    }


def _next(said: Row) -> str:
    if said["finding"] == "held":
        review, message = said["review_id"], said["message_id"]
        return f"momo review show {review}" if review else f"momo messages show {message}"
    if said["finding"] == "untold":
        claimed = said["claimed_by"]
        return f"momo tx show {claimed}" if claimed else "momo messages list --state unparsed"
    if said["finding"] == "line":
        return "momo lines"
    return f"momo tx show {said['reference']}" if said["reference"] else "momo review list"


def _span(statement: Statement, terminal: Terminal) -> tuple[datetime, datetime] | None:
    """Return the first and the last time on the statement; it names no zone, so the shop's is used."""
    times = [entry.at.replace(tzinfo=terminal.zone) for entry in statement.entries if entry.at]
    return (min(times).astimezone(UTC), max(times).astimezone(UTC)) if times else None


def _missing(
    client: Client, known: set[str], line: str | None, span: tuple[datetime, datetime]
) -> Iterator[dict[str, Any]]:
    """Yield the payments in the period of the statement that are not on it."""
    first, last = (stamp(time) for time in span)
    after: int | None = 0
    query = {"from": stamp(span[0] - _SLACK), "to": stamp(span[1] + _LATE), "limit": _PAGE}
    while after is not None:
        reply = client.get(path_of(Path.LOCAL_EXPORT, what="payments"), after=after, **query)
        for row in reply.data or ():
            there = first <= str(row["timestamp"]) <= last
            mine = line is None or row["line"] == line
            new = row["telco_transaction_id"].upper() not in known
            if there and mine and new and not row["test"]:
                yield _not_on_statement(row)
        after = at(reply.body, "meta.next")


def _not_on_statement(row: Row) -> dict[str, Any]:
    following = f"momo messages show {row['message_id']} --show-body"
    return {
        **{field.name: None for field in _FIELDS},
        "finding": "not_on_statement",
        "id": row["telco_transaction_id"],
        "at": row["timestamp"],
        "told_amount": row["amount"],
        "reference": row["reference"],
        "next": f"momo tx show {row['reference']}" if row["reference"] else following,
    }
