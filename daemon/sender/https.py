"""HTTPS sender of one webhook attempt: POST over TLS, with limits, to a checked address. The only importer of httpx.

httpx is imported with the first delivery, in a thread, to keep it out of the memory of an idle daemon. One `Sender`
per worker, because the cost of httpx's connection pool grows with the square of its users.

The address check (decisions.md section 7) applies to every attempt: the URL's text is checked each time, every
address of its name is checked for each new connection, and a warm connection (bound to the checked address) is reused
for a minute at most. So attempts of a busy endpoint do not wait for DNS, and none uses an older check.

A warm connection that the receiver has closed meanwhile is not a failed attempt: if no byte of an answer came on a
reused connection, the same request is sent again on a new one (RFC 9110 section 9.2.2; a receiver recognises
repetitions by `webhook-id` in any case).
"""

import asyncio
import functools
import http.cookiejar
import importlib.util
import logging
import re
import ssl
import sys
import threading
from collections.abc import AsyncIterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Final, cast

from daemon.core.webhooks.delivery import DeliveryError, Outcome
from daemon.sender.address_guard import (
    EXPLANATIONS,
    PUBLIC_ONLY,
    AddressPolicy,
    Resolver,
    check_url,
)
from daemon.sender.connect import Connector, Dialer, SystemResolver, connect_socket
from daemon.sender.response import Answer, judge_status, retry_after_s
from daemon.sender.tls_streams import TRACE, NetworkError, Trace

if TYPE_CHECKING:
    import httpcore
    import httpx

WARM_CONNECTIONS_MAX: Final = 4
"""Number per worker, to different receivers."""

_OCTETS: Final = re.compile(r"bytearray\(b('.*?'|\".*?\")\)")
_LOADING: Final = threading.Lock()
_NOT_THERE: Final = cast(ModuleType, None)


class CaFileError(Exception):
    """`[webhooks] ca_file` cannot be read."""


@functools.cache
def ssl_context(ca_file: str | None) -> ssl.SSLContext:
    """Return the shared TLS context for these CAs: the system's, and those in `ca_file`.

    Building it takes 70 ms, so all workers share it.

    Raises:
        CaFileError: The file cannot be read or holds no certificate.
    """
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca_file is not None:
        try:
            context.load_verify_locations(cafile=ca_file)
        except OSError as error:  # ssl.SSLError is one
            raise CaFileError(f"ca_file {ca_file} cannot be used: {error}") from error
    return context


def _load(ca_file: str | None) -> ssl.SSLContext:
    """Import httpx and build the TLS context, once for all workers."""
    with _LOADING:
        # None in place of a module marks it as missing. httpx's own command-line program would import click and
        # rich: 6 MiB and half of the delay of the first delivery.
        sys.modules.setdefault("httpx._main", _NOT_THERE)
        import httpcore  # noqa: F401, PLC0415 - on first use: see above
        import httpx  # noqa: F401, PLC0415 -- httpx is heavy: loaded with the first post

        if importlib.util.find_spec("sniffio") is None:
            # httpcore tries to import it four times in each post, and searches the whole path each time: a third
            # of the cost of a post.
            sys.modules.setdefault("sniffio", _NOT_THERE)
        # They log each URL at INFO; an endpoint's URL may hold a token.
        logging.getLogger("httpx").setLevel(logging.WARNING)
        logging.getLogger("httpcore").setLevel(logging.WARNING)
        return ssl_context(ca_file)


