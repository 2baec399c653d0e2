"""Show and change signing secrets: an endpoint's own, or the account's, which signs for implicit endpoints.

The caller has confirmed the account password before (decisions.md sections 6 and 8).
"""

import asyncio
from dataclasses import dataclass

from daemon.core.access import Caller
from daemon.core.errors import Refusal, Unavailable
from daemon.core.limits import SECRET_OVERLAP_US, SECRET_OVERLAPS_MAX
from daemon.core.signing import SECRET_BYTES, make_secret
from daemon.env import Env
from daemon.secrets import SecretsLocked, SecretsUnsafe
from daemon.store import endpoints, events, webhook_secrets
from daemon.store.engine import Tx
from daemon.wire import ErrorCode, Mode


@dataclass(frozen=True, slots=True)
class Shown:
    """A secret in the open, and until when an older one signs too; None when none does."""

    secret: str
    previous_expires_at: int | None


async def reveal(env: Env, caller: Caller, owner: str) -> Shown:
    """Return the current secret of an endpoint, or of `webhook_secrets.ACCOUNT`.

    Raises:
        Refusal: ENDPOINT_NOT_FOUND.
        Unavailable: The secret cannot be opened, or the revelation not noted.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> tuple[str, int | None]:
        sealed = webhook_secrets.valid_at(tx, owner, now)
        assert sealed, "an endpoint is made with its secret, and setup makes the account's"
        _note(tx, "secret.revealed", caller, owner, now)
        return sealed[0], webhook_secrets.previous_expires_at(tx, owner, now)

    sealed, until = await env.store.write(job)
    try:
        opened = await asyncio.to_thread(env.vault.unseal, sealed, webhook_secrets.PURPOSE)
    except SecretsLocked as error:
        raise Unavailable(f"the signing secret cannot be had: {error}") from error
    return Shown(opened.decode(), until)


async def rotate(env: Env, caller: Caller, owner: str, *, expire_previous: bool) -> Shown:
    """Make a new secret and return it, this once. The old ones sign too for 24 h, unless they are known to others.

    Args:
        env: The doors.
        caller: Who asks.
        owner: An endpoint's id, or `webhook_secrets.ACCOUNT`.
        expire_previous: A secret has leaked: every older one ends now.

    Raises:
        Refusal: ENDPOINT_NOT_FOUND; ROTATION_LIMIT.
        Unavailable: The new secret cannot be kept.
    """
    now = env.clock.now_us()
    secret = make_secret(env.entropy.bytes(SECRET_BYTES))
    try:
        sealed = await asyncio.to_thread(env.vault.seal, secret.encode(), webhook_secrets.PURPOSE)
    except (SecretsLocked, SecretsUnsafe) as error:
        raise Unavailable(f"the signing secret cannot be kept: {error}") from error

    def job(tx: Tx) -> int | None:
        if not expire_previous and webhook_secrets.overlaps(tx, owner, now) >= SECRET_OVERLAPS_MAX:
            raise Refusal(ErrorCode.ROTATION_LIMIT)
        _note(tx, "secret.rotated", caller, owner, now)
        webhook_secrets.expire(tx, owner, until=now + (0 if expire_previous else SECRET_OVERLAP_US))
        if expire_previous:
            webhook_secrets.end_overlaps(tx, owner, now)
        webhook_secrets.add(tx, owner=owner, sealed=sealed, now=now)
        return webhook_secrets.previous_expires_at(tx, owner, now)

    return Shown(secret, await env.store.write(job))


def _note(tx: Tx, kind: str, caller: Caller, owner: str, now: int) -> None:
    """Note who did it, and that there still is an endpoint to do it to."""
    endpoint = None
    if owner != webhook_secrets.ACCOUNT:
        endpoint = endpoints.get(tx, owner)
        if endpoint is None:
            raise Refusal(ErrorCode.ENDPOINT_NOT_FOUND)
    events.add(
        tx,
        type=kind,
        mode=Mode.LIVE if endpoint is None else endpoint.mode,
        at=now,
        actor=caller.name,
        endpoint_id=None if endpoint is None else endpoint.id,
    )
