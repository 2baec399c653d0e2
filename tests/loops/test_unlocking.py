"""A locked SIM on a pty: the stored PIN opens it, a wrong one is tried once, and a notice names the next command."""

import asyncio
import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from daemon.flows.lines.modems import store_pin
from daemon.loops.lines.modems import PhoneState, PortLoop
from daemon.runtime.config import Config, Modems
from daemon.runtime.log import Log
from daemon.runtime.system import SystemClock
from daemon.store.lines import sim_pins
from tests.fakes.shop import OWNER, FakeShop
from tests.fakes.waiting import until
from tests.phones.phone import Phone
from tests.phones.pty import PhonePort
from tests.phones.quirks import FAMILIES
from tests.phones.sim import Identity

QUICK = Config(modems=Modems(poll_s=0.5, heartbeat_s=0.3, command_timeout_s=1))
FAMILY = FAMILIES["generic"]
LOCKED = FAMILY.identity(imei="356938035643817", iccid="8923301000000000038")


def locked(identity: Identity = LOCKED, pin: str = "4321") -> Phone:
    phone = Phone(identity, family=FAMILY)
    phone.play("calm")
    assert phone.sim is not None
    phone.sim.pin = pin
    return phone


def typed(phone: Phone) -> list[str]:
    return [said for said in phone.commands if said.startswith("AT+CPIN=")]


class Bench:
    """One port loop on one emulated phone; it can be stopped and started like a daemon."""

    def __init__(self, shop: FakeShop, folder: Path, phone: Phone) -> None:
        self.shop = shop
        self.phone = phone
        self.port = PhonePort(phone, link=folder / "ttyUSB0")
        self.log = io.StringIO()
        self.task: asyncio.Task[None] | None = None

    def start(self) -> PhoneState:
        env = replace(self.shop.env, clock=SystemClock())
        loop = PortLoop(env, str(self.port.link), Log(self.log))
        self.task = asyncio.create_task(loop.run())
        return loop.state

    async def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)

    async def outcome(self) -> list[Any]:
        return await self.shop.values("SELECT outcome FROM sim_pins")


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[FakeShop]:
    made = await FakeShop.make(tmp_path, QUICK)
    yield made
    made.close()


@pytest.fixture
async def bench(shop: FakeShop, tmp_path: Path) -> AsyncIterator[Bench]:
    made = Bench(shop, tmp_path, locked())
    with made.port:
        yield made
        await made.stop()


async def test_a_pin_that_a_person_stores_opens_the_sim_and_does_so_again(bench: Bench) -> None:
    state = bench.start()
    await until(lambda: state.state == "pin_needed")
    command = str(state.next_step).split()
    assert command[:3] == ["momo", "lines", "pin"]
    name, slot = command[3].rsplit(":", 1)
    await store_pin(bench.shop.env, OWNER, name, int(slot), "4321")
    await until(lambda: state.state == "ready")
    assert typed(bench.phone) == ['AT+CPIN="4321"']
    await until(lambda: "sim.opened" in bench.log.getvalue())
    assert await bench.outcome() == ["opened"]
    await bench.stop()
    bench.port.play("reboot")
    again = bench.start()
    await until(lambda: again.state == "ready")
    assert typed(bench.phone) == ['AT+CPIN="4321"'] * 2
    assert "4321" not in bench.log.getvalue()


@pytest.mark.slow
async def test_a_wrong_pin_is_typed_once_through_restarts_of_phone_and_daemon(bench: Bench) -> None:
    state = bench.start()
    await until(lambda: state.state == "pin_needed")
    name = str(state.next_step).split()[3].removesuffix(":0")
    await store_pin(bench.shop.env, OWNER, name, 0, "1111")
    await until(lambda: state.state == "pin_wrong")
    assert "2 tries are left" in str(state.detail)
    assert state.next_step == f"momo lines pin {name}:0"
    for _ in range(2):
        await bench.stop()
        bench.port.play("reboot-loud")
        again = bench.start()
        await until(lambda again=again: again.state == "pin_wrong")  # type: ignore[misc]  # a lambda in a loop has no type of its own
    assert typed(bench.phone) == ['AT+CPIN="1111"']
    assert bench.phone.sim is not None
    assert bench.phone.sim.pin_tries == 2


async def test_a_try_that_a_crash_swallowed_is_not_made_again(bench: Bench) -> None:
    state = bench.start()
    await until(lambda: state.state == "pin_needed")
    name = str(state.next_step).split()[3].removesuffix(":0")
    await bench.stop()
    # The daemon died when the try was on the disk, before the PIN was on the line.
    sealed = bench.shop.env.vault.seal(b"4321", sim_pins.PURPOSE + LOCKED.iccid)
    await bench.shop.env.store.write(lambda tx: sim_pins.put(tx, LOCKED.iccid, sealed, 1))
    pin = await bench.shop.env.store.read(lambda reader: sim_pins.get(reader, LOCKED.iccid))
    assert pin is not None
    assert await bench.shop.env.store.write(lambda tx: sim_pins.begin_try(tx, pin, 2))
    state = bench.start()
    await until(lambda: "did not report" in str(state.detail))
    await asyncio.sleep(0.3)
    assert typed(bench.phone) == []
    assert state.next_step == f"momo lines pin {name}:0"


async def test_a_blocked_sim_is_told_with_what_to_do(bench: Bench) -> None:
    bench.port.play("puk")
    state = bench.start()
    await until(lambda: state.state == "puk_needed")
    assert "PUK" in str(state.next_step)
    assert typed(bench.phone) == []


async def test_with_one_try_left_no_stored_pin_is_typed(bench: Bench) -> None:
    assert bench.phone.sim is not None
    bench.phone.sim.pin_tries = 1
    state = bench.start()
    await until(lambda: state.state == "pin_needed")
    assert "only 1" in str(state.detail)
    await bench.shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO sim_pins (owner, sealed, stored_at) VALUES (:owner, 'x', 1)", {"owner": LOCKED.iccid}
        )
    )
    await asyncio.sleep(0.3)
    assert typed(bench.phone) == []
    assert await bench.shop.values("SELECT tried_at FROM sim_pins") == [None]
