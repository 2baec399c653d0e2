"""Make XML that a phone or a stick wrote readable for a parser: nothing in one message may make the others unreadable.

XML 1.0 allows neither control characters nor half a surrogate pair, not even as a number (`&#15;`), and a parser ends at the
first one. SMS have them all. They become U+FFFD; the two numbers of a pair become their character. A lone `&` becomes `&amp;`.
"""

import re
from typing import Final

REPLACEMENT: Final = "\ufffd"
_NUMBER: Final = re.compile(r"&#(?:[xX]([0-9A-Fa-f]+)|([0-9]+));")
_NUMBERS: Final = re.compile(r"(?:&#(?:[xX][0-9A-Fa-f]+|[0-9]+);)+")
_LONE_AMPERSAND: Final = re.compile(r"&(?!#[0-9]+;|#x[0-9A-Fa-f]+;|(?:amp|lt|gt|quot|apos);)")
_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CESU8: Final = re.compile(rb"(?:\xed[\xa0-\xbf][\x80-\xbf])+")
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_DIGITS_MAX: Final = 7
"""Digits of the largest character, U+10FFFF, in decimal."""


def decode_xml(octets: bytes) -> str:
    """Return octets as text: UTF-16 with its mark, else UTF-8, also with surrogate pairs written as two characters."""
    if octets[:2] in _UTF16:
        return octets.decode("utf-16", "replace")
    return _CESU8.sub(_joined, octets).decode("utf-8", "replace").removeprefix("\ufeff")


def clean_xml(text: str) -> str:
    """Return XML without characters that a parser refuses. It may be a piece of a file, if no number is cut."""
    text = _NUMBERS.sub(_allowed, text) if "&#" in text else text
    return _FORBIDDEN.sub(REPLACEMENT, _LONE_AMPERSAND.sub("&amp;", text))


def _joined(match: re.Match[bytes]) -> bytes:
    halves = match[0].decode("utf-8", "surrogatepass")
    return halves.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _allowed(match: re.Match[str]) -> str:
    codes = [_code(one[1], one[2]) for one in _NUMBER.finditer(match[0])]
    found = list[str]()
    at = 0
    while at < len(codes):
        high, low = codes[at], codes[at + 1] if at + 1 < len(codes) else 0
        at += 1
        if 0xD800 <= high < 0xDC00 <= low < 0xE000:
            found.append(chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)))
            at += 1
        elif _FORBIDDEN.fullmatch(chr(high)):
            found.append(REPLACEMENT)
        else:
            # As a number: it may be a quote or a line break, which an attribute cannot hold as it is.
            found.append(f"&#{high};")
    return "".join(found)


def _code(hexadecimal: str | None, decimal: str | None) -> int:
    digits = (hexadecimal or decimal or "").lstrip("0")
    code = int(digits or "0", 16 if hexadecimal else 10) if len(digits) <= _DIGITS_MAX else 0
    return code if code <= 0x10FFFF else 0
