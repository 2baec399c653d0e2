"""A HiLink stick as a source: storing messages, deleting them, and its log lines."""

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from daemon.core.lines.modem_health import find_problems
from daemon.core.lines.ussd import UssdEnd, UssdMenu
from daemon.env import Env
from daemon.flows.lines.sources import store_source_password
from daemon.loops.sources import handover, hilink
from daemon.loops.sources.all import Sources
from daemon.loops.sources.hilink import HiLinkSource
from daemon.modem.hilink import Stick
from daemon.runtime.config import Config, Modems
from daemon.runtime.config_file import parse_config
from daemon.runtime.log import Log
from daemon.runtime.system import SystemClock
from daemon.store import shop as shop_rows
from daemon.wire import MessageState
from tests.fakes.hilink_stick import B_WITH_PASSWORD, LOCAL, SIM, FakeStick, Faults
from tests.fakes.receipts import MTN_SENDER, Receipt, mtn_receipts
from tests.fakes.shop import OWNER, FakeShop
from tests.fakes.waiting import until
from tests.phones import ussd
from tests.phones.faults import Faults as PhoneFaults
from tests.phones.ussd import Ussd

IMSI = "620010000000017"


def settings(stick: FakeStick, **more: object) -> Config:
    lines = {"name": "stick", "kind": "hilink", "url": stick.url, "poll_s": 0.5, "timeout_s": 2.0}
    written = "\n".join(f"{key} = {value!r}" for key, value in (lines | more).items())
    return parse_config(f"[[sources]]\n{written}\n")


class Running:
    """A shop with a stick as its only source."""

    def __init__(self, shop: FakeShop, env: Env, source: HiLinkSource, log: io.StringIO) -> None:
        self.shop = shop
        self.env = env
        self.source = source
        self.log = log

    @property
    def state(self) -> str:
        return self.source.conditions()[0].state

    async def until_stored(self, count: int) -> None:
        async with asyncio.timeout(30):
            while len(await self.stored()) < count:  # noqa: ASYNC110 -- no event announces it
                await asyncio.sleep(0.01)

    async def stored(self) -> list[str]:
        return await self.shop.values("SELECT state FROM messages WHERE source IS NOT NULL ORDER BY seq")


@contextlib.asynccontextmanager
async def running(folder: Path, stick: FakeStick, config: Config | None = None) -> AsyncIterator[Running]:
    config = config or settings(stick)
    shop = await FakeShop.make(folder, config)
    env = replace(shop.env, clock=SystemClock())
    log = io.StringIO()
    [chosen] = [one for one in config.enabled_sources if one.kind == "hilink"]
    source = HiLinkSource(env, Log(log), chosen)
    task = asyncio.create_task(Sources(env, Log(log), [source]).run())
    try:
        yield Running(shop, env, source, log)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        shop.close()


def receipts(count: int) -> list[Receipt]:
    return list(mtn_receipts(count, started=now()))


