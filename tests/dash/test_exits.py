"""Whatever counts as open has an action that ends it: what needs a person, what is owed, what is to be given back."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest

from daemon.core.lines.modem_health import ModemHealth
from daemon.core.model import Transaction
from daemon.wire import Role
from tests.dash import places
from tests.dash.test_lines import plug_in
from tests.fakes import outbox
from tests.fakes.api import FakeApi
from tests.fakes.dash import PASSWORD, Person, log_in
from tests.fakes.engines import engine, pytest_generate_tests
from tests.fakes.orders import Orders
from tests.fakes.receipts import mtn
from tests.fakes.shop import METHOD_ID

__all__ = ["engine", "pytest_generate_tests"]


class Open(NamedTuple):
    """Something that counts as open.

    Attributes:
        make: Makes one.
        leads: Where the entry on Now leads, as a pattern.
        ends: The path and the form of the action that ends it.
        counted: Where it counts outside of the dashboard: the member of `momo status`, or of the sheet of `momo today`.
        command: What the command says to type next.
    """

    make: Callable[[FakeApi], Awaitable[Transaction | None]]
    leads: str
    ends: tuple[str, dict[str, str]]
    counted: str
    command: str


async def _state(api: FakeApi, state: str, **fields: Any) -> Transaction:
    return await Orders(api.shop).make(state, **fields)


async def _short(api: FakeApi) -> Transaction:
    return await _state(api, "short")


async def _over(api: FakeApi) -> Transaction:
    return await _state(api, "over")


async def _checking(api: FakeApi) -> Transaction:
    return await _state(api, "checking", expected_payer_phone="+233201234567")


async def _second(api: FakeApi) -> Transaction:
    """A second payment of an order, which was settled before it came."""
    orders = Orders(api.shop)
    order = await orders.make("paid")
    await orders.pay(order)
    return order


async def _dead(api: FakeApi) -> None:
    await outbox.add_endpoint(api.shop, places.ENDPOINT, url="https://shop.example/hook")
    await _state(api, "paid")
    (leased,) = await outbox.lease(api.shop)
    await outbox.fail(api.shop, leased, 404)


async def _unplaced(api: FakeApi) -> None:
    await _state(api, "paid")
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE payments SET payment_method_seq = NULL", {}))


async def _doubted(api: FakeApi) -> None:
    """A receipt whose balance does not follow from the believed one; the test's shop believes every receipt otherwise."""
    await api.shop.begin_chain(90_000)
    api.shop.limit(0)
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 72_500, "food", "93214500001"))


async def _paused(api: FakeApi) -> None:
    """An endpoint that momo paused after many failures."""
    now = api.shop.clock.now_us()
    await outbox.add_endpoint(
        api.shop, places.ENDPOINT, url="https://shop.example/hook", is_active=0, auto_paused_at=now
    )


async def _paused_by_hand(api: FakeApi) -> None:
    """An endpoint that a person paused."""
    await outbox.add_endpoint(api.shop, places.ENDPOINT, url="https://shop.example/hook", is_active=0)


TABLE = {
    "short": Open(
        _short,
        r"/dash/transactions\?state=unsettled",
        ("/dash/transactions/{order}/settle", {"kind": "waived"}),
        "sheet.short.owed",
        "momo tx list --unsettled",
    ),
    "over": Open(
        _over,
        r"/dash/transactions\?state=unsettled",
        ("/dash/transactions/{order}/settle", {"kind": "change_given"}),
        "sheet.over.to_give_back",
        "momo tx list --unsettled",
    ),
    "review": Open(
        _checking,
        r"/dash/review/[0-9a-f-]{36}",
        ("{href}/reject", {"note": "no_money"}),
        "today.review",
        "momo review list",
    ),
    "second payment": Open(
        _second,
        r"/dash/review/[0-9a-f-]{36}",
        ("{href}/reject", {"note": "given_back"}),
        "today.review",
        "momo review list",
    ),
    "dead letter": Open(
        _dead,
        r"/dash/dead-letters",
        ("/dash/dead-letters/{letter}/dismiss", {"notes": "told by telephone"}),
        "queue.dead_letters",
        "momo deliveries list --status failed",
    ),
}


