"""The example web shops, as processes with a real API behind them: every state of an order, and what its page says."""

import asyncio
import json
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Page

from daemon.core.webhooks.signing import sign
from tests.fakes.api import PAY_TO, FakeApi, running
from tests.fakes.browser import chromium, needs_browser
from tests.fakes.head_office import free_port
from tests.fakes.real_shop import utc_now
from tests.fakes.receipts import mtn

EXAMPLES = Path(__file__).parents[2] / "examples"
SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
CALL = "024 999 9999"


@pytest.fixture(scope="session")
def node_modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install what the Express shop needs, as its reader does."""
    folder = tmp_path_factory.mktemp("express")
    shutil.copy(EXAMPLES / "express/package.json", folder)
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("node and npm are not installed")
    # The tests have a home of their own; npm's settings are in the real one.
    environ = {**os.environ, "HOME": pwd.getpwuid(os.getuid()).pw_dir}
    words = [npm, "install", "--silent", "--no-package-lock", "--no-audit", "--no-fund"]
    done = subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"npm cannot install express: {done.stderr[-200:]}")
    return folder / "node_modules"


@pytest.fixture(
    params=[
        "flask",
        pytest.param(
            "php", marks=[pytest.mark.slow, pytest.mark.skipif(not shutil.which("php"), reason="php is not installed")]
        ),
        pytest.param("express", marks=pytest.mark.slow),
    ]
)
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[FakeApi]:
    home = tmp_path / "momo"
    home.mkdir()
    async with running(home) as made:
        yield made


@pytest.fixture
def command(language: str, request: pytest.FixtureRequest, tmp_path: Path) -> tuple[list[str], Path]:
    """Return what starts the shop on the port {port}, and the folder in which it is started."""
    folder = EXAMPLES / language
    if language == "flask":
        return [sys.executable, "-m", "flask", "--app", "app", "run", "--port", "{port}"], folder
    if language == "php":
        return ["php", "-S", "127.0.0.1:{port}", "index.php"], folder
    copy = tmp_path / "express"
    shutil.copytree(folder, copy)
    (copy / "node_modules").symlink_to(request.getfixturevalue("node_modules"))
    return ["node", "app.js"], copy


@pytest.fixture
async def shop(api: FakeApi, command: tuple[list[str], Path], tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """Start the shop, and yield a client of it."""
    words, folder = command
    port = free_port()
    environ = {
        "PATH": os.environ["PATH"],
        "MOMO_URL": api.base_url,
        "MOMO_API_KEY": await api.key(),
        "MOMO_WEBHOOK_SECRET": SECRET,
        "SHOP_PHONE": CALL,
        "SHOP_DATA": str(tmp_path / "orders.json"),
        "DATABASE": str(tmp_path / "shop.db"),
        "PORT": str(port),
    }
    output = (tmp_path / "shop.log").open("w")
    process = subprocess.Popen(  # noqa: ASYNC220 -- it only starts
        [word.format(port=port) for word in words], cwd=folder, env=environ, stdout=output, stderr=output
    )
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            for _ in range(300):
                try:
                    await client.get("/")
                    break
                except httpx.TransportError:
                    assert process.poll() is None, (tmp_path / "shop.log").read_text()
                    await asyncio.sleep(0.1)
            yield client
    finally:
        process.terminate()
        process.wait(20)
        output.close()


@pytest.fixture
async def order(api: FakeApi, shop: httpx.AsyncClient) -> tuple[str, str, str]:
    """Order something; return the address of the order's page, the transaction's reference and its code."""
    made = await shop.post("/orders", data={"phone": "0244000111"})
    assert made.status_code == 302, made.text
    [found] = (await api.live.get("/v1/transactions")).json()["data"]
    return made.headers["location"], found["reference"], found["svc_code"]


async def heading(shop: httpx.AsyncClient, page: str) -> str:
    text = (await shop.get(page)).text
    return text.partition("<h1>")[2].partition("</h1>")[0]


async def test_an_order_shows_number_amount_and_code_and_where_every_step_is(
    shop: httpx.AsyncClient, order: tuple[str, str, str]
) -> None:
    page, _, code = order
    answer = await shop.get(page)
    assert await heading(shop, page) == "Pay GHS 25.00"
    assert PAY_TO["phone_number"] in answer.text
    assert f"<strong>{code}</strong>" in answer.text
    assert "/pay/" in answer.text
    assert answer.headers.get("refresh") or "http-equiv" in answer.text


@pytest.mark.parametrize(
    ("amount", "title", "says"),
    [
        (2500, "Paid", "25.00"),
        (2600, "Paid", "more than GHS 25.00"),
        (2000, "Something is missing", f"20.00 of GHS 25.00. Do not start again. Please call us: {CALL}"),
    ],
)
async def test_money_is_shown_and_a_short_payment_does_not_ask_for_another(
    api: FakeApi, shop: httpx.AsyncClient, order: tuple[str, str, str], amount: int, title: str, says: str
) -> None:
    page, _, code = order
    await api.shop.read(mtn(amount, "KOFI ANTWI BADU", 90_000, code, "93214500001"))
    assert await heading(shop, page) == title
    text = (await shop.get(page)).text
    assert says in " ".join(text.split())
    assert "as the reference" not in text


async def test_an_order_that_ended_offers_a_new_one(
    api: FakeApi, shop: httpx.AsyncClient, order: tuple[str, str, str]
) -> None:
    page, reference, _ = order
    assert (await api.live.post(f"/v1/transactions/{reference}/cancel")).status_code == 200
    assert await heading(shop, page) == "This order has ended"
    assert CALL in (await shop.get(page)).text


async def test_a_number_that_is_none_is_told_beside_what_was_typed(shop: httpx.AsyncClient) -> None:
    answer = await shop.post("/orders", data={"phone": '12<b>"'})
    assert answer.status_code == 422
    assert "This is not a mobile money number" in answer.text
    assert "<b>" not in answer.text
    assert 'value="12' in answer.text


async def test_an_order_that_momo_refuses_is_refused_and_a_page_says_that_it_cannot_see(
    api: FakeApi, shop: httpx.AsyncClient, order: tuple[str, str, str]
) -> None:
    page, _, _ = order
    for key in (await api.local.get("/v1/keys")).json()["data"]:
        await api.local.delete(f"/v1/keys/{key['id']}")
    answer = await shop.post("/orders", data={"phone": "0244000111"})
    assert answer.status_code == 422
    assert "Please try again" in answer.text
    assert await heading(shop, page) == "One moment"


def webhook(reference: str, status: str, reversed_at: str | None = None, kind: str = "completed") -> bytes:
    """Return the body of a webhook about an order."""
    name = f"{status}{'' if reversed_at is None else 'r'}{kind[0]}".lower()
    data = {"reference": reference, "status": status, "reversed_at": reversed_at}
    webhook_id = "ocl_" + name.ljust(24, "0")
    return json.dumps({"webhook_id": webhook_id, "type": f"transaction.{kind}", "data": data}).encode()


async def send(shop: httpx.AsyncClient, body: bytes, signature: str | None = None) -> int:
    now = int(utc_now().timestamp())
    headers = sign([SECRET], webhook_id="x", timestamp=now, body=body)
    if signature is not None:
        headers["X-Svc-Signature"] = signature.format(now=now)
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    answer = await shop.post("/momo", content=body, headers=raw)
    return answer.status_code


def delivered(language: str, folder: Path) -> tuple[bool, bool]:
    """Return whether the shop's only order is delivered, and whether it is marked as reversed."""
    if language == "flask":
        import sqlite3

        with sqlite3.connect(folder / "shop.db") as books:
            found = books.execute("SELECT delivered, reversed FROM orders").fetchall()
        return bool(found[0][0]), bool(found[0][1])
    [found] = json.loads((folder / "orders.json").read_text())["orders"].values()
    return found["delivered"], found["reversed"]


