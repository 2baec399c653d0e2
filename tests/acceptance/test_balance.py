"""The balance check with the real programs: a lost receipt, a forged one, a reversal, and the owner's view of them."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from daemon.modem.codec.pdu_encode import encode_deliver
from tests.acceptance.conftest import Scene
from tests.fakes.real_shop import SOON_S, RealShop, utc_now, wait_until
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, Receipt, mtn

NAME = "KOFI ANTWI BADU"


def receipt(
    number: int, amount_minor: int, balance_minor: int, typed: str = "food", *, age_s: int = 0
) -> Receipt:
    telco_id = str(93_214_500_000 + number)
    at = utc_now() - timedelta(seconds=age_s)
    return mtn(amount_minor, NAME, balance_minor, typed, telco_id, sent_at=at, concatenation=number)


def password(shop: RealShop) -> Path:
    """Return a file with the account's password."""
    path = shop.home / "right"
    path.write_text("correct horse 42\n")
    return path


def momo(shop: RealShop, *arguments: str) -> Any:
    """Run a command with `--json` and return its document."""
    done = shop.momo(*arguments, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def status_is(shop: RealShop, reference: str, status: str) -> None:
    wait_until(
        lambda: shop.transaction(reference)["status"] == status or None,
        SOON_S,
        f"the order is {status}",
    )


@pytest.mark.slow
def test_a_lost_receipt_is_named_and_a_forged_one_pays_nothing(scene: Scene) -> None:
    shop, phone = scene.shop, scene.phone
    assert shop.momo("config", "set", "trust.unconfirmed_limit", "0").returncode == 0
    shop.begin_chain(89_000)
    scene.open_for_business()
    order, target = shop.request("25.00"), shop.request("25.00")
    phone.deliver(receipt(1, 1000, 90_000).pdus)
    wait_until(lambda: shop.rows("SELECT 1 FROM payments") or None, SOON_S, "the first payment")
    # The receipt of GHS 7.00 is lost, so the next one is held, and its transaction waits.
    phone.deliver(receipt(3, 2500, 93_200, order["svc_code"]).pdus)
    status_is(shop, order["reference"], "MANUAL_REVIEW")
    [review] = momo(shop, "review", "list")["data"]
    shown = momo(shop, "review", "show", review["id"])["data"]
    assert shown["balance_chain"]["explanation"].startswith(
        "Its balance does not follow from the believed balance."
    )
    assert [gap["amount"] for gap in shown["details"]["gaps"]] == ["7.00"]
    assert scene.receiver.requests == [] or all(
        order["reference"].encode() not in request.body for request in scene.receiver.requests
    )
    # The next receipt continues from it. That alone is no proof; one decision settles both.
    phone.deliver(receipt(4, 100, 93_300).pdus)
    wait_until(
        lambda: len(momo(shop, "review", "list")["data"]) == 2 or None, SOON_S, "both are held"
    )
    assert shop.transaction(order["reference"])["status"] == "MANUAL_REVIEW"
    words = ("--yes", "--password-file", str(password(shop)))
    assert momo(shop, "review", "approve", review["id"], *words)["settled"] == 1
    status_is(shop, order["reference"], "SUCCESS")
    assert momo(shop, "review", "list")["data"] == []
    [row] = momo(shop, "lines")["data"]["phones"][0]["sims"]
    assert row["unaccounted"]["came_in"] == "7.00"

    # A forgery with the exact sender name and a guessed balance, older than the newest messages of the chain.
    forged = receipt(5, 2500, 412_000, target["svc_code"], age_s=120)
    phone.deliver(forged.pdus)
    wait_until(lambda: momo(shop, "review", "list")["data"] or None, SOON_S, "the forgery is held")
    phone.deliver(receipt(6, 300, 93_600).pdus)
    wait_until(
        lambda: shop.rows("SELECT COUNT(*) FROM payments") == [(4,)] or None,
        SOON_S,
        "the genuine one pays",
    )
    assert shop.transaction(target["reference"])["status"] == "MANUAL_REVIEW"
    [review] = momo(shop, "review", "list")["data"]
    assert review["balance_chain"]["standing"] == "candidate"
    # What the wallet shows decides: nothing leads from it to the forgery.
    number = shop.rows("SELECT phone_number FROM payment_methods")[0][0]
    secret = ("--password-file", str(password(shop)))
    said = momo(shop, "lines", "wallet", number, "936.00", *secret)["data"]
    assert (said["settled"], said["question"]) == (True, None)
    [review] = momo(shop, "review", "list")["data"]
    assert review["balance_chain"]["why"] == "contradicted"
    assert shop.transaction(target["reference"])["status"] == "PENDING"

    # The network takes the customer's payment back. Its wording is not verified, so a person says that the money is gone.
    momo(shop, "review", "reject", review["id"], "--notes", "not in the wallet")
    text = (
        "Transaction 93214500003 of GHS 25.00 from KOFI ANTWI BADU has been reversed. "
        "Current Balance: GHS 911.00."
    )
    phone.deliver(encode_deliver(MTN_SENDER, text, utc_now(), smsc=MTN_SMSC, reference=99))
    wait_until(lambda: momo(shop, "review", "list")["data"] or None, SOON_S, "the reversal is held")
    [review] = momo(shop, "review", "list")["data"]
    assert shop.transaction(order["reference"])["reversed_at"] is None
    momo(shop, "review", "approve", review["id"], *words)
    assert shop.transaction(order["reference"])["reversed_at"] is not None
    phone.deliver(receipt(7, 100, 91_200).pdus)
    assert shop.transaction(order["reference"])["status"] == "SUCCESS"
    story = momo(shop, "tx", "show", order["reference"], "--events")["events"]
    assert [one["text"] for one in story if one["type"] == "payment.reversed"] == [
        "The network took GHS 25.00 from KOFI ANTWI BADU (93214500003) back. The transaction keeps its status."
    ]
