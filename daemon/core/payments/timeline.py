"""The journal of one transaction in words, one sentence for each entry. Pure.

An entry contains its own facts. Only the money is looked up, because a payment is stored once.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from daemon.core import journal_text, json_values
from daemon.core.journal_text import SENTENCES
from daemon.core.model import Event, Payment
from daemon.core.payments.reviews import explain_opened
from daemon.core.payments.suggestions import REASON_TEXTS, SuggestionReason
from daemon.wire import ReviewReason
from parsers.money import render

Facts = Mapping[str, Any]
_decode = msgspec.json.Decoder().decode
_PAID: Final = {"SUCCESS": "exactly", "PARTIAL": "short", "OVERPAID": "too much"}
_MATCHED: Final = {
    "code": "by the code that the payer typed",
    "telco_id": "by the expected transaction ID",
    "reconcile": "by an operator who named the transaction ID",
    "review": "by an operator in a review",
}
_KNOWN: Final = {
    "name": " The receipt names no number; its payer name is the expected one.",
    "approval": " The receipt names no number; an operator approved its payer name for the expected number before.",
}
_SMS: Final = {
    "code": "The SMS with the payment code",
    "code_again": "The second SMS with the payment code",
    "receipt": "The SMS with the receipt",
    "notice": "The SMS with a notice",
    "test": "The SMS that tests a modem",
}


def entry_json(event: Event, payment: Payment | None) -> json_values.Json:
    """Return one entry of a transaction's journal; `payment` is the entry's payment."""
    facts: Facts = _decode(event.data)
    return {
        "id": str(event.seq),
        "type": event.type,
        "at": json_values.timestamp(event.at),
        "actor": event.actor,
        "text": entry_text(event.type, facts, payment),
        "payment_id": event.payment_id,
        "message_id": event.message_id,
        "endpoint_id": event.endpoint_id,
        "details": journal_text.facts(event.data, None if payment is None else payment.currency),
    }


def entry_text(kind: str, facts: Facts, payment: Payment | None) -> str:
    """Return the sentence of an entry; an unknown kind is its own sentence."""
    notice = SENTENCES.get(kind.removeprefix("notice."))
    if kind.startswith("notice.") and notice is not None:
        return notice(facts)
    sentence = _SENTENCES.get(kind)
    return f"{kind}." if sentence is None else sentence(facts, payment)


def _money(payment: Payment | None) -> str:
    if payment is None:
        return "A payment"
    payer = f" from {payment.payer_name}" if payment.payer_name else ""
    amount = render(payment.amount_minor, payment.currency)
    return f"{payment.currency} {amount}{payer} ({payment.telco_id_as_read})"


def _created(facts: Facts, _payment: Payment | None) -> str:
    currency = str(facts["currency"])
    return f"Asked for {currency} {render(facts['expected_minor'], currency)}."


def _verified(facts: Facts, payment: Payment | None) -> str:
    how = _MATCHED.get(str(facts.get("matched_by")), "")
    late = ", after the transaction had expired" if facts.get("late") else ""
    paid = _PAID.get(str(facts.get("status")), "")
    known = _KNOWN.get(str(facts.get("payer_known_by")), "")
    return f"{_money(payment)} paid it {paid}, matched {how}{late}.{known}"


def _reconciled(facts: Facts, payment: Payment | None) -> str:
    return f"{_money(payment)} was reconciled with it ({facts['reconciliation_id']})."


def _cancelled(facts: Facts, _payment: Payment | None) -> str:
    return f"Cancelled: {facts['reason']}" if facts.get("reason") else "Cancelled."


def _held(facts: Facts, payment: Payment | None) -> str:
    if facts.get("reason") == ReviewReason.NEAR_MISS:
        return (
            f"{_money(payment)} may be for a transaction that it does not name: a review is open."
        )
    return f"{_money(payment)} is held for review: {explain_opened(facts).short}."


def _approved(facts: Facts, payment: Payment | None) -> str:
    return f"An operator approved {_money(payment)}.{_notes(facts)}"


def _rejected(facts: Facts, payment: Payment | None) -> str:
    return f"An operator rejected {_money(payment)}.{_notes(facts)}"


def _notes(facts: Facts) -> str:
    return f" Notes: {facts['notes']}" if facts.get("notes") else ""


def _suggested(facts: Facts, payment: Payment | None) -> str:
    why = ", and ".join(REASON_TEXTS[SuggestionReason(reason)] for reason in facts["reasons"])
    return f"An operator accepted the suggestion that {_money(payment)} is for it: {why}."


def _walk_in(facts: Facts, payment: Payment | None) -> str:
    if facts.get("rejected"):
        return f"{_money(payment)} was rejected: it is kept without a match and not forwarded."
    if facts.get("historical"):
        return f"{_money(payment)} is older than its line: it is kept and not forwarded."
    return f"{_money(payment)} matched no transaction."


def _delivery(outcome: str) -> Callable[[Facts, Payment | None], str]:
    return lambda facts, _payment: f"The webhook {facts.get('event')} {outcome}."


def _sms(outcome: str) -> Callable[[Facts, Payment | None], str]:
    def say(facts: Facts, _payment: Payment | None) -> str:
        what = _SMS.get(str(facts.get("kind")), "The SMS")
        why = f": {facts['why']}" if facts.get("why") else ""
        return f"{what} {outcome}{why}."

    return say


_SENTENCES: Final[Mapping[str, Callable[[Facts, Payment | None], str]]] = {
    "transaction.created": _created,
    "transaction.verified": _verified,
    "transaction.reconciled": _reconciled,
    "transaction.cancelled": _cancelled,
    "transaction.expired": lambda _facts, _payment: "Expired unpaid.",
    "transaction.released": lambda _facts, payment: (
        f"{_money(payment)} is no longer held for it: it waits for its payment again."
    ),
    "review.opened": _held,
    "review.approved": _approved,
    "review.rejected": _rejected,
    "review.superseded": lambda _facts, payment: (
        f"No transaction is left that {_money(payment)} may be for: the review is closed."
    ),
    "payment.walk_in": _walk_in,
    "payment.reversed": lambda _facts, payment: (
        f"The network took {_money(payment)} back. The transaction keeps its status."
    ),
    "suggestion.accepted": _suggested,
    "transaction.payment_claimed": lambda facts, _payment: (
        f"The customer says, on the checkout page, that {facts['transaction_id']} paid it."
    ),
    "payer.approved": lambda facts, _payment: (
        f"The name {facts['name']} is approved for {facts['phone_number']} from now on."
        if facts.get("name")
        else "A name was approved for a number; both were erased since."
    ),
    "payer.revoked": lambda facts, _payment: (
        f"The name {facts['name']} is no longer approved for {facts['phone_number']}."
        if facts.get("name")
        else "The approval of a name was withdrawn; name and number were erased since."
    ),
    "sms.queued": _sms("is queued"),
    "sms.sent": _sms("was sent"),
    "sms.failed": _sms("could not be sent"),
    "sms.unknown": _sms("may or may not have been sent; it is not sent again"),
    "sms.expired": _sms("was not sent in time"),
    "sms.delivered": _sms("has arrived"),
    "sms.undelivered": _sms("did not arrive"),
    "delivery.delivered": _delivery("was delivered"),
    "delivery.failed": _delivery("was given up"),
    "delivery.requeued": _delivery("was queued again"),
}