class Sender:
    """The HTTPS sender of one worker. May be created before the event loop, and is used in one loop."""

    def __init__(
        self,
        policy: AddressPolicy = PUBLIC_ONLY,
        ca_file: str | None = None,
        *,
        connect_timeout_s: float = 5.0,
        timeout_s: float = 15.0,
        resolver: Resolver | None = None,
        connector: Connector = connect_socket,
    ) -> None:
        self._ca_file = ca_file
        self._timeout_s = timeout_s
        self._dialer = Dialer(policy, resolver or SystemResolver(), connector, connect_timeout_s)
        # One client for each worker: a shared one slows down under many connections (76 posts/s against 617 at 64).
        self._client: httpx.AsyncClient | None = None
        self._errors: tuple[type[Exception], ...] = ()

    async def prepare(self) -> None:
        """Load httpx and the TLS context, so that the first delivery does not wait for them. Idempotent.

        Raises:
            CaFileError: `ca_file` cannot be used.
        """
        if self._client is not None:
            return
        context = await asyncio.to_thread(_load, self._ca_file)
        import httpcore  # noqa: PLC0415 - `_load` has imported them
        import httpx  # noqa: PLC0415 -- httpx is heavy: loaded with the first post

        if self._client is None:
            self._client = _make_client(context, self._dialer)
            self._errors = (
                httpcore.ProtocolError,
                httpcore.NetworkError,
                httpcore.TimeoutException,
                httpx.HTTPError,
                httpx.InvalidURL,
            )

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Outcome:
        """Make one attempt.

        Args:
            url: The endpoint's URL; it need not have been checked.
            headers: Signature, event and so on. `Accept-Encoding: identity` is added.
            body: The body, sent byte for byte.

        Returns:
            The outcome. Failures of the network, the receiver or the address check are not raised.
        """
        loop = asyncio.get_running_loop()
        started = loop.time()
        trace, answer = Trace(), Answer()
        code: DeliveryError | None
        message: str | None
        try:
            await self.prepare()
            started = loop.time()  # the loading time is not part of the duration
            reason = check_url(url)
            if reason is not None:
                raise NetworkError(DeliveryError.BLOCKED_ADDRESS, EXPLANATIONS[reason])  # noqa: TRY301 - one place makes the outcome
            failures: tuple[type[Exception], ...] = (NetworkError, *self._errors)
            async with asyncio.timeout(self._timeout_s):
                while True:
                    trace, answer = Trace(), Answer()
                    try:
                        await self._exchange(url, headers, body, trace, answer)
                        break
                    except failures:
                        # Only a reused connection may have been closed unnoticed; the retry is on a new one.
                        if not trace.reused or trace.received:
                            raise
            assert answer.status_code is not None
            code, message = judge_status(answer.status_code)
        except CaFileError as error:
            code, message = DeliveryError.TLS_ERROR, str(error)
        except TimeoutError:
            code = DeliveryError.TIMEOUT
            message = f"no whole answer within {self._timeout_s:g} s"
        except NetworkError as error:
            code, message = error.code, error.message
        except self._errors as error:
            code, message = _library_error(error, trace)
        return Outcome(
            status_code=answer.status_code,
            response_body=answer.text(),
            error_code=code,
            error_message=message,
            duration_us=round((loop.time() - started) * 1_000_000),
            retry_after_s=retry_after_s(answer.headers),
            connected=trace.connected,
        )

    async def aclose(self) -> None:
        """Close the warm connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None
            await asyncio.sleep(0)  # the transports finish closing in the loop's next turn

    async def _exchange(
        self, url: str, headers: Mapping[str, str], body: bytes, trace: Trace, answer: Answer
    ) -> None:
        """Send the request and read the answer into `answer`, which keeps the part read so far."""
        assert self._client is not None
        token = TRACE.set(trace)
        try:
            request = self._client.build_request("POST", url, headers=headers, content=body)
            response = await self._client.send(request, stream=True, follow_redirects=False)
            try:
                answer.status_code = response.status_code
                answer.headers = response.headers
                # Raw: an answer compressed despite `identity` is not decompressed (zip bomb).
                async for chunk in response.aiter_raw():
                    if not answer.take(chunk):
                        break
            finally:
                await response.aclose()
        finally:
            TRACE.reset(token)


def _make_client(context: ssl.SSLContext, dialer: Dialer) -> "httpx.AsyncClient":
    """Create an httpx client that connects through `dialer` and keeps only connections between two posts."""
    import httpcore  # noqa: PLC0415 - `_load` has imported it
    import httpx  # noqa: PLC0415 -- httpx is heavy: loaded with the first post

    pool = httpcore.AsyncConnectionPool(
        ssl_context=context,
        max_connections=None,
        max_keepalive_connections=WARM_CONNECTIONS_MAX,
        http1=True,
        http2=False,
        retries=0,
        network_backend=cast("httpcore.AsyncNetworkBackend", dialer),
    )

    class Stream(httpx.AsyncByteStream):
        def __init__(self, answer: httpcore.Response) -> None:
            self._answer = answer

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for part in self._answer.aiter_stream():
                yield part

        async def aclose(self) -> None:
            await self._answer.aclose()

    class Transport(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            url = httpcore.URL(
                scheme=request.url.raw_scheme,
                host=request.url.raw_host,
                port=request.url.port,
                target=request.url.raw_path,
            )
            answer = await pool.handle_async_request(
                httpcore.Request(
                    request.method, url, headers=request.headers.raw, content=request.stream
                )
            )
            return httpx.Response(answer.status, headers=answer.headers, stream=Stream(answer))

        async def aclose(self) -> None:
            await pool.aclose()

    # A receiver's cookies are never sent, neither to it nor to another receiver.
    no_cookies = http.cookiejar.CookieJar(http.cookiejar.DefaultCookiePolicy(allowed_domains=[]))
    return httpx.AsyncClient(
        transport=Transport(),
        headers={"Accept": "*/*", "Accept-Encoding": "identity"},
        cookies=no_cookies,
        trust_env=False,
        timeout=None,  # noqa: S113 - the wall clock in `post` covers everything
    )


def _library_error(error: Exception, trace: Trace) -> tuple[DeliveryError, str]:
    """Convert an exception of httpx or httpcore to an error code and a message."""
    if not trace.received:
        return (
            DeliveryError.CONNECTION_RESET,
            "the receiver closed the connection without an answer",
        )
    # The library quotes the octets in Python's notation.
    why = _OCTETS.sub(r"\1", str(error))
    return DeliveryError.PROTOCOL_ERROR, f"the answer is not proper HTTP: {why}"
