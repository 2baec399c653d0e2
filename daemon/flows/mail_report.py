"""Queue a report for the owner's mail: sent as notices are, again and again until the line is there."""

from daemon.env import Env
from daemon.store import events, notice_outbox
from daemon.store.engine import Tx
from daemon.wire import Mode


async def queue(env: Env, subject: str, text: str) -> None:
    """Queue one message.

    Raises:
        Unavailable: It cannot be written down now.
    """
    now, send_id = env.clock.now_us(), env.new_id()

    def job(tx: Tx) -> None:
        notice_outbox.queue(tx, send_id, channel="email", subject=subject, body=text, now=now)
        # The loop that sends looks when the journal grows.
        events.add(tx, type="report.mailed", mode=Mode.LIVE, at=now, data={"subject": subject})

    await env.store.write(job)
