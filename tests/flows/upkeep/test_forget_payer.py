"""Erase a payer on request: all personal data are removed from every table, and the amounts stay in the books."""

import json
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from daemon.core.errors import Refusal, Unavailable
from daemon.core.inputs import HttpAnswer, Idempotency
from daemon.core.limits import LATE_WINDOW_US, SECOND_US
from daemon.core.messages.message_journal import journal_key
from daemon.core.model import Event, Transaction
from daemon.flows.messages import overdue
from daemon.flows.payments import cancel_expire
from daemon.flows.upkeep import erasure
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.runtime.message_journal import MessageJournal, SecondFolder
from daemon.steps.store_parts import missing
from daemon.store import idempotency
from daemon.store import journal as store_journal
from daemon.store.engine import Reader
from daemon.store.payments import search_index, transaction_list
from daemon.store.payments.transaction_list import TransactionFilter, transactions
from daemon.store.upkeep import ledger_check
from daemon.store.webhooks import deliveries
from tests.fakes import new_database, postgresql
from tests.fakes.outbox import add_endpoint
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, STARTED, mtn, telecel
from tests.fakes.reviews import approve
from tests.fakes.shop import OWNER, TELECEL_IMSI, FakeShop

NUMBER = "+233241234567"
"""The number of the payer to erase, and of every transaction of `FakeShop`."""
TYPED = "233241234567"
NAME = "ADWOA CANARY BEKOE"
OTHER_NAME = "KOFI ANTWI BADU"
TRACES = (NAME, "241234567", "024 123 4567", "kente cloth", "a@canary.example")


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[FakeShop]:
    made = await FakeShop.make(tmp_path, imsi=TELECEL_IMSI)
    yield made
    made.close()


async def paid(shop: FakeShop, telco_id: str = "0000012345678901", name: str = NAME) -> Transaction:
    """Let the payer pay a transaction, with personal data in every possible place."""
    await add_endpoint(shop, include_raw=True, catch_all=True)
    order = await shop.request(
        customer_name=name, description="kente cloth", meta='{"mail":"a@canary.example"}', client_reference="order 7"
    )
    code = order.svc_code or ""
    await shop.read(telecel(2500, name, shop.wallet(2500), code, telco_id, payer_phone=TYPED))
    return await shop.transaction(order.reference)


async def settle(shop: FakeShop, *statements: str) -> None:
    """Finish all open work: webhooks delivered and answered, SMS sent."""

    def job(tx: Any) -> None:
        tx.run("UPDATE deliveries SET status = 'delivered', delivered_at = 1, next_attempt_at = NULL")
        tx.run(
            "UPDATE deliveries SET response_body = :echo WHERE transaction_seq IN "
            "(SELECT seq FROM transactions WHERE phone_number IS NOT NULL)",
            {"echo": f"thank you {NAME}"},
        )
        tx.run("UPDATE sms_outbox SET status = 'sent', ended_at = 1 WHERE ended_at IS NULL")
        for statement in statements:
            tx.run(statement)

    await shop.env.store.write(job)


@contextmanager
def reading(shop: FakeShop) -> Iterator[Any]:
    """Open another connection to the shop's database."""
    path = shop.env.store.path
    with closing(postgresql.reading(path) if new_database.on_postgresql() else sqlite3.connect(path)) as base:
        yield base


def everything(shop: FakeShop) -> str:
    """Return the contents of all tables, and every decompressed body."""
    # The index of the search has no rows to show; its bytes are in the tables behind it.
    names = (
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"
        if new_database.on_postgresql()
        else "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'search'"
    )
    with reading(shop) as base:
        told = "\n".join(
            repr(row)
            for (name,) in base.execute(names).fetchall()
            for row in sorted(base.execute(f"SELECT * FROM {name}").fetchall(), key=repr)
        )
        stored = base.execute("SELECT deflated FROM delivery_bodies").fetchall()
        return told + repr([deliveries.inflate(bytes(body)) for (body,) in stored])


