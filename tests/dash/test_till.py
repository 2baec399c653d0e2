"""The till, the screen for customers, receipts and the poster: each form makes one transaction, and shows "paid" after the payment."""

import asyncio

import pytest
from msgspec.structs import replace
from playwright.async_api import Browser, Route

from daemon.wire import Role
from tests.dash.test_browser import AT_LAST_MS, EVIL, clean
from tests.fakes.api import FakeApi
from tests.fakes.browser import Visit, needs_browser, visiting
from tests.fakes.dash import Person, as_user, log_in
from tests.fakes.orders import EXTRA, STATES, Orders

SALE = {"amount": "25", "phone": "024 123 4567", "description": "2 bags rice", "sms": "1"}


async def sell(person: Person, **changes: str) -> str:
    """Send the form of the till; return the reference of the new transaction."""
    answer = await person.post("/dash/till", {**SALE, **changes})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"].removeprefix("/dash/till/"))


async def pay(orders: Orders, reference: str, minor: int = 2500) -> None:
    await orders.pay(await orders.shop.transaction(reference), minor)


async def open_live(visit: Visit, path: str) -> None:
    """Open a page and wait until it listens."""
    async with visit.page.expect_response(lambda answer: answer.url.endswith("/dash/events")):
        await visit.page.goto(path)


async def test_a_form_that_is_sent_twice_makes_one_transaction(api: FakeApi) -> None:
    person = await log_in(api, Role.CASHIER)
    token = person.form_token("/dash/till")
    answers = await asyncio.gather(*(person.post("/dash/till", SALE, form_token_=token) for _ in range(3)))
    assert [answer.status_code for answer in answers] == [303, 303, 303]
    assert len({answer.headers["location"] for answer in answers}) == 1
    assert await api.shop.values("SELECT COUNT(*) FROM transactions") == [1]
    actors = "SELECT actor FROM events WHERE type = 'transaction.created'"
    assert await api.shop.values(actors) == ["user:cashier"]


@pytest.mark.parametrize(
    ("typed", "minor"),
    [
        ("12", 1200),
        ("12.5", 1250),
        ("12,50", 1250),
        ("GHS 7.05", 705),
        ("1,000.00", 100_000),
        ("\u202a1,000\u202c", 100_000),
        ('="25.00"', 2500),
        ("'25", 2500),
        ("GH₵\u00a025.00.", 2500),
        ("\uff12\uff15", 2500),
    ],
)
async def test_amounts_are_read_as_people_type_them(api: FakeApi, typed: str, minor: int) -> None:
    person = await log_in(api, Role.CASHIER)
    order = await api.shop.transaction(await sell(person, amount=typed))
    assert order.expected_minor == minor


async def test_wrong_fields_are_named_and_what_was_typed_stays(api: FakeApi) -> None:
    person = await log_in(api, Role.CASHIER)
    wrong = {"amount": "0", "phone": "12", "description": "tea\u202e \x07"}
    answer = await person.post("/dash/till", wrong)
    assert answer.status_code == 422
    for text in ("Type an amount such as 12.50", "Type a phone number", 'value="12"'):
        assert text in answer.text
    assert await api.shop.values("SELECT COUNT(*) FROM transactions") == [0]


async def test_a_paid_order_is_not_cancelled_and_the_page_says_why(api: FakeApi) -> None:
    person = await log_in(api, Role.CASHIER)
    first, second = await sell(person), await sell(person)
    await pay(Orders(api.shop), first)
    answer = await person.post(f"/dash/till/{first}/cancel")
    assert answer.status_code == 422
    assert "It cannot be cancelled any more" in answer.text
    answer = await person.post(f"/dash/till/{second}/cancel")
    assert answer.headers["location"] == "/dash/till?said=said_cancelled"
    assert [(await api.shop.transaction(one)).status for one in (first, second)] == ["SUCCESS", "CANCELLED"]


@needs_browser
@pytest.mark.parametrize("sound", ["on", "off"])
async def test_the_till_shows_paid_when_the_payment_comes_with_a_sound_that_can_be_off(
    api: FakeApi, browser: Browser, sound: str
) -> None:
    person = await log_in(api, Role.CASHIER)
    async with visiting(browser, api.base_url, width=390) as visit:
        page = visit.page
        await as_user(visit, person)
        await page.goto("/dash/till")
        if sound == "off":
            await page.get_by_role("button", name="Sound", exact=True).click()
        for key in ("1", "2", "Decimal point", "5", "7", "Delete the last digit", "0", "9"):
            await page.get_by_role("button", name=key, exact=True).click()
        assert await page.get_by_label("Amount").input_value() == "12.50"
        await page.get_by_label("Customer's phone").fill("0241234567")
        async with page.expect_response(lambda answer: answer.url.endswith("/dash/events")):
            await page.get_by_role("button", name="Make the code").click()
        reference = page.url.rsplit("/", 1)[1]
        order = await api.shop.transaction(reference)
        assert await visit.headline() == "GHS\xa012.50"
        shown = await page.locator(".bill").inner_text()
        assert order.svc_code is not None
        assert order.svc_code in shown
        assert "024\xa0412\xa04567" in shown
        assert await page.locator(".qr svg").count() == 1
        await pay(Orders(api.shop), reference, 1250)
        await page.locator(".ended.paid").wait_for(timeout=AT_LAST_MS)
        assert await visit.headline() == "Paid"
        rang = await page.locator("body").get_attribute("data-rang")
        assert rang == (reference if sound == "on" else None)
        assert await visit.width() == 390
        assert clean(visit)


