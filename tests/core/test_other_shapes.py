"""Every other shape, whole: endpoints, deliveries, numbers, messages, envelopes."""

import json

import pytest

from daemon.core import json_values
from daemon.core.errors import FieldError, Refusal, invalid
from daemon.core.lines import line_json
from daemon.core.messages.message_json import MessageAnswer, MessageInFullAnswer
from daemon.core.payments import transaction_json
from daemon.core.webhooks.endpoint import EndpointAnswer
from daemon.core.webhooks.endpoint_json import DeliveryAnswer
from daemon.wire import DeliveryStatus, ErrorCode, MessageState, Mode
from tests.core.test_json_values import CREATED, NOW, read
from tests.fakes import rows
from tests.fakes.rows import AT


def test_an_endpoint_never_shows_a_secret() -> None:
    assert read(EndpointAnswer.of(rows.endpoint(mode=Mode.TEST, last_success_at=AT))) == {
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
        "headers": {},
    }


def test_a_failed_delivery_says_what_was_answered() -> None:
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
    assert read(DeliveryAnswer.of(row, rows.endpoint(kind="implicit"))) == {
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
    shape = DeliveryAnswer.of(rows.delivery(), rows.endpoint(is_active=False))
    assert (shape.waiting, shape.next_attempt_at) == ("endpoint_paused", None)
    due = DeliveryAnswer.of(rows.delivery(waiting="secrets_locked"), rows.endpoint())
    assert (due.waiting, due.next_attempt_at) == ("secrets_locked", CREATED)


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
    assert (
        read(line_json.PaymentMethodAnswer.of(rows.method(), rows.sim(), rows.device())) == record
    )
    assert read(line_json.PaymentMethodAnswer.of(rows.method(), None, None)) == {
        **record,
        "sim": None,
    }
    lost = line_json.PaymentMethodAnswer.of(rows.method(), rows.sim(network=None), None)
    assert lost.sim == line_json.Place(rows.DEVICE_ID, 0, None, "")


def test_the_list_of_sims_says_which_are_free() -> None:
    slots = [
        rows.sim(seq=2, sim_key="b", iccid=None, slot_index=1, read_payment_at=None),
        rows.sim(),
        rows.sim(seq=3, sim_key="c", slot_index=2, present=False),
        rows.sim(seq=4, sim_key="d", device_id="elsewhere"),
    ]
    assert read(line_json.phones_with_sims([rows.device()], slots, [rows.method()])) == [
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
                    "ignored": False,
                },
                {
                    "slot_index": 1,
                    "network": "MTN",
                    "iccid_last4": None,
                    "payment_method_id": None,
                    "phone_number": None,
                    "available": True,
                    "ignored": False,
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
        "recovered": False,
        "source": "modem",
        "trust_level": "full",
        "synthesised": False,
    }
    line = "+233244124567"
    assert read(MessageAnswer.of(rows.message(), line)) == shape
    shown = read(MessageInFullAnswer.of(rows.message(), line))
    assert shown == {**shape, "body": "Payment received"}
    part = rows.message(state=MessageState.INCOMPLETE, body=None)
    assert MessageInFullAnswer.of(part, line).body is None


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
    [
        (1, 0, 0, False, False),
        (1, 50, 1, False, False),
        (1, 51, 2, True, False),
        (9, 51, 2, False, True),
    ],
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


def test_extras_of_a_refusal_stand_in_both_places() -> None:
    refusal = Refusal(ErrorCode.ALREADY_VERIFIED, transaction_status="SUCCESS")
    assert json.loads(json_values.failure(refusal, "req_1")) == {
        "success": False,
        "error": {
            "code": "ALREADY_VERIFIED",
            "message": "This transaction is already paid.",
            "hint": "Nothing to do; retrieve it to see its payment.",
            "doc_url": "/docs/errors#ALREADY_VERIFIED",
            "transaction_status": "SUCCESS",
        },
        "transaction_status": "SUCCESS",
        "meta": {"request_id": "req_1"},
    }


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
