"""POST /v1/transactions/initialize: read and check the request."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Final

from msgspec import UNSET, Meta, Struct, field

from daemon.api.http.service import FIELD, Call, Reply, claim, once
from daemon.api.openapi.describe import answer, described
from daemon.core.access.callers import Caller, CallerKind
from daemon.core.errors import Refusal
from daemon.core.inputs import HttpAnswer, Idempotency, InitializeRequest, Keep
from daemon.core.json_values import compact, success
from daemon.core.limits import DESCRIPTION_CHARACTERS_MAX, URL_CHARACTERS_MAX
from daemon.core.names import CURRENCIES
from daemon.core.payments import transaction_json
from daemon.core.payments.checkout import may_return_to
from daemon.core.reading import Wrong, read
from daemon.core.shape import RequestId, Warnings, marked, members, sample, taken
from daemon.flows.payments import initialize as initialize_flow
from daemon.flows.payments.initialize import Initialized
from daemon.flows.webhooks import endpoints
from daemon.store import idempotency as stored_answers
from daemon.wire import ErrorCode
from parsers.person_name import is_name
from parsers.reading import normalize_telco_id, valid_for_any

EXPIRES_HOURS_MAX: Final = 24
CLIENT_REFERENCE_CHARACTERS_MAX: Final = 100
META_BYTES_MAX: Final = 4 * 1024
"""Limits that the API promises."""
PUBLISHABLE: Final = frozenset(
    {"amount", "phone_number", "customer_name", "description", "redirect_url", "expires_in_hours"}
)
"""Fields allowed with a publishable key, which is visible to the public."""

_CURRENCIES: Final = sorted(CURRENCIES)


def _redirect(url: str) -> str | Wrong:
    why = "must be an https address; http is allowed only within the shop's own network"
    return url if may_return_to(url) else Wrong("invalid", why)


def _payer_name(text: str) -> str | Wrong:
    """Check the name that a receipt without a number must have."""
    why = "has no name to compare: initials and titles alone are not enough"
    return text if is_name(text) else Wrong("invalid", why)


def _telco_id(text: str) -> str | Wrong:
    why = "does not have the form of any network's transaction ID"
    return normalize_telco_id(text) if valid_for_any(text) else Wrong("invalid", why)


class InitializeBody(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A payment request."""

    known: ClassVar = (FIELD,)

    currency: Annotated[str | None, sample("GHS", "the currency; default `GHS`"), marked(words=_CURRENCIES)] = None
    amount_minor: Annotated[
        int,
        sample("25.00", "a decimal, 0.01 to 1000000.00, at most 2 decimals"),
        marked(read="amount", currency="currency"),
    ] = field(name="amount")
    phone_number: Annotated[
        str, sample("0241234567", "the customer's phone number, local or E.164"), marked(read="phone")
    ]
    customer_name: Annotated[str, sample("Ama Mensah", "shown on the checkout page")] | None = None
    description: (
        Annotated[
            str, sample("two loaves", "a label for people", max_length=DESCRIPTION_CHARACTERS_MAX), marked(lines=True)
        ]
        | None
    ) = None
    webhook_url: (
        Annotated[
            str,
            sample(
                "https://shop.example/momo",
                "https; receives the webhooks of this transaction instead of the default URL; secret keys only",
            ),
            Meta(min_length=1, max_length=URL_CHARACTERS_MAX),
        ]
        | None
    ) = None
    redirect_url: (
        Annotated[
            str,
            sample("https://shop.example/thanks", "https; the customer is redirected there after the hosted checkout"),
            Meta(min_length=1, max_length=URL_CHARACTERS_MAX),
            marked(then=_redirect),
        ]
        | None
    ) = None
    client_reference: (
        Annotated[
            str,
            sample("order-1042", "your own id, for example of the order"),
            Meta(max_length=CLIENT_REFERENCE_CHARACTERS_MAX),
        ]
        | None
    ) = None
    meta: Annotated[
        str | None,
        sample({"table": 4}, "any JSON object, returned unchanged; at most 4 KB as compact JSON"),
        marked(read="object", most_bytes=META_BYTES_MAX, then=compact),
    ] = None
    expires_in_hours: (
        Annotated[int, sample(2, "hours until the transaction expires; default 24"), Meta(ge=1, le=EXPIRES_HOURS_MAX)]
        | None
    ) = None
    # An empty ID or name is an error, because it would not protect.
    expected_telco_transaction_id: (
        Annotated[
            str,
            sample("0012345678", "only a payment with this network transaction ID is matched"),
            Meta(min_length=1),
            marked(then=_telco_id),
        ]
        | None
    ) = None
    expected_payer_phone: Annotated[
        str | None, sample("0241234567", "a payment from another number is held for review"), marked(read="phone")
    ] = None
    expected_payer_name: (
        Annotated[
            str,
            sample(
                "Ama Mensah", "the payer's name expected in a receipt without a number; requires `expected_payer_phone`"
            ),
            Meta(min_length=1),
            marked(then=_payer_name),
        ]
        | None
    ) = None
    send_sms_to_payer: Annotated[bool, sample(True, "send the payment code to the customer by SMS")] = True

    @staticmethod
    def check(given: Mapping[str, Any], body: Mapping[str, Any], fail: Callable[[str, str, str], Any]) -> None:
        """Refuse a name without the number that it belongs to."""
        if "expected_payer_name" in given and body.get("expected_payer_phone") is None:
            why = "has no effect without expected_payer_phone; send both"
            fail("expected_payer_name", "needs_phone", why)

    def request(self) -> InitializeRequest:
        """Return the request for the flow."""
        hours = self.expires_in_hours or EXPIRES_HOURS_MAX
        currency, meta = self.currency or "GHS", self.meta or "{}"
        return taken(InitializeRequest, self, currency=currency, meta=meta, expires_in_hours=hours)


