"""What a search of transactions looks for, in SQL: in an index where a text names one thing, else row by row.

The alternatives are in docs/decisions/0043-a-search-looks-for-names-first.md.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from parsers.phone import beginning_of_e164
from parsers.svc_code import normalize_code
from parsers.telco_id import normalize_telco_id

_HELD: Final = " OR ".join(
    f"{column} LIKE :search ESCAPE '\\'"
    for column in (
        "t.svc_code", "p.telco_transaction_id", "p.payer_name", "t.customer_name", "t.client_reference",
        "t.description", "p.payer_phone", "t.phone_number",
    )
)  # fmt: skip
_DIALLED: Final = "p.payer_phone LIKE :dialled OR t.phone_number LIKE :dialled"
_NAMED: Final = """t.id IN (
    SELECT transaction_id FROM svc_codes WHERE mode IN ('live', 'test') AND code = :code
    UNION SELECT id FROM transactions WHERE client_reference = :named
    UNION SELECT paid.id FROM payments p2 JOIN transactions paid ON paid.payment_id = p2.id
          WHERE p2.telco_transaction_id = :telco_id)"""
_LIKE_A_NAME: Final = re.compile(r"(?=.*[0-9])\S{4,}", re.ASCII)
"""One word with a digit in it: a code, a network ID, an order number. A customer's name is none."""
_REFERENCE: Final = "'svc_trx_' || REPLACE(t.id, '-', '')"
_HEX: Final = re.compile(r"svc_trx_([0-9a-f]{1,32})", re.ASCII)
_DASHES: Final = (8, 12, 16, 20)
_BEHIND_HEX: Final = "g"


@dataclass(frozen=True, slots=True)
class Search:
    """One way to look.

    Attributes:
        test: What a transaction `t`, and its payment `p` when `joined`, must fulfil.
        params: Of the test.
        joined: The test asks for the payment too.
        by_id: The test names the transactions by their ids, so that no run of the list's index need be read.
    """

    test: str
    params: Mapping[str, Any]
    joined: bool = False
    by_id: bool = False


def ways(text: str) -> tuple[Search, ...]:
    """Return how to look for a text, to be tried in turn until one finds something.

    What begins with `svc_` is the beginning of a reference, or its two ends with `…` between them. One word with a
    digit is first taken as a whole code, network ID or caller's own reference.
    """
    if text.lower().startswith("svc_"):
        return (_reference(text.lower()),)
    anywhere = _anywhere(text)
    return (_named(text), anywhere) if _LIKE_A_NAME.fullmatch(text) else (anywhere,)


def _named(text: str) -> Search:
    return Search(
        _NAMED,
        {"code": normalize_code(text), "named": text, "telco_id": normalize_telco_id(text)},
        by_id=True,
    )


def _anywhere(text: str) -> Search:
    params = {"search": f"%{_escaped(text)}%"}
    dialled = beginning_of_e164(text)
    if dialled is None:
        return Search(f"({_HELD})", params, joined=True)
    return Search(f"({_HELD} OR {_DIALLED})", {**params, "dialled": f"{dialled}%"}, joined=True)


def _reference(text: str) -> Search:
    head, _, tail = text.partition("…")
    test, params = (
        f"{_REFERENCE} LIKE :search ESCAPE '\\'",
        {"search": f"{_escaped(head)}%{_escaped(tail)}"},
    )
    known = _HEX.fullmatch(head)
    if known is None:
        return Search(test, params)
    # A UUID is the reference's hex digits with dashes between, so that a beginning is a run of the index.
    first = known[1]
    for place in reversed(_DASHES):
        if len(first) > place:
            first = f"{first[:place]}-{first[place:]}"
    run = "t.id IN (SELECT id FROM transactions WHERE id >= :first AND id < :behind)"
    bounds = {"first": first, "behind": first + _BEHIND_HEX}
    return Search(f"{run} AND {test}", params | bounds, by_id=True)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
