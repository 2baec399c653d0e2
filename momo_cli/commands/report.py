"""Show the sheet of any time, as `momo today` shows that of a day; or send it to the owner by mail.

A day that --to names is in the report, to its end. Mail goes only to the address of [smtp] in config.toml, through the
same queue as notices: it is sent when there is a line, and tried again when there is none.
"""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer

from daemon.wire import Mode, Path
from momo_cli import day_sheet, periods, table
from momo_cli.answer import Answer, Call
from momo_cli.client import Client, Reply
from momo_cli.errors import Failure, usage
from momo_cli.spreadsheet import csv_lines
from momo_cli.terminal import Terminal
from momo_cli.text import at

EXAMPLES: Final = """\
  momo report --from 2026-11-01 --to 2026-11-30
  momo report --yesterday --mail owner@shop.example --quiet
  momo report --from 7d --by day
  momo report --yesterday --format html > yesterday.html
"""
BY: Final = ("line", "day", "hour", "payer")
FORMATS: Final = ("table", "csv", "json", "html")
_MAIL_COLUMNS: Final = 100


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo report`."""

    since: str | None
    until: str | None
    yesterday: bool
    by: str
    form: str | None
    mail: str | None
    sandbox: bool


def command(  # noqa: PLR0913, PLR0917  # one argument per flag
    since: Annotated[str | None, typer.Option("--from", help="First time: 7d, 2026-01-31.")] = None,
    until: Annotated[
        str | None,
        typer.Option("--to", help="Last day, or the time before which; now if not said."),
    ] = None,
    yesterday: Annotated[bool, typer.Option("--yesterday", help="All of yesterday.")] = False,
    by: Annotated[str, typer.Option(help="line, day, hour or payer.", show_default=True)] = "line",
    form: Annotated[str | None, typer.Option("--format", help="table, csv, json or html.")] = None,
    mail: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Send it to the owner's address.")
    ] = None,
    sandbox: Annotated[
        bool, typer.Option("--sandbox", help="The made-up payments of the sandbox.")
    ] = False,
) -> Call:
    """Read the flags."""
    if by not in BY:
        raise usage(f"--by: {by!r} is not one of {', '.join(BY)}")
    if form is not None and form not in FORMATS:
        raise usage(f"--format: {form!r} is not one of {', '.join(FORMATS)}")
    if mail is not None and form not in (None, "table"):
        raise usage(f"--mail sends the sheet as text; leave --format {form} away")
    if form == "html" and by != "line":
        raise usage("--format html shows the sheet alone; leave --by away")
    if yesterday is not (since is None) or (yesterday and until is not None):
        raise usage("give --from (and --to), or --yesterday")
    options = Options(since, until, yesterday, by, form, mail, sandbox)
    return Call(run, options, day_sheet.view_by(by))


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for the sheet, and show or send it."""
    query = _query(terminal, options)
    if options.by != "line":
        query |= {"by": options.by, "limit": day_sheet.ROWS_MAX}
    reply = client.get(Path.LOCAL_REPORT, **query)
    if options.mail is not None:
        return _mailed(client, terminal, options, reply)
    shown = day_sheet.answer(reply, client, terminal, options.by)
    if options.form in (None, "table"):
        return shown
    return replace(shown, text=_text(reply, shown, options, terminal), next=(), notes=())


def _query(terminal: Terminal, options: Options) -> dict[str, Any]:
    mode = {"mode": Mode.TEST if options.sandbox else None}
    if options.yesterday:
        day = periods.day_of("yesterday", "--yesterday", terminal.now(), terminal.zone)
        return {"date": day, **mode}
    return {**periods.period(options.since, options.until or "now", terminal), **mode}


def _text(reply: Reply, shown: Answer, options: Options, terminal: Terminal) -> Iterable[str]:
    if options.form == "json":
        return [reply.text.rstrip("\n") + "\n"]
    if options.form == "html":
        return day_sheet.html(reply.data, terminal.zone)
    fields = day_sheet.view_by(options.by).fields
    rows = (
        {field.name: at(row, field.path or field.name) for field in fields} for row in shown.rows
    )
    return csv_lines([field.name for field in fields], rows)


def _mailed(client: Client, terminal: Terminal, options: Options, reply: Reply) -> Answer:
    plain = replace(terminal, color=False, symbols=True, width=_MAIL_COLUMNS)
    heading = day_sheet.title(reply.data, terminal.zone)
    found = day_sheet.lines(reply.data, plain) or [f"Nothing came in: {heading}."]
    found += ["", *day_sheet.findings(reply.data)] if day_sheet.findings(reply.data) else []
    if rows := reply.data.get("rows"):
        found += ["", *table.lines(plain, day_sheet.view_by(options.by), Answer(rows=rows), ())]
    body = {"to": options.mail, "subject": heading, "text": "\n".join(found) + "\n"}
    try:
        sent = client.call("POST", Path.LOCAL_REPORT_MAIL, body=body)
    except Failure as failure:
        if at(failure.body, "error.details.0.field") == "to":
            failure.next = (f"momo config set smtp.to {shlex.quote(str(options.mail))}",)
            if at(failure.body, "error.details.0.code") == "not_configured":
                failure.next = ("momo config set smtp.host mail.example.com", *failure.next)
        raise
    return Answer(
        document=sent.text,
        empty=f"On its way to {options.mail}: {heading}.",
        text=(),
    )
