"""Every shape of interface.md and decisions.md, whole."""

import json
from typing import Any

import pytest

from daemon.core import (
    collection_shapes,
    line_shapes,
    local_shapes,
    shapes,
    transaction_shapes,
    webhook_shapes,
)
from daemon.core.errors import FieldError, Refusal, invalid
from daemon.core.verdict import judge
from daemon.wire import DeliveryStatus, ErrorCode, MessageState, Mode, TransactionStatus
from tests.fakes import rows
from tests.fakes.rows import AT, DAY, MINUTE

NOW = AT + 2 * MINUTE
CREATED = "2026-11-21T08:01:00.123Z"
PAID = "2026-11-21T08:02:00.123Z"
REFERENCE = "svc_trx_0f3c0000000040008000000000000001"


def read(value: object) -> Any:
    return json.loads(shapes.dump(value))


def test_a_waiting_request_as_a_list_item() -> None:
    assert read(transaction_shapes.list_item(rows.transaction(), None, NOW)) == {
        "reference": REFERENCE,
        "svc_code": "A7K2M9",
        "status": "PENDING",
        "expected_amount": "25.00",
        "actual_amount": None,
        "difference": None,
        "difference_type": None,
        "currency": "GHS",
        "payer_phone": "+233244124567",
        "payer_name": "Kofi Boateng",
        "created_at": CREATED,
        "completed_at": None,
        "origin": "request",
        "test": False,
        "reversed_at": None,
    }


def test_a_verified_request_as_a_single_transaction() -> None:
    assert read(transaction_shapes.single(rows.verified(), rows.payment(), NOW)) == {
        "reference": REFERENCE,
        "svc_code": "A7K2M9",
        "status": "SUCCESS",
        "expected_amount": "25.00",
        "actual_amount": "25.00",
        "difference": None,
        "difference_type": "EXACT",
        "currency": "GHS",
        "client_reference": "order-1",
        "processing_time_ms": 4,
        "payer": {"phone_number": "+233201000456", "name": "KOFI ANTWI"},
        "telco": {
            "provider": "mtn",
            "transaction_id": "0012345678",
            "timestamp": "2026-11-21T08:01:58.123Z",
        },
        "meta": {"table": 4, "vat": 1.1},
        "timeline": {
            "created_at": CREATED,
            "pending_at": CREATED,
            "processing_at": PAID,
            "completed_at": "2026-11-21T08:02:00.127Z",
        },
        "payer_source": "receipt",
        "origin": "request",
        "test": False,
        "matched_by": "code",
        "late": False,
        "rejected": False,
        "cancelled_at": None,
        "reversed_at": None,
        "merged_into": None,
    }


def test_nested_objects_are_there_when_nothing_is_known() -> None:
    holder = rows.transaction(
        origin="open",
        svc_code=None,
        expected_minor=None,
        phone_number=None,
        customer_name=None,
        expires_at=None,
        merged_into=rows.PAYMENT_ID,
    )
    shape = read(transaction_shapes.single(holder, None, NOW))
    assert shape["payer"] == {"phone_number": None, "name": None}
    assert shape["telco"] == {"provider": None, "transaction_id": None, "timestamp": None}
    assert shape["timeline"] == {
        "created_at": CREATED,
        "pending_at": None,
        "processing_at": None,
        "completed_at": None,
    }
    assert shape["payer_source"] is None
    assert shape["merged_into"] == "svc_trx_0f3c0000000040008000000000000002"


@pytest.mark.parametrize(
    ("received", "difference", "kind"),
    [(2300, "-2.00", "UNDERPAID"), (2650, "1.50", "OVERPAID"), (2500, None, "EXACT")],
)
def test_the_difference_is_signed_and_null_on_exact(
    received: int, difference: str | None, kind: str
) -> None:
    shape = transaction_shapes.list_item(rows.verified(), rows.payment(amount_minor=received), NOW)
    assert (shape["difference"], shape["difference_type"]) == (difference, kind)


