"""What the commands about reviews share: fields, the table, the evidence of one as a person reads it."""

from typing import Final

from daemon.wire import TransactionStatus
from momo_cli.answer import Cell, Field, Head, Row, View
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.words import ago, clock, money, person, phone, state, styled, tested

OPEN: Final = "open"
_STATES: Final = {
    OPEN: Cell("! WAITS", "yellow"),
    "approved": Cell("✓ APPROVED", "green"),
    "rejected": Cell("✗ REJECTED", "red"),
    "used_elsewhere": Cell("— used elsewhere", "dim"),
    "superseded": Cell("— settled itself", "dim"),
}

_SOUND: Final = ("accepted", "noted")
_UNPAID: Final = (
    TransactionStatus.PENDING,
    TransactionStatus.EXPIRED,
    TransactionStatus.MANUAL_REVIEW,
)
"""Orders in these may still be paid."""


def _order(row: Row) -> Cell:
    """Return the code of the order that it is about; with a question mark when that is only likely."""
    if code := clean(at(row, "request.svc_code")):
        return Cell(code, "bold")
    likely = orders_of(row) if row.get("state") == OPEN else []
    return Cell(f"{clean(likely[0].get('svc_code'))}?" if likely else "—", "bold")


VIEW: Final = View(
    fields=(
        Field("id"),
        Field("state"),
        Field("reason"),
        Field("amount"),
        Field("currency"),
        Field("sender", "message.sender"),
        Field("line", "line.phone_number"),
        Field("telco_transaction_id", "message.fields.transaction_id"),
        Field("reference", "request.reference"),
        Field("svc_code", "request.svc_code"),
        Field("message_id", "message.id"),
        Field("payment_id", "payment.id"),
        Field("created_at"),
        Field("decided_at"),
        Field("decided_by"),
        Field("suggested", "suggestions.0.svc_code"),
    ),
    heads=(
        Head("STATE", lambda row, _: tested(shown_state(row), row)),
        Head("AMOUNT", lambda row, _: money(row.get("amount")) or "—", right=True),
        Head("WHY", lambda row, _: clean(row.get("summary"))),
        Head("ORDER", lambda row, _: _order(row)),
        Head("WHEN", lambda row, t: ago(row.get("created_at"), t)),
        Head("ID", lambda row, _: clean(row.get("id")), cut=True),
    ),
)


def shown_state(row: Row) -> Cell:
    """Return the word of a review's state."""
    return _STATES.get(str(row.get("state")), Cell(clean(row.get("state"))))


def lines(row: Row, terminal: Terminal) -> list[str]:
    """Return one review as a person reads it: what is doubtful, what is known, what to do."""
    amount = money(row.get("amount"), row.get("currency"))
    found = [
        f"{styled(tested(shown_state(row), row), terminal)}  {amount}  {clean(row.get('summary'))}",
        "",
    ]
    found += [clean(row.get("why"))]
    for title, told in (
        ("the message", _message(row, terminal)),
        ("the balance of the line", _chain(row, terminal)),
        ("the payment", _payment(row, "payment", terminal)),
        ("the order", _request(row, terminal)),
        ("the other payment with this ID", _payment(row, "other_payment", terminal)),
        ("the other message with this ID", _other_message(row, terminal)),
        ("decided", _decision(row, terminal)),
    ):
        known = [(name, value) for name, value in told if value]
        if known:
            width = max(len(name) for name, _ in known)
            found += ["", title, *(f"  {name:<{width}}  {value}" for name, value in known)]
    found += _named(row)
    if suggestions_of(row):
        found += ["", *suggestion_lines(row)]
    if row.get("state") == OPEN:
        found += ["", f"What to do: {clean(row.get('what_to_do'))}"]
    return found


def next_commands(row: Row) -> list[str]:
    """Return what to type about a review."""
    review, message = clean(row.get("id")), clean(at(row, "message.id"))
    if row.get("state") != OPEN:
        reference = clean(at(row, "payment.reference"))
        return [f"momo tx show {reference}"] if reference else []
    suggested = [f"momo review approve {review} --suggested"] if suggestions_of(row) else []
    named = [] if suggested or row.get("request") else orders_of(row)
    order = "".join(f" --order {clean(one.get('svc_code'))}" for one in named)
    return [
        *suggested,
        f"momo messages show {message} --show-body",
        f"momo review approve {review}{order}",
        f'momo review reject {review} --notes "WHY"',
    ]


def suggestions_of(row: Row) -> list[Row]:
    """Return the orders that a payment may have been meant for, the likeliest first."""
    found = row.get("suggestions")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def orders_of(row: Row) -> list[Row]:
    """Return the orders that approving it may pay, the likeliest first, each with its `why`.

    What is suggested; else the order that it is held for; else the one open order that its reference names.
    """
    if found := suggestions_of(row):
        return found
    request = row.get("request")
    if isinstance(request, dict):
        named, why = [request], "The payment is held for this order."
    else:
        named, why = row.get("orders_named") or [], "Its reference names this order."
    still = [one for one in named if one.get("status") in _UNPAID]
    return [{**one, "why": why} for one in still] if len(still) == 1 else []


def suggestion_lines(row: Row) -> list[str]:
    """Return what is suggested and why, numbered."""
    found = ["orders that it may be for"]
    for number, one in enumerate(suggestions_of(row), 1):
        who = person(one.get("payer_name"), one.get("payer_phone"))
        told = (
            clean(one.get("svc_code")),
            state(one.get("status")).text,
            money(one.get("expected_amount"), one.get("currency")),
            who,
            clean(one.get("client_reference")),
        )
        found += [
            f"  {number}  {'  '.join(part for part in told if part)}",
            f"     {clean(one.get('why'))}",
        ]
    return found


