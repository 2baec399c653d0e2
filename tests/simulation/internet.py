"""The internet of the simulations: names, connections and receivers, each with its own ways to fail.

The address guard and the dialler are the real ones; a receiver answers as soon as it is connected.
"""

import asyncio
import errno
import hashlib
import json
import random
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from daemon.core.webhooks.delivery import AttemptOutcome, DeliveryError
from daemon.sender.address_guard import PUBLIC_ONLY
from daemon.sender.connect import Dialer
from daemon.sender.connection import ExchangeError
from tests.fakes.receiver import verify
from tests.simulation.simulated_time import SimulatedClock

ANSWER_S: Final = 0.2
CONNECT_S: Final = 5.0
TIMEOUT_S: Final = 15.0
UNDER_WAY_S: Final = 6.0
"""An attempt that is under way when its endpoint is paused may still arrive."""


class Internet:
    """Names and connections, which fail while the link is down; each host fails in its own way."""

    def __init__(self) -> None:
        self.up = True
        self.lying: set[str] = set()
        """Names that currently resolve to addresses in the shop's own network."""
        self.dialled: set[str] = set()

    async def look_up(self, host: str, port: int) -> Sequence[str]:
        await asyncio.sleep(0.02)
        number = int(host[4])
        if not self.up and number % 2:
            raise socket.gaierror(-3, "Temporary failure in name resolution")
        return ["192.168.1.1" if host in self.lying else f"8.8.8.{number}"]

    async def connect(self, address: str, port: int) -> socket.socket:
        self.dialled.add(address)
        await asyncio.sleep(0.02)
        if not self.up:
            if address.endswith("2"):
                await asyncio.sleep(3600)  # the connect time-out ends it
            raise OSError(errno.ENETUNREACH, "Network is unreachable")
        mine, theirs = socket.socketpair()
        theirs.close()
        return mine


@dataclass(slots=True)
class Receiver:
    """A receiver: its secrets, its current behaviour, and the webhooks that arrived.

    Attributes:
        ways: Possible answers, one drawn for each request: a status, `hang`, or `lost` for a 200 that never arrives.
        taken: Webhook ID -> digest of the body, for those answered with 2xx.
        heard: The same for all that arrived.
    """

    secrets: list[str] = field(default_factory=list)
    ways: Sequence[int | str] = (200,)
    taken: dict[str, str] = field(default_factory=dict)
    heard: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


class Receivers:
    """The sender to the receivers, by host."""

    def __init__(
        self,
        internet: Internet,
        clock: SimulatedClock,
        receivers: Mapping[str, Receiver] | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.came: list[tuple[float, str, str]] = []
        """Time, URL and sequence number of each request."""
        self._clock = clock
        self._dialer = Dialer(PUBLIC_ONLY, internet.look_up, internet.connect, CONNECT_S)
        self._receivers = receivers
        self._paused: dict[str, float] = {}
        self._rng = rng or random.Random(0)

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> AttemptOutcome:
        host = url.split("/")[2]
        self.came.append((self._clock.monotonic(), url, headers["X-Svc-Sequence"]))
        try:
            connected = await self._dialer.connect_tcp(host, 443)
        except ExchangeError as error:
            return AttemptOutcome(None, "", error.code, str(error), 1, connected=False)
        connected.close()
        way: int | str = 200
        if self._receivers is not None:
            receiver = self._receivers[host]
            way = self._arrived(receiver, headers, body)
            since = self._paused.get(host)
            # A transaction's own URL is not the endpoint that was paused.
            if since is not None and url.endswith("/hook") and self._clock.monotonic() > since + UNDER_WAY_S:
                receiver.wrong.append("got a webhook while it was paused")
        await asyncio.sleep(TIMEOUT_S if way == "hang" else ANSWER_S)
        if isinstance(way, int):
            return AttemptOutcome(way, "scripted", None, None, 1, connected=True)
        lost = DeliveryError.CONNECTION_RESET if way == "lost" else DeliveryError.TIMEOUT
        return AttemptOutcome(None, "", lost, "no answer came", 1, connected=True)

    def switched(self, host: str, *, active: bool | None) -> None:
        """Record that an endpoint was paused or resumed; None if the outcome is unknown."""
        if active is False:
            self._paused[host] = self._clock.monotonic()
        else:
            self._paused.pop(host, None)

    def _arrived(self, receiver: Receiver, headers: Mapping[str, str], body: bytes) -> int | str:
        way = self._rng.choice(receiver.ways)
        lower = {name.lower(): value for name, value in headers.items()}
        webhook_id, digest = lower["webhook-id"], hashlib.sha256(body).hexdigest()
        if not verify(receiver.secrets, lower, body):
            receiver.wrong.append(f"{webhook_id} is not signed with a secret of ours")
        if json.loads(body)["webhook_id"] != webhook_id:
            receiver.wrong.append(f"{webhook_id} has another ID in its body")
        if receiver.heard.setdefault(webhook_id, digest) != digest:
            receiver.wrong.append(f"{webhook_id} came with two bodies")
        if way == "lost" or (isinstance(way, int) and way < 300):
            receiver.taken[webhook_id] = digest
        return way

    async def aclose(self) -> None:
        """Keep no connections open."""
