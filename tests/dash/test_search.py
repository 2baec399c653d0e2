"""One search in the header of every page finds what anybody has in mind: amount, code, name, ID, reference, typed text, SMS."""

import re

import pytest
from playwright.async_api import Browser

from daemon.core.model import Transaction
from daemon.dash.tables import PAGES
from daemon.wire import Role
from tests.dash import places
from tests.dash.test_browser import clean
from tests.fakes.api import FakeApi
from tests.fakes.browser import needs_browser, visiting
from tests.fakes.dash import Person, as_user, log_in
from tests.fakes.engines import engine, pytest_generate_tests
from tests.fakes.orders import Orders

__all__ = ["engine", "pytest_generate_tests"]


async def _shop(api: FakeApi) -> tuple[Orders, Transaction, Transaction]:
    """Make an order that waits, one that is paid, and a payment of GHS 7.35 without an order."""
    orders = Orders(api.shop)
    waiting = await orders.make("waiting", amount_minor=1999, customer_name="Kojo Mensah Addo")
    paid = await orders.make("paid", client_reference="bill-77")
    await orders.pay(waiting, 735, reference="rent for shop 9")
    return orders, waiting, paid


async def _where(person: Person, text: str) -> str:
    answer = await person.client.get("/dash/search", params={"q": text}, follow_redirects=False)
    return str(answer.headers.get("location", ""))


async def test_each_thing_that_people_know_of_an_order_leads_to_it(api: FakeApi) -> None:
    _orders, waiting, paid = await _shop(api)
    person = await log_in(api, Role.CASHIER)
    code, here = str(waiting.svc_code), f"/dash/transactions/{waiting.reference}"
    for text in (
        "19.99", "19,99", "GHS 19.99", "gh₵19.99", "19.99 cedis", code, code.lower(),
        f"{code[:3]}-{code[3:]}", "addo kojo", "Mensah Kojo", "KOJO MENSAH ADDO", waiting.reference,
    ):  # fmt: skip
        assert await _where(person, text) == here, text
    for text in ("bill-77", str(paid.svc_code), paid.reference):
        assert await _where(person, text) == f"/dash/transactions/{paid.reference}", text


async def test_an_amount_that_was_received_and_a_typed_text_lead_to_the_payment(api: FakeApi) -> None:
    await _shop(api)
    (payment,) = await api.shop.values("SELECT id FROM payments WHERE amount_minor = 735")
    person = await log_in(api, Role.CASHIER)
    for text in ("7.35", "7,35", "GHS 7.35", "rent for shop", "shop rent 9"):
        assert await _where(person, text) == f"/dash/payments/{payment}", text


async def test_several_results_are_shown_by_kind_and_nothing_is_said(api: FakeApi) -> None:
    await _shop(api)
    person = await log_in(api, Role.OWNER)
    shown = (await person.get("/dash/search?q=GHS")).text
    assert 'id="s-messages"' in shown
    cashier = await log_in(api, Role.CASHIER)
    assert 'id="s-messages"' not in (await cashier.get("/dash/search?q=GHS")).text
    assert "Nothing was found" in (await person.get("/dash/search?q=zzzz")).text
    assert "Nothing was found" not in (await person.get("/dash/search?q=")).text


@pytest.mark.parametrize("text", ["%", "_", "\\", "' OR 1=1 --", "\u202e", "a" * 500, "\x00", "*"])
async def test_a_text_of_special_signs_finds_nothing_and_breaks_nothing(api: FakeApi, text: str) -> None:
    await _shop(api)
    person = await log_in(api, Role.OWNER)
    answer = await person.client.get("/dash/search", params={"q": text})
    assert answer.status_code in (200, 303)
    assert api.log.lines == []


async def test_a_message_that_is_a_login_code_is_not_found(api: FakeApi) -> None:
    await _shop(api)
    await api.shop.env.store.write(
        lambda tx: tx.run("UPDATE messages SET kind = 'otp', body = 'Your code is 445566 zebra'")
    )
    person = await log_in(api, Role.OWNER)
    assert "445566" not in (await person.get("/dash/search?q=zebra")).text


@pytest.mark.parametrize("role", list(Role))
async def test_every_page_of_every_role_has_the_search(api: FakeApi, role: Role) -> None:
    known = await places.paths(api)
    person = await log_in(api, role)
    for page in PAGES:
        if not page.public and not page.bare and role in page.roles:
            answer = await person.client.get(places.filled(page.path, known), follow_redirects=True)
            assert len(re.findall(r'action="/dash/search"', answer.text)) == 1, page.path


