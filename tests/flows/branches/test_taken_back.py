"""Rows that come back from the hub to a branch that has gone on since its backup, or was set up anew."""

from collections.abc import AsyncIterator
from operator import methodcaller
from pathlib import Path
from typing import Any

import pytest

from daemon.core.books.day_sheet import MoneyKind
from daemon.core.errors import Refusal
from daemon.core.messages.message_journal import journal_key
from daemon.core.model import Transaction
from daemon.flows.branches import join as join_flow
from daemon.flows.messages.ingest import Recovered, recover
from daemon.flows.payments.reconcile import UnprovedSource, doubt_about
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.runtime.message_journal import MessageJournal
from daemon.store.books.day_sheet import Period, sums, today
from daemon.store.engine import Reader
from daemon.store.payments import payment_list
from daemon.store.payments.payment_list import PaymentFilter
from daemon.wire import ErrorCode, TransactionStatus
from tests.fakes import new_database
from tests.fakes.branches import FIRST_ID, Chain, FakeBranch
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, STARTED, mtn
from tests.fakes.shop import OWNER, FakeShop

NUMBER = "88888888-9999-4999-8999-000000000000"


@pytest.fixture
async def chain(tmp_path: Path) -> AsyncIterator[Chain]:
    made = await Chain.make(tmp_path, "kumasi")
    yield made
    made.close_after_lost_time()


@pytest.fixture
def branch(chain: Chain) -> FakeBranch:
    return chain["kumasi"]


async def order_before_the_backup(branch: FakeBranch) -> Transaction:
    """Make an order and a backup; then the feed of the hub goes on far behind that of the backup."""
    order = await branch.shop.request(2500)
    await branch.settle()
    branch.keep()
    for number in range(8):
        await branch.pay("food", f"9321450010{number}", 100)
    return order


async def restore(branch: FakeBranch) -> dict[str, Any]:
    """Type `momo hub restore --from-hub`."""
    done = await join_flow.restore(branch.shop.env, OWNER, branch.wire, take_unknown=True)
    branch.outcomes, branch.stale = {}, None
    return done


async def set_up_anew(
    chain: Chain, folder: Path, *, number: str = "+233244124567", takes_unknown: bool | None = True
) -> FakeBranch:
    """Lose the disk, and set up another shop with the same modem, and with this phone number."""
    before = chain["kumasi"].shop
    before.close()
    with new_database.in_files():
        shop = await FakeShop.make(folder / "new", line=False, iccid=before.source.sim_key, seed=777)
    await shop.put_number("momo_mtn", NUMBER)
    await shop.env.store.write(lambda tx: tx.run("UPDATE payment_methods SET phone_number = :n", {"n": number}))
    shop.env.account_key = b"another key".ljust(32, b".")
    await chain.name(shop, "kumasi")
    made = chain.branches["kumasi"] = FakeBranch(shop, chain.hub, folder / "new")
    made.takes_unknown = takes_unknown
    await made.join("kumasi")
    return made


async def refused(chain: Chain) -> list[Any]:
    return await chain.hub.values("SELECT kind, why FROM facts_refused")


async def test_an_order_that_was_paid_after_the_backup_came_back_stays_paid(chain: Chain, branch: FakeBranch) -> None:
    order = await order_before_the_backup(branch)
    await branch.settle()
    branch.put_back()
    await branch.pay(str(order.svc_code))
    await restore(branch)
    paid, payment = await branch.shop.transaction(order.reference), await branch.payment(FIRST_ID)
    assert (paid.status, paid.payment_id) == (TransactionStatus.SUCCESS, payment.id)
    assert payment.standing == "used"
    assert len(await branch.shop.payments()) == 9
    await branch.settle()
    copy = await chain.hub_transaction(order.reference)
    assert copy.status is TransactionStatus.SUCCESS
    assert await refused(chain) == []


