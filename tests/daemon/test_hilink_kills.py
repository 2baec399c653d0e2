"""Kills of the daemon and of a HiLink stick at random moments: no message is lost or counted twice."""

import json
import random
import threading
from pathlib import Path

import pytest

from tests.fakes.hilink_stick import FakeStick, Faults
from tests.fakes.real_shop import RealShop, pause, utc_now
from tests.fakes.receipts import mtn_receipts
from tests.fakes.seed import seed
from tests.fakes.tiers import share

PATIENCE_S = 180.0

LIMITS = {"trust": {"phone_limit": 1_000_000, "unconfirmed_limit": 1_000_000}}
"""The receipts of a test come to more than a new shop on a stick takes in a day."""


def source(stick: FakeStick) -> str:
    return f'[[sources]]\nname = "stick"\nkind = "hilink"\nurl = "{stick.url}"\npoll_s = 0.5\ntimeout_s = 2\n'


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("code", [125002, 125003])
def test_every_message_is_stored_once_whatever_is_killed(tmp_path: Path, code: int) -> None:
    rng = random.Random(seed() + code)
    count = share(300)
    made = list(mtn_receipts(count, seed()))
    faults = Faults(expire_every=41, code_when_expired=code, repeat=True, shuffle=True)
    done = threading.Event()
    with FakeStick(faults=faults, seed=seed()) as stick, RealShop(tmp_path, settings=LIMITS) as shop:
        shop.begin_chain(50_000, iccid=stick.iccid)
        config = Path(shop.places.config)
        config.write_text(f"{config.read_text()}\n{source(stick)}")

        def arrive() -> None:
            for one in made:
                stick.receive(one.sender, one.text, utc_now())
                done.wait(rng.uniform(0, 0.2))

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
                stick.cut()
                pause(rng.uniform(0, 0.5))
                stick.plug()
        arriving.join()
        for _ in range(int(PATIENCE_S * 10)):
            if not stick.messages:
                break
            pause(0.1)
        assert stick.messages == []
        assert len({one.index for one in stick.deleted}) == count
        shop.stop()
        ids = [row[0] for row in shop.rows("SELECT telco_transaction_id FROM payments")]
        assert sorted(ids) == sorted(one.telco_id for one in made)
        texts = shop.rows("SELECT COUNT(*), COUNT(DISTINCT body) FROM messages WHERE source = 'stick'")
        assert texts == [(count, count)]


@pytest.mark.slow
def test_setup_adds_the_stick_and_the_daemon_shows_its_health(tmp_path: Path) -> None:
    with FakeStick() as stick, RealShop(tmp_path, settings=LIMITS) as shop:
        shop.start()
        said = shop.momo("setup", "--no-input", "--hilink", stick.url, "--json")
        assert "momo daemon restart" in said.stdout
        shop.restart()
        for _ in range(300):
            listed = shop.momo("phones", "status", "--json")
            if '"ready"' in listed.stdout:
                break
            pause(0.1)
        assert f'"port":"{stick.url}"' in listed.stdout.replace(": ", ":")
        shown = json.loads(shop.momo("phones", "show", stick.url, "--json").stdout)
        source = {"name": "stick", "kind": "hilink", "trust_level": "partial"}
        assert shown["data"]["source"] == source
        for command in (("lines",), ("status",), ("doctor", "modem")):
            assert shop.momo(*command).returncode in {0, 6}, command
        stick.cut()
        for _ in range(300):
            found = shop.momo("doctor", "modem", "--json").stdout
            if "the stick does not answer" in found:
                break
            pause(0.1)
        assert "the stick does not answer" in found
        missing = shop.momo("setup", "--no-input", "--hilink", "http://127.0.0.1:1")
        assert "no HiLink stick answers at http://127.0.0.1:1" in missing.stdout + missing.stderr
