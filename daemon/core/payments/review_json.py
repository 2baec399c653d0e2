"""JSON objects of reviews with their evidence, and of approved payers. Pure."""

from typing import Any

import msgspec
from msgspec import Struct

from daemon.core.json_values import Json, payer_members, timestamp, timestamp_or_none
from daemon.core.messages.balance_chain import Standing
from daemon.core.messages.message_json import ChainPosition, balance_chain, reasons_of
from daemon.core.model import ApprovedPayer, Message, Payment, PaymentMethod, Review, Transaction
from daemon.core.names import network_of
from daemon.core.payments.reviews import (
    REASONS,
    Explanation,
    by_itself,
    explain,
    lacks_smsc,
)
from daemon.core.payments.suggestions import Suggestion
from daemon.core.payments.transaction_json import list_item, of_branch
from daemon.core.text import Text
from daemon.wire import Mode, ReviewReason, TransactionStatus
from parsers.money import render
from parsers.read import PROVIDERS
from parsers.reading import Kind

_decode = msgspec.json.Decoder(dict[str, Any]).decode


class ReviewEvidence(Struct, frozen=True):
    """A review and the rows that belong to it.

    Attributes:
        line: The merchant number that the message came to.
        payment: None while the message has not become a payment.
        request: The transaction under review, and the payment that pays it.
        pays: The transaction or holder that the payment verifies now.
        other_payment: The payment that already has this transaction ID.
        other_message: The message that has this transaction ID, if it is not a payment itself.
        named: The transactions with a code in its reference.
        suggestions: The transactions that it may be meant for now, the likeliest first.
        place: Position of the message in the balance chain of its line; None if it is in none.
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
    place: ChainPosition | None = None


def review(evidence: ReviewEvidence, now_us: int) -> Json:
    """Return the JSON object of a review."""
    row, said = evidence.review, explanation(evidence)
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
        "summary": said.short,
        "why": said.why,
        "by_itself": _by_itself(evidence),
        "what_to_do": _what_to_do(evidence, said),
        "needs_password": REASONS[row.reason].needs_password,
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
        **of_branch(row.branch_id),
    }


def explanation(evidence: ReviewEvidence) -> Explanation:
    """Return the texts of a review, as precise as its facts allow."""
    row, request = evidence.review, evidence.request
    details, fields = _decode(row.details), _decode(evidence.message.fields)
    case = row.reason
    in_part = request is not None and request[0].status is TransactionStatus.PARTIAL
    refuted = evidence.place is not None and evidence.place.entry.standing is Standing.REFUTED
    if in_part and case == ReviewReason.EXTRA_PAYMENT:
        case = "paid_in_part"
    elif lacks_smsc(details) and case == ReviewReason.FOREIGN_SMSC:
        case = "no_smsc"
    elif evidence.payment is None and evidence.message.kind == Kind.REVERSAL:
        case = "reversal"
    elif refuted and case == ReviewReason.BALANCE_BREAK:
        case = "forged"
    amount = f"{fields.get('currency')} {fields.get('balance') or fields.get('amount')}"
    return explain(case, details.get("doubts") or (), amount)


def _by_itself(evidence: ReviewEvidence) -> Text | None:
    if evidence.review.state != "open":
        return None
    place = None if evidence.payment is not None else evidence.place
    return by_itself(None if place is None else place.entry)


def _what_to_do(evidence: ReviewEvidence, said: Explanation) -> Text:
    """Return the next step; for a flood with the number of its messages."""
    group = _decode(evidence.review.details).get("group")
    return said.todo if group is None else Text("review.group", todo=said.todo, group=group)


def _suggestion(found: Suggestion, rank: int, now_us: int) -> Json:
    """Return a suggested transaction: its list item, and why it is suggested."""
    return {
        "rank": rank,
        "reasons": list(found.reasons),
        "why": found.why,
        **list_item(found.request, None, now_us),
        "expires_at": timestamp_or_none(found.request.expires_at),
        "client_reference": found.request.client_reference,
    }


def approved_payer(row: ApprovedPayer) -> Json:
    """Return the JSON object of a name that an operator approved for a number."""
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
    """Return the message with its own data and the real senders of its network."""
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
        "reasons": reasons_of(row),
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
        **payer_members(None, row),
        "reference_text": row.reference_text,
        "timestamp": timestamp(row.telco_at),
        "received_at": timestamp(row.stored_at),
        "reversed_at": timestamp_or_none(row.reversed_at),
        "standing": row.standing,
        "reference": None if pays is None else pays.reference,
    }


def _request(row: Transaction, paid_with: Payment | None, now_us: int) -> Json:
    """Return the transaction: its list item and its expectations."""
    return {
        **list_item(row, paid_with, now_us),
        "expires_at": timestamp_or_none(row.expires_at),
        "cancelled_at": timestamp_or_none(row.cancelled_at),
        "expected_payer_phone": row.expected_payer_phone,
        "expected_payer_name": row.expected_payer_name,
        "expected_telco_transaction_id": row.expected_telco_transaction_id,
        "client_reference": row.client_reference,
    }
