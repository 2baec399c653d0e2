"""Where the API is reached: a TCP address and the Unix socket, one application behind both.

The socket file is ours to make: mode 0600 in a folder of mode 0700. What lies at its path is looked at first: a
living daemon's socket is left alone, a dead one's is removed, and anything else is refused.
"""

import asyncio
import contextlib
import errno
import logging
import os
import socket
import ssl
from pathlib import Path
from typing import Final

from uvicorn.config import Config
from uvicorn.server import ServerState

from daemon.api.application import Application
from daemon.api.places import ListenError, make_folder, remove_dead, split_address, tls_context
from daemon.api.protocol import HttpProtocol, Limits
from daemon.api.service import JSON_TYPE
from daemon.core import shapes
from daemon.core.errors import Refusal
from daemon.core.ids import request_id
from daemon.system import Entropy, SystemEntropy
from daemon.wire import API_VERSION, API_VERSION_HEADER, REQUEST_ID_HEADER, ErrorCode

BACKLOG: Final = 512
KEEP_ALIVE_S: Final = 30
HANDSHAKE_S: Final = 10.0
"""From a TLS connection's first byte to its first request; a phone on 2G needs three."""
GRACE_S: Final = 5.0
"""How long running calls may take to end when the daemon stops."""
_REASONS: Final = {400: b"Bad Request", 503: b"Service Unavailable"}


class Listeners:
    """Both addresses, from bind to close.

    Attributes:
        http_address: `HOST:PORT` as it really is once bound, empty when HTTP is off.
    """

    def __init__(
        self,
        *,
        socket_path: str,
        http: str | None,
        tls: tuple[str, str] = ("", ""),
        connections: int = 512,
        open_to_all: bool = False,
        entropy: Entropy | None = None,
    ) -> None:
        """Prepare; nothing is opened yet.

        Args:
            socket_path: Of the Unix socket.
            http: `HOST:PORT`, None for no TCP.
            tls: Certificate chain and key, paths of PEM files, for TCP; empty is plain HTTP.
            connections: Over TCP, at one time.
            open_to_all: Let every local user reach the socket (0666 in 0755); credentials alone then decide.
            entropy: For the request ids of answers made before any application is asked.
        """
        self.http_address = ""
        self._path = Path(socket_path)
        self._http = http
        self._tls_files = tls
        self._tls: ssl.SSLContext | None = None
        self._open_to_all = open_to_all
        self._entropy = entropy or SystemEntropy()
        self._limits = Limits(connections, self._busy, self._malformed)
        self._sockets: list[socket.socket] = []
        self._inode = 0
        self._app: Application | None = None
        self._ready = asyncio.Event()
        self._stop = asyncio.Event()
        self._stopped = asyncio.Event()

    async def bind(self) -> None:
        """Take both addresses. Callers may connect from now on; they are answered once `serve` runs.

        Raises:
            ListenError: One of them cannot be had.
        """
        try:
            self._sockets.append(self._bind_unix())
            if self._http is not None:
                self._tls = tls_context(*self._tls_files)
                self._sockets.append(await self._bind_tcp(self._http))
        except BaseException:
            self._close_sockets()
            raise

    async def serve(self, app: Application) -> None:
        """Serve until `stop`."""
        # Its lines may quote what callers sent; our own log has its own.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL + 1)
        self._app = app
        config = Config(
            app,
            interface="asgi3",
            http=HttpProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=KEEP_ALIVE_S,
        )
        config.load()
        loop = asyncio.get_running_loop()
        state = ServerState()

        def factory() -> HttpProtocol:
            return HttpProtocol(config, state, self._limits)

        servers = []
        for each in self._sockets:
            if each.family == socket.AF_UNIX:
                servers.append(await loop.create_unix_server(factory, sock=each, backlog=BACKLOG))
            else:
                patience = None if self._tls is None else HANDSHAKE_S
                servers.append(
                    await loop.create_server(
                        factory,
                        sock=each,
                        backlog=BACKLOG,
                        ssl=self._tls,
                        ssl_handshake_timeout=patience,
                    )
                )
        self._ready.set()
        try:
            await self._stop.wait()
        finally:
            app.close_streams()
            for server in servers:
                server.close()
            self._close_sockets()
            await self._drain()
            self._stopped.set()

    async def ready(self) -> None:
        """Wait until both addresses answer."""
        await self._ready.wait()

    async def stop(self) -> None:
        """Take no new connections, let running calls end, and wait for that."""
        self._stop.set()
        if self._app is not None:
            await self._stopped.wait()
        else:
            self._close_sockets()

    async def _drain(self) -> None:
        connections = self._limits.connections
        for connection in list(connections):
            connection.shutdown()
        if connections:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GRACE_S):
                    await self._limits.emptied.wait()
        for connection in list(connections):
            connection.transport.abort()

    # The Unix socket ----------------------------------------------------------------------------------

    def _bind_unix(self) -> socket.socket:
        make_folder(self._path.parent, 0o755 if self._open_to_all else 0o700)
        remove_dead(self._path)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        mask = os.umask(0o111 if self._open_to_all else 0o177)
        try:
            listening.bind(str(self._path))
        except OSError as error:
            listening.close()
            raise ListenError(f"{self._path} cannot be made: {error.strerror}") from error
        finally:
            os.umask(mask)
        listening.listen(BACKLOG)
        listening.setblocking(False)
        self._inode = self._path.stat().st_ino
        return listening

    def _close_sockets(self) -> None:
        for each in self._sockets:
            each.close()
        self._sockets.clear()
        with contextlib.suppress(OSError):
            # Only ours: another daemon may have taken the path meanwhile.
            if self._inode and self._path.stat().st_ino == self._inode:
                self._path.unlink()
        self._inode = 0

    # TCP ------------------------------------------------------------------------------------------------

    async def _bind_tcp(self, address: str) -> socket.socket:
        host, port = split_address(address)
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
            family, _, _, _, where = found[0]
            # Named as TCP: asyncio sets TCP_NODELAY only then, and 44 ms a call without it.
            listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        except OSError as error:
            raise ListenError(f"{address}: {error.strerror}") from error
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(where)
            listening.listen(BACKLOG)
        except OSError as error:
            listening.close()
            why = "another program has it" if error.errno == errno.EADDRINUSE else error.strerror
            raise ListenError(f"cannot listen on {address}: {why}") from error
        listening.setblocking(False)
        real = listening.getsockname()
        name = f"[{real[0]}]" if family == socket.AF_INET6 else real[0]
        self.http_address = f"{name}:{real[1]}"
        return listening

    # Answers without an application ------------------------------------------------------------------------

    def _busy(self) -> bytes:
        return self._raw(
            Refusal(
                ErrorCode.UNAVAILABLE,
                "Too many connections are open.",
                headers={"Retry-After": "1"},
                retry_after=1,
            )
        )

    def _malformed(self) -> bytes:
        return self._raw(Refusal(ErrorCode.INVALID_JSON, "The request is not valid HTTP/1.1."))

    def _raw(self, refusal: Refusal) -> bytes:
        name = request_id(self._entropy.bytes(16))
        body = shapes.failure(refusal, name)
        headers = {
            "Content-Type": JSON_TYPE.decode(),
            "Content-Length": str(len(body)),
            "Connection": "close",
            API_VERSION_HEADER: API_VERSION,
            REQUEST_ID_HEADER: name,
            **refusal.headers,
        }
        status = refusal.spec.http_status
        head = b"HTTP/1.1 %d %b\r\n" % (status, _REASONS[status])
        lines = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
        return head + lines.encode() + b"\r\n" + body
