"""Ports on ptys: reported states, sleep, restarts, and phones that change ports."""

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.env import Env
from daemon.loops.lines.ports import Ports, SleepWatch
from daemon.runtime.config import Config, Modems
from daemon.runtime.log import Log
from daemon.runtime.system import SystemClock
from tests.fakes.clock import FakeClock
from tests.fakes.shop import FakeShop
from tests.fakes.waiting import until
from tests.phones.phone import Phone
from tests.phones.pty import PhonePort
from tests.phones.quirks import FAMILIES
from tests.phones.sim import Identity

QUICK = Config(modems=Modems(poll_s=0.5, heartbeat_s=0.3, command_timeout_s=0.3))


class SleepyClock(SystemClock):
    """The real clock, with a sleep of the machine that a test can set."""

    asleep_s = 0.0

    def boottime(self) -> float:
        return super().boottime() + self.asleep_s


@contextlib.asynccontextmanager
async def running(folder: Path, *phones: PhonePort, config: Config = QUICK) -> AsyncIterator[tuple[Ports, Env]]:
    shop = await FakeShop.make(folder, config)
    env = replace(shop.env, clock=SleepyClock())
    ports = Ports(env, Log(io.StringIO()), tuple(str(phone.link) for phone in phones))
    task = asyncio.create_task(ports.run())
    try:
        yield ports, env
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        shop.close()


def all_are(ports: Ports, state: str) -> bool:
    states = [port.state for port in ports.states()]
    return bool(states) and set(states) == {state}


def all_have_told(ports: Ports) -> bool:
    """Return whether all are ready and have done their first work; an endless list takes half a minute."""
    return all_are(ports, "ready") and all(port.health is not None for port in ports.states())


def test_sleep_is_seen_by_the_two_hands_and_a_wrong_wall_clock_is_not() -> None:
    clock = FakeClock()
    watch = SleepWatch(clock)
    clock.advance(3600)
    clock.jump(-7200)
    assert watch.slept_s() == 0
    clock.sleep(4)
    assert watch.slept_s() == 0
    clock.sleep(4)
    assert watch.slept_s() == 8
    assert watch.slept_s() == 0


async def test_a_machine_that_slept_opens_its_ports_again(tmp_path: Path) -> None:
    with PhonePort(Phone(), link=tmp_path / "phone") as phone:
        async with running(tmp_path, phone) as (ports, env):
            await until(lambda: all_are(ports, "ready"))
            before = phone.call(lambda it: [*it.commands].count("AT+CGSN"))
            assert isinstance(env.clock, SleepyClock)
            env.clock.asleep_s = 60
            await until(lambda: phone.call(lambda it: [*it.commands].count("AT+CGSN")) > before)
            await until(lambda: all_are(ports, "ready"))


async def test_a_hilink_stick_is_not_ready_and_says_what_to_do(tmp_path: Path) -> None:
    make = FAMILIES["hilink"]
    with PhonePort(Phone(make.identity(), family=make), link=tmp_path / "phone") as phone:
        async with running(tmp_path, phone) as (ports, _):
            await until(lambda: all_are(ports, "hilink"))
            assert str(ports.states()[0].detail) == (
                "this stick does not pass its messages to the computer: its firmware says HiLink"
            )
            assert str(ports.states()[0].next_step).startswith("momo setup --hilink http://192.168.8.1")


async def test_a_phone_that_hangs_for_good_is_told(tmp_path: Path) -> None:
    with PhonePort(Phone(), link=tmp_path / "phone") as phone:
        async with running(tmp_path, phone) as (ports, _):
            await until(lambda: all_have_told(ports))
            phone.fault(silent=True)
            await until(lambda: all_are(ports, "recovering"))
            await until(lambda: all_are(ports, "hung"))
            assert str(ports.states()[0].next_step).startswith("pull the modem out")
            assert "AT+CFUN=1,1" not in phone.call(lambda it: [*it.commands])
            phone.fault(silent=False)
            await until(lambda: all_are(ports, "ready"))


def _delete(slot: int) -> Callable[[Phone], None]:
    return lambda phone: phone.receive_data(f"AT+CMGD={slot}\r".encode())


async def journal_of(env: Env, *types: str) -> list[str]:
    """Return which of these lines the journal has, in order."""
    sql = "SELECT type FROM events ORDER BY seq"
    rows = await env.store.read(lambda reader: reader.all(sql))
    return [row[0] for row in rows if row[0] in types]


async def journal_has(env: Env, kinds: tuple[str, ...], *wanted: str) -> None:
    """Wait until it has these lines of those kinds, no more and no less."""
    async with asyncio.timeout(30):
        while await journal_of(env, *kinds) != [*wanted]:  # noqa: ASYNC110 -- a file has no event
            await asyncio.sleep(0.05)


async def test_the_journal_says_once_that_a_phone_hangs_and_once_that_it_answers_again(tmp_path: Path) -> None:
    kinds = ("modem.hung", "modem.answers")
    with PhonePort(Phone(), link=tmp_path / "phone") as phone:
        async with running(tmp_path, phone) as (ports, env):
            await until(lambda: all_have_told(ports))
            phone.fault(silent=True)
            await until(lambda: all_are(ports, "hung"))
            await asyncio.sleep(1.5)  # it is tried again meanwhile
            await journal_has(env, kinds, "modem.hung")
            phone.fault(silent=False)
            await journal_has(env, kinds, *kinds)
            phone.unplug()
            await until(lambda: not all_are(ports, "ready"))
            phone.plug()
            await until(lambda: all_are(ports, "ready"))
            assert await journal_of(env, *kinds) == ["modem.hung", "modem.answers"]


