"""PDUs from a seed, octet by octet from 3GPP TS 23.040 and 23.038, without any of the codecs under test."""

import random
from dataclasses import dataclass

INTERNATIONAL, NATIONAL, UNKNOWN, ALPHANUMERIC = 0x91, 0xA1, 0x81, 0xD0
EXTENSION = (0x0A, 0x14, 0x28, 0x29, 0x2F, 0x3C, 0x3D, 0x3E, 0x40, 0x65)
"""Codes of the default extension table (23.038 clause 6.2.1.1)."""
ESCAPE = 0x1B
DCS_GSM7 = (0x00, 0x00, 0x00, 0x10, 0x11, 0x12, 0x13, 0xF0, 0xF1, 0xC8, 0xD0, 0x40)
DCS_UCS2 = (0x08, 0x08, 0x18, 0x19, 0xE0, 0xE8)
DCS_OCTETS = (0x04, 0x04, 0x14, 0x15, 0xF4, 0xF6)
DELIVER, SUBMIT, STATUS_REPORT = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Case:
    """One PDU and the values it was made from.

    Attributes:
        pdu: Hex with SMSC.
        kind: TP-MTI.
        address_type: Type octet of sender or recipient.
        name: The septets of an alphanumeric one.
        dcs: TP-DCS.
        septets: Of the text, for GSM 7-bit.
        octets: Of the text otherwise.
        header: The user data header with its length octet, empty when there is none.
        year: Two digits.
    """

    pdu: str
    kind: int
    address_type: int
    name: bytes = b""
    dcs: int = 0
    septets: bytes = b""
    octets: bytes = b""
    header: bytes = b""
    year: int = 26

    @property
    def coding(self) -> str:
        """Return `gsm7`, `ucs2` or `octets`."""
        if self.dcs in DCS_UCS2:
            return "ucs2"
        return "octets" if self.dcs in DCS_OCTETS else "gsm7"


