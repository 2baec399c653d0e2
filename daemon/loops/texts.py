"""Sending of due SMS to payers over one open port, one at a time; records the result of each."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import Final

from daemon.core.errors import Unavailable
from daemon.core.inputs import Source
from daemon.core.limits import SECOND_US
from daemon.env import Env
from daemon.flows.payments import texts
from daemon.loops.keep_running import BACK_OFF_S, note_failure, note_work
from daemon.modem.session.send import Outgoing, SmsEnded, SmsPartSent, SmsResult
from daemon.runtime.log import Log
from daemon.store.payments import texts as store_texts
from parsers.masking import describe_error as described

REREAD_S: Final = 30.0
"""Longest time between two reads of the outbox; timers may be late after a sleep of the machine."""

RECORD_RETRY_S: Final = 5.0
"""Between two tries to record the result of an SMS while the disk is full."""


class TextLoop:
    """Sends through one phone; it lives as long as that is there."""

    def __init__(self, env: Env, log: Log, ready: Callable[[], Source | None], worker: str = "texts") -> None:
        """Create the loop; `ready` returns the sending SIM of the port, None while it cannot send.

        `worker` is its name among the loops of the daemon.
        """
        self._worker = worker
        self._env = env
        self._log = log
        self._ready = ready
        self._wake = asyncio.Event()
        self._stopping = False
        self._heard: list[SmsPartSent | SmsEnded] = []
        self._open: str | None = None
        """The SMS passed to the session that has no recorded result yet."""

    def wake(self) -> None:
        """Read the outbox now, because the phone has become ready."""
        self._wake.set()

    def heard(self, event: SmsPartSent | SmsEnded) -> None:
        """Queue an event of the session; must not block."""
        self._heard.append(event)
        self._wake.set()

    async def run(self, send: Callable[[Outgoing], bool], abandon: Callable[[], Iterable[object]]) -> None:
        """Run until `stop`.

        `send` hands an SMS over, False if the phone has gone; what becomes of it comes to `heard`. `abandon` ends the one in
        hand and returns what has happened to it since. A fault by a bug stops neither the reading nor the next SMS; the SMS in
        hand stays in doubt.
        """
        unsubscribe = self._env.store.subscribe(store_texts.TOPIC, self._wake.set)
        try:
            while not self._stopping:
                self._wake.clear()
                try:
                    await self._write_down()
                    wait_s = REREAD_S if self._open else await self._send_next(send)
                    await note_work(self._env, self._log, self._worker)
                except Exception as fault:  # noqa: BLE001 -- told and counted
                    self._heard.clear()
                    self._open = None
                    wait_s = await self._failed(fault)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await self._wake.wait()
            # A result that cannot be recorded is in doubt; the next start marks it so.
            self._heard += [e for e in abandon() if isinstance(e, SmsPartSent | SmsEnded)]
            await self._write_down()
        except Exception as fault:  # noqa: BLE001 -- told and counted
            await self._failed(fault)
        finally:
            unsubscribe()

    async def _failed(self, fault: Exception) -> float:
        """Tell and count a fault; return the pause in seconds."""
        try:
            failures = await note_failure(self._env, self._log, self._worker, fault)
        except Exception as error:  # noqa: BLE001 -- the database's own loops report it
            self._log.error("sms.unavailable", why=described(error))
            return RECORD_RETRY_S
        return BACK_OFF_S[min(failures, len(BACK_OFF_S)) - 1]

    def stop(self) -> None:
        """End `run` after the result of the current SMS is recorded; the port is closed."""
        self._stopping = True
        self._wake.set()

    async def _send_next(self, send: Callable[[Outgoing], bool]) -> float:
        """Hand the due SMS over and return the time to sleep in seconds."""
        source = self._ready()
        if source is None:
            return REREAD_S
        try:
            due = await texts.lease(self._env, source.sim_key)
        except Unavailable as error:
            return float(error.retry_after_s)
        if (outgoing := due.outgoing) is not None:
            self._open = outgoing.id
            if not send(outgoing):
                self.heard(SmsEnded(outgoing.id, SmsResult.RETRY, "the phone went away"))
            return REREAD_S
        if due.next_at is None:
            return REREAD_S
        wait_s = (due.next_at - self._env.clock.now_us()) / SECOND_US
        return min(max(wait_s, 0.05), REREAD_S)

    async def _write_down(self) -> None:
        while True:
            try:
                while self._heard:
                    event = self._heard[0]
                    if isinstance(event, SmsPartSent):
                        await texts.part_sent(self._env, event)
                    else:
                        status = await texts.ended(self._env, event)
                        self._log.info("sms", id=event.id, status=status, why=event.why)
                        self._open = None
                    del self._heard[0]
            except Unavailable as error:
                self._log.error("sms.unavailable", why=error.why)
                if self._stopping:
                    return
                await asyncio.sleep(RECORD_RETRY_S)
                continue
            return
