"""Reviews with the real programs: SMS on a phone, the owner at the command line, webhooks out."""

import json
from typing import Any

import pytest

from daemon.modem.codec.pdu_encode import encode_deliver
from tests.acceptance.conftest import Scene
from tests.fakes.real_shop import RealShop, utc_now, wait_until
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, mtn

NAME = "KOFI ANTWI BADU"


def momo(shop: RealShop, *arguments: str, exits: int = 0) -> Any:
    """Run a command with `--json` and return its document."""
    done = shop.momo(*arguments, "--json")
    assert done.returncode == exits, done.stdout + done.stderr
    return json.loads(done.stdout)


def waiting(shop: RealShop, count: int) -> list[dict[str, Any]]:
    """Wait until `count` reviews are open, and return them, newest first."""

    def look() -> list[dict[str, Any]] | None:
        found: list[dict[str, Any]] = momo(shop, "review", "list")["data"]
        return found if len(found) == count else None

    return wait_until(look, 20, f"{count} reviews")


@pytest.mark.slow
def test_webhooks_go_out_only_after_the_operator_decided(scene: Scene) -> None:
    scene.open_for_business()
    shop = scene.shop
    order = shop.request("25.00", expected_payer_phone="0244000111", send_sms_to_payer=False)
    given_up = shop.request("25.00", send_sms_to_payer=False)
    assert momo(shop, "tx", "cancel", given_up["reference"])["data"]["status"] == "CANCELLED"
    now = utc_now()
    held = mtn(2500, NAME, 90_000, order["svc_code"], "93214500001", sent_at=now)
    late = mtn(2500, NAME, 92_500, given_up["svc_code"], "93214500002", sent_at=now, concatenation=1)
    text = f"Money Transfer Deposit received for GHS 700.00 from {NAME} Token: 998469693069 Transaction ID: 93214500003. TRANSACTION FEE IS 0"
    forged = encode_deliver(MTN_SENDER, text, now, smsc=MTN_SMSC, reference=2)
    for pdus in (held.pdus, late.pdus, forged):
        scene.phone.deliver(pdus)
        waiting(shop, (held.pdus, late.pdus, forged).index(pdus) + 1)
    by_reason = {one["reason"]: one for one in waiting(shop, 3)}
    assert set(by_reason) == {"payer_unknown", "cancelled_request", "doubtful_message"}
    assert shop.transaction(order["reference"])["status"] == "MANUAL_REVIEW"
    assert scene.receiver.requests == []

    momo(shop, "review", "approve", by_reason["payer_unknown"]["id"], "--notes", "seen")
    momo(shop, "review", "reject", by_reason["cancelled_request"]["id"], "--notes", "sent back")
    stranger = by_reason["doubtful_message"]["id"]
    wrong, right = shop.home / "wrong", shop.home / "right"
    wrong.write_text("correct horse 43\n")
    right.write_text("correct horse 42\n")
    refused = momo(shop, "review", "approve", stranger, "--yes", "--password-file", str(wrong), exits=4)
    assert (refused["error"]["code"], refused["attempts_remaining"]) == ("INVALID_PASSWORD", 4)
    shop.kill()
    shop.start()
    momo(shop, "review", "approve", stranger, "--yes", "--password-file", str(right))
    momo(shop, "review", "approve", stranger, exits=5)
    assert shop.rows("SELECT COUNT(*) FROM password_attempts") == [(2,)]

    def forwarded() -> list[str] | None:
        kinds = [json.loads(request.body)["data"] for request in scene.receiver.requests]
        return [data["reference"] for data in kinds] if len(kinds) >= 2 else None

    references = wait_until(forwarded, 20, "two webhooks")
    assert order["reference"] in references
    assert given_up["reference"] not in references
    assert shop.transaction(order["reference"])["status"] == "SUCCESS"
    assert shop.transaction(given_up["reference"])["status"] == "CANCELLED"
    story = momo(shop, "tx", "show", order["reference"], "--events")["events"]
    assert [entry["type"] for entry in story][:6] == [
        "transaction.created",
        "review.opened",
        "payer.approved",
        "transaction.verified",
        "transaction.reconciled",
        "review.approved",
    ]
    assert momo(shop, "review", "list")["data"] == []
    assert shop.rows("SELECT standing, COUNT(*) FROM payments GROUP BY standing") == [("open", 2), ("used", 1)]
