"""Send what is due, at once when something new is owed: a bounded set of workers over the outbox.

The loop goes in turns. A turn writes down what came of the attempts that ended since the last one and leases what is
due next, side by side, so that both share one commit; then the new attempts start, and only then is it logged. So a
worker waits for one commit between two posts, and many workers for the same one.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from daemon.core.delivery import Decision, Link, Outcome, RetryPolicy
from daemon.core.errors import Unavailable
from daemon.core.limits import SECOND_US
from daemon.env import Env
from daemon.flows import deliver, own_link
from daemon.log import Log
from daemon.loops.own_link import OwnLink, reach_of
from daemon.store import deliveries
from daemon.store.attempt_record import Leased
from daemon.webhooks.reach import Reach
from daemon.webhooks.targets import Target

LOOK_AGAIN_S: Final = 30.0
"""The loop looks at the outbox at least this often, whatever its timers say (a laptop that slept)."""

WORKER: Final = "deliver"

LOCKED_S: Final = 1.0
"""While the master key cannot be had, whether it can be had now is asked so often."""

STOP_S: Final = 16.0
"""How long a graceful stop waits for attempts in flight; longer than any attempt may take."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """An attempt whose outcome is not on record yet."""

    leased: Leased
    outcome: Outcome
    link: Link


class DeliverLoop:
    """Leases due deliveries and attempts them, `workers` at a time and `per_endpoint` for each endpoint."""

    def __init__(
        self,
        env: Env,
        make_sender: Callable[[], Target],
        log: Log,
        reach: Reach | None = None,
    ) -> None:
        """Make the loop; `reach` knocks at hosts while our own link is down, by the settings if it is not given."""
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
        self._ended: list[_Ended] = []
        self._idle: list[tuple[str, Target]] = []
        self._link = OwnLink(
            env.clock,
            reach or reach_of(env.config),
            on_return=self._link_is_back,
            on_long=self._link_is_lost,
        )
        self._returned = False
        self._stopping = False
        self._looking = asyncio.Event()
        self._over = asyncio.Event()
        self._locked = False

    async def run(self) -> None:
        """Run until cancelled or stopped."""
        self._looking.set()
        unsubscribe = self._env.store.subscribe(deliveries.TOPIC, self._wake.set)
        minding = asyncio.create_task(self._link.mind())
        try:
            await self._env.store.write(deliveries.release_leases)
            self._link.know(await deliver.addresses(self._env))
            if await own_link.is_lost(self._env):
                self._link.was_down()
            while not self._stopping:
                self._wake.clear()
                self._env.promise(WORKER)
                wait_s = await self._turn()
                self._env.promise(WORKER, wait_s)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await self._wake.wait()
        finally:
            unsubscribe()
            minding.cancel()
            self._over.set()

    async def stop(self) -> None:
        """Let attempts in flight finish; what does not is given back uncounted."""
        self._stopping = True
        self._wake.set()
        if self._looking.is_set():
            # What is being leased at this moment must be given back before the database closes.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_S):
                    await self._over.wait()
        if self._running:
            _done, late = await asyncio.wait(self._running, timeout=STOP_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._record_all()
        for _endpoint, sender in self._idle:
            await sender.aclose()

    async def _turn(self) -> float:
        """Record what has ended, start what is due, and return how long to sleep."""
        recording = asyncio.ensure_future(self._record_all())
        try:
            due = await self._lease()
        except Unavailable as error:
            self._log.warning("deliver.unavailable", why=error.why)
            await recording
            return float(error.retry_after_s)
        if isinstance(due, float):
            await recording
            return due
        if self._stopping:
            for item in due.leased:
                await deliver.give_back(self._env, item)
            await recording
            return 0.0
        for item in due.leased:
            task = asyncio.create_task(self._work(item))
            self._running[task] = item.endpoint.id, item.delivery.bulk
            task.add_done_callback(self._finished)
        written = await recording
        self._tell(written)
        # What was recorded beside the look may be due again before anything that the look has seen.
        retries = (decision.next_attempt_at_us for _, decision in written)
        due_at = min((at for at in (due.next_at, *retries) if at is not None), default=None)
        if due_at is None or len(self._running) >= self._workers:
            return LOOK_AGAIN_S  # whoever finishes wakes us
        wait_s = (due_at - self._env.clock.now_us()) / SECOND_US
        return min(max(wait_s, 0.05), LOOK_AGAIN_S)

    async def _lease(self) -> deliver.Due | float:
        """Lease what is due, or return how long to sleep."""
        if self._returned:
            self._log.info("deliver.link_is_back")
            await deliver.link_returned(self._env)
            await own_link.returned(self._env)
            self._returned = False
        free = self._workers - len(self._running)
        if free <= 0:
            return LOOK_AGAIN_S
        if self._locked:
            # Leasing would only write down attempts that cannot be made.
            if await self._is_locked():
                return LOCKED_S
            await deliver.unlock(self._env)
            self._locked = False
        return await deliver.lease(
            self._env,
            limit=free,
            per_endpoint=self._per_endpoint,
            running=Counter(self._running.values()),
            held=self._link.is_held(),
        )

    async def _record_all(self) -> list[tuple[_Ended, Decision]]:
        """Write down every attempt that has ended; what cannot be written now is kept for the next turn."""
        ended, self._ended = self._ended, []
        results = await asyncio.gather(
            *(
                deliver.record(
                    self._env, one.leased, one.outcome, link=one.link, policy=self._policy
                )
                for one in ended
            ),
            return_exceptions=True,
        )
        written = []
        for one, result in zip(ended, results, strict=True):
            if isinstance(result, Unavailable):
                self._ended.append(one)
            elif isinstance(result, BaseException):
                self._log.error("deliver.fault", error=repr(result))
            else:
                written.append((one, result))
        return written

    def _tell(self, written: list[tuple[_Ended, Decision]]) -> None:
        for one, decision in written:
            self._log.info(
                "deliver.attempted",
                delivery=one.leased.delivery.id,
                status=decision.status.value,
                code=one.outcome.status_code,
                error=one.outcome.error_code,
                ms=round(one.outcome.duration_us / 1000),
            )

    async def _is_locked(self) -> bool:
        """Ask in a thread: a keyring may take its time."""
        return await asyncio.to_thread(self._env.vault.locked)

    async def _link_is_lost(self) -> None:
        self._log.warning("deliver.link_is_lost")
        with contextlib.suppress(Unavailable):
            await own_link.lost(self._env)

    def _link_is_back(self) -> None:
        self._returned = True
        self._wake.set()

    def _finished(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        self._wake.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log.error("deliver.fault", error=repr(error))

    async def _work(self, leased: Leased) -> None:
        sender = self._take_sender(leased.endpoint.id)
        began = self._env.clock.monotonic()
        try:
            outcome = await deliver.attempt(self._env, sender, leased)
            if outcome is None:
                self._log.warning("deliver.secrets_locked", delivery=leased.delivery.id)
                # A key that is there and does not fit is no reason to hold up the others.
                self._locked = self._locked or await self._is_locked()
                return
            link = await self._link.judge(leased.endpoint.url, outcome, began)
            self._ended.append(_Ended(leased, outcome, link))
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
