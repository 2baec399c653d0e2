"""Worker pool over the outbox: sends due deliveries, and new ones at once (docs/contributing/deliveries.md).

The loop works in turns. A turn records the attempts that ended since the last turn and leases the next due deliveries,
in one commit; then the new attempts start, and only then the results are logged. A worker sends the leased deliveries of
its queue. For a fast receiver more are leased than there are places, so that it does not wait for a commit between two
posts.
"""

import asyncio
import contextlib
from collections import Counter, deque
from functools import partial
from itertools import chain
from typing import Final

from msgspec import Struct

from daemon.core.errors import Unavailable
from daemon.core.limits import SECOND_US
from daemon.core.webhooks.delivery import (
    LEASE_US,
    AttemptResult,
    Decision,
    QueueKey,
    RetryPolicy,
    classify,
    mark_served,
    most_behind,
)
from daemon.env import Env
from daemon.flows.upkeep import notices
from daemon.flows.webhooks import deliver
from daemon.loops.connectivity import Connectivity, connection_probe
from daemon.loops.keep_running import keep_running, note_work
from daemon.runtime.log import Log
from daemon.sender.connect import HostProbe
from daemon.sender.https import CaFileError, load_context
from daemon.sender.local_targets import Target
from daemon.store.webhooks import attempts as store_attempts
from daemon.store.webhooks import deliveries, endpoints
from daemon.store.webhooks.attempts import BATCH, NO_WORKERS, DueDeliveries, EndedAttempt, Leased, Workers
from daemon.wire import DeliveryStatus
from parsers.masking import describe_error

REREAD_S: Final = 30.0
"""Longest time between two reads of the outbox; timers may be late after a sleep of the machine."""

WORKER: Final = "deliver"
OUTAGES: Final = "outages"

KEY_CHECK_S: Final = 1.0
"""Interval of checks whether an unavailable master key is available again."""

RECORD_S: Final = 0.1
"""Longest delay until the result of an attempt is recorded, even while its worker has more to send."""

FAULT_S: Final = 1.0
"""Pause after an unexpected exception in a turn."""

WORKER_SLICE_S: Final = 0.1
"""When all workers are busy, a worker changes to another endpoint after this time and its leased deliveries (fair queue)."""

STOP_S: Final = 16.0
"""How long a graceful stop waits for attempts in flight; longer than the time limit of an attempt."""

AHEAD: Final = ((15_000, BATCH), (250_000, 2))
"""How many deliveries are leased ahead for a receiver whose last answer took no longer than this many microseconds."""

GIVE_UP_S: Final = 0.35
"""A worker that has to change to another endpoint sends what is leased for no longer than this."""

QUEUED_US_MAX: Final = 20 * SECOND_US
"""A delivery leased longer ago is not started: the lease (60 s) must outlast the attempt (15 s)."""


class WorkerState(Struct):
    """The queue that one worker serves.

    `is_behind` means that the current delivery has lower priority than live ones. `is_ending` means that the worker sends
    its leased deliveries and then changes to another endpoint. `sending` is the current delivery.
    """

    key: QueueKey
    is_behind: bool
    is_ending: bool = False
    sending: Leased | None = None


