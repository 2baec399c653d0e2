"""A transaction with an expected payer, and a receipt without a number: the name decides, else one review by an operator."""

import json
from typing import Any

import pytest

from daemon.core.access.callers import ALL_SCOPES, Caller, CallerKind
from daemon.core.errors import Refusal
from daemon.core.model import ApprovedPayer, Event
from daemon.flows.messages import overdue
from daemon.wire import ErrorCode, Mode
from tests.fakes.receipts import mtn
from tests.fakes.reviews import approve, only, reject
from tests.fakes.shop import OWNER, FakeShop

PAYER = "+233241234567"
NAME = "KOFI ANTWI BADU"


async def pay(shop: FakeShop, typed: str | None, number: int = 1, name: str = NAME) -> None:
    await shop.read(mtn(2500, name, 90_000 + 2500 * number, typed or "", f"9321450{number:04d}", concatenation=number))


async def status(shop: FakeShop, reference: str) -> str:
    return str((await shop.transaction(reference)).status)


async def approved(shop: FakeShop) -> list[ApprovedPayer]:
    return await shop.rows(ApprovedPayer, "approved_payers")


async def test_the_expected_name_pays_without_a_person(shop: FakeShop) -> None:
    request = await shop.request(2500, expected_payer_phone=PAYER, expected_payer_name="Mr Badu, Kofi Antwi")
    await pay(shop, request.svc_code)
    assert await status(shop, request.reference) == "SUCCESS"
    [event] = await shop.rows(Event, "events", "type = 'transaction.verified'")
    assert json.loads(event.data)["payer_known_by"] == "name"


async def test_another_name_waits_for_a_person(shop: FakeShop) -> None:
    request = await shop.request(2500, expected_payer_phone=PAYER, expected_payer_name="Kofi Badu")
    await pay(shop, request.svc_code)
    assert await status(shop, request.reference) == "MANUAL_REVIEW"
    assert (await only(shop)).reason == "payer_unknown"


async def test_a_name_that_a_person_approved_pays_without_one_the_next_time(shop: FakeShop) -> None:
    first = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, first.svc_code)
    await approve(shop)
    [known] = await approved(shop)
    assert (known.phone_number, known.name, known.approved_by, known.mode) == (PAYER, NAME, "socket:0", Mode.LIVE)
    second = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, second.svc_code, 2, "Badu Kofi Antwi")
    assert await status(shop, second.reference) == "SUCCESS"
    verified = await shop.rows(Event, "events", "type = 'transaction.verified'")
    assert json.loads(verified[-1].data)["payer_known_by"] == "approval"
    [event] = await shop.rows(Event, "events", "type = 'payer.approved'")
    assert (event.actor, event.transaction_id) == ("socket:0", first.id)
    assert json.loads(event.data) == {"approved_payer_id": known.id}


async def test_an_approval_is_for_that_number_and_that_name_only(shop: FakeShop) -> None:
    first = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, first.svc_code)
    await approve(shop)
    other_number = await shop.request(2500, expected_payer_phone="+233209999999")
    await pay(shop, other_number.svc_code, 2)
    other_name = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, other_name.svc_code, 3, "KOFI BADU")
    assert await status(shop, other_number.reference) == "MANUAL_REVIEW"
    assert await status(shop, other_name.reference) == "MANUAL_REVIEW"


async def test_a_rejected_payment_approves_no_name(shop: FakeShop) -> None:
    request = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, request.svc_code)
    await reject(shop)
    assert await approved(shop) == []


async def test_a_payment_approved_for_another_order_approves_no_name(shop: FakeShop) -> None:
    request = await shop.request(2500, expected_payer_phone=PAYER)
    other = await shop.request(2500, expected_payer_phone="+233209999999")
    await pay(shop, request.svc_code)
    await approve(shop, reference=other.reference)
    assert await approved(shop) == []


async def test_a_wrong_number_approves_no_name(shop: FakeShop) -> None:
    request = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, request.svc_code)
    await shop.env.store.write(lambda tx: tx.run("UPDATE reviews SET reason = 'payer_mismatch'"))
    await approve(shop)
    assert await approved(shop) == []


async def test_a_revoked_name_waits_for_a_person_again(shop: FakeShop) -> None:
    first = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, first.svc_code)
    await approve(shop)
    [known] = await approved(shop)
    revoked = await overdue.revoke_approved_payer(shop.env, OWNER, known.id)
    assert (revoked.revoked_by, revoked.revoked_at) == ("socket:0", shop.clock.now_us())
    assert await overdue.revoke_approved_payer(shop.env, OWNER, known.id) == revoked
    assert await shop.values("SELECT COUNT(*) FROM events WHERE type = 'payer.revoked'") == [1]
    second = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, second.svc_code, 2)
    assert await status(shop, second.reference) == "MANUAL_REVIEW"
    await approve(shop)
    assert [one.revoked_at is None for one in await approved(shop)] == [False, True]
    assert await status(shop, first.reference) == "SUCCESS"


@pytest.mark.parametrize("mode", [Mode.TEST, None])
async def test_what_is_not_there_or_of_the_other_mode_cannot_be_revoked(shop: FakeShop, mode: Mode | None) -> None:
    first = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, first.svc_code)
    await approve(shop)
    [known] = await approved(shop)
    caller: Any = Caller(CallerKind.KEY, mode, ALL_SCOPES, "k", publishable=False, name="key:k")
    wanted = known.id if mode else "00000000-0000-4000-8000-000000000000"
    with pytest.raises(Refusal) as refused:
        await overdue.revoke_approved_payer(shop.env, caller, wanted)
    assert refused.value.code is ErrorCode.APPROVED_PAYER_NOT_FOUND


async def test_a_payment_that_was_here_first_is_known_by_its_name_too(shop: FakeShop) -> None:
    await pay(shop, "food")
    request = await shop.request(
        2500, expected_payer_phone=PAYER, expected_payer_name=NAME, expected_telco_transaction_id="93214500001"
    )
    assert await status(shop, request.reference) == "SUCCESS"
