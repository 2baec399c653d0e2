"""The listeners of the API: a TCP address and the Unix socket, with one application behind both.

The socket file is created with mode 0600 in a folder of mode 0700. If its path exists, the socket of a running daemon is
an error, a stale socket is removed, and any other file is an error.
"""

import asyncio
import contextlib
import errno
import logging
import os
import socket
import ssl
import stat
from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Final

from daemon.api.http.envelope import Application
from daemon.api.http.protocol import ConnectionLimits, HttpProtocol, TlsServer
from daemon.api.http.service import JSON_TYPE
from daemon.api.http.uvicorn_parts import Config, ServerState
from daemon.core import json_values
from daemon.core.errors import MomoError, Refusal
from daemon.core.ids import request_id
from daemon.runtime.system import Entropy, SystemEntropy
from daemon.wire import API_VERSION, API_VERSION_HEADER, REQUEST_ID_HEADER, ErrorCode

BACKLOG: Final = 512
KEEP_ALIVE_S: Final = 30
BIND_AGAIN_S: Final = 2.0
"""Between two tries to bind an address that was not free at the start."""
GRACE_S: Final = 5.0
"""Time for running calls to end when the daemon stops."""


class ListenError(MomoError):
    """The API cannot listen on an address; the text gives the reason for people."""


class NotNowError(ListenError):
    """It may be possible later, without a change of the settings."""


