"""Rows of an export: flat, one spreadsheet row each, with columns in a fixed order.

A new column is added at the end; none is moved or removed. A message's text is included only on request.
"""

from daemon.core.ids import reference_of
from daemon.core.journal_text import facts
from daemon.core.json_values import Json, amount_or_none, dump, payer_of, timestamp, timestamp_or_none
from daemon.core.messages.message_json import reasons_of
from daemon.core.model import Event, Message, Payment, Transaction
from daemon.core.names import network_of
from daemon.core.payments.transaction_json import amounts, status_at
from daemon.wire import MessageState, Mode
from parsers.money import render


def transaction(row: Transaction, payment: Payment | None, now_us: int) -> Json:
    """Return one row of `transactions`."""
    payer, source = payer_of(row, payment)
    return {
        "reference": row.reference, "svc_code": row.svc_code, "origin": row.origin, "status": status_at(row, now_us),
        **amounts(row, payment), "currency": row.currency, "payer_name": payer.name,
        "payer_phone": payer.phone_number, "client_reference": row.client_reference, "description": row.description,
        "network": None if payment is None else network_of(payment.provider),
        "telco_transaction_id": None if payment is None else payment.telco_id_as_read, "matched_by": row.matched_by,
        "late": row.late, "created_at": timestamp(row.created_at), "expires_at": timestamp_or_none(row.expires_at),
        "completed_at": timestamp_or_none(row.completed_at), "cancelled_at": timestamp_or_none(row.cancelled_at),
        "reversed_at": timestamp_or_none(row.reversed_at), "test": row.mode is Mode.TEST,
        "payer_name_source": source.name, "payer_phone_source": source.phone_number,
    }  # fmt: skip


def payment(row: Payment, line: str | None, pays: Transaction | None) -> Json:
    """Return one row of `payments`."""
    return {
        "id": row.id, "network": network_of(row.provider), "provider": row.provider,
        "telco_transaction_id": row.telco_id_as_read, "amount": render(row.amount_minor, row.currency),
        "currency": row.currency, "fee": amount_or_none(row.fee_minor, row.currency),
        "balance": amount_or_none(row.balance_minor, row.currency), "payer_name": row.payer_name,
        "payer_phone": row.payer_phone, "reference_text": row.reference_text, "line": line, "kind": row.kind,
        "standing": row.standing, "reference": None if pays is None else pays.reference,
        "svc_code": None if pays is None else pays.svc_code, "timestamp": timestamp(row.telco_at),
        "stored_at": timestamp(row.stored_at), "reversed_at": timestamp_or_none(row.reversed_at),
        "historical": row.historical, "message_id": row.message_id, "test": row.mode is Mode.TEST,
    }  # fmt: skip


def message(row: Message, line: str | None, *, show_body: bool) -> Json:
    """Return one row of `messages`; names, numbers and the text itself only with `show_body`."""
    whole = show_body and row.state is not MessageState.INCOMPLETE
    return {
        "id": row.id, "line": line, "sender": row.sender, "state": row.state, "kind": row.kind,
        "provider": row.provider, "trusted": row.trusted, "reasons": " ".join(reasons_of(row)),
        "payment_id": row.payment_id, "smsc": row.smsc, "smsc_ts": timestamp_or_none(row.sent_at),
        "received_at": timestamp(row.received_at), "parts": row.parts_total, "test": row.mode is Mode.TEST,
        "body": row.body if whole else None,
    }  # fmt: skip


def event(row: Event) -> Json:
    """Return one row of `audit`: a journal entry."""
    about = row.transaction_id
    return {
        "id": str(row.seq), "at": timestamp(row.at), "type": row.type, "actor": row.actor,
        "reference": None if about is None else reference_of(about), "payment_id": row.payment_id,
        "message_id": row.message_id, "endpoint_id": row.endpoint_id, "test": row.mode is Mode.TEST,
        "details": dump(facts(row.data, None)).decode(),
    }  # fmt: skip
