"""A phone's health as the operator and Prometheus see it, from a real daemon and a phone on a real tty."""

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import Scene
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import SOON_S, RealShop, utc_now, wait_until
from tests.fakes.receipts import mtn_receipts


def said(shop: RealShop, *arguments: str, code: int = 0) -> Any:
    """Run a command with `--json`; return its `data`."""
    done = shop.momo(*arguments, "--json")
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)["data"]


def healthy(shop: RealShop) -> dict[str, Any]:
    """Wait until the phone has reported its health."""

    def look() -> dict[str, Any] | None:
        phones = said(shop, "phones", "status")
        found: dict[str, Any] | None = next(
            (p for p in phones if p["signal"] is not None and p["device_id"] is not None), None
        )
        return found

    return wait_until(look, SOON_S, "the phone has said how it fares")


@pytest.mark.slow
def test_a_phone_is_listed_named_tested_and_examined(scene: Scene) -> None:
    scene.open_for_business()
    phone = healthy(scene.shop)
    assert (phone["state"], phone["registration"], phone["troubles"]) == ("ready", "home", [])
    assert phone["storage"]["used"] == 0
    assert phone["sims"][0]["network"] == "MTN"
    assert said(scene.shop, "phones", "name", phone["name"], "front desk")["name"] == "front desk"
    scene.shop.restart()
    assert healthy(scene.shop)["name"] == "front desk", "a person's name outlives the phone's own"
    # Both commands work while messages arrive.
    receipts = list(mtn_receipts(5, started=utc_now()))
    scene.phone.deliver([pdu for receipt in receipts for pdu in receipt.pdus])
    tested = said(scene.shop, "phones", "test", "front desk")
    assert tested["answered"] is True
    assert tested["signal"] == phone["signal"]
    scene.receiver.wait_for(5)
    wait_until(scene.phone.is_empty, SOON_S, "the phone is empty")
    assert said(scene.shop, "phones", "show", "front desk")["last_sms_at"] is not None
    checks = {check["id"]: check for check in said(scene.shop, "doctor", "modem")["checks"]}
    assert checks["modem.answers"]["detail"] == "front desk is ready"
    metrics = f"http://{scene.shop.http}/metrics"
    with urllib.request.urlopen(metrics, timeout=10) as answer:
        text = answer.read().decode()
    assert f'momo_modem_ready{{device_id="{phone["device_id"]}"}} 1.0' in text


@pytest.mark.slow
def test_a_phone_of_the_settings_is_served_unless_no_phone_is_wanted(tmp_path: Path) -> None:
    with PhoneProcess(tmp_path / "tty") as phone:
        settings = {"modems": {"ports": [str(phone.link)]}}
        with RealShop(tmp_path / "shop", settings=settings) as shop:
            shop.start(arguments=["--no-modem"])
            assert said(shop, "phones", "status") == []
            shop.stop()
            shop.start()
            assert healthy(shop)["port"] == str(phone.link)