@pytest.mark.parametrize(
    ("phone", "name", "payer", "source"),
    [
        ("+233201000456", None, ("+233201000456", "Kofi Boateng"), "receipt"),
        (None, "KOFI ANTWI", ("+233244124567", "KOFI ANTWI"), "request"),
        (None, None, ("+233244124567", "Kofi Boateng"), "request"),
    ],
)
def test_the_payer_is_the_receipts_else_the_requests(
    phone: str | None, name: str | None, payer: tuple[str, str], source: str
) -> None:
    shape = transaction_shapes.single(
        rows.verified(), rows.payment(payer_phone=phone, payer_name=name), NOW
    )
    assert tuple(shape["payer"].values()) == payer
    assert shape["payer_source"] == source


def test_a_walk_in_named_without_a_number_is_the_receipts_word() -> None:
    holder = rows.verified(origin="open", phone_number=None, customer_name=None)
    assert (
        transaction_shapes.single(holder, rows.payment(payer_phone=None), NOW)["payer_source"]
        == "receipt"
    )
    named = rows.transaction(phone_number=None)
    assert transaction_shapes.single(named, None, NOW)["payer_source"] == "request"


def test_a_request_expires_on_read_at_the_very_microsecond() -> None:
    request = rows.transaction()
    assert transaction_shapes.status_at(request, AT + DAY - 1) is TransactionStatus.PENDING
    assert transaction_shapes.status_at(request, AT + DAY) is TransactionStatus.EXPIRED
    held = rows.transaction(status=TransactionStatus.MANUAL_REVIEW)
    assert transaction_shapes.status_at(held, AT + DAY) is TransactionStatus.MANUAL_REVIEW


def test_initialize_shows_the_code_and_where_to_pay() -> None:
    made = transaction_shapes.initialized(
        rows.transaction(), checkout_url="https://pay.example/pay/slug", payer_sms_sent=False
    )
    assert read(made) == {
        "reference": REFERENCE,
        "svc_code": "A7K2M9",
        "public_slug": "slug",
        "amount": "25.00",
        "currency": "GHS",
        "status": "PENDING",
        "expires_at": "2026-11-22T08:01:00.123Z",
        "created_at": CREATED,
        "payer_sms_sent": False,
        "checkout_url": "https://pay.example/pay/slug",
        "client_reference": "order-1",
    }


@pytest.mark.parametrize(
    ("received", "status", "difference", "kind", "message"),
    [
        (2500, "SUCCESS", "0.00", "exact", "Paid exactly: GHS 25.00 received."),
        (2300, "PARTIAL", "-2.00", "underpaid", "Short by GHS 2.00: received 23.00 of 25.00."),
        (2650, "OVERPAID", "1.50", "overpaid", "Overpaid by GHS 1.50: received 26.50 for 25.00."),
    ],
)
def test_reconcile_says_what_was_matched(
    received: int, status: str, difference: str, kind: str, message: str
) -> None:
    shape = transaction_shapes.reconciliation(
        reconciliation_id="rec_" + "0" * 32,
        transaction_id=" 0012345678",
        transaction=rows.verified(TransactionStatus(status)),
        payment=rows.payment(amount_minor=received),
        verdict=judge(received, 2500),
    )
    assert read(shape) == {
        "reconciliation_id": "rec_" + "0" * 32,
        "status": "VERIFIED",
        "transaction_id": " 0012345678",
        "transaction_updated": True,
        "new_transaction_status": status,
        "matched_amount": f"{received / 100:.2f}",
        "expected_amount": "25.00",
        "difference": difference,
        "difference_type": kind,
        "message": message,
    }


