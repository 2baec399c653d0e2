"""Every refusal the service can give: one table of code -> status, sentence and next step (decisions.md section 9).

A refusal is data, not a class per code: the table is what the API answers with, what `docs/errors.md` lists and
what the OpenAPI document shows, so there is one place to change and nothing to keep in step.

    MomoError
    +-- Refusal          a rule said no; carries a `wire.ErrorCode` and its extra fields
    +-- Unavailable      we cannot serve now (disk full, database busy); 503 with `Retry-After`
"""

from dataclasses import dataclass
from typing import Any, Final

from daemon.wire import ErrorCode


@dataclass(frozen=True, slots=True)
class ErrorSpec:
    """What a code means on the wire."""

    http_status: int
    message: str
    """Says what happened; `{name}` is filled from the refusal's extra fields."""
    hint: str
    """One sentence: what to do next. Empty when there is nothing to add."""


ERRORS: Final[dict[ErrorCode, ErrorSpec]] = {
    ErrorCode.INVALID_JSON: ErrorSpec(
        400, "The request body is not valid JSON.", "Send one JSON object in UTF-8."
    ),
    ErrorCode.UNAUTHORIZED: ErrorSpec(
        401,
        "A valid API key is needed.",
        "Send `Authorization: Bearer <API key>`; `momo setup` and `momo keys create` make keys.",
    ),
    ErrorCode.INSUFFICIENT_SCOPE: ErrorSpec(
        403,
        "This key may not do that.",
        "Use a key that has the scope named in `required_scopes`.",
    ),
    ErrorCode.SESSION_REQUIRED: ErrorSpec(
        403,
        "An API key may not do that: a dashboard session or the local socket is needed.",
        "Log in, or use the `momo` command on the shop's machine.",
    ),
    ErrorCode.SECRET_KEY_REQUIRED: ErrorSpec(
        403, "A publishable key may not do that.", "Call from your server with a secret key."
    ),
    ErrorCode.LIVE_KEY_REQUIRED: ErrorSpec(
        403, "A test key may not touch live things.", "Use a live key."
    ),
    ErrorCode.INVALID_PASSWORD: ErrorSpec(
        403, "The password is wrong.", "Try again; attempts are limited to 5 in 15 minutes."
    ),
    ErrorCode.OPEN_COLLECTIONS_DISABLED: ErrorSpec(
        403,
        "Open collections are switched off for this shop.",
        "Set `enabled = true` under `[open_collections]` in config.toml.",
    ),
    ErrorCode.TRANSACTION_NOT_FOUND: ErrorSpec(
        404, "There is no such payment request.", "Check the reference or code."
    ),
    ErrorCode.NO_MATCHING_TRANSACTION: ErrorSpec(
        404,
        "No payment with that transaction ID has arrived.",
        "Check the ID against the customer's message, or wait until the payment message is in.",
    ),
    ErrorCode.ENDPOINT_NOT_FOUND: ErrorSpec(
        404, "There is no such endpoint.", "List the endpoints to see their ids."
    ),
    ErrorCode.DELIVERY_NOT_FOUND: ErrorSpec(
        404, "There is no such delivery.", "List the deliveries to see their ids."
    ),
    ErrorCode.PAYMENT_METHOD_NOT_FOUND: ErrorSpec(
        404, "There is no such payment method.", "List the payment methods to see their ids."
    ),
    ErrorCode.DEAD_LETTER_NOT_FOUND: ErrorSpec(
        404, "There is no such dead letter.", "List the dead letters to see their ids."
    ),
    ErrorCode.RULE_NOT_FOUND: ErrorSpec(
        404, "There is no such rule.", "List the endpoint's rules to see their ids."
    ),
    ErrorCode.REVIEW_NOT_FOUND: ErrorSpec(
        404, "There is no such review.", "List the reviews to see their ids."
    ),
    ErrorCode.DEVICE_NOT_FOUND: ErrorSpec(
        404, "There is no such phone.", "List the phones with `momo sims list`."
    ),
    ErrorCode.APPROVED_PAYER_NOT_FOUND: ErrorSpec(
        404, "There is no such approved payer.", "List them with `momo payers list`."
    ),
    ErrorCode.KEY_NOT_FOUND: ErrorSpec(
        404, "There is no such API key.", "List the keys with `momo keys list`."
    ),
    ErrorCode.MESSAGE_NOT_FOUND: ErrorSpec(
        404, "There is no such message.", "List the messages with `momo messages list`."
    ),
    ErrorCode.NOTICE_NOT_FOUND: ErrorSpec(
        404, "There is no such notice.", "List the notices with `momo notices list --all`."
    ),
    ErrorCode.ROUTE_NOT_FOUND: ErrorSpec(
        404,
        "There is nothing at this address.",
        "Check the path against the API's description, which is at `/docs`.",
    ),
    ErrorCode.METHOD_NOT_ALLOWED: ErrorSpec(
        405, "This address does not take that method.", "The `Allow` header names what it takes."
    ),
    ErrorCode.PAYLOAD_TOO_LARGE: ErrorSpec(
        413, "The request body is larger than 64 KB.", "Send less; `meta` takes at most 4 KB."
    ),
    ErrorCode.UNSUPPORTED_MEDIA_TYPE: ErrorSpec(
        415, "The request body must be JSON.", "Send `Content-Type: application/json`."
    ),
    ErrorCode.MISDIRECTED_REQUEST: ErrorSpec(
        421,
        "This shop is not known by that host name.",
        "Set `public_base_url` under `[http]` in config.toml to the address that callers use.",
    ),
    ErrorCode.TRANSACTION_ID_ALREADY_USED: ErrorSpec(
        409,
        "That transaction ID already paid another order.",
        "Do not hand over goods; look at the order that it paid.",
    ),
    ErrorCode.ALREADY_VERIFIED: ErrorSpec(
        409, "This order is already paid.", "Nothing to do; retrieve the order to see its payment."
    ),
    ErrorCode.LINES_NOT_READY: ErrorSpec(
        409,
        "At least one SIM has no number yet.",
        "Give each SIM in `sims_without_number` a number first.",
    ),
    ErrorCode.SIM_ALREADY_ASSIGNED: ErrorSpec(
        409,
        "That SIM already holds another number.",
        "Take that number off its SIM first (PATCH it with `sim: null`).",
    ),
    ErrorCode.PAYMENT_METHOD_EXISTS: ErrorSpec(
        409, "This number is already registered.", "Use the existing payment method."
    ),
    ErrorCode.METHOD_HAS_NO_SIM: ErrorSpec(
        409, "This number is on no SIM.", "Put the number on a SIM first."
    ),
    ErrorCode.DELIVERY_NOT_REDELIVERABLE: ErrorSpec(
        409, "Only delivered and failed deliveries can be sent again.", "Wait until it has ended."
    ),
    ErrorCode.DEAD_LETTER_ALREADY_REPLAYED: ErrorSpec(
        409, "This dead letter was already replayed.", "Look at the delivery it belongs to."
    ),
    ErrorCode.ENDPOINT_DELETED: ErrorSpec(
        409, "The endpoint of this delivery was deleted.", "Replay the window to another endpoint."
    ),
    ErrorCode.ENDPOINT_LIMIT: ErrorSpec(
        409, "There are already 50 endpoints.", "Delete one that is no longer used."
    ),
    ErrorCode.ROTATION_LIMIT: ErrorSpec(
        409, "This secret was rotated three times within 24 hours.", "Wait, or expire the old ones."
    ),
    ErrorCode.TRANSACTION_NOT_CANCELLABLE: ErrorSpec(
        409, "This payment request can no longer be cancelled.", "Retrieve it to see its status."
    ),
    ErrorCode.NO_CHECKOUT_PAGE: ErrorSpec(
        409,
        "This payment request has no page (any more).",
        "A page is there from the request until 30 days after its end.",
    ),
    ErrorCode.REVIEW_ALREADY_DECIDED: ErrorSpec(
        409, "This review was already decided.", "Retrieve it to see the decision."
    ),
    ErrorCode.PAYMENT_REVERSED: ErrorSpec(
        409, "The network took this payment back.", "Ask the customer to pay again."
    ),
    ErrorCode.PAYER_STILL_OPEN: ErrorSpec(
        409,
        "Something of this payer is not over yet, so nothing was forgotten.",
        "Settle what `open` counts first: orders, reviews, webhooks.",
    ),
    ErrorCode.IDEMPOTENCY_IN_PROGRESS: ErrorSpec(
        409, "A call with this idempotency key is still running.", "Repeat the same call shortly."
    ),
    ErrorCode.AMOUNT_MISMATCH: ErrorSpec(
        422,
        "The payment's amount is not the amount you gave; nothing was changed.",
        "Repeat without `amount` to accept what was received.",
    ),
    ErrorCode.VALIDATION_ERROR: ErrorSpec(
        422, "The request has invalid fields.", "Mend each field named in `details`."
    ),
    ErrorCode.AMBIGUOUS_TRANSACTION_ID: ErrorSpec(
        422,
        "Payments of several networks carry that transaction ID.",
        "Repeat with `provider`, one of `providers`.",
    ),
    ErrorCode.URL_NOT_ALLOWED: ErrorSpec(
        422,
        "That address may not receive webhooks.",
        "Use a public https address, or add the host to `[webhooks] allow_private_hosts`.",
    ),
    ErrorCode.SIM_NOT_FOUND: ErrorSpec(
        422, "There is no such SIM.", "List phones and slots with `momo sims list`."
    ),
    ErrorCode.NETWORK_MISMATCH: ErrorSpec(
        422,
        "That SIM belongs to another network than the number.",
        "Choose the SIM of the number's own network.",
    ),
    ErrorCode.REPLAY_WINDOW_TOO_LARGE: ErrorSpec(
        422, "A replay covers at most 31 days.", "Split the window."
    ),
    ErrorCode.IDEMPOTENCY_KEY_REUSED: ErrorSpec(
        422,
        "This idempotency key was used for a different request.",
        "Use a new key for a new request.",
    ),
    ErrorCode.IDEMPOTENCY_KEY_CONFLICT: ErrorSpec(
        422, "The header and the field carry different idempotency keys.", "Send one of them."
    ),
    ErrorCode.IDEMPOTENCY_KEY_INVALID: ErrorSpec(
        422, "An idempotency key has 1 to 255 characters.", "Use a UUID."
    ),
    ErrorCode.TOO_MANY_ATTEMPTS: ErrorSpec(
        429, "Too many attempts.", "Wait as long as `retry_after` says."
    ),
    ErrorCode.RATE_LIMITED: ErrorSpec(
        429, "Too many requests.", "Wait as long as `retry_after` says."
    ),
    ErrorCode.INTERNAL_ERROR: ErrorSpec(
        500, "Something went wrong on our side.", "Repeat the call; tell the operator if it stays."
    ),
    ErrorCode.UNAVAILABLE: ErrorSpec(
        503, "The service cannot take this right now.", "Repeat after `Retry-After` seconds."
    ),
    ErrorCode.NOT_SET_UP: ErrorSpec(
        503, "There is no shop on this machine yet.", "Run: momo setup"
    ),
}


