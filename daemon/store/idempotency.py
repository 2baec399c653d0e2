"""Answers of idempotency keys, kept for at least 24 hours, so that a repeated call gets the first answer.

Those of the dashboard's forms are kept for the 7 days of a session: a browser may send a form of last week again.

An answer is valid until it is pruned. Only `prune` uses its age, by a lower bound of the time that has passed, so that
a wall clock that is set ahead does not let a call run twice.
"""

from collections.abc import Callable
from typing import Final, TypeVar

from msgspec.structs import replace

from daemon.core.access.sessions import FORMS
from daemon.core.errors import Refusal, Unavailable
from daemon.core.inputs import HttpAnswer, Idempotency, Keep, Repeated, Value
from daemon.runtime.secrets import SecretsLocked, SecretsUnsafe, Vault
from daemon.store.engine import Reader, Tx
from daemon.wire import ErrorCode

PURPOSE: Final = "idempotent-answer"
"""The purpose under which an answer is sealed."""
_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


def once(
    tx: Tx, claim: Idempotency | None, now: int, effect: Callable[[], HttpAnswer], vault: Vault | None = None
) -> HttpAnswer:
    """Run `effect` unless this call was answered before, and store its answer with it.

    A call without a claim always runs it. `vault` seals answers that hold a secret; None stores them as they are.

    Raises:
        Refusal: IDEMPOTENCY_KEY_REUSED if the key was used with another body; or the refusal of `effect`, which is
            not stored.
        Unavailable: The answer cannot be sealed or opened now.
    """
    if claim is None:
        return effect()
    earlier = _same_call(tx, claim)
    if earlier is not None:
        answer, sealed = earlier
        if not sealed:
            return answer
        assert vault is not None, "a path seals always or never"
        return replace(answer, body=_sealing(vault.unseal, answer.body.decode()))
    answer = effect()
    stored = answer
    if vault is not None:
        stored = replace(answer, body=_sealing(vault.seal, answer.body).encode())
    _keep(tx, claim, stored, sealed=vault is not None, now=now)
    return answer


def kept(tx: Tx, keep: Keep[Value] | None, now: int, effect: Callable[[], Value], vault: Vault | None = None) -> Value:
    """Return the value of `effect`; its answer is stored in this commit, if the call has a key.

    Raises:
        Repeated: The call was answered before.
        Refusal: As for `once`.
        Unavailable: As for `once`.
    """
    if keep is None or keep.claim is None:
        return effect()
    value: list[Value] = []

    def answer() -> HttpAnswer:
        value.append(effect())
        return keep.answer(value[0])

    answer_now = once(tx, keep.claim, now, answer, vault)
    if not value:
        raise Repeated(answer_now)
    return value[0]


def answered(reader: Reader, claim: Idempotency | None) -> HttpAnswer | None:
    """Return the answer of an earlier call, None if this one is the first; for answers that are not sealed.

    Raises:
        Refusal: IDEMPOTENCY_KEY_REUSED if the key was used with another body.
    """
    earlier = None if claim is None else _same_call(reader, claim)
    if earlier is None:
        return None
    answer, sealed = earlier
    assert not sealed, "a path seals always or never"
    return answer


def find(reader: Reader, claim: Idempotency) -> tuple[str, HttpAnswer, bool] | None:
    """Return (fingerprint, answer, sealed) of an earlier call with this key."""
    row = reader.one(
        "SELECT fingerprint, status, body, sealed FROM idempotency_keys WHERE scope = :scope AND key = :key",
        {"scope": claim.scope, "key": claim.key},
    )
    if row is None:
        return None
    return row[0], HttpAnswer(row[1], row[2].encode(), replayed=True), bool(row[3])


def _same_call(reader: Reader, claim: Idempotency) -> tuple[HttpAnswer, bool] | None:
    """Return (answer, sealed) of an earlier call with this key; refuse one with another body."""
    earlier = find(reader, claim)
    if earlier is None:
        return None
    fingerprint, answer, sealed = earlier
    if fingerprint != claim.fingerprint:
        raise Refusal(ErrorCode.IDEMPOTENCY_KEY_REUSED)
    return answer, sealed


def reserve(tx: Tx, claim: Idempotency, now: int) -> HttpAnswer | None:
    """Reserve a key before its effect; return the answer of the earlier call if there was one, with status 0 if unfinished.

    For effects of several commits: after a crash the effect is not tried again.

    Raises:
        Refusal: IDEMPOTENCY_KEY_REUSED if the key was used with another body.
    """
    earlier = _same_call(tx, claim)
    if earlier is not None:
        return earlier[0]
    _keep(tx, claim, HttpAnswer(0, b""), sealed=False, now=now)
    return None


def settle(tx: Tx, claim: Idempotency, answer: HttpAnswer) -> None:
    """Store the answer of a reserved key."""
    tx.run(
        "UPDATE idempotency_keys SET status = :status, body = :body WHERE scope = :scope AND key = :key",
        {"status": answer.status, "body": answer.body.decode(), "scope": claim.scope, "key": claim.key},
    )


def release(tx: Tx, claim: Idempotency) -> None:
    """Free a reserved key, because its effect was refused and changed nothing."""
    tx.run(
        "DELETE FROM idempotency_keys WHERE scope = :scope AND key = :key AND status = 0",
        {"scope": claim.scope, "key": claim.key},
    )


def remove(tx: Tx, scope: str, key: str) -> None:
    """Delete an answer, because it must be erased; a repeat of the call runs anew."""
    tx.run("DELETE FROM idempotency_keys WHERE scope = :scope AND key = :key", {"scope": scope, "key": key})


def shift_ages(tx: Tx, by_us: int, now: int) -> None:
    """Correct the ages of the answers after the clock was set by `by_us`: unchanged or younger, never older.

    If it was set ahead, answers dated at most `now - by_us` were dated by the old clock. If it was set back, only
    answers dated in the future were certainly dated by the old clock.
    """
    tx.run(
        "UPDATE idempotency_keys SET created_at = created_at + :by WHERE created_at "
        + ("<= :now - :by" if by_us > 0 else "> :now"),
        {"by": by_us, "now": now},
    )


def prune(tx: Tx, before: int, forms_before: int, limit: int) -> int:
    """Delete up to `limit` answers older than `before`; those of the dashboard's forms if older than `forms_before`."""
    return tx.run(
        "DELETE FROM idempotency_keys WHERE (scope, key) IN (SELECT scope, key FROM idempotency_keys "
        "WHERE created_at <= :before AND (scope NOT LIKE :forms OR created_at <= :forms_before) LIMIT :limit)",
        {"before": before, "forms": f"{FORMS}%", "forms_before": forms_before, "limit": limit},
    )


def _keep(tx: Tx, claim: Idempotency, answer: HttpAnswer, *, sealed: bool, now: int) -> None:
    """Store the answer in the database transaction of its effect."""
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


def _sealing(act: Callable[[_Given, str], _Made], given: _Given) -> _Made:
    """Seal or unseal an answer."""
    try:
        return act(given, PURPOSE)
    except (SecretsLocked, SecretsUnsafe) as error:
        raise Unavailable(f"the answer holds a secret and cannot be kept: {error}") from error
