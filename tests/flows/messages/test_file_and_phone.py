"""One message from a file and from a phone, in any order: only the phone's copy pays, and it pays once."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from daemon.core.limits import SECOND_US
from daemon.core.model import Review
from daemon.flows.messages import import_file as flow
from daemon.flows.messages.import_file import FileMessage, ImportResult
from daemon.flows.payments import review
from daemon.flows.webhooks import replay
from daemon.wire import MessageState, TransactionStatus
from tests.fakes.invariants import check_invariants
from tests.fakes.receipts import STARTED, Receipt, mtn
from tests.fakes.shop import OWNER, FakeShop
from tests.fakes.tiers import share

LINE: Final = "0244124567"
NAME: Final = "KOFI ANTWI BADU"
ID: Final = "93214500001"
NEXT_ID: Final = "93214500002"
NOW: Final = int(STARTED.timestamp()) * SECOND_US


def receipt(shop: FakeShop, typed: str, telco_id: str = ID, minor: int = 2500) -> Receipt:
    """Return the network's receipt of money that has just come into the wallet."""
    return mtn(minor, NAME, shop.wallet(minor), typed, telco_id, concatenation=int(telco_id) % 256)


async def as_text(shop: FakeShop, *made: Receipt) -> Sequence[ImportResult]:
    """Import them as texts, as from a phone's backup."""
    entries = [FileMessage(one.sender, one.text, NOW) for one in made]
    taken = await flow.import_messages(shop.env, OWNER, LINE, entries, dry_run=False)
    return [one.fate for one in taken]


async def as_pdus(shop: FakeShop, *made: Receipt) -> Sequence[ImportResult]:
    """Import them as PDUs, byte for byte as on the SIM."""
    entries = [FileMessage(pdu=pdu) for one in made for pdu in one.pdus]
    taken = await flow.import_messages(shop.env, OWNER, LINE, entries, dry_run=False)
    return [one.fate for one in taken]


File = Callable[..., Awaitable[Sequence[ImportResult]]]
FILES: Final = pytest.mark.parametrize("file", [as_text, as_pdus])


async def endpoint(shop: FakeShop, name: str = "e") -> None:
    """Add an endpoint that gets every payment."""
    values = {"id": name, "url": f"https://{name}.example/hook"}
    await shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO endpoints (id, kind, mode, url, url_normalised, description, events, catch_all, include_raw, "
            "is_active, consecutive_failures, created_at, updated_at) VALUES (:id, 'endpoint', 'live', :url, :url, '', "
            "'[\"transaction.forwarded\"]', 1, 0, 1, 0, 0, 0)",
            values,
        )
    )


async def forwarded(shop: FakeShop) -> int:
    (count,) = await shop.values("SELECT COUNT(*) FROM deliveries WHERE event = 'transaction.forwarded'")
    return int(count)


async def states(shop: FakeShop) -> list[str]:
    found: list[str] = await shop.values("SELECT state FROM messages ORDER BY seq")
    return found


@FILES
async def test_a_message_that_a_file_told_first_pays_when_the_phone_reads_it(shop: FakeShop, file: File) -> None:
    await endpoint(shop)
    request = await shop.request()
    made = receipt(shop, request.svc_code or "")
    await file(shop, made)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING
    await shop.read(made)
    paid = await shop.transaction(request.reference)
    assert (paid.status, paid.matched_by) == (TransactionStatus.SUCCESS, "code")
    (payment,) = await shop.payments()
    assert (payment.historical, payment.standing, payment.slot_index) == (False, "used", 0)
    assert await states(shop) == ["duplicate", "payment"]
    assert await forwarded(shop) == 1
    assert await shop.values("SELECT last_payment_at FROM payment_methods") == [shop.clock.now_us()]


@FILES
async def test_the_same_message_in_a_file_afterwards_is_known(shop: FakeShop, file: File) -> None:
    request = await shop.request()
    made = receipt(shop, request.svc_code or "")
    await shop.read(made)
    assert {*await file(shop, made)} == {ImportResult.KNOWN}
    assert len(await shop.payments()) == 1
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS


@FILES
async def test_a_walk_in_that_a_file_told_first_is_forwarded_when_the_phone_reads_it(
    shop: FakeShop, file: File
) -> None:
    await endpoint(shop)
    made = receipt(shop, "food")
    await file(shop, made)
    assert await forwarded(shop) == 0
    await shop.read(made)
    await shop.read(made)
    assert await forwarded(shop) == 1
    assert [one.historical for one in await shop.payments()] == [False]
    (holders,) = await shop.values("SELECT COUNT(*) FROM transactions WHERE origin = 'open'")
    assert holders == 1


