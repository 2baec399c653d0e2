"""GET /local/v1/checkout/{reference}: the address of a transaction's page, or the reason for its absence."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from daemon import wire
from daemon.core.limits import SECOND_US
from daemon.core.payments.checkout import RECEIPT_SHOWN_US
from daemon.runtime.config import Config, Http
from tests.fakes.api import FakeApi, running
from tests.fakes.receipts import mtn

PATH = "/local/v1/checkout"
DAYS_30_S = RECEIPT_SHOWN_US // SECOND_US


async def order(api: FakeApi) -> dict[str, Any]:
    body = {"amount": "25.00", "phone_number": "0244000111"}
    made: dict[str, Any] = (await api.live.post("/v1/transactions/initialize", json=body)).json()
    return made


async def test_it_is_the_address_that_initialize_gave_and_the_page_is_there(api: FakeApi) -> None:
    made = await order(api)
    answer = await api.local.get(f"{PATH}/{made['data']['reference']}")
    names = ("reference", "svc_code", "checkout_url")
    assert answer.json()["data"] == {name: made["data"][name] for name in names}
    assert answer.json()["meta"]["warnings"] == made["meta"]["warnings"]
    # Only the path: the shop of this test listens on another port than its settings say.
    page = await api.live.get(urlsplit(answer.json()["data"]["checkout_url"]).path)
    assert (page.status_code, "25.00" in page.text) == (200, True)


async def test_the_sandbox_sees_no_page_of_real_money(api: FakeApi) -> None:
    reference = (await order(api))["data"]["reference"]
    sandbox = {wire.MODE_HEADER: "test"}
    answer = await api.local.get(f"{PATH}/{reference}", headers=sandbox)
    assert answer.json()["error"]["code"] == "TRANSACTION_NOT_FOUND"


async def test_thirty_days_after_its_end_the_page_is_gone(api: FakeApi) -> None:
    reference = (await order(api))["data"]["reference"]
    api.shop.clock.advance(DAYS_30_S)
    assert (await api.local.get(f"{PATH}/{reference}")).status_code == 200
    api.shop.clock.advance(24 * 3600)
    error = (await api.local.get(f"{PATH}/{reference}")).json()["error"]
    assert (error["code"], error["reason"]) == ("NO_CHECKOUT_PAGE", "ended")


async def test_a_payment_that_nobody_asked_for_has_none(api: FakeApi) -> None:
    await api.shop.read(mtn(900, "KOFI ANTWI BADU", 90_000, "rent", "93214500001"))
    listed = await api.live.get("/v1/transactions", params={"origin": "open"})
    (holder,) = listed.json()["data"]
    error = (await api.local.get(f"{PATH}/{holder['reference']}")).json()["error"]
    assert (error["code"], error["reason"]) == ("NO_CHECKOUT_PAGE", "no_request")


async def test_while_http_is_off_there_is_none_to_open(tmp_path: Path) -> None:
    async with running(tmp_path, Config(http=Http(bind="off"))) as api:
        reference = (await api.shop.request(2500)).reference
        answer = await api.local.get(f"{PATH}/{reference}")
        assert answer.status_code == 409
        assert answer.json()["error"]["reason"] == "http_off"


@pytest.mark.parametrize("reference", ["svc_trx_" + "0" * 32, "7KQ2MX"])
async def test_an_unknown_reference_is_not_found(api: FakeApi, reference: str) -> None:
    answer = await api.local.get(f"{PATH}/{reference}")
    assert answer.json()["error"]["code"] == "TRANSACTION_NOT_FOUND"
