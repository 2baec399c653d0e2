"""Schemas of the API's answers and webhooks for the OpenAPI document, each with an example.

The answers are not made from these schemas; the tests check every answer against them, with no member missing or added. The
module is imported only when the document is requested.
"""

from typing import Final

from daemon.api.openapi.json_schema import (
    Schema,
    flag,
    free,
    list_of,
    nullable,
    one_of,
    ref,
    shape,
    text,
    whole,
)
from daemon.core.messages.balance_chain import Standing, Why
from daemon.core.names import canonical_names
from daemon.core.webhooks.delivery import DeliveryError
from daemon.wire import (
    EventKind,
    MessageState,
    ReviewReason,
    TransactionStatus,
    TrustLevel,
)

ID: Final = text("0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f", format="uuid")
TIME: Final = text("2026-11-21T06:31:00.123Z", "ISO 8601, UTC", format="date-time")
AMOUNT: Final = text("25.00", "a decimal with two places", pattern=r"^-?[0-9]+\.[0-9]{2}$")
CURRENCY: Final = text("GHS")
PHONE: Final = text("+233241234567", "E.164")
REFERENCE: Final = text(
    "svc_trx_0192f0c17d2a7c3e9a543f2b8c1d4e5f",
    "the transaction's public id",
    pattern="^svc_trx_[0-9a-f]{32}$",
)
CODE: Final = text("A7K2M9", "the code that the customer types as payment reference")
PROVIDER: Final = one_of(canonical_names(), "momo_mtn")
STATUS: Final = one_of(TransactionStatus, TransactionStatus.SUCCESS)
PENDING: Final = one_of(TransactionStatus, TransactionStatus.PENDING)
TEST: Final = flag("true for everything that is not real money")
WEBHOOK_ID: Final = text(
    "ocl_0123456789abcdefghijklmn", "identical across replays", pattern="^ocl_[0-9a-z]{24}$"
)
EVENT: Final = one_of(EventKind, EventKind.FORWARDED)
WARNINGS: Final = list_of(
    text("Unknown field `colour` was ignored."),
    "ignored or lowered values, and other remarks",
    shown=False,
)
REQUEST_ID: Final = text("req_5d1f0c3a9b7e4c2d8f6a1b0c9d8e7f6a", pattern="^req_[0-9a-f]{32}$")
ERROR: Final = nullable(
    shape({"code": one_of(DeliveryError, DeliveryError.HTTP_ERROR), "message": text("")}),
    shown=False,
)
_SOURCE: Final = nullable(one_of(("receipt", "request"), "receipt"))
PAYER_SOURCE: Final = shape(
    {"phone_number": _SOURCE, "name": _SOURCE},
    note="where each was read: on the receipt, else on the request; null: unknown",
)
PAYER: Final = {
    "payer": shape({"phone_number": nullable(PHONE), "name": nullable(text("Ama Mensah"))}),
    "payer_source": PAYER_SOURCE,
}
AMOUNTS: Final = {
    "expected_amount": nullable(AMOUNT, "requested amount; null for a payment without a request"),
    "actual_amount": nullable(AMOUNT, "received amount"),
    "difference": nullable(AMOUNT, "received minus expected; null when exact", shown=False),
    "difference_type": nullable(one_of(("EXACT", "UNDERPAID", "OVERPAID"), "EXACT")),
}
_NOT_RECEIVING: Final = nullable(
    text("its modem is not connected"), "why no message can come", shown=False
)
BRANCH_ID: Final = text("br_7k2mxq9t")
OF_BRANCH: Final = {"branch_id": BRANCH_ID, "branch": text("kumasi", "the branch's name, in lists")}
"""At a hub, of the copy of a branch's row."""
LIST_ITEM: Final = {
    "reference": REFERENCE,
    "svc_code": nullable(CODE),
    "status": STATUS,
    **AMOUNTS,
    "currency": CURRENCY,
    "payer_phone": nullable(PHONE),
    "payer_name": nullable(text("Ama Mensah")),
    "payer_source": PAYER_SOURCE,
    "created_at": TIME,
    "completed_at": nullable(TIME),
    "origin": one_of(("request", "open"), "request"),
    "test": TEST,
    "reversed_at": nullable(TIME, "the network took the money back", shown=False),
}
TRANSACTION: Final = {
    "reference": REFERENCE,
    "svc_code": nullable(CODE),
    "status": STATUS,
    **AMOUNTS,
    "currency": CURRENCY,
    "client_reference": nullable(text("order-1042")),
    "processing_time_ms": nullable(whole(85, "from the message's arrival to verification")),
    **PAYER,
    "telco": shape(
        {
            "provider": nullable(text("mtn", "the mobile network")),
            "transaction_id": nullable(
                text("0012345678", "the network's own id; leading zeros matter")
            ),
            "timestamp": nullable(TIME),
        }
    ),
    "meta": free({"table": 4}, "as it was given to initialize"),
    "timeline": shape(
        {
            "created_at": TIME,
            "pending_at": nullable(TIME),
            "processing_at": nullable(TIME),
            "completed_at": nullable(TIME),
        }
    ),
    "origin": one_of(("request", "open"), "request"),
    "test": TEST,
    "matched_by": nullable(one_of(("code", "telco_id", "reconcile", "review", "none"), "code")),
    "late": flag("paid after the transaction had expired"),
    "rejected": flag("an operator rejected the payment"),
    "cancelled_at": nullable(TIME, shown=False),
    "reversed_at": nullable(TIME, "the network took the money back", shown=False),
    "merged_into": nullable(REFERENCE, "the transaction that this payment pays now", shown=False),
}
EXPECTATIONS: Final = {
    "expires_at": nullable(TIME),
    "client_reference": nullable(text("order-1042")),
}
FILTER: Final = free(
    {"amount": {"$gte": "50.00"}}, "conditions on the members of a payload's `data`, joined by AND"
)
TRIAL: Final = {
    "matched": flag(example=True),
    "clauses": list_of(
        shape(
            {
                "path": text("amount.$gte", "its place in the filter"),
                "field": text("amount"),
                "operator": text("$gte"),
                "expected": {"description": "as written in the filter", "examples": ["50.00"]},
                "actual": {
                    "description": "the payment's value; null: unknown",
                    "examples": ["75.00"],
                },
                "matched": flag(example=True),
            }
        )
    ),
}
ROUTED: Final = {
    "placed": flag("it came to one of the shop's numbers", example=True),
    "claims": whole(1, "number of endpoints that get it; with 0 it is kept and can be replayed"),
    "endpoints": list_of(ref("EndpointClaim")),
}
MESSAGE: Final = {
    "id": ID,
    "sender": text("MobileMoney"),
    "smsc": nullable(text("+233240000000")),
    "smsc_ts": nullable(TIME),
    "received_at": TIME,
    "state": one_of(MessageState, MessageState.PAYMENT),
    "kind": nullable(text("payment")),
    "provider": nullable(PROVIDER),
    "fields": free({"amount": "25.00", "currency": "GHS"}, "the values read from it"),
    "trusted": flag("it passed all rules of trust, so it may become a payment", example=True),
    "reasons": list_of(text("sender"), "why it is not trusted", shown=False),
}
BALANCE_ENTRY: Final = shape(
    {
        "message_id": ID,
        "this": flag("the message under review", example=True),
        "transaction_id": nullable(text("0012345678")),
        "timestamp": TIME,
        "moved": nullable(AMOUNT),
        "balance": nullable(AMOUNT),
        "standing": one_of(Standing, Standing.ACCEPTED),
        "unaccounted": nullable(AMOUNT, shown=False),
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
        "balance": nullable(AMOUNT),
        **PAYER,
        "reference_text": nullable(text("A7K2M9")),
        "timestamp": TIME,
        "received_at": TIME,
        "reversed_at": nullable(TIME, shown=False),
        "standing": text("review"),
        "reference": nullable(REFERENCE, "the transaction that it pays now"),
    }
)
REVIEW_MESSAGE: Final = shape(
    {
        **MESSAGE,
        "sender_type": text("alphanumeric"),
        "expected_senders": list_of(text("MobileMoney")),
    }
)
REVIEW: Final = {
    "id": ID,
    "reason": one_of(ReviewReason, ReviewReason.PAYER_MISMATCH),
    "state": text("open"),
    "summary": text("Another number paid"),
    "why": text("The transaction expects its money from another number."),
    "by_itself": nullable(
        text(
            "It waits for your decision.", "what releases it without a decision; null once decided"
        )
    ),
    "what_to_do": text("Ask the customer who paid; approve it when the answer fits."),
    "needs_password": flag(),
    "amount": nullable(AMOUNT),
    "currency": nullable(CURRENCY),
    "created_at": TIME,
    "decided_at": nullable(TIME, shown=False),
    "decided_by": nullable(text("socket:1000"), shown=False),
    "notes": nullable(text("asked her"), shown=False),
    "test": TEST,
    "message": REVIEW_MESSAGE,
    "line": nullable(
        shape(
            {
                "payment_method_id": ID,
                "phone_number": PHONE,
                "account_name": text("Ama Provisions"),
                "provider": PROVIDER,
            }
        )
    ),
    "sim": shape({"device_id": nullable(ID), "slot_index": nullable(whole(0))}),
    "payment": nullable(REVIEW_PAYMENT),
    "request": nullable(
        shape(
            {
                **LIST_ITEM,
                **EXPECTATIONS,
                "cancelled_at": nullable(TIME, shown=False),
                "expected_payer_phone": nullable(PHONE),
                "expected_payer_name": nullable(text("Ama Mensah"), shown=False),
                "expected_telco_transaction_id": nullable(text("0012345678"), shown=False),
            }
        )
    ),
    "other_payment": nullable(REVIEW_PAYMENT, shown=False),
    "other_message": nullable(REVIEW_MESSAGE, shown=False),
    "orders_named": list_of(ref("TransactionListItem"), shown=False),
    "suggestions": list_of(
        shape(
            {
                "rank": whole(1, low=1),
                "reasons": list_of(text("one_character_off")),
                "why": text("the code is one character off"),
                **LIST_ITEM,
                **EXPECTATIONS,
            }
        ),
        "transactions that it may be meant for, the likeliest first",
        shown=False,
    ),
    "balance_chain": nullable(
        shape(
            {
                "standing": one_of(Standing, Standing.ACCEPTED),
                "why": one_of(Why, Why.JOINS),
                "explanation": text("Its balance follows from that of the message beside it."),
                "doubts": list_of(text("smsc"), shown=False),
                "currency": CURRENCY,
                "messages": list_of(BALANCE_ENTRY),
            }
        ),
        shown=False,
    ),
    "details": free({}),
}

