"""Messages, the parts that form them, and their list.

When the owner has had a notice about missing parts, `reasons` of the message holds `parts_missing`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from daemon.core.limits import PARTS_APART_US
from daemon.core.model import Message
from daemon.store.engine import Reader, Tx
from daemon.store.rows import (
    Conditions,
    columns,
    insertion,
    load,
    load_all,
    load_optional,
    select_page,
)
from daemon.wire import MessageState, Mode

_COLUMNS_WITH_LINE = f"{columns(Message, 'm.')}, pm.phone_number"
_WITH_LINE = "messages m LEFT JOIN payment_methods pm ON pm.id = m.payment_method_id"
_COLUMNS = columns(Message)
CANDIDATES_MAX = 8
"""Messages to look at for one part. A reference comes back after 256 messages, so further ones are of other days."""
PARTS_MISSING = "parts_missing"
_PARTS_MISSING = f'["{PARTS_MISSING}"]'


@dataclass(frozen=True, slots=True)
class MessageFilter:
    """The filters of a list of SMS.

    Attributes:
        line: A merchant number (E.164) or a payment method's id.
        sender: As in the message, ignoring case.
        since: First `received_at`.
    """

    state: MessageState | None = None
    line: str | None = None
    sender: str | None = None
    since: int | None = None


def page(
    reader: Reader, wanted: MessageFilter, *, limit: int, offset: int
) -> tuple[list[tuple[Message, str | None]], int]:
    """Return one page of SMS with the merchant number that received each, newest first, and their total number."""
    conditions = Conditions()
    conditions.by("m.state = :state", state=wanted.state)
    conditions.by("(pm.phone_number = :line OR pm.id = :line)", line=wanted.line)
    conditions.by("LOWER(m.sender) = LOWER(:sender)", sender=wanted.sender)
    conditions.by("m.received_at >= :since", since=wanted.since)
    rows, total = select_page(
        reader,
        conditions,
        columns=_COLUMNS_WITH_LINE,
        source=_WITH_LINE,
        order="m.seq DESC",
        limit=limit,
        offset=offset,
    )
    return [(load(Message, row[:-1]), row[-1]) for row in rows], total


def with_line(reader: Reader, message_id: str) -> tuple[Message, str | None] | None:
    """Return one SMS with the merchant number that received it."""
    row = reader.one(
        f"SELECT {_COLUMNS_WITH_LINE} FROM {_WITH_LINE} WHERE m.id = :id", {"id": message_id}
    )
    return None if row is None else (load(Message, row[:-1]), row[-1])


def get(reader: Reader, message_id: str) -> Message | None:
    """Return one message."""
    return load_optional(
        Message,
        reader.one(f"SELECT {_COLUMNS} FROM messages WHERE id = :id", {"id": message_id}),
    )


def payment_of(reader: Reader, message_id: str) -> str | None:
    """Return the id of a message's payment."""
    found: str | None = reader.value(
        "SELECT payment_id FROM messages WHERE id = :id", {"id": message_id}
    )
    return found


def unparsed(reader: Reader, ids: Sequence[str], *, after: int, limit: int) -> list[Message]:
    """Return complete messages that no wording could read, in order of arrival: all after `after`, or these ids."""
    wanted = {f"id{place}": one for place, one in enumerate(ids)}
    among = f"AND id IN ({', '.join(':' + name for name in wanted)}) " if wanted else ""
    rows = reader.all(
        f"SELECT {_COLUMNS} FROM messages WHERE state = 'unparsed' AND body <> '' AND seq > :after {among}"
        "ORDER BY seq LIMIT :limit",
        {"after": after, "limit": limit, **wanted},
    )
    return load_all(Message, rows)


def candidates_for_part(
    reader: Reader,
    *,
    sim_key: str,
    sender: str,
    width: int,
    reference: int,
    total: int,
    sent_at: int | None,
    imported: bool,
) -> list[Message]:
    """Return the latest messages that a part with this key and time may belong to or repeat, oldest first.

    Parts read by a phone and parts imported from a file never form one message.
    """
    # Parts of one message are at most a day apart. A reference comes back after 256 messages, so without the time, each
    # part on a busy line would be compared with messages of other days.
    rows = reader.all(
        f"SELECT {_COLUMNS} FROM messages WHERE sim_key = :sim_key AND sender = :sender "
        "AND reference_width = :width AND reference = :reference AND parts_total = :total "
        "AND imported = :imported "
        "AND (:sent_at IS NULL OR sent_at IS NULL OR ABS(sent_at - :sent_at) <= :apart) "
        "ORDER BY seq DESC LIMIT :limit",
        {
            "sim_key": sim_key,
            "sender": sender,
            "width": width,
            "reference": reference,
            "total": total,
            "sent_at": sent_at,
            "imported": imported,
            "apart": PARTS_APART_US,
            "limit": CANDIDATES_MAX,
        },
    )
    return load_all(Message, rows[::-1])


def has_part(reader: Reader, sim_key: str, sha256: str) -> bool:
    """Return whether this PDU was already stored for this SIM."""
    return reader.exists(
        "SELECT 1 FROM sms_parts WHERE sim_key = :sim_key AND sha256 = :sha256",
        {"sim_key": sim_key, "sha256": sha256},
    )


def has_whole(reader: Reader, sim_key: str, sha256: str) -> bool:
    """Return whether this PDU is part of a complete message of this SIM."""
    return reader.exists(
        "SELECT 1 FROM sms_parts p JOIN messages m ON m.id = p.message_id "
        "WHERE p.sim_key = :sim_key AND p.sha256 = :sha256 AND m.state <> 'incomplete'",
        {"sim_key": sim_key, "sha256": sha256},
    )


