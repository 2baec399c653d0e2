"""Adverts: what a network sends from the same sender as its receipts, often daily, and what is no message about money.

Their words change every week, so no wording can know them. An advert asks for something (a link, a short code to dial,
terms) and says nothing that only a message about the wallet says: no balance, no transaction ID, nothing that came, went
or failed. One such word and it is no advert, but a message that nothing reads.
"""

import re
from typing import Final

_ASKS: Final = re.compile(
    r"https?://|\bwww\.|\*\d{3,4}(?:\*\d{1,4}){0,6}\#|\bT\s?&\s?Cs?\b|\bT(?:erm)?s and C",
    re.ASCII | re.IGNORECASE,
)
_OF_MONEY: Final = re.compile(
    r"\bbal(?:ance)?\b|\b(?:id|no|ref|reference|txn)\s{0,3}[:.#]|confirm|receiv|credit|debit|deduct|deposited|transferred|"
    r"withdr|revers|refund|return|repa[iy]|\bpaid\b|\bsent\b|purchased|bought|charge|\bfee\b|complete|success|fail|declin|"
    r"approv|authori[sz]|grant|disburs|added to|\botp\b|\bpin\b|\bcode\s{0,3}(?:is\b|:|\d)|block|suspend"
    # A number as long as a transaction ID, but for phone numbers; and an ID of the Comviva form.
    r"|(?<!\d)(?!(?:233\d{9}|0\d{9})(?!\d))\d{9}|\d{6}\.\d{4}\.[a-z]\d",
    re.ASCII | re.IGNORECASE,
)


def is_advert(text: str) -> bool:
    """Say whether a text of a network's own sender only advertises."""
    return _ASKS.search(text) is not None and _OF_MONEY.search(text) is None
