"""Stored PDUs are returned unchanged, whether they are hex or not; hex takes half the space."""

from pathlib import Path

import pytest

from daemon.core.messages.message_journal import digest
from daemon.store.engine import Reader
from daemon.store.messages import messages
from tests.fakes.receipts import mtn
from tests.fakes.shop import FakeShop

ODD = ["", "0", "07ab", "0A 0B", "0A\t", "no hex: ÀǸ", "0A0B0C", "ÀÀ"]


async def stored(shop: FakeShop) -> str:
    (message_id,) = await shop.values("SELECT DISTINCT m.id FROM sms_parts p JOIN messages m ON m.seq = p.message_seq")

    def job(reader: Reader) -> str:
        return "".join(part.pdu for part in messages.stored_parts(reader, message_id))

    return await shop.env.store.read(job)


@pytest.mark.parametrize("pdu", ODD)
async def test_any_part_comes_back_as_the_phone_gave_it(tmp_path: Path, pdu: str) -> None:
    shop = await FakeShop.make(tmp_path)
    await shop.read(mtn(2500, "KOFI ANTWI BADU", 92_500, "food", "93214500001"))
    await shop.env.store.write(lambda tx: tx.run("DELETE FROM sms_parts WHERE position > 1"))
    (row,) = await shop.values(
        "SELECT m.sim_key, m.id, p.position, p.sent_at, p.storage, p.slot, p.received_at, p.synthesised "
        "FROM sms_parts p JOIN messages m ON m.seq = p.message_seq"
    )
    names = ("sim_key", "message_id", "position", "sent_at", "storage", "slot", "received_at", "synthesised")
    part = {**dict(zip(names, row, strict=True)), "pdu": pdu, "sha256": digest(pdu)}
    await shop.env.store.write(lambda tx: tx.run("DELETE FROM sms_parts"))
    await shop.env.store.write(lambda tx: messages.add_part(tx, part))
    assert await stored(shop) == pdu
    key = (part["sim_key"], digest(pdu))
    assert await shop.env.store.read(lambda reader: messages.known_parts(reader, [key])) == {key}
    shop.close()


async def test_parts_of_a_receipt_are_stored_as_octets(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    receipt = mtn(2500, "KOFI ANTWI BADU", 92_500, "food", "93214500001")
    await shop.read(receipt)
    octets = await shop.values("SELECT pdu FROM sms_parts ORDER BY position")
    assert octets == [bytes.fromhex(pdu) for pdu in receipt.pdus]
    assert await shop.values("SELECT LENGTH(sha256) FROM sms_parts") == [16, 16]
    shop.close()
