"""The day sheet, of a day or a longer period, as text for the terminal and mail, as HTML, and as rows."""

import shlex
from collections.abc import Iterator, Sequence
from datetime import time, timedelta, tzinfo
from typing import Final

from daemon.wire import Mode, Path
from momo_cli.show.answer import Answer, Cell, Field, Head, Row, View, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import clock, money, payer_text, phone
from momo_cli.socket.client import Client, Reply
from momo_cli.text import at, clean
from momo_cli.times import parse_stamp

ROWS_MAX: Final = 1000
"""The most rows by hour, day or payer that are shown."""
_REVIEWS_MAX: Final = 200
_HELD_MAX: Final = 5
"""The held payments that are named for each wallet."""
_UNCOUNTED: Final = ("doubtful",)
"""The standings in the balance chain with which a payment is not counted."""
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
_SETTLED: Final = {
    "rest_received": "Settled: the rest came",
    "waived": "Settled: waived",
    "change_given": "Settled: change given",
}
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
    parts = (
        when, clean(at(data, "shop.name")), clean(data.get("branch") or ""),
        "SANDBOX" if data.get("test") else "",
    )  # fmt: skip
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
    return "Settled in cash" if row.get("in_cash") else _SETTLED[row["kind"]]


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
            found.append(
                f"{_name(line)}: {apart} {more} in the payments than in the wallet{untold}."
            )
    return found


def columns(sheet: Row) -> list[tuple[str, Row]]:
    """Return the columns of a sheet: each wallet and the total; with a single wallet, that one alone."""
    own = [(_head(line, sheet["lines"]), line) for line in sheet["lines"]]
    return own if len(own) == 1 else [*own, ("All", sheet["all"])]


def _name(line: Row) -> str:
    return f"{clean(line['network_name'])} {phone(line['phone_number']) or 'no number'}"


def _head(line: Row, every: Sequence[Row]) -> str:
    """Return the name of a column, with the last digits of the number if a network has two numbers."""
    name = clean(line["network_name"])
    if sum(other["network"] == line["network"] for other in every) > 1:
        return f"{name} {(clean(line['phone_number']) or 'no number')[-4:]}"
    return name


def _sheet(sheet: Row, data: Row, terminal: Terminal) -> list[str]:
    shown = columns(sheet)
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
    return Answer(
        reply.text,
        [{"currency": sheet["currency"], **line} for sheet in sheets for line in sheet["lines"]],
        lines=sheet_lines(data, terminal),
        empty=nothing,
        notes=[*(f"! {what}" for what in wrong), *held] if terminal.human else (),
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


def _is_held(row: Row, data: Row, line: Row, currency: str) -> bool:
    """Return whether a review is about money on this line and in this period that the sheet does not count."""
    when = clean(at(row, "message.smsc_ts") or at(row, "message.received_at"))
    counted = row.get("payment") and at(row, "balance_chain.standing") not in _UNCOUNTED
    return (
        not counted
        and at(row, "message.kind") == "payment_received"
        and bool(row.get("test")) is bool(data.get("test"))
        and (row.get("currency"), at(row, "line.payment_method_id"))
        == (currency, line["payment_method_id"])
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
    for flag, text in texts.items():
        found = parse_stamp(text)
        local = None if found is None else found.astimezone(terminal.zone)
        if local is not None and local.time() == time():
            last = local.date() - timedelta(days=1) if flag == "--to" else local.date()
            texts[flag] = last.isoformat()
    return " ".join(f"{flag} {text}" for flag, text in texts.items())


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
        shown, every = columns(sheet), sheet["all"]
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
