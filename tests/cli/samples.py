"""Bodies as the API gives them, for the command line's tests."""

from typing import Any

from daemon.api.openapi.schemas import components, example
from tests.fakes.fake_api import Says, ok

SHAPES = components()


def of(name: str) -> dict[str, Any]:
    """Return the example of an answer, as the API describes it."""
    return dict(example(SHAPES[name], SHAPES))


REF = "svc_trx_0123456789abcdef0123456789abcdef"
CODE = "7KQ2MX"
DEVICE = "5a1f0c1e-7d2b-5c3d-9e4f-0123456789ab"
METHOD = "6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11"
MESSAGE = "0b6f8f0f-3a55-4a83-9d0c-6f1c0f2e3f11"

PAID: dict[str, Any] = {
    **of("TransactionListItem"),
    "reference": REF,
    "svc_code": CODE,
    "expected_amount": "1012.50",
    "actual_amount": "1012.50",
    "payer_phone": "+233244124567",
    "payer_name": "Kofi Ɔsei",
    "created_at": "2026-11-20T09:00:00.000Z",
    "completed_at": "2026-11-20T09:14:00.000Z",
}
SHORT: dict[str, Any] = {
    **PAID,
    "reference": REF[:-1] + "0",
    "svc_code": "9PL8AA",
    "status": "PARTIAL",
    "expected_amount": "40.00",
    "actual_amount": "38.00",
    "difference": "-2.00",
    "difference_type": "UNDERPAID",
    "payer_phone": "+233550000099",
    "payer_name": "Esi A.",
}
ONE: dict[str, Any] = {
    **of("Transaction"),
    "reference": REF,
    "svc_code": CODE,
    "status": "PENDING",
    "expected_amount": "12.50",
    "actual_amount": None,
    "difference_type": None,
    "client_reference": None,
    "processing_time_ms": None,
    "payer": {"phone_number": "+233244124567", "name": "Kofi"},
    "payer_source": {"phone_number": "request", "name": "request"},
    "telco": {"provider": None, "transaction_id": None, "timestamp": None},
    "meta": {},
    "timeline": {
        "created_at": "2026-11-20T09:00:00.000Z",
        "pending_at": "2026-11-20T09:00:00.000Z",
        "processing_at": None,
        "completed_at": None,
    },
}


def one(status: str) -> Says:
    """Return one order in the status."""
    return ok({**ONE, "status": status})


