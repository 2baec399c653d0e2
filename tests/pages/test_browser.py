"""The checkout page in Debian's Chromium: content, accessibility and actions, with and without JavaScript."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from playwright.async_api import Browser, Error, Route

from daemon.core.lines.modem_health import ModemHealth
from daemon.flows.lines import receiving
from daemon.flows.lines.receiving import Watch
from daemon.runtime.config import Config, Pages
from daemon.store import journal
from tests.fakes.api import FakeApi, running
from tests.fakes.browser import Visit, needs_browser, visiting
from tests.fakes.orders import EXTRA, HEADLINES, STATES, Orders

pytestmark = needs_browser
AT_LAST_MS = 30_000
"""A limit so that a test ends. A test of an immediate change stops the clock of the browser window."""
SLOW_PHONE = {"offline": False, "latency": 400, "downloadThroughput": 6250, "uploadThroughput": 2500}
"""A phone on GPRS: 400 ms there and back, 50 kbit/s down and 20 up."""
IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 "
    "(KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1"
)
WINDOWS = ((360, "light", True), (320, "dark", True), (360, "light", False), (1280, "light", False))
"""Width, colours, and whether scripts run. 320 is the width of a desktop screen at a zoom of 400 % (WCAG 1.4.10)."""
EVIL = "\"'><img src=x onerror=alert(1)><script>alert(2)</script>"


def make_logo(folder: Path) -> Path:
    """Write a small picture of the shop."""
    file = folder / "logo.svg"
    file.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40"><rect width="60" height="40" fill="#c60"/></svg>'
    )
    return file


def clean(visit: Visit) -> bool:
    """Check that the browser reported no errors and sent requests to this shop only."""
    assert visit.faults == []
    assert visit.elsewhere == []
    return True


async def seen(visit: Visit, text: str) -> None:
    await visit.page.get_by_role("heading", level=1, name=text).wait_for(timeout=AT_LAST_MS)


async def stop_the_clock(visit: Visit) -> None:
    """Stop the page's timers until the test lets time pass, so that every change comes from an event."""
    await visit.page.clock.install(time=0)
    await visit.page.clock.pause_at(1000)


async def test_an_open_page_changes_to_paid_by_itself(api: FakeApi, browser: Browser) -> None:
    orders = Orders(api.shop)
    order = await orders.make("waiting")
    async with visiting(browser, api.base_url) as visit:
        await stop_the_clock(visit)
        async with visit.page.expect_response(lambda answer: answer.url.endswith("/events")):
            await visit.page.goto(f"/pay/{order.public_slug}")
        assert await visit.headline() == HEADLINES["waiting"]
        assert await visit.width() == 360
        await orders.pay(order)
        await seen(visit, "Paid. Thank you!")
        assert await visit.page.title() == "✓ Paid. Thank you! — Ama Provisions"
        assert await visit.page.locator("#said").inner_text() == "Paid. Thank you!"
        # Only the page and its stream: style, script and picture came with the page.
        assert [url.rpartition("/")[2] for url in visit.asked] == [order.public_slug, "events"]
        assert clean(visit)


async def test_an_open_page_says_that_it_takes_longer_when_the_line_stops_receiving(
    api: FakeApi, browser: Browser
) -> None:
    shop = api.shop
    order = await Orders(shop).make("waiting")
    gone = ModemHealth("/dev/x", "no_sim", "there is no SIM", device_id=shop.source.device_id)
    async with visiting(browser, api.base_url) as visit:
        await stop_the_clock(visit)
        async with visit.page.expect_response(lambda answer: answer.url.endswith("/events")):
            await visit.page.goto(f"/pay/{order.public_slug}")
        longer = visit.page.get_by_text("The confirmation may take longer")
        assert not await longer.is_visible()
        seen_so_far = Watch()
        await receiving.watch(shop.env, [gone], seen_so_far)
        shop.clock.advance(120)
        await receiving.watch(shop.env, [gone], seen_so_far)
        await longer.wait_for(timeout=AT_LAST_MS)
        assert await visit.page.get_by_text("Dial *170#").is_visible(), "nobody is told not to pay"
        await receiving.watch(shop.env, [replace(gone, state="ready")], seen_so_far)
        await longer.wait_for(state="detached", timeout=AT_LAST_MS)
        assert clean(visit)


