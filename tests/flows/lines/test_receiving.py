"""Notices about a line that cannot receive, is unused or roams: one after two minutes, and one at the end."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from daemon.core.inputs import PhoneIdentity
from daemon.core.lines.modem_health import ModemHealth
from daemon.core.model import Event
from daemon.core.upkeep.notice_rules import RULES, notice_for
from daemon.flows.lines import modems, receiving
from daemon.flows.lines.receiving import Watch
from daemon.wire import Mode
from tests.fakes.receipts import mtn
from tests.fakes.shop import ICCID, IMEI, MTN_IMSI, FakeShop

PORT = "/dev/ttyUSB0"
DAY_S = 86_400


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[FakeShop]:
    made = await FakeShop.make(tmp_path)
    await made.read(mtn(100, "KOFI ANTWI BADU", made.wallet(100), "food", "93214500001"))
    yield made
    made.close()


def phone(shop: FakeShop, **changes: Any) -> ModemHealth:
    now = shop.clock.now_us()
    well = ModemHealth(
        PORT, "ready", device_id=shop.source.device_id, health_at=now, registration="home", receives=True, network="MTN"
    )
    return replace(well, **changes)


async def journal(shop: FakeShop) -> list[str]:
    rows = await shop.values("SELECT type FROM events WHERE type LIKE 'line.%' ORDER BY seq")
    return [str(row) for row in rows]


async def look(shop: FakeShop, seen: Watch, *, seconds: float = 0, **changes: Any) -> list[str]:
    """Let time pass and look; return the events."""
    shop.clock.advance(seconds)
    found = await receiving.watch(shop.env, [phone(shop, **changes)], seen)
    return [change.event for change in found]


async def test_two_minutes_without_messages_are_told_once_and_their_end_once(shop: FakeShop) -> None:
    seen = Watch()
    denied: dict[str, Any] = {"registration": "denied", "receives": False}
    assert (await look(shop, seen), seen.last) == ([], (True, None))
    assert (await look(shop, seen, **denied), seen.last) == ([], (False, "modem.network"))
    assert await look(shop, seen, seconds=119, **denied) == []
    assert await look(shop, seen, seconds=1, **denied) == ["line.not_receiving"]
    assert await look(shop, seen, seconds=3600, **denied) == []
    assert await look(shop, seen, seconds=1) == ["line.receiving"]
    assert await look(shop, seen, seconds=3600) == []
    assert await journal(shop) == ["line.not_receiving", "line.receiving"]


@pytest.mark.parametrize("state", ["starting", "resuming", "restarting", "opening", "recovering"])
async def test_what_ends_by_itself_within_two_minutes_is_not_told(shop: FakeShop, state: str) -> None:
    seen = Watch()
    for _ in range(3):
        assert await look(shop, seen, state=state) == []
        assert await look(shop, seen, seconds=110, state=state) == []
        assert await look(shop, seen, seconds=5) == []
    assert await journal(shop) == []


async def test_a_phone_that_never_gets_ready_is_told_too(shop: FakeShop) -> None:
    seen = Watch()
    await look(shop, seen, state="starting")
    assert await look(shop, seen, seconds=120, state="starting") == ["line.not_receiving"]


async def test_after_a_restart_nothing_is_told_twice_and_the_end_is_not_lost(shop: FakeShop) -> None:
    first = Watch()
    await look(shop, first, state="no_sim")
    assert await look(shop, first, seconds=120, state="no_sim") == ["line.not_receiving"]
    again = Watch()
    assert await look(shop, again, state="starting") == []
    assert await look(shop, again, seconds=300, state="no_sim") == []
    assert await look(shop, Watch()) == ["line.receiving"]


async def test_a_restart_gives_a_line_its_two_minutes_again(shop: FakeShop) -> None:
    first = Watch()
    await look(shop, first, state="no_sim")
    await look(shop, first, seconds=100, state="no_sim")
    again = Watch()
    assert await look(shop, again, seconds=30, state="starting") == []
    assert await look(shop, again, seconds=5) == []


async def test_a_phone_that_is_away_is_told_for_a_week_and_then_quietly_dropped(shop: FakeShop) -> None:
    seen = Watch()
    await modems.disconnect(shop.env, shop.source.device_id)
    assert await receiving.watch(shop.env, [], seen) == ()
    shop.clock.advance(120)
    [change] = await receiving.watch(shop.env, [], seen)
    assert str(change.data["why"]) == "its modem is not connected"
    shop.clock.advance(7 * DAY_S)
    [end] = await receiving.watch(shop.env, [], seen)
    assert end.event == "line.not_watched"
    shop.clock.advance(3600)
    assert await receiving.watch(shop.env, [], seen) == ()


async def put_other_sim(shop: FakeShop) -> None:
    other = PhoneIdentity(PORT, IMEI, "8923301000000000999", MTN_IMSI, "huawei", "E3131")
    await modems.identify(shop.env, other)


async def test_number_whose_sim_was_replaced_is_told_until_its_sim_is_back(shop: FakeShop) -> None:
    seen = Watch()
    await put_other_sim(shop)
    assert await look(shop, seen) == []
    assert seen.last == (False, "modem.other_sim")
    assert await look(shop, seen, seconds=120) == ["line.not_receiving"]
    back = PhoneIdentity(PORT, IMEI, ICCID, MTN_IMSI, "huawei", "E3131")
    await modems.identify(shop.env, back)
    assert await look(shop, seen) == ["line.receiving"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE payment_methods SET deleted_at = 1",
        "UPDATE payment_methods SET sim_seq = (SELECT MAX(seq) FROM sims)",
        "UPDATE sims SET ignored_at = 1 WHERE present = 0",
    ],
)
async def test_number_whose_sim_was_replaced_is_not_watched_once_it_is_removed_or_moved(
    shop: FakeShop, change: str
) -> None:
    seen = Watch()
    await put_other_sim(shop)
    await look(shop, seen)
    assert await look(shop, seen, seconds=120) == ["line.not_receiving"]
    await shop.env.store.write(lambda tx: tx.run(change))
    assert await look(shop, seen) == ["line.not_watched"]
    assert seen.last == (True, None)
    assert await look(shop, seen, seconds=3600) == []


async def test_a_sim_that_is_set_aside_is_not_told(shop: FakeShop) -> None:
    await shop.env.store.write(lambda tx: tx.run("UPDATE sims SET ignored_at = 1"))
    seen = Watch()
    await look(shop, seen, state="no_sim")
    assert await look(shop, seen, seconds=600, state="no_sim") == []


async def test_two_months_without_a_message_are_told_once_until_the_next(shop: FakeShop) -> None:
    seen = Watch()
    assert await look(shop, seen, seconds=59 * DAY_S) == []
    assert await look(shop, seen, seconds=DAY_S) == ["line.unused"]
    assert await look(shop, seen, seconds=30 * DAY_S) == []
    sql = (
        "INSERT INTO sim_rhythms (sim_key, watched_since, week, counts, messages, last_at, longest_gap_us) "
        "VALUES (:key, 0, 0, '', 1, :now, 0)"
    )
    given = {"key": shop.source.sim_key, "now": shop.clock.now_us()}
    await shop.env.store.write(lambda tx: tx.run(sql, given))
    assert await look(shop, seen) == ["line.in_use"]
    assert await look(shop, seen, seconds=DAY_S) == []


async def test_roaming_is_told_once_after_two_minutes_and_so_is_its_end(shop: FakeShop) -> None:
    seen = Watch()
    away: dict[str, Any] = {"registration": "roaming", "network": "Orange CI"}
    assert await look(shop, seen, **away) == []
    assert await look(shop, seen, seconds=120, **away) == ["line.roaming"]
    assert await look(shop, seen, seconds=3600, **away) == []
    assert await look(shop, seen, registration="searching", receives=False) == []
    assert await look(shop, seen) == ["line.home"]


async def test_the_notices_say_what_happened_and_what_to_type(shop: FakeShop) -> None:
    seen = Watch()
    locked: dict[str, Any] = {"state": "pin_needed", "detail": "the SIM asks for its PIN", "next_step": "type this"}
    await look(shop, seen, **locked)
    await look(shop, seen, seconds=120, **locked)
    await look(shop, seen)
    texts = []
    for kind, data in await shop.values("SELECT type, data FROM events WHERE type LIKE 'line.%' ORDER BY seq"):
        told = notice_for(event(kind), json.loads(data))
        assert told is not None
        texts.append((str(told.text), told.urgent, told.ends, told.cause))
    name = f"MTN SIM in {shop_name(texts[0][0])}"
    assert texts == [
        (
            (
                f"For two minutes no message can come to the {name}: the SIM asks for its PIN. "
                "Payments are not seen until it works again. What to do: type this."
            ),
            True, False, texts[0][3],
        ),
        (f"Messages can come to the {name} again.", False, True, texts[0][3]),
    ]  # fmt: skip
    assert not RULES["line.unused"].urgent
    assert not RULES["line.roaming"].urgent


def shop_name(text: str) -> str:
    return text.partition(" SIM in ")[2].rpartition(": the SIM asks")[0]


def event(kind: str) -> Event:
    given = dict.fromkeys(Event.__struct_fields__)
    return Event(**(given | {"type": kind, "mode": Mode.LIVE}))  # type: ignore[arg-type]  # the rest is not read
