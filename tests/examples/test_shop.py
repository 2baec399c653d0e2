"""The example shop page: from the order to the money, with momo's API at its back."""

import json
import sys
from collections.abc import Iterator
from importlib import util
from pathlib import Path
from types import ModuleType

import pytest

from daemon.core.signing import sign
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


def completed(reference: str, status: str) -> bytes:
    data = {
        "reference": reference,
        "status": status,
        "actual_amount": "25.00",
        "payer": {"name": "KOFI ANTWI"},
    }
    event = {"webhook_id": "ocl_" + status.lower().ljust(24, "0"), "data": data}
    return json.dumps(event).encode()


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
        short = completed(request["reference"], "PARTIAL")
        assert client.post("/momo", data=short, headers=signed(short, "x")).status_code == 204
        assert "Paid" not in client.get(made.headers["Location"]).text
        body = completed(request["reference"], "SUCCESS")
        assert client.post("/momo", data=body).status_code == 400
        assert client.post("/momo", data=body + b" ", headers=signed(body, "x")).status_code == 400
        for _ in range(2):
            assert client.post("/momo", data=body, headers=signed(body, "x")).status_code == 204
        paid = client.get(made.headers["Location"]).text
        assert "<h1>Paid</h1>" in paid
        assert "KOFI ANTWI" in paid
        assert client.get("/orders/none").status_code == 404
