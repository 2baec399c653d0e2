"""Rows of a branch at head office are copies: head office shows them, and neither changes nor sends them."""

import pytest

from daemon.core.errors import Refusal
from daemon.core.limits import DAY_US, HOUR_US
from daemon.core.lines.line_json import MethodChanges
from daemon.flows.lines import payment_methods
from daemon.flows.payments import cancel_expire, texts
from daemon.flows.webhooks.replay import ReplayRequest, replay
from daemon.store.payments import transaction_list
from daemon.wire import ErrorCode, TransactionStatus
from tests.fakes.branches import Chain, FakeBranch
from tests.fakes.outbox import add_endpoint
from tests.fakes.shop import OWNER
from tests.flows.payments.test_reversal import take_back


async def test_a_replay_at_head_office_sends_no_payment_that_a_branch_decided(chain: Chain) -> None:
    branch = chain["kumasi"]
    await add_endpoint(chain.hub)
    order = await branch.shop.request(2500)
    await branch.pay(str(order.svc_code))
    await branch.pay("food", "93214500002")
    own = await chain.hub.request(900)
    await branch.pay(str(own.svc_code), "93214500003", amount=900)
    await branch.settle()
    before = await chain.hub.bodies()
    now = chain.hub.clock.now_us()
    window = ReplayRequest("e1", now - DAY_US, now + DAY_US)
    await replay(chain.hub.env, OWNER, window)
    assert (await chain.hub.transaction(own.reference)).status is TransactionStatus.SUCCESS
    assert len(before) == 1, "of the hub's own order"
    assert await chain.hub.bodies() == before


async def test_a_reference_that_two_shops_use_finds_head_offices_own_order(chain: Chain) -> None:
    branch = chain["kumasi"]
    own = await chain.hub.request(2500, client_reference="1001")
    other = await branch.shop.request(100, client_reference="1001")
    await branch.pay(str(other.svc_code), amount=100)
    await branch.settle()
    found, matches = await chain.hub.env.store.read(
        lambda reader: transaction_list.by_client_reference(reader, "1001", None, now=chain.hub.clock.now_us())
    )
    assert matches == 2
    assert found is not None
    assert (found[0].reference, found[0].status) == (own.reference, TransactionStatus.PENDING)


async def test_a_number_of_a_branch_is_not_changed(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.pay("food")
    await branch.settle()
    (method_id,) = await chain.hub.values("SELECT id FROM payment_methods")
    env = chain.hub.env
    for change in (
        lambda: payment_methods.change(env, OWNER, method_id, MethodChanges(account_name="Eve")),
        lambda: payment_methods.claim_unplaced(env, OWNER, method_id, dry_run=False),
        lambda: payment_methods.delete(env, OWNER, method_id),
    ):
        with pytest.raises(Refusal) as refused:
            await change()
        assert refused.value.code == ErrorCode.BELONGS_TO_BRANCH
        assert refused.value.extras == {"branch": "kumasi"}


async def test_an_sms_for_an_order_of_a_branch_is_not_sent(chain: Chain) -> None:
    branch = chain["kumasi"]
    order = await branch.shop.request(2500)
    await branch.settle()
    with pytest.raises(Refusal) as refused:
        await texts.send_code_again(chain.hub.env, OWNER, order.reference)
    assert refused.value.code == ErrorCode.BELONGS_TO_BRANCH


async def test_a_suggestion_for_an_order_of_a_branch_stays_open_as_long_as_there(chain: Chain) -> None:
    branch = chain["kumasi"]
    order = await branch.shop.request(2500)
    code = str(order.svc_code)
    typed = code[:-1] + ("2" if code[-1] != "2" else "3")
    await branch.pay(typed)
    await branch.settle()
    states = "SELECT state FROM reviews"
    assert await chain.hub.values(states) == ["open"]
    chain.hub.clock.advance(25 * HOUR_US / 1_000_000)
    await cancel_expire.drop_suggestions(chain.hub.env)
    assert await chain.hub.values(states) == await branch.shop.values(states) == ["open"]


ID = "93214500001"


@pytest.fixture
async def branch(chain: Chain) -> FakeBranch:
    """A branch with an endpoint, and a reversed payment that has a code which the hub no longer knows."""
    branch = chain["kumasi"]
    await add_endpoint(branch.shop)
    order = await chain.hub.request(2500)
    await chain.hub.env.store.write(lambda tx: tx.run("DELETE FROM svc_codes"))
    await chain.hub.env.store.write(lambda tx: tx.run("UPDATE transactions SET status = 'CANCELLED', cancelled_at = 1"))
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
    (holder,) = await branch.shop.values("SELECT rejected, reversed_at IS NOT NULL FROM transactions")
    assert holder == (1, 1)


async def test_one_that_comes_back_pays_no_order_that_expects_it(branch: FakeBranch) -> None:
    order = await branch.shop.request(2500, expected_telco_transaction_id=ID)
    await branch.settle()
    waiting = await branch.shop.transaction(order.reference)
    assert waiting.status is TransactionStatus.PENDING
    assert await branch.shop.bodies() == []
