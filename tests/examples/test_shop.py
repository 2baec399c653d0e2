"""The example shop page: from the order to the payment, with momo's API."""

import json
import sys
from collections.abc import Iterator
from importlib import util
from pathlib import Path
from types import ModuleType

import pytest

from daemon.core.webhooks.signing import sign
from tests.fakes.api import running
from tests.fakes.real_shop import utc_now

SHOP = Path(__file__).parents[2] / "examples" / "shop" / "app.py"
SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.setenv("DATABASE", str(tmp_path / "shop.db"))
    monkeypatch.setenv("MOMO_WEBHOOK_SECRET", SECRET)
    spec = util.spec_from_file_location("example_shop", SHOP)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    sys.modules["example_shop"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["example_shop"]


def signed(body: bytes, webhook_id: str) -> dict[str, str]:
    now = int(utc_now().timestamp())
    return sign([SECRET], webhook_id=webhook_id, timestamp=now, body=body)


def told(reference: str, status: str, reversed_at: str | None = None) -> bytes:
    """Return the body of a webhook about an order."""
    data = {
        "reference": reference,
        "status": status,
        "actual_amount": "25.00",
        "payer": {"name": "KOFI ANTWI"},
        "reversed_at": reversed_at,
    }
    name = f"{status}{'' if reversed_at is None else 'r'}".lower()
    return json.dumps({"webhook_id": "ocl_" + name.ljust(24, "0"), "data": data}).encode()


def ordered(shop: ModuleType, reference: str = "svc_trx_1") -> str:
    """Put an order into the shop's books, and return its page."""
    with shop.db() as books:
        books.execute(
            "INSERT INTO orders (id, reference, code) VALUES ('1', ?, 'A7K2M9')", [reference]
        )
    return "/orders/1"


def heard(shop: ModuleType, body: bytes) -> None:
    assert (
        shop.app.test_client().post("/momo", data=body, headers=signed(body, "x")).status_code
        == 204
    )


PAID = told("svc_trx_1", "SUCCESS")
TAKEN_BACK = told("svc_trx_1", "SUCCESS", "2026-11-21T08:10:00.000Z")


@pytest.mark.parametrize("events", [(PAID, TAKEN_BACK), (TAKEN_BACK, PAID), (TAKEN_BACK,)])
def test_an_order_whose_money_was_taken_back_is_not_paid_in_whatever_order_it_is_told(
    shop: ModuleType, events: tuple[bytes, ...]
) -> None:
    page = ordered(shop)
    for body in events:
        heard(shop, body)
    assert "<h1>Payment reversed</h1>" in shop.app.test_client().get(page).text


@pytest.mark.parametrize("header", ["t=\u00b2,v1=00", "t={now},v1=\u00e9", "t={now}", ""])
def test_a_garbled_signature_is_refused(shop: ModuleType, header: str) -> None:
    said = header.format(now=int(utc_now().timestamp()))
    answer = shop.app.test_client().post("/momo", data=PAID, headers={"X-Svc-Signature": said})
    assert answer.status_code == 400


async def test_an_order_shows_its_code_and_is_paid_by_the_webhook(
    shop: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio

    home = tmp_path / "momo"
    home.mkdir()
    async with running(home) as api:
        monkeypatch.setenv("MOMO_URL", api.base_url)
        monkeypatch.setenv("MOMO_API_KEY", await api.key())
        client = shop.app.test_client()
        assert b"25.00" in client.get("/").data
        made = await asyncio.to_thread(client.post, "/orders", data={"phone": "0244000111"})
        assert made.status_code == 302
        [request] = (await api.live.get("/v1/transactions")).json()["data"]
        page = client.get(made.headers["Location"])
        assert request["svc_code"] in page.text
        short = told(request["reference"], "PARTIAL")
        assert client.post("/momo", data=short, headers=signed(short, "x")).status_code == 204
        assert "Paid" not in client.get(made.headers["Location"]).text
        body = told(request["reference"], "SUCCESS")
        assert client.post("/momo", data=body).status_code == 400
        assert client.post("/momo", data=body + b" ", headers=signed(body, "x")).status_code == 400
        for _ in range(2):
            assert client.post("/momo", data=body, headers=signed(body, "x")).status_code == 204
        paid = client.get(made.headers["Location"]).text
        assert "<h1>Paid</h1>" in paid
        assert "KOFI ANTWI" in paid
        assert client.get("/orders/none").status_code == 404
