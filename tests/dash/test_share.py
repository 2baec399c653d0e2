"""The second step of `momo open --share`: a phone that trusts the shop's own CA logs in once with the link of the QR code."""

import base64
import hashlib
import ssl
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from msgspec.structs import replace
from playwright.async_api import async_playwright

from daemon.runtime import own_certificate
from daemon.runtime.config import Config, Http
from daemon.runtime.own_certificate import MachineNames
from tests.fakes.api import FakeApi, running
from tests.fakes.browser import CHROMIUM, FLAGS, needs_browser

TILL = MachineNames("till", ("127.0.0.1",))
NOW_S = 1_795_420_800
PHONE = {"X-Forwarded-For": "192.168.1.50"}
"""The header that makes a request one of another device: everything in this test comes from this machine."""
AT_LAST_MS = 60_000


def settings(home: Path) -> Config:
    return replace(Config(), http=Http(tls_cert=own_certificate.server_file(str(home))))


async def link(api: FakeApi) -> str:
    """Return the path of the link that `momo open --share` shows as a QR code."""
    reply = await api.local.post("/local/v1/dashboard-link", json={"anywhere": True})
    parts = urlsplit(reply.json()["data"]["url"])
    assert parts.scheme == "https"
    return f"{parts.path}?{parts.query}"


async def test_a_client_that_trusts_the_ca_is_told_to_stay_with_https(tmp_path: Path) -> None:
    own_certificate.create(str(tmp_path), [], TILL, NOW_S)
    config = settings(tmp_path)
    async with running(tmp_path, config, tls=(config.http.tls_cert, "")) as api:
        trusting = ssl.create_default_context(cadata=own_certificate.ca_certificate(str(tmp_path)).decode())
        base = f"https://{api.listeners.http_address}"
        async with httpx.AsyncClient(base_url=base, verify=trusting, headers=PHONE) as phone:
            for path in ("/dash/login", "/dash", "/dash/static/manifest.json"):
                headers = (await phone.get(path)).headers
                assert "max-age=31536000" in headers["strict-transport-security"], path
            refused = await phone.get("/dash/login", headers={"Host": "evil.example"})
            assert refused.status_code == 421
            entered = await phone.get(await link(api))
            cookie = entered.headers["set-cookie"]
            assert cookie.startswith("__Host-momo_dash_")
            assert "Secure" in cookie


@needs_browser
@pytest.mark.slow
async def test_the_link_of_the_qr_code_logs_a_phone_in_once(tmp_path: Path) -> None:
    own_certificate.create(str(tmp_path), [], TILL, NOW_S)
    config = settings(tmp_path)
    pem = Path(config.http.tls_cert).read_bytes()
    key = x509.load_pem_x509_certificate(pem).public_key()
    spki = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    trusted = base64.b64encode(hashlib.sha256(spki).digest()).decode()
    flags = [flag for flag in FLAGS if not flag.startswith("--host-resolver-rules")]
    flags += [
        "--host-resolver-rules=MAP till.local 127.0.0.1 , MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
        f"--ignore-certificate-errors-spki-list={trusted}",
    ]
    async with running(tmp_path, config, tls=(config.http.tls_cert, "")) as api, async_playwright() as playwright:
        api.shop.env.certificate_names = frozenset({"till.local"})
        base = f"https://till.local:{api.listeners.http_address.rpartition(':')[2]}"
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        try:
            phone = await browser.new_context(base_url=base, extra_http_headers=PHONE)
            page = await phone.new_page()
            path = await link(api)
            await page.goto(path)
            await page.locator("h1").wait_for(timeout=AT_LAST_MS)
            assert page.url == f"{base}/dash/first"
            await page.goto("/dash")
            assert (await page.locator("h1").inner_text()).startswith("Today")
            (cookie,) = await phone.cookies()
            assert (cookie["name"][:16], cookie["secure"]) == ("__Host-momo_dash", True)
            # A second device with the same QR code comes too late.
            other = await browser.new_context(base_url=base, extra_http_headers=PHONE)
            late = await other.new_page()
            await late.goto(path)
            assert "/dash/login" in late.url
            await late.get_by_text("This link was used or is too old").wait_for(timeout=AT_LAST_MS)
        finally:
            await browser.close()
