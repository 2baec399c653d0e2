"""Payments that a branch hands up on a SIM or number that is new to it: some count, the rest waits for a person at head office."""

from typing import Any

import pytest

from daemon.core.limits import DAY_US
from daemon.flows.branches import hub as hub_flow
from daemon.flows.branches import sync
from daemon.store import journal
from daemon.wire import TransactionStatus
from parsers.times import from_us
from tests.fakes.branches import Chain
from tests.fakes.receipts import mtn
from tests.fakes.shop import OWNER
from tests.flows.branches.test_stolen_key import FORGED, forge, stolen

PENDING, PAID = TransactionStatus.PENDING, TransactionStatus.SUCCESS


@pytest.fixture(autouse=True)
def _limit(chain: Chain) -> None:
    """Let GHS 60 a day count on a new SIM."""
    chain.limit(60)


async def paid(chain: Chain, *numbers: int, name: str = "kumasi") -> list[TransactionStatus]:
    """Pay an order of GHS 25 of head office at a branch for each number; return what became of them there."""
    branch, orders = chain[name], []
    for number in numbers:
        order = await chain.hub.request(2500)
        orders.append(order)
        at = from_us(branch.shop.clock.now_us())
        wallet, telco_id = branch.shop.wallet(2500), str(93_214_500_000 + number)
        await branch.shop.read(mtn(2500, "KOFI ANTWI BADU BEKOE", wallet, order.svc_code or "", telco_id, sent_at=at))
        await branch.settle()
    return [(await chain.hub_transaction(order.reference)).status for order in orders]


async def waiting(chain: Chain) -> Any:
    found = (await hub_flow.status(chain.hub.env))["branches"]
    return next(one["unconfirmed"] for one in found if one["name"] == "kumasi")


def pass_days(chain: Chain, days: int) -> None:
    for shop in (chain.hub, *(branch.shop for branch in chain.branches.values())):
        shop.clock.advance(days * DAY_US // 1_000_000)


async def test_what_is_above_the_limit_waits_and_is_named_with_its_sum_until_a_person_accepts_it(chain: Chain) -> None:
    assert await paid(chain, 1, 2, 3, 4) == [PAID, PAID, PENDING, PENDING]
    assert await waiting(chain) == [{"currency": "GHS", "count": 2, "amount": "50.00"}]
    events = await chain.hub.env.store.read(lambda reader: journal.after(reader, 0, limit=1000))
    told = [event.data for event in events if event.type == "notice.sim_unconfirmed"]
    assert [text for text in told if '"amount_minor":5000' in text and '"kumasi"' in text]
    # A repeated fact neither counts it nor asks for it again.
    await chain["kumasi"].settle()
    done = await sync.take_aside(chain.hub.env, OWNER, "kumasi")
    assert done["counted"] == [{"currency": "GHS", "count": 2, "amount": "50.00"}]
    assert await waiting(chain) == []
    statuses = await chain.hub.values("SELECT status FROM transactions WHERE branch_id IS NULL ORDER BY seq")
    assert statuses == ["SUCCESS"] * 4
    assert await paid(chain, 5, 6, 7) == [PAID] * 3, "the SIM is the branch's own now"


async def test_the_limit_is_that_of_a_branch_and_a_day(chain: Chain) -> None:
    assert await paid(chain, 1, 2, 3) == [PAID, PAID, PENDING]
    assert await paid(chain, 11, name="tamale") == [PAID]
    pass_days(chain, 1)
    assert await paid(chain, 4, 5, 6) == [PAID, PAID, PENDING]


async def test_a_sim_that_the_branch_has_had_for_a_week_has_no_limit(chain: Chain) -> None:
    assert await paid(chain, 1) == [PAID]
    pass_days(chain, 7)
    assert await paid(chain, 2, 3, 4, 5) == [PAID] * 4


async def test_a_person_may_use_a_payment_that_waits(chain: Chain) -> None:
    chain.limit(0)
    assert await paid(chain, 1) == [PENDING]
    other = await chain.hub.request(2500)
    await chain.hub.reconcile(other.reference, "93214500001")
    assert (await chain.hub_transaction(other.reference)).status is PAID
    assert await waiting(chain) == []


async def test_a_payment_that_head_office_has_no_order_for_goes_back_as_ever(chain: Chain) -> None:
    chain.limit(0)
    await chain["kumasi"].pay("2AAAAA", "93214500001")
    await chain["kumasi"].settle()
    assert await waiting(chain) == []


async def test_a_payment_that_the_thief_of_a_key_made_up_waits(chain: Chain) -> None:
    await stolen(chain)
    order = await chain.hub.request(777_700)
    await forge(chain["kumasi"], FORGED, reference_text=order.svc_code, decider="hub", standing="handed")
    assert (await chain.hub_transaction(order.reference)).status is PENDING
    assert await waiting(chain) == [{"currency": "GHS", "count": 1, "amount": "7777.00"}]


async def test_a_sale_of_a_box_waits_too(chain: Chain) -> None:
    chain.limit(30)
    box = await chain.add("box", 5, decides="nothing")
    await box.pay("rice", "93214500001")
    await box.pay("rice", "93214500002")
    await box.settle()
    sales = "SELECT COUNT(*) FROM transactions WHERE origin = 'open' AND branch_id IS NULL"
    assert await chain.hub.values(sales) == [1]
    await sync.take_aside(chain.hub.env, OWNER, "box")
    assert await chain.hub.values(sales) == [2]
