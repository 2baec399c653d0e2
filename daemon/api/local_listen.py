"""`momo listen`: a live sandbox endpoint that takes its webhooks over the Unix socket.

    POST /local/v1/listen                  make one, `{keep: true}` to stay; the answer is that of a new endpoint, with its secret
    POST /local/v1/listen/{id}             its webhooks as server-sent events; while it is open the endpoint is active
    POST /local/v1/listen/{id}/outcomes    what the receiver answered to one of them

It is an endpoint like any other: deliveries in the outbox, retries, log, redelivery. While nobody is connected it is paused, so
that what comes meanwhile waits, and whoever connects again gets it (docs/decisions/0022).
"""

import base64
from contextlib import suppress
from typing import Final

from starlette.types import Receive, Scope, Send

from daemon import sse
from daemon.api.endpoints import find, needs_open_collections
from daemon.api.fields import Fields
from daemon.api.permission import needs_owner
from daemon.api.read_json import read_object, read_object_if_any
from daemon.api.service import NO_STORE, Call, Reply, finished, ok
from daemon.core import shapes
from daemon.core.delivery import DeliveryError
from daemon.core.errors import MomoError, Refusal
from daemon.core.limits import ANSWER_KEPT_BYTES_MAX, HOUR_US
from daemon.core.model import Endpoint
from daemon.flows import endpoint_changes
from daemon.flows import endpoints as flow
from daemon.flows.endpoint_changes import Changes
from daemon.store import endpoints
from daemon.webhooks.answer import judge_status
from daemon.webhooks.live import LISTEN_SCHEME, Listener, Report
from daemon.wire import ErrorCode, EventKind, Mode

FORGOTTEN_US: Final = HOUR_US
"""A listener whose terminal was closed comes back within this time or not at all."""
DESCRIPTION: Final = "momo listen"
KEPT: Final = "momo listen --keep"
_EVENTS: Final = (EventKind.FORWARDED, EventKind.COMPLETED, EventKind.REVERSED)
_ERRORS: Final = {
    DeliveryError.CONNECTION_REFUSED: "the local receiver refused the connection",
    DeliveryError.CONNECTION_RESET: "the local receiver closed the connection without an answer",
    DeliveryError.TIMEOUT: "the local receiver did not answer in time",
    DeliveryError.PROTOCOL_ERROR: "the local receiver's answer is not proper HTTP",
}
"""What may have come of a POST on the receiver's machine, and what the log says of it."""


async def create(call: Call) -> Reply:
    """Make a sandbox endpoint for a listener, paused until it connects; those that were left behind go."""
    needs_owner(call.caller)
    needs_open_collections(call)
    fields = Fields(await read_object_if_any(call.scope, call.receive))
    description = KEPT if fields.boolean("keep", default=False) else DESCRIPTION
    fields.done()
    await _remove_forgotten(call)
    url = f"{LISTEN_SCHEME}{call.env.new_id()}"
    new = flow.NewEndpoint(
        url, description, Mode.TEST, _EVENTS, catch_all=True, include_raw=False, is_active=False
    )
    answer = await flow.create(call.env, call.caller, new, claim=None, warnings=[])
    return finished(answer, NO_STORE)


async def stream(call: Call) -> "Stream":
    """Connect a listener: what waits for it is sent now, and what comes as it comes."""
    needs_owner(call.caller)
    return Stream(call, await _listening(call))


async def settle(call: Call) -> Reply:
    """Take what the local receiver answered: `{attempt, status_code}`, or `{attempt, error}` where nothing came."""
    needs_owner(call.caller)
    endpoint = await _listening(call)
    fields = Fields(await read_object(call.scope, call.receive))
    attempt = fields.value("attempt", required=True)
    status = fields.value("status_code")
    error = fields.value("error")
    body = fields.value("response_body")
    if type(attempt) is not int:
        fields.fail("attempt", "wrong_type", "must be a whole number")
    if error is not None and error not in tuple(_ERRORS):
        fields.fail("error", "invalid", f"must be one of: {', '.join(_ERRORS)}")
    if error is None and (type(status) is not int or not 100 <= status <= 999):
        fields.fail("status_code", "invalid", "must be a status of HTTP")
    if body is not None and not isinstance(body, str):
        fields.fail("response_body", "wrong_type", "must be text")
    fields.done()
    text = (
        (body or "")
        .encode()[:ANSWER_KEPT_BYTES_MAX]
        .decode("utf-8", "ignore")
        .replace("\0", "\ufffd")
    )
    if error is not None:
        code = DeliveryError(error)
        report = Report(None, text, code, _ERRORS[code])
    else:
        report = Report(status, text, *judge_status(status))
    listener = call.env.live.at(endpoint.url)
    taken = listener is not None and listener.settle(attempt, report)
    return ok({"taken": taken})


async def _listening(call: Call) -> Endpoint:
    endpoint = await find(call)
    if not endpoint.url.startswith(LISTEN_SCHEME):
        raise Refusal(ErrorCode.ENDPOINT_NOT_FOUND)
    return endpoint


async def _remove_forgotten(call: Call) -> None:
    """Delete listeners that ended without a word. What was kept, or given a name by its owner, is none of them."""
    env = call.env
    before = env.clock.now_us() - FORGOTTEN_US
    for endpoint in await env.store.read(lambda reader: endpoints.in_use(reader, Mode.TEST)):
        forgotten = endpoint.url.startswith(LISTEN_SCHEME) and endpoint.description == DESCRIPTION
        if forgotten and endpoint.updated_at < before and env.live.at(endpoint.url) is None:
            with suppress(Refusal):  # another one was quicker
                await endpoint_changes.delete(env, call.caller, endpoint.id)


class Stream:
    """One connected listener, as an ASGI application."""

    def __init__(self, call: Call, endpoint: Endpoint) -> None:
        self._call = call
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 -- ASGI's signature
        """Send until the listener leaves, another one takes its place, or the daemon stops."""
        env, url = self._call.env, self._endpoint.url
        listener = env.live.connect(url)
        try:
            # Before the answer begins: whoever has it may rely on it.
            await self._switch(active=True)
            async with sse.opened(receive, send, self._call.service.stopping) as stream:
                await stream.send(b": open\n\n")
                while not stream.over and env.live.at(url) is listener:
                    listener.wake.clear()
                    chunk = b"".join(_event(listener))
                    if chunk:
                        await stream.send(chunk)
                    else:
                        await stream.wait(listener.wake)
        finally:
            if env.live.leave(url, listener):
                with suppress(MomoError):  # it was deleted, or the disk is full
                    await self._switch(active=False)

    async def _switch(self, *, active: bool) -> None:
        await endpoint_changes.update(
            self._call.env, self._call.caller, self._endpoint.id, Changes(is_active=active)
        )


def _event(listener: Listener) -> list[bytes]:
    found = []
    for posted in listener.take():
        data = {
            "attempt": posted.number,
            "headers": dict(posted.headers),
            "body": base64.b64encode(posted.body).decode(),
        }
        found.append(sse.event(b"%d" % posted.number, b"webhook", shapes.dump(data)))
    return found