def now() -> datetime:
    return datetime.fromtimestamp(SystemClock().now_us() // 1_000_000, UTC)


def receive(stick: FakeStick, *made: Receipt) -> None:
    for one in made:
        stick.receive(one.sender, one.text, one.sent_at)


async def test_messages_are_stored_and_then_deleted(tmp_path: Path) -> None:
    with FakeStick() as stick:
        receive(stick, *receipts(30))
        async with running(tmp_path, stick) as ran:
            await until(lambda: not stick.messages)
            assert len(await ran.stored()) == 30
            assert ran.state == "ready"
            [health] = ran.source.conditions()
            assert (health.kind, health.level, health.source) == ("hilink", "partial", "stick")
            assert find_problems(health, ran.env.clock.now_us()) == []
            assert health.device_id is not None
            assert await ran.source.inspect(health.device_id)


async def test_nothing_is_deleted_that_could_not_be_stored(tmp_path: Path) -> None:
    with FakeStick() as stick:
        async with running(tmp_path, stick) as ran:
            await until(lambda: ran.state == "ready")
            ran.shop.env.store.close()
            receive(stick, *receipts(3))
            await until(lambda: ran.state == "not_storing")
            assert stick.deleted == []


async def test_delete_can_be_switched_off_and_each_message_is_stored_once(tmp_path: Path) -> None:
    with FakeStick(faults=Faults(repeat=True, shuffle=True)) as stick:
        receive(stick, *receipts(5))
        config = replace(settings(stick), modems=Modems(delete=False))
        async with running(tmp_path, stick, config) as ran:
            await until(lambda: stick.requests > 40)
            assert len(await ran.stored()) == 5
            assert stick.deleted == []


async def test_index_with_another_message_is_left_alone(tmp_path: Path) -> None:
    with FakeStick(faults=Faults(keep_deleted=True)) as stick:
        [first, second] = receipts(2)
        receive(stick, first)
        async with running(tmp_path, stick) as ran:
            await until(lambda: ran.state == "ready")
            await ran.until_stored(1)
            # The owner deletes it on the stick's page, and the next message gets its index.
            index = stick.messages[0].index
            stick.messages.clear()
            stick.receive(second.sender, second.text, second.sent_at).index = index
            # The stick deletes again only now, because an earlier deletion would delete the new message, as on a real stick.
            await ran.until_stored(2)
            stick.faults.keep_deleted = False
            await until(lambda: not stick.messages)


async def test_message_that_the_stick_does_not_delete_stops_nothing(tmp_path: Path) -> None:
    with FakeStick(faults=Faults(refuse_deletion=True)) as stick:
        made = receipts(3)
        receive(stick, *made[:2])
        async with running(tmp_path, stick) as ran:
            await until(lambda: "source.kept" in ran.log.getvalue())
            receive(stick, made[2])
            await ran.until_stored(3)
            assert ran.state == "ready"


@pytest.mark.parametrize("code", [125002, 125003])
async def test_sessions_that_expire_lose_nothing(tmp_path: Path, code: int) -> None:
    with FakeStick(faults=Faults(expire_every=17, code_when_expired=code)) as stick:
        receive(stick, *receipts(25))
        async with running(tmp_path, stick) as ran:
            await until(lambda: not stick.messages)
            assert len(await ran.stored()) == 25


async def test_stick_that_is_pulled_out_for_a_day_hands_over_all_of_it(tmp_path: Path) -> None:
    with FakeStick() as stick:
        async with running(tmp_path, stick) as ran:
            await until(lambda: ran.state == "ready")
            stick.cut()
            await until(lambda: ran.state == "unreachable")
            [health] = ran.source.conditions()
            assert [one.id for one in find_problems(health, ran.env.clock.now_us())] == ["modem.port"]
            day = mtn_receipts(40, started=now() + timedelta(seconds=5))
            for one in day:
                stick.receive(one.sender, one.text, one.sent_at)
            stick.plug()
            await until(lambda: not stick.messages)
            assert len(await ran.stored()) == 40


async def test_hanging_stick_is_told_and_comes_back(tmp_path: Path) -> None:
    with FakeStick() as stick:
        async with running(tmp_path, stick, settings(stick, timeout_s=1.0)) as ran:
            await until(lambda: ran.state == "ready")
            stick.faults.hang = True
            await until(lambda: ran.state in {"unreachable", "hung"})
            stick.faults.hang = False
            receive(stick, *receipts(1))
            await until(lambda: not stick.messages)
            assert len(await ran.stored()) == 1


async def test_password_is_asked_for_and_used(tmp_path: Path) -> None:
    with FakeStick(B_WITH_PASSWORD) as stick:
        receive(stick, *receipts(2))
        config = settings(stick)
        async with running(tmp_path, stick, config) as ran:
            await until(lambda: ran.state == "login_needed")
            [health] = ran.source.conditions()
            assert health.next_step == "momo phones password stick"
            await store_source_password(ran.env, OWNER, "stick", stick.firmware.password)
            ran.source.wake()
            await until(lambda: not stick.messages)
            assert stick.wrong_logins == 0


async def test_times_without_zone_are_those_of_the_setting(tmp_path: Path) -> None:
    with FakeStick() as stick:
        at = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
        stick.receive("AMA", "hello", at)
        stick.receive("AMA", "no time", at).date = "0000-00-00 00:00:00"
        async with running(tmp_path, stick, settings(stick, timezone="Africa/Lagos")) as ran:
            await until(lambda: not stick.messages)
            sent = await ran.shop.values("SELECT sent_at FROM messages WHERE source IS NOT NULL ORDER BY sent_at")
            lagos = at - timedelta(hours=1)
            assert sent == [None, int(lagos.timestamp()) * 1_000_000]


ODD_DATES = (
    "1970-01-01 00:00:12",
    "1980-01-06 00:00:12",
    "2090-06-01 00:00:00",
    "0001-01-01 00:00:00",
    "9999-12-31 23:59:59",
    "",
)


@pytest.mark.parametrize("timezone", ["Africa/Lagos", "America/Lima"])
async def test_message_with_an_odd_date_or_none_is_stored_without_time_beside_good_ones(
    tmp_path: Path, timezone: str
) -> None:
    with FakeStick() as stick:
        [first, last] = receipts(2)
        receive(stick, first)
        for number, date in enumerate(ODD_DATES):
            stick.receive("+233200000001", f"hello {number}", now()).date = date
        receive(stick, last)
        async with running(tmp_path, stick, settings(stick, timezone=timezone)) as ran:
            await until(lambda: not stick.messages)
            assert ran.state == "ready"
            odd = await ran.shop.values("SELECT sent_at FROM messages WHERE sender = '+233200000001'")
            assert odd == [None] * len(ODD_DATES)
            good = await ran.shop.values(f"SELECT sent_at IS NOT NULL FROM messages WHERE sender = '{MTN_SENDER}'")
            assert good == [1, 1]


ODD_CHARACTERS = {
    b"one &#12; two": "one \ufffd two",
    b"one \x0f two": "one \ufffd two",
    b"one &#xf; two": "one \ufffd two",
    b"one \x00 two": "one \ufffd two",
    b"half \xed\xa0\xbd": "half \ufffd",
    b"half &#xD83D;": "half \ufffd",
    b"whole &#55357;&#56841;": "whole \U0001f609",
    b"octet \xff": "octet \ufffd",
    b"&#65535; and &#65534;": "\ufffd and \ufffd",
    b"AT&T <wins>": "AT&T <wins>",
    b"&nbsp;": "&nbsp;",
    b"&#99999999999999999999;": "\ufffd",
}


@pytest.mark.parametrize("box", [LOCAL, SIM])
async def test_one_odd_character_does_not_stop_the_stick(tmp_path: Path, box: int) -> None:
    with FakeStick() as stick:
        [first, last] = receipts(2)
        stick.receive(first.sender, first.text, first.sent_at, box)
        for number, raw in enumerate(ODD_CHARACTERS):
            # The same text at the same second is one message.
            at = now() - timedelta(seconds=number)
            stick.receive("+233200000001", "", at, box).raw = raw
        stick.receive(last.sender, last.text, last.sent_at, box)
        async with running(tmp_path, stick) as ran:
            await until(lambda: not stick.messages)
            assert ran.state == "ready"
            bodies = await ran.shop.values("SELECT body FROM messages WHERE sender = '+233200000001' ORDER BY seq")
            assert sorted(bodies) == sorted(ODD_CHARACTERS.values())
            good = await ran.shop.values(f"SELECT body FROM messages WHERE sender = '{MTN_SENDER}' ORDER BY seq")
            assert good == [first.text, last.text]


@pytest.mark.parametrize("times", [1, float("inf")])
async def test_message_that_cannot_be_stored_by_a_bug_is_set_aside_and_the_others_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: float
) -> None:
    left = [times]
    real = handover.store_parts

    async def store(env: Any, log: Any, source: Any, parts: Sequence[Any]) -> Any:
        if left[0] > 0 and any(part.slot == odd.index for part in parts):
            left[0] -= 1
            raise RuntimeError("a bug")
        return await real(env, log, source, parts)

    monkeypatch.setattr(handover, "store_parts", store)
    with FakeStick() as stick:
        [first, last] = receipts(2)
        receive(stick, first)
        odd = stick.receive("+233200000001", "hello", now())
        receive(stick, last)
        async with running(tmp_path, stick) as ran:
            await ran.until_stored(3 if times == 1 else 2)
            await until(lambda: len(stick.messages) == (0 if times == 1 else 1))
            problems = [str(fault.text) for fault in ran.env.faults.all()]
            named = [f"message {odd.index} on the stick" in one for one in problems]
            assert named == ([] if times == 1 else [True])
            state = ran.source.conditions()[0].state
            assert state == ("ready" if times == 1 else "set_aside")


