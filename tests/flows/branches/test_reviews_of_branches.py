"""Head office decides reviews of a branch: the branch is asked, and its decision is the answer."""

from typing import Any

import pytest

from daemon.core.errors import Refusal
from daemon.core.model import Transaction
from daemon.flows.branches import hub as hub_flow
from daemon.flows.payments import review
from daemon.wire import ErrorCode, TransactionStatus
from tests.fakes.answers import decided
from tests.fakes.branches import Chain, FakeBranch
from tests.fakes.shop import OWNER

OTHER_PAYER = "+233201111111"


@pytest.fixture
async def branch(chain: Chain) -> FakeBranch:
    """A branch with an order that was paid from another number than expected; head office knows."""
    branch = chain["kumasi"]
    order = await branch.shop.request(2500, expected_payer_phone=OTHER_PAYER)
    await branch.pay(str(order.svc_code))
    await branch.settle()
    return branch


async def decide(
    chain: Chain, *, reference: str | None = None, notes: str | None = None, reject: bool = False
) -> dict[str, Any]:
    """Decide the only review at head office."""
    (review_id,) = await chain.hub.values("SELECT id FROM reviews")
    env = chain.hub.env
    if reject:
        answer = await review.reject(env, OWNER, review_id, notes or "no")
    else:
        approval = review.Approval(reference, notes)
        answer = await review.approve(env, OWNER, review_id, approval)
    return decided(answer)


async def asked(chain: Chain, **how: Any) -> Refusal:
    with pytest.raises(Refusal) as refused:
        await decide(chain, **how)
    assert refused.value.code == ErrorCode.BRANCH_ASKED
    return refused.value


async def orders(branch: FakeBranch) -> list[str]:
    found = await branch.shop.values("SELECT status FROM transactions WHERE origin = 'request' ORDER BY seq")
    return [str(status) for status in found]


async def test_the_same_call_is_answered_with_the_decision_once_the_branch_made_it(
    chain: Chain, branch: FakeBranch
) -> None:
    await asked(chain, notes="his brother")
    await asked(chain, notes="his brother")
    assert await chain.hub.values("SELECT COUNT(*) FROM branch_commands") == [1]
    await branch.settle()
    answer = await decide(chain, notes="his brother")
    assert answer["data"]["state"] == "approved"
    assert answer["transaction"]["status"] == "SUCCESS"
    assert await orders(branch) == ["SUCCESS"]


async def test_the_order_that_a_person_names_is_the_one_that_is_paid(chain: Chain, branch: FakeBranch) -> None:
    named: Transaction = await branch.shop.request(2500)
    await branch.settle()
    await asked(chain, reference=named.reference)
    await branch.settle()
    answer = await decide(chain, reference=named.reference)
    assert answer["transaction"]["reference"] == named.reference
    assert (await branch.shop.transaction(named.reference)).status is TransactionStatus.SUCCESS
    assert await orders(branch) == ["PENDING", "SUCCESS"]


async def test_only_an_order_of_the_branch_that_has_the_payment_can_be_named(chain: Chain, branch: FakeBranch) -> None:
    own = await chain.hub.request(2500)
    for reference, code in (
        (own.reference, ErrorCode.BELONGS_TO_BRANCH),
        ("svc_trx_" + "0" * 32, ErrorCode.TRANSACTION_NOT_FOUND),
    ):
        with pytest.raises(Refusal) as refused:
            await decide(chain, reference=reference)
        assert refused.value.code == code
        assert refused.value.extras == ({"branch": "kumasi"} if reference == own.reference else {})
    assert await chain.hub.values("SELECT COUNT(*) FROM branch_commands") == [0]


async def test_a_question_that_was_not_sent_yet_is_replaced_by_a_later_one(chain: Chain, branch: FakeBranch) -> None:
    await asked(chain)
    await asked(chain, reject=True, notes="a forgery")
    await branch.settle()
    answer = await decide(chain, reject=True, notes="a forgery")
    assert answer["data"]["state"] == "rejected"
    assert await orders(branch) == ["PENDING"]


async def test_while_the_branch_has_not_answered_the_opposite_is_not_taken_silently(
    chain: Chain, branch: FakeBranch
) -> None:
    await asked(chain)
    await branch.turn()  # the question is in the answer to this request
    refusal = await asked(chain, reject=True)
    assert "was asked before to approve this" in str(refusal.message)
    await branch.settle()
    with pytest.raises(Refusal) as refused:
        await decide(chain, reject=True)
    assert refused.value.code == ErrorCode.REVIEW_ALREADY_DECIDED
    assert refused.value.extras["review_state"] == "approved"


async def test_why_the_branch_refused_is_told(chain: Chain, branch: FakeBranch) -> None:
    named = await branch.shop.request(2500)
    await branch.settle()
    await asked(chain, reference=named.reference)
    await branch.pay(str(named.svc_code), "93214500002")  # it is paid before the question comes
    await branch.settle()
    refusal = await asked(chain, reference=named.reference)
    assert "refused it before" in str(refusal.message)
    assert "already" in str(refusal.message)


async def test_the_list_of_branches_counts_what_is_open_and_the_live_payments_of_today(
    chain: Chain, branch: FakeBranch
) -> None:
    async def counted() -> tuple[int, int]:
        rows = (await hub_flow.status(chain.hub.env))["branches"]
        (row,) = [row for row in rows if row["name"] == "kumasi"]
        return row["payments_today"], row["open_reviews"]

    await branch.pay("food", "93214500002", 900)
    await branch.settle()
    assert await counted() == (2, 1)
    (review_id,) = await branch.shop.values("SELECT id FROM reviews")
    await review.reject(branch.shop.env, OWNER, review_id, "no")
    await branch.settle()
    assert await counted() == (2, 0)
    of_one = "UPDATE payments SET mode = '{}' WHERE telco_transaction_id = '93214500002'"
    await chain.hub.env.store.write(lambda tx: tx.run(of_one.format("test")))
    assert await counted() == (1, 0)
    await chain.hub.env.store.write(lambda tx: tx.run(of_one.format("live")))
    chain.hub.clock.advance(24 * 60 * 60)
    assert await counted() == (0, 0)
