"""Shared by the pages of webhooks: reading forms, naming endpoints, the words of a cause."""

import re
from typing import Final

from daemon.core.errors import Refusal, needed
from daemon.core.model import Delivery
from daemon.core.webhooks.diagnosis import cause_of
from daemon.core.webhooks.endpoint import Endpoint
from daemon.dash.web.visit import Goto, Visit
from daemon.store.webhooks import endpoints
from daemon.wire import DeliveryStatus, ErrorCode, receiver_of

TEXT_MAX: Final = 200
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def needs_open_collections(visit: Visit) -> None:
    """Reject an action if open collections are disabled."""
    if not visit.env.config.open_collections.enabled:
        raise Refusal(ErrorCode.OPEN_COLLECTIONS_DISABLED)


async def endpoint_of(visit: Visit) -> Endpoint:
    """Return the endpoint of the address; the page is of its mode."""
    endpoint_id = visit.places["id"]
    endpoint = needed(
        await visit.env.store.read(lambda reader: endpoints.get(reader, endpoint_id)), ErrorCode.ENDPOINT_NOT_FOUND
    )
    visit.mode = endpoint.mode
    return endpoint


def condition(endpoint: Endpoint) -> str:
    """Return the state of an endpoint: `paused`, `failing`, `well`, or `fresh` before its first answer."""
    if not endpoint.is_active:
        return "paused"
    if endpoint.consecutive_failures:
        return "failing"
    return "fresh" if endpoint.last_success_at is None else "well"


def name_of(endpoint: Endpoint) -> str:
    """Return the name that an endpoint is shown under."""
    return endpoint.description or receiver_of(endpoint.url)


def answer_of(visit: Visit, status_code: int | None, error_code: str | None) -> str:
    """Return an answer in words, such as `answered 404: nothing accepts webhooks at this address`."""
    if error_code is None:
        return "" if status_code is None else visit.words("hook_answered", status=status_code)
    means = cause_words(visit, "cause", cause_of(status_code, error_code))
    if status_code is None:
        return means
    return f"{visit.words('hook_answered', status=status_code)}: {means}"


def cause_words(visit: Visit, what: str, cause: str) -> str:
    """Return the meaning of a cause (`cause`) or its repair (`mend`)."""
    key = f"{what}_{cause}"
    return visit.words(key if visit.words.has(key) else f"{what}_other")


def may_be_sent_again(delivery: Delivery, endpoint: Endpoint) -> bool:
    """Return whether a delivery has ended and its endpoint still exists."""
    ended = delivery.status in (DeliveryStatus.DELIVERED, DeliveryStatus.FAILED)
    return ended and endpoint.deleted_at is None


def read_text(visit: Visit, name: str, most: int = TEXT_MAX, *, required: bool = False) -> str:
    """Return a trimmed field of the form; if it is wrong, note the error."""
    text = visit.form.get(name, "").strip()
    if required and not text:
        visit.fail(name, "field_required")
    elif len(text) > most:
        visit.fail(name, "field_too_long", most=most)
    elif _CONTROL.search(text):
        visit.fail(name, "field_control")
    return text


def sent_again(delivery: Delivery, endpoint: Endpoint, *, reversed_since: bool = False) -> Goto:
    """Go to a delivery that was queued again, and say so."""
    said = "said_sent_again" if endpoint.is_active else "said_waits_for_endpoint"
    said = "said_sent_again_reversed" if reversed_since else said
    return Goto(f"/dash/deliveries/{delivery.id}", said)
