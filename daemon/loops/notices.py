"""Loop of notices to the owner: reads new journal entries and sends due notices over each channel."""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Final

from daemon.core.errors import Unavailable
from daemon.core.limits import SECOND_US
from daemon.env import Env
from daemon.flows.upkeep import notices
from daemon.loops.keep_running import note_work, set_aside
from daemon.runtime.log import Log
from daemon.runtime.secrets import SecretsLocked
from daemon.sender.owner_notices import Channel, NotSent
from daemon.store import journal
from daemon.store.upkeep import notices as store_notices
from parsers.masking import describe_error

SETTLE_S: Final = 1.0
"""Debounce after a new journal entry: payments go first, and entries made together are read together."""
DIGEST_EVERY_S: Final = 60.0
SEND_S: Final = 60.0
"""Longest time of sending one notice; a mail server may be slow at each step."""
WORKER: Final = "notices"


class NoticeLoop:
    """Collects and sends notices."""

    def __init__(self, env: Env, channels: Mapping[str, Channel], log: Log) -> None:
        self._env = env
        self._channels = dict(channels)
        self._log = log
        self._wake = asyncio.Event()

    async def run(self) -> None:
        """Run until cancelled."""
        unsubscribe = self._env.store.subscribe(journal.TOPIC, self._wake.set)
        try:
            after = await self._env.store.read(store_notices.cursor)
            while True:
                self._wake.clear()
                self._env.heartbeat(WORKER)
                wait_s = DIGEST_EVERY_S
                try:
                    gathered = await notices.gather(self._env, after, list(self._channels))
                    after = gathered.cursor
                    for event, fault in gathered.failed:
                        item = f"the notice about {event.type}"
                        await set_aside(self._env, self._log, WORKER, item, fault)
                    await notices.digest(self._env, list(self._channels))
                    await self._send_due()
                    wait_s = 0 if gathered.more else await self._wait_s()
                    await note_work(self._env, self._log, WORKER)
                except Unavailable as error:
                    self._log.warning("notices.unavailable", why=error.why)
                self._env.heartbeat(WORKER, wait_s + SETTLE_S)
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
                self._env.heartbeat(WORKER, SEND_S)
                try:
                    await channel.send(send.id, send.subject, send.body)
                except (NotSent, SecretsLocked) as failure:
                    error = str(failure)
                except Unavailable:
                    raise
                except Exception as failure:  # noqa: BLE001 -- told; the other notices are sent
                    error = describe_error(failure)
                    await set_aside(self._env, self._log, WORKER, f"a notice by {send.channel}", failure)
                if error is not None:
                    self._log.warning("notice.not_sent", channel=send.channel, why=error)
            await notices.record_try(self._env, send, error)

    async def _wait_s(self) -> float:
        due_at = await self._env.store.read(store_notices.next_due)
        if due_at is None:
            return DIGEST_EVERY_S
        left = (due_at - self._env.clock.now_us()) / SECOND_US
        return min(DIGEST_EVERY_S, max(0.0, left))
