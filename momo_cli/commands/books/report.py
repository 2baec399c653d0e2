"""The commands today, report and shifts: the sheet of a day or a longer period, and of a shift."""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import time, timedelta, tzinfo
from typing import Any, Final

from daemon.wire import Mode, Path
from momo_cli.errors import Failure, usage
from momo_cli.frame.command import command
from momo_cli.inputs.ids import check_branch
from momo_cli.inputs.parameters import OF_BRANCH, argument, flag, option
from momo_cli.inputs.typed_values import check_choice, day_of, period
from momo_cli.show.answer import Answer, Cell, Field, Head, Row, View, record_of, view_of
from momo_cli.show.render import csv_lines
from momo_cli.show.table import table_lines
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import clock, money, payer_text, phone
from momo_cli.socket.client import Client, Reply, path_of
from momo_cli.text import at, clean
from momo_cli.times import parse_stamp
from momo_cli.views.lines import sheet_columns
from momo_cli.views.transactions import SETTLED

ROWS_MAX: Final = 1000
"""The most rows by hour, day or payer that are shown."""
_REVIEWS_MAX: Final = 200
_HELD_MAX: Final = 5
"""The held payments that are named for each wallet."""
_UNCOUNTED: Final = ("doubtful",)
"""The standings in the balance chain with which a payment is not counted."""
_RECENT: Final = 50
"""The newest payments among which those that are not trusted are named."""
_ID_SHOWN: Final = 8
_LABEL: Final = 27
_COUNT: Final = 6
_AMOUNT: Final = 13
_KINDS: Final = (
    ("paid", "Paid"),
    ("short", "Short"),
    ("over", "Over"),
    ("unmatched", "Matched to no transaction"),
    ("rest", "Rest of short ones"),
    ("reversed", "Taken back by the network"),
)
_OPEN: Final = (("short", "owed"), ("over", "to_give_back"))
SHEET_VIEW: Final = view_of(
    "currency network phone_number",
    *(
        Field(f"{kind}_{name}" if name == "count" else kind, f"{kind}.{name}")
        for kind, _ in _KINDS
        for name in ("count", "amount")
    ),
    "owed=short.owed to_give_back=over.to_give_back late money_in_count=money_in.count",
    "money_in=money_in.amount doubted=doubted.amount wallet_says=wallet.says",
    "wallet_difference=wallet.difference",
    id="payment_method_id",
)


def view_by(by: str, **_: object) -> View:
    """Return the view of rows by line, payer, network, maker or time."""
    if by == "line":
        return SHEET_VIEW
    names = ("payer_name", "payer_phone") if by == "payer" else (by,)
    heads = (
        (Head("PAYER", lambda row, _: payer_text(row["payer_name"], row["payer_phone"]) or "—"),)
        if by == "payer"
        else (Head(by.replace("_", " ").upper(), lambda row, _: clean(row[by]) or "no order"),)
    )
    return view_of(
        *map(Field, names),
        Field("currency"),
        Field("count"),
        Field("amount"),
        *heads,
        Head("PAYMENTS", lambda row, _: str(row["count"]), right=True),
        Head("AMOUNT", lambda row, _: Cell(money(row["amount"], row["currency"])), right=True),
        id=names[-1],
    )


def sheet_title(data: Row, zone: tzinfo) -> str:
    """Return the title of the sheet: the day, or the first and last day, and the shop."""
    first, after = parse_stamp(data.get("from")), parse_stamp(data.get("to"))
    if first is None or after is None:
        return clean(at(data, "shop.name"))
    local, last = first.astimezone(zone), (after - timedelta(milliseconds=1)).astimezone(zone)
    when = f"{local:%a} {local.day} {local:%b}"
    if local.date() != last.date():
        when += f" to {last:%a} {last.day} {last:%b}"
        when += f" {last.year}"
    parts = (when, clean(at(data, "shop.name")), clean(data.get("branch") or ""), "SANDBOX" if data.get("test") else "")
    return " · ".join(part for part in parts if part)


def sheet_lines(data: Row, terminal: Terminal) -> list[str]:
    """Return the lines of the sheets of all currencies, one below the other."""
    found: list[str] = []
    for sheet in data.get("sheets") or ():
        found += ["", *_sheet(sheet, data, terminal)] if found else _sheet(sheet, data, terminal)
    counts = _COUNT if terminal.width >= _LABEL + _COUNT + _AMOUNT else 0
    for row in data.get("settled") or ():
        amount = f"{money(row['amount']):>{_AMOUNT}}"
        found.append(f"{settled_label(row):<{_LABEL}}{_count(row, counts)}{amount}")
    return found


