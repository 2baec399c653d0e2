"""The review page: decisions by keyboard, without script, by two people at once, and by role."""

import asyncio
import json
import re
from collections.abc import Callable
from html import unescape

import pytest
from msgspec.structs import replace
from playwright.async_api import Browser, Route

from daemon.core.ids import reference_of
from daemon.core.model import Event
from daemon.flows.payments import review as flow
from daemon.runtime.config import Transactions
from daemon.store.engine import Tx
from daemon.wire import Role
from tests.dash.test_browser import clean
from tests.fakes.api import FakeApi
from tests.fakes.browser import needs_browser, visiting
from tests.fakes.dash import PASSWORD, Person, as_user, log_in
from tests.fakes.orders import Orders
from tests.fakes.reviews import forge
from tests.fakes.shop import OWNER

EVIL = "<img src=x onerror=alert(1)>"
OTHER = "+233201234567"


async def doubtful(api: FakeApi, count: int = 1) -> None:
    """Make reviews of payments with an unknown payer's number: no forgery."""
    await api.shop.begin_chain()
    orders = Orders(api.shop)
    for _ in range(count):
        await orders.make("checking", expected_payer_phone=OTHER)


async def newest(api: FakeApi) -> str:
    return str((await api.shop.values("SELECT id FROM reviews ORDER BY seq DESC LIMIT 1"))[0])


async def states(api: FakeApi) -> list[tuple[str, str | None]]:
    return await api.shop.values("SELECT state, decided_by FROM reviews ORDER BY seq")


CALM_MS = 1100
"""A card accepts no answer for a second after it was shown."""


def _other_than(here: str) -> Callable[[str], bool]:
    return lambda url: url.partition("?")[0] != here


async def test_the_rest_of_an_order_that_is_paid_in_part_is_not_called_a_second_payment(api: FakeApi) -> None:
    orders = Orders(api.shop)
    await orders.pay(await orders.make("short"), 500)
    person = await log_in(api, Role.CASHIER)
    page = (await person.client.get(f"/dash/review/{await newest(api)}")).text
    assert "The order is paid in part, and momo adds no second payment to it." in page
    assert "The order is paid already." not in page


@needs_browser
async def test_twenty_reviews_are_decided_by_keyboard_with_at_most_three_keys_each(
    api: FakeApi, browser: Browser
) -> None:
    await doubtful(api, 20)
    person = await log_in(api, Role.CASHIER)
    async with visiting(browser, api.base_url, width=1280) as visit:
        await as_user(visit, person)
        await visit.page.goto("/dash/review")
        began = asyncio.get_running_loop().time()
        for number in range(20):
            here = visit.page.url.partition("?")[0]
            keys = ["r", "ArrowDown", "Enter"] if number % 3 == 2 else ["a", "Enter"]
            await visit.page.wait_for_timeout(CALM_MS)
            for key in keys:
                await visit.page.keyboard.press(key)
            await visit.page.wait_for_url(_other_than(here))
            await visit.page.wait_for_load_state()
        assert asyncio.get_running_loop().time() - began <= 60
        assert await visit.page.get_by_text("There is nothing to decide").is_visible()
        assert clean(visit)
    decided = await states(api)
    assert {by for _, by in decided} == {"user:cashier"}
    assert [state for state, _ in decided].count("rejected") == 6
    assert [state for state, _ in decided].count("approved") == 14
    notes = await api.shop.values("SELECT DISTINCT notes FROM reviews WHERE state = 'rejected'")
    assert notes == ["Nobody here ordered that"]


@needs_browser
async def test_no_letter_that_is_typed_decides_anything(api: FakeApi, browser: Browser) -> None:
    await doubtful(api, 2)
    person = await log_in(api, Role.CASHIER)
    async with visiting(browser, api.base_url, width=1280) as visit:
        await as_user(visit, person)
        await visit.page.goto("/dash/review")
        await visit.page.wait_for_timeout(CALM_MS)
        await visit.page.keyboard.type("ama")
        assert await visit.page.evaluate("document.activeElement.textContent") == "Approve a"
        await visit.page.wait_for_timeout(300)
        assert clean(visit)
    assert await states(api) == [("open", None)] * 2


@needs_browser
async def test_an_answer_that_was_meant_for_the_card_before_is_not_accepted(api: FakeApi, browser: Browser) -> None:
    await doubtful(api, 2)
    person = await log_in(api, Role.CASHIER)
    async with visiting(browser, api.base_url, width=1280) as visit:
        await as_user(visit, person)
        await visit.page.clock.install()
        await visit.page.goto("/dash/review")
        here = visit.page.url.partition("?")[0]
        await visit.page.clock.pause_at(await visit.page.evaluate("Date.now() + 100"))
        await visit.page.get_by_role("button", name=re.compile("Approve")).click()
        await visit.page.keyboard.press("r")
        await visit.page.keyboard.press("Enter")
        assert visit.page.url.partition("#")[0] == here
        assert await states(api) == [("open", None)] * 2
        await visit.page.clock.fast_forward(1000)
        await visit.page.get_by_role("button", name=re.compile("Approve")).click()
        await visit.page.wait_for_url(lambda url: not url.startswith(here))
    assert [state for state, _ in await states(api)].count("approved") == 1


