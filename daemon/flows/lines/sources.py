"""What the owner stores for a source: the key of an app, and the password of its own page or local server."""

import asyncio
from typing import Any, Final

from msgspec import Struct

from daemon.core.access.callers import Caller
from daemon.core.errors import FieldError, invalid
from daemon.env import Env
from daemon.store import journal
from daemon.store.access import passwords
from daemon.store.engine import Reader, Tx
from daemon.store.lines import sources
from daemon.wire import SourceKind

KEY_PURPOSE: Final = "post-source"
_KEY_BYTES: Final = 20


class Sealed(Struct, frozen=True):
    """A secret as stored; equal values are the same secret."""

    text: str


async def new_key(env: Env, caller: Caller, name: str) -> str:
    """Make the signing key of a source, which replaces the one of before at once, and return it; it is shown only now.

    Raises:
        Refusal: VALIDATION_ERROR if the settings have no source of kind `post` with this name.
        Unavailable: It cannot be sealed or stored.
    """
    known = [each.name for each in env.config.sources if each.kind == SourceKind.POST]
    if name not in known:
        why = f"is no source of kind post in the settings that the daemon uses ({', '.join(known) or 'none'})"
        raise invalid([FieldError("name", "unknown", why)])
    # Hex, because it is copied into the app by hand or from a QR code.
    key = env.entropy.bytes(_KEY_BYTES).hex()
    sealed = await env.seal(key.encode(), KEY_PURPOSE, "the key")
    now = env.clock.now_us()

    def job(tx: Tx) -> None:
        passwords.put_secret(tx, sources.key_row(name), sealed, now)
        data = {"source": name}
        journal.add(tx, "source.key_set", now, actor=caller.name, data=data)

    await env.store.write(job)
    return key


async def note(env: Env, kind: str, facts: dict[str, Any]) -> None:
    """Record in the journal what the owner has to know about a source."""
    now = env.clock.now_us()
    await env.store.write(lambda tx: journal.add(tx, kind, now, data=facts))


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
        journal.add(tx, "source.removed", now, actor=caller.name, data=data)
        return True

    return await env.store.write(job)


async def sealed_key(env: Env, name: str) -> Sealed | None:
    """Return the signing key as stored, None if there is none."""
    return await env.store.look(lambda reader: _sealed(reader, sources.key_row(name)))


async def unsealed(env: Env, sealed: Sealed) -> bytes:
    """Return a secret.

    Raises:
        Unavailable: The master key is not available.
    """
    return await env.unseal(sealed.text, KEY_PURPOSE, "the key of the source")


def _sealed(reader: Reader, row: str) -> Sealed | None:
    text = passwords.sealed_secret(reader, row)
    return None if text is None else Sealed(text)


PAGE_PURPOSE = "source-password"


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
        sealed = await env.seal(password.encode(), PAGE_PURPOSE, "the password")

    def job(tx: Tx) -> None:
        if sealed is None:
            passwords.remove_secret(tx, sources.password_row(name))
        else:
            passwords.put_secret(tx, sources.password_row(name), sealed, now)
        kind = "source.password_set" if sealed is not None else "source.password_removed"
        journal.add(tx, kind, now, actor=caller.name, data={"source": name})

    await env.store.write(job)


async def source_password(env: Env, name: str) -> str | None:
    """Return the password of a source, None if none is stored.

    Raises:
        SecretsLocked: The master key is not available now.
    """
    sealed = await env.store.read(lambda reader: passwords.sealed_secret(reader, sources.password_row(name)))
    if sealed is None:
        return None
    return (await asyncio.to_thread(env.vault.unseal, sealed, PAGE_PURPOSE)).decode()
