"""One network ID from two branches: which payment counts, what a person chooses, and days with far too many payments."""

from collections.abc import Mapping
from typing import Any

import pytest

from daemon.core.branches.identity import HISTORY_DAYS, MANY
from daemon.core.errors import Refusal
from daemon.core.limits import DAY_US
from daemon.core.model import Transaction
from daemon.flows.branches import hub as hub_flow
from daemon.flows.branches import sync
from daemon.store.engine import Tx
from daemon.wire import ErrorCode, TransactionStatus
from parsers.times import from_us
from tests.fakes.branches import Chain, FakeBranch
from tests.fakes.receipts import mtn
from tests.fakes.shop import OWNER
from tests.flows.branches.test_stolen_key import FORGED, forge, pass_time

UNKNOWN_SIM = "8923301000000099999"


async def known(chain: Chain) -> None:
    """Let the hub know the SIMs of its branches since two days."""
    for number, (name, branch) in enumerate(chain.branches.items()):
        await branch.pay("food", f"9321450010{number}", 100)
        await chain[name].settle()
    pass_time(chain, 2 * DAY_US)


async def counting(chain: Chain, telco_id: str = FORGED) -> list[Any]:
    """Return the branches whose payment with this ID counts."""
    sql = (
        "SELECT (SELECT name FROM branches b WHERE b.id = p.branch_id) FROM payments p "
        f"WHERE telco_transaction_id = '{telco_id}' AND double_of IS NULL"
    )
    return list(await chain.hub.values(sql))


async def notices(chain: Chain) -> list[Any]:
    return list(await chain.hub.values("SELECT type FROM events WHERE type LIKE 'notice.%' ORDER BY seq"))


async def pay_now(branch: FakeBranch, reference: str) -> None:
    shop = branch.shop
    now = from_us(shop.clock.now_us())
    await shop.read(mtn(2500, "KOFI ANTWI BADU BEKOE", shop.wallet(2500), reference, FORGED, sent_at=now))
    await branch.settle()


async def pay_order(chain: Chain, name: str) -> Transaction:
    """Let an order of head office be paid at a branch by the payment whose ID a thief has named; return the order."""
    order = await chain.hub.request(2500)
    await pay_now(chain[name], str(order.svc_code))
    return await chain.hub_transaction(order.reference)


async def test_a_thief_who_names_an_id_first_stops_no_payment_on_a_sim_that_its_branch_had_before(chain: Chain) -> None:
    await known(chain)
    await forge(chain["kumasi"], FORGED, sim_key=UNKNOWN_SIM)
    assert await counting(chain) == ["kumasi"]
    assert (await pay_order(chain, "tamale")).status is TransactionStatus.SUCCESS
    assert await counting(chain) == ["tamale"]
    assert await notices(chain) == ["notice.id_conflict"]
    again = next(one for one in await chain["kumasi"].facts() if one["kind"] == "payment")
    await chain["kumasi"].send(again)
    assert await counting(chain) == ["tamale"]


async def test_of_two_on_sims_that_both_branches_had_before_none_counts_until_a_person_chooses(chain: Chain) -> None:
    await known(chain)
    await forge(chain["kumasi"], FORGED)
    order = await pay_order(chain, "tamale")
    assert order.status is TransactionStatus.PENDING
    assert await counting(chain) == []
    assert await notices(chain) == ["notice.id_conflict"]
    with pytest.raises(Refusal) as caught:
        await chain.hub.reconcile(order.reference, FORGED)
    assert caught.value.code is ErrorCode.NO_MATCHING_TRANSACTION

    mine = await chain["tamale"].payment(FORGED)
    chosen = await hub_flow.choose(chain.hub.env, OWNER, mine.id)
    assert (chosen["branch"], chosen["payment_id"]) == ("tamale", mine.id)
    assert await counting(chain) == ["tamale"]
    assert (await chain.hub_transaction(order.reference)).status is TransactionStatus.SUCCESS
    await chain["tamale"].settle()


