"""A second message with a transaction ID that is known: the same again, or another claim about one transaction."""

import json
from typing import Any

from daemon.core.balance_line import Entry
from daemon.core.doubts import Claim, Twin, twin
from daemon.intake.desk import Desk
from daemon.intake.from_file import told_by_file
from daemon.intake.outcome import Arrived, Outcome
from daemon.intake.pay import ask
from daemon.store import balances, messages, payments
from daemon.wire import MessageState, ReviewReason
from parsers import reading as readings
from parsers.money import read_money
from parsers.telco_id import normalize_telco_id


def own_id(reading: readings.Reading) -> str | None:
    """Return the transaction ID of a message's own transaction, trimmed and upper case; None when it names none.

    A reversal that only repeats the ID of what it undoes has none of its own.
    """
    if isinstance(reading, readings.Unreadable) or reading.telco_id is None:
        return None
    if isinstance(reading, readings.Reversal) and reading.telco_id == reading.original_telco_id:
        return None
    return normalize_telco_id(reading.telco_id)


def is_known(desk: Desk, arrived: Arrived, outcome: Outcome, reading: readings.Reading) -> bool:
    """Say whether a message with this transaction ID is here already, and write down what the second one is."""
    telco_id = own_id(reading)
    if telco_id is None or isinstance(reading, readings.Unreadable):
        return False
    pays = isinstance(reading, readings.Payment)
    payment = None
    if pays:
        found = payments.with_telco_id(desk.tx, desk.mode, telco_id)
        payment = next((one for one in found if one.provider == arrived.provider), None)
    amount, currency = None, None
    if reading.amount is not None:
        amount, currency = reading.amount.minor, reading.amount.currency
    first = balances.with_id(desk.tx, arrived.chain, telco_id)
    if first is not None:
        earlier = _claim(desk, first, arrived.sim_key)
        known_as = first.key
    elif payment is not None:
        if told_by_file(desk.tx, payment):
            # A file teaches the chain nothing, so this one has its place in it; `pay` knows what to do about the ID.
            return False
        earlier = Claim(True, payment.amount_minor, payment.currency, payment.sim_key)
        known_as = payment.message_id
    else:
        return False
    if twin(earlier, Claim(pays, amount, currency, arrived.sim_key)) is Twin.CONFLICT:
        details = {"message_id": known_as}
        conflict(
            desk,
            arrived,
            outcome,
            details if payment is None else {"payment_id": payment.id, **details},
        )
        return True
    if payment is not None:
        outcome.payment_id = known_as = payment.id
    if pays:
        outcome.state = MessageState.DUPLICATE
    outcome.reasons = [f"duplicate_of:{known_as}"]
    return True


def _claim(desk: Desk, first: Entry, line: str) -> Claim:
    """Return what the first message with an ID said."""
    row = messages.get(desk.tx, first.key)
    assert row is not None, "an entry belongs to a message"
    fields = json.loads(row.fields)
    amount = read_money(fields.get("amount") or "", currency=fields.get("currency"))
    if amount is None:
        return Claim(first.pays, None, None, line)
    return Claim(first.pays, amount.minor, amount.currency, line)


def conflict(desk: Desk, arrived: Arrived, outcome: Outcome, details: dict[str, Any]) -> None:
    """Put a message before a person whose transaction ID another one has."""
    outcome.state = MessageState.HELD
    outcome.reasons = [ReviewReason.ID_CONFLICT]
    ask(desk, arrived.id, ReviewReason.ID_CONFLICT, details)
