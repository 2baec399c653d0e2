"""Test mode: every page shows the sandbox instead of the shop's money, with a bar, and the two never add up."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser

from daemon.dash.tables import PAGES
from daemon.runtime.config import Config, Smtp
from daemon.steps.lines import attach_simulated
from daemon.store.engine import Tx
from daemon.wire import Role
from tests.dash import places
from tests.dash.forms import form_of
from tests.dash.test_browser import AT_LAST_MS
from tests.dash.test_till import sell
from tests.fakes.api import FakeApi, running
from tests.fakes.browser import needs_browser, visiting
from tests.fakes.dash import Person, as_user, log_in
from tests.fakes.orders import Orders

BAR = "No real money."
REAL = "Real money. Test mode changes nothing here."
MODELESS = {"/dash/settings/{id}", "/dash/users/{id}", "/dash/shifts/{id}", "/dash/customers/{id}"}
"""Pages with a place that show no row of one mode: their rows are those of the mode of the session."""


async def attach(api: FakeApi, *, alone: bool = False) -> None:
    """Connect the simulated phones; with `alone` the shop's own phone is forgotten."""
    env = api.shop.env
    now = env.clock.now_us()
    await env.store.write(lambda tx: attach_simulated(tx, now, env.new_id))
    if alone:
        await env.store.write(
            lambda tx: tx.run("UPDATE devices SET forgotten_at = :now WHERE mode = 'live'", {"now": now})
        )


def put_in_the_sandbox(tx: Tx) -> None:
    """Make every row of the shop one of the sandbox."""
    for table in ("transactions", "payments", "messages", "reviews", "endpoints", "api_keys", "payment_methods"):
        tx.run(f"UPDATE {table} SET mode = 'test'")


async def switch(person: Person, mode: str) -> None:
    answer = await person.post("/dash/account/mode", {"mode": mode})
    assert answer.headers["location"] == "/dash"


async def pay(api: FakeApi, reference: str, amount: str) -> None:
    answer = await api.test.post("/v1/test/payments", json={"reference": reference, "amount": amount})
    assert answer.status_code == 200, answer.text


async def test_the_sandbox_is_shown_by_itself_only_while_every_phone_is_simulated(api: FakeApi) -> None:
    person = await log_in(api, Role.OWNER)
    assert BAR not in (await person.get("/dash")).text
    await attach(api)
    assert BAR not in (await person.get("/dash")).text
    await attach(api, alone=True)
    assert BAR in (await person.get("/dash")).text
    await switch(person, "live")
    assert BAR not in (await person.get("/dash")).text


async def test_money_of_the_sandbox_and_of_the_shop_never_stand_on_one_page(api: FakeApi) -> None:
    await attach(api)
    person = await log_in(api, Role.OWNER)
    await person.post("/dash/shifts")
    orders = Orders(api.shop)
    await orders.make("paid")
    await switch(person, "test")
    reference = await sell(person, amount="17")
    assert (await api.shop.transaction(reference)).mode == "test"
    await pay(api, reference, "17.00")
    pages = (
        "/dash",
        "/dash/till",
        "/dash/payments",
        "/dash/transactions",
        "/dash/day",
        "/dash/search?q=GHS",
        "/dash/messages",
        "/dash/shifts/1",
    )
    for path in pages:
        shown = (await person.get(path)).text
        assert "25.00" not in shown, path
    for path in ("/dash", "/dash/payments", "/dash/transactions", "/dash/day", "/dash/shifts/1"):
        assert "17.00" in (await person.get(path)).text, path
    await switch(person, "live")
    for path in pages:
        assert "17.00" not in (await person.get(path)).text, path
    for path in ("/dash", "/dash/payments", "/dash/transactions", "/dash/day"):
        assert "25.00" in (await person.get(path)).text, path