@needs_browser
async def test_nothing_moves_when_the_keypad_appears(api: FakeApi, browser: Browser) -> None:
    person = await log_in(api, Role.CASHIER)
    seen = asyncio.Event()

    async def hold(route: Route) -> None:
        await seen.wait()
        await route.continue_()

    async with visiting(browser, api.base_url, width=390) as visit:
        await as_user(visit, person)
        await visit.page.route("**/dash.*.js", hold)
        await visit.page.goto("/dash/till", wait_until="commit")
        phone, pad = visit.page.get_by_label("Customer's phone"), visit.page.locator("[data-pad]")
        before = await phone.bounding_box()
        assert not await pad.is_visible()
        seen.set()
        await pad.wait_for(timeout=AT_LAST_MS)
        assert await phone.bounding_box() == before


@needs_browser
async def test_without_script_an_order_is_made_shown_as_paid_and_a_payment_is_matched(
    api: FakeApi, browser: Browser
) -> None:
    person = await log_in(api, Role.CASHIER)
    orders = Orders(api.shop)
    async with visiting(browser, api.base_url, java_script_enabled=False) as visit:
        page = visit.page
        await as_user(visit, person)
        await page.goto("/dash/till")
        assert not await page.locator("[data-pad]").is_visible()
        await page.get_by_label("Amount").fill("25")
        await page.get_by_label("Customer's phone").fill("0241234567")
        await page.get_by_role("button", name="Make the code").click()
        reference = page.url.rsplit("/", 1)[1]
        assert 'http-equiv="refresh"' in await page.content()
        await pay(orders, reference)
        await page.goto(page.url)
        assert await visit.headline() == "Paid"
        assert 'http-equiv="refresh"' not in await page.content()
        order = await orders.make("waiting")
        telco_id = await orders.pay(order, reference="rent")
        await page.goto(f"/dash/transactions/{order.reference}")
        await page.get_by_label("Network's ID").fill("40400000000")
        await page.get_by_role("button", name="Match").click()
        await page.get_by_text("No payment with this ID has arrived").wait_for()
        await page.get_by_label("Network's ID").fill(telco_id)
        await page.get_by_role("button", name="Match").click()
        await page.get_by_text("The payment was matched.").wait_for()
        assert (await api.shop.transaction(order.reference)).matched_by == "reconcile"
        # The browser itself reports a 422 on the console.
        assert [fault for fault in visit.faults if "422" not in fault] == []


@needs_browser
async def test_the_screen_for_customers_has_no_menu_and_shows_the_order_of_its_counter(
    api: FakeApi, browser: Browser
) -> None:
    ama, kofi = await log_in(api, Role.CASHIER, "ama"), await log_in(api, Role.CASHIER, "kofi")
    async with visiting(browser, api.base_url, width=1280) as visit:
        await as_user(visit, ama)
        await open_live(visit, "/dash/till/screen?of=ama")
        assert await visit.headline() == "Pay with mobile money"
        assert await visit.page.locator("nav, .menu, .me, footer").count() == 0
        await sell(kofi, amount="99")
        reference = await sell(ama)
        await visit.page.get_by_text("GHS\xa025.00").first.wait_for(timeout=AT_LAST_MS)
        await pay(Orders(api.shop), reference)
        await visit.page.locator(".ended.paid").wait_for(timeout=AT_LAST_MS)
        api.shop.clock.advance(60)
        await visit.page.goto("/dash/till/screen?of=ama")
        assert await visit.headline() == "Pay with mobile money"
        await visit.page.goto("/dash/till/screen")
        assert await visit.headline() == "GHS\xa099.00"
        assert clean(visit)


@needs_browser
async def test_markup_in_names_is_only_text_on_every_page_of_the_counter(api: FakeApi, browser: Browser) -> None:
    person = await log_in(api, Role.MANAGER)
    orders = Orders(api.shop)
    paid = await orders.make("paid", description=EVIL, customer_name=EVIL)
    waiting = await orders.make("waiting", description=EVIL, customer_name=EVIL)
    made = await sell(person, description=EVIL)
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE payments SET payer_name = :name", {"name": EVIL}))
    async with visiting(browser, api.base_url) as visit:
        await as_user(visit, person)
        for path in (
            "/dash/till",
            "/dash/till/screen",
            f"/dash/till/{made}",
            f"/dash/till/{paid.reference}/receipt",
            "/dash/transactions?state=paid",
            f"/dash/transactions/{waiting.reference}",
            f"/dash/transactions/{paid.reference}",
            f"/dash/payments/{paid.payment_id}",
        ):
            await visit.page.goto(path)
            assert "<img src=x" in await visit.page.locator("main").inner_text(), path
            assert await visit.width() == 360, path
        assert clean(visit)


