"""The HTTP client of one server that the owner has named, such as a hub or a phone; it may have a private address.

A request is never sent twice: the caller knows whether it may be.
"""

import base64
import json
import logging
import ssl
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from http.cookiejar import CookieJar
from typing import Any, Final

import httpx

from daemon import wire
from daemon.core.errors import MomoError
from daemon.core.limits import SECOND_US
from daemon.core.webhooks.delivery import DeliveryError
from daemon.sender.address_guard import AddressPolicy
from daemon.sender.connect import Dialer, SystemResolver, connect_socket
from daemon.sender.connection import ExchangeError
from daemon.sender.transport import WHOLE_S, Transport

ANSWER_BYTES_MAX: Final = 8 * 1024 * 1024
CONNECT_S: Final = 10.0
KEPT_S: Final = 20.0
"""Longest time between two requests over one connection; our own servers close it after 30 s."""
USER_AGENT: Final = f"momo/{wire.VERSION}"

logging.getLogger("httpx").disabled = True  # it logs each address with its query


class NoCookies(CookieJar):
    """Keeps no cookie of an answer."""

    def extract_cookies(self, response: Any, request: Any) -> None:
        """Ignore those of an answer."""


class HttpClient:
    """A client of one server."""

    def __init__(self, url: str, context: Callable[[], ssl.SSLContext]) -> None:
        """Create it; nothing is connected yet. Paths are appended to `url`.

        `context` makes the TLS context; it is only called for https, because it may load the CAs.

        Raises:
            ExchangeError: It is not an address.
        """
        self._url = url.rstrip("/")
        try:
            parsed = httpx.URL(self._url)
        except httpx.InvalidURL as error:
            raise ExchangeError(DeliveryError.DNS_ERROR, f"not an address: {error}") from error
        allowed = AddressPolicy.from_settings(hosts=[parsed.raw_host.decode()])
        transport = Transport(
            Dialer(allowed, SystemResolver(), connect_socket, CONNECT_S),
            None if parsed.scheme == "http" else context(),
            2 * ANSWER_BYTES_MAX,
            idle_s_max=KEPT_S,
        )
        self._client = httpx.AsyncClient(
            transport=transport,
            trust_env=False,
            cookies=NoCookies(),
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity"},
        )

    async def post(
        self, path: str, headers: Mapping[str, str], body: bytes, timeout_s: float, whole_s: float
    ) -> tuple[httpx.Response, bytes]:
        """POST, and return the answer and its body as it came. Cancelling it closes the connection.

        `headers` are sent after those of every request. `timeout_s` limits the request with the head of its answer, and
        then each part of the body; `whole_s` all, also while parts come.

        Raises:
            ExchangeError: The server was not reached, or did not answer properly or in time.
        """
        received = bytearray()
        async with self._client.stream(
            "POST",
            self._url + path,
            headers=[(name.encode(), value.encode()) for name, value in headers.items()],
            content=body,
            timeout=timeout_s,
            extensions={WHOLE_S: whole_s},
        ) as answer:
            async for part in answer.aiter_raw():  # `content` would decompress
                received += part
                if len(received) > ANSWER_BYTES_MAX:
                    raise ExchangeError(DeliveryError.PROTOCOL_ERROR, "the answer is too long")
        return answer, bytes(received)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


INBOX_TIMEOUT_S: Final = 30.0
_PATHS: Final = ("/inbox/refresh", "/messages/inbox/export")
"""The second is the name of versions before 2026."""


class InboxError(MomoError):
    """The app did not take the order; the text says why."""


async def post_again(
    url: str, user: str, password: str | None, since_us: int, until_us: int, timeout_s: float = INBOX_TIMEOUT_S
) -> None:
    """Let the app post every SMS that it received in a period, each as `sms:received`.

    `url` is the address of the app's local server, such as `http://192.168.1.23:8080`; the app shows user and password.

    Raises:
        InboxError: The phone does not answer, or refuses.
    """
    if password is None:
        raise InboxError("the password of the app's local server is not stored: momo phones password NAME")
    order = {
        "since": _iso(since_us),
        "until": _iso(until_us),
        # Versions differ in the name of the switch; each ignores the other one.
        "triggerWebhooks": True,
        "webhookDelivery": "Individual",
    }
    headers = {
        "Content-Type": "application/json",
        "Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode(),
    }
    try:
        client = HttpClient(url, ssl.create_default_context)
        try:
            for path in _PATHS:
                body = json.dumps(order).encode()
                answer, _ = await client.post(path, headers, body, timeout_s, whole_s=timeout_s)
                if answer.status_code != HTTPStatus.NOT_FOUND:
                    break
        finally:
            await client.aclose()
    except httpx.HTTPError as error:
        raise InboxError(f"the phone does not answer at {url}: {error}") from error
    if answer.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise InboxError(f"the app at {url} refuses the user or the password")
    if answer.status_code // 100 != 2:
        raise InboxError(f"the app at {url} answers {answer.status_code}")


def _iso(at_us: int) -> str:
    return datetime.fromtimestamp(at_us // SECOND_US, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
