"""Send what is due, at once when something new is owed: a bounded set of workers over the outbox.

The loop goes in turns. A turn writes down what came of the attempts that ended since the last one and leases what is
due next, in one commit; then the new attempts start, and only then is it logged. A worker sends what its endpoint's
lane holds (`loops.lanes`), so a fast receiver does not wait for a commit between two posts.

Somewhat longer than 300 lines: the turn, the workers and the stop share what has ended and what did not begin.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from daemon.core.delivery import AttemptResult, Decision, RetryPolicy, classify
from daemon.core.errors import Unavailable
from daemon.core.limits import SECOND_US
from daemon.core.pacing import Key, places_behind, serve
from daemon.env import Env
from daemon.flows import deliver, own_link
from daemon.log import Log
from daemon.loops.lanes import Lanes
from daemon.loops.own_link import OwnLink, reach_of
from daemon.store import deliveries, endpoints
from daemon.store.attempt_record import Ended, Leased
from daemon.store.leasing import ONE_EACH, Ahead, Due
from daemon.webhooks.reach import Reach
from daemon.webhooks.targets import Target
from daemon.wire import DeliveryStatus
from privacy.faults import fault

LOOK_AGAIN_S: Final = 30.0
"""The loop looks at the outbox at least this often, whatever its timers say (a laptop that slept)."""

WORKER: Final = "deliver"

LOCKED_S: Final = 1.0
"""While the master key cannot be had, whether it can be had now is asked so often."""

RECORD_S: Final = 0.1
"""What came of an attempt is written down so soon, also while its worker has more to send."""

FAULT_S: Final = 1.0
"""After a fault of ours in a turn."""

PLACE_S: Final = 0.1
"""When every worker is busy one gives its place up after so long, however much its endpoint is owed."""

STOP_S: Final = 16.0
"""How long a graceful stop waits for attempts in flight; longer than any attempt may take."""


@dataclass(slots=True)
class Place:
    """What one worker sends.

    Attributes:
        key: Its lane.
        is_behind: What it sends now waits behind what is live.
    """

    key: Key
    is_behind: bool


class DeliverLoop:
    """Leases due deliveries and attempts them, `workers` at a time and `per_endpoint` for each endpoint."""

    def __init__(
        self,
        env: Env,
        make_sender: Callable[[], Target],
        log: Log,
        reach: Reach | None = None,
        *,
        make_bulk_sender: Callable[[], Target] | None = None,
    ) -> None:
        """Make the loop.

        Args:
            env: The doors.
            make_sender: Makes what a worker posts with.
            log: The log.
            reach: Knocks at hosts while our own link is down; by the settings if it is not given.
            make_bulk_sender: The same for what is sent again in bulk, if that goes another way.
        """
        settings = env.config.webhooks
        self._env = env
        self._makers = {False: make_sender, True: make_bulk_sender or make_sender}
        self._log = log
        self._workers = settings.workers
        self._per_endpoint = settings.per_endpoint
        self._policy = RetryPolicy(
            tuple(settings.retry_schedule_s), settings.jitter, frozenset(settings.retry_4xx)
        )
        self._wake = asyncio.Event()
        self._running: dict[asyncio.Task[None], Place] = {}
        self._served: dict[Key, int] = {}
        self._lanes = Lanes()
        self._ended: list[Ended] = []
        self._unsent: list[Leased] = []
        self._told: list[tuple[Ended, Decision]] = []
        self._recording: asyncio.TimerHandle | None = None
        self._idle: list[tuple[Key, Target]] = []
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
        forget = self._env.store.subscribe(endpoints.TOPIC, self._endpoints_changed)
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
            forget()
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
        self._unsent += self._lanes.drop_all()
        if self._recording is not None:
            self._recording.cancel()
        with contextlib.suppress(Unavailable):
            await self._write(0, ONE_EACH)
        for _served, sender in self._idle:
            await sender.aclose()

    async def _turn(self) -> float:
        """Record what has ended, start what is due, and return how long to sleep."""
        try:
            if self._returned:
                await deliver.link_returned(self._env)
                await own_link.returned(self._env)
                self._returned = False
                self._log.info("deliver.link_is_back")
            free = self._workers - len(self._running)
            ahead = self._lanes.ahead(self._busy())
            # Leasing without a key would only write down attempts that cannot be made.
            if self._stopping or await self._still_locked():
                free, ahead = 0, ONE_EACH
            due = await self._write(free, ahead)
        except Unavailable as error:
            self._log.warning("deliver.unavailable", why=error.why)
            return float(error.retry_after_s)
        if due is None:
            return FAULT_S
        if self._stopping:
            self._unsent += due.leased  # `stop` writes it down
            return 0.0
        self._start(due)
        if self._locked:
            return LOCKED_S
        if due.next_at is None or len(self._running) >= self._workers:
            return LOOK_AGAIN_S  # whoever finishes wakes us
        wait_s = (due.next_at - self._env.clock.now_us()) / SECOND_US
        return min(max(wait_s, 0.05), LOOK_AGAIN_S)

    async def _still_locked(self) -> bool:
        if self._locked and not await self._is_locked():
            await deliver.unlock(self._env)
            self._locked = False
        return self._locked

    async def _write(self, free: int, ahead: Ahead) -> Due | None:
        """Write down what has ended and lease what is due, in one commit; None after a fault.

        Raises:
            Unavailable: Nothing can be written now; what has ended is kept for the next turn.
        """
        ended, self._ended = self._ended, []
        unsent, self._unsent = self._unsent, []
        try:
            written = await deliver.turn(
                self._env,
                ended=ended,
                unsent=unsent,
                limit=free,
                per_endpoint=self._per_endpoint,
                running=self._busy(),
                backlog=self._behind(in_bulk=False),
                served=self._served,
                held=self._link.is_held(),
                ahead=ahead,
            )
        except Unavailable:
            self._ended[:0] = ended
            self._unsent[:0] = unsent
            raise
        except Exception as error:  # noqa: BLE001 -- one delivery that cannot be judged must not hold up the others
            self._log.error("deliver.fault", error=fault(error))
            await self._write_singly(ended, unsent)
            return None
        self._told += zip(ended, written.decisions, strict=True)
        asyncio.get_running_loop().call_soon(self._tell)
        return written.due

    async def _write_singly(self, ended: list[Ended], unsent: list[Leased]) -> None:
        """Write down what can be written of what could not be together; the leases of the rest run out."""
        for leased in unsent:
            try:
                await deliver.turn(self._env, unsent=[leased])
            except Unavailable:
                self._unsent.append(leased)
            except Exception as error:  # noqa: BLE001 -- as above
                self._log.error("deliver.fault", delivery=leased.delivery.id, error=fault(error))
        for one in ended:
            try:
                written = await deliver.turn(self._env, ended=[one])
            except Unavailable:
                self._ended.append(one)
            except Exception as error:  # noqa: BLE001 -- as above
                self._log.error(
                    "deliver.fault", delivery=one.leased.delivery.id, error=fault(error)
                )
            else:
                self._told += zip([one], written.decisions, strict=True)
        self._tell()

    def _start(self, due: Due) -> None:
        self._lanes.add(due.leased, self._env.clock.monotonic())
        for key in due.places:
            self._begin(key)
        # Whoever had a lane may have come to its end while more was leased for it: its place is still counted.
        busy = self._busy()
        for key in self._lanes.waiting():
            if key not in busy:
                self._begin(key)

    def _begin(self, key: Key) -> None:
        place = Place(key, self._lanes.is_behind(key))
        task = asyncio.create_task(self._work(place))
        self._running[task] = place
        serve(self._served, key)
        task.add_done_callback(self._finished)

    def _tell(self) -> None:
        told, self._told = self._told, []
        again: Counter[str] = Counter()
        for one, decision in told:
            if one.leased.delivery.bulk and decision.status is DeliveryStatus.DELIVERED:
                again[one.leased.endpoint.id] += 1
                continue
            self._log.info(
                "deliver.attempted",
                delivery=one.leased.delivery.id,
                status=decision.status.value,
                code=one.outcome.status_code,
                error=one.outcome.error_code,
                ms=round(one.outcome.duration_us / 1000),
            )
        for endpoint_id, count in again.items():
            self._log.info("deliver.sent_again", endpoint=endpoint_id, delivered=count)

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
            self._log.error("deliver.fault", error=fault(error))

    def _endpoints_changed(self) -> None:
        """Begin nothing more of what was leased for an endpoint as it was: it may be paused, or have moved."""
        self._unsent += self._lanes.drop_all()
        self._wake.set()

    def _record_soon(self) -> None:
        if self._recording is None:
            self._recording = asyncio.get_running_loop().call_later(RECORD_S, self._record_now)

    def _record_now(self) -> None:
        self._recording = None
        self._wake.set()

    async def _work(self, place: Place) -> None:
        """Send what the lane holds, one after the other."""
        key = place.key
        sender = self._take_sender(key)
        opened: dict[str, str] = {}
        clock = self._env.clock
        place_began = clock.monotonic()
        try:
            while (leased := await self._next(key)) is not None:
                place.is_behind = leased.is_behind
                if not await self._attempt(sender, leased, opened):
                    self._lanes.failed(key[0])
                    self._unsent += self._lanes.drop(key)
                    return
                if self._lanes.is_low(key):
                    self._wake.set()
                had_its_turn = clock.monotonic() - place_began > PLACE_S
                if self._stopping or (had_its_turn and self._is_crowded(place)):
                    break
            if self._busy()[key] == 1:
                self._unsent += self._lanes.drop(key)
        finally:
            self._idle.append((key, sender))

    def _busy(self) -> Counter[Key]:
        """Count the workers of each lane."""
        return Counter(place.key for place in self._running.values())

    def _behind(self, *, in_bulk: bool) -> int:
        """Count the workers that send what waits behind what is live: in bulk, or of a backlog."""
        places = self._running.values()
        return sum(place.is_behind and place.key[1] == in_bulk for place in places)

    def _is_crowded(self, place: Place) -> bool:
        """Say whether every place for what this worker sends is taken; behind what is live there are fewer (`core.pacing`)."""
        behind = self._behind(in_bulk=True) + self._behind(in_bulk=False)
        full_up = place.is_behind and behind >= places_behind(self._workers)
        return full_up or len(self._running) >= self._workers

    async def _next(self, key: Key) -> Leased | None:
        """Return what goes out next: of what is live at once, behind it when nothing live is on its way."""
        if self._lanes.is_behind(key):
            await self._env.give_way()
        if self._stopping:
            return None
        now = self._env.clock.monotonic()
        leased = self._lanes.take(key, now)
        if leased is not None and not leased.is_behind:
            self._env.precedence.step(now)
        return leased

    async def _attempt(self, sender: Target, leased: Leased, opened: dict[str, str]) -> bool:
        """Make one attempt; False when nothing else should follow it at once."""
        began = self._env.clock.monotonic()
        try:
            outcome = await deliver.attempt(self._env, sender, leased, opened)
            if outcome is None:
                self._log.warning("deliver.secrets_locked", delivery=leased.delivery.id)
                # A key that is there and does not fit is no reason to hold up the others.
                self._locked = self._locked or await self._is_locked()
                return False
            link = await self._link.judge(leased.endpoint.url, outcome, began)
        except asyncio.CancelledError:
            await deliver.give_back(self._env, leased)
            raise
        arrived = classify(outcome) is AttemptResult.DELIVERED
        unit = 0.0 if arrived else self._env.entropy.unit()  # nothing is tried again after a 2xx
        now = self._env.clock.now_us()
        self._ended.append(Ended(leased, outcome, link, self._policy, now, unit))
        self._record_soon()
        if not arrived:
            return False
        self._lanes.answered(leased.endpoint.id, outcome.duration_us)
        return True

    def _take_sender(self, key: Key) -> Target:
        """Return an idle sender, the one that last served this endpoint if there is one: its connection is warm."""
        bulk = key[1]
        alike = [place for place, (served, _) in enumerate(self._idle) if served[1] == bulk]
        warm = [place for place in alike if self._idle[place][0] == key]
        busy = sum(place.key[1] == bulk for place in self._running.values())
        if warm or (alike and len(alike) + busy >= self._workers):
            return self._idle.pop((warm or alike)[0])[1]
        return self._makers[bulk]()