class DeliverLoop:
    """Leases and attempts due deliveries, at most `workers` at a time and `per_endpoint` for each endpoint."""

    def __init__(self, env: Env, sender: Target, log: Log, reach: HostProbe | None = None) -> None:
        """Create the loop.

        The loop closes `sender` when it stops. `reach` probes hosts while our own connection is down; without it one is
        made from the settings.
        """
        settings = env.config.webhooks
        self._env = env
        self._sender = sender
        self._log = log
        self._workers = settings.workers
        self._per_endpoint = settings.per_endpoint
        self._policy = RetryPolicy(tuple(settings.retry_schedule_s), settings.jitter, frozenset(settings.retry_4xx))
        self._wake = asyncio.Event()
        self._running: dict[asyncio.Task[None], WorkerState] = {}
        self._served: dict[QueueKey, int] = {}
        self._fast: dict[QueueKey, int] = {}
        """How many deliveries are leased ahead for a queue, after its last answer."""
        self._queues: dict[QueueKey, deque[Leased]] = {}
        """The leased deliveries that no worker has begun."""
        self._ended: list[EndedAttempt] = []
        self._unsent: list[Leased] = []
        self._unlogged: list[tuple[EndedAttempt, Decision]] = []
        self._recording: asyncio.TimerHandle | None = None
        self._link = Connectivity(
            env.clock, reach or connection_probe(env.config), on_return=self._link_is_back, on_long=self._link_is_lost
        )
        self._returned = False
        self._stopping = False
        self._looking = asyncio.Event()
        self._over = asyncio.Event()
        self._locked = False
        self._began = False
        """The leases of the process before are returned. After a fault of this loop its own workers still send."""

    async def run(self) -> None:
        """Run until cancelled or stopped."""
        self._looking.set()
        self._over.clear()
        unsubscribe = self._env.store.subscribe(deliveries.TOPIC, self._wake.set)
        forget = self._env.store.subscribe(endpoints.TOPIC, self._endpoints_changed)
        watch = partial(self._link.watch_outage, partial(note_work, self._env, self._log, OUTAGES))
        minding = asyncio.create_task(keep_running(self._env, self._log, OUTAGES, watch, needs_database=False))
        try:
            if not self._began:
                await self._env.store.write(store_attempts.release_all)
                self._began = True
            self._link.know(await deliver.receiver_addresses(self._env))
            if await notices.is_outage_open(self._env):
                self._link.was_down()
            while not self._stopping:
                self._wake.clear()
                self._env.heartbeat(WORKER)
                wait_s = await self._turn()
                await note_work(self._env, self._log, WORKER)
                self._env.heartbeat(WORKER, wait_s)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await self._wake.wait()
        finally:
            unsubscribe()
            forget()
            minding.cancel()
            self._over.set()

    async def stop(self) -> None:
        """Let attempts in flight finish; return the leases of the others without counting an attempt."""
        self._stopping = True
        self._wake.set()
        if self._looking.is_set():
            # Deliveries leased at this moment must be returned before the database closes.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_S):
                    await self._over.wait()
        if self._running:
            _done, late = await asyncio.wait(self._running, timeout=STOP_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        self._endpoints_changed()
        with contextlib.suppress(Unavailable):
            await self._write(NO_WORKERS)
        await self._sender.aclose()

    async def _turn(self) -> float:
        """Record ended attempts, start due ones, and return the time to sleep in seconds."""
        try:
            if self._returned:
                await deliver.link_returned(self._env)
                await notices.record_outage_end(self._env)
                self._returned = False
                self._log.info("deliver.link_is_back")
            await deliver.release_when_time_is_known(self._env)
            if self._locked and not await self._is_locked():
                await deliver.release(self._env, "secrets_locked")
                self._locked = False
            if self._env.ca_fault and await self._has_cas():
                await deliver.release(self._env, "ca_file")
                self._env.ca_fault = ""
                self._log.info("deliver.has_cas")
            due = await self._write(self._free_workers())
        except Unavailable as error:
            self._log.warning("deliver.unavailable", why=error.why)
            return float(error.retry_after_s)
        if due is None:
            return FAULT_S
        if self._stopping:
            self._unsent += due.leased  # `stop` returns the leases
            return 0.0
        self._start(due)
        if self._locked or self._env.ca_fault:
            return KEY_CHECK_S
        if due.next_at is None or len(self._running) >= self._workers:
            return REREAD_S  # the next worker that finishes wakes the loop
        wait_s = (due.next_at - self._env.clock.now_us()) / SECOND_US
        return min(max(wait_s, 0.05), REREAD_S)

    def _free_workers(self) -> Workers:
        if self._stopping or self._locked:
            return NO_WORKERS  # without the key no attempt can be made
        busy, has_free = self._busy(), len(self._running) < self._workers
        going_on = {place.key for place in self._running.values() if not place.is_ending}
        sending = [place.sending for place in self._running.values() if place.sending is not None]
        ended = [one.leased for one in self._ended]
        return Workers(
            limit=self._workers - len(self._running),
            per_endpoint=self._per_endpoint,
            running=self._busy(),
            backlog=self._behind().count(False),
            served=dict(self._served),
            held=self._link.held(),
            # Ahead only for fast receivers, unless their workers are ending.
            ahead={
                key: max(0, most - len(self._queues.get(key, ())))
                for key, most in self._fast.items()
                if key in going_on or (has_free and key not in busy)
            },
            in_flight={
                one.delivery.seq: one.delivery.leased_until or 0
                for one in chain(sending, ended, self._unsent, *self._queues.values())
            },
        )

    async def _write(self, workers: Workers) -> DueDeliveries | None:
        """Record ended attempts and lease due deliveries, in one commit; None after an unexpected exception.

        Raises:
            Unavailable: The database cannot be written now; the ended attempts are kept for the next turn.
        """
        if self._recording is not None:
            self._recording.cancel()
            self._recording = None
        ended, self._ended = self._ended, []
        unsent, self._unsent = self._unsent, []
        try:
            written = await deliver.turn(self._env, ended=ended, unsent=unsent, workers=workers)
        except Unavailable:
            self._ended[:0] = ended
            self._unsent[:0] = unsent
            raise
        except Exception as error:  # noqa: BLE001 -- one delivery that fails here must not hold up the others
            self._log.error("deliver.fault", error=describe_error(error))
            await self._write_singly(ended, unsent)
            return None
        self._unlogged += zip(ended, written.decisions, strict=True)
        asyncio.get_running_loop().call_soon(self._log_attempts)
        return written.due

    async def _write_singly(self, ended: list[EndedAttempt], unsent: list[Leased]) -> None:
        """Record attempts one by one after the common commit failed; the leases of the rest expire."""
        singly: list[tuple[list[EndedAttempt], list[Leased]]] = [([], [one]) for one in unsent]
        singly += [([one], []) for one in ended]
        for mine, back in singly:
            try:
                written = await deliver.turn(self._env, ended=mine, unsent=back)
            except Unavailable:
                self._ended += mine
                self._unsent += back
            except Exception as error:  # noqa: BLE001 -- as above
                leased = mine[0].leased if mine else back[0]
                self._log.error("deliver.fault", delivery=leased.delivery.id, error=describe_error(error))
            else:
                self._unlogged += zip(mine, written.decisions, strict=True)
        self._log_attempts()

    def _start(self, due: DueDeliveries) -> None:
        for one in due.leased:
            key = one.endpoint.id, one.delivery.bulk
            self._queues.setdefault(key, deque()).append(one)
        for key in due.places:
            self._begin(key)
        for key, queue in list(self._queues.items()):
            # A worker may have finished its queue while more was leased for it, and a place may be free beside it.
            busy = self._busy()
            taken = busy[key[0], False] + busy[key[0], True]
            is_free = len(self._running) < self._workers and taken < self._per_endpoint
            if queue and (key not in busy or (is_free and not self._is_behind(key))):
                self._begin(key)

    def _begin(self, key: QueueKey) -> None:
        place = WorkerState(key, self._is_behind(key))
        task = asyncio.create_task(self._work(place))
        self._running[task] = place
        mark_served(self._served, key)
        self._fast = {one: most for one, most in self._fast.items() if one in self._served}
        task.add_done_callback(self._finished)

    def _log_attempts(self) -> None:
        unlogged, self._unlogged = self._unlogged, []
        again: Counter[str] = Counter()
        for one, decision in unlogged:
            if one.leased.delivery.bulk and decision.status is DeliveryStatus.DELIVERED:
                again[one.leased.endpoint.id] += 1
                continue
            self._log.info(
                "deliver.attempted", delivery=one.leased.delivery.id, status=decision.status.value,
                code=one.outcome.status_code, error=one.outcome.error_code, ms=round(one.outcome.duration_us / 1000),
            )  # fmt: skip
        for endpoint_id, count in again.items():
            self._log.info("deliver.sent_again", endpoint=endpoint_id, delivered=count)

    async def _is_locked(self) -> bool:
        """Return whether the master key is unavailable; asked in a thread, since a keyring may be slow."""
        return await asyncio.to_thread(self._env.vault.locked)

    async def _has_cas(self) -> bool:
        """Return whether the CAs of the settings can be read."""
        try:
            await asyncio.to_thread(load_context, self._env.config.webhooks.ca_file or None)
        except CaFileError as error:
            self._env.ca_fault = str(error)
            return False
        return True

    async def _link_is_lost(self) -> None:
        self._log.warning("deliver.link_is_lost")
        with contextlib.suppress(Unavailable):
            await notices.record_outage(self._env)

    def _link_is_back(self) -> None:
        self._returned = True
        self._wake.set()

    def _finished(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        self._wake.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log.error("deliver.fault", error=describe_error(error))

    def _endpoints_changed(self) -> None:
        """Return all unstarted leases: an endpoint may be paused, or have a new address."""
        for key in list(self._queues):
            self._return(key)
        self._wake.set()

    def _return(self, key: QueueKey) -> None:
        self._unsent += self._queues.pop(key, ())

    async def _work(self, place: WorkerState) -> None:
        key = place.key
        opened: dict[tuple[str, str], str] = {}
        clock = self._env.clock
        place_began = clock.monotonic()
        while (leased := await self._next(key)) is not None:
            place.is_behind, place.sending = leased.is_behind, leased
            if not await self._attempt(leased, opened):
                self._fast.pop(key, None)
                self._return(key)
                return
            # Leased deliveries are sent first: to return and lease them again costs as much as to lease and record them.
            took_s = clock.monotonic() - place_began
            place.is_ending = took_s > WORKER_SLICE_S and self._is_crowded(place)
            if self._stopping or (place.is_ending and took_s > GIVE_UP_S):
                break
            is_low = len(self._queues.get(key, ())) * 2 < self._fast.get(key, 0)
            if is_low and not place.is_ending:
                self._wake.set()  # lease more before the queue is empty
        if self._busy()[key] == 1:
            self._return(key)

    def _busy(self) -> Counter[QueueKey]:
        return Counter(place.key for place in self._running.values())

    def _is_behind(self, key: QueueKey) -> bool:
        """Return whether the next delivery of a queue has lower priority than live ones."""
        queue = self._queues.get(key)
        return key[1] or (queue is not None and len(queue) > 0 and queue[0].is_behind)

    def _behind(self) -> list[bool]:
        """Return of each worker that sends with lower priority than live whether it sends bulk; else it sends a backlog."""
        return [place.key[1] for place in self._running.values() if place.is_behind]

    def _is_crowded(self, place: WorkerState) -> bool:
        """Return whether all workers allowed for this priority are busy; below live there are fewer."""
        full_up = place.is_behind and len(self._behind()) >= most_behind(self._workers)
        return full_up or len(self._running) >= self._workers

    async def _next(self, key: QueueKey) -> Leased | None:
        """Return the next delivery: a live one at once, others when no live one is in progress."""
        if self._is_behind(key):
            await self._env.yield_to_live()
        queue = self._queues.get(key)
        if self._stopping or not queue:
            return None
        leased_at = (queue[0].delivery.leased_until or 0) - LEASE_US
        if self._env.clock.now_us() - leased_at > QUEUED_US_MAX:
            return None
        leased = queue.popleft()
        if not leased.is_behind:
            self._env.live_priority.step(self._env.clock.monotonic())
        return leased

    async def _attempt(self, leased: Leased, opened: dict[tuple[str, str], str]) -> bool:
        """Make one attempt; False when the queue must not continue at once."""
        began = self._env.clock.monotonic()
        try:
            outcome = await deliver.attempt(self._env, self._sender, leased, opened)
            if outcome is None:
                if self._env.ca_fault:
                    self._log.warning("deliver.no_cas", why=self._env.ca_fault)
                    return False
                self._log.warning("deliver.secrets_locked", delivery=leased.delivery.id)
                # A key that is available but wrong does not hold up other deliveries.
                self._locked = self._locked or await self._is_locked()
                return False
            link = await self._link.judge(leased.endpoint.url, outcome, began)
        except asyncio.CancelledError:
            await deliver.release_interrupted(self._env, leased)
            raise
        arrived = classify(outcome) is AttemptResult.DELIVERED
        unit = 0.0 if arrived else self._env.entropy.unit()  # no retry after a 2xx, so no jitter
        now = self._env.clock.now_us()
        self._ended.append(EndedAttempt(leased, outcome, link, self._policy, now, unit))
        if self._recording is None:
            self._recording = asyncio.get_running_loop().call_later(RECORD_S, self._wake.set)
        if not arrived:
            return False
        key = leased.endpoint.id, leased.delivery.bulk
        took_us = outcome.duration_us
        self._fast[key] = next((most for limit_us, most in AHEAD if took_us <= limit_us), 0)
        return True