def _other_message(row: Row, terminal: Terminal) -> list[tuple[str, str]]:
    """Return the message that has the same transaction ID, read as its own."""
    if not isinstance(row.get("other_message"), dict):
        return []
    told = _message({**row, "message": row["other_message"], "line": None}, terminal)
    return [*told, ("message", clean(at(row, "other_message.id")))]


def _message(row: Row, terminal: Terminal) -> list[tuple[str, str]]:
    senders = at(row, "message.expected_senders")
    expected = ", ".join(map(clean, senders)) if isinstance(senders, list) else ""
    sender = clean(at(row, "message.sender")) or "—"
    if expected and at(row, "message.sender") not in senders:
        sender += f"  (the network sends from {expected})"
    trusted = at(row, "message.trusted")
    reasons = at(row, "message.reasons")
    return [
        ("from", sender),
        ("centre", clean(at(row, "message.smsc"))),
        ("sent", clock(at(row, "message.smsc_ts"), terminal)),
        ("stored", clock(at(row, "message.received_at"), terminal)),
        ("to line", phone(at(row, "line.phone_number"))),
        ("trusted", "" if trusted is None else "yes" if trusted else "no"),
        ("doubts", ", ".join(map(clean, reasons)) if isinstance(reasons, list) else ""),
        ("says", _says(row)),
        ("reference", clean(at(row, "message.fields.reference"))),
        ("balance", clean(at(row, "message.fields.balance"))),
        ("its ID", clean(at(row, "message.fields.transaction_id"))),
        ("id", clean(at(row, "message.id"))),
    ]


def _chain(row: Row, terminal: Terminal) -> list[tuple[str, str]]:
    """Return the message among its neighbours: what each moved, and what the wallet held after it."""
    chain = row.get("balance_chain")
    if not isinstance(chain, dict):
        return []
    currency = chain.get("currency")
    told = [("", clean(chain.get("explanation")))]
    where = "before"
    for entry in chain.get("messages") or ():
        if entry.get("this"):
            where, name = "after", "this one"
        else:
            name = where
        moved = money(entry.get("moved")) or "?"
        sign = "" if moved.startswith(("-", "?")) else "+"
        missing = entry.get("unaccounted")
        parts = (
            clock(entry.get("timestamp"), terminal),
            f"{sign}{moved}",
            f"left {money(entry.get('balance'), currency)}" if entry.get("balance") else "",
            "" if entry.get("standing") in _SOUND else clean(entry.get("standing")),
            f"({money(missing, currency)} untold)" if missing not in (None, "0.00") else "",
        )
        told.append((name, "  ".join(part for part in parts if part)))
    gaps = at(row, "details.gaps")
    if isinstance(gaps, list) and gaps:
        told.append(
            (
                "differs by",
                " or ".join(money(gap.get("amount"), gap.get("currency")) for gap in gaps),
            )
        )
    return told


def _says(row: Row) -> str:
    amount = money(at(row, "message.fields.amount"), at(row, "message.fields.currency"))
    payer = person(at(row, "message.fields.payer_name"), None)
    number = phone(at(row, "message.fields.payer_phone"))
    return " · ".join(part for part in (amount, payer, number) if part)


def _payment(row: Row, name: str, terminal: Terminal) -> list[tuple[str, str]]:
    if not isinstance(row.get(name), dict):
        return []
    return [
        ("ID", clean(at(row, f"{name}.transaction_id"))),
        ("network", clean(at(row, f"{name}.network")).upper()),
        ("received", money(at(row, f"{name}.amount"), at(row, f"{name}.currency"))),
        ("payer", clean(at(row, f"{name}.payer.name"))),
        ("number", phone(at(row, f"{name}.payer.phone_number"))),
        ("paid", clock(at(row, f"{name}.timestamp"), terminal)),
        ("balance", money(at(row, f"{name}.balance"))),
        ("reversed", clock(at(row, f"{name}.reversed_at"), terminal)),
        ("order", clean(at(row, f"{name}.reference"))),
    ]


def _request(row: Row, terminal: Terminal) -> list[tuple[str, str]]:
    request = row.get("request")
    if not isinstance(request, dict):
        return []
    return [
        ("CODE", clean(request.get("svc_code"))),
        ("status", state(request.get("status")).text),
        ("expected", money(request.get("expected_amount"), request.get("currency"))),
        ("from", phone(request.get("expected_payer_phone"))),
        ("named", clean(request.get("expected_payer_name"))),
        ("with ID", clean(request.get("expected_telco_transaction_id"))),
        ("asked", clock(request.get("created_at"), terminal)),
        ("expires", clock(request.get("expires_at"), terminal)),
        ("cancelled", clock(request.get("cancelled_at"), terminal)),
        ("yours", clean(request.get("client_reference"))),
        ("ref", clean(request.get("reference"))),
    ]


def _decision(row: Row, terminal: Terminal) -> list[tuple[str, str]]:
    return [
        ("when", clock(row.get("decided_at"), terminal)),
        ("by", clean(row.get("decided_by"))),
        ("notes", clean(row.get("notes"))),
    ]


def _named(row: Row) -> list[str]:
    """Return the orders that the payer may have meant, other than the one it is about."""
    about = at(row, "request.reference")
    orders = [one for one in row.get("orders_named") or () if at(one, "reference") != about]
    if not orders:
        return []
    told = [
        f"  {clean(at(one, 'svc_code'))}  {state(at(one, 'status')).text}  "
        f"{money(at(one, 'expected_amount'), at(one, 'currency'))}  {clean(at(one, 'reference'))}"
        for one in orders
    ]
    return ["", "orders that its reference names", *told]
