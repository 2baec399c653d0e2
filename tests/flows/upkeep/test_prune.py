"""Prune old rows in small batches; payments, the journal and unfinished deliveries stay."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from daemon.core.limits import DAY_US
from daemon.core.model import Delivery, Message
from daemon.core.upkeep.clock_check import ClockCheck
from daemon.core.webhooks.delivery import AttemptOutcome, LinkState, RetryPolicy
from daemon.env import Env
from daemon.flows.messages import ingest
from daemon.flows.payments.reconcile import ClaimResult, claim_payment
from daemon.flows.upkeep import erasure as flow
from daemon.flows.webhooks import replay
from daemon.store.upkeep import ledger_check, notices, retention
from daemon.store.webhooks import deliveries
from tests.fakes import delivering
from tests.fakes.outbox import add_endpoint
from tests.fakes.receipts import mtn
from tests.fakes.shop import OWNER, FakeShop
from tests.flows.payments.test_texts import send

DAY_S = 24 * 3600.0
LINK = LinkState(other_host_answered=True, other_host_known=True)
KEPT = ("payments", "transactions", "events", "messages", "sms_parts", "line_balances", "reviews")


def today(shop: FakeShop) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=shop.clock.now_us())


async def pay(shop: FakeShop, number: int, reference: str = "food") -> None:
    """Let a walk-in pay, by a message of this very moment."""
    telco_id = str(93214500000 + number)
    receipt = mtn(
        2500, "KOFI ANTWI BADU", shop.wallet(2500), reference, telco_id, sent_at=today(shop), concatenation=number
    )
    await shop.read(receipt)


async def answer(shop: FakeShop, status: int) -> None:
    """Record this answer for every due delivery."""
    for leased in (await delivering.lease(shop.env, limit=50, per_endpoint=50, running={})).leased:
        outcome = AttemptOutcome(status, "their answer", None, None, 1000, connected=True)
        await delivering.record_outcome(shop.env, leased, outcome, link=LINK, policy=RetryPolicy())


def restarted(shop: FakeShop) -> Env:
    """Return the shop as it is after a restart: only its database has times to check the clock with."""
    return replace(shop.env, clock_check=ClockCheck())


async def sizes(shop: FakeShop, *tables: str) -> dict[str, int]:
    return {name: (await shop.values(f"SELECT COUNT(*) FROM {name}"))[0] for name in tables}


async def prune_all(shop: FakeShop) -> dict[str, int]:
    counts: dict[str, int] = {}
    more = True
    while more:
        done = await flow.prune(shop.env)
        assert done.doubt == ""
        counts = {name: counts.get(name, 0) + count for name, count in done.counts.items()}
        more = done.more
    return {name: count for name, count in counts.items() if count}


async def surveyed(shop: FakeShop) -> dict[str, int]:
    found = await flow.preview_prune(shop.env)
    return {name: count for name, count in found.counts.items() if count}


async def test_a_dry_run_counts_what_the_run_then_takes(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await pay(shop, 1)
    await answer(shop, 410)
    shop.clock.advance(61 * DAY_S)
    await pay(shop, 2)
    await answer(shop, 200)
    counted = await surveyed(shop)
    assert counted == {"attempts": 1, "responses": 1, "dead_letter_responses": 1}
    before = await sizes(shop, *KEPT)
    assert await surveyed(shop) == counted
    assert await prune_all(shop) == counted
    assert await surveyed(shop) == {}
    assert await sizes(shop, *KEPT) == before
    assert await shop.values("SELECT last_response_body FROM dead_letters") == [None]
    bodies = [row.response_body for row in await shop.rows(Delivery, "deliveries")]
    assert bodies == [None, "their answer"]


async def test_each_kind_has_its_own_age(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await pay(shop, 1)
    await answer(shop, 200)
    found: list[dict[str, int]] = []
    for days in (59.9, 0.2, 335.8, 0.2, 3.8, 0.2):
        shop.clock.advance(days * DAY_S)
        await pay(shop, 100 + len(found))
        done = await prune_all(shop)
        found.append(done)
    assert found == [{}, {"attempts": 1, "responses": 1}, {}, {"messages": 1}, {}, {"deliveries": 1}]


async def test_what_is_owed_is_never_pruned_however_old(shop: FakeShop) -> None:
    await add_endpoint(shop, is_active=0)
    await pay(shop, 1)
    shop.clock.advance(500 * DAY_S)
    await pay(shop, 2)
    assert await prune_all(shop) == {"messages": 1}
    assert await sizes(shop, "deliveries") == {"deliveries": 2}


async def test_the_attempts_of_what_is_still_tried_keep_their_numbers(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await pay(shop, 1)
    await answer(shop, 503)
    shop.clock.advance(70 * DAY_S)
    await pay(shop, 2)
    assert await prune_all(shop) == {}
    leased = (await delivering.lease(shop.env, limit=9, per_endpoint=9, running={})).leased
    assert leased[0].number == 2


async def test_what_was_answered_again_lately_is_kept(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await pay(shop, 1)
    await answer(shop, 200)
    shop.clock.advance(399 * DAY_S)
    (row,) = await shop.rows(Delivery, "deliveries")
    now = shop.clock.now_us()
    await shop.env.store.write(lambda tx: deliveries.requeue(tx, row, now))
    await answer(shop, 200)
    shop.clock.advance(2 * DAY_S)
    await pay(shop, 2)
    assert await prune_all(shop) == {"attempts": 1, "messages": 1}
    assert (await shop.rows(Delivery, "deliveries"))[0].response_body == "their answer"


async def test_an_emptied_message_is_still_known(shop: FakeShop) -> None:
    await pay(shop, 1)
    octets = await shop.values("SELECT pdu FROM sms_parts ORDER BY position")
    pdus = [one.hex() for one in octets]
    shop.clock.advance(397 * DAY_S)
    await pay(shop, 2)
    assert await prune_all(shop) == {"messages": 1}
    (old, _new) = await shop.rows(Message, "messages")
    assert (old.body, old.fields) == ("", "{}")
    assert await shop.values("SELECT COUNT(*) FROM sms_parts WHERE pdu IS NULL") == [2]
    before = await sizes(shop, *KEPT)
    await shop.read_pdus(pdus)  # it lay on the SIM all the time
    assert await sizes(shop, *KEPT) == before


async def test_a_sent_sms_loses_its_text_and_its_row_still_says_that_it_went_out(shop: FakeShop) -> None:
    request = await shop.request()
    sent = await send(shop)
    await shop.request()  # waits to be sent, however long
    assert await claim_payment(shop.env, request.public_slug or "", "93214599999") is ClaimResult.THANKS
    shop.clock.advance(395 * DAY_S)
    await pay(shop, 1)
    assert await prune_all(shop) == {}
    shop.clock.advance(2 * DAY_S)
    await pay(shop, 2)
    assert await surveyed(shop) == {"sent_messages": 1, "payer_claims": 1}
    assert await prune_all(shop) == {"sent_messages": 1, "payer_claims": 1}
    assert await shop.values("SELECT id FROM sms_outbox WHERE body = ''") == [sent.id]
    assert await sizes(shop, "sms_outbox", "sms_outbox_parts", "payer_claims") == {
        "sms_outbox": 2,
        "sms_outbox_parts": 0,
        "payer_claims": 0,
    }


async def test_what_waits_for_a_person_keeps_its_text(shop: FakeShop) -> None:
    request = await shop.request(expected_payer_phone="+233241111111")
    await pay(shop, 1, request.svc_code or "")
    assert await shop.values("SELECT state FROM reviews") == ["open"]
    shop.clock.advance(500 * DAY_S)
    await pay(shop, 2)
    assert await prune_all(shop) == {}


async def test_an_emptied_message_is_not_read_again(shop: FakeShop) -> None:
    await shop.env.store.write(lambda tx: tx.run("UPDATE messages SET state = 'unparsed', body = ''"))
    assert (await ingest.reparse(shop.env, ingest.ReparseSelection())).looked_at == 0


async def test_the_same_payment_has_the_same_webhook_id_after_pruning(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await pay(shop, 1)
    await answer(shop, 200)
    (before,) = await shop.rows(Delivery, "deliveries")
    start = shop.clock.now_us() - 1
    shop.clock.advance(401 * DAY_S)
    await pay(shop, 2)
    assert (await prune_all(shop))["deliveries"] == 1
    asked = replay.ReplayRequest("e1", start, start + DAY_US)
    await replay.replay(shop.env, OWNER, asked)
    rows = await shop.rows(Delivery, "deliveries")
    again = next(row for row in rows if row.subject == before.subject)
    assert again.id != before.id
    assert again.webhook_id == before.webhook_id


async def test_a_pruned_shop_still_answers_every_question_of_the_ledger(shop: FakeShop) -> None:
    request = await shop.request()
    await pay(shop, 1, request.svc_code or "")
    await add_endpoint(shop, created_at=shop.clock.now_us())
    await pay(shop, 2)
    await answer(shop, 410)
    shop.clock.advance(500 * DAY_S)
    await pay(shop, 3)
    pruned = await prune_all(shop)
    assert (pruned["messages"], pruned["deliveries"]) == (2, 1)
    for name, (_, sql) in ledger_check.VIOLATIONS.items():
        assert await shop.values(sql) == [], name


async def test_a_batch_is_small_and_the_next_goes_on(shop: FakeShop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "PRUNE_BATCH", 2)
    await add_endpoint(shop)
    for number in range(5):
        await pay(shop, number)
    await answer(shop, 200)
    shop.clock.advance(61 * DAY_S)
    await pay(shop, 9)
    first = await flow.prune(shop.env)
    assert (first.counts["attempts"], first.more) == (2, True)
    assert (await prune_all(shop))["attempts"] == 3


@pytest.mark.parametrize("days", [-200.0, -1.0])
async def test_nothing_goes_when_the_clock_went_backwards(shop: FakeShop, days: float) -> None:
    await add_endpoint(shop)
    await pay(shop, 1)
    await answer(shop, 200)
    shop.clock.advance(61 * DAY_S)
    await pay(shop, 2)
    shop.clock.jump(days * DAY_S)
    assert "behind the network time" in (await flow.prune(shop.env)).doubt
    done = await flow.prune(restarted(shop))
    assert (done.counts, done.more) == ({}, False)
    assert done.doubt == "the clock of this machine has gone backwards"


async def test_nothing_goes_when_the_clock_is_years_ahead(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await pay(shop, 1)
    await answer(shop, 200)
    right = today(shop)
    shop.clock.jump(3000 * DAY_S)
    # Messages go on coming, each with the network's time.
    receipt = mtn(2500, "KOFI", shop.wallet(2500), "x" * 60, "93214500077", sent_at=right)
    await shop.read(receipt)
    assert "ahead of the network time" in (await flow.prune(shop.env)).doubt
    done = await flow.prune(restarted(shop))
    assert done.counts == {}
    assert "no message of the last seven days" in done.doubt
    assert await sizes(shop, "attempts") == {"attempts": 1}


async def test_a_shop_that_never_heard_a_network_prunes_by_its_own_clock(shop: FakeShop) -> None:
    now = shop.clock.now_us()
    await shop.env.store.write(lambda tx: notices.queue(tx, "n1", channel="email", subject="s", body="b", now=now))
    await shop.env.store.write(lambda tx: notices.record_try(tx, "n1", due_at=None, error=None, now=now))
    assert await shop.env.store.read(lambda reader: retention.newest_network_time(reader, 9)) is None
    shop.clock.advance(61 * DAY_S)
    assert await prune_all(shop) == {"notice_sends": 1}


async def test_what_a_clock_that_was_behind_has_dated_is_not_old_when_it_is_right(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await pay(shop, 1)
    await answer(shop, 200)
    right = today(shop)
    shop.clock.jump(-500 * DAY_S)
    await shop.read(mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), "food", "93214500002", sent_at=right))
    await answer(shop, 200)
    shop.clock.jump(500 * DAY_S)
    assert (await surveyed(shop), await prune_all(shop)) == ({}, {})
