"""Posts of Android phones on TCP; their secrets and state on the Unix socket.

A post needs no API key: its signature is checked before its body is read. A wrong signature is 401 and counted; after 20 from
one address it is 429. A phone with the right key is never held up by them, because the signature is checked first.
"""

from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from daemon.api.http.auth import needs_owner
from daemon.api.http.body import header, read_pieces
from daemon.api.http.service import NO_STORE, Call, Reply, client_address, ok
from daemon.api.openapi.describe import answer, described
from daemon.core.errors import Refusal, Unavailable
from daemon.core.json_values import success, timestamp_or_none
from daemon.core.limits import BODY_BYTES_MAX as SMALL_BYTES_MAX
from daemon.core.messages.android import (
    BODY_BYTES_MAX,
    POST_BYTES_MAX,
    SIGNATURE_HEADER,
    TIMESTAMP_HEADER,
    PostFault,
    PostVerdict,
)
from daemon.core.shape import marked, sample
from daemon.env import Env
from daemon.flows.lines.sources import forget as forget_source
from daemon.flows.lines.sources import new_key
from daemon.runtime.config import SourceSettings
from daemon.runtime.own_certificate import machine_names
from daemon.store.lines import sources
from daemon.wire import ErrorCode, FaultCause, Path, SourceKind

POST_EXAMPLE: Final = {
    "event": "sms:received",
    "payload": {
        "message": "Payment received for GHS 25.00 from AMA MENSAH",
        "sender": "MobileMoney",
        "simNumber": 1,
        "receivedAt": "2026-11-21T06:31:00.000+00:00",
    },
}
_ANY: Final = marked(read="any")
_ALL_ADDRESSES: Final = ("0.0.0.0", "[::]")  # noqa: S104 -- compared, not bound
_SIGNATURE: Final = SIGNATURE_HEADER.lower().encode()
_TIMESTAMP: Final = TIMESTAMP_HEADER.lower().encode()
_WHY: Final = {
    PostFault.UNSIGNED: "The post is not signed: it needs X-Signature and X-Timestamp.",
    PostFault.FORGED: "The signature does not fit the body and the key of this source.",
    PostFault.STALE: "The timestamp is more than 10 minutes away from the shop's clock.",
}
_HINT: Final = "Enter the signing key of this source in the app; `momo phones rotate-key NAME` makes a new one."


class AndroidPost(Struct, frozen=True, rename="camel"):
    """The body of a post, for the description; `core.messages.android.read_post` reads it."""

    event: Annotated[
        str,
        sample("sms:received", "`sms:received`, `sms:batch:received` or `system:ping`; others are ignored"),
        Meta(min_length=1),
    ]
    payload: Annotated[Any, sample({}, "the message; the app's documentation describes it"), _ANY] = None
    device_id: Annotated[Any, sample("ffffffffceb0b1db", "ignored"), _ANY] = None
    id: Annotated[Any, sample("Ey6ECgOkVVFjz3CL48B8C", "ignored: it identifies no message"), _ANY] = None
    webhook_id: Annotated[Any, sample("LreFUt-Z3sSq0JufY9uWB", "ignored"), _ANY] = None


class PostAnswer(Struct, frozen=True):
    """What became of a post."""

    result: Annotated[PostVerdict, sample("stored"), marked(words=("stored", "heard", "ignored"))]


