"""A transaction made after its payment is suggested for it, and a review without suggestions left is closed."""

from datetime import timedelta
from typing import Any

import pytest

from daemon.core.limits import LATE_WINDOW_US, SECOND_US
from daemon.core.model import Event, Review, Transaction
from daemon.core.payments.suggestions import TRANSACTION_AFTER_US
from daemon.flows.payments.cancel_expire import drop_suggestions
from daemon.store.payments import suggestions
from daemon.wire import TransactionStatus
from tests.fakes.receipts import STARTED, telecel
from tests.fakes.reviews import approve, only, reject
from tests.fakes.shop import TELECEL_IMSI, FakeShop
from tests.flows.payments.test_suggestions import SECOND, mistyped, pay, references

DAY_S = TRANSACTION_AFTER_US // SECOND_US


async def test_an_order_made_after_the_money_of_its_customer_is_suggested(shop: FakeShop) -> None:
    await pay(shop, "food", name="KOFI ANTWI BADU")
    assert await shop.rows(Review, "reviews") == []
    request = await shop.request(2500, customer_name="Antwi Badu Kofi")
    assert (await only(shop)).reason == "near_miss"
    assert await references(shop) == [request.reference]
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING
    answer = await approve(shop, reference=request.reference)
    assert answer["transaction"]["status"] == "SUCCESS"
    [holder] = await shop.rows(Transaction, "transactions", "origin = 'open'")
    assert holder.merged_into is not None


async def test_by_the_customers_number_too(tmp_path: Any) -> None:
    shop = await FakeShop.make(tmp_path, imsi=TELECEL_IMSI)
    await shop.read(
        telecel(2500, "A B", 90_000, "food", "0000014673911819", payer_phone="233241234567")
    )
    request = await shop.request(2500)
    assert await references(shop) == [request.reference]
    shop.close()


@pytest.mark.parametrize(
    ("amount", "name"), [(2600, "Kofi Antwi Badu"), (2500, "Ama Serwaa"), (2500, None)]
)
async def test_another_amount_or_another_name_asks_nobody(
    amount: int, name: str | None, shop: FakeShop
) -> None:
    await pay(shop, "food", name="KOFI ANTWI BADU")
    await shop.request(amount, customer_name=name)
    assert await shop.rows(Review, "reviews") == []


async def test_the_code_of_an_order_that_was_not_there_yet_brings_nothing_near(
    shop: FakeShop,
) -> None:
    await pay(shop, "food", sent_at=STARTED - timedelta(minutes=9))
    request = await shop.request(2500)
    await pay(shop, "food", SECOND)
    assert request.svc_code
    assert await shop.rows(Review, "reviews") == []


async def test_money_that_paid_or_that_a_person_has_decided_is_left_alone(shop: FakeShop) -> None:
    first = await shop.request(2500, customer_name="Kofi Antwi Badu")
    await pay(shop, first.svc_code or "", name="KOFI ANTWI BADU")
    await pay(shop, "food", SECOND, name="KOFI ANTWI BADU")
    await shop.request(2500, customer_name="Kofi Antwi Badu")
    assert (await only(shop)).reason == "near_miss"
    await reject(shop)
    await shop.request(2500, customer_name="Kofi Antwi Badu")
    assert await shop.rows(Review, "reviews", "state = 'open'") == []


async def test_money_of_the_day_before_is_too_old(shop: FakeShop) -> None:
    await pay(shop, "food", name="KOFI ANTWI BADU")
    shop.clock.advance(DAY_S + 1)
    await shop.request(2500, customer_name="Kofi Antwi Badu")
    assert await shop.rows(Review, "reviews") == []


async def test_only_the_newest_payments_of_one_price_are_looked_at(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suggestions, "PAYMENTS_MAX", 1)
    await pay(shop, "food", name="KOFI ANTWI BADU")
    shop.clock.advance(1)
    await pay(shop, "food", SECOND, name="YAW OWUSU")
    await shop.request(2500, customer_name="Kofi Antwi Badu")
    assert await shop.rows(Review, "reviews") == []
    await shop.request(2500, customer_name="Yaw Owusu")
    assert (await only(shop)).reason == "near_miss"


async def test_a_question_with_nothing_left_to_suggest_is_dropped_when_no_order_can_come(
    shop: FakeShop,
) -> None:
    request = await shop.request(2500)
    await pay(shop, mistyped(request.svc_code))
    waiting = await only(shop)
    shop.clock.advance(DAY_S + 1)
    assert await drop_suggestions(shop.env) == 0  # the order may still be paid late
    shop.clock.advance(LATE_WINDOW_US // SECOND_US)
    assert await drop_suggestions(shop.env) == 1
    assert await drop_suggestions(shop.env) == 0
    [now] = await shop.rows(Review, "reviews")
    assert (now.id, now.state, now.decided_by) == (waiting.id, "superseded", "momo")
    [holder] = await shop.rows(Transaction, "transactions", "origin = 'open'")
    assert (holder.status, holder.rejected) == (TransactionStatus.SUCCESS, False)
    told = await shop.rows(Event, "events", "type = 'review.superseded'")
    assert [event.transaction_id for event in told] == [holder.id]


async def test_it_is_asked_as_long_as_an_order_may_still_come(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await pay(shop, mistyped(request.svc_code))
    await pay(shop, request.svc_code or "", SECOND)
    assert await references(shop) == []
    shop.clock.advance(DAY_S - 60)
    assert await drop_suggestions(shop.env) == 0
    shop.clock.advance(120)
    assert await drop_suggestions(shop.env) == 1
