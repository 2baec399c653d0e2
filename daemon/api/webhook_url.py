"""May webhooks go to this address? Asked when one is saved (decisions.md section 7, the SSRF guard)."""

import asyncio
from typing import Final

from daemon.api.service import Call, Service
from daemon.core.access import CallerKind
from daemon.core.errors import Refusal
from daemon.webhooks.addresses import EXPLANATIONS, Reason, check_destination
from daemon.webhooks.local_places import PlaceError, check_place, read_place
from daemon.wire import ErrorCode

RESOLVE_S_MAX: Final = 5.0
"""decisions.md section 7."""


async def check_endpoint(call: Call, url: str) -> None:
    """Refuse an address that may not be an endpoint's: as `check`, and a command or folder of this machine may be.

    Only its owner may name one, and only on the socket: a stolen key or session must not run programs.

    Raises:
        Refusal: URL_NOT_ALLOWED, with `reason`.
    """
    try:
        place = read_place(url)
    except PlaceError as error:
        raise _refusal(Reason.MALFORMED, str(error)) from error
    if place is None:
        await check(call.service, url)
        return
    if call.caller.kind is not CallerKind.SOCKET or not call.caller.owner:
        raise _refusal(Reason.LOCAL_TARGET, EXPLANATIONS[Reason.LOCAL_TARGET])
    why = await asyncio.to_thread(check_place, place)
    if why:
        raise _refusal(Reason.UNTRUSTED_TARGET, why)


async def check(service: Service, url: str, *, offline_too: bool = False) -> None:
    """Refuse an address that may not be called.

    Args:
        service: The API.
        url: What the caller gave.
        offline_too: Let a name pass that cannot be looked up now: a shop without internet still takes orders, and
            every attempt checks the address again.

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
