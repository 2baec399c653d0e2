"""What a line of the journal says of itself, as it leaves the shop: money as decimal strings (decisions.md section 1). Pure."""

from typing import Any, Final

import msgspec

from parsers.money import render

_MINOR: Final = "_minor"
_NAMES: Final = {"expected_minor": "expected_amount"}
"""What is called otherwise outside; all others lose their unit alone: `amount_minor` is `amount`."""
_decode = msgspec.json.Decoder().decode


def facts(data: str, currency: str | None) -> dict[str, Any]:
    """Return the facts that a line holds.

    Args:
        data: The line's JSON; money in it is in minor units, each named `..._minor`.
        currency: ISO 4217 code of what the line is about; None is the cedi. One in the line itself comes first.
    """
    held: dict[str, Any] = _decode(data)
    if _MINOR not in data:
        return held
    unit = str(held.get("currency") or currency or "GHS")
    return dict(_fact(name, value, unit) for name, value in held.items())


def _fact(name: str, value: Any, currency: str) -> tuple[str, Any]:
    if not name.endswith(_MINOR):
        return name, value
    outside = _NAMES.get(name, name.removesuffix(_MINOR))
    return outside, None if value is None else render(value, currency)
