"""ModemManager as a source, on a private bus: reading, deleting, unlocking, sending, and everything that goes wrong."""

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.lines.modem_health import ModemHealth, find_problems
from daemon.core.lines.ussd import UssdEnd, UssdMenu
from daemon.env import Env
from daemon.flows.lines.modems import queue_test_sms, store_pin
from daemon.loops.sources.all import Sources
from daemon.loops.sources.modem_manager import ModemManagerSource
from daemon.modem.modem_manager import ManagerBus
from daemon.runtime.config import Config, Modems
from daemon.runtime.config_file import parse_config
from daemon.runtime.log import Log
from daemon.runtime.system import SystemClock
from tests.fakes.modem_manager import (
    DISABLED,
    FAILED,
    INITIALIZING,
    MISSING,
    RECEIVING,
    SERVICE,
    FakeManager,
    Faults,
    Modem,
    PrivateBus,
    Sms,
)
from tests.fakes.receipts import mtn_receipts
from tests.fakes.shop import OWNER, FakeShop
from tests.fakes.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(MISSING, reason="there is no dbus-daemon")]

SETTINGS = '[[sources]]\nname = "wwan"\nkind = "modemmanager"\npoll_s = 0.5\ntimeout_s = 1.0\n'
NAME = "SELECT body FROM messages WHERE source = 'wwan' ORDER BY seq"


@pytest.fixture
def bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PrivateBus]:
    with PrivateBus(tmp_path) as bus:
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", bus.address)
        yield bus


class Running:
    """A shop with ModemManager as its only source."""

    def __init__(self, shop: FakeShop, env: Env, source: ModemManagerSource, log: io.StringIO) -> None:
        self.shop, self.env, self.source, self.log = shop, env, source, log

    @property
    def health(self) -> ModemHealth:
        return self.source.conditions()[0]

    @property
    def shown(self) -> tuple[str, str, str]:
        health = self.health
        return health.state, str(health.detail), str(health.next_step)

    async def until_state(self, state: str) -> None:
        await until(lambda: self.health.state == state)

    async def texts(self) -> list[str]:
        return await self.shop.values(NAME)

    async def until_stored(self, count: int) -> list[str]:
        async with asyncio.timeout(30):
            while len(found := await self.texts()) < count:  # noqa: ASYNC110 -- no event announces it
                await asyncio.sleep(0.01)
        return found


@contextlib.asynccontextmanager
async def running(folder: Path, config: Config | None = None) -> AsyncIterator[Running]:
    config = config or parse_config(SETTINGS)
    shop = await FakeShop.make(folder, config)
    env = replace(shop.env, clock=SystemClock())
    log = io.StringIO()
    [chosen] = [one for one in config.enabled_sources if one.kind == "modemmanager"]
    source = ModemManagerSource(env, Log(log), chosen)
    task = asyncio.create_task(Sources(env, Log(log), [source]).run())
    try:
        yield Running(shop, env, source, log)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        shop.close()


