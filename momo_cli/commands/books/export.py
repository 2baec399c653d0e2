"""Commands that write the shop's data to files, and compare it with the network's statement."""

import hashlib
import json
import os
import pathlib
import shlex
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from daemon.wire import Mode, Path
from momo_cli import exit_codes
from momo_cli.errors import usage
from momo_cli.flags import Output
from momo_cli.frame.command import command
from momo_cli.inputs.ids import METHODS, id_of
from momo_cli.inputs.parameters import DRY_RUN, PASSWORD_FILE, SHOW_BODY, argument, flag, option
from momo_cli.inputs.typed_values import check_choice, file_errors, owners_password, period
from momo_cli.show.answer import Answer, Cell, Head, Row, View, document_of, dumps, fields, made, view_of
from momo_cli.show.render import BOM, csv_lines
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import counted, money
from momo_cli.socket.client import Client, path_of
from momo_cli.text import at, clean
from momo_cli.times import stamp
from momo_cli.views.lines import proved
from parsers.money import render
from parsers.phone import read_phone
from parsers.statement import FIELDS, Closing, Statement, read_statement
from parsers.statement_file import StatementFileError, rows_in

_LEFT_BYTES: Final = 100_000_000
"""Free space, in bytes, that an export must leave; the daemon stops its backups at the same limit."""
COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "transactions": (
        "reference", "svc_code", "origin", "status", "expected_amount", "actual_amount", "difference",
        "difference_type", "currency", "payer_name", "payer_phone", "client_reference", "description", "network",
        "telco_transaction_id", "matched_by", "late", "created_at", "expires_at", "completed_at", "cancelled_at",
        "reversed_at", "test", "payer_name_source", "payer_phone_source",
    ),
    "payments": (
        "id", "network", "provider", "telco_transaction_id", "amount", "currency", "fee", "balance", "payer_name",
        "payer_phone", "reference_text", "line", "kind", "standing", "reference", "svc_code", "timestamp", "stored_at",
        "reversed_at", "historical", "message_id", "test",
    ),
    "messages": (
        "id", "line", "sender", "state", "kind", "provider", "trusted", "reasons", "payment_id", "smsc", "smsc_ts",
        "received_at", "parts", "test", "body",
    ),
    "deliveries": (
        "id", "webhook_id", "endpoint_id", "url", "event", "reference", "status", "attempt_count",
        "response_status_code", "error_code", "created_at", "delivered_at", "test",
    ),
    "audit": (
        "id", "at", "type", "actor", "reference", "payment_id", "message_id", "endpoint_id", "test", "details",
    ),
}  # fmt: skip
_HELD: Final = ("payments", "orders", "messages", "webhooks", "sms", "approved_names")
_PAGE: Final = 500
_STDOUT: Final = "-"


def _view(*, what: str | None, **_: object) -> View:
    if what is None:
        return view_of(*_HELD)
    if what not in COLUMNS:
        # Before the view is used to check --fields, which would blame the fields of another table.
        raise usage(f"{what!r} is not one of {', '.join(COLUMNS)}")
    return view_of(*COLUMNS[what])


