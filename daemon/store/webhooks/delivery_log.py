"""The delivery log for the API and the commands: filtered pages of deliveries, one delivery, its attempts."""

from typing import Any

from msgspec import Struct

from daemon.core.limits import MINUTE_US
from daemon.core.model import Delivery
from daemon.core.webhooks.delivery import Attempt
from daemon.core.webhooks.endpoint import Endpoint
from daemon.store.engine import Page, Reader
from daemon.store.rows import Conditions
from daemon.wire import DeliveryStatus, EventKind, Mode

_ATTEMPT_US_MAX = 10 * MINUTE_US
"""No attempt takes longer; limits how far back `last_failure` searches by start time."""

Logged = tuple[Delivery, Endpoint]
"""A delivery and its endpoint."""


class DeliveryFilter(Struct, frozen=True):
    """The filters of the delivery log; None filters nothing.

    Attributes:
        mode: Of the endpoint; None is both.
        implicit: Include deliveries to the transactions' own webhooks and to the default one.
        since: First `created_at`.
        until: End of `created_at`, excluded.
        after: `seq` of the delivery after which the page starts; the total does not depend on it.
    """

    mode: Mode | None = None
    endpoint_id: str | None = None
    status: DeliveryStatus | None = None
    implicit: bool = False
    event: EventKind | None = None
    transaction_id: str | None = None
    webhook_id: str | None = None
    since: int | None = None
    until: int | None = None
    after: int | None = None


def listed(reader: Reader, wanted: DeliveryFilter, *, limit: int, offset: int = 0) -> Page:
    """Return one page of the delivery log, newest first, of `Logged`."""
    conditions = Conditions()
    if not wanted.implicit:
        conditions.always("e.kind = 'endpoint'")
    conditions.by("e.mode = :mode", mode=wanted.mode)
    conditions.by(
        "d.endpoint_seq = (SELECT seq FROM endpoints WHERE id = :endpoint_id)", endpoint_id=wanted.endpoint_id
    )
    conditions.by("d.status = :status", status=wanted.status)
    conditions.by("d.event = :event", event=wanted.event)
    # The conditions of the indexes that hold only such deliveries.
    if wanted.status in (DeliveryStatus.PENDING, DeliveryStatus.RETRYING):
        conditions.always(
            "d.seq IN (SELECT seq FROM deliveries WHERE next_attempt_at IS NOT NULL AND status = :status)"
        )
    if wanted.status is DeliveryStatus.FAILED:
        conditions.always("d.status = 'failed'")
    if wanted.event not in (None, EventKind.FORWARDED, EventKind.COMPLETED):
        conditions.always("d.event NOT IN ('transaction.forwarded', 'transaction.completed')")
    conditions.by(
        "d.transaction_seq = (SELECT seq FROM transactions WHERE id = :transaction_id)",
        transaction_id=wanted.transaction_id,
    )
    # As written in the index. SQLite would put the value of a bare `d.webhook_id =` in place of the indexed column.
    conditions.by(
        "SUBSTR(d.webhook_id, 5, 10) = SUBSTR(:webhook_id, 5, 10) AND SUBSTR(d.webhook_id, 1) = :webhook_id",
        webhook_id=wanted.webhook_id,
    )
    conditions.by("d.created_at >= :since", since=wanted.since)
    conditions.by("d.created_at < :until", until=wanted.until)
    behind = Conditions()
    behind.by("d.seq < :after", after=wanted.after)
    return reader.page(
        "SELECT d.*, e.* FROM deliveries d JOIN endpoints e ON e.seq = d.endpoint_seq", conditions,
        order="d.seq DESC", limit=limit, offset=offset, behind=behind, total=_kept_total(reader, wanted), d=Delivery,
        e=Endpoint,
    )  # fmt: skip


