"""Rows that only the hub has, as the thief of a key can make them up: they come back doubted, and trip no fault at a branch."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.flows.branches import join as join_flow
from daemon.flows.payments import review as review_flow
from daemon.wire import TransactionStatus
from tests.fakes.branches import Chain, FakeBranch
from tests.fakes.shop import OWNER

FORGED = "93214500077"
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


async def forge(branch: FakeBranch, *beside: dict[str, Any], **changes: Any) -> None:
    """Send a payment on a SIM and number that nobody has, and rows beside it, with the key of the branch."""
    (payment,) = [one for one in await branch.facts() if one["kind"] == "payment"]
    new = {**ELSEWHERE, "id": "forged", "payment_method_id": None}
    row = {
        **payment["row"], **new, "message_id": "forged", "telco_transaction_id": FORGED, "telco_id_as_read": FORGED, **changes,
    }  # fmt: skip
    message = {**payment["message"], **new, "payment_id": None}
    await branch.send({**payment, "id": "forged", "row": row, "message": message}, *beside)
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


async def test_a_message_on_an_unknown_sim_is_rejected_in_its_review(branch: FakeBranch) -> None:
    review = {
        "id": "asked", "mode": "live", "reason": "balance_break", "state": "open", "message_id": "forged", "payment_id": None,
        "transaction_id": None, "details": "{}", "created_at": 1, "decided_at": None, "decided_by": None, "notes": None,
    }  # fmt: skip
    await forge(branch, {"kind": "review", "id": "asked", "row": review})
    await restore(branch)
    done = await review_flow.reject(branch.shop.env, OWNER, "asked", "not ours", confirmed=True)
    assert done.review.review.state == "rejected"
