"""Show and rotate the signing secret of an endpoint. The own password is asked first; the page leaves after 30 seconds."""

from daemon.core.errors import FieldError, Refusal
from daemon.dash.pages.webhooks.common import endpoint_of, name_of
from daemon.dash.parts.confirming import confirmed
from daemon.dash.web.answers import Outcome, Shown
from daemon.dash.web.visit import Visit
from daemon.flows.webhooks import secrets
from daemon.flows.webhooks.secrets import RevealedSecret
from daemon.wire import ErrorCode


async def show(visit: Visit) -> Shown:
    """Show the two forms; no secret."""
    return await _forms(visit, 200)


async def reveal(visit: Visit) -> Outcome:
    """Show the present secret, once."""
    endpoint = await endpoint_of(visit)
    if not await confirmed(visit):
        return await _forms(visit, 422)
    return _shown(visit, await secrets.reveal(visit.env, visit.caller, endpoint.id), "secret_old")


async def rotate(visit: Visit) -> Outcome:
    """Make a new secret and show it, once."""
    endpoint = await endpoint_of(visit)
    if not await confirmed(visit):
        return await _forms(visit, 422)
    leaked = bool(visit.form.get("leaked"))
    try:
        shown = await secrets.rotate(visit.env, visit.caller, endpoint.id, expire_previous=leaked)
    except Refusal as refusal:
        if refusal.code is not ErrorCode.ROTATION_LIMIT:
            raise
        visit.fail(FieldError("", "limit", visit.words("secret_limit")))
        return await _forms(visit, 422)
    return _shown(visit, shown, "secret_rotated")


def _shown(visit: Visit, found: RevealedSecret, why: str) -> Shown:
    values = {
        "id": visit.places["id"],
        "secret": found.secret,
        "until": found.previous_expires_at,
        "why": why,
        "command": f"momo endpoints reveal {visit.places['id']}",
    }
    return Shown("webhooks/secret.html", values, visit.words("secret"))


async def _forms(visit: Visit, status: int) -> Shown:
    endpoint = await endpoint_of(visit)
    values = {
        "one": endpoint,
        "name": name_of(endpoint),
        "command": f"momo endpoints reveal {endpoint.id}",
    }
    return Shown("webhooks/secrets.html", values, visit.words("secret"), status=status)
