"""The counter with several customers: open orders are live, forms are not lost, and a tab in the background is told."""

import asyncio
import json
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, Route

from daemon.core.access.sessions import cookie_name
from daemon.dash.tables import PAGES
from daemon.flows.access import users as user_flow
from daemon.runtime.config import Config, Http, Till
from daemon.wire import Role
from tests.dash import places
from tests.dash.test_browser import AT_LAST_MS, clean
from tests.dash.test_till import SALE, open_live, pay, sell
from tests.fakes.api import FakeApi, running
from tests.fakes.browser import needs_browser, visiting
from tests.fakes.dash import PASSWORD, as_user, log_in
from tests.fakes.each import each
from tests.fakes.orders import Orders
from tests.fakes.shop import OWNER

NO_STATES = frozenset(
    {
        "/dash/health/checks",
        "/dash/messages",
        "/dash/messages/{id}",
        "/dash/account",
        "/dash/settings",
        "/dash/users",
        "/dash/users/{id}",
        "/dash/keys",
        "/dash/keys/{id}",
        "/dash/webhooks/{id}/rules/new",
        "/dash/webhooks/{id}/rules/{rule}",
        "/dash/health",
        "/dash/journal",
    }
)
"""Their states are not of an order, a payment, a line or a delivery."""


async def test_each_page_that_shows_a_state_is_live(api: FakeApi) -> None:
    known = await places.paths(api)
    person = await log_in(api, Role.OWNER)
    await sell(person)
    still = []
    for page in PAGES:
        if page.public or page.path in NO_STATES or page.live:
            continue
        path = places.filled(page.path, known)
        if 'class="state ' in (await person.client.get(path, follow_redirects=True)).text:
            still.append(page.path)
    assert still == []


@needs_browser
async def test_own_open_orders_are_live_while_the_next_amount_is_typed(api: FakeApi, browser: Browser) -> None:
    ama, kofi = await log_in(api, Role.CASHIER, "ama"), await log_in(api, Role.CASHIER, "kofi")
    first, second, third = [await sell(ama, amount=one) for one in ("25", "12.50", "7")]
    await sell(kofi, amount="99")
    orders = Orders(api.shop)
    async with visiting(browser, api.base_url, width=390) as visit:
        await as_user(visit, ama)
        await open_live(visit, "/dash/till")
        page = visit.page
        assert await page.locator("#part-open li").count() == 3
        assert "99.00" not in await page.locator("main").inner_text()
        await page.get_by_label("Amount").press_sequentially("4")
        await pay(orders, first, 2500)
        await page.locator("#part-paid .good").wait_for(timeout=AT_LAST_MS)
        await pay(orders, second, 1000)
        await page.get_by_text("GHS\xa02.50 is missing").first.wait_for(timeout=AT_LAST_MS)
        assert "Do not hand over the goods yet." in (await page.locator("#part-paid").text_content() or "")
        await pay(orders, third, 900)
        await page.get_by_text("GHS\xa02.00 too much").first.wait_for(timeout=AT_LAST_MS)
        assert await page.locator("#part-paid .warn").count() == 2
        assert await page.get_by_label("Amount").input_value() == "4"
        assert await page.locator("#part-open li").count() == 0
        assert "too much" in (await page.locator("#say").text_content() or "")
        assert clean(visit)


