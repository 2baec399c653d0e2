"""Reveal and rotate the signing secrets of endpoints and of the account; needs a session and the account password."""

from typing import Annotated, Any, Final

from msgspec import Struct

from daemon.api.http.auth import needs_operator
from daemon.api.http.body import read_object
from daemon.api.http.service import NO_STORE, Call, Reply
from daemon.api.openapi.describe import answer, bare, described
from daemon.api.webhooks.endpoints import find, needs_open_collections
from daemon.core import json_values
from daemon.core.reading import read
from daemon.core.shape import ConfirmingPassword, NoTime, Secret, Success, about, flat, sample
from daemon.core.webhooks.endpoint import Endpoint, EndpointAnswer
from daemon.flows.access import password
from daemon.flows.webhooks.secrets import RevealedSecret, reveal, rotate
from daemon.store.webhooks.secrets import ACCOUNT
from daemon.wire import ErrorCode

UNTIL: Final = "previous_secret_expires_at"
_PASSWORD: Final = (
    ErrorCode.SESSION_REQUIRED,
    ErrorCode.INVALID_PASSWORD,
    ErrorCode.TOO_MANY_ATTEMPTS,
    ErrorCode.NOT_SET_UP,
)
_ENDPOINT: Final = (
    ErrorCode.OPEN_COLLECTIONS_DISABLED,
    ErrorCode.ENDPOINT_NOT_FOUND,
    ErrorCode.LIVE_KEY_REQUIRED,
)
_Until = Annotated[NoTime, about("the old secret also signs until then")]
_SECRET: Final[dict[str, Any]] = {"secret": Secret, UNTIL: _Until}
_EXAMPLE: Final = {"password": "correct horse battery"}


class SecretBody(Struct, frozen=True):
    """The account password, and whether to end the old secrets."""

    password: ConfirmingPassword | None = None
    expire_previous: Annotated[
        bool, sample(False, "expire all old secrets at once, for example after a leak")
    ] = False


class SecretAnswer(Struct, frozen=True):
    """A signing secret."""

    success: Success
    secret: Secret
    previous_secret_expires_at: _Until


class AccountWebhook(Struct, frozen=True):
    """Where the secret of the account is used."""

    default_url: Annotated[
        str | None, sample("https://shop.example/momo", "the account's default webhook")
    ]


@described(
    "Reveal an endpoint's secret",
    bare(SecretAnswer),
    reads=SecretBody,
    errors=(*_PASSWORD, *_ENDPOINT),
    example=_EXAMPLE,
)
async def reveal_endpoint(call: Call) -> Reply:
    """Return an endpoint's signing secret."""
    endpoint, _fields, warnings = await _confirmed(call, of_endpoint=True)
    assert endpoint is not None
    return _revealed(await reveal(call.env, call.caller, endpoint.id), warnings)


@described(
    "Reveal the account's webhook secret",
    bare(SecretAnswer),
    reads=SecretBody,
    errors=_PASSWORD,
    example=_EXAMPLE,
)
async def reveal_account(call: Call) -> Reply:
    """Return the secret that signs the webhooks of `webhook_url` and of the default URL."""
    _endpoint, _fields, warnings = await _confirmed(call, of_endpoint=False)
    return _revealed(await reveal(call.env, call.caller, ACCOUNT), warnings)


@described(
    "Rotate an endpoint's secret",
    answer(EndpointAnswer, **_SECRET),
    reads=SecretBody,
    errors=(*_PASSWORD, *_ENDPOINT, ErrorCode.ROTATION_LIMIT),
    example=_EXAMPLE,
)
async def rotate_endpoint(call: Call) -> Reply:
    """Create a new signing secret for an endpoint and return it."""
    endpoint, leaked, warnings = await _confirmed(call, of_endpoint=True)
    assert endpoint is not None
    shown = await rotate(call.env, call.caller, endpoint.id, expire_previous=leaked)
    return _rotated(EndpointAnswer.of(endpoint), shown, warnings)


@described(
    "Rotate the account's webhook secret",
    answer(AccountWebhook, **_SECRET),
    reads=SecretBody,
    errors=(*_PASSWORD, ErrorCode.ROTATION_LIMIT),
    example=_EXAMPLE,
)
async def rotate_account(call: Call) -> Reply:
    """Create a new webhook secret for the account and return it."""
    _endpoint, leaked, warnings = await _confirmed(call, of_endpoint=False)
    shown = await rotate(call.env, call.caller, ACCOUNT, expire_previous=leaked)
    return _rotated(AccountWebhook(call.env.config.webhooks.default_url or None), shown, warnings)


async def _confirmed(
    call: Call, *, of_endpoint: bool
) -> tuple[Endpoint | None, bool, dict[str, Any] | None]:
    """Check the password; return the endpoint, whether to expire old secrets at once, and the warnings.

    Raises:
        Refusal: SESSION_REQUIRED for a key, OPEN_COLLECTIONS_DISABLED, ENDPOINT_NOT_FOUND, VALIDATION_ERROR,
            INVALID_PASSWORD with `attempts_remaining`, TOO_MANY_ATTEMPTS with `retry_after`.
    """
    needs_operator(call.caller)
    endpoint = None
    if of_endpoint:
        needs_open_collections(call)
        endpoint = await find(call)
    body = await read_object(call.scope, call.receive)
    asked, warnings = read(SecretBody, body)
    await password.confirm(call.env, call.caller, asked.password)
    return endpoint, asked.expire_previous, json_values.warnings_meta(warnings)


def _revealed(shown: RevealedSecret, meta: dict[str, Any] | None) -> Reply:
    until = json_values.timestamp_or_none(shown.previous_expires_at)
    body = flat(SecretAnswer(True, shown.secret, until)) | ({} if meta is None else {"meta": meta})
    return Reply(200, json_values.dump(body), (NO_STORE,))


def _rotated(data: object, shown: RevealedSecret, meta: dict[str, Any] | None) -> Reply:
    until = json_values.timestamp_or_none(shown.previous_expires_at)
    body = json_values.success(data, meta, secret=shown.secret, **{UNTIL: until})
    return Reply(200, body, (NO_STORE,))
