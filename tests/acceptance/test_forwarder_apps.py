"""Apps that forward SMS, of every preset, over real HTTPS: the daemon and the app are killed at random moments."""

import contextlib
import json
import random
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon import wire
from daemon.core import ids
from daemon.runtime import own_certificate
from tests.fakes.forwarder_app import CUSTOM, PASSWORD, PDU, USER, ForwarderApp, Sms
from tests.fakes.invariants import check_invariants
from tests.fakes.real_shop import RealShop, pause, utc_now, wait_until
from tests.fakes.receipts import MTN_SMSC, mtn_receipts
from tests.fakes.seed import seed
from tests.fakes.tiers import share

NAME = "phone1"
SIM = f"slot:{ids.device_id_of(f'port:android:{NAME}')}:0"
MISSED = 0.1
"""Share of the SMS that arrive while the app is off, so the app does not post them; only `capcom6` can be asked for them."""
APPS = {"capcom6": (), "httpsms": (), "textbee": (), "smsforwarder": (), "custom": CUSTOM, "custom, PDUs": PDU}
"""Presets and the `members` of their settings."""


class Till:
    """A shop with HTTPS, and the phone that posts to it."""

    def __init__(self, shop: RealShop, app: ForwarderApp, address: str) -> None:
        self.shop = shop
        self.app = app
        self.address = address

    def spawn(self) -> None:
        self.shop.spawn(http=self.address, arguments=["--no-modem"])


LIMITS = {"trust": {"phone_limit": 1_000_000, "unconfirmed_limit": 1_000_000}}
"""The receipts of a test come to more than a new shop on a phone takes in a day."""


@contextlib.contextmanager
def till_of(folder: Path, drawn: int, name: str) -> Iterator[Till]:
    preset, members = name.partition(",")[0], APPS[name]
    app = ForwarderApp("", "", seed=drawn, preset=preset, members=members)
    with app, RealShop(folder / "shop", settings=LIMITS) as shop:
        made = shop.momo("daemon", "certificate", "create", "--json")
        assert made.returncode == 0, made.stderr
        file = json.loads(made.stdout)["data"]["path"]
        with Path(shop.places.config).open("a") as settings:
            settings.write(f'[http]\ntls_cert = "{file}"\n')
        inbox = ("--phone", app.inbox_url, "--user", USER) if preset == "capcom6" else ()
        places = [word for member in members for word in ("--member", member)]
        added = shop.momo(
            "phones",
            "add",
            "android",
            NAME,
            "--network",
            "mtn",
            "--may-pay",
            "--preset",
            preset,
            *places,
            *inbox,
            "--json",
        )
        assert added.returncode == 0, added.stdout + added.stderr
        shop.begin_chain(50_000, iccid=SIM, home=MTN_SMSC if members == PDU else None)
        address = f"127.0.0.1:{_free_port()}"
        till = Till(shop, app, address)
        till.spawn()
        shop.wait_ready()
        made = shop.momo("phones", "rotate-key", NAME, "--json")
        assert made.returncode == 0, made.stdout + made.stderr
        data = json.loads(made.stdout)["data"]
        shop.ask("POST", wire.Path.LOCAL_SOURCE_PASSWORD, {"name": NAME, "password": PASSWORD})
        app.key, app.url = (data["key"], f"https://{address}{wire.Path.SOURCE_POST.format(name=NAME)}")
        ca = own_certificate.ca_certificate(str(shop.home)).decode()
        app.trust = ssl.create_default_context(cadata=ca)
        shop.assign("0244124567")
        yield till


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("name", APPS)
def test_kills_of_daemon_and_app_lose_nothing_and_double_nothing(tmp_path: Path, name: str) -> None:
    drawn = seed()
    with till_of(tmp_path, drawn, name) as till:
        _run(till, drawn, kills=share(7, 2), receipts=share(50, 5))


def _run(till: Till, drawn: int, *, kills: int, receipts: int) -> None:
    shop, app, rng = till.shop, till.app, random.Random(drawn)
    app.forges, app.repeats = 0.1, 0.15
    plan = list(mtn_receipts(receipts, drawn))
    assert app.ping() == 200
    for number in range(kills):
        app.start()
        for made in plan[receipts * number // kills : receipts * (number + 1) // kills]:
            now = utc_now()
            sms = Sms(made.sender, made.text, now, got_at=now)
            app.get(sms, post=app.preset != "capcom6" or rng.random() >= MISSED)
            pause(rng.uniform(0, 0.05))
        pause(rng.uniform(0, 0.3) * shop.slowness)
        if rng.random() < 0.5:
            app.kill()
        shop.kill()
        if app.is_running and rng.random() < 0.5:
            pause(rng.uniform(0, 0.2))
        app.kill()
        till.spawn()
        if rng.random() < 0.8:
            shop.wait_ready()
    with contextlib.suppress(AssertionError):
        shop.wait_ready()
    app.forges = app.repeats = 0.0
    app.start()
    # The daemon requests the messages that are only in the inbox after its start.
    wait_until(lambda: _are_all_there(till, receipts), 120, "all receipts are payments")
    wait_until(lambda: app.is_idle, 60, "the app has posted everything")
    app.kill()
    shop.stop()
    check_invariants(shop.places.database)
    level = "full" if app.members == PDU else "reported"
    assert shop.rows("SELECT DISTINCT level FROM messages WHERE source = 'phone1'") == [(level,)]
    found = shop.rows("SELECT telco_transaction_id, amount_minor FROM payments ORDER BY 1")
    assert found == [(made.telco_id, made.amount_minor) for made in plan]
    assert set(app.forged_statuses) <= {0, 401, 429, 503}
    assert app.forged_statuses[401] > 0 or receipts < 30
    assert shop.rows("SELECT COUNT(*) FROM payments WHERE historical = 1") == [(0,)]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _are_all_there(till: Till, receipts: int) -> bool:
    till.app.ping()
    [(found,)] = till.shop.rows("SELECT COUNT(*) FROM payments")
    return bool(found == receipts)
