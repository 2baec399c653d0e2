"""`momo doctor ledger --deep`: a changed amount, ID or text in the database is found by reading the SMS again."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon import wire
from daemon.doctor import ledger_texts
from daemon.doctor.checks import Check, Status, System
from daemon.doctor.database import ledger_checks
from daemon.doctor.run import this_user
from tests.fakes.receipts import mtn_receipts
from tests.fakes.shop import FakeShop


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[FakeShop]:
    made = await FakeShop.make(tmp_path)
    await made.begin_chain(50_000)
    for receipt in mtn_receipts(5):
        made.clock.advance(60)
        await made.read(receipt)
    yield made
    made.close()


def deep(shop: FakeShop) -> list[Check]:
    places = wire.places({"MOMO_HOME": shop.env.home}, 0, "/tmp")
    pauses: list[float] = []
    system = System(Path("/"), this_user(), places=places, pause=pauses.append)
    found = [check for check in ledger_checks(system) if check.id == ledger_texts.ID]
    assert pauses, "it rests after each batch"
    return found


async def change(shop: FakeShop, sql: str) -> None:
    await shop.env.store.write(lambda tx: tx.run(sql))


async def test_payments_that_are_as_their_messages_say_are_counted(shop: FakeShop) -> None:
    (check,) = deep(shop)
    assert (check.status, check.detail) == (Status.OK, "5 payments are as their messages say")


async def test_a_changed_amount_is_named_with_both_amounts(shop: FakeShop) -> None:
    (payment, *_) = await shop.payments()
    await change(shop, "UPDATE payments SET amount_minor = amount_minor + 100 WHERE seq = 1")
    (check,) = deep(shop)
    assert check.status is Status.FAIL
    assert payment.id in check.detail
    amounts = [f"GHS {minor // 100}.{minor % 100:02}" for minor in (payment.amount_minor, payment.amount_minor + 100)]
    assert f"its message says {amounts[0]}, stored is {amounts[1]}" in check.detail


async def test_a_changed_transaction_id_is_named(shop: FakeShop) -> None:
    await change(shop, "UPDATE payments SET telco_transaction_id = '1' WHERE seq = 2")
    (check,) = deep(shop)
    assert "the transaction ID" in check.detail


async def test_a_text_that_was_changed_together_with_its_payment_is_found(shop: FakeShop) -> None:
    await change(shop, "UPDATE messages SET body = REPLACE(body, 'GHS', 'GHC') WHERE seq = 4")
    (check,) = deep(shop)
    assert "is not what its SMS says" in check.detail


async def test_all_payments_are_compared_in_batches(shop: FakeShop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_texts, "BATCH", 2)
    monkeypatch.setattr(ledger_texts, "NAMED_MAX", 1)
    await change(shop, "UPDATE payments SET amount_minor = 1")
    first, rest = deep(shop)
    assert first.status is rest.status is Status.FAIL
    assert rest.detail == "4 further payments differ"


async def test_erased_texts_are_not_compared(shop: FakeShop) -> None:
    await change(shop, "UPDATE sms_parts SET pdu = NULL")
    await change(shop, "UPDATE messages SET body = '' WHERE seq < 4")
    (check,) = deep(shop)
    assert check.status is Status.OK
    assert "have no text that can be read today" in check.detail
