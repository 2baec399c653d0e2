"""The identity of a SIM stays the same when a modem fails to report a part of it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.core.inputs import PhoneIdentity
from daemon.flows.lines import modems
from tests.fakes.shop import ICCID, IMEI, MTN_IMSI, FakeShop


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[FakeShop]:
    made = await FakeShop.make(tmp_path)
    yield made
    made.close()


def phone(iccid: str | None, imsi: str | None) -> PhoneIdentity:
    return PhoneIdentity("/dev/ttyUSB0", IMEI, iccid, imsi, "huawei", "E3131")


async def test_a_phone_that_fails_to_tell_the_iccid_has_the_sim_of_that_imsi(shop: FakeShop) -> None:
    source = await modems.identify(shop.env, phone(None, MTN_IMSI))
    assert source.sim_key == ICCID
    assert await shop.values("SELECT sim_key FROM sims WHERE imsi IS NOT NULL") == [ICCID]


async def test_a_phone_that_fails_to_tell_the_imsi_leaves_it_as_it_was(shop: FakeShop) -> None:
    await modems.identify(shop.env, phone(ICCID, None))
    assert await shop.values("SELECT imsi, network FROM sims WHERE imsi IS NOT NULL") == [(MTN_IMSI, "mtn")]


async def test_an_imsi_that_was_never_seen_is_a_sim_of_its_own(shop: FakeShop) -> None:
    source = await modems.identify(shop.env, phone(None, "620010000000099"))
    assert source.sim_key == "imsi:620010000000099"


async def test_a_sim_that_was_known_by_its_imsi_stays_one_when_its_iccid_is_heard(shop: FakeShop) -> None:
    iccid, imsi = "8923301000000000993", "620010000000099"
    first = await modems.identify(shop.env, phone(None, imsi))
    for who in (phone(iccid, imsi), phone(iccid, None), phone(None, imsi)):
        assert await modems.identify(shop.env, who) == first
    sims = await shop.values("SELECT sim_key, iccid, present FROM sims WHERE imsi IS NOT NULL ORDER BY seq")
    assert sims[1:] == [(f"imsi:{imsi}", iccid, 1)]


async def test_a_new_card_with_the_imsi_of_another_is_a_sim_of_its_own(shop: FakeShop) -> None:
    """A card that replaces a lost one has another ICCID and another IMSI; even with the same IMSI it is another card."""
    source = await modems.identify(shop.env, phone("8923301000000000993", MTN_IMSI))
    assert source.sim_key == "8923301000000000993"


OTHER_ICCID = "8923301000000008002"
OTHER_IMSI = "620010000008002"
OTHER_PORT = "/dev/ttyUSB3"


def twin(port: str = OTHER_PORT) -> PhoneIdentity:
    return PhoneIdentity(port, IMEI, OTHER_ICCID, OTHER_IMSI, "huawei", "E3131")


async def present(shop: FakeShop) -> list[str]:
    rows = await shop.values(
        "SELECT s.sim_key FROM sims s JOIN devices d ON d.device_id = s.device_id "
        "WHERE s.present = 1 AND d.present = 1 AND d.mode = 'live' ORDER BY 1"
    )
    return [str(row) for row in rows]


async def test_two_modems_with_one_imei_are_two_modems_with_two_sims(shop: FakeShop) -> None:
    first = shop.source
    second = await modems.identify(shop.env, twin())
    assert second.device_id != first.device_id
    assert await present(shop) == sorted([ICCID, OTHER_ICCID])
    # Each is the same one again after the other was identified, and after both were away.
    assert await modems.identify(shop.env, phone(ICCID, MTN_IMSI)) == first
    assert await modems.identify(shop.env, twin()) == second
    for one in (first, second):
        await modems.disconnect(shop.env, one.device_id)
    assert await modems.identify(shop.env, twin("/dev/ttyUSB0")) == second
    assert (await modems.identify(shop.env, phone(ICCID, MTN_IMSI))).device_id == first.device_id


async def test_modem_that_is_plugged_in_at_another_port_stays_the_same(shop: FakeShop) -> None:
    moved = PhoneIdentity(OTHER_PORT, IMEI, ICCID, MTN_IMSI, "huawei", "E3131")
    assert await modems.identify(shop.env, moved) == shop.source
    await modems.disconnect(shop.env, shop.source.device_id)
    assert (await modems.identify(shop.env, twin("/dev/ttyUSB7"))).device_id == shop.source.device_id
