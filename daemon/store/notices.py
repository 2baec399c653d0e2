"""What the owner has to be told without having asked.

For now a notice is a line of the journal, of type `notice.<kind>`, which `momo events`, `momo tx show` and the stream
show. Whatever else carries notices (e-mail, the desktop, an SMS to the owner) hooks in here and nowhere else: the row it
queues is then part of the transaction that found the reason.
"""

from enum import StrEnum
from typing import Any

from daemon.store import events
from daemon.store.engine import Tx
from daemon.wire import Mode


class Notice(StrEnum):
    """What there is to tell; the sentences are in `daemon.core.notices`."""

    MONEY_MISSING = "money_missing"
    """The balance moved by an amount that no message told of."""
    BALANCE_WARNING = "balance_warning"
    """It would have been held, but `[trust] balance_check` is `warn`."""
    RECEIPT_FORGED = "receipt_forged"
    """A held receipt is shown to be forged."""
    RECEIPT_SUSPECT = "receipt_suspect"
    """A receipt was believed, and its money is not there."""
    RECEIPT_RESTORED = "receipt_restored"
    """A suspect receipt is genuine after all."""
    RECEIPT_HELD = "receipt_held"
    """A receipt is held for over 30 minutes."""
    PAYMENT_REVERSED = "payment_reversed"
    """The network took a payment back."""
    REVERSAL_UNMATCHED = "reversal_unmatched"
    """The network took something back that is not here, or does not say what."""


def tell(
    tx: Tx,
    notice: Notice,
    *,
    mode: Mode,
    now: int,
    message_id: str | None = None,
    payment_id: str | None = None,
    transaction_id: str | None = None,
    data: dict[str, Any] | None = None,
) -> None:
    """Tell the owner; amounts in `data` are minor units, beside their `currency`."""
    events.add(
        tx,
        type=f"notice.{notice}",
        mode=mode,
        at=now,
        message_id=message_id,
        payment_id=payment_id,
        transaction_id=transaction_id,
        data=data,
    )
