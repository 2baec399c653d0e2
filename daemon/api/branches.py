"""A hub and its branches: what a branch sends its hub, and the commands of both on the Unix socket."""

import asyncio
import contextlib
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path as FilePath
from typing import Annotated, Any, Final, Literal, TypeVar

from msgspec import Meta, Struct

from daemon.api.http.auth import needs_owner
from daemon.api.http.body import read_large, read_large_object, read_object_if_any
from daemon.api.http.service import NO_STORE, Call, Reply, ok
from daemon.core.branches.answer import AnswerError
from daemon.core.branches.facts import BYTES_MAX, METHODS_MAX, SyncRequest, decode
from daemon.core.branches.public_key import spki_of_pem
from daemon.core.errors import Refusal, needed
from daemon.core.json_values import timestamp_or_none
from daemon.core.reading import Wrong, read, read_uuid
from daemon.core.shape import marked
from daemon.env import Env
from daemon.flows.branches import hub
from daemon.flows.branches import join as join_flow
from daemon.flows.branches import sync as sync_flow
from daemon.flows.branches.sync import SyncAnswer
from daemon.sender.hub_client import PIN_CHARACTERS, HubClient, HubRefusalError, HubUnreachableError, address_fault
from daemon.store.branches import branches, feed
from daemon.wire import ErrorCode, Path, ShopRole

T = TypeVar("T", bound=Struct)
REQUEST_BYTES_MAX: Final = 2 * BYTES_MAX
"""One fact may be larger than a batch should be."""
LIVE_FACTS: Final = 16
"""More facts come from a branch that is behind: one payment makes about three."""
HELD_S: Final = 25.0
"""How long a request that brings nothing is held open."""


class Join(Struct, frozen=True):
    """The word of an invitation, and the numbers of the branch."""

    word: Annotated[str, Meta(min_length=1)]
    dry_run: bool = False
    version: str | None = None
    methods: Annotated[list[str], Meta(max_length=METHODS_MAX)] | None = None


async def _large(call: Call, shape: type[T]) -> T:
    return read(shape, await read_large_object(call.scope, call.receive, REQUEST_BYTES_MAX))[0]


async def receive_join(call: Call) -> Reply:
    """Join as a branch, with the word of an invitation (`momo hub invite`). The answer has the branch's key, once."""
    asked = await _large(call, Join)
    methods = [*filter(None, map(read_uuid, asked.methods or ()))]
    reply = ok(await hub.accept(call.env, asked.word, dry_run=asked.dry_run, methods=methods))
    return Reply(reply.status, reply.body, (NO_STORE,))


async def receive_sync(call: Call) -> Reply:
    """Store facts of the branch with this key, and answer with commands for it; without any, after up to 25 s."""
    octets = await read_large(call.scope, call.receive, REQUEST_BYTES_MAX)
    request, sha256 = decode(octets), hashlib.sha256(octets).hexdigest()
    if request.facts:
        await call.env.yield_to_live()
    async with call.service.behind if len(request.facts) > LIVE_FACTS else contextlib.nullcontext():
        answer = await sync_flow.sync(call.env, call.caller.key_id, request, sha256)
    brought = request.facts or request.outcomes or request.upto != request.after
    held = not (brought or answer.commands or answer.left or answer.want is not None)
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
                    answer = await sync_flow.look_for_commands(call.env, call.caller.key_id, request, answer)
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


class RowsBody(Struct, frozen=True):
    """Which rows of a kind a branch asks for."""

    kind: Annotated[str, Meta(min_length=1)]
    after: Annotated[int, Meta(ge=0, le=1 << 60)] = 0
    limit: Annotated[int, Meta(ge=1, le=hub.ROWS_MAX)] = hub.ROWS_MAX


async def receive_rows(call: Call) -> Reply:
    """Return rows that the branch with this key has sent, page by page, for its restore."""
    asked = await _large(call, RowsBody)
    return ok(await hub.rows(call.env, call.caller.key_id, asked.kind, asked.after, asked.limit))


async def receive_leave(call: Call) -> Reply:
    """Begin to leave. The branch goes on sending; an answer with `left: true` is the last one."""
    await read_large_object(call.scope, call.receive, REQUEST_BYTES_MAX)
    return ok(await hub.begin_to_leave(call.env, call.caller.key_id))


_Line = Annotated[str, Meta(min_length=1)]


class SmsOfHub(Struct, frozen=True, forbid_unknown_fields=True):
    """An SMS that a branch is to send."""

    number: Annotated[str, marked(read="phone")]
    text: _Line


