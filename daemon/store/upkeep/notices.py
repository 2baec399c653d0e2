"""Notices to the owner, by cause and hour, and the messages sent about them."""

import json
from typing import Any, Final

from msgspec import Struct

from daemon.core.model import NoticeRow
from daemon.core.text import BESIDE, Text, plain, restore
from daemon.core.upkeep.notice_rules import REPEAT_US, EventNotice
from daemon.store.engine import Reader, Tx
from daemon.store.rows import Conditions

ATTEMPTS_SEARCHED: Final = 500
"""Newest attempts, of all endpoints, to search for the endpoint's last failure: it has just failed."""


class Send(Struct, frozen=True):
    """One message to the owner, over one channel."""

    seq: int
    id: str
    channel: str
    subject: str
    body: str
    tries: int
    due_at: int | None
    ended_at: int | None
    error: str | None
    queued_at: int


def cursor(reader: Reader) -> int:
    """Return the last journal entry that was read."""
    return reader.count("SELECT seq FROM notice_cursor WHERE id = 1")


def move_cursor(tx: Tx, seq: int) -> None:
    """Record the last journal entry that was read."""
    tx.run(
        "INSERT INTO notice_cursor (id, seq) VALUES (1, :seq) ON CONFLICT (id) DO UPDATE SET seq = excluded.seq",
        {"seq": seq},
    )


def add_occurrence(tx: Tx, notice_id: str, told: EventNotice, at: int) -> bool:
    """Record an occurrence of a cause; return True to send a notice now, False to leave it to the hour's digest.

    A repeated notice shows the latest text.
    """
    again = tx.run(
        "UPDATE notices SET count = count + 1, last_at = :at, seen_at = NULL, text = :text, words = :words, next = :next "
        "WHERE seq = (SELECT MAX(seq) FROM notices WHERE cause = :cause) "
        "AND first_at > :since AND recovered_at IS NULL",
        {"cause": told.cause, "at": at, "since": at - REPEAT_US, **_stored(told.text), "next": told.next},
    )
    if again:
        return False
    tx.run(
        "INSERT INTO notices (id, cause, kind, urgent, text, words, next, count, told, first_at, last_at) "
        "VALUES (:id, :cause, :kind, :urgent, :text, :words, :next, 1, 1, :at, :at)",
        {
            "id": notice_id,
            "cause": told.cause,
            "kind": told.kind,
            "urgent": told.urgent,
            **_stored(told.text),
            "next": told.next,
            "at": at,
        },
    )
    return True


def _stored(text: Text) -> dict[str, str]:
    """Return the sentence in English, with its key and values beside it."""
    return {"text": str(text), "words": json.dumps(plain(text), ensure_ascii=False)}


def text_of(row: NoticeRow) -> Text | str:
    """Return the sentence of a notice, for rendering it in another language."""
    words = None if row.words is None else json.loads(row.words)
    return restore({"text": row.text, f"text{BESIDE}": words}, "text")


def is_open(reader: Reader, cause: str) -> bool:
    """Return whether a cause has a notice and is not over."""
    return open_kind(reader, cause) is not None


def open_kind(reader: Reader, cause: str) -> str | None:
    """Return the kind of the last notice of a cause; None if it is over or there was none."""
    kind: str | None = reader.value(
        "SELECT kind FROM notices WHERE seq = (SELECT MAX(seq) FROM notices WHERE cause = :cause) "
        "AND recovered_at IS NULL",
        {"cause": cause},
    )
    return kind


def recover(tx: Tx, cause: str, at: int) -> bool:
    """Record that a cause is over; return True if it was open, so that a notice of its end is sent."""
    return tx.changed(
        "UPDATE notices SET recovered_at = :at, told = count "
        "WHERE seq = (SELECT MAX(seq) FROM notices WHERE cause = :cause) AND recovered_at IS NULL",
        {"cause": cause, "at": at},
    )


def reviews_over(reader: Reader) -> list[str]:
    """Return the open causes about held payments of which none waits any more."""
    return [
        cause
        for (cause,) in reader.all(
            "SELECT n.cause FROM notices n WHERE n.kind = 'review.opened' AND n.recovered_at IS NULL AND NOT EXISTS "
            "(SELECT 1 FROM reviews r WHERE r.state = 'open' AND r.mode = 'live' AND 'review.opened:' || r.reason = n.cause)"
        )
    ]


def has_digest(reader: Reader, now: int) -> bool:
    """Return whether `take_digest` would find a cause."""
    return reader.exists(
        "SELECT 1 FROM notices WHERE told < count AND first_at <= :since LIMIT 1", {"since": now - REPEAT_US}
    )


