"""Decision for each payment of a replayed time window: send it or skip it. Pure."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from daemon.core.json_values import cursor, cursor_parts
from daemon.core.limits import DAY_US
from daemon.core.model import Delivery, Payment
from daemon.wire import DeliveryStatus

WINDOW_US_MAX: Final = 31 * DAY_US
PAYMENTS_MAX: Final = 1000
"""Both are for one call."""


class ReplayDecision(StrEnum):
    """Decision of a replay for one payment, and the name under which it is counted."""

    NEW = "new"
    """The endpoint has no delivery of it yet."""
    AGAIN = "again"
    """Its delivery failed for good, and a new run starts."""
    DELIVERED = "skipped_delivered"
    IN_FLIGHT = "skipped_in_flight"
    FAILED = "skipped_failed"
    """Its delivery failed for good, and failed ones are not requested."""
    NOT_CLAIMED = "skipped_not_claimed"
    REVERSED = "skipped_reversed"
    HISTORICAL = "skipped_historical"
    """It is older than its line, or from a file. It is sent if historical payments are requested, once a person has let it
    pay a transaction: anybody can make such a message up."""


SENT: Final = frozenset({ReplayDecision.NEW, ReplayDecision.AGAIN})
SKIPPED: Final = tuple(fate for fate in ReplayDecision if fate not in SENT)


def decide_replay(
    payment: Payment, delivery: Delivery | None, *, claimed: bool, include_failed: bool, include_historical: bool
) -> ReplayDecision:
    """Return the decision of a replay for a verified payment of the window, and the endpoint's delivery of it, if any.

    `claimed`: the endpoint's present rules claim it. Payments with a failed delivery, and those older than their line
    that a person has reconciled, are sent if they are included.
    """
    exists = delivery is not None
    failed = delivery is not None and delivery.status is DeliveryStatus.FAILED
    answers = (
        (delivery is not None and delivery.delivered_at is not None, ReplayDecision.DELIVERED),
        (exists and not failed, ReplayDecision.IN_FLIGHT),
        (payment.reversed_at is not None, ReplayDecision.REVERSED),
        (not claimed, ReplayDecision.NOT_CLAIMED),
        (payment.historical and not (include_historical and payment.standing == "used"), ReplayDecision.HISTORICAL),
        (failed and not include_failed, ReplayDecision.FAILED),
        (failed, ReplayDecision.AGAIN),
    )
    return next((decision for applies, decision in answers if applies), ReplayDecision.NEW)


class Cursor(Struct, frozen=True):
    """Position in a replayed window: the next page starts after the payment `after`."""

    endpoint_id: str
    since: int
    until: int
    after: int

    def write(self) -> str:
        """Return the cursor as opaque text for callers."""
        return cursor(self.endpoint_id, self.since, self.until, self.after)


def read_cursor(text: str) -> Cursor | None:
    """Return the cursor in a text, or None if it is not one of ours."""
    match cursor_parts(text):
        case [str(endpoint_id), int(since), int(until), int(after)]:
            return Cursor(endpoint_id, since, until, after)
        case _:
            return None
