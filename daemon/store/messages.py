"""SMS: parts as the phone gave them, and the messages they make."""

import json
from collections.abc import Sequence
from typing import Any

from daemon.core.limits import PARTS_APART_US
from daemon.core.model import Message
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, load_all, load_optional
from daemon.wire import MessageState

_MESSAGE = columns(Message)

UNDER_KEY_MAX = 8
"""Messages looked at for one part; a reference comes back after 256 messages, so more are of other days."""


def has_part(reader: Reader, sim_key: str, sha256: str) -> bool:
    """Say whether this very PDU was already stored for this SIM."""
    return (
        reader.value(
            "SELECT 1 FROM sms_parts WHERE sim_key = :sim_key AND sha256 = :sha256",
            {"sim_key": sim_key, "sha256": sha256},
        )
        is not None
    )


def has_whole(reader: Reader, sim_key: str, sha256: str) -> bool:
    """Say whether this PDU is part of a message of this SIM that is whole."""
    return (
        reader.value(
            "SELECT 1 FROM sms_parts p JOIN messages m ON m.id = p.message_id "
            "WHERE p.sim_key = :sim_key AND p.sha256 = :sha256 AND m.state <> 'incomplete'",
            {"sim_key": sim_key, "sha256": sha256},
        )
        is not None
    )


def add_part(tx: Tx, part: dict[str, Any]) -> None:
    """Store one part; its `message_id` must exist."""
    tx.run(
        "INSERT INTO sms_parts (sim_key, sha256, pdu, message_id, position, sent_at, storage, slot, received_at) "
        "VALUES (:sim_key, :sha256, :pdu, :message_id, :position, :sent_at, :storage, :slot, :received_at)",
        part,
    )


def under_key(
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

    A phone's parts and those of a file do not make one message together.

    Parts of one message are at most a day apart. A reference comes back after 256 messages, so without the time each
    part of a busy line would be held against messages of other days.
    """
    rows = reader.all(
        f"SELECT {_MESSAGE} FROM messages WHERE sim_key = :sim_key AND sender = :sender "
        "AND reference_width = :width AND reference = :reference AND parts_total = :total "
        "AND (reasons LIKE '[\"imported\"%') = :imported "
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
            "limit": UNDER_KEY_MAX,
        },
    )
    return load_all(Message, rows[::-1])


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
    names = [name for name in _MESSAGE.split(", ") if name != "seq"]
    tx.run(
        f"INSERT INTO messages ({', '.join(names)}) VALUES ({', '.join(':' + name for name in names)})",
        message,
    )


def count_part(tx: Tx, message_id: str) -> None:
    """Note that one more part is in."""
    tx.run("UPDATE messages SET parts_seen = parts_seen + 1 WHERE id = :id", {"id": message_id})


def conclude(
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
    """Write down what a whole message turned out to be."""
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


def get(reader: Reader, message_id: str) -> Message | None:
    """Return one message."""
    return load_optional(
        Message,
        reader.one(f"SELECT {_MESSAGE} FROM messages WHERE id = :id", {"id": message_id}),
    )


def payment_of(reader: Reader, message_id: str) -> str | None:
    """Return the id of the payment that a message made."""
    found: str | None = reader.value(
        "SELECT payment_id FROM messages WHERE id = :id", {"id": message_id}
    )
    return found


def settle(
    tx: Tx, message_id: str, state: MessageState, reasons: list[str], payment_id: str | None
) -> None:
    """Note what has become of a message that was held and was released."""
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


def unread(reader: Reader, ids: Sequence[str], *, after: int, limit: int) -> list[Message]:
    """Return whole messages that nothing could read, in order of arrival: all of them behind `after`, or these."""
    wanted = {f"id{place}": one for place, one in enumerate(ids)}
    among = f"AND id IN ({', '.join(':' + name for name in wanted)}) " if wanted else ""
    rows = reader.all(
        f"SELECT {_MESSAGE} FROM messages WHERE state = 'unparsed' AND body <> '' AND seq > :after {among}"
        "ORDER BY seq LIMIT :limit",
        {"after": after, "limit": limit, **wanted},
    )
    return load_all(Message, rows)


def keep_received_at(tx: Tx, message_id: str, received_at: int) -> None:
    """Keep when a message came in: it was read later, not received later."""
    tx.run(
        "UPDATE messages SET received_at = :at WHERE id = :id",
        {"id": message_id, "at": received_at},
    )


def paid(tx: Tx, message_id: str) -> None:
    """Note that a held or historical payment's message paid a request after all."""
    tx.run(
        "UPDATE messages SET state = 'payment' WHERE id = :id AND state IN ('held', 'historical')",
        {"id": message_id},
    )


def became(tx: Tx, message_id: str, payment_id: str) -> None:
    """Note that a person vouched for a message, so that it makes a payment after all."""
    tx.run(
        "UPDATE messages SET state = 'payment', payment_id = :payment_id WHERE id = :id",
        {"id": message_id, "payment_id": payment_id},
    )


def dismiss(tx: Tx, message_id: str) -> None:
    """Note that a person said of a held message that it is no payment."""
    tx.run(
        "UPDATE messages SET state = 'not_payment' WHERE id = :id AND state = 'held'",
        {"id": message_id},
    )
