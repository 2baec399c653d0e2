"""The dashboard in Debian's Chromium: pages, live updates, and accessibility."""

import asyncio
import gzip
import re
from typing import Any

import pyotp
import pytest
from playwright.async_api import Browser, Route

from daemon.flows.access import users as user_flow
from daemon.wire import Role
from tests.dash import places
from tests.dash.test_forgery import ROOT
from tests.dash.test_tables import SHOWN
from tests.fakes.api import FakeApi
from tests.fakes.browser import Visit, needs_browser, visiting
from tests.fakes.dash import PASSWORD, add_user, as_user, log_in
from tests.fakes.orders import Orders
from tests.fakes.tiers import LONG

pytestmark = needs_browser
AT_LAST_MS = 30_000
"""Only so that a test ends."""
EVIL = "\"'><img src=x onerror=alert(1)><script>alert(2)</script>"
AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) AppleWebKit/537.36 HeadlessChrome/156.0.0.0.0.0"
LOOKS = (("light", 320), ("dark", 320), ("light", 360), ("dark", 1280), ("light", 1280))


def clean(visit: Visit) -> bool:
    """Check that the browser reported no errors and sent requests to this shop only."""
    assert visit.faults == []
    assert visit.elsewhere == []
    return True


async def log_in_by_hand(visit: Visit, name: str) -> None:
    await visit.page.goto("/dash")
    await visit.page.get_by_label("Name").fill(name)
    await visit.page.get_by_label("Password").fill(PASSWORD)
    await visit.page.get_by_role("button", name="Log in").click()


async def test_a_login_shows_today_and_a_payment_appears_by_itself(api: FakeApi, browser: Browser) -> None:
    await add_user(api, Role.CASHIER, "ama")
    orders = Orders(api.shop)
    order = await orders.make("waiting")
    async with visiting(browser, api.base_url) as visit:
        async with visit.page.expect_response(lambda answer: answer.url.endswith("/dash/events")):
            await log_in_by_hand(visit, "ama")
        assert await visit.headline() == "Today Saturday 21 November"
        assert await visit.page.locator(".sum").inner_text() == "GHS\xa00.00"
        await orders.pay(order)
        await visit.page.locator(".sum", has_text="GHS\xa025.00").wait_for(timeout=AT_LAST_MS)
        assert (await visit.page.locator("#say").inner_text()).startswith("GHS\xa025.00 received.")
        assert await visit.width() == 360
        assert clean(visit)


async def test_an_open_form_is_not_swapped_away(api: FakeApi, browser: Browser) -> None:
    orders = Orders(api.shop)
    order = await orders.make("waiting")
    person = await log_in(api, Role.OWNER)
    async with visiting(browser, api.base_url) as visit:
        await as_user(visit, person)
        async with visit.page.expect_response(lambda answer: answer.url.endswith("/dash/events")):
            await visit.page.goto("/dash")
        await visit.page.evaluate(
            "document.querySelector('main').insertAdjacentHTML('beforeend', "
            "'<form method=post><input id=typed></form>')"
        )
        await visit.page.locator("#typed").fill("half a word")
        await orders.pay(order)
        await visit.page.get_by_text("There is something new.").wait_for(timeout=AT_LAST_MS)
        assert await visit.page.locator("#typed").input_value() == "half a word"
        await visit.page.get_by_role("button", name="Show it").click()
        await visit.page.get_by_text("GHS\xa025.00").first.wait_for(timeout=AT_LAST_MS)
        assert clean(visit)


async def test_an_open_tab_goes_to_the_login_when_its_session_ends(api: FakeApi, browser: Browser) -> None:
    person = await log_in(api, Role.CASHIER)
    async with visiting(browser, api.base_url) as visit:
        await as_user(visit, person)
        async with visit.page.expect_response(lambda answer: answer.url.endswith("/dash/events")):
            await visit.page.goto("/dash")
        await user_flow.set_disabled(api.shop.env, ROOT, "cashier", disabled=True)
        await visit.page.wait_for_url("**/dash/login", timeout=AT_LAST_MS)
        assert clean(visit)


async def test_without_a_stream_the_page_asks_and_says_when_the_shop_is_not_reached(
    api: FakeApi, browser: Browser
) -> None:
    orders = Orders(api.shop)
    order = await orders.make("waiting")
    person = await log_in(api, Role.OWNER)

    async def cut(route: Route) -> None:
        await route.abort()

    async with visiting(browser, api.base_url) as visit:
        await as_user(visit, person)
        await visit.page.clock.install(time=0)
        await visit.page.route("**/dash/events", cut)
        await visit.page.goto("/dash")
        await orders.pay(order)
        await visit.page.clock.fast_forward(11_000)
        await visit.page.get_by_text("GHS\xa025.00").first.wait_for(timeout=AT_LAST_MS)
        await visit.page.route("**/dash", cut)
        await visit.page.clock.fast_forward(11_000)
        gone = visit.page.get_by_text("cannot be reached")
        await gone.wait_for(timeout=AT_LAST_MS)
        await visit.page.unroute("**/dash")
        await visit.page.clock.fast_forward(11_000)
        await gone.wait_for(state="hidden", timeout=AT_LAST_MS)