async def next_news(visit: Visit) -> asyncio.Future[Any]:
    """Return a future that completes with the next event of the page's stream."""
    devtools = await visit.context.new_cdp_session(visit.page)
    told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def hear(news: Any) -> None:
        told.set_result(news)

    devtools.once("Network.eventSourceMessageReceived", hear)
    await devtools.send("Network.enable")
    return told


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES)
async def test_every_state_is_readable_for_everybody(tmp_path: Path, browser: Browser, state: str) -> None:
    config = Config(pages=Pages(languages=("en", "fr"), contact="Ama, 024 412 4567"))
    async with running(tmp_path, config) as api:
        order = await Orders(api.shop).make(state, redirect_url="https://shop.example/x", **EXTRA.get(state, {}))
        for width, scheme, script in WINDOWS:
            options: dict[str, Any] = {"java_script_enabled": script, "color_scheme": scheme}
            async with visiting(browser, api.base_url, width=width, **options) as visit:
                for path in ("", "?lang=fr", "?paid=1"):
                    await visit.page.goto(f"/pay/{order.public_slug}{path}")
                    if path != "?lang=fr":
                        assert await visit.headline() == HEADLINES[state]
                    assert await visit.width() <= width, (path, width)
                    if script:
                        assert await visit.violations() == []
                assert clean(visit)


@pytest.mark.slow
async def test_the_largest_amount_and_the_longest_words_fit_a_small_phone(api: FakeApi, browser: Browser) -> None:
    order = await api.shop.request(100_000_000, description="W" * 500, customer_name="m" * 200)
    for width in (320, 360):
        async with visiting(browser, api.base_url, width=width) as visit:
            await visit.page.goto(f"/pay/{order.public_slug}")
            assert await visit.width() <= width


@pytest.mark.parametrize("kind", ["plain", "logo"])
async def test_amount_number_and_code_are_on_the_first_screen_of_a_phone(
    tmp_path: Path, browser: Browser, kind: str
) -> None:
    logo = str(make_logo(tmp_path)) if kind == "logo" else ""
    config = Config(pages=Pages(languages=("en", "fr"), logo=logo, contact="Ama, 024 412 4567"))
    async with running(tmp_path, config) as api:
        shop = api.shop
        live = await shop.request(2500, description="2 bags rice", client_reference="INV-77")
        # A phone of 390 x 844 pixels shows 664 of them under and above the bars of its browser.
        for width, height, path in ((390, 664, ""), (390, 664, "?lang=fr"), (360, 560, "")):
            async with visiting(browser, api.base_url, width=width, height=height) as visit:
                await visit.page.goto(f"/pay/{live.public_slug}{path}")
                main = visit.page.locator("main")
                for text in ("GHS\xa025.00", "024 412 4567", str(live.svc_code)):
                    value = main.locator("output", has_text=text).first
                    box = await value.bounding_box()
                    assert box is not None
                    assert box["y"] + box["height"] <= height, (text, box)
                    assert box["x"] + box["width"] <= width
                assert await visit.width() <= width
                assert await visit.violations() == []
                assert clean(visit)


@pytest.mark.slow
@pytest.mark.parametrize("colour", ["#7a1f5c", "#ffee00", "#ffffff", "#000000", "#3366ff"])
async def test_every_colour_of_a_shop_can_be_read(tmp_path: Path, browser: Browser, colour: str) -> None:
    config = Config(pages=Pages(colour=colour, logo=str(make_logo(tmp_path))))
    async with running(tmp_path, config) as api:
        orders = Orders(api.shop)
        for state in ("waiting", "paid"):
            order = await orders.make(state, client_reference="INV-77")
            for scheme in ("light", "dark"):
                async with visiting(browser, api.base_url, color_scheme=scheme) as visit:
                    await visit.page.goto(f"/pay/{order.public_slug}")
                    assert await visit.violations() == []
                    drawn = "document.querySelector('.logo').naturalWidth"
                    assert await visit.page.evaluate(drawn) == 60
                    assert clean(visit)


@pytest.mark.slow
async def test_without_javascript_the_page_catches_up_by_itself(api: FakeApi, browser: Browser) -> None:
    orders = Orders(api.shop)
    order = await orders.make("waiting")
    async with visiting(browser, api.base_url, java_script_enabled=False) as visit:
        await visit.page.goto(f"/pay/{order.public_slug}")
        assert await visit.page.get_by_role("button", name="Copy").count() == 0
        await visit.page.get_by_role("link", name="Telecel").click()
        assert "*110#" in await visit.page.locator("ol").inner_text()
        await orders.pay(order)
        await seen(visit, "Paid. Thank you!")
        assert clean(visit)


