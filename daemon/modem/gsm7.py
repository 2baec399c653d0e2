"""The GSM 7-bit alphabet: text to septets and back, septets to octets and back (3GPP TS 23.038).

Septets are held one per byte. Packing moves whole messages at once: a string of septets is one
long integer, and halving the groups that are still packed (128 septets, 64, .. 1) opens or closes
the gaps between them in eight steps, whatever the length.
"""

from codecs import charmap_decode
from functools import lru_cache

from daemon.modem import gsm7_tables as tables

ESCAPE = 0x1B
_ESCAPE_OCTET = b"\x1b"
_UNKNOWN = "\ufffd"
_CHUNK_SEPTETS = 256
_CHUNK_OCTETS = 224  # 256 septets of 7 bits


def _spread_masks() -> tuple[tuple[int, int, int], ...]:
    """Per step: how far the upper half moves, the mask of lower halves, the mask of upper halves.

    At a step of `group` septets each slot of `2 * group` bytes holds `2 * group` septets packed
    at its low end; the upper `group` of them move up by `group` bits, to the middle of the slot.
    """
    steps = []
    group = _CHUNK_SEPTETS // 2
    while group:
        slots = range(0, _CHUNK_SEPTETS, 2 * group)
        half = (1 << 7 * group) - 1
        low = sum(half << 8 * slot for slot in slots)
        steps.append((group, low, low << 7 * group))
        group //= 2
    return tuple(steps)


_SPREAD = _spread_masks()


def unpack(octets: bytes, count: int, fill_bits: int = 0) -> bytes:
    """Return `count` septets, one per byte, from packed octets.

    Args:
        octets: packed user data, first septet in the lowest bits (clause 6.1.2.1).
        count: how many septets to read; those beyond the end of `octets` are left out.
        fill_bits: bits to skip at the start, 0 to 6 (TS 23.040 9.2.3.24: a header is filled up
            to a septet boundary).
    """
    packed = int.from_bytes(octets, "little") >> fill_bits
    count = max(0, min(count, (len(octets) * 8 - fill_bits) // 7))
    if count <= _CHUNK_SEPTETS:
        return _spread(packed, count)
    mask = (1 << 8 * _CHUNK_OCTETS) - 1
    return b"".join(
        _spread(packed >> 7 * start & mask, min(_CHUNK_SEPTETS, count - start))
        for start in range(0, count, _CHUNK_SEPTETS)
    )


def _spread(packed: int, count: int) -> bytes:
    packed &= (1 << 7 * count) - 1
    for move, low, high in _SPREAD:
        packed = packed & low | (packed & high) << move
    return packed.to_bytes(count, "little")


def pack(septets: bytes, fill_bits: int = 0) -> bytes:
    """Return the octets that hold these septets, after `fill_bits` zero bits (0 to 6).

    Spare bits at the end are zero. The count of septets travels beside the octets (TP-UDL): seven
    spare bits would otherwise read as one more `@`.
    """
    packed = 0
    for start in range(0, len(septets), _CHUNK_SEPTETS):
        part = int.from_bytes(septets[start : start + _CHUNK_SEPTETS], "little") & _SEPTET_BITS
        for move, low, high in reversed(_SPREAD):
            part = part & low | part >> move & high
        packed |= part << 7 * start
    bits = 7 * len(septets) + fill_bits
    return (packed << fill_bits).to_bytes((bits + 7) // 8, "little")


_SEPTET_BITS = int.from_bytes(b"\x7f" * _CHUNK_SEPTETS, "little")


def decode(septets: bytes, *, locking: int = 0, single: int = 0) -> str:
    """Read septets (one per byte) as text; never raises.

    `locking` and `single` are national language identifiers (clause 6.2.1.2.4); one that is
    unknown counts as the default table, so that the message is kept. An escape whose second
    septet is in no extension table shows the plain character (clause 6.2.1.1); an escape at the
    very end shows nothing. Reserved septets become U+FFFD.
    """
    main, shifted = _reading(locking, single)
    if _ESCAPE_OCTET not in septets:
        return charmap_decode(septets, "replace", main)[0]
    pieces = []
    start = 0
    while (escape := septets.find(_ESCAPE_OCTET, start)) >= 0:
        pieces.append(charmap_decode(septets[start:escape], "replace", main)[0])
        start = escape + 2
        code = septets[escape + 1 : start]
        if code:
            pieces.append(shifted.get(code[0]) or charmap_decode(code, "replace", main)[0])
    pieces.append(charmap_decode(septets[start:], "replace", main)[0])
    return "".join(pieces)


def encode(text: str, *, locking: int = 0, single: int = 0) -> bytes | None:
    """Return the septets (one per byte) of this text, or None when a character has none.

    A character of the extension table takes two septets, the first of them ESCAPE; ESCAPE occurs
    nowhere else, so whoever cuts the septets must not cut after it.
    """
    codes = _writing(locking, single)
    try:
        return b"".join([codes[character] for character in text])
    except KeyError:
        return None


@lru_cache(maxsize=64)  # every pair of tables would be 14 x 14; real traffic knows one or two
def _reading(locking: int, single: int) -> tuple[str, dict[int, str]]:
    main = tables.DEFAULT
    if locking in tables.LOCKING:
        by_code = _runs(tables.LOCKING[locking])
        by_code[ESCAPE] = chr(ESCAPE)
        main = "".join(by_code.get(code, _UNKNOWN) for code in range(128))
    shifted = tables.EXTENSION
    if single in tables.SINGLE:
        shifted = {**_runs(tables.SINGLE[single]), ESCAPE: " "}
    return main, shifted


@lru_cache(maxsize=16)
def _writing(locking: int, single: int) -> dict[str, bytes]:
    main, shifted = _reading(locking, single)
    codes = {
        character: bytes((ESCAPE, code)) for code, character in shifted.items() if code != ESCAPE
    }
    # Last, so that a character in both tables takes one septet.
    for code, character in reversed(list(enumerate(main))):
        if code != ESCAPE and character != _UNKNOWN:
            codes[character] = bytes((code,))
    return codes


def _runs(table: str) -> dict[int, str]:
    """Read a table of `gsm7_tables`: runs of `first:code.code`, hexadecimal."""
    by_code = {}
    for run in table.split():
        first, _, codes = run.partition(":")
        for offset, code in enumerate(codes.split(".")):
            by_code[int(first, 16) + offset] = chr(int(code, 16))
    return by_code
