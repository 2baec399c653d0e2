"""Write a whole table out of the shop: transactions, payments, messages, deliveries or audit; or all about one payer.

Rows come oldest first, a page at a time, so that any number of them needs no memory. Columns stand in an order that never
changes; new ones are added at the end. Times are ISO 8601 UTC, amounts have a dot. In csv a cell that a spreadsheet would
take for a formula begins with an apostrophe; xlsx-csv is csv for Excel: with a byte order mark, and long numbers kept as
text. The text of SMS is only there with --show-body, and then the journal says so. A file is written whole or not at all.

--payer writes all that the shop keeps about one number, as JSON: for the person who asks for it. momo forget takes it away.
"""

import json
import os
import pathlib
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import periods
from momo_cli.answer import Answer, Call, Field, Row, View
from momo_cli.client import Client, path_of
from momo_cli.errors import usage
from momo_cli.flags import Output
from momo_cli.spreadsheet import BOM, csv_lines
from momo_cli.terminal import Terminal
from momo_cli.text import at
from momo_cli.values import dumps

_LEFT_BYTES: Final = 100_000_000
"""The step at which the daemon makes no backups either."""
EXAMPLES: Final = """\
  momo export transactions --from 2026-11-01 --to 2026-11-30 -O november.csv
  momo export payments --format ndjson | gzip > payments.ndjson.gz
  momo export payments --format xlsx-csv -O payments.csv --force
  momo export audit --from yesterday --fields at,type,actor,reference
  momo export --payer 0244124567 -O payer.json
"""
COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "transactions": (
        "reference", "svc_code", "origin", "status", "expected_amount", "actual_amount", "difference",
        "difference_type", "currency", "payer_name", "payer_phone", "client_reference", "description", "network",
        "telco_transaction_id", "matched_by", "late", "created_at", "expires_at", "completed_at", "cancelled_at",
        "reversed_at", "test",
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
_PAYER: Final = View(fields=tuple(Field(name) for name in _HELD))
FORMATS: Final = ("csv", "ndjson", "xlsx-csv")
PAGE: Final = 500
STDOUT: Final = "-"


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo export`."""

    what: str | None
    since: str | None
    until: str | None
    form: str | None
    file: str
    bom: bool
    force: bool
    show_body: bool
    payer: str | None = None


@dataclass(slots=True)
class Counted:
    """Rows as they pass, and how many have."""

    rows: Iterable[Row]
    number: int = field(default=0)

    def __iter__(self) -> Iterator[Row]:
        for row in self.rows:
            self.number += 1
            yield row


def command(  # noqa: PLR0913, PLR0917  # one argument per flag
    what: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help=", ".join(COLUMNS) + ".")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--from", help="First time: 7d, today, 2026-01-31.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", help="Last day, or the time before which.")
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", help="csv, ndjson or xlsx-csv; csv if not said.")
    ] = None,
    file: Annotated[
        str, typer.Option("-O", "--file", metavar="FILE", help="Where to; - is stdout.")
    ] = STDOUT,
    bom: Annotated[
        bool, typer.Option("--bom", help="Begin csv with a byte order mark, for Excel.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    show_body: Annotated[
        bool, typer.Option("--show-body", help="The text of SMS too; it is noted in the journal.")
    ] = False,
    payer: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="All about one payer, instead of a TABLE.")
    ] = None,
) -> Call:
    """Read the flags."""
    if payer is not None:
        if what is not None or any((since, until, form, bom, show_body)):
            raise usage("--payer goes with -O and --force alone: it writes all there is, as JSON")
        return Call(run, Options(None, None, None, None, file, False, force, True, payer), _PAYER)
    if what is None:
        raise usage(f"name a table: {', '.join(COLUMNS)}; or --payer NUMBER")
    if what not in COLUMNS:
        raise usage(f"{what!r} is not one of {', '.join(COLUMNS)}")
    if form is not None and form not in FORMATS:
        raise usage(f"--format: {form!r} is not one of {', '.join(FORMATS)}")
    if show_body and what != "messages":
        raise usage("--show-body is for messages alone")
    options = Options(what, since, until, form, file, bom, force, show_body)
    return Call(run, options, View(fields=tuple(map(Field, COLUMNS[what]))))


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Write the rows to stdout as they come, or into a file."""
    if options.what is None:
        return _payer(client, terminal, options)
    query = {
        **periods.period(options.since, options.until, terminal),
        "show_body": 1 if options.show_body else None,
    }
    rows = Counted(_rows(client, options.what, query))
    if options.file != STDOUT:
        return _into_file(rows, terminal, options)
    if _form(terminal, options) == "ndjson":
        return Answer(
            rows=rows, stream=True, summary=True, text=_as_ndjson(rows, terminal, options)
        )
    return Answer(rows=rows, stream=True, summary=True, text=_as_csv(rows, terminal, options))


def _form(terminal: Terminal, options: Options) -> str:
    """Return the form: what --format says, else the global flags, else csv."""
    if options.form is not None:
        return options.form
    return "ndjson" if terminal.output in (Output.JSON, Output.NDJSON) else "csv"


def _rows(client: Client, what: str, query: dict[str, Any]) -> Iterator[Row]:
    """Ask for one page after the other; no more than one is held."""
    after: int | None = 0
    while after is not None:
        reply = client.get(path_of(Path.LOCAL_EXPORT, what=what), after=after, limit=PAGE, **query)
        yield from reply.data or ()
        after = at(reply.body, "meta.next")


def _as_csv(rows: Counted, terminal: Terminal, options: Options) -> Iterator[str]:
    excel = _form(terminal, options) == "xlsx-csv"
    if excel or options.bom:
        yield BOM
    columns = terminal.flags.fields or COLUMNS[options.what or ""]
    yield from csv_lines(columns, rows, header=terminal.flags.header is not False, excel=excel)


def _as_ndjson(rows: Counted, terminal: Terminal, options: Options) -> Iterator[str]:
    columns = terminal.flags.fields or COLUMNS[options.what or ""]
    for row in rows:
        yield dumps({"type": "item", **{name: row.get(name) for name in columns}}) + "\n"
    yield dumps({"type": "summary", "items": rows.number}) + "\n"


def _payer(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Write all about one payer, to be read by the one who asked; only who may read the file is the owner of the shop."""
    if options.file != STDOUT:
        _may_write(terminal, options)
    reply = client.call("POST", Path.LOCAL_PAYER, body={"number": options.payer})
    data: dict[str, Any] = reply.data
    pretty = json.dumps(data, ensure_ascii=False, indent=2) + "\n"
    row = {name: len(data[name]) for name in _HELD}
    notes = ["There is more than one export holds."] if data["cut_off"] else []
    if options.file == STDOUT:
        return Answer(reply.text, [row], text=[pretty], notes=notes)
    try:
        _written(options.file, pretty, (), replace=options.force)
    except OSError as problem:
        raise usage(f"-O: {options.file}: {problem.strerror}") from None
    said = f"All that the shop keeps about the payer is in {options.file}."
    return Answer(reply.text, [row], lines=[said], text=(), notes=[*notes, said])


def _may_write(terminal: Terminal, options: Options) -> None:
    path = pathlib.Path(options.file)
    if path.exists() and not options.force:
        raise usage(f"-O: {path} is there already; --force replaces it")
    _leave_room(path.absolute().parent, terminal)


def _into_file(rows: Counted, terminal: Terminal, options: Options) -> Answer:
    path = options.file
    _may_write(terminal, options)
    form = _form(terminal, options)
    write = _as_ndjson if form == "ndjson" else _as_csv
    # The daemon is asked before anything is made: a refusal leaves no file behind.
    pieces = write(rows, terminal, options)
    first = next(iter(pieces), "")
    try:
        size = _written(path, first, pieces, replace=options.force)
    except OSError as problem:
        raise usage(f"-O: {path}: {problem.strerror}") from None
    data = {"table": options.what, "rows": rows.number, "file": path, "bytes": size}
    said = f"{rows.number:,} rows of {options.what} are in {path}."
    return Answer(
        dumps({"success": True, "data": data}), [data], lines=[said], text=(), notes=[said]
    )


def _leave_room(folder: pathlib.Path, terminal: Terminal) -> None:
    """Refuse to fill the disk that the shop is on; another disk is its owner's own affair."""
    try:
        shares = folder.stat().st_dev == pathlib.Path(terminal.located.places.home).stat().st_dev
        room = os.statvfs(folder)
    except OSError:
        return  # writing says what is wrong, and better
    free = room.f_bavail * room.f_frsize
    if shares and free < _LEFT_BYTES:
        raise usage(
            f"-O: the disk of {folder} has {free // 1_000_000} MB left, and those are for payments: name a file on "
            "another disk, or free some space"
        )


def _written(path: str, first: str, pieces: Iterable[str], *, replace: bool) -> int:
    """Write a file beside its place and put it there when it is whole; only its owner may read it. Returns its size."""
    descriptor, beside = tempfile.mkstemp(
        dir=pathlib.Path(path).absolute().parent, prefix=".momo-export-"
    )
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
            pathlib.Path(path).hardlink_to(beside)  # it fails where another was made meanwhile
            pathlib.Path(beside).unlink()
    except BaseException:
        pathlib.Path(beside).unlink(missing_ok=True)
        raise
    return size
