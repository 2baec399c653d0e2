"""Store the signal of each modem by hour, so that a restart does not lose the last day."""

from daemon.core.limits import HOUR_US
from daemon.core.lines.signal_history import SPAN_US
from daemon.env import Env
from daemon.store.lines import signals


async def keep(env: Env) -> None:
    """Add the stored hours once, and store the hours that have ended since the last call: one commit an hour at most.

    With a clock in doubt nothing is done: hours would be stored at the wrong time, or deleted as old ones.

    Raises:
        Unavailable: Nothing was stored; the next call does it.
    """
    times, history = env.times(), env.signals
    if times.doubt is not None:
        return
    now = times.wall_us
    if not history.restored:
        history.restore(
            await env.store.read(lambda reader: signals.since(reader, now - SPAN_US, now))
        )
    if ended := history.ended(now):
        await env.store.write(lambda tx: signals.put(tx, ended, now - SPAN_US))
        history.stored_until = now - now % HOUR_US
