"""What the owner has to be told, by cause and hour, and what goes out about it."""

from dataclasses import dataclass
from typing import Final

from daemon.core.model import NoticeRow
from daemon.core.notice_rules import QUIET_US, Told
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, load_all, load_optional


@dataclass(frozen=True, slots=True)
class Send:
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


_NOTICE: Final = columns(NoticeRow)
_SEND: Final = columns(Send)


def cursor(reader: Reader) -> int:
    """Return how far the journal was read."""
    return int(reader.value("SELECT seq FROM notice_cursor WHERE id = 1") or 0)


def move_cursor(tx: Tx, seq: int) -> None:
    """Note how far the journal was read."""
    tx.run(
        "INSERT INTO notice_cursor (id, seq) VALUES (1, :seq) "
        "ON CONFLICT (id) DO UPDATE SET seq = excluded.seq",
        {"seq": seq},
    )


def happened(tx: Tx, notice_id: str, told: Told, at: int) -> bool:
    """Note that a cause came up; True when it is to be told at once, not with the digest of its hour.

    What is shown of it is what was said last.
    """
    again = tx.run(
        "UPDATE notices SET count = count + 1, last_at = :at, seen_at = NULL, text = :text, next = :next "
        "WHERE seq = (SELECT MAX(seq) FROM notices WHERE cause = :cause) "
        "AND first_at > :since AND recovered_at IS NULL",
        {
            "cause": told.cause,
            "at": at,
            "since": at - QUIET_US,
            "text": told.text,
            "next": told.next,
        },
    )
    if again:
        return False
    tx.run(
        "INSERT INTO notices (id, cause, kind, urgent, text, next, count, told, first_at, last_at) "
        "VALUES (:id, :cause, :kind, :urgent, :text, :next, 1, 1, :at, :at)",
        {
            "id": notice_id,
            "cause": told.cause,
            "kind": told.kind,
            "urgent": told.urgent,
            "text": told.text,
            "next": told.next,
            "at": at,
        },
    )
    return True


def is_open(reader: Reader, cause: str) -> bool:
    """Say whether a cause was told of and is not over."""
    return (
        reader.value(
            "SELECT 1 FROM notices WHERE seq = (SELECT MAX(seq) FROM notices WHERE cause = :cause) "
            "AND recovered_at IS NULL",
            {"cause": cause},
        )
        is not None
    )


def recover(tx: Tx, cause: str, at: int) -> bool:
    """Note that a cause is over; True when it was open, so that its end is told too."""
    return (
        tx.run(
            "UPDATE notices SET recovered_at = :at, told = count "
            "WHERE seq = (SELECT MAX(seq) FROM notices WHERE cause = :cause) AND recovered_at IS NULL",
            {"cause": cause, "at": at},
        )
        == 1
    )


def has_digest(reader: Reader, now: int) -> bool:
    """Say whether `take_digest` would find a cause."""
    return (
        reader.value(
            "SELECT 1 FROM notices WHERE told < count AND first_at <= :since LIMIT 1",
            {"since": now - QUIET_US},
        )
        is not None
    )


def take_digest(tx: Tx, now: int) -> list[NoticeRow]:
    """Return the causes whose hour is over and that came up more often than was told, and note that they are told."""
    return load_all(
        NoticeRow,
        tx.all(
            "UPDATE notices SET told = count WHERE told < count AND first_at <= :since "
            f"RETURNING {_NOTICE}",
            {"since": now - QUIET_US},
        ),
    )


def page(reader: Reader, *, unseen: bool, limit: int, offset: int) -> tuple[list[NoticeRow], int]:
    """Return one page of notices, newest first, and how many there are in all."""
    where = "seen_at IS NULL" if unseen else "1 = 1"
    rows = reader.all(
        f"SELECT {_NOTICE} FROM notices WHERE {where} ORDER BY seq DESC LIMIT :limit OFFSET :offset",
        {"limit": limit, "offset": offset},
    )
    return load_all(NoticeRow, rows), int(
        reader.value(f"SELECT COUNT(*) FROM notices WHERE {where}")
    )


def unseen(reader: Reader) -> tuple[int, int]:
    """Return how many notices nobody has looked at, and how many of them are urgent and not over."""
    row = reader.one(
        "SELECT COUNT(*), COALESCE(SUM(urgent = 1 AND recovered_at IS NULL), 0) FROM notices "
        "WHERE seen_at IS NULL"
    )
    assert row is not None, "an aggregate has one row"
    return int(row[0]), int(row[1])


def exists(reader: Reader, notice_id: str) -> bool:
    """Say whether there is such a notice, seen or not."""
    return reader.value("SELECT 1 FROM notices WHERE id = :id", {"id": notice_id}) is not None


def see(tx: Tx, notice_id: str | None, now: int) -> int:
    """Note that a person looked at one notice, or with None at all; returns how many were new."""
    return tx.run(
        "UPDATE notices SET seen_at = :now, told = count WHERE seen_at IS NULL AND (:id IS NULL OR id = :id)",
        {"id": notice_id, "now": now},
    )


def queue(tx: Tx, send_id: str, *, channel: str, subject: str, body: str, now: int) -> None:
    """Queue one message to the owner."""
    tx.run(
        "INSERT INTO notice_sends (id, channel, subject, body, tries, due_at, queued_at) "
        "VALUES (:id, :channel, :subject, :body, 0, :now, :now)",
        {"id": send_id, "channel": channel, "subject": subject, "body": body, "now": now},
    )


def due(reader: Reader, now: int, limit: int) -> list[Send]:
    """Return the messages that are due, oldest first."""
    return load_all(
        Send,
        reader.all(
            f"SELECT {_SEND} FROM notice_sends WHERE due_at <= :now ORDER BY due_at, seq LIMIT :limit",
            {"now": now, "limit": limit},
        ),
    )


def next_due(reader: Reader) -> int | None:
    """Return when the next message is due, None when none waits."""
    at: int | None = reader.value("SELECT MIN(due_at) FROM notice_sends WHERE due_at IS NOT NULL")
    return at


def tried(tx: Tx, send_id: str, *, due_at: int | None, error: str | None, now: int) -> None:
    """Write down what came of a try: out (`error` None), to be tried again at `due_at`, or given up."""
    tx.run(
        "UPDATE notice_sends SET tries = tries + 1, due_at = :due_at, error = :error, "
        "ended_at = CASE WHEN :due_at IS NULL THEN :now END WHERE id = :id",
        {"id": send_id, "due_at": due_at, "error": error, "now": now},
    )


def last_failed(reader: Reader) -> Send | None:
    """Return the newest message that did not go out, if the newest of its channel did not."""
    return load_optional(
        Send,
        reader.one(
            f"SELECT {_SEND} FROM notice_sends s WHERE error IS NOT NULL AND NOT EXISTS "
            "(SELECT 1 FROM notice_sends later WHERE later.channel = s.channel AND later.error IS NULL "
            "AND later.ended_at IS NOT NULL AND later.seq > s.seq) ORDER BY seq DESC LIMIT 1"
        ),
    )


def prune(tx: Tx, before: int, limit: int) -> int:
    """Forget ended messages that are older than `before`; the notices themselves stay."""
    return tx.run(
        "DELETE FROM notice_sends WHERE seq IN (SELECT seq FROM notice_sends "
        "WHERE due_at IS NULL AND queued_at < :before ORDER BY seq LIMIT :limit)",
        {"before": before, "limit": limit},
    )
