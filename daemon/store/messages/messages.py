"""Messages, the parts that form them, their list, and the wordings and senders that the shop confirmed with a genuine one.

When the owner has had a notice about missing parts, `reasons` of the message holds `parts_missing`.
"""

import contextlib
import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict

from daemon.core.inputs import MessageOutcome
from daemon.core.messages.message_json import stored_fields
from daemon.core.messages.trust import VARYING_DIGITS
from daemon.core.model import Message
from daemon.store.engine import Reader, Tx
from daemon.store.rows import Conditions, insertion, json_ids
from daemon.wire import MessageState, Mode

_COMPLETE = ", ".join(f"'{state}'" for state in MessageState if state is not MessageState.INCOMPLETE)
_ADD = insertion("messages", Message)
CANDIDATES_MAX: Final = 64
"""Rival parts to look at for one part beside those of its message, the nearest in SMSC time."""
PARTS_MISSING = "parts_missing"


class MessageFilter(Struct, frozen=True):
    """The filters of a list of SMS.

    Attributes:
        line: A merchant number (E.164) or a payment method's id.
        sender: As in the message, ignoring case.
        since: First `received_at`.
        mode: Live or test; None is both.
    """

    state: MessageState | None = None
    line: str | None = None
    sender: str | None = None
    since: int | None = None
    mode: Mode | None = None


def page(reader: Reader, wanted: MessageFilter, *, limit: int, offset: int) -> tuple[list[Any], int]:
    """Return one page of SMS with the merchant number that received each, newest first, and their total number."""
    conditions = _conditions(wanted, "LOWER(m.sender) = LOWER(:sender)")
    if wanted.mode is not None:
        # As a literal, so that the index of the sandbox is used.
        conditions.always(f"m.mode = '{wanted.mode}'")
    found = reader.page(
        "SELECT m.*, pm.phone_number FROM messages m LEFT JOIN payment_methods pm ON pm.seq = m.payment_method_seq",
        conditions,
        order="m.seq DESC",
        limit=limit,
        offset=offset,
        total=_total(reader, wanted),
        m=Message,
    )
    return found.rows, found.total


def with_text(reader: Reader, text: str, *, mode: Mode, since: int, limit: int) -> list[Message]:
    """Return the newest SMS since a time whose text holds this one."""
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return reader.every(
        Message,
        "SELECT m.* FROM messages m WHERE m.received_at >= :since AND m.mode = :mode AND m.body LIKE :text ESCAPE '\\' "
        "ORDER BY m.received_at DESC, m.seq DESC LIMIT :limit",
        {"since": since, "mode": mode, "text": f"%{escaped}%", "limit": limit},
    )


def _conditions(wanted: MessageFilter, of_sender: str) -> Conditions:
    conditions = Conditions()
    conditions.by("m.state = :state", state=wanted.state)
    conditions.by(
        "COALESCE(m.payment_method_seq, 0) IN (SELECT seq FROM payment_methods WHERE id = :line OR phone_number = :line)",
        line=wanted.line,
    )
    conditions.by(of_sender, sender=wanted.sender)
    conditions.by("m.received_at >= :since", since=wanted.since)
    return conditions


def _total(reader: Reader, wanted: MessageFilter) -> int:
    """Return the number of messages of a list: from the kept totals, or counted in one index."""
    if wanted.sender is not None and wanted.since is None:
        return _count(reader, wanted, of_sender="LOWER(m.sender) = LOWER(:sender)")
    total = 0
    if wanted.state is not MessageState.INCOMPLETE and wanted.since is None:
        conditions = Conditions()
        conditions.by("mode = :mode", mode=wanted.mode)
        conditions.by("state = :state", state=wanted.state)
        conditions.by(
            "line IN (SELECT seq FROM payment_methods WHERE id = :line OR phone_number = :line)", line=wanted.line
        )
        total += reader.count(
            f"SELECT COALESCE(SUM(count), 0) FROM message_counts WHERE {conditions.where}", conditions.params
        )
    elif wanted.state is None:
        # The state is the first column of the index of the period, and the rest is the index's own condition.
        total += _count(reader, wanted, "m.state <> 'incomplete'", f"m.state IN ({_COMPLETE})")
    elif wanted.state is not MessageState.INCOMPLETE:
        total += _count(reader, wanted, "m.state <> 'incomplete'")
    if wanted.state in (None, MessageState.INCOMPLETE):
        # There are few of those.
        total += _count(reader, wanted, "m.state = 'incomplete'")
    return total


