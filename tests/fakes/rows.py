"""Rows with sensible defaults, for tests that set only some members."""

from typing import Any

from daemon.core.model import Delivery, Device, Event, Message, Payment, PaymentMethod, Sim, Transaction
from daemon.core.webhooks.endpoint import Endpoint
from daemon.wire import DeliveryStatus, MessageState, Mode, TransactionStatus

AT = 1_795_248_060_123_456
"""2026-11-21T08:01:00.123456Z."""
TRANSACTION_ID = "0f3c0000-0000-4000-8000-000000000001"
PAYMENT_ID = "0f3c0000-0000-4000-8000-000000000002"
DEVICE_ID = "0f3c0000-0000-4000-8000-000000000003"
METHOD_ID = "0f3c0000-0000-4000-8000-000000000004"
ENDPOINT_ID = "0f3c0000-0000-4000-8000-000000000005"
MINUTE = 60_000_000
DAY = 24 * 60 * MINUTE


def transaction(**changes: Any) -> Transaction:
    row: dict[str, Any] = {
        "seq": 1,
        "id": TRANSACTION_ID,
        "mode": Mode.LIVE,
        "origin": "request",
        "status": TransactionStatus.PENDING,
        "svc_code": "A7K2M9",
        "public_slug": "slug",
        "expected_minor": 2500,
        "currency": "GHS",
        "phone_number": "+233244124567",
        "customer_name": "Kofi Boateng",
        "description": None,
        "webhook_url": None,
        "redirect_url": None,
        "client_reference": "order-1",
        "meta": '{"table":4,"vat":1.10}',
        "expected_telco_transaction_id": None,
        "expected_payer_phone": None,
        "expected_payer_name": None,
        "send_sms_to_payer": True,
        "created_with": "secret",
        "created_at": AT,
        "expires_at": AT + DAY,
        "cancelled_at": None,
        "payment_id": None,
        "held_payment_id": None,
        "matched_by": None,
        "processing_at": None,
        "completed_at": None,
        "late": False,
        "rejected": False,
        "merged_into": None,
        "supersedes": None,
        "reversed_at": None,
    }
    return Transaction(**(row | changes))


def verified(status: TransactionStatus = TransactionStatus.SUCCESS, **changes: Any) -> Transaction:
    done: dict[str, Any] = {
        "status": status,
        "payment_id": PAYMENT_ID,
        "matched_by": "code",
        "processing_at": AT + MINUTE,
        "completed_at": AT + MINUTE + 4_321,
    }
    return transaction(**(done | changes))


def payment(**changes: Any) -> Payment:
    row: dict[str, Any] = {
        "seq": 1,
        "id": PAYMENT_ID,
        "mode": Mode.LIVE,
        "provider": "momo_mtn",
        "telco_transaction_id": "0012345678",
        "telco_id_as_read": "0012345678",
        "message_id": "0f3c0000-0000-4000-8000-000000000006",
        "payment_method_id": METHOD_ID,
        "sim_key": "8923301000000000012",
        "device_id": DEVICE_ID,
        "slot_index": 0,
        "kind": "payment",
        "amount_minor": 2500,
        "currency": "GHS",
        "fee_minor": 0,
        "balance_minor": 90_000,
        "payer_name": "KOFI ANTWI",
        "payer_phone": "+233201000456",
        "payer_proven": True,
        "reference_text": "A7K2M9",
        "telco_at": AT + MINUTE - 2_000_000,
        "stored_at": AT + MINUTE,
        "historical": False,
        "standing": "used",
        "reversed_at": None,
    }
    return Payment(**(row | changes))


def method(**changes: Any) -> PaymentMethod:
    row: dict[str, Any] = {
        "seq": 1,
        "id": METHOD_ID,
        "mode": Mode.LIVE,
        "provider": "momo_mtn",
        "phone_number": "+233244124567",
        "account_name": "Ama Mensah",
        "merchant_code": None,
        "sim_seq": 1,
        "is_active": True,
        "line_created_at": AT,
        "last_payment_at": None,
        "created_at": AT,
        "updated_at": AT,
        "deleted_at": None,
    }
    return PaymentMethod(**(row | changes))


