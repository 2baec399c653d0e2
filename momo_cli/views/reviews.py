"""How reviews and their evidence are shown, and suggested transactions shown and chosen."""

from typing import Final

from daemon.wire import ReviewReason, TransactionStatus
from momo_cli.errors import usage
from momo_cli.show.answer import Cell, Field, Head, Row, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, clock, counted, money, payer_text, phone, state, styled, with_test_mark
from momo_cli.text import at, clean
from momo_cli.views.transactions import received_text

OPEN: Final = "open"
_STATES: Final = {
    OPEN: Cell("! WAITS", "yellow"),
    "approved": Cell("✓ APPROVED", "green"),
    "rejected": Cell("✗ REJECTED", "red"),
    "used_elsewhere": Cell("— used elsewhere", "dim"),
    "superseded": Cell("— settled itself", "dim"),
}
_UNPAID: Final = (TransactionStatus.PENDING, TransactionStatus.EXPIRED, TransactionStatus.MANUAL_REVIEW)
"""Statuses in which a transaction may still be paid."""
KEEP_KEY: Final = "k"
"""The key that approves the payment without a suggested transaction; it then gets a transaction of its own."""


def _code(row: Row) -> Cell:
    """Return the payment code of the transaction; with a question mark if it is only a suggestion."""
    if code := clean(at(row, "request.svc_code")):
        return Cell(code, "bold")
    likely = payable_transactions(row) if row.get("state") == OPEN else []
    return Cell(f"{clean(likely[0].get('svc_code'))}?" if likely else "—", "bold")


REVIEW_VIEW: Final = view_of(
    "id state reason amount currency sender=message.sender line=line.phone_number",
    "telco_transaction_id=message.fields.transaction_id reference=request.reference",
    "svc_code=request.svc_code message_id=message.id payment_id=payment.id created_at",
    "decided_at decided_by suggested=suggestions.0.svc_code",
    Field("branch", extra=True),
    Head("STATE", lambda row, _: with_test_mark(review_state(row), row)),
    Head("AMOUNT", lambda row, _: money(row.get("amount")) or "—", right=True),
    Head("WHY", lambda row, _: clean(row.get("summary"))),
    Head("CODE", lambda row, _: _code(row)),
    Head("WHEN", lambda row, t: ago(row.get("created_at"), t)),
    Head("BRANCH", lambda row, _: clean(row.get("branch")), optional=True),
    Head("ID", lambda row, _: clean(row.get("id")), cut=True),
)


def review_state(row: Row) -> Cell:
    """Return the word for a review's state."""
    return _STATES.get(str(row.get("state")), Cell(clean(row.get("state"))))


def review_lines(row: Row, terminal: Terminal) -> list[str]:
    """Return the lines of one review: the doubt, the evidence, and the next steps."""
    amount = money(row.get("amount"), row.get("currency"))
    mark = styled(with_test_mark(review_state(row), row), terminal)
    why = f"{clean(row.get('why'))} {clean(row.get('by_itself'))}".strip()
    found = [f"{mark}  {amount}  {clean(row.get('summary'))}", "", why]
    other, shown = row.get("other_message"), list[tuple[str, str]]()
    if isinstance(other, dict):
        shown = [*_message(other, None, terminal), ("message", clean(other.get("id")))]
    for title, facts in (
        ("the message", _message(row.get("message") or {}, row.get("line"), terminal)),
        ("the balance of the line", _chain(row, terminal)),
        ("the payment", _payment(row, "payment", terminal)),
        ("the transaction", _request(row, terminal)),
        ("the other payment with this ID", _payment(row, "other_payment", terminal)),
        ("the other message with this ID", shown),
        ("decided", _decision(row, terminal)),
    ):
        known = [(name, value) for name, value in facts if value]
        if known:
            width = max(len(name) for name, _ in known)
            found += ["", title, *(f"  {name:<{width}}  {value}" for name, value in known)]
    about = at(row, "request.reference")
    orders = [one for one in row.get("orders_named") or () if at(one, "reference") != about]
    found += ["", "transactions with a code in its reference"] if orders else []
    found += [
        f"  {clean(at(one, 'svc_code'))}  {state(at(one, 'status')).text}  "
        f"{money(at(one, 'expected_amount'), at(one, 'currency'))}  {clean(at(one, 'reference'))}"
        for one in orders
    ]
    if suggestions_of(row):
        found += ["", *suggestion_lines(row)]
    if row.get("state") == OPEN:
        found += ["", f"What to do: {clean(row.get('what_to_do'))}"]
    return found