def _count(
    reader: Reader,
    wanted: MessageFilter,
    *those: str,
    # COALESCE excludes the index of a sender, which may hold far more rows than that of the period.
    of_sender: str = "LOWER(COALESCE(m.sender, '')) = LOWER(:sender)",
) -> int:
    conditions = _conditions(wanted, of_sender)
    conditions.by("m.mode = :mode", mode=wanted.mode)
    for test in those:
        conditions.always(test)
    return reader.count(f"SELECT COUNT(*) FROM messages m WHERE {conditions.where}", conditions.params)


def with_line(reader: Reader, message_id: str) -> tuple[Message, str | None] | None:
    """Return one SMS with the merchant number that received it."""
    rows: list[Any] = reader.joined(
        "SELECT m.*, pm.phone_number FROM messages m LEFT JOIN payment_methods pm ON pm.seq = m.payment_method_seq WHERE m.id = :id",
        {"id": message_id},
        m=Message,
    )
    return rows[0] if rows else None


def get(reader: Reader, message_id: str) -> Message | None:
    """Return one message."""
    return reader.first(Message, "SELECT * FROM messages WHERE id = :id", {"id": message_id})


def payment_of(reader: Reader, message_id: str) -> str | None:
    """Return the id of a message's payment."""
    found: str | None = reader.value("SELECT payment_id FROM messages WHERE id = :id", {"id": message_id})
    return found


def unparsed(reader: Reader, ids: Sequence[str], *, after: int, limit: int) -> list[Message]:
    """Return complete messages that no wording could read, in order of arrival: all after `after`, or these ids."""
    if ids:
        return reader.every(
            Message,
            "SELECT * FROM messages WHERE state = 'unparsed' AND body <> '' AND seq > :after "
            "AND id IN (SELECT value ->> 0 FROM json_each(:ids)) ORDER BY seq LIMIT :limit",
            {"after": after, "limit": limit, "ids": json_ids(ids)},
        )
    return reader.every(
        Message,
        "SELECT * FROM messages WHERE state = 'unparsed' AND body <> '' AND seq > :after ORDER BY seq LIMIT :limit",
        {"after": after, "limit": limit},
    )


class PartRow(Struct, frozen=True):
    """One stored part of a long message; times are microseconds, `is_open` while its message lacks parts."""

    message_id: str
    position: int
    pdu: str
    sent_at: int | None
    received_at: int
    is_open: bool


def parts_like(
    reader: Reader,
    *,
    key: dict[str, Any],
    smsc: str | None,
    homes: Sequence[str],
    sent_at: int | None,
    span: int,
    sha256: str = "",
) -> list[PartRow] | None:
    """Return the parts that may be of one message with a part, the nearest in SMSC time first; None if it is stored.

    `key` has the part's SIM, sender, reference width, reference and total, and whether it is imported: parts read by a
    phone and parts imported from a file never form one message. The others came through its SMSC, or any of `homes` if
    it is one of them, and at most `span` microseconds apart. `sha256` is given if the part is not stored, as far as the
    caller knows.
    """
    if sha256 and has_part(reader, key["sim_key"], sha256):
        return None
    rows = reader.all(
        "SELECT m.id, p.position, p.pdu, p.pdu_text, p.sent_at, p.received_at, m.state = 'incomplete' AND m.body IS NULL "
        "FROM messages m JOIN sms_parts p ON p.message_seq = m.seq WHERE m.sim_key = :sim_key AND m.sender = :sender "
        "AND m.reference_width = :width AND m.reference = :reference AND m.parts_total = :total AND m.imported = :imported "
        "AND m.branch_id IS NULL AND (m.smsc = :smsc OR (CAST(:smsc AS TEXT) IS NULL AND m.smsc IS NULL) "
        "OR EXISTS (SELECT 1 FROM json_each(:homes) WHERE LTRIM(m.smsc, '+') LIKE (value ->> 0))) "
        "AND (CAST(:sent_at AS BIGINT) IS NULL OR m.sent_at IS NULL OR m.sent_at BETWEEN :earliest AND :latest) "
        "ORDER BY COALESCE(ABS(p.sent_at - :sent_at), 0), p.seq LIMIT :limit",
        {
            **key,
            "smsc": smsc,
            "homes": _patterns(homes),
            "sent_at": sent_at,
            "earliest": (sent_at or 0) - span,
            "latest": (sent_at or 0) + span,
            "limit": CANDIDATES_MAX + int(key["total"]),
        },
    )
    return [_stored_part(row) for row in rows]