def pack(septets: bytes, fill_bits: int = 0) -> bytes:
    """Pack septets as 23.038 clause 6.1.2.1 draws them."""
    bits = sum(septet << 7 * at for at, septet in enumerate(septets)) << fill_bits
    return bits.to_bytes((7 * len(septets) + fill_bits + 7) // 8, "little")


def semi_octets(digits: str) -> bytes:
    """Write digits in half octets, the first one below, filled up with F."""
    digits += "F" * (len(digits) % 2)
    return bytes(int(digits[at + 1] + digits[at], 16) for at in range(0, len(digits), 2))


def generate(seed: int, count: int) -> list[Case]:
    """Return that many PDUs, the same for the same seed."""
    dice = random.Random(seed)
    return [_case(dice) for _ in range(count)]


def _case(dice: random.Random) -> Case:
    kind = dice.choices((DELIVER, SUBMIT, STATUS_REPORT), (6, 3, 1))[0]
    smsc = dice.choice((b"", _number(dice, dice.choice((INTERNATIONAL, NATIONAL, UNKNOWN)))))
    smsc = bytes((len(smsc) - 1,)) + smsc[1:] if smsc else b"\0"  # its length counts octets
    name, address = _address(dice, kind)
    reference = bytes((dice.randrange(256),))
    quarters = dice.choice((0, 0, dice.randrange(-48, 57), dice.randrange(-79, 80)))
    year = dice.choice((26, 26, dice.randrange(100)))
    time = _time(dice, quarters, year)
    if kind == STATUS_REPORT:
        status = bytes((dice.choice((0, 1, 0x20, 0x46)),))
        tpdu = b"\x06" + reference + address + time + _time(dice, quarters, year) + status
        return Case((smsc + tpdu).hex().upper(), kind, address[1], name, year=year)
    dcs = dice.choice(dice.choices((DCS_GSM7, DCS_UCS2, DCS_OCTETS), (5, 3, 1))[0])
    header = _header(dice)
    septets, octets, body = _body(dice, dcs, header)
    flags = kind | (0x40 if header else 0) | dice.choice((0, 0, 0, 0x80))
    flags |= dice.choice((0, 0x04)) | dice.choice((0, 0x20))
    if kind == SUBMIT:
        form = dice.choice((0, 2, 3))
        flags |= form << 3
        period = {0: b"", 2: dice.randbytes(1), 3: _time(dice, quarters, 26)}[form]
        tpdu = bytes((flags,)) + reference + address + bytes((0, dcs)) + period + body
    else:
        tpdu = bytes((flags,)) + address + bytes((0, dcs)) + time + body
    pdu = (smsc + tpdu).hex().upper()
    return Case(pdu, kind, address[1], name, dcs, septets, octets, header, year)


def _number(dice: random.Random, type_of_address: int) -> bytes:
    digits = "".join(dice.choices("0123456789", k=dice.randrange(3, 16)))
    return bytes((len(digits), type_of_address)) + semi_octets(digits)


def _address(dice: random.Random, kind: int) -> tuple[bytes, bytes]:
    """Return the septets of a name, if it is one, and the field."""
    if kind == DELIVER and dice.random() < 0.4:
        name = _septets(dice, dice.randrange(1, 12))[:11]
        name = name.rstrip(b"\x1b") or b"A"
        return name, bytes(((7 * len(name) + 3) // 4, ALPHANUMERIC)) + pack(name)
    return b"", _number(dice, dice.choice((INTERNATIONAL, INTERNATIONAL, NATIONAL, UNKNOWN)))


def _septets(dice: random.Random, count: int) -> bytes:
    """Return at least `count` characters, most of them plain, some of the extension table."""
    found = bytearray()
    while len(found) < count:
        if dice.random() < 0.01:
            code = dice.choice(EXTENSION) if dice.random() < 0.9 else dice.randrange(128)
            found += bytes((ESCAPE, code))
        else:
            code = dice.randrange(128)
            found.append(code if code != ESCAPE else 0x20)
    return bytes(found)


def _header(dice: random.Random) -> bytes:
    """Return no header, or one with a part number, with ports, or with an unknown element (clause 9.2.3.24)."""
    if dice.random() < 0.5:
        return b""
    total = dice.randrange(1, 9)
    place = bytes((total, dice.randrange(1, total + 1)))
    elements = [
        b"\x00\x03" + dice.randbytes(1) + place,
        b"\x08\x04" + dice.randbytes(2) + place,
        b"\x05\x04" + dice.randbytes(4),
        b"\x04\x02" + dice.randbytes(2),
        b"\x70\x02" + dice.randbytes(2),
        b"\x24\x01" + bytes((dice.randrange(4),)),
        b"\x25\x01" + bytes((dice.randrange(4),)),
    ]
    chosen = dice.sample(range(len(elements)), k=1 if dice.random() < 0.7 else 2)
    header = b"".join(elements[at] for at in sorted(chosen, reverse=True))
    return bytes((len(header),)) + header


def _body(dice: random.Random, dcs: int, header: bytes) -> tuple[bytes, bytes, bytes]:
    """Return septets, octets, and TP-UDL with TP-UD."""
    if dcs in DCS_GSM7:
        header_septets = (len(header) * 8 + 6) // 7
        most = 160 - header_septets
        septets = _septets(dice, dice.randrange(most))[:most]
        septets = septets.rstrip(b"\x1b")
        data = header + pack(septets, header_septets * 7 - len(header) * 8)
        return septets, b"", bytes((header_septets + len(septets),)) + data
    most = 140 - len(header)
    if dcs in DCS_OCTETS:
        octets = dice.randbytes(dice.randrange(most))
    else:
        letters = dice.choices("AzÇéßɛŋɔ€中文😀🎉\n", k=dice.randrange(most // 4))
        octets = "".join(letters).encode("utf-16-be")
    return b"", octets, bytes((len(header) + len(octets),)) + header + octets


def _time(dice: random.Random, quarters: int, year: int) -> bytes:
    """Write a time stamp (clause 9.2.3.11): the sign is bit 3 of the zone's octet."""
    fields = (
        year, dice.randrange(1, 13), dice.randrange(1, 29), dice.randrange(24), dice.randrange(60),
        dice.randrange(60), abs(quarters),
    )  # fmt: skip
    octets = bytearray(value % 10 << 4 | value // 10 for value in fields)
    if quarters < 0:
        octets[6] |= 0x08
    return bytes(octets)
