"""A line that cannot receive: the status names the cause, a new transaction warns, no SMS is lost, and the line recovers by itself.

Real daemon, real tty, emulated phone: modem pulled, SIM pulled, registration denied, PIN locked.
"""

import json
import random
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from daemon.runtime.system import SystemClock
from tests.acceptance.conftest import Scene
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import SOON_S, RealShop, utc_now, wait_until
from tests.fakes.receipts import Receipt, mtn_receipts
from tests.fakes.seed import seed
from tests.fakes.tiers import LONG, share

CLOCK = SystemClock()
BACK_S = 10.0
"""A modem that was away is served within this time."""
LOOKED_S = 20.0
QUICK = "[modems]\nheartbeat_s = 1\npoll_s = 1\ncommand_timeout_s = 2\n"


def quick(shop: RealShop) -> None:
    """Let the daemon ask the phone each second instead of each half minute."""
    config = Path(shop.places.config)
    config.write_text(config.read_text(encoding="utf-8") + QUICK, encoding="utf-8")


def lines(shop: RealShop) -> dict[str, Any]:
    found: dict[str, Any] = shop.ask("GET", "/v1/open-collections/lines")
    return found


def deaf(shop: RealShop, *causes: str, limit_s: float = LOOKED_S) -> str:
    """Wait until a line does not receive for one of these causes; return the reason."""

    def look() -> str | None:
        said = lines(shop)
        reason = str(said["receiving_reason"])
        named = any(cause in reason for cause in causes)
        return reason if said["receiving"] is False and named else None

    return wait_until(look, limit_s, f"the reason is one of {causes}")


def receives(shop: RealShop, limit_s: float = SOON_S) -> None:
    wait_until(lambda: lines(shop)["receiving"], limit_s, "the line receives")


def stored(scene: Scene, receipts: list[Receipt]) -> None:
    """Wait until every receipt is a payment, once, and the phone is empty."""
    wanted = sorted(receipt.telco_id for receipt in receipts)

    def look() -> bool:
        rows = scene.shop.rows("SELECT telco_transaction_id FROM payments ORDER BY 1")
        return [row[0] for row in rows] == wanted and scene.phone.is_empty()

    # Parts on both sides of the trouble wait a minute for rivals.
    wait_until(look, 120, "all receipts are payments, once each")
    assert scene.shop.rows("SELECT COUNT(*) FROM messages") == [(len(receipts),)]


class Trouble:
    """One way to stop receiving: how it begins, the causes that may be named, and how it ends."""

    def __init__(
        self, causes: tuple[str, ...], begin: Callable[[Scene], Any], end: Callable[[Scene, Any], Any]
    ) -> None:
        self.causes = causes
        self.begin = begin
        self.end = end


def _lock(scene: Scene) -> None:
    """Restart the phone with a SIM that asks for its PIN."""
    scene.phone.play("pin")
    scene.phone.play("reboot")


def _unlock(scene: Scene, _: Any) -> None:
    """Type the PIN elsewhere and switch it off."""
    sim = scene.phone.take_sim()
    scene.phone.insert_sim({**sim, "pin": ""})


TROUBLES = {
    "modem": Trouble(
        ("not connected", "is not there"),
        lambda scene: scene.phone.unplug(),
        lambda scene, _: scene.phone.plug(renumber=True),
    ),
    "sim": Trouble(("no SIM",), lambda scene: scene.phone.take_sim(), lambda scene, sim: scene.phone.insert_sim(sim)),
    "registration": Trouble(
        ("does not serve the SIM",),
        lambda scene: scene.phone.play("no-network"),
        lambda scene, _: scene.phone.play("none"),
    ),
    "pin": Trouble(("asks for its PIN",), _lock, _unlock),
}


def deliver(scene: Scene, trouble: str, began: Any, pdus: list[str]) -> Any:
    """Deliver while the line cannot receive: the network keeps the message for the SIM."""
    if trouble == "sim":
        waiting = [*began["waiting"], *([pdu, None] for pdu in pdus)]
        return {**began, "waiting": waiting}
    scene.phone.deliver(pdus)
    return began


@pytest.mark.slow
@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("turn", range(share(20, 2)))
def test_every_message_is_a_payment_after_the_line_was_deaf(scene: Scene, trouble: str, turn: int) -> None:
    rng = random.Random(f"{seed()} {trouble} {turn}")
    quick(scene.shop)
    scene.open_for_business()
    receives(scene.shop)
    receipts = list(mtn_receipts(rng.randint(3, 6), started=utc_now()))
    before = rng.randint(0, len(receipts))
    during = rng.randint(before, len(receipts))
    for receipt in receipts[:before]:
        scene.phone.deliver(receipt.pdus)
    read = rng.randint(0, before)
    count = "SELECT COUNT(*) FROM payments"
    wait_until(lambda: scene.shop.rows(count)[0][0] >= read, SOON_S, f"{read} are read")
    case = TROUBLES[trouble]
    began = case.begin(scene)
    for receipt in receipts[before:during]:
        began = deliver(scene, trouble, began, list(receipt.pdus))
    assert deaf(scene.shop, *case.causes)
    warned = scene.shop.api("POST", "/v1/transactions/initialize", {"amount": "5.00", "phone_number": "0244000001"})
    assert warned[0] == 201
    assert "Payments are not seen now" in warned[1]["meta"]["warnings"][0]
    if rng.random() < 0.3:
        scene.shop.restart()
    case.end(scene, began)
    ended = CLOCK.monotonic()
    for receipt in receipts[during:]:
        scene.phone.deliver(receipt.pdus)
    receives(scene.shop)
    if trouble == "modem":
        assert CLOCK.monotonic() - ended < BACK_S * scene.shop.slowness
    stored(scene, receipts)