def needs(html: str) -> list[str]:
    """Return where the entries of what needs a person lead."""
    part = re.search(r'<section class="card needs".*?</section>', html, re.DOTALL)
    return re.findall(r'<a class="button small" href="([^"]+)"', part[0]) if part else []


async def counts(api: FakeApi, where: str) -> object:
    """Return a count of `momo status`, or one of the sheet of `momo today`."""
    top, *names = where.split(".")
    if top == "sheet":
        (sheet,) = (await api.local.get("/local/v1/report")).json()["data"]["sheets"]
        found = sheet["all"]
    else:
        found, names = (await api.local.get("/local/v1/status")).json()["data"], [top, *names]
    for name in names:
        found = found[name]
    return found


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
async def test_what_counts_as_open_is_named_on_now_and_is_ended_there(api: FakeApi, row: Open) -> None:
    person = await log_in(api, Role.OWNER)
    assert needs((await person.get("/dash")).text) == []
    order = await row.make(api)
    [href] = needs((await person.get("/dash")).text)
    assert re.fullmatch(row.leads, href), href
    assert (await person.client.get(href, follow_redirects=True)).status_code == 200
    assert await counts(api, row.counted) not in {0, "0.00"}
    status = (await api.local.get("/local/v1/status")).json()["data"]
    assert status["today"]["unsettled"] == (1 if "sheet" in row.counted else 0)
    letters = await api.shop.values("SELECT id FROM dead_letters")
    path, form = row.ends
    path = path.format(order="" if order is None else order.reference, href=href, letter="".join(letters))
    answer = await person.post(path, form)
    assert answer.status_code == 303, answer.text
    assert needs((await person.get("/dash")).text) == []
    assert await counts(api, row.counted) in {0, "0.00"}


async def test_what_is_owed_stands_on_now_also_on_the_days_after(api: FakeApi) -> None:
    person = await log_in(api, Role.MANAGER)
    await _short(api)
    api.shop.clock.advance(3 * 24 * 3600)
    person = await log_in(api, Role.MANAGER, "kofi")
    assert needs((await person.get("/dash")).text) == ["/dash/transactions?state=unsettled"]
    listed = (await api.local.get("/v1/transactions?unsettled=true")).json()
    assert [row["status"] for row in listed["data"]] == ["PARTIAL"]
    assert listed["pagination"]["total"] == 1


async def test_the_second_payment_of_a_short_order_is_the_rest_by_one_button(api: FakeApi) -> None:
    cashier = await log_in(api, Role.CASHIER)
    orders = Orders(api.shop)
    order = await orders.make("short")
    await orders.pay(order, 500)
    href = "/dash/review/" + (await api.shop.values("SELECT id FROM reviews"))[0]
    page = (await cashier.get(href)).text
    assert "This is the rest" in page
    assert f"The order {order.svc_code} is short by GHS\xa05.00." in page
    # It is compared with what is missing, not with the whole amount.
    assert "<strong>The rest</strong> is the same." in page
    assert "less." not in page
    assert "This order is paid already." not in page
    answer = await cashier.post(f"{href}/rest")
    assert answer.headers["location"].endswith("said=said_settled"), answer.text
    settled = await api.shop.transaction(order.reference)
    assert settled.settled_by == f"user:{cashier.name}"
    sheet = (await api.local.get("/local/v1/report")).json()["data"]["sheets"][0]["all"]
    assert [sheet[kind]["count"] for kind in ("paid", "short", "rest", "unmatched")] == [0, 1, 1, 0]
    assert sheet["short"]["owed"] == "0.00"
    again = await cashier.post(f"{href}/rest")
    assert (again.status_code, "It cannot be settled" in again.text) == (422, True)
    assert len(await api.shop.values("SELECT 1 FROM events WHERE type = 'transaction.settled'")) == 1


