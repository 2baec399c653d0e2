"""A shopkeeper's day in the browser: from `momo open` on a new machine to the day sheet, with the real programs.

The owner and a cashier work at once, each in a browser of their own, and the daemon is stopped and started under both.
"""

import asyncio
import contextlib
import json
import os
import random
import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page

from tests.fakes.browser import needs_browser, visiting
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import ROOT, utc_now
from tests.fakes.receipts import mtn

pytestmark = [needs_browser, pytest.mark.slow, pytest.mark.timeout(900)]
PASSWORD = "correct horse 42"
AT_LAST_MS = 180_000
"""Only so that a test ends."""
NUMBER = "0244124567"


def free_port() -> int:
    """Return a port that nobody uses, from those that the kernel gives to nobody by itself: a restart needs it again."""
    while True:
        port = random.randint(20_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


@dataclass
class Machine:
    """A machine on which nobody has run momo yet."""

    environ: dict[str, str]
    phone: PhoneProcess
    base_url: str
    balance: int = 15_000
    receipts: int = 0

    async def momo(self, *words: str) -> str:
        """Run a command to its end and return its output."""
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "momo_cli", *words],
            cwd=ROOT, env=self.environ, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return str(done.stdout)

    def customer_pays(self, minor: int, reference: str, name: str = "KOFI BADU") -> None:
        """The network sends the shop its SMS of a payment."""
        self.balance += minor
        self.receipts += 1
        telco_id = str(93_214_500_000 + self.receipts)
        paid = mtn(minor, name, self.balance, reference, telco_id, sent_at=utc_now())
        self.phone.deliver(paid.pdus)


@asynccontextmanager
async def machine(folder: Path) -> AsyncIterator[Machine]:
    """A new machine, with the emulated phone still unplugged."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("MOMO_")}
    home, port = folder / "shop", free_port()
    environ = {**clean, "MOMO_HOME": str(home), "HOME": str(folder), "BROWSER": ""}
    home.mkdir(mode=0o700)
    tty = folder / "tty"
    (home / "config.toml").write_text(
        f'[http]\nbind = "127.0.0.1:{port}"\n[modems]\nports = [{json.dumps(str(tty))}]\n'
    )
    phone = PhoneProcess(tty)
    made = Machine(environ, phone, f"http://127.0.0.1:{port}")
    try:
        yield made
    finally:
        with contextlib.suppress(AssertionError):
            await made.momo("daemon", "stop")
        phone.stop()


async def sees(page: Page, text: str) -> None:
    await page.get_by_text(text).first.wait_for(timeout=AT_LAST_MS)


async def first_run(shop: Machine, page: Page) -> None:
    """Go from `momo open` to the first payment that is seen."""
    await page.goto((await shop.momo("open", "--yes", "--print")).strip())
    assert page.url.endswith("/dash/first")
    await page.get_by_label("Name of the shop").fill("Ama Provisions")
    await page.get_by_label("New password").fill(PASSWORD)
    await page.get_by_label("The same again").fill(PASSWORD)
    await page.get_by_role("button", name="Begin").click()
    await sees(page, "your password is set")
    # The modem is plugged in while the page is open, and appears by itself.
    await sees(page, "Plug the modem in")
    await asyncio.to_thread(shop.phone.start)
    await page.locator("#number form").wait_for(timeout=AT_LAST_MS)
    await page.get_by_label("Phone").fill(NUMBER)
    await page.get_by_label("Name of the account").fill("Ama Mensah")
    await page.get_by_role("button", name="Assign").click()
    await sees(page, "024 412 4567")
    await page.get_by_role("button", name="Name an amount").click()
    asked = re.findall(r"GHS\s(\d)\.(\d\d)", await page.locator("#payment .sum").inner_text())
    shop.customer_pays(int("".join(asked[0])), "1")
    await sees(page, "The first payment has been seen")


async def sell(page: Page, amount: str, phone: str) -> str:
    """Make an order at the till and return its reference for the customer."""
    await page.goto("/dash/till")
    await page.get_by_label("Amount").fill(amount)
    await page.get_by_label("Customer's phone").fill(phone)
    async with page.expect_response(lambda answer: answer.url.endswith("/dash/events"), timeout=AT_LAST_MS):
        await page.get_by_role("button", name="Make the code").click()
    return (await page.locator("dd.code").inner_text()).replace(" ", "").strip()


async def test_a_day_from_the_first_run_to_the_day_sheet(browser: Browser, tmp_path: Path) -> None:
    async with (
        machine(tmp_path) as shop,
        visiting(browser, shop.base_url, width=1280) as ama,
        visiting(browser, shop.base_url) as efua,
    ):
        owner, cashier, today = ama.page, efua.page, utc_now().date()
        await first_run(shop, owner)

        await owner.goto("/dash/users")
        form = owner.locator("form[action='/dash/users']")
        await form.get_by_label("Name").fill("efua")
        await form.get_by_label("Password").first.fill("kenkey and fish")
        await form.get_by_role("button", name="Add a user").click()
        await sees(owner, "The user is added.")
        await cashier.goto("/dash")
        await cashier.get_by_label("Name").fill("efua")
        await cashier.get_by_label("Password").fill("kenkey and fish")
        await cashier.get_by_role("button", name="Log in").click()
        await cashier.get_by_role("link", name="Till").first.wait_for(timeout=AT_LAST_MS)

        # Two people at once: the cashier serves, the owner watches the money.
        await owner.goto("/dash")
        before = await owner.locator(".sum").first.inner_text()
        reference = await sell(cashier, "25", "024 123 4567")
        shop.customer_pays(2_500, reference)
        await cashier.locator(".ended.paid").wait_for(timeout=AT_LAST_MS)
        await owner.locator("#latest ~ *", has_text="25.00").wait_for(timeout=AT_LAST_MS)
        assert await owner.locator(".sum").first.inner_text() != before

        # The machine is restarted; a customer pays meanwhile, and nobody reloads a page.
        reference = await sell(cashier, "12", "024 123 4568")
        await shop.momo("daemon", "stop")
        await sees(cashier, "The shop's computer cannot be reached")
        shop.customer_pays(1_000, reference, "ESI ARTHUR")
        await shop.momo("daemon", "start", "--wait", "120s")
        await cashier.locator(".ended.short").wait_for(timeout=AT_LAST_MS)
        assert "GHS\xa02.00 is missing" in await cashier.locator("h1").inner_text()
        await owner.locator(".facts .warn", has_text="owed").wait_for(timeout=AT_LAST_MS)

        # Both are still logged in; the day sheet is not for the cashier.
        refused = await cashier.goto("/dash/day")
        assert refused is not None
        assert refused.status == 403
        await owner.goto(f"/dash/day?from={today}")
        came = shop.balance - 15_000
        sheet = await owner.locator("main").inner_text()
        assert f"GHS\xa0{came // 100}.{came % 100:02}" in sheet
        agrees = owner.locator(".state.good", has_text="the same")
        await agrees.first.wait_for(timeout=AT_LAST_MS)

        await owner.goto("/dash/journal")
        people = await owner.locator(".log td:last-child").all_inner_texts()
        assert {"efua", "owner"} <= set(people)
        assert ama.elsewhere == efua.elsewhere == []
