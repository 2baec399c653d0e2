"""The operators' commands for hubs and branches, on the Unix socket."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path as FilePath
from typing import Any, Final

from daemon.api.http.auth import needs_owner
from daemon.api.http.body import read_object, read_object_if_any
from daemon.api.http.fields import Fields
from daemon.api.http.service import NO_STORE, Call, Reply, ok
from daemon.core.branches.answer import AnswerError
from daemon.core.branches.public_key import spki_of_pem
from daemon.core.errors import Refusal
from daemon.core.json_values import timestamp_or_none
from daemon.env import Env
from daemon.flows.branches import hub
from daemon.flows.branches import join as join_flow
from daemon.sender.hub_client import (
    PIN_CHARACTERS,
    HubClient,
    HubRefusalError,
    HubUnreachableError,
    address_fault,
)
from daemon.store.branches import link
from daemon.wire import ErrorCode, Path

DECIDES: Final = ("all", "nothing")
_MEMBERS: Final = {
    "send_sms": ("number", "text"),
    "forget_payer": ("number",),
    "settings": ("key", "value"),
}
"""The members of a command's body, all texts."""
COMPARED: Final = ("recent", "all")
"""The last 31 days, or every day."""


async def hub_status(call: Call) -> Reply:
    """List the branches of this hub."""
    found = await hub.status(call.env)
    for one in found["branches"]:
        one["last_heard_at"] = timestamp_or_none(one["last_heard_at"])
    return ok(found["branches"])


async def make_hub(call: Call) -> Reply:
    """Make this shop a hub."""
    needs_owner(call.caller)
    Fields(await read_object_if_any(call.scope, call.receive)).done()
    return ok({**await hub.init(call.env, call.caller), "url": call.env.public_base_url})


async def end_hub(call: Call) -> Reply:
    """Make this hub an ordinary shop again, as long as no branch has joined."""
    needs_owner(call.caller)
    Fields(await read_object_if_any(call.scope, call.receive)).done()
    return ok(await hub.end(call.env, call.caller))


async def invite(call: Call) -> Reply:
    """Invite a branch; the answer has the word, once."""
    needs_owner(call.caller)
    fields = Fields(await read_object(call.scope, call.receive))
    name = (fields.text("name", required=True, blank=False) or "").strip()
    decides = fields.word("decides", DECIDES) or "all"
    if len(name) > 40:
        fields.fail("name", "invalid", "must have at most 40 characters")
    fields.done()
    pin = await asyncio.to_thread(_own_pin, call.env)
    made = await hub.invite(call.env, call.caller, name, decides, pin)
    reply = ok({**made, "url": call.env.public_base_url})
    return Reply(reply.status, reply.body, (NO_STORE,))


def _own_pin(env: Env) -> str:
    """Return the beginning of the hash of this hub's key; empty if a proxy has the certificate."""
    path = env.config.http.tls_cert
    if not path:
        return ""
    return spki_of_pem(FilePath(path).read_bytes())[:PIN_CHARACTERS]


async def release(call: Call) -> Reply:
    """Give a payment that was handed up back to its branch."""
    Fields(await read_object_if_any(call.scope, call.receive)).done()
    payment_id = call.uuid(ErrorCode.NO_MATCHING_TRANSACTION)
    return ok(await hub.give_back(call.env, call.caller, payment_id))


async def ask(call: Call) -> Reply:
    """Ask a branch for something: `send_sms`, `forget_payer` or `settings`."""
    needs_owner(call.caller)
    fields = Fields(await read_object(call.scope, call.receive))
    name = fields.text("branch", required=True, blank=False) or ""
    kind = fields.word("kind", hub.ASKED) or ""
    body, members = fields.inside("body"), _MEMBERS.get(kind, ())
    if body is None:
        fields.value("body", required=True)
    else:
        for member in members:
            body.text(member, required=True, blank=False)
        if "number" in members:
            body.phone("number")
        body.refuse_unknown(members)
    fields.done()
    given = {} if body is None else dict(body.body)
    return ok(await hub.ask(call.env, call.caller, name, kind, given))


