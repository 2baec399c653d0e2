"""The senders of one worker: which one an address takes is told by its scheme."""

from collections.abc import Mapping
from typing import Protocol

from daemon.core.delivery import DeliveryError, Outcome
from daemon.webhooks import local_exec, local_spool
from daemon.webhooks.live import LISTEN_SCHEME, Live
from daemon.webhooks.local_places import Kind, PlaceError, read_place


class Target(Protocol):
    """What makes one attempt. Whatever the far end does is in the outcome; nothing of it is raised."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Outcome:
        """Deliver one event."""

    async def aclose(self) -> None:
        """Let go of what is kept between two attempts."""


class Targets:
    """https to the worker's own sender, `exec:` and `spool:` to this machine, `listen:` to a waiting `momo listen`."""

    def __init__(self, https: Target, live: Live, *, home: str, timeout_s: float) -> None:
        self._https = https
        self._live = live
        self._home = home
        self._timeout_s = timeout_s

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Outcome:
        """Make one attempt, the way the address asks for."""
        if url.startswith(LISTEN_SCHEME):
            return await self._live.post(url, headers, body, self._timeout_s)
        try:
            place = read_place(url)
        except PlaceError as error:
            return _blocked(str(error))
        if place is None:
            return await self._https.post(url, headers, body)
        if place.kind is Kind.SPOOL:
            return await local_spool.write(place, headers, body)
        return await local_exec.run(
            place, headers, body, home=self._home, timeout_s=self._timeout_s
        )

    async def aclose(self) -> None:
        """Close the sender's connections."""
        await self._https.aclose()


def _blocked(why: str) -> Outcome:
    return Outcome(None, "", DeliveryError.BLOCKED_ADDRESS, why, 0, connected=True)