@pytest.mark.slow
def test_a_line_without_its_modem_is_told_everywhere(scene: Scene) -> None:
    shop = scene.shop
    shop.start()
    shop.sims()
    scene.phone.unplug()
    reason = deaf(shop, "is not there")
    health = wait_until(lambda: not_receiving(shop, "modem.port"), LOOKED_S, "/healthz says so")
    assert health["status"] == "ok", "a container manager must not restart a sound daemon"
    shown = shop.momo("lines", "-o", "table")
    # The reason names a path, so it may be wrapped anywhere.
    assert "".join(f"NOT RECEIVING ✗ {reason}".split()) in "".join(shown.stdout.split())
    for command in (["lines", "--fail-if-unready"], ["status", "--fail-if-unhealthy"]):
        for form in (["--quiet"], ["--json"], ["-o", "table"]):
            ran = shop.momo(*command, *form)
            assert (ran.returncode, reason in ran.stderr) == (6, True), (command, form, ran.stderr)
    for wait in ([], ["--wait=1s"]):
        asked = shop.momo("init", "5", "--phone", "0244000001", "-o", "table", *wait)
        assert f"Payments are not seen now: {reason}." in asked.stderr
    sandbox = shop.momo("init", "5", "--phone", "0244000001", "--sandbox", "--json")
    assert "not seen" not in sandbox.stdout
    scene.phone.plug()
    receives(shop, BACK_S * shop.slowness)


@pytest.mark.slow
def test_another_sim_in_the_modem_is_told_and_a_new_transaction_warns(scene: Scene) -> None:
    shop = scene.shop
    quick(shop)
    scene.open_for_business()
    receives(shop)
    own = scene.phone.take_sim()
    deaf(shop, "no SIM")
    scene.phone.insert_sim({**own, "iccid": "8923301000000000999"})
    reason = deaf(shop, "the SIM of a number is in no modem")
    asked = shop.momo("init", "5", "--phone", "0244000001", "-o", "table")
    assert f"Payments are not seen now: {reason}." in asked.stderr
    scene.phone.take_sim()
    deaf(shop, "no SIM")
    scene.phone.insert_sim(own)
    receives(shop)


def not_receiving(shop: RealShop, why: str) -> dict[str, Any] | None:
    with urllib.request.urlopen(f"http://{shop.http}/healthz", timeout=10) as answer:
        data: dict[str, Any] = json.load(answer)["data"]
    return data if (data["receiving"], data["receiving_reason"]) == (False, why) else None


@pytest.mark.slow
def test_a_phone_that_is_locked_before_it_tells_its_imei_is_shown_as_locked(tmp_path: Path) -> None:
    with (
        PhoneProcess(tmp_path / "tty", faults=("pin", "hides_imei=yes")) as phone,
        RealShop(tmp_path / "shop", phone=phone.link) as shop,
    ):
        shop.start()
        assert deaf(shop, "PIN") == "the SIM asks for its PIN"
        shown = shop.momo("lines", "-o", "table")
        assert "no phone connected" not in (shown.stdout + shown.stderr).lower()
        assert "the SIM asks for its PIN" in shown.stderr
        command = next(
            line.split("next:", 1)[1].split() for line in shown.stderr.splitlines() if line.startswith("next:")
        )
        assert command[:3] == ["momo", "lines", "pin"]
        (tmp_path / "pin").write_text("1234\n", encoding="utf-8")
        (tmp_path / "pin").chmod(0o600)
        stored = shop.momo(*command[1:], "--pin-file", str(tmp_path / "pin"))
        assert stored.returncode == 0, stored.stderr
        receives(shop)
        [device] = shop.sims()
        assert device["sims"][0]["iccid_last4"] == "0019"
        shop.restart()
        receives(shop)
        assert [one["device_id"] for one in shop.sims()] == [device["device_id"]]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(not LONG, reason="it takes over two minutes")
def test_two_minutes_without_a_modem_are_a_notice_and_its_return_within_ten_seconds_ends_it(scene: Scene) -> None:
    shop = scene.shop
    scene.open_for_business()
    receives(shop)
    shop.restart()
    receives(shop)
    began = CLOCK.monotonic()
    scene.phone.unplug()
    notice = wait_until(lambda: told(shop, "line.not_receiving"), 150, "the notice")
    assert CLOCK.monotonic() - began > 110
    assert notice["urgent"]
    assert "is not there" in notice["text"]
    receipts = list(mtn_receipts(2, started=utc_now()))
    scene.phone.preload([pdu for receipt in receipts for pdu in receipt.pdus])
    scene.phone.plug(renumber=True)
    plugged = CLOCK.monotonic()
    stored(scene, receipts)
    assert CLOCK.monotonic() - plugged < BACK_S * shop.slowness
    wait_until(lambda: (told(shop, "line.not_receiving") or {}).get("recovered_at"), SOON_S, "the all-clear")


def told(shop: RealShop, kind: str) -> dict[str, Any] | None:
    rows: list[dict[str, Any]] = shop.ask("GET", "/local/v1/notices")
    return next((row for row in rows if row["kind"] == kind), None)
