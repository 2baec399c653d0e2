"""Which of several payments with one network ID counts at a hub, and how many payments of a branch are usual. Pure."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from daemon.core.model import Payment

USUAL_TIMES: Final = 10
"""More payments of one day than so many times a usual day of the branch are kept aside."""
HISTORY_DAYS: Final = 14
"""Days with payments that a branch must have before its usual day is known."""
MANY: Final = 200
"""So many payments of a day are always stored: a new shop may sell a hundred times as much as in its first weeks."""


class Rival(Struct, frozen=True):
    """One of the payments with one network ID.

    Attributes:
        known: The branch had its SIM and number before, or it is the hub's own.
        used: It pays an order.
    """

    payment: Payment
    known: bool
    used: bool


def money(payment: Payment) -> tuple[str, str, int]:
    """Return what two rows of one and the same payment have in common besides the network's ID."""
    return payment.sim_key, payment.currency, payment.amount_minor


def counting(rivals: Sequence[Rival]) -> Rival | None:
    """Return the one that counts; None if a person must choose.

    Rows with the same SIM and amount are one payment, of which the row that pays an order counts. Of different ones only
    that of a branch which had the SIM and the number before can be real; what this shop read itself is.
    """
    what = {money(one.payment) for one in rivals}
    if len(what) > 1:
        own = [one for one in rivals if one.payment.branch_id is None]
        what = {money(one.payment) for one in own or rivals if one.known}
    if len(what) != 1:
        return None
    same = [one for one in rivals if money(one.payment) in what]
    return min(same, key=lambda one: (not one.used, not one.known, one.payment.seq))


def day_limit(counts: Sequence[int]) -> int | None:
    """Return how many payments of a day are stored, by the counts of the last days; None without enough of them."""
    if len(counts) < HISTORY_DAYS:
        return None
    return max(MANY, USUAL_TIMES * sum(counts) // len(counts))