async def test_a_practice_order_shows_the_number_of_the_simulated_phone_and_its_code(api: FakeApi) -> None:
    await attach(api, alone=True)
    person = await log_in(api, Role.CASHIER)
    reference = await sell(person)
    order = await api.shop.transaction(reference)
    assert order.svc_code is not None
    for path in (f"/dash/till/{reference}", "/dash/till/screen"):
        shown = (await person.get(path)).text
        assert order.svc_code in shown
        assert "024&nbsp;000&nbsp;0001" in shown
    page = await api.test.get(f"/pay/{order.public_slug}")
    assert order.svc_code in page.text
    assert "0001" in page.text


@pytest.mark.parametrize(("field", "place"), [({}, "transactions"), ({"till": "1"}, "till")])
async def test_an_open_order_of_the_sandbox_is_paid_by_one_button(
    api: FakeApi, field: dict[str, str], place: str
) -> None:
    await attach(api)
    person, live = await log_in(api, Role.CASHIER, "ama"), await Orders(api.shop).make("waiting")
    button = "Pay it (practice)"
    assert button not in (await person.get(f"/dash/{place}/{live.reference}")).text
    assert (await person.post(f"/dash/transactions/{live.reference}/practise", field)).status_code == 404
    await switch(person, "test")
    reference = await sell(person, amount="17")
    assert button in (await person.get(f"/dash/{place}/{reference}")).text
    paid = await person.post(f"/dash/transactions/{reference}/practise", field)
    assert paid.headers["location"] == f"/dash/{place}/{reference}?said=said_practised"
    order = await api.shop.transaction(reference)
    assert (order.status, order.matched_by) == ("SUCCESS", "code")
    assert (await api.shop.transaction(live.reference)).status == "PENDING"
    assert button not in (await person.get(f"/dash/{place}/{reference}")).text
    again = await person.post(f"/dash/transactions/{reference}/practise", field)
    assert (again.status_code, "nothing was paid" in again.text) == (422, True)


async def test_an_endpoint_of_the_sandbox_needs_no_preparation_beside_a_simulated_phone(api: FakeApi) -> None:
    await attach(api, alone=True)
    sent = await api.test.post(
        "/v1/open-collections/endpoints", json={"url": "https://shop.example/hook", "is_sandbox": True}
    )
    assert sent.status_code == 201, sent.text


def bar(page: str) -> str:
    """Return the words of the bar, "" for none."""
    found = re.search(r'<section class="testing.*?<p>(.*?)</p>', page, re.DOTALL)
    return "" if found is None else re.sub("<[^>]+>", "", found[1])


@pytest.mark.parametrize("mode", ["test", "live"])
async def test_every_page_of_a_user_tells_the_mode(api: FakeApi, mode: str) -> None:
    person = await log_in(api, Role.OWNER)
    await switch(person, mode)
    for page in PAGES:
        if "{" not in page.path and not page.public:
            answer = await person.get(page.path)
            if answer.status_code == 200:
                wanted = (REAL if page.real else f"Test mode. {BAR}") if mode == "test" else ""
                assert bar(answer.text) == wanted, page.path


@pytest.mark.parametrize("mode", ["test", "live"])
async def test_a_page_of_one_row_tells_the_mode_of_the_row_and_not_of_the_session(api: FakeApi, mode: str) -> None:
    known = await places.paths(api)
    person = await log_in(api, Role.OWNER)
    if mode == "test":
        await api.shop.env.store.write(put_in_the_sandbox)
    await switch(person, "live" if mode == "test" else "test")
    told = {}
    for page in PAGES:
        # A line of the other mode, and a number that it claims for, are not found.
        if "{" in page.path and page.path not in MODELESS and "/lines/" not in page.path:
            answer = await person.get(places.filled(page.path, known))
            if answer.status_code == 200:
                told[page.path] = bar(answer.text)
            else:
                assert page.path == "/dash/unplaced/{id}"
    assert len(told) >= 17
    assert {
        path: words for path, words in told.items() if words != (REAL if mode == "live" else f"Test mode. {BAR}")
    } == {}