def device(**changes: Any) -> Device:
    row: dict[str, Any] = {
        "device_id": DEVICE_ID,
        "imei": "356938035643809",
        "name": "zte-front",
        "manufacturer": "ZTE",
        "model": "MF823",
        "port": "/dev/ttyUSB0",
        "present": True,
        "first_seen_at": AT,
        "last_seen_at": AT,
        "forgotten_at": None,
    }
    return Device(**(row | changes))


def sim(**changes: Any) -> Sim:
    row: dict[str, Any] = {
        "seq": 1,
        "sim_key": "8923301000000000012",
        "iccid": "8923301000000000012",
        "imsi": "620010000000012",
        "network": "mtn",
        "device_id": DEVICE_ID,
        "slot_index": 0,
        "present": True,
        "first_seen_at": AT,
        "last_seen_at": AT,
        "read_payment_at": AT,
        "ignored_at": None,
    }
    return Sim(**(row | changes))


def endpoint(**changes: Any) -> Endpoint:
    row: dict[str, Any] = {
        "seq": 1,
        "id": ENDPOINT_ID,
        "kind": "endpoint",
        "mode": Mode.LIVE,
        "url": "https://shop.example/hook",
        "url_normalised": "https://shop.example/hook",
        "description": "web shop",
        "events": '["transaction.forwarded"]',
        "catch_all": True,
        "include_raw": False,
        "is_active": True,
        "auto_paused_at": None,
        "last_success_at": None,
        "last_failure_at": None,
        "consecutive_failures": 0,
        "link_failures": 0,
        "created_at": AT,
        "updated_at": AT,
        "deleted_at": None,
        "backlog_seq": 0,
    }
    return Endpoint(**(row | changes))


def delivery(**changes: Any) -> Delivery:
    row: dict[str, Any] = {
        "seq": 7,
        "id": "0f3c0000-0000-4000-8000-000000000007",
        "webhook_id": "ocl_0123456789abcdefghijklmn",
        "endpoint_id": ENDPOINT_ID,
        "event": "transaction.forwarded",
        "subject": 5,
        "revision": 0,
        "transaction_id": TRANSACTION_ID,
        "test": False,
        "status": DeliveryStatus.PENDING,
        "attempt_count": 0,
        "run": 1,
        "next_attempt_at": AT,
        "leased_until": None,
        "waiting": None,
        "extra": False,
        "bulk": False,
        "response_status_code": None,
        "response_body": None,
        "error_code": None,
        "error_message": None,
        "created_at": AT,
        "delivered_at": None,
        "failed_at": None,
    }
    return Delivery(**(row | changes))


def message(**changes: Any) -> Message:
    row: dict[str, Any] = {
        "seq": 1,
        "id": "0f3c0000-0000-4000-8000-000000000006",
        "mode": Mode.LIVE,
        "imported": False,
        "recovered": False,
        "sim_key": "8923301000000000012",
        "device_id": DEVICE_ID,
        "slot_index": 0,
        "payment_method_id": METHOD_ID,
        "sender": "MobileMoney",
        "sender_type": "alphanumeric",
        "smsc": "+233240000099",
        "sent_at": AT,
        "parts_total": 2,
        "parts_seen": 2,
        "reference_width": 8,
        "reference": 5,
        "body": "Payment received",
        "state": MessageState.PAYMENT,
        "kind": "payment",
        "provider": "momo_mtn",
        "wording": "mtn.in",
        "fields": '{"amount":"25.00"}',
        "trusted": True,
        "reasons": "[]",
        "payment_id": PAYMENT_ID,
        "received_at": AT,
        "created_at": AT,
    }
    return Message(**(row | changes))


def event(**changes: Any) -> Event:
    row: dict[str, Any] = {
        "seq": 41,
        "type": "transaction.verified",
        "mode": Mode.LIVE,
        "at": AT,
        "actor": "momo",
        "transaction_id": TRANSACTION_ID,
        "payment_id": PAYMENT_ID,
        "message_id": None,
        "endpoint_id": None,
        "data": '{"late":false}',
    }
    return Event(**(row | changes))
