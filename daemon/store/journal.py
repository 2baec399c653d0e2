"""The journal: append-only entries, read by the event stream, the audit and the timeentry.

A notice to the owner is an entry of type `notice.<kind>`. It is part of the database transaction that found the reason;
e-mail, desktop and SMS to the owner read it from the journal.
"""

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from daemon.core import json_values, text
from daemon.core.model import Delivery, Event, Message, Payment, Review, Transaction
from daemon.core.webhooks.endpoint import Endpoint
from daemon.store.engine import UNCOUNTED, Reader, Rows, Tx
from daemon.store.rows import Conditions, json_ids, json_rows
from daemon.wire import Mode

TOPIC = "events"
"""Woken by every commit that added a journal entry."""
_OF_DOUBLES: Final = ("notice.id_conflict", "notice.paid_twice")


About = Transaction | Payment | Message | Review | Endpoint | Delivery
_IDS: Final[Mapping[type, Mapping[str, str]]] = {
    Transaction: {"mode": "mode", "transaction_id": "id"},
    Payment: {"mode": "mode", "payment_id": "id", "message_id": "message_id"},
    Message: {"mode": "mode", "message_id": "id"},
    Review: {one: one for one in ("mode", "transaction_id", "payment_id", "message_id")},
    Endpoint: {"mode": "mode", "endpoint_id": "id"},
    Delivery: {"transaction_id": "transaction_id"},
}
"""What an entry can be about -> the columns of the entry that it fills, and its fields with their values."""


def add(
    tx: Tx,
    kind: str,
    at: int,
    *about: About | None,
    actor: str = "momo",
    mode: Mode | None = None,
    transaction_id: str | None = None,
    payment_id: str | None = None,
    message_id: str | None = None,
    endpoint_id: str | None = None,
    data: Mapping[str, Any] | None = None,
    immediately: bool = False,
) -> None:
    """Append one entry. What it is about fills the columns that are not given: the first that has a value for it.

    An entry about nothing with a mode is live, and `data` of a delivery names it. `data` holds no names of people,
    numbers, notes or secrets: rows that it names have them (`with_texts`). `immediately`: the next job of the same commit
    may look for it.
    """
    columns: dict[str, Any] = {
        "mode": mode,
        "transaction_id": transaction_id,
        "payment_id": payment_id,
        "message_id": message_id,
        "endpoint_id": endpoint_id,
    }
    for one in about:
        for column, field in () if one is None else _IDS[type(one)].items():
            columns[column] = columns[column] or getattr(one, field)
        if isinstance(one, Delivery):
            data = {"delivery_id": one.id, "event": one.event, **(data or {})}
    shown, *ids = columns.values()
    row = (kind, shown or Mode.LIVE, at, actor, *ids, json_values.dump(text.store(data or {})).decode())
    # Written at the end of the commit, because jobs do not read the journal to decide.
    if immediately:
        _write(tx, [row])
    else:
        tx.write_last(_write, [row])
    tx.wake(TOPIC)


