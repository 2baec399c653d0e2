"""A payment that was handed up to head office, and taken back by the network."""

import pytest

from daemon.wire import TransactionStatus
from tests.fakes.branches import Chain, FakeBranch
from tests.fakes.outbox import add_endpoint
from tests.flows.payments.test_reversal import take_back

ID = "93214500001"


@pytest.fixture
async def branch(chain: Chain) -> FakeBranch:
    """A branch with an endpoint, and a reversed payment that has a code which the hub no longer knows."""
    branch = chain["kumasi"]
    await add_endpoint(branch.shop)
    order = await chain.hub.request(2500)
    await chain.hub.env.store.write(lambda tx: tx.run("DELETE FROM svc_codes"))
    await chain.hub.env.store.write(
        lambda tx: tx.run("UPDATE transactions SET status = 'CANCELLED', cancelled_at = 1")
    )
    await branch.pay(str(order.svc_code))
    assert (await branch.payment(ID)).decider == "hub"
    await take_back(branch.shop, balance_minor=branch.shop.wallet(0) - 2500)
    assert (await branch.payment(ID)).reversed_at is not None
    return branch


async def test_one_that_comes_back_is_not_forwarded(branch: FakeBranch) -> None:
    await branch.settle()
    payment = await branch.payment(ID)
    assert (payment.decider, payment.standing) == ("branch", "open")
    assert await branch.shop.bodies() == []
    (holder,) = await branch.shop.values(
        "SELECT rejected, reversed_at IS NOT NULL FROM transactions"
    )
    assert holder == (1, 1)


async def test_one_that_comes_back_pays_no_order_that_expects_it(branch: FakeBranch) -> None:
    order = await branch.shop.request(2500, expected_telco_transaction_id=ID)
    await branch.settle()
    waiting = await branch.shop.transaction(order.reference)
    assert waiting.status is TransactionStatus.PENDING
    assert await branch.shop.bodies() == []