@pytest.mark.parametrize("state", ["paid", "over"])
async def test_a_second_payment_of_an_order_that_is_not_short_is_no_rest(api: FakeApi, state: str) -> None:
    person = await log_in(api, Role.OWNER)
    orders = Orders(api.shop)
    order = await orders.make(state)
    await orders.pay(order, 500)
    href = "/dash/review/" + (await api.shop.values("SELECT id FROM reviews"))[0]
    assert "This is the rest" not in (await person.get(href)).text
    answer = await person.post(f"{href}/rest")
    assert (answer.status_code, "It cannot be settled" in answer.text) == (422, True)
    assert (await api.shop.transaction(order.reference)).settled_at is None


async def test_payments_of_settled_orders_are_listed_as_settled_and_are_no_warning(api: FakeApi) -> None:
    manager = await log_in(api, Role.MANAGER)
    orders = Orders(api.shop)
    short, over = await orders.make("short"), await orders.make("over")
    open_ = ["GHS\xa030.00 too much", "GHS\xa020.00 short"]
    assert await states(manager) == open_
    await orders.pay(short, 500)
    href = "/dash/review/" + (await api.shop.values("SELECT id FROM reviews"))[0]
    assert (await manager.post(f"{href}/rest")).status_code == 303
    path = f"/dash/transactions/{over.reference}/settle"
    assert (await manager.post(path, {"kind": "change_given"})).status_code == 303
    settled = [f"GHS\xa0{amount} settled" for amount in ("5.00", "30.00", "20.00")]
    assert await states(manager) == await states(manager, "?state=settled") == settled
    assert 'class="warn"' not in (await manager.get("/dash")).text
    [rest] = await api.shop.values("SELECT id FROM payments WHERE amount_minor = 500")
    page = (await manager.get(f"/dash/payments/{rest}")).text
    assert "It is the rest of the order" in page
    assert f'href="/dash/transactions/{short.reference}"' in page


async def states(person: Person, query: str = "") -> list[str]:
    """Return the amount and the state of each row of the list of payments."""
    table = (await person.get(f"/dash/payments{query}")).text.partition("<tbody>")[2]
    rows = re.findall(r'class="state \w+">([^<]+)</span></td><td class="right money">([^<]+)<', table)
    return [f"{money} {state}" for state, money in rows]


async def test_two_people_settle_one_order_and_one_is_told(api: FakeApi) -> None:
    first, second = await log_in(api, Role.MANAGER, "ama"), await log_in(api, Role.MANAGER, "kofi")
    order = await _short(api)
    path = f"/dash/transactions/{order.reference}/settle"
    answers = await asyncio.gather(first.post(path, {"kind": "waived"}), second.post(path, {"kind": "rest_received"}))
    assert sorted(answer.status_code for answer in answers) == [303, 422]
    [late] = [answer.text for answer in answers if answer.status_code == 422]
    assert "It cannot be settled" in late
    assert len(await api.shop.values("SELECT 1 FROM events WHERE type = 'transaction.settled'")) == 1


async def test_a_settlement_is_taken_back_with_a_word_about_the_printed_sheet(api: FakeApi) -> None:
    manager = await log_in(api, Role.MANAGER)
    order = await _short(api)
    path = f"/dash/transactions/{order.reference}"
    await manager.post(f"{path}/settle", {"kind": "waived"})
    assert "If it was printed, print it again." in (await manager.get(path)).text
    assert (await manager.post(f"{path}/unsettle")).status_code == 303
    assert needs((await manager.get("/dash")).text) == ["/dash/transactions?state=unsettled"]


async def test_a_second_payment_waits_for_its_decision_again_once_its_settlement_is_taken_back(api: FakeApi) -> None:
    manager = await log_in(api, Role.MANAGER)
    orders = Orders(api.shop)
    order = await orders.make("short")
    await orders.pay(order, 500)
    href = "/dash/review/" + (await api.shop.values("SELECT id FROM reviews"))[0]
    assert (await manager.post(f"{href}/rest")).status_code == 303
    assert needs((await manager.get("/dash")).text) == []
    page = f"/dash/transactions/{order.reference}"
    for _ in range(2):
        assert (await manager.post(f"{page}/unsettle")).status_code == 303
        unsettled = "/dash/transactions?state=unsettled"
        assert needs((await manager.get("/dash")).text) == [href, unsettled]
        assert "This is the rest" in (await manager.get(href)).text
        assert (await manager.post(f"{href}/rest")).status_code == 303
        assert needs((await manager.get("/dash")).text) == []


