"""Write down when keys were last used: once a minute, not once a call."""

from daemon.core.errors import Unavailable
from daemon.env import Env
from daemon.store import api_keys


async def note_key_use(env: Env) -> int:
    """Write what was noted; returns of how many keys.

    Raises:
        Unavailable: Nothing was written, and it stays noted.
    """
    taken = env.key_use.take()
    if not taken:
        return 0
    try:
        await env.store.write(lambda tx: api_keys.used(tx, taken))
    except Unavailable:
        env.key_use.put_back(taken)
        raise
    return len(taken)
