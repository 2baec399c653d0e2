"""Answers kept for 24 hours, so that a repeated call gets the same one."""

from daemon.core.requests import Answer, Idempotency
from daemon.store.engine import Reader, Tx


def find(reader: Reader, claim: Idempotency, since: int) -> tuple[str, Answer, bool] | None:
    """Return (fingerprint, answer, sealed) of an earlier call with this key, not older than `since`."""
    row = reader.one(
        "SELECT fingerprint, status, body, sealed FROM idempotency_keys "
        "WHERE scope = :scope AND key = :key AND created_at > :since",
        {"scope": claim.scope, "key": claim.key, "since": since},
    )
    if row is None:
        return None
    return row[0], Answer(row[1], row[2].encode(), replayed=True), bool(row[3])


def keep(
    tx: Tx, claim: Idempotency, answer: Answer, *, sealed: bool, now: int, since: int
) -> bool:
    """Store the answer with its effect, in the same transaction; False when the key is taken."""
    return (
        tx.run(
            "INSERT INTO idempotency_keys (scope, key, fingerprint, status, body, sealed, created_at) "
            "VALUES (:scope, :key, :fingerprint, :status, :body, :sealed, :now) "
            "ON CONFLICT (scope, key) DO UPDATE SET fingerprint = excluded.fingerprint, "
            "status = excluded.status, body = excluded.body, sealed = excluded.sealed, "
            "created_at = excluded.created_at WHERE idempotency_keys.created_at <= :since",
            {
                "scope": claim.scope,
                "key": claim.key,
                "fingerprint": claim.fingerprint,
                "status": answer.status,
                "body": answer.body.decode(),
                "sealed": sealed,
                "now": now,
                "since": since,
            },
        )
        == 1
    )


def prune(tx: Tx, before: int, limit: int) -> int:
    """Forget up to `limit` answers older than `before`."""
    return tx.run(
        "DELETE FROM idempotency_keys WHERE (scope, key) IN (SELECT scope, key FROM idempotency_keys "
        "WHERE created_at <= :before LIMIT :limit)",
        {"before": before, "limit": limit},
    )