@command("data export", view=_view)
def export(
    client: Client,
    terminal: Terminal,
    what: str | None = argument("[TABLE]", ", ".join(COLUMNS) + ".", default=None),
    since: str | None = option("--from", "First time: 7d, today, 2026-01-31."),
    until: str | None = option("--to", "Last day, or the time of the end."),
    form: str | None = option("--format", "csv, ndjson or xlsx-csv; default: csv."),
    file: str = option("-O", "--file", "FILE", "The file to write; - is stdout.", default=_STDOUT),
    bom: bool = flag("Begin csv with a byte order mark, for Excel."),
    force: bool = flag("Replace an existing file."),
    show_body: bool = SHOW_BODY,
    payer: str | None = option("NUMBER", "Everything about one payer, instead of a TABLE."),
) -> Answer:
    r"""Tables: transactions, payments, messages, deliveries, audit. Rows come oldest first, page by page, so that a large
    table needs little memory. The order of the columns never changes; new ones are added at the end. Times are ISO 8601
    UTC, amounts have a decimal point. In csv a cell that a spreadsheet would read as a formula begins with an
    apostrophe; its lines end with CR LF (RFC 4180), and tr -d '\r' makes them plain. xlsx-csv is csv for Excel, with a
    byte order mark, and long numbers as text. The text of SMS is included only with --show-body, which is recorded in
    the journal. A file is written completely or not at all. Money of the sandbox is left out; --sandbox exports it alone.

    --payer writes everything that the shop stores about one number, as JSON, for a payer who asks for it. momo data forget
    deletes it.

    Examples:
        momo data export transactions --from 2026-11-01 --to 2026-11-30 -O november.csv
        momo data export payments --from 7d | tr -d '\r' > payments.csv
        momo data export payments --format ndjson | gzip > payments.ndjson.gz
        momo data export --payer 0244124567 -O payer.json
    """
    if payer is not None:
        if what is not None or any((since, until, form, bom, show_body)):
            raise usage("--payer writes everything as JSON; only -O and --force go with it")
        if file != _STDOUT:
            _check_file(terminal, file, force=force)
        reply = client.call("POST", Path.LOCAL_PAYER, body={"number": payer})
        data: dict[str, Any] = reply.data
        pretty = json.dumps(data, ensure_ascii=False, indent=2) + "\n"
        row = {name: len(data[name]) for name in _HELD}
        notes = ["There is more than fits into one export."] if data["cut_off"] else []
        if file == _STDOUT:
            return Answer(reply.text, [row], text=[pretty], notes=notes)
        _write(file, pretty, (), replace=force)
        said = f"Everything that the shop stores about the payer is in {file}."
        return Answer(reply.text, [row], lines=[said], text=(), notes=[*notes, said])
    if what is None:
        raise usage(f"name a table: {', '.join(COLUMNS)}; or --payer NUMBER")
    check_choice(form, "--format", ("csv", "ndjson", "xlsx-csv"))
    if show_body and what != "messages":
        raise usage("--show-body is only for messages")
    query = {
        **period(since, until, terminal),
        "show_body": 1 if show_body else None,
        "mode": Mode.TEST if client.sandbox else None,
    }
    counts = Counter[str]()
    rows = _rows(client, what, query, counts)
    chosen = form or ("ndjson" if terminal.output in (Output.JSON, Output.NDJSON) else "csv")
    columns, header = terminal.flags.fields or COLUMNS[what], terminal.flags.header is not False
    pieces = _pieces(chosen, columns, rows, counts, header=header, bom=bom)
    if file == _STDOUT:
        return Answer(rows=rows, stream=True, summary=True, text=pieces)
    _check_file(terminal, file, force=force)
    # The daemon is asked before the file is created, so that a refusal leaves no file behind.
    first = next(pieces, "")
    size = _write(file, first, pieces, replace=force)
    data = {"table": what, "rows": counts["rows"], "file": file, "bytes": size}
    said = f"{counts['rows']:,} rows of {what} are in {file}."
    plain = f"Its lines end with CR LF; plain ones: tr -d '\\r' < {shlex.quote(file)}"
    notes = [said, *([plain] if chosen == "csv" else [])]
    return Answer(*made(data), lines=[said], text=(), notes=notes)


