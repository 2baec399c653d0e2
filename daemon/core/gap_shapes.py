"""The JSON shape of what an endpoint should have and has not. Pure."""

from daemon.core.model import Delivery, Payment, Transaction
from daemon.core.shapes import Json, timestamp
from parsers.money import render


def missing(payment: Payment, transaction: Transaction, delivery: Delivery | None) -> Json:
    """Make one entry: `state` is `missing` when it was never owed, else the delivery's status."""
    return {
        "transaction_id": transaction.id,
        "reference": transaction.reference,
        "amount": render(payment.amount_minor, payment.currency),
        "currency": payment.currency,
        "telco_transaction_id": payment.telco_id_as_read,
        "received_at": timestamp(payment.stored_at),
        "state": "missing" if delivery is None else delivery.status,
        "delivery_id": None if delivery is None else delivery.id,
    }
