"""What people paste, or what has gone through a spreadsheet, in plain characters: IDs, codes, amounts and phone numbers.

Messengers, contact lists and web pages add marks that nobody sees; spreadsheets add apostrophes, `="..."` and blanks.
"""

import re
from typing import Final

_INVISIBLE: Final = (
    0x00AD, 0x034F, 0x061C, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF,
)  # fmt: skip
_BLANKS: Final = (0x00A0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)
_HYPHENS: Final = (*range(0x2010, 0x2016), 0x2212, 0xFE58, 0xFE63, 0xFF0D)
_WIDE: Final = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_PLAIN: Final = {
    **_WIDE,
    **dict.fromkeys(_INVISIBLE, ""),
    **dict.fromkeys(_BLANKS, " "),
    **dict.fromkeys(_HYPHENS, "-"),
}
_LABEL: Final = re.compile(
    r"(?:(?:financial\s+)?(?:transaction|trans|txn|trx)\.?\s*)?(?:id|no|number|ref)\.?\s*[:#]\s*",
    re.ASCII | re.IGNORECASE,
)
_JOINT: Final = re.compile(r"[\s.-]+")
_GROUPED: Final = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])", re.ASCII)
_QUOTES: Final = "\"'"
_ID: Final = re.compile(r"[A-Z0-9](?:[A-Z0-9.]*[A-Z0-9])?", re.ASCII)


def plain(text: str) -> str:
    """Return a text without invisible and bidirectional marks, with ASCII blanks, hyphens, digits and letters, trimmed."""
    return (text if text.isascii() else text.translate(_PLAIN)).strip()


def plain_id(text: str) -> str:
    """Return a network's transaction ID in the form that is compared; one that is no ID is only trimmed, in upper case.

    Left out are the label, the quotes, `=`, apostrophe or `#` of a spreadsheet, blanks inside and the full stop of the message.
    """
    upper = text.strip().upper()
    if _ID.fullmatch(upper):
        return upper
    bare = plain(text).lstrip("=\"'#").rstrip("\"'. ")
    found = re.sub(r"\s+", "", _LABEL.sub("", bare, count=1)).lstrip("\"'#").upper()
    return found if _ID.fullmatch(found) else upper


def plain_code(text: str) -> str:
    """Return a payment code in the form that is compared: upper case, without the joints that people put between its characters."""
    return _JOINT.sub("", plain(text).strip(_QUOTES)).upper()


def plain_amount(text: str) -> str:
    """Return an amount without the marks of a spreadsheet, the commas between thousands and a full stop at its end."""
    bare = plain(text).lstrip(f"=#{_QUOTES}").rstrip(f"{_QUOTES}. ")
    return _GROUPED.sub(lambda found: found[0].replace(",", ""), bare)