async def test_a_page_of_real_money_has_no_action_in_test_mode_and_keeps_being_live(api: FakeApi) -> None:
    order = await Orders(api.shop).make("waiting")
    person = await log_in(api, Role.OWNER)
    for path in (f"/dash/transactions/{order.reference}", f"/dash/till/{order.reference}"):
        await switch(person, "live")
        assert re.findall(f'action="{path}/cancel"', (await person.get(path)).text)
        await switch(person, "test")
        page = (await person.get(path)).text
        assert set(re.findall(r'<form method="post" action="([^"]+)"', page)) == {"/dash/account/mode", "/dash/logout"}
        assert 'data-of="?mode=live"' in page


@pytest.mark.parametrize("path", ["/dash/messages/import/paste", "/dash/messages/import/backup", "/dash/statement"])
async def test_a_form_about_real_money_only_is_refused_in_test_mode(api: FakeApi, path: str) -> None:
    form = await form_of(api, path)
    await switch(form.person, "test")
    before = await api.shop.values("SELECT COUNT(*) FROM messages")
    answer = await form.person.post(form.path, form.fields)
    assert (answer.status_code, "End test mode first." in answer.text) == (422, True)
    assert await api.shop.values("SELECT COUNT(*) FROM messages") == before


async def test_lists_of_both_modes_mark_what_is_not_of_the_mode_of_the_session(api: FakeApi) -> None:
    await attach(api)
    person = await log_in(api, Role.OWNER)
    await Orders(api.shop).make("paid")
    for mode, other in (("test", "real money"), ("live", "sandbox")):
        await switch(person, mode)
        await sell(person, amount="17")
        for path in ("/dash/journal", "/dash/keys"):
            assert f'<span class="state calm">{other}</span>' in (await person.get(path)).text, (path, mode)


async def test_files_and_mails_of_the_sandbox_say_so(tmp_path: Path) -> None:
    config = Config(smtp=Smtp(host="mail.shop.example", to="ama@shop.example"))
    async with running(tmp_path, config) as api:
        person = await log_in(api, Role.OWNER)
        for mode, name, said in (("live", "day-sheet-2026", False), ("test", "day-sheet-sandbox-2026", True)):
            await switch(person, mode)
            answer = await person.get("/dash/day?as=csv")
            assert f'filename="{name}' in answer.headers["content-disposition"]
            await person.post("/dash/day/mail", {})
            (subject, *_) = await api.shop.values("SELECT subject FROM notice_sends ORDER BY seq DESC")
            assert subject.startswith("Test mode. ") is said, subject


async def test_a_decision_in_the_sandbox_touches_no_real_money(api: FakeApi) -> None:
    person = await log_in(api, Role.OWNER)
    paid = await Orders(api.shop).make("waiting")
    await switch(person, "test")
    answer = await person.post(f"/dash/transactions/{paid.reference}/cancel", {"reason": "x"})
    assert answer.status_code == 404
    assert (await api.shop.transaction(paid.reference)).status == "PENDING"


@needs_browser
async def test_an_open_tab_follows_the_switch_and_hears_only_its_own_mode(api: FakeApi, browser: Browser) -> None:
    await attach(api)
    person = await log_in(api, Role.OWNER)
    async with visiting(browser, api.base_url, width=390) as visit:
        page = visit.page
        await as_user(visit, person)
        async with page.expect_response(lambda answer: answer.url.endswith("/dash/events")):
            await page.goto("/dash/payments")
        await switch(person, "test")
        await page.get_by_text(BAR).wait_for(timeout=AT_LAST_MS)
        reference = await sell(person, amount="17")
        await Orders(api.shop).make("paid")
        await pay(api, reference, "17.00")
        await page.get_by_role("cell", name="17.00").first.wait_for(timeout=AT_LAST_MS)
        assert await page.get_by_text("25.00").count() == 0
        assert "25.00" not in await page.locator("#say").inner_text()
        assert await visit.violations() == []
        await page.get_by_role("button", name="End", exact=True).click()
        await page.get_by_text("25.00").first.wait_for(timeout=AT_LAST_MS)
