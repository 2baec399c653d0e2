"""Dead letters: one per failed delivery, with its error, until an operator sends it again."""

from collections.abc import Sequence
from dataclasses import dataclass

from daemon.core.model import Delivery, Endpoint
from daemon.core.webhooks.delivery import DeadLetter
from daemon.store import journal
from daemon.store.engine import Reader, Tx
from daemon.store.rows import Conditions, columns, load, select_page, table, values
from daemon.store.webhooks import deliveries
from daemon.wire import Mode

_LETTER_L = columns(DeadLetter, "l.")
_DELIVERY_D = columns(Delivery, "d.")
_TO_DELIVERY = len(_LETTER_L.split(", "))
_TO_ENDPOINT = _TO_DELIVERY + len(_DELIVERY_D.split(", "))
_ALL = f"{_LETTER_L}, {_DELIVERY_D}, {columns(Endpoint, 'e.')}"
_JOINED = (
    "dead_letters l JOIN deliveries d ON d.id = l.delivery_id "
    "JOIN endpoints e ON e.id = d.endpoint_id"
)
_OPEN = "l.replayed_at IS NULL AND l.resolved_at IS NULL"

Found = tuple[DeadLetter, Delivery, Endpoint]
"""A dead letter, its delivery as it is now, and the delivery's endpoint."""


@dataclass(frozen=True, slots=True)
class DeadLetterFilter:
    """The filters of the list; None filters nothing.

    Attributes:
        mode: Of the endpoint; None is both.
        include_replayed: Include those that were sent again or arrived later.
        after: `failed_at` and `seq` of the one after which the page starts; the total does not depend on it.
    """

    mode: Mode | None = None
    include_replayed: bool = False
    endpoint_id: str | None = None
    reason: str | None = None
    error_code: str | None = None
    after: tuple[int, int] | None = None


def add(tx: Tx, *, letter_id: str, delivery_id: str, reason: str, now: int) -> None:
    """Create the dead letter of a delivery that has just failed, or reopen its old one."""
    add_all(tx, [(letter_id, delivery_id)], reason=reason, now=now)


def add_all(tx: Tx, letters: Sequence[tuple[str, str]], *, reason: str, now: int) -> None:
    """Create or reopen dead letters for deliveries that failed for the same reason.

    `letters` holds (id of a new dead letter, delivery id) pairs.
    """
    if not letters:
        return
    tx.run(
        "INSERT INTO dead_letters (id, delivery_id, reason, created_at, replay_count, failed_at, failing_since, "
        "error_code, error_message, last_status_code, last_response_body, attempt_count) "
        "SELECT v.column1, d.id, ?, ?, 0, ?, "
        "(SELECT MIN(a.started_at) FROM attempts a WHERE a.delivery_id = d.id AND a.run = d.run), "
        "d.error_code, d.error_message, d.response_status_code, d.response_body, d.attempt_count "
        f"FROM (VALUES {table(letters)}) AS v JOIN deliveries d ON d.id = v.column2 WHERE TRUE "
        "ON CONFLICT (delivery_id) DO UPDATE SET reason = excluded.reason, replayed_at = NULL, resolved_at = NULL, "
        "failed_at = excluded.failed_at, failing_since = excluded.failing_since, "
        "error_code = excluded.error_code, error_message = excluded.error_message, "
        "last_status_code = excluded.last_status_code, "
        "last_response_body = excluded.last_response_body, attempt_count = excluded.attempt_count",
        [reason, now, now, *values(letters)],
    )


def requeue(
    tx: Tx, delivery: Delivery, endpoint: Endpoint, actor: str, now: int, *, bulk: bool = False
) -> Delivery:
    """Queue an ended delivery again, close its dead letter, and record in the journal who asked for it.

    With `bulk` it goes behind live deliveries.
    """
    queued = deliveries.requeue(tx, delivery, now, bulk=bulk)
    mark_replayed(tx, delivery.id, now)
    journal.add(
        tx,
        type="delivery.requeued",
        mode=endpoint.mode,
        at=now,
        actor=actor,
        transaction_id=delivery.transaction_id,
        endpoint_id=endpoint.id,
        data={"delivery_id": delivery.id, "event": delivery.event, "run": queued.run},
    )
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


def one(reader: Reader, letter_id: str) -> Found | None:
    """Return one dead letter."""
    row = reader.one(f"SELECT {_ALL} FROM {_JOINED} WHERE l.id = :id", {"id": letter_id})
    return None if row is None else _found(row)


def listed(
    reader: Reader, wanted: DeadLetterFilter, *, limit: int, offset: int
) -> tuple[list[Found], int]:
    """Return one page of dead letters, newest failure first, and their total number."""
    conditions = Conditions()
    if not wanted.include_replayed:
        conditions.always(_OPEN)
    conditions.by("e.mode = :mode", mode=wanted.mode)
    conditions.by("d.endpoint_id = :endpoint_id", endpoint_id=wanted.endpoint_id)
    conditions.by("l.reason = :reason", reason=wanted.reason)
    conditions.by("l.error_code = :error_code", error_code=wanted.error_code)
    behind = Conditions()
    if wanted.after is not None:
        behind.always("(l.failed_at, l.seq) < (:failed_at, :seq)")
        behind.params = dict(zip(("failed_at", "seq"), wanted.after, strict=True))
    rows, total = select_page(
        reader,
        conditions,
        columns=_ALL,
        source=_JOINED,
        order="l.failed_at DESC, l.seq DESC",
        limit=limit,
        offset=offset,
        behind=behind,
    )
    return [_found(row) for row in rows], total


def _found(row: tuple[object, ...]) -> Found:
    return (
        load(DeadLetter, row[:_TO_DELIVERY]),
        load(Delivery, row[_TO_DELIVERY:_TO_ENDPOINT]),
        load(Endpoint, row[_TO_ENDPOINT:]),
    )
