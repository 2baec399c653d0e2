"""All that one endpoint is owed: counted, set going again, or given up. There may be 100,000 of it."""

from typing import Final

from daemon.core.model import Delivery
from daemon.store.deliveries import TOPIC
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, listed, load_all

HELD_BACK_MAX: Final = 1_000
"""So many are written at once when an endpoint is resumed: some 20 ms in which nothing else is."""

_WAITS: Final = "endpoint_id = :id AND next_attempt_at IS NOT NULL"


def count(reader: Reader, endpoint_id: str) -> int:
    """Count what waits for an endpoint or is on its way to it."""
    found = reader.value(f"SELECT COUNT(*) FROM deliveries WHERE {_WAITS}", {"id": endpoint_id})
    return int(found)


def resume(tx: Tx, endpoint_id: str, *, now: int, later: int) -> int:
    """Make the oldest delivery that waits for an endpoint due now, and return how many wait or are on their way.

    That one is the probe: the others are due at `later`, and `store.flush` brings them forward when it arrives.
    A retry brought forward is extra: if it fails it has used up no step of its schedule. Of a queue longer than
    `HELD_BACK_MAX` the others are left as they are, so that no payment waits for the writing of 100,000 rows: they wait
    behind a probe all the same, and it is the one attempted least recently, as in any outage.
    """
    waiting = count(tx, endpoint_id)
    free = f"{_WAITS} AND leased_until IS NULL"
    oldest = f"(SELECT MIN(seq) FROM deliveries WHERE {free})"
    which = free if waiting <= HELD_BACK_MAX else f"seq = {oldest}"
    tx.run(
        f"UPDATE deliveries SET next_attempt_at = CASE WHEN seq > {oldest} THEN :later "
        "WHEN next_attempt_at > :now THEN :now ELSE next_attempt_at END, "
        "extra = CASE WHEN status = 'retrying' AND next_attempt_at > :now THEN 1 ELSE extra END "
        f"WHERE {which}",
        {"id": endpoint_id, "now": now, "later": later},
    )
    tx.wake(TOPIC)
    return waiting


def note(tx: Tx, endpoint_id: str) -> None:
    """Let all that an endpoint is owed until now go behind what is live (`Endpoint.backlog_seq`): its outage or pause ends."""
    tx.run(
        "UPDATE endpoints SET backlog_seq = (SELECT COALESCE(MAX(seq), 0) FROM deliveries) WHERE id = :id",
        {"id": endpoint_id},
    )


def owed_to_deleted(reader: Reader) -> list[str]:
    """Return the deleted endpoints to which something is still owed: a crash cut their deletion off."""
    rows = reader.all(
        "SELECT e.id FROM endpoints e WHERE e.deleted_at IS NOT NULL AND EXISTS "
        "(SELECT 1 FROM deliveries d WHERE d.endpoint_id = e.id AND d.next_attempt_at IS NOT NULL)"
    )
    return [str(row[0]) for row in rows]


def give_up(tx: Tx, endpoint_id: str, now: int, limit: int) -> list[Delivery]:
    """Fail some of what is owed to an endpoint, due longest first, also what is on its way; returns what it was."""
    # Each kind lies in the index by itself, and they are merged as they come: nothing of a long queue is sorted.
    kinds = " UNION ALL ".join(
        f"SELECT seq, next_attempt_at FROM deliveries WHERE {_WAITS} AND bulk = {bulk} AND status = '{status}'"
        for bulk in (0, 1)
        for status in ("pending", "retrying")
    )
    owed = load_all(
        Delivery,
        tx.all(
            f"SELECT {columns(Delivery)} FROM deliveries "
            f"WHERE seq IN (SELECT seq FROM ({kinds} ORDER BY 2, 1 LIMIT :limit)) ORDER BY next_attempt_at, seq",
            {"id": endpoint_id, "limit": limit},
        ),
    )
    if owed:
        which = [one.seq for one in owed]
        tx.run(
            "UPDATE deliveries SET status = 'failed', failed_at = ?, next_attempt_at = NULL, "
            f"leased_until = NULL, waiting = NULL, extra = 0 WHERE seq IN ({listed(which)})",
            [now, *which],
        )
    return owed
