"""Selection of the sender by the scheme of the address."""

from collections.abc import Mapping
from typing import Protocol

from daemon.core.webhooks.delivery import AttemptOutcome, DeliveryError
from daemon.sender import local_targets
from daemon.sender.live_receivers import LISTEN_SCHEME, LiveReceivers
from daemon.sender.local_targets import LocalKind, LocalTargetError, parse_local_target


class Target(Protocol):
    """A sender of single attempts. Failures of the receiver are in the outcome and are not raised."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> AttemptOutcome:
        """Deliver one event."""

    async def aclose(self) -> None:
        """Release the resources kept between two attempts."""


class Targets:
    """Sends https with `https`, `exec:` and `spool:` on this machine, `listen:` to `momo listen`."""

    def __init__(self, https: Target, live: LiveReceivers, *, home: str, timeout_s: float) -> None:
        self._https = https
        self._live = live
        self._home = home
        self._timeout_s = timeout_s

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> AttemptOutcome:
        """Make one attempt with the sender for the address."""
        if url.startswith(LISTEN_SCHEME):
            return await self._live.post(url, headers, body, self._timeout_s)
        try:
            target = parse_local_target(url)
        except LocalTargetError as error:
            return AttemptOutcome(
                None, "", DeliveryError.BLOCKED_ADDRESS, str(error), 0, connected=True
            )
        if target is None:
            return await self._https.post(url, headers, body)
        if target.kind is LocalKind.SPOOL:
            return await local_targets.write_file(target, headers, body)
        return await local_targets.run_command(
            target, headers, body, home=self._home, timeout_s=self._timeout_s
        )

    async def aclose(self) -> None:
        """Close the sender's connections."""
        await self._https.aclose()