SHAPES: Final[dict[str, Schema]] = {
    # Empty: declared (`schemas.py`). It stands here for the order of the document.
    "TransactionListItem": shape(LIST_ITEM, OF_BRANCH),
    "Transaction": shape(TRANSACTION, OF_BRANCH),
    "FoundTransaction": shape(
        {
            **TRANSACTION,
            "held_review_id": nullable(
                ID, "open review of a held message or payment that names it", shown=False
            ),
        }
    ),
    "InitializedTransaction": {},
    "Reconciliation": {},
    "TransactionEvent": shape(
        {
            "id": text("412"),
            "type": text("transaction.verified"),
            "at": TIME,
            "actor": text("system"),
            "text": text(
                "GHS 25.00 from Ama Mensah (0012345678) paid it exactly, matched by the code that the payer typed."
            ),
            "payment_id": nullable(ID),
            "message_id": nullable(ID),
            "endpoint_id": nullable(ID, shown=False),
            "details": free({"status": "SUCCESS"}),
        }
    ),
    "PaymentMethod": {},
    "Phone": {},
    "LineStatus": shape(
        {
            "ready": flag("every SIM has a number", example=True),
            "receiving": flag("messages can come to every line now", example=True),
            "receiving_reason": _NOT_RECEIVING,
            "unplaced_payments": whole(0, "of the last 30 days: they matched none of the numbers"),
            "phones": list_of(
                shape(
                    {
                        "device_id": ID,
                        "name": text("till phone"),
                        "reads_payments": flag(example=True),
                        "sims": list_of(
                            shape(
                                {
                                    "slot_index": whole(0),
                                    "network": text("MTN"),
                                    "receiving": flag(example=True),
                                    "receiving_reason": _NOT_RECEIVING,
                                    "unplaced_payments": whole(0),
                                    "line": nullable(
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
                                    "unaccounted": nullable(
                                        shape(
                                            {
                                                "came_in": AMOUNT,
                                                "went_out": AMOUNT,
                                                "currency": CURRENCY,
                                                "since": nullable(TIME),
                                            }
                                        ),
                                        "money that came in or went out without a message",
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
                                "text": nullable(text("the SIM is locked")),
                                "next": nullable(text("momo lines pin")),
                            },
                            note="why the phone shows no message, and the command to type",
                        )
                    },
                )
            ),
        }
    ),
    "Endpoint": {},
    "Rule": {},
    "RuleTrial": shape(TRIAL),
    "EndpointClaim": shape(
        {
            "endpoint_id": ID,
            "url": text("https://shop.example/momo"),
            "description": text("the till"),
            "is_active": flag("a paused endpoint claims too: its deliveries wait", example=True),
            "catch_all": flag(example=True),
            "claims": flag("it gets the payment", example=True),
            "claimed_by": nullable(one_of(("rule", "catch_all"), "rule")),
            "rule_id": nullable(ID),
            "reason": text("Its rule rents matches."),
            "rules": list_of(
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
    "Delivery": {},
    "DeliveryInFull": {},
    "Attempt": {},
    "DeadLetter": {},
    "DeadLetterInFull": {},
    "MissingPayment": {},
    "ApiKey": {},
    "Review": shape(REVIEW, OF_BRANCH),
    "ApprovedPayer": shape(
        {
            "id": ID,
            "phone_number": PHONE,
            "name": text("AMA MENSAH"),
            "state": one_of(("approved", "revoked"), "approved"),
            "review_id": nullable(ID),
            "approved_by": text("socket:1000"),
            "approved_at": TIME,
            "revoked_by": nullable(text("socket:1000"), shown=False),
            "revoked_at": nullable(TIME, shown=False),
            "test": TEST,
        }
    ),
    "Message": shape(
        {
            **MESSAGE,
            "line": nullable(PHONE, "the merchant number that it came to"),
            "device_id": nullable(ID),
            "payment_id": nullable(ID),
            "slot_index": nullable(whole(0)),
            "parts": shape({"total": whole(1), "seen": whole(1)}),
            "test": TEST,
            "recovered": flag(
                "it was lost with the database, and read again from the message journal"
            ),
            "source": text("modem", "its source in [[sources]]"),
            "trust_level": one_of(TrustLevel, TrustLevel.FULL),
            "synthesised": flag("its source gave a text, and momo made the PDU"),
            "body": nullable(text("Payment received for GHS 25.00 from AMA MENSAH ...")),
        }
    ),
    "RepeatedMessage": shape(
        {
            "state": text("duplicate", const="duplicate"),
            "sender": text("MobileMoney"),
            "body": text("Payment received ..."),
        },
        note="exactly the same SMS came in before",
    ),
}


def meta_schema(members: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """Return the schema of a `meta`; each may have warnings, because any call may have unknown parameters."""
    return shape(members, {**(optional or {}), "warnings": WARNINGS})


_META: Final = meta_schema({}, {"request_id": REQUEST_ID})


def answer(
    data: Schema, meta: Schema | None = None, *, has_meta: bool = False, **top: Schema
) -> Schema:
    """Return the schema of `{success: true, data, ...top, meta?}`."""
    members: dict[str, Schema] = {
        "success": {"type": "boolean", "const": True, "examples": [True]},
        "data": data,
        **top,
    }
    of_call = {"meta": meta or _META}
    return shape({**members, **of_call}) if has_meta else shape(members, of_call)


def page(item: str, *, cursor: bool = False, **more: Schema) -> Schema:
    """Return the schema of a page of a list, with limit, offset and total, and the cursor of the next page."""
    members = {"limit": whole(50), "offset": whole(0), "total": whole(1)}
    if cursor:
        about = "the `after` of the next page; null on the last one"
        members["next_cursor"] = nullable(text("WzQxXQ"), about, shown=False)
    return answer(list_of(ref(item)), meta_schema(members), has_meta=True, **more)


def bare(members: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """Return the schema of an answer without `data`: `{success: true, ..., meta?}`."""
    success: dict[str, Schema] = {"success": {"type": "boolean", "const": True, "examples": [True]}}
    return shape({**success, **members}, {**(optional or {}), "meta": _META})


_SECRET: Final = text("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "the signing secret")
_UNTIL: Final = nullable(TIME, "the old secret also signs until then", shown=False)
_COUNT: Final = whole(0)

ANSWERS: Final[dict[str, Schema]] = {
    "transactions": answer(
        list_of(ref("TransactionListItem")),
        meta_schema({}),
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
    "android post": answer(shape({"result": one_of(("stored", "heard", "ignored"), "stored")})),
    "transaction": answer(ref("Transaction")),
    "found transaction": answer(ref("FoundTransaction")),
    "transaction by client reference": answer(
        ref("FoundTransaction"),
        meta_schema({"matches": whole(1, "transactions with this client_reference", 1)}),
        has_meta=True,
    ),
    "transaction events": page("TransactionEvent"),
    "sandbox outcome": answer(
        shape(
            {
                "message": {"anyOf": [ref("Message"), ref("RepeatedMessage")]},
                "transaction": nullable(ref("Transaction")),
                "request": nullable(ref("Transaction"), shown=False),
                "review": nullable(ref("Review"), shown=False),
            }
        )
    ),
    "reviews": page("Review"),
    "review": answer(ref("Review")),
    "decided review": answer(
        ref("Review"),
        transaction=nullable(ref("Transaction")),
        settled=whole(2, "other held messages that this decision settled"),
    ),
    "approved payers": page("ApprovedPayer"),
    "approved payer": answer(ref("ApprovedPayer")),
    "claimed": bare(
        {
            "claimed": whole(3),
            "dry_run": flag(),
            "from": nullable(TIME, "the window to replay: [from, to)"),
            "to": nullable(TIME),
        },
        {
            "amounts": list_of(
                shape({"currency": CURRENCY, "amount": AMOUNT}),
                "totals by currency; in a dry run, with the scope to read transactions",
            ),
            "payments": list_of(
                shape(
                    {
                        "telco_transaction_id": text("0012345678"),
                        "amount": AMOUNT,
                        "currency": CURRENCY,
                        **PAYER,
                        "received_at": TIME,
                    }
                ),
                "the first 100 of them; under the same conditions as `amounts`",
            ),
        },
    ),
    "lines": answer(ref("LineStatus")),
    "rule trial": answer(shape({"filter": nullable(ref("RuleTrial"), shown=False), **ROUTED})),
    "routing": answer(
        shape(
            {
                "transaction_id": ID,
                "reference": REFERENCE,
                "status": STATUS,
                "payment": nullable(
                    shape(
                        {
                            "amount": AMOUNT,
                            "currency": CURRENCY,
                            "telco_transaction_id": text("0012345678"),
                            "received_at": TIME,
                        }
                    ),
                    "null until a payment has verified it",
                ),
                "decisions": list_of(
                    shape({"decided_at": TIME, "reference": REFERENCE, **ROUTED}),
                    "oldest first, by the rules of that time",
                ),
                "today": nullable(shape(ROUTED), "by the present rules"),
            }
        )
    ),
    "secret": bare({"secret": _SECRET, "previous_secret_expires_at": _UNTIL}),
    "rotated endpoint secret": answer(
        ref("Endpoint"), secret=_SECRET, previous_secret_expires_at=_UNTIL
    ),
    "rotated account secret": answer(
        shape(
            {
                "default_url": nullable(
                    text("https://shop.example/momo"), "the account's default webhook"
                )
            }
        ),
        secret=_SECRET,
        previous_secret_expires_at=_UNTIL,
    ),
    "replay": bare(
        {
            "enqueued": whole(12),
            "skipped_delivered": _COUNT,
            "skipped_in_flight": _COUNT,
            "skipped_not_claimed": _COUNT,
            "skipped_reversed": _COUNT,
            "already_delivered_elsewhere": _COUNT,
            "has_more": flag(),
            "next_cursor": nullable(
                text("eyJ..."), "continues after the last payment of this page", shown=False
            ),
            "dry_run": flag(),
            "meta": _META,
        },
        {"skipped_failed": _COUNT, "skipped_historical": _COUNT},
    ),
    "gap": answer(
        list_of(ref("MissingPayment")),
        meta_schema(
            {
                "limit": whole(100),
                "looked_at": whole(40),
                "delivered": whole(39),
                "missing": whole(1),
                "has_more": flag(),
                "next_cursor": nullable(text("eyJ..."), shown=False),
            }
        ),
        has_meta=True,
    ),
    "replayed dead letters": answer(
        shape(
            {
                "replayed": list_of(ID),
                "failed": list_of(
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
        "svc_code": nullable(CODE),
        "status": STATUS,
        "amount": AMOUNT,
        "currency": CURRENCY,
        **AMOUNTS,
        "client_reference": nullable(text("order-1042")),
        "meta": free({"table": 4}),
        **PAYER,
        "telco": shape(
            {
                "provider": text("mtn"),
                "transaction_id": text("0012345678"),
                "timestamp": TIME,
                "reference_text": nullable(text("A7K2M9")),
            }
        ),
        "payment_method": nullable(
            shape(
                {
                    "id": ID,
                    "phone_number": PHONE,
                    "account_name": text("Ama Provisions"),
                    "provider": PROVIDER,
                }
            )
        ),
        "sim": shape({"device_id": nullable(ID), "slot_index": nullable(whole(0))}),
        "received_at": TIME,
        "completed_at": nullable(TIME),
        "placed": flag("it came to one of the merchant's numbers", example=True),
        "late": flag(),
        "matched_by": nullable(one_of(("code", "telco_id", "reconcile", "review", "none"), "code")),
    },
    {
        "reversed_at": TIME,
        "branch": shape({"id": BRANCH_ID}),
        "raw": nullable(
            text("Payment received ..."), "the SMS, for an endpoint with `include_raw`"
        ),
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
        "A transaction was paid.",
        _event(
            EventKind.COMPLETED,
            shape(
                {
                    "transaction_id": ID,
                    **TRANSACTION,
                    "match": shape(
                        {
                            "matched_by": nullable(text("code")),
                            "late": flag(),
                            "reconciliation_id": nullable(
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
        "A transaction expired without a payment.",
        _event(
            EventKind.EXPIRED,
            shape({"transaction_id": ID, **TRANSACTION, "expires_at": nullable(TIME)}),
        ),
    ),
    EventKind.REVIEW_REQUIRED: (
        "A payment came for a transaction, and an operator must decide whether it counts.",
        _event(
            EventKind.REVIEW_REQUIRED,
            shape(
                {
                    "transaction_id": ID,
                    **TRANSACTION,
                    "review": shape(
                        {
                            "id": ID,
                            "reason": one_of(ReviewReason, ReviewReason.PAYER_MISMATCH),
                            "amount": nullable(AMOUNT, "held amount; it has paid nothing yet"),
                            "currency": nullable(CURRENCY),
                            "telco_transaction_id": nullable(text("0012345678")),
                        }
                    ),
                }
            ),
        ),
    ),
    EventKind.UPDATED: (
        "Forwarded data of a payment has changed.",
        _event(
            EventKind.UPDATED,
            shape(
                {
                    **{name: _FORWARDED["properties"][name] for name in _FORWARDED["required"]},
                    "changed": list_of(text("payment_method"), "the changed members"),
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
                        {"amount": nullable(AMOUNT), "currency": CURRENCY, "timestamp": TIME}
                    ),
                }
            ),
        ),
    ),
}
"""Description and schema of the webhook body of each event kind."""
