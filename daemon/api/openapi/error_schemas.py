"""The extra fields of each refusal, for the API's description. Pure.

They stand both inside `error` and at the top of the body.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from daemon.api.openapi.json_schema import (
    Schema,
    const,
    list_of,
    nullable,
    one_of,
    shape,
    text,
    whole,
)
from daemon.api.openapi.response_schemas import (
    AMOUNT,
    ID,
    PENDING,
    PHONE,
    PROVIDER,
    REFERENCE,
    REQUEST_ID,
    TIME,
)
from daemon.error_table import ERRORS
from daemon.wire import DeliveryStatus, ErrorCode, FaultCause, Path, Scope, TransactionStatus


class Extras(Struct, frozen=True):
    """The extra fields of one code: `always` present, and `sometimes` present."""

    always: Mapping[str, Schema] = field(default_factory=dict)
    sometimes: Mapping[str, Schema] = field(default_factory=dict)


_RETRY: Final = Extras({"retry_after": whole(30, "seconds; also in the header `Retry-After`")})
_SIM: Final = shape(
    {
        "device_id": ID,
        "name": text("till phone"),
        "slot_index": whole(0),
        "network": text("MTN"),
    }
)
_DETAIL: Final = shape(
    {
        "field": text("amount"),
        "code": text("wrong_type"),
        "message": text('must be a string, such as "12.50"'),
    }
)

EXTRAS: Final[dict[ErrorCode, Extras]] = {
    ErrorCode.BRANCH_ASKED: Extras({**_RETRY.always, "branch": text("kumasi")}),
    ErrorCode.BELONGS_TO_BRANCH: Extras({"branch": text("kumasi")}),
    ErrorCode.INSUFFICIENT_SCOPE: Extras(
        {"required_scopes": list_of(one_of(Scope, Scope.TRANSACTIONS_READ), "any one is enough")}
    ),
    ErrorCode.SECRET_KEY_REQUIRED: Extras({}, {"fields": list_of(text("meta"))}),
    ErrorCode.INVALID_PASSWORD: Extras({"attempts_remaining": whole(4)}),
    ErrorCode.SECOND_FACTOR_REQUIRED: Extras({"attempts_remaining": whole(4)}),
    ErrorCode.NO_MATCHING_TRANSACTION: Extras(
        {},
        {
            "reason": text("reversed", "the network took the payment back"),
            "near_transaction_id": text(
                "0012345678", "the only unused payment whose ID differs by leading zeros alone"
            ),
        },
    ),
    ErrorCode.TRANSACTION_ID_ALREADY_USED: Extras(
        {"expected_amount": nullable(AMOUNT)},
        {"used_by_reference": nullable(REFERENCE), "payment_id": ID},
    ),
    ErrorCode.ALREADY_VERIFIED: Extras(
        {
            "transaction_status": one_of(TransactionStatus, TransactionStatus.SUCCESS),
            "verified_by_transaction_id": nullable(text("0012345678")),
        }
    ),
    ErrorCode.LINES_NOT_READY: Extras({"sims_without_number": list_of(_SIM)}),
    ErrorCode.SIM_ALREADY_ASSIGNED: Extras({"payment_method_id": ID, "phone_number": PHONE}),
    ErrorCode.PAYMENT_METHOD_EXISTS: Extras({"payment_method_id": ID}),
    ErrorCode.DELIVERY_NOT_REDELIVERABLE: Extras(
        {"delivery_status": one_of(DeliveryStatus, DeliveryStatus.RETRYING)}
    ),
    ErrorCode.TRANSACTION_NOT_CANCELLABLE: Extras({"transaction_status": PENDING}),
    ErrorCode.NO_CHECKOUT_PAGE: Extras(
        {"reason": text("ended", "`ended`, `no_request`: a payment without one, or `http_off`")}
    ),
    ErrorCode.REVIEW_ALREADY_DECIDED: Extras(
        {
            "review_state": text("approved"),
            "decided_at": nullable(TIME),
            "decided_by": nullable(text("socket:1000")),
        }
    ),
    ErrorCode.PAYMENT_REVERSED: Extras({}, {"reversed_at": TIME}),
    ErrorCode.AMOUNT_MISMATCH: Extras({"claimed_amount": AMOUNT, "matched_amount": AMOUNT}),
    ErrorCode.VALIDATION_ERROR: Extras(
        {"details": list_of(_DETAIL, "every field that is wrong, all at once")}
    ),
    ErrorCode.AMBIGUOUS_TRANSACTION_ID: Extras({"providers": list_of(PROVIDER)}),
    ErrorCode.URL_NOT_ALLOWED: Extras({"reason": text("private_address")}),
    ErrorCode.NETWORK_MISMATCH: Extras(
        {}, {"provider": PROVIDER, "sim_network": nullable(text("telecel"))}
    ),
    ErrorCode.TOO_MANY_ATTEMPTS: _RETRY,
    ErrorCode.RATE_LIMITED: _RETRY,
    ErrorCode.UNAVAILABLE: Extras(
        {**_RETRY.always, "cause": nullable(one_of(FaultCause, FaultCause.DISK_FULL))},
        {"next": list_of(text("momo backup prune"), "to type on the shop's machine")},
    ),
}


def error(code: ErrorCode) -> Schema:
    """Return the schema of a refusal's complete answer."""
    spec, extras = ERRORS[code], EXTRAS.get(code, Extras())
    hint = {"hint": text(spec.hint, "what to do next")} if spec.hint else {}
    inside = shape(
        {
            "code": const(str(code)),
            "message": text(spec.message, "what happened"),
            **hint,
            "doc_url": text(f"{Path.DOCS_ERRORS}#{code}", "its description, on this server"),
            **extras.always,
        },
        extras.sometimes,
    )
    return shape(
        {
            "success": const(value=False),
            "error": inside,
            **extras.always,
            "meta": shape({"request_id": REQUEST_ID}),
        },
        extras.sometimes,
        spec.message,
    )