@needs_browser
async def test_a_tab_in_the_background_is_told_by_its_title(api: FakeApi, browser: Browser) -> None:
    ama = await log_in(api, Role.CASHIER, "ama")
    first, second = await sell(ama), await sell(ama)
    orders = Orders(api.shop)
    async with visiting(browser, api.base_url, width=390) as visit:
        await as_user(visit, ama)
        await visit.page.add_init_script(
            "Object.defineProperty(document, 'hidden', { get: () => window.covered === true });"
        )
        await open_live(visit, f"/dash/till/{second}")
        await visit.page.evaluate(
            "() => { window.covered = true; document.dispatchEvent(new Event('visibilitychange')); }"
        )
        title = await visit.page.evaluate("document.title")
        for count, one in enumerate((first, second), 1):
            await pay(orders, one)
            await _until(visit.page, f"document.title === {json.dumps(f'({count}) {title}')}")
        assert await visit.page.locator("body").get_attribute("data-rang") == second
        await visit.page.evaluate(
            "() => { window.covered = false; document.dispatchEvent(new Event('visibilitychange')); }"
        )
        assert await visit.page.evaluate("document.title") == title
        assert clean(visit)


async def _until(page: Page, true: str) -> None:
    async with asyncio.timeout(AT_LAST_MS / 1000):
        while not await page.evaluate(true):  # noqa: ASYNC110 -- the condition is in the browser
            await asyncio.sleep(0.05)


@needs_browser
async def test_the_main_button_is_on_the_first_screen_of_a_phone(api: FakeApi, browser: Browser) -> None:
    ama = await log_in(api, Role.CASHIER, "ama")
    await pay(Orders(api.shop), await sell(ama), 2000)
    for width, height in ((360, 640), (390, 844)):
        async with visiting(browser, api.base_url, width=width, height=height) as visit:
            await as_user(visit, ama)
            await visit.page.goto("/dash/till")
            await visit.page.locator("[data-pad]").first.wait_for()
            box = await visit.page.get_by_role("button", name="Make the code").bounding_box()
            assert box is not None
            assert box["y"] + box["height"] <= height
            assert await visit.width() == width


async def test_without_a_phone_number_an_order_is_made_and_no_sms_is_queued(api: FakeApi) -> None:
    ama = await log_in(api, Role.CASHIER, "ama")
    reference = await sell(ama, phone="")
    order = await api.shop.transaction(reference)
    assert (order.phone_number, order.status) == (None, "PENDING")
    assert await api.shop.values("SELECT COUNT(*) FROM sms_outbox") == [0]
    answer = await api.local.get(f"/v1/transactions/{reference}")
    assert answer.json()["data"]["payer"]["phone_number"] is None
    for path in (f"/dash/till/{reference}", f"/dash/transactions/{reference}", "/dash/transactions"):
        assert (await ama.get(path)).status_code == 200, path
    await pay(Orders(api.shop), reference)
    assert (await api.shop.transaction(reference)).status == "SUCCESS"


@needs_browser
async def test_the_keys_for_two_zeros_and_to_clear_and_the_products_fill_the_amount(
    tmp_path: Path, browser: Browser
) -> None:
    products = ("Rice 1 kg = 12.50", "Bread = 8")
    async with running(tmp_path, Config(till=Till(products=products))) as api:
        ama = await log_in(api, Role.CASHIER, "ama")
        async with visiting(browser, api.base_url, width=390) as visit:
            await as_user(visit, ama)
            page = visit.page
            await page.goto("/dash/till")
            amount = page.get_by_label("Amount")

            async def press(*keys: str) -> str:
                for key in keys:
                    await page.get_by_role("button", name=key, exact=True).click()
                return await amount.input_value()

            assert await press("00") == ""
            assert await press("5", "00") == "500"
            assert await press("Decimal point", "00", "7") == "500.00"
            assert await press("Clear") == ""
            await page.get_by_role("button", name="Rice 1 kg").click()
            await page.get_by_role("button", name="Bread").click()
            assert await amount.input_value() == "20.50"
            await page.get_by_role("button", name="Make the code").click()
            await page.wait_for_url("**/dash/till/svc_trx_*")
            order = await api.shop.transaction(page.url.rsplit("/", 1)[1])
            assert (order.expected_minor, order.description) == (2050, "Rice 1 kg, Bread")
            assert clean(visit)


