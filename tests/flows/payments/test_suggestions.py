"""A payment without a code that fits an open transaction opens a review and is not matched automatically."""

import asyncio
import json
import time
from datetime import timedelta
from typing import Any

import pytest

from daemon.core.errors import Refusal
from daemon.core.limits import LATE_WINDOW_US, SECOND_US
from daemon.core.model import Event, Review, Transaction
from daemon.core.payments.suggestions import SUGGESTIONS_MAX, TRANSACTION_AFTER_US, Suggestion
from daemon.flows.payments import cancel_expire, review
from daemon.flows.payments.cancel_expire import drop_suggestions
from daemon.store.engine import Tx
from daemon.store.payments import reviews as store_reviews
from daemon.store.payments import suggestions
from daemon.wire import ErrorCode, Mode, TransactionStatus
from parsers.svc_code import ALPHABET
from tests.fakes.new_database import writer
from tests.fakes.receipts import STARTED, mtn, telecel
from tests.fakes.reviews import approve, endpoint, forge, only, reject
from tests.fakes.shop import OWNER, TELECEL_IMSI, FakeShop

ID = "93214500001"
SECOND = "93214500002"


def mistyped(code: str | None) -> str:
    """Return the code with its last character wrong."""
    assert code is not None
    wrong = ALPHABET[(ALPHABET.index(code[-1]) + 1) % len(ALPHABET)]
    return code[:-1] + wrong


async def pay(shop: FakeShop, typed: str, telco_id: str = ID, **more: Any) -> None:
    name = more.pop("name", "YAW OWUSU")
    balance = 90_000 + 2500 * int(telco_id[-2:])
    await shop.read(mtn(2500, name, balance, typed, telco_id, **more))


async def shown(shop: FakeShop, review_id: str | None = None) -> list[Any]:
    """Return the present suggestions of a review."""
    wanted = review_id or (await only(shop)).id
    now = shop.clock.now_us()
    found = await shop.env.store.read(lambda r: store_reviews.evidence_of(r, wanted, None, now))
    assert found is not None
    return list(found.suggestions)


async def references(shop: FakeShop) -> list[str]:
    return [one.request.reference for one in await shown(shop)]


