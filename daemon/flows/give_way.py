"""Let what is live go first (`core.precedence`), before the next step of something that is sent again in bulk."""

import asyncio

from daemon.env import Env


async def give_way(env: Env) -> None:
    """Wait while something live is on its way, but not for ever."""
    waited_s = 0.0
    while (wait_s := env.precedence.wait_s(env.clock.monotonic(), waited_s)) > 0:
        await asyncio.sleep(wait_s)
        waited_s += wait_s
