"""One HTTP/1.1 request and its answer over an open socket (RFC 9112).

`http.client` would load `email` and `ssl` for this, a quarter of the time of `momo lines`. It supports only the daemon's
answers: one for each connection, and `chunked` as the only transfer coding.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from momo_cli.errors import usage

HEAD_BYTES_MAX: Final = 64 * 1024
"""The limit of all headers together, interim answers and trailers included, and of each line outside the body."""
BODY_BYTES_MAX: Final = 64 * 1024 * 1024
_RECEIVE_BYTES: Final = 64 * 1024
_HEX: Final = b"0123456789abcdefABCDEF"
_SIZE_DIGITS_MAX: Final = 15
_CLOSED: Final = "the daemon closed it"
_NO_BODY: Final = (204, 304)
_WITH_BODY: Final = ("POST", "PUT", "PATCH")
"""Methods that send a length even without a body."""


class MalformedAnswerError(Exception):
    """The answer is not HTTP/1.1, or exceeds a limit; the text says why."""


def request(method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
    """Return a request as bytes; fail (exit 2) if a header cannot be sent."""
    lines = [
        f"{method} {target} HTTP/1.1",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    if body is not None or method in _WITH_BODY:
        lines.append(f"Content-Length: {len(body or b'')}")
    for line in lines:
        if not (line.isascii() and line.isprintable()):
            raise usage(f"{line!r} has a character that an HTTP header cannot have")
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


class Response:
    """An answer: its head is read by the constructor, its body by `read` or `readline`.

    `receive` returns at most the given number of bytes, and none at the end of the connection (`socket.recv`).
    Interim answers (1xx) are skipped.

    Attributes:
        status: The status code, from 200.
        headers: Names and values as they came.

    The constructor and the methods that read raise:
        ConnectionError: The connection ended before the answer did.
        OSError: Errors of `receive`, such as TimeoutError.
        MalformedAnswerError: The answer cannot be read.
    """

    def __init__(self, receive: Callable[[int], bytes], *, body_max: int = BODY_BYTES_MAX) -> None:
        self._receive, self._body_max = receive, body_max
        self._received, self._text = bytearray(), bytearray()
        self._head_bytes = 0
        self.status, self.headers = self._status(), self._fields()
        while self.status < 200:
            self.status, self.headers = self._status(), self._fields()
        self._body = self._pieces()

    def header(self, name: str) -> str | None:
        """Return the value of a header; of several, all with commas between them."""
        found = [value for each, value in self.headers if each.lower() == name.lower()]
        return ", ".join(found) if found else None

    def read(self) -> bytes:
        """Return the rest of the body."""
        for piece in self._body:
            self._text += piece
            self._check(len(self._text))
        whole, self._text = bytes(self._text), bytearray()
        return whole

    def readline(self) -> bytes:
        """Return the next line of the body with its line feed, as soon as it is there; empty at the end."""
        seen = 0
        while (end := self._text.find(b"\n", seen)) < 0:
            seen = len(self._text)
            self._check(seen)
            piece = next(self._body, b"")
            if not piece:
                end = seen
                break
            self._text += piece
        self._check(end)
        line = bytes(self._text[: end + 1])
        del self._text[: end + 1]
        return line

    def _check(self, size: int) -> None:
        if size > self._body_max:
            raise MalformedAnswerError(f"its answer is longer than {self._body_max} bytes")

    def _status(self) -> int:
        line = self._head_line()
        code = line[9:12]
        if (
            not (
                line.startswith((b"HTTP/1.1 ", b"HTTP/1.0 ")) and len(code) == 3 and code.isdigit()
            )
            or line[12:13] not in (b"", b" ")
            or int(code) < 100
        ):
            raise MalformedAnswerError(f"it answers {_shown(line)}, which is not HTTP/1.1")
        return int(code)

    def _fields(self) -> tuple[tuple[str, str], ...]:
        """Read headers or trailers and the empty line after them."""
        found = []
        while line := self._head_line():
            name, colon, value = line.partition(b":")
            if not colon or name.split() != [name]:
                raise MalformedAnswerError(f"it sends {_shown(line)} as a header")
            found.append((name.decode("latin-1"), value.strip(b" \t").decode("latin-1")))
        return tuple(found)

    def _pieces(self) -> Iterator[bytes]:
        """Yield the body as it comes (RFC 9112, section 6.3)."""
        coding, length = self.header("Transfer-Encoding"), self.header("Content-Length")
        if self.status in _NO_BODY:
            return
        if coding is not None:
            if coding.lower() != "chunked":
                raise MalformedAnswerError(f"its transfer coding is {_shown(coding.encode())}")
            while size := self._chunk_size():
                yield from self._exactly(size)
                if line := self._line():
                    raise MalformedAnswerError(f"{_shown(line)} follows a chunk")
            self._fields()
        elif length is not None:
            if not (length.isascii() and length.isdigit() and len(length) <= _SIZE_DIGITS_MAX):
                raise MalformedAnswerError(f"its content length is {_shown(length.encode())}")
            yield from self._exactly(int(length))
        else:
            while piece := self._some(_RECEIVE_BYTES):
                yield piece

    def _chunk_size(self) -> int:
        line = self._line()
        size = line.partition(b";")[0].strip()
        if not size or size.strip(_HEX) or len(size) > _SIZE_DIGITS_MAX:
            raise MalformedAnswerError(f"it sends {_shown(line)} as the size of a chunk")
        return int(size, 16)

    def _exactly(self, size: int) -> Iterator[bytes]:
        while size:
            piece = self._some(size)
            if not piece:
                raise ConnectionError(_CLOSED)
            size -= len(piece)
            yield piece

    def _some(self, size: int) -> bytes:
        """Return up to that many bytes as soon as there are any; none at the end of the connection."""
        if not self._received:
            return self._receive(min(size, _RECEIVE_BYTES))
        piece = bytes(self._received[:size])
        del self._received[:size]
        return piece

    def _head_line(self) -> bytes:
        line = self._line()
        self._head_bytes += len(line)
        if self._head_bytes > HEAD_BYTES_MAX:
            raise MalformedAnswerError(f"its headers are longer than {HEAD_BYTES_MAX} bytes")
        return line

    def _line(self) -> bytes:
        """Return the next line outside the body, without its end."""
        seen = 0
        while (end := self._received.find(b"\n", seen)) < 0 and len(
            self._received
        ) <= HEAD_BYTES_MAX:
            seen = len(self._received)
            piece = self._receive(_RECEIVE_BYTES)
            if not piece:
                raise ConnectionError(_CLOSED)
            self._received += piece
        if not 0 <= end <= HEAD_BYTES_MAX:
            raise MalformedAnswerError(f"it sends a line of more than {HEAD_BYTES_MAX} bytes")
        line = bytes(self._received[:end]).removesuffix(b"\r")
        del self._received[: end + 1]
        return line


def _shown(received: bytes) -> str:
    """Return received bytes for an error message."""
    return repr(received[:40].decode("latin-1"))
