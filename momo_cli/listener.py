"""A listener: a sandbox endpoint of a running program (`listen`, `simulate endpoint`), and the local receiver it posts to.

Each webhook is handled in its own thread, because momo sends two at a time and a slow receiver must not delay the other;
one thread prints the results.
"""

import base64
import json
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from daemon.wire import Path
from momo_cli import system
from momo_cli.errors import Failure, usage
from momo_cli.show.answer import Head, Row, view_of
from momo_cli.show.words import clock, money
from momo_cli.socket.client import PAUSE_S, Client, Outage, path_of
from momo_cli.text import at, clean

_ANSWER_BYTES_MAX: Final = 64 * 1024
_TIMEOUT_S: Final = 60.0
"""Longer than momo waits, so that a slow receiver times out in momo, as it would over the internet."""
_LOOK_S: Final = 0.2
"""Polling interval, so that Ctrl-C is noticed while nothing happens."""
_LAST_S: Final = 15.0
"""How long to wait for running handlers after the daemon is gone; momo waits no longer for an answer."""
_Done: TypeAlias = "queue.SimpleQueue[Row | Failure | None]"


@dataclass(frozen=True, slots=True)
class PostResult:
    """The result of one POST: a status, or the reason why there is none."""

    status_code: int | None
    error: str | None
    body: str
    duration_ms: int

    @property
    def good(self) -> bool:
        """Return whether momo counts it as delivered."""
        return self.status_code is not None and 200 <= self.status_code < 300

    def report(self, attempt: int) -> dict[str, Any]:
        """Return the body of the report to the daemon."""
        if self.error is not None:
            return {"attempt": attempt, "error": self.error}
        return {"attempt": attempt, "status_code": self.status_code, "response_body": self.body}