async def test_a_signed_webhook_delivers_once_and_a_reversal_in_either_order_stops_it(
    language: str, shop: httpx.AsyncClient, order: tuple[str, str, str], tmp_path: Path
) -> None:
    _, reference, _ = order
    paid, short = webhook(reference, "SUCCESS"), webhook(reference, "PARTIAL")
    assert await send(shop, short) == 204
    assert delivered(language, tmp_path) == (False, False)
    for wrong in ("t=\u00b2,v1=00", "t={now}", "", "t={now},v1=" + "0" * 64):
        assert await send(shop, paid, wrong) == 400
    assert delivered(language, tmp_path) == (False, False)
    for _ in range(2):
        assert await send(shop, paid) == 204
    assert delivered(language, tmp_path) == (True, False)
    assert await send(shop, webhook(reference, "SUCCESS", "2026-11-21T08:10:00.000Z", "reversed")) == 204
    assert delivered(language, tmp_path)[1]


async def test_a_reversal_that_arrives_first_keeps_the_order_undelivered(
    language: str, shop: httpx.AsyncClient, order: tuple[str, str, str], tmp_path: Path
) -> None:
    _, reference, _ = order
    assert await send(shop, webhook(reference, "SUCCESS", "2026-11-21T08:10:00.000Z", "reversed")) == 204
    assert await send(shop, webhook(reference, "SUCCESS")) == 204
    assert delivered(language, tmp_path) == (False, True)


@pytest.fixture
async def phone() -> AsyncIterator[Page]:
    async with chromium() as browser:
        context = await browser.new_context(viewport={"width": 390, "height": 844})
        yield await context.new_page()


@needs_browser
@pytest.mark.slow
async def test_on_a_phone_number_and_code_are_on_the_first_screen(
    shop: httpx.AsyncClient, order: tuple[str, str, str], phone: Page
) -> None:
    page, _, code = order
    await phone.goto(f"{shop.base_url}".rstrip("/") + page)
    for text in (PAY_TO["phone_number"], code):
        box = await phone.get_by_text(text).bounding_box()
        assert box is not None
        assert 0 <= box["y"] < 844 - box["height"]
    assert await phone.evaluate("document.documentElement.scrollWidth") <= 390
