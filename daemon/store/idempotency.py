"""Answers kept for 24 hours at least, so that a repeated call gets the same one.

An answer counts until it is pruned, and only `prune` asks for its age: by the time that has surely passed, so that a
wall clock that is set ahead lets no call run twice.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from daemon.core.errors import Refusal, Unavailable
from daemon.core.requests import Answer, Idempotency
from daemon.secrets import SecretsLocked, SecretsUnsafe, Vault
from daemon.store.engine import Reader, Tx
from daemon.wire import ErrorCode

PURPOSE: Final = "idempotent-answer"
"""What an answer is sealed for."""
_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


def once(
    tx: Tx,
    claim: Idempotency | None,
    now: int,
    effect: Callable[[], Answer],
    vault: Vault | None = None,
) -> Answer:
    """Run `effect` unless this call was answered before, and keep its answer with it.

    Args:
        tx: The transaction of the effect.
        claim: The caller's; None runs `effect` whatever was before.
        now: Microseconds.
        effect: What is to happen once.
        vault: Seals the answers that hold a secret; None keeps them as they are.

    Raises:
        Refusal: IDEMPOTENCY_KEY_REUSED when the key was used for another body; or what `effect` refuses, which is
            not kept.
        Unavailable: The answer cannot be sealed or opened now.
    """
    if claim is None:
        return effect()
    earlier = find(tx, claim)
    if earlier is not None:
        fingerprint, answer, sealed = earlier
        if fingerprint != claim.fingerprint:
            raise Refusal(ErrorCode.IDEMPOTENCY_KEY_REUSED)
        if not sealed:
            return answer
        assert vault is not None, "one path always seals, or never"
        return replace(answer, body=_in(vault.unseal, answer.body.decode()))
    answer = effect()
    stored = answer
    if vault is not None:
        stored = replace(answer, body=_in(vault.seal, answer.body).encode())
    _keep(tx, claim, stored, sealed=vault is not None, now=now)
    return answer


def answered(reader: Reader, claim: Idempotency | None) -> Answer | None:
    """Return what an earlier call was answered, None when this one is the first; for answers that are not sealed.

    Raises:
        Refusal: IDEMPOTENCY_KEY_REUSED when the key was used for another body.
    """
    if claim is None:
        return None
    earlier = find(reader, claim)
    if earlier is None:
        return None
    fingerprint, answer, sealed = earlier
    if fingerprint != claim.fingerprint:
        raise Refusal(ErrorCode.IDEMPOTENCY_KEY_REUSED)
    assert not sealed, "one path always seals, or never"
    return answer


def _in(act: Callable[[_Given, str], _Made], given: _Given) -> _Made:
    """Seal or unseal an answer."""
    try:
        return act(given, PURPOSE)
    except (SecretsLocked, SecretsUnsafe) as error:
        raise Unavailable(f"the answer holds a secret and cannot be kept: {error}") from error


def find(reader: Reader, claim: Idempotency) -> tuple[str, Answer, bool] | None:
    """Return (fingerprint, answer, sealed) of an earlier call with this key."""
    row = reader.one(
        "SELECT fingerprint, status, body, sealed FROM idempotency_keys "
        "WHERE scope = :scope AND key = :key",
        {"scope": claim.scope, "key": claim.key},
    )
    if row is None:
        return None
    return row[0], Answer(row[1], row[2].encode(), replayed=True), bool(row[3])


def _keep(tx: Tx, claim: Idempotency, answer: Answer, *, sealed: bool, now: int) -> None:
    """Store the answer with its effect, in the same transaction."""
    tx.run(
        "INSERT INTO idempotency_keys (scope, key, fingerprint, status, body, sealed, created_at) "
        "VALUES (:scope, :key, :fingerprint, :status, :body, :sealed, :now)",
        {
            "scope": claim.scope,
            "key": claim.key,
            "fingerprint": claim.fingerprint,
            "status": answer.status,
            "body": answer.body.decode(),
            "sealed": sealed,
            "now": now,
        },
    )


def move(tx: Tx, by_us: int, now: int) -> None:
    """Keep the answers as old as they are when the clock was set by so much, or make them younger; never older.

    What is dated by the clock as it was before is behind `now - by_us` where it was set ahead. Where it was set back
    only what would be in the future is surely by that one.
    """
    tx.run(
        "UPDATE idempotency_keys SET created_at = created_at + :by WHERE created_at "
        + ("<= :now - :by" if by_us > 0 else "> :now"),
        {"by": by_us, "now": now},
    )


def prune(tx: Tx, before: int, limit: int) -> int:
    """Forget up to `limit` answers older than `before`."""
    return tx.run(
        "DELETE FROM idempotency_keys WHERE (scope, key) IN (SELECT scope, key FROM idempotency_keys "
        "WHERE created_at <= :before LIMIT :limit)",
        {"before": before, "limit": limit},
    )
