"""Send what is due, at once when something new is owed: a bounded set of workers over the outbox."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from daemon.core.delivery import Link, RetryPolicy
from daemon.core.errors import Unavailable
from daemon.core.limits import SECOND_US
from daemon.env import Env
from daemon.flows import deliver
from daemon.log import Log
from daemon.store import deliveries
from daemon.webhooks.targets import Target

LOOK_AGAIN_S: Final = 30.0
"""The loop looks at the outbox at least this often, whatever its timers say (a laptop that slept)."""

ANSWERED_S: Final = 60.0
"""Another host that answered within this time proves that our own link works (decisions.md section 7)."""

LOCKED_S: Final = 1.0
"""While the master key cannot be had, whether it can be had now is asked so often."""

STOP_S: Final = 16.0
"""How long a graceful stop waits for attempts in flight; longer than any attempt may take."""


class DeliverLoop:
    """Leases due deliveries and attempts them, `workers` at a time and `per_endpoint` for each endpoint."""

    def __init__(self, env: Env, make_sender: Callable[[], Target], log: Log) -> None:
        settings = env.config.webhooks
        self._env = env
        self._make_sender = make_sender
        self._log = log
        self._workers = settings.workers
        self._per_endpoint = settings.per_endpoint
        self._policy = RetryPolicy(
            tuple(settings.retry_schedule_s), settings.jitter, frozenset(settings.retry_4xx)
        )
        self._wake = asyncio.Event()
        self._running: dict[asyncio.Task[None], tuple[str, bool]] = {}
        self._idle: list[tuple[str, Target]] = []
        self._answered: dict[str, float] = {}
        self._hosts: set[str] = set()
        self._stopping = False
        self._looking = asyncio.Event()
        self._ended = asyncio.Event()
        self._locked = False

    async def run(self) -> None:
        """Run until cancelled or stopped."""
        self._looking.set()
        unsubscribe = self._env.store.subscribe(deliveries.TOPIC, self._wake.set)
        try:
            await self._env.store.write(deliveries.release_leases)
            while not self._stopping:
                self._wake.clear()
                wait_s = await self._start_due()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await self._wake.wait()
        finally:
            unsubscribe()
            self._ended.set()

    async def stop(self) -> None:
        """Let attempts in flight finish; what does not is given back uncounted."""
        self._stopping = True
        self._wake.set()
        if self._looking.is_set():
            # What is being leased at this moment must be given back before the database closes.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_S):
                    await self._ended.wait()
        if self._running:
            _done, late = await asyncio.wait(self._running, timeout=STOP_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        for _endpoint, sender in self._idle:
            await sender.aclose()

    async def _start_due(self) -> float:
        """Start what is due and return how long to sleep."""
        free = self._workers - len(self._running)
        if free <= 0:
            return LOOK_AGAIN_S
        try:
            if self._locked:
                # Leasing would only write down attempts that cannot be made.
                if await self._is_locked():
                    return LOCKED_S
                await deliver.unlock(self._env)
                self._locked = False
            due = await deliver.lease(
                self._env,
                limit=free,
                per_endpoint=self._per_endpoint,
                running=Counter(self._running.values()),
            )
        except Unavailable as error:
            self._log.warning("deliver.unavailable", why=error.why)
            return float(error.retry_after_s)
        if self._stopping:
            for item in due.leased:
                await deliver.give_back(self._env, item)
            return 0.0
        for item in due.leased:
            task = asyncio.create_task(self._work(item))
            self._running[task] = item.endpoint.id, item.delivery.bulk
            task.add_done_callback(self._finished)
        if due.next_at is None or len(self._running) >= self._workers:
            return LOOK_AGAIN_S  # whoever finishes wakes us
        wait_s = (due.next_at - self._env.clock.now_us()) / SECOND_US
        return min(max(wait_s, 0.05), LOOK_AGAIN_S)

    async def _is_locked(self) -> bool:
        """Ask in a thread: a keyring may take its time."""
        return await asyncio.to_thread(self._env.vault.locked)

    def _finished(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        self._wake.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log.error("deliver.fault", error=repr(error))

    async def _work(self, leased: deliver.Leased) -> None:
        sender = self._take_sender(leased.endpoint.id)
        try:
            outcome = await deliver.attempt(self._env, sender, leased)
            if outcome is None:
                self._log.warning("deliver.secrets_locked", delivery=leased.delivery.id)
                # A key that is there and does not fit is no reason to hold up the others.
                self._locked = self._locked or await self._is_locked()
                return
            link = self._link(leased.endpoint.url, connected=outcome.connected)
            decision = await deliver.record(
                self._env, leased, outcome, link=link, policy=self._policy
            )
            self._log.info(
                "deliver.attempted",
                delivery=leased.delivery.id,
                status=decision.status.value,
                code=outcome.status_code,
                error=outcome.error_code,
                ms=round(outcome.duration_us / 1000),
            )
        except asyncio.CancelledError:
            await deliver.give_back(self._env, leased)
            raise
        finally:
            self._idle.append((leased.endpoint.id, sender))

    def _take_sender(self, endpoint_id: str) -> Target:
        """Return an idle sender, the one that last served this endpoint if there is one: its connection is warm."""
        for index, (served, sender) in enumerate(self._idle):
            if served == endpoint_id:
                del self._idle[index]
                return sender
        if len(self._idle) + len(self._running) >= self._workers and self._idle:
            return self._idle.pop(0)[1]
        return self._make_sender()

    def _link(self, url: str, *, connected: bool) -> Link:
        """Say whether a failure to reach this host may be our own link's."""
        host = urlsplit(url).hostname or ""
        now = self._env.clock.monotonic()
        if host:  # a target on this machine says nothing of our link
            self._hosts.add(host)
        if host and connected:
            self._answered[host] = now
        answered = any(
            other != host and now - at <= ANSWERED_S for other, at in self._answered.items()
        )
        return Link(answered, bool(self._hosts - {host}))