PAGE: dict[str, Any] = {"page": 1, "per_page": 50, "total": 2, "total_pages": 1, "has_next": False, "has_prev": False}
CREATED: dict[str, Any] = {
    **of("InitializedTransaction"),
    "reference": REF,
    "svc_code": CODE,
    "public_slug": "Xb3",
    "amount": "12.50",
    "expires_at": "2026-11-21T09:00:00.000Z",
    "created_at": "2026-11-20T09:00:00.000Z",
    "payer_sms_sent": False,
    "checkout_url": "https://pay.example/pay/Xb3",
    "client_reference": None,
}
CHECKOUT: dict[str, Any] = {"reference": REF, "svc_code": CODE, "checkout_url": "https://pay.example/pay/Xb3"}
RECONCILED: dict[str, Any] = {
    **of("Reconciliation"),
    "reconciliation_id": "rec_" + "1" * 32,
    "transaction_id": "0000012345",
    "matched_amount": "12.50",
    "expected_amount": "12.50",
    "message": "Paid exactly.",
}
IMPORTED = {"fate": "new", "state": "historical", "id": MESSAGE, "why": None}
REPARSED: dict[str, Any] = {
    "looked_at": 3,
    "read": [{"id": MESSAGE, "wording": "own:receipt_2027#39ca68d9", "kind": "payment_received", "state": "held"}],
    "counts": {"held": 1},
    "dry_run": False,
    "next": None,
}
SIGNED: dict[str, Any] = {
    "url": "https://shop.example/hook",
    "headers": {"Content-Type": "application/json", "webhook-id": "ocl_" + "a" * 24},
    "body": '{"payer":"Kofi"}',
}
PRUNABLE: dict[str, Any] = {
    "counts": {"attempts": 40, "responses": 12, "deliveries": 3, "messages": 5},
    "total": 60,
    "more": True,
    "doubt": None,
    "days": {"attempts": 60, "deliveries": 400, "messages": 396},
}
FORGETTABLE: dict[str, Any] = {
    "mark": "9f86d081884c7d65",
    "counts": {"payments": 3, "orders": 2, "messages": 3, "sms": 4, "webhooks": 5, "reviews": 0, "approved_names": 1},
    "total": 18,
    "open": {},
    "unfinished": [],
    "dry_run": True,
}
PAYER_DATA: dict[str, Any] = {
    "payer": "+233244124567", "mark": "9f86d081884c7d65", "payments": [{"amount": "25.00"}],
    "orders": [], "messages": [], "webhooks": [], "sms": [], "approved_names": ["AMA MENSAH"],
    "cut_off": False,
}  # fmt: skip
TEMPLATES: dict[str, Any] = {
    "folder": "templates",
    "files": [
        {
            "file": "mtn.toml",
            "wordings": [
                {"name": "own:receipt_2027#39ca68d9", "network": "mtn", "kind": "payment_received", "confirmed": []}
            ],
            "problems": [{"line": 6, "why": "unknown field {amout}", "todo": "use one of amount"}],
        }
    ],
    "unverified": [
        {
            "name": "receipt",
            "network": "at",
            "kind": "payment_received",
            "confirmed": [
                {
                    "sender": "AT Money",
                    "message_id": MESSAGE,
                    "by": "socket:0",
                    "at": "2026-11-20T09:00:00.000Z",
                    "test": False,
                }
            ],
        }
    ],
}
CONFIRMED: dict[str, Any] = {
    "network": "at",
    "wording": "receipt",
    "sender": "AT Money",
    "message_id": MESSAGE,
    "confirmed": False,
}
LINES: dict[str, Any] = of("LineStatus")
[_PHONE] = LINES["phones"]
[_SIM] = _PHONE["sims"]
_PHONE |= {"device_id": DEVICE, "name": "zte-front"}
_PHONE["sims"] = [
    {
        **_SIM,
        "line": {
            **_SIM["line"],
            "payment_method_id": METHOD,
            "phone_number": "+233244124567",
            "account_name": "Ama Mensah",
        },
        "unaccounted": {"came_in": "30.00", "went_out": "0.00", "currency": "GHS", "since": "2026-11-19T09:14:00.000Z"},
    },
    {**_SIM, "slot_index": 1, "network": "Telecel", "unplaced_payments": 3, "line": None},
]
LINES |= {"ready": False, "unplaced_payments": 3}
KNOWN: list[dict[str, Any]] = [
    {
        "message_id": "0b6f8f0f-3a55-4a83-9d0c-6f1c0f2e3f11",
        "at": "2026-11-19T09:14:00.000Z",
        "amount": "30.00",
        "currency": "GHS",
    }
]
SIMS: list[dict[str, Any]] = [
    {
        "device_id": DEVICE,
        "name": "zte-front",
        "reads_payments": True,
        "sims": [
            {
                "slot_index": 0,
                "network": "MTN",
                "iccid_last4": "7719",
                "payment_method_id": None,
                "phone_number": None,
                "available": True,
                "ignored": False,
            }
        ],
    }
]
WALLET = {
    "settled": True,
    "question": None,
    "sentence": "The wallet shows GHS 214.56: the messages that lead to it are believed from now on.",
    "balance": "214.56",
    "untold": "-5.00",
    "currency": "GHS",
    "messages": [{"message_id": MESSAGE, "outcome": "paid", "sentence": "GHS 25.00 (93214500001) pays now."}],
}
USSD = {
    "text": "Current Balance: GHS 214.56",
    "ended": "answered",
    "sent": True,
    "sentence": "The network has answered, and the session is over.",
    "balance": None,
    "currency": None,
}
TEST_PAYMENT: dict[str, Any] = {"amount": "1.37", "currency": "GHS", "expires_at": "2026-11-20T10:18:00.000Z"}
SMSCS: dict[str, Any] = {
    "device_id": DEVICE,
    "slot_index": 0,
    "network": "mtn",
    "has_chain": True,
    "smscs": [
        {
            "smsc": "+233240000099",
            "home": True,
            "source": "sim",
            "message_id": None,
            "since": "2026-11-17T09:18:00.000Z",
        },
        {
            "smsc": "+447000000001",
            "home": False,
            "source": "noticed",
            "message_id": MESSAGE,
            "since": "2026-11-20T09:14:00.000Z",
        },
    ],
    "test_payment": None,
}
IGNORED_SIM: dict[str, Any] = {"device_id": DEVICE, "name": "zte-front", **SIMS[0]["sims"][0], "ignored": True}
METHOD_ROW: dict[str, Any] = {
    **of("PaymentMethod"),
    "id": METHOD,
    "phone_number": "+233244124567",
    "account_name": "Ama Mensah",
    "sim": {"device_id": DEVICE, "slot_index": 0, "device_name": "zte-front", "network": "MTN"},
    "last_payment_at": None,
    "created_at": "2026-11-20T08:00:00.000Z",
    "updated_at": "2026-11-20T08:00:00.000Z",
}
ENDPOINT: dict[str, Any] = {
    **of("Endpoint"),
    "id": "b91f0c1e-7d2b-4c3d-9e4f-0123456789ab",
    "url": "https://shop.example/hook",
    "description": "",
    "last_success_at": None,
    "created_at": "2026-11-20T08:00:00.000Z",
    "updated_at": "2026-11-20T08:00:00.000Z",
}
RULE: dict[str, Any] = {
    **of("Rule"),
    "id": "6d3c0c1e-7d2b-4c3d-9e4f-0123456789ab",
    "endpoint_id": ENDPOINT["id"],
    "filter": {"amount": {"$gte": "50"}},
    "created_at": "2026-11-20T08:00:00.000Z",
    "updated_at": "2026-11-20T08:00:00.000Z",
}
CLAIM: dict[str, Any] = {
    **of("EndpointClaim"),
    "endpoint_id": ENDPOINT["id"],
    "url": ENDPOINT["url"],
    "description": "",
    "rule_id": RULE["id"],
    "rules": [
        {
            "id": RULE["id"],
            "name": "rents",
            "position": 1,
            "enabled": True,
            "filter": RULE["filter"],
            "matched": True,
            "clauses": [
                {
                    "path": "amount.$gte",
                    "field": "amount",
                    "operator": "$gte",
                    "expected": "50",
                    "actual": "75.00",
                    "matched": True,
                }
            ],
        }
    ],
}
ROUTED: dict[str, Any] = {"placed": True, "claims": 1, "endpoints": [CLAIM]}
ROUTING: dict[str, Any] = {
    "transaction_id": "01234567-89ab-cdef-0123-456789abcdef",
    "reference": REF,
    "status": "SUCCESS",
    "payment": {
        "amount": "75.00",
        "currency": "GHS",
        "telco_transaction_id": "0012345678",
        "received_at": "2026-11-20T09:14:00.000Z",
    },
    "decisions": [{"decided_at": "2026-11-20T09:14:00.000Z", "reference": REF, **ROUTED}],
    "today": {"placed": True, "claims": 0, "endpoints": []},
}
DELIVERY: dict[str, Any] = {
    **of("Delivery"),
    "id": "d1f0c1e0-7d2b-4c3d-9e4f-0123456789ab",
    "endpoint_id": ENDPOINT["id"],
    "transaction_id": "01234567-89ab-cdef-0123-456789abcdef",
    "created_at": "2026-11-20T09:14:00.000Z",
    "delivered_at": "2026-11-20T09:14:01.000Z",
}
DELIVERED: dict[str, Any] = {
    **DELIVERY,
    "status": "delivered",
    "run": 1,
    "url": "https://shop.example/hook",
    "payload": {"webhook_id": DELIVERY["webhook_id"], "type": "transaction.forwarded"},
}
ATTEMPT: dict[str, Any] = {
    **of("Attempt"),
    "started_at": "2026-11-20T09:14:00.000Z",
    "finished_at": "2026-11-20T09:14:00.143Z",
    "duration_ms": 143,
    "response_status_code": 503,
    "error": {"code": "http_error", "message": "try later"},
}
DEAD_LETTER: dict[str, Any] = {
    **of("DeadLetter"),
    "id": "7d0f8e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6",
    "delivery_id": DELIVERY["id"],
    "endpoint_id": DELIVERY["endpoint_id"],
    "url": "https://shop.example/hook",
    "transaction_id": DELIVERY["transaction_id"],
    "last_response_body": "no such page",
    "diagnosis": "shop.example answered 404: there is nothing there. It has never taken a webhook. Mend it.",
    "created_at": "2026-11-20T09:14:00.000Z",
    "cause": "no_such_address",
    "failed_at": "2026-11-20T09:14:00.000Z",
    "failing_since": "2026-11-20T09:14:00.000Z",
    "error_message": None,
    "payment": {"amount": "38.00", "currency": "GHS", "svc_code": "7KQ2MX"},
}
GAP: dict[str, Any] = {
    **of("MissingPayment"),
    "transaction_id": DELIVERY["transaction_id"],
    "reference": REF,
    "amount": "12.50",
    "telco_transaction_id": "40412345678",
    "received_at": "2026-11-20T09:14:00.000Z",
}
REPLAYED: dict[str, Any] = {
    "success": True,
    "enqueued": 5,
    "skipped_delivered": 209,
    "skipped_in_flight": 0,
    "skipped_failed": 0,
    "skipped_not_claimed": 0,
    "skipped_reversed": 1,
    "skipped_historical": 0,
    "already_delivered_elsewhere": 0,
    "has_more": False,
    "next_cursor": None,
    "dry_run": False,
    "meta": {"request_id": "req_" + "0" * 32},
}
MESSAGE_ROW: dict[str, Any] = {
    **of("Message"),
    "id": MESSAGE,
    "line": "+233244124567",
    "device_id": DEVICE,
    "smsc": None,
    "smsc_ts": "2026-11-20T09:13:58.000Z",
    "received_at": "2026-11-20T09:14:00.000Z",
    "kind": "payment_received",
    "fields": {"amount": "12.50", "currency": "GHS", "transaction_id": "40412345678"},
    "payment_id": "01234567-89ab-cdef-0123-456789abcdef",
}
del MESSAGE_ROW["body"]  # only where it is asked for
PAYER: dict[str, Any] = {
    **of("ApprovedPayer"),
    "id": "8c6d9e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6",
    "phone_number": "+233244124567",
    "name": "ESI ANSAH",
    "review_id": "3f6d9e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6",
    "approved_by": "socket:0",
    "approved_at": "2026-11-20T09:14:00.000Z",
}
REVIEW: dict[str, Any] = {
    **of("Review"),
    "by_itself": None,
    "id": "3f6d9e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6",
    "summary": "another payer than expected",
    "why": "The transaction expects another payer than the one on the receipt.",
    "what_to_do": "Ask the customer who paid.",
    "amount": "12.50",
    "created_at": "2026-11-20T09:14:00.000Z",
    "message": {
        "id": MESSAGE,
        "sender": "MobileMoney",
        "sender_type": "alphanumeric",
        "expected_senders": ["MobileMoney"],
        "smsc": "+233240000099",
        "smsc_ts": "2026-11-20T09:13:58.000Z",
        "received_at": "2026-11-20T09:14:00.000Z",
        "state": "held",
        "kind": "payment_received",
        "provider": "momo_mtn",
        "fields": {
            "amount": "12.50",
            "currency": "GHS",
            "payer_name": "ESI ANSAH",
            "payer_phone": "233550000099",
            "reference": "7KQ2MX",
            "balance": "900.00",
            "transaction_id": "40412345678",
        },
        "trusted": True,
        "reasons": ["payer_mismatch"],
    },
    "line": {
        "payment_method_id": METHOD,
        "phone_number": "+233244124567",
        "account_name": "Ama Mensah",
        "provider": "momo_mtn",
    },
    "sim": {"device_id": DEVICE, "slot_index": 0},
    "payment": {
        "id": "01234567-89ab-cdef-0123-456789abcdef",
        "provider": "momo_mtn",
        "network": "mtn",
        "transaction_id": "40412345678",
        "amount": "12.50",
        "currency": "GHS",
        "balance": "900.00",
        "payer": {"phone_number": "+233550000099", "name": "ESI ANSAH"},
        "reference_text": "7KQ2MX",
        "timestamp": "2026-11-20T09:13:58.000Z",
        "received_at": "2026-11-20T09:14:00.000Z",
        "reversed_at": None,
        "standing": "review",
        "reference": None,
    },
    "request": {
        **PAID,
        "status": "MANUAL_REVIEW",
        "expected_amount": "12.50",
        "actual_amount": None,
        "difference_type": None,
        "completed_at": None,
        "expires_at": "2026-11-21T09:00:00.000Z",
        "cancelled_at": None,
        "expected_payer_phone": "+233244124567",
        "expected_telco_transaction_id": None,
        "client_reference": None,
    },
    "orders_named": [{**PAID, "status": "MANUAL_REVIEW"}],
}
STATUS: dict[str, Any] = {
    "version": "0.1.0",
    "pid": 4121,
    "uptime_s": 273600,
    "db": {"path": "/shop/momo.db", "bytes": 41_000_000, "schema": 1, "sqlite": "3.40.1", "last_check": "ok"},
    "clock": {"state": "ok", "skew_s": 1},
    "lines": LINES,
    "today": {
        "paid": {"count": 42, "amount": "3118.50", "currency": "GHS"},
        "short": {"count": 0},
        "review": 1,
        "unsettled": 0,
        "waiting": 3,
    },
    "endpoints": [{**ENDPOINT, "queued": 0}],
    "shop": {"name": "Ama Provisions", "timezone": "Africa/Accra"},
    "phones": [
        {
            "port": "/dev/ttyUSB0",
            "state": "ready",
            "detail": "",
            "next": "",
            "device_id": DEVICE,
            "last_sms_at": "2026-11-20T09:14:00.000Z",
            "signal": {"csq": 17, "dbm": -79, "bars": 3},
            "registration": "home",
            "network_name": "MTN GH",
            "storage": {"used": 2, "total": 30},
            "heard_at": "2026-11-20T09:17:50.000Z",
            "troubles": [],
            "name": "zte-front",
        },
        {
            "port": "/dev/ttyUSB2",
            "state": "busy",
            "detail": "ModemManager (pid 812) uses it",
            "next": "sudo systemctl stop ModemManager",
            "device_id": None,
            "last_sms_at": None,
        },
    ],
    "queue": {"pending": 0, "retrying": 0, "failed": 0, "dead_letters": 0},
    "secrets": "unlocked",
    "disk_free_bytes": 9_000_000_000,
    "disk": {"room": "plenty"},
}

