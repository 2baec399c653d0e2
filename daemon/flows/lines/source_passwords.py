"""The password of a source's own web page or local server, sealed."""

import asyncio

from daemon.core.access.callers import Caller
from daemon.core.errors import FieldError, Unavailable, invalid
from daemon.env import Env
from daemon.runtime.secrets import SecretsLocked
from daemon.store import journal
from daemon.store.access import passwords
from daemon.store.engine import Tx
from daemon.store.lines import sources
from daemon.wire import Mode, SourceKind

PURPOSE = "source-password"


async def store_source_password(env: Env, caller: Caller, name: str, password: str | None) -> None:
    """Store a new password of a source, or with None delete the stored one. It counts from the next session on.

    Raises:
        Refusal: VALIDATION_ERROR if no source that takes a password has this name.
        Unavailable: The master key is not available, so nothing can be sealed.
    """
    known = [one.name for one in env.config.sources if one.kind != SourceKind.MODEM]
    if name not in known:
        why = f"is not the name of a source of the settings ({', '.join(known) or 'none'})"
        raise invalid([FieldError("name", "unknown", why)])
    now, sealed = env.clock.now_us(), None
    if password is not None:
        try:
            sealed = await asyncio.to_thread(env.vault.seal, password.encode(), PURPOSE)
        except SecretsLocked as error:
            raise Unavailable(f"the password cannot be sealed: {error}") from error

    def job(tx: Tx) -> None:
        if sealed is None:
            passwords.remove_secret(tx, sources.password_row(name))
        else:
            passwords.put_secret(tx, sources.password_row(name), sealed, now)
        kind = "source.password_set" if sealed is not None else "source.password_removed"
        journal.add(tx, type=kind, mode=Mode.LIVE, at=now, actor=caller.name, data={"source": name})

    await env.store.write(job)


async def source_password(env: Env, name: str) -> str | None:
    """Return the password of a source, None if none is stored.

    Raises:
        SecretsLocked: The master key is not available now.
        Unavailable: The database cannot be read.
    """
    sealed = await env.store.read(
        lambda reader: passwords.sealed_secret(reader, sources.password_row(name))
    )
    if sealed is None:
        return None
    return (await asyncio.to_thread(env.vault.unseal, sealed, PURPOSE)).decode()
