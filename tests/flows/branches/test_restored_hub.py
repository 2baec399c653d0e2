"""A hub with its database put back to that of an hour ago."""

from pathlib import Path

import pytest

from daemon.core.errors import Refusal
from daemon.flows.branches import hub as hub_flow
from daemon.store.branches import restored
from daemon.store.engine import Tx
from daemon.wire import ErrorCode, TransactionStatus
from tests.fakes import new_database
from tests.fakes.branches import FIRST_ID, Chain
from tests.fakes.shop import OWNER

HOUR_S = 3_600


async def test_every_row_of_the_branches_comes_again_and_the_owner_is_told(chain: Chain, tmp_path: Path) -> None:
    branch, hub = chain["kumasi"], chain.hub
    before = await hub.request(2500, webhook_url="https://hooks.example/paid")
    await branch.pay("food", "93214500009")
    for each in chain.branches.values():
        await each.settle()
    new_database.keep(chain.hub.env.store, tmp_path / "kept.db")

    # The hour that is lost: an order that was there is paid, one that is lost is paid, and a person claims a payment.
    lost = await hub.request(900)
    claiming = await hub.request(2500)
    await branch.pay(str(before.svc_code))
    await branch.pay(str(lost.svc_code), "93214500002", 900)
    await chain["tamale"].pay("food", "93214500005")
    for each in chain.branches.values():
        await each.settle()
    with pytest.raises(Refusal):
        await hub.reconcile(claiming.reference, "93214500009")
    await branch.settle()
    await hub.reconcile(claiming.reference, "93214500009")
    await branch.settle()
    webhook = "SELECT webhook_id FROM deliveries WHERE event = 'transaction.completed'"
    (first,) = await hub.values(f"{webhook} AND transaction_seq = {before.seq}")
    for shop in (hub, *(one.shop for one in chain.branches.values())):
        shop.clock.advance(HOUR_S)

    new_database.put_back(chain.hub.env.store, tmp_path / "kept.db", chain.hub.clock.now_us())
    for each in chain.branches.values():
        await each.settle()
    again = await hub.values("SELECT type, COUNT(*) FROM events WHERE type LIKE 'notice.%' GROUP BY type")
    assert sorted(again) == [("notice.hub_restored", 2), ("notice.order_lost", 2)]
    assert await hub.values("SELECT why FROM facts_refused") == []
    for each in chain.branches.values():
        theirs = await hub.env.store.read(lambda r, i=each.id: restored.sums(r, i))  # type: ignore[misc]
        assert theirs == await each.shop.env.store.read(restored.sums)
    # The order that is there is paid again, and its webhook is the same one.
    assert (await hub.transaction(before.reference)).status is TransactionStatus.SUCCESS
    assert await hub.values(webhook) == [first]
    # The payment of an order that is gone stays the hub's, because the branch remembers the decision. It can be used once.
    for telco_id in ("93214500002", "93214500009"):
        mine, copy = await branch.payment(telco_id), await chain.hub_payment(telco_id)
        assert (mine.decider, mine.standing) == ("hub", "handed")
        assert (copy.decider, copy.standing) == ("hub", "open")
    (shown,) = [one for one in (await hub_flow.status(hub.env))["branches"] if one["id"] == branch.id]
    named = {one["reference"]: one["amount"] for one in shown["lost_orders"]}
    assert named == {lost.reference: "9.00", claiming.reference: "25.00"}
    own = await branch.shop.request(900)
    with pytest.raises(Refusal) as caught:
        await branch.shop.reconcile(own.reference, "93214500002")
    assert caught.value.code is ErrorCode.PAYMENT_HANDED_UP
    order = await hub.request(900)
    assert (await hub.reconcile(order.reference, "93214500002")).reconciliation_id
    shown = (await hub_flow.status(hub.env))["branches"]
    assert [len(one["lost_orders"]) for one in shown if one["id"] == branch.id] == [1]


async def test_a_branch_that_joined_in_the_lost_hour_joins_again(chain: Chain, tmp_path: Path) -> None:
    new_database.keep(chain.hub.env.store, tmp_path / "kept.db")
    late = await chain.add("accra", 9)
    await late.pay("food")
    await late.settle()
    new_database.put_back(chain.hub.env.store, tmp_path / "kept.db", chain.hub.clock.now_us())
    with pytest.raises(Exception, match="no such branch"):
        await late.turn()
    await late.join_again("accra")
    await late.settle()
    assert (await chain.hub_payment(FIRST_ID)).branch_id == late.id
    names = [one["name"] for one in (await hub_flow.status(chain.hub.env))["branches"]]
    assert sorted(names) == ["accra", "kumasi", "tamale"]


async def test_a_lost_order_that_a_branch_does_not_name_breaks_no_status(chain: Chain) -> None:
    branch = chain["kumasi"]
    order = await chain.hub.request(2500)
    await branch.pay(str(order.svc_code))
    await branch.settle()
    paid = await chain.hub_payment(FIRST_ID)

    def forget(tx: Tx) -> None:
        tx.run("UPDATE transactions SET payment_seq = NULL, status = 'PENDING' WHERE id = :id", {"id": order.id})
        tx.run("UPDATE payments SET standing = 'open' WHERE id = :id", {"id": paid.id})

    await chain.hub.env.store.write(forget)
    await hub_flow.give_back(chain.hub.env, OWNER, paid.id)
    (command,) = await chain.hub.values("SELECT id FROM branch_commands WHERE kind = 'release'")
    await branch.send(outcomes={command: {"done": False, "why": "decided"}})
    (shown,) = [one for one in (await hub_flow.status(chain.hub.env))["branches"] if one["id"] == branch.id]
    assert [one["payment_id"] for one in shown["lost_orders"]] == [paid.id]
