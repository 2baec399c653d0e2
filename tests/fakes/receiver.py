"""A webhook receiver on loopback over TLS with its own CA: records requests, verifies signatures, gives scripted answers.

In a test:

    with Receiver(tmp_path, secrets=[secret]) as receiver:
        receiver.script(Answer(503), Answer(200))      # then `receiver.default`
        ... post to receiver.url("/hook"), trusting receiver.ca_file ...
        receiver.wait_for(2)
        assert [request.verified for request in receiver.requests] == [True, True]

As a program, for benchmarks and kill tests, one JSON object a line:

    python -m tests.fakes.receiver --directory DIR [--port N] [--secret whsec_...]... [--answers 503,200]
        [--random 200=7,503=2,hang=1 --seed 3] [--delay-s 0.1] [--output FILE] [--bodies]

The first line is `{"ready": true, "url": ..., "ca_file": ..., "pid": ...}`; each request is one line, written before it
is answered. `at_ns` is CLOCK_MONOTONIC, which all processes of a machine share. A restart reuses the CA in DIR.
"""

import argparse
import asyncio
import base64
import datetime as dt
import hmac
import itertools
import json
import os
import random
import signal
import ssl
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self, cast

import trustme
import uvloop

NAMES = ("localhost", "127.0.0.1", "::1")
BODY_MAX = 10_000_000


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one request."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b"ok"
    delay_s: float = 0.0
    raw: bytes | None = None
    """Sent instead of a proper answer."""
    drip: bytes = b""
    """Sent after it repeatedly, `drip_s` apart, until the client leaves."""
    drip_s: float = 0.0
    hang: bool = False
    """Never answer."""
    drop: bool = False
    """Break the connection instead of answering."""
    close: bool = False
    """Close the connection after the answer without announcing it."""

    def encode(self) -> bytes:
        if self.raw is not None:
            return self.raw
        lines = [f"HTTP/1.1 {self.status} Told", f"Content-Length: {len(self.body)}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + self.body


HANG = Answer(hang=True)
DROP = Answer(drop=True)


@dataclass(frozen=True, slots=True)
class Request:
    """One recorded request."""

    number: int
    connection: int
    """The number of its connection, counted from 1."""
    at_ns: int
    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes
    verified: bool | None
    """Whether both signatures fit one of the secrets; None without a secret."""

    @property
    def webhook_id(self) -> str:
        return self.headers.get("webhook-id", "")


def verify(secrets: Iterable[str], headers: dict[str, str], body: bytes) -> bool:
    """Check both signature schemes with code written from the documentation alone."""
    fields = dict(part.split("=", 1) for part in headers.get("x-svc-signature", "t=,v1=").split(","))
    stamp, webhook_id = headers.get("webhook-timestamp", ""), headers.get("webhook-id", "")
    if not stamp or fields["t"] != stamp:
        return False
    offered = headers.get("webhook-signature", "").split(" ")
    for secret in secrets:
        ours = hmac.digest(secret.encode(), f"{stamp}.".encode() + body, "sha256").hex()
        key = base64.b64decode(secret.removeprefix("whsec_"))
        standard = hmac.digest(key, f"{webhook_id}.{stamp}.".encode() + body, "sha256")
        wanted = "v1," + base64.b64encode(standard).decode()
        if hmac.compare_digest(ours, fields["v1"]) and wanted in offered:
            return True
    return False


@dataclass
class Receiver:
    """The receiver; `start` and `stop` it, or use it in a `with`. Any thread may read its attributes."""

    directory: Path
    secrets: Sequence[str] = ()
    port: int = 0
    address: str = "127.0.0.1"
    """The address to listen on; `::1` is loopback too."""
    names: tuple[str, ...] = NAMES
    """The names in the certificate."""
    not_after: dt.datetime | None = None
    default: Answer = field(default_factory=Answer)
    choose: Callable[[Request], Answer] | None = None
    """Used instead of the script."""
    on_request: Callable[[Request, Answer], None] | None = None
    keep: bool = True
    """Record requests; off for benchmarks."""
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    _script: deque[Answer] = field(default_factory=deque)
    _open: set["_Connection"] = field(default_factory=set)
    _came: threading.Condition = field(default_factory=threading.Condition)
    _count: int = 0
    _fitted: dict[str, str] = field(default_factory=dict)
    _loop: asyncio.AbstractEventLoop | None = None
    _thread: threading.Thread | None = None

    @property
    def ca_file(self) -> str:
        return str(self.directory / "ca.pem")

    def url(self, path: str = "/hook", host: str = "localhost") -> str:
        return f"https://{host}:{self.port}{path}"

    def script(self, *answers: Answer) -> None:
        """Script the answers to the next requests, one each."""
        self._script.extend(answers)

    def wait_for(self, count: int, timeout_s: float = 25.0) -> list[Request]:
        """Wait until `count` requests in total have arrived."""
        with self._came:
            came = self._came.wait_for(lambda: len(self.requests) >= count, timeout_s)
        assert came, f"{len(self.requests)} of {count} requests came in {timeout_s} s"
        return self.requests

    def close_connections(self) -> None:
        """Close all open connections, as a server does with idle ones."""
        assert self._loop is not None
        done = threading.Event()

        def close() -> None:
            for connection in tuple(self._open):
                connection.transport.close()
            done.set()

        self._loop.call_soon_threadsafe(close)
        done.wait(5)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Serve in a thread; return when the port is open."""
        context = self.context()
        ready = threading.Event()

        def run() -> None:
            self._loop = uvloop.new_event_loop()
            server = self._loop.run_until_complete(self.listen(context))
            ready.set()
            self._loop.run_forever()
            server.close()
            for connection in tuple(self._open):
                connection.transport.abort()
            self._loop.run_until_complete(asyncio.sleep(0))
            with warnings.catch_warnings():
                # A connection in its TLS handshake has no protocol object yet, and cannot be closed.
                warnings.simplefilter("ignore", ResourceWarning)
                self._loop.close()

        self._thread = threading.Thread(target=run, name="receiver", daemon=True)
        self._thread.start()
        assert ready.wait(60), "the receiver did not start"

    def stop(self) -> None:
        if self._thread is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(10)
            self._thread = None

    async def listen(self, context: ssl.SSLContext) -> asyncio.Server:
        """Open the port in the running loop."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Connection(self), self.address, self.port, ssl=context, backlog=512)
        self.port = server.sockets[0].getsockname()[1]
        return server

    def context(self) -> ssl.SSLContext:
        """Make the CA and a certificate for `names`, or reuse those in `directory`."""
        self.directory.mkdir(parents=True, exist_ok=True)
        pem, ca = self.directory / "server.pem", self.directory / "ca.pem"
        if not (pem.exists() and ca.exists()):
            authority = trustme.CA()
            certificate = authority.issue_cert(*self.names, not_after=self.not_after)
            chain = b"".join(blob.bytes() for blob in certificate.cert_chain_pems)
            pem.write_bytes(certificate.private_key_pem.bytes() + chain)
            authority.cert_pem.write_to_path(str(ca))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        return context

    def take(self, connection: int, head: bytes, body: bytes) -> Answer:
        """Record one request and choose its answer."""
        lines = head.decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ", 2)
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        verified = self._verify(path, headers, body) if self.secrets else None
        self._count += 1
        request = Request(
            number=self._count,
            connection=connection,
            at_ns=time.monotonic_ns(),
            method=method,
            path=path,
            headers=headers,
            body=body,
            verified=verified,
        )
        if self.choose is not None:
            answer = self.choose(request)
        else:
            answer = self._script.popleft() if self._script else self.default
        if self.on_request is not None:
            self.on_request(request, answer)
        if self.keep:
            with self._came:
                self.requests.append(request)
                self._came.notify_all()
        return answer

    def _verify(self, path: str, headers: dict[str, str], body: bytes) -> bool:
        """Check the signatures. Each address usually has its own secret, so the last one that fitted is tried first."""
        known = self._fitted.get(path, "")
        if known in self.secrets and verify([known], headers, body):
            return True
        for secret in self.secrets:
            if verify([secret], headers, body):
                self._fitted[path] = secret
                return True
        return False


class _Connection(asyncio.Protocol):
    """One connection, HTTP/1.1 with Content-Length, one request at a time."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._buffer = bytearray()
        self._busy = False
        receiver.connections += 1
        self._number = receiver.connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's transport is not a subclass of it
        self._receiver._open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._receiver._open.discard(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while not self._busy:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = bytes(self._buffer[:end])
            at = head.lower().find(b"\r\ncontent-length:")
            length = int(head[at + 17 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self._buffer) < end + 4 + length:
                return
            body = bytes(self._buffer[end + 4 : end + 4 + length])
            del self._buffer[: end + 4 + length]
            self._answer(self._receiver.take(self._number, head, body))

    def _answer(self, answer: Answer) -> None:
        if answer.hang:
            self._busy = True
        elif answer.drop:
            self._busy = True
            self.transport.abort()
        elif answer.delay_s:
            self._busy = True
            asyncio.get_running_loop().call_later(answer.delay_s, self._late, answer)
        else:
            self._send(answer)

    def _late(self, answer: Answer) -> None:
        self._busy = False
        self._send(answer)
        if self._buffer:
            self.data_received(b"")

    def _send(self, answer: Answer) -> None:
        if self.transport.is_closing():
            return
        self.transport.write(answer.encode())
        if answer.drip:
            self._busy = True
            self._drip(answer)
        elif answer.close:
            self.transport.close()

    def _drip(self, answer: Answer) -> None:
        if self.transport.is_closing():
            return
        # Without back-pressure, an endless body would fill the memory when the client stops reading.
        if self.transport.get_write_buffer_size() < BODY_MAX:
            self.transport.write(answer.drip)
        asyncio.get_running_loop().call_later(answer.drip_s, self._drip, answer)


def _named(name: str) -> Answer:
    """Read `200`, `503`, `hang` or `drop`."""
    return {"hang": HANG, "drop": DROP}.get(name) or Answer(int(name))


def _chooser(options: argparse.Namespace) -> Callable[[Request], Answer] | None:
    if options.random:
        pairs = [part.split("=") for part in options.random.split(",")]
        answers, weights = [_named(name) for name, _ in pairs], [float(w) for _, w in pairs]
        rng = random.Random(options.seed)
        return lambda _: rng.choices(answers, weights)[0]
    if options.answers:
        answers = [_named(name) for name in options.answers.split(",")]
        script = itertools.chain(answers, itertools.repeat(answers[-1]))
        return lambda _: next(script)
    return None


def _flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.receiver")
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--secret", action="append", default=[])
    parser.add_argument("--answers", help="503,200: in turn, the last for ever; also hang, drop")
    parser.add_argument("--random", help="200=7,503=2,hang=1: by weight")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--delay-s", type=float, default=0.0, help="of each other answer")
    parser.add_argument("--output", type=Path, help="append here instead of stdout")
    parser.add_argument("--bodies", action="store_true", help="put the body into each line")
    return parser.parse_args()


def main() -> None:
    """Run as a program until SIGTERM or SIGINT."""
    options = _flags()
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    handle = os.open(options.output, flags) if options.output else sys.stdout.fileno()

    def record(request: Request, answer: Answer) -> None:
        headers = request.headers
        line = {
            "at_ns": request.at_ns,
            "number": request.number,
            "connection": request.connection,
            "path": request.path,
            "webhook_id": request.webhook_id,
            "event": headers.get("x-svc-event"),
            "delivery": headers.get("x-svc-delivery"),
            "attempt": headers.get("x-svc-attempt"),
            "sequence": headers.get("x-svc-sequence"),
            "verified": request.verified,
            "answer": "hang" if answer.hang else "drop" if answer.drop else answer.status,
        }
        if options.bodies:
            line["body"] = request.body.decode()
        # One write per line, before the answer: every answered request is recorded, also if a process is killed.
        os.write(handle, json.dumps(line).encode() + b"\n")

    receiver = Receiver(
        options.directory,
        secrets=options.secret,
        port=options.port,
        default=Answer(delay_s=options.delay_s),
        choose=_chooser(options),
        on_request=record,
        keep=False,
    )

    async def serve() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        await receiver.listen(receiver.context())
        ready = {"ready": True, "url": receiver.url(), "ca_file": receiver.ca_file, "pid": os.getpid()}
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        await stop.wait()

    uvloop.run(serve())


if __name__ == "__main__":
    main()