USER = {
    "name": "ama",
    "role": "cashier",
    "second_factor": False,
    "disabled_at": None,
    "created_at": "2026-11-20T08:00:00.000Z",
    "password_at": "2026-11-20T08:00:00.000Z",
    "sessions": 1,
    "seen_at": "2026-11-20T09:00:00.000Z",
}

KEY: dict[str, Any] = {
    **of("ApiKey"),
    "id": "9c1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f22",
    "name": "till",
    "hint": "svc_live_sk_...aB3d",
    "scopes": ["transactions:read", "transactions:write"],
    "created_at": "2026-11-20T09:00:00.000Z",
    "last_used_at": "2026-11-20T09:16:00.000Z",
}
ROTATED: dict[str, Any] = {
    "success": True,
    "data": KEY,
    "key": "svc_live_sk_new",
    "previous": {**KEY, "hint": "svc_live_sk_...oLd1", "expires_at": "2026-11-21T09:18:00.000Z"},
}

SIMULATED: dict[str, Any] = {
    "message": {
        "id": MESSAGE,
        "state": "payment",
        "sender": "MobileMoney",
        "body": "Payment received for GHS 5.00 from KWEKU ANANSE",
        "test": True,
    },
    "transaction": {
        "reference": REF,
        "status": "SUCCESS",
        "origin": "request",
        "actual_amount": "5.00",
        "currency": "GHS",
    },
    "review": None,
}

