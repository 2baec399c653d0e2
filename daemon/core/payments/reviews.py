"""Review reasons explained to the operator, and the payment that a held message claims. Pure.

The claimed payment is made from the stored fields, because those were shown to the operator. A newer wording could read the
text differently.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from daemon.core.messages.balance_chain import Entry, Standing, Why
from daemon.core.model import Message, Payment
from daemon.wire import MessageState, ReviewReason
from parsers.money import Money, read_money
from parsers.phone import read_phone
from parsers.reading import normalize_telco_id

MESSAGE_ID_PREFIX: Final = "sms:"
"""Prefix of a stand-in ID: a receipt without a transaction ID is identified by its message."""
_decode = msgspec.json.Decoder(dict[str, str | None]).decode
NEEDS_PASSWORD: Final = frozenset(
    {
        ReviewReason.UNTRUSTED_SENDER,
        ReviewReason.BALANCE_BREAK,
        ReviewReason.FOREIGN_SMSC,
        ReviewReason.FIRST_MESSAGE,
        ReviewReason.AMBIGUOUS_PARTS,
    }
)
"""Approving these accepts money that may be forged, so it needs the owner's password."""
_DOUBTED: Final = "The message comes from the network's own sender, but {}."
_DOUBTS: Final = {
    "id_taken": "another message has its transaction ID, with another amount",
    "id_too_low": "its transaction ID is too low for its date",
    "id_too_high": "its transaction ID is too high for its date",
    "id_of_another_time": "its transaction ID contains another time",
    "printed_time": "the time in its text differs from the time at which it was sent",
    "reference_too_long": "the text that the payer typed is too long",
    "fee_too_high": "its fee is too high for a receipt",
    "wording_unverified": "no genuine message of this wording is known yet; approving this one confirms the wording, and "
    "later messages of it are accepted without a review",
    "takes_back_a_live_payment": "it comes from a file, and the payment that it takes back was read from a phone",
}
"""Doubts about a message of the right sender (`daemon.core.messages.trust`)."""


def is_history(payment: Payment, message: Message | None) -> bool:
    """Return whether a payment's message came from a file, a paste, or a time before its line, which anybody can make up.

    One that a phone has read since is held for a person, and only counts as history until the decision.
    """
    held = message is not None and message.state == MessageState.HELD
    return payment.historical and not held


class Explanation(Struct, frozen=True):
    """Texts for the operator.

    Attributes:
        why: The doubt in one sentence.
        todo: The things to check, and the effect of approving and rejecting.
        short: A few words for a list.
    """

    why: str
    todo: str
    short: str


EXPLANATIONS: Final[dict[ReviewReason, Explanation]] = {
    ReviewReason.PAYER_MISMATCH: Explanation(
        "The transaction expects another payer than the one on the receipt.",
        "Ask the customer who paid. Approve if the payment is for this transaction; if it is not, approve it for the "
        "right transaction, or reject it.",
        "another payer than expected",
    ),
    ReviewReason.PAYER_UNKNOWN: Explanation(
        "The transaction expects a certain payer, and the receipt has no payer's number.",
        "Compare the name on the receipt with the customer. Approve if it fits, else reject. Approving also approves "
        "this name for the expected number from now on; `momo review payers list` shows such names.",
        "payer's number not on the receipt",
    ),
    ReviewReason.TELCO_ID_MISMATCH: Explanation(
        "The transaction expects another transaction ID than the one of this payment.",
        "Ask for the customer's own confirmation message. Approve if it shows this ID, else reject.",
        "another transaction ID than expected",
    ),
    ReviewReason.UNTRUSTED_SENDER: Explanation(
        "The message did not come from the network's own sender, so it may be forged.",
        "Check the balance and the history on the phone itself, not the message. Approve only if the money is "
        "really there; reject a message that only looks like a receipt. If no sender of the network is known yet, as "
        "with AT Money, approving also trusts this sender and wording from now on.",
        "not from the network's sender",
    ),
    ReviewReason.BALANCE_BREAK: Explanation(
        "The balance in the message does not follow from the balance before it.",
        "Check the balance of the wallet on the phone itself. Approve only if the money is really there.",
        "balance does not add up",
    ),
    ReviewReason.FOREIGN_SMSC: Explanation(
        "The message came through a service centre that this SIM never used, so its sender's name may be forged.",
        "Look on the phone itself, and approve only if it does; messages through this service centre are trusted from "
        "then on.",
        "unknown service centre",
    ),
    ReviewReason.FIRST_MESSAGE: Explanation(
        "It is the first message of this SIM, so there is no balance yet to compare with.",
        "Check the balance of the wallet on the phone itself. Approve if it holds the amount that the message names. Later "
        "receipts that follow its balance pay at once.",
        "first message of this SIM",
    ),
    ReviewReason.AMBIGUOUS_PARTS: Explanation(
        "Several parts claim the same place in this message, so its text is not certain.",
        "Check the balance and the history on the phone itself. Approve only if the money is really there.",
        "parts do not fit together",
    ),
    ReviewReason.NO_TELCO_ID: Explanation(
        "The receipt has no transaction ID, so a second copy of it could not be recognised.",
        "Look for the payment in the wallet's history. Approve if it is there and was not counted yet, else reject.",
        "no transaction ID",
    ),
    ReviewReason.ID_CONFLICT: Explanation(
        "Another payment already has this transaction ID, with another amount or on another number.",
        "Compare both with the wallet's history. An ID is accepted once: while the other payment has it, this "
        "message can only be rejected.",
        "transaction ID is known with another amount",
    ),
    ReviewReason.AMBIGUOUS_CODE: Explanation(
        "The payment names more than one transaction.",
        "Ask the customer which one was meant and approve it for that transaction; without one it is kept as a "
        "payment without a request.",
        "names more than one transaction",
    ),
    ReviewReason.EXTRA_PAYMENT: Explanation(
        "The transaction is already paid.",
        "Approve it for another transaction if it was meant for one, approve it without one to keep it as a payment "
        "without a request, or reject it and give the money back.",
        "transaction has a payment already",
    ),
    ReviewReason.CANCELLED_REQUEST: Explanation(
        "The transaction was cancelled before the money came.",
        "Approve to let it pay the transaction after all, or reject it and give the money back.",
        "transaction was cancelled",
    ),
    ReviewReason.LATE: Explanation(
        "The money came after the transaction had expired.",
        "Approve if the customer still gets the goods, or reject it and give the money back.",
        "transaction had expired",
    ),
    ReviewReason.NEAR_MISS: Explanation(
        "The payment nearly names a transaction, but not exactly.",
        "The payment is kept and forwarded as a payment without a request until you decide. Ask the customer which "
        "transaction was meant and approve it for that one; otherwise it stays as it is.",
        "nearly names a transaction",
    ),
}