def review_question(row: Row) -> str:
    """Return the question before the approval of a message that may be forged."""
    balance = money(at(row, "message.fields.balance") or row.get("amount"), row.get("currency"))
    if row.get("reason") == ReviewReason.BALANCE_BREAK:
        return f"Have you seen {balance} in the wallet itself? Type YES"
    return "Have you seen this money in the wallet itself, on the phone? Type YES"


def settled_lines(body: Row) -> list[str]:
    """Return the line about the other held messages that a decision settled, if any."""
    others = body.get("settled")
    return [f"  {counted(others, 'other held message')} settled with it."] if others else []


def review_next(row: Row) -> list[str]:
    """Return the commands to type about a review."""
    review, message = clean(row.get("id")), clean(at(row, "message.id"))
    if row.get("state") != OPEN:
        reference = clean(at(row, "payment.reference"))
        undo = [f"momo review undo {review}"] if row.get("state") in {"approved", "rejected"} else []
        return [*([f"momo tx show {reference}"] if reference else []), *undo]
    suggested = [f"momo review approve {review} --suggested"] if suggestions_of(row) else []
    named = [] if suggested or row.get("request") else payable_transactions(row)
    order = "".join(f" --order {clean(one.get('svc_code'))}" for one in named)
    code, telco_id = at(row, "request.svc_code"), at(row, "payment.transaction_id")
    rest = at(row, "request.status") == "PARTIAL" and code and telco_id
    return [
        *([f"momo tx settle {clean(code)} rest --payment {clean(telco_id)}"] if rest else []),
        *suggested,
        f"momo messages show {message} --show-body",
        f"momo review approve {review}{order}",
        f'momo review reject {review} --notes "not paid"',
    ]


def suggestions_of(row: Row) -> list[Row]:
    """Return the transactions that a payment may have been meant for, the likeliest first."""
    found = row.get("suggestions")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def payable_transactions(row: Row) -> list[Row]:
    """Return the transactions that approving it may pay, the likeliest first, each with its `why`.

    These are the suggestions; else the transaction that it is held for; else the one open transaction with the code in
    its reference.
    """
    if found := suggestions_of(row):
        return found
    request = row.get("request")
    if isinstance(request, dict):
        named, why = [request], "The payment is held for this transaction."
    else:
        named = row.get("orders_named") or []
        why = "Its reference has the code of this transaction."
    still = [one for one in named if one.get("status") in _UNPAID]
    return [{**one, "why": why} for one in still] if len(still) == 1 else []


def suggestion_lines(row: Row) -> list[str]:
    """Return the suggestions and their reasons, numbered."""
    found = ["transactions that it may be for"]
    for number, one in enumerate(suggestions_of(row), 1):
        facts = (
            clean(one.get("svc_code")),
            state(one.get("status")).text,
            money(one.get("expected_amount"), one.get("currency")),
            payer_text(one.get("payer_name"), one.get("payer_phone")),
            clean(one.get("client_reference")),
        )
        found += [f"  {number}  {'  '.join(part for part in facts if part)}", f"     {clean(one.get('why'))}"]
    return found


def _message(message: Row, line: object, terminal: Terminal) -> list[tuple[str, str]]:
    senders, reasons = message.get("expected_senders"), message.get("reasons")
    sender, trusted = clean(message.get("sender")) or "—", message.get("trusted")
    if isinstance(senders, list) and senders and message.get("sender") not in senders:
        sender += f"  (the network sends from {', '.join(map(clean, senders))})"
    read = at(message, "fields")
    parts = (
        money(at(read, "amount"), at(read, "currency")),
        payer_text(at(read, "payer_name"), None),
        phone(at(read, "payer_phone")),
    )
    return [
        ("from", sender), ("centre", clean(message.get("smsc"))), ("sent", clock(message.get("smsc_ts"), terminal)),
        ("stored", clock(message.get("received_at"), terminal)), ("to line", phone(at(line, "phone_number"))),
        ("trusted", "" if trusted is None else "yes" if trusted else "no"),
        ("doubts", ", ".join(map(clean, reasons)) if isinstance(reasons, list) else ""),
        ("says", " · ".join(part for part in parts if part)), ("reference", clean(at(message, "fields.reference"))),
        ("balance", clean(at(message, "fields.balance"))), ("its ID", clean(at(message, "fields.transaction_id"))),
        ("id", clean(message.get("id"))),
    ]  # fmt: skip


