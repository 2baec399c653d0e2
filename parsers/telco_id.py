"""The network's transaction ID: always text, because leading zeros and dots are part of it."""

import re
from datetime import date
from typing import Final

_DIGITS_MTN: Final = re.compile(r"\d{9,15}", re.ASCII)
_DIGITS_TELECEL: Final = re.compile(r"\d{10,18}", re.ASCII)
_COMVIVA: Final = re.compile(
    r"[A-Z]{2}(?P<yy>\d\d)(?P<mm>\d\d)(?P<dd>\d\d)\.(?P<hour>\d\d)(?P<minute>\d\d)\.[A-Z]\d{4,6}",
    re.ASCII,
)


def normalize_telco_id(text: str) -> str:
    """Return the ID as it is compared: trimmed and upper-cased (decisions.md section 1)."""
    return text.strip().upper()


def is_valid_telco_id(text: str, provider: str) -> bool:
    """Say whether `text` has the form of that provider's IDs.

    MTN: 9 to 15 digits (11 in 2026, 12 from about February 2027). Telecel: 16 digits with leading zeros; 10 to 18
    are taken. AT: the Comviva form `PPyymmdd.HHMM.Lnnnnn` with a real date and time. An unknown provider has no form.
    """
    check = _FORMS.get(provider)
    return check is not None and check(normalize_telco_id(text))


def valid_for_any(text: str) -> bool:
    """Say whether `text` has the form of at least one provider's IDs."""
    normal = normalize_telco_id(text)
    return any(check(normal) for check in _FORMS.values())


def _is_mtn(text: str) -> bool:
    return _DIGITS_MTN.fullmatch(text) is not None


def _is_telecel(text: str) -> bool:
    return _DIGITS_TELECEL.fullmatch(text) is not None


def _is_comviva(text: str) -> bool:
    match = _COMVIVA.fullmatch(text)
    if match is None:
        return False
    try:
        date(2000 + int(match["yy"]), int(match["mm"]), int(match["dd"]))
    except ValueError:
        return False
    return int(match["hour"]) < 24 and int(match["minute"]) < 60


_FORMS: Final = {"momo_mtn": _is_mtn, "momo_telecel": _is_telecel, "momo_at": _is_comviva}
