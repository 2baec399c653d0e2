"""Our own link to the world: judges failures to reach a host, and knocks while nothing is reached (`core.link`)."""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterable
from typing import Final
from urllib.parse import urlsplit

from daemon.config import Config
from daemon.core.delivery import LINK_WORKS, Link, Outcome, classify, is_own_link
from daemon.core.link import KNOCK_S, TOLD_AFTER_S, LinkWatch
from daemon.system import Clock
from daemon.webhooks.addresses import AddressPolicy
from daemon.webhooks.reach import Reach

HTTPS: Final = "https"


def reach_of(config: Config) -> Reach:
    """Return what knocks at hosts, by the settings."""
    settings = config.webhooks
    policy = AddressPolicy.from_settings(
        hosts=settings.allow_private_hosts, cidrs=settings.allow_private_cidrs
    )
    return Reach(policy, config.network.probe_hosts, connect_timeout_s=settings.connect_timeout_s)


class OwnLink:
    """What all workers together know of the link; belongs to one event loop."""

    def __init__(
        self,
        clock: Clock,
        reach: Reach,
        on_return: Callable[[], None],
        on_long: Callable[[], Awaitable[None]],
    ) -> None:
        """Begin with a link that works.

        Args:
            clock: Its monotonic hand is read.
            reach: Knocks.
            on_return: Called when the link was down and is back.
            on_long: Called once in an outage, when it has lasted `TOLD_AFTER_S`.
        """
        self._clock = clock
        self._reach = reach
        self._on_return = on_return
        self._on_long = on_long
        self._watch = LinkWatch(reach.probe_hosts)
        self._urls: dict[str, str] = {}
        self._lost = asyncio.Event()
        self._asking = asyncio.Lock()
        self._asked_at = 0.0

    @property
    def down(self) -> bool:
        """Our own link seems to be down."""
        return self._watch.down

    def was_down(self) -> None:
        """Take it that the link was down when we last looked: the first answer is its return."""
        self._watch.was_down()
        self._lost.set()

    def know(self, urls: Iterable[str]) -> None:
        """Learn of addresses whose hosts could answer."""
        for url in urls:
            if host := _host(url):
                self._urls[host] = url
                self._watch.know(host)

    def is_held(self) -> Callable[[str], bool]:
        """Return what says of an address, as things are now, that nothing is sent to it."""
        held = self._watch.held()
        return lambda url: bool(held) and _host(url) in held

    async def judge(self, url: str, outcome: Outcome, began: float) -> Link:
        """Say whether a failed attempt may be our own link's fault; asks other hosts if it must.

        Args:
            url: Where it went.
            outcome: What it met.
            began: When it began, on the monotonic hand.
        """
        host = _host(url)
        if host is None:
            return LINK_WORKS  # a place on this machine
        self.know([url])
        if outcome.connected:
            self._heard(host)
        if not is_own_link(classify(outcome), outcome):
            return LINK_WORKS
        if not self._watch.down:
            async with self._asking:
                if self._asked_at < began:
                    self._asked_at = self._clock.monotonic()
                    await self._ask_others(host, began)
        link = self._watch.unreachable(host, self._clock.monotonic())
        if self._watch.down:
            self._lost.set()
        return link

    async def mind(self) -> None:
        """Knock while the link is down, until cancelled."""
        while True:
            await self._lost.wait()
            self._lost.clear()
            knocks, told, since = 0, False, self._clock.monotonic()
            while self._watch.down:
                if not told and self._clock.monotonic() - since >= TOLD_AFTER_S:
                    told = True
                    await self._on_long()
                await asyncio.sleep(KNOCK_S[min(knocks, len(KNOCK_S) - 1)])
                knocks += 1
                if self._watch.down:
                    await self._knock(self._watch.to_knock())

    async def _ask_others(self, host: str, began: float) -> None:
        now = self._clock.monotonic()
        witnesses = self._watch.witnesses(host, began, now)
        if witnesses or not self._watch.evidence(host, now).other_host_answered:
            await self._knock(witnesses)

    async def _knock(self, hosts: Iterable[str]) -> None:
        """Knock at some hosts and at those of the settings, all at the same time."""
        probes = [(host, self._reach.probe_host(host)) for host in self._reach.probe_hosts]
        receivers = [(host, self._reach.receiver(self._urls[host])) for host in hosts]
        both = [*probes, *receivers]
        answers = await asyncio.gather(*(answer for _, answer in both))
        # Who is silent first: who answers then ends the outage for all.
        for (host, _), answered in sorted(zip(both, answers, strict=True), key=lambda one: one[1]):
            if answered:
                self._heard(host)
            else:
                self._watch.knocked(host, self._clock.monotonic())

    def _heard(self, host: str) -> None:
        if self._watch.answered(host, self._clock.monotonic()):
            self._on_return()


@functools.lru_cache(maxsize=1_024)
def _host(url: str) -> str | None:
    parts = urlsplit(url)
    return parts.hostname if parts.scheme == HTTPS else None
