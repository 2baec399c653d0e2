"""Send what payers are owed over one open port, one SMS at a time, and write down what came of each."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

from daemon.core.errors import Unavailable
from daemon.core.limits import SECOND_US
from daemon.core.requests import Source
from daemon.env import Env
from daemon.flows import send_text
from daemon.log import Log
from daemon.modem.port import Link
from daemon.modem.session import Session
from daemon.modem.session_send import SmsEnded, SmsPartSent, SmsResult
from daemon.store import texts
from privacy.faults import fault as described

LOOK_AGAIN_S: Final = 30.0
"""The outbox is looked at so often at least, whatever its timers say (a laptop that slept)."""

WRITE_AGAIN_S: Final = 5.0
"""Between two tries to write down what came of an SMS, while the disk is full."""


class TextLoop:
    """Feeds one session; it lives as long as the port is open."""

    def __init__(self, env: Env, log: Log, ready: Callable[[], Source | None]) -> None:
        """Make it; `ready` says where the port's phone sends from, None while it cannot send."""
        self._env = env
        self._log = log
        self._ready = ready
        self._wake = asyncio.Event()
        self._stopping = False
        self._heard: list[SmsPartSent | SmsEnded] = []
        self._open: str | None = None
        """The SMS that was handed over and whose end is not written down."""

    def wake(self) -> None:
        """Look at the outbox now: the phone has become ready."""
        self._wake.set()

    def heard(self, event: SmsPartSent | SmsEnded) -> None:
        """Take what the session says; must not block."""
        self._heard.append(event)
        self._wake.set()

    async def run(self, link: Link, session: Session) -> None:
        """Run until `stop`. A fault of ours ends sending over this port and is logged: reading must go on."""
        unsubscribe = self._env.store.subscribe(texts.TOPIC, self._wake.set)
        try:
            while not self._stopping:
                self._wake.clear()
                await self._write_down()
                wait_s = LOOK_AGAIN_S if self._open else await self._send_next(link, session)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await self._wake.wait()
            # What could not be written down is in doubt, which the next start says.
            session.abandon()
            self._heard += [e for e in session.events() if isinstance(e, SmsPartSent | SmsEnded)]
            await self._write_down()
        except Exception as fault:  # noqa: BLE001 - told, not swallowed
            self._log.error("sms.fault", error=described(fault))
        finally:
            unsubscribe()

    def stop(self) -> None:
        """End `run` once what became of the SMS under way is written down; the port is closed."""
        self._stopping = True
        self._wake.set()

    async def _send_next(self, link: Link, session: Session) -> float:
        """Hand over what is due and return how long to sleep."""
        source = self._ready()
        if source is None:
            return LOOK_AGAIN_S
        try:
            due = await send_text.lease(self._env, source.sim_key)
        except Unavailable as error:
            return float(error.retry_after_s)
        if (outgoing := due.outgoing) is not None:
            self._open = outgoing.id
            handed: list[float] = []

            def hand_over(now: float) -> None:
                session.send(outgoing)
                handed.append(now)

            link.do(hand_over)
            if not handed:  # the port has closed meanwhile
                self.heard(SmsEnded(outgoing.id, SmsResult.RETRY, "the phone went away"))
            return LOOK_AGAIN_S
        if due.next_at is None:
            return LOOK_AGAIN_S
        wait_s = (due.next_at - self._env.clock.now_us()) / SECOND_US
        return min(max(wait_s, 0.05), LOOK_AGAIN_S)

    async def _write_down(self) -> None:
        while True:
            try:
                await self._record()
            except Unavailable as error:
                self._log.error("sms.unavailable", why=error.why)
                if self._stopping:
                    return
                await asyncio.sleep(WRITE_AGAIN_S)
                continue
            return

    async def _record(self) -> None:
        while self._heard:
            event = self._heard[0]
            if isinstance(event, SmsPartSent):
                await send_text.part_sent(self._env, event)
            else:
                status = await send_text.ended(self._env, event)
                self._log.info("sms", id=event.id, status=status, why=event.why)
                self._open = None
            del self._heard[0]