async def test_nothing_of_the_person_stays_and_all_of_the_money_does(shop: FakeShop) -> None:
    order = await paid(shop)
    await shop.read(telecel(900, OTHER_NAME, shop.wallet(900), "rent", "0000012345678902", payer_phone="233209000543"))
    notes = "she called from 024 123 4567"
    await settle(
        shop,
        "INSERT INTO payer_claims (transaction_id, telco_transaction_id, mode, said_at) "
        f"VALUES ('{order.id}', 'X1', 'live', 1)",
        "INSERT INTO reconciliations (id, transaction_id, payment_id, notes, actor, created_at) "
        f"VALUES ('rec_1', '{order.id}', '{order.payment_id}', '{notes}', 'socket:0', 1)",
    )
    before = everything(shop)
    assert [trace for trace in TRACES if trace not in before] == []
    found = await erasure.preview_forget(shop.env, NUMBER)
    assert everything(shop) == before
    done = await erasure.forget(shop.env, OWNER, NUMBER)
    assert done == found
    assert done.counts["payments"] == done.counts["orders"] == 1
    assert (done.counts["messages"], done.counts["webhooks"] > 0) == (1, True)
    after = everything(shop)
    assert [trace for trace in TRACES if trace in after] == []
    # The books and the other payers are unchanged.
    kept = await shop.transaction(order.reference)
    assert (kept.status, kept.client_reference, kept.svc_code) == (order.status, "order 7", order.svc_code)
    (first, other) = await shop.payments()
    assert (first.amount_minor, first.telco_transaction_id) == (2500, "0000012345678901")
    assert (first.payer_name, first.payer_phone, first.reference_text) == (None, None, None)
    assert (other.payer_name, other.payer_phone) == (OTHER_NAME, "+233209000543")
    (body,) = await shop.bodies(f"transaction_seq = {order.seq} AND event LIKE '%forwarded'")
    data = json.loads(body)["data"]
    assert (data["amount"], data["payer"]) == ("25.00", {"phone_number": None, "name": None})
    assert (data.get("raw"), data["meta"]) == (None, {})
    with reading(shop) as base:
        assert ledger_check.violations(base) == []


@pytest.fixture
async def mtn_shop(tmp_path: Path) -> AsyncIterator[FakeShop]:
    """A shop whose receipts name no number."""
    made = await FakeShop.make(tmp_path)
    yield made
    made.close()


async def test_what_people_typed_and_approved_is_erased_and_the_journal_stays(mtn_shop: FakeShop) -> None:
    shop = mtn_shop
    typed = "Adwoa called from 024 123 4567 about it"
    claim = Idempotency("live k POST /x", "k1", "f")
    held = await shop.request(2500, expected_payer_phone=NUMBER)
    await shop.read(mtn(2500, NAME, shop.wallet(2500), held.svc_code or "", "93214500001"))
    await approve(shop, notes=typed, claim=claim)
    gone = await shop.request()
    await cancel_expire.cancel(shop.env, OWNER, gone.reference, reason=typed)
    (payer,) = await shop.values("SELECT id FROM approved_payers")
    await overdue.revoke_approved_payer(shop.env, OWNER, payer)
    await settle(shop)
    told = await journal(shop, held.id, gone.id)
    assert [(one.get("notes"), one.get("reason"), one.get("name")) for one in told] == [
        (None, None, NAME), (typed, "payer_unknown", None), (None, typed, None),
    ]  # fmt: skip
    await erasure.forget(shop.env, OWNER, NUMBER)
    after = everything(shop)
    assert [trace for trace in (*TRACES, "ADWOA", "Adwoa", typed) if trace in after] == []
    masked = "*** called from *** about it"
    told = await journal(shop, held.id, gone.id)
    assert [(one.get("notes"), one.get("reason"), one.get("name")) for one in told] == [
        (None, None, None), (masked, "payer_unknown", None), (None, masked, None),
    ]  # fmt: skip


