"""Why a person is asked, and what the person should do: one row for each reason (decisions.md section 4). Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from daemon.wire import ReviewReason


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a person is told.

    Attributes:
        why: What is doubtful, one sentence.
        todo: What to look at, and what approving and rejecting then do.
        short: A few words for a list.
    """

    why: str
    todo: str
    short: str


EXPLANATIONS: Final[dict[ReviewReason, Explanation]] = {
    ReviewReason.PAYER_MISMATCH: Explanation(
        "The order expects another payer than the one the receipt names.",
        "Ask the customer who paid. Approve if the payment is for this order; if it is not, approve it for the order "
        "it belongs to, or reject it.",
        "another payer than expected",
    ),
    ReviewReason.PAYER_UNKNOWN: Explanation(
        "The order expects a certain payer, and the receipt names no number.",
        "Compare the name on the receipt with the customer. Approve if it fits, else reject. Approving also approves "
        "this name for the expected number from now on; `momo payers list` shows such names.",
        "payer's number not on the receipt",
    ),
    ReviewReason.TELCO_ID_MISMATCH: Explanation(
        "The order expects another transaction ID than the one this payment has.",
        "Ask for the customer's own confirmation message. Approve if it shows this ID, else reject.",
        "another transaction ID than expected",
    ),
    ReviewReason.UNTRUSTED_SENDER: Explanation(
        "The message did not come from the network's own sender, so anybody may have written it.",
        "Look at the balance and the history on the phone itself, not at the message. Approve only if the money is "
        "really there; a message that only looks like a receipt is rejected. Where no sender of the network is known yet, as "
        "with AT Money, approving also believes this sender and wording from now on.",
        "not from the network's sender",
    ),
    ReviewReason.BALANCE_BREAK: Explanation(
        "The balance in the message does not follow from the balance before it.",
        "Check the balance of the wallet on the phone itself. Approve only if the money is really there.",
        "balance does not add up",
    ),
    ReviewReason.NO_TELCO_ID: Explanation(
        "The receipt carries no transaction ID, so a repeat of it could not be recognised.",
        "Look for the payment in the wallet's history. Approve if it is there and was not counted yet, else reject.",
        "no transaction ID",
    ),
    ReviewReason.ID_CONFLICT: Explanation(
        "Another payment already has this transaction ID, with another amount or on another number.",
        "Compare both with the wallet's history. An ID is booked once: as long as the other payment has it, this "
        "message can only be rejected.",
        "transaction ID is known with another amount",
    ),
    ReviewReason.AMBIGUOUS_CODE: Explanation(
        "The payment names more than one order.",
        "Ask the customer which one was meant and approve it for that order; without an order it is kept as a "
        "sale of its own.",
        "names more than one order",
    ),
    ReviewReason.EXTRA_PAYMENT: Explanation(
        "The order is already paid.",
        "Approve it for another order if it was meant for one, approve it without an order to keep it as a sale of "
        "its own, or reject it and give the money back.",
        "order is already paid",
    ),
    ReviewReason.CANCELLED_REQUEST: Explanation(
        "The order was cancelled before the money came.",
        "Approve to let it pay the order after all, or reject it and give the money back.",
        "order was cancelled",
    ),
    ReviewReason.LATE: Explanation(
        "The money came after the order had expired.",
        "Approve if the order still stands, or reject it and give the money back.",
        "order had expired",
    ),
    ReviewReason.NEAR_MISS: Explanation(
        "The payment nearly names an order, but not exactly.",
        "The payment is kept and forwarded as a sale of its own until somebody decides. Ask the customer which order was "
        "meant and approve it for that one; without an order it stays a sale of its own.",
        "nearly names an order",
    ),
}
"""Every reason."""

NEEDS_PASSWORD: Final = frozenset({ReviewReason.UNTRUSTED_SENDER, ReviewReason.BALANCE_BREAK})
"""Approving these makes money of what may be forged: only the owner, who gives the password (decisions.md section 4)."""


_FORGED: Final = Explanation(
    "The balance in the message does not follow, and the messages behind it went on without its money: it is forged.",
    "Check the balance of the wallet on the phone itself. Reject it unless the money is really there.",
    "forged: the line went on without it",
)
_REVERSAL: Final = Explanation(
    "It says that the network took a payment back, and something speaks against it.",
    "Look at the wallet's history on the phone itself. Approving marks the payment that it names as reversed; it makes no "
    "money. Reject it if the payment is still there.",
    "a doubtful reversal",
)
_DOUBTED: Final = "The message comes from the network's own sender, but {}."
_DOUBTS: Final = {
    "smsc_new": "it came by a service centre that this SIM never got a genuine message from",
    "id_too_low": "its transaction ID is too low for its date",
    "id_too_high": "its transaction ID is too high for its date",
    "id_of_another_time": "its transaction ID names another time",
    "printed_time": "it prints another time than the one at which it was sent",
    "reference_too_long": "the text that the payer typed is longer than anybody types",
    "reference_like_a_receipt": "the text that the payer typed speaks as a receipt does",
    "wording_unverified": "no genuine message of this wording is known yet; approving this one makes it the proof, and "
    "those after it count by themselves",
    "takes_back_a_live_payment": "it comes out of a file, and the payment that it takes back was read from a phone",
}
"""What speaks against a message of the right sender (`daemon.core.doubts`)."""


def explain(reason: str) -> Explanation:
    """Return what a person is told about a reason."""
    return EXPLANATIONS[ReviewReason(reason)]


def explain_message(
    reason: str, doubts: Iterable[str], *, forged: bool = False, is_reversal: bool = False
) -> Explanation:
    """Return what a person is told about a message, as precisely as is known.

    Args:
        reason: Of its review.
        doubts: What speaks against it besides.
        forged: The chain of balances went past it.
        is_reversal: It takes money back.
    """
    if is_reversal:
        return _REVERSAL
    if forged and reason == ReviewReason.BALANCE_BREAK:
        return _FORGED
    told = explain(reason)
    against = [_DOUBTS[doubt] for doubt in doubts if doubt in _DOUBTS]
    if reason == ReviewReason.UNTRUSTED_SENDER and against:
        return replace(
            told, why=_DOUBTED.format(", and ".join(against)), short="something speaks against it"
        )
    return told
