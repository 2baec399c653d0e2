"""The SQL of a search of transactions: in an index of whole names if the text may name one thing, else in that of trigrams.

The reasons are in docs/decisions/0014-search-exact-identifiers-in-indexes-and-text-in-trigrams.md.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from daemon.store.payments import search_index
from daemon.store.payments.search_index import Indexed
from parsers.pasted import plain_code
from parsers.phone import e164_prefix
from parsers.reading import normalize_telco_id

_OF_TRANSACTION: Final = tuple(f"t.{column}" for column in search_index.OF_TRANSACTION)
_OF_PAYMENT: Final = tuple(f"p.{column}" for column in search_index.OF_PAYMENT)
_PHONES: Final = ("t.phone_number", "p.payer_phone")
_PAID: Final = "payments p CROSS JOIN transactions t WHERE t.payment_seq = p.seq"
"""CROSS fixes the join order (SQLite, "Manual control of query plans using CROSS JOIN")."""
_NAMED: Final = f"""
    SELECT t.seq FROM svc_codes c JOIN transactions t ON t.seq = c.transaction_seq
    WHERE c.mode IN ('live', 'test') AND c.code = :code
    UNION SELECT t.seq FROM transactions t WHERE t.client_reference = :named
    UNION SELECT t.seq FROM {_PAID} AND p.telco_transaction_id = :telco_id AND p.double_of IS NULL
    UNION SELECT t.seq FROM {_PAID} AND p.telco_transaction_id = :telco_id AND p.double_of IS NOT NULL"""
_LIKE_A_NAME: Final = re.compile(r"(?=.*[0-9])\S{4,}", re.ASCII)
"""One word with a digit in it: a code, a network ID, an order number, but not a customer's name."""
_REFERENCE: Final = "'svc_trx_' || REPLACE(t.id, '-', '') LIKE :search ESCAPE '\\'"
_HEX: Final = re.compile(r"svc_trx_([0-9a-f]{1,32})", re.ASCII)
_DASHES: Final = (8, 12, 16, 20)
_BEHIND_HEX: Final = "g"


class SeqQuery(Struct, frozen=True):
    """A query of the `seq` of the matching transactions, and its parameters.

    Attributes:
        rows: Further matching transactions `t`, each a source and its condition; `t` is read once there.
    """

    seqs: str
    params: Mapping[str, Any]
    rows: Sequence[tuple[str, str]] = ()


class RowCondition(Struct, frozen=True):
    """A condition on each transaction `t` of a list, or its payment `p`, and its parameters."""

    test: str
    params: Mapping[str, Any]


def is_indexed(text: str) -> bool:
    """Return whether the index of trigrams is of use for a text."""
    return search_index.match(text, None) is not None


def search_steps(text: str, indexed: Indexed, *, in_few: bool) -> Iterator[SeqQuery | RowCondition]:
    """Yield the ways to search for a text, to be tried in turn until one has results.

    Text that starts with `svc_` is the start of a reference, or its two ends with `…` between them. One word with a
    digit is first tried as a whole code, network ID or caller's own reference.

    Args:
        text: The text to search for.
        indexed: The rows in the index of trigrams; the others are read.
        in_few: The list is filtered to few of the transactions, so that only its rows are read.
    """
    if text.lower().startswith("svc_"):
        yield _reference(text.lower())
        return
    if _LIKE_A_NAME.fullmatch(text):
        params = {"code": plain_code(text), "named": text, "telco_id": normalize_telco_id(text)}
        yield SeqQuery(_NAMED, params)
    params = {"search": f"%{_escaped(text)}%"}
    dialled = e164_prefix(text)
    if dialled is not None:
        params["dialled"] = f"{dialled}%"
    if in_few:
        yield RowCondition(_held((*_OF_TRANSACTION, *_OF_PAYMENT), params), params)
        return
    match = None if indexed.in_tables else search_index.match(text, dialled)
    yield _anywhere(params, match, indexed)


def _anywhere(params: dict[str, Any], match: str | None, indexed: Indexed) -> SeqQuery:
    of_transaction, of_payment = _held(_OF_TRANSACTION, params), _held(_OF_PAYMENT, params)
    # Each table is read once: looking up the payment of each transaction would take three times as long.
    found = [
        f"SELECT t.seq FROM transactions t WHERE t.seq > :transactions AND {of_transaction}",
        f"SELECT t.seq FROM {_PAID} AND p.seq > :payments AND {of_payment}",
    ]
    if match is None:
        return SeqQuery(" UNION ".join(found), {**params, "transactions": 0, "payments": 0})
    rows = search_index.rows(of_transaction, of_payment)
    last = {"transactions": indexed.transaction_seq, "payments": indexed.payment_seq}
    return SeqQuery(" UNION ".join(found), {**params, **last, "match": match}, rows)


def _held(columns: Iterable[str], params: Mapping[str, Any]) -> str:
    tests = [f"{column} LIKE :search ESCAPE '\\'" for column in columns]
    if "dialled" in params:
        tests += [f"{column} LIKE :dialled" for column in columns if column in _PHONES]
    return f"({' OR '.join(tests)})"


def _reference(text: str) -> SeqQuery | RowCondition:
    head, _, tail = text.partition("…")
    params = {"search": f"{_escaped(head)}%{_escaped(tail)}"}
    known = _HEX.fullmatch(head)
    if known is None:
        return RowCondition(_REFERENCE, params)
    # A UUID is the reference's hex digits with dashes, so that a prefix is a range of the index.
    first = known[1]
    for place in reversed(_DASHES):
        if len(first) > place:
            first = f"{first[:place]}-{first[place:]}"
    run = "SELECT t.seq FROM transactions t WHERE t.id >= :first AND t.id < :behind"
    bounds = {"first": first, "behind": first + _BEHIND_HEX}
    return SeqQuery(f"{run} AND {_REFERENCE}", params | bounds)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
