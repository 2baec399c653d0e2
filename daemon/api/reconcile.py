"""POST /v1/transactions/{reference}/reconcile."""

from collections.abc import Mapping
from typing import Any, Final

from daemon.api.fields import Fields
from daemon.api.idempotency import claim
from daemon.api.read_json import Number, read_object
from daemon.api.service import Call, Reply, finished
from daemon.core.providers import canonical, known
from daemon.core.requests import ReconcileRequest
from daemon.flows.reconcile import reconcile as flow
from parsers.money import read_api_amount

KNOWN: Final = ("transaction_id", "amount", "notes", "provider")
TRANSACTION_ID_CHARACTERS_MAX: Final = 64
NOTES_CHARACTERS_MAX: Final = 2000


async def reconcile(call: Call) -> Reply:
    """Match a payment to a request by its network's ID; 200 is the only answer that means so."""
    body = await read_object(call.scope, call.receive)
    idempotency = claim(call, body)
    request = read(body)
    async with call.service.inflight.alone(idempotency):
        answer = await flow(
            call.env,
            call.caller,
            call.path("reference"),
            request,
            request_id=call.request_id,
            idempotency=idempotency,
        )
    return finished(answer)


def read(body: Mapping[str, Any]) -> ReconcileRequest:
    """Read the body.

    Raises:
        Refusal: VALIDATION_ERROR, naming every wrong field.
    """
    fields = Fields(body)
    fields.refuse_unknown(KNOWN)
    transaction_id = fields.text(
        "transaction_id", required=True, most=TRANSACTION_ID_CHARACTERS_MAX
    )
    amount_minor = _amount(fields)
    notes = fields.text("notes", most=NOTES_CHARACTERS_MAX, lines=True)
    provider = read_provider(fields, "provider")
    fields.done()
    assert transaction_id is not None
    return ReconcileRequest(transaction_id, amount_minor, notes, provider)


def _amount(fields: Fields) -> int | None:
    """Read a decimal, as a string or as a JSON number: by how it is written, never by its float."""
    value = fields.value("amount")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | Number):
        fields.fail("amount", "wrong_type", "must be a decimal, as a string or a number")
        return None
    text = value.text if isinstance(value, Number) else str(value)
    minor = read_api_amount(text)
    if minor is None:
        fields.fail(
            "amount", "invalid", "must be digits with at most 2 decimals, 0.01 to 1000000.00"
        )
    return minor


def read_provider(fields: Fields, name: str, *, required: bool = False) -> str | None:
    """Return a provider's canonical name; aliases are accepted."""
    text = fields.text(name, required=required)
    if text is None:
        return None
    provider = canonical(text)
    if provider is None:
        fields.fail(name, "invalid", f"must be one of {', '.join(known())}")
    return provider
