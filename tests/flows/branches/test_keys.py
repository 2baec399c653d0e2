"""The key names the branch of the rows: a branch, or the thief of its key, cannot touch or name the rows of another."""

from collections.abc import Sequence
from typing import Any

import pytest

from daemon.sender.hub_client import HubRefusalError
from daemon.store.access import users
from daemon.wire import ErrorCode
from tests.fakes.branches import FIRST_ID, Chain

MINE = "93214500002"
ROWS = (
    ("method", "payment_methods"), ("message", "messages"), ("payment", "payments"), ("transaction", "transactions"),
    ("review", "reviews"), ("reversal", "reversals"),
)  # fmt: skip
NAMING = (
    ("payment", "message_id"), ("payment", "payment_method_id"), ("transaction", "payment_id"),
    ("transaction", "held_payment_id"), ("review", "message_id"), ("review", "payment_id"),
    ("review", "transaction_id"), ("message", "payment_id"), ("message", "payment_method_id"),
)  # fmt: skip


async def busy(chain: Chain) -> None:
    """Let both branches have a row of each kind, and the hub an order that a branch paid."""
    order = await chain.hub.request(2500)
    for name, telco_id in (("kumasi", FIRST_ID), ("tamale", MINE)):
        branch = chain[name]
        own = await branch.shop.request(900, expected_payer_phone="+233201111111")
        await branch.pay(str(own.svc_code), telco_id=f"{telco_id}1"[-11:], amount=900)
        await branch.pay("food", telco_id)
        code = str(order.svc_code) if name == "kumasi" else "food"
        await branch.pay(code, telco_id=f"{telco_id}2"[-11:])
        await branch.settle()


async def all_rows(chain: Chain, name: str) -> list[Any]:
    where = f"branch_id = '{chain[name].id}' OR branch_id IS NULL ORDER BY seq"
    return [await chain.hub.values(f"SELECT * FROM {table} WHERE {where}") for _kind, table in ROWS]


async def refused(chain: Chain) -> Sequence[str]:
    found = await chain.hub.values("SELECT why FROM facts_refused ORDER BY version")
    await chain.hub.env.store.write(lambda tx: tx.run("DELETE FROM facts_refused"))
    return [str(why) for why in found]


async def test_rows_of_another_branch_and_of_the_hub_stay_as_they_are(chain: Chain) -> None:
    await busy(chain)
    before = await all_rows(chain, "kumasi")
    thief = chain["tamale"]
    theirs = [fact for fact in await chain["kumasi"].facts() if fact["kind"] in dict(ROWS)]
    assert {fact["kind"] for fact in theirs} >= {"method", "payment", "transaction", "review"}
    for fact in theirs:
        await thief.send(fact)
        (why,) = await refused(chain)
        assert "is not a row of this branch" in why
    own = await chain.hub.values("SELECT id FROM transactions WHERE branch_id IS NULL ORDER BY seq")
    mine = next(fact for fact in await thief.facts() if fact["kind"] == "transaction")
    for row_id in own:
        await thief.send({**mine, "id": row_id, "row": {**mine["row"], "id": row_id}})
        assert "is not a row of this branch" in (await refused(chain))[0]
    assert await all_rows(chain, "kumasi") == before


@pytest.mark.parametrize(("kind", "column"), NAMING)
async def test_a_row_cannot_name_a_row_of_another_branch(chain: Chain, kind: str, column: str) -> None:
    await busy(chain)
    before = await all_rows(chain, "kumasi")
    thief = chain["tamale"]
    table = {"message_id": "messages", "payment_method_id": "payment_methods"}.get(
        column, "transactions" if column == "transaction_id" else "payments"
    )
    facts = [fact for fact in await thief.facts() if fact["kind"] in dict(ROWS)]
    for theirs in await chain.hub.values(
        f"SELECT id FROM {table} WHERE branch_id = '{chain['kumasi'].id}' ORDER BY seq"
    ):
        for fact in facts:
            if kind == "message" and "message" in fact:
                lie = {**fact, "message": {**fact["message"], column: theirs}}
            elif fact["kind"] == kind:
                lie = {**fact, "row": {**fact["row"], column: theirs}}
            else:
                continue
            await thief.send(lie)
            assert "is not a row of this branch" in (await refused(chain))[0]
    assert await all_rows(chain, "kumasi") == before


async def test_a_fact_cannot_have_another_id_than_its_row(chain: Chain) -> None:
    await busy(chain)
    thief = chain["tamale"]
    stolen = await chain.hub_payment(FIRST_ID)
    mine = next(fact for fact in await thief.facts() if fact["kind"] == "payment")
    await thief.send({**mine, "id": stolen.id, "row": {**mine["row"], "reversed_at": 1}})
    assert "another id than its row" in (await refused(chain))[0]


async def test_commands_for_another_branch_are_not_answered_with_this_key(chain: Chain) -> None:
    order = await chain.hub.request(2500)
    await chain["kumasi"].pay("food")
    await chain["kumasi"].settle()
    with pytest.raises(Exception, match="BRANCH_ASKED"):
        await chain.hub.reconcile(order.reference, FIRST_ID)
    (asked,) = await chain.hub.values("SELECT id FROM branch_commands WHERE kind = 'claim'")
    await chain["tamale"].send(outcomes={asked: {"done": False, "why": "used"}})
    assert await chain.hub.values("SELECT done_at FROM branch_commands WHERE kind = 'claim'") == [None]
    await chain["kumasi"].settle()
    assert (await chain.hub.reconcile(order.reference, FIRST_ID)).reconciliation_id


async def test_a_revoked_key_sends_nothing_and_a_new_invitation_goes_on_without_a_gap(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.settle()
    old = branch.wire.key
    assert old is not None
    now = chain.hub.clock.now_us()
    await chain.hub.env.store.write(lambda tx: users.revoke_key(tx, old, now))
    await branch.pay("food")
    # The API refuses a revoked key before the flow: tests/api/branches.
    await branch.join_again("kumasi")
    assert branch.wire.key != old
    await branch.settle()
    assert (await chain.hub_payment(FIRST_ID)).branch_id == branch.id
    with pytest.raises(HubRefusalError) as caught:
        await type(branch.wire)(chain.hub, old).call("/v1/branch/sync", branch.last_body)
    assert caught.value.code == ErrorCode.BRANCH_NOT_FOUND
