"""GET /v1/events: a live stream of the journal, as server-sent events (HTML standard, section 9.2).

An API key sees the transaction events of its mode; sessions and the socket see every event.
"""

import asyncio
import re
from collections.abc import Callable
from typing import Annotated, Final

from msgspec import Struct
from starlette.types import Receive, Scope, Send

from daemon.api.http.service import Call, Service
from daemon.api.openapi.describe import STREAM, described
from daemon.core import json_values
from daemon.core.access.callers import Caller, CallerKind
from daemon.core.errors import FieldError, Refusal, invalid
from daemon.core.ids import split_reference
from daemon.core.model import Event
from daemon.core.payments import transaction_json
from daemon.core.shape import sample
from daemon.runtime import sse
from daemon.store import journal
from daemon.store.engine import Reader
from daemon.store.payments import transaction_list
from daemon.wire import ErrorCode

BATCH: Final = 100
_SEQUENCE: Final = re.compile(r"[0-9]{1,18}", re.ASCII)


class StreamQuery(Struct, frozen=True):
    """The event to continue after, and the transaction to watch."""

    since: Annotated[
        str | None, sample("412", "continue after this event; the header `Last-Event-ID` takes precedence")
    ] = None
    reference: Annotated[
        str | None, sample("svc_trx_0192f0c17d2a7c3e9a543f2b8c1d4e5f", "the `reference` of a transaction")
    ] = None


@described("Stream events", STREAM, query=StreamQuery, errors="TRANSACTION_NOT_FOUND")
async def get(call: Call) -> "EventStream":
    """Open the stream after event `Last-Event-ID` or `since`, by default from now. `reference` selects one transaction."""
    asked, last_event_id = call.query.read(StreamQuery), call.header(b"last-event-id")
    after, name = (last_event_id, "Last-Event-ID") if last_event_id else (asked.since, "since")
    if after is not None and not _SEQUENCE.fullmatch(after):
        raise invalid([FieldError(name, "invalid", "must be the id of an event")])
    transaction_id = await _transaction(call, asked.reference)
    # Read in both cases: without the database the answer is 503, not a stream that ends at once.
    last = await call.env.store.look(journal.last_seq)
    start = last if after is None else int(after)
    return EventStream(call.service, start, transaction_id, _sees(call.caller))


def _sees(caller: Caller) -> Callable[[Event], bool]:
    """Return a filter for the events that a caller may see."""
    if caller.kind is not CallerKind.KEY:
        return lambda _event: True
    return lambda event: event.mode is caller.mode and event.type.startswith("transaction.")


async def _transaction(call: Call, reference: str | None) -> str | None:
    if reference is None:
        return None
    transaction_id = split_reference(reference)
    if transaction_id is None or not await call.env.store.look(
        lambda reader: transaction_list.by_id(reader, transaction_id, call.caller.mode)
    ):
        raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND)
    return transaction_id


class EventStream:
    """One open stream, as an ASGI application."""

    def __init__(self, service: Service, after: int, transaction_id: str | None, sees: Callable[[Event], bool]) -> None:
        self._service = service
        self._after = after
        self._transaction_id = transaction_id
        self._sees = sees

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 -- ASGI's signature
        """Send events until the caller disconnects or the daemon stops."""
        wake = asyncio.Event()
        unsubscribe = self._service.env.store.subscribe(journal.TOPIC, wake.set)
        try:
            async with sse.opened(receive, send, self._service.stopping) as stream:
                # The id alone makes no event, and a client that loses the connection now continues from here.
                await stream.send(b": open\nid: %d\n\n" % self._after)
                while not stream.over:
                    # Cleared before the query, so that a later event wakes the stream again.
                    wake.clear()
                    chunk = await self._next()
                    if chunk:
                        await stream.send(chunk)
                    elif chunk is None:
                        await stream.wait(wake)
        finally:
            unsubscribe()

    async def _next(self) -> bytes | None:
        """Return the next events as text: empty if the caller may see none of them, None if there are none yet."""
        now = self._service.env.times().lower_bound_us

        def job(reader: Reader) -> tuple[bytes | None, int]:
            found = journal.after(reader, self._after, transaction_id=self._transaction_id, limit=BATCH)
            if not found:
                return None, self._after
            text = b""
            seen = [event for event in found if self._sees(event)]
            for event, about in transaction_list.events_with_transactions(reader, seen):
                transaction, payment = about or (None, None)
                data = json_values.dump(transaction_json.event(event, transaction, payment, now))
                text += sse.event(b"%d" % event.seq, event.type.encode(), data)
            return text, found[-1].seq

        text, self._after = await self._service.env.store.read(job)
        return text
