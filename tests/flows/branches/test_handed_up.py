"""A payment at a branch for an order of head office: handed up, decided there, and told to the branch."""

import json
from datetime import timedelta

import pytest

from daemon.core.errors import Refusal
from daemon.core.json_values import dump
from daemon.core.webhooks.body import forwarded
from daemon.core.webhooks.rule_fields import PaymentFacts
from daemon.flows.branches import hub as hub_flow
from daemon.flows.branches import outbound
from daemon.store.payments import suggestions
from daemon.store.payments.transaction_list import TransactionFilter, transactions
from daemon.wire import ErrorCode, TransactionStatus
from tests.fakes.branches import Chain, Lost
from tests.fakes.receipts import STARTED, mtn
from tests.fakes.shop import OWNER

ID = "93214500001"


async def pay(chain: Chain, name: str, reference: str, telco_id: str = ID, amount: int = 2500) -> None:
    shop = chain[name].shop
    await shop.read(mtn(amount, "KOFI ANTWI BADU", shop.wallet(amount), reference, telco_id))


async def test_a_payment_with_a_code_of_the_hub_pays_its_order(chain: Chain) -> None:
    order = await chain.hub.request(2500, webhook_url="https://hooks.example/paid")
    assert order.svc_code is not None
    assert order.svc_code[0].isdigit()
    await pay(chain, "kumasi", order.svc_code)
    handed = await chain["kumasi"].payment(ID)
    assert (handed.decider, handed.standing) == ("hub", "handed")

    await chain["kumasi"].settle()

    paid = await chain.hub_transaction(order.reference)
    assert paid.status is TransactionStatus.SUCCESS
    copy = await chain.hub_payment(ID)
    assert (copy.id, copy.branch_id, copy.standing) == (handed.id, chain["kumasi"].id, "used")
    events = [json.loads(body)["type"] for body in await chain.hub.bodies()]
    assert events == ["transaction.completed"]
    told = await chain["kumasi"].shop.values("SELECT body FROM hub_commands WHERE kind = 'decided'")
    assert [json.loads(body)["reference"] for body in told] == [order.reference]


async def test_a_request_that_comes_twice_changes_nothing(chain: Chain) -> None:
    order = await chain.hub.request(2500)
    await pay(chain, "kumasi", str(order.svc_code))
    branch = chain["kumasi"]
    await branch.turn()
    body = branch.last_body | {"turn": branch.last_body["turn"] + 1}
    before = await chain.hub.values("SELECT COUNT(*) FROM deliveries UNION ALL SELECT COUNT(*) FROM payments")
    await branch.wire.call("/v1/branch/sync", body)
    assert before == await chain.hub.values("SELECT COUNT(*) FROM deliveries UNION ALL SELECT COUNT(*) FROM payments")


async def test_an_order_of_the_branch_is_decided_at_the_branch(chain: Chain) -> None:
    order = await chain["kumasi"].shop.request(2500)
    assert str(order.svc_code)[0].isalpha()
    await pay(chain, "kumasi", str(order.svc_code))
    assert (await chain["kumasi"].payment(ID)).decider == "branch"
    await chain["kumasi"].settle()
    copy = await chain.hub_transaction(order.reference)
    assert (copy.status, copy.branch_id) == (TransactionStatus.SUCCESS, chain["kumasi"].id)


async def test_a_code_of_the_hub_that_it_does_not_know_comes_back(chain: Chain) -> None:
    order = await chain.hub.request(2500)
    await chain.hub.env.store.write(lambda tx: tx.run("DELETE FROM svc_codes"))
    await chain.hub.env.store.write(lambda tx: tx.run("UPDATE transactions SET status = 'CANCELLED', cancelled_at = 1"))
    await pay(chain, "kumasi", str(order.svc_code))
    await chain["kumasi"].settle()
    back = await chain["kumasi"].payment(ID)
    assert (back.decider, back.standing) == ("branch", "open")
    copy = await chain.hub_payment(ID)
    assert (copy.decider, copy.standing) == ("branch", "open")