@described(
    "Post an Android message",
    answer(PostAnswer),
    reads=AndroidPost,
    errors="UNAUTHORIZED RATE_LIMITED UNAVAILABLE",
    example=POST_EXAMPLE,
)
async def post_android(call: Call) -> Reply:
    """Take a post of the app SMS Gateway for Android, signed in `X-Signature` and `X-Timestamp`.

    No API key is needed. 200 only when its messages are durable: the app repeats every other post. So a signed post of
    an unknown form, or one that is too large, is kept as it came, counted and told.
    """
    source = call.service.hooks.posted(call.path("name"))
    mac = None if source is None else await source.mac()
    begin, size = bytearray(), 0
    try:
        most = SMALL_BYTES_MAX if mac is None else POST_BYTES_MAX
        async for piece in read_pieces(call.scope, call.receive, most):
            if mac is not None:
                mac.update(piece)
                begin += piece[: BODY_BYTES_MAX - len(begin)]
                size += len(piece)
    except Refusal:
        if source is not None:
            source.note_refused()
        raise
    # An unknown name is answered like a wrong signature, so that nobody can list the names.
    if source is None or mac is None:
        raise _refusal(call, PostFault.FORGED)
    stamp, signature = header(call.scope, _TIMESTAMP), header(call.scope, _SIGNATURE)
    if (fault := source.check(mac, stamp, signature)) is not None:
        raise _refusal(call, fault)
    verdict = await source.receive(bytes(begin), whole=size == len(begin))
    if verdict is PostVerdict.TOO_MANY:
        raise _limited(60)
    if verdict is PostVerdict.NOT_NOW:
        raise Unavailable("the message cannot be stored now", cause=FaultCause.STARTING)
    return ok(PostAnswer(verdict))


def _refusal(call: Call, fault: PostFault) -> Refusal:
    taken = call.service.refused_posts.take(client_address(call), call.env.clock.now_us())
    if taken is not None and not taken.allowed:
        return _limited(taken.retry_after_s)
    return Refusal(ErrorCode.UNAUTHORIZED, _WHY[fault], hint=_HINT)


def _limited(wait_s: int) -> Refusal:
    return Refusal(ErrorCode.RATE_LIMITED, headers={"Retry-After": str(wait_s)}, retry_after=wait_s)


async def get_list(call: Call) -> Reply:
    """List the sources of the settings, with their state."""
    known = {row.name: row for row in await call.env.store.read(sources.all_sources)}
    states = call.service.hooks.phone_states()
    found = []
    for settings in call.env.config.sources:
        phones = [each for each in states if each.source == settings.name]
        found.append(_as_json(call, settings, known.get(settings.name), phones))
    return ok(found)


def _as_json(call: Call, settings: SourceSettings, row: sources.SourceRow | None, phones: list[Any]) -> dict[str, Any]:
    is_android = settings.kind == SourceKind.ANDROID
    bad = next((each for each in phones if each.state != "ready"), None)
    shown = bad or (phones[0] if phones else None)
    return {
        "name": settings.name,
        "kind": settings.kind,
        "enabled": settings.enabled,
        "trust_level": settings.level,
        "may_pay": settings.may_pay if is_android else None,
        "state": ("off" if not settings.enabled else "starting") if shown is None else shown.state,
        "detail": "" if shown is None else shown.detail,
        "next": "" if shown is None else shown.next_step,
        "url": _post_url(call.env, settings.name) if is_android else settings.url,
        "heard_at": timestamp_or_none(None if row is None else row.heard_at),
        "refused": 0 if row is None else row.refused,
        "refused_at": timestamp_or_none(None if row is None else row.refused_at),
    }


async def rotate_key(call: Call) -> Reply:
    """Make a new signing key; it is shown only now, and replaces the one of before at once."""
    needs_owner(call.caller)
    name = call.path("name")
    key = await new_key(call.env, call.caller, name)
    settings = next(each for each in call.env.config.sources if each.name == name)
    data = {
        "name": name,
        "key": key,
        "url": _post_url(call.env, name),
        "phone_url": settings.phone_url,
        "user": settings.user,
        "ping_s": settings.ping_s,
    }
    return Reply(200, success(data), (NO_STORE,))


def _post_url(env: Env, name: str) -> str:
    """Return the address that the app posts to, with an address of this machine if all of them are listened on."""
    base, host = env.public_base_url, env.address.rpartition(":")[0]
    if not env.config.http.public_base_url and host in _ALL_ADDRESSES:
        own = machine_names().addresses
        base = base.replace(host, own[0] if own else "localhost", 1)
    return f"{base}{Path.ANDROID_POST.format(name=name)}"


async def forget(call: Call) -> Reply:
    """Delete the secrets and counts of a source; its posts are refused from now on."""
    needs_owner(call.caller)
    name = call.path("name")
    return ok({"name": name, "forgotten": await forget_source(call.env, call.caller, name)})
