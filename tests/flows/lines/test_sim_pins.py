"""PINs of SIMs: each is tried once, the try is recorded before it is made, and a correct one is used again."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from daemon.core.errors import Refusal
from daemon.core.inputs import PhoneIdentity
from daemon.flows.lines import modems
from daemon.flows.lines.modems import store_pin
from daemon.store.engine import Store
from daemon.store.lines import sim_pins
from daemon.wire import ErrorCode
from tests.fakes.shop import ICCID, IMEI, OWNER, FakeShop

OTHER_IMEI = "356938035643817"
OTHER_ICCID = "8923301000000000038"
LOCKED = PhoneIdentity("/dev/ttyUSB1", OTHER_IMEI, OTHER_ICCID, None, "huawei", "E173")
NAMELESS = PhoneIdentity("/dev/ttyUSB1", OTHER_IMEI, None, None, "huawei", "E173")


async def give(shop: FakeShop, device: str, pin: str) -> None:
    await store_pin(shop.env, OWNER, device, 0, pin)


async def facts(shop: FakeShop) -> list[Any]:
    return await shop.values("SELECT type FROM events WHERE type LIKE 'sim.%' ORDER BY seq")


async def test_a_locked_sim_makes_its_phone_known_so_that_a_person_can_name_it(shop: FakeShop) -> None:
    sim = await modems.record_locked(shop.env, LOCKED, "SIM PIN")
    assert sim.owner == OTHER_ICCID
    assert sim.name.startswith("huawei-e173-")
    assert await modems.take_pin(shop.env, OTHER_ICCID) is None
    await give(shop, sim.name.removesuffix(":0"), "4321")
    assert await modems.take_pin(shop.env, OTHER_ICCID) == "4321"
    assert (await facts(shop))[-2:] == ["sim.locked", "sim.pin_stored"]


@pytest.mark.file  # a second process opens the file
async def test_a_pin_is_handed_out_once_even_after_a_crash(shop: FakeShop, tmp_path: Path) -> None:
    await give(shop, shop.source.device_id, "4321")
    assert await modems.take_pin(shop.env, ICCID) == "4321"
    # Another process opens the same file and finds the state after a crash.
    other = Store.open(str(tmp_path / "momo.db"), now_us=shop.clock.now_us())
    try:
        pin = await other.read(lambda reader: sim_pins.get(reader, ICCID))
        assert pin is not None
        assert not pin.may_be_tried
    finally:
        other.close()
    assert await modems.take_pin(shop.env, ICCID) is None


async def test_of_two_that_take_a_pin_at_once_one_gets_it(shop: FakeShop) -> None:
    await give(shop, shop.source.device_id, "4321")
    both = await asyncio.gather(*(modems.take_pin(shop.env, ICCID) for _ in range(2)))
    assert sorted(both, key=str) == ["4321", None]


async def test_a_pin_that_opened_the_sim_is_used_at_each_power_on(shop: FakeShop) -> None:
    await give(shop, shop.source.device_id, "4321")
    for _ in range(3):
        assert await modems.take_pin(shop.env, ICCID) == "4321"
        assert await modems.take_pin(shop.env, ICCID) is None
        await modems.record_unlocked(shop.env, ICCID)


async def test_a_wrong_pin_is_never_tried_again_and_not_taken_a_second_time(shop: FakeShop) -> None:
    await give(shop, shop.source.device_id, "1111")
    assert await modems.take_pin(shop.env, ICCID) == "1111"
    await modems.record_pin_refused(shop.env, shop.source.device_id, ICCID)
    assert await modems.take_pin(shop.env, ICCID) is None
    with pytest.raises(Refusal) as refusal:
        await give(shop, shop.source.device_id, "1111")
    assert refusal.value.code is ErrorCode.VALIDATION_ERROR
    await give(shop, shop.source.device_id, "2222")
    assert await modems.take_pin(shop.env, ICCID) == "2222"
    assert (await facts(shop))[-2:] == ["sim.pin_wrong", "sim.pin_stored"]


async def test_a_phone_that_names_no_sim_has_a_pin_of_its_own(shop: FakeShop) -> None:
    sim = await modems.record_locked(shop.env, NAMELESS, "SIM PIN")
    assert sim.owner == OTHER_IMEI
    await give(shop, sim.device_id, "4321")
    assert await modems.take_pin(shop.env, OTHER_IMEI) == "4321"
    assert await modems.take_pin(shop.env, OTHER_ICCID) is None


@pytest.mark.parametrize(
    ("device", "slot", "code"), [("nobody", 0, ErrorCode.DEVICE_NOT_FOUND), (IMEI, 0, ErrorCode.DEVICE_NOT_FOUND)]
)
async def test_a_pin_for_nobody_is_refused(shop: FakeShop, device: str, slot: int, code: ErrorCode) -> None:
    with pytest.raises(Refusal) as refusal:
        await store_pin(shop.env, OWNER, device, slot, "4321")
    assert refusal.value.code is code


async def test_a_pin_for_an_empty_slot_is_refused(shop: FakeShop) -> None:
    with pytest.raises(Refusal) as refusal:
        await store_pin(shop.env, OWNER, shop.source.device_id, 1, "4321")
    assert refusal.value.code is ErrorCode.SIM_NOT_FOUND
