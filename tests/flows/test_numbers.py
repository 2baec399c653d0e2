"""Rows name each other by number: an id that is not stored finds nothing and is never stored as none."""

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from daemon.core.model import Payment
from daemon.store import journal
from daemon.store.engine import Tx
from daemon.store.messages import messages
from daemon.store.payments import payments, transactions
from tests.fakes.receipts import mtn
from tests.fakes.shop import FakeShop

pytestmark = pytest.mark.file  # the error is SQLite's

NOBODY = "00000000-0000-4000-8000-000000000000"


async def paid(shop: FakeShop) -> Payment:
    await shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"))
    (payment,) = await shop.payments()
    return payment


def with_unknown_message(tx: Tx, payment: Payment) -> object:
    row = {name: getattr(payment, name) for name in Payment.__struct_fields__}
    return payments.add(tx, {**row, "id": "p", "telco_transaction_id": "1", "message_id": NOBODY})


def with_unknown_number(tx: Tx, payment: Payment) -> object:
    row = {name: getattr(payment, name) for name in Payment.__struct_fields__}
    return payments.add(tx, {**row, "id": "p", "telco_transaction_id": "1", "payment_method_id": NOBODY})


def held_for_unknown_payment(tx: Tx, _payment: Payment) -> object:
    tx.run("UPDATE transactions SET status = 'PENDING'")
    return transactions.hold(tx, tx.value("SELECT id FROM transactions"), NOBODY)


@pytest.mark.tampers
@pytest.mark.parametrize("write", [with_unknown_message, with_unknown_number, held_for_unknown_payment])
async def test_an_unknown_id_is_refused(shop: FakeShop, write: Callable[[Tx, Payment], object]) -> None:
    await shop.request()
    payment = await paid(shop)
    before = await shop.values("SELECT COUNT(*) FROM payments")
    with pytest.raises(sqlite3.IntegrityError):
        await shop.env.store.write(lambda tx: write(tx, payment))
    assert await shop.values("SELECT COUNT(*) FROM payments") == before
    assert await shop.values("SELECT 1 FROM transactions WHERE held_payment_seq IS NOT NULL") == []


async def test_an_unknown_id_finds_no_row(shop: FakeShop) -> None:
    await paid(shop)

    def found(tx: Tx) -> list[Any]:
        return [
            transactions.paid_by(tx, NOBODY),
            transactions.holding(tx, NOBODY),
            payments.last_of_line(tx, NOBODY),
            messages.with_line(tx, NOBODY),
            messages.has_part(tx, "no-sim:" + NOBODY, "00" * 16) or None,
        ]

    assert await shop.env.store.write(found) == [None] * 5


async def test_an_entry_about_a_message_that_goes_keeps_its_id(shop: FakeShop) -> None:
    whole = (await paid(shop)).message_id
    first, _second = mtn(2500, "ABENA OWUSU", 95_000, "food", "93214500002").pdus
    await shop.read_pdus([first])
    (lacking,) = await shop.values("SELECT id FROM messages WHERE state = 'incomplete'")

    def job(tx: Tx) -> None:
        for message_id in (whole, lacking, None):
            journal.add(tx, "test", 1, message_id=message_id)

    await shop.env.store.write(job)
    last = await shop.env.store.read(journal.last_seq)
    entries = await shop.env.store.read(lambda reader: journal.after(reader, last - 3))
    assert [entry.message_id for entry in entries] == [whole, lacking, None]
    kept = "SELECT message_seq IS NULL, message_id FROM events WHERE type = 'test' ORDER BY seq"
    assert await shop.values(kept) == [(0, None), (1, lacking), (1, None)]
