"""Recover an older database from the message journal: the same messages, payments and webhooks, each of them once."""

import contextlib
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.core.errors import Unavailable
from daemon.core.messages.message_journal import journal_key
from daemon.core.model import Message
from daemon.env import Env
from daemon.flows.messages.ingest import recover
from daemon.runtime.message_journal import MessageJournal
from daemon.steps import store_parts
from daemon.store.engine import Store
from daemon.wire import MessageState
from tests.fakes import new_database
from tests.fakes.invariants import check_invariants
from tests.fakes.receipts import Receipt, mtn, mtn_receipts
from tests.fakes.seed import seed
from tests.fakes.shop import FakeShop
from tests.fakes.tiers import LONG

DELIVER_ALL = """
INSERT INTO endpoints (id, kind, mode, url, url_normalised, description, events, catch_all, include_raw, is_active,
    consecutive_failures, created_at, updated_at)
VALUES ('e', 'endpoint', 'live', 'https://shop.example/hook', 'https://shop.example/hook', '', '["transaction.forwarded","transaction.completed"]', 1, 0, 1, 0, 0, 0)
"""


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[FakeShop]:
    made = await FakeShop.make(tmp_path)
    give_journal(made.env)
    await made.env.store.write(lambda tx: tx.run(DELIVER_ALL))
    await made.begin_chain(50_000)
    yield made
    made.close()
    check_invariants(tmp_path / "momo.db")


def give_journal(env: Env) -> None:
    env.message_journal = MessageJournal(Path(env.home), journal_key(env.account_key))


def copy(shop: FakeShop, name: str = "copy.db") -> Path:
    return new_database.keep(shop.env.store, Path(shop.env.home) / name)


def put_back(shop: FakeShop, source: Path) -> None:
    """Replace the database by a copy, and start again."""
    new_database.put_back(shop.env.store, source, shop.clock.now_us())
    assert shop.env.message_journal is not None
    shop.env.message_journal.close()
    give_journal(shop.env)


async def facts(shop: FakeShop) -> dict[str, list[Any]]:
    """Return the data that receivers and the books see, without the marks of a recovered message."""
    return {
        "messages": await shop.values("SELECT id, state, body, received_at FROM messages ORDER BY id"),
        "payments": await shop.values(
            "SELECT id, telco_transaction_id, amount_minor, stored_at, standing FROM payments ORDER BY id"
        ),
        "holders": await shop.values("SELECT id FROM transactions WHERE origin = 'open' ORDER BY id"),
        "webhooks": await shop.values(
            "SELECT webhook_id, event, (SELECT id FROM transactions WHERE seq = transaction_seq) FROM deliveries ORDER BY webhook_id"
        ),
        "bodies": sorted(await shop.bodies()),
    }


def receipts(count: int) -> list[Receipt]:
    return list(mtn_receipts(count, seed()))


async def read_all(shop: FakeShop, plan: list[Receipt]) -> None:
    for receipt in plan:
        shop.clock.advance(40)
        await shop.read(receipt)


async def test_an_older_copy_becomes_what_the_database_was(shop: FakeShop) -> None:
    plan = receipts(12)
    await read_all(shop, plan[:5])
    older = copy(shop)
    await read_all(shop, plan[5:])
    before = await facts(shop)
    assert len(before["payments"]) == len(before["webhooks"]) == 12
    shop.clock.advance(3_600)
    put_back(shop, older)
    assert len((await facts(shop))["payments"]) == 5
    done = await recover(shop.env)
    assert (done.messages, done.payments) == (7, 7)
    assert await facts(shop) == before
    marked = await shop.values("SELECT recovered FROM messages WHERE body <> '' ORDER BY seq")
    assert marked[-12:] == [0] * 5 + [1] * 7
    told = await shop.values("SELECT data FROM events WHERE type = 'messages.recovered'")
    assert told == ['{"messages":7,"payments":7}']


async def test_nothing_is_done_and_told_when_nothing_is_missing(shop: FakeShop) -> None:
    await read_all(shop, receipts(3))
    before = await facts(shop)
    assert (await recover(shop.env)).messages == 0
    assert await facts(shop) == before
    assert await shop.values("SELECT 1 FROM events WHERE type = 'messages.recovered'") == []


async def test_a_lost_order_leaves_a_payment_without_a_transaction_under_its_webhook_id(shop: FakeShop) -> None:
    older = copy(shop)
    request = await shop.request(2_500)
    await shop.read(mtn(2_500, "KOFI ANTWI BADU", 52_500, request.svc_code or "", "93214500001"))
    payment = (await shop.payments())[0]
    forwarded = "SELECT webhook_id FROM deliveries WHERE event = 'transaction.forwarded'"
    webhooks = await shop.values(forwarded)
    assert len(webhooks) == 1
    put_back(shop, older)
    assert (await recover(shop.env)).payments == 1
    (again,) = await shop.payments()
    assert (again.id, again.standing) == (payment.id, "open")
    assert await shop.values(forwarded) == webhooks
    assert await shop.values("SELECT origin FROM transactions") == ["open"]


