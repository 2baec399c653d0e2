"""A listener: an endpoint of the sandbox that lives as long as this program, and what it does with each webhook.

Webhooks are worked through side by side, because momo sends two at a time and a slow receiver must not make the other
wait; what came of each is told by the one thread that prints.
"""

import json
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from daemon.wire import Path
from momo_cli.answer import Field, Head, Row, View
from momo_cli.client import Client, path_of
from momo_cli.errors import Failure
from momo_cli.local_receiver import Heard, body_of
from momo_cli.text import at, clean
from momo_cli.words import clock, money

_LOOK_S: Final = 0.2
"""How often Ctrl-C is looked for while nothing happens."""
_RECONNECT_S: Final = 1.0
_RECONNECTS_MAX: Final = 60
_LAST_S: Final = 15.0
"""So long the answers that are still expected are waited for when momo has gone; it waits no longer for any."""

VIEW: Final = View(
    fields=(
        Field("at"),
        Field("event"),
        Field("webhook_id"),
        Field("delivery_id"),
        Field("attempt"),
        Field("reference", "payload.data.reference"),
        Field("status_code"),
        Field("error"),
        Field("duration_ms"),
    ),
    heads=(
        Head("WHEN", lambda row, t: clock(row["at"], t)),
        Head("EVENT", lambda row, _: clean(row["event"])),
        # No heads stand above a stream, so each says what it is.
        Head("TRY", lambda row, _: f"try {clean(row['attempt'])}", right=True),
        Head("ANSWER", lambda row, _: _answer(row)),
        Head("TIME", lambda row, _: f"{clean(row['duration_ms'])} ms", right=True),
        Head(
            "AMOUNT",
            lambda row, _: money(
                at(row, "payload.data.actual_amount"), at(row, "payload.data.currency")
            ),
        ),
        Head("REFERENCE", lambda row, _: clean(at(row, "payload.data.reference"))),
    ),
    id="webhook_id",
)


@dataclass(frozen=True, slots=True)
class Webhook:
    """One attempt as it came."""

    headers: Mapping[str, str]
    body: bytes

    @property
    def attempt(self) -> int:
        """Return which try of its run it is, from 1."""
        return int(self.headers.get("X-Svc-Attempt", "1"))


Handler = Callable[[Webhook], Heard]
_Done: TypeAlias = "queue.SimpleQueue[Row | Failure | None]"


def listen(
    client: Client, endpoint: str, handle: Handler, now: Callable[[], str]
) -> Iterator[Row | None]:
    """Take webhooks until the caller stops asking.

    Args:
        client: The daemon.
        endpoint: The listener's endpoint.
        handle: Works on one webhook; called in threads.
        now: Says what time it is, as the API writes it.

    Yields:
        None once, when it is connected: what is paid from then on comes at once. Then one row for each attempt, when
        it is over and momo knows.

    Raises:
        Failure: At the first connection, or after a minute of being unable to connect again.
    """
    done: _Done = queue.SimpleQueue()
    path = path_of(Path.LOCAL_LISTENER, id=endpoint)
    threading.Thread(target=_read, args=(client, path, handle, now, done), daemon=True).start()
    while True:
        try:
            found = done.get(timeout=_LOOK_S)
        except queue.Empty:
            continue
        if isinstance(found, Failure):
            raise found
        yield found


def _read(
    client: Client,
    path: str,
    handle: Handler,
    now: Callable[[], str],
    done: "_Done",
) -> None:
    """Read the stream, over as many connections as it takes: what was missed comes with the next."""
    patience, first, opened, lost = _RECONNECTS_MAX, True, False, False
    working: list[threading.Thread] = []
    while True:
        try:
            for event in client.stream(path, method="POST"):
                if not opened:
                    done.put(None)
                patience, first, opened = _RECONNECTS_MAX, False, True
                if lost:
                    client.warn("connected again; what was missed comes now")
                lost = False
                if event is not None and event.kind == "webhook":
                    work = (client, path, handle, event.data, now, done)
                    working = [each for each in working if each.is_alive()]
                    working.append(threading.Thread(target=_work, args=work, daemon=True))
                    working[-1].start()
            first = (
                False  # somebody took the call, also where the connection broke before the answer
            )
        except Failure as failure:
            gone = 400 <= failure.http_status < 500
            if first or gone or patience == 0:
                # What has come is told before the end is.
                for each in working:
                    each.join(_LAST_S)
                done.put(failure)
                return
        if patience == _RECONNECTS_MAX:
            client.warn("connection to the daemon lost; trying again")
            lost = True
        patience -= 1
        client.pause(_RECONNECT_S)


def _work(
    client: Client,
    path: str,
    handle: Handler,
    data: Mapping[str, Any],
    now: Callable[[], str],
    done: "_Done",
) -> None:
    webhook = Webhook(data["headers"], body_of(data))
    heard = handle(webhook)
    try:
        client.call("POST", f"{path}/outcomes", body=heard.report(int(data["attempt"])))
    except Failure as failure:
        client.warn(f"momo was not told of an answer: {failure.message or failure.code}")
    done.put(_row(webhook, heard, now()))


def _row(webhook: Webhook, heard: Heard, now: str) -> Row:
    try:
        payload = json.loads(webhook.body)
    except ValueError:
        payload = None
    return {
        "at": now,
        "event": webhook.headers.get("X-Svc-Event"),
        "webhook_id": webhook.headers.get("webhook-id"),
        "delivery_id": webhook.headers.get("X-Svc-Delivery"),
        "attempt": webhook.attempt,
        "status_code": heard.status_code,
        "error": heard.error,
        "duration_ms": heard.duration_ms,
        "payload": payload,
    }


def _answer(row: Row) -> str:
    said = row["status_code"] if row["error"] is None else row["error"]
    good = isinstance(said, int) and 200 <= said < 300
    return f"{'✓' if good else '✗'} {clean(said)}"