async def test_the_journal_says_that_a_storage_is_nearly_full_and_that_it_has_room_again(tmp_path: Path) -> None:
    made = Phone(storages={"SM": 10})
    made.preload([f"0791332304000090040B913332445566F70000621010101010000{n}61" for n in range(9)])
    kept = replace(QUICK, modems=replace(QUICK.modems, delete=False))
    with PhonePort(made, link=tmp_path / "phone") as phone:
        async with running(tmp_path, phone, config=kept) as (_, env):
            kinds = ("modem.storage_high", "modem.storage_low")

            await journal_has(env, kinds, "modem.storage_high")
            for slot in range(1, 8):
                phone.call(_delete(slot))
            await journal_has(env, kinds, *kinds)


async def test_two_phones_that_change_places_keep_their_sims(tmp_path: Path) -> None:
    first = Phone(Identity(imei="356938035643809", iccid="8923301000000000012"))
    second = Phone(Identity(imei="004401000000014", iccid="8923301000000000019"))
    with PhonePort(first, link=tmp_path / "a") as a, PhonePort(second, link=tmp_path / "b") as b:
        async with running(tmp_path, a, b) as (ports, env):
            await until(lambda: all_are(ports, "ready"))
            await until(lambda: all(port.device_id for port in ports.states()))
            before = [port.device_id for port in ports.states()]
            sql = "SELECT sims.iccid, sims.device_id, devices.present FROM sims JOIN devices USING (device_id) WHERE iccid > '' ORDER BY 1"
            sims = [tuple(row) for row in await env.store.read(lambda reader: reader.all(sql))]
            a.unplug()
            b.unplug()
            await until(lambda: not any(port.state == "ready" for port in ports.states()))
            a.link, b.link = b.link, a.link
            a.plug()
            b.plug()
            await until(lambda: [port.device_id for port in ports.states()] == before[::-1])
            await until(lambda: all_are(ports, "ready"))
            after = [tuple(row) for row in await env.store.read(lambda reader: reader.all(sql))]
            assert after == sims
            assert [row[2] for row in after] == [1, 1]


async def test_a_found_port_that_is_gone_for_good_is_let_go_of(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, QUICK)
    found = [str(tmp_path / "ttyUSB0")]
    ports = Ports(shop.env, Log(io.StringIO()), (), find=lambda: found)
    task = asyncio.create_task(ports.run())
    await until(lambda: all_are(ports, "unreachable"))
    found.clear()
    await until(lambda: not ports.states())
    assert not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    shop.close()


async def test_of_a_stick_with_several_ttys_the_one_that_answers_is_served(tmp_path: Path) -> None:
    """The first candidate does not answer, like a diagnostics tty: it is sent only `AT` and ESC."""
    mute, modem = Phone(), Phone()
    mute.faults.silent = True
    order = [tmp_path / "ttyUSB2", tmp_path / "ttyUSB3"]
    heard: list[bytes] = []
    feed = mute.feed

    def overheard(data: bytes) -> None:
        heard.append(data)
        feed(data)

    mute.feed = overheard  # type: ignore[method-assign]  # listened in on

    def reject(path: str) -> None:
        assert path == str(order[0])
        order.reverse()

    with PhonePort(mute, link=order[0]), PhonePort(modem, link=order[1]):
        shop = await FakeShop.make(tmp_path, QUICK)
        env = replace(shop.env, clock=SleepyClock())
        ports = Ports(env, Log(io.StringIO()), (), find=lambda: [str(order[0])], reject=reject)
        task = asyncio.create_task(ports.run())
        await until(lambda: all_are(ports, "ready"))
        assert [port.port for port in ports.states()] == [str(tmp_path / "ttyUSB3")]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        shop.close()
    assert set(b"".join(heard).replace(b"\x1b", b"").split(b"\r")) <= {b"AT", b"ATQ0", b"ATV1", b""}
    assert heard


async def test_a_phone_that_returns_is_served_at_once_however_long_the_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemon.loops.lines.modems.BACK_OFF_S", (60.0,))
    with PhonePort(Phone(), link=tmp_path / "phone") as phone:
        async with running(tmp_path, phone) as (ports, _):
            await until(lambda: all_are(ports, "ready"))
            phone.unplug()
            await until(lambda: all_are(ports, "unreachable"))
            phone.plug()
            async with asyncio.timeout(10):
                await until(lambda: all_are(ports, "ready"))


async def test_a_phone_that_cannot_be_used_is_told_once_and_once_that_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemon.modem.session.start.BUSY_TRIES_MAX", 0)
    kinds = ("modem.unusable", "modem.usable")
    with PhonePort(Phone(), link=tmp_path / "phone") as phone:
        phone.fault(error_on="+CMGF", error_count=1_000_000, error_line="+CME ERROR: 100")
        async with running(tmp_path, phone) as (ports, env):
            await until(lambda: all_are(ports, "unusable"))
            said = ports.states()[0]
            assert "refuses PDU mode" in str(said.detail)
            assert said.next_step
            asked = phone.call(lambda it: [*it.commands].count("AT+CMGF=0"))
            await until(lambda: phone.call(lambda it: [*it.commands].count("AT+CMGF=0")) > asked)
            assert all_are(ports, "unusable"), "a new try does not look like a start"
            await journal_has(env, kinds, "modem.unusable")
            phone.fault(error_count=0)
            await until(lambda: all_are(ports, "ready"))
            await journal_has(env, kinds, *kinds)
