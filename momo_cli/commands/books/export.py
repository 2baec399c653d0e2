"""The command export: write a whole table, or everything about one payer, to stdout or a file."""

import json
import os
import pathlib
import shlex
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from daemon.wire import Mode, Path
from momo_cli.errors import usage
from momo_cli.flags import Output
from momo_cli.frame.command import command
from momo_cli.inputs.files import file_errors
from momo_cli.inputs.parameters import ShowBody, argument, option
from momo_cli.inputs.typed_values import check_choice, period
from momo_cli.show.answer import Answer, Row, View, dumps, made, view_of
from momo_cli.show.spreadsheet import BOM, csv_lines
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client, path_of
from momo_cli.text import at

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
_PAYER_VIEW: Final = view_of(*_HELD)
_FORMATS: Final = ("csv", "ndjson", "xlsx-csv")
_PAGE: Final = 500
_STDOUT: Final = "-"


@dataclass(slots=True)
class _Counted:
    """Rows, counted as they are read."""

    rows: Iterable[Row]
    number: int = 0

    def __iter__(self) -> Iterator[Row]:
        for row in self.rows:
            self.number += 1
            yield row


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes rows in one format.

    Attributes:
        name: The format, one of `_FORMATS`.
        columns: The columns, in order.
        header: Begin csv with a line of column names.
        bom: Begin csv with a byte order mark.
    """

    name: str
    columns: Sequence[str]
    header: bool
    bom: bool

    def pieces(self, rows: _Counted) -> Iterator[str]:
        """Yield the text of the rows."""
        if self.name != "ndjson":
            excel = self.name == "xlsx-csv"
            if excel or self.bom:
                yield BOM
            yield from csv_lines(self.columns, rows, header=self.header, excel=excel)
            return
        for row in rows:
            yield dumps({"type": "item", **{name: row.get(name) for name in self.columns}}) + "\n"
        yield dumps({"type": "summary", "items": rows.number}) + "\n"


_What = Annotated[str | None, argument("[TABLE]", ", ".join(COLUMNS) + ".")]
_Since = Annotated[str | None, option("--from", "First time: 7d, today, 2026-01-31.")]
_Until = Annotated[str | None, option("--to", "Last day, or the time of the end.")]
_Form = Annotated[str | None, option("--format", "csv, ndjson or xlsx-csv; default: csv.")]
_File = Annotated[str, option("-O", "--file", "FILE", "The file to write; - is stdout.")]
_Bom = Annotated[bool, option("--bom", "Begin csv with a byte order mark, for Excel.")]
_Force = Annotated[bool, option("--force", "Replace an existing file.")]
_Payer = Annotated[str | None, option("NUMBER", "Everything about one payer, instead of a TABLE.")]


def _view(*, what: str | None, **_: object) -> View:
    if what is None:
        return _PAYER_VIEW
    if what not in COLUMNS:
        # Before the view is used to check --fields, which would blame the fields of another table.
        raise usage(f"{what!r} is not one of {', '.join(COLUMNS)}")
    return view_of(*COLUMNS[what])


@command("data export", view=_view)
def export(
    client: Client,
    terminal: Terminal,
    what: _What = None,
    since: _Since = None,
    until: _Until = None,
    form: _Form = None,
    file: _File = _STDOUT,
    bom: _Bom = False,
    force: _Force = False,
    show_body: ShowBody = False,
    payer: _Payer = None,
) -> Answer:
    r"""Export a whole table.

    Tables: transactions, payments, messages, deliveries, audit. Rows come oldest first, page by page, so that a large
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
        momo data export audit --from yesterday --fields at,type,actor,reference
        momo data export --payer 0244124567 -O payer.json
    """
    if payer is not None:
        if what is not None or any((since, until, form, bom, show_body)):
            raise usage("--payer writes everything as JSON; only -O and --force go with it")
        return _payer(client, terminal, payer, file, force=force)
    if what is None:
        raise usage(f"name a table: {', '.join(COLUMNS)}; or --payer NUMBER")
    check_choice(form, "--format", _FORMATS)
    if show_body and what != "messages":
        raise usage("--show-body is only for messages")
    query = {
        **period(since, until, terminal),
        "show_body": 1 if show_body else None,
        "mode": Mode.TEST if client.sandbox else None,
    }
    rows = _Counted(_rows(client, what, query))
    chosen = form or _usual(terminal)
    pieces = _Writer(
        chosen,
        columns=terminal.flags.fields or COLUMNS[what],
        header=terminal.flags.header is not False,
        bom=bom,
    ).pieces(rows)
    if file == _STDOUT:
        return Answer(rows=rows, stream=True, summary=True, text=pieces)
    _check_file(terminal, file, force=force)
    # The daemon is asked before the file is created, so that a refusal leaves no file behind.
    first = next(pieces, "")
    size = _write(file, first, pieces, replace=force)
    data = {"table": what, "rows": rows.number, "file": file, "bytes": size}
    said = f"{rows.number:,} rows of {what} are in {file}."
    notes = [said, *_line_ends(file, chosen)]
    return Answer(*made(data), lines=[said], text=(), notes=notes)


def _line_ends(file: str, form: str) -> list[str]:
    plain = f"Its lines end with CR LF; plain ones: tr -d '\\r' < {shlex.quote(file)}"
    return [plain] if form == "csv" else []


def _usual(terminal: Terminal) -> str:
    """Return the format without --format: --json and -o ndjson mean ndjson."""
    return "ndjson" if terminal.output in (Output.JSON, Output.NDJSON) else "csv"


def _rows(client: Client, what: str, query: dict[str, Any]) -> Iterator[Row]:
    """Yield the rows of all pages; only one page is in memory."""
    after: int | None = 0
    while after is not None:
        reply = client.get(path_of(Path.LOCAL_EXPORT, what=what), after=after, limit=_PAGE, **query)
        yield from reply.data or ()
        after = at(reply.body, "meta.next")


def _payer(client: Client, terminal: Terminal, number: str, file: str, *, force: bool) -> Answer:
    """Write everything about one payer; only the owner of the file may read it."""
    if file != _STDOUT:
        _check_file(terminal, file, force=force)
    reply = client.call("POST", Path.LOCAL_PAYER, body={"number": number})
    data: dict[str, Any] = reply.data
    pretty = json.dumps(data, ensure_ascii=False, indent=2) + "\n"
    row = {name: len(data[name]) for name in _HELD}
    notes = ["There is more than fits into one export."] if data["cut_off"] else []
    if file == _STDOUT:
        return Answer(reply.text, [row], text=[pretty], notes=notes)
    _write(file, pretty, (), replace=force)
    said = f"Everything that the shop stores about the payer is in {file}."
    return Answer(reply.text, [row], lines=[said], text=(), notes=[*notes, said])


def _check_file(terminal: Terminal, file: str, *, force: bool) -> None:
    """Refuse to replace a file without --force, and to fill the disk."""
    path = pathlib.Path(file)
    if path.exists() and not force:
        raise usage(f"-O: {path} exists already; --force replaces it")
    _leave_room(path.absolute().parent, terminal)


def _leave_room(folder: pathlib.Path, terminal: Terminal) -> None:
    """Refuse to fill the disk of the shop; other disks are not checked."""
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
        return _written(path, first, pieces, replace=replace)


def _written(path: str, first: str, pieces: Iterable[str], *, replace: bool) -> int:
    """Write a temporary file in the same folder, and rename it when it is complete."""
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
