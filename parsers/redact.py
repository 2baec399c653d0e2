"""Redaction of a message for bug reports: names, numbers, IDs and amounts are replaced consistently, the form is kept.

Only words that networks themselves print are kept; if a wording reads the message, they are replaced too in fields that
people fill. A replacement is derived from a secret key and the original, so equal pieces stay equal within a message, and
the original cannot be looked up.
"""

import hashlib
import hmac
import re
import string
from functools import cache
from typing import Final

from parsers.providers import WORDINGS
from parsers.read import ADVERT, compile_pattern, normalize_spaces, read
from parsers.reading import COMVIVA, Unreadable

_DATE: Final = re.compile(r"(?<!\d)(\d{4}|\d\d?)([-/.])(\d\d?)\2(\d{4}|\d\d?)(?!\d)", re.ASCII)
_CLOCK: Final = re.compile(r"(?<!\d)(\d\d?):(\d\d)(:\d\d)?(?!\d)", re.ASCII)
_DATED_ID: Final = re.compile(rf"(?<![A-Za-z0-9]){COMVIVA}", re.ASCII)
_USSD: Final = re.compile(r"\*\d{2,4}(?:\*\d{1,2}){0,3}#", re.ASCII)
_PIECE: Final = re.compile(r"\d+|[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_PRINTED: Final = re.compile(r"\(\?P<\w+>|\\[A-Za-z]|\[[^\]]{3,}\]|\{\d+(?:,\d*)?\}")
_EITHER_CASE: Final = re.compile(r"\[(\w)\w\]")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_FILLED: Final = frozenset(
    {"payer_name", "payee_name", "agent", "reference", "rest", "payer_account", "till", "token", "payer_name_first"}
)
"""Fields that people fill, or that contain their names."""
_OF_NETWORK: Final = frozenset({"MTN BUNDLE", "MTN AIRTIME", "Other Networks"})
"""Values of these fields that are not names of people."""
_MORE: Final = (
    "vodafone telecel airtel airteltigo tigo mtn ghipss itc etranzact stanbic ecobank gcb momo mobile money cash download the app "
    "for a faster and easier experience click here https http www com ly bit mtnmymomo onelink me thank you using never share your "
    "pin otp with anyone or unknown links protect personal information dial free send to get up back stay alert do more is in of on "
    "at by from no any fees it please not pay enjoy win daily am pm ghs ghc gb mb "
    "day days minutes valid internet networks call all qwikloan xtracash flexloan ready loan fee processing jan feb mar apr may jun jul aug sep oct nov dec"
)


LONG: Final = 9


def redact(text: str, key: bytes, *, sender: str | None = None) -> str:
    """Replace everything personal in a message.

    With the same secret key, equal pieces get equal replacements in every message. `sender` helps to find the wording
    and so the fields that people fill.
    """
    filled, via = _filled(text, sender)
    numbers = set(re.findall(r"\d{2,}", text))
    out, end = [], 0
    for start, stop, piece in _pieces(
        text, key, (filled, {"from", "PUSH", *via.split()} if via or "PUSH" in text else set()), numbers
    ):
        out += [text[end:start], piece]
        end = stop
    return "".join([*out, text[end:]])


def _pieces(
    text: str, key: bytes, fields: tuple[list[tuple[int, int]], set[str]], numbers: set[str]
) -> list[tuple[int, int, str]]:
    """Return (start, stop, replacement) of each replaced piece, in order, without overlaps."""
    filled, via = fields
    found: list[tuple[int, int, str]] = []
    taken: list[tuple[int, int]] = []

    def free(start: int, stop: int) -> bool:
        return all(stop <= a or start >= b for a, b in taken)

    for pattern, instead in ((_USSD, _same), (_DATED_ID, _dated_id), (_DATE, _date), (_CLOCK, _clock)):
        for match in pattern.finditer(text):
            if not free(*match.span()):
                continue
            if pattern is _USSD and any(a <= match.start() < b for a, b in filled):
                continue
            taken.append(match.span())
            found.append((*match.span(), instead(match, key)))
    for match in _PIECE.finditer(text):
        if not free(*match.span()):
            continue
        piece = match[0]
        in_field = any(a <= match.start() < b for a, b in filled)
        if piece[0].isdigit():
            found.append((*match.span(), _digits(piece, key, numbers)))
        elif not (_is_fixed(piece) if not in_field else piece in via):
            found.append((*match.span(), _letters(piece, key)))
    return sorted(found)


def _is_fixed(piece: str) -> bool:
    """Return whether networks print this word, or it is a single letter, as in `A/C`."""
    words = re.split(r"['\u2019]", piece)
    return all(len(word) == 1 or word.casefold() in _vocabulary() for word in words)


def _filled(text: str, sender: str | None) -> tuple[list[tuple[int, int]], str]:
    """Return the positions of the fields that people fill, and the network named in the reference.

    Both are empty for an unreadable text or an advert.
    """
    reading = read(sender, text)
    if isinstance(reading, Unreadable) or reading.wording == ADVERT:
        return [], ""
    wording = next(one for one in WORDINGS[reading.network] if one.name == reading.wording)
    text = normalize_spaces(text)
    lead = len(text) - len(text.lstrip())
    match = compile_pattern(wording.pattern).fullmatch(text.strip())
    assert match is not None, "it was read by this wording"
    spans = [
        (match.start(name) + lead, match.end(name) + lead)
        for name in _FILLED & set(match.re.groupindex)
        if match[name] and match[name].strip() not in _OF_NETWORK
    ]
    return spans, reading.extra.get("via_network", "")


@cache
def _vocabulary() -> frozenset[str]:
    """Return the words that networks print, in lower case."""
    words = set(_MORE.split())
    for of_network in WORDINGS.values():
        for wording in of_network:
            plain = _PRINTED.sub(" ", _EITHER_CASE.sub(r"\1", wording.pattern))
            words |= {word.casefold() for word in _WORD.findall(plain)}
    return frozenset(words)


def _stream(piece: str, key: bytes) -> bytes:
    return hmac.digest(key, piece.encode("utf-8", "surrogatepass"), hashlib.sha256) * (1 + len(piece) // 32)


def _digits(piece: str, key: bytes, numbers: set[str]) -> str:
    """Return different digits of the same length, with the same leading zeros, that are not a number of the message."""
    body = piece.lstrip("0")
    if not body:
        return piece
    for turn in range(64):
        stream = _stream(f"{turn}:{piece}", key)
        new = str(1 + stream[0] % 9) + "".join(str(byte % 10) for byte in stream[1 : len(body)])
        if len(piece) >= LONG:
            # Keep the first digits: the country or network of a number, or the age of an ID.
            new = body[:2] + new[2:]
        whole = piece[: len(piece) - len(body)] + new
        if whole != piece and whole not in numbers:
            return whole
    return "9" * len(piece)


def _letters(piece: str, key: bytes) -> str:
    """Return different letters with the same upper and lower case."""
    stream = _stream(piece.casefold(), key)
    new = "".join(
        character
        if character in "'\u2019"
        else (string.ascii_uppercase if character.isupper() else string.ascii_lowercase)[stream[place] % 26]
        for place, character in enumerate(piece)
    )
    if new.casefold() == piece.casefold():
        return _letters(piece, key + b"+")
    return new


def _same(match: re.Match[str], _key: bytes) -> str:
    """Return the match unchanged: short codes belong to the network."""
    return match[0]


def _date(match: re.Match[str], key: bytes) -> str:
    """Return another valid date: each part is at most 12, so that any order is valid."""
    stream = _stream(match[0], key)
    first, third = match[1], match[4]
    year = f"20{10 + stream[0] % 16}"
    parts = [
        year if len(part) == 4 else str(1 + stream[place] % 12).zfill(len(part))
        for place, part in ((1, first), (2, match[3]), (3, third))
    ]
    return match[2].join(parts)


def _clock(match: re.Match[str], key: bytes) -> str:
    stream = _stream(match[0], key)
    hour = str(1 + stream[0] % 9).zfill(len(match[1]))
    rest = f":{stream[1] % 60:02d}" + (f":{stream[2] % 60:02d}" if match[3] else "")
    return hour + rest


def _dated_id(match: re.Match[str], key: bytes) -> str:
    stream = _stream(match[0], key)
    day = f"{10 + stream[0] % 16}{1 + stream[1] % 12:02d}{1 + stream[2] % 28:02d}"
    number = "".join(str(byte % 10) for byte in stream[5 : 5 + len(match[5])])
    return f"{match[1]}{day}.{stream[3] % 24:02d}{stream[4] % 60:02d}.{match[4]}{number}"
