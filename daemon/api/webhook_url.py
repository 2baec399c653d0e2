"""May webhooks go to this address? Asked when one is saved (decisions.md section 7, the SSRF guard)."""

import asyncio
from typing import Final

from daemon.api.service import Service
from daemon.core.errors import Refusal
from daemon.webhooks.addresses import Reason, check_destination
from daemon.wire import ErrorCode

RESOLVE_S_MAX: Final = 5.0
"""decisions.md section 7."""


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
    message = f"That address may not receive webhooks: {explanation}."
    raise Refusal(ErrorCode.URL_NOT_ALLOWED, message, reason=reason)
