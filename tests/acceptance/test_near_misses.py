"""Payments close to a transaction, with the real programs: one flag accepts the suggestion, and a name is reviewed
once.
"""

import pytest

from tests.acceptance.conftest import Scene
from tests.acceptance.test_reviews import momo, waiting
from tests.fakes.real_shop import SOON_S, utc_now, wait_until
from tests.fakes.receipts import mtn

NAME = "KOFI ANTWI BADU"


@pytest.mark.slow
def test_a_mistyped_code_is_taken_by_number_and_a_name_is_approved_once(scene: Scene) -> None:
    scene.open_for_business()
    shop = scene.shop
    order = shop.request("25.00")
    code = order["svc_code"]
    swapped = code[:4] + code[5] + code[4] if code[4] != code[5] else code[:-1]
    now = utc_now()
    scene.phone.deliver(
        mtn(2500, "YAW OWUSU ANSAH", 90_000, swapped, "93214500001", sent_at=now).pdus
    )
    [review] = waiting(shop, 1)
    assert review["reason"] == "near_miss"
    assert [one["reference"] for one in review["suggestions"]] == [order["reference"]]
    assert shop.transaction(order["reference"])["status"] == "PENDING"
    # It is forwarded as a sale of its own; no review is open.
    wait_until(lambda: scene.receiver.requests or None, SOON_S, "the webhook of the sale")
    momo(shop, "review", "approve", review["id"], "--suggested", "--notes", "she showed it")
    assert shop.transaction(order["reference"])["status"] == "SUCCESS"
    momo(shop, "review", "approve", review["id"], exits=5)
    story = momo(shop, "tx", "show", order["reference"], "--events")["events"]
    assert "suggestion.accepted" in [entry["type"] for entry in story]

    expected = {"expected_payer_phone": "0244000111"}
    first, second = shop.request("25.00", **expected), shop.request("25.00", **expected)
    for number, asked in enumerate((first, second), 2):
        receipt = mtn(
            2500, NAME, 87_500 + 2500 * number, asked["svc_code"], f"9321450000{number}", sent_at=now,
            concatenation=number,
        )  # fmt: skip
        scene.phone.deliver(receipt.pdus)
        if asked is first:
            [held] = waiting(shop, 1)
            momo(shop, "review", "approve", held["id"], "--notes", "his wife's number")
            [payer] = momo(shop, "review", "payers", "list")["data"]
            assert (payer["name"], payer["phone_number"]) == (NAME, "+233244000111")

    def paid() -> bool | None:
        return shop.transaction(second["reference"])["status"] == "SUCCESS" or None

    wait_until(paid, SOON_S, "the second order, without a person")
    momo(shop, "review", "payers", "revoke", payer["id"])
    assert momo(shop, "review", "payers", "list")["data"] == []
