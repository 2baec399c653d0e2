"""The values of a PDU (messages, status reports, garbled lines), and the fields that all kinds of PDUs share.

Readers of fields take octets already cut to length and never raise: an unreadable value is returned as None or empty.
Writers raise ValueError for values that the field cannot hold. Clauses are of 3GPP TS 23.040 unless TS 23.038 is named.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from functools import lru_cache

from msgspec import Struct

from daemon.modem.codec import gsm7


class SenderType(StrEnum):
    """Type of number of an address, clause 9.1.2.5; members stand in the order of its codes."""

    UNKNOWN = "unknown"
    INTERNATIONAL = "international"
    NATIONAL = "national"
    NETWORK_SPECIFIC = "network-specific"
    SUBSCRIBER = "subscriber"
    ALPHANUMERIC = "alphanumeric"
    ABBREVIATED = "abbreviated"
    RESERVED = "reserved"


class Coding(StrEnum):
    """Alphabet of user data, TS 23.038 clause 4."""

    GSM7 = "gsm7"
    UCS2 = "ucs2"
    OCTETS = "8bit"


class Element(Struct, frozen=True):
    """One information element of a user data header, clause 9.2.3.24."""

    id: int
    data: bytes


class Concat(Struct, frozen=True):
    """Place of a part in its message, clauses 9.2.3.24.1 and 9.2.3.24.8.

    `width` is the size of the reference in bits, 8 or 16: equal numbers of different width are
    different references. `position` counts from 1 to `total`.
    """

    reference: int
    width: int
    total: int
    position: int


class ApplicationPorts(Struct, frozen=True):
    """Application ports, clauses 9.2.3.24.3 and 9.2.3.24.4."""

    destination: int
    source: int


HEADER = 0x40  # TP-UDHI, clause 9.2.3.23
STATUS_REPORT_REQUEST = 0x20  # TP-SRR, clause 9.2.3.5
SENDER_TYPES = tuple(SenderType)
_ISDN_PLAN = 0x81  # bit 7 always set, numbering plan 1 (E.164)
_ADDRESS_DIGITS_MAX = 20
_ADDRESS_NAME_SEPTETS_MAX = 11
_SWAP = bytes(octet >> 4 | (octet & 15) << 4 for octet in range(256))
_SEMI_OCTETS = str.maketrans("abcdef", "*#abc\0")  # f is filler
_SEMI_OCTETS_BACK = str.maketrans("*#abc", "abcde")
_INVALID = 255
_DECIMAL = bytes(
    (octet & 15) * 10 + (octet >> 4) if octet & 15 <= 9 and octet >> 4 <= 9 else _INVALID for octet in range(256)
)
_NUMBER = re.compile(r"\+?[0-9*#]{1,20}", re.ASCII)
_CENTURY_PIVOT = 90  # GSM carried its first SMS in 1992: years 90-99 are 19xx
_QUARTERS_MAX = 79
_SIGN = 0x08


def write_digits(digits: str) -> bytes:
    """Return semi-octets, filled up with F."""
    padded = digits.translate(_SEMI_OCTETS_BACK) + "f" * (len(digits) % 2)
    return bytes.fromhex(padded).translate(_SWAP)


def read_address(type_of_address: int, octets: bytes, semi_octets: int) -> tuple[str, SenderType]:
    """Return the address and its type; an international number begins with `+`.

    `semi_octets` is the address length as sent: digits, or for a name the half octets in use.
    """
    kind = SENDER_TYPES[type_of_address >> 4 & 7]
    if kind is SenderType.ALPHANUMERIC:
        return gsm7.decode(gsm7.unpack(octets, semi_octets * 4 // 7)), kind
    digits = octets.translate(_SWAP).hex()[:semi_octets]
    if not digits.isdecimal():
        digits = digits.translate(_SEMI_OCTETS).replace("\0", "")
    if kind is SenderType.INTERNATIONAL and digits:
        digits = f"+{digits}"
    return digits, kind


def write_address(address: str, kind: SenderType | None = None) -> bytes:
    """Return length, type and value of an address.

    Without `kind`, `+` and digits is international, digits (and `*`, `#`) unknown, anything else
    a name.

    Raises:
        ValueError: a number of over 20 digits, or a name over 11 septets or outside GSM 7-bit.
    """
    number = _NUMBER.fullmatch(address) is not None
    if kind is None:
        kind = SenderType.UNKNOWN if number else SenderType.ALPHANUMERIC
        if number and address.startswith("+"):
            kind = SenderType.INTERNATIONAL
    type_of_address = _ISDN_PLAN | SENDER_TYPES.index(kind) << 4
    if kind is SenderType.ALPHANUMERIC:
        septets = gsm7.encode(address)
        if septets is None or len(septets) > _ADDRESS_NAME_SEPTETS_MAX:
            raise ValueError(f"sender name {address!r} is not 1 to 11 GSM 7-bit characters")
        value = gsm7.pack(septets)
        # Plan 0 for names; the length counts the half octets that carry bits.
        return bytes(((len(septets) * 7 + 3) // 4, type_of_address & 0xF0)) + value
    if not number or len(address.lstrip("+")) > _ADDRESS_DIGITS_MAX:
        raise ValueError(f"{address!r} is not a number of 1 to 20 digits")
    digits = address.lstrip("+")
    return bytes((len(digits), type_of_address)) + write_digits(digits)


def read_time(octets: bytes) -> datetime | None:
    """Read a time stamp of 7 octets (clause 9.2.3.11), in the zone it was sent in.

    Returns None for an invalid time (month 13, an erased record): the message is kept.
    """
    year, month, day, hour, minute, second = octets[:6].translate(_DECIMAL)
    zone = octets[6]
    quarters = _DECIMAL[zone & ~_SIGN]
    if _INVALID in (year, quarters):
        return None
    year += 1900 if year >= _CENTURY_PIVOT else 2000
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=_zone(-quarters if zone & _SIGN else quarters))
    except ValueError:
        return None


def write_time(at: datetime) -> bytes:
    """Return a time stamp of 7 octets; a zone that is no whole quarter hour is sent as UTC.

    Raises:
        ValueError: a naive time, or a year outside 1990 to 2089.
    """
    offset = at.utcoffset()
    if offset is None:
        raise ValueError("a time stamp needs a zone")
    quarters, rest = divmod(offset, timedelta(minutes=15))
    if rest or abs(quarters) > _QUARTERS_MAX:
        at, quarters = at.astimezone(UTC), 0
    if not 1900 + _CENTURY_PIVOT <= at.year < 2000 + _CENTURY_PIVOT:
        raise ValueError(f"a time stamp cannot hold the year {at.year}")
    fields = (at.year % 100, at.month, at.day, at.hour, at.minute, at.second, abs(quarters))
    octets = bytearray(value % 10 << 4 | value // 10 for value in fields)
    if quarters < 0:
        octets[6] |= _SIGN
    return bytes(octets)


@lru_cache(maxsize=2 * _QUARTERS_MAX + 1)
def _zone(quarters: int) -> timezone:
    return timezone(timedelta(minutes=15 * quarters))


def _read_dcs(dcs: int) -> tuple[Coding, int | None]:
    """Read one data coding scheme, TS 23.038 clause 4; reserved values are GSM 7-bit, as that clause says.

    Compressed text (bit 5) is returned as octets: it is not used in practice, and its TP-UDL counts octets.
    """
    group = dcs >> 4
    if group >= 0xF:
        return Coding.OCTETS if dcs & 4 else Coding.GSM7, dcs & 3
    if group == 0xE:
        return Coding.UCS2, None
    if group >= 8:
        return Coding.GSM7, None
    alphabets = (Coding.GSM7, Coding.OCTETS, Coding.UCS2, Coding.GSM7)
    coding = Coding.OCTETS if dcs & 0x20 else alphabets[dcs >> 2 & 3]
    return coding, dcs & 3 if dcs & 0x10 else None


CODINGS = tuple(_read_dcs(dcs) for dcs in range(256))
"""Coding and message class by data coding scheme."""


def read_elements(header: bytes) -> tuple[Element, ...]:
    """Cut a user data header (without its length octet) into elements.

    When the last element does not end with the header the whole header counts as empty, as
    clause 9.2.3.24 requires; the text after it is still read.
    """
    elements = []
    at = 0
    while at + 2 <= len(header):
        end = at + 2 + header[at + 1]
        elements.append(Element(header[at], header[at + 2 : end]))
        at = end
    return tuple(elements) if at == len(header) else ()


def find_concat(elements: tuple[Element, ...]) -> Concat | None:
    """Return the last valid concatenation element, the one that counts (clause 9.2.3.24)."""
    for element in reversed(elements):
        width = {(0x00, 3): 8, (0x08, 4): 16}.get((element.id, len(element.data)))
        if width is None:
            continue
        *reference, total, position = element.data
        if 1 <= position <= total:  # else "shall be ignored", clause 9.2.3.24.1
            return Concat(int.from_bytes(bytes(reference), "big"), width, total, position)
    return None


def find_ports(elements: tuple[Element, ...]) -> ApplicationPorts | None:
    """Return the ports of the last port element."""
    for element in reversed(elements):
        size = {(0x04, 2): 1, (0x05, 4): 2}.get((element.id, len(element.data)))
        if size is not None:
            data = element.data
            return ApplicationPorts(int.from_bytes(data[:size], "big"), int.from_bytes(data[size:], "big"))
    return None


def find_language(elements: tuple[Element, ...], element_id: int) -> int:
    """Return the national table named by the last element of this id (0x24, 0x25), else 0."""
    for element in reversed(elements):
        if element.id == element_id and len(element.data) == 1:
            return element.data[0]
    return 0


def write_concat(reference: int, width: int, total: int, position: int) -> bytes:
    """Return a whole user data header (with its length octet) that places one part.

    Raises:
        ValueError: a width other than 8 or 16, or a number that does not fit.
    """
    if width not in (8, 16) or not 0 <= reference < 1 << width:
        raise ValueError(f"reference {reference} does not fit {width} bits")
    if not 1 <= position <= total <= 255:
        raise ValueError(f"no part {position} of {total}: a message has 1 to 255 parts")
    octets = width // 8
    element = bytes((0x00 if width == 8 else 0x08, octets + 2))
    element += reference.to_bytes(octets, "big") + bytes((total, position))
    return bytes((len(element),)) + element


class Direction(StrEnum):
    """Direction of a PDU; the meaning of the type bits depends on it (clause 9.2.3.1)."""

    FROM_NETWORK = "from_network"
    TO_NETWORK = "to_network"


class SendOutcome(StrEnum):
    """Delivery result of a sent message, by TP-Status (clause 9.2.3.15)."""

    DELIVERED = "delivered"
    TRYING = "trying"
    FAILED = "failed"


class _Body(Struct, frozen=True, kw_only=True):
    """Common fields of received and sent messages.

    Attributes:
        pdu: the PDU as upper-case hex, SMSC field first ("00" when the modem gave none): can be
            decoded again without a length, so the store keeps this form.
        smsc: number of the service centre, or None.
        text: the decoded user data; "" for 8-bit data. A message part cut inside a surrogate
            pair has U+FFFD there: join parts from their octets (`daemon.modem.codec.parts`).
        user_data: its octets as sent, without header; GSM 7-bit ones may begin with fill bits.
        septets: GSM 7-bit user data, unpacked, one per byte; b"" for other codings.
        coding: of the user data.
        udh: the user data header as sent with its length octet, b"" when there is none.
        elements: the information elements of the header.
        concat: place among the parts of a long message, None for a whole one.
        ports: application ports, None when there are none.
        locking: national locking shift table of the text, 0 for the default.
        single: national single shift table, 0 for the default.
        pid: TP-PID.
        dcs: TP-DCS.
        message_class: 0 to 3, or None.
    """

    pdu: str
    smsc: str | None
    text: str
    user_data: bytes
    septets: bytes
    coding: Coding
    udh: bytes
    elements: tuple[Element, ...]
    concat: Concat | None
    ports: ApplicationPorts | None
    locking: int
    single: int
    pid: int
    dcs: int
    message_class: int | None


class Deliver(_Body, frozen=True, kw_only=True):
    """SMS-DELIVER, a received message (clause 9.2.2.1).

    `sender` is a name as sent or a number, with `+` if international; `sent_at` is the service
    centre's time in the zone it named, None where it names no moment.
    """

    sender: str
    sender_type: SenderType
    sent_at: datetime | None


class Submit(_Body, frozen=True, kw_only=True):
    """SMS-SUBMIT, a message sent or kept to be sent (clause 9.2.2.2).

    `reference` is TP-MR; `validity` holds the octets of TP-VP, b"" when there are none.
    """

    recipient: str
    recipient_type: SenderType
    reference: int
    status_report: bool
    validity: bytes


class StatusReport(Struct, frozen=True, kw_only=True):
    """SMS-STATUS-REPORT: the delivery result of a sent message (clause 9.2.2.3).

    `reference` is the number from `+CMGS:`. Match by it first: some modems garble the recipient.
    `status` is TP-Status.
    """

    pdu: str
    smsc: str | None
    recipient: str
    recipient_type: SenderType
    reference: int
    sent_at: datetime | None
    discharged_at: datetime | None
    status: int

    @property
    def outcome(self) -> SendOutcome:
        """Return the result for TP-Status; a reserved value counts as a final failure."""
        if self.status < 0x20:
            return SendOutcome.DELIVERED
        return SendOutcome.TRYING if self.status < 0x40 else SendOutcome.FAILED


class Garbled(Struct, frozen=True):
    """A line that is not a readable PDU: `why` is the reason, `raw` the line as given."""

    why: str
    raw: str


Message = Deliver | Submit
"""A decoded PDU with text."""
