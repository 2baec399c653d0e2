"""Imported messages are history: they are shown and counted, and pay no transaction."""

from collections.abc import Sequence

import pytest

from daemon.core.errors import Refusal
from daemon.flows.messages import import_file as flow
from daemon.flows.messages import ingest
from daemon.flows.messages.import_file import FileMessage, ImportedEntry, ImportResult
from daemon.steps import imported_message
from daemon.store.upkeep import inspect
from daemon.wire import ErrorCode, MessageState, TransactionStatus
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, STARTED, mtn
from tests.fakes.shop import OWNER, FakeShop

LINE = "0244124567"
NAME = "KOFI ANTWI BADU"
ID = "93214500001"
REVERSED = f"Transaction {ID} of GHS 25.00 from {NAME} has been reversed. Current Balance: GHS 875.00."
NOW = int(STARTED.timestamp()) * 1_000_000


def receipt(typed: str, telco_id: str = ID, minor: int = 2500, balance: int = 90_000) -> FileMessage:
    text = mtn(minor, NAME, balance, typed, telco_id).text
    return FileMessage(MTN_SENDER, text, NOW, MTN_SMSC)


async def take(
    shop: FakeShop, *entries: FileMessage, line: str = LINE, dry_run: bool = False
) -> Sequence[ImportedEntry]:
    return await flow.import_messages(shop.env, OWNER, line, entries, dry_run=dry_run)


async def counts(shop: FakeShop) -> list[int]:
    """Return the number of rows that an import must not make."""
    tables = ("deliveries", "line_balances", "sim_smscs", "reviews", "notices")
    return [(await shop.values(f"SELECT COUNT(*) FROM {table}"))[0] for table in tables]


async def test_a_payment_of_a_file_is_history_and_moves_nothing(shop: FakeShop) -> None:
    request = await shop.request()
    before = await counts(shop)
    (taken,) = await take(shop, receipt(request.svc_code or ""))
    assert (taken.fate, taken.state) == (ImportResult.NEW, MessageState.HISTORICAL)
    (payment,) = await shop.payments()
    assert (payment.historical, payment.amount_minor) == (True, 2500)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING
    assert await counts(shop) == before
    assert await shop.values("SELECT last_payment_at FROM payment_methods") == [None]
    assert await shop.values("SELECT DISTINCT read_payment_at FROM sims") == [None]


async def test_the_same_file_again_changes_nothing(shop: FakeShop) -> None:
    entries = (receipt("food"), receipt("rent", "93214500002"))
    await take(shop, *entries)
    journal = await shop.values("SELECT COUNT(*) FROM events")
    assert [one.fate for one in await take(shop, *entries)] == [ImportResult.KNOWN] * 2
    assert await shop.values("SELECT COUNT(*) FROM messages") == [2]
    assert await shop.values("SELECT COUNT(*) FROM events") == journal


async def test_what_a_phone_read_before_is_known(shop: FakeShop) -> None:
    await shop.read(mtn(2500, NAME, shop.wallet(2500), "food", ID))
    (taken,) = await take(shop, receipt("food", balance=92_500))
    assert (taken.fate, taken.state) == (ImportResult.KNOWN, MessageState.DUPLICATE)
    assert len(await shop.payments()) == 1


async def test_another_amount_under_a_known_id_is_kept_and_counts_for_nothing(shop: FakeShop) -> None:
    await shop.read(mtn(2500, NAME, shop.wallet(2500), "food", ID))
    (taken,) = await take(shop, receipt("food", minor=9_900_00))
    assert taken.state is MessageState.HISTORICAL
    assert [one.amount_minor for one in await shop.payments()] == [2500]
    rows = await shop.values("SELECT payment_id, imported, reasons FROM messages ORDER BY seq DESC LIMIT 1")
    assert rows == [(None, 1, '["id_conflict"]')]


async def test_a_dry_run_says_the_same_and_stores_nothing(shop: FakeShop) -> None:
    entries = (receipt("food"), receipt("food"), FileMessage("+233241234567", "Hi Ama", NOW))
    first = await take(shop, *entries, dry_run=True)
    assert await shop.values("SELECT COUNT(*) FROM messages") == [0]
    assert await shop.values("SELECT COUNT(*) FROM events WHERE type = 'messages.imported'") == [0]
    then = await take(shop, *entries)
    assert [one.fate for one in then] == [one.fate for one in first]
    assert [one.fate for one in then] == [ImportResult.NEW, ImportResult.KNOWN, ImportResult.OTHER_SENDER]


async def test_nobodys_private_messages_are_stored(shop: FakeShop) -> None:
    text = mtn(2500, NAME, 90_000, "food", ID).text
    strangers = [FileMessage(sender, text, NOW) for sender in ("+233241234567", "MobiIeMoney", "T-CASH")]
    assert {one.fate for one in await take(shop, *strangers)} == {ImportResult.OTHER_SENDER}
    assert await shop.values("SELECT COUNT(*) FROM messages") == [0]


async def test_what_no_sms_can_be_is_told_and_stops_nothing(shop: FakeShop) -> None:
    long_name = FileMessage("MobileMoneyGhana", "x", NOW)
    taken = await take(shop, long_name, FileMessage(pdu="FFFF"), receipt("food"))
    assert [one.fate for one in taken] == [ImportResult.UNREADABLE, ImportResult.UNREADABLE, ImportResult.NEW]
    assert "11" in taken[0].why


async def test_the_pdus_of_a_long_message_come_one_by_one(shop: FakeShop) -> None:
    pdus = mtn(2500, NAME, 90_000, "food", ID).pdus
    taken = await take(shop, *(FileMessage(pdu=pdu) for pdu in pdus))
    assert [one.state for one in taken] == [MessageState.INCOMPLETE, MessageState.HISTORICAL]
    assert [one.historical for one in await shop.payments()] == [True]


