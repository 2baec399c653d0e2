"""The end of an outage: what waited for an endpoint is brought forward, a piece at a time.

There may be 100,000 retries, each a row with its body to write, and no payment may wait for all of them. So the first
piece is written with the answer that ended the outage, and each turn of the delivery loop writes another. Where that
stands is a row of `flushes`: a crash between two pieces loses nothing, and the next turn goes on. Until all have their
times no retry of the endpoint goes out, for what is overdue of those without would go out in a burst; first attempts,
which are not paced, go out at once.
"""

from typing import Final

from daemon.core.probing import FLUSH_GAP_US
from daemon.store.deliveries import TOPIC
from daemon.store.engine import Tx
from daemon.store.rows import table, values

PIECE: Final = 250
"""Retries that are written in one transaction: some 10 ms in which nothing else is."""


def begin(tx: Tx, endpoint_id: str, now: int) -> None:
    """Make everything that waits for an endpoint due now, oldest first.

    Retries go 5 a second; one that is brought forward is extra: if it fails it has used up no step of its schedule.
    First attempts are not paced; most of them are due already, and are not written.
    """
    params = {"id": endpoint_id, "now": now}
    tx.run(
        # The time it was made, and not this moment, keeps them in the order of their making.
        "UPDATE deliveries SET next_attempt_at = CASE WHEN created_at < :now THEN created_at ELSE :now END "
        "WHERE endpoint_id = :id AND bulk IN (0, 1) AND status = 'pending' AND next_attempt_at > :now "
        "AND leased_until IS NULL",
        params,
    )
    tx.run(
        # One that is under way begins anew: what it brought forward is given its place again.
        "INSERT INTO flushes (endpoint_id, after_seq, next_at) VALUES (:id, 0, :now) "
        "ON CONFLICT (endpoint_id) DO UPDATE SET after_seq = 0, next_at = :now",
        params,
    )
    go_on(tx, endpoint_id, now)
    tx.wake(TOPIC)


def go_on(tx: Tx, endpoint_id: str, now: int) -> None:
    """Give another piece of an endpoint's retries their times; nothing when no flush of it is under way."""
    state = tx.one(
        "SELECT after_seq, next_at FROM flushes WHERE endpoint_id = :id", {"id": endpoint_id}
    )
    if state is None:
        return
    after, at = state
    found = tx.all(
        "SELECT seq FROM deliveries WHERE endpoint_id = :id AND status = 'retrying' AND seq > :after "
        "AND leased_until IS NULL ORDER BY seq LIMIT :limit",
        {"id": endpoint_id, "after": after, "limit": PIECE},
    )
    timed = [(seq, at + place * FLUSH_GAP_US) for place, (seq,) in enumerate(found)]
    if timed:
        tx.run(
            "UPDATE deliveries SET next_attempt_at = v.column2, "
            "extra = CASE WHEN next_attempt_at > ? THEN 1 ELSE extra END "
            f"FROM (VALUES {table(timed)}) AS v WHERE deliveries.seq = v.column1",
            [now, *values(timed)],
        )
    if len(found) < PIECE:
        stop(tx, endpoint_id)
    else:
        tx.run(
            "UPDATE flushes SET after_seq = :after, next_at = :at WHERE endpoint_id = :id",
            {"id": endpoint_id, "after": timed[-1][0], "at": timed[-1][1] + FLUSH_GAP_US},
        )


def stop(tx: Tx, endpoint_id: str) -> None:
    """End it, because the endpoint is out again: what waits waits behind a probe, and its answer begins another."""
    tx.run("DELETE FROM flushes WHERE endpoint_id = :id", {"id": endpoint_id})


def link_returned(tx: Tx, now: int) -> int:
    """Our own link is back: what it held up at any endpoint is due now; returns at how many endpoints.

    None of it is a backlog: every endpoint waited as long, and what is live waited with them.
    """
    rows = tx.all("SELECT id FROM endpoints WHERE link_failures > 0")
    for (endpoint_id,) in rows:
        begin(tx, endpoint_id, now)
    tx.run("UPDATE endpoints SET link_failures = 0 WHERE link_failures > 0")
    tx.wake(TOPIC)
    return len(rows)