def settled_label(row: Row) -> str:
    """Return how transactions were settled, in words."""
    return "Settled in cash" if row.get("in_cash") else f"Settled: {SETTLED[row['kind']]}"


def balance_differences(data: Row) -> list[str]:
    """Return a sentence for each wallet with a balance that differs from its payments; empty if none does."""
    found = []
    for sheet in data.get("sheets") or ():
        currency = sheet["currency"]
        for line in sheet["lines"]:
            wallet = line["wallet"]
            if wallet is None or wallet["agrees"]:
                continue
            difference = wallet["difference"]
            apart = money(difference.lstrip("-"), currency)
            more = "less" if difference.startswith("-") else "more"
            amounts = [
                f"{money(wallet[name], currency)} {moved}"
                for name, moved in (("untold_in", "came in"), ("untold_out", "went out"))
                if wallet[name] != "0.00"
            ]
            untold = f"; {' and '.join(amounts)} without a message" if amounts else ""
            found.append(f"{_name(line)}: {apart} {more} in the payments than in the wallet{untold}.")
    return found


def _name(line: Row) -> str:
    return f"{clean(line['network_name'])} {phone(line['phone_number']) or 'no number'}"


def _sheet(sheet: Row, data: Row, terminal: Terminal) -> list[str]:
    shown = sheet_columns(sheet)
    room = max(1, (terminal.width - _LABEL - _COUNT) // _AMOUNT)
    left_out = len(shown) > room
    if left_out:
        shown = shown[-1:]
    # A narrow screen shows no counts.
    counts = _COUNT if terminal.width >= _LABEL + _COUNT + _AMOUNT else 0
    width = _LABEL + counts + _AMOUNT * len(shown)
    head = sheet_title(data, terminal.zone)
    names = "".join(f"{name:>{_AMOUNT}}" for name, _ in shown)
    found = (
        [f"{head:<{_LABEL + counts}}{names}"]
        if len(head) < _LABEL + counts
        else [head, " " * (_LABEL + counts) + names]
    )
    found = [terminal.style(line, "bold") for line in found]
    every = sheet["all"]
    for kind, label in _kinds(every):
        amounts = "".join(f"{_money(line, kind):>{_AMOUNT}}" for _, line in shown)
        found.append(f"{label:<{_LABEL}}{_count(every[kind], counts)}{amounts}")
    found.append(("─" if terminal.symbols else "-") * width)
    total = "".join(f"{_money(line, 'money_in'):>{_AMOUNT}}" for _, line in shown)
    label = f"Money in {sheet['currency']}"
    counted = f"{label:<{_LABEL}}{_count(every['money_in'], counts)}"
    found.append(terminal.style(f"{counted}{total}", "bold"))
    said = _says(every["wallet"], sheet["currency"], terminal)
    if said and terminal.width >= width + 3 + len(said[0]):
        found[-1] += f"   {terminal.style(*said)}"
    elif said:
        found.append(" " * max(0, width - len(said[0])) + terminal.style(*said))
    if every["doubted"]["count"]:
        found.append(f"{'Not trusted, not counted':<{_LABEL}}{every['doubted']['count']:>{_COUNT}}")
    # A screen too narrow for columns has the totals of the wallets as lines.
    found += [""] if left_out else []
    for line in sheet["lines"] if left_out else ():
        counted = _count(line["money_in"], counts)
        found.append(f"{_name(line):<{_LABEL}}{counted}{_money(line, 'money_in'):>{_AMOUNT}}")
    return found


def _count(counted: Row, room: int) -> str:
    return f"{counted['count']:>{room}}" if room else ""


def _kinds(every: Row) -> Iterator[tuple[str, str]]:
    for kind, label in _KINDS:
        if kind != "paid" and not every[kind]["count"]:
            continue
        if kind == "short":
            label = f"Short (still owed {money(every[kind]['owed'])})"  # noqa: PLW2901 -- a label with an amount
        elif kind == "over":
            label = f"Over (to give back {money(every[kind]['to_give_back'])})"  # noqa: PLW2901 -- a label with an amount
        yield kind, label


def _money(line: Row, kind: str) -> str:
    return money(line[kind]["amount"]) if line[kind]["count"] else "—"


def _says(wallet: Row | None, currency: str, terminal: Terminal) -> tuple[str, str] | None:
    """Return the balance of the wallets as text, and its colour; None if no message has a balance."""
    if wallet is None:
        return None
    said = f"wallet says {money(wallet['says'])}"
    if wallet["agrees"]:
        return terminal.plain(f"{said} ✓"), "green"
    difference = money(wallet["difference"])
    sign = "" if difference.startswith("-") else "+"
    return terminal.plain(f"{said} ✗ ({sign}{difference} {currency})"), "red"


def sheet_answer(reply: Reply, client: Client, terminal: Terminal, by: str) -> Answer:
    """Return the answer with a sheet, or with rows by hour, day or payer."""
    data = reply.data or {}
    heading = sheet_title(data, terminal.zone)
    sheets = data.get("sheets") or []
    nothing = "" if sheets else f"Nothing came in: {heading}."
    if by != "line":
        found = data.get("rows") or []
        total = at(reply.body, "meta.total")
        more = f", the first {len(found)} of {total}" if total and total > len(found) else ""
        return Answer(reply.text, found, heading=heading + more, empty=nothing)
    wrong = balance_differences(data)
    held = _held(data, client, terminal) if wrong and terminal.human else []
    denied = _denied(data, client, terminal) if terminal.human else []
    return Answer(
        reply.text,
        [{"currency": sheet["currency"], **line} for sheet in sheets for line in sheet["lines"]],
        lines=sheet_lines(data, terminal),
        empty=nothing,
        notes=[*(f"! {what}" for what in wrong), *held, *denied] if terminal.human else (),
        next=[
            *_unmatched(data, client, terminal),
            *_unsettled(data),
            *(["momo review list"] if held else []),
            *(["momo lines"] if wrong else []),
        ],
    )


def _held(data: Row, client: Client, terminal: Terminal) -> list[str]:
    """Return the open reviews of payments that the wallets have and the sheet does not count, a line each."""
    found: list[str] = []
    rows = client.find(Path.REVIEWS, limit=_REVIEWS_MAX, branch=data.get("branch")) or ()
    for sheet in data.get("sheets") or ():
        for line in sheet["lines"]:
            wallet = line["wallet"]
            if wallet is None or not wallet["difference"].startswith("-"):
                continue
            held = [row for row in rows if _is_held(row, data, line, sheet["currency"])]
            found += [_held_text(row, terminal) for row in held[:_HELD_MAX]]
            if len(held) > _HELD_MAX:
                found.append(f"  and {len(held) - _HELD_MAX} more that are held")
            total = sum(_minor(row["amount"]) for row in held)
            if held and total == _minor(wallet["difference"].lstrip("-")):
                found.append("  Together they are the difference.")
    return found


def _denied(data: Row, client: Client, terminal: Terminal) -> list[str]:
    """Return the payments of this period that the wallets' balances deny, a line each."""
    if not any(sheet["all"]["doubted"]["count"] for sheet in data.get("sheets") or ()):
        return []
    mode = Mode.TEST if data.get("test") else Mode.LIVE
    asked = {"recent": _RECENT, "mode": mode, "branch": data.get("branch")}
    rows = at(client.find(Path.LOCAL_REPORT, **asked), "recent") or ()
    inside = [row for row in rows if row["doubted"] and data["from"] <= row["at"] < data["to"]]
    return [
        f"  {money(row['amount'], row['currency'])}"
        f" from {payer_text(row['payer_name'], row['payer_phone']) or 'no name'},"
        f" {clock(row['at'], terminal)}, is not trusted: {_shown_by(row)}"
        for row in inside
    ]


def _shown_by(row: Row) -> str:
    code = clean(at(row, "order.svc_code"))
    return f"momo tx show {code}" if code else "momo review list"


def _is_held(row: Row, data: Row, line: Row, currency: str) -> bool:
    """Return whether a review is about money on this line and in this period that the sheet does not count."""
    when = clean(at(row, "message.smsc_ts") or at(row, "message.received_at"))
    counted = row.get("payment") and at(row, "balance_chain.standing") not in _UNCOUNTED
    return (
        not counted
        and at(row, "message.kind") == "payment_received"
        and bool(row.get("test")) is bool(data.get("test"))
        and (row.get("currency"), at(row, "line.payment_method_id")) == (currency, line["payment_method_id"])
        and clean(data.get("from")) <= when < clean(data.get("to"))
    )


def _held_text(row: Row, terminal: Terminal) -> str:
    fields = at(row, "message.fields") or {}
    number = clean(fields.get("payer_phone"))
    number = f"+{number}" if number.startswith("233") else number  # receipts print no plus
    payer = payer_text(fields.get("payer_name"), number)
    amount = money(row.get("amount"), row.get("currency"))
    when = clock(at(row, "message.received_at"), terminal)
    who = f" from {payer}" if payer else ""
    return f"  {amount}{who}, {when}, is held: momo review show {clean(row.get('id'))[:_ID_SHOWN]}"


def _minor(amount: str) -> int:
    """Return an amount with two decimals in the smallest unit."""
    return int(amount.replace(".", ""))


def _unmatched(data: Row, client: Client, terminal: Terminal) -> list[str]:
    """Return the command that lists unmatched payments: the open reviews if there are any, else the holders."""
    sheets = data.get("sheets") or ()
    if not terminal.human or not any(sheet["all"]["unmatched"]["count"] for sheet in sheets):
        return []
    branch = data.get("branch")
    mode = Mode.TEST if data.get("test") else Mode.LIVE
    waits = client.find(Path.REVIEWS, limit=1, mode=mode, branch=branch)
    if waits is None:
        return []  # the sheet itself was printed
    of_branch = f" --branch {shlex.quote(branch)}" if branch else ""
    if waits:
        return [f"momo review list{of_branch}"]
    sandbox = " --sandbox" if data.get("test") else ""
    return [f"momo tx list --origin open {_window(data, terminal)}{of_branch}{sandbox}"]


def _unsettled(data: Row) -> list[str]:
    """Return the command that lists what is owed or to give back, if the sheet counts any."""
    every = [sheet["all"] for sheet in data.get("sheets") or ()]
    open_ = {one[kind][name] for one in every for kind, name in _OPEN} - {"0.00"}
    sandbox = " --sandbox" if data.get("test") else ""
    return [f"momo tx list --unsettled{sandbox}"] if open_ and not data.get("branch") else []


def _window(data: Row, terminal: Terminal) -> str:
    """Return the flags for the period of a sheet; whole days as dates, which are short to type."""
    texts = {"--from": clean(data["from"]), "--to": clean(data["to"])}
    for name, text in texts.items():
        found = parse_stamp(text)
        local = None if found is None else found.astimezone(terminal.zone)
        if local is not None and local.time() == time():
            last = local.date() - timedelta(days=1) if name == "--to" else local.date()
            texts[name] = last.isoformat()
    return " ".join(f"{name} {text}" for name, text in texts.items())


def sheet_html(data: Row, zone: tzinfo) -> Iterator[str]:
    """Return the sheets as a self-contained HTML page."""
    from html import escape  # noqa: PLC0415  # only this form needs it

    head = escape(sheet_title(data, zone))
    yield (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{head}</title>\n<style>\n'
        "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:48rem;padding:0 1rem}\n"
        "table{border-collapse:collapse;width:100%}th,td{padding:.3rem .6rem;text-align:right}\n"
        "th:first-child,td:first-child{text-align:left}tfoot td{border-top:2px solid;font-weight:bold}\n"
        f"</style>\n<h1>{head}</h1>\n"
    )
    for sheet in data.get("sheets") or ():
        shown, every = sheet_columns(sheet), sheet["all"]
        names = "".join(f"<th>{escape(name)}</th>" for name, _ in shown)
        yield f"<table><thead><tr><th>{escape(sheet['currency'])}</th><th></th>{names}</tr></thead><tbody>\n"
        for kind, label in _kinds(every):
            cells = "".join(f"<td>{_money(line, kind)}</td>" for _, line in shown)
            yield f"<tr><td>{escape(label)}</td><td>{every[kind]['count']}</td>{cells}</tr>\n"
        cells = "".join(f"<td>{_money(line, 'money_in')}</td>" for _, line in shown)
        yield f"</tbody><tfoot><tr><td>Money in</td><td>{every['money_in']['count']}</td>{cells}</tr></tfoot></table>\n"
        if (wallet := every["wallet"]) is not None:
            mark = "✓" if wallet["agrees"] else f"✗ ({money(wallet['difference'])})"
            yield f"<p>The wallet says {money(wallet['says'])} {mark}</p>\n"
    for finding in balance_differences(data):
        yield f"<p>{escape(finding)}</p>\n"


_MAIL_COLUMNS: Final = 100
_BY: Final = ("line", "hour", "day", "week", "month", "weekday", "hour_of_day", "network", "maker", "payer")


@command("today", view=view_by, read=True)
def today(
    client: Client,
    terminal: Terminal,
    day: str = option("--date", "The day: yesterday, 2026-01-31.", default="today", show_default=True),
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
        momo today --by payer -o csv
        momo today --branch kumasi
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
    return csv_lines([field.name for field in fields], (record_of(fields, row) for row in shown.rows))


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


_MINE: Final = "mine"
_SHIFT = argument("[ID]", "The shift; default: your open one.", default=_MINE)


def _sums(rows: list[Row]) -> str:
    """Return counts and amounts, such as `3 orders, GHS 37.50`."""
    return ", ".join(f"{row['count']} · {money(row['amount'], row['currency'])}" for row in rows)


_VIEW: Final = view_of(
    "id by opened_at closed_at closed_by",
    Head("ID", lambda row, _: clean(row["id"])),
    Head("BY", lambda row, _: clean(row["by"])),
    Head("OPENED", lambda row, t: clock(row["opened_at"], t)),
    Head("CLOSED", lambda row, t: clock(row["closed_at"], t) or "open"),
    Head("MADE", lambda row, _: _sums(row["made"]) or "—"),
    Head("PAID", lambda row, _: _sums(row["paid"]) or "—"),
    id="id",
)


@command("users shift list", view=_VIEW)
def list_(client: Client, before: int | None = option("ID", "Those before this one.", min=1)) -> Answer:
    """The newest come first, 50 at a time.

    Examples:
        momo users shift list
        momo users shift list --before 51
    """
    reply = client.get(Path.LOCAL_SHIFTS, before=before)
    return Answer(*reply.parts, empty="No shifts.", next=["momo users shift open"])


@command("users shift show", view=_VIEW)
def show(client: Client, terminal: Terminal, shift: str = _SHIFT) -> Answer:
    """Made are the orders that this person made, paid those of them that were paid in this time, settled what this person
    ended: the rest that came, in cash or by a payment, what was waived, change given back. --quiet prints nothing.

    Examples:
        momo users shift show
        momo users shift show 7
    """
    reply = client.get(path_of(Path.LOCAL_SHIFT, shift_id=shift))
    return Answer(reply.text, [reply.data], lines=_lines(reply.data, terminal))


@command("users shift open", view=_VIEW)
def open_(client: Client, terminal: Terminal) -> Answer:
    """One that is open goes on: a person has one open shift.

    Examples:
        momo users shift open
    """
    reply = client.call("POST", Path.LOCAL_SHIFTS, body={})
    return Answer(reply.text, [reply.data], lines=_lines(reply.data, terminal), next=["momo users shift close"])


@command("users shift close", view=_VIEW)
def close(client: Client, terminal: Terminal, shift: str = _SHIFT) -> Answer:
    """Its sums then end. A closed one stays as it is.

    Examples:
        momo users shift close
        momo users shift close 7
    """
    reply = client.call("POST", path_of(Path.LOCAL_SHIFT_CLOSE, shift_id=shift), body={})
    return Answer(reply.text, [reply.data], lines=_lines(reply.data, terminal))


def _lines(row: Row, terminal: Terminal) -> list[str]:
    closed = f"to {clock(row['closed_at'], terminal)}" if row["closed_at"] else "open"
    who = f" by {clean(row['closed_by'])}" if row["closed_by"] not in {None, row["by"]} else ""
    lines = [
        f"Shift {clean(row['id'])} · {clean(row['by'])} · {clock(row['opened_at'], terminal)} {closed}{who}",
        f"  made     {_sums(row['made']) or '—'}",
        f"  paid     {_sums(row['paid']) or '—'}",
    ]
    return [*lines, *(f"  {settled_label(each)}: {_sums([each])}" for each in row["settled"])]