async def test_a_person_at_the_hub_claims_a_payment(chain: Chain) -> None:
    order = await chain.hub.request(2500)
    await pay(chain, "kumasi", "food")
    await chain["kumasi"].settle()
    with pytest.raises(Refusal) as caught:
        await chain.hub.reconcile(order.reference, ID)
    assert caught.value.code is ErrorCode.BRANCH_ASKED
    assert caught.value.headers["Retry-After"]
    await chain["kumasi"].settle()
    assert (await chain["kumasi"].payment(ID)).standing == "handed"
    answer = await chain.hub.reconcile(order.reference, ID)
    assert answer.reconciliation_id
    await chain["kumasi"].settle()
    mine = await chain["kumasi"].shop.request(2500)
    with pytest.raises(Refusal) as caught:
        await chain["kumasi"].shop.reconcile(mine.reference, ID)
    assert caught.value.code is ErrorCode.PAYMENT_HANDED_UP


async def test_payments_of_branches_take_no_place_among_those_compared_with_an_order_of_the_hub(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suggestions, "PAYMENTS_MAX", 1)
    await chain.hub.put_number("momo_mtn", "99999999-9999-4999-8999-000000000099")
    await chain.hub.read(mtn(2500, "YAW OWUSU", 90_000, "food", "93214500002"))
    await pay(chain, "kumasi", "food")
    await chain["kumasi"].settle()
    order = await chain.hub.request(2500, customer_name="Owusu Yaw")
    ((reason, details),) = await chain.hub.values("SELECT reason, details FROM reviews")
    assert (reason, json.loads(details)["suggested"][0]["reference"]) == ("near_miss", order.reference)


async def test_a_branch_gives_up_history_only_to_a_person_with_the_password(chain: Chain) -> None:
    shop = chain["kumasi"].shop
    order = await chain.hub.request(500_000)
    await shop.begin_chain(90_000)
    old = STARTED - timedelta(minutes=20)
    text = str(order.svc_code)
    await shop.read(mtn(500_000, "KOFI ANTWI BADU", 9_999_999, text, ID, sent_at=old))
    await chain["kumasi"].settle()
    with pytest.raises(Refusal) as caught:
        await chain.hub.reconcile(order.reference, ID)
    assert caught.value.code is ErrorCode.INVALID_PASSWORD
    await chain["kumasi"].settle()
    assert (await chain["kumasi"].payment(ID)).standing == "open"

    with pytest.raises(Refusal) as caught:
        await chain.hub.reconcile(order.reference, ID, confirmed=True)
    assert caught.value.code is ErrorCode.BRANCH_ASKED
    await chain["kumasi"].settle()
    # It names the order's code, and pays it only when the person says so again.
    assert (await chain["kumasi"].payment(ID)).standing == "handed"
    assert (await chain.hub_transaction(order.reference)).status is TransactionStatus.PENDING
    await chain.hub.reconcile(order.reference, ID, confirmed=True)
    assert (await chain.hub_transaction(order.reference)).status is TransactionStatus.SUCCESS


async def test_a_branch_refuses_history_that_the_hub_claims_without_a_persons_word(chain: Chain) -> None:
    shop = chain["kumasi"].shop
    await shop.begin_chain(90_000)
    old = STARTED - timedelta(minutes=20)
    await shop.read(mtn(500_000, "KOFI ANTWI BADU", 9_999_999, "food", ID, sent_at=old))
    payment = await chain["kumasi"].payment(ID)
    command = {"id": "c1", "kind": "claim", "subject": payment.id, "by": "x", "body": {}}
    assert await outbound.claim(shop.env, command) == {"done": False, "why": "unconfirmed"}
    assert (await chain["kumasi"].payment(ID)).standing == "open"


async def test_history_that_the_hub_gives_back_pays_nothing_by_itself(chain: Chain) -> None:
    shop = chain["kumasi"].shop
    mine = await shop.request(500_000)
    await shop.begin_chain(90_000)
    old = STARTED - timedelta(minutes=20)
    text = str(mine.svc_code)
    await shop.read(mtn(500_000, "KOFI ANTWI BADU", 9_999_999, text, ID, sent_at=old))
    payment = await chain["kumasi"].payment(ID)
    claim = {"id": "c1", "kind": "claim", "subject": payment.id, "by": "x", "body": {"vouched": True}}
    assert await outbound.claim(shop.env, claim) == {"done": True}
    await outbound.release(shop.env, {**claim, "id": "c2", "kind": "release"})
    assert (await chain["kumasi"].payment(ID)).standing == "open"
    assert (await shop.transaction(mine.reference)).status is TransactionStatus.PENDING


