"""Amounts and JSON values as they are typed on the command line, checked before they are sent."""

import json
import re
import sys
from typing import Any, Final

from momo_cli.errors import usage

_AMOUNT: Final = re.compile(
    r"(?:([A-Za-z]{3}|GH[₵¢]|₵)\s*)?(\d{1,3}(?:,\d{3})+|\d{1,9})(\.\d{1,2})?", re.ASCII
)
_COMMA: Final = re.compile(r"\d+,\d{1,2}", re.ASCII)
_CEDI: Final = ("GH₵", "GH¢", "₵")


def amount_of(text: str, flag: str = "AMOUNT") -> tuple[str, str | None]:
    """Read an amount: `12`, `12.50`, `1,200.50`, `GHS 12.50`.

    Returns:
        The amount with two decimals, and the currency if one was written.

    Raises:
        Failure: USAGE, with a hint for `12,50`.
    """
    word = text.strip()
    match = _AMOUNT.fullmatch(word)
    if match is None:
        hint = f"; did you mean {word.replace(',', '.')}?" if _COMMA.fullmatch(word) else ""
        raise usage(f"{flag}: {text!r} is not an amount like 12 or 12.50{hint}")
    currency, whole, cents = match.groups()
    value = f"{whole.replace(',', '')}.{(cents or '')[1:].ljust(2, '0')}"
    if currency is None:
        return value, None
    return value, "GHS" if currency.upper() in _CEDI else currency.upper()


def read_json(text: str, flag: str) -> Any:
    """Read JSON as it is, from a file after `@`, or from stdin for `@-`.

    Raises:
        Failure: USAGE: no such file, or no JSON.
    """
    if text == "@-":
        text = sys.stdin.read()
    elif text.startswith("@"):
        try:
            with open(text[1:], encoding="utf-8") as file:  # noqa: PTH123 -- pathlib costs start-up time
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise usage(f"{flag}: {text[1:]}: {error}") from None
    try:
        return json.loads(text)
    except ValueError as error:
        raise usage(f"{flag}: this is no JSON: {error}") from None


def json_object(text: str, flag: str) -> dict[str, Any]:
    """Read a JSON object, or the file named after `@`.

    Raises:
        Failure: USAGE, when it is not one.
    """
    value = read_json(text, flag)
    if not isinstance(value, dict):
        raise usage(f'{flag} must be a JSON object, like {{"order": 17}}')
    return value
