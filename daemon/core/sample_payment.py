"""A payment that never was: what a test send carries (decisions.md section 5). Pure."""

from daemon.core import webhook_shapes
from daemon.core.limits import SECOND_US
from daemon.core.model import Payment, PaymentMethod, Transaction
from daemon.wire import Mode, TransactionStatus

NOBODY = "00000000-0000-0000-0000-000000000000"
"""The id of everything in it: it is about no transaction, and its reference is all zeros."""
_TEXT = (
    "Payment received for GHS 25.00 from TEST PAYER. Reference: A7K2M9. Transaction ID: 0000000000."
)


def forwarded_body(webhook_id: str, now_us: int, *, include_raw: bool) -> bytes:
    """Make the body of `transaction.forwarded` with made-up data, `test: true` and an all-zero reference."""
    body = webhook_shapes.forwarded_body(
        webhook_id=webhook_id,
        timestamp_us=now_us,
        transaction=_transaction(now_us),
        payment=_payment(now_us),
        method=_method(now_us),
        raw=_TEXT if include_raw else None,
    )
    assert webhook_shapes.ZERO_REFERENCE.encode() in body
    return body


def _transaction(now: int) -> Transaction:
    return Transaction(
        seq=0,
        id=NOBODY,
        mode=Mode.TEST,
        origin="request",
        status=TransactionStatus.SUCCESS,
        svc_code="A7K2M9",
        public_slug=None,
        expected_minor=2500,
        currency="GHS",
        phone_number="+233200000000",
        customer_name="Test Payer",
        description=None,
        webhook_url=None,
        redirect_url=None,
        client_reference=None,
        meta="{}",
        expected_telco_transaction_id=None,
        expected_payer_phone=None,
        send_sms_to_payer=False,
        created_with="session",
        created_at=now - 60 * SECOND_US,
        expires_at=now,
        cancelled_at=None,
        payment_id=NOBODY,
        held_payment_id=None,
        matched_by="code",
        processing_at=now,
        completed_at=now,
        late=False,
        rejected=False,
        merged_into=None,
        supersedes=None,
        reversed_at=None,
    )


def _payment(now: int) -> Payment:
    return Payment(
        seq=0,
        id=NOBODY,
        mode=Mode.TEST,
        provider="momo_mtn",
        telco_transaction_id="0000000000",
        telco_id_as_read="0000000000",
        message_id=NOBODY,
        payment_method_id=NOBODY,
        sim_key="",
        device_id=NOBODY,
        slot_index=0,
        kind="payment",
        amount_minor=2500,
        currency="GHS",
        fee_minor=0,
        balance_minor=None,
        payer_name="TEST PAYER",
        payer_phone="+233200000000",
        payer_proven=True,
        reference_text="A7K2M9",
        telco_at=now - SECOND_US,
        stored_at=now,
        historical=False,
        standing="used",
        reversed_at=None,
    )


def _method(now: int) -> PaymentMethod:
    return PaymentMethod(
        seq=0,
        id=NOBODY,
        provider="momo_mtn",
        phone_number="+233240000000",
        account_name="Test Shop",
        merchant_code=None,
        sim_seq=None,
        is_active=True,
        line_created_at=None,
        last_payment_at=None,
        created_at=now,
        updated_at=now,
        deleted_at=None,
    )
