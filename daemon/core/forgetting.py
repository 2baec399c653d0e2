"""What is taken out of a stored text about a payment when its payer asks to be forgotten. Pure.

Money, times, ids and codes stay: they are the shop's books. What names, reaches or describes the person goes.
"""

import json
import re
from typing import Any, Final

GONE: Final = "***"
_PAYER: Final = "payer"
_META: Final = "meta"
_OF_A_PERSON: Final = frozenset(
    {
        "payer_name", "payer_phone", "customer_name", "expected_payer_name", "expected_payer_phone",
        "reference_text", "telco.reference_text", "description", "raw",
    }
)  # fmt: skip
"""Members of the payloads, and the fields that rules look at (`core.rule_fields`)."""
_DIGITS_TOLD: Final = 9
"""The last digits, which a number has in common however it is written (Ghana's without the 0 and the +233)."""


def forget_in_json(text: str, number: str) -> str:
    """Return a JSON text without its payer; what is no JSON loses only the number.

    Args:
        text: As it is stored: the body of a webhook, a routing's decision, the details of a review.
        number: E.164.
    """
    try:
        value = json.loads(text)
    except ValueError:
        return forget_in_text(text, number)
    return json.dumps(_without(value, number), ensure_ascii=False, separators=(",", ":"))


def forget_in_text(text: str, number: str) -> str:
    """Return a text, such as a person's notes, without the number in any form."""
    return _pattern(number).sub(GONE, text)


def told_by(number: str) -> str:
    """Return the digits by which a number is looked for in texts."""
    return number[-_DIGITS_TOLD:]


def _pattern(number: str) -> re.Pattern[str]:
    # Groups and country codes differ: 024 412 4567, +233244124567, 233-24-412-4567.
    digits = r"[ .\-]?".join(told_by(number))
    return re.compile(rf"(?<!\w)\+?[0-9]{{0,4}}[ .\-]?{digits}(?![0-9])", re.ASCII)


def _without(value: Any, number: str) -> Any:
    if isinstance(value, dict):
        return {name: _member(name, inner, number) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without(inner, number) for inner in value]
    return forget_in_text(value, number) if isinstance(value, str) else value


def _member(name: str, value: Any, number: str) -> Any:
    if name == _META and isinstance(value, dict):
        return {}
    if name == _PAYER and isinstance(value, dict):
        return dict.fromkeys(value)
    if name in _OF_A_PERSON or name.startswith((f"{_PAYER}.", f"{_META}.")):
        return None
    return _without(value, number)
