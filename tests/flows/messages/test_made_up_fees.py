"""A forged receipt names a fee that makes its effect on the balance as small as its sender likes."""

from pathlib import Path

import pytest

from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.runtime.config import Config, Trust
from daemon.wire import MessageState
from parsers.times import from_us
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, mtn_receipt
from tests.fakes.shop import FakeShop

ABROAD = "+447000000001"


async def tell(shop: FakeShop, amount: int, balance: int, typed: str, fee: str, smsc: str = MTN_SMSC) -> MessageState:
    """Receive MTN's receipt with this fee, two minutes later."""
    shop.clock.advance(120)
    at = from_us(shop.clock.now_us())
    text = mtn_receipt(
        amount, "KOFI ANTWI BADU", balance, typed, f"932145{shop.clock.now_us() // 1_000_000 % 100_000:05d}"
    )
    text = text.replace("FEE: 0.00", f"FEE: {fee}")
    pdus = encode_deliver(MTN_SENDER, text, at, smsc=smsc, reference=int(at.timestamp()) % 256)
    taken = await shop.read_pdus(pdus)
    return taken.concluded[0][1]


async def a_shop(folder: Path, limit: int) -> FakeShop:
    shop = await FakeShop.make(folder, Config(trust=Trust(unconfirmed_limit=limit)))
    await shop.begin_chain(90_000)
    return shop


@pytest.mark.parametrize(
    ("fee", "state"),
    [
        ("5000.00", MessageState.UNPARSED),
        ("6000.00", MessageState.UNPARSED),
        ("4999.99", MessageState.HELD),
        ("500.01", MessageState.HELD),
    ],
)
@pytest.mark.parametrize("limit", [0, 1_000_000])
async def test_a_receipt_with_a_made_up_fee_never_pays_by_itself(
    tmp_path: Path, fee: str, state: MessageState, limit: int
) -> None:
    shop = await a_shop(tmp_path, limit)
    request = await shop.request(500_000)
    assert await tell(shop, 500_000, 9_000_000, request.svc_code or "", fee) is state
    assert await shop.payments() == []
    shop.close()


async def test_the_daily_limit_counts_the_amounts_received_without_their_fees(tmp_path: Path) -> None:
    shop = await a_shop(tmp_path, 200)
    assert await tell(shop, 20_500, 500_000, "food", "20.00") is MessageState.HELD
    assert await tell(shop, 15_000, 700_000, "food", "15.00") is MessageState.PAYMENT
    assert await tell(shop, 6_000, 900_000, "food", "6.00") is MessageState.HELD
    assert await tell(shop, 5_000, 990_000, "food", "5.00") is MessageState.PAYMENT
    shop.close()


async def test_a_made_up_fee_of_a_debit_is_a_doubt_too(tmp_path: Path) -> None:
    shop = await a_shop(tmp_path, 200)
    before = await shop.values("SELECT balance FROM line_trust")
    at = from_us(shop.clock.now_us())
    text = (
        "Payment made for GHS 10.00 to KOFI ANTWI. Current Balance: GHS 780.00. Available Balance: GHS 780.00. Reference: x. "
        "Transaction ID: 93214500099. Fee charged: GHS 110.00 Tax charged: 0."
    )
    await shop.read_pdus(encode_deliver(MTN_SENDER, text, at, smsc=MTN_SMSC))
    assert await shop.values("SELECT balance FROM line_trust") == before
    shop.close()
