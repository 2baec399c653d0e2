"""The ledger check of a branch: each payment paid the same order here and at the hub."""

import pytest

from daemon.core.branches.answer import AnswerError
from daemon.flows.branches import join as join_flow
from daemon.store.engine import Tx
from tests.fakes.branches import FIRST_ID, Chain

SECOND_ID = "93214500002"


async def test_each_payment_that_paid_another_order_at_the_hub_is_named(chain: Chain) -> None:
    branch = chain["kumasi"]
    order, own = await chain.hub.request(2500), await branch.shop.request(2500)
    await branch.pay(str(order.svc_code))
    await branch.pay(str(own.svc_code), SECOND_ID)
    with pytest.raises(AnswerError, match="not everything is sent yet"):
        await join_flow.other_uses(branch.shop.env, branch.wire)
    await branch.settle()
    assert await join_flow.other_uses(branch.shop.env, branch.wire) == []

    other = await chain.hub.request(2500)

    def tell_otherwise(tx: Tx) -> None:
        tx.run(
            "UPDATE hub_commands SET body = REPLACE(body, :one, :other)",
            {"one": order.reference, "other": other.reference},
        )

    await branch.shop.env.store.write(tell_otherwise)
    assert await join_flow.other_uses(branch.shop.env, branch.wire) == [
        f"the payment {FIRST_ID} paid {other.reference} here, {order.reference} at the hub"
    ]
