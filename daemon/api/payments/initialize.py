"""POST /v1/transactions/initialize: read and check the request."""

from collections.abc import Mapping
from typing import Any, Final

from daemon.api.http.body import read_object
from daemon.api.http.fields import Fields
from daemon.api.http.idempotency import FIELD, claim
from daemon.api.http.service import Call, Reply, once
from daemon.api.openapi.describe import described
from daemon.core.access.callers import Caller
from daemon.core.errors import Refusal
from daemon.core.inputs import Answer, Idempotency, InitializeRequest, Keep
from daemon.core.json_values import compact, success
from daemon.core.limits import (
    CLIENT_REFERENCE_CHARACTERS_MAX,
    DESCRIPTION_CHARACTERS_MAX,
    EXPIRES_HOURS_MAX,
    META_BYTES_MAX,
    URL_CHARACTERS_MAX,
)
from daemon.core.names import CURRENCIES
from daemon.core.payments import transaction_json
from daemon.core.payments.checkout import may_return_to
from daemon.flows.payments import initialize as initialize_flow
from daemon.flows.payments.initialize import Initialized
from daemon.flows.webhooks import addresses
from daemon.store import idempotency as stored_answers
from daemon.wire import ErrorCode
from parsers.person_name import is_name
from parsers.reading import normalize_telco_id, valid_for_any

KNOWN: Final = (
    "amount",
    "phone_number",
    "currency",
    "customer_name",
    "description",
    "webhook_url",
    "redirect_url",
    FIELD,
    "client_reference",
    "meta",
    "expires_in_hours",
    "expected_telco_transaction_id",
    "expected_payer_phone",
    "expected_payer_name",
    "send_sms_to_payer",
)
PUBLISHABLE: Final = frozenset(
    {
        "amount",
        "phone_number",
        "customer_name",
        "description",
        "redirect_url",
        "expires_in_hours",
    }
)
"""Fields allowed with a publishable key, which is visible to the public."""

_CURRENCIES: Final = sorted(CURRENCIES)


def _redirect(fields: Fields) -> str | None:
    url = fields.text("redirect_url", most=URL_CHARACTERS_MAX, blank=False)
    if url is not None and not may_return_to(url):
        why = "must be an https address; http is allowed only within the shop's own network"
        fields.fail("redirect_url", "invalid", why)
        return None
    return url


def _payer_name(fields: Fields) -> str | None:
    """Read the name that a receipt without a number must have; an empty name is an error, because it would not protect."""
    name = "expected_payer_name"
    text = fields.text(name, blank=False)
    if text is None:
        return None
    if not is_name(text):
        fields.fail(
            name, "invalid", "has no name to compare: initials and titles alone are not enough"
        )
    elif not fields.given("expected_payer_phone"):
        fields.fail(name, "needs_phone", "has no effect without expected_payer_phone; send both")
    return text


def _telco_id(fields: Fields) -> str | None:
    """Read the network's transaction ID; an empty ID is an error, because it would not protect."""
    name = "expected_telco_transaction_id"
    text = fields.text(name, blank=False)
    if text is None:
        return None
    if not valid_for_any(text):
        fields.fail(name, "invalid", "does not have the form of any network's transaction ID")
        return None
    return normalize_telco_id(text)


