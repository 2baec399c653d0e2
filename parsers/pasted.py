"""What people paste, or what has gone through a spreadsheet, in plain characters: IDs, codes, amounts and phone numbers.

Messengers, contact lists and web pages add marks that nobody sees; spreadsheets add apostrophes, `="..."` and blanks.
"""

import re
from typing import Final

MESSAGE_CHARACTERS_MAX: Final = 1_600
"""Ten parts of 160 characters, more than any receipt has; a longer text is stored but not read."""

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
_CODE_LABEL: Final = re.compile(
    r"(?:payment\s+|order\s+)?(?:code|ref|reference)\.?\s*[:#]\s*", re.ASCII | re.IGNORECASE
)
_PHONE_LABEL: Final = re.compile(
    r"(?:phone|tel|telephone|mobile|momo|number)\.?\s*(?:no\.?|number)?\s*:\s*", re.ASCII | re.IGNORECASE
)
_JOINT: Final = re.compile(r"[\s.-]+")
_GROUPED: Final = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])", re.ASCII)
_BEFORE: Final = "=#\"' "
_BEHIND: Final = "\"'. "
_ID: Final = re.compile(r"[A-Z0-9](?:[A-Z0-9.]*[A-Z0-9])?", re.ASCII)


def plain(text: str) -> str:
    """Return a text without invisible and bidirectional marks, with ASCII blanks, hyphens, digits and letters, trimmed."""
    return (text if text.isascii() else text.translate(_PLAIN)).strip()


def _bare(text: str) -> str:
    """Return a plain text without what a spreadsheet or a sentence puts around a value."""
    return plain(text).lstrip(_BEFORE).rstrip(_BEHIND)


def plain_id(text: str) -> str:
    """Return a network's transaction ID in the form that is compared; one that is no ID is only trimmed, in upper case.

    Left out are the label, the quotes, `=`, apostrophe or `#` of a spreadsheet, blanks inside and the full stop of the message.
    """
    upper = text.strip().upper()
    if _ID.fullmatch(upper):
        return upper
    found = re.sub(r"\s+", "", _LABEL.sub("", _bare(text), count=1)).lstrip(_BEFORE).upper()
    return found if _ID.fullmatch(found) else upper


def plain_code(text: str) -> str:
    """Return a payment code in the form that is compared: upper case, without the joints that people put between its characters."""
    bare = _bare(text)
    label = _CODE_LABEL.match(bare)
    return _JOINT.sub("", bare[label.end() :].lstrip(_BEFORE) if label else bare).upper()


def plain_phone(text: str) -> str:
    """Return a phone number without the marks of a spreadsheet, a label and a full stop at its end."""
    bare = _bare(text)
    label = _PHONE_LABEL.match(bare)
    return bare[label.end() :].lstrip(_BEFORE) if label else bare


def plain_amount(text: str) -> str:
    """Return an amount without the marks of a spreadsheet, the commas between thousands and a full stop at its end."""
    bare = _bare(text)
    return _GROUPED.sub(lambda found: found[0].replace(",", ""), bare)