def _stored_part(row: tuple[Any, ...]) -> PartRow:
    message_id, position, octets, text, sent_at, received_at, is_open = row
    pdu = _as_pdu(octets, text)
    return PartRow(message_id, position, pdu, sent_at, received_at, bool(is_open))


def _as_pdu(octets: bytes | None, text: str | None) -> str:
    """Return the phone's PDU; empty if it was erased."""
    return text or (octets or b"").hex().upper()


def _patterns(homes: Sequence[str]) -> str:
    """Return the patterns of the SMSCs that are as good as these, as `json_ids`."""
    return json_ids(f"{home.lstrip('+')[:-VARYING_DIGITS]}{'_' * VARYING_DIGITS}" for home in homes)


def stored_parts(reader: Reader, message_id: str) -> list[PartRow]:
    """Return the parts of a message, in order of position."""
    rows = reader.all(
        "SELECT m.id, p.position, p.pdu, p.pdu_text, p.sent_at, p.received_at, m.state = 'incomplete' AND m.body IS NULL "
        "FROM messages m JOIN sms_parts p ON p.message_seq = m.seq WHERE m.id = :id ORDER BY p.position, p.seq",
        {"id": message_id},
    )
    return [_stored_part(row) for row in rows]


def count_unjoined(
    reader: Reader, sim_key: str, homes: Sequence[str], since: int, limit: int, joined_to: str | None
) -> int:
    """Return the number of messages through home SMSCs that lack parts since then, counted up to a limit.

    The message `joined_to` has one part that it does not count yet.
    """
    return reader.count(
        "SELECT COUNT(*) FROM (SELECT 1 FROM messages m WHERE m.state = 'incomplete' AND m.sim_key = :sim "
        "AND m.parts_seen + CASE WHEN m.id = :joined_to THEN 1 ELSE 0 END < m.parts_total "
        "AND m.created_at >= :since AND (m.smsc IS NULL OR EXISTS (SELECT 1 FROM json_each(:homes) "
        "WHERE LTRIM(m.smsc, '+') LIKE (value ->> 0))) LIMIT :limit) few",
        {"sim": sim_key, "since": since, "limit": limit, "joined_to": joined_to, "homes": _patterns(homes)},
    )


def strays(reader: Reader, sim_key: str, senders: Sequence[str], since: int, until: int, limit: int) -> list[int]:
    """Return when messages of these senders through home SMSCs came of which parts are missing, between two times."""
    if not senders:
        return []
    return reader.column(
        "SELECT m.created_at FROM messages m WHERE m.state = 'incomplete' AND m.sim_key = :sim AND m.parts_seen < m.parts_total "
        "AND m.created_at > :since AND m.created_at <= :until AND m.sender IN (SELECT value ->> 0 FROM json_each(:senders)) "
        "AND EXISTS (SELECT 1 FROM sim_smscs s WHERE s.sim_key = m.sim_key AND s.source <> 'noticed' "
        "AND SUBSTR(s.smsc, 1, LENGTH(s.smsc) - :varying) = SUBSTR(m.smsc, 1, LENGTH(m.smsc) - :varying)) LIMIT :limit",
        {
            "sim": sim_key,
            "since": since,
            "until": until,
            "limit": limit,
            "senders": json_ids(senders),
            "varying": VARYING_DIGITS,
        },
    )


def assemble_later(tx: Tx, message_id: str, at: int | None) -> None:
    """Set when the parts of a message are put together; the first time that was set stays."""
    tx.run(
        "UPDATE messages SET assemble_at = :at WHERE id = :id AND (CAST(:at AS BIGINT) IS NULL OR assemble_at IS NULL)",
        {"id": message_id, "at": at},
    )