async def test_messages_that_the_stick_counts_and_does_not_list_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hilink, "LOOK_S", 0.1)
    with FakeStick(faults=Faults(hide=2)) as stick:
        receive(stick, *receipts(2))
        async with running(tmp_path, stick) as ran:
            await until(lambda: "source.unlisted" in ran.log.getvalue())
            told = await ran.shop.values("SELECT data FROM events WHERE type = 'modem.kept'")
            assert ["it counts 2 messages" in one for one in told] == [True]
            assert len(await ran.stored()) == 2


async def test_missing_extra_is_told_with_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "huawei_lte_api.Connection", None)
    with FakeStick() as stick:
        async with running(tmp_path, stick) as ran:
            await until(lambda: ran.state == "unusable")
            [health] = ran.source.conditions()
            assert health.next_step == hilink.INSTALL
            assert "not installed" in str(health.detail)


async def test_no_text_or_name_of_a_message_is_logged(tmp_path: Path) -> None:
    with FakeStick(faults=Faults(expire_every=13)) as stick:
        made = receipts(5)
        receive(stick, *made)
        async with running(tmp_path, stick) as ran:
            await until(lambda: not stick.messages)
            assert not any(one.name in ran.log.getvalue() for one in made)
            states = set(await ran.stored())
            assert states <= {MessageState.HELD, MessageState.PAYMENT}
            assert await ran.env.store.read(shop_rows.get) is None
            assert MTN_SENDER not in ran.log.getvalue()


