"""Reconcile: every outcome, every refusal, and the order of the refusals."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace

from daemon.core.access.callers import ALL_SCOPES, Caller, CallerKind
from daemon.core.errors import Refusal
from daemon.core.inputs import ReconcileRequest
from daemon.core.payments import transaction_json
from daemon.flows.payments import reconcile
from daemon.runtime.config import Trust
from daemon.wire import ErrorCode, Mode, Role, TransactionStatus
from tests.fakes.receipts import STARTED, mtn
from tests.fakes.shop import OWNER, FakeShop

ID = "93214500001"


async def pay(shop: FakeShop, reference: str = "food", amount: int = 2500, telco_id: str = ID) -> None:
    await shop.read(mtn(amount, "KOFI ANTWI BADU", shop.wallet(amount), reference, telco_id))


async def refusal(shop: FakeShop, reference: str, telco_id: str, **more: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await shop.reconcile(reference, telco_id, **more)
    return caught.value


def told(made: reconcile.Reconciled) -> dict[str, Any]:
    shown = transaction_json.reconciliation(
        reconciliation_id=made.reconciliation_id,
        transaction_id=ID,
        transaction=made.transaction,
        payment=made.payment,
        verdict=made.verdict,
    )
    return structs.asdict(shown)


async def test_an_exact_payment_is_success(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await pay(shop)
    answer = await shop.reconcile(request.reference, ID)
    data = told(answer)
    assert data.pop("reconciliation_id").startswith("rec_")
    assert isinstance(data.pop("message"), str)
    assert data == {
        "status": "VERIFIED",
        "transaction_id": ID,
        "transaction_updated": True,
        "new_transaction_status": "SUCCESS",
        "matched_amount": "25.00",
        "expected_amount": "25.00",
        "difference": "0.00",
        "difference_type": "exact",
    }
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS


async def test_a_holder_is_already_verified(shop: FakeShop) -> None:
    await pay(shop)
    (holder,) = await shop.values("SELECT id FROM transactions")
    refused = await refusal(shop, "svc_trx_" + holder.replace("-", ""), ID)
    assert refused.code is ErrorCode.ALREADY_VERIFIED


async def test_an_id_that_no_payment_carries_may_be_tried_again(shop: FakeShop) -> None:
    request = await shop.request()
    assert (await refusal(shop, request.reference, ID)).code is ErrorCode.NO_MATCHING_TRANSACTION
    await pay(shop)
    assert (await shop.reconcile(request.reference, ID)).reconciliation_id


async def test_a_used_id_is_refused_for_ever(shop: FakeShop) -> None:
    first, second = await shop.request(), await shop.request(9900)
    await pay(shop)
    await shop.reconcile(first.reference, ID)
    for _again in range(2):
        refused = await refusal(shop, second.reference, ID)
        assert refused.code is ErrorCode.TRANSACTION_ID_ALREADY_USED
        assert refused.extras["expected_amount"] == "99.00"
        assert refused.extras["used_by_reference"] == first.reference


async def test_the_claimed_amount_may_be_below_the_expected_one(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await pay(shop, amount=2400)
    answer = await shop.reconcile(request.reference, ID, amount_minor=2400)
    assert answer.verdict.status == "PARTIAL"


async def test_the_holder_of_a_reconciled_payment_is_merged(shop: FakeShop) -> None:
    request = await shop.request()
    await pay(shop)
    (holder,) = await shop.values("SELECT id FROM transactions WHERE origin = 'open'")
    await shop.reconcile(request.reference, ID)
    assert await shop.values("SELECT payment_seq, merged_into FROM transactions WHERE origin = 'open'") == [
        (None, request.id)
    ]
    assert (await shop.transaction(request.reference)).supersedes == holder


async def test_ids_compare_trimmed_and_without_case(shop: FakeShop) -> None:
    request = await shop.request()
    await pay(shop)
    assert (await shop.reconcile(request.reference, f"  {ID} ")).reconciliation_id


@pytest.mark.parametrize("hours", [30, 200])
async def test_a_person_may_vouch_for_an_expired_order(shop: FakeShop, hours: int) -> None:
    request = await shop.request(2500)
    shop.clock.advance(hours * 3600)
    await shop.read(
        mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), "food", ID, sent_at=STARTED + timedelta(hours=hours))
    )
    await shop.reconcile(request.reference, ID)
    paid = await shop.transaction(request.reference)
    assert (paid.status, paid.late) == (TransactionStatus.SUCCESS, True)


async def test_a_payment_held_for_another_order_is_released_to_this_one(shop: FakeShop) -> None:
    held = await shop.request(expected_payer_phone="+233241234567")
    other = await shop.request()
    await pay(shop, reference=held.svc_code or "")
    assert (await shop.transaction(held.reference)).status is TransactionStatus.MANUAL_REVIEW
    await shop.reconcile(other.reference, ID)
    assert (await shop.transaction(held.reference)).status is TransactionStatus.PENDING
    assert await shop.values("SELECT state FROM reviews") == ["used_elsewhere"]


async def test_a_payment_that_held_the_order_becomes_an_extra_one(shop: FakeShop) -> None:
    held = await shop.request(expected_payer_phone="+233241234567")
    await pay(shop, reference=held.svc_code or "")
    await shop.read(mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), "x", "93214500009", concatenation=4))
    await shop.reconcile(held.reference, "93214500009")
    assert await shop.values("SELECT reason, state FROM reviews") == [("extra_payment", "open")]


async def test_reconciling_the_held_payment_to_its_own_order_approves_it(shop: FakeShop) -> None:
    held = await shop.request(expected_payer_phone="+233241234567")
    await pay(shop, reference=held.svc_code or "")
    await shop.reconcile(held.reference, ID)
    assert await shop.values("SELECT state FROM reviews") == ["approved"]
    assert await shop.values("SELECT state FROM messages") == ["payment"]


async def test_guessing_is_stopped_but_a_tried_id_is_still_looked_up(shop: FakeShop) -> None:
    request = await shop.request()
    for number in range(10):
        refused = await refusal(shop, request.reference, f"9000000000{number}")
        assert refused.code is ErrorCode.NO_MATCHING_TRANSACTION
    stopped = await refusal(shop, request.reference, ID)
    assert stopped.code is ErrorCode.TOO_MANY_ATTEMPTS
    assert stopped.extras["retry_after"] == 900
    again = await refusal(shop, request.reference, "90000000003")
    assert again.code is ErrorCode.NO_MATCHING_TRANSACTION
    await pay(shop, telco_id="90000000003")
    assert (await shop.reconcile(request.reference, "90000000003")).reconciliation_id


async def test_the_guess_guard_forgets_after_15_minutes(shop: FakeShop) -> None:
    request = await shop.request()
    for number in range(10):
        await refusal(shop, request.reference, f"9000000000{number}")
    shop.clock.advance(15 * 60 + 1)
    assert (await refusal(shop, request.reference, ID)).code is ErrorCode.NO_MATCHING_TRANSACTION


@pytest.mark.tampers
async def test_two_networks_with_one_id_need_a_provider(shop: FakeShop) -> None:
    request = await shop.request()
    await pay(shop)
    await shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO payments (id, mode, provider, telco_transaction_id, telco_id_as_read, message_seq, payment_method_seq, "
            "sim_key, device_id, slot_index, kind, amount_minor, currency, fee_minor, balance_minor, payer_name, payer_phone, "
            "reference_text, telco_at, stored_at, historical, standing, reversed_at, payer_proven, decider, double_of, branch_id, "
            "version) SELECT 'other', mode, 'momo_telecel', telco_transaction_id, telco_id_as_read, "
            "message_seq, payment_method_seq, sim_key, device_id, slot_index, kind, amount_minor, currency, fee_minor, "
            "balance_minor, payer_name, payer_phone, reference_text, telco_at, stored_at, historical, standing, "
            "reversed_at, payer_proven, decider, double_of, branch_id, version FROM payments"
        )
    )
    refused = await refusal(shop, request.reference, ID)
    assert refused.code is ErrorCode.AMBIGUOUS_TRANSACTION_ID
    assert refused.extras == {"providers": ["momo_mtn", "momo_telecel"]}
    assert (await shop.reconcile(request.reference, ID, provider="momo_mtn")).reconciliation_id


async def test_a_reversed_payment_matches_nothing(shop: FakeShop) -> None:
    request = await shop.request()
    await pay(shop)
    await shop.env.store.write(lambda tx: tx.run("UPDATE payments SET reversed_at = 1"))
    refused = await refusal(shop, request.reference, ID)
    assert (refused.code, refused.extras) == (ErrorCode.NO_MATCHING_TRANSACTION, {"reason": "reversed"})


async def race(shop: FakeShop, callers: int, number: int) -> None:
    """Let concurrent callers use one network ID, each for a different transaction."""
    telco_id = f"9400000{number:04d}"
    requests = [await shop.request() for _caller in range(callers)]
    await shop.read(mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), "food", telco_id, concatenation=number % 256))
    results = await asyncio.gather(
        *(shop.reconcile(request.reference, telco_id) for request in requests), return_exceptions=True
    )
    won = [result for result in results if not isinstance(result, BaseException)]
    assert len(won) == 1
    assert all(
        isinstance(result, Refusal) and result.code is ErrorCode.TRANSACTION_ID_ALREADY_USED
        for result in results
        if isinstance(result, BaseException)
    )
    verified = [request for request in requests if (await shop.transaction(request.reference)).payment_id]
    assert len(verified) == 1


async def test_of_eight_callers_racing_for_one_id_exactly_one_wins(shop: FakeShop) -> None:
    for number in range(50):
        await race(shop, 8, number)


async def test_of_eight_callers_racing_for_one_order_exactly_one_wins(shop: FakeShop) -> None:
    for number in range(20):
        request = await shop.request()
        ids = [f"9500{number:03d}{caller:04d}" for caller in range(8)]
        for index, telco_id in enumerate(ids):
            await shop.read(
                mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), "food", telco_id, concatenation=number * 8 + index)
            )
        results = await asyncio.gather(
            *(shop.reconcile(request.reference, telco_id) for telco_id in ids), return_exceptions=True
        )
        codes = [result.code for result in results if isinstance(result, Refusal)]
        assert codes == [ErrorCode.ALREADY_VERIFIED] * 7


KEY = Caller(CallerKind.KEY, Mode.LIVE, ALL_SCOPES, "k", publishable=False, name="key:k")
CASHIER = replace(OWNER, kind=CallerKind.BROWSER, role=Role.CASHIER)
MANAGER = replace(CASHIER, role=Role.MANAGER)


async def reconcile_as(shop: FakeShop, caller: Caller, reference: str, *, confirmed: bool = False) -> str:
    """Reconcile as this caller; return the outcome in one word."""
    request = ReconcileRequest(ID, confirmed=confirmed)
    try:
        answer = await reconcile.reconcile(shop.env, caller, reference, request)
    except Refusal as refused:
        return refused.code
    return str(answer.verdict.status)


@pytest.fixture
async def with_history(shop: FakeShop) -> FakeShop:
    """A shop with an old receipt whose balance follows from nothing."""
    await shop.begin_chain(90_000)
    shop.limit(0)
    old = STARTED - timedelta(minutes=20)
    await shop.read(mtn(500_000, "KOFI ANTWI BADU", 9_999_999, "food", ID, sent_at=old))
    assert [(one.historical, one.standing) for one in await shop.payments()] == [(True, "open")]
    return shop


@pytest.mark.parametrize(
    ("caller", "confirmed", "outcome"),
    [
        (KEY, False, ErrorCode.SESSION_REQUIRED),
        (KEY, True, ErrorCode.SESSION_REQUIRED),
        (CASHIER, True, ErrorCode.ROLE_REQUIRED),
        (MANAGER, False, ErrorCode.INVALID_PASSWORD),
        (MANAGER, True, "SUCCESS"),
        (OWNER, False, ErrorCode.INVALID_PASSWORD),
        (OWNER, True, "SUCCESS"),
    ],
)
@pytest.mark.parametrize("check", ["review", "off"])
async def test_history_is_reconciled_only_by_a_person_with_the_password(
    with_history: FakeShop, caller: Caller, confirmed: bool, outcome: str, check: str
) -> None:
    config = replace(with_history.env.config, trust=Trust(balance_check=check))
    with_history.env = replace(with_history.env, config=config)
    request = await with_history.request(500_000)
    reference = request.reference
    assert await reconcile_as(with_history, caller, reference, confirmed=confirmed) == outcome
    asked = ReconcileRequest(ID)
    needs = await reconcile.needs_password(with_history.env, caller, reference, asked, None)
    asks = caller is not KEY and outcome != "SUCCESS"
    assert (None if needs is None else needs[0]) == (reconcile.UnprovedSource.HISTORY if asks else None)


async def test_history_that_the_chain_believes_still_needs_the_password(with_history: FakeShop) -> None:
    request = await with_history.request(500_000)
    before = STARTED - timedelta(minutes=25)
    await with_history.read(mtn(9_409_999, "KOFI ANTWI BADU", 9_499_999, "x", "93214500000", sent_at=before))
    assert await reconcile_as(with_history, KEY, request.reference) == "SESSION_REQUIRED"


async def test_history_of_another_network_never_stands_in_the_way_of_a_live_payment(with_history: FakeShop) -> None:
    request = await with_history.request(500_000)
    await with_history.env.store.write(lambda tx: tx.run("UPDATE payments SET provider = 'momo_telecel'"))
    now = mtn(500_000, "ESI", 590_000, "food", ID)
    await with_history.read(now)
    await with_history.env.store.write(
        lambda tx: tx.run("UPDATE payments SET standing = 'open' WHERE provider = 'momo_mtn'")
    )
    assert await reconcile_as(with_history, KEY, request.reference) == "SUCCESS"