async def test_only_one_of_several_can_be_chosen_and_not_if_its_money_is_used(chain: Chain) -> None:
    await known(chain)
    sim = (await chain.hub_payment("93214500101")).sim_key
    await forge(chain["kumasi"], FORGED, sim_key=sim, amount_minor=2500)
    assert (await pay_order(chain, "tamale")).status is TransactionStatus.SUCCESS
    assert await counting(chain) == ["tamale"]
    for telco_id, code in (
        (FORGED, ErrorCode.TRANSACTION_ID_ALREADY_USED),
        ("93214500100", ErrorCode.NO_MATCHING_TRANSACTION),
    ):
        sql = (
            f"SELECT id FROM payments WHERE telco_transaction_id = '{telco_id}' AND branch_id = '{chain['kumasi'].id}'"
        )
        (payment_id,) = await chain.hub.values(sql)
        with pytest.raises(Refusal) as caught:
            await hub_flow.choose(chain.hub.env, OWNER, payment_id)
        assert caught.value.code is code


async def test_a_sale_that_counts_no_longer_leaves_the_lists_of_head_office(chain: Chain) -> None:
    box = await chain.add("box", 5, decides="nothing")
    await known(chain)
    forged = await forge(box, FORGED, sim_key=UNKNOWN_SIM, decider="hub", standing="handed")
    sales = f"SELECT COUNT(*) FROM transactions WHERE branch_id IS NULL AND payment_seq = (SELECT seq FROM payments WHERE id = '{forged}')"
    assert await chain.hub.values(sales) == [1]
    assert (await pay_order(chain, "tamale")).status is TransactionStatus.SUCCESS
    assert await chain.hub.values(sales) == [0]


async def test_of_the_payments_that_a_distrusted_one_had_stopped_that_of_a_known_sim_counts(chain: Chain) -> None:
    await known(chain)
    since = chain.hub.clock.now_us()
    late = await chain.add("accra", 7)
    await forge(chain["kumasi"], FORGED)
    await pay_now(late, "food")
    order = await pay_order(chain, "tamale")
    assert (await counting(chain), order.status) == ([], TransactionStatus.PENDING)
    await hub_flow.distrust(chain.hub.env, OWNER, "kumasi", since)
    assert await counting(chain) == ["tamale"]
    assert (await chain.hub_transaction(order.reference)).status is TransactionStatus.SUCCESS
    await chain["tamale"].settle()
    await chain["kumasi"].join_again("kumasi")
    await chain["kumasi"].settle()


async def flood(branch: FakeBranch, count: int) -> None:
    """Send this many made-up payments of one day with the branch's key."""
    payment = next(one for one in await branch.facts() if one["kind"] == "payment")

    def made_up(number: int) -> Mapping[str, Any]:
        own, telco_id = f"f{payment['id'][1:-4]}{number:04}", str(93_214_600_000 + number)
        row = {
            **payment["row"],
            "id": own,
            "message_id": own,
            "telco_transaction_id": telco_id,
            "telco_id_as_read": telco_id,
        }
        return {**payment, "id": own, "row": row, "message": {**payment["message"], "id": own, "payment_id": None}}

    await branch.send(*map(made_up, range(count)))


async def test_payments_far_beyond_a_usual_day_are_kept_aside_until_a_person_takes_them(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.pay("food")
    await branch.settle()
    today = (await chain.hub_payment("93214500001")).telco_at // DAY_US

    def history(tx: Tx) -> None:
        days = [[branch.id, today - 1 - ago, 3] for ago in range(HISTORY_DAYS)]
        tx.run_for_each("INSERT INTO branch_days (branch_id, day, payments) VALUES (?, ?, ?)", days)

    await chain.hub.env.store.write(history)
    await flood(branch, MANY + 20)
    stored = "SELECT COUNT(*) FROM payments WHERE telco_transaction_id >= '93214600000'"
    assert await chain.hub.values(stored) == [MANY - 1]
    assert await chain.hub.values("SELECT COUNT(*) FROM facts_refused") == [21]
    assert await notices(chain) == ["notice.fact_refused"]

    done = await sync.take_aside(chain.hub.env, OWNER, "kumasi")
    assert (done["stored"], done["refused"]) == (21, 0)
    assert await chain.hub.values(stored) == [MANY + 20]
    with pytest.raises(Refusal) as caught:
        await sync.take_aside(chain.hub.env, OWNER, "nowhere")
    assert caught.value.code is ErrorCode.BRANCH_NOT_FOUND
