"""A shop that joins its hub again: with a database that is older, the same, or under another name."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.core.errors import Refusal
from daemon.flows.branches import hub as hub_flow
from daemon.flows.branches import join as join_flow
from daemon.sender.hub_client import HubRefusalError
from daemon.store.branches import feed
from daemon.wire import ErrorCode, ShopRole, TransactionStatus
from tests.fakes.branches import FIRST_ID, Chain, FakeBranch, Lost
from tests.fakes.shop import OWNER


@pytest.fixture
async def chain(tmp_path: Path) -> AsyncIterator[Chain]:
    made = await Chain.make(tmp_path, "kumasi", "tamale")
    yield made
    made.close_after_lost_time()


@pytest.fixture
def branch(chain: Chain) -> FakeBranch:
    return chain["kumasi"]


async def order_of(shop: Any) -> list[Any]:
    return list(
        await shop.values(
            "SELECT t.status, p.standing FROM transactions t LEFT JOIN payments p ON p.seq = t.payment_seq "
            "WHERE t.origin = 'request'"
        )
    )


@pytest.mark.parametrize("left_before", [False, True])
async def test_an_order_that_an_older_database_has_unpaid_stays_paid(
    chain: Chain, branch: FakeBranch, *, left_before: bool
) -> None:
    order = await branch.shop.request(2500)
    await branch.settle()
    if left_before:
        await join_flow.leave(branch.shop.env, OWNER, force=True)
    branch.keep()
    if left_before:
        await branch.join("kumasi")
    await branch.pay(str(order.svc_code))
    await branch.settle()
    branch.put_back()
    branch.shop.env.place = await branch.shop.env.store.read(feed.link_place)
    if left_before:
        await branch.join("kumasi")
    else:
        await branch.join_again("kumasi")
    for shop in (branch.shop, chain.hub):
        assert await order_of(shop) == [(TransactionStatus.SUCCESS, "used")]
    await join_flow.restore(branch.shop.env, OWNER, branch.wire, take_unknown=True)
    await branch.settle()
    for shop in (branch.shop, chain.hub):
        assert await order_of(shop) == [(TransactionStatus.SUCCESS, "used")]
    assert await chain.hub.values("SELECT why FROM facts_refused") == []


async def test_what_a_shop_did_after_it_left_is_what_counts(chain: Chain, branch: FakeBranch) -> None:
    order = await branch.shop.request(2500)
    await branch.pay("food", amount=2500)
    await branch.settle()
    await join_flow.leave(branch.shop.env, OWNER, force=True)
    await branch.shop.reconcile(order.reference, FIRST_ID)
    await branch.shop.env.store.write(lambda tx: tx.run("UPDATE payment_methods SET account_name = 'New name'"))
    done = await branch.join("kumasi")
    assert done["rows"] is None, "the hub has nothing that is not here"
    await branch.settle()
    for shop in (branch.shop, chain.hub):
        assert await order_of(shop) == [(TransactionStatus.SUCCESS, "used")]
    (name,) = await chain.hub.values(f"SELECT account_name FROM payment_methods WHERE branch_id = '{branch.id}'")
    assert name == "New name"


async def test_a_change_whose_answer_was_lost_before_a_shop_left_is_not_undone(
    chain: Chain, branch: FakeBranch
) -> None:
    order = await branch.shop.request(2500)
    await branch.pay("food")
    with pytest.raises(Lost):
        await branch.turn(lose_answer=True)
    await branch.shop.reconcile(order.reference, FIRST_ID)
    await branch.join_again("kumasi")
    await branch.settle()
    for shop in (branch.shop, chain.hub):
        assert await order_of(shop) == [(TransactionStatus.SUCCESS, "used")]


async def test_a_payment_that_head_office_used_is_not_used_at_a_branch_that_joined_again(
    chain: Chain, branch: FakeBranch
) -> None:
    order = await chain.hub.request(2500)
    await branch.pay(str(order.svc_code))
    await branch.settle()
    assert (await chain.hub_transaction(order.reference)).status is TransactionStatus.SUCCESS
    await branch.join_again("kumasi")
    mine = await branch.shop.request(2500)
    with pytest.raises(Refusal) as caught:
        await branch.shop.reconcile(mine.reference, FIRST_ID)
    assert caught.value.code is ErrorCode.PAYMENT_HANDED_UP


@pytest.mark.parametrize("name", ["Kumasi", "tamale"])
async def test_a_shop_is_not_joined_as_another_branch_than_it_was(chain: Chain, branch: FakeBranch, name: str) -> None:
    await branch.pay("food")
    await branch.settle()
    await hub_flow.begin_to_leave(chain.hub.env, branch.wire.key)
    await branch.settle()
    assert branch.shop.env.place.role is ShopRole.ALONE
    with pytest.raises(HubRefusalError, match="At the hub type `momo hub invite kumasi`") as caught:
        await branch.join(name)
    assert caught.value.code == ErrorCode.INVITATION_INVALID
    assert branch.shop.env.place.role is ShopRole.ALONE
    await branch.join("kumasi")
    await branch.pay("food", "93214500002")
    await branch.settle()
    assert (await chain.hub_payment("93214500002")).branch_id == branch.id