class Notice(StrEnum):
    """The kinds of notices; their sentences are in `daemon.core.journal_text`."""

    MONEY_MISSING = "money_missing"
    """The balance moved by an amount that no message explains."""
    BALANCE_WARNING = "balance_warning"
    """A receipt would have been held, but `[trust] balance_check` is `warn`."""
    RECEIPT_FORGED = "receipt_forged"
    """A held receipt is shown to be forged."""
    RECEIPT_SUSPECT = "receipt_suspect"
    """A receipt paid before it was confirmed, and the later balances do not contain its money."""
    SMSC_UNKNOWN = "smsc_unknown"
    """A message through an SMSC that this SIM never used joins the chain: the network may have a new one."""
    FORGERY_FLOOD = "forgery_flood"
    """Many messages that do not join claim to be of the network."""
    WALLET_ASKED = "wallet_asked"
    """Much was paid that nothing has confirmed: the owner is asked what the wallet shows."""
    MONEY_CONTRADICTED = "money_contradicted"
    """Money that was paid unconfirmed is contradicted: nothing that does not join pays for some days."""
    APPROVAL_REFUSED = "approval_refused"
    """An approval of the dashboard was refused when it was carried out."""
    RECEIPT_HELD = "receipt_held"
    """A receipt has been held for over 30 minutes."""
    RECEIPT_OLD = "receipt_old"
    """A receipt came that is dated before its number was set up, long after that: the network's clock may be wrong."""
    PAYMENT_REVERSED = "payment_reversed"
    """The network took a payment back."""
    REVERSAL_UNMATCHED = "reversal_unmatched"
    """The network took back a payment that is not stored here, or does not say which."""
    FACT_REFUSED = "fact_refused"
    """A branch sent a row that cannot be stored."""
    SIM_UNCONFIRMED = "sim_unconfirmed"
    """Payments of a branch on a new SIM or number are above the limit of a day and wait."""
    BRANCH_LEFT = "branch_left"
    """A branch has left this hub; its users and keys have ended."""
    BRANCH_DISPUTED = "branch_disputed"
    """Two machines send as one branch."""
    BRANCH_STALE = "branch_stale"
    """A machine sends as a branch from before a restore."""
    HUB_REFUSED = "hub_refused"
    """The hub takes nothing from this branch before a person has acted."""
    HUB_RESTORED = "hub_restored"
    """A branch has sent more than this hub has."""
    ORDER_LOST = "order_lost"
    """A branch remembers that its payment paid an order which this hub lost with a restore."""
    ID_CONFLICT = "id_conflict"
    """Two branches have payments with one network ID and different amounts."""
    PAID_TWICE = "paid_twice"
    """A payment that two branches have paid an order at each."""


def add_notice(tx: Tx, notice: Notice, at: int, *about: About | None, **columns: Any) -> None:
    """Add a notice, as `add`; amounts in `data` are minor units, beside their `currency`."""
    add(tx, f"notice.{notice}", at, *about, **columns)


def has(reader: Reader, kind: str, payment_id: str) -> bool:
    """Return whether there is a notice about a payment that two branches have; of other types there is no index."""
    assert kind in _OF_DOUBLES, kind
    # The list is written as in the index `events_of_doubles`, so that both engines use it.
    return reader.exists(
        "SELECT 1 FROM events WHERE type IN ('notice.id_conflict', 'notice.paid_twice') "
        "AND payment_seq = (SELECT seq FROM payments WHERE id = :id) AND type = :kind",
        {"kind": kind, "id": payment_id},
    )


def reason_when_opened(reader: Reader, transaction_id: str, payment_id: str) -> str | None:
    """Return the reason for which the last review of a payment for a transaction was opened; None if there was none."""
    data = reader.value(
        "SELECT data FROM events WHERE transaction_seq = (SELECT seq FROM transactions WHERE id = :transaction) "
        "AND payment_seq = (SELECT seq FROM payments WHERE id = :payment) AND type = 'review.opened' "
        "ORDER BY seq DESC LIMIT 1",
        {"transaction": transaction_id, "payment": payment_id},
    )
    return None if data is None else json.loads(data).get("reason")


def latest_at(reader: Reader, among: int) -> int | None:
    """Return the latest time among the newest entries; None if there is no entry."""
    at: int | None = reader.value(
        "SELECT MAX(at) FROM (SELECT at FROM events ORDER BY seq DESC LIMIT :among) newest", {"among": among}
    )
    return at


def after(reader: Reader, seq: int, *, transaction_id: str | None = None, limit: int = 200) -> list[Event]:
    """Return the entries after `seq`, oldest first."""
    of_all = "SELECT * FROM events WHERE seq > :seq ORDER BY seq LIMIT :limit"
    of_one = (
        "SELECT * FROM events WHERE seq > :seq "
        "AND transaction_seq = (SELECT seq FROM transactions WHERE id = :id) ORDER BY seq LIMIT :limit"
    )
    params = {"seq": seq, "id": transaction_id, "limit": limit}
    return with_texts(reader, reader.every(Event, of_all if transaction_id is None else of_one, params))


def types_after(reader: Reader, seq: int, *, limit: int) -> list[tuple[int, str]]:
    """Return number and type of the entries after `seq`, oldest first."""
    rows: list[Any] = reader.all(
        "SELECT seq, type FROM events WHERE seq > :seq ORDER BY seq LIMIT :limit", {"seq": seq, "limit": limit}
    )
    return rows


