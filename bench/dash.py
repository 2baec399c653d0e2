"""Figures of the dashboard: its size, its speed in a big shop and in an open tab, and its cost for the daemon.

    python bench/dash.py [--size 1000000] [--shop FILE] [--receipts 20]

`Now` is answered by the real dashboard over loopback, in this process, to a client of this process; the processor time of both is
given, because other load on the machine disturbs the wall time. The times for a person are measured in Chromium: from the commit
of a payment to its sum on an open tab; the first visit on GPRS (50 kbit/s, 400 ms); twenty reviews by keyboard. The cost is
measured at a real daemon with an emulated phone and a receiver, with and without tabs in turns. `--shop` keeps the big shop.
"""

import argparse
import asyncio
import gzip
import re
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from _figures import Row, median, pause, percentile, progress, report, spread
from _receiver import ReceiverProcess
from idle import Cost, cpu_s, idle
from path import NO_LIMIT, NUMBER, Daemon
from playwright.async_api import Browser, BrowserContext

from daemon.store import journal
from daemon.wire import Role
from tests.dash.test_review import doubtful
from tests.fakes import big_shop
from tests.fakes.api import running
from tests.fakes.browser import Visit, chromium, visiting
from tests.fakes.dash import as_user, log_in
from tests.fakes.orders import Orders
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import RealShop
from tests.fakes.receipts import mtn

ROUNDS: Final = 60
SEEN: Final = 30
TABS: Final = 20
SECONDS: Final = 20
PASSWORD: Final = "correct horse 42"  # noqa: S105 - of the throw-away shop
GPRS: Final = {"offline": False, "latency": 400, "downloadThroughput": 6250, "uploadThroughput": 2500}
WATCH: Final = """text => { window.seen = new Promise(done => {
  const look = () => document.querySelector('.sum')?.innerText.includes(text) && done(performance.timeOrigin + performance.now());
  new MutationObserver(look).observe(document.body, {subtree: true, childList: true, characterData: true}); look(); }); }"""
PAINTED: Final = (
    "new Promise(done => new PerformanceObserver(list => done(list.getEntries().at(-1).startTime))"
    ".observe({type: 'largest-contentful-paint', buffered: true}))"
)


async def sizes(folder: Path) -> list[Row]:
    """Measure the first visit of `Now` with 30 payments."""
    async with running(folder) as api:
        await api.shop.begin_chain()
        orders = Orders(api.shop)
        for _ in range(30):
            await orders.make("paid")
        person = await log_in(api, Role.OWNER)
        page = (await person.get("/dash")).text
        found = {"HTML": len(gzip.compress(page.encode(), 6))}
        for kind, name in (("css", "stylesheet"), ("js", "script")):
            found[name] = 0
            for address in set(re.findall(rf'"(/dash/static/[^"]+\.{kind})"', page)):
                found[name] += len(gzip.compress((await person.get(address)).content, 6))
    found["all"] = sum(found.values())
    most = {"HTML": 8_000, "stylesheet": 6_000, "script": 6_000, "all": 20_000}
    return [
        Row(f"first visit, gzip: {name}", f"{size / 1000:.1f} kB", "", f"<= {most[name] / 1000:g} kB", size <= most[name])
        for name, size in found.items()
    ]  # fmt: skip


def big(folder: Path, size: int, kept: Path | None) -> None:
    """Put a big shop into a folder."""
    folder.mkdir()
    if kept is None or not kept.exists():
        progress(f"making a shop of {size:,} payments")
        big_shop.build(folder / "momo.db", size).close()
        if kept is not None:
            shutil.copy(folder / "momo.db", kept)
    else:
        shutil.copy(kept, folder / "momo.db")


async def answers(folder: Path) -> list[Row]:
    """Measure pages of a big shop."""
    rows = []
    async with running(folder, line=False) as api:
        person = await log_in(api, Role.OWNER)
        for name, path, most in (
            ("Now", "/dash", 50.0),
            ("Payments", "/dash/payments", None),
            ("Payments by amount", "/dash/payments?sort=largest", None),
            ("reversed Payments", "/dash/payments?state=reversed", None),
            ("Orders", "/dash/transactions", None),
            ("Dead letters", "/dash/dead-letters", None),
            ("Review", "/dash/reviews", None),
        ):
            assert (await person.get(path)).status_code == 200, path
            taken, used = [], []
            for _ in range(ROUNDS):
                began, cpu = time.perf_counter(), time.process_time()
                await person.get(path)
                taken.append((time.perf_counter() - began) * 1000)
                used.append((time.process_time() - cpu) * 1000)
            p95 = percentile(taken, 95)
            rows.append(
                Row(f"{name} in a big shop: p50 / p95 / processor p50",
                    f"{median(taken):.1f} / {p95:.1f} / {median(used):.1f} ms", spread(taken, " ms"),
                    "" if most is None else f"p95 <= {most:g} ms", None if most is None else p95 <= most)
            )  # fmt: skip
    return rows


