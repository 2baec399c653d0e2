"""What our answers look like, for the API's description: one schema for each shape of `*_shapes.py`, each with an example.

Nothing is made from these; the tests hold every answer that they get to them, with no member more and none less. They
are imported when somebody asks for the description, and not before.

Over 300 lines because it is one table.
"""

from typing import Final

from daemon.core.access import KeyKind
from daemon.core.balance_line import Standing, Why
from daemon.core.delivery import DeadLetterReason, DeliveryError
from daemon.core.provider_names import known
from daemon.core.schema import Schema, flag, free, listed, maybe, ref, shape, text, whole, word
from daemon.wire import (
    DeliveryStatus,
    EventKind,
    MessageState,
    Mode,
    ReviewReason,
    Scope,
    TransactionStatus,
)

ID: Final = text("0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f", format="uuid")
TIME: Final = text("2026-11-21T06:31:00.123Z", "ISO 8601, UTC", format="date-time")
AMOUNT: Final = text("25.00", "a decimal with two places", pattern=r"^-?[0-9]+\.[0-9]{2}$")
CURRENCY: Final = text("GHS")
PHONE: Final = text("+233241234567", "E.164")
REFERENCE: Final = text(
    "svc_trx_0192f0c17d2a7c3e9a543f2b8c1d4e5f", "the request's id", pattern="^svc_trx_[0-9a-f]{32}$"
)
CODE: Final = text("A7K2M9", "what the customer types as the payment's reference")
PROVIDER: Final = word(known(), "momo_mtn")
STATUS: Final = word(TransactionStatus, TransactionStatus.SUCCESS)
PENDING: Final = word(TransactionStatus, TransactionStatus.PENDING)
TEST: Final = flag("true for everything that is not real money")
WEBHOOK_ID: Final = text(
    "ocl_0123456789abcdefghijklmn", "identical across replays", pattern="^ocl_[0-9a-z]{24}$"
)
EVENT: Final = word(EventKind, EventKind.FORWARDED)
WARNINGS: Final = listed(
    text("Unknown field `colour` was ignored."),
    "what was ignored, lowered or worth knowing",
    shown=False,
)
REQUEST_ID: Final = text("req_5d1f0c3a9b7e4c2d8f6a1b0c9d8e7f6a", pattern="^req_[0-9a-f]{32}$")
ERROR: Final = maybe(
    shape({"code": word(DeliveryError, DeliveryError.HTTP_ERROR), "message": text("")}), shown=False
)
PAYER: Final = shape({"phone_number": maybe(PHONE), "name": maybe(text("Ama Mensah"))})
AMOUNTS: Final = {
    "expected_amount": maybe(AMOUNT, "on the request; null for money without one"),
    "actual_amount": maybe(AMOUNT, "received"),
    "difference": maybe(AMOUNT, "received minus expected; null when exact", shown=False),
    "difference_type": maybe(word(("EXACT", "UNDERPAID", "OVERPAID"), "EXACT")),
}
LIST_ITEM: Final = {
    "reference": REFERENCE,
    "svc_code": maybe(CODE),
    "status": STATUS,
    **AMOUNTS,
    "currency": CURRENCY,
    "payer_phone": maybe(PHONE),
    "payer_name": maybe(text("Ama Mensah")),
    "created_at": TIME,
    "completed_at": maybe(TIME),
    "origin": word(("request", "open"), "request"),
    "test": TEST,
    "reversed_at": maybe(TIME, "the network took the money back", shown=False),
}
TRANSACTION: Final = {
    "reference": REFERENCE,
    "svc_code": maybe(CODE),
    "status": STATUS,
    **AMOUNTS,
    "currency": CURRENCY,
    "client_reference": maybe(text("order-1042")),
    "processing_time_ms": maybe(whole(85, "from the message's arrival to verification")),
    "payer": PAYER,
    "telco": shape(
        {
            "provider": maybe(text("mtn", "the mobile network")),
            "transaction_id": maybe(
                text("0012345678", "the network's own id; leading zeros matter")
            ),
            "timestamp": maybe(TIME),
        }
    ),
    "meta": free({"table": 4}, "as it was given to initialize"),
    "timeline": shape(
        {
            "created_at": TIME,
            "pending_at": maybe(TIME),
            "processing_at": maybe(TIME),
            "completed_at": maybe(TIME),
        }
    ),
    "payer_source": maybe(
        word(("receipt", "request"), "receipt"),
        "whose word the number is; the name's, where there is none",
    ),
    "origin": word(("request", "open"), "request"),
    "test": TEST,
    "matched_by": maybe(word(("code", "telco_id", "reconcile", "review", "none"), "code")),
    "late": flag("paid after the request had expired"),
    "rejected": flag("a person said that it pays nothing"),
    "cancelled_at": maybe(TIME, shown=False),
    "reversed_at": maybe(TIME, "the network took the money back", shown=False),
    "merged_into": maybe(REFERENCE, "the request that this money pays by now", shown=False),
}
EXPECTATIONS: Final = {
    "expires_at": maybe(TIME),
    "client_reference": maybe(text("order-1042")),
}
ENDPOINT: Final = {
    "id": ID,
    "url": text("https://shop.example/momo", "HTTPS, publicly reachable"),
    "description": text("the till"),
    "is_active": flag("false: delivery is paused", example=True),
    "is_sandbox": flag("it receives test payments only"),
    "auto_paused_at": maybe(TIME, "when repeated failures stopped it", shown=False),
    "last_success_at": maybe(TIME),
    "last_failure_at": maybe(TIME, shown=False),
    "consecutive_failures": whole(0),
    "created_at": TIME,
    "updated_at": TIME,
    "catch_all": flag("it takes what no rule claims", example=True),
    "events": listed(EVENT),
    "include_raw": flag("payloads hold the text of the SMS"),
}
FILTER: Final = free(
    {"amount": {"$gte": "50.00"}}, "conditions on the members of a payload's `data`, joined by AND"
)
TRIAL: Final = {
    "matched": flag(example=True),
    "clauses": listed(
        shape(
            {
                "path": text("amount.$gte", "where it stands in the filter"),
                "field": text("amount"),
                "operator": text("$gte"),
                "expected": {"description": "as the filter has it", "examples": ["50.00"]},
                "actual": {"description": "what was seen; null: unknown", "examples": ["75.00"]},
                "matched": flag(example=True),
            }
        )
    ),
}
ROUTED: Final = {
    "placed": flag("it came to one of the shop's numbers", example=True),
    "claims": whole(1, "how many endpoints get it; with 0 it is kept and can be replayed"),
    "endpoints": listed(ref("EndpointClaim")),
}
DELIVERY: Final = {
    "id": ID,
    "webhook_id": WEBHOOK_ID,
    "endpoint_id": ID,
    "transaction_id": maybe(ID),
    "status": word(DeliveryStatus, DeliveryStatus.DELIVERED),
    "attempt_count": whole(1),
    "response_status_code": maybe(whole(200)),
    "response_body": maybe(text("ok")),
    "created_at": TIME,
    "delivered_at": maybe(TIME),
    "failed_at": maybe(TIME, shown=False),
    "event": EVENT,
    "kind": text(
        "endpoint", "`endpoint`, or an implicit target of a request's own or the default webhook"
    ),
    "run": whole(1, "counts redeliveries and replays"),
    "next_attempt_at": maybe(TIME, shown=False),
    "waiting": maybe(text("endpoint_paused", "why it waits"), shown=False),
    "error": ERROR,
    "sequence": whole(17, "rises within an endpoint; `X-Svc-Sequence`"),
    "test": TEST,
}
PAYLOAD: Final = free(
    {"webhook_id": "ocl_0123456789abcdefghijklmn", "type": "transaction.forwarded"},
    "the body that is sent, byte for byte",
)
DEAD_LETTER: Final = {
    "id": ID,
    "delivery_id": ID,
    "webhook_id": WEBHOOK_ID,
    "endpoint_id": maybe(ID, "null for a request's own webhook and the default one"),
    "url": text("https://shop.example/momo"),
    "event": EVENT,
    "transaction_id": maybe(ID),
    "reason": word(DeadLetterReason, DeadLetterReason.PERMANENT_4XX),
    "error_code": maybe(word(DeliveryError, DeliveryError.HTTP_ERROR)),
    "last_status_code": maybe(whole(404)),
    "last_response_body": maybe(text("not found")),
    "attempt_count": whole(1),
    "diagnosis": text(
        "The address answers, but nothing is there: check the path of the URL.",
        "what it failed of and what to do",
    ),
    "created_at": TIME,
    "replayed_at": maybe(TIME, shown=False),
    "replay_count": whole(0),
    "resolved_at": maybe(TIME, shown=False),
    "cause": text("not_found", "one word for programs; a new one may come"),
    "failed_at": TIME,
    "failing_since": maybe(TIME),
    "error_message": maybe(text("404 Not Found")),
    "delivery_status": word(DeliveryStatus, DeliveryStatus.FAILED),
    "test": TEST,
    "payment": shape(
        {
            "amount": maybe(AMOUNT),
            "currency": maybe(CURRENCY),
            "svc_code": maybe(text("7KQ2MX")),
        },
        note="what the payload tells of it; null where it tells nothing",
    ),
}
MESSAGE: Final = {
    "id": ID,
    "sender": text("MobileMoney"),
    "smsc": maybe(text("+233240000000")),
    "smsc_ts": maybe(TIME),
    "received_at": TIME,
    "state": word(MessageState, MessageState.PAYMENT),
    "kind": maybe(text("payment")),
    "provider": maybe(PROVIDER),
    "fields": free({"amount": "25.00", "currency": "GHS"}, "what was read in it"),
    "trusted": flag("it may be money", example=True),
    "reasons": listed(text("sender"), "why it is not trusted", shown=False),
}
BALANCE_ENTRY: Final = shape(
    {
        "message_id": ID,
        "this": flag("the one that is asked about", example=True),
        "transaction_id": maybe(text("0012345678")),
        "timestamp": TIME,
        "moved": maybe(AMOUNT),
        "balance": maybe(AMOUNT),
        "standing": word(Standing, Standing.ACCEPTED),
        "unaccounted": maybe(AMOUNT, shown=False),
    }
)
REVIEW_PAYMENT: Final = shape(
    {
        "id": ID,
        "provider": PROVIDER,
        "network": text("mtn"),
        "transaction_id": text("0012345678"),
        "amount": AMOUNT,
        "currency": CURRENCY,
        "balance": maybe(AMOUNT),
        "payer": PAYER,
        "reference_text": maybe(text("A7K2M9")),
        "timestamp": TIME,
        "received_at": TIME,
        "reversed_at": maybe(TIME, shown=False),
        "standing": text("review"),
        "reference": maybe(REFERENCE, "what it pays now"),
    }
)
REVIEW_MESSAGE: Final = shape(
    {
        **MESSAGE,
        "sender_type": text("alphanumeric"),
        "expected_senders": listed(text("MobileMoney")),
    }
)
REVIEW: Final = {
    "id": ID,
    "reason": word(ReviewReason, ReviewReason.PAYER_MISMATCH),
    "state": text("open"),
    "summary": text("Another number paid"),
    "why": text("The order expects its money from another number."),
    "what_to_do": text("Ask the customer who paid; approve it when the answer fits."),
    "needs_password": flag(),
    "amount": maybe(AMOUNT),
    "currency": maybe(CURRENCY),
    "created_at": TIME,
    "decided_at": maybe(TIME, shown=False),
    "decided_by": maybe(text("socket:1000"), shown=False),
    "notes": maybe(text("asked her"), shown=False),
    "test": TEST,
    "message": REVIEW_MESSAGE,
    "line": maybe(
        shape(
            {
                "payment_method_id": ID,
                "phone_number": PHONE,
                "account_name": text("Ama Provisions"),
                "provider": PROVIDER,
            }
        )
    ),
    "sim": shape({"device_id": maybe(ID), "slot_index": maybe(whole(0))}),
    "payment": maybe(REVIEW_PAYMENT),
    "request": maybe(
        shape(
            {
                **LIST_ITEM,
                **EXPECTATIONS,
                "cancelled_at": maybe(TIME, shown=False),
                "expected_payer_phone": maybe(PHONE),
                "expected_payer_name": maybe(text("Ama Mensah"), shown=False),
                "expected_telco_transaction_id": maybe(text("0012345678"), shown=False),
            }
        )
    ),
    "other_payment": maybe(REVIEW_PAYMENT, shown=False),
    "other_message": maybe(REVIEW_MESSAGE, shown=False),
    "orders_named": listed(ref("TransactionListItem"), shown=False),
    "suggestions": listed(
        shape(
            {
                "rank": whole(1, low=1),
                "reasons": listed(text("one_character_off")),
                "why": text("the code is one character off"),
                **LIST_ITEM,
                **EXPECTATIONS,
            }
        ),
        "orders that it may have been meant for, the likeliest first",
        shown=False,
    ),
    "balance_chain": maybe(
        shape(
            {
                "standing": word(Standing, Standing.ACCEPTED),
                "why": word(Why, Why.JOINS),
                "explanation": text("Its balance follows from that of the message beside it."),
                "doubts": listed(text("smsc"), shown=False),
                "currency": CURRENCY,
                "messages": listed(BALANCE_ENTRY),
            }
        ),
        shown=False,
    ),
    "details": free({}),
}

