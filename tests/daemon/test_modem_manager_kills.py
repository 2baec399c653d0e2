"""Kills of the daemon and of ModemManager at random moments: no message is lost or counted twice. And the real ModemManager."""

import contextlib
import json
import os
import random
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.modem.modem_manager import MODEM, SMS, BusError, BusFault, ManagerBus
from tests.fakes.modem_manager import MISSING, ROOT, FakeManager, Modem, PrivateBus, Sms
from tests.fakes.real_shop import RealShop, pause, utc_now
from tests.fakes.receipts import mtn_receipts
from tests.fakes.seed import seed
from tests.fakes.tiers import share

pytestmark = [pytest.mark.slow, pytest.mark.skipif(MISSING, reason="there is no dbus-daemon")]
PATIENCE_S = 180.0
LIMITS = {"trust": {"phone_limit": 1_000_000, "unconfirmed_limit": 1_000_000}}
"""The receipts of a test come to more than a new shop takes in a day without service centres."""
REAL = shutil.which("ModemManager", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[PrivateBus]:
    with PrivateBus(tmp_path) as bus:
        yield bus


@pytest.mark.timeout(600)
def test_every_message_is_stored_once_whatever_is_killed(tmp_path: Path, bus: PrivateBus) -> None:
    rng = random.Random(seed())
    count = share(300)
    made = list(mtn_receipts(count, seed()))
    modem = Modem()
    with FakeManager(bus, modem) as manager, RealShop(tmp_path / "shop", settings=LIMITS) as shop:
        shop.environ.update(bus.environ)
        shop.begin_chain(50_000, iccid=modem.iccid)
        added = shop.momo("phones", "add", "modemmanager", "--json")
        assert '"name":"modemmanager"' in added.stdout

        def arrive() -> None:
            for one in made:
                manager.receive(modem, Sms(one.sender, one.text, utc_now()))
                pause(rng.uniform(0, 0.2))

        arriving = threading.Thread(target=arrive, daemon=True)
        arriving.start()
        shop.start()
        kills = 0
        while arriving.is_alive() or kills < share(30, least=4):
            pause(rng.uniform(0.1, 1.5) * shop.slowness)
            kills += 1
            if rng.random() < 0.5:
                shop.kill()
                shop.start()
            else:
                manager.cut()
                pause(rng.uniform(0, 0.5))
                manager.start()
        arriving.join()
        for _ in range(int(PATIENCE_S * 10)):
            if not modem.messages:
                break
            pause(0.1)
        assert modem.messages == []
        assert len(manager.deleted) == count
        shop.stop()
        ids = [row[0] for row in shop.rows("SELECT telco_transaction_id FROM payments")]
        assert sorted(ids) == sorted(one.telco_id for one in made)
        texts = shop.rows("SELECT COUNT(*), COUNT(DISTINCT body) FROM messages WHERE source = 'modemmanager'")
        assert texts == [(count, count)]


def test_a_modem_of_modem_manager_is_shown_like_any_phone(tmp_path: Path, bus: PrivateBus) -> None:
    with FakeManager(bus, Modem()) as manager, RealShop(tmp_path / "shop", settings=LIMITS) as shop:
        shop.environ.update(bus.environ)
        shop.start()
        assert '"restart":true' in shop.momo("phones", "add", "modemmanager", "--json").stdout
        shop.restart()
        for _ in range(300):
            if '"ready"' in shop.momo("phones", "status", "--json").stdout:
                break
            pause(0.1)
        shown = json.loads(shop.momo("phones", "show", "modemmanager:1-2", "--json").stdout)["data"]
        assert shown["source"] == {"name": "modemmanager", "kind": "modemmanager", "trust_level": "partial"}
        [listed] = json.loads(shop.momo("phones", "sources", "--json").stdout)["data"]
        assert (listed["state"], listed["url"]) == ("ready", "")
        for command in (("lines",), ("status",), ("doctor", "modem")):
            assert shop.momo(*command).returncode in {0, 6}, command
        manager.cut()
        for _ in range(300):
            found = shop.momo("doctor", "modem").stdout
            if "ModemManager does not run" in found:
                break
            pause(0.1)
        assert "sudo systemctl start ModemManager" in found


@pytest.fixture
def real(tmp_path: Path, bus: PrivateBus, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """Debian's ModemManager on the bus; it sees no device."""
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", bus.address)
    with (tmp_path / "log").open("wb") as said:
        process = subprocess.Popen((str(REAL), "--debug", "--no-auto-scan"), stdout=said, stderr=said)
    yield process
    process.kill()
    process.wait()


async def opened() -> ManagerBus:
    """Return a connection; ModemManager takes a moment to come onto the bus."""
    for _ in range(100):
        with contextlib.suppress(BusError):
            return await ManagerBus.open(lambda: None, 5.0)
        pause(0.1)
    raise AssertionError("ModemManager has not come onto the bus")


@pytest.mark.skipif(REAL is None, reason="ModemManager is not installed")
async def test_the_real_modem_manager_answers_as_the_fake_does(real: subprocess.Popen[bytes]) -> None:
    bus = await opened()
    try:
        assert await bus.modems() == []
        for path, interface, method in ((f"{ROOT}/SMS/0", SMS, "Send"), (f"{ROOT}/Modem/0", MODEM, "Enable")):
            with pytest.raises(BusError) as gone:
                await bus.call(path, interface, method)
            assert gone.value.fault is BusFault.GONE
        real.kill()
        real.wait()
        with pytest.raises(BusError) as gone:
            await bus.modems()
        assert gone.value.fault is BusFault.ABSENT
    finally:
        await bus.close()
