"""Posts of apps on phones, on TCP; their secrets and state on the Unix socket.

A post needs no API key: its signature is checked before its messages are read. A wrong one is 401 and counted; after 20 from
one address it is 429. A phone with the right key is never held up by them, because the signature is checked first.
"""

from typing import Annotated, Any, Final

from msgspec import Struct

from daemon.api.http.auth import needs_owner
from daemon.api.http.body import read_pieces
from daemon.api.http.service import NO_STORE, Call, Reply, client_address, ok
from daemon.api.openapi.describe import answer, described
from daemon.core.errors import Refusal, Unavailable
from daemon.core.json_values import success, timestamp_or_none
from daemon.core.limits import BODY_BYTES_MAX as SMALL_BYTES_MAX
from daemon.core.messages.post import (
    BODY_BYTES_MAX,
    POST_BYTES_MAX,
    WHY,
    Arrived,
    PostFault,
    PostVerdict,
    Scheme,
    mac_of,
)
from daemon.core.shape import marked, sample
from daemon.env import Env
from daemon.flows.lines.sources import forget as forget_source
from daemon.flows.lines.sources import new_key
from daemon.runtime.config import SourceSettings
from daemon.runtime.own_certificate import machine_names
from daemon.store.lines import sources
from daemon.wire import ErrorCode, FaultCause, Path, SourceKind

POST_EXAMPLE: Final = {"sender": "MobileMoney", "text": "Payment received", "time": "2026-11-21T06:31:00Z"}
_ANY: Final = marked(read="any")
_ALL_ADDRESSES: Final = ("0.0.0.0", "[::]")  # noqa: S104 -- compared, not bound
_HINT: Final = "Enter the signing key of this source in the app; `momo phones rotate-key NAME` makes a new one."


class PostedSms(Struct, frozen=True):
    """The body of a post, for the description; `core.messages.post.read_post` reads it."""

    sender: Annotated[Any, sample("MobileMoney", "the preset has the names and places of the members"), _ANY] = None
    text: Annotated[Any, sample("Payment received", "the same"), _ANY] = None
    time: Annotated[Any, sample("2026-11-21T06:31:00Z", "the same"), _ANY] = None


class PostAnswer(Struct, frozen=True):
    """What became of a post."""

    result: Annotated[PostVerdict, sample("stored"), marked(words=("stored", "heard", "ignored"))]
    missing: Annotated[str, sample("", "a member that the source's preset needs, and that the post lacks")]


@described(
    "Post an SMS of a phone",
    answer(PostAnswer),
    reads=PostedSms,
    errors="UNAUTHORIZED RATE_LIMITED UNAVAILABLE",
    example=POST_EXAMPLE,
)
async def post_sms(call: Call) -> Reply:
    """Take a post of an app that forwards SMS: JSON or a form, signed in the way of the source's preset.

    No API key is needed. 200 only when its messages are durable: the app repeats every other post. So a signed post of
    an unknown form, or one that is too large, is kept as it came, counted and told.
    """
    name, _, secret = call.path("name").partition(".")
    source = call.service.hooks.posted(name)
    key = None if source is None else await source.key()
    mac = mac_of(key or b"")
    begin, size = bytearray(), 0
    try:
        most = SMALL_BYTES_MAX if key is None else POST_BYTES_MAX
        async for piece in read_pieces(call.scope, call.receive, most):
            mac.update(piece)
            begin += piece[: BODY_BYTES_MAX - len(begin)]
            size += len(piece)
    except Refusal as refusal:
        if source is not None:
            source.note_refused(str(refusal))
        raise
    # An unknown name is answered like a wrong signature, so that nobody can list the names.
    if source is None or key is None:
        raise _refusal(call, PostFault.FORGED)
    headers = {name.decode("latin-1"): value.decode("latin-1").strip() for name, value in call.scope["headers"]}
    if (fault := source.check(key, Arrived(headers, secret, mac, bytes(begin)))) is not None:
        raise _refusal(call, fault)
    verdict, missing = await source.receive(bytes(begin), whole=size == len(begin))
    if verdict is PostVerdict.NOT_NOW:
        raise Unavailable("the message cannot be stored now", cause=FaultCause.STARTING)
    return ok(PostAnswer(verdict, missing))


def _refusal(call: Call, fault: PostFault) -> Refusal:
    taken = call.service.refused_posts.take(client_address(call), call.env.clock.now_us())
    if taken is not None and not taken.allowed:
        wait_s = taken.retry_after_s
        return Refusal(ErrorCode.RATE_LIMITED, headers={"Retry-After": str(wait_s)}, retry_after=wait_s)
    return Refusal(ErrorCode.UNAUTHORIZED, WHY[fault], hint=_HINT)


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
    posts = settings.kind == SourceKind.POST
    running = call.service.hooks.posted(settings.name)
    bad = next((each for each in phones if each.state != "ready"), None)
    shown = bad or (phones[0] if phones else None)
    return {
        "name": settings.name, "kind": settings.kind, "enabled": settings.enabled, "trust_level": settings.level,
        "may_pay": settings.may_pay if posts else None,
        "state": ("off" if not settings.enabled else "starting") if shown is None else shown.state,
        "detail": "" if shown is None else shown.detail, "next": "" if shown is None else shown.next_step,
        "url": _post_url(call.env, settings) if posts else settings.url if settings.kind == SourceKind.HILINK else "",
        "heard_at": timestamp_or_none(None if row is None else row.heard_at),
        "refused": 0 if row is None else row.refused,
        "refused_at": timestamp_or_none(None if row is None else row.refused_at),
        "preset": settings.preset if posts else None, "last_post": None if running is None else running.last,
    }  # fmt: skip


async def rotate_key(call: Call) -> Reply:
    """Make a new signing key; it is shown only now, and replaces the one of before at once."""
    needs_owner(call.caller)
    name = call.path("name")
    key = await new_key(call.env, call.caller, name)
    settings = next(each for each in call.env.config.sources if each.name == name)
    data = {
        "name": name, "key": key, "url": _post_url(call.env, settings, key), "preset": settings.preset,
        "phone_url": settings.phone_url, "user": settings.user, "ping_s": settings.ping_s,
    }  # fmt: skip
    return Reply(200, success(data), (NO_STORE,))


def _post_url(env: Env, source: SourceSettings, key: str = "KEY") -> str:
    """Return the address that the app posts to, with an address of this machine if all of them are listened on."""
    base, host = env.public_base_url, env.address.rpartition(":")[0]
    if not env.config.http.public_base_url and host in _ALL_ADDRESSES:
        own = machine_names().addresses
        base = base.replace(host, own[0] if own else "localhost", 1)
    name = f"{source.name}.{key}" if source.app.signed is Scheme.PATH else source.name
    return f"{base}{Path.SOURCE_POST.format(name=name)}"


async def forget(call: Call) -> Reply:
    """Delete the secrets and counts of a source; its posts are refused from now on."""
    needs_owner(call.caller)
    name = call.path("name")
    return ok({"name": name, "forgotten": await forget_source(call.env, call.caller, name)})
