"""What becomes of each payment of a window that is replayed to an endpoint. Pure (decisions.md section 7)."""

import base64
import binascii
import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from daemon.core.limits import DAY_US
from daemon.core.model import Delivery, Payment
from daemon.wire import DeliveryStatus

WINDOW_US_MAX: Final = 31 * DAY_US
PAYMENTS_MAX: Final = 1000
"""interface.md, Limits: per call."""
_CURSOR: Final = re.compile(r"[0-9A-Za-z_-]{1,300}", re.ASCII)


class Fate(StrEnum):
    """What a replay does with one payment, and under which name it is counted."""

    NEW = "new"
    """The endpoint was never owed it."""
    AGAIN = "again"
    """It was given up there, and a new run begins."""
    DELIVERED = "skipped_delivered"
    IN_FLIGHT = "skipped_in_flight"
    FAILED = "skipped_failed"
    """It was given up there, and failed ones are not asked for."""
    NOT_CLAIMED = "skipped_not_claimed"
    REVERSED = "skipped_reversed"
    HISTORICAL = "skipped_historical"
    """It is older than its line, and history is not asked for."""


SENT: Final = frozenset({Fate.NEW, Fate.AGAIN})
SKIPPED: Final = tuple(fate for fate in Fate if fate not in SENT)


def fate(
    payment: Payment,
    delivery: Delivery | None,
    *,
    claimed: bool,
    include_failed: bool,
    include_historical: bool,
) -> Fate:
    """Say what a replay does with a payment.

    Args:
        payment: A verified payment of the window.
        delivery: What the endpoint was owed of it; None when nothing was.
        claimed: The endpoint's rules of today claim it.
        include_failed: Also what was given up there.
        include_historical: Also what is older than its line.
    """
    owed = delivery is not None
    failed = delivery is not None and delivery.status is DeliveryStatus.FAILED
    answers = (
        (delivery is not None and delivery.delivered_at is not None, Fate.DELIVERED),
        (owed and not failed, Fate.IN_FLIGHT),
        (payment.reversed_at is not None, Fate.REVERSED),
        (not claimed, Fate.NOT_CLAIMED),
        (payment.historical and not include_historical, Fate.HISTORICAL),
        (failed and not include_failed, Fate.FAILED),
        (failed, Fate.AGAIN),
    )
    return next((what for holds, what in answers if holds), Fate.NEW)


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a replay of a window goes on: after the last payment that was looked at."""

    endpoint_id: str
    since: int
    until: int
    after: int

    def write(self) -> str:
        """Return it as callers keep it: opaque to them."""
        text = json.dumps([self.endpoint_id, self.since, self.until, self.after])
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(text: str) -> Cursor | None:
    """Return what a cursor says, None when it is none of ours."""
    if not _CURSOR.fullmatch(text):
        return None
    try:
        parts = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError):
        return None
    match parts:
        case [str(endpoint_id), int(since), int(until), int(after)]:
            return Cursor(endpoint_id, since, until, after)
        case _:
            return None
