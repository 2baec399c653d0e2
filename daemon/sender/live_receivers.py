"""Live receivers: each connected `momo listen` is one, and gets its webhooks over the socket.

An attempt waits until the listener reports the answer of its own receiver. All state is in memory: undelivered
webhooks stay in the outbox, as for every endpoint.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from daemon.core.webhooks.delivery import AttemptOutcome, DeliveryError

LISTEN_SCHEME: Final = "listen:"
"""`listen:<endpoint's id>`: the address of a live receiver's endpoint."""


class Posted(Struct, frozen=True):
    """One attempt in progress at a listener.

    `number` identifies the attempt within the listener.
    """

    number: int
    headers: Mapping[str, str]
    body: bytes


class ListenerReport(Struct, frozen=True):
    """Result of an attempt from a listener: a status, or the reason why there was none."""

    status_code: int | None
    response_body: str
    error_code: DeliveryError | None
    error_message: str | None


class Listener(Struct):
    """One connected `momo listen`.

    `wake` is set when an attempt was posted.
    """

    wake: asyncio.Event = field(default_factory=asyncio.Event)
    _posted: list[Posted] = field(default_factory=list)
    _open: dict[int, "asyncio.Future[ListenerReport]"] = field(default_factory=dict)
    _last: int = 0

    def take(self) -> list[Posted]:
        """Return the attempts posted since the last call."""
        taken, self._posted = self._posted, []
        return taken

    async def post(self, headers: Mapping[str, str], body: bytes) -> ListenerReport:
        """Pass one attempt to the listener and wait for its report."""
        self._last += 1
        number = self._last
        self._open[number] = asyncio.get_running_loop().create_future()
        self._posted.append(Posted(number, headers, body))
        self.wake.set()
        try:
            return await self._open[number]
        finally:
            del self._open[number]

    def settle(self, number: int, report: ListenerReport) -> bool:
        """Report an attempt; False when it is not awaited (any more)."""
        waiting = self._open.get(number)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(report)
        return True

    def leave(self) -> None:
        """End the attempts in progress, because the listener has disconnected."""
        for waiting in self._open.values():
            if not waiting.done():
                waiting.set_result(_GONE)


_GONE: Final = ListenerReport(None, "", DeliveryError.CONNECTION_RESET, "momo listen ended before it answered")


class LiveReceivers:
    """The connected listeners, by the address of their endpoint."""

    def __init__(self) -> None:
        self._listeners: dict[str, Listener] = {}

    def connect(self, url: str) -> Listener:
        """Connect a listener; a listener connected before at this address is disconnected."""
        self.leave(url)
        listener = self._listeners[url] = Listener()
        return listener

    def leave(self, url: str, listener: Listener | None = None) -> bool:
        """Disconnect a listener; False when `listener` is given and is not the connected one."""
        here = self._listeners.get(url)
        if here is None or listener not in (None, here):
            return False
        del self._listeners[url]
        here.leave()
        here.wake.set()
        return True

    def addresses(self) -> list[str]:
        """Return the addresses of the connected listeners."""
        return [*self._listeners]

    def at(self, url: str) -> Listener | None:
        """Return the connected listener."""
        return self._listeners.get(url)

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: float) -> AttemptOutcome:
        """Make one attempt."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        listener = self.at(url)
        if listener is None:
            code = DeliveryError.CONNECTION_REFUSED
            report = ListenerReport(None, "", code, "no momo listen is connected")
        else:
            try:
                async with asyncio.timeout(timeout_s):
                    report = await listener.post(headers, body)
            except TimeoutError:
                report = ListenerReport(None, "", DeliveryError.TIMEOUT, f"no whole answer within {timeout_s:g} s")
        return AttemptOutcome(
            status_code=report.status_code,
            response_body=report.response_body,
            error_code=report.error_code,
            error_message=report.error_message,
            duration_us=round((loop.time() - started) * 1_000_000),
            connected=True,  # a failure here is not caused by our own connection
        )
