"""Held foreign messages whose place a home message took are refuted, and old ones cost nothing."""

from pathlib import Path

import pytest

from daemon.core.limits import DAY_US, HOUR_US
from daemon.core.messages.balance_chain import ChainEntry
from daemon.flows.messages.settle_lines import settle_lines
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.runtime.config import Config
from daemon.store.engine import Reader
from daemon.store.messages import balances
from daemon.store.messages.balances import Chain
from parsers.times import from_us
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, mtn
from tests.fakes.shop import FakeShop

FOREIGN = "+447000000001"
STANDINGS = "SELECT standing FROM line_balances ORDER BY seq"


async def say(
    shop: FakeShop, number: int, amount_minor: int, balance_minor: int, smsc: str
) -> None:
    shop.clock.advance(120)
    telco_id = str(93_214_500_000 + number)
    text = mtn(amount_minor, "KOFI ANTWI BADU", balance_minor, "food", telco_id).text
    now = from_us(shop.clock.now_us())
    await shop.read_pdus(encode_deliver(MTN_SENDER, text, now, smsc=smsc, reference=number))


async def test_a_foreign_message_is_refuted_once_a_home_one_has_taken_its_place(
    tmp_path: Path,
) -> None:
    shop = await FakeShop.make(tmp_path, Config())
    await shop.begin_chain(90_000)
    await say(shop, 1, 700, 90_700, FOREIGN)
    await say(shop, 2, 500, 90_500, MTN_SMSC)
    assert await settle_lines(shop.env) == 0
    assert await shop.values(STANDINGS) == ["accepted", "held", "accepted"]
    shop.clock.advance(91 * 60)
    await settle_lines(shop.env)
    assert await shop.values(STANDINGS) == ["accepted", "refuted", "accepted"]
    shop.close()


async def test_a_foreign_message_of_long_ago_loads_no_old_part_of_the_chain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = await FakeShop.make(tmp_path, Config())
    await shop.begin_chain(90_000)
    await say(shop, 1, 700, 5_000_000, FOREIGN)
    await say(shop, 2, 500, 90_500, MTN_SMSC)
    shop.clock.advance(40 * 86_400)
    await say(shop, 3, 700, 7_000_000, FOREIGN)
    await say(shop, 4, 500, 91_000, MTN_SMSC)
    shop.clock.advance(10 * 86_400)
    loaded = list[tuple[int, int]]()
    real = balances.between

    def between(reader: Reader, chain: Chain, since: int, until: int) -> list[ChainEntry]:
        loaded.append((since, until))
        return real(reader, chain, since, until)

    monkeypatch.setattr(balances, "between", between)
    await settle_lines(shop.env)
    assert sum(until - since for since, until in loaded) < 8 * HOUR_US
    assert min(since for since, _ in loaded) > shop.clock.now_us() - 14 * DAY_US
    assert await shop.values(STANDINGS) == ["accepted", "held", "accepted", "held", "accepted"]
    shop.close()