def _rows(client: Client, what: str, query: dict[str, Any], counts: Counter[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of all pages, and count them; only one page is in memory."""
    after: int | None = 0
    while after is not None:
        reply = client.get(path_of(Path.LOCAL_EXPORT, what=what), after=after, limit=_PAGE, **query)
        for row in reply.data or ():
            counts["rows"] += 1
            yield row
        after = at(reply.body, "meta.next")


def _pieces(
    form: str, columns: Sequence[str], rows: Iterable[Row], counts: Counter[str], *, header: bool, bom: bool
) -> Iterator[str]:
    """Yield the text of the rows in a format; csv for Excel always has the byte order mark of `bom`."""
    if form == "ndjson":
        for row in rows:
            yield dumps({"type": "item", **{name: row.get(name) for name in columns}}) + "\n"
        yield dumps({"type": "summary", "items": counts["rows"]}) + "\n"
        return
    excel = form == "xlsx-csv"
    if excel or bom:
        yield BOM
    yield from csv_lines(columns, rows, header=header, excel=excel)


def _check_file(terminal: Terminal, file: str, *, force: bool) -> None:
    """Refuse to replace a file without --force, and to fill the disk of the shop; other disks are not checked."""
    path = pathlib.Path(file)
    if path.exists() and not force:
        raise usage(f"-O: {path} exists already; --force replaces it")
    folder = path.absolute().parent
    try:
        shares = folder.stat().st_dev == pathlib.Path(terminal.located.places.home).stat().st_dev
        room = os.statvfs(folder)
    except OSError:
        return  # the write fails with a better message
    free = room.f_bavail * room.f_frsize
    if shares and free < _LEFT_BYTES:
        raise usage(
            f"-O: the disk of {folder} has {free // 1_000_000} MB left, which are reserved for payments: name a file "
            "on another disk, or free some space"
        )


def _write(path: str, first: str, pieces: Iterable[str], *, replace: bool) -> int:
    """Write a file that only its owner may read, completely or not at all; return its size in bytes."""
    with file_errors(f"-O: {path}"):
        folder = pathlib.Path(path).absolute().parent
        descriptor, beside = tempfile.mkstemp(dir=folder, prefix=".momo-export-")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(first)
                file.writelines(pieces)
                file.flush()
                os.fsync(file.fileno())
                size = file.tell()
            if replace:
                pathlib.Path(beside).replace(path)
            else:
                pathlib.Path(path).hardlink_to(beside)  # fails if the file was created meanwhile
                pathlib.Path(beside).unlink()
        except BaseException:
            pathlib.Path(beside).unlink(missing_ok=True)
            raise
        return size


_BATCH: Final = 400
_FILE_BYTES_MAX: Final = 32 * 1024 * 1024
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
_FIELDS: Final = fields("finding id at statement_amount told_amount reference review_id claimed_by file_line next")
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
    file: str = argument("FILE.csv", "The statement, as CSV or Excel (.xlsx)."),
    line: str | None = option("NUMBER", "The merchant number of the statement."),
    columns: list[str] | None = option("--column", "FIELD=NAME", f"A column: {', '.join(FIELDS)}."),
    prove: bool = flag("Let the balance after the last row settle the messages until then."),
    password_file: str | None = PASSWORD_FILE,
    dry_run: bool = DRY_RUN,
) -> Answer:
    """It lists money on the statement without a message, messages whose money is not on the statement, different amounts,
    payments held for review although they are on the statement, and the next command for each. A comparison makes nothing
    paid. With --prove the balance after the last row is a proof, as in momo lines wallet: messages that lead to it pay, and
    what it contradicts is refuted. A file that somebody edited is only as good as your word: download it from the network
    yourself. Columns of MTN and Telecel are recognised by their names; for another network give --column id=NAME --column
    amount=NAME. The same file again gives the same result. Exit 6: something differs.

    Examples:
        momo data statement mtn-november.csv --line 0244124567
        momo data statement mtn-november.csv --line 0244124567 --prove
        momo data statement other.csv --column id=Reference --column amount=Value
    """
    number = None if line is None else read_phone(line.strip())
    if line is not None and number is None:
        raise usage(f"--line: {line!r} is not a phone number")
    data = _bytes(file)
    statement = _read(file, data, columns or ())
    if prove and (number is None or dry_run):
        raise usage("--prove needs --line and no --dry-run", "momo data statement --help")
    if prove and statement.closing is None:
        raise usage("--prove: the statement does not tell for certain what the wallet held after its last row")
    found = list(_compared(client, statement, number))
    known = {entry.id for entry in statement.entries}
    times = [entry.at.replace(tzinfo=terminal.zone) for entry in statement.entries if entry.at]
    span = (min(times).astimezone(UTC), max(times).astimezone(UTC)) if times else None
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
    said = f"{summary['agrees']} of {summary['entries']} payments on the statement agree"
    proof = None
    told, closing = f"{said}; {len(found)} differences", None if dry_run else statement.closing
    if number and closing and (prove or _agrees_to_prove(terminal, closing, told)):
        proof = _prove(client, terminal, closing, number, password_file)
    document = document_of({**summary, "noted": noted, "findings": found, "proof": proof})
    unread = statement.unread
    notes = []
    if unread:
        shown = ", ".join(map(str, unread[:5])) + (" ..." if len(unread) > 5 else "")
        notes.append(f"{counted(len(unread), 'line')} could not be read: {shown}.")
    if span is None:
        why = "No line has a readable time"
        notes.append(f"{why}, so payments missing on the statement were not searched.")
    if proof is not None:
        notes += [clean(one["sentence"]) for one in (proof, *proof["messages"])]
    steps = list(dict.fromkeys(row["next"] for row in found))
    return Answer(
        document, found, heading=told, empty=f"{said}. Nothing differs.", notes=notes, next=steps[:3],
        exit_code=exit_codes.FINDINGS if found or unread else exit_codes.OK,
    )  # fmt: skip


def _read(file: str, data: bytes, columns: Sequence[str]) -> Statement:
    """Read a statement, with the names of columns that the flags give."""
    named = {}
    for given in columns or ():
        name, equals, column = given.partition("=")
        if not equals or name not in FIELDS:
            raise usage(f"--column: {given!r}: write FIELD=NAME, FIELD one of {', '.join(FIELDS)}")
        named[name] = column
    try:
        statement = read_statement(rows_in(data), named)
    except StatementFileError as problem:
        raise usage(f"{file}: {problem}") from None
    if statement.missing:
        there = ", ".join(name.strip() for name in statement.header if name.strip())[:300]
        wants = " ".join(f"--column {name}=NAME" for name in statement.missing)
        raise usage(
            f"{file}: no column found for {' and '.join(statement.missing)}; give {wants}. The columns are: {there}"
        )
    return statement


def _agrees_to_prove(terminal: Terminal, closing: Closing, said: str) -> bool:
    """Ask a person whether the balance after the last row is a proof; a program says so with --prove."""
    if not (terminal.human and terminal.can_ask()):
        return False
    terminal.note(said)
    ends = f"{money(render(closing.minor))} at {closing.at:%Y-%m-%d %H:%M}"
    question = f"The statement ends with {ends}. Let this balance settle the messages until then?"
    return terminal.yes_or_no(question, "--prove", default=False)


def _prove(client: Client, terminal: Terminal, closing: Closing, number: str, password_file: str | None) -> Row | None:
    """Say what the wallet held after the last row; None if the answer to the daemon's question is no."""
    first, last = (stamp(at.replace(tzinfo=terminal.zone)) for at in (closing.first_at, closing.at))
    body = {
        "balance": render(closing.minor),
        "at": last,
        "statement_from": first,
        "password": owners_password(terminal, password_file),
    }
    path = path_of(Path.WALLET, id=id_of(client, METHODS, number))
    reply = proved(client, terminal, path, body)
    return None if reply is None else reply.data


def _bytes(path: str) -> bytes:
    with file_errors(path), open(path, "rb") as file:  # noqa: PTH123  # pathlib is not needed here
        data = file.read(_FILE_BYTES_MAX + 1)
    if len(data) > _FILE_BYTES_MAX:
        raise usage(f"{path}: the statement is larger than 32 MB; export one month at a time")
    return data


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
                yield {
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


def _missing(
    client: Client, known: set[str], line: str | None, span: tuple[datetime, datetime]
) -> Iterator[dict[str, Any]]:
    """Yield the payments in the period of the statement that are not on it."""
    first, last = (stamp(time) for time in span)
    query = {"from": stamp(span[0] - _SLACK), "to": stamp(span[1] + _LATE)}
    for row in _rows(client, "payments", query, Counter()):
        there = first <= str(row["timestamp"]) <= last
        mine = line is None or row["line"] == line
        new = row["telco_transaction_id"].upper() not in known
        if there and mine and new and not row["test"]:
            following = f"momo messages show {row['message_id']} --show-body"
            yield {
                **{field.name: None for field in _FIELDS},
                "finding": "not_on_statement",
                "id": row["telco_transaction_id"],
                "at": row["timestamp"],
                "told_amount": row["amount"],
                "reference": row["reference"],
                "next": f"momo tx show {row['reference']}" if row["reference"] else following,
            }