async def test_a_mistyped_code_is_suggested_and_pays_nothing_by_itself(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await pay(shop, mistyped(request.svc_code))
    waiting = await only(shop)
    assert (waiting.reason, waiting.transaction_id) == ("near_miss", None)
    assert await references(shop) == [request.reference]
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING
    assert json.loads(waiting.details) == {
        "suggested": [{"reference": request.reference, "reasons": ["code_wrong_character", "amount"]}]
    }


@pytest.mark.parametrize(("asked", "status"), [(25_000, "PARTIAL"), (25_001, "PENDING")])
async def test_a_payment_of_less_than_a_tenth_of_its_code_is_suggested_and_not_booked(
    shop: FakeShop, asked: int, status: str
) -> None:
    # Whoever sees a customer's code could make its order PARTIAL with a pesewa.
    request = await shop.request(asked)
    await pay(shop, request.svc_code or "")
    assert (await shop.transaction(request.reference)).status == status
    if status == "PARTIAL":
        return
    waiting = await only(shop)
    assert (waiting.reason, waiting.transaction_id) == ("near_miss", None)
    assert [one.reasons for one in await shown(shop)] == [("code_of_more",)]
    await approve(shop, waiting.id, reference=request.reference)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PARTIAL


async def test_a_code_with_a_hundredth_leaves_its_order_open_for_the_customer(shop: FakeShop) -> None:
    request = await shop.request(30_000)
    await pay(shop, request.svc_code or "")
    await shop.read(mtn(30_000, "ESI", 122_500, request.svc_code or "", SECOND))
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS


@pytest.mark.parametrize("by", ["reconcile", "expected"])
async def test_reconcile_and_an_expected_id_book_a_small_payment(shop: FakeShop, by: str) -> None:
    expected = {"expected_telco_transaction_id": ID} if by == "expected" else {}
    request = await shop.request(250_000, **expected)
    await pay(shop, request.svc_code or "")
    if by == "reconcile":
        await shop.reconcile(request.reference, ID)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PARTIAL


async def test_the_money_is_a_sale_of_its_own_meanwhile_and_is_forwarded(shop: FakeShop) -> None:
    await endpoint(shop)
    request = await shop.request(2500)
    await pay(shop, mistyped(request.svc_code))
    [holder] = await shop.rows(Transaction, "transactions", "origin = 'open'")
    [payment] = await shop.payments()
    assert (holder.payment_id, holder.rejected, payment.standing) == (payment.id, False, "open")
    assert await shop.values("SELECT event FROM deliveries") == ["transaction.forwarded"]
    assert await shop.values("SELECT state FROM messages") == ["payment"]


async def test_money_that_is_near_to_nothing_asks_nobody(shop: FakeShop) -> None:
    await shop.request(2500, customer_name="Kofi Antwi")
    await pay(shop, "food")
    assert await shop.rows(Review, "reviews") == []


async def test_the_customers_name_and_the_amount_are_enough_to_ask(shop: FakeShop) -> None:
    request = await shop.request(2500, customer_name="Mr. Antwi-Badu Kofi")
    await shop.request(2600, customer_name="Kofi Antwi Badu")
    await pay(shop, "food", name="KOFI ANTWI BADU")
    assert await references(shop) == [request.reference]


async def test_the_customers_number_and_the_amount_are_enough_to_ask(tmp_path: Any) -> None:
    shop = await FakeShop.make(tmp_path, imsi=TELECEL_IMSI)
    request = await shop.request(2500)
    await shop.request(2400)
    await shop.read(telecel(2500, "A B", 90_000, "food", "0000014673911819", payer_phone="233241234567"))
    assert await references(shop) == [request.reference]
    [found] = await shown(shop)
    assert found.reasons == ("payer_and_amount",)
    shop.close()


async def test_taking_the_suggestion_pays_the_order_and_the_journal_says_why(shop: FakeShop) -> None:
    await endpoint(shop)
    request = await shop.request(2500)
    await pay(shop, mistyped(request.svc_code))
    answer = await approve(shop, reference=request.reference, notes="she showed it")
    transaction = answer["transaction"]
    assert (transaction["reference"], transaction["status"], transaction["matched_by"]) == (
        request.reference,
        "SUCCESS",
        "review",
    )
    assert answer["data"]["suggestions"] == []
    [holder] = await shop.rows(Transaction, "transactions", "origin = 'open'")
    assert holder.merged_into == request.id
    [event] = await shop.rows(Event, "events", "type = 'suggestion.accepted'")
    assert (event.actor, event.transaction_id) == ("socket:0", request.id)
    data = json.loads(event.data)
    assert (data["rank"], data["reasons"]) == (1, ["code_wrong_character", "amount"])
    rows = await shop.values("SELECT event FROM deliveries ORDER BY event")
    assert rows == ["transaction.completed", "transaction.forwarded"]


async def test_without_an_order_it_stays_the_sale_that_it_is(shop: FakeShop) -> None:
    await endpoint(shop)
    request = await shop.request(2500)
    await pay(shop, mistyped(request.svc_code))
    [holder] = await shop.rows(Transaction, "transactions", "origin = 'open'")
    answer = await approve(shop)
    assert answer["transaction"]["reference"] == holder.reference
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING
    assert await shop.values("SELECT COUNT(*) FROM transactions WHERE origin = 'open'") == [1]
    assert await shop.values("SELECT COUNT(*) FROM deliveries") == [1]


async def test_rejecting_it_marks_the_sale_and_reconcile_can_still_use_it(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await pay(shop, mistyped(request.svc_code))
    answer = await reject(shop)
    assert (answer["data"]["state"], answer["transaction"]["rejected"]) == ("rejected", True)
    assert answer["transaction"]["origin"] == "open"
    assert (await shop.reconcile(request.reference, ID)).reconciliation_id


async def test_an_order_that_was_paid_meanwhile_is_suggested_no_more_and_refused(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await pay(shop, mistyped(request.svc_code))
    await pay(shop, request.svc_code or "", SECOND, concatenation=1)
    assert await references(shop) == []
    with pytest.raises(Refusal) as refused:
        await approve(shop, reference=request.reference)
    assert refused.value.code is ErrorCode.ALREADY_VERIFIED
    assert (await only(shop)).reason == "near_miss"


async def test_reconcile_settles_the_question(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await pay(shop, mistyped(request.svc_code))
    await shop.reconcile(request.reference, ID)
    assert await shop.values("SELECT state FROM reviews") == ["used_elsewhere"]


async def test_of_many_who_take_different_suggestions_at_once_one_does(shop: FakeShop) -> None:
    requests = [await shop.request(2500, customer_name="Yaw Owusu") for _ in range(3)]
    await pay(shop, "food")
    waiting = await only(shop)
    answers = await asyncio.gather(
        *(review.approve(shop.env, OWNER, waiting.id, review.Approval(one.reference)) for one in requests * 3),
        return_exceptions=True,
    )
    codes = [one.code for one in answers if isinstance(one, Refusal)]
    assert len(codes) == 8
    assert set(codes) == {ErrorCode.REVIEW_ALREADY_DECIDED}
    assert await shop.values("SELECT COUNT(*) FROM reconciliations") == [1]


async def test_an_order_made_after_the_money_is_suggested_when_it_is_looked_at(shop: FakeShop) -> None:
    first = await shop.request(2500, customer_name="Yaw Owusu")
    await pay(shop, "food")
    shop.clock.advance(60)
    second = await shop.request(2500, customer_name="Owusu Yaw")
    assert await references(shop) == [second.reference, first.reference]


async def test_never_more_than_a_few_are_suggested(shop: FakeShop) -> None:
    for _ in range(SUGGESTIONS_MAX + 3):
        await shop.request(2500, customer_name="Yaw Owusu")
    await pay(shop, "food")
    assert len(await shown(shop)) == SUGGESTIONS_MAX


async def test_a_lately_expired_order_is_suggested_and_an_old_one_is_not(shop: FakeShop) -> None:
    request = await shop.request(2500, expires_in_hours=1)
    shop.clock.advance(2 * 3600)
    await cancel_expire.expire(shop.env)
    await pay(shop, mistyped(request.svc_code), sent_at=STARTED + timedelta(hours=2))
    assert await references(shop) == [request.reference]
    shop.clock.advance(80 * 3600)
    later = STARTED + timedelta(hours=82)
    await pay(shop, mistyped(request.svc_code), SECOND, sent_at=later, concatenation=1)
    assert await shop.values("SELECT COUNT(*) FROM reviews") == [1]


async def test_a_forged_receipt_with_a_mistyped_code_is_still_only_a_forgery(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await forge(shop, mistyped(request.svc_code))
    assert (await only(shop)).reason == "unknown_sender"
    assert await shown(shop) == []


async def test_names_of_orders_that_cannot_be_paid_any_more_are_forgotten(shop: FakeShop) -> None:
    paid = await shop.request(2500, customer_name="Yaw Owusu")
    await shop.request(2500, customer_name="Kofi Badu", expires_in_hours=1)
    assert await shop.values("SELECT COUNT(*) FROM request_names") == [2]
    await pay(shop, paid.svc_code or "")
    assert await shop.values("SELECT pair FROM request_names") == ["BADU KOFI"]
    shop.clock.advance(3600 + LATE_WINDOW_US // 1_000_000)
    await cancel_expire.expire(shop.env)
    assert await shop.values("SELECT pair FROM request_names") == []


@pytest.mark.file  # asks for SQLite's plans
@pytest.mark.tampers
async def test_ten_thousand_open_orders_cost_what_a_few_do_and_no_table_is_read_through(shop: FakeShop) -> None:
    """All transactions have the same amount and the same name, and the reference takes the most work to compare."""
    request = await shop.request(2500, customer_name="Yaw Owusu")
    await pay(shop, "K7M 2QX 9TW 4RD " * 3)
    [payment] = await shop.payments()
    wanted = ", ".join(
        {"id": "'x' || n", "public_slug": "'x' || n", "svc_code": "'x' || n", "seq": "NULL"}.get(name, name)
        for name in await shop.values("SELECT name FROM pragma_table_info('transactions')")
    )
    numbers = "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 10000) "
    await shop.env.store.write(
        lambda tx: [
            tx.run(
                f"INSERT INTO transactions {numbers} SELECT {wanted} FROM transactions, c WHERE id = '{request.id}'"
            ),
            tx.run(
                f"INSERT INTO request_names {numbers} SELECT 'live', 2500, 'OWUSU YAW', {request.expires_at}, 'x' || n "
                "FROM c"
            ),
            tx.run(
                f"INSERT INTO svc_codes {numbers} SELECT 'live', 'x' || n, {request.seq}, {request.expires_at} FROM c"
            ),
        ]
    )
    statements: set[str] = set()
    writer(shop.env.store).set_trace_callback(statements.add)

    def timed(tx: Tx) -> tuple[list[Suggestion], float]:
        began = time.thread_time()
        return suggestions.suggestions(tx, payment), time.thread_time() - began

    found, spent = await shop.env.store.write(timed)
    writer(shop.env.store).set_trace_callback(None)
    assert len(found) == SUGGESTIONS_MAX
    plans = [
        line[3]
        for statement in statements
        if statement.startswith("SELECT")
        for line in await shop.values(f"EXPLAIN QUERY PLAN {statement}")
    ]
    assert plans
    assert {plan for plan in plans if plan.startswith("SCAN") or "TEMP B-TREE" in plan} <= {
        "SCAN json_each VIRTUAL TABLE INDEX 1:"
    }  # the codes that are looked for
    assert spent < 0.1


@pytest.mark.tampers
async def test_live_and_test_never_meet(shop: FakeShop) -> None:
    request = await shop.request(2500, customer_name="Yaw Owusu")
    await shop.env.store.write(
        lambda tx: [
            tx.run(f"UPDATE {table} SET mode = :mode", {"mode": Mode.TEST})
            for table in ("transactions", "svc_codes", "request_names")
        ]
    )
    await pay(shop, mistyped(request.svc_code))
    assert await shop.rows(Review, "reviews") == []


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
    await shop.read(telecel(2500, "A B", 90_000, "food", "0000014673911819", payer_phone="233241234567"))
    request = await shop.request(2500)
    assert await references(shop) == [request.reference]
    shop.close()


@pytest.mark.parametrize(("amount", "name"), [(2600, "Kofi Antwi Badu"), (2500, "Ama Serwaa"), (2500, None)])
async def test_another_amount_or_another_name_asks_nobody(amount: int, name: str | None, shop: FakeShop) -> None:
    await pay(shop, "food", name="KOFI ANTWI BADU")
    await shop.request(amount, customer_name=name)
    assert await shop.rows(Review, "reviews") == []


async def test_the_code_of_an_order_that_was_not_there_yet_brings_nothing_near(shop: FakeShop) -> None:
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


async def test_a_question_with_nothing_left_to_suggest_is_dropped_when_no_order_can_come(shop: FakeShop) -> None:
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
