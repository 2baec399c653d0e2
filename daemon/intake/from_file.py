"""A payment that so far only a file told of (`intake.imported`), and that a phone reads now: it is live from then on.

A shop that changes over may take in the old phone's backup while the newest messages are still on the SIM. The file made
history of them, and the phone's word must count all the same: the money has just come in. One ID stays one payment, so
the row is not made again: it becomes what the phone says, once, and only while it has paid nothing.
"""

import json
from typing import Any

from daemon.core.model import Payment
from daemon.intake.desk import IMPORTED
from daemon.store import messages, payments
from daemon.store.engine import Reader, Tx
from daemon.wire import MessageState


def told_by_file(reader: Reader, payment: Payment) -> bool:
    """Say whether the message that made a payment came out of a file."""
    if not payment.historical:
        return False
    row = messages.get(reader, payment.message_id)
    assert row is not None, "a payment belongs to a message"
    return IMPORTED in json.loads(row.reasons)


def take_over(tx: Tx, first: Payment, row: dict[str, Any]) -> Payment | None:
    """Let a payment be what a phone says of it, and return it; None when it is not for a phone to change any more.

    Args:
        tx: The transaction.
        first: The payment with the message's transaction ID.
        row: The payment that the phone's message would make, with every column but `seq`.
    """
    same = all(
        getattr(first, name) == row[name]
        for name in ("amount_minor", "currency", "payment_method_id")
    )
    free = first.standing == "open" and first.reversed_at is None
    if not (same and free and not row["historical"] and told_by_file(tx, first)):
        return None
    messages.settle(
        tx,
        first.message_id,
        MessageState.DUPLICATE,
        [IMPORTED, f"duplicate_of:{first.id}"],
        first.id,
    )
    return payments.read_by_phone(tx, first.id, row)