@needs_browser
async def test_a_page_that_a_decision_leaves_is_told_no_more_news(api: FakeApi, browser: Browser) -> None:
    """The decision is news itself: fetching the page again would hold up the next one."""
    await doubtful(api, 2)
    person = await log_in(api, Role.CASHIER)
    answered = asyncio.Event()

    async def hold(route: Route) -> None:
        await answered.wait()
        await route.continue_()

    async with visiting(browser, api.base_url, width=1280) as visit:
        await as_user(visit, person)
        async with visit.page.expect_response(lambda answer: answer.url.endswith("/dash/events")):
            await visit.page.goto("/dash/review")
        here = visit.page.url.partition("?")[0]
        await visit.page.route("**/approve", hold)
        async with visit.page.expect_event("requestfailed", lambda asked: asked.url.endswith("/dash/events")):
            await visit.page.wait_for_timeout(CALM_MS)
            await visit.page.keyboard.press("a")
            await visit.page.keyboard.press("Enter")
        answered.set()
        await visit.page.wait_for_url(_other_than(here))


@needs_browser
async def test_what_may_be_forged_needs_a_look_and_the_own_password_once_in_ten_minutes(
    api: FakeApi, browser: Browser
) -> None:
    await api.shop.begin_chain()
    await forge(api.shop)
    await forge(api.shop, "cake", "93214500010")
    person = await log_in(api, Role.MANAGER)
    async with visiting(browser, api.base_url, width=390) as visit:
        await as_user(visit, person)
        await visit.page.goto("/dash/review")
        await visit.page.keyboard.press("a")
        await visit.page.keyboard.press("Space")
        await visit.page.get_by_label("Your password").fill(PASSWORD)
        await visit.page.wait_for_timeout(CALM_MS)
        await visit.page.keyboard.press("Enter")
        await visit.page.get_by_text("Approved.").wait_for()
        assert await visit.page.get_by_label("Your password").count() == 0
        here = visit.page.url.partition("?")[0]
        await visit.page.wait_for_timeout(CALM_MS)
        for key in ("a", "Space", "Enter"):
            await visit.page.keyboard.press(key)
        await visit.page.wait_for_url(_other_than(here))
        assert clean(visit)
    assert await states(api) == [("approved", "user:manager")] * 2


async def test_without_the_tick_or_with_a_wrong_password_nothing_is_decided(api: FakeApi) -> None:
    await api.shop.begin_chain()
    await forge(api.shop)
    person = await log_in(api, Role.OWNER)
    path = f"/dash/review/{await newest(api)}/approve"
    form = {"order": "none"}
    untold = await person.post(path, {**form, "confirm_password": PASSWORD})
    wrong = await person.post(path, {**form, "sure": "yes", "confirm_password": "wrong"})
    assert (untold.status_code, wrong.status_code) == (422, 422)
    assert "Look into the wallet first" in untold.text
    assert "The password is wrong" in wrong.text
    assert await states(api) == [("open", None)]


async def test_a_cashier_decides_only_what_is_no_forgery(api: FakeApi) -> None:
    await api.shop.begin_chain()
    await forge(api.shop)
    person = await log_in(api, Role.CASHIER)
    review = await newest(api)
    page = (await person.get(f"/dash/review/{review}")).text
    assert "The owner or a manager decides it" in page
    assert f"/dash/review/{review}/approve" not in page
    form = {"order": "none", "sure": "yes", "confirm_password": PASSWORD}
    for answer, fields in (("approve", form), ("reject", {"note": "no_money"})):
        refused = await person.post(f"/dash/review/{review}/{answer}", fields)
        assert refused.status_code == 403
    assert await states(api) == [("open", None)]
    assert "wait" in (await person.get("/dash/review")).text


async def test_of_two_people_one_decides_and_the_other_is_told_who(api: FakeApi) -> None:
    await doubtful(api)
    review = await newest(api)
    cashier, manager = await log_in(api, Role.CASHIER), await log_in(api, Role.MANAGER)

    async def answer(person: Person, verb: str) -> str:
        fields = {"order": "held", "note": "no_money"}
        return str((await person.post(f"/dash/review/{review}/{verb}", fields)).headers["location"])

    places = await asyncio.gather(answer(cashier, "approve"), answer(manager, "reject"))
    late = [place for place in places if place.endswith("late=1")]
    assert len(late) == 1
    [(_, by)] = await states(api)
    winner = str(by).removeprefix("user:")
    loser = manager if winner == "cashier" else cashier
    page = (await loser.get(late[0])).text
    assert "Your answer was not used" in page
    assert f"{winner} decided first" in page
    found = await api.shop.values("SELECT COUNT(*) FROM events WHERE type IN ('review.approved', 'review.rejected')")
    assert found == [1]


