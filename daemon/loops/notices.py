"""Tell the owner: read the journal as it grows, and send what is due over each channel."""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Final

from daemon.core.errors import Unavailable
from daemon.core.limits import SECOND_US
from daemon.env import Env
from daemon.flows import notices
from daemon.log import Log
from daemon.notices.channels import Channel, NotSent
from daemon.secrets import SecretsLocked
from daemon.store import events, notice_outbox

SETTLE_S: Final = 1.0
"""After a line was added: payments go first, and what comes together is read together."""
DIGEST_EVERY_S: Final = 60.0
SEND_S: Final = 60.0
"""A mail server may take so long, step by step."""
WORKER: Final = "notices"


class NoticeLoop:
    """Gathers and sends."""

    def __init__(self, env: Env, channels: Mapping[str, Channel], log: Log) -> None:
        """Make it; `channels` are those that the settings name."""
        self._env = env
        self._channels = dict(channels)
        self._log = log
        self._wake = asyncio.Event()

    async def run(self) -> None:
        """Run until cancelled."""
        unsubscribe = self._env.store.subscribe(events.TOPIC, self._wake.set)
        try:
            after = await self._env.store.read(notice_outbox.cursor)
            while True:
                self._wake.clear()
                self._env.promise(WORKER)
                wait_s = DIGEST_EVERY_S
                try:
                    gathered = await notices.gather(self._env, after, list(self._channels))
                    after = gathered.cursor
                    await notices.digest(self._env, list(self._channels))
                    await self._send_due()
                    wait_s = 0 if gathered.more else await self._wait_s()
                except Unavailable as error:
                    self._log.warning("notices.unavailable", why=error.why)
                self._env.promise(WORKER, wait_s + SETTLE_S)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await self._wake.wait()
                        await asyncio.sleep(SETTLE_S)
        finally:
            unsubscribe()

    async def _send_due(self) -> None:
        for send in await notices.due(self._env):
            channel = self._channels.get(send.channel)
            error: str | None = None
            if channel is None:
                error = f"the settings name no {send.channel} any more"
            else:
                self._env.promise(WORKER, SEND_S)
                try:
                    await channel.send(send.id, send.subject, send.body)
                except (NotSent, SecretsLocked) as failure:
                    error = str(failure)
                    self._log.warning("notice.not_sent", channel=send.channel, why=error)
            await notices.tried(self._env, send, error)

    async def _wait_s(self) -> float:
        due_at = await self._env.store.read(notice_outbox.next_due)
        if due_at is None:
            return DIGEST_EVERY_S
        left = (due_at - self._env.clock.now_us()) / SECOND_US
        return min(DIGEST_EVERY_S, max(0.0, left))
