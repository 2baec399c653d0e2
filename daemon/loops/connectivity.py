"""Watch of our own internet connection: classifies failures, and probes hosts during an outage (`core.webhooks.connectivity`)."""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterable
from typing import Final
from urllib.parse import urlsplit

from daemon.core.webhooks.connectivity import CHECK_PAUSES_S, NOTICE_AFTER_S, ConnectivityState
from daemon.core.webhooks.delivery import LINK_WORKS, AttemptOutcome, LinkState, classify, is_own_link
from daemon.runtime.config import Config
from daemon.runtime.system import Clock
from daemon.sender.address_guard import AddressPolicy
from daemon.sender.connect import HostProbe

HTTPS: Final = "https"


def connection_probe(config: Config) -> HostProbe:
    """Return the probe of hosts, made from the settings."""
    settings = config.webhooks
    policy = AddressPolicy.from_settings(hosts=settings.allow_private_hosts, cidrs=settings.allow_private_cidrs)
    return HostProbe(policy, config.network.probe_hosts, connect_timeout_s=settings.connect_timeout_s)


class Connectivity:
    """State of our own connection, shared by all workers of one event loop."""

    def __init__(
        self, clock: Clock, reach: HostProbe, on_return: Callable[[], None], on_long: Callable[[], Awaitable[None]]
    ) -> None:
        """Start with a working connection.

        `on_return` is called when the connection is back after an outage, `on_long` once per outage that lasts
        `NOTICE_AFTER_S`.
        """
        self._clock = clock
        self._reach = reach
        self._on_return = on_return
        self._on_long = on_long
        self._watch = ConnectivityState(reach.probe_hosts)
        self._urls: dict[str, str] = {}
        self._lost = asyncio.Event()
        self._asking = asyncio.Lock()
        self._asked_at = 0.0

    @property
    def down(self) -> bool:
        """Our own connection seems to be down."""
        return self._watch.down

    def was_down(self) -> None:
        """Start in the state of an outage, which the first answer of a host ends."""
        self._watch.was_down()
        self._lost.set()

    def know(self, urls: Iterable[str]) -> None:
        """Register the hosts of these URLs as candidates for probes."""
        for url in urls:
            if host := _host(url):
                self._urls[host] = url
                self._watch.know(host)

    def held(self) -> list[str]:
        """Return the beginnings of the (normalised) addresses to which deliveries are held back now."""
        hosts = [f"[{host}]" if ":" in host else host for host in self._watch.held()]
        return [f"https://{host}{end}" for host in hosts for end in "/:"]

    async def judge(self, url: str, outcome: AttemptOutcome, began: float) -> LinkState:
        """Return the evidence whether our own connection caused a failed attempt; probe other hosts if necessary.

        `began` is the start of the attempt, in monotonic seconds.
        """
        host = _host(url)
        if host is None:
            return LINK_WORKS  # a local target
        self.know([url])
        if outcome.connected:
            self._heard(host)
        if not is_own_link(classify(outcome), outcome):
            return LINK_WORKS
        if not self._watch.down:
            async with self._asking:
                if self._asked_at < began:
                    self._asked_at = self._clock.monotonic()
                    now = self._clock.monotonic()
                    witnesses = self._watch.witnesses(host, began, now)
                    if witnesses or not self._watch.evidence(host, now).other_host_answered:
                        await self._probe(witnesses)
        link = self._watch.unreachable(host, self._clock.monotonic())
        if self._watch.down:
            self._lost.set()
        return link

    async def watch_outage(self, worked: Callable[[], Awaitable[None]]) -> None:
        """Probe hosts while the connection is down, until cancelled; `worked` is called after each probe."""
        while True:
            await self._lost.wait()
            knocks, reported, since = 0, False, self._clock.monotonic()
            while self._watch.down:
                if not reported and self._clock.monotonic() - since >= NOTICE_AFTER_S:
                    reported = True
                    await self._on_long()
                await asyncio.sleep(CHECK_PAUSES_S[min(knocks, len(CHECK_PAUSES_S) - 1)])
                knocks += 1
                if self._watch.down:
                    await self._probe(self._watch.hosts_to_check())
                    await worked()
            self._lost.clear()

    async def _probe(self, hosts: Iterable[str]) -> None:
        """Probe these hosts and those of the settings concurrently."""
        probes = [(host, self._reach.probe_host(host)) for host in self._reach.probe_hosts]
        receivers = [(host, self._reach.receiver(self._urls[host])) for host in hosts]
        both = [*probes, *receivers]
        answers = await asyncio.gather(*(answer for _, answer in both))
        # Silent hosts first: an answer handled after them ends the outage for all.
        for (host, _), answered in sorted(zip(both, answers, strict=True), key=lambda one: one[1]):
            if answered:
                self._heard(host)
            else:
                self._watch.check_failed(host, self._clock.monotonic())

    def _heard(self, host: str) -> None:
        if self._watch.answered(host, self._clock.monotonic()):
            self._on_return()


@functools.lru_cache(maxsize=1_024)
def _host(url: str) -> str | None:
    parts = urlsplit(url)
    return parts.hostname if parts.scheme == HTTPS else None
