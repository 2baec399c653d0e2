"""The key with which the app of an Android source signs its posts, sealed."""

import asyncio
from typing import Any, Final

from msgspec import Struct

from daemon.core.access.callers import Caller
from daemon.core.errors import FieldError, Unavailable, invalid
from daemon.env import Env
from daemon.runtime.secrets import SecretsLocked
from daemon.store import journal
from daemon.store.access import passwords
from daemon.store.engine import Reader, Tx
from daemon.store.lines import sources
from daemon.wire import Mode, SourceKind

PURPOSE: Final = "android-source"
_KEY_BYTES: Final = 20


class Sealed(Struct, frozen=True):
    """A secret as stored; equal values are the same secret."""

    text: str


async def new_key(env: Env, caller: Caller, name: str) -> str:
    """Make the signing key of a source, which replaces the one of before at once, and return it; it is shown only now.

    Raises:
        Refusal: VALIDATION_ERROR if the settings have no Android source of this name.
        Unavailable: It cannot be sealed or stored.
    """
    known = [each.name for each in env.config.sources if each.kind == SourceKind.ANDROID]
    if name not in known:
        why = f"is no Android source of the settings that the daemon uses ({', '.join(known) or 'none'})"
        raise invalid([FieldError("name", "unknown", why)])
    # Hex, because it is copied into the app by hand or from a QR code.
    key = env.entropy.bytes(_KEY_BYTES).hex()
    try:
        sealed = await asyncio.to_thread(env.vault.seal, key.encode(), PURPOSE)
    except SecretsLocked as error:
        raise Unavailable(f"the key cannot be sealed: {error}") from error
    now = env.clock.now_us()

    def job(tx: Tx) -> None:
        passwords.put_secret(tx, sources.key_row(name), sealed, now)
        data = {"source": name}
        journal.add(tx, type="source.key_set", mode=Mode.LIVE, at=now, actor=caller.name, data=data)

    await env.store.write(job)
    return key


async def note(env: Env, kind: str, facts: dict[str, Any]) -> None:
    """Record in the journal what the owner has to know about a source.

    Raises:
        Unavailable: Nothing was written.
    """
    now = env.clock.now_us()
    await env.store.write(lambda tx: journal.add(tx, type=kind, mode=Mode.LIVE, at=now, data=facts))


async def forget(env: Env, caller: Caller, name: str) -> bool:
    """Delete the secrets and counts of a source; return whether there were any. Its messages stay."""
    now = env.clock.now_us()

    def job(tx: Tx) -> bool:
        had = passwords.remove_secret(tx, sources.key_row(name))
        passwords.remove_secret(tx, sources.password_row(name))
        known = sources.get(tx, name) is not None
        sources.remove(tx, name)
        if not had and not known:
            return False
        data = {"source": name}
        journal.add(tx, type="source.removed", mode=Mode.LIVE, at=now, actor=caller.name, data=data)
        return True

    return await env.store.write(job)


async def sealed_key(env: Env, name: str) -> Sealed | None:
    """Return the signing key as stored, None if there is none.

    Raises:
        Unavailable: The database cannot be read.
    """
    return await env.store.look(lambda reader: _sealed(reader, sources.key_row(name)))


async def unsealed(env: Env, sealed: Sealed) -> bytes:
    """Return a secret.

    Raises:
        Unavailable: The master key is not available.
    """
    try:
        return await asyncio.to_thread(env.vault.unseal, sealed.text, PURPOSE)
    except SecretsLocked as error:
        raise Unavailable(f"the key of the source cannot be opened: {error}") from error


def _sealed(reader: Reader, row: str) -> Sealed | None:
    text = passwords.sealed_secret(reader, row)
    return None if text is None else Sealed(text)
