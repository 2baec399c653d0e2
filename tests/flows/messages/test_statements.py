"""A paid receipt takes few SQL statements, because the writer may have to wait for another thread after each."""

from pathlib import Path

import pytest

from tests.fakes.new_database import writer
from tests.fakes.outbox import add_endpoint
from tests.fakes.receipts import mtn
from tests.fakes.shop import FakeShop

STATEMENTS = 29
"""For a receipt of two parts with one endpoint and an SMS to the payer, from the first part to the commit with the webhooks."""


@pytest.mark.file  # counts the statements of SQLite; PostgreSQL runs the same
async def test_a_paid_receipt_of_two_parts_takes_29_statements(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    await shop.begin_chain()
    await add_endpoint(shop)
    both = '["transaction.forwarded","transaction.completed"]'
    await shop.env.store.write(lambda tx: tx.run(f"UPDATE endpoints SET events = '{both}'"))
    order = await shop.request()
    receipt = mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), order.svc_code or "", "93214500001")
    traced: list[str] = []
    writer(shop.env.store).set_trace_callback(traced.append)
    for part in receipt.pdus:
        await shop.read_pdus([part])
    writer(shop.env.store).set_trace_callback(None)
    assert len(receipt.pdus) == 2
    assert await shop.values("SELECT event, status FROM deliveries ORDER BY seq") == [
        ("transaction.forwarded", "pending"),
        ("transaction.completed", "pending"),
    ]
    assert await shop.values("SELECT kind FROM sms_outbox ORDER BY seq") == ["code", "receipt"]
    shop.close()
    # SQLite reports a statement again for each trigger that it runs.
    asked = [one for one, before in zip(traced, ["", *traced], strict=False) if one != before]
    assert len([one for one in asked if one not in ("BEGIN IMMEDIATE", "COMMIT")]) == STATEMENTS
