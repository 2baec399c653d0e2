"""The endpoint of `momo listen`: a sandbox endpoint that receives its webhooks over the Unix socket.

    POST /local/v1/listen                  create it, with `{keep: true}` permanently; answers like a new endpoint, with its secret
    POST /local/v1/listen/{id}             its webhooks as server-sent events; the endpoint is active while the stream is open
    POST /local/v1/listen/{id}/outcomes    the local receiver's response to one webhook

It is an endpoint like any other: deliveries in the outbox, retries, log, redelivery. While no listener is connected it is
paused: its deliveries wait for the next connection (docs/decisions/0019).
"""

import base64
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any, Final

from msgspec import Meta, Struct
from starlette.types import Receive, Scope, Send

from daemon.api.http.auth import needs_owner
from daemon.api.http.service import NO_STORE, Call, Reply, finished, ok
from daemon.api.webhooks.endpoints import find, keeping, needs_open_collections
from daemon.core import json_values
from daemon.core.errors import MomoError, Refusal
from daemon.core.shape import marked
from daemon.core.webhooks.delivery import ANSWER_KEPT_BYTES_MAX, DeliveryError
from daemon.core.webhooks.endpoint import Endpoint, EndpointChanges, NewEndpoint
from daemon.flows.webhooks import endpoints
from daemon.runtime import sse
from daemon.sender.https import judge_status
from daemon.sender.live_receivers import LISTEN_SCHEME, Listener, ListenerReport
from daemon.wire import ErrorCode, EventKind

KEPT: Final = "momo listen --keep"
_EVENTS: Final = (EventKind.FORWARDED, EventKind.COMPLETED, EventKind.REVERSED)
_ERRORS: Final = {
    DeliveryError.CONNECTION_REFUSED: "the local receiver refused the connection",
    DeliveryError.CONNECTION_RESET: "the local receiver closed the connection without an answer",
    DeliveryError.TIMEOUT: "the local receiver did not answer in time",
    DeliveryError.PROTOCOL_ERROR: "the local receiver's answer is not proper HTTP",
}
"""The possible errors of a POST to the local receiver, with their text in the delivery log."""


class ListenBody(Struct, frozen=True):
    """Whether the endpoint stays when the listener ends."""

    keep: bool = False


async def create(call: Call) -> Reply:
    """Create a sandbox endpoint for a listener, paused until it connects."""
    needs_owner(call.caller)
    needs_open_collections(call)
    keep = (await call.body(ListenBody, optional=True)).keep
    description = KEPT if keep else endpoints.LISTENER
    url = f"{LISTEN_SCHEME}{call.env.new_id()}"
    new = NewEndpoint(url, description, is_sandbox=True, events=_EVENTS)
    made = await endpoints.create(call.env, call.caller, new, is_listener=True)
    return finished(keeping(None).answer(made), NO_STORE)


async def stream(call: Call) -> "ListenerStream":
    """Connect a listener: send waiting webhooks now and later ones as they are queued."""
    needs_owner(call.caller)
    return ListenerStream(call, await _listening(call))


class ListenOutcome(Struct, frozen=True):
    """What the local receiver said to an attempt: a status, or why there is none."""

    attempt: Annotated[int, Meta(ge=-(1 << 62), le=1 << 62)]
    status_code: Annotated[int, Meta(ge=100, le=999)] | None = None
    error: Annotated[DeliveryError, marked(words=tuple(_ERRORS))] | None = None
    response_body: Annotated[str, marked(read="secret")] = ""

    @staticmethod
    def check(_given: object, body: Mapping[str, Any], fail: Callable[[str, str, str], Any]) -> None:
        """Ask for one of the two."""
        if body.get("error") is None and body.get("status_code") is None:
            fail("status_code", "required", "must be an HTTP status code")


async def settle(call: Call) -> Reply:
    """Record the local receiver's response: `{attempt, status_code}`, or `{attempt, error}` without a response."""
    needs_owner(call.caller)
    endpoint = await _listening(call)
    outcome = await call.body(ListenOutcome)
    text = outcome.response_body.encode()[:ANSWER_KEPT_BYTES_MAX].decode("utf-8", "ignore").replace("\0", "\ufffd")
    if outcome.error is not None:
        report = ListenerReport(None, text, outcome.error, _ERRORS[outcome.error])
    else:
        assert outcome.status_code is not None
        report = ListenerReport(outcome.status_code, text, *judge_status(outcome.status_code))
    listener = call.env.live_receivers.at(endpoint.url)
    taken = listener is not None and listener.settle(outcome.attempt, report)
    return ok({"taken": taken})


async def _listening(call: Call) -> Endpoint:
    endpoint = await find(call)
    if not endpoint.url.startswith(LISTEN_SCHEME):
        raise Refusal(ErrorCode.ENDPOINT_NOT_FOUND)
    return endpoint


class ListenerStream:
    """One connected listener, as an ASGI application."""

    def __init__(self, call: Call, endpoint: Endpoint) -> None:
        self._call = call
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 -- ASGI's signature
        """Send webhooks until the listener disconnects, another one replaces it, or the daemon stops."""
        env, url = self._call.env, self._endpoint.url
        listener = env.live_receivers.connect(url)
        try:
            # Before the response starts: a client that has it may rely on an active endpoint.
            await self._switch(active=True)
            async with sse.opened(receive, send, self._call.service.stopping) as stream:
                await stream.send(b": open\n\n")
                while not stream.over and env.live_receivers.at(url) is listener:
                    listener.wake.clear()
                    chunk = b"".join(_event(listener))
                    if chunk:
                        await stream.send(chunk)
                    else:
                        await stream.wait(listener.wake)
        finally:
            if env.live_receivers.leave(url, listener):
                with suppress(MomoError):  # it was deleted, or the disk is full
                    await self._switch(active=False)

    async def _switch(self, *, active: bool) -> None:
        await endpoints.update(self._call.env, self._call.caller, self._endpoint.id, EndpointChanges(is_active=active))


def _event(listener: Listener) -> list[bytes]:
    found = []
    for posted in listener.take():
        data = {
            "attempt": posted.number,
            "headers": dict(posted.headers),
            "body": base64.b64encode(posted.body).decode(),
        }
        found.append(sse.event(b"%d" % posted.number, b"webhook", json_values.dump(data)))
    return found
