"""Say once of a long message that its other parts never came; it is kept, and a late part still completes it."""

from daemon.core.limits import EXPIRE_BATCH, PARTS_APART_US
from daemon.env import Env
from daemon.store import events, missing_parts
from daemon.store.engine import Tx


async def tell_missing_parts(env: Env) -> int:
    """Journal `message.incomplete` for messages that have lacked parts for a day; returns how many.

    Raises:
        Unavailable: Nothing was told; the next call tells it.
    """
    now = env.clock.now_us()
    before = now - PARTS_APART_US
    if not await env.store.read(lambda reader: missing_parts.untold(reader, before, 1)):
        return 0  # so nearly always: nothing is written then

    def job(tx: Tx) -> int:
        found = missing_parts.untold(tx, before, EXPIRE_BATCH)
        for message in found:
            missing_parts.told(tx, message.id)
            events.add(
                tx,
                type="message.incomplete",
                mode=message.mode,
                at=now,
                message_id=message.id,
                data={
                    "device_id": message.device_id,
                    "slot_index": message.slot_index,
                    "parts_seen": message.parts_seen,
                    "parts_total": message.parts_total,
                },
            )
        return len(found)

    return await env.store.write(job)