@each("row", ["Rice", "= 5", "Rice = 0", "Rice = five", f"{'x' * 41} = 5"])
def test_a_product_without_name_or_price_is_refused(row: str) -> None:
    from daemon.runtime.config import _product

    assert "such as" in _product(row)


async def test_the_link_is_shared_only_if_customers_reach_it(tmp_path: Path) -> None:
    for base in ("", "https://pay.shop.example"):
        folder = tmp_path / (base[8:] or "none")
        folder.mkdir()
        async with running(folder, Config(http=Http(public_base_url=base))) as api:
            ama = await log_in(api, Role.CASHIER, "ama")
            shown = (await ama.get(f"/dash/till/{await sell(ama)}")).text
            assert ("https://wa.me/?text=Please" in shown) is bool(base)
            assert ("Customers cannot reach the page" in shown) is not bool(base)


@needs_browser
async def test_a_form_is_sent_again_until_the_daemon_answers_and_does_its_thing_once(
    api: FakeApi, browser: Browser
) -> None:
    ama = await log_in(api, Role.CASHIER, "ama")
    tries = 0

    async def lose(route: Route) -> None:
        nonlocal tries
        tries += 1
        if route.request.method != "POST" or tries > 2:
            await route.continue_()
        elif tries == 1:
            await route.fulfill(status=502, body="Bad gateway")
        else:
            await route.fetch(max_redirects=0)  # it arrives, and its answer is lost
            await route.abort()

    async with visiting(browser, api.base_url, width=390) as visit:
        await as_user(visit, ama)
        page = visit.page
        await page.goto("/dash/till")
        await page.route("**/dash/till", lose)
        await page.get_by_label("Amount").fill("25")
        await page.get_by_role("button", name="Make the code").click()
        await page.get_by_text("Not sent yet").wait_for(timeout=AT_LAST_MS)
        assert await page.get_by_label("Amount").input_value() == "25"
        await page.wait_for_url("**/dash/till/svc_trx_*")
    assert await api.shop.values("SELECT COUNT(*) FROM transactions") == [1]


@needs_browser
async def test_a_form_that_never_arrives_keeps_its_entries_and_says_so(api: FakeApi, browser: Browser) -> None:
    ama = await log_in(api, Role.CASHIER, "ama")
    async with visiting(browser, api.base_url, width=390) as visit:
        await as_user(visit, ama)
        page = visit.page
        await page.clock.install(time=0)
        await page.goto("/dash/till")
        await page.route(
            "**/dash/till", lambda route: route.abort() if route.request.method == "POST" else route.continue_()
        )
        await page.get_by_label("Amount").fill("25")
        await page.get_by_role("button", name="Make the code").click()
        for _ in range(6):
            await page.wait_for_timeout(50)
            await page.clock.fast_forward(9_000)
        await page.get_by_text("press the button again").wait_for(timeout=AT_LAST_MS)
        assert await page.get_by_label("Amount").input_value() == "25"
        await page.unroute("**/dash/till")
        await page.get_by_role("button", name="Make the code").click()
        await page.wait_for_url("**/dash/till/svc_trx_*")


@needs_browser
@pytest.mark.parametrize("told", [True, False], ids=["by the stream", "by the form"])
async def test_after_the_session_ended_one_comes_back_to_what_was_typed(
    api: FakeApi, browser: Browser, *, told: bool
) -> None:
    manager = await log_in(api, Role.MANAGER, "esi")
    async with visiting(browser, api.base_url, width=390) as visit:
        await as_user(visit, manager)
        page = visit.page
        if not told:
            await page.route("**/dash/events", lambda route: route.abort())
        await page.goto("/dash/till")
        await page.get_by_label("Amount").fill("25")
        await page.get_by_label("Customer's phone").fill("024 123 4567")
        await user_flow.reset(api.shop.env, OWNER, "esi", PASSWORD, second_factor=False)
        if not told:
            await page.get_by_role("button", name="Make the code").click()
        await page.wait_for_url("**/dash/login?**")
        await page.get_by_label("Name").fill("esi")
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Log in").click()
        await page.wait_for_url("**/dash/till")
        await page.get_by_text("What you typed is here again").wait_for(timeout=AT_LAST_MS)
        assert await page.get_by_label("Amount").input_value() == "25"
        assert await page.get_by_label("Customer's phone").input_value() == "024 123 4567"
        assert await page.evaluate("JSON.stringify({...sessionStorage})") == "{}"
        await page.get_by_role("button", name="Make the code").click()
        await page.wait_for_url("**/dash/till/svc_trx_*")


