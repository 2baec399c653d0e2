"""A hub and its branches: what a branch sends its hub, and the commands of both on the Unix socket."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path as FilePath
from typing import Any, Final

from daemon.api.http.auth import needs_owner
from daemon.api.http.body import read_large, read_large_object, read_object, read_object_if_any
from daemon.api.http.fields import Fields, read_uuid
from daemon.api.http.service import NO_STORE, Call, Reply, ok
from daemon.core.branches.answer import AnswerError
from daemon.core.branches.facts import BYTES_MAX, METHODS_MAX, SyncRequest, decode
from daemon.core.branches.public_key import spki_of_pem
from daemon.core.errors import Refusal
from daemon.core.json_values import dump, timestamp_or_none
from daemon.env import Env
from daemon.flows.branches import hub
from daemon.flows.branches import join as join_flow
from daemon.flows.branches import sync as sync_flow
from daemon.flows.branches.sync import SyncAnswer
from daemon.sender.hub_client import (
    PIN_CHARACTERS,
    HubClient,
    HubRefusalError,
    HubUnreachableError,
    address_fault,
)
from daemon.store.branches import branches, link
from daemon.wire import ErrorCode, Path

REQUEST_BYTES_MAX: Final = 2 * BYTES_MAX
"""One fact may be larger than a batch should be."""
LIVE_FACTS: Final = 16
"""More facts come from a branch that is behind: one payment makes about three."""
HELD_S: Final = 25.0
"""How long a request that brings nothing is held open."""


async def receive_join(call: Call) -> Reply:
    """Join as a branch, with the word of an invitation (`momo hub invite`). The answer has the branch's key, once."""
    fields = Fields(await read_large_object(call.scope, call.receive, REQUEST_BYTES_MAX))
    word = fields.text("word", required=True, blank=False) or ""
    dry_run = fields.boolean("dry_run", default=False)
    fields.text("version")
    methods = fields.words("methods", None, most=METHODS_MAX) or ()
    fields.done()
    reply = ok(
        await hub.accept(
            call.env,
            word.strip(),
            dry_run=dry_run,
            methods=[*filter(None, map(read_uuid, methods))],
        )
    )
    return Reply(reply.status, reply.body, (NO_STORE,))


async def receive_sync(call: Call) -> Reply:
    """Store facts of the branch with this key, and answer with commands for it; without any, after up to 25 s."""
    request = decode(await read_large(call.scope, call.receive, REQUEST_BYTES_MAX))
    if request.facts:
        await call.env.yield_to_live()
    async with call.service.behind if len(request.facts) > LIVE_FACTS else contextlib.nullcontext():
        answer = await sync_flow.sync(call.env, call.caller.key_id, request)
    held = _is_empty(request, answer)
    if held:
        answer = await _hold(call, request, answer)
    want = None if answer.want is None else {"from_seq": answer.want}
    return ok(
        {
            "acked": answer.acked,
            "commands": list(answer.commands),
            "pause_ms": 0,
            "want": want,
            "left": answer.left,
            "held": held,
        }
    )


def _is_empty(request: SyncRequest, answer: SyncAnswer) -> bool:
    brought = request.facts or request.outcomes or request.upto != request.after
    return not (brought or answer.commands or answer.left or answer.want is not None)


async def _hold(call: Call, request: SyncRequest, answer: SyncAnswer) -> SyncAnswer:
    """Wait for commands for this branch, for the end of the service, until it hangs up or the time is over."""
    changed = asyncio.Event()
    unsubscribe = call.env.store.subscribe(branches.TOPIC, changed.set)
    # The body is read, so the next message says that the branch has gone.
    ends: list[asyncio.Future[Any]] = [
        asyncio.ensure_future(call.service.stopping.wait()),
        asyncio.ensure_future(call.receive()),
    ]
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(HELD_S):
                while not (answer.commands or any(end.done() for end in ends)):
                    answer = await sync_flow.look_for_commands(
                        call.env, call.caller.key_id, request, answer
                    )
                    if answer.commands:
                        break
                    waiting = asyncio.create_task(changed.wait())
                    try:
                        await asyncio.wait((waiting, *ends), return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        waiting.cancel()
                    changed.clear()
    finally:
        unsubscribe()
        for end in ends:
            end.cancel()
    return answer


async def receive_rows(call: Call) -> Reply:
    """Return rows that the branch with this key has sent, page by page, for its restore."""
    fields = Fields(await read_large_object(call.scope, call.receive, REQUEST_BYTES_MAX))
    kind = fields.text("kind", required=True, blank=False) or ""
    after = fields.integer("after", 0, 1 << 60) or 0
    limit = fields.integer("limit", 1, hub.ROWS_MAX) or hub.ROWS_MAX
    fields.done()
    return Reply(
        200,
        dump(
            {
                "success": True,
                "data": await hub.rows(call.env, call.caller.key_id, kind, after, limit),
            }
        ),
    )


async def receive_leave(call: Call) -> Reply:
    """Begin to leave. The branch goes on sending; an answer with `left: true` is the last one."""
    Fields(await read_large_object(call.scope, call.receive, REQUEST_BYTES_MAX)).done()
    return ok(await hub.begin_to_leave(call.env, call.caller.key_id))


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
