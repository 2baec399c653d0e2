"""The password of the mail account that sends notices: sealed, and opened when one is sent."""

import asyncio

from daemon.core.access import Caller
from daemon.core.errors import Unavailable
from daemon.env import Env
from daemon.secrets import SecretsLocked
from daemon.store import events, sealed_secrets
from daemon.store.engine import Tx
from daemon.wire import Mode

PURPOSE = "smtp-password"


async def keep(env: Env, caller: Caller, password: str | None) -> None:
    """Keep a new password, or with None forget the one there is.

    Raises:
        Unavailable: The master key cannot be had, so nothing can be sealed.
    """
    now = env.clock.now_us()
    sealed = None
    if password is not None:
        try:
            sealed = await asyncio.to_thread(env.vault.seal, password.encode(), PURPOSE)
        except SecretsLocked as error:
            raise Unavailable(f"the password cannot be sealed: {error}") from error

    def job(tx: Tx) -> None:
        if sealed is None:
            sealed_secrets.remove(tx, sealed_secrets.SMTP)
        else:
            sealed_secrets.put(tx, sealed_secrets.SMTP, sealed, now)
        kind = "smtp.password_set" if sealed is not None else "smtp.password_removed"
        events.add(tx, type=kind, mode=Mode.LIVE, at=now, actor=caller.name)

    await env.store.write(job)


async def current(env: Env) -> str | None:
    """Return the password, None when there is none.

    Raises:
        SecretsLocked: The master key cannot be had now.
    """
    sealed = await env.store.read(lambda reader: sealed_secrets.get(reader, sealed_secrets.SMTP))
    if sealed is None:
        return None
    return (await asyncio.to_thread(env.vault.unseal, sealed, PURPOSE)).decode()