async def test_without_script_the_login_leads_back_to_the_page_of_the_form(api: FakeApi) -> None:
    visitor = await api.client()
    visitor.event_hooks = {}
    for path, page in (("/dash/till", "till"), ("/dash/lines/x:0/name", "lines%2Fx%3A0")):
        answer = await visitor.post(path, data=SALE, headers={"Origin": api.base_url})
        assert answer.headers["location"] == (f"/dash/login?to=%2Fdash%2F{page}&said=said_session_over")


async def test_two_shops_on_one_machine_have_sessions_of_their_own(tmp_path: Path) -> None:
    names = {cookie_name(str(tmp_path / shop), secure=False) for shop in ("real", "practice")}
    assert len(names) == 2
    async with running(tmp_path) as api:
        person = await log_in(api, Role.OWNER)
        person.client.cookies.set(names.pop(), "f" * 64, domain="127.0.0.1", path="/dash")
        assert (await person.get("/dash/till")).status_code == 200
        answer = await person.post("/dash/logout")
        assert [one.split("=")[0] for one in answer.headers.get_list("set-cookie")] == [
            cookie_name(api.shop.env.home, secure=False)
        ]


@needs_browser
async def test_the_screen_for_customers_shows_a_paid_order_and_then_the_next(api: FakeApi, browser: Browser) -> None:
    ama = await log_in(api, Role.CASHIER, "ama")
    first, second = await sell(ama, amount="25"), await sell(ama, amount="7")
    assert second
    await pay(Orders(api.shop), first)
    screen = "/dash/till/screen?of=ama"
    assert "Paid" in (await ama.get(screen)).text
    api.shop.clock.advance(6)
    shown = (await ama.get(screen)).text
    assert "GHS\xa07.00" in shown
    assert 'class="card ended' not in shown


@pytest.mark.parametrize("what", ["AudioContext", "Notification", "sessionStorage", "localStorage"])
@needs_browser
async def test_the_till_works_in_a_browser_that_denies_sound_notifications_or_storage(
    api: FakeApi, browser: Browser, what: str
) -> None:
    ama = await log_in(api, Role.CASHIER, "ama")
    async with visiting(browser, api.base_url, width=390) as visit:
        await as_user(visit, ama)
        await visit.page.add_init_script(
            f"Object.defineProperty(window, '{what}', {{ get() {{ throw new Error('denied'); }} }});"
            if what.endswith("Storage")
            else f"delete window.{what}; delete window.webkitAudioContext;"
        )
        await visit.page.goto("/dash/till")
        # The choice of the sound holds on this page also where it cannot be stored.
        sound = visit.page.get_by_role("button", name="Sound", exact=True)
        await sound.click()
        assert await sound.get_attribute("aria-pressed") == "false"
        await sound.click()
        assert await sound.get_attribute("aria-pressed") == "true"
        await visit.page.get_by_role("button", name="7", exact=True).click()
        async with visit.page.expect_response(lambda one: one.url.endswith("/dash/events")):
            await visit.page.get_by_role("button", name="Make the code").click()
        await pay(Orders(api.shop), visit.page.url.rsplit("/", 1)[1], 700)
        await visit.page.locator(".ended.paid").wait_for(timeout=AT_LAST_MS)
        assert clean(visit)