def due_for_assembly(reader: Reader, now: int, longest: int, limit: int) -> list[Message]:
    """Return the messages that are due for joining their parts, in order of arrival.

    One whose time is later than the `longest` wait from now was stored while the clock was ahead.
    """
    return reader.every(
        Message,
        "SELECT * FROM messages WHERE assemble_at <= :now OR assemble_at > :latest ORDER BY assemble_at, seq LIMIT :limit",
        {"now": now, "latest": now + longest, "limit": limit},
    )


def gather_parts(tx: Tx, target: str, members: Sequence[PartRow], body: str, adds: int) -> None:
    """Move the parts of an assembly into one message, and its other parts into theirs; a message without parts goes.

    The message has `adds` parts that it does not count yet.
    """
    tx.run(
        "UPDATE messages SET body = :body, parts_seen = parts_seen + :adds WHERE id = :id",
        {"body": body, "id": target, "adds": adds},
    )
    for part in members:
        if part.message_id == target:
            continue
        both = {"target": target, "other": part.message_id, "position": part.position}
        swap = (
            "UPDATE sms_parts SET message_seq = "
            "(SELECT seq FROM messages WHERE id IN (:target, :other) AND seq <> sms_parts.message_seq) "
            "WHERE position = :position AND message_seq IN (SELECT seq FROM messages WHERE id IN (:target, :other))"
        )
        tx.run(swap, both)
        tx.run(
            "DELETE FROM messages WHERE id = :other AND NOT EXISTS (SELECT 1 FROM sms_parts p WHERE p.message_seq = messages.seq)",
            {"other": part.message_id},
        )
        for message_id in (target, part.message_id):
            count_parts(tx, message_id)


# `sms_parts.sim` is the number of a SIM, or below zero that of a number that was on none (`WITHOUT_SIM`, 'no-sim:').


def has_part(reader: Reader, sim_key: str, sha256: str) -> bool:
    """Return whether this PDU was already stored for this SIM."""
    return reader.exists(
        "SELECT 1 FROM sms_parts WHERE sha256 = :sha256 AND sim = "
        "COALESCE((SELECT seq FROM sims WHERE sim_key = :sim_key), (SELECT -seq FROM payment_methods WHERE 'no-sim:' || id = :sim_key))",
        {"sim_key": sim_key, "sha256": bytes.fromhex(sha256)},
    )


