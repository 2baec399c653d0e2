"""The names of things, made from entropy that the caller brings (decisions.md section 1)."""

import re
import uuid
from typing import Final

DEVICE_NAMESPACE: Final = uuid.UUID("6f6d6f6d-8d2f-5c1e-9a0b-7b7e0d3c4a51")
"""Ours: the same IMEI is the same device on every machine, for ever. Never change it."""

_REFERENCE: Final = re.compile(r"svc_trx_([0-9a-f]{32})", re.ASCII)
BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_BASE62_PAIRS: Final = tuple(first + second for first in BASE62 for second in BASE62)
_SLUG_LENGTH: Final = 22
"""62 ** 22 is the first power above 2 ** 128."""


def new_uuid(entropy: bytes) -> str:
    """Return a random UUID (RFC 9562, version 4) of 16 random bytes."""
    assert len(entropy) == 16
    digits, variant = entropy.hex(), "89ab"[entropy[8] >> 4 & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def time_ordered(random_uuid: str, now_us: int) -> str:
    """Return a random UUID with the time in front (RFC 9562, version 7): 74 bits of it stay random.

    What is made one after the other so stands side by side in an index, and its commit writes fewer pages
    (docs/decisions/0027). Nothing reads the time from it, and no order is taken from it.
    """
    milliseconds = f"{now_us // 1_000:012x}"
    return f"{milliseconds[:8]}-{milliseconds[8:]}-7{random_uuid[15:]}"


def reference_of(transaction_id: str) -> str:
    """Return the reference of a transaction: `svc_trx_` and the hex of its UUID."""
    return "svc_trx_" + transaction_id.replace("-", "")


def split_reference(reference: str) -> str | None:
    """Return the UUID inside a reference, None when it is none."""
    match = _REFERENCE.fullmatch(reference)
    return None if match is None else str(uuid.UUID(hex=match.group(1)))


def device_id_of(imei: str) -> str:
    """Return the device id of an IMEI: UUIDv5, so that it survives re-plugging."""
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
    for _pair in range(length // 2):
        number, pair = divmod(number, 62 * 62)
        text = _BASE62_PAIRS[pair] + text
    if length % 2:
        number, digit = divmod(number, 62)
        text = BASE62[digit] + text
    assert number == 0, "the number does not fit"
    return text


def public_slug(entropy: bytes) -> str:
    """Return the address part of a checkout page: 128 random bits, base 62."""
    assert len(entropy) == 16
    return base62(int.from_bytes(entropy, "big"), _SLUG_LENGTH)