SHAPES: Final[dict[str, Schema]] = {
    "TransactionListItem": shape(LIST_ITEM),
    "Transaction": shape(TRANSACTION),
    "InitializedTransaction": shape(
        {
            "reference": REFERENCE,
            "svc_code": CODE,
            "public_slug": text("3kT9aXbQmZ0pLr7vYc2sWd", "of the hosted checkout page"),
            "amount": AMOUNT,
            "currency": CURRENCY,
            "status": PENDING,
            "expires_at": TIME,
            "created_at": TIME,
            "payer_sms_sent": flag("the code was queued to the customer by SMS", example=True),
            "checkout_url": text("https://pay.shop.example/pay/3kT9aXbQmZ0pLr7vYc2sWd"),
            "client_reference": maybe(text("order-1042")),
        }
    ),
    "Reconciliation": shape(
        {
            "reconciliation_id": text(
                "rec_5d1f0c3a9b7e4c2d8f6a1b0c9d8e7f6a", pattern="^rec_[0-9a-f]{32}$"
            ),
            "status": text("VERIFIED", const="VERIFIED"),
            "transaction_id": text("0012345678", "echoed"),
            "transaction_updated": flag(example=True),
            "new_transaction_status": word(("SUCCESS", "PARTIAL", "OVERPAID"), "SUCCESS"),
            "matched_amount": AMOUNT,
            "expected_amount": AMOUNT,
            "difference": {**AMOUNT, "examples": ["0.00"], "description": "matched minus expected"},
            "difference_type": word(("exact", "underpaid", "overpaid"), "exact"),
            "message": text("Paid exactly: GHS 25.00 received."),
        }
    ),
    "TransactionEvent": shape(
        {
            "id": text("412"),
            "type": text("transaction.verified"),
            "at": TIME,
            "actor": text("system"),
            "text": text(
                "GHS 25.00 from Ama Mensah (0012345678) paid it exactly, matched by the code that the payer typed."
            ),
            "payment_id": maybe(ID),
            "message_id": maybe(ID),
            "endpoint_id": maybe(ID, shown=False),
            "details": free({"status": "SUCCESS"}),
        }
    ),
    "PaymentMethod": shape(
        {
            "id": ID,
            "provider": PROVIDER,
            "provider_name": text("MTN Mobile Money"),
            "phone_number": PHONE,
            "account_name": text("Ama Provisions"),
            "merchant_code": maybe(text("123456"), shown=False),
            "sim": maybe(
                shape(
                    {
                        "device_id": maybe(ID),
                        "slot_index": maybe(whole(0)),
                        "device_name": maybe(text("till phone")),
                        "network": text("MTN"),
                    }
                ),
                "the SIM that it is on",
            ),
            "is_active": flag(example=True),
            "last_payment_at": maybe(TIME),
            "created_at": TIME,
            "updated_at": TIME,
        }
    ),
    "Phone": shape(
        {
            "device_id": ID,
            "name": text("till phone"),
            "reads_payments": flag(example=True),
            "sims": listed(
                shape(
                    {
                        "slot_index": whole(0),
                        "network": text("MTN"),
                        "iccid_last4": maybe(text("0421")),
                        "payment_method_id": maybe(ID, shown=False),
                        "phone_number": maybe(PHONE, shown=False),
                        "available": flag("no number is on it", example=True),
                    }
                )
            ),
        }
    ),
    "LineStatus": shape(
        {
            "ready": flag("every SIM has a number", example=True),
            "unplaced_payments": whole(0, "of the last 30 days: they matched none of the numbers"),
            "phones": listed(
                shape(
                    {
                        "device_id": ID,
                        "name": text("till phone"),
                        "reads_payments": flag(example=True),
                        "sims": listed(
                            shape(
                                {
                                    "slot_index": whole(0),
                                    "network": text("MTN"),
                                    "unplaced_payments": whole(0),
                                    "line": maybe(
                                        shape(
                                            {
                                                "payment_method_id": ID,
                                                "phone_number": PHONE,
                                                "provider": text("MTN Mobile Money"),
                                                "account_name": text("Ama Provisions"),
                                                "merchant_code": text(
                                                    "", "empty when there is none"
                                                ),
                                            }
                                        )
                                    ),
                                    "unaccounted": maybe(
                                        shape(
                                            {
                                                "came_in": AMOUNT,
                                                "went_out": AMOUNT,
                                                "currency": CURRENCY,
                                                "since": maybe(TIME),
                                            }
                                        ),
                                        "money that no message told of",
                                        shown=False,
                                    ),
                                }
                            )
                        ),
                    },
                    {
                        "trouble": shape(
                            {
                                "state": text("pin_needed"),
                                "text": maybe(text("the SIM is locked")),
                                "next": maybe(text("momo sims pin")),
                            },
                            note="why the phone shows no message, and what to type",
                        )
                    },
                )
            ),
        }
    ),
    "Endpoint": shape(ENDPOINT),
    "Rule": shape(
        {
            "id": ID,
            "endpoint_id": ID,
            "name": text("rents"),
            "position": whole(1, "rules are tried in this order"),
            "enabled": flag(example=True),
            "filter": FILTER,
            "created_at": TIME,
            "updated_at": TIME,
        }
    ),
    "RuleTrial": shape(TRIAL),
    "EndpointClaim": shape(
        {
            "endpoint_id": ID,
            "url": text("https://shop.example/momo"),
            "description": text("the till"),
            "is_active": flag("a paused endpoint claims too: its deliveries wait", example=True),
            "catch_all": flag(example=True),
            "claims": flag("it gets the payment", example=True),
            "claimed_by": maybe(word(("rule", "catch_all"), "rule")),
            "rule_id": maybe(ID),
            "reason": text("Its rule rents matches."),
            "rules": listed(
                shape(
                    {
                        "id": ID,
                        "name": text("rents"),
                        "position": whole(1),
                        "enabled": flag(example=True),
                        "filter": FILTER,
                        **TRIAL,
                    }
                )
            ),
        }
    ),
    "Delivery": shape(DELIVERY),
    "DeliveryInFull": shape(
        {**DELIVERY, "url": text("https://shop.example/momo"), "payload": PAYLOAD}
    ),
    "Attempt": shape(
        {
            "run": whole(1),
            "number": whole(1),
            "started_at": TIME,
            "finished_at": maybe(TIME, "null while it is under way"),
            "duration_ms": maybe(whole(140)),
            "response_status_code": maybe(whole(200)),
            "error": ERROR,
            "counted": maybe(
                flag(
                    "it counts towards the endpoint's failures; null while it is under way",
                    example=True,
                )
            ),
        }
    ),
    "DeadLetter": shape(DEAD_LETTER),
    "DeadLetterInFull": shape({**DEAD_LETTER, "payload": PAYLOAD}),
    "MissingPayment": shape(
        {
            "transaction_id": ID,
            "reference": REFERENCE,
            "amount": AMOUNT,
            "currency": CURRENCY,
            "telco_transaction_id": text("0012345678"),
            "received_at": TIME,
            "state": word(("missing", *DeliveryStatus), "missing"),
            "delivery_id": maybe(ID, shown=False),
        }
    ),
    "ApiKey": shape(
        {
            "id": ID,
            "name": text("web shop"),
            "mode": word(Mode, Mode.LIVE),
            "kind": word(KeyKind, KeyKind.SECRET),
            "hint": text("svc_live_sk_...x7Qd"),
            "scopes": listed(word(Scope, Scope.TRANSACTIONS_READ)),
            "state": word(("active", "revoked", "expired"), "active"),
            "created_at": TIME,
            "expires_at": maybe(TIME, shown=False),
            "revoked_at": maybe(TIME, shown=False),
            "last_used_at": maybe(TIME),
            "last_used_from": maybe(
                text("102.176.10.7", "the address that used it last, or `socket`")
            ),
        }
    ),
    "Review": shape(REVIEW),
    "ApprovedPayer": shape(
        {
            "id": ID,
            "phone_number": PHONE,
            "name": text("AMA MENSAH"),
            "state": word(("approved", "revoked"), "approved"),
            "review_id": maybe(ID),
            "approved_by": text("socket:1000"),
            "approved_at": TIME,
            "revoked_by": maybe(text("socket:1000"), shown=False),
            "revoked_at": maybe(TIME, shown=False),
            "test": TEST,
        }
    ),
    "Message": shape(
        {
            **MESSAGE,
            "line": maybe(PHONE, "the merchant number that it came to"),
            "device_id": maybe(ID),
            "payment_id": maybe(ID),
            "slot_index": maybe(whole(0)),
            "parts": shape({"total": whole(1), "seen": whole(1)}),
            "test": TEST,
            "body": maybe(text("Payment received for GHS 25.00 from AMA MENSAH ...")),
        }
    ),
    "RepeatedMessage": shape(
        {
            "state": text("duplicate", const="duplicate"),
            "sender": text("MobileMoney"),
            "body": text("Payment received ..."),
        },
        note="the same SMS, to the letter, came in before",
    ),
}


