"""The HTTP client of a branch: JSON calls to its hub, over TLS with the hub's own key.

With a pinned key the hub needs no certificate that others trust. It is compared in the handshake, before anything is sent.
"""

import functools
import json
import ssl
from collections.abc import Mapping
from typing import Any, Final

import httpx

from daemon.core.branches.facts import packed
from daemon.core.branches.public_key import PublicKeyError, spki_of
from daemon.core.errors import MomoError
from daemon.sender.address_guard import URL_PARTS, check_url, split_authority
from daemon.sender.http_client import HttpClient

PIN_CHARACTERS: Final = 16
"""Of the SHA-256 of the hub's public key in an invitation."""
WHOLE_S: Final = 600.0
"""Longest time of a call: 500 rows over a narrow line (9.6 kbit/s)."""
RETRY_AFTER_MAX_S: Final = 3600.0
"""Longest wait that a hub may ask for."""
MESSAGE_MAX: Final = 300
CODE_MAX: Final = 64
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


class HubUnreachableError(MomoError):
    """No answer came: no line, another certificate, or something that is not a hub."""


class HubRefusalError(MomoError):
    """The hub answered with an error.

    Attributes:
        status: The HTTP status.
        code: The `error.code`, empty if there is none.
        retry_after_s: The header, at most an hour; None without it.
    """

    def __init__(self, status: int, code: str, message: str, retry_after_s: float | None) -> None:
        self.status = status
        self.code = code
        self.retry_after_s = retry_after_s
        super().__init__(message or f"the hub answered {status}")


class WrongPinError(ssl.SSLError):
    """The peer has another key than the hub."""


def address_fault(url: str) -> str:
    """Return why a URL cannot be a hub's; empty if it can. Without TLS only this machine's own."""
    match = URL_PARTS.fullmatch(url)
    # The text is checked as that of a webhook's URL, which has no other scheme than https.
    if (
        match is None
        or match["path"] not in ("", "/")
        or match["query"] is not None
        or check_url("https" + url[len(match["scheme"]) :]) is not None
    ):
        return "takes an address such as https://hub.example"
    scheme, host = match["scheme"].lower(), split_authority(match["authority"])[0].lower()
    if scheme == "http" and host.strip("[]") in _LOOPBACK:
        return ""
    return "" if scheme == "https" else "takes an address that begins with https://"


class HubClient:
    """One hub; `pin` is the beginning of the SHA-256 of its public key, empty to check its certificate as any other."""

    def __init__(self, url: str, pin: str = "", key: str = "", ca_file: str = "") -> None:
        self._url = url.rstrip("/")
        self._pin = pin
        self._key = key
        self._ca_file = ca_file
        self._client: HttpClient | None = None

    async def call(
        self, path: str, body: Mapping[str, Any] | bytes, *, timeout_s: float = 30.0, whole_s: float = WHOLE_S
    ) -> dict[str, Any]:
        """POST an object, or its gzipped JSON, and return the member `data` of the answer.

        `timeout_s` limits the time until the answer begins, and then of each part of it; `whole_s` that of all.

        Raises:
            HubRefusalError: The hub refused it.
            HubUnreachableError: No hub answered.
        """
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        octets = body if isinstance(body, bytes) else packed(body)
        try:
            if self._client is None:
                context = functools.partial(_context, self._pin, self._ca_file)
                self._client = HttpClient(self._url, context)
            answer, read = await self._client.post(path, headers, octets, timeout_s, whole_s)
        except (httpx.HTTPError, OSError) as error:
            raise HubUnreachableError(_described(error)) from error
        return _read(answer, read, self._url)

    async def aclose(self) -> None:
        """Close the connection."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None


@functools.lru_cache(maxsize=8)
def _context(pin: str, ca_file: str) -> ssl.SSLContext:
    if pin:
        # The key alone is compared, so the system's CAs, which take 2 MB, are not loaded.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE

        class Pinned(ssl.SSLObject):
            """A TLS session that ends in the handshake if the peer has another key."""

            def do_handshake(self) -> None:
                """Make the handshake, and compare the key."""
                super().do_handshake()
                try:
                    found = spki_of(self.getpeercert(binary_form=True) or b"")
                except PublicKeyError as error:
                    raise WrongPinError(str(error)) from error
                if not found.startswith(pin):
                    raise WrongPinError("another key than the hub's; this is not the hub, or its key was changed")

        context.sslobject_class = Pinned
    else:
        context = ssl.create_default_context(cafile=ca_file or None)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _read(answer: httpx.Response, octets: bytes, url: str) -> dict[str, Any]:
    status = answer.status_code
    try:
        body = json.loads(octets)
    except (ValueError, RecursionError):
        body = None
    if status < 400:
        data = body.get("data") if isinstance(body, dict) else None
        if status == 200 and isinstance(data, dict):
            return data
        is_json = body is not None
        what = "other JSON than a hub's" if is_json else "no JSON"
        if answer.status_code >= 300:
            what = f"it leads to {_plain(_last(answer, 'location'), MESSAGE_MAX) or 'nothing'}"
        raise HubUnreachableError(
            f"what answers at {url} is not a hub (status {answer.status_code}, {what}): "
            "check the address, or log in to the network"
        )
    error = body.get("error") if isinstance(body, dict) else None
    code = message = ""
    if isinstance(error, dict):
        code = _plain(str(error.get("code", "")), CODE_MAX)
        message = _plain(f"{error.get('message', '')} {error.get('hint') or ''}", MESSAGE_MAX)
    if status == 401:
        message = (
            "the hub does not take this branch's key: it was revoked, or another machine joined as this branch; "
            "invite again with momo hub invite"
        )
    after = _last(answer, "retry-after")
    after_s = min(float(after), RETRY_AFTER_MAX_S) if after.isdecimal() else None
    raise HubRefusalError(status, code, message, after_s)


def _last(answer: httpx.Response, name: str) -> str:
    """Return a header; of several with one name the last, where httpx joins them."""
    return next(reversed(answer.headers.get_list(name)), "")


def _plain(text: str, most: int) -> str:
    """Return a text of the other side in one line, without unprintable characters; it is stored and logged."""
    kept = "".join(one for one in text if one.isprintable() or one.isspace())
    return " ".join(kept.split())[:most]


def _described(error: Exception) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not valid: {cause.verify_message}"
        if isinstance(cause, WrongPinError):
            return (
                "the server there has another key than the hub: it is another server, or the hub's key was changed; "
                "momo hub invite at the hub gives a new word"
            )
        cause = cause.__cause__ or cause.__context__
    return str(error) or type(error).__name__