@needs_browser
async def test_without_script_a_review_is_decided_with_buttons(api: FakeApi, browser: Browser) -> None:
    await doubtful(api, 2)
    person = await log_in(api, Role.CASHIER)
    async with visiting(browser, api.base_url, java_script_enabled=False) as visit:
        await as_user(visit, person)
        await visit.page.goto("/dash/review")
        await visit.page.get_by_role("button", name="Reject").click()
        await visit.page.get_by_text("Rejected.").wait_for()
        await visit.page.get_by_text("can still pay an order").wait_for()
        api.shop.clock.advance(5)
        await visit.page.get_by_role("button", name=re.compile("Approve")).click()
        await visit.page.get_by_text("nothing to decide").wait_for()
        await visit.page.get_by_text("For 72 hours it can be taken back").wait_for()
    assert [state for state, _ in await states(api)] == ["approved", "rejected"]


@needs_browser
async def test_an_sms_with_control_and_direction_characters_is_shown_plainly(api: FakeApi, browser: Browser) -> None:
    await doubtful(api)
    order = await api.shop.request(2500, customer_name=EVIL)
    body = f"{EVIL} \u202egnp.exe\u0007 \x1b[2J"

    def spoil(tx: Tx) -> None:
        tx.run("UPDATE messages SET body = :body", {"body": body})
        tx.run("UPDATE payments SET payer_name = :name", {"name": f"{EVIL}\u202e"})

    await api.shop.env.store.write(spoil)
    assert order.customer_name == EVIL
    person = await log_in(api, Role.OWNER)
    async with visiting(browser, api.base_url) as visit:
        await as_user(visit, person)
        for path in ("/dash/review", "/dash/reviews"):
            await visit.page.goto(path)
            shown = await visit.page.locator("main").inner_text()
            assert EVIL in shown
            assert "\u202e" not in shown
            assert await visit.width() == 360
        await visit.page.goto("/dash/review")
        shown = await visit.page.locator(".sms").inner_text()
        assert "[U+202E]gnp.exe[U+0007] [U+001B][2J" in shown
        assert clean(visit)


async def test_the_differences_are_told_in_words(api: FakeApi) -> None:
    await api.shop.begin_chain()
    orders = Orders(api.shop)
    order = await api.shop.request(2500, customer_name="AMA OWUSU", expected_payer_phone=OTHER)
    await orders.pay(order, 2000)
    person = await log_in(api, Role.CASHIER)
    page = (await person.get(f"/dash/review/{await newest(api)}")).text
    for words in ("less", "is the same.", "The SMS has no number", "Another name paid."):
        assert words in page
    french = await person.post("/dash/account/language", {"language": "fr"})
    assert french.status_code == 303
    page = (await person.get(f"/dash/review/{await newest(api)}")).text
    assert "il manque" in page
    assert "Ask the customer" not in page


async def test_another_order_is_chosen_by_its_code(api: FakeApi) -> None:
    await doubtful(api)
    review = await newest(api)
    other = await api.shop.request(2500)
    person = await log_in(api, Role.CASHIER)
    path = f"/dash/review/{review}/approve"
    wrong = await person.post(path, {"order": "held", "other_code": "ZZZZZZ"})
    assert wrong.status_code == 422
    assert "no open order with this code" in wrong.text
    done = await person.post(path, {"order": "held", "other_code": other.svc_code})
    assert done.status_code == 303
    assert (await api.shop.transaction(other.reference)).status == "SUCCESS"


@pytest.mark.parametrize("role", [Role.OWNER, Role.VIEWER])
async def test_the_list_is_exported_by_who_may(api: FakeApi, role: Role) -> None:
    await doubtful(api)
    person = await log_in(api, role)
    assert "payer" in (await person.get("/dash/reviews?as=csv")).text
    [event] = await api.shop.values("SELECT data FROM events WHERE type LIKE '%export%'")
    assert json.loads(event)["rows"] == 1


async def open_card(api: FakeApi, person: Person, seconds: int) -> str:
    """Let approvals wait for so many seconds, and approve the newest review in the dashboard; return its page."""
    env = api.shop.env
    env.config = replace(env.config, transactions=Transactions(approval_undo_s=seconds))
    page = f"/dash/review/{await newest(api)}"
    await person.post(f"{page}/approve", {"order": "held"})
    return page