class Listeners:
    """Both listening sockets, from bind to close.

    `http_address` is the actual `HOST:PORT` after `bind`, empty if HTTP is off or not bound yet. `waiting` says why the
    `socket` or `http` is not bound yet; it is tried again.
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
        """Store the settings; `bind` opens the sockets.

        `http` is `HOST:PORT`, None for no TCP; `tls` the paths of a certificate chain and its key for TCP, empty for
        plain HTTP. With `open_to_all` every local user may connect to the socket (0666 in 0755); peer credentials then
        decide. `entropy` makes request ids for answers that do not reach the application.
        """
        self.http_address = ""
        self._path = Path(socket_path)
        self._http = http
        self._tls_files = tls
        self._tls: ssl.SSLContext | None = None
        self._open_to_all = open_to_all
        self._entropy = entropy or SystemEntropy()
        why, wait = "Too many connections are open.", {"Retry-After": "1"}
        busy = Refusal(ErrorCode.UNAVAILABLE, why, headers=wait, retry_after=1)
        malformed, large = map(Refusal, (ErrorCode.MALFORMED_REQUEST, ErrorCode.HEADERS_TOO_LARGE))
        self._limits = ConnectionLimits(
            connections, partial(self._raw, busy), partial(self._raw, malformed), partial(self._raw, large)
        )
        self.waiting: dict[str, str] = {}
        self._sockets: list[socket.socket] = []
        self._inode = 0
        self._app: Application | None = None
        self._ready = asyncio.Event()
        self._stop = asyncio.Event()
        self._stopped = asyncio.Event()

    async def bind(self, *, patient: bool = False) -> None:
        """Bind both addresses. Clients can connect from now on; they are answered once `serve` runs.

        With `patient`, an address that may be free later is noted in `waiting`, and `serve` tries it again.
        """
        self.waiting = {"socket": "", **({} if self._http is None else {"http": ""})}
        try:
            for what in list(self.waiting):
                try:
                    self._sockets.append(await self._bind(what))
                except NotNowError as error:
                    if not patient:
                        raise
                    self.waiting[what] = str(error)
                else:
                    del self.waiting[what]
        except BaseException:
            self._close_sockets()
            raise

    async def _bind(self, what: str) -> socket.socket:
        if what == "socket":
            make_socket_folder(self._path.parent, 0o755 if self._open_to_all else 0o700)
            remove_stale_socket(self._path)
            listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            mask = os.umask(0o111 if self._open_to_all else 0o177)
            try:
                listening.bind(str(self._path))
            except OSError as error:
                listening.close()
                # Without a number the path is too long.
                kind = ListenError if error.errno is None else NotNowError
                why = error.strerror or str(error)
                raise kind(f"{self._path} cannot be created: {why}") from error
            finally:
                os.umask(mask)
            listening.listen(BACKLOG)
            listening.setblocking(False)
            self._inode = self._path.stat().st_ino
            return listening
        assert self._http is not None
        self._tls = tls_context(*self._tls_files)
        return await self._bind_tcp(self._http)

    async def _bind_waiting(self) -> list[socket.socket]:
        """Try again what waits; return the sockets that are bound now."""
        found = []
        for what in list(self.waiting):
            try:
                found.append(await self._bind(what))
            except ListenError as error:
                self.waiting[what] = str(error)
            else:
                del self.waiting[what]
        self._sockets += found
        return found

    async def serve(self, app: Application, worked: Callable[[], Awaitable[None]] | None = None) -> None:
        """Serve until `stop`; after an error it may be called again, and binds its addresses anew.

        `worked` is called once both addresses answer.
        """
        self._app = app
        factory = self._factory(app)
        servers: list[asyncio.Server | TlsServer] = []
        try:
            servers += [await self._answer(each, factory) for each in self._sockets]
            self._ready.set()
            while self.waiting and not self._stop.is_set():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(BIND_AGAIN_S):
                        await self._stop.wait()
                bound = await self._bind_waiting()
                servers += [await self._answer(each, factory) for each in bound]
            if worked is not None and not self._stop.is_set():
                await worked()
            await self._stop.wait()
        except Exception:
            self._app = None
            why = "an error in momo ended it"
            self.waiting = {"socket": why, **({} if self._http is None else {"http": why})}
            self._http = self.http_address or self._http  # clients know the port
            raise
        finally:
            self._ready.set()  # without its API, too, the daemon reads messages
            if self._app is not None:
                app.close_streams()
            for server in servers:
                if (closing := server.close()) is not None:
                    await closing
            self._close_sockets()
            if self._app is not None:
                await self._drain()
                self._stopped.set()

    def _factory(self, app: Application) -> Callable[[], HttpProtocol]:
        # uvicorn's log lines may quote request data; momo writes its own log.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL + 1)
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
        state = ServerState()
        return lambda: HttpProtocol(config, state, self._limits)

    async def _answer(self, each: socket.socket, factory: Callable[[], HttpProtocol]) -> asyncio.Server | TlsServer:
        loop = asyncio.get_running_loop()
        if each.family == socket.AF_UNIX:
            return await loop.create_unix_server(factory, sock=each, backlog=BACKLOG)
        if self._tls is None:
            return await loop.create_server(factory, sock=each, backlog=BACKLOG)
        return TlsServer(each, factory, self._tls, self._limits)

    def reload_certificate(self) -> None:
        """Use the present certificate files for new connections; unusable ones (ListenError) change nothing."""
        # Tried first in a context of its own: a key that does not fit would spoil the one in use.
        if self._tls is not None and tls_context(*self._tls_files) is not None:
            certificate, key = self._tls_files
            self._tls.load_cert_chain(certificate, key or None, password=_no_password)

    async def ready(self) -> None:
        """Wait until both addresses answer."""
        await self._ready.wait()

    async def stop(self) -> None:
        """Stop accepting connections and wait for running calls to end."""
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

    def _close_sockets(self) -> None:
        for each in self._sockets:
            each.close()
        self._sockets.clear()
        with contextlib.suppress(OSError):
            # Only our own socket file: another daemon may have created one at this path meanwhile.
            if self._inode and self._path.stat().st_ino == self._inode:
                self._path.unlink()
        self._inode = 0

    async def _bind_tcp(self, address: str) -> socket.socket:
        host, port = split_address(address)
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            family, _, _, _, where = found[0]
            # IPPROTO_TCP must be explicit: only then asyncio sets TCP_NODELAY. Without it a call takes 44 ms longer.
            listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        except OSError as error:  # the network may not be up yet
            raise NotNowError(f"{address}: {error.strerror}") from error
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(where)
            listening.listen(BACKLOG)
        except OSError as error:
            listening.close()
            why = "another program uses it" if error.errno == errno.EADDRINUSE else error.strerror
            # A port below 1024 needs a permission, which no time gives.
            kind = ListenError if error.errno in (errno.EACCES, errno.EPERM) else NotNowError
            raise kind(f"cannot listen on {address}: {why}") from error
        listening.setblocking(False)
        real = listening.getsockname()
        name = f"[{real[0]}]" if family == socket.AF_INET6 else real[0]
        self.http_address = f"{name}:{real[1]}"
        return listening

    def _raw(self, refusal: Refusal) -> bytes:
        name = request_id(self._entropy.bytes(16))
        body = json_values.failure(refusal, name)
        headers = {
            "Content-Type": JSON_TYPE.decode(),
            "Content-Length": str(len(body)),
            "Connection": "close",
            API_VERSION_HEADER: API_VERSION,
            REQUEST_ID_HEADER: name,
            **refusal.headers,
        }
        status = refusal.spec.http_status
        head = b"HTTP/1.1 %d %b\r\n" % (status, HTTPStatus(status).phrase.encode())
        lines = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
        return head + lines.encode() + b"\r\n" + body


def split_address(address: str) -> tuple[str, int]:
    """Split `HOST:PORT`; an IPv6 host is in brackets."""
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or int(port) > 65_535:
        raise ListenError(f"{address!r} is not HOST:PORT, such as 127.0.0.1:8420")
    return host, int(port)


def tls_context(certificate: str, key: str) -> ssl.SSLContext | None:
    """Return the TLS context of the server, None if no certificate is set. ListenError names unusable files."""
    if not certificate:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key or None, password=_no_password)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        files = certificate if not key else f"{certificate} and {key}"
        # A disk may not be mounted yet; a file with a wrong content has to be replaced.
        is_away = isinstance(error, OSError) and not isinstance(error, ssl.SSLError)
        kind = NotNowError if is_away else ListenError
        raise kind(f"the certificate cannot be used ({files}): {why}") from error
    return context


def _no_password() -> str:
    """Reject an encrypted key: OpenSSL would otherwise ask for a pass phrase at the terminal and block."""
    raise ValueError("the key is encrypted; momo needs one without a pass phrase")


def make_socket_folder(folder: Path, mode: int) -> None:
    """Create the socket's folder, or check that the existing one belongs to us or root and set its mode."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
        # In a shared temporary directory another user may have created it first.
        if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (os.getuid(), 0):
            raise ListenError(f"{folder} belongs to another user")
        if stat.S_IMODE(found.st_mode) != mode:
            folder.chmod(mode)
    except OSError as error:
        raise NotNowError(f"{folder} cannot be used: {error.strerror}") from error


def remove_stale_socket(path: Path) -> None:
    """Remove a stale socket, without a listener; raise ListenError for any other file."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise NotNowError(f"{path} cannot be used: {error.strerror}") from error
    if not stat.S_ISSOCK(found.st_mode):
        raise ListenError(f"{path} exists and is not a socket; move it away")
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    probe.settimeout(1.0)
    try:
        probe.connect(str(path))
    except ConnectionRefusedError:
        try:
            path.unlink()
        except OSError as error:
            raise NotNowError(f"{path} cannot be replaced: {error.strerror}") from error
    except OSError as error:
        raise NotNowError(f"{path} cannot be checked: {error.strerror}") from error
    else:
        raise ListenError(f"another daemon answers on {path}")
    finally:
        probe.close()
