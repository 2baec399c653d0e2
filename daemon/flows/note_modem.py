"""Write down in the journal what happened to a phone: it hangs, it keeps its messages, its storage is nearly full."""

from daemon.env import Env
from daemon.store import events
from daemon.wire import Mode


async def note_modem(
    env: Env, kind: str, device_id: str | None, facts: dict[str, str | int | None]
) -> None:
    """Append `modem.<kind>` to the journal.

    Raises:
        Unavailable: It cannot be written down now.
    """
    now = env.clock.now_us()
    data = {"device_id": device_id, **facts}
    await env.store.write(
        lambda tx: events.add(tx, type=f"modem.{kind}", mode=Mode.LIVE, at=now, data=data)
    )