def take_digest(tx: Tx, now: int) -> list[NoticeRow]:
    """Return and mark the causes that came up again after their notice, once their hour is over."""
    return tx.every(
        NoticeRow,
        "UPDATE notices SET told = count WHERE told < count AND first_at <= :since RETURNING *",
        {"since": now - REPEAT_US},
    )


def page(reader: Reader, *, unseen: bool, limit: int, offset: int) -> tuple[list[NoticeRow], int]:
    """Return one page of notices, newest first, and their total number."""
    conditions = Conditions()
    if unseen:
        conditions.always("n.seen_at IS NULL")
    found = reader.page(
        "SELECT n.* FROM notices n", conditions, order="n.seq DESC", limit=limit, offset=offset, n=NoticeRow
    )
    return found.rows, found.total


def unseen(reader: Reader) -> tuple[int, int]:
    """Return the number of unseen notices, and how many of them are urgent and not over."""
    row = reader.one(
        "SELECT COUNT(*), COUNT(*) FILTER (WHERE urgent = 1 AND recovered_at IS NULL) FROM notices "
        "WHERE seen_at IS NULL"
    )
    assert row is not None, "an aggregate has one row"
    return int(row[0]), int(row[1])


def exists(reader: Reader, notice_id: str) -> bool:
    """Return whether this notice exists, seen or not."""
    return reader.exists("SELECT 1 FROM notices WHERE id = :id", {"id": notice_id})


def mark_seen(tx: Tx, notice_id: str | None, now: int) -> int:
    """Mark one notice as seen, or all with None; return how many were new."""
    return tx.run(
        "UPDATE notices SET seen_at = :now, told = count WHERE seen_at IS NULL AND (CAST(:id AS TEXT) IS NULL OR id = :id)",
        {"id": notice_id, "now": now},
    )


def endpoint_facts(reader: Reader, endpoint_id: str) -> dict[str, Any]:
    """Return `url`, `implicit`, `deleted`, `last_status_code` and `last_error_code` (of failures) of an endpoint."""
    found = reader.one(
        "SELECT url, kind = 'implicit', deleted_at IS NOT NULL FROM endpoints WHERE id = :id", {"id": endpoint_id}
    )
    if found is None:
        return {}
    last = reader.one(
        "SELECT a.status_code, a.error_code FROM "
        "(SELECT seq, delivery_seq, status_code, error_code FROM attempts WHERE seq > "
        "(SELECT MAX(seq) FROM attempts) - :look_back AND counted = 1) a "
        "JOIN deliveries d ON d.seq = a.delivery_seq WHERE d.endpoint_seq = (SELECT seq FROM endpoints WHERE id = :id) ORDER BY a.seq DESC LIMIT 1",
        {"id": endpoint_id, "look_back": ATTEMPTS_SEARCHED},
    ) or (None, None)
    return {
        "url": found[0],
        "implicit": bool(found[1]),
        "deleted": bool(found[2]),
        "last_status_code": last[0],
        "last_error_code": last[1],
    }


def queue(tx: Tx, send_id: str, *, channel: str, subject: str, body: str, now: int) -> None:
    """Queue one message to the owner."""
    tx.run(
        "INSERT INTO notice_sends (id, channel, subject, body, tries, due_at, queued_at) "
        "VALUES (:id, :channel, :subject, :body, 0, :now, :now)",
        {"id": send_id, "channel": channel, "subject": subject, "body": body, "now": now},
    )


def due(reader: Reader, now: int, limit: int) -> list[Send]:
    """Return the due messages, oldest first."""
    return reader.every(
        Send,
        "SELECT * FROM notice_sends WHERE due_at <= :now ORDER BY due_at, seq LIMIT :limit",
        {"now": now, "limit": limit},
    )


def next_due(reader: Reader) -> int | None:
    """Return when the next message is due, None if none waits."""
    at: int | None = reader.value("SELECT MIN(due_at) FROM notice_sends WHERE due_at IS NOT NULL")
    return at


def record_try(tx: Tx, send_id: str, *, due_at: int | None, error: str | None, now: int) -> None:
    """Record the result of a try: sent (`error` None), to be tried again at `due_at`, or given up."""
    tx.run(
        "UPDATE notice_sends SET tries = tries + 1, due_at = :due_at, error = :error, "
        "ended_at = CASE WHEN CAST(:due_at AS BIGINT) IS NULL THEN CAST(:now AS BIGINT) END WHERE id = :id",
        {"id": send_id, "due_at": due_at, "error": error, "now": now},
    )


def last_failed(reader: Reader) -> Send | None:
    """Return the last failed message, if its channel has not worked since."""
    return reader.first(
        Send,
        "SELECT * FROM notice_sends s WHERE error IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM notice_sends later WHERE later.channel = s.channel AND later.error IS NULL "
        "AND later.ended_at IS NOT NULL AND later.seq > s.seq) ORDER BY seq DESC LIMIT 1",
    )
