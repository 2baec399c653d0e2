"""What a network took back. It may be known before the payment is: `payments.add` looks here."""

from typing import Any

from daemon.core.model import Payment, Reversal
from daemon.store import events
from daemon.store.engine import Tx
from daemon.store.notices import Notice
from daemon.store.notices import tell as tell_owner
from daemon.store.rows import columns, load_optional

_REVERSAL = columns(Reversal)
_NAMES = [name for name in _REVERSAL.split(", ") if name != "seq"]


def add(tx: Tx, reversal: dict[str, Any]) -> Reversal | None:
    """Note that a transaction was taken back; None when that is known already.

    `reversal` has every column but `seq`; `original_telco_id` is trimmed and upper case, `at` is when the network took
    it back.
    """
    row = tx.one(
        f"INSERT INTO reversals ({', '.join(_NAMES)}) VALUES ({', '.join(':' + name for name in _NAMES)}) "
        f"ON CONFLICT DO NOTHING RETURNING {_REVERSAL}",
        reversal,
    )
    return load_optional(Reversal, row)


def tell(
    tx: Tx,
    payment: Payment,
    *,
    transaction_id: str | None,
    message_id: str,
    now: int,
    **more: int | None,
) -> None:
    """Say in the journal and to the owner that a payment was taken back.

    Args:
        tx: The transaction that marks it so.
        payment: As it was.
        transaction_id: What it had paid, if anything.
        message_id: What told of it: the reversal, or the payment that came after its reversal.
        now: Our time.
        more: Further facts of the reversal, amounts in minor units.
    """
    data = {"amount_minor": payment.amount_minor, **more, "currency": payment.currency}
    events.add(
        tx,
        type="payment.reversed",
        mode=payment.mode,
        at=now,
        transaction_id=transaction_id,
        payment_id=payment.id,
        message_id=message_id,
        data=data,
    )
    tell_owner(
        tx,
        Notice.PAYMENT_REVERSED,
        mode=payment.mode,
        now=now,
        payment_id=payment.id,
        message_id=message_id,
        data=data,
    )