@needs_browser
async def test_the_search_is_reached_by_a_key_and_enter_opens_the_only_result(api: FakeApi, browser: Browser) -> None:
    _orders, waiting, _paid = await _shop(api)
    person = await log_in(api, Role.CASHIER)
    for width in (320, 390, 1280):
        async with visiting(browser, api.base_url, width=width) as visit:
            await as_user(visit, person)
            await visit.page.goto("/dash/payments")
            await visit.page.keyboard.press("/")
            await visit.page.keyboard.type("19.99")
            await visit.page.keyboard.press("Enter")
            await visit.page.wait_for_url(f"**/dash/transactions/{waiting.reference}")
            assert await visit.width() == width
            assert clean(visit)


LISTS = ("payments", "transactions", "reviews", "messages", "deliveries", "journal")


@needs_browser
@pytest.mark.parametrize("language", ["en", "fr"])
async def test_the_first_row_of_each_list_is_near_the_top_of_a_phone(
    api: FakeApi, browser: Browser, language: str
) -> None:
    orders, _, _ = await _shop(api)
    await places.webhook_paths(api, orders)
    await orders.make("checking", expected_payer_phone="+233201234567")
    person = await log_in(api, Role.OWNER)
    await person.post("/dash/account/language", {"language": language})
    async with visiting(browser, api.base_url, width=390, height=844) as visit:
        await as_user(visit, person)
        for name in LISTS:
            await visit.page.goto(f"/dash/{name}")
            box = await visit.page.locator(".rows tbody tr").first.bounding_box()
            assert box is not None, name
            assert box["y"] <= 250, (name, box["y"])
            assert await visit.width() == 390, name
        assert clean(visit)


async def test_a_list_of_payments_has_count_sum_and_chips_that_keep_the_search(api: FakeApi) -> None:
    await _shop(api)
    person = await log_in(api, Role.OWNER)
    shown = (await person.get("/dash/payments")).text
    assert "2 · GHS\xa032.35" in shown
    shown = (await person.get("/dash/payments?search=rent")).text
    assert "1 · GHS\xa07.35" in shown
    chips = re.findall(r'<a href="([^"]+)">(?:Today|Yesterday|7 days|30 days)</a>', shown)
    assert len(chips) == 4
    assert all("search=rent" in one and "from=" in one for one in chips)
    today = chips[0].replace("&amp;", "&")
    shown = (await person.get(today)).text
    assert "1 · GHS\xa07.35" in shown
    assert 'aria-current="true">Today</a>' in shown
    assert "1 · " not in (await person.get(chips[1].replace("&amp;", "&"))).text


async def test_rows_show_the_clock_and_the_day_if_it_was_another_one(api: FakeApi) -> None:
    await _shop(api)
    person = await log_in(api, Role.OWNER)
    clock = re.compile(r'title="[^"]*ago|just now">\d\d:\d\d</time>')
    assert clock.search((await person.get("/dash/payments")).text)
    api.shop.clock.advance(86_400)
    person = await log_in(api, Role.OWNER, "owner")
    assert re.search(r">\d{1,2} \w+, \d\d:\d\d</time>", (await person.get("/dash/payments")).text)


async def test_now_shows_the_week_beside_today_and_its_tiles_lead_to_their_lists(api: FakeApi) -> None:
    await _shop(api)
    person = await log_in(api, Role.OWNER)
    api.shop.clock.advance(7 * 86_400 - 3600)
    person = await log_in(api, Role.OWNER, "owner")
    shown = (await person.get("/dash")).text
    # A week later, an hour before the time of the payments: none of them is counted yet.
    assert re.search(r"Last \w+ until now: GHS\xa00\.00", shown)
    api.shop.clock.advance(2 * 3600)
    person = await log_in(api, Role.OWNER, "owner")
    shown = (await person.get("/dash")).text
    assert re.search(r"Last \w+ until now: GHS\xa032\.35", shown)
    api.shop.clock.advance(-86_400)
    person = await log_in(api, Role.OWNER, "owner")
    shown = (await person.get("/dash")).text
    assert 'id="week"' in shown
    for state in ("paid", "short", "over", "unmatched"):
        (address,) = re.findall(rf'"(/dash/payments\?state={state}[^"]*)"', shown)
        assert (await person.get(address.replace("&amp;", "&"))).status_code == 200
    assert "/dash/transactions?state=open" in shown