async def test_why_a_dead_letter_was_dismissed_no_longer_names_the_payer(shop: FakeShop) -> None:
    await paid(shop)
    await settle(
        shop,
        "INSERT INTO dead_letters (id, delivery_id, endpoint_id, reason, created_at, replay_count, notes) "
        "SELECT 'd1', id, 'e1', 'permanent_4xx', 1, 0, 'Adwoa called from 024 123 4567 about it' "
        "FROM deliveries ORDER BY seq LIMIT 1",
    )
    await erasure.forget(shop.env, OWNER, NUMBER)
    assert await shop.values("SELECT notes FROM dead_letters") == ["*** called from *** about it"]


async def journal(shop: FakeShop, *transactions: str) -> list[dict[str, Any]]:
    """Return the facts of what people did with these transactions."""

    def job(reader: Reader) -> list[Event]:
        pages = [store_journal.of_transaction(reader, one, limit=99, offset=0) for one in transactions]
        return [event for page, _ in pages for event in page]

    found = await shop.env.store.read(job)
    kinds = ("payer.approved", "review.approved", "transaction.cancelled")
    return [json.loads(event.data) for event in found if event.type in kinds]


async def test_kept_answers_about_the_payer_are_deleted_and_no_others(shop: FakeShop) -> None:
    order = await paid(shop)
    await settle(shop)
    answers = {
        "named": f'{{"data":{{"reference":"{order.reference}","payer":{{"name":"{NAME}"}}}}}}',
        "by id": f'{{"data":{{"payment_id":"{order.payment_id}"}}}}',
        "number": f'{{"data":{{"phone_number":"{NUMBER}"}}}}',
        "order-0241234567": '{"data":{}}',
        "form": f"/dash/transactions/{order.reference} said",
        "other": '{"data":{"phone_number":"+233209000543"}}',
    }

    def keep(tx: Any) -> None:
        for key, text in answers.items():
            claim = Idempotency("live k POST /x", key, "f")
            assert idempotency.reserve(tx, claim, 1) is None
            idempotency.settle(tx, claim, HttpAnswer(201, text.encode()))

    await shop.env.store.write(keep)
    await erasure.forget(shop.env, OWNER, NUMBER)
    kept = await shop.values("SELECT key FROM idempotency_keys ORDER BY key")
    assert kept == ["form", "other"]


async def test_the_message_journal_forgets_the_payer_too_and_the_second_folder_follows(
    shop: FakeShop, tmp_path: Path
) -> None:
    stick = tmp_path / "stick"
    stick.mkdir()
    message_journal = MessageJournal(tmp_path, journal_key(shop.env.account_key), SecondFolder(str(stick)))
    shop.env.message_journal = message_journal
    await paid(shop)
    await shop.read(telecel(900, OTHER_NAME, shop.wallet(900), "rent", "0000012345678902", payer_phone="233209000543"))
    await settle(shop)
    message_journal.copy_to_second()
    pdus = [one.pdu for one in message_journal.backward()]
    await erasure.forget(shop.env, OWNER, NUMBER)
    left = [one.pdu for one in message_journal.backward()]
    message_journal.copy_to_second()
    assert 0 < len(left) < len(pdus)
    gone = set(pdus) - set(left)
    files = [*message_journal.folder.iterdir(), *stick.iterdir()]
    assert len(files) == 2
    assert not any(pdu.encode() in file.read_bytes() for file in files for pdu in gone)
    assert await missing(shop.env.store, message_journal) == []