async def test_an_order_that_was_paid_before_and_again_after_the_backup_came_back_has_one_payment(
    chain: Chain, branch: FakeBranch
) -> None:
    order = await order_before_the_backup(branch)
    await branch.pay(str(order.svc_code), "93214500002")
    await branch.settle()
    branch.put_back()
    await branch.pay(str(order.svc_code))
    await restore(branch)
    paid = await branch.shop.transaction(order.reference)
    assert paid.payment_id == (await branch.payment("93214500002")).id
    # The other one is matched again: a second payment with the code of an order that is paid.
    assert (await branch.payment(FIRST_ID)).standing == "review"
    await branch.settle()
    assert await refused(chain) == []
    copy = await chain.hub_transaction(order.reference)
    assert copy.payment_id == paid.payment_id


async def test_a_payment_that_head_office_used_in_the_lost_time_is_not_used_here(
    chain: Chain, branch: FakeBranch
) -> None:
    order = await chain.hub.request(2500)
    wallet = branch.shop.wallet(2500)
    receipt = mtn(2500, "KOFI ANTWI BADU BEKOE", wallet, "food", FIRST_ID)
    await branch.settle()
    branch.keep()
    await branch.shop.read(receipt)
    await branch.settle()
    with pytest.raises(Exception, match="BRANCH_ASKED"):
        await chain.hub.reconcile(order.reference, FIRST_ID)
    await branch.settle()
    await chain.hub.reconcile(order.reference, FIRST_ID)
    branch.put_back()
    for number in range(30):  # so the changes here have later numbers than the hub's
        await branch.pay("food", f"932145001{number:02d}", 100)
    await branch.shop.read(receipt)
    assert (await branch.payment(FIRST_ID)).decider == "branch"
    await restore(branch)
    back = await branch.payment(FIRST_ID)
    assert (back.decider, back.standing) == ("hub", "handed")


async def test_a_message_in_review_that_was_read_again_has_one_open_review(chain: Chain, branch: FakeBranch) -> None:
    order = await branch.shop.request(2500, expected_payer_phone="+233201111111")
    await branch.settle()
    branch.keep()
    wallet = branch.shop.wallet(2500)
    receipt = mtn(2500, "KOFI ANTWI BADU BEKOE", wallet, str(order.svc_code), FIRST_ID)
    await branch.shop.read(receipt)
    await branch.settle()
    (theirs,) = await chain.hub.values("SELECT id FROM reviews")
    branch.put_back()
    await branch.shop.read(receipt)
    await restore(branch)
    assert await branch.shop.values("SELECT id FROM reviews WHERE state = 'open'") == [theirs]
    await restore(branch)
    await branch.settle()
    assert await refused(chain) == []
    assert await chain.hub.values("SELECT id FROM reviews WHERE state = 'open'") == [theirs]


async def test_a_new_shop_with_the_same_number_gets_its_history(
    chain: Chain, branch: FakeBranch, tmp_path: Path
) -> None:
    order = await branch.shop.request(2500)
    await branch.pay(str(order.svc_code))
    await branch.settle()
    new = await set_up_anew(chain, tmp_path)
    await new.settle()
    await restore(new)
    assert (await new.shop.transaction(order.reference)).status is TransactionStatus.SUCCESS
    (payment,) = await new.shop.payments()
    assert (payment.payment_method_id, payment.standing) == (NUMBER, "used")
    await new.settle()
    assert await refused(chain) == []


async def test_an_sms_that_a_new_shop_reads_again_is_one_payment_there(
    chain: Chain, branch: FakeBranch, tmp_path: Path
) -> None:
    order = await branch.shop.request(2500)
    receipt = mtn(2500, "KOFI ANTWI BADU BEKOE", branch.shop.wallet(2500), "food", FIRST_ID)
    await branch.shop.read(receipt)
    await branch.shop.reconcile(order.reference, FIRST_ID)
    await branch.settle()
    new = await set_up_anew(chain, tmp_path, number="+233244124599")
    await new.shop.read(receipt)
    await new.settle()
    await restore(new)
    (payment,) = await new.shop.payments()
    paid = await new.shop.transaction(order.reference)
    assert (paid.payment_id, payment.standing) == (payment.id, "used")
    await new.settle()
    assert await refused(chain) == []
    copy = await chain.hub_transaction(order.reference)
    assert copy.status is TransactionStatus.SUCCESS


