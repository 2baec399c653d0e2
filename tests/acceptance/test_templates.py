"""A network changes its wording: the shop adds the new one to a file, confirms one message, and is paid, without a
restart.
"""

import json
from typing import Any

import pytest

from daemon.modem.codec.pdu_encode import encode_deliver
from tests.acceptance.conftest import Scene
from tests.fakes.real_shop import RealShop, utc_now, wait_until
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC
from tests.parsers.test_own import FILE


def momo(shop: RealShop, *arguments: str, exits: int = 0) -> Any:
    done = shop.momo(*arguments, "--json")
    assert done.returncode == exits, done.stdout + done.stderr
    return json.loads(done.stdout)


def text(code: str, telco_id: str, balance: str) -> str:
    return f"You got GHS 25.00 from KOFI ANTWI BADU. Wallet: GHS {balance}. Note: {code}. Token: {telco_id}. Thanks for using MoMo."


def deliver(scene: Scene, number: int, body: str) -> None:
    scene.phone.deliver(
        encode_deliver(MTN_SENDER, body, utc_now(), smsc=MTN_SMSC, reference=number)
    )


def messages(shop: RealShop, state: str, count: int) -> list[dict[str, Any]]:
    def look() -> list[dict[str, Any]] | None:
        found: list[dict[str, Any]] = momo(shop, "messages", "list", "--state", state)["data"]
        return found if len(found) == count else None

    return wait_until(look, 20, f"{count} messages {state}")


def problems(shop: RealShop, count: int, wordings: int) -> list[dict[str, Any]]:
    def look() -> list[list[dict[str, Any]]]:
        state = momo(shop, "status")["data"]["templates"]
        good = (len(state["problems"]), state["wordings"]) == (count, wordings)
        return [state["problems"]] if good else []

    [found] = wait_until(look, 20, f"{count} problems, {wordings} wordings")
    return found


@pytest.mark.slow
def test_a_new_wording_is_learnt_confirmed_and_pays_without_a_restart(scene: Scene) -> None:
    scene.open_for_business()
    shop = scene.shop
    order = shop.request("25.00")
    deliver(scene, 1, text("none", "93214500001", "925.00"))
    [unread] = messages(shop, "unparsed", 1)
    sample = momo(shop, "messages", "sample", unread["id"], "--redact")["data"]
    assert "KOFI" not in json.dumps(sample)

    # A bad file stops neither the daemon nor the good file; it is reported with its line until it is corrected.
    folder = shop.home / "templates"
    (folder / "bad.toml").write_text(FILE.replace("{amount}", "{amout}"))
    (folder / "mtn.toml").write_text(FILE)
    [problem] = problems(shop, 1, 1)
    assert (problem["file"], problem["line"]) == ("bad.toml", 6)
    assert "bad.toml:6: unknown field {amout}" in shop.momo("status", "-o", "table").stderr
    (folder / "bad.toml").unlink()
    assert problems(shop, 0, 1) == []

    dry = momo(shop, "messages", "reparse", "--all-unparsed", "--dry-run")["data"]
    assert dry["counts"] == {"would_be_read": 1}
    assert momo(shop, "messages", "reparse", "--all-unparsed")["data"]["counts"] == {"held": 1}
    assert momo(shop, "messages", "reparse", "--all-unparsed")["data"]["read"] == []
    password = shop.home / "owner"
    password.write_text("not it\n")
    confirm = ("messages", "templates", "confirm", unread["id"], "--password-file", str(password))
    momo(shop, *confirm, exits=4)
    password.write_text("correct horse 42\n")
    assert momo(shop, *confirm)["data"]["sender"] == MTN_SENDER

    deliver(scene, 2, text(order["svc_code"], "93214500101", "950.00"))
    wait_until(
        lambda: shop.transaction(order["reference"])["status"] == "SUCCESS" or None, 20, "paid"
    )
    listed = momo(shop, "messages", "templates", "list")["data"]["files"][0]["wordings"][0]
    assert [one["sender"] for one in listed["confirmed"]] == [MTN_SENDER]