class PayerOfHub(Struct, frozen=True, forbid_unknown_fields=True):
    """The payer whom a branch is to forget."""

    number: Annotated[str, marked(read="phone")]


class SettingOfHub(Struct, frozen=True, forbid_unknown_fields=True):
    """A setting that a branch is to take."""

    key: _Line
    value: _Line


_BODIES: Final[dict[str, type[Struct]]] = {"send_sms": SmsOfHub, "forget_payer": PayerOfHub, "settings": SettingOfHub}
"""The body of each command."""


async def hub_status(call: Call) -> Reply:
    """List the branches of this hub."""
    found = await hub.status(call.env)
    for one in found["branches"]:
        one["last_heard_at"] = timestamp_or_none(one["last_heard_at"])
        if one["brings"] is not None:
            one["brings"]["at"] = timestamp_or_none(one["brings"]["at"])
    return ok(found["branches"])


async def make_hub(call: Call) -> Reply:
    """Make this shop a hub."""
    needs_owner(call.caller)
    await read_object_if_any(call.scope, call.receive)
    return ok({**await hub.init(call.env, call.caller), "url": call.env.public_base_url})


async def end_hub(call: Call) -> Reply:
    """Make this hub an ordinary shop again, as long as no branch has joined."""
    needs_owner(call.caller)
    await read_object_if_any(call.scope, call.receive)
    return ok(await hub.end(call.env, call.caller))


def _branch_name(text: str) -> str | Wrong:
    return text if len(text) <= 40 else Wrong("invalid", "must have at most 40 characters")


class Invitation(Struct, frozen=True):
    """The name of a new branch, and what its hub decides for it."""

    name: Annotated[str, Meta(min_length=1), marked(then=_branch_name)]
    decides: Literal["all", "nothing"] = "all"
    valid_s: Annotated[int, Meta(ge=60, le=hub.INVITED_S_MAX)] = hub.INVITED_S
    distrust_since: Annotated[int, marked(read="time")] | None = None


async def invite(call: Call) -> Reply:
    """Invite a branch; the answer has the word, once. With `distrust_since` its key ends, and what came since does not count."""
    needs_owner(call.caller)
    asked = await call.body(Invitation)
    pin = await asyncio.to_thread(_own_pin, call.env)
    told = dict[str, Any]()
    if asked.distrust_since is not None:
        told = await hub.distrust(call.env, call.caller, asked.name, asked.distrust_since)
    made = await hub.invite(call.env, call.caller, asked.name, asked.decides, pin, valid_s=asked.valid_s)
    reply = ok({**made, **told, "url": call.env.public_base_url})
    return Reply(reply.status, reply.body, (NO_STORE,))


class Distrust(Struct, frozen=True):
    """A branch whose key was stolen, and since when; by default only its key ends."""

    branch: _Line
    since: Annotated[int, marked(read="time")] | None = None


async def distrust(call: Call) -> Reply:
    """End the key of a branch, and let what came since a time count for nothing."""
    needs_owner(call.caller)
    asked, env = await call.body(Distrust), call.env
    since = env.clock.now_us() if asked.since is None else asked.since
    return ok({"branch": asked.branch, **await hub.distrust(env, call.caller, asked.branch, since)})


class Accept(Struct, frozen=True):
    """A payment's id, or a branch's name."""

    what: _Line


async def accept(call: Call) -> Reply:
    """Let this one count of several payments with one network ID; or store the rows of a branch that were kept aside."""
    needs_owner(call.caller)
    asked = await call.body(Accept)
    payment_id = read_uuid(asked.what)
    if payment_id is not None:
        return ok(await hub.choose(call.env, call.caller, payment_id))
    return ok(await sync_flow.take_aside(call.env, call.caller, asked.what))


def _own_pin(env: Env) -> str:
    """Return the beginning of the hash of this hub's key; empty if a proxy has the certificate."""
    path = env.config.http.tls_cert
    if not path:
        return ""
    return spki_of_pem(FilePath(path).read_bytes())[:PIN_CHARACTERS]


async def release(call: Call) -> Reply:
    """Give a payment that was handed up back to its branch."""
    await read_object_if_any(call.scope, call.receive)
    payment_id = call.uuid(ErrorCode.NO_MATCHING_TRANSACTION)
    return ok(await hub.give_back(call.env, call.caller, payment_id))


class Command(Struct, frozen=True):
    """What a branch is asked for."""

    branch: _Line
    kind: Annotated[str, marked(words=hub.ASKED)]
    body: dict[str, Any]

    @staticmethod
    def check(given: Mapping[str, Any], _body: object, fail: Callable[[str, str, str], Any]) -> None:
        """Read the body of this kind of command."""
        if "kind" in given and "body" in given:
            try:
                read(_BODIES[given["kind"]], given["body"])
            except Refusal as refusal:
                for each in refusal.extras["details"]:
                    fail(f"body.{each['field']}", each["code"], each["message"])


