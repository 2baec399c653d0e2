"""What a network took back. It may be known before the payment is: `payments.add` looks here."""

from typing import Any

from daemon.core.model import Reversal
from daemon.store.engine import Tx
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
