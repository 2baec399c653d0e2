"""A silent SIM: detected by its usual traffic, recorded once in the journal, and over with the next message."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from daemon.core.inputs import PhoneIdentity
from daemon.core.limits import DAY_US, HOUR_US
from daemon.core.lines import silence
from daemon.core.lines.silence import HOURS, WEEKS, Rhythm
from daemon.flows.lines import modems
from daemon.flows.lines.receiving import watch_silence as watch
from daemon.store.lines import devices, sms_rhythms
from tests.fakes.receipts import Receipt, mtn
from tests.fakes.shop import FakeShop

BUSY = bytes([30]) * (WEEKS * HOURS)
"""Thirty messages in every hour of every week."""


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[FakeShop]:
    made = await FakeShop.make(tmp_path)
    yield made
    made.close()


async def busy(shop: FakeShop) -> None:
    """Give the SIM a history of messages at all times, the last one now."""
    now = shop.clock.now_us()
    start = silence.new_rhythm(shop.source.sim_key, now - 60 * DAY_US, 0)
    rhythm = replace(start, week=now // HOUR_US // HOURS, counts=BUSY, messages=9_999, last_at=now)
    await shop.env.store.write(lambda tx: sms_rhythms.put(tx, rhythm))


async def known(shop: FakeShop) -> Rhythm:
    return (await shop.env.store.read(sms_rhythms.all_rhythms))[shop.source.sim_key]


async def journal(shop: FakeShop) -> list[tuple[str, dict[str, Any]]]:
    rows = await shop.values(
        "SELECT type, data FROM events WHERE type IN ('sim.silent', 'sim.heard_again') ORDER BY seq"
    )
    return [(kind, json.loads(data)) for kind, data in rows]


def receipt(shop: FakeShop, number: int) -> Receipt:
    sent = datetime.fromtimestamp(shop.clock.now_us() / 1e6, UTC)
    return mtn(100, "KOFI ANTWI BADU", shop.wallet(100), "food", f"9321450{number:04}", sent_at=sent)


async def test_what_comes_is_learned_once(shop: FakeShop) -> None:
    await watch(shop.env)
    await shop.read(receipt(shop, 1), receipt(shop, 2))
    await watch(shop.env)
    await watch(shop.env)
    rhythm = await known(shop)
    assert rhythm.messages == 2
    assert rhythm.last_at == shop.clock.now_us()
    assert (rhythm.counts.count(2), rhythm.counts.count(silence.UNMONITORED)) == (1, WEEKS * HOURS - 1)


@pytest.mark.file  # counts the rows that SQLite changed
async def test_nothing_new_writes_nothing(shop: FakeShop) -> None:
    await watch(shop.env)
    before = await shop.values("SELECT total_changes()"), await known(shop)
    shop.clock.advance(1)
    assert await watch(shop.env) == ()
    assert (await shop.values("SELECT total_changes()"), await known(shop)) == before


async def test_a_silence_is_told_once_and_ends_with_the_next_message(shop: FakeShop) -> None:
    await busy(shop)
    shop.clock.advance(15 * 60)
    assert await watch(shop.env) == ()
    shop.clock.advance(2 * 3600)
    (turn,) = await watch(shop.env)
    assert turn.place.sim_key == shop.source.sim_key
    assert await watch(shop.env) == ()
    assert (await known(shop)).silent_since == shop.clock.now_us() - 135 * 60 * 1_000_000
    shop.clock.advance(3600)
    assert await watch(shop.env) == ()
    await shop.read(receipt(shop, 1))
    (turn,) = await watch(shop.env)
    assert turn.silence is None
    assert (await known(shop)).silent_since is None
    about = {"device_id": shop.source.device_id, "slot_index": 0, "network": "mtn"}
    (first, told), (second, heard) = await journal(shop)
    assert (first, second) == ("sim.silent", "sim.heard_again")
    assert told == about | {"quiet_minutes": 135, "usually": told["usually"]}
    assert 60 <= told["usually"] <= 70
    assert heard == about | {"quiet_minutes": 195}


async def test_a_phone_that_is_away_is_not_silent(shop: FakeShop) -> None:
    """Another notice reports that the phone is away, and that time does not count as silence."""
    await busy(shop)
    await modems.disconnect(shop.env, shop.source.device_id)
    shop.clock.advance(3 * 3600)
    assert await watch(shop.env) == ()
    key = shop.source.sim_key
    now = shop.clock.now_us()
    phone = PhoneIdentity("/dev/ttyUSB0", None, key, None, None, None, network="mtn")
    await shop.env.store.write(lambda tx: devices.record_sim(tx, phone, key, shop.source.device_id, now))
    await shop.env.store.write(lambda tx: tx.run("UPDATE devices SET present = 1, port = '/dev/ttyUSB0'"))
    shop.clock.advance(15 * 60)
    assert await watch(shop.env) == ()
    shop.clock.advance(3600)
    assert len(await watch(shop.env)) == 1


async def test_test_messages_are_no_sign_of_life(shop: FakeShop) -> None:
    await watch(shop.env)
    await shop.read(receipt(shop, 1))
    await shop.env.store.write(lambda tx: tx.run("UPDATE messages SET mode = 'test'"))
    await watch(shop.env)
    assert (await known(shop)).last_at is None
