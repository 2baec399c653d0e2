"""What a search of transactions looks for, in SQL: in an index where a text names one thing, else in every row.

The alternatives are in docs/decisions/0043-a-search-looks-for-names-first.md and 0051-a-search-reads-each-table-once.md.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from parsers.phone import beginning_of_e164
from parsers.svc_code import normalize_code
from parsers.telco_id import normalize_telco_id

_OF_TRANSACTION: Final = (
    "t.svc_code",
    "t.customer_name",
    "t.client_reference",
    "t.description",
    "t.phone_number",
)
_OF_PAYMENT: Final = ("p.telco_transaction_id", "p.payer_name", "p.payer_phone")
_PHONES: Final = ("t.phone_number", "p.payer_phone")
_PAID: Final = "payments p CROSS JOIN transactions t WHERE t.payment_id = p.id"
"""The word CROSS keeps the database at this order (SQLite, "Manual control of query plans using CROSS JOIN")."""
_NAMED: Final = f"""
    SELECT t.seq FROM svc_codes c JOIN transactions t ON t.id = c.transaction_id
    WHERE c.mode IN ('live', 'test') AND c.code = :code
    UNION SELECT t.seq FROM transactions t WHERE t.client_reference = :named
    UNION SELECT t.seq FROM {_PAID} AND p.telco_transaction_id = :telco_id"""
_LIKE_A_NAME: Final = re.compile(r"(?=.*[0-9])\S{4,}", re.ASCII)
"""One word with a digit in it: a code, a network ID, an order number. A customer's name is none."""
_REFERENCE: Final = "'svc_trx_' || REPLACE(t.id, '-', '') LIKE :search ESCAPE '\\'"
_HEX: Final = re.compile(r"svc_trx_([0-9a-f]{1,32})", re.ASCII)
_DASHES: Final = (8, 12, 16, 20)
_BEHIND_HEX: Final = "g"


@dataclass(frozen=True, slots=True)
class Among:
    """A query of the `seq` of the transactions that a search finds, and its parameters."""

    seqs: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Each:
    """What each transaction `t` of a list, or its payment `p`, must fulfil to be found, and its parameters."""

    test: str
    params: Mapping[str, Any]


def ways(text: str, *, in_few: bool) -> Iterator[Among | Each]:
    """Yield how to look for a text, to be tried in turn until one finds something.

    What begins with `svc_` is the beginning of a reference, or its two ends with `…` between them. One word with a
    digit is first taken as a whole code, network ID or caller's own reference.

    Args:
        text: What is searched.
        in_few: The list is narrowed to few of the transactions, so that its rows are looked at and no others.
    """
    if text.lower().startswith("svc_"):
        yield _reference(text.lower())
        return
    if _LIKE_A_NAME.fullmatch(text):
        params = {"code": normalize_code(text), "named": text, "telco_id": normalize_telco_id(text)}
        yield Among(_NAMED, params)
    params = {"search": f"%{_escaped(text)}%"}
    dialled = beginning_of_e164(text)
    if dialled is not None:
        params["dialled"] = f"{dialled}%"
    if in_few:
        yield Each(_held((*_OF_TRANSACTION, *_OF_PAYMENT), params), params)
        return
    # Each table from end to end: a payment looked up for each transaction costs three times as much.
    of_transactions = f"SELECT t.seq FROM transactions t WHERE {_held(_OF_TRANSACTION, params)}"
    yield Among(
        f"{of_transactions} UNION SELECT t.seq FROM {_PAID} AND {_held(_OF_PAYMENT, params)}",
        params,
    )


def _held(columns: Iterable[str], params: Mapping[str, Any]) -> str:
    tests = [f"{column} LIKE :search ESCAPE '\\'" for column in columns]
    if "dialled" in params:
        tests += [f"{column} LIKE :dialled" for column in columns if column in _PHONES]
    return f"({' OR '.join(tests)})"


def _reference(text: str) -> Among | Each:
    head, _, tail = text.partition("…")
    params = {"search": f"{_escaped(head)}%{_escaped(tail)}"}
    known = _HEX.fullmatch(head)
    if known is None:
        return Each(_REFERENCE, params)
    # A UUID is the reference's hex digits with dashes between, so that a beginning is a run of the index.
    first = known[1]
    for place in reversed(_DASHES):
        if len(first) > place:
            first = f"{first[:place]}-{first[place:]}"
    run = "SELECT t.seq FROM transactions t WHERE t.id >= :first AND t.id < :behind"
    bounds = {"first": first, "behind": first + _BEHIND_HEX}
    return Among(f"{run} AND {_REFERENCE}", params | bounds)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
