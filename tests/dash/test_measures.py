"""Measures of the pages: long words wrap, the first row of a list is near the top of a phone, and the scripts stay small."""

import re

import pytest
from playwright.async_api import Browser

from daemon.dash.web.frame import FOLDER
from daemon.store.engine import Tx
from daemon.wire import Role
from tests.dash import places
from tests.dash.test_practice import attach, pay, switch
from tests.dash.test_tables import SHOWN
from tests.dash.test_till import sell
from tests.fakes.api import FakeApi
from tests.fakes.browser import needs_browser, visiting
from tests.fakes.dash import as_user, log_in
from tests.fakes.orders import Orders

NARROW, PHONE = 320, 390
FIRST_ROW_MAX = 250
LISTS = (
    "/dash/reviews",
    "/dash/payments",
    "/dash/transactions",
    "/dash/webhooks",
    "/dash/deliveries",
    "/dash/messages",
    "/dash/journal",
    "/dash/shifts",
    "/dash/users",
    "/dash/keys",
)
LISTS_OF_PRACTICE = ("/dash/payments", "/dash/transactions", "/dash/messages", "/dash/journal", "/dash/shifts")
ENDS = "[...document.querySelectorAll('.filters .field, .filters .go')].map(one => one.getBoundingClientRect().bottom)"
UNFOLD = "document.querySelectorAll('details').forEach(one => one.open = true)"
TOP = "document.querySelector('main tbody tr')?.getBoundingClientRect().top ?? 0"


def long_words(tx: Tx) -> None:
    """Give everything that a person named a name of one long word."""
    word = {"word": "W" * 200}
    tx.run("UPDATE payments SET payer_name = :word, reference_text = :word", word)
    tx.run("UPDATE transactions SET customer_name = :word, description = :word", word)
    tx.run("UPDATE endpoints SET description = :word", word)
    tx.run("UPDATE payment_methods SET account_name = :word", word)
    tx.run("UPDATE messages SET sender = :word WHERE payment_id IS NULL", word)
    tx.run("UPDATE devices SET name = :word", {"word": "M" * 60})
    tx.run("UPDATE shop SET name = :word", {"word": "S" * 80})


def test_the_scripts_are_small() -> None:
    lines = [len(path.read_text().splitlines()) for path in FOLDER.iterdir() if path.name.endswith(".js")]
    assert sum(lines) <= 350
    assert max(lines) < 200


def test_what_only_the_newest_browsers_unfold_by_style_keeps_its_summary_in_others() -> None:
    style = "\n".join(path.read_text() for path in sorted((FOLDER / "style").iterdir(), key=str))
    hides = re.findall(r"^.*summary\{display:none\}.*$", style, re.MULTILINE)
    assert len(hides) == 2
    assert all(line.startswith("@supports selector(::details-content){") for line in hides)


@needs_browser
async def test_the_filter_of_a_list_stands_in_one_row_on_a_desk(api: FakeApi, browser: Browser) -> None:
    person = await log_in(api, Role.OWNER)
    async with visiting(browser, api.base_url, width=1280) as visit:
        await as_user(visit, person)
        for path in ("/dash/payments", "/dash/transactions", "/dash/deliveries", "/dash/journal"):
            await visit.page.goto(path)
            ends = await visit.page.evaluate(ENDS)
            assert (len(ends), len(set(ends))) == (6, 1), (path, ends)


@needs_browser
@pytest.mark.parametrize("language", ["en", "fr"])
async def test_the_words_of_the_bar_of_a_phone_stand_in_one_line(api: FakeApi, browser: Browser, language: str) -> None:
    await Orders(api.shop).make("checking", expected_payer_phone="+233201234567")
    person = await log_in(api, Role.OWNER)
    await person.post("/dash/account/language", {"language": language})
    async with visiting(browser, api.base_url, width=NARROW) as visit:
        await as_user(visit, person)
        await visit.page.goto("/dash")
        bar = await visit.page.locator("nav.bar").bounding_box()
        assert bar is not None
        assert bar["height"] <= 54
        assert await visit.width() == NARROW


@needs_browser
@pytest.mark.parametrize(("width", "height"), [(360, 740), (390, 844)])
async def test_the_next_customer_is_on_the_first_screen_of_a_phone_beside_an_order_that_waits(
    api: FakeApi, browser: Browser, width: int, height: int
) -> None:
    order = await Orders(api.shop).make("waiting")
    person = await log_in(api, Role.CASHIER)
    async with visiting(browser, api.base_url, width=width, height=height) as visit:
        await as_user(visit, person)
        await visit.page.goto(f"/dash/till/{order.reference}")
        button = await visit.page.get_by_role("link", name="Next customer").bounding_box()
        bar = await visit.page.locator("nav.bar").bounding_box()
        assert button is not None
        assert bar is not None
        assert button["y"] + button["height"] <= bar["y"]


@needs_browser
@pytest.mark.slow
async def test_a_short_order_is_settled_on_the_first_screen_of_a_phone(api: FakeApi, browser: Browser) -> None:
    orders = Orders(api.shop)
    person = await log_in(api, Role.OWNER)
    async with visiting(browser, api.base_url, width=PHONE, height=844) as visit:
        await as_user(visit, person)
        for state, button in (("short", "The rest has come"), ("over", "The change was given back")):
            await visit.page.goto(f"/dash/transactions/{(await orders.make(state)).reference}")
            found = await visit.page.get_by_role("button", name=button).bounding_box()
            bar = await visit.page.locator("nav.bar").bounding_box()
            assert found is not None
            assert bar is not None
            assert found["y"] + found["height"] <= bar["y"], state


@needs_browser
@pytest.mark.slow
async def test_long_words_wrap_and_the_first_row_of_each_list_is_near_the_top(api: FakeApi, browser: Browser) -> None:
    known = await places.paths(api)
    orders = Orders(api.shop)
    for state in ("paid", "short", "over", "waiting", "cancelled"):
        await orders.make(state)
    person = await log_in(api, Role.OWNER)
    await person.post("/dash/shifts")
    wide, deep = {}, {}
    for mode in ("live", "test"):
        async with visiting(browser, api.base_url, width=PHONE, height=844) as visit:
            await as_user(visit, person)
            for path in LISTS if mode == "live" else LISTS_OF_PRACTICE:
                await visit.page.goto(path)
                deep[path, mode] = await visit.page.evaluate(TOP)
        await attach(api)
        await switch(person, "test")
        await sell(person, amount="17")
        await pay(api, await sell(person, amount="17"), "17.00")
    await api.shop.env.store.write(long_words)
    async with visiting(browser, api.base_url, width=NARROW) as visit:
        await as_user(visit, person)
        for page in SHOWN:
            answer = await visit.page.goto(places.filled(page.path, known))
            assert answer is not None
            await visit.page.evaluate(UNFOLD)
            if (width := await visit.width()) > NARROW:
                wide[page.path] = width
    assert wide == {}
    assert {at: top for at, top in deep.items() if not 0 < top <= FIRST_ROW_MAX} == {}