async def test_what_is_open_of_an_order_stands_at_its_head_and_above_the_list(api: FakeApi) -> None:
    manager = await log_in(api, Role.MANAGER)
    orders = Orders(api.shop)
    short = await orders.make("short")
    await orders.make("over")
    listed = (await manager.get("/dash/transactions?state=unsettled")).text
    assert "2 · GHS\xa05.00 owed · GHS\xa05.00 to give back" in listed
    page = f"/dash/transactions/{short.reference}"
    shown = (await manager.get(page)).text
    assert "<strong>GHS\xa05.00 owed</strong>" in shown
    assert 'href="#s-settle"' in shown
    await manager.post(f"{page}/settle", {"kind": "rest_received"})
    assert "The rest came in cash: GHS\xa05.00." in (await manager.get(page)).text
    receipt = (await manager.get(f"/dash/till/{short.reference}/receipt")).text
    assert "Rest received in cash</dt><dd>GHS\xa05.00" in receipt


class Alarm(NamedTuple):
    """Something that stops payments from being seen, believed or told.

    Attributes:
        make: Makes one.
        leads: Where the first entry on Now leads, as a pattern.
        ends: The action that ends it, as a path and a form; None: the phone itself has to answer again.
        counted: The member of `momo status` that changes with it.
    """

    make: Callable[[FakeApi], Awaitable[None]]
    leads: str
    ends: tuple[str, dict[str, str]] | None
    counted: str


async def _deaf(api: FakeApi) -> None:
    """The SIM of the line is not in its phone."""
    gone = ModemHealth("/dev/ttyUSB0", "no_sim", "there is no SIM", device_id=api.shop.source.device_id)
    await _state(api, "paid")
    api.phones[:] = [gone]


ALARMS = {
    "unplaced payment": Alarm(
        _unplaced, r"/dash/unplaced", (f"/dash/unplaced/{METHOD_ID}/claim", {}), "lines.unplaced_payments"
    ),
    "wallet in doubt": Alarm(
        _doubted,
        r"/dash/lines/[0-9a-f-]{36}:0#wallet",
        ("/dash/lines/{line}/wallet", {"balance": "725", "confirm_password": PASSWORD}),
        "today.review",
    ),
    "paused endpoint": Alarm(_paused, r"/dash/webhooks/[0-9a-f-]{36}", ("{href}/resume", {}), "endpoints"),
    "endpoint paused by a person": Alarm(
        _paused_by_hand, r"/dash/webhooks/[0-9a-f-]{36}", ("{href}/resume", {}), "endpoints"
    ),
    "line that does not receive": Alarm(_deaf, r"/dash/lines", None, "lines.receiving"),
}


@pytest.mark.parametrize("alarm", ALARMS.values(), ids=ALARMS)
async def test_what_stops_payments_is_named_on_now_and_leads_to_what_ends_it(api: FakeApi, alarm: Alarm) -> None:
    person = await log_in(api, Role.OWNER)
    before = await counts(api, alarm.counted)
    await alarm.make(api)
    href = needs((await person.get("/dash")).text)[0]
    assert re.fullmatch(alarm.leads, href), href
    assert (await person.client.get(href, follow_redirects=True)).status_code == 200
    told = await counts(api, alarm.counted)
    assert told != before
    if alarm.ends is None:
        plug_in(api)
    else:
        path, form = alarm.ends
        path = path.format(href=href, line=f"{api.shop.source.device_id}:0")
        answer = await person.post(path, form)
        assert answer.status_code in {200, 303}, answer.text
    assert needs((await person.get("/dash")).text) == []
    assert await counts(api, alarm.counted) != told
