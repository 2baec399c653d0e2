"""One HTTP/1.1 request and its answer over an open socket (RFC 9112), read by httptools.

`http.client` would load `email` and `ssl` for this, a quarter of the time of `momo lines`.
"""

from collections.abc import Callable, Mapping
from typing import Final

import httptools

from momo_cli.errors import usage

HEAD_BYTES_MAX: Final = 64 * 1024
"""The limit of all headers together, interim answers included."""
BODY_BYTES_MAX: Final = 64 * 1024 * 1024
_RECEIVE_BYTES: Final = 64 * 1024
_WITH_BODY: Final = ("POST", "PUT", "PATCH")
"""Methods that send a length even without a body."""


class MalformedAnswerError(Exception):
    """The answer is not HTTP/1.1, or exceeds a limit; the text says why."""


def request(method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
    """Return a request as bytes; fail (exit 2) if a header cannot be sent."""
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if body is not None or method in _WITH_BODY:
        lines.append(f"Content-Length: {len(body or b'')}")
    for line in lines:
        if not (line.isascii() and line.isprintable()):
            raise usage(f"{line!r} has a character that an HTTP header cannot have")
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


class Response:
    """An answer: its head is read by the constructor, its body by `read` or `readline`.

    `receive` returns at most the given number of bytes, and none at the end of the connection (`socket.recv`).
    Interim answers (1xx) are skipped. httptools calls the methods `on_...`.

    The constructor and the methods that read raise:
        ConnectionError: The connection ended before the answer did.
        OSError: Errors of `receive`, such as TimeoutError.
        MalformedAnswerError: The answer cannot be read.
    """

    def __init__(self, receive: Callable[[int], bytes], *, body_max: int = BODY_BYTES_MAX) -> None:
        self._receive, self._body_max = receive, body_max
        self._parser = httptools.HttpResponseParser(self)
        self._text, self._head_bytes, self._over = bytearray(), 0, False
        self._found: list[tuple[str, str]] = []
        self.status, self.headers = 0, tuple[tuple[str, str], ...]()
        while not self.status:
            self._feed()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; a trailer is dropped."""
        self._found.append((name.decode("latin-1"), value.strip(b" \t").decode("latin-1")))

    def on_headers_complete(self) -> None:
        """Take the head, unless it is that of an interim answer."""
        status = self._parser.get_status_code()
        if status >= 200 and not self.status:
            self.status, self.headers = status, tuple(self._found)
        self._found.clear()

    def on_body(self, piece: bytes) -> None:
        """Keep a piece of the body."""
        if not self._over:
            self._text += piece

    def on_message_complete(self) -> None:
        """Note the end of the answer, not that of an interim one."""
        self._over = bool(self.status)

    def _feed(self) -> None:
        """Receive and parse the next bytes."""
        piece = self._receive(_RECEIVE_BYTES)
        marked = {"content-length", "transfer-encoding"} & {n.lower() for n, _ in self.headers}
        if not piece and (marked or not self.status):
            raise ConnectionError("the daemon closed it")
        self._over = self._over or not piece
        self._head_bytes += 0 if self.status else len(piece)
        try:
            self._parser.feed_data(piece)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if not self._over:  # what follows the answer is not read
                raise MalformedAnswerError("its answer is not HTTP/1.1") from None
        if not self.status and self._head_bytes > HEAD_BYTES_MAX:
            raise MalformedAnswerError(f"its headers are longer than {HEAD_BYTES_MAX} bytes")

    def header(self, name: str) -> str | None:
        """Return the value of a header; of several, all with commas between them."""
        found = [value for each, value in self.headers if each.lower() == name.lower()]
        return ", ".join(found) if found else None

    def read(self) -> bytes:
        """Return the rest of the body."""
        while not self._over:
            self._feed()
            self._check(len(self._text))
        self._check(len(self._text))
        whole, self._text = bytes(self._text), bytearray()
        return whole

    def readline(self) -> bytes:
        """Return the next line of the body with its line feed, as soon as it is there; empty at the end."""
        while (end := self._text.find(b"\n")) < 0 and not self._over:
            self._check(len(self._text))
            self._feed()
        self._check(end if end >= 0 else len(self._text))
        line = bytes(self._text[: end + 1] if end >= 0 else self._text)
        del self._text[: len(line)]
        return line

    def _check(self, size: int) -> None:
        if size > self._body_max:
            raise MalformedAnswerError(f"its answer is longer than {self._body_max} bytes")