@pytest.mark.parametrize("reversal_first", [True, False])
async def test_a_reversal_of_a_file_takes_back_what_the_file_told(shop: FakeShop, *, reversal_first: bool) -> None:
    back = FileMessage(MTN_SENDER, REVERSED, NOW + 60_000_000)
    entries = (back, receipt("food")) if reversal_first else (receipt("food"), back)
    await take(shop, *entries)
    (payment,) = await shop.payments()
    assert payment.reversed_at is not None
    assert await shop.values("SELECT COUNT(*) FROM deliveries") == [0]
    unmatched = "SELECT COUNT(*) FROM notices WHERE kind = 'reversal_unmatched'"
    assert await shop.values(unmatched) == [0]


async def test_a_reversal_of_a_live_payment_waits_for_a_person(shop: FakeShop) -> None:
    await shop.read(mtn(2500, NAME, shop.wallet(2500), "food", ID))
    (taken,) = await take(shop, FileMessage(MTN_SENDER, REVERSED, NOW + 60_000_000))
    assert taken.state is MessageState.HELD
    assert [one.reversed_at for one in await shop.payments()] == [None]
    assert await shop.values("SELECT reason, state FROM reviews") == [("doubtful_message", "open")]


async def test_an_imported_message_stays_history_when_it_is_read_again(shop: FakeShop) -> None:
    request = await shop.request()
    await take(shop, FileMessage(MTN_SENDER, "Something new altogether.", NOW))
    # A wording that is known by now.
    text = receipt(request.svc_code or "").text
    await shop.env.store.write(lambda tx: tx.run("UPDATE messages SET body = :text", {"text": text}))
    done = await ingest.reparse(shop.env, ingest.ReparseSelection())
    assert [one["state"] for one in done.read] == [MessageState.HISTORICAL]
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING


async def test_phones_are_not_judged_by_a_file(shop: FakeShop) -> None:
    await take(shop, receipt("food"), FileMessage(MTN_SENDER, "Something new altogether.", NOW))
    assert await shop.values("SELECT state FROM messages ORDER BY seq") == ["historical", "unparsed"]
    seen = await shop.env.store.read(lambda reader: inspect.unread_since(reader, 0))
    assert seen == (0, 0)


async def test_one_that_trips_a_fault_of_ours_stops_no_other(shop: FakeShop, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(desk: object, arrived: object, outcome: object, reading: object) -> None:
        if "93214500002" in str(reading):
            raise LookupError
        real(desk, arrived, outcome, reading)  # type: ignore[arg-type]  # handed through

    real = imported_message.keep_imported
    monkeypatch.setattr(imported_message, "keep_imported", faulty)
    taken = await take(shop, receipt("food"), receipt("rent", "93214500002"))
    assert [one.fate for one in taken] == [ImportResult.NEW, ImportResult.UNREADABLE]
    assert taken[1].why == "an error in momo: LookupError"


async def test_an_unknown_number_and_one_without_a_sim_are_refused(shop: FakeShop) -> None:
    with pytest.raises(Refusal) as refused:
        await take(shop, receipt("food"), line="0209000543")
    assert refused.value.code is ErrorCode.PAYMENT_METHOD_NOT_FOUND
    await shop.env.store.write(lambda tx: tx.run("UPDATE payment_methods SET sim_seq = NULL"))
    with pytest.raises(Refusal) as refused:
        await take(shop, receipt("food"))
    assert refused.value.code is ErrorCode.METHOD_HAS_NO_SIM


async def paste(shop: FakeShop, text: str) -> ImportedEntry:
    entry = FileMessage("", text, NOW)
    (taken,) = await flow.import_messages(shop.env, OWNER, LINE, [entry], dry_run=False, pasted=True)
    return taken


async def test_a_pasted_message_is_history_before_its_number_is_on_a_sim(shop: FakeShop) -> None:
    await shop.env.store.write(lambda tx: tx.run("UPDATE payment_methods SET sim_seq = NULL"))
    before = await counts(shop)
    text = receipt("food").text
    taken = await paste(shop, text)
    assert (taken.fate, taken.state) == (ImportResult.NEW, MessageState.HISTORICAL)
    (payment,) = await shop.payments()
    assert (payment.historical, payment.amount_minor) == (True, 2500)
    assert await counts(shop) == before
    assert await shop.values("SELECT COUNT(*) FROM payments WHERE payment_method_seq IS NULL") == [0]
    assert (await paste(shop, text)).fate is ImportResult.KNOWN
    assert len(await shop.payments()) == 1


async def test_an_unread_pasted_message_can_be_read_again_later(shop: FakeShop) -> None:
    await shop.env.store.write(lambda tx: tx.run("UPDATE payment_methods SET sim_seq = NULL"))
    taken = await paste(shop, "Your parcel of 3 kg has arrived.")
    assert taken.state is MessageState.UNPARSED
    selection = ingest.ReparseSelection((taken.message_id or "",), 0, False)
    assert (await ingest.reparse(shop.env, selection)).looked_at == 1


async def test_a_pasted_payment_that_the_phone_reads_later_is_one_payment(shop: FakeShop) -> None:
    placed = (await shop.values("SELECT sim_seq FROM payment_methods"))[0]
    await shop.env.store.write(lambda tx: tx.run("UPDATE payment_methods SET sim_seq = NULL"))
    await paste(shop, receipt("food").text)
    await shop.env.store.write(lambda tx: tx.run("UPDATE payment_methods SET sim_seq = :seq", {"seq": placed}))
    await shop.read(mtn(2500, NAME, 90_000, "food", ID))
    assert len(await shop.payments()) == 1