@pytest.mark.slow
async def test_a_customer_without_javascript_says_that_they_have_paid(api: FakeApi, browser: Browser) -> None:
    order = await Orders(api.shop).make("waiting")
    async with visiting(browser, api.base_url, java_script_enabled=False) as visit:
        await visit.page.goto(f"/pay/{order.public_slug}")
        await visit.page.get_by_role("link", name="I have paid but it still says waiting").click()
        field = visit.page.get_by_label("Transaction ID")
        await field.fill("nonsense")
        await visit.page.get_by_role("button", name="Send").click()
        assert "does not look like" in await visit.page.get_by_role("alert").inner_text()
        await visit.page.get_by_label("Transaction ID").fill("93219999999")
        await visit.page.get_by_role("button", name="Send").click()
        assert "The shop will check" in await visit.page.locator("main").inner_text()
        assert await visit.headline() == HEADLINES["waiting"]
    assert await api.shop.values("SELECT telco_transaction_id FROM payer_claims") == ["93219999999"]


@pytest.mark.slow
async def test_what_a_screen_reader_says(api: FakeApi, browser: Browser) -> None:
    order = await Orders(api.shop).make("waiting")
    async with visiting(browser, api.base_url) as visit:
        await visit.page.goto(f"/pay/{order.public_slug}")
        tree = await visit.page.locator("body").aria_snapshot()
        for line in (
            'heading "Waiting for your payment" [level=1]',
            'heading "How to pay" [level=2]',
            'navigation "Pay with"',
            'link "MTN"',
            'link "Dial now"',
            'button "Copy the number"',
            'button "Copy the amount"',
            'button "Copy the reference"',
            'link "I have paid but it still says waiting"',
            "main:",
            "status",
            "contentinfo:",
        ):
            assert line in tree, (line, tree)
        await visit.page.get_by_text("Paying from another phone?").click()
        assert await visit.page.get_by_role("img", name="QR code of this page").is_visible()
        # With the keyboard alone, in the order in which it is read.
        await visit.page.reload()
        names = []
        for _ in range(8):
            await visit.page.keyboard.press("Tab")
            names.append(
                await visit.page.evaluate(
                    "document.activeElement.getAttribute('aria-label') || document.activeElement.innerText"
                )
            )
        assert names == [
            "Copy the amount", "Copy the number", "Copy the reference", "MTN", "Telecel", "AT",
            "Dial now", "I have paid but it still says waiting",
        ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("secure", [True, False])
async def test_copying_copies_exactly_that(api: FakeApi, browser: Browser, secure: bool) -> None:
    order = await Orders(api.shop).make("waiting")
    wanted = {"Copy the number": "0244124567", "Copy the amount": "25.00", "Copy the reference": order.svc_code}
    async with visiting(browser, api.base_url) as visit:
        await visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
        if not secure:  # as on http in the shop's own network
            await visit.context.add_init_script("Object.defineProperty(window, 'isSecureContext', {value: false})")
        await visit.page.goto(f"/pay/{order.public_slug}")
        for name, text in wanted.items():
            button = visit.page.get_by_role("button", name=name).last
            await button.click()
            await button.get_by_text("Copied", exact=True).wait_for()
            assert await visit.page.evaluate("navigator.clipboard.readText()") == text
        assert clean(visit)


@pytest.mark.slow
async def test_dialling_opens_the_menu_alone_and_is_not_offered_where_it_cannot_work(
    api: FakeApi, browser: Browser
) -> None:
    order = await Orders(api.shop).make("waiting")
    for agent, offered in ((None, True), (IPHONE, False)):
        async with visiting(browser, api.base_url, user_agent=agent) as visit:
            await visit.page.goto(f"/pay/{order.public_slug}")
            link = visit.page.locator("[data-dial]")
            assert await link.is_visible() == offered
            assert await link.get_attribute("href") == "tel:*170%23"
            assert "Dial *170#" in await visit.page.locator("ol").inner_text()


@pytest.mark.slow
async def test_a_phone_that_can_hold_no_stream_asks_instead(api: FakeApi, browser: Browser) -> None:
    orders = Orders(api.shop)
    order = await orders.make("waiting")
    async with visiting(browser, api.base_url) as visit:

        async def drop(route: Route) -> None:
            await route.abort()

        await visit.context.route("**/events*", drop)
        await visit.page.goto(f"/pay/{order.public_slug}")
        await orders.pay(order)
        await seen(visit, "Paid. Thank you!")


@pytest.mark.slow
async def test_coming_back_from_the_dialler_asks_at_once(api: FakeApi, browser: Browser) -> None:
    order = await Orders(api.shop).make("waiting")
    async with visiting(browser, api.base_url) as visit:
        await stop_the_clock(visit)
        await visit.page.goto(f"/pay/{order.public_slug}")
        async with visit.page.expect_response(lambda answer: answer.url.endswith("/status")) as asked:
            await visit.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        assert (await asked.value).status == 304


@pytest.mark.slow
async def test_a_phone_without_internet_is_told_that_dialling_works(api: FakeApi, browser: Browser) -> None:
    order = await Orders(api.shop).make("waiting")
    async with visiting(browser, api.base_url) as visit:
        await stop_the_clock(visit)
        await visit.page.goto(f"/pay/{order.public_slug}")
        note = visit.page.get_by_text("No internet on this phone")
        assert not await note.is_visible()
        await visit.context.set_offline(True)
        await note.wait_for(state="visible")
        await visit.context.set_offline(False)
        await note.wait_for(state="hidden")


@pytest.mark.slow
async def test_an_open_page_counts_down_and_expires(api: FakeApi, browser: Browser) -> None:
    order = await Orders(api.shop).make("waiting")
    soon = api.shop.clock.now_us() + 582_000_000
    await api.shop.env.store.write(
        lambda tx: tx.run("UPDATE transactions SET expires_at = :at WHERE id = :id", {"at": soon, "id": order.id})
    )
    async with visiting(browser, api.base_url) as visit:
        await stop_the_clock(visit)
        async with visit.page.expect_response(lambda answer: answer.url.endswith("/events")):
            await visit.page.goto(f"/pay/{order.public_slug}")
        left = visit.page.locator("#left")
        assert await left.inner_text() == "9:42 left."
        await visit.page.clock.run_for(2000)
        assert await left.inner_text() == "9:40 left."
        api.shop.clock.advance(583)
        await api.shop.env.store.write(lambda tx: journal.add(tx, "test.tick", soon))
        await seen(visit, "This reference has expired")


@pytest.mark.slow
async def test_two_windows_show_the_same(api: FakeApi, browser: Browser) -> None:
    orders = Orders(api.shop)
    order = await orders.make("waiting")
    async with visiting(browser, api.base_url) as phone, visiting(browser, api.base_url, width=1280) as desk:
        for visit in (phone, desk):
            async with visit.page.expect_response(lambda answer: answer.url.endswith("/events")):
                await visit.page.goto(f"/pay/{order.public_slug}")
        await orders.pay(order, 2000)
        await asyncio.gather(*(seen(visit, "GHS 5.00 is missing") for visit in (phone, desk)))


@pytest.mark.slow
async def test_typing_is_not_lost_when_something_else_changes(api: FakeApi, browser: Browser) -> None:
    orders = Orders(api.shop)
    order = await orders.make("waiting")
    async with visiting(browser, api.base_url) as visit:
        async with visit.page.expect_response(lambda answer: "/events" in answer.url):
            await visit.page.goto(f"/pay/{order.public_slug}?paid=1")
        field = visit.page.get_by_label("Transaction ID")
        await field.type("9321")
        told = await next_news(visit)
        await api.shop.env.store.write(lambda tx: tx.run("UPDATE devices SET present = 0"))
        api.shop.clock.advance(121)
        await api.shop.env.store.write(lambda tx: journal.add(tx, "test.tick", 1))
        await told
        assert await field.input_value() == "9321"
        await orders.pay(order)
        await seen(visit, "Paid. Thank you!")


@pytest.mark.slow
@pytest.mark.parametrize("stays", [True, False])
async def test_a_paid_customer_goes_back_to_a_shop_that_was_named(
    tmp_path: Path, browser: Browser, stays: bool
) -> None:
    async with running(tmp_path, Config(pages=Pages(redirect_hosts=("shop.example",)))) as api:
        orders = Orders(api.shop)
        order = await orders.make("waiting", redirect_url="https://shop.example/thanks")
        async with visiting(browser, api.base_url) as visit:
            await stop_the_clock(visit)
            async with visit.page.expect_response(lambda answer: answer.url.endswith("/events")):
                await visit.page.goto(f"/pay/{order.public_slug}")
            await orders.pay(order)
            await seen(visit, "Paid. Thank you!")
            assert "You return to shop.example" in await visit.page.locator("#returning").inner_text()
            if stays:
                await visit.page.get_by_role("button", name="Stay here").click()
            await visit.page.clock.run_for(4000)
            assert visit.elsewhere == [], "there is time to read"
            back = f"https://shop.example/thanks?reference={order.reference}"
            if stays:
                await visit.page.clock.run_for(60_000)
                await asyncio.sleep(1)  # within which it would have left
                assert clean(visit)
            else:
                async with visit.page.expect_event("requestfailed"):
                    await visit.page.clock.run_for(2000)
                assert visit.elsewhere == [back]


@pytest.mark.slow
async def test_a_receipt_that_is_opened_again_stays(tmp_path: Path, browser: Browser) -> None:
    async with running(tmp_path, Config(pages=Pages(redirect_hosts=("shop.example",)))) as api:
        order = await Orders(api.shop).make("paid", redirect_url="https://shop.example/thanks")
        async with visiting(browser, api.base_url) as visit:
            await stop_the_clock(visit)
            await visit.page.goto(f"/pay/{order.public_slug}")
            await visit.page.clock.run_for(60_000)
            await asyncio.sleep(1)  # within which it would have left
            assert clean(visit)


@pytest.mark.slow
async def test_a_receipt_prints_without_what_cannot_be_pressed(api: FakeApi, browser: Browser) -> None:
    order = await Orders(api.shop).make("paid", redirect_url="https://shop.example/x", client_reference="INV-77")
    async with visiting(browser, api.base_url) as visit:
        await visit.page.goto(f"/pay/{order.public_slug}")
        await visit.page.emulate_media(media="print")
        text = await visit.page.locator("main").inner_text()
        assert order.reference in text
        assert "INV-77" in text
        assert "Ama Provisions" in text
        assert "GHS\xa025.00" in text
        for gone in ("Print this receipt", "Return to"):
            assert gone not in text
        assert (await visit.page.pdf(format="A4")).startswith(b"%PDF")


@pytest.mark.slow
async def test_evil_words_do_nothing(api: FakeApi, browser: Browser) -> None:
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE shop SET name = :name", {"name": EVIL}))
    orders = Orders(api.shop)
    order = await orders.make("waiting", description=EVIL, customer_name=EVIL)
    async with visiting(browser, api.base_url) as visit:
        async with visit.page.expect_response(lambda answer: "/events" in answer.url):
            await visit.page.goto(f"/pay/{order.public_slug}?net={EVIL}")
        assert EVIL in await visit.page.locator("main").inner_text()
        await orders.pay(order)
        await seen(visit, "Paid. Thank you!")
        assert EVIL in await visit.page.locator("main").inner_text()
        assert await visit.page.locator("img, script:not(body > script)").count() == 0
        assert clean(visit)


@pytest.mark.slow
async def test_a_script_that_is_not_ours_does_not_run(api: FakeApi, browser: Browser) -> None:
    """The content security policy protects the page even if the escaping has a bug."""
    order = await Orders(api.shop).make("waiting")
    async with visiting(browser, api.base_url) as visit:
        await visit.page.goto(f"/pay/{order.public_slug}")
        await visit.page.evaluate(
            "() => { const one = document.createElement('script'); one.textContent = 'window.bad = 1';"
            " document.body.appendChild(one); }"
        )
        assert await visit.page.evaluate("window.bad") is None
        assert any("Content Security Policy" in fault for fault in visit.faults)
        with pytest.raises(Error):
            await visit.page.evaluate(f"fetch('{api.base_url}'.replace('127.0.0.1', 'localhost'))")


@pytest.mark.slow
async def test_first_paint_on_a_slow_phone_takes_less_than_three_seconds(api: FakeApi, browser: Browser) -> None:
    order = await Orders(api.shop).make("waiting")
    async with visiting(browser, api.base_url) as visit:
        devtools = await visit.context.new_cdp_session(visit.page)
        await devtools.send("Network.enable")
        await devtools.send("Network.emulateNetworkConditions", SLOW_PHONE)
        await devtools.send("Emulation.setCPUThrottlingRate", {"rate": 4})
        began = time.monotonic_ns()
        await visit.page.goto(f"/pay/{order.public_slug}", wait_until="load")
        loaded_ms = (time.monotonic_ns() - began) / 1e6
        painted = await visit.page.evaluate(
            "new Promise(done => new PerformanceObserver(list => done(list.getEntries()[0].startTime))"
            ".observe({type: 'paint', buffered: true}))"
        )
        assert 400 < painted < 3000, (painted, loaded_ms)
        assert loaded_ms < 4000
