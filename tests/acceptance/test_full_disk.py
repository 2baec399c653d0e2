"""A full disk: SMS stay on the phone, the API reports it, and everything continues when there is free space again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon import wire
from tests.acceptance.conftest import SHOP_NUMBER
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import SOON_S, RealShop, utc_now, wait_until
from tests.fakes.receipts import mtn_receipts
from tests.fakes.receiver import Receiver
from tests.fakes.small_disk import fill, small_disk

DISK_BYTES = 64 << 20
"""More than the free space that initialize requires, so that writes fail because the disk itself is full."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    with small_disk(tmp_path / "disk", DISK_BYTES) as folder:
        yield folder


def test_a_full_disk_loses_nothing_and_heals(disk: Path, tmp_path: Path, fresh: RealShop) -> None:
    with (
        Receiver(tmp_path / "receiver") as receiver,
        PhoneProcess(tmp_path / "tty") as phone,
        RealShop(
            disk / "shop", phone=phone.link, ca_file=receiver.ca_file, like=fresh,
            short_schedule=True,
        ) as shop,
    ):  # fmt: skip
        # The daemon's log must not need the full disk.
        shop.log = tmp_path / "daemon.log"
        shop.start()
        shop.assign(SHOP_NUMBER)
        receiver.secrets = [shop.add_endpoint(receiver.url())]
        order = shop.request("25.00")
        ballast = fill(disk)

        status, answer = shop.api(
            "POST", wire.Path.INITIALIZE, {"amount": "1.00", "phone_number": "0244123456"}
        )
        assert (status, answer["error"]["code"]) == (503, wire.ErrorCode.UNAVAILABLE)
        assert "the disk is" in answer["error"]["message"]
        # Reading needs no space.
        assert shop.transaction(order["reference"])["status"] == "PENDING"

        receipts = list(mtn_receipts(3, started=utc_now()))
        for receipt in receipts:
            phone.deliver(receipt.pdus)
        said = wait_until(
            lambda: _not_storing(shop), SOON_S, "the status says that nothing is stored"
        )
        assert "disk is full" in said
        assert [entry["pdu"] for entry in phone.state()["stored"]] == [
            pdu for receipt in receipts for pdu in receipt.pdus
        ]
        assert phone.state()["deleted"] == []
        assert shop.rows("SELECT COUNT(*) FROM sms_parts") == [(0,)]

        for path in ballast:
            path.unlink()
        wait_until(phone.is_empty, 60, "the phone is read to the end")
        assert shop.rows("SELECT telco_transaction_id FROM payments ORDER BY 1") == [
            (receipt.telco_id,) for receipt in receipts
        ]
        receiver.wait_for(3, 60)
        wait_until(lambda: _not_storing(shop) is None, SOON_S, "the status is well again")
        # If the check of the minute fell into that time, new transactions wait for the next one.
        wait_until(lambda: _takes_orders(shop), 90, "orders are taken again")
        shop.stop()


def _takes_orders(shop: RealShop) -> bool:
    asked = {"amount": "1.00", "phone_number": "0244123456"}
    return shop.api("POST", wire.Path.INITIALIZE, asked)[0] == 201


def _not_storing(shop: RealShop) -> str | None:
    phones = shop.ask("GET", wire.Path.LOCAL_STATUS)["phones"]
    return next(
        (phone["detail"] for phone in phones if phone["state"] in ("not_storing", "not_deleting")),
        None,
    )
