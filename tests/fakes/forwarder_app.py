"""A phone with an app that forwards SMS, of any preset: it posts each SMS, repeats, delays, reorders, and goes away.

The queue of posts survives a kill of the app, and a post is repeated until its answer is 200; real ones give up after a time.
Of `capcom6`, an SMS that came while the phone was off, or was given up after failed posts, is only in the inbox, until a
caller requests it again (`POST /inbox/refresh`). The signatures are made here anew, as each app documents them.
"""

import base64
import contextlib
import hashlib
import hmac
import http.client
import json
import random
import ssl
import threading
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self
from urllib.parse import quote_plus, urlencode, urlsplit

import jwt

from daemon.modem.codec.pdu_encode import encode_deliver
from tests.fakes.real_shop import pause, utc_now
from tests.fakes.receipts import MTN_SMSC

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


def sign(key: bytes, octets: bytes) -> bytes:
    """Return an HMAC-SHA256."""
    return hmac.new(key, octets, hashlib.sha256).digest()


def headers(key: str, body: bytes, at_s: float) -> dict[str, str]:
    """Return the headers of a post of `capcom6`."""
    stamp = str(int(at_s))
    return {
        "Content-Type": "application/json",
        "X-Timestamp": stamp,
        "X-Signature": sign(key.encode(), body + stamp.encode()).hex(),
        "User-Agent": "me.capcom.smsgateway/1.60.0",
    }


CUSTOM: Final = ("sender=from", "text=sms.body", "time=at", "slot=sim")
PDU: Final = ("pdu=pdus",)
"""The `members` of a custom app, and of one that posts PDUs."""


def body_of(preset: str, sms: Sms, members: Sequence[str] = ()) -> bytes:
    """Return the body of the post of one SMS, not signed."""
    at = sms.sent_at.astimezone(UTC)
    utc = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    slot = (sms.slot or 1) - 1
    if preset == "capcom6":
        return received(sms)
    if preset == "smsforwarder":
        form = {"from": sms.sender, "text": sms.text, "sim": f"SIM{slot + 1}_MTN", "time": local(sms.sent_at)}
        return urlencode(form).encode()
    body: dict[str, Any] = {"from": sms.sender, "sms": {"body": sms.text}, "at": int(at.timestamp()), "sim": slot}
    if members == PDU:
        body = {
            "pdus": encode_deliver(
                sms.sender, sms.text, at, smsc=MTN_SMSC, reference=zlib.crc32(sms.text.encode()) & 0xFFFF, width=16
            )
        }
    if preset == "textbee":
        body = {"smsId": "68e2", "message": sms.text, "deviceId": "68d1", "webhookSubscriptionId": "68c0",
                "webhookEvent": "MESSAGE_RECEIVED", "idempotencyKey": "b1", "sender": sms.sender, "receivedAt": utc}  # fmt: skip
    if preset == "httpsms":
        data = {"contact": sms.sender, "content": sms.text, "encrypted": False, "message_id": "0b01", "owner": "+233244567890",
                "sim": f"SIM{slot + 1}", "timestamp": utc, "user_id": "Xt", "attachments": None}  # fmt: skip
        body = {"data": data, "datacontenttype": "application/json", "id": "f4ae", "source": "/v1/messages/receive",
                "specversion": "1.0", "time": utc, "type": "message.phone.received"}  # fmt: skip
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


def signed(preset: str, key: str, body: bytes, at_s: float) -> tuple[bytes, dict[str, str]]:
    """Return the body and the headers as the app sends them at a time."""
    if preset == "capcom6":
        return body, headers(key, body, at_s)
    kind = {"Content-Type": "application/json"}
    if preset == "smsforwarder":
        stamp = str(int(at_s * 1_000))
        code = base64.b64encode(sign(key.encode(), f"{stamp}\n{key}".encode())).decode()
        # Encoded for an address, and then again in the form.
        return body + b"&" + urlencode({"timestamp": stamp, "sign": quote_plus(code)}).encode(), {}
    if preset == "textbee":
        return body, {**kind, "X-Signature": sign(key.encode(), body).hex()}
    if preset == "httpsms":
        at = int(at_s)
        claims = {
            "aud": ["https://shop"],
            "exp": at + 600,
            "iat": at,
            "iss": "api.httpsms.com",
            "nbf": at - 600,
            "sub": "Xt",
        }
        token = jwt.encode(claims, key, algorithm="HS256")
        return body, {**kind, "X-Event-Type": "message.phone.received", "Authorization": f"Bearer {token}"}
    return body, {**kind, "Authorization": f"Bearer {key}"}


class ForwarderApp:
    """A phone. A context manager: leaving the block ends it."""

    def __init__(self, url: str, key: str, *, seed: int, preset: str = "capcom6", members: Sequence[str] = ()) -> None:
        self.url = url
        self.key = key
        self.preset = preset
        self.members = members
        self.trust: ssl.SSLContext | None = None
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
                self._queue.append(body_of(self.preset, sms, self.members))

    def ping(self) -> int:
        """Post a ping now, if the app has any; return the status, 0 if the daemon does not answer."""
        if self.preset != "capcom6":
            return 200
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
                self.forged_statuses[self._post(body.replace(b"GHS 1", b"GHS 9"), "guessed" * 5)] += 1
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
            connection.request("POST", parts.path, *signed(self.preset, key, body, utc_now().timestamp()))
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
