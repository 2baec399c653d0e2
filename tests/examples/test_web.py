"""The example page of a shop without a server, in a real browser, from another origin than momo's."""

import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import copy
from typing import Any

import httpx
import pytest
import trustme
from playwright.async_api import Page

from daemon.core.access.callers import KeyKind
from daemon.runtime.config import Config, Http
from daemon.wire import Mode
from tests.fakes.api import FakeApi, running
from tests.fakes.browser import chromium, needs_browser

pytestmark = [needs_browser, pytest.mark.slow]
WEB = Path(__file__).parents[2] / "examples" / "web"


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[FakeApi]:
    config = Config(http=Http(cors_origins=("http://localhost:*",)))
    async with running(tmp_path, config) as made:
        yield made


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    # No `visiting`: with a route set, Playwright answers preflights itself.
    async with chromium() as browser:
        yield await (await browser.new_context(ignore_https_errors=True)).new_page()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Write nothing."""


@contextmanager
def served(folder: Path, *, tls: bool = False) -> Iterator[int]:
    """Serve a folder on loopback; yield the port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trustme.CA().issue_cert("localhost").configure_cert(context)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def site(api: FakeApi, folder: Path, key: str | None = None) -> Path:
    """Make the page's folder, with settings for this shop."""
    folder.mkdir()
    copy(WEB / "index.html", folder)
    key = key or await api.key(Mode.TEST, kind=KeyKind.PUBLISHABLE)
    settings = (WEB / "settings.js").read_text(encoding="utf-8")
    assert "http://127.0.0.1:8420" in settings
    settings = settings.replace("http://127.0.0.1:8420", api.base_url)
    settings = settings.replace("svc_test_pk_...", key)
    (folder / "settings.js").write_text(settings, encoding="utf-8")
    return folder


async def buy(page: Page, url: str, amount: str = "5.00") -> str:
    """Fill in the page's form, send it, and return the final text of the page."""
    await page.goto(url)
    await page.get_by_label("Amount in GHS").fill(amount)
    await page.get_by_label("Your mobile money number").fill("0241234567")
    await page.get_by_role("button", name="Continue").click()
    said = page.get_by_role("status")
    await page.wait_for_function("!['', 'One moment...'].includes(document.querySelector('[role=status]').textContent)")
    return await said.inner_text()


async def made(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    """Return the transactions of a mode."""
    found: list[dict[str, Any]] = (await client.get("/v1/transactions")).json()["data"]
    return found


async def test_a_page_of_an_allowed_origin_shows_the_code_to_type(api: FakeApi, page: Page, tmp_path: Path) -> None:
    with served(await site(api, tmp_path / "site")) as port:
        said = await buy(page, f"http://localhost:{port}/")
    (transaction,) = await made(api.test)
    assert f"Send GHS 5.00 and type this code as the reference: {transaction['svc_code']}" in said
    link = await page.get_by_role("link", name="How to pay").get_attribute("href")
    assert link is not None
    assert "/pay/" in link


async def test_a_page_served_by_https_takes_live_payments(page: Page, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    with served(tmp_path / "site", tls=True) as port:
        origin = f"https://localhost:{port}"
        async with running(tmp_path / "shop", Config(http=Http(cors_origins=(origin,)))) as api:
            key = await api.key(Mode.LIVE, kind=KeyKind.PUBLISHABLE)
            await site(api, tmp_path / "site", key)
            said = await buy(page, f"{origin}/")
            (transaction,) = await made(api.live)
    assert transaction["svc_code"] in said


async def test_a_page_of_another_origin_makes_no_transaction(api: FakeApi, page: Page, tmp_path: Path) -> None:
    blocked: list[str] = []
    page.on("console", lambda line: blocked.append(line.text))
    with served(await site(api, tmp_path / "site")) as port:
        said = await buy(page, f"http://127.0.0.1:{port}/")
    assert said == "The shop cannot be reached from this page. Please try again."
    assert any("blocked by CORS policy" in line for line in blocked)
    assert await made(api.test) == []


async def test_a_page_with_a_live_key_on_localhost_is_refused(api: FakeApi, page: Page, tmp_path: Path) -> None:
    key = await api.key(Mode.LIVE, kind=KeyKind.PUBLISHABLE)
    with served(await site(api, tmp_path / "site", key)) as port:
        said = await buy(page, f"http://localhost:{port}/")
    assert said == "The shop cannot be reached from this page. Please try again."


async def test_the_page_shows_why_it_was_refused(api: FakeApi, page: Page, tmp_path: Path) -> None:
    with served(await site(api, tmp_path / "site")) as port:
        said = await buy(page, f"http://localhost:{port}/", "1000000.01")
    assert said.startswith("amount: must be digits")
    assert "(req_" in said


async def test_a_repeat_after_a_lost_answer_makes_no_second_transaction(
    api: FakeApi, page: Page, tmp_path: Path
) -> None:
    with served(await site(api, tmp_path / "site")) as port:
        url = f"http://localhost:{port}/"
        await page.add_init_script(
            "const send = window.fetch; let lost = false;"
            "window.fetch = async (...call) => {"
            " const answer = await send(...call);"
            " if (!lost) { lost = true; throw new TypeError('lost'); }"
            " return answer; };"
        )
        assert "cannot be reached" in await buy(page, url)
        await page.get_by_role("button", name="Continue").click()
        await page.get_by_role("link", name="How to pay").wait_for()
    assert len(await made(api.test)) == 1