@pytest.mark.parametrize("state", STATES)
async def test_the_pages_of_an_order_are_shown_in_every_state(api: FakeApi, state: str) -> None:
    order = await Orders(api.shop).make(state, **EXTRA.get(state, {}))
    person = await log_in(api, Role.CASHIER)
    for path in (f"/dash/till/{order.reference}", f"/dash/transactions/{order.reference}"):
        answer = await person.get(path)
        assert answer.status_code == 200, path
        assert str(order.svc_code) in answer.text
    shown = (await person.get(f"/dash/till/{order.reference}")).text
    assert ("data-chime" in shown) is (state in {"paid", "late", "over", "short"})


async def test_a_receipt_names_no_whole_number_and_fits_its_paper(api: FakeApi) -> None:
    person = await log_in(api, Role.OWNER)
    reference = await sell(person)
    assert "There is no receipt" in (await person.get(f"/dash/till/{reference}/receipt")).text
    await pay(Orders(api.shop), reference, 2000)
    for paper in ("58", "80", "a4"):
        text = (await person.get(f"/dash/till/{reference}/receipt?paper={paper}")).text
        assert f'class="paper slip p{paper}"' in text
        for shown in ("GHS\xa020.00", "Paid in part", "GHS\xa05.00", "024 *** 4567"):
            assert shown in text, shown
        assert "1234567" not in text


async def test_a_receipt_names_the_shop_its_line_and_who_served(api: FakeApi) -> None:
    config = api.shop.env.config
    pages = replace(config.pages, address="12 Oxford Street, Osu", contact="030 277 0000")
    api.shop.env.config = replace(config, pages=pages)
    person = await log_in(api, Role.CASHIER, "ama")
    reference = await sell(person)
    await pay(Orders(api.shop), reference)
    text = (await person.get(f"/dash/till/{reference}/receipt")).text
    for shown in ("Ama Provisions", "12 Oxford Street, Osu", "030 277 0000", "024 412 4567", ">ama<"):
        assert shown in text, shown
    by_program = await Orders(api.shop).make("paid")
    text = (await person.get(f"/dash/till/{by_program.reference}/receipt")).text
    assert "Served by" not in text


@needs_browser
@pytest.mark.parametrize(("path", "width", "height"), [("a4", 210, 297), ("a5", 148, 210), ("a6", 105, 148)])
async def test_the_poster_is_one_page_of_its_paper_in_each_language(
    api: FakeApi, browser: Browser, path: str, width: int, height: int
) -> None:
    person = await log_in(api, Role.CASHIER)
    async with visiting(browser, api.base_url) as visit:
        await as_user(visit, person)
        for language, dial in (("en", "Dial *170#"), ("fr", "Composez le *170#")):
            await visit.page.goto(f"/dash/poster?paper={path}&language={language}")
            sheet = await visit.page.locator(".sheet").inner_text()
            for shown in ("Ama Provisions", "024\xa0412\xa04567", dial):
                assert shown in sheet, shown
            assert await visit.page.locator(".sheet svg").count() == 1
            pdf = await visit.page.pdf(prefer_css_page_size=True)
            boxes = [box.split()[2:] for box in _media_boxes(pdf)]
            assert len(boxes) == 1
            for given, wanted in zip(boxes[0], (width, height), strict=True):
                assert abs(float(given) - wanted * 72 / 25.4) < 1
        assert clean(visit)


def _media_boxes(pdf: bytes) -> list[str]:
    pieces = pdf.split(b"/MediaBox [")[1:]
    return [piece.partition(b"]")[0].decode() for piece in pieces]


@needs_browser
async def test_the_till_tells_of_a_second_payment_and_the_menu_counts_it_without_being_loaded_again(
    api: FakeApi, browser: Browser
) -> None:
    orders = Orders(api.shop)
    person = await log_in(api, Role.CASHIER)
    reference = await sell(person)
    await pay(orders, reference)
    async with visiting(browser, api.base_url, width=390) as visit:
        await as_user(visit, person)
        await open_live(visit, f"/dash/till/{reference}")
        count = visit.page.locator(".bar .count")
        assert not await count.is_visible()
        await pay(orders, reference)
        await visit.page.get_by_text("A payment for this order is being checked.").wait_for(timeout=AT_LAST_MS)
        assert await visit.page.get_by_role("link", name="Decide").count() == 1
        assert await count.inner_text() == "1"
        assert clean(visit)


async def test_the_till_leads_to_settling_what_its_user_may_settle(api: FakeApi) -> None:
    people, orders = [await log_in(api, role) for role in (Role.CASHIER, Role.MANAGER)], Orders(api.shop)
    for state, allowed in (("short", [True, True]), ("over", [False, True]), ("paid", [False, False])):
        order = await orders.make(state)
        pages = [(await one.get(f"/dash/till/{order.reference}")).text for one in people]
        assert [f"/dash/transactions/{order.reference}#s-settle" in page for page in pages] == allowed, state
