"""Open a dashboard session, for somebody who gave the password."""

import asyncio

from daemon.core import sessions
from daemon.core.errors import Unavailable
from daemon.env import Env
from daemon.secrets import SecretsLocked
from daemon.store import events, session_keys
from daemon.store.engine import Tx
from daemon.wire import Mode

PURPOSE = "session-key"
"""What the sealed bytes are."""


async def open_session(env: Env, actor: str) -> tuple[str, int]:
    """Return a token and the time when it ends. The first login makes the key.

    Raises:
        Unavailable: The master key cannot be had.
    """
    now = env.clock.now_us()
    sealed = await env.store.read(session_keys.get)
    try:
        if sealed is None:
            fresh = env.entropy.bytes(sessions.KEY_BYTES)
            box = await asyncio.to_thread(env.vault.seal, fresh, PURPOSE)
            await env.store.write(lambda tx: session_keys.add(tx, box, now))
            # Two first logins at once: the one key that was kept counts.
            sealed = await env.store.read(session_keys.get) or box
        key = await asyncio.to_thread(env.vault.unseal, sealed, PURPOSE)
    except SecretsLocked as error:
        raise Unavailable(f"sessions cannot be signed: {error}") from error

    def job(tx: Tx) -> None:
        events.add(tx, type="session.opened", mode=Mode.LIVE, at=now, actor=actor)

    await env.store.write(job)
    return sessions.issue(key, env.new_id(), now)
