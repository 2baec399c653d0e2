"""A transaction is created once, in one commit, with a payment code that no other open transaction has."""

import asyncio
from typing import Any

import pytest

from daemon.core.errors import Refusal
from daemon.core.inputs import HttpAnswer, Idempotency, InitializeRequest
from daemon.flows.payments import cancel_expire, initialize
from daemon.wire import ErrorCode, TransactionStatus
from parsers import svc_code
from tests.fakes.answers import answered
from tests.fakes.receipts import mtn
from tests.fakes.shop import OWNER, FakeShop

ID = "93214500001"


async def make(shop: FakeShop, claim: Idempotency | None = None, **changes: Any) -> HttpAnswer:
    values = {"amount_minor": 2500, "currency": "GHS", "phone_number": "+233241234567", **changes}
    asked = InitializeRequest(**values)
    return await answered(
        claim,
        lambda keep: initialize.initialize(shop.env, OWNER, asked, keep=keep),
        lambda made: made.transaction.reference,
    )


async def test_the_answer_names_everything_the_caller_needs(shop: FakeShop) -> None:
    asked = InitializeRequest(2500, "GHS", "+233241234567", client_reference="order 7")
    made = await initialize.initialize(shop.env, OWNER, asked)
    transaction = made.transaction
    assert transaction.reference.startswith("svc_trx_")
    assert svc_code.is_valid_code(transaction.svc_code or "")
    assert transaction.public_slug
    assert (transaction.expected_minor, transaction.currency) == (2500, "GHS")
    assert (transaction.status, made.texted) == ("PENDING", True)
    assert transaction.client_reference == "order 7"
    assert "public_base_url" in made.warnings[0]


async def test_codes_of_open_requests_never_meet(shop: FakeShop) -> None:
    requests = [await shop.request() for _number in range(200)]
    assert len({request.svc_code for request in requests}) == 200


async def test_a_code_is_given_out_again_only_after_its_rest(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws: list[str] = []
    real = svc_code.make_code

    def draw(below: Any, first: str) -> str:
        code = "K7M2QX" if not draws else real(below, first)
        draws.append(code)
        return code

    monkeypatch.setattr(svc_code, "make_code", draw)
    first = await shop.request()
    draws.clear()
    second = await shop.request()
    assert first.svc_code == "K7M2QX"
    assert second.svc_code != "K7M2QX"
    shop.clock.advance((24 + 72) * 3600 + 30 * 24 * 3600 + 1)
    draws.clear()
    assert (await shop.request()).svc_code == "K7M2QX"


async def test_a_repeat_gets_the_same_bytes_and_makes_nothing(shop: FakeShop) -> None:
    claim = Idempotency("scope", "key", "fingerprint")
    first, second = await make(shop, claim), await make(shop, claim)
    assert (first.replayed, second.replayed) == (False, True)
    assert first.body == second.body
    assert await shop.values("SELECT COUNT(*) FROM transactions") == [1]


async def test_callers_with_one_key_at_the_same_time_make_one_request(shop: FakeShop) -> None:
    claim = Idempotency("scope", "key", "fingerprint")
    answers = await asyncio.gather(*(make(shop, claim) for _caller in range(16)))
    assert len({answer.body for answer in answers}) == 1
    assert await shop.values("SELECT COUNT(*) FROM transactions") == [1]


async def test_one_key_with_another_body_is_refused(shop: FakeShop) -> None:
    await make(shop, Idempotency("scope", "key", "a"))
    with pytest.raises(Refusal) as caught:
        await make(shop, Idempotency("scope", "key", "b"))
    assert caught.value.code is ErrorCode.IDEMPOTENCY_KEY_REUSED


async def test_a_key_may_be_used_anew_after_24_hours(shop: FakeShop) -> None:
    await make(shop, Idempotency("scope", "key", "a"))
    shop.clock.advance(24 * 3600 + 1)
    await cancel_expire.expire(shop.env)
    assert not (await make(shop, Idempotency("scope", "key", "b"))).replayed


async def test_an_expected_id_takes_a_payment_that_was_here_first(shop: FakeShop) -> None:
    await shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", ID))
    answer = await make(shop, expected_telco_transaction_id=ID)
    paid = await shop.transaction(answer.body.decode())
    assert (paid.status, paid.matched_by) == (TransactionStatus.SUCCESS, "telco_id")


async def test_an_expected_id_takes_a_payment_that_comes_later(shop: FakeShop) -> None:
    request = await shop.request(expected_telco_transaction_id=ID)
    await shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", ID))
    assert (await shop.transaction(request.reference)).matched_by == "telco_id"


async def test_an_expected_id_that_already_paid_is_refused(shop: FakeShop) -> None:
    request = await shop.request()
    await shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, request.svc_code or "", ID))
    with pytest.raises(Refusal) as caught:
        await make(shop, expected_telco_transaction_id=ID)
    assert caught.value.code is ErrorCode.TRANSACTION_ID_ALREADY_USED


async def test_two_open_requests_cannot_expect_one_id(shop: FakeShop) -> None:
    await make(shop, expected_telco_transaction_id=ID)
    with pytest.raises(Refusal) as caught:
        await make(shop, expected_telco_transaction_id=ID)
    assert caught.value.code is ErrorCode.VALIDATION_ERROR


async def test_an_overdue_request_gives_its_expected_id_back(shop: FakeShop) -> None:
    await make(shop, expected_telco_transaction_id=ID, expires_in_hours=1)
    shop.clock.advance(3601)
    assert (await make(shop, expected_telco_transaction_id=ID)).status == 200


async def test_a_payment_older_than_a_day_is_not_taken(shop: FakeShop) -> None:
    await shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", ID))
    shop.clock.advance(24 * 3600 + 1)
    answer = await make(shop, expected_telco_transaction_id=ID)
    assert (await shop.transaction(answer.body.decode())).status is TransactionStatus.PENDING
