"""HTTPS sender of one webhook attempt: POST over TLS, with limits, to a checked address.

The system's CAs are loaded with the first delivery, in a thread, to keep them out of the memory of an idle daemon. All
workers share one `Sender` and its connections. It calls the transport without `httpx.AsyncClient`, which takes three times
as long.

The address check applies to every attempt: the URL's text is checked each time, every
address of its name is checked for each new connection, and a warm connection (bound to the checked address) is reused
for a minute at most. So attempts of a busy endpoint do not wait for DNS, and none uses an older check.
"""

import asyncio
import functools
import ssl
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final, Self

import httpx

from daemon.core.webhooks.delivery import ANSWER_KEPT_BYTES_MAX, AttemptOutcome, DeliveryError
from daemon.runtime.config import Webhooks
from daemon.sender.address_guard import EXPLANATIONS, PUBLIC_ONLY, AddressPolicy, Resolver, check_url
from daemon.sender.connect import Connector, DatedContext, Dialer, SystemResolver, connect_socket
from daemon.sender.connection import ExchangeError
from daemon.sender.transport import WHOLE_S, Transport
from parsers.times import to_us

ANSWER_BYTES_MAX: Final = 64 * 1024
"""Bytes read of a response; the rest is left unread."""
RECEIVED_BYTES_MAX: Final = 256 * 1024
"""Limit of one answer: 64 KiB of body, the head, and chunk marks."""
CHECK_S: Final = 60.0
"""How long an address check is valid for an open connection."""
KEEP_ALIVE: Final = (b"Connection", b"keep-alive")
ANY_ANSWER: Final = (b"Accept", b"*/*")
NOT_COMPRESSED: Final = (b"Accept-Encoding", b"identity")
_check_text: Final = functools.lru_cache(maxsize=256)(check_url)  # it only depends on the text
_parsed: Final = functools.lru_cache(maxsize=256)(httpx.URL)  # the same


class CaFileError(Exception):
    """`[webhooks] ca_file` cannot be read."""


@functools.cache
def load_context(ca_file: str | None) -> DatedContext:
    """Return the shared TLS context for these CAs: the system's, and those in `ca_file`. Building it takes 70 ms.

    Raises:
        CaFileError: The file cannot be read or holds no certificate.
    """
    context = DatedContext.make()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if ca_file is not None:
        try:
            context.load_verify_locations(cafile=ca_file)
        except OSError as error:  # ssl.SSLError is one
            raise CaFileError(f"ca_file {ca_file} cannot be used: {error}") from error
    return context


class Sender:
    """The HTTPS sender. May be created before the event loop, and is used in one loop."""

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
        self._transport: Transport | None = None
        self._context: DatedContext | None = None

    @classmethod
    def from_settings(cls, settings: Webhooks, resolver: Resolver | None = None) -> Self:
        """Create a sender with the shop's settings; `resolver` replaces the system's resolver."""
        return cls(
            AddressPolicy.from_settings(settings.allow_private_hosts, settings.allow_private_cidrs),
            settings.ca_file or None,
            connect_timeout_s=settings.connect_timeout_s,
            timeout_s=settings.timeout_s,
            resolver=resolver,
        )

    async def prepare(self) -> None:
        """Load the TLS context, so that the first delivery does not wait for it. Idempotent.

        Raises:
            CaFileError: `ca_file` cannot be used.
        """
        if self._transport is not None:
            return
        context = await asyncio.to_thread(load_context, self._ca_file)
        if self._transport is None:  # two threads that load at once make two contexts
            self._context = context
            self._transport = Transport(self._dialer, context, RECEIVED_BYTES_MAX, age_s_max=CHECK_S, repeats=True)

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> AttemptOutcome:
        """Make one attempt and return its outcome.

        Failures of the network, the receiver or the address check are not raised. `url` need not have been checked.
        `Accept-Encoding: identity` is added to the headers. While the wall clock differs much from `webhook-timestamp`,
        the best known time, certificates are checked at that time.
        """
        loop = asyncio.get_running_loop()
        started = loop.time()
        answer, connected = PartialResponse(), True
        code: DeliveryError | None
        message: str | None
        without_cas = False
        try:
            if self._transport is None:
                await self.prepare()
                started = loop.time()  # the loading time is not part of the duration
            assert self._transport is not None
            assert self._context is not None
            self._context.stamp = headers.get("webhook-timestamp", "")
            reason = _check_text(url)
            if reason is None:
                parsed = _parsed(url)
                fields = [(name.encode(), value.encode()) for name, value in headers.items()]
                has_accept = any(name.lower() == b"accept" for name, _ in fields)
                request = httpx.Request(
                    "POST",
                    parsed,
                    headers=[
                        (b"Host", parsed.netloc),
                        KEEP_ALIVE,
                        *(() if has_accept else (ANY_ANSWER,)),
                        NOT_COMPRESSED,
                        *fields,
                        (b"Content-Length", b"%d" % len(body)),
                    ],
                    stream=httpx.ByteStream(body),
                    extensions={WHOLE_S: self._timeout_s},
                )
                response = await self._transport.handle_async_request(request)
                received = response.stream
                assert isinstance(received, httpx.AsyncByteStream)
                try:
                    answer.status_code = response.status_code
                    # Of several fields with one name the last counts.
                    answer.headers = {
                        name.decode(): value.decode("latin-1")
                        for raw_name, value in response.headers.raw
                        if (name := raw_name.lower()) in USED_FIELDS
                    }
                    # Not decoded: an answer compressed despite `identity` is not decompressed (zip bomb).
                    async for chunk in received:
                        if not answer.take(chunk):
                            break
                finally:
                    await received.aclose()
                assert answer.status_code is not None
                code, message = judge_status(answer.status_code)
            else:
                connected = False
                code, message = DeliveryError.BLOCKED_ADDRESS, str(EXPLANATIONS[reason])
        except CaFileError as error:
            code, message, connected = DeliveryError.TLS_ERROR, str(error), False
            without_cas = True
        except ExchangeError as error:
            code, message, connected = error.code, str(error), error.connected
        return AttemptOutcome(
            status_code=answer.status_code,
            response_body=answer.text(),
            error_code=code,
            error_message=message,
            duration_us=round((loop.time() - started) * 1_000_000),
            retry_after_s=retry_after_s(answer.headers),
            connected=connected,
            date_us=date_us(answer.headers),
            without_cas=without_cas,
        )

    async def aclose(self) -> None:
        """Close the warm connections."""
        if self._transport is not None:
            await self._transport.aclose()
            self._transport = None