"""The texts of every reason."""


_FORGED: Final = Explanation(
    "The balance in the message does not follow, and the later messages' balances do not contain its money: it is forged.",
    "Check the balance of the wallet on the phone itself. Reject it unless the money is really there.",
    "forged: later balances do not contain it",
)


PAID_IN_PART: Final = Explanation(
    "The transaction is paid in part, and momo adds no second payment to it.",
    "If this is the rest, approve it: it is booked as a separate sale. Approve it for another transaction if it was meant "
    "for one, or reject it and give the money back.",
    "transaction is paid in part already",
)
"""The explanation of `extra_payment` for a transaction that was underpaid."""


_REVERSAL: Final = Explanation(
    "The message says that the network took a payment back, but it is doubtful.",
    "Check the wallet's history on the phone itself. Approving marks the payment that it names as reversed and adds no "
    "money. Reject it if the payment is still there.",
    "a doubtful reversal",
)


_WITHOUT_SMSC: Final = Explanation(
    "Its source does not tell which service centre sent the message, so only the balance can prove it, and the balance "
    "does not follow from the last confirmed one.",
    "Look on the phone itself, and approve only if it does; messages that follow its balance pay at once from then on.",
    "service centre not told",
)
"""The explanation of `foreign_smsc` for a message that names no SMSC."""


_BY_ITSELF: Final = {
    Why.BREAKS: "It pays by itself if a late message closes the gap, or if the next messages continue its balance and not "
    "the earlier one.",
    Why.FOREIGN: "It pays by itself 90 minutes after the messages before and after it prove its balance.",
    Why.NO_SMSC: "It pays by itself if a message arrives that closes the difference to the last confirmed balance.",
    Why.NO_BALANCE: "It pays by itself if the next message shows that its money came in.",
}


def by_itself(entry: Entry | None) -> str:
    """Return the event that releases a held message or payment without a decision, as a sentence.

    Args:
        entry: The entry of the held message in its balance chain; None for anything else.
    """
    waits = entry is not None and entry.standing in {Standing.HELD, Standing.UNCONFIRMED}
    if entry is None or not waits or entry.doubts:
        return "It waits for your decision."
    return _BY_ITSELF.get(entry.why, "It waits for your decision.")


def explain(reason: str) -> Explanation:
    """Return the texts of a reason."""
    return EXPLANATIONS[ReviewReason(reason)]


def lacks_smsc(details: Mapping[str, Any]) -> bool:
    """Return whether the details of a review say that the message's source names no SMSC."""
    return details.get("smsc", "") is None


def explain_opened(facts: Mapping[str, Any]) -> Explanation:
    """Return the texts for the facts of a journal entry `review.opened`."""
    no_smsc = bool(facts.get("no_smsc"))
    return explain_message(str(facts["reason"]), facts.get("doubts") or (), no_smsc=no_smsc)


def explain_message(
    reason: str,
    doubts: Iterable[str],
    *,
    no_smsc: bool = False,
    forged: bool = False,
    is_reversal: bool = False,
) -> Explanation:
    """Return the texts for a held message, as precise as its doubts allow.

    Args:
        reason: The reason of its review.
        doubts: Further doubts about the message.
        no_smsc: Its source names no SMSC.
        forged: The balance chain continued without its money.
        is_reversal: The message takes money back.
    """
    if no_smsc and reason == ReviewReason.FOREIGN_SMSC:
        return _WITHOUT_SMSC
    if is_reversal:
        return _REVERSAL
    if forged and reason == ReviewReason.BALANCE_BREAK:
        return _FORGED
    explanation = explain(reason)
    against = [_DOUBTS[doubt] for doubt in doubts if doubt in _DOUBTS]
    if reason == ReviewReason.UNTRUSTED_SENDER and against:
        return replace(
            explanation,
            why=_DOUBTED.format(", and ".join(against)),
            short="the message is doubtful",
        )
    return explanation


def payment_row(message: Message, *, payment_id: str, provider: str) -> dict[str, Any]:
    """Return the row of the payment that a message claims, with every column but `seq`.

    Args:
        message: A message that was read as money received, and made no payment.
        payment_id: The id of the new payment.
        provider: The provider of the wallet that the money is in.
    """
    fields = _decode(message.fields)
    currency = fields["currency"]
    amount = _money(fields["amount"], currency)
    assert amount is not None, "only a message that was read as money gets a review"
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
