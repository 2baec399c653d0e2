"""A stolen key: what a thief sent counts for nothing after the branch was invited again, and does not come back to it."""

from typing import Any

import pytest

from daemon.core.books.day_sheet import MoneyKind
from daemon.core.errors import Refusal
from daemon.core.limits import HOUR_US
from daemon.flows.branches import hub as hub_flow
from daemon.flows.branches import join as join_flow
from daemon.sender.hub_client import HubRefusalError
from daemon.store.books.day_sheet import Period, sums, today
from daemon.store.branches import copies
from daemon.store.engine import Reader
from daemon.store.payments.payment_list import PaymentFilter, listed
from daemon.wire import ErrorCode, TransactionStatus
from parsers.times import from_us
from tests.fakes.branches import FIRST_ID, Chain, FakeBranch
from tests.fakes.receipts import mtn
from tests.fakes.shop import OWNER

FORGED = "93214500077"


def pass_time(chain: Chain, us: int) -> None:
    for shop in (chain.hub, *(branch.shop for branch in chain.branches.values())):
        shop.clock.advance(us // 1_000_000)


async def forge(branch: FakeBranch, telco_id: str, **changes: Any) -> str:
    """Send a forged payment, with its holder, as the thief of the branch's key; return its id.

    One that is handed up has none.
    """
    found = await branch.facts()
    payment = next(one for one in found if one["kind"] == "payment")
    forged = f"f{payment['id'][1:-4]}{telco_id[-4:]}"
    message = {**payment["message"], "id": forged, "payment_id": None}
    row = {
        **payment["row"], "id": forged, "message_id": forged, "telco_transaction_id": telco_id,
        "telco_id_as_read": telco_id, "amount_minor": 777_700, "telco_at": branch.shop.clock.now_us(),
        "stored_at": branch.shop.clock.now_us(), **changes,
    }  # fmt: skip
    await branch.send({**payment, "id": forged, "row": row, "message": message})
    if "decider" not in changes:
        holder = next(
            one for one in found if one["kind"] == "transaction" and one["row"]["payment_id"] == payment["id"]
        )
        holder_row = {**holder["row"], "id": forged, "payment_id": forged}
        await branch.send({**holder, "id": forged, "row": holder_row})
    assert await branch.hub.values("SELECT why FROM facts_refused") == []
    return forged


async def stolen(chain: Chain) -> int:
    """Let a branch send an honest payment, and let its key be stolen an hour later; return the time of the theft."""
    branch = chain["kumasi"]
    await branch.pay("food")
    await branch.settle()
    pass_time(chain, 2 * HOUR_US)
    return chain.hub.clock.now_us()


async def cure(chain: Chain, since: int, name: str = "kumasi") -> dict[str, Any]:
    """Distrust what came since a time, and let the branch join again."""
    branch = chain[name]
    done = await hub_flow.distrust(chain.hub.env, OWNER, name, since)
    with pytest.raises(HubRefusalError) as caught:
        await branch.send()
    assert caught.value.code == ErrorCode.BRANCH_NOT_FOUND, "the stolen key has ended"
    await branch.join_again(name)
    await branch.settle()
    return done


async def counting(chain: Chain) -> list[Any]:
    """Return what counts at the hub: the IDs of payments."""
    return list(
        await chain.hub.values(
            "SELECT telco_transaction_id FROM payments WHERE double_of IS NULL ORDER BY telco_transaction_id"
        )
    )


async def test_forged_payments_count_for_nothing_and_do_not_come_back(chain: Chain) -> None:
    since = await stolen(chain)
    branch = chain["kumasi"]
    await forge(branch, FORGED)
    assert await counting(chain) == [FIRST_ID, FORGED]
    done = await cure(chain, since)
    assert done["distrusted"] == [{"currency": "GHS", "count": 1, "amount": "7777.00"}]
    assert await counting(chain) == [FIRST_ID]
    await join_flow.restore(branch.shop.env, OWNER, branch.wire, take_unknown=True)
    await branch.settle()
    assert [one.telco_id_as_read for one in await branch.shop.payments()] == [FIRST_ID]
    assert await counting(chain) == [FIRST_ID]
    compared = await join_flow.compare(branch.shop.env, branch.wire, recent=False)
    assert compared["agrees"]
    (row,) = [one for one in (await hub_flow.status(chain.hub.env))["branches"] if one["name"] == "kumasi"]
    assert row["takings_today"] == [{"currency": "GHS", "amount": "25.00"}]


async def test_an_honest_payment_that_a_thief_changed_counts_again_as_the_branch_has_it(chain: Chain) -> None:
    since = await stolen(chain)
    branch = chain["kumasi"]
    payment = next(one for one in await branch.facts() if one["kind"] == "payment")
    await branch.send({**payment, "row": {**payment["row"], "reversed_at": since}})
    assert (await chain.hub_payment(FIRST_ID)).reversed_at == since
    await cure(chain, since)
    copy = await chain.hub_payment(FIRST_ID)
    assert (copy.reversed_at, copy.double_of, copy.standing) == (None, None, "open")


async def test_the_honest_payment_of_another_branch_counts_once_the_forged_one_does_not(chain: Chain) -> None:
    since = await stolen(chain)
    await forge(chain["kumasi"], FORGED)
    order = await chain.hub.request(2500)
    tamale = chain["tamale"].shop
    honest = mtn(
        2500, "KOFI ANTWI BADU BEKOE", tamale.wallet(2500), str(order.svc_code), FORGED,
        sent_at=from_us(tamale.clock.now_us()),
    )  # fmt: skip
    await tamale.read(honest)
    await chain["tamale"].settle()
    assert (await chain.hub_transaction(order.reference)).status is TransactionStatus.PENDING
    await hub_flow.distrust(chain.hub.env, OWNER, "kumasi", since)
    paid = await chain.hub_transaction(order.reference)
    assert paid.status is TransactionStatus.SUCCESS
    await chain["tamale"].settle()
    await chain["kumasi"].join_again("kumasi")
    await chain["kumasi"].settle()


async def test_an_order_of_head_office_that_a_forged_payment_paid_is_named_and_stays_paid(chain: Chain) -> None:
    since = await stolen(chain)
    order = await chain.hub.request(777_700)
    await forge(chain["kumasi"], FORGED, reference_text=order.svc_code, decider="hub", standing="handed")
    assert (await chain.hub_transaction(order.reference)).status is TransactionStatus.SUCCESS
    done = await cure(chain, since)
    assert done["paid_orders"] == [{"reference": order.reference, "currency": "GHS", "amount": "7777.00"}]
    assert (await chain.hub_transaction(order.reference)).status is TransactionStatus.SUCCESS
    assert [one.telco_id_as_read for one in await chain["kumasi"].shop.payments()] == [FIRST_ID]
    assert await counting(chain) == [FIRST_ID]


async def test_money_that_came_with_a_stolen_key_and_paid_an_order_is_on_no_sheet_and_not_shown_as_paid(
    chain: Chain,
) -> None:
    since = await stolen(chain)
    order = await chain.hub.request(777_700)
    await forge(chain["kumasi"], FORGED, reference_text=order.svc_code, decider="hub", standing="handed")
    await hub_flow.distrust(chain.hub.env, OWNER, "kumasi", since)

    def look(reader: Reader) -> tuple[Any, ...]:
        whole, branch = Period(0, 1 << 60), Period(0, 1 << 60, branch="kumasi")
        page, _more = listed(reader, PaymentFilter(), limit=9)
        kinds = [{(one.kind, one.amount_minor) for one in sums(reader, each)} for each in (whole, branch)]
        states = [one.state for one in page if one.payment.telco_id_as_read == FORGED]
        return (*kinds, states, today(reader, 0, 1).verified)

    whole, branch, states, verified = await chain.hub.env.store.read(look)
    assert (MoneyKind.DOUBTED, 777_700) in whole & branch
    assert (states, verified) == (["review"], {})
    assert {kind for kind, minor in whole if minor == 777_700} == {MoneyKind.DOUBTED}
    (row,) = [one for one in (await hub_flow.status(chain.hub.env))["branches"] if one["name"] == "kumasi"]
    assert row["takings_today"] == [{"currency": "GHS", "amount": "25.00"}]
    await chain["kumasi"].join_again("kumasi")
    await chain["kumasi"].settle()


async def test_payments_from_before_a_theft_come_back_although_the_thief_sent_their_number_and_message_again(
    chain: Chain,
) -> None:
    since = await stolen(chain)
    branch = chain["kumasi"]
    facts = await branch.facts()
    method = next(one for one in facts if one["kind"] == "method")
    payment = next(one for one in facts if one["kind"] == "payment")
    await branch.send(method)
    review = {
        "id": payment["id"], "mode": "live", "reason": "near_miss", "state": "open", "payment_id": payment["id"],
        "message_id": payment["row"]["message_id"], "transaction_id": None, "details": "{}",
        "created_at": since, "decided_at": None, "decided_by": None, "notes": None,
    }  # fmt: skip
    sent = {"kind": "review", "id": payment["id"], "row": review, "message": payment["message"]}
    await branch.send(sent)
    await hub_flow.distrust(chain.hub.env, OWNER, "kumasi", since)

    def given(reader: Reader) -> list[int]:
        kinds = ("method", "message", "payment", "review")
        return [len(copies.rows_of(reader, branch.id, kind, 0, 500)[0]) for kind in kinds]

    assert await chain.hub.env.store.read(given) == [1, 1, 1, 0]
    await branch.join_again("kumasi")
    await branch.settle()


async def test_a_thief_cannot_let_a_row_look_older_than_it_is(chain: Chain) -> None:
    since = await stolen(chain)
    branch = chain["kumasi"]
    payment = next(one for one in await branch.facts() if one["kind"] == "payment")
    forged = f"f{payment['id'][1:]}"
    fact = {
        **payment, "seq": 1, "id": forged,
        "row": {**payment["row"], "id": forged, "message_id": forged, "telco_transaction_id": FORGED},
        "message": {**payment["message"], "id": forged, "payment_id": None},
    }  # fmt: skip
    await branch.send(after=0, upto=1, facts=[fact])
    assert await counting(chain) == [FIRST_ID]
    await cure(chain, since)


async def test_a_time_before_all_that_the_hub_remembers_distrusts_everything_until_it_is_sent_again(
    chain: Chain,
) -> None:
    await stolen(chain)
    await hub_flow.distrust(chain.hub.env, OWNER, "kumasi", 0)
    assert await counting(chain) == []
    await chain["kumasi"].join_again("kumasi")
    await chain["kumasi"].settle()
    assert await counting(chain) == [FIRST_ID]


async def test_a_branch_that_never_joined_has_nothing_to_be_distrusted(chain: Chain) -> None:
    for name in ("nowhere", "new"):
        if name == "new":
            await hub_flow.invite(chain.hub.env, OWNER, name, "all", "")
        with pytest.raises(Refusal, match="has sent nothing") as caught:
            await hub_flow.distrust(chain.hub.env, OWNER, name, 0)
        assert caught.value.code is ErrorCode.BRANCH_NOT_FOUND
