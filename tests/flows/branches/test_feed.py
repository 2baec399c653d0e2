"""The facts that a branch sends to its hub."""

import asyncio
import random
import string
from datetime import timedelta
from typing import Any

import pytest

from daemon import wire
from daemon.core.branches.answer import ExchangeAnswer, read
from daemon.core.branches.facts import BYTES_MAX
from daemon.core.model import Message
from daemon.flows.branches import hub as hub_flow
from daemon.flows.branches import join as join_flow
from daemon.flows.branches import outbound
from daemon.flows.branches.outbound import HubRequest, Requests
from daemon.flows.upkeep import notices as notice_flow
from daemon.store.branches import feed
from daemon.store.upkeep import notices
from daemon.wire import TransactionStatus
from tests.fakes import new_database
from tests.fakes.branches import FIRST_ID, Chain, FakeBranch, Lost, body_of
from tests.fakes.receipts import STARTED, mtn
from tests.fakes.shop import OWNER


async def test_a_payment_goes_up_as_two_rows_and_the_journal_stays_at_the_branch(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.settle()
    before = set(await chain.hub.values("SELECT kind FROM branch_facts"))
    await branch.shop.read(mtn(2500, "KOFI ANTWI BADU", branch.shop.wallet(2500), "food", "93214500001"))
    await branch.turn()
    assert [fact["kind"] for fact in branch.last_body["facts"]] == ["payment", "transaction"]
    assert set(await chain.hub.values("SELECT kind FROM branch_facts")) == before == {"device", "sim"}


async def test_what_was_read_in_the_message_of_a_payment_stays_at_the_branch_with_its_text(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.pay("food")
    await branch.settle()
    assert await chain.hub.values("SELECT fields, body, sim_key || device_id, kind FROM messages") == [
        ("{}", "", "", None)
    ]
    here = (await branch.shop.rows(Message, "messages"))[0]
    there = (await chain.hub.rows(Message, "messages"))[0]
    assert [(one.sim_key, one.device_id, one.kind, one.provider) for one in (there,)] == [
        (here.sim_key, here.device_id, here.kind, here.provider)
    ], "the hub reads them from the payment"
    await join_flow.restore(branch.shop.env, OWNER, branch.wire, take_unknown=True)
    ((fields, body),) = await branch.shop.values("SELECT fields, body FROM messages")
    assert '"amount":"25.00"' in fields
    assert "KOFI ANTWI" in body


async def test_what_a_join_or_a_catch_up_brings_is_known_at_the_hub_by_day_before_it_comes(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.settle()

    async def told() -> Any:
        (row,) = [one for one in (await hub_flow.status(chain.hub.env))["branches"] if one["name"] == "kumasi"]
        return row["brings"] and [(one["day"], one["count"], one["amount"]) for one in row["brings"]["days"]]

    assert await told() is None, "it has joined with no payment"
    await branch.pay("food")
    await branch.settle()
    assert await told() is None, "a payment that comes at once"
    for number in range(1, 4):
        for shop in (branch.shop, chain.hub):
            shop.clock.advance(86_400)
        at, wallet = STARTED + timedelta(days=number), branch.shop.wallet(1000)
        await branch.shop.read(mtn(1000, "KOFI ANTWI", wallet, "food", f"9321450002{number}", sent_at=at))
    branch.size_max = 1
    await branch.turn()
    assert len(await chain.hub.payments()) == 2, "the others have not come"
    days = [str((STARTED + timedelta(days=number)).date()) for number in range(4)]
    assert await told() == [(day, 1, "10.00") for day in days[:0:-1]]
    branch.size_max = BYTES_MAX
    await branch.settle()
    await branch.join_again("kumasi")
    await branch.settle()
    assert await told() == [*((day, 1, "10.00") for day in days[:0:-1]), (days[0], 1, "25.00")]


async def told_at_head_office(chain: Chain) -> list[str]:
    """Return the notices at the hub, the newest first."""
    await notice_flow.gather(chain.hub.env, 0, ())
    rows, _total = await chain.hub.env.store.read(lambda reader: notices.page(reader, unseen=False, limit=9, offset=0))
    assert {row.kind for row in rows} <= {"branch.brings"}
    return [str(notices.text_of(row)).partition(" `")[0] for row in rows]


async def test_what_a_join_or_more_than_a_day_without_the_hub_brings_is_told_at_head_office(chain: Chain) -> None:
    branch = chain["kumasi"]

    async def pay_after(hours: int, telco_id: str) -> list[str]:
        await branch.pay("food", telco_id)
        for shop in (branch.shop, chain.hub):
            shop.clock.advance(hours * 3600)
        await branch.settle()
        return await told_at_head_office(chain)

    await branch.settle()
    assert await pay_after(2, FIRST_ID) == [], "an hour without the hub is usual"
    told = await pay_after(72, OTHER)
    assert told == ["The branch kumasi sends what had waited. Payments: 1, in all GHS 25.00."]
    await branch.join_again("kumasi")
    await branch.settle()
    again, *_ = await told_at_head_office(chain)
    assert again == "The branch kumasi sends what had waited. Payments: 2, in all GHS 50.00."


OTHER = "93214500002"


async def spoiled(chain: Chain, kind: str, column: str, value: Any) -> list[str]:
    """Send two payments, one row of the first one with another value; return why it was refused."""
    branch = chain["kumasi"]
    await branch.pay("food")
    await branch.pay("food", OTHER)
    facts = await branch.facts()
    part = "message" if kind == "message" else "row"
    odd = next(one for one in facts if part in one and kind in (one["kind"], "message"))
    odd[part] = {**odd[part], column: value}
    await branch.send(*facts)
    assert (await chain.hub_payment(OTHER)).amount_minor == 2500
    why = await chain.hub.values("SELECT why FROM facts_refused ORDER BY version")
    await chain.hub.env.store.write(lambda tx: tx.run("DELETE FROM facts_refused"))
    return [str(each) for each in why]


@pytest.mark.parametrize(
    ("kind", "column", "value"),
    [
        ("payment", "amount_minor", "a lot"), ("payment", "amount_minor", 10**18), ("payment", "currency", "EUR"),
        ("payment", "stored_at", 1 << 61), ("payment", "provider", "momo_new"), ("payment", "payer_name", "a\0b"),
        ("payment", "reference_text", ["x"]), ("message", "fields", "[]"), ("message", "trusted", 2),
        ("transaction", "meta", "not JSON"), ("transaction", "meta", "[" * 99_999), ("transaction", "late", 0.5),
        ("transaction", "mode", "dream"), ("transaction", "webhook_url", "x"), ("transaction", "settlement", "{}"),
        ("message", "fields", '{"amount": 5}'),
    ],
)  # fmt: skip
async def test_a_value_that_the_hub_could_not_read_is_not_stored(
    chain: Chain, kind: str, column: str, value: Any
) -> None:
    why = await spoiled(chain, kind, column, value)
    assert f"the {kind}'s {column}" in why[0]


async def test_a_text_that_is_too_long_for_an_index_does_not_stop_the_feed(chain: Chain) -> None:
    rng = random.Random(1)
    long = "".join(rng.choices(string.ascii_uppercase + string.digits, k=20_000))
    why = await spoiled(chain, "payment", "telco_transaction_id", long)
    if new_database.on_postgresql():
        assert "maximum" in why[0]
    else:
        assert why == []
    assert chain.hub.env.store.fault is None
    assert (await chain["kumasi"].payment(FIRST_ID)).amount_minor == 2500


SMALL = 1
"""Bytes of a request, so that each has one row and those that it refers to."""


@pytest.fixture
async def behind(chain: Chain) -> FakeBranch:
    """A branch with ten payments that the hub does not know; it sends them in small requests."""
    branch = chain["kumasi"]
    await branch.settle()
    for number in range(10):
        await branch.pay("food", str(93_214_500_001 + number), amount=500)
    branch.size_max = SMALL
    return branch


async def request(requests: Requests) -> HubRequest:
    made = await requests.next({}, stale=None, size_max=SMALL)
    assert made is not None
    return made


async def send(branch: FakeBranch, outgoing: HubRequest) -> None:
    answer = await branch.wire.call(wire.Path.BRANCH_SYNC, body_of(outgoing))
    await outbound.take_answer(branch.shop.env, outgoing, read(answer, ExchangeAnswer))


async def begun(branch: FakeBranch) -> tuple[Requests, HubRequest]:
    """Send the first request; the next one is prepared."""
    requests = Requests(branch.shop.env)
    first = await request(requests)
    await send(branch, first)
    return requests, first


async def turn_of(branch: FakeBranch) -> int:
    """Return the number of the last request that was prepared."""
    await asyncio.sleep(0)  # the one ahead begins; the writer takes jobs in order
    found = await branch.shop.env.store.write(feed.get_link)
    assert found is not None
    return found.turn


async def test_the_next_request_is_ready_when_the_hub_has_answered(behind: FakeBranch) -> None:
    requests = Requests(behind.shop.env)
    first = await request(requests)
    assert await turn_of(behind) == first.request.turn + 1, "prepared while the first is sent"
    await send(behind, first)
    second = await request(requests)
    assert second.request.turn == first.request.turn + 1
    assert second.request.after == first.request.upto
    await send(behind, second)
    await requests.close()
    await behind.settle(turns=200)
    assert await behind.hub.values("SELECT COUNT(*) FROM payments") == [10]


async def test_a_lost_request_is_sent_again_before_what_follows_it(behind: FakeBranch) -> None:
    requests = Requests(behind.shop.env)
    lost = await request(requests)
    again = await request(requests)
    assert again.request.after == lost.request.after
    assert again.request.turn > lost.request.turn + 1, "the one ahead had that number"
    assert [one.id for one in again.request.facts] == [one.id for one in lost.request.facts]
    await send(behind, again)
    await requests.close()
    await behind.settle(turns=200)
    assert await behind.hub.values("SELECT COUNT(*) FROM events WHERE type LIKE 'notice.%'") == [0]


async def test_with_nothing_behind_it_none_is_prepared(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.settle()
    await branch.pay("food")
    requests = Requests(branch.shop.env)
    made = await requests.next({}, stale=None)
    assert made is not None
    assert await turn_of(branch) == made.request.turn


async def test_rows_that_were_prepared_before_a_command_do_not_follow_its_outcome(behind: FakeBranch) -> None:
    requests, first = await begun(behind)
    outcomes = {"c1": {"done": True}}
    second = await requests.next(outcomes, stale=None, size_max=SMALL)
    assert second is not None
    assert second.request.outcomes == outcomes
    assert second.request.turn == first.request.turn + 2
    await requests.close()


async def test_a_payment_used_after_it_was_prepared_is_used_at_the_hub_in_the_end(
    behind: FakeBranch, chain: Chain
) -> None:
    with pytest.raises(Lost):
        await behind.turn(lose_answer=True)
    order = await behind.shop.request(500)
    await behind.turn()  # the rows of the next request are read here
    await behind.shop.reconcile(order.reference, "93214500002")
    await behind.settle(turns=200)
    copy = await chain.hub_transaction(order.reference)
    assert copy.status is TransactionStatus.SUCCESS


async def test_a_restored_branch_does_not_send_what_it_had_prepared(behind: FakeBranch) -> None:
    requests, _first = await begun(behind)
    epoch = (await behind.link()).epoch
    await behind.shop.env.store.write(lambda tx: tx.run("UPDATE hub_link SET epoch = epoch + 1, turn = 0"))
    made = await request(requests)
    assert (made.request.epoch, made.request.turn) == (epoch + 1, 1)
    await requests.close()