USED_FIELDS: Final = frozenset({b"date", b"retry-after"})


class PartialResponse:
    """The part of an answer that arrived before the attempt ended; of its headers the used ones, in lower case."""

    __slots__ = ("body", "headers", "status_code")

    def __init__(self) -> None:
        self.status_code: int | None = None
        self.headers: Mapping[str, str] = {}
        self.body = bytearray()

    def take(self, chunk: bytes) -> bool:
        """Append to the body; False when the limit is reached."""
        self.body += chunk[: ANSWER_BYTES_MAX - len(self.body)]
        return len(self.body) < ANSWER_BYTES_MAX

    def text(self) -> str:
        """Return at most 8 KiB of the body as text; invalid UTF-8 and NUL become U+FFFD."""
        text = bytes(self.body[:ANSWER_KEPT_BYTES_MAX]).decode("utf-8", "replace")
        text = text.replace("\0", "\ufffd")
        if text.isascii():
            return text
        # A replacement character is longer than the byte it replaces.
        return text.encode()[:ANSWER_KEPT_BYTES_MAX].decode("utf-8", "ignore")


def judge_status(status: int) -> tuple[DeliveryError | None, str | None]:
    """Return the error code and message for the status of a complete answer, or two None for a success."""
    match status // 100:
        case 2:
            return None, None
        case 3:
            return (DeliveryError.REDIRECT, f"the receiver answered {status}; redirects are not followed")
        case 4 | 5:
            return DeliveryError.HTTP_ERROR, f"the receiver answered {status}"
    return DeliveryError.PROTOCOL_ERROR, f"the receiver answered {status}"


def retry_after_s(headers: Mapping[str, str]) -> int | None:
    """Return `Retry-After` in seconds (RFC 9110 section 10.2.3); a date is compared with the answer's own `Date`."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    if text.isascii() and text.isdecimal():
        return int(text[:9])
    try:
        then = parsedate_to_datetime(text)
        now = parsedate_to_datetime(headers.get("date", ""))
        return max(0, int((then - now).total_seconds()))
    except (TypeError, ValueError, OverflowError):
        return None


def date_us(headers: Mapping[str, str]) -> int | None:
    """Return the answer's `Date` (RFC 9110 section 6.6.1) in microseconds since 1970; None without a valid one."""
    return _parse_date(headers.get("date", ""))


@functools.lru_cache(maxsize=8)  # answers within one second have the same
def _parse_date(text: str) -> int | None:
    try:
        said = parsedate_to_datetime(text)
        return to_us(said if said.tzinfo else said.replace(tzinfo=UTC))
    except (TypeError, ValueError, OverflowError):
        return None
