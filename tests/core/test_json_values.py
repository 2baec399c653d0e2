"""Every shape of a transaction, whole."""

import json
from typing import Any

import pytest

from daemon.core import json_values
from daemon.core.payments import transaction_json
from daemon.core.payments.matching import compare_amounts
from daemon.core.payments.transaction_json import TransactionAnswer, TransactionListItemAnswer
from daemon.wire import TransactionStatus
from tests.fakes import rows
from tests.fakes.rows import AT, DAY, MINUTE

NOW = AT + 2 * MINUTE
CREATED = "2026-11-21T08:01:00.123Z"
PAID = "2026-11-21T08:02:00.123Z"
REFERENCE = "svc_trx_0f3c0000000040008000000000000001"


def read(value: object) -> Any:
    return json.loads(json_values.dump(value))


def test_a_waiting_request_as_a_list_item() -> None:
    assert read(TransactionListItemAnswer.of(rows.transaction(), None, NOW)) == {
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
        "payer_source": {"phone_number": "request", "name": "request"},
        "created_at": CREATED,
        "completed_at": None,
        "origin": "request",
        "test": False,
        "reversed_at": None,
    }


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
    assert shape["timeline"] == {
        "created_at": CREATED,
        "pending_at": None,
        "processing_at": None,
        "completed_at": None,
    }
    assert shape["payer_source"] == {"phone_number": None, "name": None}
    assert shape["merged_into"] == "svc_trx_0f3c0000000040008000000000000002"


@pytest.mark.parametrize(
    ("received", "difference", "kind"),
    [(2300, "-2.00", "UNDERPAID"), (2650, "1.50", "OVERPAID"), (2500, None, "EXACT")],
)
def test_the_difference_is_signed_and_null_on_exact(
    received: int, difference: str | None, kind: str
) -> None:
    shape = read(
        TransactionListItemAnswer.of(rows.verified(), rows.payment(amount_minor=received), NOW)
    )
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
    shape = read(
        TransactionAnswer.of(rows.verified(), rows.payment(payer_phone=phone, payer_name=name), NOW)
    )
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


def test_initialize_shows_the_code_and_where_to_pay() -> None:
    made = transaction_json.InitializedTransactionAnswer.of(
        rows.transaction(),
        checkout_url="https://pay.example/pay/slug",
        payer_sms_sent=False,
        methods=(),
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
        "pay_to": [],
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
