"""Every shape of a transaction, whole."""

import json
from typing import Any

import pytest

from daemon.core import json_values
from daemon.core.errors import FieldError, invalid
from daemon.core.model import Payment, PaymentMethod, Transaction
from daemon.core.payments import transaction_json
from daemon.core.payments.matching import compare_amounts
from daemon.core.payments.transaction_json import TransactionAnswer, TransactionListItemAnswer
from daemon.core.webhooks import body as core_body
from daemon.core.webhooks.endpoint_json import DeliveryAnswer
from daemon.wire import EventKind, Mode, TransactionStatus
from tests.fakes import rows
from tests.fakes.rows import AT, DAY, MINUTE

NOW = AT + 2 * MINUTE
CREATED = "2026-11-21T08:01:00.123Z"
PAID = "2026-11-21T08:02:00.123Z"
REFERENCE = "svc_trx_0f3c0000000040008000000000000001"


def read(value: object) -> Any:
    return json.loads(json_values.dump(value))


def test_a_verified_request_as_a_single_transaction() -> None:
    assert read(TransactionAnswer.of(rows.verified(), rows.payment(), NOW)) == {
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
        "payer_source": {"phone_number": "receipt", "name": "receipt"},
        "telco": {"provider": "mtn", "transaction_id": "0012345678", "timestamp": "2026-11-21T08:01:58.123Z"},
        "meta": {"table": 4, "vat": 1.1},
        "timeline": {
            "created_at": CREATED,
            "pending_at": CREATED,
            "processing_at": PAID,
            "completed_at": "2026-11-21T08:02:00.127Z",
        },
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
    shape = read(TransactionAnswer.of(holder, None, NOW))
    assert shape["payer"] == {"phone_number": None, "name": None}
    assert shape["telco"] == {"provider": None, "transaction_id": None, "timestamp": None}
    assert shape["timeline"] == {"created_at": CREATED, "pending_at": None, "processing_at": None, "completed_at": None}
    assert shape["payer_source"] == {"phone_number": None, "name": None}
    assert shape["merged_into"] == "svc_trx_0f3c0000000040008000000000000002"


@pytest.mark.parametrize(
    ("received", "difference", "kind"),
    [(2300, "-2.00", "UNDERPAID"), (2650, "1.50", "OVERPAID"), (2500, None, "EXACT")],
)
def test_the_difference_is_signed_and_null_on_exact(received: int, difference: str | None, kind: str) -> None:
    shape = read(TransactionListItemAnswer.of(rows.verified(), rows.payment(amount_minor=received), NOW))
    assert (shape["difference"], shape["difference_type"]) == (difference, kind)


@pytest.mark.parametrize(
    ("phone", "name", "payer", "source"),
    [
        ("+233201000456", None, ("+233201000456", "Kofi Boateng"), ("receipt", "request")),
        (None, "KOFI ANTWI", ("+233244124567", "KOFI ANTWI"), ("request", "receipt")),
        (None, None, ("+233244124567", "Kofi Boateng"), ("request", "request")),
    ],
)
def test_each_member_of_the_payer_is_the_receipts_else_the_requests_and_says_so(
    phone: str | None, name: str | None, payer: tuple[str, str], source: tuple[str, str]
) -> None:
    shape = read(TransactionAnswer.of(rows.verified(), rows.payment(payer_phone=phone, payer_name=name), NOW))
    assert tuple(shape["payer"].values()) == payer
    assert tuple(shape["payer_source"].values()) == source


def test_a_walk_in_named_without_a_number_is_the_receipts_word() -> None:
    holder = rows.verified(origin="open", phone_number=None, customer_name=None)
    shape = read(TransactionAnswer.of(holder, rows.payment(payer_phone=None), NOW))
    assert shape["payer_source"] == {"phone_number": None, "name": "receipt"}


def test_a_request_expires_on_read_at_the_very_microsecond() -> None:
    request = rows.transaction()
    assert transaction_json.status_at(request, AT + DAY - 1) is TransactionStatus.PENDING
    assert transaction_json.status_at(request, AT + DAY) is TransactionStatus.EXPIRED
    held = rows.transaction(status=TransactionStatus.MANUAL_REVIEW)
    assert transaction_json.status_at(held, AT + DAY) is TransactionStatus.MANUAL_REVIEW


@pytest.mark.parametrize(
    ("received", "status", "difference", "kind", "message"),
    [
        (2500, "SUCCESS", "0.00", "exact", "Paid exactly: GHS 25.00 received."),
        (2300, "PARTIAL", "-2.00", "underpaid", "Short by GHS 2.00: received 23.00 of 25.00."),
        (2650, "OVERPAID", "1.50", "overpaid", "Overpaid by GHS 1.50: received 26.50 for 25.00."),
    ],
)
def test_reconcile_says_what_was_matched(received: int, status: str, difference: str, kind: str, message: str) -> None:
    shape = transaction_json.reconciliation(
        reconciliation_id="rec_" + "0" * 32,
        transaction_id=" 0012345678",
        transaction=rows.verified(TransactionStatus(status)),
        payment=rows.payment(amount_minor=received),
        verdict=compare_amounts(received, 2500),
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


def test_a_delivery_to_a_paused_endpoint_waits_for_it() -> None:
    shape = DeliveryAnswer.of(rows.delivery(), rows.endpoint(is_active=False))
    assert (shape.waiting, shape.next_attempt_at) == ("endpoint_paused", None)
    due = DeliveryAnswer.of(rows.delivery(waiting="secrets_locked"), rows.endpoint())
    assert (due.waiting, due.next_attempt_at) == ("secrets_locked", CREATED)


def test_an_event_carries_the_transaction_it_is_about() -> None:
    request, payment = rows.verified(), rows.payment()
    assert read(transaction_json.event(rows.event(), request, payment, NOW)) == {
        "id": "41",
        "type": "transaction.verified",
        "at": CREATED,
        "actor": "momo",
        **read(transaction_json.TransactionListItemAnswer.of(request, payment, NOW)),
        "transaction_id": rows.TRANSACTION_ID,
        "payment_id": rows.PAYMENT_ID,
        "message_id": None,
        "endpoint_id": None,
        "details": {"late": False},
    }
    bare = transaction_json.event(rows.event(transaction_id=None), None, None, NOW)
    assert "reference" not in bare


@pytest.mark.parametrize(
    ("page", "total", "pages", "has_next", "has_prev"),
    [(1, 0, 0, False, False), (1, 50, 1, False, False), (1, 51, 2, True, False), (9, 51, 2, False, True)],
)
def test_pagination_counts_the_pages_and_says_what_is_beside(
    page: int, total: int, pages: int, *, has_next: bool, has_prev: bool
) -> None:
    assert read(json_values.Pagination.of(page, 50, total)) == {
        "page": page,
        "per_page": 50,
        "total": total,
        "total_pages": pages,
        "has_next": has_next,
        "has_prev": has_prev,
    }


def test_success_puts_what_is_beside_the_data_between_it_and_meta() -> None:
    assert json_values.success([], {"total": 0}, secret="s") == (
        b'{"success":true,"data":[],"secret":"s","meta":{"total":0}}'
    )
    assert json_values.success(None) == b'{"success":true,"data":null}'


def test_a_validation_error_names_every_field() -> None:
    wrong = [FieldError("amount", "required", "this field is required"), FieldError("x", "a", "b")]
    body = json.loads(json_values.failure(invalid(wrong), "req_1"))
    details = [
        {"field": "amount", "code": "required", "message": "this field is required"},
        {"field": "x", "code": "a", "message": "b"},
    ]
    assert body["error"]["details"] == details
    assert body["details"] == details
    assert body["error"]["message"] == "amount: this field is required (and 1 more)"


WEBHOOK_ID = "ocl_0123456789abcdefghijklmn"


def forwarded(
    at_us: int, transaction: Transaction, payment: Payment, method: PaymentMethod | None, raw: str | None = None
) -> bytes:
    data = core_body.forwarded(transaction, payment, method, raw)
    return core_body.payload(EventKind.FORWARDED, WEBHOOK_ID, at_us, transaction.mode, data)


def test_the_forwarded_body_has_the_keys_of_the_decisions_in_their_order() -> None:
    body = forwarded(AT + MINUTE, rows.verified(), rows.payment(), rows.method())
    assert body.decode() == (
        '{"webhook_id":"ocl_0123456789abcdefghijklmn","type":"transaction.forwarded",'
        f'"timestamp":"{PAID}","api_version":"1","test":false,"livemode":true,'
        f'"data":{{"transaction_id":"{rows.TRANSACTION_ID}","reference":"{REFERENCE}",'
        '"svc_code":"A7K2M9","status":"SUCCESS","amount":"25.00","currency":"GHS",'
        '"expected_amount":"25.00","actual_amount":"25.00","difference":null,'
        '"difference_type":"EXACT","client_reference":"order-1","meta":{"table":4,"vat":1.10},'
        '"payer":{"phone_number":"+233201000456","name":"KOFI ANTWI"},'
        '"payer_source":{"phone_number":"receipt","name":"receipt"},'
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
    body = forwarded(AT, holder, rows.payment(payment_method_id=None), None, raw="Payment received")
    data = json.loads(body)["data"]
    assert data["placed"] is False
    assert data["payment_method"] is None
    assert (data["svc_code"], data["expected_amount"], data["difference_type"]) == (None, None, None)
    assert data["actual_amount"] == "25.00"
    assert data["raw"] == "Payment received"


def test_a_reversed_payment_says_so_in_later_bodies() -> None:
    body = forwarded(AT, rows.verified(), rows.payment(reversed_at=AT), rows.method())
    assert json.loads(body)["data"]["reversed_at"] == CREATED


def test_the_completed_body_is_the_single_shape_with_its_match() -> None:
    request, payment = rows.verified(mode=Mode.TEST), rows.payment(mode=Mode.TEST)
    body = json.loads(
        core_body.payload(
            EventKind.COMPLETED,
            WEBHOOK_ID,
            NOW,
            Mode.TEST,
            core_body.completed(
                request, payment, NOW, reconciliation_id="rec_" + "0" * 32, supersedes_reference=REFERENCE
            ),
        )
    )
    assert list(body) == ["webhook_id", "type", "timestamp", "api_version", "test", "livemode", "data"]
    assert (body["type"], body["test"], body["livemode"]) == ("transaction.completed", True, False)
    assert body["data"] == {
        "transaction_id": rows.TRANSACTION_ID,
        **read(TransactionAnswer.of(request, payment, NOW)),
        "match": {"matched_by": "code", "late": False, "reconciliation_id": "rec_" + "0" * 32},
        "supersedes_reference": REFERENCE,
    }


@pytest.mark.parametrize(("character", "raw_kept"), [("₵", True), ("😀", True), ("\x01", False)])
def test_the_largest_payload_stays_within_20_kilobytes(character: str, *, raw_kept: bool) -> None:
    request = rows.verified(
        meta=json.dumps({"m": "x" * 4080}, separators=(",", ":")), client_reference="₵" * 100, customer_name="₵" * 200
    )
    text = character * 1600
    body = forwarded(
        AT,
        request,
        rows.payment(reference_text=text[:1500], payer_name=text[1500:]),
        rows.method(account_name="₵" * 100),
        raw=text,
    )
    assert len(body) <= 20_000
    assert (json.loads(body)["data"]["raw"] == text) is raw_kept
