"""Erase a payer from stored texts about a payment. Pure.

Money, times, ids and codes stay, because they are the shop's accounts. Everything that names, reaches or describes the
payer is removed.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, Final

ERASED: Final = "***"
_PAYER: Final = "payer"
_SOURCE: Final = "payer_source"
_META: Final = "meta"
_PERSONAL: Final = frozenset(
    {
        "payer_name", "payer_phone", "customer_name", "expected_payer_name", "expected_payer_phone",
        "reference_text", "telco.reference_text", "description", "raw",
    }
)  # fmt: skip
"""Members of the payloads, and the fields of rules (`core.webhooks.rule_fields`)."""
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
"""A word of a name; shorter ones are initials and titles."""
_DIGITS_COMPARED: Final = 9
"""The last digits, which are the same in every spelling of a number (Ghana's without the 0 and the +233)."""


def forget_in_json(text: str, number: str) -> str:
    """Return a JSON text without its payer: the body of a webhook, a routing decision, the details of a review.

    From a text that is not JSON, only the number (E.164) is removed.
    """
    try:
        value = json.loads(text)
    except ValueError:
        return forget_in_text(text, number)
    return json.dumps(_without(value, number), ensure_ascii=False, separators=(",", ":"))


def forget_in_text(text: str, number: str, names: Iterable[str] = ()) -> str:
    """Return a text, such as an operator's notes, without the number in any spelling and without the words of the names."""
    # Groups and country codes differ: 024 412 4567, +233244124567, 233-24-412-4567.
    digits = r"[ .\-]?".join(search_digits(number))
    without = re.compile(rf"(?<!\w)\+?[0-9]{{0,4}}[ .\-]?{digits}(?![0-9])", re.ASCII).sub(ERASED, text)
    words = sorted({word for name in names for word in _WORD.findall(name)})
    if not words:
        return without
    named = "|".join(re.escape(word) for word in words)
    return re.sub(rf"\b({named})\b", ERASED, without, flags=re.IGNORECASE)


def search_digits(number: str) -> str:
    """Return the digits that find a number in texts."""
    return number[-_DIGITS_COMPARED:]


def _without(value: Any, number: str) -> Any:
    if isinstance(value, dict):
        found = {}
        for name, inner in value.items():
            found[name] = _without(inner, number)
            if name == _META and isinstance(inner, dict):
                found[name] = {}
            elif name in (_PAYER, _SOURCE) and isinstance(inner, dict):
                found[name] = dict.fromkeys(inner)
            elif name in _PERSONAL or name.startswith((f"{_PAYER}.", f"{_META}.")):
                found[name] = None
        return found
    if isinstance(value, list):
        return [_without(inner, number) for inner in value]
    return forget_in_text(value, number) if isinstance(value, str) else value