def sms(text: str = "hello", number: str = "MobileMoney") -> Sms:
    return Sms(number, text, datetime.fromtimestamp(SystemClock().now_us() // 1_000_000, UTC))


async def test_messages_are_stored_and_then_deleted(bus: PrivateBus, tmp_path: Path) -> None:
    modem = Modem()
    with FakeManager(bus, modem) as manager:
        made = list(mtn_receipts(30))
        for one in made[:20]:
            manager.receive(modem, Sms(one.sender, one.text, one.sent_at))
        async with running(tmp_path / "shop") as ran:
            await ran.until_state("ready")
            for one in made[20:]:
                manager.receive(modem, Sms(one.sender, one.text, one.sent_at))
            assert await ran.until_stored(30) == [one.text for one in made]
            await until(lambda: not modem.messages)
            health = ran.health
            assert (health.port, health.kind, health.level) == ("modemmanager:1-2", "modemmanager", "partial")
            assert (health.signal, health.network, health.registration) == (19, "MTN", "home")
            assert find_problems(health, ran.env.clock.now_us()) == []
            assert health.device_id is not None
            assert await ran.source.inspect(health.device_id)
            assert not await ran.source.inspect("another")


async def test_one_part_with_its_service_centre_is_trusted_in_full_and_a_longer_text_is_not(
    bus: PrivateBus, tmp_path: Path
) -> None:
    modem = Modem()
    with FakeManager(bus, modem) as manager:
        for text, smsc in (("x" * 152, "+233240000000"), ("x" * 153, "+233240000000"), ("short", "")):
            manager.receive(modem, Sms("MobileMoney", text, None, smsc=smsc))
        async with running(tmp_path / "shop") as ran:
            await ran.until_stored(3)
            query = (
                "SELECT level || ' ' || LENGTH(body) || ' ' || COALESCE(smsc, '-') FROM messages ORDER BY LENGTH(body)"
            )
            assert await ran.shop.values(query) == ["partial 5 -", "full 152 +233240000000", "partial 153 -"]


async def test_nothing_is_deleted_that_could_not_be_stored(bus: PrivateBus, tmp_path: Path) -> None:
    modem = Modem()
    with FakeManager(bus, modem) as manager:
        async with running(tmp_path / "shop") as ran:
            await ran.until_state("ready")
            ran.shop.env.store.close()
            manager.receive(modem, sms())
            await ran.until_state("not_storing")
            assert manager.deleted == []


async def test_delete_can_be_switched_off_and_each_message_is_stored_once(bus: PrivateBus, tmp_path: Path) -> None:
    modem = Modem()
    with FakeManager(bus, modem) as manager:
        manager.receive(modem, sms())
        config = replace(parse_config(SETTINGS), modems=Modems(delete=False))
        async with running(tmp_path / "shop", config) as ran:
            await ran.until_stored(1)
            await until(lambda: manager.calls.count("GetManagedObjects") > 3)
            assert (len(await ran.texts()), manager.deleted, manager.calls.count("GetAll")) == (1, [], 2)


async def test_a_manager_that_restarts_does_not_make_a_message_be_lost_read_twice_or_deleted_unread(
    bus: PrivateBus, tmp_path: Path
) -> None:
    modem = Modem()
    with FakeManager(bus, modem, faults=Faults(silent=frozenset({"Delete"}))) as manager:
        manager.receive(modem, sms("first"))
        async with running(tmp_path / "shop") as ran:
            await ran.until_stored(1)
            await until(lambda: "Delete" in manager.calls)
            # The path of the first message becomes that of another one.
            manager.cut()
            await until(
                lambda: ran.shown == ("unreachable", "ModemManager does not run", "sudo systemctl start ModemManager")
            )
            modem.messages.append(sms("second"))
            modem.messages.reverse()
            manager.faults = Faults()
            manager.start()
            assert await ran.until_stored(2) == ["first", "second"]
            await until(lambda: not modem.messages)
            await ran.until_state("ready")


async def test_a_modem_that_is_taken_away_comes_back_under_another_path(bus: PrivateBus, tmp_path: Path) -> None:
    modem = Modem()
    with FakeManager(bus, modem) as manager:
        async with running(tmp_path / "shop") as ran:
            await ran.until_state("ready")
            device = ran.health.device_id
            manager.unplug(modem)
            await until(lambda: ran.shown[:2] == ("gone", "ModemManager has no modem"))
            modem.messages.append(sms("while it was away"))
            manager.plug(modem)
            assert modem.path.endswith("/1")
            await ran.until_stored(1)
            await ran.until_state("ready")
            assert ran.health.device_id == device


@pytest.mark.parametrize(
    ("method", "shown"),
    [
        ("GetManagedObjects", ("hung", "ModemManager has not answered for 1 s", "sudo systemctl restart ModemManager")),
        ("GetAll", ("hung", "ModemManager has not answered for 1 s", "sudo systemctl restart ModemManager")),
    ],
)
async def test_a_call_that_never_answers_is_told_and_the_next_look_works(
    bus: PrivateBus, tmp_path: Path, method: str, shown: tuple[str, str, str]
) -> None:
    modem = Modem(messages=[sms()])
    with FakeManager(bus, modem, faults=Faults(silent=frozenset({method}))) as manager:
        async with running(tmp_path / "shop") as ran:
            await until(lambda: ran.shown == shown)
            manager.faults = Faults()
            await ran.until_stored(1)
            await ran.until_state("ready")


async def test_a_bus_that_goes_away_or_hangs_is_told_and_comes_back(bus: PrivateBus, tmp_path: Path) -> None:
    modem = Modem()
    with FakeManager(bus, modem) as manager:
        async with running(tmp_path / "shop") as ran:
            await ran.until_state("ready")
            manager.cut()
            bus.cut()
            await until(lambda: ran.shown[0] == "unreachable" and ran.shown[2] == "sudo systemctl start dbus")
            bus.start()
            await until(lambda: ran.shown[1] == "ModemManager does not run")
            modem.messages.append(sms())
            manager.start()
            await ran.until_stored(1)
            bus.freeze()
            await ran.until_state("hung")
            await until(lambda: ran.shown[1] == "D-Bus, over which ModemManager speaks, cannot be used (TimeoutError)")


async def test_odd_values_make_no_message_be_lost(bus: PrivateBus, tmp_path: Path) -> None:
    odd = [
        replace_odd(sms("no time"), Timestamp=("s", "yesterday")),
        replace_odd(sms("no zone"), Timestamp=("s", "2026-11-29T12:00:00")),
        replace_odd(sms("no centre"), SMSC=("u", 7)),
        replace_odd(sms("text is a number"), Text=("u", 7), Data=("s", "")),
        replace_odd(sms("state is a text"), State=("s", "received")),
        replace_odd(sms(""), Data=("ay", b"\x01\x02")),
        sms("name \uffff", number="a name that is much too long"),
    ]
    strange = {
        "UnlockRetries": ("s", "many"),
        "Model": ("u", 1),
        "SignalQuality": ("s", "strong"),
        "Device": ("b", True),
    }
    modem = Modem(messages=[*odd], odd=strange)
    with FakeManager(bus, modem) as manager:
        async with running(tmp_path / "shop") as ran:
            found = await ran.until_stored(5)
            assert sorted(found) == ["0102", "name \uffff", "no centre", "no time", "no zone"]
            await until(lambda: len(modem.messages) == 2)
            manager.complete(odd[3], odd={"Text": ("s", "now a text")})
            assert "now a text" in await ran.until_stored(6)


def replace_odd(made: Sms, **odd: tuple[str, object]) -> Sms:
    made.odd = odd
    return made


async def test_a_message_that_lacks_parts_waits_and_is_told_after_ten_minutes(
    bus: PrivateBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modem = Modem()
    with FakeManager(bus, modem) as manager:
        late = manager.receive(modem, replace_state(sms("both parts"), RECEIVING))
        async with running(tmp_path / "shop") as ran:
            await ran.until_state("ready")
            assert await ran.texts() == []
            monkeypatch.setattr("daemon.loops.sources.modem_manager.UNREAD_S", 0.0)
            await until(lambda: "source.kept" in ran.log.getvalue())
            manager.complete(late, state=3)
            assert await ran.until_stored(1) == ["both parts"]
            assert ran.log.getvalue().count("source.kept") == 1


def replace_state(made: Sms, state: int) -> Sms:
    made.state = state
    return made


async def test_what_this_sim_sends_is_left_alone(bus: PrivateBus, tmp_path: Path) -> None:
    draft, report = sms("a draft"), sms("")
    draft.kind, report.kind = 2, 3
    modem = Modem(messages=[draft, report])
    with FakeManager(bus, modem, faults=Faults()) as manager:
        manager.receive(modem, sms("a message"))
        async with running(tmp_path / "shop") as ran:
            assert await ran.until_stored(1) == ["a message"]
            await until(lambda: len(manager.deleted) == 1)
            assert modem.messages == [draft, report]


async def test_a_refused_deletion_is_told_and_stops_nothing(bus: PrivateBus, tmp_path: Path) -> None:
    modem = Modem(messages=[sms("first")])
    refused = {"Delete": f"{SERVICE}.Error.Core.Failed"}
    with FakeManager(bus, modem, faults=Faults(refused=refused)) as manager:
        async with running(tmp_path / "shop") as ran:
            await until(lambda: "source.kept" in ran.log.getvalue())
            manager.receive(modem, sms("second"))
            await ran.until_stored(2)
            manager.faults = Faults(refused={"Delete": f"{SERVICE}.Error.Core.Unauthorized"})
            await ran.until_state("not_allowed")
            assert "docs/shop/sources.md" in ran.shown[2]
            manager.receive(modem, sms("third"))
            assert await ran.until_stored(3) == ["first", "second", "third"]
            manager.faults = Faults()
            await ran.until_state("ready")
            await until(lambda: not modem.messages)


async def test_a_modem_that_is_off_is_switched_on_once_a_minute(bus: PrivateBus, tmp_path: Path) -> None:
    modem = Modem(state=DISABLED, messages=[sms()])
    refused = {"Enable": f"{SERVICE}.Error.Core.Unauthorized"}
    with FakeManager(bus, modem, faults=Faults(refused=refused)) as manager:
        async with running(tmp_path / "shop") as ran:
            await ran.until_state("not_allowed")
            await until(lambda: manager.calls.count("GetManagedObjects") > 4)
            assert (manager.calls.count("Enable"), ran.health.state) == (1, "not_allowed")
        manager.faults = Faults()
        async with running(tmp_path / "shop2") as ran:
            await ran.until_state("ready")
            await ran.until_stored(1)


@pytest.mark.parametrize(
    ("modem", "shown"),
    [
        (Modem(state=FAILED, failed=2, iccid=""), ("no_sim", "the modem finds no SIM: ModemManager gives reason 2")),
        (Modem(state=FAILED, failed=4), ("unusable", "momo cannot use this modem: ModemManager gives reason 4")),
        (Modem(pin="1234", tries=0), ("puk_needed", "the SIM is blocked and asks for its PUK")),
        (
            Modem(pin="1234", odd={"UnlockRequired": ("u", 8)}),
            ("unusable", "momo cannot use this modem: it takes only SIMs of another network"),
        ),
    ],
)
async def test_what_keeps_a_modem_from_receiving_is_told(
    bus: PrivateBus, tmp_path: Path, modem: Modem, shown: tuple[str, str]
) -> None:
    with FakeManager(bus, modem):
        async with running(tmp_path / "shop") as ran:
            await until(lambda: ran.shown[:2] == shown)
            assert ran.shown[2]


async def test_a_modem_that_stays_half_started_is_told(
    bus: PrivateBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemon.loops.sources.modem_manager.SLOW_START_S", 0.6)
    with FakeManager(bus, Modem(state=INITIALIZING)):
        async with running(tmp_path / "shop") as ran:
            await ran.until_state("hung")


async def test_the_pin_of_a_locked_sim_is_asked_for_and_typed_once(bus: PrivateBus, tmp_path: Path) -> None:
    modem = Modem(pin="1234", messages=[sms()])
    with FakeManager(bus, modem) as manager:
        async with running(tmp_path / "shop") as ran:
            await until(lambda: ran.shown[2].startswith("momo lines pin ") and ran.health.device_id)
            device = ran.health.device_id
            assert device is not None
            await store_pin(ran.env, OWNER, device, 0, "9999")
            await ran.until_state("pin_wrong")
            assert manager.typed == ["9999"]
            await store_pin(ran.env, OWNER, device, 0, "1234")
            await ran.until_stored(1)
            assert manager.typed == ["9999", "1234"]
            assert ran.health.device_id == device


@pytest.mark.parametrize(
    ("method", "error", "status"),
    [
        ("", "", "sent"),
        ("Send", "Error.Message.NetworkTimeout", "failed"),
        ("Send", "Error.Core.Failed", "unknown"),
        ("Create", "Error.Core.Unauthorized", "failed"),
    ],
)
async def test_an_sms_is_sent_once_and_its_result_recorded(
    bus: PrivateBus, tmp_path: Path, method: str, error: str, status: str
) -> None:
    modem = Modem()
    with FakeManager(bus, modem, faults=Faults(refused={method: f"{SERVICE}.{error}"})) as manager:
        async with running(tmp_path / "shop") as ran:
            await ran.until_state("ready")
            assert ran.health.device_id is not None
            await queue_test_sms(ran.env, OWNER, ran.health.device_id, "0244124567")
            async with asyncio.timeout(30):
                while (found := await ran.shop.values("SELECT status FROM sms_outbox")) in (["queued"], ["sending"]):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            assert found == [status]
            assert [number for number, _text in manager.sent] == (["0244124567"] if status == "sent" else [])
            await until(lambda: status != "sent" or modem.messages == [])


async def test_no_modem_ends_another(bus: PrivateBus, tmp_path: Path) -> None:
    first = Modem(pin="1234", tries=0)
    second = Modem(place="/sys/usb1/1-3", imei="004999010640059", iccid="8923302000000000025", imsi="620020000000025")
    with FakeManager(bus, first, second) as manager:
        manager.receive(second, sms())
        async with running(tmp_path / "shop") as ran:
            await ran.until_stored(1)
            await until(lambda: [one.state for one in ran.source.conditions()] == ["puk_needed", "ready"])
            manager.unplug(first)
            await until(lambda: len(ran.source.conditions()) == 1)
            assert ran.health.port == "modemmanager:1-3"


async def test_a_ussd_menu_is_answered_through_the_modem(bus: PrivateBus, tmp_path: Path) -> None:
    with FakeManager(bus, Modem()) as manager:
        async with running(tmp_path / "shop") as ran:
            await ran.until_state("ready")
            assert ran.health.device_id is not None
            port = ran.source.ussd(ran.health.device_id)
            assert port is not None
            assert ran.source.ussd("another") is None
            assert await port.send("*170#", opens=True) == UssdMenu("MoMo\n1) Balance")
            await port.cancel()
            assert not manager.asks
            await port.send("*170#", opens=True)
            assert await port.send("1", opens=False) == UssdMenu("Your balance is GHS 214.56", UssdEnd.ANSWERED)
            for name, end in (("Core.Unsupported", UssdEnd.UNSUPPORTED), ("Core.Failed", UssdEnd.REFUSED)):
                manager.faults.refused = {"Initiate": f"{SERVICE}.Error.{name}"}
                assert await port.send("*170#", opens=True) == UssdMenu("", end)
            manager.cut()
            assert await port.send("*170#", opens=True) == UssdMenu("", UssdEnd.LOST)


async def test_a_connection_is_closed_also_when_its_closing_is_cancelled(bus: PrivateBus) -> None:
    with FakeManager(bus, Modem()):
        opened = await ManagerBus.open(lambda: None, 10)
        closing = asyncio.create_task(opened.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.gather(closing, return_exceptions=True)
        assert opened._connection.writer.is_closing()