class MomoError(Exception):
    """The root of what we raise on purpose."""


class Refusal(MomoError):
    """A rule said no. Nothing was changed.

    Attributes:
        code: The `error.code`.
        message: The sentence for people.
        extras: Fields that stand both inside `error` and at the top of the body.
        headers: Response headers, such as `Retry-After`.
    """

    def __init__(
        self,
        code: ErrorCode,
        message: str | None = None,
        *,
        headers: dict[str, str] | None = None,
        **extras: Any,
    ) -> None:
        self.code = code
        self.spec = ERRORS[code]
        self.message = message or self.spec.message
        self.extras = extras
        self.headers = headers or {}
        super().__init__(f"{code}: {self.message}")


class Unavailable(MomoError):
    """The database cannot take a write now (disk full, I/O error). Nothing was changed.

    Attributes:
        why: For the log and the operator.
        retry_after_s: For the `Retry-After` header.
    """

    def __init__(self, why: str, retry_after_s: int = 10) -> None:
        self.why = why
        self.retry_after_s = retry_after_s
        super().__init__(why)


@dataclass(frozen=True, slots=True)
class FieldError:
    """One entry of `details` of a VALIDATION_ERROR."""

    field: str
    code: str
    message: str

    def as_json(self) -> dict[str, str]:
        """Return the wire form."""
        return {"field": self.field, "code": self.code, "message": self.message}


def invalid(errors: list[FieldError]) -> Refusal:
    """Make the VALIDATION_ERROR that names all wrong fields at once."""
    assert errors
    first = errors[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return Refusal(
        ErrorCode.VALIDATION_ERROR,
        f"{first.field}: {first.message}{more}",
        details=[error.as_json() for error in errors],
    )
