"""Bad input on every page, as section 8 of the plan lists it: names that are markup, late forms, no script, a clock that moves."""

import pytest
from playwright.async_api import Browser

from daemon.core.limits import HOUR_US, SECOND_US
from daemon.wire import Role
from tests.dash import places
from tests.dash.places import ENDPOINT
from tests.dash.test_tables import SHOWN
from tests.fakes import outbox
from tests.fakes.api import FakeApi
from tests.fakes.browser import needs_browser, visiting
from tests.fakes.dash import Person, as_user, log_in
from tests.fakes.orders import Orders

EVIL = "\"'><img src=x onerror=alert(1)><script>alert(2)</script>"
RENAMED = (
    ("payments", "payer_name"),
    ("messages", "body"),
    ("transactions", "customer_name"),
    ("transactions", "description"),
    ("devices", "name"),
    ("payment_methods", "account_name"),
    ("shop", "name"),
)


async def rename(api: FakeApi, statement: str) -> None:
    await api.shop.env.store.write(lambda tx: tx.run(statement, {"evil": EVIL}))


@needs_browser
@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_names_that_are_markup_are_only_text_on_every_page(api: FakeApi, browser: Browser) -> None:
    known = await places.paths(api)
    for table, column in RENAMED:
        await rename(api, f"UPDATE {table} SET {column} = :evil")
    person = await log_in(api, Role.OWNER)
    async with visiting(browser, api.base_url) as visit:
        await as_user(visit, person)
        for page in SHOWN:
            await visit.page.goto(places.filled(page.path, known))
            assert await visit.page.locator("img[onerror]").count() == 0, page.path
            inline = "script:not([src])"
            assert await visit.page.locator(inline).count() == 0, page.path
            assert await visit.width() == 360, page.path
        # No dialog, no refused script, nothing asked of anybody else.
        assert visit.faults == []
        assert visit.elsewhere == []


async def test_a_form_of_yesterday_still_does_its_thing_once(api: FakeApi) -> None:
    person = await log_in(api, Role.OWNER)
    token = person.form_token("/dash/till")
    api.shop.clock.advance(11 * 3600)
    late = await person.post("/dash/till", {"amount": "5", "phone": "0241234567"}, form_token_=token)
    assert late.status_code == 303
    assert await api.shop.values("SELECT COUNT(*) FROM transactions") == [1]


@needs_browser
@pytest.mark.slow
async def test_a_payment_is_matched_without_script(api: FakeApi, browser: Browser) -> None:
    orders = Orders(api.shop)
    order = await orders.make("waiting")
    telco_id = await orders.pay(order, reference="rent")
    person = await log_in(api, Role.CASHIER)
    async with visiting(browser, api.base_url, java_script_enabled=False) as visit:
        await as_user(visit, person)
        await visit.page.goto(f"/dash/transactions/{order.reference}")
        form = visit.page.locator("form[action$='/reconcile']")
        await form.locator("input[name=transaction_id]").fill(telco_id)
        await form.get_by_role("button").click()
        assert "said=said_reconciled" in visit.page.url
        assert visit.faults == []
    assert (await api.shop.transaction(order.reference)).status == "SUCCESS"


async def still_in(person: Person) -> bool:
    return (await person.get("/dash/account")).status_code == 200


async def test_a_clock_that_moves_locks_nobody_out_for_good(api: FakeApi) -> None:
    person = await log_in(api, Role.OWNER)
    api.shop.clock.jump(-3 * HOUR_US // SECOND_US)
    assert await still_in(person)
    api.shop.clock.jump(6 * HOUR_US // SECOND_US)
    assert await still_in(person)
    # Half a day ahead is as half a day without use: a new login, and no fault.
    api.shop.clock.jump(20 * HOUR_US // SECOND_US)
    assert not await still_in(person)
    again = await log_in(api, Role.OWNER)
    assert await still_in(again)
    assert api.log.lines == []


async def test_what_waits_for_an_endpoint_is_still_shown_after_the_clock_moved(api: FakeApi) -> None:
    await outbox.add_endpoint(api.shop, ENDPOINT)
    await outbox.owe(api.shop)
    person = await log_in(api, Role.OWNER)
    api.shop.clock.jump(-2 * HOUR_US // SECOND_US)
    for path in ("/dash", "/dash/deliveries", "/dash/till", "/dash/day", f"/dash/webhooks/{ENDPOINT}"):
        assert (await person.get(path)).status_code == 200, path
    assert api.log.lines == []