async def test_the_chain_of_balances_has_no_gap_where_a_file_told_first(shop: FakeShop) -> None:
    await shop.begin_chain()
    await shop.read(receipt(shop, "food", "93214500000"))
    first, second = receipt(shop, "food"), receipt(shop, "rent", NEXT_ID)
    await as_text(shop, first)
    await shop.read(first, second)
    assert await shop.values("SELECT standing FROM line_balances") == ["accepted"] * 4
    assert await shop.values("SELECT COUNT(*) FROM reviews") == [0]


async def test_what_a_person_matched_from_the_file_is_not_used_again(shop: FakeShop) -> None:
    first, second = await shop.request(), await shop.request()
    made = receipt(shop, second.svc_code or "")
    await as_text(shop, made)
    await shop.reconcile(first.reference, ID, confirmed=True)
    await shop.read(made)
    assert (await shop.transaction(first.reference)).status is TransactionStatus.SUCCESS
    assert (await shop.transaction(second.reference)).status is TransactionStatus.PENDING
    assert await states(shop) == ["payment", "duplicate"]


async def test_history_is_in_no_replay_until_a_person_has_let_it_pay(shop: FakeShop) -> None:
    await endpoint(shop)
    first, second = await shop.request(), await shop.request()
    await as_text(shop, receipt(shop, "food"))
    now = shop.clock.now_us()
    asked = replay.ReplayRequest("e", now - 3600 * SECOND_US, now + SECOND_US, include_historical=True)
    await replay.replay(shop.env, OWNER, asked)
    assert await forwarded(shop) == 0
    await shop.reconcile(second.reference, ID, confirmed=True)
    await replay.replay(shop.env, OWNER, asked)
    assert await forwarded(shop) == 1
    assert (await shop.transaction(first.reference)).status is TransactionStatus.PENDING


async def test_a_payment_that_the_file_also_took_back_pays_nothing(shop: FakeShop) -> None:
    request = await shop.request()
    made = receipt(shop, request.svc_code or "")
    back = f"Transaction {ID} of GHS 25.00 from {NAME} has been reversed. Current Balance: GHS 900.00."
    await as_text(shop, made, replace(made, text=back))
    await shop.read(made)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING
    assert [one.historical for one in await shop.payments()] == [True]


async def test_another_amount_than_the_files_is_for_a_person_to_see(shop: FakeShop) -> None:
    request = await shop.request()
    made = receipt(shop, request.svc_code or "")
    forged = made.text.replace("GHS 25.00 from", "GHS 95.00 from")
    await as_text(shop, replace(made, text=forged))
    await shop.read(made)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING
    assert await shop.values("SELECT reason FROM reviews") == ["id_conflict"]


async def test_old_messages_of_the_sim_stay_history_whatever_told_them_first(shop: FakeShop) -> None:
    request = await shop.request()
    old = STARTED - timedelta(hours=3)
    made = mtn(2500, NAME, 92_500, request.svc_code or "", ID, sent_at=old)
    await as_text(shop, made)
    await shop.read(made)
    assert [one.historical for one in await shop.payments()] == [True]
    assert await states(shop) == ["historical", "duplicate"]


async def only_review(shop: FakeShop) -> Review:
    (found,) = await shop.rows(Review, "reviews", "state = 'open'")
    assert isinstance(found, Review)
    return found


async def test_one_that_needs_a_person_is_sent_to_nobody_until_the_person_has_decided(shop: FakeShop) -> None:
    await endpoint(shop)
    request = await shop.request(expected_payer_phone="+233541234567")
    made = receipt(shop, request.svc_code or "")
    await as_text(shop, made)
    await shop.read(made)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.MANUAL_REVIEW
    now = shop.clock.now_us()
    asked = replay.ReplayRequest("e", now - 3600 * SECOND_US, now + SECOND_US)
    await replay.replay(shop.env, OWNER, asked)
    assert await forwarded(shop) == 0
    waiting = await only_review(shop)
    await review.approve(shop.env, OWNER, waiting.id, review.Approval())
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS
    assert await forwarded(shop) == 1


@pytest.mark.parametrize(("approved", "sent"), [(True, 1), (False, 0)])
async def test_one_that_came_for_a_cancelled_order_is_forwarded_when_a_person_keeps_it(
    shop: FakeShop, *, approved: bool, sent: int
) -> None:
    await endpoint(shop)
    request = await shop.request()
    made = receipt(shop, request.svc_code or "")
    await as_text(shop, made)
    await shop.env.store.write(
        lambda tx: tx.run(
            "UPDATE transactions SET status = 'CANCELLED', cancelled_at = created_at WHERE origin = 'request'"
        )
    )
    await shop.read(made)
    waiting = await only_review(shop)
    assert waiting.reason == "cancelled_request"
    if approved:
        await shop.env.store.write(
            lambda tx: tx.run("UPDATE reviews SET transaction_id = NULL")
        )  # the person says that it is for no order
        await review.approve(shop.env, OWNER, waiting.id, review.Approval())
    else:
        await review.reject(shop.env, OWNER, waiting.id, "")
    assert await forwarded(shop) == sent
    assert [one.historical for one in await shop.payments()] == [not approved]