async def test_an_order_whose_payment_another_order_has_is_kept_aside_and_named(
    chain: Chain, branch: FakeBranch
) -> None:
    first, second = await branch.shop.request(2500), await branch.shop.request(2500)
    await branch.pay("food")
    await branch.settle()
    branch.keep()
    await branch.shop.reconcile(first.reference, FIRST_ID)
    await branch.pay("food", "93214500002")
    await branch.settle()
    branch.put_back()
    await branch.shop.reconcile(second.reference, FIRST_ID)
    done = await restore(branch)
    assert done["aside"] == [f"transaction {first.id}"]
    assert (await branch.shop.transaction(second.reference)).status is TransactionStatus.SUCCESS
    assert (await branch.payment("93214500002")).standing == "open", "the rest came back"
    (journalled,) = await branch.shop.values("SELECT data FROM events WHERE type = 'hub.restored_from'")
    assert first.id in journalled


def open_journal(branch: FakeBranch) -> None:
    """Open the journal of messages, as the daemon does at its start."""
    env = branch.shop.env
    if env.message_journal is not None:
        env.message_journal.close()
    env.message_journal = MessageJournal(branch.folder, journal_key(env.account_key))


@pytest.mark.parametrize("hub_first", [True, False])
async def test_the_journal_of_messages_is_replayed_before_or_after_the_hubs_rows(
    chain: Chain, branch: FakeBranch, *, hub_first: bool
) -> None:
    open_journal(branch)
    order = await branch.shop.request(2500)
    await branch.settle()
    branch.keep()
    await branch.pay(str(order.svc_code))
    await branch.settle()
    (text,) = await branch.shop.values("SELECT body FROM messages")
    branch.put_back()
    open_journal(branch)
    if hub_first:
        await restore(branch)
    await recover(branch.shop.env)
    if not hub_first:
        await restore(branch)
    messages = await branch.shop.values("SELECT state, body, parts_seen FROM messages")
    assert messages == [("payment", text, 2)]
    assert (await branch.shop.transaction(order.reference)).status is TransactionStatus.SUCCESS
    assert (await branch.payment(FIRST_ID)).standing == "used"
    assert await recover(branch.shop.env) == Recovered(), "nothing is missing"
    assert branch.shop.env.message_journal is not None
    branch.shop.env.message_journal.close()


async def test_an_sms_of_one_part_that_came_back_without_it_stays_as_it_is(branch: FakeBranch) -> None:
    pdus = encode_deliver(MTN_SENDER, "Your bundle has expired.", STARTED, smsc=MTN_SMSC)
    await branch.shop.read_pdus(pdus)
    before = await branch.shop.values("SELECT id, state, body FROM messages")
    for sql in ("DELETE FROM sms_parts", "UPDATE messages SET body = ''"):
        await branch.shop.env.store.write(methodcaller("run", sql))
    taken = await branch.shop.read_pdus(pdus)
    assert taken.concluded == ()
    assert await branch.shop.values("SELECT id, state, body FROM messages") == before
    assert await branch.shop.values("SELECT COUNT(*) FROM sms_parts") == [1]


async def test_a_payment_that_head_office_used_before_a_restore_is_not_used_here_after_a_forced_leave(
    chain: Chain, branch: FakeBranch
) -> None:
    order = await chain.hub.request(2500)
    await branch.settle()
    branch.keep()
    await branch.pay(str(order.svc_code))
    await branch.settle()
    assert (await chain.hub_transaction(order.reference)).status is TransactionStatus.SUCCESS
    branch.put_back()
    await restore(branch)
    left = await join_flow.leave(branch.shop.env, OWNER, force=True)
    assert left["unanswered"] == []  # the hub's decision came back, so nothing is unanswered
    own = await branch.shop.request(2500)
    with pytest.raises(Refusal) as caught:
        await branch.shop.reconcile(own.reference, FIRST_ID)
    assert caught.value.code is ErrorCode.PAYMENT_HANDED_UP


