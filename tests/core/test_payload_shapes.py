"""Every shape of a webhook body, whole, in its order, and small enough."""

import json

import pytest

from daemon.core.model import Payment, PaymentMethod, Transaction
from daemon.core.payments.transaction_json import TransactionAnswer
from daemon.core.webhooks import body as core_body
from daemon.wire import EventKind, Mode
from tests.core.test_json_values import CREATED, NOW, PAID, REFERENCE, read
from tests.fakes import rows
from tests.fakes.rows import AT, MINUTE

WEBHOOK_ID = "ocl_0123456789abcdefghijklmn"


def forwarded(
    at_us: int,
    transaction: Transaction,
    payment: Payment,
    method: PaymentMethod | None,
    raw: str | None = None,
) -> bytes:
    data = core_body.forwarded(transaction, payment, method, raw)
    return core_body.payload(EventKind.FORWARDED, WEBHOOK_ID, at_us, transaction.mode, data)


def test_the_forwarded_body_has_the_keys_of_the_decisions_in_their_order() -> None:
    body = forwarded(
        AT + MINUTE,
        rows.verified(),
        rows.payment(),
        rows.method(),
    )
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
    body = forwarded(
        AT,
        holder,
        rows.payment(payment_method_id=None),
        None,
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
    body = forwarded(
        AT,
        rows.verified(),
        rows.payment(reversed_at=AT),
        rows.method(),
    )
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
                request,
                payment,
                NOW,
                reconciliation_id="rec_" + "0" * 32,
                supersedes_reference=REFERENCE,
            ),
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
        **read(TransactionAnswer.of(request, payment, NOW)),
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
    body = forwarded(
        AT,
        request,
        rows.payment(reference_text=text[:1500], payer_name=text[1500:]),
        rows.method(account_name="₵" * 100),
        raw=text,
    )
    assert len(body) <= 20_000
    assert (json.loads(body)["data"]["raw"] == text) is raw_kept