def of_transaction(reader: Reader, transaction_id: str, *, limit: int, offset: int) -> tuple[list[Event], int]:
    """Return one page of a transaction's entries, oldest first, and their total number."""
    of_one = Conditions()
    of_one.by("j.transaction_seq = (SELECT seq FROM transactions WHERE id = :id)", id=transaction_id)
    found = reader.page("SELECT j.* FROM events j", of_one, order="j.seq", limit=limit, offset=offset, j=Event)
    return with_texts(reader, found.rows), found.total


class JournalFilter(Struct, frozen=True, kw_only=True):
    """The filters of the list; None filters nothing.

    Attributes:
        people: Only entries of people and programs, not those of the daemon itself.
        actor: Exactly this actor, such as `user:ama`.
        things: First words of the types, such as `user` of `user.added`.
        since: First time, microseconds.
        until: End of the time, excluded.
        before: The number of the entry after which the page starts.
    """

    people: bool = False
    actor: str | None = None
    things: Sequence[str] = ()
    since: int | None = None
    until: int | None = None
    before: int | None = None


def listed(reader: Reader, wanted: JournalFilter, *, limit: int) -> tuple[list[Event], bool]:
    """Return one page, newest first, and whether more entries follow."""
    conditions = Conditions()
    if wanted.people:
        # As written in the index.
        conditions.always("actor <> 'momo'")
    conditions.by("actor = :actor", actor=wanted.actor)
    conditions.by("at >= :since", since=wanted.since)
    conditions.by("at < :until", until=wanted.until)
    conditions.by("seq < :before", before=wanted.before)
    if wanted.things:
        tests = [f"type LIKE :thing{number}" for number in range(len(wanted.things))]
        conditions.always(f"({' OR '.join(tests)})")
        for number, thing in enumerate(wanted.things):
            conditions.params[f"thing{number}"] = f"{thing}.%"
    found = reader.page(
        "SELECT j.* FROM events j", conditions, order="j.seq DESC", limit=limit, total=UNCOUNTED, j=Event
    )
    return with_texts(reader, found.rows), found.last is not None


def last_seq(reader: Reader) -> int:
    """Return the newest sequence number, 0 when the journal is empty."""
    return reader.count("SELECT MAX(seq) FROM events")


def _write(tx: Tx, rows: Rows) -> None:
    tx.run(
        "INSERT INTO events (type, mode, at, actor, transaction_seq, payment_seq, message_seq, message_id, endpoint_seq, data) "
        "SELECT value ->> 0, value ->> 1, CAST(value ->> 2 AS BIGINT), value ->> 3, "
        "(SELECT seq FROM transactions WHERE id = value ->> 4), (SELECT seq FROM payments WHERE id = value ->> 5), "
        # Not a join, which could change the order of the rows.
        "(SELECT seq FROM messages WHERE id = value ->> 6 AND state <> 'incomplete'), "
        "CASE WHEN NOT EXISTS (SELECT 1 FROM messages WHERE id = value ->> 6 AND state <> 'incomplete') THEN value ->> 6 END, "
        "(SELECT seq FROM endpoints WHERE id = value ->> 7), value ->> 8 FROM json_each(:rows)",
        {"rows": json_rows(rows)},
    )


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
    wanted: dict[tuple[str, str, tuple[str, ...]], dict[int, str]] = {}
    for event in events:
        if (source := _SOURCES.get(event.type)) is not None:
            name = source[0]
            of_data = name != "transaction_id"
            key = _decode(event.data).get(name, "") if of_data else event.transaction_id or ""
            wanted.setdefault(source, {})[event.seq] = str(key)
    filled: dict[int, Event] = {event.seq: event for event in events}
    for (_name, sql, members), keys in wanted.items():
        rows = {row[0]: row[1:] for row in reader.all(sql, {"ids": json_ids(sorted(set(keys.values())))})}
        for seq, key in keys.items():
            texts = {name: text for name, text in zip(members, rows.get(key, ()), strict=False) if text is not None}
            if texts:
                data = json_values.dump({**_decode(filled[seq].data), **texts}).decode()
                filled[seq] = replace(filled[seq], data=data)
    return list(filled.values())