async def test_a_ussd_menu_is_answered_while_messages_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemon.modem.hilink.USSD_LOOK_S", 0.02)
    with FakeStick(B_WITH_PASSWORD) as stick:
        async with running(tmp_path, stick) as ran:
            await store_source_password(ran.env, OWNER, "stick", "stick-pass-1")
            ran.source.wake()
            await until(lambda: ran.state == "ready")
            device_id = ran.source.conditions()[0].device_id
            assert device_id is not None
            port = ran.source.ussd(device_id)
            assert port is not None
            assert ran.source.ussd("another") is None
            assert await port.send("*170#", opens=True) == UssdMenu(ussd.MENU)
            receive(stick, *receipts(3))
            ran.source.wake()
            assert await port.send("6", opens=False) == UssdMenu(ussd.WALLET)
            await ran.until_stored(3)
            await port.cancel()
            assert not stick.ussd.is_open
            assert stick.ussd.typed == ["*170#", "6"]


@pytest.mark.parametrize(("fault", "end"), [("unsupported", UssdEnd.UNSUPPORTED), ("timeout", UssdEnd.TIMEOUT)])
async def test_why_a_stick_has_no_menu_is_told(fault: str, end: UssdEnd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.modem.hilink.USSD_LOOK_S", 0.02)
    with FakeStick() as stick:
        stick.ussd = Ussd(PhoneFaults(ussd=fault))
        one = Stick(stick.url, user="admin", timeout_s=2.0, monotonic=SystemClock().monotonic)
        assert await one.send("*170#", opens=True) == UssdMenu("", UssdEnd.LOST), "not connected"
        await one.connect(None)
        assert await one.send("*170#", opens=True) == UssdMenu("", end)
