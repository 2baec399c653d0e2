"""Decoder of SMS PDUs in the form that modems use (3GPP TS 23.040, TS 23.038, TS 27.005).

`decode` turns one hex line into a value: Deliver, Submit, StatusReport, or Garbled with the reason.
It never raises. The reverse functions are `encode_deliver` and `encode_submit`.

Decoding is lenient where the standard is (unknown elements are skipped, reserved codes have a
meaning) and where the text is not affected (an invalid date); it is strict about lengths, since a
truncated PDU may show a smaller amount of money.
"""

from typing import Any

from daemon.modem.codec import gsm7
from daemon.modem.codec.pdu_fields import (
    CODINGS,
    HEADER,
    STATUS_REPORT_REQUEST,
    Coding,
    Deliver,
    Direction,
    Element,
    Garbled,
    SenderType,
    StatusReport,
    Submit,
    find_concat,
    find_language,
    find_ports,
    read_address,
    read_elements,
    read_time,
)

_SMSC_OCTETS_MAX = 11  # TS 24.011 clause 8.2.5: 12 with the length octet
_ADDRESS_SEMI_OCTETS_MAX = 20  # clause 9.1.2.5
_SINGLE_SHIFT = 0x24
_LOCKING_SHIFT = 0x25
_RELATIVE = 2  # TP-VPF, clause 9.2.3.3


class _DamagedError(Exception):
    """Ends the decoding of one PDU; never leaves this module."""