async def shown(folder: Path, browser: Browser) -> list[Row]:
    """Measure the time from the commit of a payment to its sum on an open tab."""
    taken: list[float] = []
    async with running(folder) as api, visiting(browser, api.base_url) as visit:
        orders = Orders(api.shop)
        waiting = [await orders.make("waiting") for _ in range(SEEN)]
        await as_user(visit, await log_in(api, Role.OWNER))
        async with visit.page.expect_response(lambda answer: answer.url.endswith("/dash/events")):
            await visit.page.goto("/dash")
        commits: list[float] = []
        api.shop.env.store.subscribe(journal.TOPIC, lambda: commits.append(time.time_ns() / 1e6))
        for number, order in enumerate(waiting, 1):
            await visit.page.evaluate(WATCH, f"{25 * number:,}.00")
            commits.clear()
            await orders.pay(order)
            taken.append(float(await visit.page.evaluate("window.seen")) - commits[0])
            await asyncio.sleep(0.2)
    p95 = percentile(taken, 95)
    return [
        Row("from commit to shown in an open tab: p50 / p95", f"{median(taken):.0f} / {p95:.0f} ms",
            spread(taken, " ms", 0), "p95 <= 150 ms", p95 <= 150)
    ]  # fmt: skip


async def gprs(folder: Path, browser: Browser) -> list[Row]:
    """Measure the first visit of `Now` on GPRS."""
    taken = []
    async with running(folder) as api:
        orders = Orders(api.shop)
        await api.shop.begin_chain()
        for _ in range(30):
            await orders.make("paid")
        person = await log_in(api, Role.OWNER)
        for _ in range(3):
            async with visiting(browser, api.base_url) as visit:
                await as_user(visit, person)
                devtools = await visit.context.new_cdp_session(visit.page)
                await devtools.send("Network.enable")
                await devtools.send("Network.emulateNetworkConditions", GPRS)
                await visit.page.goto("/dash", wait_until="load")
                taken.append(float(await visit.page.evaluate(PAINTED)) / 1000)
    return [
        Row("first visit of Now on GPRS, readable after", f"{median(taken):.1f} s", spread(taken, " s"),
            "<= 3 s", median(taken) <= 3)
    ]  # fmt: skip


async def reviews(folder: Path, browser: Browser) -> list[Row]:
    """Measure twenty decisions by keyboard, without time to think.

    In a window without the tests' check of each address: it switches the browser's cache off, and half the time was its own.
    """
    taken = []
    async with running(folder) as api, await browser.new_context(base_url=api.base_url) as context:
        visit = Visit(await context.new_page(), context)
        await doubtful(api, 20)
        await as_user(visit, await log_in(api, Role.CASHIER))
        await visit.page.goto("/dash/review")
        started = time.perf_counter()
        for number in range(20):
            here = visit.page.url.partition("?")[0]
            # An answer within a second after the card was shown is not taken.
            await asyncio.sleep(1.05)
            for key in ["r", "ArrowDown", "Enter"] if number % 3 == 2 else ["a", "Enter"]:
                began = time.perf_counter()
                await visit.page.keyboard.press(key)
            await visit.page.wait_for_url(lambda url, here=here: url.partition("?")[0] != here)
            await visit.page.wait_for_load_state()
            taken.append((time.perf_counter() - began) * 1000)
        whole = time.perf_counter() - started
    p95 = percentile(taken, 95)
    return [
        Row("20 reviews by keyboard", f"{whole:.1f} s", "", "<= 60 s", whole <= 60),
        Row("answer to a review's last key: p50 / p95", f"{median(taken):.0f} / {p95:.0f} ms",
            spread(taken, " ms", 0), "p95 <= 300 ms", p95 <= 300),
    ]  # fmt: skip


async def sales(folder: Path, browser: Browser) -> list[Row]:
    """Measure twenty sales in a row by keyboard, with 250 ms for a key and a second for a glance, each paid before the next."""
    async with running(folder) as api, await browser.new_context(base_url=api.base_url) as context:
        page, orders = await context.new_page(), Orders(api.shop)
        visit = Visit(page, context)
        await as_user(visit, await log_in(api, Role.CASHIER))
        await page.goto("/dash/till")
        began = time.perf_counter()
        for number in range(20):
            if number:
                # The next customer: the link that is in focus order, by its key.
                await page.keyboard.press("n")
                await page.wait_for_url("**/dash/till")
            for key in [*f"{7 + number}.50", "Enter"]:
                await asyncio.sleep(0.25)
                await page.keyboard.press(key)
            await page.wait_for_url("**/dash/till/svc_trx_*")
            await asyncio.sleep(1)
            reference = page.url.partition("?")[0].rpartition("/")[2]
            await orders.pay(await api.shop.transaction(reference), 750 + 100 * number)
            await page.locator(".ended.paid").wait_for()
        taken = time.perf_counter() - began
    return [Row("20 sales by keyboard, 250 ms a key, 1 s a glance", f"{taken:.0f} s", "", "<= 240 s", taken <= 240)]