async def test_one_that_its_balance_holds_pays_when_a_person_approves_it(shop: FakeShop) -> None:
    await shop.begin_chain()
    shop.limit(0)
    await shop.read(receipt(shop, "food", "93214500000"))
    request = await shop.request()
    shop.wallet(500)  # money without a message
    made = receipt(shop, request.svc_code or "")
    await as_text(shop, made)
    await shop.read(made)
    waiting = await only_review(shop)
    assert waiting.reason == "balance_break"
    approval = review.Approval(confirmed=True)
    await review.approve(shop.env, OWNER, waiting.id, approval)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS
    assert len(await shop.payments()) == 2


async def test_a_part_from_a_file_does_not_complete_what_a_phone_reads(shop: FakeShop) -> None:
    request = await shop.request()
    made = receipt(shop, request.svc_code or "")
    await flow.import_messages(shop.env, OWNER, LINE, [FileMessage(pdu=made.pdus[1])], dry_run=False)
    await shop.read_pdus(made.pdus[:1])
    assert await states(shop) == ["incomplete", "incomplete"]
    assert {*await as_pdus(shop, made)} == {ImportResult.NEW, ImportResult.KNOWN}
    assert await states(shop) == [MessageState.HISTORICAL, "incomplete"]
    await shop.read_pdus(made.pdus[1:])
    assert await states(shop) == ["duplicate", "payment"]
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS


# --- any order -----------------------------------------------------------------------------------------

WAYS: Final = ("text", "pdus", "first part", "last part", "phone", "first part read", "last part read")


async def live(steps: Sequence[tuple[int, str]]) -> None:
    """Run steps about three receipts, two of them for transactions, and check the result."""
    with tempfile.TemporaryDirectory() as folder:
        shop = await FakeShop.make(Path(folder))
        try:
            await endpoint(shop)
            orders = [await shop.request(), await shop.request()]
            typed = (*(order.svc_code or "" for order in orders), "food")
            made = [receipt(shop, code, str(int(ID) + place), 2500 + place) for place, code in enumerate(typed)]
            await shop.env.store.write(
                lambda tx: tx.run("UPDATE transactions SET expected_minor = 2501 WHERE svc_code = :code",
                                  {"code": typed[1]})
            )  # fmt: skip
            heard = [set[int](), set[int](), set[int]()]
            for which, way in [*steps, *((place, "phone") for place in (0, 1))]:
                await step(shop, made[which], way)
                heard[which] |= {"phone": {0, 1}, "first part read": {0}, "last part read": {1}}.get(way, set())
                check_invariants(shop.env.store.path)
            for order in orders:
                assert (await shop.transaction(order.reference)).status is TransactionStatus.SUCCESS
            live_ids = {one.telco_transaction_id for one in await shop.payments() if not one.historical}
            assert live_ids == {one.telco_id for one, parts in zip(made, heard, strict=True) if len(parts) == 2}
            assert await forwarded(shop) == len(live_ids)
            assert await shop.values("SELECT reason, state FROM reviews WHERE state = 'open'") == []
        finally:
            shop.close()


async def step(shop: FakeShop, made: Receipt, way: str) -> None:
    if way == "text":
        await as_text(shop, made)
    elif way == "pdus":
        await as_pdus(shop, made)
    elif way == "phone":
        await shop.read(made)
    else:
        pdu = made.pdus[0 if way.startswith("first") else -1]
        if way.endswith("read"):
            await shop.read_pdus([pdu])
        else:
            await flow.import_messages(shop.env, OWNER, LINE, [FileMessage(pdu=pdu)], dry_run=False)


STEPS: Final = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(WAYS)), max_size=8)


@settings(max_examples=8)
@given(STEPS)
def test_in_whatever_order_file_and_phone_tell_it_each_payment_pays_once(steps: list[tuple[int, str]]) -> None:
    asyncio.run(live(steps))


@pytest.mark.slow
@settings(max_examples=share(80))
@given(STEPS)
def test_in_very_many_orders_each_payment_pays_once(steps: list[tuple[int, str]]) -> None:
    asyncio.run(live(steps))