SOURCE: dict[str, Any] = {
    "name": "phone1",
    "kind": "post",
    "enabled": True,
    "trust_level": "reported",
    "may_pay": True,
    "state": "app_silent",
    "detail": "the app was not heard for 16 min",
    "next": "open the app",
    "url": "https://192.168.1.5:8420/v1/sources/phone1",
    "heard_at": "2026-11-20T09:14:00.000Z",
    "refused": 3,
    "refused_at": None,
    "preset": "capcom6",
    "last_post": None,
}
MODEM: dict[str, Any] = {
    "port": "/dev/serial/by-id/usb-ZTE-if01",
    "state": "ready",
    "detail": "",
    "next": "",
    "device_id": DEVICE,
    "last_sms_at": "2026-11-20T09:14:00.000Z",
    "signal": {"csq": 17, "dbm": -79, "bars": 3},
    "registration": "home",
    "network_name": "MTN GH",
    "storage": {"used": 2, "total": 30},
    "heard_at": "2026-11-20T09:17:50.000Z",
    "troubles": [],
    "name": "zte-front",
    "manufacturer": "ZTE",
    "model": "MF823",
    "imei": "356938035643809",
    "last_seen_at": "2026-11-20T08:00:00.000Z",
    "sims": [
        {
            "slot_index": 0,
            "network": "MTN",
            "iccid_last4": "0012",
            "phone_number": "+233244124567",
            "last_sms_at": "2026-11-20T09:14:00.000Z",
            "ignored": False,
            "silent_since": None,
        }
    ],
}
SMS: dict[str, Any] = {
    "id": "5f0c0f2e-3a55-4a83-9d0c-0b6f8f0f3f77",
    "number": "+233244124567",
    "status": "queued",
    "why": "",
    "parts_sent": 0,
    "created_at": "2026-11-20T09:17:59.000Z",
    "ended_at": None,
}
HUNG: dict[str, Any] = {
    **MODEM,
    "port": "/dev/ttyUSB3",
    "state": "hung",
    "detail": "no answer to AT+CMGL 2 times",
    "next": "pull the modem out",
    "device_id": None,
    "name": None,
    "signal": None,
    "registration": None,
    "network_name": None,
    "storage": None,
    "sims": [],
    "troubles": [
        {"id": "modem.hung", "level": "fail", "text": "no answer to AT+CMGL 2 times", "fix": "pull the modem out"},
        {"id": "modem.silent", "level": "warn", "text": "no message came", "fix": "send one"},
    ],
}

