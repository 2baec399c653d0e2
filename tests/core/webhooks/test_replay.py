"""The decision of a replay about one payment, in every combination, and the cursor."""

import itertools

from daemon.core.webhooks.replay import Cursor, ReplayDecision, decide_replay, read_cursor
from daemon.wire import DeliveryStatus
from tests.fakes.each import each
from tests.fakes.rows import AT, delivery, payment

CURSOR = Cursor("0f3c0000-0000-4000-8000-000000000005", AT, AT + 1, 41)


@each(
    ("has", "claimed", "reversed_", "historical", "expected"),
    [
        (None, True, False, False, ReplayDecision.NEW),
        (None, True, False, True, ReplayDecision.HISTORICAL),
        (None, True, True, False, ReplayDecision.REVERSED),
        (None, False, False, False, ReplayDecision.NOT_CLAIMED),
        (DeliveryStatus.PENDING, True, False, False, ReplayDecision.IN_FLIGHT),
        (DeliveryStatus.RETRYING, True, False, False, ReplayDecision.IN_FLIGHT),
        (DeliveryStatus.DELIVERED, True, False, False, ReplayDecision.DELIVERED),
        (DeliveryStatus.DELIVERED, False, True, True, ReplayDecision.DELIVERED),
        (DeliveryStatus.FAILED, True, False, False, ReplayDecision.AGAIN),
        (DeliveryStatus.FAILED, True, True, False, ReplayDecision.REVERSED),
        (DeliveryStatus.FAILED, False, False, False, ReplayDecision.NOT_CLAIMED),
        (DeliveryStatus.FAILED, True, False, True, ReplayDecision.HISTORICAL),
    ],
)
def test_each_payment_has_one_fate(
    has: DeliveryStatus | None, claimed: bool, reversed_: bool, historical: bool, expected: ReplayDecision
) -> None:
    delivered = AT if has is DeliveryStatus.DELIVERED else None
    row = None if has is None else delivery(status=has, delivered_at=delivered)
    paid = payment(reversed_at=AT if reversed_ else None, historical=historical)
    found = decide_replay(paid, row, claimed=claimed, include_failed=True, include_historical=False)
    assert found is expected


def test_what_was_delivered_once_is_had_whatever_came_of_a_redelivery() -> None:
    for status in DeliveryStatus:
        row = delivery(status=status, delivered_at=AT)
        found = decide_replay(payment(), row, claimed=True, include_failed=True, include_historical=True)
        assert found is ReplayDecision.DELIVERED


def test_failed_ones_are_left_out_when_they_are_not_asked_for() -> None:
    row = delivery(status=DeliveryStatus.FAILED)
    found = decide_replay(payment(), row, claimed=True, include_failed=False, include_historical=False)
    assert found is ReplayDecision.FAILED


def test_history_is_sent_when_it_is_asked_for_and_a_person_has_let_it_pay() -> None:
    def fate(standing: str) -> ReplayDecision:
        old = payment(historical=True, standing=standing)
        return decide_replay(old, None, claimed=True, include_failed=True, include_historical=True)

    assert fate("used") is ReplayDecision.NEW
    assert {fate("open"), fate("review")} == {ReplayDecision.HISTORICAL}


def test_a_cursor_comes_back_as_it_was() -> None:
    assert read_cursor(CURSOR.write()) == CURSOR


@each("text", ["", "x", "W10", "e30", "bnVsbA", "!!!!", "WzEsMiwzLDRd", "ÄÖ", "A" * 301])
def test_what_is_no_cursor_is_none(text: str) -> None:
    assert read_cursor(text) is None


def test_no_cut_or_changed_cursor_raises() -> None:
    written = CURSOR.write()
    for index, letter in itertools.product(range(len(written)), "A_9"):
        read_cursor(written[:index])
        read_cursor(written[:index] + letter + written[index + 1 :])