async def branch_status(call: Call) -> Reply:
    """Return how far this branch has sent; with `compare`, also whether the hub's copies agree with its payments."""
    asked = call.query.word("compare", COMPARED)
    call.query.done()
    found = await join_flow.status(call.env)
    data = {**found, "heard_at": timestamp_or_none(found["heard_at"])}
    if asked is not None:
        data["compared"] = await _compare(call.env, recent=asked == COMPARED[0])
    return ok(data)


async def _compare(env: Env, *, recent: bool) -> dict[str, Any]:
    client = await _client(env)
    try:
        return await join_flow.compare(env, client, recent=recent)
    except (HubRefusalError, HubUnreachableError, AnswerError) as error:
        return {"agrees": None, "why": str(error)}
    finally:
        await client.aclose()


async def join(call: Call) -> Reply:
    """Join a hub; with `dry_run` only try the invitation."""
    needs_owner(call.caller)
    fields = Fields(await read_object(call.scope, call.receive))
    url = (fields.text("url", required=True, blank=False) or "").strip().rstrip("/")
    word = (fields.text("word", required=True, blank=False) or "").strip()
    dry_run = fields.boolean("dry_run", default=False)
    if url and (fault := address_fault(url)):
        fields.fail("url", "invalid", fault)
    fields.done()
    secret, _, pin = word.partition(".")
    env = call.env
    invitation = join_flow.Invitation(url, secret, pin)

    @contextlib.asynccontextmanager
    async def connect(key: str) -> AsyncIterator[HubClient]:
        client = HubClient(url, pin, key, env.config.hub.ca_file)
        try:
            yield client
        finally:
            await client.aclose()

    with _hub_errors():
        async with connect("") as guest:
            done = await join_flow.join(
                env, call.caller, invitation, guest, connect, dry_run=dry_run
            )
    return ok(done)


async def leave(call: Call) -> Reply:
    """Leave the hub once all is sent and the undecided payments are back; with `force` forget it at once."""
    needs_owner(call.caller)
    fields = Fields(await read_object_if_any(call.scope, call.receive))
    force = fields.boolean("force", default=False)
    fields.done()
    done = await join_flow.leave(call.env, call.caller, force=force)
    if not done["left"]:
        with _hub_errors():
            await _ask_hub(call.env, Path.BRANCH_LEAVE, {})
    return ok(done)


async def restore(call: Call) -> Reply:
    """Take this branch's rows back from the hub."""
    needs_owner(call.caller)
    Fields(await read_object_if_any(call.scope, call.receive)).done()
    client = await _client(call.env)
    with _hub_errors():
        try:
            return ok(await join_flow.restore(call.env, call.caller, client))
        finally:
            await client.aclose()


async def _ask_hub(env: Env, path: str, body: dict[str, Any]) -> dict[str, Any]:
    client = await _client(env)
    try:
        return await client.call(path, body)
    finally:
        await client.aclose()


async def _client(env: Env) -> HubClient:
    found = await env.store.read(link.get)
    if found is None:
        raise Refusal(ErrorCode.NOT_A_BRANCH)
    key = env.vault.unseal(found.key_sealed, link.KEY_PURPOSE).decode()
    return HubClient(found.url, found.spki, key, env.config.hub.ca_file)


@contextlib.contextmanager
def _hub_errors() -> Any:
    """Turn the hub's refusal, or a hub that does not answer, into an error of this shop's API."""
    try:
        yield
    except HubRefusalError as refusal:
        known = set(ErrorCode)
        code = ErrorCode(refusal.code) if refusal.code in known else ErrorCode.HUB_REFUSED
        raise Refusal(code, str(refusal)) from refusal
    except HubUnreachableError as error:
        why = f"The hub did not answer: {error}."
        raise Refusal(ErrorCode.HUB_REFUSED, why, answered=False) from error
    except AnswerError as error:
        why = str(error)
        why = f"{why[:1].upper()}{why[1:]}."
        raise Refusal(ErrorCode.HUB_REFUSED, why) from error
