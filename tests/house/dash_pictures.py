"""The pictures of docs/dashboard.md: `make dash-pictures` takes them from a real run.

The throw-away shop of `tests/house/pictures.py` with one more customer who has not paid, and a receipt whose balance does not fit,
so that somebody has to decide.
"""

import asyncio
import datetime
import tempfile
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Browser

from daemon.demo.shop import Shop
from daemon.modem.codec.pdu_encode import encode_deliver
from tests.fakes.browser import chromium
from tests.fakes.receipts import MTN_SENDER, mtn_receipt
from tests.house import pictures
from tests.house.markdown import ROOT

FOLDER: Final = ROOT / "docs/img/dash"
PHONE: Final = (360, 740)
DESK: Final = (1280, 720)
LOGGED_IN: Final = "/dash/account"
Taken = tuple[str, str, tuple[int, int], str, str]
PICTURES: Final[tuple[Taken, ...]] = (
    # file, address, window, colours, language
    ("now", "/dash", DESK, "light", "en"),
    ("now-phone", "/dash", PHONE, "light", "en"),
    ("now-dark", "/dash", PHONE, "dark", "en"),
    ("now-french", "/dash", PHONE, "light", "fr"),
    ("till", "/dash/till", PHONE, "light", "en"),
    ("till-code", "/dash/till/{order}", PHONE, "light", "en"),
    ("till-french", "/dash/till", PHONE, "dark", "fr"),
    ("orders", "/dash/transactions", DESK, "light", "en"),
    ("payments", "/dash/payments", DESK, "light", "en"),
    ("payment", "/dash/payments/{payment}", DESK, "light", "en"),
    ("review", "/dash/review", DESK, "light", "en"),
    ("review-dark", "/dash/review", PHONE, "dark", "en"),
    ("lines", "/dash/lines", PHONE, "light", "en"),
    ("messages", "/dash/messages", PHONE, "light", "en"),
    ("webhooks", "/dash/webhooks", DESK, "dark", "en"),
    ("deliveries", "/dash/deliveries", PHONE, "light", "en"),
    ("day", "/dash/day", DESK, "light", "en"),
    ("health", "/dash/health", PHONE, "light", "en"),
    ("journal", "/dash/journal", PHONE, "light", "en"),
    ("settings", "/dash/settings", PHONE, "light", "en"),
    ("users", "/dash/users", PHONE, "light", "en"),
    ("keys", "/dash/keys", PHONE, "light", "en"),
    ("poster", "/dash/poster", PHONE, "light", "en"),
)


def doubt(shop: Shop) -> str:
    """Make an order that waits and a receipt for another one that does not fit; return the reference of the first."""
    waits = shop.momo("init", "32.50", "--phone", "0244765432")
    order = shop.momo("init", "55.00", "--phone", "0244123987")["data"]
    text = mtn_receipt(5500, "EFUA SARPONG", 9_900_000, order["svc_code"], "99990000017")
    now = datetime.datetime.now(datetime.UTC)  # noqa: TID251  # the network's clock, in a picture
    shop.deliver_sms(encode_deliver(MTN_SENDER, text, now, smsc="+447700900123", reference=99))
    reference: str = waits["data"]["reference"]
    return reference


async def take(browser: Browser, address: str, shop: Shop, order: str, into: Path) -> None:
    """Take all pictures."""
    password = (shop.home / "password").read_text().strip()
    context = await browser.new_context(base_url=address)
    page = await context.new_page()
    await page.goto("/dash/login")
    await page.get_by_label("Name").fill("owner")
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Log in").click()
    await page.locator(".sum").wait_for()
    state: Any = await context.storage_state()
    await page.goto("/dash/payments")
    payment = await page.locator("main a[href^='/dash/payments/']").first.get_attribute("href")
    await context.close()
    places = {"order": order, "payment": (payment or "").rpartition("/")[2]}
    language = "en"
    for name, path, (width, height), scheme, wanted in PICTURES:
        window: Any = {"width": width, "height": height}
        context = await browser.new_context(
            base_url=address,
            storage_state=state,
            viewport=window,
            color_scheme="dark" if scheme == "dark" else "light",
        )
        page = await context.new_page()
        if wanted != language:
            await page.goto(LOGGED_IN)
            await page.locator(f"button[name=language][value={wanted}]").click()
            await page.wait_for_load_state()
            language = wanted
        await page.goto(path.format(**places))
        await page.screenshot(path=into / f"{name}.png")
        await context.close()


async def draw(into: Path) -> None:
    """Make the shop and take the pictures into a folder."""
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="momo-") as folder, Shop(Path(folder)) as shop:
        address = await asyncio.to_thread(pictures.open_shop, shop)
        order = await asyncio.to_thread(doubt, shop)
        async with chromium() as browser:
            await take(browser, f"http://{address}", shop, order, into)


if __name__ == "__main__":
    asyncio.run(draw(FOLDER))
