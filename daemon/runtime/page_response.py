"""Headers and body of a page's response, and the body of a form: headers that keep it private, and a compressed body."""

import gzip
import io
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct
from starlette.types import Receive, Scope, Send

Header = tuple[bytes, bytes]
FORM_BYTES_MAX: Final = 2048
"""One field of 40 characters, escaped, and space for additions of browsers."""
HTML: Final = b"text/html; charset=utf-8"
JSON: Final = b"application/json"
PRIVATE: Final[tuple[Header, ...]] = (
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-robots-tag", b"noindex, nofollow, noarchive"),
    (b"permissions-policy", b"geolocation=(), camera=(), microphone=(), payment=()"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""The address is the customer's secret: no cache keeps the page, no site gets the referrer, no search engine lists it."""
STRICT_TRANSPORT: Final[Header] = (b"strict-transport-security", b"max-age=31536000")


class PageResponse(Struct, frozen=True):
    """A response; `headers` come after `base`, those of every response. `zipped` is the body if it is compressed already."""

    status: int
    body: bytes
    headers: tuple[Header, ...] = ()
    content_type: bytes = HTML
    base: tuple[Header, ...] = PRIVATE
    zipped: bytes = b""

    async def send(self, scope: Scope, send: Send) -> None:
        """Send it, compressed if the browser accepts that."""
        body, more = self.body, self.headers
        if body and _takes_gzip(scope):
            body = self.zipped or zipped(body)
            more = (*more, (b"content-encoding", b"gzip"))
        headers = [
            (b"content-type", self.content_type),
            (b"content-length", b"%d" % len(body)),
            (b"vary", b"accept-encoding, accept-language"),
            *self.base,
            *more,
        ]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def zipped(body: bytes) -> bytes:
    """Return a body as it is sent to a browser that accepts gzip."""
    return gzip.compress(body, 6, mtime=0)


def header(scope: Scope, name: bytes) -> str:
    """Return a header, "" if it is missing; `name` is in lower case."""
    found = next((value for key, value in scope["headers"] if key == name), b"")
    text: str = found.decode("latin-1")
    return text


def _takes_gzip(scope: Scope) -> bool:
    for part in header(scope, b"accept-encoding").lower().split(","):
        name, _, quality = part.partition(";")
        if name.strip() == "gzip":
            return quality.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False


async def read_form(receive: Receive, most: int = FORM_BYTES_MAX) -> bytes | None:
    """Return the body of a form; None if it is longer than any of ours, or the visitor has disconnected."""
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part: bytes = message.get("body", b"")
        body += part
        if len(body) > most:
            return None
        if not message.get("more_body", False):
            return body


def environment(loader: Any) -> Any:
    """Return a Jinja environment that escapes every value and fails at a missing one."""
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 -- lazy

    return Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


@lru_cache(maxsize=64)
def qr_svg(url: str) -> str:
    """Return the QR code of an address as SVG, black on transparent, with its quiet zone."""
    import segno  # noqa: PLC0415 -- lazy

    out = io.BytesIO()
    segno.make(url, error="l", micro=False).save(
        out, kind="svg", xmldecl=False, svgns=False, nl=False, border=2, omitsize=True
    )
    return out.getvalue().decode()