def _kept_total(reader: Reader, wanted: DeliveryFilter) -> int | None:
    """Return the number of deliveries of a list if it is kept, else None."""
    narrowed = (wanted.transaction_id, wanted.webhook_id, wanted.since, wanted.until)
    if any(one is not None for one in narrowed):
        return None
    if wanted.endpoint_id is not None and not reader.exists(
        "SELECT 1 FROM endpoints WHERE id = :id AND kind = 'endpoint'", {"id": wanted.endpoint_id}
    ):
        return None  # implicit ones share their totals
    conditions = Conditions()
    if not wanted.implicit:
        conditions.always("endpoint <> 'implicit'")
    conditions.by("mode = :mode", mode=wanted.mode)
    conditions.by("endpoint = :endpoint_id", endpoint_id=wanted.endpoint_id)
    conditions.by("status = :status", status=wanted.status)
    conditions.by("event = :event", event=wanted.event)
    kept = f"SELECT COALESCE(SUM(count), 0) FROM delivery_counts WHERE {conditions.where}"
    return reader.count(kept, conditions.params)


def one(reader: Reader, delivery_id: str) -> Logged | None:
    """Return one delivery of any endpoint, also of a deleted or implicit one."""
    rows: list[Any] = reader.joined(
        "SELECT d.*, e.* FROM deliveries d JOIN endpoints e ON e.seq = d.endpoint_seq WHERE d.id = :id",
        {"id": delivery_id},
        d=Delivery,
        e=Endpoint,
    )
    return rows[0] if rows else None


def attempts(reader: Reader, delivery_id: str, *, limit: int, offset: int) -> tuple[list[Attempt], int]:
    """Return one page of a delivery's attempts, of all its runs, oldest first, and their total number."""
    of_one = Conditions()
    of_one.by("a.delivery_seq = (SELECT seq FROM deliveries WHERE id = :id)", id=delivery_id)
    found = reader.page("SELECT a.* FROM attempts a", of_one, order="a.seq", limit=limit, offset=offset, a=Attempt)
    return found.rows, found.total


def last_failure(reader: Reader, endpoint: Endpoint) -> Attempt | None:
    """Return the last failed attempt of an endpoint; None if there was none or it was pruned."""
    if endpoint.last_failure_at is None:
        return None
    return reader.first(
        Attempt,
        "SELECT a.* FROM attempts a JOIN deliveries d ON d.seq = a.delivery_seq "
        "WHERE a.started_at BETWEEN :since AND :at AND a.finished_at = :at AND d.endpoint_seq = :endpoint "
        "AND a.error_code IS NOT NULL ORDER BY a.started_at DESC, a.seq DESC LIMIT 1",
        {"endpoint": endpoint.seq, "at": endpoint.last_failure_at, "since": endpoint.last_failure_at - _ATTEMPT_US_MAX},
    )


def queue_counts(reader: Reader) -> dict[str, int]:
    """Return the number of pending, retrying and failed deliveries, and of open dead letters, of live endpoints.

    What fails in the sandbox is no loss, so monitoring does not count it.
    """
    counts = dict(reader.all("SELECT status, SUM(count) FROM delivery_counts WHERE mode = 'live' GROUP BY status"))
    return {
        "pending": int(counts.get("pending", 0)),
        "retrying": int(counts.get("retrying", 0)),
        "failed": int(counts.get("failed", 0)),
        "dead_letters": count_dead_letters(reader, Mode.LIVE),
    }


def count_dead_letters(reader: Reader, mode: Mode) -> int:
    """Return the number of open dead letters of the endpoints of a mode."""
    return reader.count(
        "SELECT COUNT(*) FROM dead_letters WHERE mode = :mode AND resolved_at IS NULL AND replayed_at IS NULL "
        "AND dismissed_at IS NULL",
        {"mode": mode},
    )


def waiting_by_endpoint(reader: Reader) -> dict[str, int]:
    """Return the number of waiting deliveries by endpoint of the shop's own."""
    rows = reader.all(
        "SELECT endpoint, SUM(count) FROM delivery_counts WHERE status IN ('pending', 'retrying') GROUP BY endpoint"
    )
    return {endpoint_id: int(count) for endpoint_id, count in rows}
