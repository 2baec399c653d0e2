"""The process that posts what is sent again in bulk, so that a replay has a processor of its own.

    python -m daemon.webhooks.sending_process FD

`remote_sender` starts it and talks to it over the socket FD (`frames`). The first value tells the settings, as
`Settings`. Each one after it is an attempt, (call, sender, url, headers, body), and is answered with (call, outcome):
the fields of its `Outcome`, or the name of a fault of ours; (sender,) lets the connections of a sender go. The same
`Sender` posts as in the daemon, behind the same guard. The process knows no secret and no database, writes nothing,
and ends when the socket does: with the daemon, however that ends.
"""

import asyncio
import signal
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daemon.config import Webhooks
from daemon.system import loop_factory
from daemon.webhooks.addresses import AddressPolicy, Resolver
from daemon.webhooks.frames import Frames
from daemon.webhooks.sender import Sender


@dataclass(frozen=True, slots=True)
class Settings:
    """Of `[webhooks]`, what a sender goes by."""

    hosts: tuple[str, ...]
    cidrs: tuple[str, ...]
    ca_file: str
    connect_timeout_s: float
    timeout_s: float

    @classmethod
    def of(cls, webhooks: Webhooks) -> "Settings":
        """Take them from the settings of the shop."""
        return cls(
            hosts=tuple(webhooks.allow_private_hosts),
            cidrs=tuple(webhooks.allow_private_cidrs),
            ca_file=webhooks.ca_file,
            connect_timeout_s=webhooks.connect_timeout_s,
            timeout_s=webhooks.timeout_s,
        )

    def sender(self, resolver: Resolver | None = None) -> Sender:
        """Make a sender; `resolver` looks names up instead of the system."""
        return Sender(
            AddressPolicy.from_settings(hosts=self.hosts, cidrs=self.cidrs),
            self.ca_file or None,
            connect_timeout_s=self.connect_timeout_s,
            timeout_s=self.timeout_s,
            resolver=resolver,
        )


class _Posting:
    """What the process does."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.frames: Frames
        self._settings: Settings | None = None
        self._senders: dict[int, Sender] = {}
        self._under_way: set[asyncio.Task[None]] = set()

    def told(self, value: tuple[Any, ...]) -> None:
        """Do what is asked."""
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
        told: tuple[Any, ...] | str
        try:
            outcome = await sender.post(url, headers, body)
            told = (
                outcome.status_code,
                outcome.response_body,
                None if outcome.error_code is None else outcome.error_code.value,
                outcome.error_message,
                outcome.duration_us,
                outcome.retry_after_s,
                outcome.connected,
            )
        except Exception as error:  # noqa: BLE001 -- the daemon tells it, and makes the attempt itself
            told = type(error).__name__
        self.frames.send((call, told))


async def _serve(connected: socket.socket) -> None:
    """Post until the other side lets go; what is on its way then is dropped."""
    posting = _Posting()
    posting.frames = await Frames.over(connected, posting.told, posting.over.set)
    await posting.over.wait()


def main() -> None:
    """Run the process."""
    # The daemon says when to stop: on Ctrl-C its attempts are let finish first.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve(socket.socket(fileno=int(sys.argv[1]))))


if __name__ == "__main__":
    main()