async def test_without_script_everything_is_shown_and_a_form_works(api: FakeApi, browser: Browser) -> None:
    await add_user(api, Role.CASHIER, "ama")
    await Orders(api.shop).make("paid")
    async with visiting(browser, api.base_url, java_script_enabled=False) as visit:
        await log_in_by_hand(visit, "ama")
        assert await visit.headline() == "Today Saturday 21 November"
        assert "refresh" in await visit.page.content()
        await visit.page.goto("/dash/account")
        await visit.page.get_by_role("button", name="Français").click()
        assert await visit.headline() == "Votre compte"
        assert clean(visit)


async def test_the_second_factor_is_set_up_asked_for_and_replaced_by_a_recovery_code(
    api: FakeApi, browser: Browser
) -> None:
    person = await log_in(api, Role.OWNER)
    async with visiting(browser, api.base_url) as visit:
        await as_user(visit, person)
        await visit.page.goto("/dash/account/second-factor")
        seed = (await visit.page.locator(".small code").inner_text()).replace(" ", "")

        def code() -> str:
            return pyotp.TOTP(seed).at(api.shop.clock.now_us() // 1_000_000)

        await visit.page.get_by_label("Type the code").fill(code())
        await visit.page.get_by_label("Your password").fill(PASSWORD)
        await visit.page.get_by_role("button", name="Switch on").click()
        await visit.page.get_by_text("Each code works once").wait_for()
        codes = await visit.page.locator(".codes code").all_inner_texts()
        assert len(set(codes)) == 10
        assert await api.shop.values("SELECT COUNT(*) FROM recovery_codes") == [10]
        api.shop.clock.advance(31)
        for second in (code(), codes[3]):
            await visit.context.clear_cookies()
            await log_in_by_hand(visit, "owner")
            await visit.page.get_by_label("Code").fill(second)
            await visit.page.get_by_role("button", name="Log in").click()
            await visit.page.locator(".sum").wait_for()
        assert await api.shop.values("SELECT COUNT(*) FROM recovery_codes") == [9]
        # A code is accepted once: a second login with the code of the app or the recovery code is refused.
        for second in (code(), codes[3]):
            await visit.context.clear_cookies()
            await log_in_by_hand(visit, "owner")
            await visit.page.get_by_label("Code").fill(second)
            await visit.page.get_by_role("button", name="Log in").click()
            await visit.page.get_by_text("was used before").wait_for()
            api.shop.clock.advance(16 * 60)


async def test_the_api_needs_the_second_factor_of_the_owner_too(api: FakeApi) -> None:
    person = await log_in(api, Role.OWNER)
    page = (await person.get("/dash/account/second-factor")).text
    seed = re.findall(r"<code>([A-Z2-7 ]+)</code>", page)[0].replace(" ", "")
    setup = re.findall(r'name="setup" value="([^"]+)"', page)[0]

    def code() -> str:
        return pyotp.TOTP(seed).at(api.shop.clock.now_us() // 1_000_000)

    form = {"setup": setup, "code": code(), "confirm_password": PASSWORD}
    assert (await person.post("/dash/account/second-factor/on", form)).status_code == 200
    api.shop.clock.advance(31)
    missing = await api.live.post("/v1/auth/login", json={"password": PASSWORD})
    assert missing.json()["error"]["code"] == "SECOND_FACTOR_REQUIRED"
    body = {"password": PASSWORD, "totp": code()}
    assert (await api.live.post("/v1/auth/login", json=body)).status_code == 200
    assert (await api.live.post("/v1/auth/login", json=body)).status_code == 403
    api.shop.clock.advance(16 * 60)
    await user_flow.reset(api.shop.env, ROOT, "owner", None, second_factor=True)
    answer = await api.live.post("/v1/auth/login", json={"password": PASSWORD})
    assert answer.status_code == 200


async def test_the_code_is_checked_at_the_best_known_time(api: FakeApi) -> None:
    person = await log_in(api, Role.OWNER)
    env = api.shop.env
    page = (await person.get("/dash/account/second-factor")).text
    seed = re.findall(r"<code>([A-Z2-7 ]+)</code>", page)[0].replace(" ", "")
    setup = re.findall(r'name="setup" value="([^"]+)"', page)[0]
    # The network says that it is an hour later than our clock.
    real_us = env.clock.now_us() + 3600 * 1_000_000
    env.clock_check.note_phone_clock("/dev/x", real_us, env.clock.boottime())
    assert env.times().best_us == real_us
    form = {"setup": setup, "confirm_password": PASSWORD}
    for at_us, status in ((env.clock.now_us(), 422), (real_us, 200)):
        code = pyotp.TOTP(seed).at(at_us // 1_000_000)
        answer = await person.post("/dash/account/second-factor/on", {**form, "code": code})
        assert answer.status_code == status


async def test_a_payers_name_and_an_sms_with_markup_are_only_text(api: FakeApi, browser: Browser) -> None:
    order = await Orders(api.shop).make("paid", description=EVIL, customer_name=EVIL)
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE payments SET payer_name = :name", {"name": EVIL}))
    await api.shop.env.store.write(
        lambda tx: tx.run("UPDATE messages SET body = :body", {"body": f"{EVIL} \u202egnp.exe\u0007 \x1b[2J"})
    )
    person = await log_in(api, Role.OWNER)
    async with visiting(browser, api.base_url) as visit:
        await as_user(visit, person)
        for path in ("/dash", "/dash/payments", f"/dash/payments/{order.payment_id}"):
            await visit.page.goto(path)
            assert EVIL in await visit.page.locator("main").inner_text()
            assert await visit.width() == 360
        assert clean(visit)


async def test_the_long_name_of_a_browser_does_not_widen_the_account(api: FakeApi, browser: Browser) -> None:
    person = await log_in(api, Role.OWNER)
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE browser_sessions SET browser = :name", {"name": AGENT}))
    async with visiting(browser, api.base_url) as visit:
        await as_user(visit, person)
        await visit.page.goto("/dash/account")
        assert AGENT in await visit.page.locator("main").inner_text()
        assert await visit.width() == 360
        assert clean(visit)


async def test_a_cashier_sees_no_whole_number_and_gets_no_file(api: FakeApi, browser: Browser) -> None:
    order = await Orders(api.shop).make("paid")
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE payments SET payer_phone = '+233241112223'"))
    cashier, viewer = await log_in(api, Role.CASHIER), await log_in(api, Role.VIEWER)
    path = f"/dash/payments/{order.payment_id}"
    assert "024 111 2223" in (await viewer.get(path)).text
    shown = (await cashier.get(path)).text
    assert "1112223" not in shown.replace(" ", "")
    assert "024 *** 2223" in shown
    assert (await cashier.get("/dash/payments?as=csv")).status_code == 403
    assert (await viewer.get("/dash/payments?as=csv")).status_code == 200


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("language", ["en", "fr"])
async def test_every_page_is_usable_for_everybody(api: FakeApi, browser: Browser, language: str) -> None:
    known = await places.paths(api)
    orders = Orders(api.shop)
    for state in ("short", "over", "waiting"):
        await orders.make(state)
    person = await log_in(api, Role.OWNER)
    await person.post("/dash/account/language", {"language": language})
    for scheme, width in LOOKS if LONG else LOOKS[("en", "fr").index(language) :][:1]:
        options: dict[str, Any] = {"color_scheme": scheme}
        async with visiting(browser, api.base_url, width=width, **options) as visit:
            await visit.page.goto(f"/dash/login?lang={language}")
            assert await visit.violations() == [], (scheme, width, "login")
            await as_user(visit, person)
            for page in SHOWN:
                await visit.page.goto(places.filled(page.path, known))
                assert await visit.violations() == [], (scheme, width, page.path)
                assert await visit.width() == width, (scheme, width, page.path)
            assert clean(visit)


async def test_the_first_visit_of_now_is_small(api: FakeApi) -> None:
    orders = Orders(api.shop)
    await api.shop.begin_chain()
    for _ in range(30):
        await orders.make("paid")
    person = await log_in(api, Role.OWNER)
    page = (await person.get("/dash")).text
    sizes = {"html": len(gzip.compress(page.encode(), 6))}
    for kind in ("css", "js"):
        sizes[kind] = 0
        for name in re.findall(rf'"(/dash/static/[^"]+\.{kind})"', page):
            answer = await person.get(name)
            assert "immutable" in answer.headers["cache-control"]
            sizes[kind] += len(gzip.compress(answer.content, 6))
    assert sizes["html"] <= 8_000, sizes
    assert sizes["css"] <= 6_000, sizes
    assert sizes["js"] <= 6_000, sizes
    assert sum(sizes.values()) <= 20_000, sizes


async def test_every_answer_has_the_headers(api: FakeApi) -> None:
    person = await log_in(api, Role.OWNER)
    for path in ("/dash", "/dash/login", "/dash/nowhere", "/dash/payments?as=csv"):
        headers = (await person.get(path)).headers
        assert headers["cache-control"] == "no-store"
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert headers["x-frame-options"] == "DENY"


async def test_an_unreadable_shop_is_a_page_in_plain_sentences(api: FakeApi) -> None:
    person = await log_in(api, Role.OWNER)
    await asyncio.to_thread(api.shop.env.store.disconnect)
    answer = await person.get("/dash")
    assert answer.status_code == 503
    assert "cannot do this now" in answer.text