class CounterBody(InitializeBody, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A payment request of the shop's own staff, whose customer stands at the counter: the number may be left out."""

    phone_number: Annotated[str | None, marked(read="phone")] = None  # type: ignore[assignment]  # wider on purpose


class InitializedMeta(Struct, frozen=True):
    """The `meta` of initialize."""

    request_id: RequestId
    idempotency_key: Annotated[str, sample("order-1042")] | None
    warnings: Warnings = UNSET


@described(
    "Initialize a transaction",
    answer(transaction_json.InitializedTransactionAnswer, InitializedMeta),
    status=201,
    reads=InitializeBody,
    errors="HUB_DECIDES SECRET_KEY_REQUIRED URL_NOT_ALLOWED TRANSACTION_ID_ALREADY_USED",
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
    """Create a transaction: a payment request with a payment code and a checkout page; 201.

    A session, and a caller on the Unix socket, may leave `phone_number` out: it is null until a receipt names one, and no SMS is
    sent.
    """
    body = await call.object()
    _refuse_secret_fields(body, call.caller)
    idempotency = claim(call, body, field=True)
    by_key = call.caller.kind is CallerKind.KEY
    request = read(InitializeBody if by_key else CounterBody, body)[0].request()

    async def flow(keep: Keep[Initialized]) -> Initialized:
        if request.webhook_url is not None and not await _answered(call, idempotency):
            await endpoints.check_address(call.env, request.webhook_url, call.service.resolver, offline_too=True)
        phones = call.service.hooks.phone_states()
        return await initialize_flow.initialize(call.env, call.caller, request, keep=keep, phones=phones)

    return await once(call, keeping(call, idempotency), flow)


def keeping(call: Call, idempotency: Idempotency | None) -> Keep[Initialized]:
    """Return how a new transaction is answered: 201, with the warnings in `meta`."""
    meta = {"request_id": call.request_id, "idempotency_key": None if idempotency is None else idempotency.key}

    def render(made: Initialized) -> HttpAnswer:
        transaction = made.transaction
        data = transaction_json.InitializedTransactionAnswer.of(
            transaction,
            checkout_url=call.env.checkout_url(str(transaction.public_slug)),
            payer_sms_sent=made.texted,
            methods=made.methods,
        )
        warnings = {"warnings": list(made.warnings)} if made.warnings else {}
        return HttpAnswer(201, success(data, {**meta, **warnings}))

    return Keep(idempotency, render)


_NAMES: Final = (*(each.name for each in members(InitializeBody)), FIELD)


def _refuse_secret_fields(body: Mapping[str, Any], caller: Caller) -> None:
    if not caller.publishable:
        return
    secret = [name for name in _NAMES if name in body and name not in PUBLISHABLE]
    if secret:
        message = f"A publishable key may not set {', '.join(secret)}."
        raise Refusal(ErrorCode.SECRET_KEY_REQUIRED, message, fields=secret)


async def _answered(call: Call, idempotency: Idempotency | None) -> bool:
    """Return whether a stored answer for this idempotency key exists."""
    if idempotency is None:
        return False
    # A repeat must get the stored answer, even if the address of its webhook no longer passes the check.
    return await call.env.store.look(lambda reader: stored_answers.find(reader, idempotency)) is not None
