"""The commands today and report: the day sheet of a day or a longer period."""

import shlex
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from daemon.wire import Mode, Path
from momo_cli.errors import Failure, usage
from momo_cli.frame.command import command
from momo_cli.inputs.ids import check_branch
from momo_cli.inputs.parameters import OF_BRANCH, flag, option
from momo_cli.inputs.typed_values import check_choice, day_of, period
from momo_cli.show.answer import Answer, values_of
from momo_cli.show.spreadsheet import csv_lines
from momo_cli.show.table import table_lines
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client, Reply
from momo_cli.text import at
from momo_cli.views.day_sheet import (
    ROWS_MAX,
    balance_differences,
    sheet_answer,
    sheet_html,
    sheet_lines,
    sheet_title,
    view_by,
)

_MAIL_COLUMNS: Final = 100
_BY: Final = (
    "line", "hour", "day", "week", "month", "weekday", "hour_of_day", "network", "maker", "payer",
)  # fmt: skip


@command("today", view=view_by, read=True)
def today(
    client: Client,
    terminal: Terminal,
    day: str = option(
        "--date", "The day: yesterday, 2026-01-31.", default="today", show_default=True
    ),
    by: str = option("line, hour, network, maker or payer.", default="line", show_default=True),
    branch: str | None = OF_BRANCH,
) -> Answer:
    """It has the payments received on each line, their outcome, and a comparison with the wallet. `wallet says` is
    computed from the balances in the network's messages, without momo's payments: the last balance of the day minus the
    last one before it, plus the money that left. A difference is money that moved without a message, or a false
    message.

    Examples:
        momo today
        momo today --date yesterday
        momo today --by hour
        momo today --by payer -o csv
        momo today --branch kumasi
        momo today --get data.sheets.0.all.money_in.amount
    """
    check_choice(by, "--by", _BY)
    check_branch(client, branch, "momo today")
    query: dict[str, Any] = {
        "date": day_of(day, "--date", terminal.now(), terminal.zone),
        "mode": Mode.TEST if client.sandbox else None,
        "branch": branch,
    }
    if by != "line":
        query |= {"by": by, "limit": ROWS_MAX}
    reply = client.get(Path.LOCAL_REPORT, **query)
    return sheet_answer(reply, client, terminal, by)


@command("report", view=view_by, read=True)
def report(
    client: Client,
    terminal: Terminal,
    since: str | None = option("--from", "First time: 7d, 2026-01-31."),
    until: str | None = option("--to", "Last day, or the time of the end; default: now."),
    yesterday: bool = flag("The whole of yesterday."),
    by: str = option(
        "line, hour, day, week, month, weekday, hour_of_day, network, maker or payer.",
        default="line",
        show_default=True,
    ),
    form: str | None = option("--format", "table, csv, json or html."),
    mail: str | None = option("ADDRESS", "Mail it to the owner's address."),
    branch: str | None = OF_BRANCH,
) -> Answer:
    """It is the sheet of `momo today`. A day given with --to is included up to its end. A maker is who made the order, `key:`
    and its id for a program. Mail goes only to the address of
    [smtp] in config.toml, through the queue of the notices, with retries while there is no connection.

    Examples:
        momo report --from 2026-11-01 --to 2026-11-30
        momo report --yesterday --mail owner@shop.example --quiet
        momo report --from 7d --by day
        momo report --from 30d --by maker
        momo report --from 90d --by weekday
        momo report --yesterday --format html > yesterday.html
    """
    check_choice(by, "--by", _BY)
    check_choice(form, "--format", ("table", "csv", "json", "html"))
    if mail is not None and form not in (None, "table"):
        raise usage(f"--mail sends the sheet as text; leave out --format {form}")
    if form == "html" and by != "line":
        raise usage("--format html shows only the sheet; leave out --by")
    if yesterday is not (since is None) or (yesterday and until is not None):
        raise usage("give --from (and --to), or --yesterday")
    check_branch(client, branch, "momo report --help")
    query: dict[str, Any] = {"mode": Mode.TEST if client.sandbox else None, "branch": branch}
    if yesterday:
        query["date"] = day_of("yesterday", "--yesterday", terminal.now(), terminal.zone)
    else:
        query |= period(since, until or "now", terminal)
    if by != "line":
        query |= {"by": by, "limit": ROWS_MAX}
    reply = client.get(Path.LOCAL_REPORT, **query)
    if mail is not None:
        return _mailed(client, terminal, reply, mail, by)
    shown = sheet_answer(reply, client, terminal, by)
    if form in (None, "table"):
        return shown
    return replace(shown, text=_text(reply, shown, terminal, form, by), next=(), notes=())


def _text(reply: Reply, shown: Answer, terminal: Terminal, form: str, by: str) -> Iterable[str]:
    if form == "json":
        return [reply.text.rstrip("\n") + "\n"]
    if form == "html":
        return sheet_html(reply.data, terminal.zone)
    fields = view_by(by).fields
    names = [field.name for field in fields]
    rows = (dict(zip(names, values_of(fields, row), strict=True)) for row in shown.rows)
    return csv_lines(names, rows)


def _mailed(client: Client, terminal: Terminal, reply: Reply, mail: str, by: str) -> Answer:
    plain = replace(terminal, color=False, symbols=True, width=_MAIL_COLUMNS)
    heading = sheet_title(reply.data, terminal.zone)
    found = sheet_lines(reply.data, plain) or [f"Nothing came in: {heading}."]
    if wrong := balance_differences(reply.data):
        found += ["", *wrong]
    if rows := reply.data.get("rows"):
        found += ["", *table_lines(plain, view_by(by), Answer(rows=rows), ())]
    body = {"to": mail, "subject": heading, "text": "\n".join(found) + "\n"}
    try:
        sent = client.call("POST", Path.LOCAL_REPORT_MAIL, body=body)
    except Failure as failure:
        if at(failure.body, "error.details.0.field") == "to":
            failure.next = (f"momo config set smtp.to {shlex.quote(mail)}",)
            if at(failure.body, "error.details.0.code") == "not_configured":
                failure.next = ("momo config set smtp.host mail.example.com", *failure.next)
        raise
    return Answer(sent.text, empty=f"Queued for {mail}: {heading}.", text=())
