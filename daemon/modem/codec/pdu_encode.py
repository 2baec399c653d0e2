"""Encoder from text to PDUs: SMS-SUBMIT for the modem, SMS-DELIVER for the emulated phone.

GSM 7-bit (default alphabet and extension) where the whole text fits it, else UCS-2. A text longer
than one message is cut into parts with a concatenation header; no cut falls inside an escape pair
or a surrogate pair, so each part can be read alone. All functions raise ValueError for values that
the standard cannot carry. Clauses are of 3GPP TS 23.040.
"""

from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from daemon.modem.codec import gsm7
from daemon.modem.codec.pdu_fields import (
    HEADER,
    STATUS_REPORT_REQUEST,
    SenderType,
    write_address,
    write_concat,
    write_time,
)

_USER_DATA_OCTETS_MAX = 140  # clause 9.2.3.16
_USER_DATA_SEPTETS_MAX = 160
_PARTS_MAX = 255
_DELIVER = 0x00
_NO_TIME = bytes(7)  # month 0
_SUBMIT = 0x01
_NO_MORE_MESSAGES = 0x04  # TP-MMS, clause 9.2.3.2
_RELATIVE_VALIDITY = 0x10  # TP-VPF, clause 9.2.3.3


class SubmitPdu(Struct, frozen=True):
    """One message to send: `AT+CMGS=<tpdu_length>`, then `hex`, which begins with the SMSC."""

    hex: str
    tpdu_length: int


class _Body(Struct, frozen=True):
    """User data of one part: length octet, then the octets; `header` is True when they begin with a header."""

    octets: bytes
    header: bool


def encode_deliver(  # noqa: PLR0913 - the fields of the PDU, all but three optional
    sender: str,
    text: str,
    sent_at: datetime | None,
    *,
    smsc: str | None = None,
    reference: int | None = None,
    width: int = 8,
    sender_type: SenderType | None = None,
    message_class: int | None = None,
) -> tuple[str, ...]:
    """Return the hex PDUs, with SMSC, of a message as the network delivers it.

    Args:
        sender: a number (`+` makes it international) or a name of up to 11 characters.
        text: one PDU when it fits, else one per part, in order.
        sent_at: aware; sent with its own zone where that is whole quarter hours. None for an
            unknown time: a time stamp that decodes to None.
        smsc: number of the service centre, or None for a PDU that names none.
        reference: of the parts of a long text; None means 0. Unused for a short one.
        width: bits of the reference, 8 or 16.
        sender_type: overrides the type derived from `sender`.
        message_class: 0 to 3, or None.

    Raises:
        ValueError: an argument that a PDU cannot hold.
    """
    dcs, bodies = _bodies(text, reference or 0, width, message_class)
    address = write_address(sender, sender_type)
    stamp = _NO_TIME if sent_at is None else write_time(sent_at)
    prefix = _smsc(smsc)
    pdus = []
    for body in bodies:
        first = _DELIVER | _NO_MORE_MESSAGES | (HEADER if body.header else 0)
        tpdu = bytes((first,)) + address + bytes((0, dcs)) + stamp + body.octets
        pdus.append((prefix + tpdu).hex().upper())
    return tuple(pdus)