async def test_nothing_is_forgotten_when_the_message_journal_cannot_be_written(
    shop: FakeShop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.env.message_journal = MessageJournal(tmp_path, journal_key(shop.env.account_key))
    await paid(shop)
    await settle(shop)
    monkeypatch.setattr(MessageJournal, "_replace", _refuse)
    with pytest.raises(Unavailable, match="message journal"):
        await erasure.forget(shop.env, OWNER, NUMBER)
    assert (await shop.payments())[0].payer_name is not None


def _refuse(*_arguments: object) -> None:
    raise OSError(30, "Read-only file system")


@pytest.mark.file  # looks into the file's bytes, or at FTS5's index
async def test_what_was_there_is_overwritten_in_the_file_itself(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, imsi=TELECEL_IMSI)
    await paid(shop)
    await settle(shop)
    stored = await shop.values("SELECT deflated FROM delivery_bodies")
    await erasure.forget(shop.env, OWNER, NUMBER)
    shop.close()  # moves the log into the file
    raw = (tmp_path / "momo.db").read_bytes()
    assert NAME.encode() not in raw
    assert stored
    assert not [one for one in stored if one in raw]
    assert b"canary.example" not in raw


async def test_the_journal_says_that_it_was_done_and_not_of_whom(shop: FakeShop) -> None:
    await paid(shop)
    await settle(shop)
    done = await erasure.forget(shop.env, OWNER, NUMBER)
    noted = await shop.values("SELECT actor, data FROM events WHERE type = 'payer.forgotten'")
    ((actor, data),) = noted
    assert (actor, json.loads(data)["payer"]) == (OWNER.name, done.mark)
    assert erasure.payer_hash(shop.env, NUMBER) == done.mark
    assert erasure.payer_hash(shop.env, "+233241234568") != done.mark
    # A second call finds no rows and writes no entry.
    assert not any((await erasure.forget(shop.env, OWNER, NUMBER)).counts.values())
    assert await shop.values("SELECT actor, data FROM events WHERE type = 'payer.forgotten'") == noted


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ("UPDATE transactions SET status = 'EXPIRED', payment_seq = NULL, expires_at = {recent}", "orders"),
        ("UPDATE deliveries SET status = 'pending', delivered_at = NULL, next_attempt_at = 1", "webhooks"),
        ("UPDATE sms_outbox SET status = 'queued', ended_at = NULL", "sms"),
        ("UPDATE messages SET state = 'held'", "messages"),
        (
            ("INSERT INTO reviews (id, mode, reason, state, message_id, payment_id, details, created_at) "
            "SELECT 'r1', 'live', 'late', 'open', (SELECT id FROM messages WHERE seq = message_seq), id, '{{}}', 1 FROM payments"),
            "reviews",
        ),
    ],
)  # fmt: skip
async def test_while_something_is_open_nothing_is_forgotten(change: str, kind: str, shop: FakeShop) -> None:
    await paid(shop)
    recent = shop.clock.now_us() - LATE_WINDOW_US + SECOND_US
    await settle(shop, change.format(recent=recent))
    before = everything(shop)
    found = await erasure.preview_forget(shop.env, NUMBER)
    assert kind in found.still_open
    with pytest.raises(Refusal) as refused:
        await erasure.forget(shop.env, OWNER, NUMBER)
    assert (refused.value.code, refused.value.extras["open"]) == ("PAYER_STILL_OPEN", found.still_open)
    assert everything(shop) == before


async def test_what_is_open_is_named_and_its_mode(shop: FakeShop) -> None:
    await shop.request()
    await shop.request()
    await settle(shop)
    await settle(shop, "UPDATE transactions SET mode = 'test' WHERE seq = 2")
    found = await erasure.preview_forget(shop.env, NUMBER)
    ids = await shop.values("SELECT id FROM transactions ORDER BY seq")
    assert [(row.kind, row.id, row.test) for row in found.unfinished] == [
        ("orders", ids[0], False),
        ("orders", ids[1], True),
    ]


async def test_an_order_that_waits_is_open_and_a_cancelled_one_is_not(shop: FakeShop) -> None:
    await shop.request()
    await settle(shop)
    assert (await erasure.preview_forget(shop.env, NUMBER)).still_open == {"orders": 1}
    await settle(shop, "UPDATE transactions SET status = 'CANCELLED', cancelled_at = 1")
    assert (await erasure.forget(shop.env, OWNER, NUMBER)).counts["orders"] == 1


