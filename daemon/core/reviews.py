"""Why a person is asked, and what the person should do: one row for each reason (decisions.md section 4). Pure."""

from dataclasses import dataclass
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
        "really there; a message that only looks like a receipt is rejected.",
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


def explain(reason: str) -> Explanation:
    """Return what a person is told about a reason."""
    return EXPLANATIONS[ReviewReason(reason)]
