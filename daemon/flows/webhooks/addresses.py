"""Check webhook addresses when one is saved: the SSRF guard."""

import asyncio
from typing import Final

from daemon.core.access.callers import Caller, CallerKind
from daemon.core.errors import Refusal
from daemon.core.text import Text
from daemon.env import Env
from daemon.sender.address_guard import (
    EXPLANATIONS,
    AddressPolicy,
    Resolver,
    UrlRefusal,
    check_destination,
)
from daemon.sender.local_targets import LocalTargetError, check_local_target, parse_local_target
from daemon.wire import ErrorCode

RESOLVE_S_MAX: Final = 5.0
"""A slow name server must not hold up the caller who saves an address."""


async def check_endpoint(env: Env, caller: Caller, url: str, resolver: Resolver) -> None:
    """Reject an address that is not allowed for an endpoint. Unlike `check`, it allows local commands and folders.

    Only the owner may set a local command or folder, and only on the socket: a stolen key or session must not run programs.

    Raises:
        Refusal: URL_NOT_ALLOWED, with `reason`.
    """
    try:
        place = parse_local_target(url)
    except LocalTargetError as error:
        raise _refusal(UrlRefusal.MALFORMED, str(error)) from error
    if place is None:
        await check(env, url, resolver)
        return
    if caller.kind is not CallerKind.SOCKET or not caller.owner:
        raise _refusal(UrlRefusal.LOCAL_TARGET, EXPLANATIONS[UrlRefusal.LOCAL_TARGET])
    why = await asyncio.to_thread(check_local_target, place)
    if why:
        raise _refusal(UrlRefusal.UNTRUSTED_TARGET, why)


async def check(env: Env, url: str, resolver: Resolver, *, offline_too: bool = False) -> None:
    """Reject an address that must not be called.

    Args:
        env: Its settings name the private hosts and networks that may be called.
        url: The address from the caller.
        resolver: Finds the addresses of a host name.
        offline_too: Accept a host name that cannot be resolved now: a shop without internet still accepts transactions,
            and every attempt checks the address again.

    Raises:
        Refusal: URL_NOT_ALLOWED, with `reason`.
    """
    settings = env.config.webhooks
    policy = AddressPolicy.from_settings(settings.allow_private_hosts, settings.allow_private_cidrs)

    async def resolve(host: str, port: int) -> list[str]:
        async with asyncio.timeout(RESOLVE_S_MAX):
            return list(await resolver(host, port))

    reason, explanation = await check_destination(url, policy, resolve)
    if reason is None or (offline_too and reason is UrlRefusal.UNRESOLVABLE):
        return
    raise _refusal(reason, explanation)


def _refusal(reason: UrlRefusal, explanation: Text | str) -> Refusal:
    message = Text("url.refused", why=explanation)
    return Refusal(ErrorCode.URL_NOT_ALLOWED, message, reason=reason)
