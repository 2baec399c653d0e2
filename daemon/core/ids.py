"""IDs: random ones from entropy that the caller provides, and derived ones. Pure."""

import hmac
import re
import uuid
from collections.abc import Sequence
from json.encoder import encode_basestring_ascii
from typing import Final

from daemon.wire import EventKind, Mode

DEVICE_NAMESPACE: Final = uuid.UUID("6f6d6f6d-8d2f-5c1e-9a0b-7b7e0d3c4a51")
"""momo's own namespace: the same IMEI is the same device on every machine, for ever. Never change it."""

_REFERENCE: Final = re.compile(r"svc_trx_([0-9a-f]{32})", re.ASCII)
BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SLUG_LENGTH: Final = 22
"""62 ** 22 is the first power above 2 ** 128."""
_BASE36: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
WEBHOOK_ID_PREFIX: Final = "ocl_"
WEBHOOK_ID_CHARACTERS: Final = 24
_TIME_LENGTH: Final = 15
"""Characters of an ordered UUID up to its version: the time."""
_TIME_US_MAX: Final = (1 << 48) * 1_000 - 1


def new_uuid(entropy: bytes) -> str:
    """Return a random UUID (RFC 9562, version 4) of 16 random bytes."""
    assert len(entropy) == 16
    digits, variant = entropy.hex(), "89ab"[entropy[8] >> 4 & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def time_ordered(random_uuid: str, now_us: int) -> str:
    """Return a random UUID with the time in front (RFC 9562, version 7); 74 bits of it stay random.

    Rows made one after the other are then neighbours in an index, and a commit writes fewer pages (docs/decisions/0001).
    The time is never read from the ID, and no order is taken from it.
    """
    milliseconds = f"{now_us // 1_000:012x}"
    return f"{milliseconds[:8]}-{milliseconds[8:]}-7{random_uuid[15:]}"


def message_id(account_key: bytes, sim_key: str, sha256: str, sent_at_us: int | None) -> str:
    """Return the id of the message that a part opens: always the same for the same part of the same SIM.

    Only its place in an index depends on `sent_at_us`, the SMSC time of the part.
    """
    made = _derived(account_key, "message", sim_key, sha256)
    return time_ordered(made, min(max(sent_at_us or 0, 0), _TIME_US_MAX))


def payment_id(account_key: bytes, message_id: str) -> str:
    """Return the id of the payment that a message makes; a message makes at most one."""
    return message_id[:_TIME_LENGTH] + _derived(account_key, "payment", message_id)[_TIME_LENGTH:]


def holder_id(account_key: bytes, payment_id: str) -> str:
    """Return the id of the holder of a payment; a payment gets at most one."""
    return payment_id[:_TIME_LENGTH] + _derived(account_key, "holder", payment_id)[_TIME_LENGTH:]


def _derived(account_key: bytes, *parts: str) -> str:
    """Return a UUID that looks random and is always the same for the same parts."""
    return new_uuid(hmac.new(account_key, _array(parts).encode(), "sha256").digest()[:16])


def _array(parts: Sequence[str]) -> str:
    """Return what `json.dumps` does for a list of strings, in a fifth of the time."""
    return f"[{', '.join(map(encode_basestring_ascii, parts))}]"


def reference_of(transaction_id: str) -> str:
    """Return the reference of a transaction: `svc_trx_` and the hex of its UUID."""
    return "svc_trx_" + transaction_id.replace("-", "")


def split_reference(reference: str) -> str | None:
    """Return the UUID in a reference; None if the text is not a reference."""
    match = _REFERENCE.fullmatch(reference)
    return None if match is None else str(uuid.UUID(hex=match.group(1)))


def device_id_of(imei: str) -> str:
    """Return the device id of an IMEI: a UUIDv5, so that it stays the same after re-plugging."""
    return str(uuid.uuid5(DEVICE_NAMESPACE, imei))


def request_id(entropy: bytes) -> str:
    """Return `req_` and 32 hex digits of 16 random bytes."""
    assert len(entropy) == 16
    return "req_" + entropy.hex()


def reconciliation_id(entropy: bytes) -> str:
    """Return `rec_` and 32 hex digits of 16 random bytes."""
    assert len(entropy) == 16
    return "rec_" + entropy.hex()


def base62(number: int, length: int) -> str:
    """Return a number in base 62, padded with zeros to `length`."""
    text = ""
    for _ in range(length):
        number, digit = divmod(number, 62)
        text = BASE62[digit] + text
    assert number == 0, "the number does not fit"
    return text


def public_slug(entropy: bytes) -> str:
    """Return the address part of a checkout page: 128 random bits, base 62."""
    assert len(entropy) == 16
    return base62(int.from_bytes(entropy, "big"), _SLUG_LENGTH)


def webhook_id(
    account_key: bytes, mode: Mode, normalised_url: str, kind: EventKind, subject: str, revision: int
) -> str:
    """Return the id by which receivers de-duplicate: always the same for the same payment at the same URL.

    It is `ocl_` and 24 characters of base36 (124 bits). `account_key` never changes and is not a signing secret.
    `normalised_url` is that of the target when the delivery was first claimed, `subject` the payment's id, or the
    transaction's if there is no payment.
    """
    # A JSON array, so that different lists of parts never give the same text.
    parts = f"{_array((mode, normalised_url, kind, subject))[:-1]}, {revision}]"
    # Not `hmac.digest`: it releases the interpreter lock, and the writer thread would wait for it at every call.
    digest = hmac.new(account_key, parts.encode(), "sha256").digest()
    number = int.from_bytes(digest, "big") % 36**WEBHOOK_ID_CHARACTERS
    digits = []
    for _ in range(WEBHOOK_ID_CHARACTERS):
        number, digit = divmod(number, 36)
        digits.append(_BASE36[digit])
    return WEBHOOK_ID_PREFIX + "".join(digits)
