"""What a person is shown about a doubtful payment: the evidence side by side. Pure."""

from dataclasses import dataclass
from typing import Any

import msgspec

from daemon.core.balance_line import Standing
from daemon.core.chain_shapes import Place, balance_chain
from daemon.core.model import ApprovedPayer, Message, Payment, PaymentMethod, Review, Transaction
from daemon.core.near_miss import Suggestion
from daemon.core.provider_names import network_of
from daemon.core.reviews import NEEDS_PASSWORD, Explanation, explain_message
from daemon.core.shapes import Json, timestamp, timestamp_or_none
from daemon.core.transaction_shapes import list_item
from daemon.wire import Mode
from parsers.money import render
from parsers.read import PROVIDERS
from parsers.reading import Kind

_decode = msgspec.json.Decoder(dict[str, Any]).decode


@dataclass(frozen=True, slots=True)
class Evidence:
    """A review and everything around it.

    Attributes:
        line: The merchant number that the message came to.
        payment: None while the message has made none.
        request: The order that it is about, and what paid that.
        pays: The request or holder that the payment verifies now.
        other_payment: The one that already has this transaction ID.
        other_message: The message that has this transaction ID, when it made no payment itself.
        named: The orders whose codes stand in its reference.
        suggestions: The orders that it may have been meant for, the likeliest first, as of now.
        place: Where the message stands among those of its line; None when it is in no chain of balances.
    """

    review: Review
    message: Message
    line: PaymentMethod | None
    payment: Payment | None
    request: tuple[Transaction, Payment | None] | None
    pays: Transaction | None
    other_payment: Payment | None
    named: tuple[Transaction, ...]
    other_message: Message | None = None
    suggestions: tuple[Suggestion, ...] = ()
    place: Place | None = None


def review(evidence: Evidence, now_us: int) -> Json:
    """Make a review as it is shown; amounts and times are as everywhere."""
    row, told = evidence.review, _explanation(evidence)
    fields = _decode(evidence.message.fields)
    payment = evidence.payment
    amount, currency = fields.get("amount"), fields.get("currency")
    if payment is not None:
        amount, currency = render(payment.amount_minor, payment.currency), payment.currency
    request = None
    if evidence.request is not None:
        request = _request(*evidence.request, now_us)
    return {
        "id": row.id,
        "reason": row.reason,
        "state": row.state,
        "summary": told.short,
        "why": told.why,
        "what_to_do": told.todo,
        "needs_password": row.reason in NEEDS_PASSWORD,
        "amount": amount,
        "currency": currency,
        "created_at": timestamp(row.created_at),
        "decided_at": timestamp_or_none(row.decided_at),
        "decided_by": row.decided_by,
        "notes": row.notes,
        "test": row.mode is Mode.TEST,
        "message": _message(evidence.message, fields),
        "line": _line(evidence.line),
        "sim": {
            "device_id": evidence.message.device_id,
            "slot_index": evidence.message.slot_index,
        },
        "payment": None if payment is None else _payment(payment, evidence.pays),
        "request": request,
        "other_payment": None
        if evidence.other_payment is None
        else _payment(evidence.other_payment, None),
        "other_message": None
        if evidence.other_message is None
        else _message(evidence.other_message, _decode(evidence.other_message.fields)),
        "orders_named": [list_item(order, None, now_us) for order in evidence.named],
        "suggestions": [
            _suggestion(one, rank, now_us) for rank, one in enumerate(evidence.suggestions, 1)
        ],
        "balance_chain": None if evidence.place is None else balance_chain(evidence.place),
        "details": msgspec.Raw(row.details.encode()),
    }


def _explanation(evidence: Evidence) -> Explanation:
    return explain_message(
        evidence.review.reason,
        _decode(evidence.review.details).get("doubts") or (),
        forged=evidence.place is not None and evidence.place.entry.standing is Standing.FORGED,
        is_reversal=evidence.payment is None and evidence.message.kind == Kind.REVERSAL,
    )


def _suggestion(found: Suggestion, rank: int, now_us: int) -> Json:
    """Make an order that a payment may have been meant for: its list item, and why it is suggested."""
    return {
        "rank": rank,
        "reasons": list(found.reasons),
        "why": found.why,
        **list_item(found.request, None, now_us),
        "expires_at": timestamp_or_none(found.request.expires_at),
        "client_reference": found.request.client_reference,
    }


def approved_payer(row: ApprovedPayer) -> Json:
    """Make a name that a person has approved for a number."""
    return {
        "id": row.id,
        "phone_number": row.phone_number,
        "name": row.name,
        "state": "approved" if row.revoked_at is None else "revoked",
        "review_id": row.review_id,
        "approved_by": row.approved_by,
        "approved_at": timestamp(row.approved_at),
        "revoked_by": row.revoked_by,
        "revoked_at": timestamp_or_none(row.revoked_at),
        "test": row.mode is Mode.TEST,
    }


def _message(row: Message, fields: dict[str, Any]) -> Json:
    """Make the message: what it says of itself, and whom the network really sends from."""
    provider = None if row.provider is None else PROVIDERS.get(row.provider)
    return {
        "id": row.id,
        "sender": row.sender,
        "sender_type": row.sender_type,
        "expected_senders": [] if provider is None else list(provider.senders),
        "smsc": row.smsc,
        "smsc_ts": timestamp_or_none(row.sent_at),
        "received_at": timestamp(row.received_at),
        "state": row.state,
        "kind": row.kind,
        "provider": row.provider,
        "fields": fields,
        "trusted": row.trusted,
        "reasons": msgspec.Raw(row.reasons.encode()),
    }


def _line(row: PaymentMethod | None) -> Json | None:
    if row is None:
        return None
    return {
        "payment_method_id": row.id,
        "phone_number": row.phone_number,
        "account_name": row.account_name,
        "provider": row.provider,
    }


def _payment(row: Payment, pays: Transaction | None) -> Json:
    balance = None if row.balance_minor is None else render(row.balance_minor, row.currency)
    return {
        "id": row.id,
        "provider": row.provider,
        "network": network_of(row.provider),
        "transaction_id": row.telco_id_as_read,
        "amount": render(row.amount_minor, row.currency),
        "currency": row.currency,
        "balance": balance,
        "payer": {"phone_number": row.payer_phone, "name": row.payer_name},
        "reference_text": row.reference_text,
        "timestamp": timestamp(row.telco_at),
        "received_at": timestamp(row.stored_at),
        "reversed_at": timestamp_or_none(row.reversed_at),
        "standing": row.standing,
        "reference": None if pays is None else pays.reference,
    }


def _request(row: Transaction, paid_with: Payment | None, now_us: int) -> Json:
    """Make the order: its list item, and what it expected."""
    return {
        **list_item(row, paid_with, now_us),
        "expires_at": timestamp_or_none(row.expires_at),
        "cancelled_at": timestamp_or_none(row.cancelled_at),
        "expected_payer_phone": row.expected_payer_phone,
        "expected_payer_name": row.expected_payer_name,
        "expected_telco_transaction_id": row.expected_telco_transaction_id,
        "client_reference": row.client_reference,
    }
