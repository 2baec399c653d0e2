"""The pictures of docs/shop/dashboard.md: `make dash-pictures` takes them in Chromium, from the real dashboard of a shop's day.

The clock, the ids and the sales are always the same, so a test takes them again and compares them with the ones in the folder.
That needs the same browser and the same fonts, which `made-with.json` records.
"""

import asyncio
import base64
import hashlib
import json
import subprocess
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Browser

from daemon.core.limits import DAY_US, HOUR_US
from daemon.flows.lines import modems
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.runtime.config import Config
from daemon.wire import Role
from tests.dash.test_lines import plug_in
from tests.fakes import outbox
from tests.fakes.api import FakeApi, running
from tests.fakes.browser import chromium, visiting
from tests.fakes.dash import Person, add_user, as_user, log_in
from tests.fakes.receipts import MTN_SENDER, mtn, mtn_receipt
from tests.fakes.shop import OWNER, FakeShop
from tests.house.markdown import ROOT

FOLDER: Final = ROOT / "docs/img/dash"
MADE_WITH: Final = "made-with.json"
PHONE: Final = (360, 740)
DESK: Final = (1280, 720)
FOREIGN: Final = "+447700900123"
"""A service centre that no network of Ghana has."""
TOLERANCE: Final = 0.001
"""The share of a picture's points that may differ."""
HOME: Final = "/var/lib/momo"
"""Stands in a picture for the temporary folder of the shop."""
Taken = tuple[str, str, tuple[int, int], str, str]
PICTURES: Final[tuple[Taken, ...]] = (
    # file, address, window, colours, language
    ("now", "/dash", DESK, "light", "en"),
    ("now-phone", "/dash", PHONE, "light", "en"),
    ("now-dark", "/dash", PHONE, "dark", "en"),
    ("now-french", "/dash", PHONE, "light", "fr"),
    ("till", "/dash/till", PHONE, "light", "en"),
    ("till-code", "/dash/till/{order}", PHONE, "light", "en"),
    ("till-paid", "/dash/till/{paid}", PHONE, "light", "en"),
    ("till-french", "/dash/till", PHONE, "dark", "fr"),
    ("orders", "/dash/transactions", DESK, "light", "en"),
    ("payments", "/dash/payments", DESK, "light", "en"),
    ("payment", "/dash/payments/{payment}", DESK, "light", "en"),
    ("review", "/dash/review/{review}", DESK, "light", "en"),
    ("review-dark", "/dash/review/{review}", PHONE, "dark", "en"),
    ("lines", "/dash/lines", PHONE, "light", "en"),
    ("line", "/dash/lines/{line}", PHONE, "light", "en"),
    ("messages", "/dash/messages", PHONE, "light", "en"),
    ("webhooks", "/dash/webhooks", DESK, "dark", "en"),
    ("deliveries", "/dash/deliveries", PHONE, "light", "en"),
    ("dead-letters", "/dash/dead-letters", PHONE, "dark", "en"),
    ("day", "/dash/day", DESK, "light", "en"),
    ("health", "/dash/health", PHONE, "light", "en"),
    ("journal", "/dash/journal?who=everybody", PHONE, "light", "en"),
    ("settings", "/dash/settings", PHONE, "light", "en"),
    ("users", "/dash/users", PHONE, "light", "en"),
    ("keys", "/dash/keys", PHONE, "light", "en"),
    ("poster", "/dash/poster", PHONE, "light", "en"),
)
WEB_SHOP: Final = "22222222-2222-4222-8222-222222222222"
ACCOUNTS: Final = "44444444-4444-4444-8444-444444444444"
SALES: Final = (
    # minutes later, asked, paid, customer, whether the code is typed
    (4, 1250, 1250, "ABENA FOSUA ANSAH", True),
    (31, 4000, 4000, "KWABENA NII LAMPTEY", True),
    (22, 2000, 1500, "YAA SERWAA DONKOR", True),
    (47, 700, 700, "GIDEON OKYERE TAGOE", False),
    (18, 8600, 9000, "COMFORT DUFIE OWUSU", True),
    (9, 2550, 2550, "SELASI KONADU NARH", True),
    (52, 6400, 6400, "EDEM AFRIYIE QUANSAH", True),
    (14, 1800, 1800, "ESI NAANA MENSAH", True),
    (38, 3050, 3050, "KOJO K. TETTEH", True),
    (26, 12000, 12000, "AKOSUA DUFIE TWUM", True),
)


@dataclass(frozen=True)
class Day:
    """The shop after its day, and the values of the `{places}` of the addresses."""

    owner: Person
    places: dict[str, str]


