"""Secrets and privacy: SMS are read without the master key, and the log names no customer and no key."""

import base64
from pathlib import Path

import pytest

from daemon import wire
from tests.acceptance.conftest import Scene
from tests.fakes.real_shop import RealShop, utc_now, wait_until
from tests.fakes.receipts import Receipt, mtn, telecel
from tests.fakes.receiver import Answer


def _paid(code: str) -> Receipt:
    return mtn(2500, "KOFI AMOS MENSAH", 50_000, code, "93214500001", sent_at=utc_now())


def _states(shop: RealShop) -> list[tuple[str, str | None]]:
    return [(item["status"], item["waiting"]) for item in shop.ask("GET", wire.Path.DELIVERIES)]


def _without_key(scene: Scene) -> str:
    """Deliver a payment while the master key is unavailable; return the transaction."""
    order = scene.shop.request("25.00")
    scene.phone.deliver(_paid(order["svc_code"]).pdus)
    wait_until(lambda: _states(scene.shop) == [("pending", "secrets_locked")] * 2, 20, "they wait")
    assert scene.shop.transaction(order["reference"])["status"] == "SUCCESS"
    assert scene.shop.ask("GET", wire.Path.LOCAL_STATUS)["secrets"] == "locked"
    assert scene.receiver.requests == []
    # The SMS is deleted after the payment is durable.
    wait_until(lambda: not scene.phone.state()["stored"], 20, "the phone is read to the end")
    reference: str = order["reference"]
    return reference


def _delivered_with_key(scene: Scene) -> None:
    scene.receiver.wait_for(2, 60)
    wait_until(lambda: _states(scene.shop) == [("delivered", None)] * 2, 20, "all is delivered")
    assert [request.verified for request in scene.receiver.requests] == [True, True]
    counts = [item["attempt_count"] for item in scene.shop.ask("GET", wire.Path.DELIVERIES)]
    assert counts == [1, 1], "waiting for the key used up no attempt"


def test_without_the_master_key_sms_are_read_and_webhooks_wait_for_it(scene: Scene) -> None:
    scene.open_for_business()
    scene.shop.stop()
    key = Path(scene.shop.places.master_key)
    hidden = key.with_name("hidden")
    key.rename(hidden)
    scene.shop.start()
    _without_key(scene)
    hidden.rename(key)
    _delivered_with_key(scene)


def _problems(shop: RealShop) -> list[str]:
    found = shop.ask("GET", wire.Path.LOCAL_STATUS)["problems"]
    return [one["text"] for one in found if one["cause"] == "secrets_locked"]


@pytest.mark.slow
@pytest.mark.parametrize("other", [False, True], ids=["no key", "another key"])
def test_a_restore_without_its_key_is_told_and_webhooks_go_when_the_key_is_there(scene: Scene, *, other: bool) -> None:
    shop = scene.shop
    scene.open_for_business()
    assert shop.program("backup", "create", "--json").returncode == 0
    shop.stop()
    key = Path(shop.places.master_key)
    hidden = key.rename(key.with_name("hidden"))
    if other:
        key.write_text(base64.b64encode(b"k" * 32).decode())
        key.chmod(0o600)
    done = shop.momo("restore", "--confirm", "Ama Provisions", timeout_s=60)
    assert done.returncode == 0, done.stderr
    assert "Webhooks wait until the master key is here too" in done.stderr
    shop.start()
    order = shop.request("25.00")
    scene.phone.deliver(_paid(order["svc_code"]).pdus)
    wait_until(lambda: _problems(shop), 20, "it is told")
    wait_until(lambda: any(" 2 wait" in one for one in _problems(shop)), 20, "they are counted")
    shop.stop()  # a key is read once
    hidden.rename(key)
    shop.start()
    _delivered_with_key(scene)
    wait_until(lambda: not _problems(shop), 20, "the fault ends")


@pytest.mark.slow
def test_a_master_key_that_others_may_read_is_not_used_until_that_is_mended(scene: Scene) -> None:
    scene.open_for_business()
    scene.shop.stop()
    key = Path(scene.shop.places.master_key)
    key.chmod(0o644)
    scene.shop.start()
    _without_key(scene)
    key.chmod(0o600)
    _delivered_with_key(scene)


def test_the_log_names_no_customer_no_message_and_no_secret(scene: Scene) -> None:
    shop, phone = scene.shop, scene.phone
    scene.receiver.script(Answer(500, body=b"ADWOA CANARY said hello"), Answer(404))
    shop.start(arguments=["--log-json"])
    shop.assign("0244124567", name="NAANA CANARY")
    secret = shop.add_endpoint(scene.receiver.url("/hook?token=canarytoken"))
    order = shop.request(
        "25.00",
        "0249998887",
        customer_name="ADWOA CANARY",
        description="canary cloth",
        client_reference="canary-client",
        meta={"note": "canary meta"},
    )
    now = utc_now()
    receipts = [
        mtn(2500, "ADWOA CANARY QUAYE", 50_000, order["svc_code"], "93214500001", sent_at=now),
        mtn(700, "KOFI CANARY", 50_700, "canary typed this in the box", "93214500002",
            concatenation=2, sent_at=now),
        # Another network's SMSC, so it is not trusted; its sender and payer must not be logged.
        telecel(900, "YAW CANARY", 9_000, "canary", "0000015214500000",
                payer_phone="233209998887", concatenation=3, sent_at=now),
    ]  # fmt: skip
    for receipt in receipts:
        phone.deliver(receipt.pdus)
    phone.fault(noise='+CUSD: 0,"CANARY 233249998887"')
    wait_until(lambda: shop.rows("SELECT COUNT(*) FROM messages") == [(3,)], 20, "all are read")
    scene.receiver.wait_for(4)
    _knock(shop, secret)
    shop.stop()

    said = shop.said()
    assert said.count("\n") > 5
    secrets = [secret, *_keys(shop)]
    for private in (
        "CANARY", "canary", "249998887", "209998887", "244124567", order["svc_code"],
        *secrets, *(value[-16:] for value in secrets), *(pdu for r in receipts for pdu in r.pdus),
    ):  # fmt: skip
        assert private not in said, f"{private!r} is in the log"


def _keys(shop: RealShop) -> list[str]:
    master = Path(shop.places.master_key).read_text(encoding="ascii").strip()
    return [shop.keys.api, shop.keys.test_api, shop.keys.webhook_secret, master, base64.b64decode(master).hex()]


def _knock(shop: RealShop, secret: str) -> None:
    """Make refused or odd requests with private data in every place of them."""
    odd = {"amount": "canary", "phone_number": "0249998887", "canary": secret}
    for method, path, body in (
        ("POST", wire.Path.INITIALIZE, odd),
        ("GET", f"/v1/transactions/canary?key={secret}", None),
        ("GET", "/v1/transactions/by-client-ref/canary-client", None),
        ("POST", "/v1/canary", {"secret": secret}),
        ("POST", wire.Path.ENDPOINTS, {"url": f"https://canary:{secret}@localhost/"}),
    ):
        headers = {"Authorization": f"Bearer {shop.keys.api}", "X-Request-Id": "canary"}
        shop.api(method, path, body, headers=headers)