def test_the_forwarded_body_has_the_keys_of_the_decisions_in_their_order() -> None:
    body = webhook_shapes.forwarded_body(
        webhook_id="ocl_0123456789abcdefghijklmn",
        timestamp_us=AT + MINUTE,
        transaction=rows.verified(),
        payment=rows.payment(),
        method=rows.method(),
    )
    assert body.decode() == (
        '{"webhook_id":"ocl_0123456789abcdefghijklmn","type":"transaction.forwarded",'
        f'"timestamp":"{PAID}","api_version":"1","test":false,"livemode":true,'
        f'"data":{{"transaction_id":"{rows.TRANSACTION_ID}","reference":"{REFERENCE}",'
        '"svc_code":"A7K2M9","status":"SUCCESS","amount":"25.00","currency":"GHS",'
        '"expected_amount":"25.00","actual_amount":"25.00","difference":null,'
        '"difference_type":"EXACT","client_reference":"order-1","meta":{"table":4,"vat":1.10},'
        '"payer":{"phone_number":"+233201000456","name":"KOFI ANTWI"},'
        '"telco":{"provider":"mtn","transaction_id":"0012345678",'
        '"timestamp":"2026-11-21T08:01:58.123Z","reference_text":"A7K2M9"},'
        f'"payment_method":{{"id":"{rows.METHOD_ID}","phone_number":"+233244124567",'
        '"account_name":"Ama Mensah","provider":"momo_mtn"},'
        f'"sim":{{"device_id":"{rows.DEVICE_ID}","slot_index":0}},'
        f'"received_at":"{PAID}","completed_at":"2026-11-21T08:02:00.127Z",'
        '"placed":true,"late":false,"matched_by":"code"}}'
    )


def test_an_unplaced_walk_in_names_no_request_and_no_number() -> None:
    holder = rows.verified(origin="open", svc_code=None, expected_minor=None, matched_by="none")
    body = webhook_shapes.forwarded_body(
        webhook_id="ocl_0123456789abcdefghijklmn",
        timestamp_us=AT,
        transaction=holder,
        payment=rows.payment(payment_method_id=None),
        method=None,
        raw="Payment received",
    )
    data = json.loads(body)["data"]
    assert data["placed"] is False
    assert data["payment_method"] is None
    assert (data["svc_code"], data["expected_amount"], data["difference_type"]) == (
        None,
        None,
        None,
    )
    assert data["actual_amount"] == "25.00"
    assert data["raw"] == "Payment received"


def test_a_reversed_payment_says_so_in_later_bodies() -> None:
    body = webhook_shapes.forwarded_body(
        webhook_id="ocl_0123456789abcdefghijklmn",
        timestamp_us=AT,
        transaction=rows.verified(),
        payment=rows.payment(reversed_at=AT),
        method=rows.method(),
    )
    assert json.loads(body)["data"]["reversed_at"] == CREATED


def test_the_completed_body_is_the_single_shape_with_its_match() -> None:
    request, payment = rows.verified(mode=Mode.TEST), rows.payment(mode=Mode.TEST)
    body = json.loads(
        webhook_shapes.completed_body(
            webhook_id="ocl_0123456789abcdefghijklmn",
            timestamp_us=NOW,
            transaction=request,
            payment=payment,
            reconciliation_id="rec_" + "0" * 32,
            supersedes_reference=REFERENCE,
        )
    )
    assert list(body) == [
        "webhook_id",
        "type",
        "timestamp",
        "api_version",
        "test",
        "livemode",
        "data",
    ]
    assert (body["type"], body["test"], body["livemode"]) == ("transaction.completed", True, False)
    assert body["data"] == {
        "transaction_id": rows.TRANSACTION_ID,
        **read(transaction_shapes.single(request, payment, NOW)),
        "match": {
            "matched_by": "code",
            "late": False,
            "reconciliation_id": "rec_" + "0" * 32,
        },
        "supersedes_reference": REFERENCE,
    }


@pytest.mark.parametrize(("character", "raw_kept"), [("₵", True), ("😀", True), ("\x01", False)])
def test_the_largest_payload_stays_within_20_kilobytes(character: str, *, raw_kept: bool) -> None:
    request = rows.verified(
        meta=json.dumps({"m": "x" * 4080}, separators=(",", ":")),
        client_reference="₵" * 100,
        customer_name="₵" * 200,
    )
    text = character * 1600
    body = webhook_shapes.forwarded_body(
        webhook_id="ocl_0123456789abcdefghijklmn",
        timestamp_us=AT,
        transaction=request,
        payment=rows.payment(reference_text=text[:1500], payer_name=text[1500:]),
        method=rows.method(account_name="₵" * 100),
        raw=text,
    )
    assert len(body) <= 20_000
    assert (json.loads(body)["data"]["raw"] == text) is raw_kept