def told(members: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """Describe a `meta`: any may hold warnings, as any call may name parameters that nobody knows."""
    return shape(members, {**(optional or {}), "warnings": WARNINGS})


_META: Final = told({}, {"request_id": REQUEST_ID})


def answer(
    data: Schema, meta: Schema | None = None, *, has_meta: bool = False, **top: Schema
) -> Schema:
    """Describe `{success: true, data, ...top, meta?}`."""
    members: dict[str, Schema] = {
        "success": {"type": "boolean", "const": True, "examples": [True]},
        "data": data,
        **top,
    }
    of_call = {"meta": meta or _META}
    return shape({**members, **of_call}) if has_meta else shape(members, of_call)


def page(item: str, **more: Schema) -> Schema:
    """Describe a list of an offset, with what it was cut from."""
    meta = told({"limit": whole(50), "offset": whole(0), "total": whole(1)})
    return answer(listed(ref(item)), meta, has_meta=True, **more)


def bare(members: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """Describe an answer without `data`: `{success: true, ..., meta?}`."""
    success: dict[str, Schema] = {"success": {"type": "boolean", "const": True, "examples": [True]}}
    return shape({**success, **members}, {**(optional or {}), "meta": _META})


_SECRET: Final = text("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "the signing secret")
_UNTIL: Final = maybe(TIME, "until when the old secret signs too", shown=False)
_COUNT: Final = whole(0)

ANSWERS: Final[dict[str, Schema]] = {
    "initialized": answer(
        ref("InitializedTransaction"),
        told({"request_id": REQUEST_ID, "idempotency_key": maybe(text("order-1042"))}),
        has_meta=True,
    ),
    "transactions": answer(
        listed(ref("TransactionListItem")),
        told({}),
        pagination=shape(
            {
                "page": whole(1, low=1),
                "per_page": whole(50, low=1),
                "total": whole(1),
                "total_pages": whole(1),
                "has_next": flag(),
                "has_prev": flag(),
            }
        ),
    ),
    "transaction": answer(ref("Transaction")),
    "transaction by client reference": answer(
        ref("Transaction"),
        told({"matches": whole(1, "requests with this client_reference", 1)}),
        has_meta=True,
    ),
    "reconciliation": answer(ref("Reconciliation")),
    "transaction events": page("TransactionEvent"),
    "sandbox outcome": answer(
        shape(
            {
                "message": {"anyOf": [ref("Message"), ref("RepeatedMessage")]},
                "transaction": maybe(ref("Transaction")),
                "request": maybe(ref("Transaction"), shown=False),
                "review": maybe(ref("Review"), shown=False),
            }
        )
    ),
    "reviews": page("Review"),
    "review": answer(ref("Review")),
    "decided review": answer(ref("Review"), transaction=maybe(ref("Transaction"))),
    "approved payers": page("ApprovedPayer"),
    "approved payer": answer(ref("ApprovedPayer")),
    "session": answer(shape({"token": text("eyJhbGciOiJIUzI1NiJ9.e30.x"), "expires_at": TIME})),
    "changed": answer(shape({"changed": flag(example=True)})),
    "keys": answer(listed(ref("ApiKey"))),
    "key": answer(ref("ApiKey")),
    "new key": answer(
        ref("ApiKey"), key=text("svc_live_sk_...", "the key itself, shown this once")
    ),
    "rotated key": answer(
        ref("ApiKey"),
        key=text("svc_live_sk_...", "the new key itself, shown this once"),
        previous=ref("ApiKey"),
    ),
    "phones": answer(listed(ref("Phone"))),
    "payment methods": answer(listed(ref("PaymentMethod"))),
    "payment method": answer(ref("PaymentMethod")),
    "claimed": bare(
        {
            "claimed": whole(3),
            "dry_run": flag(),
            "from": maybe(TIME, "the window to replay: [from, to)"),
            "to": maybe(TIME),
        },
        {
            "amounts": listed(
                shape({"currency": CURRENCY, "amount": AMOUNT}),
                "what they come to; in a dry run, to those who may read transactions",
            ),
            "payments": listed(
                shape(
                    {
                        "telco_transaction_id": text("0012345678"),
                        "amount": AMOUNT,
                        "currency": CURRENCY,
                        "payer": PAYER,
                        "received_at": TIME,
                    }
                ),
                "the first 100 of them; as `amounts`",
            ),
        },
    ),
    "lines": answer(ref("LineStatus")),
    "endpoints": answer(
        listed(ref("Endpoint")),
        told(
            {"unclaimed_payments": whole(0, "of the last 30 days, claimed by and sent to nobody")}
        ),
        has_meta=True,
    ),
    "endpoint": answer(
        ref("Endpoint"),
        told(
            {},
            {
                "queued": whole(2, "deliveries that a resume set going"),
                "last_error": shape(
                    {
                        "at": TIME,
                        "response_status_code": maybe(whole(503)),
                        "error": ERROR,
                        "diagnosis": text("The receiver was overloaded.", "and what mends it"),
                    },
                    note="what it answered when it failed last, when one endpoint is asked for",
                ),
            },
        ),
    ),
    "new endpoint": answer(ref("Endpoint"), secret=_SECRET),
    "rules": answer(listed(ref("Rule"))),
    "rule": answer(ref("Rule")),
    "deleted rule": bare({"deleted": flag(example=True)}),
    "rule trial": answer(shape({"filter": maybe(ref("RuleTrial"), shown=False), **ROUTED})),
    "routing": answer(
        shape(
            {
                "transaction_id": ID,
                "reference": REFERENCE,
                "status": STATUS,
                "payment": maybe(
                    shape(
                        {
                            "amount": AMOUNT,
                            "currency": CURRENCY,
                            "telco_transaction_id": text("0012345678"),
                            "received_at": TIME,
                        }
                    ),
                    "null while nothing has verified it",
                ),
                "decisions": listed(
                    shape({"decided_at": TIME, "reference": REFERENCE, **ROUTED}),
                    "oldest first, by the rules of then",
                ),
                "today": maybe(shape(ROUTED), "what the rules of today say"),
            }
        )
    ),
    "deleted endpoint": bare(
        {"deleted": flag(example=True), "undelivered": _COUNT},
        {"hint": text("They are dead letters now: replay their time to another endpoint.")},
    ),
    "endpoint test": shape(
        {
            "success": flag("it answered 2xx", example=True),
            "status_code": whole(200, "what the endpoint answered; 0 when nothing did"),
            "response_body": text("ok"),
            "message": text("The endpoint answered 200 in 140 ms."),
        },
        {"meta": _META},
    ),
    "secret": bare({"secret": _SECRET, "previous_secret_expires_at": _UNTIL}),
    "rotated endpoint secret": answer(
        ref("Endpoint"), secret=_SECRET, previous_secret_expires_at=_UNTIL
    ),
    "rotated account secret": answer(
        shape(
            {
                "default_url": maybe(
                    text("https://shop.example/momo"), "the account's default webhook"
                )
            }
        ),
        secret=_SECRET,
        previous_secret_expires_at=_UNTIL,
    ),
    "deliveries": page("Delivery"),
    "delivery": answer(ref("DeliveryInFull")),
    "redelivered": answer(ref("Delivery")),
    "attempts": page("Attempt"),
    "replay": bare(
        {
            "enqueued": whole(12),
            "skipped_delivered": _COUNT,
            "skipped_in_flight": _COUNT,
            "skipped_not_claimed": _COUNT,
            "skipped_reversed": _COUNT,
            "already_delivered_elsewhere": _COUNT,
            "has_more": flag(),
            "next_cursor": maybe(
                text("eyJ..."), "goes on after the last payment looked at", shown=False
            ),
            "dry_run": flag(),
            "meta": _META,
        },
        {"skipped_failed": _COUNT, "skipped_historical": _COUNT},
    ),
    "gap": answer(
        listed(ref("MissingPayment")),
        told(
            {
                "limit": whole(100),
                "looked_at": whole(40),
                "delivered": whole(39),
                "missing": whole(1),
                "has_more": flag(),
                "next_cursor": maybe(text("eyJ..."), shown=False),
            }
        ),
        has_meta=True,
    ),
    "dead letters": page("DeadLetter"),
    "dead letter": answer(ref("DeadLetterInFull")),
    "replayed dead letter": answer(ref("DeadLetter"), delivery=ref("Delivery")),
    "replayed dead letters": answer(
        shape(
            {
                "replayed": listed(ID),
                "failed": listed(
                    shape(
                        {
                            "id": text("x"),
                            "code": text("DEAD_LETTER_NOT_FOUND"),
                            "message": text("There is no such dead letter."),
                        }
                    ),
                    shown=False,
                ),
            }
        ),
        replayed=whole(1),
    ),
}

_FORWARDED: Final = shape(
    {
        "transaction_id": ID,
        "reference": REFERENCE,
        "svc_code": maybe(CODE),
        "status": STATUS,
        "amount": AMOUNT,
        "currency": CURRENCY,
        **AMOUNTS,
        "client_reference": maybe(text("order-1042")),
        "meta": free({"table": 4}),
        "payer": PAYER,
        "telco": shape(
            {
                "provider": text("mtn"),
                "transaction_id": text("0012345678"),
                "timestamp": TIME,
                "reference_text": maybe(text("A7K2M9")),
            }
        ),
        "payment_method": maybe(
            shape(
                {
                    "id": ID,
                    "phone_number": PHONE,
                    "account_name": text("Ama Provisions"),
                    "provider": PROVIDER,
                }
            )
        ),
        "sim": shape({"device_id": maybe(ID), "slot_index": maybe(whole(0))}),
        "received_at": TIME,
        "completed_at": maybe(TIME),
        "placed": flag("it came to one of the merchant's numbers", example=True),
        "late": flag(),
        "matched_by": maybe(word(("code", "telco_id", "reconcile", "review", "none"), "code")),
    },
    {
        "reversed_at": TIME,
        "raw": maybe(text("Payment received ..."), "the SMS, for an endpoint with `include_raw`"),
    },
)


def _event(kind: EventKind, data: Schema) -> Schema:
    return shape(
        {
            "webhook_id": WEBHOOK_ID,
            "type": text(kind, const=str(kind)),
            "timestamp": TIME,
            "api_version": text("1", const="1"),
            "test": TEST,
            "livemode": flag(example=True),
            "data": data,
        }
    )


EVENTS: Final[dict[EventKind, tuple[str, Schema]]] = {
    EventKind.FORWARDED: (
        "A verified payment is forwarded to an endpoint that claims it.",
        _event(EventKind.FORWARDED, _FORWARDED),
    ),
    EventKind.COMPLETED: (
        "A request was paid.",
        _event(
            EventKind.COMPLETED,
            shape(
                {
                    "transaction_id": ID,
                    **TRANSACTION,
                    "match": shape(
                        {
                            "matched_by": maybe(text("code")),
                            "late": flag(),
                            "reconciliation_id": maybe(
                                text("rec_5d1f0c3a9b7e4c2d8f6a1b0c9d8e7f6a"), shown=False
                            ),
                        }
                    ),
                },
                {"supersedes_reference": REFERENCE},
            ),
        ),
    ),
    EventKind.EXPIRED: (
        "A request's time passed unpaid.",
        _event(
            EventKind.EXPIRED,
            shape({"transaction_id": ID, **TRANSACTION, "expires_at": maybe(TIME)}),
        ),
    ),
    EventKind.REVIEW_REQUIRED: (
        "Money came for a request, and a person must decide whether it counts.",
        _event(
            EventKind.REVIEW_REQUIRED,
            shape(
                {
                    "transaction_id": ID,
                    **TRANSACTION,
                    "review": shape(
                        {
                            "id": ID,
                            "reason": word(ReviewReason, ReviewReason.PAYER_MISMATCH),
                            "amount": maybe(AMOUNT, "what is held; it has paid nothing yet"),
                            "currency": maybe(CURRENCY),
                            "telco_transaction_id": maybe(text("0012345678")),
                        }
                    ),
                }
            ),
        ),
    ),
    EventKind.UPDATED: (
        "What was forwarded of a payment is different now.",
        _event(
            EventKind.UPDATED,
            shape(
                {
                    **{name: _FORWARDED["properties"][name] for name in _FORWARDED["required"]},
                    "changed": listed(text("payment_method"), "the members that are different"),
                },
                {"supersedes_reference": REFERENCE, "reversed_at": TIME},
            ),
        ),
    ),
    EventKind.REVERSED: (
        "The network took a payment back.",
        _event(
            EventKind.REVERSED,
            shape(
                {
                    "transaction_id": ID,
                    **TRANSACTION,
                    "reversal": shape(
                        {"amount": maybe(AMOUNT), "currency": CURRENCY, "timestamp": TIME}
                    ),
                }
            ),
        ),
    ),
}
"""The bodies of webhooks, by what they tell (decisions.md section 5)."""