def at(shop: FakeShop) -> datetime:
    return datetime.fromtimestamp(shop.clock.now_us() // 1_000_000, UTC)


class _Sales:
    """Make orders and pay them."""

    def __init__(self, shop: FakeShop) -> None:
        self.shop = shop
        self._count = 0

    async def pay(self, customer: str, minor: int, typed: str, balance_minor: int) -> None:
        self._count += 1
        await self.shop.read(
            mtn(
                minor, customer, balance_minor, typed, f"9321450{self._count:04d}",
                sent_at=at(self.shop), concatenation=self._count,
            )
        )  # fmt: skip

    async def sell(self, asked: int, paid: int, customer: str, *, typed: bool) -> str:
        """Make an order and pay it; return its reference."""
        order = await self.shop.request(asked, customer_name=customer.title())
        self.shop.clock.advance(70)
        code = order.svc_code if typed else "bread and milk"
        await self.pay(customer, paid, str(code), self.shop.wallet(paid))
        return order.reference


async def _webhooks(shop: FakeShop) -> None:
    """Deliver to one endpoint; the other one answers that it is not there."""
    for leased in await outbox.lease(shop, limit=5):
        if leased.endpoint.id == ACCOUNTS:
            await outbox.fail(shop, leased, 404)
        else:
            await outbox.deliver(shop, leased)


async def play(api: FakeApi) -> Day:
    """Play the day: ten sales, a customer who has not paid, and a receipt whose balance does not fit."""
    shop = api.shop
    await shop.begin_chain()
    await modems.name_modem(shop.env, OWNER, shop.source.device_id, "front-desk")
    hook = "https://shop.example"
    await outbox.add_endpoint(shop, WEB_SHOP, url=f"{hook}/momo", description="Web shop")
    await outbox.add_endpoint(shop, ACCOUNTS, url=f"{hook}/books", description="Accounts")
    sales, paid = _Sales(shop), ""
    for minutes, asked, minor, customer, typed in SALES:
        shop.clock.advance(60 * minutes - 70)
        paid = await sales.sell(asked, minor, customer, typed=typed)
        shop.clock.advance(2)
        await _webhooks(shop)
    shop.clock.advance(180)
    waits = await shop.request(3250, customer_name="Naana Donkor")
    doubted = await shop.request(5500, customer_name="Efua Sarpong")
    shop.clock.advance(75)
    text = mtn_receipt(5500, "EFUA SARPONG", 9_900_000, str(doubted.svc_code), "99990000017")
    await shop.read_pdus(encode_deliver(MTN_SENDER, text, at(shop), smsc=FOREIGN, reference=99))
    now = shop.clock.now_us()
    for back in range(24):
        level = 14 + (back * 5) % 7 - (6 if back in (9, 10) else 0)
        shop.env.signals.add(shop.source.device_id, level, now - DAY_US + (back + 1) * HOUR_US)
    plug_in(api)
    await add_user(api, Role.CASHIER, "esi")
    await add_user(api, Role.MANAGER, "kofi")
    owner = await log_in(api, Role.OWNER)
    await owner.post("/dash/health/backups")
    shop.clock.advance(40)
    plug_in(api)

    async def first(sql: str) -> str:
        return str((await shop.values(sql))[0])

    return Day(
        owner,
        {
            "order": waits.reference,
            "paid": paid,
            "payment": await first("SELECT id FROM payments ORDER BY amount_minor DESC, seq"),
            "review": await first("SELECT id FROM reviews WHERE state = 'open' ORDER BY seq DESC"),
            "line": f"{shop.source.device_id}:0",
        },
    )


async def take(browser: Browser, api: FakeApi, day: Day, into: Path) -> None:
    """Take all pictures."""
    language = "en"
    for name, path, (width, height), scheme, wanted in PICTURES:
        if wanted != language:
            await day.owner.post("/dash/account/language", {"language": wanted})
            language = wanted
        async with visiting(browser, api.base_url, width=width, height=height, color_scheme=scheme) as visit:
            await as_user(visit, day.owner)
            await visit.page.goto(path.format(**day.places))
            await visit.page.evaluate(
                """([from, to]) => document.querySelectorAll('code').forEach(
                one => { one.textContent = one.textContent.replace(from, to); })""",
                [str(api.home), HOME],
            )
            await visit.page.screenshot(path=into / f"{name}.png", animations="disabled")


def _font(family: str) -> str:
    asked = ["fc-match", "--format=%{file}", family]
    file = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)
    return f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()[:16]}"


def made_with(browser: Browser) -> dict[str, str]:
    """Return everything that decides the look of a page: the browser, and the fonts that stand for the families of our style."""
    families = ("system-ui", "sans-serif", "monospace")
    return {"chromium": browser.version, **{family: _font(family) for family in families}}


async def difference(browser: Browser, first: Path, second: Path) -> float:
    """Return the share of points that differ in two pictures; 1 if their sizes differ."""
    context = await browser.new_context()
    page = await context.new_page()
    pictures = [base64.b64encode(path.read_bytes()).decode() for path in (first, second)]
    found: Any = await page.evaluate(
        """async pictures => {
          const read = async text => {
            const image = new Image();
            image.src = 'data:image/png;base64,' + text;
            await image.decode();
            const canvas = new OffscreenCanvas(image.width, image.height), pen = canvas.getContext('2d');
            pen.drawImage(image, 0, 0);
            return pen.getImageData(0, 0, image.width, image.height);
          };
          const [one, other] = [await read(pictures[0]), await read(pictures[1])];
          if (one.width !== other.width || one.height !== other.height) { return 1; }
          const left = new Uint32Array(one.data.buffer), right = new Uint32Array(other.data.buffer);
          return left.reduce((count, point, place) => count + (point !== right[place]), 0) / left.length;
        }""",
        pictures,
    )
    await context.close()
    return float(found)


async def draw(browser: Browser, folder: Path, into: Path) -> None:
    """Play the day in an empty folder, and take the pictures into another one."""
    into.mkdir(parents=True, exist_ok=True)
    async with running(folder, Config()) as api:
        await take(browser, api, await play(api), into)


async def main() -> None:
    """Take the pictures of the documents."""
    with tempfile.TemporaryDirectory(prefix="momo-") as folder:
        async with chromium() as browser:
            await draw(browser, Path(folder), FOLDER)
            record = json.dumps(made_with(browser), indent=2)
            (FOLDER / MADE_WITH).write_text(f"{record}\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
