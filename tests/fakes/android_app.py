"""A phone with the app "SMS Gateway for Android": it posts each SMS, repeats, delays, reorders, and goes away.

The queue of posts survives a kill of the app, as in the real one. An SMS that came while the phone was off, or was given up
after failed posts, is only in the inbox, until a caller requests it again (`POST /inbox/refresh`).
"""

import base64
import contextlib
import http.client
import json
import random
import ssl
import threading
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

from daemon.core.messages.android import sign
from tests.fakes.real_shop import pause, utc_now

ZONE = timezone(timedelta(hours=7))
"""Not the shop's zone: the app writes the phone's local time."""
USER, PASSWORD = "sms", "phone-password"
RETRY_S = 0.05
"""The real one begins with 10 seconds."""
INBOX_LATER = timedelta(seconds=3)
"""The inbox has the time when the phone got an SMS, the post of a new SMS the time when the network sent it."""
REORDER = 4
"""How many posts may overtake one."""


@dataclass(frozen=True, slots=True)
class Sms:
    """One SMS in the inbox."""

    sender: str
    text: str
    sent_at: datetime
    slot: int | None = 1
    got_at: datetime | None = None
    """When the phone got it, by which the inbox is searched; None for 3 seconds after the network sent it."""


def local(at: datetime) -> str:
    """Return a time as the app writes it."""
    return at.astimezone(ZONE).isoformat(timespec="milliseconds")


def received(sms: Sms, at: datetime | None = None, **changes: Any) -> bytes:
    """Return the body of the post of one SMS."""
    payload = {
        "messageId": f"{hash(sms.text) & 0xFFFFFFFF:x}",
        "message": sms.text,
        "sender": sms.sender,
        "recipient": None,
        "phoneNumber": sms.sender,
        "simNumber": sms.slot,
        "receivedAt": local(at or sms.sent_at),
    }
    return event("sms:received", payload | changes)


def event(name: str, payload: dict[str, Any]) -> bytes:
    """Return the body of a post."""
    body = {
        "deviceId": "ffffffffceb0b1db0000018e937c815b",
        "event": name,
        "id": "Ey6ECgOkVVFjz3CL48B8C",
        "payload": payload,
        "webhookId": "LreFUt-Z3sSq0JufY9uWB",
    }
    return json.dumps(body, separators=(",", ":")).encode()


def headers(key: str, body: bytes, at_s: float) -> dict[str, str]:
    """Return the headers of a post."""
    stamp = str(int(at_s))
    return {
        "Content-Type": "application/json",
        "X-Timestamp": stamp,
        "X-Signature": sign(key.encode(), body, stamp),
        "User-Agent": "me.capcom.smsgateway/1.60.0",
    }


class AndroidApp:
    """A phone. A context manager: leaving the block ends it."""

    def __init__(self, url: str, key: str, *, seed: int, trust: ssl.SSLContext | None = None) -> None:
        self.url = url
        self.key = key
        self.trust = trust
        self.statuses = Counter[int]()
        self.forged_statuses = Counter[int]()
        self.orders: list[tuple[str, str]] = []
        self.forges = 0.0
        """Share of posts before which a forger sends one of his own."""
        self.repeats = 0.0
        """Share of answers that get lost, so that the post is repeated."""
        self._rng = random.Random(seed)
        self._inbox: list[Sms] = []
        self._queue: list[bytes] = []
        self._lock = threading.Lock()
        self._on = False
        self._thread: threading.Thread | None = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._serving = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._serving.start()

    @property
    def inbox_url(self) -> str:
        """The address of the local server."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def is_idle(self) -> bool:
        """Return whether the queue of posts is empty."""
        with self._lock:
            return not self._queue

    @property
    def is_running(self) -> bool:
        """The app runs."""
        return self._thread is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.kill()
        self._server.shutdown()
        self._server.server_close()
        self._serving.join()

    def start(self) -> None:
        """Start the app."""
        assert self._thread is None, "it runs"
        self._on = True
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def kill(self) -> None:
        """End the app; the queue stays."""
        self._on = False
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def get(self, sms: Sms, *, post: bool = True) -> None:
        """Receive an SMS; without `post` it is only in the inbox."""
        with self._lock:
            self._inbox.append(sms)
            if post:
                self._queue.append(received(sms))

    def ping(self) -> int:
        """Post a ping now; return the status, 0 if the daemon does not answer."""
        return self._post(event("system:ping", {"health": {}}), self.key)

    def _work(self) -> None:
        while self._on:
            with self._lock:
                ahead = self._queue[:REORDER]
                body = self._rng.choice(ahead) if ahead else None
            if body is None:
                pause(0.005)
                continue
            if self._rng.random() < self.forges:
                self.forged_statuses[self._post(body.replace(b"GHS 1", b"GHS 9"), "guessed")] += 1
            status = self._post(body, self.key)
            self.statuses[status] += 1
            if status == 200 and self._rng.random() >= self.repeats:
                with self._lock, contextlib.suppress(ValueError):
                    self._queue.remove(body)
            elif status != 200:
                pause(RETRY_S)

    def _post(self, body: bytes, key: str) -> int:
        parts = urlsplit(self.url)
        host, port = parts.hostname or "", parts.port or 443
        connection: http.client.HTTPConnection = http.client.HTTPConnection(host, port, timeout=30)
        if parts.scheme == "https":
            connection = http.client.HTTPSConnection(host, port, timeout=30, context=self.trust)
        try:
            connection.request("POST", parts.path, body, headers(key, body, utc_now().timestamp()))
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()
        return answer.status

    def _refresh(self, order: dict[str, Any]) -> None:
        since, until = (datetime.fromisoformat(order[name]) for name in ("since", "until"))
        with self._lock:
            self.orders.append((order["since"], order["until"]))
            for sms in self._inbox:
                at = sms.sent_at.astimezone(UTC) + INBOX_LATER
                if since <= (sms.got_at or at) <= until:
                    body = received(sms, at)
                    if body not in self._queue:
                        self._queue.append(body)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        app = self
        wanted = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if len(body) < int(self.headers["Content-Length"]):
                    return  # the daemon was killed
                status = 404
                if self.path == "/inbox/refresh":
                    status = 401 if self.headers["Authorization"] != wanted else 202
                if status == 202:
                    app._refresh(json.loads(body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_args: object) -> None:
                """Print nothing."""

        return Handler