async def ask(call: Call) -> Reply:
    """Ask a branch for something: `send_sms`, `forget_payer` or `settings`."""
    needs_owner(call.caller)
    asked = await call.body(Command)
    return ok(await hub.ask(call.env, call.caller, asked.branch, asked.kind, asked.body))


class BranchQuery(Struct, frozen=True):
    """Whether the payments of the last 31 days are compared with the hub's copies, or those of every day."""

    compare: Literal["recent", "all"] | None = None


async def branch_status(call: Call) -> Reply:
    """Return how far this branch has sent; with `compare`, also whether the hub's copies agree with its payments."""
    asked = call.query.read(BranchQuery).compare
    found = await join_flow.status(call.env)
    data = {**found, "heard_at": timestamp_or_none(found["heard_at"])}
    if asked is not None:
        data["compared"] = await _compare(call.env, recent=asked == "recent")
    return ok(data)


async def _compare(env: Env, *, recent: bool) -> dict[str, Any]:
    try:
        async with contextlib.aclosing(await _client(env)) as client:
            return await join_flow.compare(env, client, recent=recent)
    except (HubRefusalError, HubUnreachableError, AnswerError) as error:
        return {"agrees": None, "why": str(error)}


async def other_uses(env: Env) -> list[str] | str | None:
    """Return the payments that paid another order here than at the hub, or why that is not known; None for a shop without a hub."""
    if env.place.role is not ShopRole.BRANCH:
        return None
    try:
        async with contextlib.aclosing(await _client(env)) as client:
            return await join_flow.other_uses(env, client)
    except (HubRefusalError, HubUnreachableError, AnswerError) as error:
        return str(error)


def _hub_address(text: str) -> str | Wrong:
    url = text.rstrip("/")
    fault = address_fault(url)
    return Wrong("invalid", fault) if fault else url


class JoinBody(Struct, frozen=True):
    """The address of a hub, and the word of its invitation."""

    url: Annotated[str, Meta(min_length=1), marked(then=_hub_address)]
    word: _Line
    dry_run: bool = False


async def join(call: Call) -> Reply:
    """Join a hub; with `dry_run` only try the invitation."""
    needs_owner(call.caller)
    asked, env = await call.body(JoinBody), call.env
    url, (secret, _, pin) = asked.url, asked.word.partition(".")
    invitation = join_flow.Invitation(url, secret, pin)

    def connect(key: str) -> contextlib.AbstractAsyncContextManager[HubClient]:
        return contextlib.aclosing(HubClient(url, pin, key, env.config.hub.ca_file))

    with _hub_errors():
        async with connect("") as guest:
            done = await join_flow.join(env, call.caller, invitation, guest, connect, dry_run=asked.dry_run)
    return ok(done)


class LeaveBody(Struct, frozen=True):
    """Whether the hub is forgotten at once."""

    force: bool = False


async def leave(call: Call) -> Reply:
    """Leave the hub once all is sent and the undecided payments are back; with `force` forget it at once."""
    needs_owner(call.caller)
    asked = await call.body(LeaveBody, optional=True)
    done = await join_flow.leave(call.env, call.caller, force=asked.force)
    if not done["left"]:
        with _hub_errors():
            async with contextlib.aclosing(await _client(call.env)) as client:
                await client.call(Path.BRANCH_LEAVE, {})
    return ok(done)


class RestoreBody(Struct, frozen=True):
    """Whether payments come back that only the hub has; with `dry_run` they are only counted."""

    take_unknown: bool = False
    dry_run: bool = False


async def restore(call: Call) -> Reply:
    """Take this branch's rows back from the hub; with `dry_run` only return the sums of the payments that no SMS here is of."""
    needs_owner(call.caller)
    asked = await call.body(RestoreBody, optional=True)
    client = await _client(call.env)
    with _hub_errors():
        async with contextlib.aclosing(client):
            if asked.dry_run:
                return ok(await join_flow.unknown(call.env, client))
            done = await join_flow.restore(call.env, call.caller, client, take_unknown=asked.take_unknown)
    return ok(done)


async def _client(env: Env) -> HubClient:
    found = needed(await env.store.read(feed.get_link), ErrorCode.NOT_A_BRANCH)
    key = env.vault.unseal(found.key_sealed, feed.KEY_PURPOSE).decode()
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
        raise Refusal(ErrorCode.HUB_REFUSED, f"{why[:1].upper()}{why[1:]}.") from error