def message_of_part(reader: Reader, sim_key: str, sha256: str) -> str | None:
    """Return the id of the SMS that a part belongs to."""
    found: str | None = reader.value(
        "SELECT message_id FROM sms_parts WHERE sim_key = :sim_key AND sha256 = :sha256",
        {"sim_key": sim_key, "sha256": sha256},
    )
    return found


def parts_of(reader: Reader, message_id: str) -> list[tuple[int, str, int | None]]:
    """Return (position, PDU hex, SMSC time) of each stored part, in order of position."""
    return [
        (row[0], row[1], row[2])
        for row in reader.all(
            "SELECT position, pdu, sent_at FROM sms_parts WHERE message_id = :id ORDER BY position",
            {"id": message_id},
        )
    ]


def add(tx: Tx, message: dict[str, Any]) -> None:
    """Store a new message; `message` has every column of the table but `seq`."""
    tx.run(insertion("messages", Message), message)


def add_part(tx: Tx, part: dict[str, Any]) -> None:
    """Store one part; its `message_id` must exist."""
    tx.run(
        "INSERT INTO sms_parts (sim_key, sha256, pdu, message_id, position, sent_at, storage, slot, received_at) "
        "VALUES (:sim_key, :sha256, :pdu, :message_id, :position, :sent_at, :storage, :slot, :received_at)",
        part,
    )


def count_part(tx: Tx, message_id: str) -> None:
    """Count one more stored part of a message."""
    tx.run("UPDATE messages SET parts_seen = parts_seen + 1 WHERE id = :id", {"id": message_id})


def record_result(
    tx: Tx,
    message_id: str,
    *,
    body: str | None,
    state: MessageState,
    kind: str | None,
    provider: str | None,
    wording: str | None,
    fields: dict[str, Any],
    trusted: bool | None,
    reasons: list[str],
    payment_id: str | None,
    payment_method_id: str | None,
    received_at: int,
) -> None:
    """Record the result of processing a complete message."""
    tx.run(
        "UPDATE messages SET body = :body, state = :state, kind = :kind, provider = :provider, "
        "wording = :wording, fields = :fields, trusted = :trusted, reasons = :reasons, "
        "payment_id = :payment_id, payment_method_id = :payment_method_id, received_at = :received_at "
        "WHERE id = :id",
        {
            "id": message_id,
            "body": body,
            "state": state,
            "kind": kind,
            "provider": provider,
            "wording": wording,
            "fields": json.dumps(fields, ensure_ascii=False, separators=(",", ":")),
            "trusted": trusted,
            "reasons": json.dumps(reasons),
            "payment_id": payment_id,
            "payment_method_id": payment_method_id,
            "received_at": received_at,
        },
    )


def record_release(
    tx: Tx, message_id: str, state: MessageState, reasons: list[str], payment_id: str | None
) -> None:
    """Record the result of a held message that was released."""
    tx.run(
        "UPDATE messages SET state = :state, reasons = :reasons, payment_id = :payment_id, trusted = 1 "
        "WHERE id = :id",
        {
            "id": message_id,
            "state": state,
            "reasons": json.dumps(reasons),
            "payment_id": payment_id,
        },
    )


def keep_received_at(tx: Tx, message_id: str, received_at: int) -> None:
    """Restore the time of arrival: the message was read again later, not received later."""
    tx.run(
        "UPDATE messages SET received_at = :at WHERE id = :id",
        {"id": message_id, "at": received_at},
    )


def mark_paid(tx: Tx, message_id: str) -> None:
    """Record that the payment of a held or historical message paid a transaction in the end."""
    tx.run(
        "UPDATE messages SET state = 'payment' WHERE id = :id AND state IN ('held', 'historical')",
        {"id": message_id},
    )


def mark_approved(tx: Tx, message_id: str, payment_id: str) -> None:
    """Record that an operator approved a message, so that it makes a payment."""
    tx.run(
        "UPDATE messages SET state = 'payment', payment_id = :payment_id WHERE id = :id",
        {"id": message_id, "payment_id": payment_id},
    )


def mark_rejected(tx: Tx, message_id: str) -> None:
    """Record that an operator rejected a held message: it is not a payment."""
    tx.run(
        "UPDATE messages SET state = 'not_payment' WHERE id = :id AND state = 'held'",
        {"id": message_id},
    )


class IncompleteMessage(NamedTuple):
    """A message that lacks parts."""

    id: str
    mode: Mode
    device_id: str
    slot_index: int
    parts_seen: int
    parts_total: int


def incomplete_without_notice(reader: Reader, before: int, limit: int) -> list[IncompleteMessage]:
    """Return messages whose first part came before that time, that still lack parts and have no notice yet."""
    rows = reader.all(
        "SELECT id, mode, device_id, slot_index, parts_seen, parts_total FROM messages "
        "WHERE state = 'incomplete' AND imported = 0 AND created_at <= :before AND reasons = '[]' "
        "ORDER BY seq LIMIT :limit",
        {"before": before, "limit": limit},
    )
    return [IncompleteMessage(row[0], Mode(row[1]), *row[2:]) for row in rows]


def mark_noticed(tx: Tx, message_id: str) -> None:
    """Record that a notice was sent; the part that completes the message removes the mark."""
    tx.run(
        "UPDATE messages SET reasons = :reasons WHERE id = :id",
        {"reasons": _PARTS_MISSING, "id": message_id},
    )


def count_incomplete(reader: Reader) -> int:
    """Return the number of live messages that have lacked parts for long."""
    found = reader.value(
        "SELECT COUNT(*) FROM messages WHERE state = 'incomplete' AND mode = 'live' AND reasons = :reasons",
        {"reasons": _PARTS_MISSING},
    )
    return int(found)
