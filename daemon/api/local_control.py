"""POST /local/v1/shutdown and /local/v1/setup. On the Unix socket only."""

from typing import Final

from starlette.types import Receive, Scope, Send

from daemon.api.fields import Fields
from daemon.api.read_json import read_object
from daemon.api.service import NO_STORE, Call, Reply, ok
from daemon.flows.setup import SetupRequest, set_up

_TEXT_CHARACTERS_MAX: Final = 2000


class Shutdown:
    """Answers, and only then begins to stop: an ASGI application."""

    def __init__(self, call: Call) -> None:
        self._call = call

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 -- ASGI's signature
        """Serve the call."""
        await Reply(200, ok({"status": "stopping"}).body, ((b"connection", b"close"),)).send(send)
        self._call.service.hooks.on_shutdown()


async def shutdown(call: Call) -> Shutdown:
    """Stop the daemon."""
    return Shutdown(call)


async def setup(call: Call) -> Reply:
    """Make what is missing of the shop; a second run changes nothing and shows no secret."""
    fields = Fields(await read_object(call.scope, call.receive))
    shop = fields.text("shop", most=_TEXT_CHARACTERS_MAX)
    timezone = fields.text("tz")
    owner_email = fields.text("owner_email")
    check = fields.boolean("check", default=False)
    password = fields.value("password")
    if password is not None and not isinstance(password, str):
        fields.fail("password", "wrong_type", "must be a string")
    fields.done()
    env = call.env
    request = SetupRequest(shop, timezone, password, owner_email, check)
    data = await set_up(env.store, env.clock, env.entropy, env.vault, request)
    return Reply(200, ok(data).body, (NO_STORE,))
