"""Accepts TLS connections, and limits those whose handshake has not ended.

asyncio's own server calls the protocol after the handshake only, so the limit of connections would not see clients that
never end theirs; each holds a file descriptor until its timeout.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Final

from daemon.api.http.protocol import HttpProtocol, Limits

HANDSHAKE_S: Final = 10.0
"""Timeout of a TLS handshake; a phone on 2G needs three seconds."""
ACCEPT_RETRY_S: Final = 0.1
"""Wait after an error, for example while no file descriptor is free."""


class TlsServer:
    """Accepts connections on one listening socket, from its creation until `close`."""

    def __init__(
        self,
        listening: socket.socket,
        factory: Callable[[], HttpProtocol],
        context: ssl.SSLContext,
        limits: Limits,
    ) -> None:
        self._listening = listening
        self._factory = factory
        self._context = context
        self._limits = limits
        self._handshakes: set[asyncio.Task[None]] = set()
        self._accepting = asyncio.create_task(self._accept())

    async def close(self) -> None:
        """Accept no more, and end the handshakes that run; connections that are open stay. The socket is not closed."""
        tasks = [self._accepting, *self._handshakes]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _address = await loop.sock_accept(self._listening)
            except OSError:
                await asyncio.sleep(ACCEPT_RETRY_S)
                continue
            connection.setblocking(False)
            # Twice the maximum, so that a client above it gets the answer which says so, as without TLS.
            if len(self._handshakes) + self._limits.tcp_now >= 2 * self._limits.tcp_max:
                connection.close()
            else:
                handshake = loop.create_task(self._shake(connection))
                self._handshakes.add(handshake)
                handshake.add_done_callback(self._handshakes.discard)
            # `sock_accept` returns at once while clients wait, and nothing else would run.
            await asyncio.sleep(0)

    async def _shake(self, connection: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                self._factory, connection, ssl=self._context, ssl_handshake_timeout=HANDSHAKE_S
            )
        except OSError:
            connection.close()