def encode_submit(  # noqa: PLR0913 - the fields of the PDU, all but three optional
    number: str,
    text: str,
    reference: int = 0,
    *,
    status_report: bool = False,
    smsc: str | None = None,
    width: int = 8,
    validity: int | None = None,
    message_class: int | None = None,
) -> tuple[SubmitPdu, ...]:
    """Return the PDUs to send this text, one or one per part, in order.

    TP-MR is 0: the modem numbers messages itself and returns the number in `+CMGS:`.

    Args:
        number: digits, with `+` for an international number.
        text: any text.
        reference: common to the parts of a long text.
        status_report: ask the network to report delivery.
        smsc: None leaves the choice to the SIM.
        width: bits of the reference, 8 or 16.
        validity: relative TP-VP octet (clause 9.2.3.12.1: 0xA7 is 24 hours), None for the
            network's own.
        message_class: 0 to 3, or None.

    Raises:
        ValueError: an argument that a PDU cannot hold.
    """
    dcs, bodies = _bodies(text, reference, width, message_class)
    address = write_address(number, _number_type(number))
    if validity is not None and not 0 <= validity <= 255:
        raise ValueError(f"validity {validity} is not one octet")
    validity_octet = b"" if validity is None else bytes((validity,))
    prefix = _smsc(smsc)
    flags = _SUBMIT
    flags |= _RELATIVE_VALIDITY if validity_octet else 0
    flags |= STATUS_REPORT_REQUEST if status_report else 0
    pdus = []
    for body in bodies:
        first = flags | (HEADER if body.header else 0)
        tpdu = bytes((first, 0)) + address + bytes((0, dcs)) + validity_octet + body.octets
        pdus.append(SubmitPdu((prefix + tpdu).hex().upper(), len(tpdu)))
    return tuple(pdus)


def _number_type(number: str) -> SenderType:
    return SenderType.INTERNATIONAL if number.startswith("+") else SenderType.UNKNOWN


def _smsc(number: str | None) -> bytes:
    if number is None:
        return b"\x00"
    address = write_address(number, _number_type(number))
    # Here the length counts octets, type included (TS 24.011 clause 8.2.5.2).
    return bytes((len(address) - 1,)) + address[1:]


def _bodies(text: str, reference: int, width: int, message_class: int | None) -> tuple[int, list[_Body]]:
    if message_class is not None and not 0 <= message_class <= 3:
        raise ValueError(f"message class {message_class} is not 0 to 3")
    class_bits = 0 if message_class is None else 0x10 | message_class
    header_octets = len(write_concat(reference, width, 1, 1))
    septets = gsm7.encode(text)
    if septets is not None:
        if len(septets) <= _USER_DATA_SEPTETS_MAX:
            return class_bits, [_Body(bytes((len(septets),)) + gsm7.pack(septets), header=False)]
        header_septets = (header_octets * 8 + 6) // 7
        fill_bits = header_septets * 7 - header_octets * 8
        cut = _cut_septets(septets, _USER_DATA_SEPTETS_MAX - header_septets)
        parts = [(header_septets + len(part), gsm7.pack(part, fill_bits)) for part in cut]
    else:
        octets = text.encode("utf-16-be", "replace")
        class_bits |= 0x08
        if len(octets) <= _USER_DATA_OCTETS_MAX:
            return class_bits, [_Body(bytes((len(octets),)) + octets, header=False)]
        cut = _cut_units(octets, (_USER_DATA_OCTETS_MAX - header_octets) // 2 * 2)
        parts = [(header_octets + len(part), part) for part in cut]
    if len(parts) > _PARTS_MAX:
        raise ValueError(f"the text needs {len(parts)} parts; a message has at most 255")
    bodies = []
    for position, (length, part) in enumerate(parts, start=1):
        header = write_concat(reference, width, len(parts), position)
        bodies.append(_Body(bytes((length,)) + header + part, header=True))
    return class_bits, bodies


def _cut_septets(septets: bytes, size: int) -> Iterator[bytes]:
    """Cut so that no part ends with an escape (clause 9.2.3.24.1 forbids splitting a pair)."""
    start = 0
    while start < len(septets):
        end = start + size
        if end < len(septets) and septets[end - 1] == gsm7.ESCAPE:
            end -= 1
        yield septets[start:end]
        start = end


def _cut_units(octets: bytes, size: int) -> Iterator[bytes]:
    """Cut so that no part ends with the first half of a surrogate pair."""
    start = 0
    while start < len(octets):
        end = start + size
        if end < len(octets) and octets[end - 2] & 0xFC == 0xD8:
            end -= 2
        yield octets[start:end]
        start = end