def test_an_endpoint_never_shows_a_secret() -> None:
    assert read(collection_shapes.endpoint(rows.endpoint(mode=Mode.TEST, last_success_at=AT))) == {
        "id": rows.ENDPOINT_ID,
        "url": "https://shop.example/hook",
        "description": "web shop",
        "is_active": True,
        "is_sandbox": True,
        "auto_paused_at": None,
        "last_success_at": CREATED,
        "last_failure_at": None,
        "consecutive_failures": 0,
        "created_at": CREATED,
        "updated_at": CREATED,
        "catch_all": True,
        "events": ["transaction.forwarded"],
        "include_raw": False,
    }


def test_a_failed_delivery() -> None:
    row = rows.delivery(
        status=DeliveryStatus.FAILED,
        attempt_count=1,
        next_attempt_at=None,
        response_status_code=410,
        response_body="gone",
        error_code="http_error",
        error_message="answered 410",
        failed_at=AT,
        waiting="secrets_locked",
    )
    assert read(collection_shapes.delivery(row, rows.endpoint(kind="implicit"))) == {
        "id": "0f3c0000-0000-4000-8000-000000000007",
        "webhook_id": "ocl_0123456789abcdefghijklmn",
        "endpoint_id": rows.ENDPOINT_ID,
        "transaction_id": rows.TRANSACTION_ID,
        "status": "failed",
        "attempt_count": 1,
        "response_status_code": 410,
        "response_body": "gone",
        "created_at": CREATED,
        "delivered_at": None,
        "failed_at": CREATED,
        "event": "transaction.forwarded",
        "kind": "implicit",
        "run": 1,
        "next_attempt_at": None,
        "waiting": None,
        "error": {"code": "http_error", "message": "answered 410"},
        "sequence": 7,
        "test": False,
    }


def test_a_delivery_to_a_paused_endpoint_waits_for_it() -> None:
    shape = collection_shapes.delivery(rows.delivery(), rows.endpoint(is_active=False))
    assert (shape["waiting"], shape["next_attempt_at"]) == ("endpoint_paused", None)
    due = collection_shapes.delivery(rows.delivery(waiting="secrets_locked"), rows.endpoint())
    assert (due["waiting"], due["next_attempt_at"]) == ("secrets_locked", CREATED)


def test_a_payment_method_on_a_sim_and_off_it() -> None:
    record = {
        "id": rows.METHOD_ID,
        "provider": "momo_mtn",
        "provider_name": "MTN MoMo",
        "phone_number": "+233244124567",
        "account_name": "Ama Mensah",
        "merchant_code": None,
        "sim": {
            "device_id": rows.DEVICE_ID,
            "slot_index": 0,
            "device_name": "zte-front",
            "network": "MTN",
        },
        "is_active": True,
        "last_payment_at": None,
        "created_at": CREATED,
        "updated_at": CREATED,
    }
    assert read(line_shapes.payment_method(rows.method(), rows.sim(), rows.device())) == record
    assert read(line_shapes.payment_method(rows.method(), None, None)) == {**record, "sim": None}
    lost = line_shapes.payment_method(rows.method(), rows.sim(network=None), None)
    assert lost["sim"]["device_name"] is None
    assert lost["sim"]["network"] == ""


def test_sims_to_choose_from() -> None:
    slots = [
        rows.sim(seq=2, sim_key="b", iccid=None, slot_index=1, read_payment_at=None),
        rows.sim(),
        rows.sim(seq=3, sim_key="c", slot_index=2, present=False),
        rows.sim(seq=4, sim_key="d", device_id="elsewhere"),
    ]
    assert read(line_shapes.sims([rows.device()], slots, [rows.method()])) == [
        {
            "device_id": rows.DEVICE_ID,
            "name": "zte-front",
            "reads_payments": True,
            "sims": [
                {
                    "slot_index": 0,
                    "network": "MTN",
                    "iccid_last4": "0012",
                    "payment_method_id": rows.METHOD_ID,
                    "phone_number": "+233244124567",
                    "available": False,
                },
                {
                    "slot_index": 1,
                    "network": "MTN",
                    "iccid_last4": None,
                    "payment_method_id": None,
                    "phone_number": None,
                    "available": True,
                },
            ],
        }
    ]