class _Reader:
    __slots__ = ("at", "octets")

    def __init__(self, octets: bytes, at: int) -> None:
        self.octets = octets
        self.at = at

    def take(self, count: int, what: str) -> bytes:
        end = self.at + count
        if end > len(self.octets):
            left = len(self.octets) - self.at
            raise _DamagedError(f"cut short in the {what}: {count} octets expected, {left} left")
        field = self.octets[self.at : end]
        self.at = end
        return field

    def one(self, what: str) -> int:
        return self.take(1, what)[0]

    def address(self, what: str) -> tuple[str, SenderType]:
        length = self.one(f"length of the {what}")
        if length > _ADDRESS_SEMI_OCTETS_MAX:
            raise _DamagedError(f"the {what} has {length} semi-octets; 20 is the most there can be")
        kind = self.one(f"type of the {what}")
        return read_address(kind, self.take((length + 1) // 2, what), length)


def decode(
    pdu_hex: str, *, tpdu_length: int | None = None, direction: Direction = Direction.FROM_NETWORK
) -> Deliver | Submit | StatusReport | Garbled:
    """Decode one PDU line.

    Args:
        pdu_hex: hexadecimal in either case; spaces around it are ignored.
        tpdu_length: octets without the SMSC field, as `+CMGL:`, `+CMGR:` and `+CMT:` announce.
            It shows whether the line begins with an SMSC; without it, an SMSC is required. A
            length that fits neither way is accepted only if the PDU ends exactly where its own
            length fields say, since octets were then neither lost nor added.
        direction: whether the modem gave the PDU (a SUBMIT kept on the SIM included) or gets it.
    """
    try:
        octets = _read_hex(pdu_hex.strip())
        return _decode_octets(octets, tpdu_length, direction)
    except _DamagedError as damage:
        return Garbled(str(damage), pdu_hex)


def text_of(coding: Coding, octets: bytes, septets: bytes, locking: int = 0, single: int = 0) -> str:
    """Return user data as text: from septets for GSM 7-bit, octets for UCS-2, "" for 8-bit.

    UCS-2 is decoded as UTF-16, as every phone writes it; an unpaired surrogate, an odd octet at
    the end and U+0000 become U+FFFD.
    """
    if coding is Coding.GSM7:
        return gsm7.decode(septets, locking=locking, single=single)
    if coding is not Coding.UCS2:
        return ""
    # PostgreSQL stores no U+0000, and nobody can read it.
    return octets.decode("utf-16-be", "replace").replace("\0", "\ufffd")


def _read_hex(line: str) -> bytes:
    try:
        octets = bytes.fromhex(line)
    except ValueError:
        octets = b""
    if 2 * len(octets) != len(line):  # fromhex skips spaces
        for at, character in enumerate(line, start=1):
            if character not in "0123456789abcdefABCDEF":
                raise _DamagedError(f"not hexadecimal: {character!r} at place {at}")
        raise _DamagedError(f"an odd number of hexadecimal digits ({len(line)})")
    if not octets:
        raise _DamagedError("the PDU is empty")
    if not octets.lstrip(b"\x00").strip(b"\xff"):
        raise _DamagedError("an erased slot of the SIM, no message")
    return octets


def _decode_octets(octets: bytes, tpdu_length: int | None, direction: Direction) -> Deliver | Submit | StatusReport:
    mismatch = ""
    held = len(octets) - 1 - octets[0]
    if tpdu_length not in (None, held):
        mismatch = f"the modem announced {tpdu_length} octets behind the SMSC, the line has {held}"
    if tpdu_length == len(octets):
        reader = _Reader(b"\x00" + octets, 1)
        try:
            value = _decode_tpdu(reader, None, direction)
        except _DamagedError as damage:
            mismatch = str(damage)
        else:
            # Exactly: a line cut by as many octets as its SMSC has must not be accepted here.
            if reader.at == len(reader.octets) or isinstance(value, StatusReport):
                return value
    reader = _Reader(octets, 0)
    try:
        value = _decode_tpdu(reader, _read_smsc(reader), direction)
    except _DamagedError as damage:
        raise _DamagedError(mismatch or str(damage)) from None
    if mismatch and reader.at != len(octets):
        raise _DamagedError(mismatch)
    return value


def _read_smsc(reader: _Reader) -> str | None:
    length = reader.one("length of the SMSC")
    if length > _SMSC_OCTETS_MAX:
        raise _DamagedError(f"the SMSC has {length} octets; 11 is the most there can be")
    if not length:
        return None
    field = reader.take(length, "SMSC")
    return read_address(field[0], field[1:], 2 * (length - 1))[0] or None


def _decode_tpdu(reader: _Reader, smsc: str | None, direction: Direction) -> Deliver | Submit | StatusReport:
    first = reader.one("first octet")
    kind = first & 3
    if kind == 3:
        raise _DamagedError("message type 3 is reserved")
    if kind == 1:
        return _read_submit(reader, first, smsc)
    if direction is Direction.TO_NETWORK:
        raise _DamagedError("a delivery report or command, not a message to send")
    if kind == 0:
        return _read_deliver(reader, first, smsc)
    return _read_status_report(reader, smsc)


def _read_deliver(reader: _Reader, first: int, smsc: str | None) -> Deliver:
    sender, sender_type = reader.address("sender")
    pid, dcs = reader.take(2, "protocol and coding")
    sent_at = read_time(reader.take(7, "time stamp"))
    return Deliver(
        smsc=smsc,
        sender=sender,
        sender_type=sender_type,
        sent_at=sent_at,
        pid=pid,
        **_read_body(reader, dcs, header=bool(first & HEADER)),
    )


def _read_submit(reader: _Reader, first: int, smsc: str | None) -> Submit:
    reference = reader.one("message reference")
    recipient, recipient_type = reader.address("recipient")
    pid, dcs = reader.take(2, "protocol and coding")
    validity_format = first >> 3 & 3
    validity_octets = (1 if validity_format == _RELATIVE else 7) if validity_format else 0
    validity = reader.take(validity_octets, "validity period")
    return Submit(
        smsc=smsc,
        recipient=recipient,
        recipient_type=recipient_type,
        reference=reference,
        status_report=bool(first & STATUS_REPORT_REQUEST),
        validity=validity,
        pid=pid,
        **_read_body(reader, dcs, header=bool(first & HEADER)),
    )


def _read_status_report(reader: _Reader, smsc: str | None) -> StatusReport:
    reference = reader.one("message reference")
    recipient, recipient_type = reader.address("recipient")
    sent_at = read_time(reader.take(7, "time stamp"))
    discharged_at = read_time(reader.take(7, "discharge time"))
    # The optional fields after the status (TP-PI and the ones it announces) are not needed.
    return StatusReport(
        pdu=reader.octets.hex().upper(),
        smsc=smsc,
        recipient=recipient,
        recipient_type=recipient_type,
        reference=reference,
        sent_at=sent_at,
        discharged_at=discharged_at,
        status=reader.one("status"),
    )


def _read_body(reader: _Reader, dcs: int, *, header: bool) -> dict[str, Any]:
    """Read TP-UDL and TP-UD (clauses 9.2.3.16 and 9.2.3.24), the last fields of a message.

    Returns the fields of a message that come from its coding scheme and user data.
    """
    coding, message_class = CODINGS[dcs]
    length = reader.one("length of the user data")
    in_septets = coding is Coding.GSM7
    field = reader.take((length * 7 + 7) // 8 if in_septets else length, "user data")
    udh = b""
    elements: tuple[Element, ...] = ()
    header_septets = 0
    if header:
        udh_octets = field[0] + 1 if field else 1
        header_septets = (udh_octets * 8 + 6) // 7
        if udh_octets > len(field) or (in_septets and header_septets > length):
            raise _DamagedError("the user data header is longer than the user data")
        udh = field[:udh_octets]
        elements = read_elements(udh[1:])
    octets = field[len(udh) :]
    septets = b""
    locking = single = 0
    if in_septets:
        fill_bits = header_septets * 7 - len(udh) * 8
        septets = gsm7.unpack(octets, length - header_septets, fill_bits)
        locking = find_language(elements, _LOCKING_SHIFT)
        single = find_language(elements, _SINGLE_SHIFT)
    return {
        "pdu": reader.octets.hex().upper(),
        "text": text_of(coding, octets, septets, locking, single),
        "user_data": octets,
        "septets": septets,
        "coding": coding,
        "udh": udh,
        "elements": elements,
        "concat": find_concat(elements),
        "ports": find_ports(elements),
        "locking": locking,
        "single": single,
        "dcs": dcs,
        "message_class": message_class,
    }
