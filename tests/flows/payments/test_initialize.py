"""A transaction is created once, in one commit, with a payment code that no other open transaction has."""

from typing import Any

import pytest

from daemon.core.inputs import HttpAnswer, Idempotency, InitializeRequest
from daemon.flows.payments import initialize
from daemon.wire import TransactionStatus
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


async def test_codes_of_open_requests_never_meet(shop: FakeShop) -> None:
    requests = [await shop.request() for _number in range(200)]
    assert len({request.svc_code for request in requests}) == 200


async def test_a_code_is_given_out_again_only_after_its_rest(shop: FakeShop, monkeypatch: pytest.MonkeyPatch) -> None:
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


async def test_an_expected_id_takes_a_payment_that_was_here_first(shop: FakeShop) -> None:
    await shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", ID))
    answer = await make(shop, expected_telco_transaction_id=ID)
    paid = await shop.transaction(answer.body.decode())
    assert (paid.status, paid.matched_by) == (TransactionStatus.SUCCESS, "telco_id")


async def test_an_expected_id_takes_a_payment_that_comes_later(shop: FakeShop) -> None:
    request = await shop.request(expected_telco_transaction_id=ID)
    await shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", ID))
    assert (await shop.transaction(request.reference)).matched_by == "telco_id"


async def test_an_overdue_request_gives_its_expected_id_back(shop: FakeShop) -> None:
    await make(shop, expected_telco_transaction_id=ID, expires_in_hours=1)
    shop.clock.advance(3601)
    assert (await make(shop, expected_telco_transaction_id=ID)).status == 200


async def test_a_payment_older_than_a_day_is_not_taken(shop: FakeShop) -> None:
    await shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", ID))
    shop.clock.advance(24 * 3600 + 1)
    answer = await make(shop, expected_telco_transaction_id=ID)
    assert (await shop.transaction(answer.body.decode())).status is TransactionStatus.PENDING
