"""Descriptions of operations and fields for the OpenAPI document.

    @described("Cancel a transaction", "transaction", reads=read, errors=(ErrorCode.TRANSACTION_NOT_FOUND,))
    async def cancel(call: Call) -> Reply:

The other parts have other sources: path, method and scopes come from the route, fields and limits from running the reader
(`recorder.py`), the answer's schema from `response_schemas.py`, the errors from the error table, the longer text from the
handler's docstring. Every answer in `tests/api` is validated against the resulting document.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct, field

from daemon.api.http.fields import Fields, Query
from daemon.api.http.service import Handler
from daemon.wire import ErrorCode


class AnswerShape(Struct, frozen=True):
    """An answer: `{success: true, data, ...top, meta?}`, or one whole shape (`data` is None)."""

    data: Any
    meta: type[Struct] | None
    top: dict[str, Any]
    whole: type[Struct] | None = None


def answer(data: Any, meta: type[Struct] | None = None, **top: Any) -> AnswerShape:
    """Return `{success: true, data, ...top, meta?}`; `data` is a shape, or a type such as `list[EndpointAnswer]`."""
    return AnswerShape(data, meta, top)


def bare(whole: type[Struct]) -> AnswerShape:
    """Return an answer without `data`, as its shape declares it; a `meta` with warnings may be added."""
    return AnswerShape(None, None, {}, whole)


class OperationDescription(Struct, frozen=True):
    """The description of one operation.

    Attributes:
        title: A few words. The `operationId` is derived from them, so do not change them.
        answer: The answer's shape, the name of its schema in `response_schemas.py`, or `STREAM`.
        reads: The shape of the body, or its reader: asks `Fields` for every field of the operation, then calls `done`.
        query: The same of the query string.
        errors: The errors specific to this operation. Errors of keys, scopes, rates, bodies and idempotency are added.
        example: A valid body.
        body_optional: The body may be omitted.
        idempotent: The operation accepts an `Idempotency-Key` header.
        key_field: The idempotency key is also accepted as a field of the body.
        status: HTTP status of a success.
    """

    title: str
    answer: "str | AnswerShape"
    reads: type[Struct] | Callable[[Fields], object] | None = None
    query: type[Struct] | Callable[[Query], object] | None = None
    errors: tuple[ErrorCode, ...] = ()
    example: Mapping[str, Any] = field(default_factory=dict)
    body_optional: bool = False
    idempotent: bool = False
    key_field: bool = False
    status: int = 200

    @property
    def id(self) -> str:
        """The `operationId`: the title in camel case, without articles, such as `getTransactionByCode`."""
        first, *others = re.sub(r"\b(a|an|the|its)\b|'s\b", "", self.title.lower()).split()
        return first + "".join(word.capitalize() for word in others)


STREAM: Final = "stream"
DESCRIPTIONS: Final[dict[Handler, OperationDescription]] = {}


def described(title: str, answer: str | AnswerShape, **more: Any) -> Callable[[Handler], Handler]:
    """Describe the decorated handler; `more` are the other attributes of `OperationDescription`."""

    def keep(handler: Handler) -> Handler:
        DESCRIPTIONS[handler] = OperationDescription(title, answer, **more)
        return handler

    return keep


class NoFields(Struct, frozen=True):
    """The optional body without members."""


_ID: Final = "0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f"
_REFERENCE: Final = "svc_trx_0192f0c17d2a7c3e9a543f2b8c1d4e5f"
# A note and an example for each request field and parameter, by field name, or by operation and field name if a name has
# several meanings. A test fails for a field without an entry here.
NOTES: Final[dict[str, tuple[str, Any]]] = {
    "postAndroidMessage.name": ("the source, as named in `[[sources]]`", "phone1"),
    "postAndroidMessage.event": ("`sms:received`, `sms:batch:received` or `system:ping`; others are ignored", "sms:received"),
    "postAndroidMessage.payload": ("the message; the app's documentation describes it", {}),
    "postAndroidMessage.deviceId": ("ignored", "ffffffffceb0b1db"),
    "postAndroidMessage.id": ("ignored: it identifies no message", "Ey6ECgOkVVFjz3CL48B8C"),
    "postAndroidMessage.webhookId": ("ignored", "LreFUt-Z3sSq0JufY9uWB"),
    # transactions
    "amount": ("a decimal, 0.01 to 1000000.00, at most 2 decimals", "25.00"),
    "reconcileTransaction.amount": ("the expected amount: the call fails if the payment has another one", "25.00"),
    "makeTestPayment.amount": ("the amount to pay; default: the amount of `reference`", "25.00"),
    "phone_number": ("the customer's phone number, local or E.164", "0241234567"),
    "createPaymentMethod.phone_number": ("the merchant's number, local or E.164", "0241234567"),
    "currency": ("the currency; default `GHS`", "GHS"),
    "customer_name": ("shown on the checkout page", "Ama Mensah"),
    "description": ("a label for people", "two loaves"),
    "webhook_url": ("https; receives the webhooks of this transaction instead of the default URL; secret keys only", "https://shop.example/momo"),
    "redirect_url": ("https; the customer is redirected there after the hosted checkout", "https://shop.example/thanks"),
    "idempotency_key": ("same as the header `Idempotency-Key`", "order-1042"),
    "client_reference": ("your own id, for example of the order", "order-1042"),
    "client_ref": ("your own id; it may contain slashes", "order-1042"),
    "meta": ("any JSON object, returned unchanged; at most 4 KB as compact JSON", {"table": 4}),
    "expires_in_hours": ("hours until the transaction expires; default 24", 2),
    "expected_telco_transaction_id": ("only a payment with this network transaction ID is matched", "0012345678"),
    "expected_payer_phone": ("a payment from another number is held for review", "0241234567"),
    "expected_payer_name": ("the payer's name expected in a receipt without a number; requires `expected_payer_phone`", "Ama Mensah"),
    "send_sms_to_payer": ("send the payment code to the customer by SMS", True),
    "transaction_id": ("the network's transaction ID, from the customer's SMS", "0012345678"),
    "listDeliveries.transaction_id": ("only deliveries of this transaction, by UUID or reference", _ID),
    "notes": ("free text, for the record", "she showed her phone"),
    "provider": ("the mobile-money service", "momo_mtn"),
    "reason": ("the reason, for the record", "ordered twice"),
    "listDeadLetters.reason": ("only dead letters with this reason", "permanent_4xx"),
    "reference": ("the `reference` of a transaction", _REFERENCE),
    "svc_code": ("the payment code", "A7K2M9"),
    "page": ("the page, from 1; a page past the end is an empty list", 1),
    "per_page": ("entries per page", 50),
    "status": ("only this status", "SUCCESS"),
    "listDeliveries.status": ("only this status", "delivered"),
    "origin": ("payment requests (default), holders of payments without a request (`open`), or all", "request"),
    "from": ("start of the time window, inclusive", "2026-11-20T00:00:00Z"),
    "to": ("end of the time window, exclusive", "2026-11-21T00:00:00Z"),
    "listTransactions.search": (
        ("a complete payment code, network ID or client reference; or a part of one of these, of a name, a number or the "
        "description; or both ends of a reference, `svc_trx_01…e85`"),
        "kofi",
    ),
    "listTransactions.mode": (
        "only live or only test transactions, for a caller that sees both: a session, or the socket; default: both",
        "live",
    ),
    "listTransactions.sort": ("the order; default: newest first", "newest"),
    "listTransactions.after": (
        "continue after this reference, independent of new transactions",
        "svc_trx_0192f0c17d2a7c3e9a543f2b8c1d4e5f",
    ),
    "listTransactions.phone_number": ("only this payer's number; without a payment, the customer's", "0241234567"),
    "listApprovedPayers.phone_number": ("only this payer's number", "0241234567"),
    "limit": ("entries per page", 50),
    "offset": ("entries to skip", 0),
    "after": ("the `next_cursor` of the previous answer, independent of new entries", None),
    "since": ("continue after this event; the header `Last-Event-ID` takes precedence", "412"),
    "branch": ("at a hub: only transactions of the branch with this name", "kumasi"),
    # the sandbox
    "payer_name": ("the payer's name", "Ama Mensah"),
    "payer_phone": ("the payer's number", "0241234567"),
    "reference_text": ("the payment reference typed by the payer; default: the payment code of `reference`", "A7K2M9"),
    "makeTestPayment.transaction_id": ("the network's transaction ID; default: a new one", "0012345678"),
    "makeTestPayment.reference": ("the transaction to pay: its reference or payment code", _REFERENCE),
    "late": ("pay as if the transaction had already expired", False),
    "sender": ("the sender name of the SMS; a name other than the network's is not trusted", "MobileMoney"),
    "text": ("the complete text of the SMS, instead of one built from the other fields", None),
    "sent_at": ("the time at which the network sent it; default now", "2026-11-21T06:31:00Z"),
    # numbers
    "account_name": ("the account name, as the network shows it", "Ama Provisions"),
    "merchant_code": ("the code of a merchant account", "123456"),
    "sim": ("absent: no change; null: remove the number from its SIM; an object: move the number to this SIM", {"device_id": _ID, "slot_index": 0}),
    "createPaymentMethod.sim": ("the SIM of the number", {"device_id": _ID, "slot_index": 0}),
    "device_id": ("the modem", _ID),
    "slot_index": ("the SIM's slot, from 0", 0),
    "ignored": ("true: the SIM is not for payments; false: it is", True),
    "dry_run": ("only return the result, without changes", True),
    # access
    "name": ("a name for people", "web shop"),
    "mode": ("live money or the sandbox; default `live`", "live"),
    "kind": ("a publishable key can only initialize transactions; default `secret`", "secret"),
    "listDeliveries.kind": ("`all` includes deliveries to `webhook_url` and to the default URL", "all"),
    "scopes": ("the scopes of the key; default: all", ["transactions:read"]),
    "expires_at": ("the expiry; default: never", "2027-12-31T23:59:59Z"),
    "expires_in_days": ("the expiry in days from now", 365),
    "overlap_hours": ("hours for which the old key stays valid; default 24; 0 ends it at once", 24),
    "password": ("the account password", "correct horse battery"),
    "logIn.totp": ("the code of the second factor, if the owner has one", "492039"),
    "changePassword.password": ("the new password, at least 8 characters", "staple the correct horse"),
    "current_password": ("the current password", "correct horse battery"),
    "expire_previous": ("expire all old secrets at once, for example after a leak", False),
    "reconcileTransaction.password": ("the account password, if the answer without it asks for it", None),
    # reviews
    "state": ("`all` includes decided or revoked ones", "all"),
    "approveReview.reference": ("the transaction to pay; default: the one that the payment is held for", _REFERENCE),
    "approveReview.password": ("the account password, if the review has `needs_password`", None),
    "id": ("the id", _ID),
    # open collections
    "is_sandbox": ("receives test payments only", False),
    "endpoint_id": ("the endpoint", _ID),
    "rule_id": ("the rule's id", _ID),
    "createRule.name": ("a label for people", "rents"),
    "updateRule.name": ("a label for people", "rents"),
    "position": ("the position among the endpoint's rules; default: last", 1),
    "enabled": ("false: the rule matches no payment", True),
    "filter": (
        "conditions on the members of a payload's `data`, joined by AND; at most 4 KB, 4 deep",
        {"amount": {"$gte": "50.00"}},
    ),
    "sample": ("the `data` of a payload, complete or in part", {"amount": "12.50"}),
    "tryRules.is_sandbox": ("try the sandbox endpoints", False),
    "explainRouting.id": ("the transaction's UUID, or its reference", _ID),
    "event": ("only this event kind", "transaction.forwarded"),
    "webhook_id": ("only this webhook id", "ocl_0123456789abcdefghijklmn"),
    "include_failed": ("include deliveries that failed for good; default true", True),
    "include_historical": ("include messages from before the line was set up, and from files, once a person has reconciled them", False),
    "cursor": ("the `next_cursor` of the previous answer, with the same window", None),
    "include_replayed": ("include dead letters that were replayed or dismissed", False),
    "listDeadLetters.mode": ("only live money, or only the sandbox; default both", "live"),
    "listReviews.mode": ("only live money, or only the sandbox; default both", "live"),
    "listDeliveries.mode": ("only live money, or only the sandbox; default both", "live"),
    "error_code": ("only this error code", "timeout"),
    "dead_letter_ids": ("1 to 100 ids", [_ID]),
}  # fmt: skip