async def test_an_order_in_the_copy_is_paid_again_as_of_then(shop: FakeShop) -> None:
    request = await shop.request(2_500)
    older = copy(shop)
    shop.clock.advance(60)
    await shop.read(mtn(2_500, "KOFI ANTWI BADU", 52_500, request.svc_code or "", "93214500001"))
    before = await shop.values("SELECT id, status, late, completed_at FROM transactions")
    webhooks = await shop.values("SELECT webhook_id FROM deliveries ORDER BY webhook_id")
    shop.clock.advance(3 * 86_400)
    put_back(shop, older)
    await recover(shop.env)
    assert await shop.values("SELECT id, status, late, completed_at FROM transactions") == before
    assert await shop.values("SELECT webhook_id FROM deliveries ORDER BY webhook_id") == webhooks


async def test_a_database_from_before_the_sim_was_known_gets_its_payments(tmp_path: Path) -> None:
    store = new_database.open_store(tmp_path / "momo.db", 0)
    fresh = new_database.keep(store, tmp_path / "fresh.db")
    store.close()
    shop = await FakeShop.make(tmp_path, line=False)
    give_journal(shop.env)
    await shop.begin_chain(50_000)
    shop.clock.advance(60)
    await read_all(shop, receipts(3))
    before = await shop.values("SELECT id FROM payments ORDER BY id")
    assert len(before) == 3
    put_back(shop, fresh)
    await recover(shop.env)
    assert await shop.values("SELECT id FROM messages WHERE state = 'incomplete'") == []
    assert len(await shop.values("SELECT id FROM messages")) == 3
    assert await shop.values("SELECT network, present, iccid = sim_key FROM sims WHERE iccid IS NOT NULL") == [
        ("mtn", 0, 1)
    ]
    shop.close()


async def test_a_search_ends_at_a_long_run_of_known_parts(shop: FakeShop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_parts, "KNOWN_RUN", 4)
    monkeypatch.setattr(store_parts, "PARTS_AT_ONCE", 2)
    plan = receipts(8)
    await read_all(shop, plan)
    (first, *_) = [*shop.env.message_journal.backward()][::-1]  # type: ignore[union-attr]
    await shop.env.store.write(
        lambda tx: tx.run(
            "UPDATE sms_parts SET sha256 = :other WHERE sha256 = :it",
            {"other": b"\0", "it": bytes.fromhex(first.key[1])},
        )
    )
    assert shop.env.message_journal is not None
    assert await store_parts.missing(shop.env.store, shop.env.message_journal) == []
    (shop.env.message_journal.folder / "fetched").touch()
    found = await store_parts.missing(shop.env.store, shop.env.message_journal)
    assert found == [first]
    await shop.env.store.write(
        lambda tx: tx.run(
            "UPDATE sms_parts SET sha256 = :it WHERE sha256 = :other",
            {"other": b"\0", "it": bytes.fromhex(first.key[1])},
        )
    )


@pytest.mark.parametrize("number", range(20 if LONG else 2))
async def test_random_copies_and_interrupted_recoveries_end_the_same(
    shop: FakeShop, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed() + number)
    plan = receipts(10)
    parts = [pdu for receipt in plan for pdu in receipt.pdus]
    cut = rng.randrange(len(parts))
    older = copy(shop)
    place = 0
    while place < len(parts):
        count = rng.randint(1, 3)
        shop.clock.advance(rng.choice((1, 2)))
        if place <= cut < place + count:
            older = copy(shop, "middle.db")
        await shop.read_pdus(parts[place : place + count])
        place += count
    before = await facts(shop)
    put_back(shop, older)
    for _ in range(3):
        with monkeypatch.context() as patch:
            patch.setattr(Store, "write", _dies_after(rng.randrange(4)))
            with contextlib.suppress(Unavailable):
                await recover(shop.env)
    await recover(shop.env)
    assert await facts(shop) == before
    assert await shop.values("SELECT COUNT(*) FROM payments") == [10]


def _dies_after(writes: int) -> Any:
    write, left = Store.write, [writes]

    async def limited(self: Store, job: Any) -> Any:
        if not left[0]:
            raise Unavailable("the process was killed")
        left[0] -= 1
        return await write(self, job)

    return limited


async def test_parts_that_cannot_be_journaled_stay_on_the_phone(shop: FakeShop) -> None:
    assert shop.env.message_journal is not None
    shop.env.message_journal.folder.write_text("a file in place of the folder")
    (receipt,) = receipts(1)
    with pytest.raises(Unavailable, match="message journal"):
        await shop.read(receipt)
    shop.env.message_journal.folder.unlink()
    await shop.read(receipt)
    records = [one.pdu for one in shop.env.message_journal.backward()]
    assert [*reversed(records)] == list(receipt.pdus)
    assert len(await shop.payments()) == 1


async def test_a_message_stored_without_a_database_commit_is_taken_in_at_the_next_start(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    (receipt,) = receipts(1)
    with monkeypatch.context() as patch:
        patch.setattr(Store, "write", _dies_after(0))
        with pytest.raises(Unavailable):
            await shop.read(receipt)
    assert (await recover(shop.env)).payments == 1
    assert (await shop.read(receipt)).new_parts == 0
    assert [one.state for one in await shop.rows(Message, "messages", "body <> ''")][-1:] == [MessageState.PAYMENT]
