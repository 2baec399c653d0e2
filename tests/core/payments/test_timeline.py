"""The timeline of one transaction, as sentences."""

import json

import pytest

from daemon.core.json_values import dump
from daemon.core.payments import timeline
from daemon.core.payments.reviews import CASES, REASONS, explain
from daemon.store.journal import Notice
from daemon.wire import ReviewReason
from tests.fakes.each import each
from tests.fakes.rows import event, payment

PAID = "GHS 25.00 from KOFI ANTWI (0012345678)"


@each(
    ("kind", "facts", "text"),
    [
        ("transaction.created", {"expected_minor": 2500, "currency": "GHS"}, "Asked for GHS 25.00."),
        (
            "transaction.verified",
            {"status": "SUCCESS", "matched_by": "code", "late": False},
            f"{PAID} paid it exactly, matched by the code that the payer typed.",
        ),
        (
            "transaction.verified",
            {"status": "PARTIAL", "matched_by": "review", "late": True},
            (f"{PAID} paid it short, matched by an operator in a review, after the transaction had expired."),
        ),
        ("transaction.reconciled", {"reconciliation_id": "rec_1"}, f"{PAID} was reconciled with it (rec_1)."),
        ("transaction.cancelled", {}, "Cancelled."),
        ("transaction.cancelled", {"reason": "sold out"}, "Cancelled: sold out"),
        ("transaction.expired", {}, "Expired unpaid."),
        ("transaction.released", {}, f"{PAID} is no longer held for it: it waits for its payment again."),
        ("review.opened", {"reason": "payer_mismatch"}, f"{PAID} is held for review: another payer than expected."),
        (
            "review.opened",
            {"reason": "doubtful_message", "doubts": ["printed_time"]},
            f"{PAID} is held for review: the message is doubtful.",
        ),
        ("review.opened", {"reason": "balance_break"}, f"{PAID} is held for review: balance does not add up."),
        ("review.approved", {"reason": "late"}, f"An operator approved {PAID}."),
        ("review.rejected", {"reason": "late", "notes": "sent back"}, f"An operator rejected {PAID}. Notes: sent back"),
        ("payment.walk_in", {}, f"{PAID} matched no transaction."),
        ("payment.reversed", {}, f"The network took {PAID} back. The transaction keeps its status."),
        (
            "notice.money_missing",
            {"gap_minor": -700, "currency": "GHS"},
            "GHS 7.00 left without a message: a message may have been lost.",
        ),
        (
            "notice.balance_warning",
            {"gap_minor": 700, "currency": "GHS"},
            (
                "The balance in this receipt does not follow from the one before it. GHS 7.00 came in "
                "without a message: a message may have been lost."
            ),
        ),
        (
            "notice.payment_reversed",
            {"amount_minor": 2500, "currency": "GHS"},
            "GHS 25.00 was taken back by the network.",
        ),
        (
            "notice.reversal_unmatched",
            {"amount_minor": None, "currency": None, "original_telco_id": "0012"},
            "An amount was taken back by the network: the payment 0012, which is not here.",
        ),
        (
            "notice.reversal_unmatched",
            {"amount_minor": 2500, "currency": "GHS", "original_telco_id": None},
            "GHS 25.00 was taken back by the network, which does not say of which payment.",
        ),
        ("payment.walk_in", {"rejected": True}, f"{PAID} was rejected: it is kept without a match and not forwarded."),
        ("payment.walk_in", {"historical": True}, f"{PAID} is older than its line: it is kept and not forwarded."),
        ("delivery.delivered", {"event": "transaction.completed"}, "The webhook transaction.completed was delivered."),
        ("delivery.failed", {"event": "transaction.completed"}, "The webhook transaction.completed was given up."),
        ("something.new", {}, "something.new."),
    ],
)
def test_every_fact_is_a_sentence(kind: str, facts: dict[str, object], text: str) -> None:
    assert str(timeline.entry_text(kind, facts, payment())) == text


def test_a_payment_that_is_not_known_is_still_told() -> None:
    facts = {"reason": "late"}
    assert str(timeline.entry_text("review.opened", facts, None)) == (
        "A payment is held for review: transaction had expired."
    )


def test_a_payer_without_a_name_is_left_out() -> None:
    said = timeline.entry_text("payment.walk_in", {}, payment(payer_name=None))
    assert str(said) == "GHS 25.00 (0012345678) matched no transaction."


def test_a_line_carries_the_fact_itself_too() -> None:
    row = event(type="transaction.cancelled", data=json.dumps({"reason": "sold out"}))
    assert json.loads(dump(timeline.TransactionEventAnswer.of(row, None))) == {
        "id": "41",
        "type": "transaction.cancelled",
        "at": "2026-11-21T08:01:00.123Z",
        "actor": "momo",
        "text": "Cancelled: sold out",
        "payment_id": row.payment_id,
        "message_id": None,
        "endpoint_id": None,
        "details": {"reason": "sold out"},
    }


def test_every_reason_of_a_review_is_explained() -> None:
    assert set(REASONS) == set(ReviewReason)
    for case in (*ReviewReason, *CASES):
        said = explain(case)
        assert str(said.why).endswith(".")
        assert str(said.todo).endswith(".")
        assert len(str(said.short)) <= 45


def test_every_notice_has_its_sentence() -> None:
    for notice in Notice:
        assert not str(timeline.entry_text(f"notice.{notice}", {}, None)).startswith("notice.")


@pytest.mark.parametrize(
    ("kind", "facts", "text"),
    [
        (
            "transaction.verified",
            {"status": "SUCCESS", "matched_by": "code", "late": False, "payer_known_by": "name"},
            (
                f"{PAID} paid it exactly, matched by the code that the payer typed. The receipt names no number; its "
                "payer name is the expected one."
            ),
        ),
        (
            "transaction.verified",
            {"status": "SUCCESS", "matched_by": "code", "payer_known_by": "approval"},
            (
                f"{PAID} paid it exactly, matched by the code that the payer typed. The receipt names no number; an "
                "operator approved its payer name for the expected number before."
            ),
        ),
        (
            "review.opened",
            {"reason": "near_miss"},
            f"{PAID} may be for a transaction that it does not name: a review is open.",
        ),
        (
            "suggestion.accepted",
            {"reasons": ["code_swapped", "amount"]},
            (
                f"An operator accepted the suggestion that {PAID} is for it: the reference has its code with two characters "
                "swapped, and the amount is exactly its own."
            ),
        ),
        (
            "payer.approved",
            {"name": "KOFI", "phone_number": "+233241234567"},
            "The name KOFI is approved for +233241234567 from now on.",
        ),
        (
            "payer.revoked",
            {"name": "KOFI", "phone_number": "+233241234567"},
            "The name KOFI is no longer approved for +233241234567.",
        ),
    ],
)
def test_what_a_person_taught_has_its_sentence(kind: str, facts: dict[str, object], text: str) -> None:
    assert str(timeline.entry_text(kind, facts, payment())) == text
