"""Review reasons explained to the operator, and the payment that a held message claims. Pure.

The claimed payment is made from the stored fields, because those were shown to the operator. A newer wording could read the
text differently.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from daemon.core.access.callers import Operation
from daemon.core.errors import Refusal
from daemon.core.messages.balance_chain import ChainEntry, Standing
from daemon.core.model import Message, Payment
from daemon.core.text import ENGLISH, Text
from daemon.wire import ErrorCode, MessageState, ReviewReason
from parsers.money import Money, read_money
from parsers.phone import read_phone
from parsers.reading import FIELD_WORDS, normalize_telco_id

MESSAGE_ID_PREFIX: Final = "sms:"
"""Prefix of a stand-in ID: a receipt without a transaction ID is identified by its message."""
_decode = msgspec.json.Decoder(dict[str, str | None]).decode


class Reason(Struct, frozen=True):
    """A reason of a review. Its words are `review.<reason>.short`, `.why` and `.todo`.

    Attributes:
        decider: The operation that a person must be allowed to decide it.
        needs_password: Approving it accepts money that may be forged, so it asks for the owner's password.
    """

    decider: Operation = Operation.DECIDE_REVIEW
    needs_password: bool = False


_OF_THE_COUNTER: Final = Reason()
_FORGERY: Final = Reason(Operation.DECIDE_FORGERY, needs_password=True)
REASONS: Final[Mapping[str, Reason]] = {
    ReviewReason.PAYER_MISMATCH: _OF_THE_COUNTER,
    ReviewReason.PAYER_UNKNOWN: _OF_THE_COUNTER,
    ReviewReason.TELCO_ID_MISMATCH: _OF_THE_COUNTER,
    ReviewReason.UNKNOWN_SENDER: _FORGERY,
    ReviewReason.DOUBTFUL_MESSAGE: _FORGERY,
    ReviewReason.BALANCE_BREAK: _FORGERY,
    ReviewReason.AMBIGUOUS_PARTS: _FORGERY,
    ReviewReason.NO_TELCO_ID: _OF_THE_COUNTER,
    ReviewReason.ID_CONFLICT: _FORGERY,
    ReviewReason.AMBIGUOUS_CODE: _OF_THE_COUNTER,
    ReviewReason.EXTRA_PAYMENT: _OF_THE_COUNTER,
    ReviewReason.CANCELLED_REQUEST: _OF_THE_COUNTER,
    ReviewReason.LATE: _OF_THE_COUNTER,
    ReviewReason.NEAR_MISS: _OF_THE_COUNTER,
}
OF_MESSAGE: Final = frozenset(
    {
        ReviewReason.UNKNOWN_SENDER,
        ReviewReason.DOUBTFUL_MESSAGE,
        ReviewReason.BALANCE_BREAK,
        ReviewReason.AMBIGUOUS_PARTS,
        ReviewReason.NO_TELCO_ID,
        ReviewReason.ID_CONFLICT,
    }
)
"""Reasons of reviews about a message: only an approval makes a payment of it."""
CASES: Final = ("forged", "paid_in_part", "reversal")
"""More exact cases of a reason, with words of their own."""


def is_history(payment: Payment, message: Message | None) -> bool:
    """Return whether a payment's message came from a file, a paste, or a time before its line, which anybody can make up.

    One that a phone has read since is held for a person, and only counts as history until the decision.
    """
    held = message is not None and message.state == MessageState.HELD
    return payment.historical and not held


class Explanation(Struct, frozen=True):
    """Texts for the operator.

    Attributes:
        case: The reason, or one of `CASES`.
        why: The doubt in one sentence.
        todo: The things to check, and the effect of approving and rejecting.
        short: A few words for a list.
    """

    case: str
    why: Text
    todo: Text
    short: Text


def by_itself(entry: ChainEntry | None) -> Text:
    """Return the event that releases a held message or payment without a decision, as a sentence.

    `entry` is that of the held message in its balance chain; None for anything else.
    """
    if entry is None or entry.standing is Standing.DOUBTFUL or not entry.pays:
        return Text("review.by_itself.never")
    return Text(f"review.by_itself.{'breaks' if entry.standing is Standing.CANDIDATE else 'limit'}")


def explain_opened(facts: Mapping[str, Any]) -> Explanation:
    """Return the texts for the facts of a journal entry `review.opened`."""
    return explain(str(facts["reason"]), facts.get("doubts") or ())


def explain(case: str, doubts: Iterable[str] = (), amount: str = "") -> Explanation:
    """Return the texts of a reason or of a more exact case (`CASES`).

    `amount` is the balance that the wallet must hold, with its currency.
    """
    named = doubts if case == ReviewReason.DOUBTFUL_MESSAGE else ()
    keys = (f"review.doubt.{one}" for one in named)
    return Explanation(
        case,
        Text(f"review.{case}.why", doubts=tuple(Text(key) for key in keys if key in ENGLISH)),
        Text(f"review.{case}.todo", amount=amount),
        Text(f"review.{case}.short"),
    )


def without_text() -> Refusal:
    """Return the refusal to accept a message that came back from a hub alone."""
    return Refusal(
        ErrorCode.NO_MATCHING_TRANSACTION, "This message came back from the hub without its text. Reject it."
    )


def payment_row(message: Message, *, payment_id: str, provider: str) -> dict[str, Any]:
    """Return the row of the payment that a message claims, with every column but `seq`.

    The message was read as money received in the wallet of `provider`, and made no payment.

    Raises:
        Refusal: NO_MATCHING_TRANSACTION: it came back from a hub without the values that were read in it.
    """
    fields = dict.fromkeys(FIELD_WORDS) | _decode(message.fields)
    currency = fields["currency"]
    amount = _money(fields["amount"], currency)
    if amount is None or message.kind is None:
        raise without_text()
    balance, fee = _money(fields["balance"], currency), _money(fields["fee"], currency)
    telco_id = fields["transaction_id"] or MESSAGE_ID_PREFIX + message.id
    return {
        "id": payment_id,
        "mode": message.mode,
        "provider": provider,
        "telco_transaction_id": normalize_telco_id(telco_id),
        "telco_id_as_read": telco_id,
        "message_id": message.id,
        "payment_method_id": message.payment_method_id,
        "sim_key": message.sim_key,
        "device_id": message.device_id,
        "slot_index": message.slot_index,
        "kind": message.kind,
        "amount_minor": amount.minor,
        "currency": amount.currency,
        "fee_minor": None if fee is None else fee.minor,
        "balance_minor": None if balance is None else balance.minor,
        "payer_name": fields["payer_name"],
        "payer_phone": read_phone(fields["payer_phone"] or ""),
        "payer_proven": False,
        "reference_text": fields["reference"],
        # The printed time carries no zone; the service centre's does.
        "telco_at": message.received_at if message.sent_at is None else message.sent_at,
        "stored_at": message.received_at,
        "historical": False,
        "standing": "open",
        "reversed_at": None,
    }


def _money(text: str | None, currency: str | None) -> Money | None:
    return None if text is None else read_money(text, currency=currency)
