"""The system's resolver, kept from holding anything else up."""

import asyncio
import contextlib
import errno
import socket
import threading
from collections.abc import Sequence
from typing import Final

LOOKUPS_MAX: Final = 8
"""Look-ups that may hang at the same time: the system's cannot be cancelled, each holds a thread."""


class SystemResolver:
    """The system's resolver, each look-up in a thread of its own.

    Not the event loop's: a dead DNS server holds each call for up to half a minute, and a pool's few threads
    would make every other name wait. Callers that ask for a name already being looked up share the answer.
    """

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Future[Sequence[str] | OSError]] = {}

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of `host`, in the order in which they should be tried."""
        if host == "localhost" or host.endswith(".localhost"):
            return ("127.0.0.1", "::1")  # RFC 6761 section 6.3: never asked of a server
        future = self._running.get(host)
        if future is None:
            if len(self._running) >= LOOKUPS_MAX:
                raise OSError(errno.EAGAIN, "too many look-ups are hanging")
            loop = asyncio.get_running_loop()
            future = self._running[host] = loop.create_future()
            future.add_done_callback(lambda _: self._running.pop(host, None))
            threading.Thread(
                target=self._look_up, args=(loop, future, host, port), name="dns", daemon=True
            ).start()
        found = await asyncio.shield(future)
        if isinstance(found, OSError):
            raise found
        return found

    @staticmethod
    def _look_up(
        loop: asyncio.AbstractEventLoop,
        future: asyncio.Future[Sequence[str] | OSError],
        host: str,
        port: int,
    ) -> None:
        answer: Sequence[str] | OSError
        try:
            rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answer = tuple(dict.fromkeys(str(row[4][0]) for row in rows))
        except OSError as error:
            answer = error
        except UnicodeError:  # a label that IDNA cannot carry
            answer = OSError(errno.EINVAL, "not a name")

        def finish() -> None:
            if not future.done():
                future.set_result(answer)

        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits
            loop.call_soon_threadsafe(finish)