NOTICE: dict[str, Any] = {
    "id": "7d1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f33",
    "kind": "sim.silent",
    "urgent": True,
    "text": "A SIM that is usually busy has had no message for a long time. Is the network down?",
    "next": "momo phones status",
    "count": 2,
    "first_at": "2026-11-20T08:00:00.000Z",
    "last_at": "2026-11-20T09:00:00.000Z",
    "seen_at": None,
    "recovered_at": None,
}

_COLUMN: dict[str, Any] = {
    "provider": "momo_mtn",
    "network": "mtn",
    "network_name": "MTN",
    "payment_method_id": METHOD,
    "phone_number": "+233244124567",
    "account_name": "Ama Mensah",
    "paid": {"count": 40, "amount": "2804.50"},
    "short": {"count": 2, "amount": "76.00", "owed": "6.00"},
    "over": {"count": 1, "amount": "54.00", "to_give_back": "4.00"},
    "unmatched": {"count": 3, "amount": "96.00"},
    "rest": {"count": 0, "amount": "0.00"},
    "reversed": {"count": 0, "amount": "0.00"},
    "doubted": {"count": 0, "amount": "0.00"},
    "late": 1,
    "money_in": {"count": 46, "amount": "3030.50"},
    "fees": "0.00",
    "wallet": {
        "says": "3030.50",
        "difference": "0.00",
        "agrees": True,
        "opening": "100.00",
        "closing": "3130.50",
        "out": "0.00",
        "other_in": "0.00",
        "untold_in": "0.00",
        "untold_out": "0.00",
    },
}
_NOUGHT: dict[str, Any] = {"count": 0, "amount": "0.00"}
RECENT: dict[str, Any] = {
    "id": "7a1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11",
    "amount": "1012.50",
    "currency": "GHS",
    "network": "mtn",
    "transaction_id": "40412345678",
    "payer_name": "Kofi Ɔsei",
    "payer_phone": "+233244124567",
    "phone_number": "+233244124567",
    "at": "2026-11-20T09:14:00.000Z",
    "stored_at": "2026-11-20T09:14:02.000Z",
    "standing": "used",
    "doubted": False,
    "reversed": False,
    "order": PAID,
}
REPORT: dict[str, Any] = {
    "shop": {"name": "Ama Provisions", "timezone": "Africa/Accra"},
    "from": "2026-11-20T00:00:00.000Z",
    "to": "2026-11-21T00:00:00.000Z",
    "test": False,
    "sheets": [
        {
            "currency": "GHS",
            "lines": [
                _COLUMN,
                {
                    **_COLUMN,
                    "provider": "momo_telecel",
                    "network": "telecel",
                    "network_name": "Telecel",
                    "phone_number": None,
                    "paid": {"count": 2, "amount": "314.00"},
                    "short": {**_NOUGHT, "owed": "0.00"},
                    "over": {**_NOUGHT, "to_give_back": "0.00"},
                    "unmatched": _NOUGHT,
                    "rest": _NOUGHT,
                    "money_in": {"count": 2, "amount": "314.00"},
                    "wallet": {**_COLUMN["wallet"], "says": "314.00"},
                },
            ],
            "all": {
                **{key: _COLUMN[key] for key in ("short", "over", "unmatched", "rest", "reversed", "doubted")},
                "paid": {"count": 42, "amount": "3118.50"},
                "late": 1,
                "money_in": {"count": 48, "amount": "3344.50"},
                "fees": "0.00",
                "wallet": {**_COLUMN["wallet"], "says": "3344.50"},
            },
        }
    ],
    "rows": None,
    "recent": [],
}

