"""A minimal daemon: a real Unix socket, real HTTP, and scripted answers.

It produces the cases that a client must handle (any status, any body, broken connections, event streams) and records each request
for the test.
"""

import json
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, TypeAlias, cast
from urllib.parse import parse_qs, urlsplit

from daemon import wire
from daemon.error_table import ERRORS
from daemon.wire import ErrorCode


@dataclass(frozen=True, slots=True)
class Asked:
    """One recorded request."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    headers: dict[str, str]


@dataclass(frozen=True, slots=True)
class Says:
    """One scripted answer: a body, the text of an event stream, or a dropped connection."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    stream: str | None = None
    drop: bool = False
    raw: bytes | None = None


Script: TypeAlias = Says | Callable[[Asked], Says]


def refusal(status: int, code: str, message: str = "", **extras: Any) -> Says:
    """Make an answer with the API's error envelope; the default message is the daemon's."""
    if not message:
        message = ERRORS[ErrorCode(code)].message if code in set(ErrorCode) else "no"
    error = {"code": code, "message": message, **extras}
    body = {"success": False, "error": error, **extras, "meta": {"request_id": "req_" + "0" * 32}}
    return Says(body, status)


def ok(data: Any, **top: Any) -> Says:
    """Make an answer with the API's success envelope."""
    return Says({"success": True, "data": data, **top})


class FakeApi:
    """The script and the recorded requests of the fake daemon.

    Attributes:
        script: `"GET /v1/..."` -> answer; a list is answered in turn, and its last entry repeats.
        asked: Every request, in order.
        protocol: The protocol version that the daemon reports.
        timezone: The shop's time zone. A request for it alone is answered and not recorded.
    """

    def __init__(self) -> None:
        self.script: dict[str, Script | list[Script]] = {}
        self.asked: list[Asked] = []
        self.protocol = wire.PROTOCOL
        self.timezone = "Africa/Accra"
        self._lock = threading.Lock()

    def on(self, method: str, path: str, *answers: Script) -> None:
        """Script the answer of a path; several answers are given in turn."""
        self.script[f"{method} {path}"] = list(answers)

    def answer(self, asked: Asked) -> Says:
        """Record the request and return the scripted answer."""
        with self._lock:
            if asked.path != wire.Path.HEALTH:
                self.asked.append(asked)
            found = self.script.get(f"{asked.method} {asked.path}")
            if isinstance(found, list):
                found = found.pop(0) if len(found) > 1 else found[0]
        if found is None:
            return refusal(404, "ROUTE_NOT_FOUND", f"nothing at {asked.path}")
        return found if isinstance(found, Says) else found(asked)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self) -> str:
        return "unix"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the protocol's own name
        """Suppress the server's own log."""

    def _serve(self) -> None:
        api = cast("_Server", self.server).api
        length = int(self.headers.get("Content-Length") or 0)
        sent = self.rfile.read(length)
        parts = urlsplit(self.path)
        asked = Asked(
            method=self.command,
            path=parts.path,
            query={name: values[-1] for name, values in parse_qs(parts.query).items()},
            body=json.loads(sent) if sent else None,
            headers={name.lower(): value for name, value in self.headers.items()},
        )
        says = api.answer(asked)
        self.close_connection = True
        if says.drop:
            return
        if says.stream is not None:
            payload, kind = says.stream.encode(), "text/event-stream"
        elif says.raw is not None:
            payload, kind = says.raw, "text/plain"
        else:
            payload = json.dumps(says.body, ensure_ascii=False).encode()
            kind = "application/json"
        self.send_response(says.status)
        self.send_header("Content-Type", kind)
        self.send_header(wire.PROTOCOL_HEADER, api.protocol)
        self.send_header(wire.TIMEZONE_HEADER, api.timezone)
        if says.stream is None:
            self.send_header("Content-Length", str(len(payload)))
        else:
            self.send_header("Transfer-Encoding", "chunked")
        for name, value in says.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if says.stream is None:
            self.wfile.write(payload)
        else:
            self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(payload), payload))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815  # http.server looks for these names


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 32

    def __init__(self, path: Path, api: FakeApi) -> None:
        self.api = api
        super().__init__(str(path), _Handler)


@contextmanager
def serving(api: FakeApi, path: Path) -> Iterator[FakeApi]:
    """Answer on the socket while the block runs, then remove the socket file."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _Server(path, api) as server:
        worker = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        worker.start()
        try:
            yield api
        finally:
            server.shutdown()
            worker.join()
            path.unlink(missing_ok=True)
