"""Separate process that posts bulk resends, so that a replay uses its own CPU core.

    python -m daemon.sender.bulk_process FD

`bulk_client` starts it and exchanges values over the socket FD (`Frames`). The first value is the `Settings`. Each further
value is an attempt, (call, sender, url, headers, body), answered with (call, outcome): the fields of its `Outcome`, or the
name of an unexpected exception; (sender,) closes the connections of a sender. It uses the same `Sender` and address check
as the daemon. The process has no secrets and no database, writes no files, and ends when the socket is closed, so also when
the daemon crashes.
"""

import asyncio
import marshal
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, cast

from daemon.runtime.config import Webhooks
from daemon.runtime.system import loop_factory
from daemon.sender.address_guard import AddressPolicy, Resolver
from daemon.sender.https import Sender

_LENGTH: Final = 4


class Frames(asyncio.Protocol):
    """One end of the socket: each frame is four octets of length, then `marshal` data.

    Both ends run the same program on the same interpreter, and no other process has an end of the socket, so `marshal` is
    safe. Each post needs four frames; JSON over a stream would add a tenth to the cost of a post.
    """

    def __init__(self, on_value: Callable[[Any], None], on_end: Callable[[], None]) -> None:
        self._on_value = on_value
        self._on_end = on_end
        self._unread = bytearray()
        self._transport: asyncio.Transport

    @classmethod
    async def over(
        cls,
        connected: socket.socket,
        on_value: Callable[[Any], None],
        on_end: Callable[[], None] = lambda: None,
    ) -> Self:
        """Wrap one end: `on_value` is called with each received value, `on_end` once when the other end has closed."""
        loop = asyncio.get_running_loop()
        _, made = await loop.create_connection(lambda: cls(on_value, on_end), sock=connected)
        return made

    def send(self, value: Any) -> None:
        """Send a value of built-in types: None, numbers, texts, octets, and tuples, lists and dicts of them."""
        data = marshal.dumps(value)
        self._transport.write(len(data).to_bytes(_LENGTH, "big") + data)

    def close(self) -> None:
        """Close the socket."""
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is not one by class

    def data_received(self, data: bytes) -> None:
        """Pass each complete value to `on_value`."""
        unread = self._unread
        unread += data
        while len(unread) >= _LENGTH:
            end = _LENGTH + int.from_bytes(unread[:_LENGTH], "big")
            if len(unread) < end:
                return
            value = marshal.loads(bytes(unread[_LENGTH:end]))  # noqa: S302 -- our own: see the class
            del unread[:end]
            self._on_value(value)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- asyncio's own signature
        """Call `on_end`."""
        self._on_end()


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of `[webhooks]` that a sender uses."""

    hosts: tuple[str, ...]
    cidrs: tuple[str, ...]
    ca_file: str
    connect_timeout_s: float
    timeout_s: float

    @classmethod
    def of(cls, webhooks: Webhooks) -> "Settings":
        """Return them from the settings of the shop."""
        return cls(
            hosts=tuple(webhooks.allow_private_hosts),
            cidrs=tuple(webhooks.allow_private_cidrs),
            ca_file=webhooks.ca_file,
            connect_timeout_s=webhooks.connect_timeout_s,
            timeout_s=webhooks.timeout_s,
        )

    def sender(self, resolver: Resolver | None = None) -> Sender:
        """Create a sender; `resolver` replaces the system's resolver."""
        return Sender(
            AddressPolicy.from_settings(hosts=self.hosts, cidrs=self.cidrs),
            self.ca_file or None,
            connect_timeout_s=self.connect_timeout_s,
            timeout_s=self.timeout_s,
            resolver=resolver,
        )


class _Posting:
    def __init__(self) -> None:
        self.closed = asyncio.Event()
        self.frames: Frames
        self._settings: Settings | None = None
        self._senders: dict[int, Sender] = {}
        self._under_way: set[asyncio.Task[None]] = set()

    def handle(self, value: tuple[Any, ...]) -> None:
        """Handle one value from the daemon."""
        if self._settings is None:
            self._settings = Settings(*value)
        elif len(value) == 1:
            closing = self._senders.pop(value[0], None)
            if closing is not None:
                self._keep(asyncio.create_task(closing.aclose()))
        else:
            self._keep(asyncio.create_task(self._attempt(self._settings, *value)))

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _attempt(
        self,
        settings: Settings,
        call: int,
        number: int,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
    ) -> None:
        sender = self._senders.get(number)
        if sender is None:
            sender = self._senders[number] = settings.sender()
        reply: tuple[Any, ...] | str
        try:
            outcome = await sender.post(url, headers, body)
            reply = (
                outcome.status_code,
                outcome.response_body,
                None if outcome.error_code is None else outcome.error_code.value,
                outcome.error_message,
                outcome.duration_us,
                outcome.retry_after_s,
                outcome.connected,
            )
        except Exception as error:  # noqa: BLE001 -- the daemon logs it, and makes the attempt itself
            reply = type(error).__name__
        self.frames.send((call, reply))


async def _serve(connected: socket.socket) -> None:
    """Post until the other side closes the socket; attempts in progress are then dropped."""
    posting = _Posting()
    posting.frames = await Frames.over(connected, posting.handle, posting.closed.set)
    await posting.closed.wait()


def main() -> None:
    """Run the process."""
    # The daemon decides when to stop: on Ctrl-C its attempts may finish first.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve(socket.socket(fileno=int(sys.argv[1]))))


if __name__ == "__main__":
    main()