BRANCH = {
    "id": METHOD, "name": "kumasi", "status": "joined", "decides": "all", "epoch": 1, "acked": 40,
    "last_heard_at": "2026-11-20T08:00:00.000Z", "version": "0.1.0", "clock_off_us": -120_000_000,
    "payments_today": 12, "open_reviews": 1, "waiting": 3, "refused": 0, "asked": 0,
    "takings_today": [{"currency": "GHS", "amount": "410.50"}], "lost_orders": [], "brings": None,
}  # fmt: skip
"""A branch of a hub."""
JOINED = {
    "joined": True, "name": "kumasi", "hub": "Head office", "url": "https://hub.example", "decides": "all",
    "payments": 12, "transactions": 14, "reviews": 1, "methods": 1, "reversals": 0, "codes_like_a_hub": 2,
}  # fmt: skip
"""The answer to joining a hub."""
LINK = {
    "name": "kumasi", "url": "https://hub.example", "decides": "all", "epoch": 1, "acked": 40, "behind": 0,
    "heard_at": "2026-11-20T08:00:00.000Z", "problem": None, "handed_up": 2, "undecided": 1,
    "compared": {"agrees": True, "payments": 12, "hub_payments": 12, "days": 31, "different_days": []},
}  # fmt: skip
"""How far a branch is."""
SHIFT = {
    "id": "7",
    "by": "user:ama",
    "opened_at": "2026-11-20T08:00:00.000Z",
    "closed_at": "2026-11-20T17:02:00.000Z",
    "closed_by": "user:ama",
    "made": [{"currency": "GHS", "count": 4, "amount": "100.00"}],
    "paid": [{"currency": "GHS", "count": 3, "amount": "70.00"}],
    "settled": [{"kind": "rest_received", "in_cash": True, "currency": "GHS", "count": 1, "amount": "5.00"}],
}
