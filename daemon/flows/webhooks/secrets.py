"""Show and rotate signing secrets: an endpoint's own, or the account's, which signs for implicit endpoints.

The account password must have been checked before.
"""

import asyncio

from msgspec import Struct

from daemon.core.access.callers import Caller, Operation, require
from daemon.core.errors import Refusal, Unavailable
from daemon.core.limits import SECRET_OVERLAP_US, SECRET_OVERLAPS_MAX
from daemon.core.webhooks.signing import SECRET_BYTES, make_secret
from daemon.env import Env
from daemon.runtime.secrets import SecretsLocked, SecretsUnsafe
from daemon.store import journal
from daemon.store.engine import Tx
from daemon.store.webhooks import endpoints, secrets
from daemon.wire import ErrorCode, Mode


class RevealedSecret(Struct, frozen=True):
    """An unsealed secret, and the time until which an older one also signs; None if none does."""

    secret: str
    previous_expires_at: int | None


async def reveal(env: Env, caller: Caller, owner: str) -> RevealedSecret:
    """Return the current secret of an endpoint, or of `webhook_secrets.ACCOUNT`.

    Raises:
        Refusal: ENDPOINT_NOT_FOUND.
        Unavailable: The secret cannot be opened, or the journal cannot be written.
    """
    require(caller, Operation.MANAGE_SECRETS)
    now = env.clock.now_us()

    def job(tx: Tx) -> tuple[str, int | None]:
        sealed = secrets.valid_at(tx, owner, now)
        assert sealed, "an endpoint is created with its secret, and setup creates the account's"
        _note(tx, "secret.revealed", caller, owner, now)
        return sealed[0], secrets.previous_expires_at(tx, owner, now)

    sealed, until = await env.store.write(job)
    try:
        opened = await asyncio.to_thread(env.vault.unseal, sealed, secrets.PURPOSE)
    except SecretsLocked as error:
        raise Unavailable(f"the signing secret cannot be opened: {error}") from error
    return RevealedSecret(opened.decode(), until)


async def rotate(env: Env, caller: Caller, owner: str, *, expire_previous: bool) -> RevealedSecret:
    """Create a new secret and return it, only once. The old ones also sign for 24 h, unless `expire_previous`.

    `owner` is an endpoint's id, or `webhook_secrets.ACCOUNT`. `expire_previous` ends all older secrets now, because one
    has leaked.

    Raises:
        Refusal: ENDPOINT_NOT_FOUND; ROTATION_LIMIT.
        Unavailable: The new secret cannot be stored.
    """
    require(caller, Operation.MANAGE_SECRETS)
    now = env.clock.now_us()
    secret = make_secret(env.entropy.bytes(SECRET_BYTES))
    try:
        sealed = await asyncio.to_thread(env.vault.seal, secret.encode(), secrets.PURPOSE)
    except (SecretsLocked, SecretsUnsafe) as error:
        raise Unavailable(f"the signing secret cannot be stored: {error}") from error

    def job(tx: Tx) -> int | None:
        if not expire_previous and secrets.overlaps(tx, owner, now) >= SECRET_OVERLAPS_MAX:
            raise Refusal(ErrorCode.ROTATION_LIMIT)
        _note(tx, "secret.rotated", caller, owner, now)
        secrets.expire(tx, owner, until=now + (0 if expire_previous else SECRET_OVERLAP_US))
        if expire_previous:
            secrets.end_overlaps(tx, owner, now)
        secrets.add(tx, owner=owner, sealed=sealed, now=now)
        return secrets.previous_expires_at(tx, owner, now)

    return RevealedSecret(secret, await env.store.write(job))


def _note(tx: Tx, kind: str, caller: Caller, owner: str, now: int) -> None:
    """Journal the caller; refuse if the endpoint does not exist."""
    endpoint = None
    if owner != secrets.ACCOUNT:
        endpoint = endpoints.get(tx, owner)
        if endpoint is None:
            raise Refusal(ErrorCode.ENDPOINT_NOT_FOUND)
    journal.add(
        tx,
        type=kind,
        mode=Mode.LIVE if endpoint is None else endpoint.mode,
        at=now,
        actor=caller.name,
        endpoint_id=None if endpoint is None else endpoint.id,
    )
