"""What people typed, and whom they approved, for entries of the journal: read from the rows that have it.

The journal is never changed, so it contains no names, numbers or notes: `momo data forget` could not erase them there.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from daemon.core import json_values
from daemon.core.model import Event
from daemon.store.engine import Reader, Tx
from daemon.store.rows import json_ids

_REVIEW: Final = (
    "review_id",
    "SELECT id, notes FROM reviews WHERE id IN (SELECT value ->> 0 FROM json_each(:ids))",
    ("notes",),
)
_PAYER: Final = (
    "approved_payer_id",
    "SELECT id, phone_number, name FROM approved_payers WHERE id IN (SELECT value ->> 0 FROM json_each(:ids))",
    ("phone_number", "name"),
)
_CANCELLED: Final = (
    "transaction_id",
    "SELECT transaction_id, reason FROM cancellations WHERE transaction_id IN (SELECT value ->> 0 FROM json_each(:ids))",
    ("reason",),
)
_SOURCES: Final = {
    "review.approved": _REVIEW,
    "review.rejected": _REVIEW,
    "payer.approved": _PAYER,
    "payer.revoked": _PAYER,
    "transaction.cancelled": _CANCELLED,
}
"""Type of an entry -> what identifies the row, the rows, and the members that they add."""
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def add_reason(tx: Tx, transaction_id: str, reason: str) -> None:
    """Store why a transaction was cancelled."""
    tx.run(
        "INSERT INTO cancellations (transaction_id, reason) VALUES (:id, :reason)",
        {"id": transaction_id, "reason": reason},
    )


def with_texts(reader: Reader, events: Sequence[Event]) -> list[Event]:
    """Return the entries with the texts, names and numbers that are still stored; at most one page of entries."""
    if not any(event.type in _SOURCES for event in events):
        return list(events)
    found = {source: _rows(reader, source, events) for source in (_REVIEW, _PAYER, _CANCELLED)}
    return [_filled(event, found) for event in events]


def _rows(
    reader: Reader, source: tuple[str, str, tuple[str, ...]], events: Iterable[Event]
) -> dict[str, Sequence[Any]]:
    ids = sorted({_key(event, source[0]) for event in events if _SOURCES.get(event.type) == source})
    if not ids:
        return {}
    return {row[0]: row[1:] for row in reader.all(source[1], {"ids": json_ids(ids)})}


def _filled(event: Event, found: dict[Any, dict[str, Sequence[Any]]]) -> Event:
    source = _SOURCES.get(event.type)
    row = None if source is None else found[source].get(_key(event, source[0]))
    if source is None or row is None:
        return event
    texts = {name: text for name, text in zip(source[2], row, strict=True) if text is not None}
    return replace(event, data=json_values.dump({**_decode(event.data), **texts}).decode())


def _key(event: Event, name: str) -> str:
    if name == "transaction_id":
        return event.transaction_id or ""
    return str(_decode(event.data).get(name, ""))
