"""A network's statement compared with the messages: the entries missing on either side, each with its next step.

A statement never makes an order paid: only a message or a person does.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from daemon.core.access.callers import Operation, require
from daemon.core.json_values import Json, timestamp
from daemon.core.limits import SECOND_US
from daemon.dash.parts.listing import chosen_file, named_lines
from daemon.dash.web.visit import Outcome, Shown, Visit
from daemon.flows.books.audit import note_statement
from daemon.steps.books.statement import Finding, compared
from daemon.store.books import statement as store
from daemon.store.books.statement import UnlistedPayment
from daemon.store.engine import Reader
from daemon.store.lines import payment_methods
from parsers.money import render
from parsers.phone import read_phone
from parsers.statement import Statement, StatementEntry, read_statement
from parsers.statement_file import StatementFileError, rows_in

BATCH: Final = 400
FILE_BYTES_MAX: Final = 1_000_000
COLUMNS: Final = ("id", "amount", "time")
MISSING_MAX: Final = 5_000
SHOWN_MAX: Final = 500
_PAYMENTS: Final = "/dash/payments"


class StatementDifference(Struct, frozen=True):
    """One difference: an entry that the messages do not tell alike, or a payment that is not on the statement.

    `at` is the time as text; `listed` and `told` are the amounts of the statement and of the message; `href` is where
    to go on.
    """

    finding: str
    id: str
    at: str
    listed: str
    told: str
    href: str
    line: int | None


async def show(visit: Visit) -> Shown:
    """Show the form."""
    return await _page(visit, None, ())


async def compare(visit: Visit) -> Outcome:
    """Compare the statement in the form, and note in the journal that it was done."""
    require(visit.caller, Operation.COMPARE_STATEMENT)
    data = _file(visit)
    statement = await _read(visit, data)
    number = read_phone(visit.form.get("line", ""))
    entries, zone = statement.entries, visit.words.zone
    # A printed time names no zone: it is one of the shop.
    times = [int(one.at.replace(tzinfo=zone).timestamp()) * SECOND_US for one in entries if one.at is not None]

    def read(reader: Reader) -> tuple[list[Json], list[UnlistedPayment]]:
        found: list[Json] = []
        for start in range(0, len(entries), BATCH):
            batch = entries[start : start + BATCH]
            asked = [{"id": one.id, "amount_minor": one.minor} for one in batch]
            found += compared(reader, asked, number)
        between: list[UnlistedPayment] = []
        if times:
            between = store.payments_between(reader, min(times), max(times), limit=MISSING_MAX)
        return found, between

    found, between = await visit.env.store.read(read)
    known = {one.id for one in entries}
    differences = [
        _entry(visit, entry, said)
        for entry, said in zip(entries, found, strict=True)
        if said["finding"] != Finding.AGREES
    ]
    agree = len(entries) - len(differences)
    differences += [
        StatementDifference(
            "not_on_statement",
            one.telco_id,
            f"{visit.words.local(one.at):%Y-%m-%d %H:%M}",
            "",
            visit.money(one.amount_minor, one.currency),
            f"{_PAYMENTS}/{one.payment_id}",
            None,
        )
        for one in between
        if one.telco_id.upper() not in known and number in (None, one.line)
    ]
    counts = Counter(one.finding for one in differences)
    digest = hashlib.sha256(data).hexdigest()
    facts = {"line": number, "agrees": agree, **counts}
    closing = statement.closing
    proof = None
    if closing is not None and number is not None and visit.may(Operation.DECIDE_FORGERY):
        slot = await visit.env.store.read(lambda reader: _slot_of(reader, number))
        first, last = (
            timestamp(int(at.replace(tzinfo=zone).timestamp()) * SECOND_US) for at in (closing.first_at, closing.at)
        )
        if slot is not None:
            proof = {
                "slot": slot, "balance": render(closing.minor), "shown": visit.money(closing.minor),
                "when": f"{closing.at:%Y-%m-%d %H:%M}", "at": last, "statement_from": first,
            }  # fmt: skip
    result = {
        "proof": proof, "entries": len(entries), "agree": agree, "left": statement.out, "unread": statement.unread,
        "differences": differences, "dated": bool(times),
        "noted": await note_statement(visit.env, visit.caller, digest, facts),
    }  # fmt: skip
    return await _page(visit, result, differences[:SHOWN_MAX])


def _slot_of(reader: Reader, number: str) -> str | None:
    """Return the SIM that a number is on, as it stands in an address; None if it is on none."""
    for method in payment_methods.in_use(reader):
        sim = payment_methods.where(reader, method)[0]
        if method.phone_number == number and sim is not None:
            return f"{sim.device_id}:{sim.slot_index}"
    return None


def _file(visit: Visit) -> bytes:
    """Return the pasted text, else the chosen file."""
    text = visit.form.get("statement", "")
    return text.encode() if text.strip() else chosen_file(visit.form.get("upload", ""))


async def _read(visit: Visit, data: bytes) -> Statement:
    """Read the statement of the form."""
    named = {
        name: visit.form[f"column_{name}"].strip() for name in COLUMNS if visit.form.get(f"column_{name}", "").strip()
    }
    if len(data) > FILE_BYTES_MAX:
        visit.wrong("statement", "statement_is_long")
    try:
        rows = await asyncio.to_thread(rows_in, data)
    except StatementFileError as error:
        visit.wrong("statement", f"statement_is_{error.why}")
    statement = read_statement(rows, named)
    if statement.missing:
        there = ", ".join(name.strip() for name in statement.header if name.strip())[:300]
        for name in statement.missing:
            visit.fail(f"column_{name}", "column_missing")
        visit.wrong("statement", "statement_columns", columns=there)
    return statement


def _entry(visit: Visit, entry: StatementEntry, said: Json) -> StatementDifference:
    told = said["told_amount"]
    if said["review_id"]:
        href = f"/dash/review/{said['review_id']}"
    elif said["message_id"]:
        href = f"/dash/messages/{said['message_id']}"
    elif said["reference"] or said["claimed_by"]:
        href = f"/dash/transactions/{said['reference'] or said['claimed_by']}"
    elif said["finding"] == Finding.LINE:
        href = "/dash/lines"
    elif said["finding"] == Finding.UNTOLD:
        href = "/dash/messages"
    else:
        href = f"{_PAYMENTS}?search={entry.id}"
    return StatementDifference(
        str(said["finding"]), entry.id, "" if entry.at is None else f"{entry.at:%Y-%m-%d %H:%M}",
        visit.money(entry.minor), "" if told is None else visit.money_text(told, "GHS"), href, entry.line,
    )  # fmt: skip


async def _page(visit: Visit, result: Mapping[str, Any] | None, shown: Sequence[StatementDifference]) -> Shown:
    values = {
        "lines": await named_lines(visit, lambda one: one.phone_number),
        "columns": COLUMNS,
        "result": result,
        "shown": shown,
        "most": FILE_BYTES_MAX,
    }
    return Shown("books/statement.html", values)