async def test_a_claim_is_refused_once_the_branch_used_the_payment(chain: Chain) -> None:
    order = await chain.hub.request(2500)
    await pay(chain, "kumasi", "food")
    await chain["kumasi"].settle()
    with pytest.raises(Refusal):
        await chain.hub.reconcile(order.reference, ID)
    mine = await chain["kumasi"].shop.request(2500)
    await chain["kumasi"].shop.reconcile(mine.reference, ID)
    await chain["kumasi"].settle()
    with pytest.raises(Refusal) as caught:
        await chain.hub.reconcile(order.reference, ID)
    assert caught.value.code is ErrorCode.TRANSACTION_ID_ALREADY_USED


async def test_a_person_at_the_branch_takes_back_what_was_never_sent(chain: Chain) -> None:
    order = await chain.hub.request(2500)
    await pay(chain, "kumasi", str(order.svc_code))
    mine = await chain["kumasi"].shop.request(2500)
    answer = await chain["kumasi"].shop.reconcile(mine.reference, ID)
    assert answer.reconciliation_id
    await chain["kumasi"].settle()
    assert (await chain.hub_transaction(order.reference)).status is TransactionStatus.PENDING
    assert (await chain.hub_transaction(mine.reference)).status is TransactionStatus.SUCCESS


async def test_a_payment_that_was_put_into_a_request_is_not_taken_back(chain: Chain) -> None:
    order = await chain.hub.request(2500)
    await pay(chain, "kumasi", str(order.svc_code))
    with pytest.raises(Lost):
        await chain["kumasi"].turn(lose_request=True)
    mine = await chain["kumasi"].shop.request(2500)
    with pytest.raises(Refusal) as caught:
        await chain["kumasi"].shop.reconcile(mine.reference, ID)
    assert caught.value.code is ErrorCode.PAYMENT_HANDED_UP


async def test_head_office_lists_the_transactions_of_one_branch(chain: Chain) -> None:
    made = {name: await chain[name].shop.request(900) for name in ("kumasi", "tamale")}
    for name in made:
        await chain[name].settle()

    async def listed(branch: str | None) -> list[str]:
        wanted = TransactionFilter(branch=branch)
        found, total = await chain.hub.env.store.read(
            lambda reader: transactions(reader, wanted, now=chain.hub.clock.now_us(), limit=9, offset=0)
        )
        assert total == len(found)
        return [transaction.reference for transaction, _payment in found]

    assert await listed("kumasi") == [made["kumasi"].reference]
    assert sorted(await listed(None)) == sorted(each.reference for each in made.values())
    assert await listed("nowhere") == []


async def test_a_rule_may_name_a_branch(chain: Chain) -> None:
    order = await chain.hub.request(2500)
    await pay(chain, "kumasi", str(order.svc_code))
    await chain["kumasi"].settle()
    copy, paid = await chain.hub_payment(ID), await chain.hub_transaction(order.reference)
    assert PaymentFacts(paid, copy, None).value("branch.id") == chain["kumasi"].id
    body = json.loads(dump(forwarded(paid, copy, None)))
    assert body["branch"] == {"id": chain["kumasi"].id}


async def test_a_payment_that_was_given_back_and_claimed_again_at_once_is_the_hubs(chain: Chain) -> None:
    order = await chain.hub.request(2500)
    await pay(chain, "kumasi", "food")
    await chain["kumasi"].settle()
    with pytest.raises(Refusal):
        await chain.hub.reconcile(order.reference, ID)
    await chain["kumasi"].settle()
    given_up = await chain.hub_payment(ID)
    await hub_flow.give_back(chain.hub.env, OWNER, given_up.id)
    with pytest.raises(Refusal):
        await chain.hub.reconcile(order.reference, ID)
    # Both commands come in one answer; the next request has the payment and both outcomes.
    await chain["kumasi"].settle()
    assert (await chain["kumasi"].payment(ID)).decider == "hub"
    assert (await chain.hub_payment(ID)).decider == "hub"
    answer = await chain.hub.reconcile(order.reference, ID)
    assert answer.reconciliation_id