async def test_an_approval_waits_and_can_be_undone_until_the_daemon_carries_it_out(api: FakeApi) -> None:
    await doubtful(api)
    person = await log_in(api, Role.CASHIER)
    page = await open_card(api, person, 10)
    assert await states(api) == [("open", None)]
    shown = (await person.client.get(page)).text
    assert "Approving" in shown
    assert "Undo" in shown
    assert await flow.carry_out_waiting(api.shop.env) == pytest.approx(10)
    await person.post(f"{page}/undo", {})
    api.shop.clock.advance(11)
    assert await flow.carry_out_waiting(api.shop.env) is None
    assert await states(api) == [("open", None)]


async def test_an_approval_is_carried_out_although_the_browser_is_gone(api: FakeApi) -> None:
    await doubtful(api)
    person = await log_in(api, Role.CASHIER)
    await open_card(api, person, 10)
    await person.client.aclose()
    api.shop.clock.advance(11)
    assert await flow.carry_out_waiting(api.shop.env) is None
    assert await states(api) == [("approved", "user:cashier")]
    assert await api.shop.values("SELECT COUNT(*) FROM approvals_waiting") == [0]
    told = "SELECT COUNT(*) FROM events WHERE type = 'notice.approval_refused'"
    assert await api.shop.values(told) == [0]


async def test_a_decision_elsewhere_ends_an_approval_that_waits(api: FakeApi) -> None:
    await doubtful(api)
    person = await log_in(api, Role.CASHIER)
    page = await open_card(api, person, 10)
    other = await log_in(api, Role.MANAGER)
    late = await other.post(f"{page}/approve", {"order": "held"})
    assert "late=1" in late.headers["location"]
    await flow.reject(api.shop.env, OWNER, page.rpartition("/")[2], "not paid")
    api.shop.clock.advance(11)
    assert await flow.carry_out_waiting(api.shop.env) is None
    assert await states(api) == [("rejected", OWNER.name)]
    [told] = await api.shop.rows(Event, "events", "type = 'notice.approval_refused'")
    assert json.loads(told.data)["by"] == "cashier"
    assert json.loads(told.data)["why"] == f"{OWNER.name} decided its review first."
    assert f"sans effet : {OWNER.name} a décidé d'abord." in await french(person, told)


async def test_an_approval_that_is_refused_after_its_wait_is_told(api: FakeApi) -> None:
    await doubtful(api)
    person = await log_in(api, Role.CASHIER)
    await open_card(api, person, 10)
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE payments SET reversed_at = 1"))
    api.shop.clock.advance(11)
    assert await flow.carry_out_waiting(api.shop.env) is None
    assert await states(api) == [("open", None)]
    [told] = await api.shop.rows(Event, "events", "type = 'notice.approval_refused'")
    assert json.loads(told.data)["by"] == "cashier"
    again = "Decide its review again: momo review list."
    assert json.loads(told.data)["why"] == f"The network took the payment back. {again}"
    assert "sans effet : Le réseau a repris le paiement. Décidez-en de nouveau" in await french(person, told)


async def french(person: Person, told: Event) -> str:
    """Return the page of the order that an entry of the journal is about, in French."""
    await person.post("/dash/account/language", {"language": "fr"})
    return unescape((await person.get(f"/dash/transactions/{reference_of(told.transaction_id or '')}")).text)


async def test_a_decision_is_taken_back_in_the_dashboard(api: FakeApi) -> None:
    await doubtful(api)
    person = await log_in(api, Role.CASHIER)
    page = await open_card(api, person, 0)
    assert await states(api) == [("approved", "user:cashier")]
    done = await person.post(f"{page}/undo", {})
    assert "said_review_undone" in done.headers["location"]
    assert await states(api) == [("open", None)]


@needs_browser
async def test_on_a_phone_the_comparison_is_first_and_the_answers_stay_in_view(api: FakeApi, browser: Browser) -> None:
    await doubtful(api, 2)
    person = await log_in(api, Role.CASHIER)
    async with visiting(browser, api.base_url, width=390, height=844) as visit:
        await as_user(visit, person)
        await visit.page.goto("/dash/review")
        order, sms = [await visit.page.locator(one).bounding_box() for one in ("#s-order", "#s-sms")]
        assert order is not None
        assert sms is not None
        assert order["y"] < sms["y"]
        bar = await visit.page.locator(".answers").bounding_box()
        assert bar is not None
        assert bar["y"] + bar["height"] <= 844
        await visit.page.locator(".answers").get_by_text("Approve").click()
        assert visit.page.url.endswith("#s-approve")
        assert await visit.width() == 390
        assert clean(visit)
    assert [state for state, _by in await states(api)].count("approved") == 0
