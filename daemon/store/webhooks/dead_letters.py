"""Dead letters: one per failed delivery, with its error, until an operator sends it again."""

from collections.abc import Sequence

from msgspec import Struct

from daemon.core.model import Delivery
from daemon.core.webhooks.delivery import CLOCK_WAITS_MAX, DeadLetter
from daemon.core.webhooks.endpoint import Endpoint
from daemon.store import journal
from daemon.store.engine import Page, Reader, Tx
from daemon.store.rows import Conditions, Row, json_rows
from daemon.store.webhooks import deliveries
from daemon.wire import Mode

Found = tuple[DeadLetter, Delivery, Endpoint, bytes]
"""A dead letter, its delivery as it is now, and the delivery's endpoint and body."""


class DeadLetterFilter(Struct, frozen=True):
    """The filters of the list; None filters nothing.

    Attributes:
        mode: Of the endpoint; None is both.
        include_replayed: Include those that were sent again, arrived later or were dismissed.
        after: `failed_at` and `seq` of the one after which the page starts; the total does not depend on it.
    """

    mode: Mode | None = None
    include_replayed: bool = False
    endpoint_id: str | None = None
    reason: str | None = None
    error_code: str | None = None
    after: tuple[int, int] | None = None


def add_all(tx: Tx, letters: Sequence[tuple[str, str]], *, reason: str, now: int) -> None:
    """Create or reopen dead letters for deliveries that failed for the same reason.

    `letters` holds (id of a new dead letter, delivery id) pairs.
    """
    if not letters:
        return
    tx.run(
        "INSERT INTO dead_letters (id, delivery_id, endpoint_id, reason, created_at, replay_count, failed_at, failing_since, "
        "error_code, error_message, last_status_code, last_response_body, attempt_count, clock_waits, mode) "
        "SELECT value ->> 0, d.id, e.id, :reason, :now, 0, :now, "
        "(SELECT MIN(a.started_at) FROM attempts a WHERE a.delivery_seq = d.seq AND a.run = d.run), "
        "d.error_code, d.error_message, d.response_status_code, d.response_body, d.attempt_count, d.clock_waits, e.mode "
        "FROM json_each(:letters) JOIN deliveries d ON d.id = value ->> 1 "
        "JOIN endpoints e ON e.seq = d.endpoint_seq WHERE 1 = 1 "
        "ON CONFLICT (delivery_id) DO UPDATE SET reason = excluded.reason, replayed_at = NULL, resolved_at = NULL, "
        "dismissed_at = NULL, dismissed_by = NULL, notes = NULL, "
        "failed_at = excluded.failed_at, failing_since = excluded.failing_since, "
        "error_code = excluded.error_code, error_message = excluded.error_message, "
        "last_status_code = excluded.last_status_code, "
        "last_response_body = excluded.last_response_body, attempt_count = excluded.attempt_count, "
        "clock_waits = excluded.clock_waits",
        {"reason": reason, "now": now, "letters": json_rows(letters)},
    )


def requeue(tx: Tx, delivery: Delivery, endpoint: Endpoint, actor: str, now: int, *, bulk: bool = False) -> Delivery:
    """Queue an ended delivery again, close its dead letter, and record the actor in the journal.

    With `bulk` it goes behind live deliveries.
    """
    queued = deliveries.requeue(tx, delivery, now, bulk=bulk)
    mark_replayed(tx, delivery.id, now)
    journal.add(tx, "delivery.requeued", now, endpoint, delivery, actor=actor, data={"run": queued.run})
    return queued


def mark_replayed(tx: Tx, delivery_id: str, now: int) -> None:
    """Mark the open dead letter of a delivery as replayed; do nothing if there is none."""
    tx.run(
        "UPDATE dead_letters SET replayed_at = :now, replay_count = replay_count + 1 "
        "WHERE delivery_id = :id AND replayed_at IS NULL AND resolved_at IS NULL",
        {"id": delivery_id, "now": now},
    )


def resolve(tx: Tx, delivery_id: str, now: int) -> None:
    """Mark the dead letter of a delivery as resolved: the delivery arrived in the end."""
    tx.run(
        "UPDATE dead_letters SET resolved_at = :now WHERE delivery_id = :id AND resolved_at IS NULL",
        {"id": delivery_id, "now": now},
    )


def dismiss(tx: Tx, letter_id: str, *, actor: str, notes: str, now: int) -> None:
    """Close an open dead letter without sending it again; a later failure of its delivery opens it again."""
    tx.run(
        "UPDATE dead_letters SET dismissed_at = :now, dismissed_by = :actor, notes = :notes WHERE id = :id",
        {"id": letter_id, "actor": actor, "notes": notes, "now": now},
    )


def one(reader: Reader, letter_id: str) -> Found | None:
    """Return one dead letter."""
    rows = reader.joined(
        "SELECT l.*, d.*, e.* FROM dead_letters l "
        "JOIN deliveries d ON d.id = l.delivery_id JOIN endpoints e ON e.seq = d.endpoint_seq WHERE l.id = :id",
        {"id": letter_id},
        l=DeadLetter,
        d=Delivery,
        e=Endpoint,
    )
    return _found(reader, rows)[0] if rows else None


