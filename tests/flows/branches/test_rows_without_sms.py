"""Rows that only the hub has, as the thief of a key can make them up: they come back doubted, and trip no fault at a branch."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.core.errors import Refusal
from daemon.flows.branches import join as join_flow
from daemon.flows.payments import review as review_flow
from daemon.wire import TransactionStatus
from tests.fakes.branches import Chain, FakeBranch
from tests.fakes.shop import OWNER

FORGED = "93214500077"
OTHER = "93214500002"
ELSEWHERE = {"sim_key": "89233010000000077777", "device_id": "another modem"}


@pytest.fixture
async def chain(tmp_path: Path) -> AsyncIterator[Chain]:
    made = await Chain.make(tmp_path, "kumasi")
    await made["kumasi"].pay("food")
    await made["kumasi"].settle()
    yield made
    made.close_after_lost_time()


@pytest.fixture
def branch(chain: Chain) -> FakeBranch:
    return chain["kumasi"]


async def forge(
    branch: FakeBranch, *beside: dict[str, Any], message: dict[str, Any] | None = None, **changes: Any
) -> None:
    """Send a payment on a SIM and number that nobody has, and rows beside it, with the key of the branch."""
    (payment,) = [one for one in await branch.facts() if one["kind"] == "payment"]
    new = {**ELSEWHERE, "id": "forged", "payment_method_id": None}
    row = {
        **payment["row"], **new, "message_id": "forged", "telco_transaction_id": FORGED, "telco_id_as_read": FORGED, **changes,
    }  # fmt: skip
    of = {**payment["message"], **new, "payment_id": None, **(message or {})}
    await branch.send({**payment, "id": "forged", "row": row, "message": of}, *beside)
    assert await branch.hub.values("SELECT why FROM facts_refused") == []


async def restore(branch: FakeBranch) -> dict[str, Any]:
    return await join_flow.restore(branch.shop.env, OWNER, branch.wire, take_unknown=True)


@pytest.mark.parametrize("standing", ["open", "used", "review"])
async def test_a_payment_on_an_unknown_sim_comes_back_as_history_and_pays_no_order(
    branch: FakeBranch, standing: str
) -> None:
    order = await branch.shop.request(2500)
    await forge(branch, standing=standing, reference_text=str(order.svc_code))
    done = await restore(branch)
    assert done["unknown"] == [{"currency": "GHS", "count": 1, "amount": "25.00"}]
    forged = await branch.payment(FORGED)
    assert (forged.standing, forged.historical) == ("open", True)
    assert (await branch.shop.transaction(order.reference)).status is TransactionStatus.PENDING


async def test_a_payment_on_an_unknown_sim_that_the_hub_gives_back_is_history(chain: Chain, branch: FakeBranch) -> None:
    order = await branch.shop.request(2500)
    await forge(branch, decider="hub", standing="handed", reference_text=str(order.svc_code))
    assert (await chain.hub_payment(FORGED)).decider == "branch", "the hub has no such order and gives it back"
    await restore(branch)
    assert (await branch.payment(FORGED)).standing == "handed"
    await branch.settle()
    forged = await branch.payment(FORGED)
    assert (forged.decider, forged.standing, forged.historical) == ("branch", "open", True)
    assert (await branch.shop.transaction(order.reference)).status is TransactionStatus.PENDING


def review(**changes: Any) -> dict[str, Any]:
    """Return the fact of an open review of the forged message."""
    row = {
        "id": "asked", "mode": "live", "reason": "balance_break", "state": "open", "message_id": "forged", "payment_id": None,
        "transaction_id": None, "details": "{}", "created_at": 1, "decided_at": None, "decided_by": None, "notes": None, **changes,
    }  # fmt: skip
    return {"kind": "review", "id": "asked", "row": row}


@pytest.mark.parametrize("standing", ["open", "review"])
async def test_nobody_uses_a_payment_that_only_the_hub_has_without_the_password(
    chain: Chain, branch: FakeBranch, standing: str
) -> None:
    order, other = [await branch.shop.request(2500) for _ in range(2)]
    await branch.settle()
    facts = {one["id"]: one for one in await branch.facts()}
    held = {**facts[order.id]["row"], "status": "MANUAL_REVIEW", "held_payment_id": "forged"}
    beside = [
        {**facts[order.id], "row": held},
        review(reason="payer_mismatch", payment_id="forged", transaction_id=order.id),
    ]
    # A message that is held makes no history of its payment: its review is asked first.
    await forge(branch, *(beside if standing == "review" else []), standing=standing, message={"state": "held"})
    await restore(branch)
    with pytest.raises(Refusal):
        await review_flow.approve(branch.shop.env, OWNER, "asked", review_flow.Approval(None, None))
    for waits in (order, other):
        assert (await branch.shop.transaction(waits.reference)).status is TransactionStatus.PENDING
        with pytest.raises(Refusal, match="password"):
            await branch.shop.reconcile(waits.reference, FORGED)
    await branch.shop.reconcile(order.reference, FORGED, confirmed=True)
    assert (await branch.shop.transaction(order.reference)).status is TransactionStatus.SUCCESS


@pytest.mark.parametrize("kind", ["payment", "reversal"])
async def test_a_message_without_its_text_is_rejected_but_not_approved(branch: FakeBranch, kind: str) -> None:
    await forge(branch, review(), message={"kind": kind})
    await restore(branch)
    with pytest.raises(Refusal, match="came back from the hub without its text"):
        await review_flow.approve(branch.shop.env, OWNER, "asked", review_flow.Approval(None, None, confirmed=True))
    done = await review_flow.reject(branch.shop.env, OWNER, "asked", "not ours", confirmed=True)
    assert done.review.review.state == "rejected"


async def test_an_open_review_of_a_payment_that_pays_an_order_does_not_come_back_open(branch: FakeBranch) -> None:
    order = await branch.shop.request(2500)
    await branch.pay(str(order.svc_code), OTHER)
    await branch.settle()
    used = await branch.payment(OTHER)
    await branch.send(review(reason="payer_mismatch", message_id=used.message_id, payment_id=used.id))
    await restore(branch)
    assert await branch.shop.values("SELECT state FROM reviews") == ["used_elsewhere"]


async def test_a_row_that_this_shop_cannot_store_is_named_and_the_others_come_back(branch: FakeBranch) -> None:
    orders = [await branch.shop.request(2500) for _ in range(2)]
    facts = [one for one in await branch.facts() if one["id"] in {order.id for order in orders}]
    # At the hub two orders of a branch may wait for one network ID; here only one can.
    await branch.send(*({**one, "row": {**one["row"], "expected_telco_transaction_id": "5"}} for one in facts))
    done = await restore(branch)
    assert done["aside"] == [f"transaction {orders[1].id}"]
    waiting = await branch.shop.values("SELECT id FROM transactions WHERE expected_telco_transaction_id = '5'")
    assert waiting == [orders[0].id]


async def test_a_hub_names_why_a_payment_that_pays_an_order_of_its_branch_cannot_be_handed_up(
    chain: Chain, branch: FakeBranch
) -> None:
    order = await branch.shop.request(2500)
    await branch.pay(str(order.svc_code), OTHER)
    await branch.settle()
    used = await branch.payment(OTHER)
    (fact,) = [one for one in await branch.facts() if one["id"] == used.id and one["kind"] == "payment"]
    await branch.send({**fact, "row": {**fact["row"], "decider": "hub"}})
    assert (await chain.hub_payment(OTHER)).decider == "branch"
    (why,) = await chain.hub.values("SELECT why FROM facts_refused")
    assert "pays an order of the branch" in why


async def test_of_two_states_of_a_payment_in_one_request_the_later_one_counts(chain: Chain, branch: FakeBranch) -> None:
    order = await chain.hub.request(2500)
    await branch.pay(str(order.svc_code), OTHER)
    await branch.settle()
    used = await branch.payment(OTHER)
    (fact,) = [one for one in await branch.facts() if one["id"] == used.id and one["kind"] == "payment"]
    await branch.send({**fact, "row": {**fact["row"], "reversed_at": 1}}, fact)
    assert (await chain.hub_transaction(order.reference)).reversed_at is None
