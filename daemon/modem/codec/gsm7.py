"""The GSM 7-bit alphabet: text to septets and back, septets to octets and back (3GPP TS 23.038).

Septets are held one per byte.

The tables (the default alphabet, its extension, the national ones) are kept as text: runs of `first:code.code.code`, where
`first` is the septet of the run's first character and each code a Unicode code point, all in hexadecimal. So the file is
plain ASCII (combining marks would otherwise attach to their neighbours) and can be compared with the standard. A septet in
no run is reserved. Where a code printed in Annex A breaks the order of its script (Kannada 0x24, Oriya 0x20, Tamil 0x24,
Telugu 0x1C), the order counts; 0x2C of identifiers 4 to 13 is a comma.
"""

from codecs import charmap_decode
from functools import lru_cache

ESCAPE = 0x1B
_ESCAPE_OCTET = b"\x1b"
_UNKNOWN = "\ufffd"
_EIGHT_SEPTETS = range(0, 56, 7)
_BITS = [f"{septet:07b}" for septet in range(128)]


def decode(septets: bytes, *, locking: int = 0, single: int = 0) -> str:
    """Read septets (one per byte) as text; never raises.

    `locking` and `single` are national language identifiers (clause 6.2.1.2.4); an unknown one
    selects the default table, so that the message is kept. An escape followed by a septet in no
    extension table gives the plain character (clause 6.2.1.1); an escape at the very end gives
    no character. Reserved septets become U+FFFD.
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
    """Return the septets (one per byte) of this text, or None when a character is not in the tables.

    A character of the extension table takes two septets, the first of them ESCAPE; ESCAPE occurs
    nowhere else, so the septets must not be cut after it.
    """
    codes = _writing(locking, single)
    try:
        return b"".join([codes[character] for character in text])
    except KeyError:
        return None


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
    septets = bytearray()
    while len(septets) < count:
        # Eight septets at once: 160 shifts of the whole number take twice as long.
        eight = packed & 0xFF_FFFF_FFFF_FFFF
        septets += bytes([eight >> bits & 0x7F for bits in _EIGHT_SEPTETS])
        packed >>= 56
    return bytes(septets[:count])


def pack(septets: bytes, fill_bits: int = 0) -> bytes:
    """Return the octets that hold these septets, after `fill_bits` zero bits (0 to 6).

    Spare bits at the end are zero. The number of septets is sent separately (TP-UDL): seven spare
    bits would otherwise be read as one more `@`.
    """
    # As a text of bits: 160 shifts of the whole number take twice as long.
    packed = int("".join([_BITS[septet & 0x7F] for septet in reversed(septets)]) or "0", 2)
    bits = 7 * len(septets) + fill_bits
    return (packed << fill_bits).to_bytes((bits + 7) // 8, "little")


@lru_cache(maxsize=64)  # there are 14 x 14 pairs of tables; real traffic uses one or two
def _reading(locking: int, single: int) -> tuple[str, dict[int, str]]:
    main = DEFAULT
    if locking in LOCKING:
        by_code = _runs(LOCKING[locking])
        by_code[ESCAPE] = chr(ESCAPE)
        main = "".join(by_code.get(code, _UNKNOWN) for code in range(128))
    shifted = EXTENSION
    if single in SINGLE:
        shifted = {**_runs(SINGLE[single]), ESCAPE: " "}
    return main, shifted


@lru_cache(maxsize=16)
def _writing(locking: int, single: int) -> dict[str, bytes]:
    main, shifted = _reading(locking, single)
    codes = {character: bytes((ESCAPE, code)) for code, character in shifted.items() if code != ESCAPE}
    # Last, so that a character in both tables takes one septet.
    for code, character in reversed(list(enumerate(main))):
        if code != ESCAPE and character != _UNKNOWN:
            codes[character] = bytes((code,))
    return codes


def _runs(table: str) -> dict[int, str]:
    """Read a table: runs of `first:code.code`, hexadecimal."""
    by_code = {}
    for run in table.split():
        first, _, codes = run.partition(":")
        for offset, code in enumerate(codes.split(".")):
            by_code[int(first, 16) + offset] = chr(int(code, 16))
    return by_code


DEFAULT = (
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
"""Clause 6.2.1, by septet; 0x1B is the escape to the extension table."""
EXTENSION = {
    0x0A: "\f",
    0x14: "^",
    0x1B: " ",  # clause 6.2.1.1 note 1: a second escape is shown as a space
    0x28: "{",
    0x29: "}",
    0x2F: "\\",
    0x3C: "[",
    0x3D: "~",
    0x3E: "]",
    0x40: "|",
    0x65: "€",
}
"""Clause 6.2.1.1: the characters after an escape."""
_SHARED_LOCKING = (
    "0A:A 0D:D 20:20.21 28:29.28 2C:2C 2E:2E 30:30.31.32.33.34.35.36.37.38.39.3A.3B 3F:3F "
    "61:61.62.63.64.65.66.67.68.69.6A.6B.6C.6D.6E.6F 70:70.71.72.73.74.75.76.77.78.79.7A "
)
"""Common part of the tables of identifiers 4 to 13."""
_SHARED_SINGLE = (
    "00:40.A3.24.A5.BF.22.A4.25.26.27.C.2A.2B 0E:2D.2F 10:3C.3D.3E.A1.5E.A1.5F.23.2A 28:7B.7D "
    "2F:5C 3C:5B.7E.5D 40:7C.41.42.43.44.45.46.47.48.49.4A.4B.4C.4D.4E.4F "
    "50:50.51.52.53.54.55.56.57.58.59.5A 65:20AC "
)
LOCKING: dict[int, str] = {
    1: (  # Turkish
        "00:40.A3.24.A5.20AC.E9.F9.131.F2.C7.A.11E.11F.D.C5.E5 "
        "10:394.5F.3A6.393.39B.3A9.3A0.3A8.3A3.398.39E 1C:15E.15F.DF.C9 "
        "20:20.21.22.23.A4.25.26.27.28.29.2A.2B.2C.2D.2E.2F "
        "30:30.31.32.33.34.35.36.37.38.39.3A.3B.3C.3D.3E.3F "
        "40:130.41.42.43.44.45.46.47.48.49.4A.4B.4C.4D.4E.4F "
        "50:50.51.52.53.54.55.56.57.58.59.5A.C4.D6.D1.DC.A7 "
        "60:E7.61.62.63.64.65.66.67.68.69.6A.6B.6C.6D.6E.6F "
        "70:70.71.72.73.74.75.76.77.78.79.7A.E4.F6.F1.FC.E0"
    ),
    3: (  # Portuguese
        "00:40.A3.24.A5.EA.E9.FA.ED.F3.E7.A.D4.F4.D.C1.E1 "
        "10:394.5F.AA.C7.C0.221E.5E.5C.20AC.D3.7C 1C:C2.E2.CA.C9 "
        "20:20.21.22.23.BA.25.26.27.28.29.2A.2B.2C.2D.2E.2F "
        "30:30.31.32.33.34.35.36.37.38.39.3A.3B.3C.3D.3E.3F "
        "40:CD.41.42.43.44.45.46.47.48.49.4A.4B.4C.4D.4E.4F "
        "50:50.51.52.53.54.55.56.57.58.59.5A.C3.D5.DA.DC.A7 "
        "60:7E.61.62.63.64.65.66.67.68.69.6A.6B.6C.6D.6E.6F "
        "70:70.71.72.73.74.75.76.77.78.79.7A.E3.F5.60.FC.E0"
    ),
    4: _SHARED_LOCKING
    + (  # Bengali
        "00:981.982.983.985.986.987.988.989.98A.98B 0B:98C 0F:98F 10:990 "
        "13:993.994.995.996.997.998.999.99A 1C:99B.99C.99D.99E 22:99F.9A0.9A1.9A2.9A3.9A4 "
        "2A:9A5.9A6 2D:9A7 2F:9A8 3D:9AA.9AB 40:9AC.9AD.9AE.9AF.9B0 46:9B2 "
        "4A:9B6.9B7.9B8.9B9.9BC.9BD 50:9BE.9BF.9C0.9C1.9C2.9C3.9C4 59:9C7.9C8 5D:9CB.9CC.9CD "
        "60:9CE 7B:9D7.9DC.9DD.9F0.9F1"
    ),
    5: _SHARED_LOCKING
    + (  # Gujarati
        "00:A81.A82.A83.A85.A86.A87.A88.A89.A8A.A8B 0B:A8C.A8D 0F:A8F 10:A90.A91 "
        "13:A93.A94.A95.A96.A97.A98.A99.A9A 1C:A9B.A9C.A9D.A9E 22:A9F.AA0.AA1.AA2.AA3.AA4 "
        "2A:AA5.AA6 2D:AA7 2F:AA8 3D:AAA.AAB 40:AAC.AAD.AAE.AAF.AB0 46:AB2.AB3 "
        "49:AB5.AB6.AB7.AB8.AB9.ABC.ABD 50:ABE.ABF.AC0.AC1.AC2.AC3.AC4.AC5 59:AC7.AC8.AC9 "
        "5D:ACB.ACC.ACD 60:AD0 7B:AE0.AE1.AE2.AE3.AF1"
    ),
    6: _SHARED_LOCKING
    + (  # Hindi
        "00:901.902.903.905.906.907.908.909.90A.90B 0B:90C.90D 0E:90E.90F "
        "10:910.911.912.913.914.915.916.917.918.919.91A 1C:91B.91C.91D.91E "
        "22:91F.920.921.922.923.924 2A:925.926 2D:927 2F:928 3C:929.92A.92B "
        "40:92C.92D.92E.92F.930.931.932.933.934.935.936.937.938.939.93C.93D "
        "50:93E.93F.940.941.942.943.944.945.946.947.948.949.94A.94B.94C.94D 60:950 "
        "7B:972.97B.97C.97E.97F"
    ),
    7: _SHARED_LOCKING
    + (  # Kannada
        "01:C82.C83.C85.C86.C87.C88.C89.C8A.C8B 0B:C8C 0E:C8E.C8F 10:C90 "
        "12:C92.C93.C94.C95.C96.C97.C98.C99.C9A 1C:C9B.C9C.C9D.C9E 22:C9F.CA0.CA1.CA2.CA3.CA4 "
        "2A:CA5.CA6 2D:CA7 2F:CA8 3D:CAA.CAB 40:CAC.CAD.CAE.CAF.CB0.CB1.CB2.CB3 "
        "49:CB5.CB6.CB7.CB8.CB9.CBC.CBD 50:CBE.CBF.CC0.CC1.CC2.CC3.CC4 58:CC6.CC7.CC8 "
        "5C:CCA.CCB.CCC.CCD 60:CD5 7B:CD6.CE0.CE1.CE2.CE3"
    ),
    8: _SHARED_LOCKING
    + (  # Malayalam
        "01:D02.D03.D05.D06.D07.D08.D09.D0A.D0B 0B:D0C 0E:D0E.D0F 10:D10 "
        "12:D12.D13.D14.D15.D16.D17.D18.D19.D1A 1C:D1B.D1C.D1D.D1E 22:D1F.D20.D21.D22.D23.D24 "
        "2A:D25.D26 2D:D27 2F:D28 3D:D2A.D2B "
        "40:D2C.D2D.D2E.D2F.D30.D31.D32.D33.D34.D35.D36.D37.D38.D39 4F:D3D "
        "50:D3E.D3F.D40.D41.D42.D43.D44 58:D46.D47.D48 5C:D4A.D4B.D4C.D4D 60:D57 "
        "7B:D60.D61.D62.D63.D79"
    ),
    9: _SHARED_LOCKING
    + (  # Oriya
        "00:B01.B02.B03.B05.B06.B07.B08.B09.B0A.B0B 0B:B0C 0F:B0F 10:B10 "
        "13:B13.B14.B15.B16.B17.B18.B19.B1A 1C:B1B.B1C.B1D.B1E 22:B1F.B20.B21.B22.B23.B24 "
        "2A:B25.B26 2D:B27 2F:B28 3D:B2A.B2B 40:B2C.B2D.B2E.B2F.B30 46:B32.B33 "
        "49:B35.B36.B37.B38.B39.B3C.B3D 50:B3E.B3F.B40.B41.B42.B43.B44 59:B47.B48 5D:B4B.B4C.B4D "
        "60:B56 7B:B57.B60.B61.B62.B63"
    ),
    10: _SHARED_LOCKING
    + (  # Punjabi
        "00:A01.A02.A03.A05.A06.A07.A08.A09.A0A 0F:A0F 10:A10 13:A13.A14.A15.A16.A17.A18.A19.A1A "
        "1C:A1B.A1C.A1D.A1E 22:A1F.A20.A21.A22.A23.A24 2A:A25.A26 2D:A27 2F:A28 3D:A2A.A2B "
        "40:A2C.A2D.A2E.A2F.A30 46:A32.A33 49:A35.A36 4C:A38.A39.A3C 50:A3E.A3F.A40.A41.A42 "
        "59:A47.A48 5D:A4B.A4C.A4D 60:A51 7B:A70.A71.A72.A73.A74"
    ),
    11: _SHARED_LOCKING
    + (  # Tamil
        "01:B82.B83.B85.B86.B87.B88.B89.B8A 0E:B8E.B8F 10:B90 12:B92.B93.B94.B95 19:B99.B9A "
        "1D:B9C 1F:B9E 22:B9F 26:BA3.BA4 2F:BA8 3C:BA9.BAA "
        "42:BAE.BAF.BB0.BB1.BB2.BB3.BB4.BB5.BB6.BB7.BB8.BB9 50:BBE.BBF.BC0.BC1.BC2 "
        "58:BC6.BC7.BC8 5C:BCA.BCB.BCC.BCD 60:BD0 7B:BD7.BF0.BF1.BF2.BF9"
    ),
    12: _SHARED_LOCKING
    + (  # Telugu
        "00:C01.C02.C03.C05.C06.C07.C08.C09.C0A.C0B 0B:C0C 0E:C0E.C0F 10:C10 "
        "12:C12.C13.C14.C15.C16.C17.C18.C19.C1A 1C:C1B.C1C.C1D.C1E 22:C1F.C20.C21.C22.C23.C24 "
        "2A:C25.C26 2D:C27 2F:C28 3D:C2A.C2B 40:C2C.C2D.C2E.C2F.C30.C31.C32.C33 "
        "49:C35.C36.C37.C38.C39 4F:C3D 50:C3E.C3F.C40.C41.C42.C43.C44 58:C46.C47.C48 "
        "5C:C4A.C4B.C4C.C4D 60:C55 7B:C56.C60.C61.C62.C63"
    ),
    13: _SHARED_LOCKING
    + (  # Urdu
        "00:627.622.628.67B.680.67E.6A6.62A.6C2.67F 0B:679.67D 0E:67A.67C "
        "10:62B.62C.681.684.683.685.686.687.62D.62E.62F 1C:68C.688.689.68A "
        "22:68F.68D.630.631.691.693 2A:699.632 2D:696 2F:698 3C:69A.633.634 "
        "40:635.636.637.638.639.641.642.6A9.6AA.6AB.6AF.6B3.6B1.644.645.646 "
        "50:6BA.6BB.6BC.648.6C4.6D5.6C1.6BE.621.6CC.6D0.6D2.64D.650.64F.657 60:654 "
        "7B:655.651.653.656.670"
    ),
}
"""Annex A.3, by national language identifier (clause 6.2.1.2.4)."""
SINGLE: dict[int, str] = {
    1: (  # Turkish
        "0A:C 14:5E 28:7B.7D 2F:5C 3C:5B.7E.5D 40:7C 47:11E 49:130 53:15E 63:E7 65:20AC 67:11F 69:131 73:15F"
    ),
    2: (  # Spanish
        "09:E7.C 14:5E 28:7B.7D 2F:5C 3C:5B.7E.5D 40:7C.C1 49:CD 4F:D3 55:DA 61:E1 65:20AC 69:ED 6F:F3 75:FA"
    ),
    3: (  # Portuguese
        "05:EA 09:E7.C.D4.F4 0E:C1.E1 12:3A6.393.5E.3A9.3A0.3A8.3A3.398 1F:CA 28:7B.7D 2F:5C "
        "3C:5B.7E.5D 40:7C.C0 49:CD 4F:D3 55:DA 5B:C3.D5 61:C2 65:20AC 69:ED 6F:F3 75:FA "
        "7B:E3.F5 7F:E2"
    ),
    4: _SHARED_SINGLE
    + (  # Bengali
        "19:9E6.9E7 1C:9E8.9E9.9EA.9EB 20:9EC.9ED.9EE.9EF.9DF.9E0.9E1.9E2 2A:9E3.9F2.9F3.9F4.9F5 30:9F6.9F7.9F8.9F9.9FA"
    ),
    5: _SHARED_SINGLE
    + (  # Gujarati
        "19:964.965 1C:AE6.AE7.AE8.AE9 20:AEA.AEB.AEC.AED.AEE.AEF"
    ),
    6: _SHARED_SINGLE
    + (  # Hindi
        "19:964.965 1C:966.967.968.969 20:96A.96B.96C.96D.96E.96F.951.952 2A:953.954.958.959.95A "
        "30:95B.95C.95D.95E.95F.960.961.962.963.970.971"
    ),
    7: _SHARED_SINGLE
    + (  # Kannada
        "19:964.965 1C:CE6.CE7.CE8.CE9 20:CEA.CEB.CEC.CED.CEE.CEF.CDE.CF1 2A:CF2"
    ),
    8: _SHARED_SINGLE
    + (  # Malayalam
        "19:964.965 1C:D66.D67.D68.D69 20:D6A.D6B.D6C.D6D.D6E.D6F.D70.D71 2A:D72.D73.D74.D75.D7A 30:D7B.D7C.D7D.D7E.D7F"
    ),
    9: _SHARED_SINGLE
    + (  # Oriya
        "19:964.965 1C:B66.B67.B68.B69 20:B6A.B6B.B6C.B6D.B6E.B6F.B5C.B5D 2A:B5F.B70.B71"
    ),
    10: _SHARED_SINGLE
    + (  # Punjabi
        "19:964.965 1C:A66.A67.A68.A69 20:A6A.A6B.A6C.A6D.A6E.A6F.A59.A5A 2A:A5B.A5C.A5E.A75"
    ),
    11: _SHARED_SINGLE
    + (  # Tamil
        "19:964.965 1C:BE6.BE7.BE8.BE9 20:BEA.BEB.BEC.BED.BEE.BEF.BF3.BF4 2A:BF5.BF6.BF7.BF8.BFA"
    ),
    12: _SHARED_SINGLE
    + (  # Telugu
        "1C:C66.C67.C68.C69 20:C6A.C6B.C6C.C6D.C6E.C6F.C58.C59 2A:C78.C79.C7A.C7B.C7C 30:C7D.C7E.C7F"
    ),
    13: _SHARED_SINGLE
    + (  # Urdu
        "19:600.601 1C:6F0.6F1.6F2.6F3 20:6F4.6F5.6F6.6F7.6F8.6F9.60C.60D 2A:60E.60F.610.611.612 "
        "30:613.614.61B.61F.640.652.658.66B.66C.672.673.6CD 3F:6D4"
    ),
}
"""Annex A.2, by national language identifier."""
