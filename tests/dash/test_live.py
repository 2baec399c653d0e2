"""An open page: it updates itself, keeps what a person types and where the focus is, and says when it is old."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, Page

from daemon.dash.web import stream
from daemon.flows.lines import modems
from daemon.wire import Role
from tests.dash.test_browser import AT_LAST_MS, clean
from tests.dash.test_lines import plug_in
from tests.dash.test_review import CALM_MS, doubtful, states
from tests.fakes.api import FakeApi, running
from tests.fakes.browser import Visit, needs_browser, visiting
from tests.fakes.dash import as_user, log_in
from tests.fakes.orders import Orders
from tests.fakes.shop import OWNER

pytestmark = needs_browser
NEWS = "There is something new."
GONE = "cannot be reached"


async def open_live(visit: Visit, path: str) -> Page:
    """Open a page, and wait until it hears of changes."""
    async with visit.page.expect_response(lambda answer: answer.url.endswith("/dash/events")):
        await visit.page.goto(path)
    return visit.page


async def test_keys_that_are_held_down_decide_one_review(api: FakeApi, browser: Browser) -> None:
    await doubtful(api, 3)
    person = await log_in(api, Role.CASHIER)
    async with visiting(browser, api.base_url, width=1280) as visit:
        await as_user(visit, person)
        page = await open_live(visit, "/dash/review")
        await page.wait_for_timeout(CALM_MS)
        first = page.url
        await page.keyboard.down("a")
        await page.keyboard.down("Enter")
        await page.wait_for_url(lambda url: url != first)
        await page.wait_for_load_state()
        second = page.url
        await page.wait_for_timeout(CALM_MS)
        for key in ("a", "Enter"):
            await page.keyboard.down(key)  # it was not released, so this one is a repeat
        await page.wait_for_timeout(300)
        assert page.url == second
        assert clean(visit)
    assert [state for state, _by in await states(api)].count("approved") == 1


async def test_a_refused_match_is_in_view_and_its_page_still_learns_of_the_payment(
    api: FakeApi, browser: Browser
) -> None:
    orders = Orders(api.shop)
    order = await orders.make("waiting")
    person = await log_in(api, Role.CASHIER)
    path = f"/dash/transactions/{order.reference}"
    async with visiting(browser, api.base_url, width=390) as visit:
        await as_user(visit, person)
        page = await open_live(visit, path)
        await page.locator("#f-transaction_id").fill("93214999999")
        async with page.expect_response(lambda answer: answer.url.endswith("/dash/events")):
            await page.locator("#f-transaction_id").press("Enter")
        refused = page.get_by_text("No payment with this ID has arrived")
        await refused.wait_for()
        assert await page.evaluate("document.activeElement.id") == "f-transaction_id"
        top = (await refused.bounding_box() or {"y": -1})["y"]
        assert 0 <= top < 844
        await orders.pay(order)
        await page.get_by_text(NEWS).wait_for(timeout=AT_LAST_MS)
        assert await refused.is_visible()
        await page.get_by_role("button", name="Show it").click()
        await page.wait_for_url(f"**{path}")
        assert await page.locator("#f-transaction_id").count() == 0
        visit.faults = [each for each in visit.faults if "422" not in each and "404" not in each]
        assert clean(visit)


async def test_an_answer_of_a_proxy_that_does_not_reach_the_daemon_is_said(api: FakeApi, browser: Browser) -> None:
    person = await log_in(api, Role.OWNER)
    async with visiting(browser, api.base_url) as visit:
        await as_user(visit, person)
        await visit.page.clock.install(time=0)
        await visit.page.route("**/dash/events", lambda route: route.abort())
        await visit.page.goto("/dash")
        await visit.page.route("**/dash", lambda route: route.fulfill(status=502, body="Bad"))
        await visit.page.clock.fast_forward(11_000)
        await visit.page.get_by_text(GONE).wait_for(timeout=AT_LAST_MS)
        assert "dim" in (await visit.page.locator("main").get_attribute("class") or "")


async def test_a_stream_that_falls_silent_is_said_after_five_seconds_and_opened_again(
    api: FakeApi, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "BEAT_S", 60.0)
    person = await log_in(api, Role.OWNER)
    async with visiting(browser, api.base_url) as visit:
        await as_user(visit, person)
        await visit.page.clock.install(time=0)
        page = await open_live(visit, "/dash")
        gone = page.get_by_text(GONE)
        await page.clock.fast_forward(4_000)
        assert not await gone.is_visible()
        await page.clock.fast_forward(2_000)
        await gone.wait_for(timeout=AT_LAST_MS)
        async with page.expect_response(lambda answer: answer.url.endswith("/dash/events")):
            await page.clock.fast_forward(11_000)
        await gone.wait_for(state="hidden", timeout=AT_LAST_MS)


async def test_what_is_typed_into_a_search_stays(api: FakeApi, browser: Browser) -> None:
    orders = Orders(api.shop)
    order = await orders.make("waiting")
    person = await log_in(api, Role.OWNER)
    async with visiting(browser, api.base_url) as visit:
        await as_user(visit, person)
        page = await open_live(visit, "/dash/payments")
        await page.locator("#f-search").fill("KOFI BOA")
        await orders.pay(order)
        await page.get_by_text(NEWS).wait_for(timeout=AT_LAST_MS)
        assert await page.locator("#f-search").input_value() == "KOFI BOA"
        assert clean(visit)


async def test_a_page_with_a_choice_that_nobody_made_updates_itself(tmp_path: Path, browser: Browser) -> None:
    async with running(tmp_path, line=False) as api:
        plug_in(api)
        person = await log_in(api, Role.OWNER)
        async with visiting(browser, api.base_url) as visit:
            await as_user(visit, person)
            page = await open_live(visit, "/dash/first")
            assert await page.locator("form[method=post] select").count() > 0
            await modems.name_modem(api.shop.env, OWNER, api.shop.source.device_id, "front-desk")
            await page.get_by_text("front-desk").first.wait_for(timeout=AT_LAST_MS)
            assert clean(visit)


@pytest.mark.parametrize("place", ["#cancel > summary", "form[action$='/send'] button"])
async def test_the_focus_stays_where_it_is_when_a_page_updates_itself(
    api: FakeApi, browser: Browser, place: str
) -> None:
    orders = Orders(api.shop)
    order, other = await orders.make("waiting"), await orders.make("waiting")
    person = await log_in(api, Role.OWNER)
    async with visiting(browser, api.base_url) as visit:
        await as_user(visit, person)
        page = await open_live(visit, f"/dash/transactions/{order.reference}")
        await page.locator(place).focus()
        await page.evaluate("document.getElementById('main').firstElementChild.id = 'before'")
        await orders.pay(other)
        await page.locator("#before").wait_for(state="detached", timeout=AT_LAST_MS)
        assert await page.locator(place).evaluate("one => one === document.activeElement")
        assert clean(visit)


async def test_from_the_fifth_tab_of_a_session_on_a_page_asks_by_itself(api: FakeApi, browser: Browser) -> None:
    person = await log_in(api, Role.OWNER)
    order = await Orders(api.shop).make("waiting")
    async with visiting(browser, api.base_url) as visit:
        await as_user(visit, person)
        for _ in range(4):
            async with visit.context.expect_event("response", lambda answer: answer.url.endswith("/dash/events")):
                await (await visit.context.new_page()).goto("/dash/payments")
        await visit.page.clock.install(time=0)
        async with visit.page.expect_response(lambda one: one.url.endswith("/dash/events")) as last:
            await visit.page.goto("/dash/payments")
        assert (await last.value).status == 204
        await Orders(api.shop).pay(order)
        await visit.page.clock.fast_forward(11_000)
        await visit.page.get_by_text("25.00").first.wait_for(timeout=AT_LAST_MS)
        assert visit.faults == []
    other = await log_in(api, Role.CASHIER)
    async with visiting(browser, api.base_url) as visit:
        await as_user(visit, other)
        async with visit.page.expect_response(lambda one: one.url.endswith("/dash/events")) as own:
            await visit.page.goto("/dash")
        assert (await own.value).status == 200
