"""The payment that a message claims to be, for the person who vouches for it. Pure.

It is made of the stored fields, which are what the person was shown: not of the text, which a newer wording might read
in another way.
"""

from typing import Any, Final

import msgspec

from daemon.core.model import Message
from parsers.money import Money, read_money
from parsers.phone import read_phone
from parsers.telco_id import normalize_telco_id

MESSAGE_ID_PREFIX: Final = "sms:"
"""A receipt without a transaction ID is known by its message (decisions.md section 4)."""

_decode = msgspec.json.Decoder(dict[str, str | None]).decode


def payment_row(message: Message, *, payment_id: str, provider: str) -> dict[str, Any]:
    """Return the row of the payment that a message claims to be, with every column but `seq`.

    Args:
        message: One that was read as money that came in, and made no payment.
        payment_id: The new payment's.
        provider: Whose wallet the money is in.
    """
    fields = _decode(message.fields)
    currency = fields["currency"]
    amount = _money(fields["amount"], currency)
    assert amount is not None, "only what was read as money is put before a person"
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