def known_parts(reader: Reader, keys: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return those of these parts (SIM, digest) that are stored."""
    return {key for key in keys if has_part(reader, *key)}


def part_keys(reader: Reader, message_ids: Sequence[str]) -> set[tuple[str, str]]:
    """Return the parts (SIM, digest) of these messages."""
    rows = reader.all(
        "SELECT m.sim_key, p.sha256 FROM messages m JOIN sms_parts p ON p.message_seq = m.seq "
        "WHERE m.id IN (SELECT value ->> 0 FROM json_each(:ids))",
        {"ids": json_ids(message_ids)},
    )
    return {(row[0], row[1].hex()) for row in rows}


def has_whole(reader: Reader, sim_key: str, sha256: str) -> bool:
    """Return whether this PDU is part of a complete message of this SIM."""
    return reader.exists(
        "SELECT 1 FROM sms_parts p JOIN messages m ON m.seq = p.message_seq "
        "WHERE p.sha256 = :sha256 AND m.state <> 'incomplete' AND p.sim = "
        "COALESCE((SELECT seq FROM sims WHERE sim_key = :sim_key), (SELECT -seq FROM payment_methods WHERE 'no-sim:' || id = :sim_key))",
        {"sim_key": sim_key, "sha256": bytes.fromhex(sha256)},
    )


def message_of_part(reader: Reader, sim_key: str, sha256: str) -> str | None:
    """Return the id of the SMS that a part belongs to."""
    found: str | None = reader.value(
        "SELECT m.id FROM sms_parts p JOIN messages m ON m.seq = p.message_seq WHERE p.sha256 = :sha256 AND p.sim = "
        "COALESCE((SELECT seq FROM sims WHERE sim_key = :sim_key), (SELECT -seq FROM payment_methods WHERE 'no-sim:' || id = :sim_key))",
        {"sim_key": sim_key, "sha256": bytes.fromhex(sha256)},
    )
    return found


def add(tx: Tx, message: dict[str, Any]) -> bool:
    """Store a new message; return False if it is there: it came back from the hub, without its parts.

    `message` has every column of the table but `seq`.
    """
    return tx.changed(f"{_ADD} ON CONFLICT (id) DO NOTHING", message)


def count_parts(tx: Tx, message_id: str) -> None:
    """Let a message that came back from the hub count the parts that it has again."""
    tx.run(
        "UPDATE messages SET parts_seen = (SELECT COUNT(*) FROM sms_parts p WHERE p.message_seq = messages.seq) "
        "WHERE id = :id",
        {"id": message_id},
    )


def put_text(tx: Tx, message_id: str, body: str) -> None:
    """Store the text of a message that came back from the hub without it."""
    tx.run(
        "UPDATE messages SET body = :body WHERE id = :id AND COALESCE(body, '') = ''", {"id": message_id, "body": body}
    )


def add_part(tx: Tx, part: dict[str, Any]) -> None:
    """Store one part, with `pdu` as the phone gave it and `sha256` in hex; its `message_id` and `sim_key` must exist."""
    # Hex takes half the space as octets. Anything else is stored as it is, for the operator.
    octets, text = None, part["pdu"]
    with contextlib.suppress(ValueError):
        if _as_pdu(given := bytes.fromhex(text), None) == text:
            octets, text = given, None
    tx.run(
        "INSERT INTO sms_parts (sim, sha256, pdu, pdu_text, message_seq, position, sent_at, storage, slot, received_at, "
        "synthesised) VALUES ("
        "COALESCE((SELECT seq FROM sims WHERE sim_key = :sim_key), (SELECT -seq FROM payment_methods WHERE 'no-sim:' || id = :sim_key)), "
        ":sha256, :pdu, :text, (SELECT seq FROM messages WHERE id = :message_id), :position, :sent_at, "
        ":storage, :slot, :received_at, :synthesised)",
        {**part, "sha256": bytes.fromhex(part["sha256"]), "pdu": octets, "text": text},
    )


def count_part(tx: Tx, message_id: str) -> None:
    """Count one more stored part of a message."""
    tx.run("UPDATE messages SET parts_seen = parts_seen + 1 WHERE id = :id", {"id": message_id})


def record_result(
    tx: Tx,
    message_id: str,
    outcome: MessageOutcome,
    *,
    body: str | None,
    payment_method_id: str | None,
    received_at: int,
) -> None:
    """Record the result of processing a complete message."""
    tx.run(
        "UPDATE messages SET body = :body, state = :state, kind = :kind, provider = :provider, "
        "wording = :wording, fields = :fields, trusted = :trusted, reasons = :reasons, "
        "payment_id = :payment_id, payment_method_seq = CASE WHEN CAST(:payment_method_id AS TEXT) IS NOT NULL "
        "THEN COALESCE((SELECT seq FROM payment_methods WHERE id = :payment_method_id), 0) END, received_at = :received_at "
        "WHERE id = :id",
        {
            **asdict(outcome),
            "id": message_id,
            "body": body,
            "fields": stored_fields(outcome.fields),
            "reasons": json.dumps(outcome.reasons),
            "payment_method_id": payment_method_id,
            "received_at": received_at,
        },
    )


def record_release(tx: Tx, message_id: str, state: MessageState, reasons: list[str], payment_id: str | None) -> None:
    """Record the result of a held message that was released."""
    tx.run(
        "UPDATE messages SET state = :state, reasons = :reasons, payment_id = :payment_id, trusted = 1 WHERE id = :id",
        {"id": message_id, "state": state, "reasons": json.dumps(reasons), "payment_id": payment_id},
    )


def keep_received_at(tx: Tx, message_id: str, received_at: int) -> None:
    """Restore the time of arrival: the message was read again later, not received later."""
    tx.run("UPDATE messages SET received_at = :at WHERE id = :id", {"id": message_id, "at": received_at})


def mark_paid(tx: Tx, message_id: str) -> None:
    """Record that the payment of a held or historical message paid a transaction in the end."""
    tx.run(
        "UPDATE messages SET state = 'payment' WHERE id = :id AND state IN ('held', 'historical')", {"id": message_id}
    )


def mark_approved(tx: Tx, message_id: str, payment_id: str) -> None:
    """Record that an operator approved a message, so that it makes a payment."""
    tx.run(
        "UPDATE messages SET state = 'payment', payment_id = :payment_id WHERE id = :id",
        {"id": message_id, "payment_id": payment_id},
    )


def mark_held(tx: Tx, message_id: str, payment_id: str | None) -> None:
    """Record that a message is held again, because the decision about it was taken back."""
    tx.run(
        "UPDATE messages SET state = 'held', payment_id = :payment_id WHERE id = :id",
        {"id": message_id, "payment_id": payment_id},
    )


def mark_rejected(tx: Tx, message_id: str) -> None:
    """Record that an operator rejected a held message: it is not a payment."""
    tx.run("UPDATE messages SET state = 'not_payment' WHERE id = :id AND state = 'held'", {"id": message_id})


def held_of_sender(reader: Reader, *, mode: Mode, provider: str, sender: str, after: int, limit: int) -> list[Message]:
    """Return held messages of a sender that are in no balance chain, in order, after `after`."""
    return reader.every(
        Message,
        "SELECT m.* FROM messages m WHERE m.mode = :mode AND m.provider = :provider AND m.sender = :sender AND m.state = 'held' "
        "AND m.seq > :after AND NOT EXISTS (SELECT 1 FROM line_balances b WHERE b.message_seq = m.seq) ORDER BY m.seq LIMIT :limit",
        {"mode": mode, "provider": provider, "sender": sender, "after": after, "limit": limit},
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
    """Return messages that began before that time, still lack parts and have no notice yet."""
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
        "UPDATE messages SET reasons = :reasons WHERE id = :id", {"reasons": f'["{PARTS_MISSING}"]', "id": message_id}
    )


def count_incomplete(reader: Reader) -> int:
    """Return the number of live messages that have lacked parts for long."""
    return reader.count(
        "SELECT COUNT(*) FROM messages WHERE state = 'incomplete' AND mode = 'live' AND reasons = '[\"parts_missing\"]'"
    )


class Confirmed(Struct, frozen=True):
    """One confirmation.

    Attributes:
        network: Short name.
        wording: As stored with the messages that it reads.
        sender: The originating address of the message that proved it, byte for byte.
    """

    mode: Mode
    network: str
    wording: str
    sender: str
    message_id: str
    confirmed_by: str
    confirmed_at: int


def is_confirmed(reader: Reader, mode: Mode, network: str, wording: str, sender: str) -> bool:
    """Return whether the shop has confirmed a wording from a sender."""
    return reader.exists(
        "SELECT 1 FROM confirmed_wordings WHERE mode = :mode AND network = :network AND wording = :wording "
        "AND sender = :sender",
        {"mode": mode, "network": network, "wording": wording, "sender": sender},
    )


def senders(reader: Reader, mode: Mode, network: str) -> tuple[str, ...]:
    """Return the senders that the shop has confirmed for a network."""
    rows = reader.all(
        "SELECT DISTINCT sender FROM confirmed_wordings WHERE mode = :mode AND network = :network",
        {"mode": mode, "network": network},
    )
    return tuple(row[0] for row in rows)


def all_confirmed(reader: Reader) -> list[Confirmed]:
    """Return all confirmations, newest first."""
    return reader.every(Confirmed, "SELECT * FROM confirmed_wordings ORDER BY seq DESC")


def add_wording(tx: Tx, row: Confirmed) -> bool:
    """Store a confirmation; return False if it exists already."""
    return tx.changed(
        f"{insertion('confirmed_wordings', Confirmed)} ON CONFLICT (mode, network, wording, sender) DO NOTHING",
        asdict(row),
    )


def remove_wording(tx: Tx, network: str, wording: str) -> int:
    """Remove the confirmations of a wording; return the number of senders."""
    return tx.run(
        "DELETE FROM confirmed_wordings WHERE network = :network AND wording = :wording",
        {"network": network, "wording": wording},
    )
