"""Ports that cannot be used, and phones that vanish and return: the daemon reports the reason and resumes by itself."""

import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import Scene
from tests.fakes.real_shop import RealShop, utc_now, wait_until
from tests.fakes.receipts import Receipt, mtn_receipts


def _phone(shop: RealShop, *states: str) -> dict[str, Any]:
    """Wait until the daemon reports one of these states of its one port."""

    def look() -> dict[str, Any] | None:
        phones = shop.ask("GET", "/local/v1/status")["phones"]
        return next((phone for phone in phones if phone["state"] in states), None)

    return wait_until(look, 20, f"the port is {' or '.join(states)}")


def _read(scene: Scene, receipts: list[Receipt]) -> None:
    def read() -> bool:
        found = scene.shop.rows("SELECT telco_transaction_id FROM payments ORDER BY 1")
        return found == [(item.telco_id,) for item in receipts] and not scene.phone.state()["stored"]

    wait_until(read, 30, "all receipts are read and the phone is empty")


def test_a_port_that_is_missing_is_named_and_served_when_it_appears(scene: Scene) -> None:
    scene.phone.unplug()
    scene.shop.start()
    said = _phone(scene.shop, "unreachable")
    assert said["detail"] == (
        f"{scene.phone.link} is not there: the modem is not plugged in, or it has another name now"
    )
    assert said["next"] == ("Plug it in and wait 30 seconds; `ls /dev/serial/by-id` shows the names.")
    scene.phone.plug()
    assert len(scene.shop.sims()) == 1


def test_a_phone_that_vanishes_and_returns_under_another_name_is_read_on(scene: Scene) -> None:
    scene.open_for_business()
    known = [phone["device_id"] for phone in scene.shop.sims()]
    first, second, third = mtn_receipts(3, started=utc_now())
    scene.phone.deliver(first.pdus)
    _read(scene, [first])
    # It is unplugged in the middle of a message; further messages wait on the SIM.
    scene.phone.deliver(second.pdus[:1])
    was = scene.phone.tty
    scene.phone.unplug()
    # The missing port is noticed at the next search, a second later.
    assert _phone(scene.shop, "gone", "unreachable")["detail"]
    scene.phone.preload([*second.pdus[1:], *third.pdus])
    assert scene.phone.plug(renumber=True) != was
    _read(scene, [first, second, third])
    assert [phone["device_id"] for phone in scene.shop.sims()] == known, "one phone, not two"
    scene.receiver.wait_for(3)


@pytest.mark.slow
def test_a_phone_that_hangs_is_given_up_and_read_when_it_wakes(scene: Scene) -> None:
    config = Path(scene.shop.places.config)
    config.write_text(
        config.read_text(encoding="utf-8") + "[modems]\ncommand_timeout_s = 1\nheartbeat_s = 0.2\npoll_s = 0.5\n",
        encoding="utf-8",
    )
    scene.open_for_business()
    receipts = list(mtn_receipts(2, started=utc_now()))
    before = scene.shop.said().count("modem.closed")
    scene.phone.fault(silent=True)
    scene.phone.deliver(receipts[0].pdus)
    wait_until(lambda: scene.shop.said().count("modem.closed") > before, 20, "the hung phone was given up")
    scene.phone.fault(silent=False)
    scene.phone.deliver(receipts[1].pdus)
    _read(scene, receipts)


def test_a_path_that_is_no_port_is_named(shop: RealShop, tmp_path: Path) -> None:
    (tmp_path / "no-phone").write_text("a file", encoding="utf-8")
    shop.start()
    said = _phone(shop, "unreachable")
    assert said["detail"] == f"{tmp_path / 'no-phone'} is not a serial port"
    assert said["next"].startswith("Name the modem's port, such as /dev/ttyUSB0")


def test_a_port_that_another_program_holds_is_named_with_its_holder(scene: Scene) -> None:
    held = os.open(scene.phone.tty, os.O_RDWR | os.O_NOCTTY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        scene.shop.start()
        said = _phone(scene.shop, "unreachable")
        assert said["detail"].startswith(f"{scene.phone.link} is in use by ")
        assert f"(PID {os.getpid()})" in said["detail"]
        assert said["next"]
    finally:
        os.close(held)
    assert len(scene.shop.sims()) == 1


@pytest.mark.slow
def test_a_port_without_permission_tells_how_to_get_it(scene: Scene) -> None:
    # Root may open every file, unless that capability is dropped.
    prefix = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    tty = Path(scene.phone.tty)
    tty.chmod(0)
    scene.shop.start(prefix=prefix if os.getuid() == 0 else [])
    said = _phone(scene.shop, "unreachable")
    assert said["detail"] == (
        f"no permission to open {scene.phone.link}: this user is not in the group that may use modems"
    )
    assert said["next"] == "Type `sudo usermod -aG dialout $USER`, then log out and in again."
    tty.chmod(0o600)
    assert len(scene.shop.sims()) == 1