def test_a_message_shows_its_text_only_when_asked() -> None:
    shape = {
        "id": "0f3c0000-0000-4000-8000-000000000006",
        "line": "+233244124567",
        "device_id": rows.DEVICE_ID,
        "sender": "MobileMoney",
        "smsc": "+233240000099",
        "smsc_ts": CREATED,
        "received_at": CREATED,
        "state": "payment",
        "kind": "payment",
        "provider": "momo_mtn",
        "fields": {"amount": "25.00"},
        "trusted": True,
        "reasons": [],
        "payment_id": rows.PAYMENT_ID,
        "slot_index": 0,
        "parts": {"total": 2, "seen": 2},
        "test": False,
    }
    line = "+233244124567"
    assert read(local_shapes.message(rows.message(), line, show_body=False)) == shape
    shown = read(local_shapes.message(rows.message(), line, show_body=True))
    assert shown == {**shape, "body": "Payment received"}
    part = rows.message(state=MessageState.INCOMPLETE, body=None)
    assert local_shapes.message(part, line, show_body=True)["body"] is None


def test_an_event_carries_the_transaction_it_is_about() -> None:
    request, payment = rows.verified(), rows.payment()
    assert read(local_shapes.event(rows.event(), request, payment, NOW)) == {
        "id": "41",
        "type": "transaction.verified",
        "at": CREATED,
        "actor": "momo",
        **read(transaction_shapes.list_item(request, payment, NOW)),
        "transaction_id": rows.TRANSACTION_ID,
        "payment_id": rows.PAYMENT_ID,
        "message_id": None,
        "endpoint_id": None,
        "details": {"late": False},
    }
    bare = local_shapes.event(rows.event(transaction_id=None), None, None, NOW)
    assert "reference" not in bare


@pytest.mark.parametrize(
    ("page", "total", "pages", "has_next", "has_prev"),
    [
        (1, 0, 0, False, False),
        (1, 50, 1, False, False),
        (1, 51, 2, True, False),
        (9, 51, 2, False, True),
    ],
)
def test_pagination(page: int, total: int, pages: int, *, has_next: bool, has_prev: bool) -> None:
    assert shapes.pagination(page, 50, total) == {
        "page": page,
        "per_page": 50,
        "total": total,
        "total_pages": pages,
        "has_next": has_next,
        "has_prev": has_prev,
    }


def test_success_puts_what_is_beside_the_data_between_it_and_meta() -> None:
    assert shapes.success([], {"total": 0}, secret="s") == (
        b'{"success":true,"data":[],"secret":"s","meta":{"total":0}}'
    )
    assert shapes.success(None) == b'{"success":true,"data":null}'


def test_extras_of_a_refusal_stand_in_both_places() -> None:
    refusal = Refusal(ErrorCode.ALREADY_VERIFIED, transaction_status="SUCCESS")
    assert json.loads(shapes.failure(refusal, "req_1")) == {
        "success": False,
        "error": {
            "code": "ALREADY_VERIFIED",
            "message": "This order is already paid.",
            "hint": "Nothing to do; retrieve the order to see its payment.",
            "transaction_status": "SUCCESS",
        },
        "transaction_status": "SUCCESS",
        "meta": {"request_id": "req_1"},
    }


def test_a_validation_error_names_every_field() -> None:
    wrong = [FieldError("amount", "required", "this field is required"), FieldError("x", "a", "b")]
    body = json.loads(shapes.failure(invalid(wrong), "req_1"))
    details = [
        {"field": "amount", "code": "required", "message": "this field is required"},
        {"field": "x", "code": "a", "message": "b"},
    ]
    assert body["error"]["details"] == details
    assert body["details"] == details
    assert body["error"]["message"] == "amount: this field is required (and 1 more)"
