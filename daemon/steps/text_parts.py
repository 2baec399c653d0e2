"""Encode a text from a source without PDUs as the parts that the network would have sent, marked as synthesised.

The same message always gives the same parts, so a source may hand it over again. They name no SMSC: a made-up PDU must
never look as if it came through a home one.
"""

import hashlib
from datetime import UTC, datetime
from typing import Final

from daemon.core.inputs import ReadPart
from daemon.core.limits import SECOND_US
from daemon.modem.codec.pdu_encode import encode_deliver
from parsers.times import from_us, to_us

TEXT_MAX: Final = 10_000
"""UTF-16 units of a text that are kept; the longest SMS has less than 40,000, a payment message less than 500."""
_SENDER_KEPT: Final = 10
_NOT_A_SENDER: Final = "?"
"""Before a sender that no PDU can hold. No network's name begins with it."""
_FIRST_S: Final = to_us(datetime(1990, 1, 1, tzinfo=UTC)) // SECOND_US
_END_S: Final = to_us(datetime(2090, 1, 1, tzinfo=UTC)) // SECOND_US
"""The times that a PDU can hold: its year has two digits."""


def text_parts(
    sender: str, text: str, sent_at: int | None, *, storage: str, slot: int
) -> list[ReadPart]:
    """Return the parts of a message, in order. No value of a source makes it raise.

    Args:
        sender: As the source gives it. A name longer than 11 characters, or outside the SMS alphabet, is marked, so that it
            never equals another one after cutting.
        text: The whole text.
        sent_at: When the network sent it, microseconds; None if unknown. A time that no PDU can hold counts as unknown.
        storage: Where the source keeps it, to show.
        slot: Its number there.
    """
    # Cut as the encoder counts, so that there are never more parts than a message can have.
    units = text.encode("utf-16-be", "surrogatepass")[: 2 * TEXT_MAX]
    text = units.decode("utf-16-be", "replace")
    at = None if sent_at is None else sent_at // SECOND_US
    content = "\0".join((sender, str(at), text))
    reference = int.from_bytes(hashlib.sha256(content.encode(errors="replace")).digest()[:2], "big")
    moment = None if at is None or not _FIRST_S <= at < _END_S else from_us(at * SECOND_US)
    try:
        pdus = encode_deliver(sender, text, moment, reference=reference, width=16)
    except ValueError:
        plain = "".join(c for c in sender if c.isascii() and c.isalnum())[:_SENDER_KEPT]
        marked = f"{_NOT_A_SENDER}{plain}"
        pdus = encode_deliver(marked, text, moment, reference=reference, width=16)
    # A PDU without SMSC begins with one octet, 00, that is no part of the TPDU.
    return [ReadPart(storage, slot, len(pdu) // 2 - 1, pdu, synthesised=True) for pdu in pdus]
