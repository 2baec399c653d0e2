"""Debian's Chromium as a customer's phone: it reaches only this machine and records every other address it requests."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, BrowserContext, Page, Route, async_playwright

CHROMIUM = shutil.which("chromium")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",
)  # fmt: skip


@dataclass
class Visit:
    """A browser window on one shop.

    Attributes:
        page: The window.
        faults: Console errors, script errors and dialogs.
        asked: Every requested address.
        elsewhere: Requested addresses outside the shop; they were blocked.
    """

    page: Page
    context: BrowserContext
    faults: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    async def headline(self) -> str:
        return (await self.page.locator("h1").inner_text()).strip()

    async def width(self) -> int:
        """Return the width of the page in pixels; if it exceeds the window, the page scrolls sideways."""
        found: int = await self.page.evaluate("document.documentElement.scrollWidth")
        return found

    async def violations(self) -> list[str]:
        """Return the violations that axe finds, by rule."""
        results = (await Axe().run(self.page)).response
        return [f"{found['id']}: {[node['html'][:160] for node in found['nodes']]}" for found in results["violations"]]


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Start Chromium with a temporary profile."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def visiting(
    browser: Browser, base_url: str, *, width: int = 360, height: int = 740, **options: Any
) -> AsyncIterator[Visit]:
    """Open a window; `options` are Playwright's, such as `java_script_enabled` and `color_scheme`."""
    context = await browser.new_context(base_url=base_url, viewport={"width": width, "height": height}, **options)
    visit = Visit(await context.new_page(), context)

    async def refuse(route: Route) -> None:
        visit.elsewhere.append(route.request.url)
        await route.abort()

    await context.route(lambda url: not url.startswith((base_url, "data:")), refuse)
    visit.page.on("request", lambda request: visit.asked.append(request.url))
    visit.page.on("pageerror", lambda error: visit.faults.append(str(error)))
    visit.page.on("dialog", lambda dialog: visit.faults.append(f"dialog {dialog.message}"))
    visit.page.on("console", lambda line: visit.faults.append(line.text) if line.type in {"error", "warning"} else None)
    try:
        yield visit
    finally:
        await context.close()