@dataclass(frozen=True, slots=True)
class LocalReceiver:
    """A receiver of webhooks on this machine."""

    host: str
    port: int
    target: str

    @property
    def url(self) -> str:
        """The address."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{self.target}"

    def post(self, headers: Mapping[str, str], body: bytes) -> PostResult:
        """Send one webhook, byte for byte; network errors are returned, never raised."""
        import http.client  # noqa: PLC0415  # only a receiver is called over TCP; it is slow to import

        started = system.monotonic()

        def heard(status: int | None, error: str | None = None, answer: bytes = b"") -> PostResult:
            took = round((system.monotonic() - started) * 1000)
            return PostResult(status, error, answer.decode("utf-8", "replace"), took)

        connection = http.client.HTTPConnection(self.host, self.port, timeout=_TIMEOUT_S)
        try:
            connection.request("POST", self.target, body, dict(headers))
            response = connection.getresponse()
            return heard(response.status, None, response.read(_ANSWER_BYTES_MAX))
        except TimeoutError:
            return heard(None, "timeout")
        except ConnectionRefusedError:
            return heard(None, "connection_refused")
        except ConnectionError:  # also RemoteDisconnected
            return heard(None, "connection_reset")
        except http.client.HTTPException:
            return heard(None, "protocol_error")
        except OSError:
            return heard(None, "connection_refused")
        finally:
            connection.close()


def parse_receiver(url: str) -> LocalReceiver:
    """Parse the address of a receiver; fail (exit 2) if it is not an http address of this machine."""
    try:
        parts = urlsplit(url)
        port = parts.port or 80
    except ValueError:
        raise _wrong(url) from None
    if parts.scheme != "http" or parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise _wrong(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return LocalReceiver(parts.hostname, port, target)


def _wrong(url: str) -> Failure:
    return usage(
        f"--forward-to: {url}: only an address of this machine is accepted, such as http://127.0.0.1:3000/hook; "
        "for another server: momo endpoints add https://... --sandbox"
    )


VIEW: Final = view_of(
    "at event webhook_id delivery_id attempt reference=payload.data.reference status_code",
    "error duration_ms",
    Head("WHEN", lambda row, t: clock(row["at"], t)),
    Head("EVENT", lambda row, _: clean(row["event"])),
    # A stream has no heading, so each value names itself.
    Head("TRY", lambda row, _: f"try {clean(row['attempt'])}", right=True),
    Head("ANSWER", lambda row, _: _answer(row)),
    Head("TIME", lambda row, _: f"{clean(row['duration_ms'])} ms", right=True),
    Head("AMOUNT", lambda row, _: money(at(row, "payload.data.actual_amount"), at(row, "payload.data.currency"))),
    Head("REFERENCE", lambda row, _: clean(at(row, "payload.data.reference"))),
    id="webhook_id",
)


@dataclass(frozen=True, slots=True)
class Webhook:
    """One received attempt."""

    headers: Mapping[str, str]
    body: bytes

    @property
    def attempt(self) -> int:
        """Return the number of the attempt within its run, from 1."""
        return int(self.headers.get("X-Svc-Attempt", "1"))


Handler = Callable[[Webhook], PostResult]


def listen(
    client: Client, endpoint: str, handle: Handler, now: Callable[[], datetime], resume: str = ""
) -> Iterator[Row | None]:
    """Receive webhooks until the caller stops iterating.

    `handle` is called in threads. Yields None once, when it is connected: payments from then on are sent at once. Then
    one row for each attempt, after its outcome was reported to momo. Fails if the first connection fails, or the daemon
    is away for too long (`Outage`); `resume` is the command to go on with then.
    """
    reader = _Reader(client, path_of(Path.LOCAL_LISTENER, id=endpoint), handle, now, resume)
    threading.Thread(target=reader.read, daemon=True).start()
    while True:
        try:
            found = reader.done.get(timeout=_LOOK_S)
        except queue.Empty:
            continue
        if isinstance(found, Failure):
            raise found
        yield found


@dataclass(frozen=True, slots=True)
class _Reader:
    """The threads of a listener; `done` gets the results for the caller's thread."""

    client: Client
    path: str
    handle: Handler
    now: Callable[[], datetime]
    resume: str = ""
    done: _Done = field(default_factory=queue.SimpleQueue)

    def read(self) -> None:
        """Read the stream and reconnect as needed; missed webhooks come with the next connection."""
        outage, opened = Outage(self.client, self.resume), False
        working: list[threading.Thread] = []
        while True:
            failure = None
            try:
                for event in self.client.stream(self.path, method="POST"):
                    if not opened:
                        self.done.put(None)
                    opened = True
                    outage.over()
                    if event is not None and event.kind == "webhook":
                        work = threading.Thread(target=self._work, args=(event.data,), daemon=True)
                        work.start()
                        working = [work, *(each for each in working if each.is_alive())]
            except Failure as problem:
                failure = problem
            try:
                outage.missed(failure)
            except Failure as final:
                # Report the received webhooks before the failure.
                for each in working:
                    each.join(_LAST_S)
                self.done.put(final)
                return
            self.client.pause(PAUSE_S)

    def _work(self, data: Mapping[str, Any]) -> None:
        webhook = Webhook(data["headers"], base64.b64decode(str(data.get("body", ""))))
        heard = self.handle(webhook)
        report = heard.report(int(data["attempt"]))
        try:
            self.client.call("POST", f"{self.path}/outcomes", body=report)
        except Failure as failure:
            said = failure.message or failure.code
            self.client.warn(f"an answer was not reported to momo: {said}")
        try:
            payload = json.loads(webhook.body)
        except (ValueError, RecursionError):
            payload = None
        self.done.put(
            {
                "at": f"{self.now():%Y-%m-%dT%H:%M:%SZ}",
                "event": webhook.headers.get("X-Svc-Event"),
                "webhook_id": webhook.headers.get("webhook-id"),
                "delivery_id": webhook.headers.get("X-Svc-Delivery"),
                "attempt": webhook.attempt,
                "status_code": heard.status_code,
                "error": heard.error,
                "duration_ms": heard.duration_ms,
                "payload": payload,
            }
        )


def _answer(row: Row) -> str:
    said = row["status_code"] if row["error"] is None else row["error"]
    good = isinstance(said, int) and 200 <= said < 300
    return f"{'✓' if good else '✗'} {clean(said)}"
