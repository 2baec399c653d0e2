"""Phone numbers: read by the `phonenumbers` library, kept as E.164.

The library costs 55 ms to import and tens of microseconds a number, so it is imported on first use, and
the Ghanaian mobile numbers of receipts are read by hand where the library would say the same (a test compares them).
"""

import re
from functools import lru_cache
from typing import Final

TEXT_CHARACTERS_MAX: Final = 40

# 020 023 024 026 027 050 053 054 055 056 057 059 of the national plan; of 025 and 059 only a part is given out.
_GHANA_MOBILE: Final = re.compile(
    r"(?:\+?233|0)((?:2[03467]|5[034567])[0-9]{7}|59[1-9][0-9]{6})", re.ASCII
)

_BETWEEN: Final = re.compile(r"[\s().\-/]+", re.ASCII)
_BEGINNING: Final = re.compile(r"0([0-9]{2,})|\+[0-9]{3,}", re.ASCII)
_WRITTEN: Final = re.compile(r"[0-9+\s().\-/]+", re.ASCII)


def read_phone(text: str, region: str = "GH") -> str | None:
    """Read a phone number, local (`024 412 4567`), E.164, or E.164 without the plus as receipts print it.

    Args:
        text: The number as a person or a receipt wrote it.
        region: ISO 3166 code of the country whose local form is meant.

    Returns:
        E.164 (`+233244124567`), or None when no valid number can be read.
    """
    if region == "GH":
        match = _GHANA_MOBILE.fullmatch(text)
        if match is not None:
            return f"+233{match[1]}"
    return _read_by_library(text, region)


def beginning_of_e164(text: str) -> str | None:
    """Return how the E.164 form of a number begins whose written form begins so: `024 412` is `+23324412`.

    Args:
        text: At least three digits, local or with the country's code after a plus; None comes back for anything else.
    """
    digits = _BETWEEN.sub("", text)
    local = _BEGINNING.fullmatch(digits)
    if local is None:
        return None
    return f"+233{local[1]}" if local[1] else digits


def mask(e164: str) -> str:
    """Return a number as it may be shown in logs: `+23324****567`."""
    if len(e164) < 10:
        return "*" * len(e164)
    return f"{e164[:6]}{'*' * (len(e164) - 9)}{e164[-3:]}"


def forget_numbers() -> None:
    """Forget the numbers read so far: a benchmark must not read them twice."""
    _read_by_library.cache_clear()


@lru_cache(maxsize=1024)
def _read_by_library(text: str, region: str) -> str | None:
    # The library would also dial letters (0800-FLOWERS), extensions, and the masked digits of a receipt.
    if len(text) > TEXT_CHARACTERS_MAX or not _WRITTEN.fullmatch(text):
        return None
    import phonenumbers  # noqa: PLC0415 (heavy; see the module docstring)

    forms = [text]
    stripped = text.strip()
    if not stripped.startswith(("+", "0")):
        # Receipts print E.164 without its plus.
        forms.append(f"+{stripped}")
    for form in forms:
        try:
            number = phonenumbers.parse(form, region)
        except phonenumbers.NumberParseException:
            continue
        if phonenumbers.is_valid_number(number):
            return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    return None