async def test_payments_that_only_the_hub_has_are_counted_and_stay_away_without_a_yes(
    chain: Chain, branch: FakeBranch, tmp_path: Path
) -> None:
    order = await branch.shop.request(2500)
    await branch.pay(str(order.svc_code))
    await branch.pay("food", "93214500002", 900)
    await branch.settle()
    new = await set_up_anew(chain, tmp_path, takes_unknown=None)
    assert await new.shop.payments() == []
    told = await join_flow.unknown(new.shop.env, new.wire)
    assert told == {"unknown": [{"currency": "GHS", "count": 2, "amount": "34.00"}]}
    assert await new.requests.next({}, stale=None) is None, "nothing is sent before an answer"
    done = await join_flow.restore(new.shop.env, OWNER, new.wire, take_unknown=False)
    assert (done["rows"]["payment"], done["taken"], done["aside"]) == (0, False, [])
    assert await new.shop.payments() == []
    await new.settle()
    assert await refused(chain) == []
    assert len(await chain.hub.payments()) == 2


async def test_a_payment_that_only_the_hub_had_pays_an_order_with_the_password_alone(
    chain: Chain, branch: FakeBranch, tmp_path: Path
) -> None:
    await branch.pay("food")
    await branch.settle()
    new = await set_up_anew(chain, tmp_path)
    (payment,) = await new.shop.payments()
    doubt = await new.shop.env.store.read(lambda reader: doubt_about(reader, payment))
    assert doubt is UnprovedSource.HISTORY
    await new.settle()
    assert await refused(chain) == []


async def counted(branch: FakeBranch) -> tuple[list[str], list[str], list[tuple[int, int]]]:
    """Return the kinds of money on the day sheet, the states in the list of payments, and today's verified count and sum."""

    def look(reader: Reader) -> tuple[list[str], list[str], list[tuple[int, int]]]:
        found, verified = sums(reader, Period(0, 2 * branch.shop.clock.now_us())), today(reader, 0, 1).verified
        listed, _more = payment_list.listed(reader, PaymentFilter(), limit=9)
        return [one.kind for one in found], [one.state for one in listed], [*verified.values()]

    return await branch.shop.env.store.read(look)


async def test_a_payment_that_only_the_hub_had_counts_in_no_sum_until_its_sms_comes_or_a_person_uses_it(
    chain: Chain, branch: FakeBranch, tmp_path: Path
) -> None:
    order = await branch.shop.request(2500)
    await branch.pay(str(order.svc_code))
    await branch.pay("food", "93214500002", 900)
    await branch.settle()
    assert await counted(branch) == ([MoneyKind.PAID, MoneyKind.UNMATCHED], ["unmatched", "paid"], [(1, 2500)])
    new = await set_up_anew(chain, tmp_path)
    assert await counted(new) == ([MoneyKind.DOUBTED], ["review", "review"], [])
    mine = await new.shop.request(900)
    await new.shop.reconcile(mine.reference, "93214500002", confirmed=True)
    assert await counted(new) == ([MoneyKind.DOUBTED, MoneyKind.PAID], ["paid", "review"], [(1, 900)])
    await new.pay(str(order.svc_code))
    assert await counted(new) == ([MoneyKind.PAID], ["paid", "paid"], [(2, 3400)])
    await new.settle()
    assert await refused(chain) == []


async def test_a_branch_that_has_the_sms_of_all_payments_is_not_asked(chain: Chain, branch: FakeBranch) -> None:
    await branch.pay("food")
    await branch.settle()
    assert (await join_flow.unknown(branch.shop.env, branch.wire)) == {"unknown": []}
    await restore(branch)
    (payment,) = await branch.shop.payments()
    assert not payment.historical