def read(fields: Fields) -> InitializeRequest:
    """Read the body.

    Raises:
        Refusal: VALIDATION_ERROR, naming every wrong field.
    """
    fields.refuse_unknown(KNOWN)
    currency = fields.word("currency", _CURRENCIES) or "GHS"
    amount_minor = fields.amount("amount", currency, required=True)
    phone_number = fields.phone("phone_number", required=True)
    customer_name = fields.text("customer_name")
    description = fields.text("description", most=DESCRIPTION_CHARACTERS_MAX, lines=True)
    url = fields.text("webhook_url", most=URL_CHARACTERS_MAX, blank=False)
    redirect_url = _redirect(fields)
    client_reference = fields.text("client_reference", most=CLIENT_REFERENCE_CHARACTERS_MAX)
    meta = fields.object("meta", most_bytes=META_BYTES_MAX)
    hours = fields.integer("expires_in_hours", 1, EXPIRES_HOURS_MAX)
    telco_id = _telco_id(fields)
    expected_payer_phone = fields.phone("expected_payer_phone")
    expected_payer_name = _payer_name(fields)
    send_sms = fields.boolean("send_sms_to_payer", default=True)
    fields.done()
    assert amount_minor is not None
    assert phone_number is not None
    return InitializeRequest(
        amount_minor=amount_minor,
        currency=currency,
        phone_number=phone_number,
        customer_name=customer_name,
        description=description,
        webhook_url=url,
        redirect_url=redirect_url,
        client_reference=client_reference,
        meta=compact(meta) if meta else "{}",
        expires_in_hours=hours or EXPIRES_HOURS_MAX,
        expected_telco_transaction_id=telco_id,
        expected_payer_phone=expected_payer_phone,
        expected_payer_name=expected_payer_name,
        send_sms_to_payer=send_sms,
    )


@described(
    "Initialize a transaction",
    "initialized",
    status=201,
    reads=read,
    errors=(
        ErrorCode.HUB_DECIDES,
        ErrorCode.SECRET_KEY_REQUIRED,
        ErrorCode.URL_NOT_ALLOWED,
        ErrorCode.TRANSACTION_ID_ALREADY_USED,
    ),
    example={
        "amount": "25.00",
        "phone_number": "0241234567",
        "customer_name": "Ama Mensah",
        "client_reference": "order-1042",
        "meta": {"table": 4},
        "expires_in_hours": 2,
        "redirect_url": "https://shop.example/thanks",
    },
    key_field=True,
    idempotent=True,
)
async def initialize(call: Call) -> Reply:
    """Create a transaction: a payment request with a payment code and a checkout page; 201."""
    body = await read_object(call.scope, call.receive)
    _refuse_secret_fields(body, call.caller)
    idempotency = claim(call, body, field=True)
    request = read(Fields(body))
    keep = keeping(call, idempotency)

    async def flow() -> Initialized:
        if request.webhook_url is not None and not await _answered(call, idempotency):
            await addresses.check(
                call.env, request.webhook_url, call.service.resolver, offline_too=True
            )
        phones = call.service.hooks.phone_states()
        return await initialize_flow.initialize(
            call.env, call.caller, request, keep=keep, phones=phones
        )

    return await once(call, keep, flow)


def keeping(call: Call, idempotency: Idempotency | None) -> Keep[Initialized]:
    """Return how a new transaction is answered: 201, with the warnings in `meta`."""
    meta = {
        "request_id": call.request_id,
        "idempotency_key": None if idempotency is None else idempotency.key,
    }

    def render(made: Initialized) -> Answer:
        transaction = made.transaction
        data = transaction_json.initialized(
            transaction,
            checkout_url=call.env.checkout_url(str(transaction.public_slug)),
            payer_sms_sent=made.texted,
        )
        warnings = {"warnings": list(made.warnings)} if made.warnings else {}
        return Answer(201, success(data, {**meta, **warnings}))

    return Keep(idempotency, render)


def _refuse_secret_fields(body: Mapping[str, Any], caller: Caller) -> None:
    if not caller.publishable:
        return
    secret = [name for name in KNOWN if name in body and name not in PUBLISHABLE]
    if secret:
        message = f"A publishable key may not set {', '.join(secret)}."
        raise Refusal(ErrorCode.SECRET_KEY_REQUIRED, message, fields=secret)


async def _answered(call: Call, idempotency: Idempotency | None) -> bool:
    """Return whether a stored answer for this idempotency key exists."""
    if idempotency is None:
        return False
    # A repeat must get the stored answer, even if the address of its webhook no longer passes the check.
    return (
        await call.env.store.look(lambda reader: stored_answers.find(reader, idempotency))
        is not None
    )
