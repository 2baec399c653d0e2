"""Encode a text from a source without PDUs as the parts that the network would have sent, marked as synthesised.

The same message always gives the same parts, so a source may hand it over again. They name no SMSC: a made-up PDU must
never look as if it came through a home one.
"""

import hashlib
from datetime import UTC
from typing import Final

from daemon.core.inputs import ReadPart
from daemon.core.limits import SECOND_US
from daemon.modem.codec.pdu_encode import encode_deliver
from parsers.times import from_us

TEXT_MAX: Final = 10_000
"""Characters of a text that are kept; the longest SMS has less than 40,000, a payment message less than 500."""
_SENDER_KEPT: Final = 10
_NOT_A_SENDER: Final = "?"
"""Before a sender that no PDU can hold. No network's name begins with it."""


def text_parts(
    sender: str, text: str, sent_at: int | None, *, storage: str, slot: int
) -> list[ReadPart]:
    """Return the parts of a message, in order.

    Args:
        sender: As the source gives it. A name longer than 11 characters, or outside the SMS alphabet, is marked, so that it
            never equals another one after cutting.
        text: The whole text.
        sent_at: When the network sent it, microseconds; None if unknown.
        storage: Where the source keeps it, to show.
        slot: Its number there.
    """
    text = text[:TEXT_MAX]
    at = None if sent_at is None else sent_at // SECOND_US
    content = "\0".join((sender, str(at), text))
    reference = int.from_bytes(hashlib.sha256(content.encode(errors="replace")).digest()[:2], "big")
    try:
        pdus = _encode(sender, text, at, reference)
    except ValueError:
        plain = "".join(c for c in sender if c.isascii() and c.isalnum())[:_SENDER_KEPT]
        pdus = _encode(f"{_NOT_A_SENDER}{plain}", text, at, reference)
    # A PDU without SMSC begins with one octet, 00, that is no part of the TPDU.
    return [ReadPart(storage, slot, len(pdu) // 2 - 1, pdu, synthesised=True) for pdu in pdus]


def _encode(sender: str, text: str, at: int | None, reference: int) -> tuple[str, ...]:
    try:
        sent_at = None if at is None else from_us(at * SECOND_US).astimezone(UTC)
        return encode_deliver(sender, text, sent_at, reference=reference, width=16)
    except OverflowError as error:
        raise ValueError(str(error)) from error
