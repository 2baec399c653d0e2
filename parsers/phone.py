"""Phone numbers, read with the `phonenumbers` library and kept as E.164.

Importing the library takes 55 ms and each number tens of microseconds. So it is imported on first use, and Ghanaian
mobile numbers are read by a regular expression that gives the library's result (a test compares the two).
"""

import re
from functools import lru_cache
from typing import Final

from parsers.pasted import plain_phone

TEXT_CHARACTERS_MAX: Final = 40

# 020 023 024 026 027 050 053 054 055 056 057 059 of the national plan; only a part of 025 and 059 is assigned.
_GHANA_MOBILE: Final = re.compile(r"(?:\+?233|0)((?:2[03467]|5[034567])[0-9]{7}|59[1-9][0-9]{6})", re.ASCII)

NETWORK_NAMES: Final = {"mtn": "MTN", "telecel": "Telecel", "at": "AT"}
"""Display names of the networks."""
# The national numbering plan of Ghana (NCA). A ported number keeps its prefix, so this is a guess: good enough to
# choose the sending line and to ask a person, and never used to judge a payment.
_PREFIXES: Final = {
    "+233" + prefix: network
    for network, prefixes in {
        "mtn": ("24", "25", "53", "54", "55", "59"),
        "telecel": ("20", "50"),
        "at": ("26", "27", "56", "57"),
    }.items()
    for prefix in prefixes
}
_BETWEEN: Final = re.compile(r"[\s().\-/]+", re.ASCII)
_BEGINNING: Final = re.compile(r"0([0-9]{2,})|\+[0-9]{3,}", re.ASCII)
_WRITTEN: Final = re.compile(r"[0-9+\s().\-/]+", re.ASCII)


def read_phone(text: str) -> str | None:
    """Return the E.164 form of a number, None if it is not a valid one.

    It may be local (`024 412 4567`), E.164, or E.164 without the plus, as receipts print it.
    """
    match = _GHANA_MOBILE.fullmatch(text)
    return f"+233{match[1]}" if match is not None else _read_by_library(text)


def network_of_number(number: str) -> str | None:
    """Return the network that issued an E.164 number, by its short name; None for a number of another country."""
    return _PREFIXES.get(number[:6])


def e164_prefix(text: str) -> str | None:
    """Return the E.164 form of the first digits of a number: `+23324412` for `024 412`; None for any other text.

    It has at least three digits, local or with a plus and the country code.
    """
    digits = _BETWEEN.sub("", text)
    local = _BEGINNING.fullmatch(digits)
    if local is None:
        return None
    return f"+233{local[1]}" if local[1] else digits


def mask(e164: str) -> str:
    """Mask a number for logs: `+23324****567`."""
    if len(e164) < 10:
        return "*" * len(e164)
    return f"{e164[:6]}{'*' * (len(e164) - 9)}{e164[-3:]}"


def clear_phone_cache() -> None:
    """Clear the cache of numbers, for benchmarks."""
    _read_by_library.cache_clear()


@lru_cache(maxsize=1024)
def _read_by_library(text: str) -> str | None:
    text = plain_phone(text)
    # The library would also accept letters (0800-FLOWERS), extensions, and the masked digits of a receipt.
    if len(text) > TEXT_CHARACTERS_MAX or not _WRITTEN.fullmatch(text):
        return None
    import phonenumbers  # noqa: PLC0415 (slow to import; see the module docstring)

    forms = [text]
    stripped = text.strip()
    if not stripped.startswith(("+", "0")):
        # Receipts print E.164 without its plus.
        forms.append(f"+{stripped}")
    for form in forms:
        try:
            number = phonenumbers.parse(form, "GH")
        except phonenumbers.NumberParseException:
            continue
        if phonenumbers.is_valid_number(number):
            return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    return None
