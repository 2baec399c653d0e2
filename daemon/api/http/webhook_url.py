"""Checks of webhook addresses when one is saved: the SSRF guard (decisions.md section 7)."""

import asyncio
from typing import Final

from daemon.api.http.service import Call, Service
from daemon.core.access.callers import CallerKind
from daemon.core.errors import Refusal
from daemon.sender.address_guard import EXPLANATIONS, Reason, check_destination
from daemon.sender.local_targets import LocalTargetError, check_local_target, parse_local_target
from daemon.wire import ErrorCode

RESOLVE_S_MAX: Final = 5.0
"""decisions.md section 7."""


async def check_endpoint(call: Call, url: str) -> None:
    """Reject an address that is not allowed for an endpoint. Unlike `check`, it allows local commands and folders.

    Only the owner may set a local command or folder, and only on the socket: a stolen key or session must not run programs.

    Raises:
        Refusal: URL_NOT_ALLOWED, with `reason`.
    """
    try:
        place = parse_local_target(url)
    except LocalTargetError as error:
        raise _refusal(Reason.MALFORMED, str(error)) from error
    if place is None:
        await check(call.service, url)
        return
    if call.caller.kind is not CallerKind.SOCKET or not call.caller.owner:
        raise _refusal(Reason.LOCAL_TARGET, EXPLANATIONS[Reason.LOCAL_TARGET])
    why = await asyncio.to_thread(check_local_target, place)
    if why:
        raise _refusal(Reason.UNTRUSTED_TARGET, why)


async def check(service: Service, url: str, *, offline_too: bool = False) -> None:
    """Reject an address that must not be called.

    Args:
        service: The API.
        url: The address from the caller.
        offline_too: Accept a host name that cannot be resolved now: a shop without internet still accepts transactions,
            and every attempt checks the address again.

    Raises:
        Refusal: URL_NOT_ALLOWED, with `reason`.
    """

    async def resolve(host: str, port: int) -> list[str]:
        async with asyncio.timeout(RESOLVE_S_MAX):
            return list(await service.resolver(host, port))

    reason, explanation = await check_destination(url, service.policy, resolve)
    if reason is None or (offline_too and reason is Reason.UNRESOLVABLE):
        return
    raise _refusal(reason, explanation)


def _refusal(reason: Reason, explanation: str) -> Refusal:
    message = f"That address may not receive webhooks: {explanation}."
    return Refusal(ErrorCode.URL_NOT_ALLOWED, message, reason=reason)