def _chain(row: Row, terminal: Terminal) -> list[tuple[str, str]]:
    """Return the balance chain around the message: the amount of each message, and the balance after it."""
    chain = row.get("balance_chain")
    if not isinstance(chain, dict):
        return []
    currency = chain.get("currency")
    facts = [("", clean(chain.get("explanation")))]
    where = "before"
    for entry in chain.get("messages") or ():
        moved, missing = money(entry.get("moved")) or "?", entry.get("unaccounted")
        gap = "" if missing in (None, "0.00") else money(missing, currency)
        parts = (
            clock(entry.get("timestamp"), terminal),
            moved if moved.startswith(("-", "?")) else f"+{moved}",
            f"left {money(entry.get('balance'), currency)}" if entry.get("balance") else "",
            "" if entry.get("standing") in ("accepted", "noted") else clean(entry.get("standing")),
            f"({gap} without a message)" if gap else "",
        )
        name = "this one" if entry.get("this") else where
        facts.append((name, "  ".join(part for part in parts if part)))
        where = "after" if entry.get("this") else where
    gaps = at(row, "details.gaps")
    if isinstance(gaps, list) and gaps:
        amounts = " or ".join(money(gap.get("amount"), gap.get("currency")) for gap in gaps)
        facts.append(("differs by", amounts))
    return facts


def _payment(row: Row, name: str, terminal: Terminal) -> list[tuple[str, str]]:
    payment = row.get(name) or {}
    return [
        ("ID", clean(payment.get("transaction_id"))),
        ("network", clean(payment.get("network")).upper()),
        ("received", money(payment.get("amount"), payment.get("currency"))),
        ("payer", clean(at(payment, "payer.name"))),
        ("number", phone(at(payment, "payer.phone_number"))),
        ("paid", clock(payment.get("timestamp"), terminal)),
        ("balance", money(payment.get("balance"))),
        ("reversed", clock(payment.get("reversed_at"), terminal)),
        ("transaction", clean(payment.get("reference"))),
    ]


def _request(row: Row, terminal: Terminal) -> list[tuple[str, str]]:
    request = row.get("request") or {}
    return [
        ("CODE", clean(request.get("svc_code"))),
        ("status", state(request.get("status")).text),
        ("expected", money(request.get("expected_amount"), request.get("currency"))),
        ("received", received_text(request)),
        ("from", phone(request.get("expected_payer_phone"))),
        ("named", clean(request.get("expected_payer_name"))),
        ("with ID", clean(request.get("expected_telco_transaction_id"))),
        ("created", clock(request.get("created_at"), terminal)),
        ("expires", clock(request.get("expires_at"), terminal)),
        ("cancelled", clock(request.get("cancelled_at"), terminal)),
        ("order", clean(request.get("client_reference"))),
        ("ref", clean(request.get("reference"))),
    ]


def _decision(row: Row, terminal: Terminal) -> list[tuple[str, str]]:
    return [
        ("when", clock(row.get("decided_at"), terminal)),
        ("by", clean(row.get("decided_by"))),
        ("notes", clean(row.get("notes"))),
    ]


def suggested_reference(row: Row, number: int) -> str:
    """Return the reference of the suggestion with this number, from 1; fail (exit 2) if there is none."""
    found = suggestions_of(row)
    if not found:
        raise usage("no transaction is suggested for this payment any more; choose one with --order REF|CODE")
    if not 1 <= number <= len(found):
        raise usage(f"--suggested: there is no suggestion {number}, only 1 to {len(found)}")
    return clean(found[number - 1].get("reference"))


def ask_for_suggestion(terminal: Terminal, row: Row) -> str | None:
    """Show the suggestions and read one key.

    Returns the reference of the transaction; empty for none of them; None to decide later.
    """
    found = suggestions_of(row)
    for line in suggestion_lines(row):
        terminal.complain(line)
    keys = "1" if len(found) == 1 else f"1 to {len(found)}"
    key = terminal.ask_key(
        f"\nWhich transaction is it for? [{keys} = that one, {KEEP_KEY} = keep it, for none of them, any other key = decide later] ",
        "--suggested or --order",
    )
    if key == KEEP_KEY:
        return ""
    if key.isascii() and key.isdigit() and 1 <= int(key) <= len(found):
        return suggested_reference(row, int(key))
    return None