@dataclass
class Live:
    """A real daemon, and the figures measured at it."""

    shop: RealShop
    phone: PhoneProcess
    daemon: Daemon
    fresh: Cost
    used: dict[int, float] = field(default_factory=dict)
    path: dict[int, list[float]] = field(default_factory=lambda: {0: [], 1: []})
    after: Cost | None = None


@asynccontextmanager
async def tabs(browser: Browser, shop: RealShop, count: int) -> AsyncIterator[None]:
    """Show `Now` in so many browsers, four for each session: further tabs of a session have no stream."""
    opened: list[BrowserContext] = []
    try:
        for number in range(count):
            opened.append(await browser.new_context(base_url=f"http://{shop.http}"))
            page = await opened[-1].new_page()
            if number % 4 == 0:
                await page.goto("/dash")
                await page.get_by_label("Name").fill("owner")
                await page.get_by_label("Password").fill(PASSWORD)
                await page.get_by_role("button", name="Log in").click()
            else:
                # The same session: a browser's login takes a password's time.
                cookie = (await opened[number - number % 4].cookies())[0]
                await opened[-1].add_cookies([{key: cookie[key] for key in ("name", "value", "domain", "path")}])  # type: ignore[literal-required, list-item]
                await page.goto("/dash")
            await page.locator(".sum").wait_for()
        yield
    finally:
        for context in opened:
            await context.close()


async def cost(live: Live, browser: Browser, receipts: int) -> None:
    """Pay with and without tabs, in turns."""
    for _ in range(5):
        live.daemon.run(apart=True)
    for _ in range(3):
        for count in (0, 1):
            async with tabs(browser, live.shop, count):
                for _ in range(receipts):
                    # The tab takes its turn meanwhile, as in a shop.
                    live.path[count].append((await asyncio.to_thread(live.daemon.run, apart=True))[0])
                    await asyncio.sleep(0.2)
    for count in (0, TABS):
        async with tabs(browser, live.shop, count):
            began = cpu_s(live.shop.pid)
            for number in range(SECONDS):
                sent = datetime.now(UTC)  # noqa: TID251 - the network's clock
                receipt = mtn(700, "KWABENA KONADU", 10_000, "food", str(87_000_000_000 + count * 1000 + number),
                              sent_at=sent, concatenation=number)  # fmt: skip
                live.phone.deliver(receipt.pdus)
                await asyncio.sleep(1)
            live.used[count] = (cpu_s(live.shop.pid) - began) / SECONDS * 100


async def real(folder: Path, browser: Browser, receipts: int) -> list[Row]:
    """Measure the cost of the dashboard for a real daemon."""
    receiver = ReceiverProcess(folder / "receiver")
    with (
        receiver,
        PhoneProcess(folder / "phone") as phone,
        RealShop(folder / "shop", phone=phone.link, ca_file=receiver.ca_file, settings=NO_LIMIT) as shop,
    ):
        await asyncio.to_thread(shop.begin_chain, 50_000)
        shop.start()
        shop.assign(NUMBER)
        receiver.start(shop.add_endpoint(receiver.url))
        shop.restart()
        fresh = await asyncio.to_thread(idle, shop.pid, 10)
        live = Live(shop, phone, Daemon(shop, phone, receiver), fresh)
        await cost(live, browser, receipts)
        pause(2)
    without, beside = live.path[0], live.path[1]
    ratio = median(beside) / median(without)
    more = live.used[TABS] - live.used[0]
    return [
        Row("idle daemon that no tab visited: memory (RSS)", f"{fresh.rss_mb:.1f} MB", "", "<= 75 MB", fresh.rss_mb <= 75),
        Row("SMS to webhook with an open tab, against without, p50", f"{ratio:.2f} x ({median(beside):.1f} ms)",
            spread(beside, " ms"), "<= 1.1 x", ratio <= 1.1),
        Row("the same, longer by", f"{median(beside) - median(without):.1f} ms", "", "<= 3 ms", median(beside) - median(without) <= 3),
        Row(f"{TABS} tabs at 1 payment/s: processor of the daemon", f"{more:.1f} %",
            f"{live.used[TABS]:.1f} with, {live.used[0]:.1f} without", "<= 5 %", more <= 5),
    ]  # fmt: skip


async def main() -> int:
    """Measure everything, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--shop", type=Path)
    parser.add_argument("--receipts", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="momo-bench-") as name:
        folder = Path(name)
        rows = await sizes(folder / "sizes")
        async with chromium() as browser:
            progress("an open tab")
            rows += await shown(folder / "shown", browser)
            rows += await gprs(folder / "gprs", browser)
            rows += await reviews(folder / "reviews", browser)
            rows += await sales(folder / "sales", browser)
            progress("a real daemon")
            rows += await real(folder / "real", browser, options.receipts)
        await asyncio.to_thread(big, folder / "big", options.size, options.shop)
        rows += await answers(folder / "big")
    return report(f"The dashboard; the big shop has {options.size:,} payments", rows)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
