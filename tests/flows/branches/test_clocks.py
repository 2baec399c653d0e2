"""Clocks that are two years apart, on either side: nothing is lost, used twice, or decided by a branch's clock."""

import pytest

from daemon.core.errors import Refusal
from daemon.store.branches import restored
from daemon.wire import ErrorCode, TransactionStatus
from tests.fakes.branches import FIRST_ID, Chain

TWO_YEARS_S = 2 * 365 * 86_400


async def agrees(chain: Chain, name: str) -> None:
    branch = chain[name]
    theirs = await chain.hub.env.store.read(lambda reader: restored.sums(reader, branch.id))
    assert theirs == await branch.shop.env.store.read(restored.sums)
    assert await chain.hub.values("SELECT why FROM facts_refused") == []


@pytest.mark.parametrize("off_s", [-TWO_YEARS_S, TWO_YEARS_S], ids=["behind", "ahead"])
async def test_a_branch_with_a_wrong_clock(chain: Chain, off_s: int) -> None:
    order = await chain.hub.request(2500)
    branch = chain["kumasi"]
    branch.shop.clock.jump(off_s)
    own = await branch.shop.request(900)
    await branch.pay(str(order.svc_code))
    await branch.pay(str(own.svc_code), "93214500002", 900)
    await branch.pay("food", "93214500003")
    await branch.settle()
    assert (await chain.hub_transaction(order.reference)).status is TransactionStatus.SUCCESS
    paid = await chain.hub_transaction(order.reference)
    assert not paid.late
    assert paid.completed_at == chain.hub.clock.now_us()
    mine = await branch.shop.transaction(own.reference)
    assert (await chain.hub_transaction(own.reference)).status is mine.status
    await agrees(chain, "kumasi")
    (off_us,) = await chain.hub.values("SELECT clock_off_us FROM branches WHERE name = 'kumasi'")
    assert abs(off_us - off_s * 1_000_000) < 1_000_000
    # The clock is set right; later payments are taken as before.
    branch.shop.clock.jump(-off_s)
    order = await chain.hub.request(2500)
    await branch.pay(str(order.svc_code), "93214500004")
    await branch.settle()
    assert (await chain.hub_transaction(order.reference)).status is TransactionStatus.SUCCESS
    await agrees(chain, "kumasi")


@pytest.mark.parametrize("off_s", [-TWO_YEARS_S, TWO_YEARS_S], ids=["behind", "ahead"])
async def test_a_hub_with_a_wrong_clock(chain: Chain, off_s: int) -> None:
    chain.hub.clock.jump(off_s)
    order = await chain.hub.request(2500)
    branch = chain["kumasi"]
    own = await branch.shop.request(900)
    await branch.pay(str(order.svc_code))
    await branch.pay(str(own.svc_code), "93214500002", 900)
    await branch.settle()
    await agrees(chain, "kumasi")
    # The branch's own decisions go by its clock and the network's.
    assert (await chain.hub_transaction(own.reference)).status is TransactionStatus.SUCCESS
    copy, mine = await chain.hub_payment(FIRST_ID), await branch.payment(FIRST_ID)
    assert copy.decider == mine.decider
    paid = await chain.hub_transaction(order.reference)
    if off_s < 0:
        assert (paid.status, paid.late) == (TransactionStatus.SUCCESS, False)
        return
    # By the hub's clock the money came two years before the order: a code does not match then, and a person decides.
    assert (paid.status, mine.decider, mine.standing) == (
        TransactionStatus.PENDING,
        "branch",
        "open",
    )
    with pytest.raises(Refusal) as caught:
        await chain.hub.reconcile(order.reference, FIRST_ID)
    assert caught.value.code is ErrorCode.BRANCH_ASKED
    await branch.settle()
    assert (await chain.hub.reconcile(order.reference, FIRST_ID)).reconciliation_id
    await branch.settle()
    await agrees(chain, "kumasi")