async def test_a_payment_without_a_number_is_its_order_s_and_another_s_is_left(shop: FakeShop) -> None:
    await paid(shop)
    await settle(shop, "UPDATE payments SET payer_phone = NULL")
    assert (await erasure.preview_forget(shop.env, NUMBER)).counts["payments"] == 1
    # Another payer paid the customer's transaction, and did not ask for erasure.
    await settle(shop, "UPDATE payments SET payer_phone = '+233209000543', payer_name = 'KOFI'")
    await erasure.forget(shop.env, OWNER, NUMBER)
    (payment,) = await shop.payments()
    assert (payment.payer_phone, payment.payer_name) == ("+233209000543", "KOFI")
    assert await shop.values("SELECT customer_name FROM transactions") == [None]


async def test_a_second_copy_of_the_receipt_and_the_reversal_of_the_payment_are_erased(mtn_shop: FakeShop) -> None:
    shop = mtn_shop
    await shop.begin_chain(87_500)
    order = await shop.request(2500)
    for number, minutes in ((5, 0), (6, 2)):
        at = STARTED + timedelta(minutes=minutes)
        again = mtn(2500, NAME, 90_000, order.svc_code or "", "93214500001", concatenation=number, sent_at=at)
        await shop.read(again)
    back = (
        f"Transaction 93214500001 of GHS 25.00 from {NAME} has been reversed. Current Balance: GHS 875.00.",
        "Payment for GHS1.00 to SHOP.Current Balance: GHS 874.00. Transaction Id: 93214500050. Fee charged: GHS0.00.",
    )
    for number, text in enumerate(back):
        at = STARTED + timedelta(minutes=3 + number)
        await shop.read_pdus(encode_deliver(MTN_SENDER, text, at, smsc=MTN_SMSC, reference=200 + number))
    states = await shop.values("SELECT state FROM messages ORDER BY seq")
    assert states.count("duplicate") == 1
    await approve(shop, confirmed=True)
    assert await shop.values("SELECT COUNT(*) FROM reversals") == [1]
    await settle(shop)
    assert (await erasure.forget(shop.env, OWNER, NUMBER)).counts["messages"] == 3
    after = everything(shop)
    assert [trace for trace in (*TRACES, "ADWOA") if trace in after] == []


@pytest.mark.file  # looks into the file's bytes, or at FTS5's index
async def test_the_search_no_longer_knows_the_person_nor_does_the_file(
    shop: FakeShop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FTS5 keeps deleted text until that part of the index is rewritten (sqlite.org/fts5.html, 6.8)."""
    store, odd = shop.env.store, "ZQXJV"
    order = await paid(shop, name=f"ADWOA {odd}")
    await shop.read(telecel(900, OTHER_NAME, shop.wallet(900), "rent", "0000012345678902", payer_phone="233209000543"))
    await settle(shop)
    await store.write(search_index.catch_up)
    monkeypatch.setattr(search_index, "_MERGED", 1)  # many small commits

    def found(reader: Reader, text: str) -> list[str]:
        wanted = TransactionFilter(search=text, origin="all")
        page, _ = transactions(reader, wanted, now=0, limit=9, offset=0)
        return [one.id for one, _ in page]

    monkeypatch.setattr(transaction_list, "_WALKED_MAX", 0)
    assert await store.read(lambda reader: found(reader, odd)) == [order.id]
    assert b"zqx" in everywhere(tmp_path)
    await erasure.forget(shop.env, OWNER, NUMBER)
    assert await store.read(lambda reader: found(reader, odd)) == []
    assert await store.read(lambda reader: found(reader, "rder 7")) == [order.id]
    assert len(await store.read(lambda reader: found(reader, "ntwi bad"))) == 1
    assert await shop.values("SELECT purging FROM search_cursor") == [0]
    shop.close()
    # Closed, so that the write-ahead log is empty.
    for trace in (b"zqx", b"qxj", b"xjv", odd.encode(), odd.lower().encode()):
        assert trace not in everywhere(tmp_path)


def everywhere(folder: Path) -> bytes:
    """Return the bytes of the database's files."""
    return b"".join(path.read_bytes() for path in sorted(folder.glob("momo.db*")))