def listed(reader: Reader, wanted: DeadLetterFilter, *, limit: int, offset: int) -> Page:
    """Return one page of dead letters, newest failure first, of `Found`; `last` has no body."""
    conditions = Conditions()
    if not wanted.include_replayed:
        conditions.always("l.replayed_at IS NULL AND l.resolved_at IS NULL AND l.dismissed_at IS NULL")
    conditions.by("l.mode = :mode", mode=wanted.mode)
    conditions.by("l.endpoint_id = :endpoint_id", endpoint_id=wanted.endpoint_id)
    conditions.by("l.reason = :reason", reason=wanted.reason)
    conditions.by("l.error_code = :error_code", error_code=wanted.error_code)
    behind = Conditions()
    if wanted.after is not None:
        behind.always("(l.failed_at, l.seq) < (:failed_at, :seq)")
        behind.params = dict(zip(("failed_at", "seq"), wanted.after, strict=True))
    return _page(reader, conditions, "l.failed_at DESC, l.seq DESC", limit, offset=offset, behind=behind)


def _page(
    reader: Reader, conditions: Conditions, order: str, limit: int, *, offset: int = 0, behind: Conditions
) -> Page:
    # Without a look-up of each delivery.
    total = reader.count(f"SELECT COUNT(*) FROM dead_letters l WHERE {conditions.where}", conditions.params)
    page = reader.page(
        "SELECT l.*, d.*, e.* FROM dead_letters l JOIN deliveries d ON d.id = l.delivery_id "
        "JOIN endpoints e ON e.seq = d.endpoint_seq",
        conditions,
        order=order,
        limit=limit,
        offset=offset,
        behind=behind,
        total=total,
        l=DeadLetter,
        d=Delivery,
        e=Endpoint,
    )
    return page._replace(rows=_found(reader, page.rows))


class DeadLetterCause(Struct, frozen=True):
    """The common values of the dead letters of one fault.

    Attributes:
        error_code: "" if there is none.
        status_code: 0 if there was no answer.
        clock: It was signed again until its receiver's clock was given up.
    """

    endpoint_id: str
    reason: str
    error_code: str
    status_code: int
    clock: bool


class DeadLetterGroup(Struct, frozen=True):
    """The open dead letters of one kind: their number, the oldest failure, and the newest with its endpoint."""

    kind: DeadLetterCause
    count: int
    since: int
    newest: DeadLetter
    endpoint: Endpoint


def groups(reader: Reader, mode: Mode) -> list[DeadLetterGroup]:
    """Return the open dead letters of a mode by kind, the newest failure first."""
    rows = reader.joined(
        "SELECT g.endpoint_id, g.reason, g.error_code, g.status_code, g.clock, g.count, g.since, l.*, e.* FROM ("
        "SELECT endpoint_id, reason, COALESCE(error_code, '') AS error_code, COALESCE(last_status_code, 0) AS status_code, "
        "CASE WHEN clock_waits >= :given_up THEN 1 ELSE 0 END AS clock, COUNT(*) AS count, MIN(failed_at) AS since, "
        "MAX(failed_at) AS latest, MAX(seq) AS seq FROM dead_letters "
        "WHERE replayed_at IS NULL AND resolved_at IS NULL AND dismissed_at IS NULL AND mode = :mode "
        "GROUP BY 1, 2, 3, 4, 5) g JOIN dead_letters l ON l.seq = g.seq JOIN deliveries d ON d.id = l.delivery_id "
        "JOIN endpoints e ON e.seq = d.endpoint_seq ORDER BY g.latest DESC, g.seq DESC",
        {"mode": mode, "given_up": CLOCK_WAITS_MAX},
        l=DeadLetter,
        e=Endpoint,
    )
    return [
        DeadLetterGroup(
            DeadLetterCause(endpoint_id, reason, error_code, int(status_code), bool(clock)),
            int(count),
            int(since),
            letter,
            endpoint,
        )
        for endpoint_id, reason, error_code, status_code, clock, count, since, letter, endpoint in rows
    ]


def of_kind(reader: Reader, kind: DeadLetterCause, *, after: int, limit: int) -> tuple[list[Found], int]:
    """Return open dead letters of a kind, oldest first, behind the one with the `seq` `after`, and the number of all."""
    open_ones = Conditions(params={"clock": int(kind.clock), "given_up": CLOCK_WAITS_MAX})
    open_ones.always(
        "l.replayed_at IS NULL AND l.resolved_at IS NULL AND l.dismissed_at IS NULL "
        "AND CASE WHEN l.clock_waits >= :given_up THEN 1 ELSE 0 END = :clock"
    )
    open_ones.by("l.endpoint_id = :endpoint_id", endpoint_id=kind.endpoint_id)
    open_ones.by("l.reason = :reason", reason=kind.reason)
    open_ones.by("COALESCE(l.error_code, '') = :error_code", error_code=kind.error_code)
    open_ones.by("COALESCE(l.last_status_code, 0) = :status_code", status_code=kind.status_code)
    behind = Conditions()
    behind.by("l.seq > :seq", seq=after)
    page = _page(reader, open_ones, "l.seq", limit, behind=behind)
    return page.rows, page.total


def _found(reader: Reader, rows: Sequence[Row]) -> list[Found]:
    sent = deliveries.bodies(reader, [delivery.seq for _, delivery, _ in rows])
    return [(letter, delivery, endpoint, sent[delivery.seq]) for letter, delivery, endpoint in rows]
