"""A rush: four customers at once at two tills, and a restart of the daemon in between; at the end all say the same."""

import asyncio
import html
from typing import Any

import pytest

from daemon.wire import Role
from tests.dash.test_exits import needs
from tests.dash.test_till import sell
from tests.fakes.api import FakeApi
from tests.fakes.dash import Person, log_in
from tests.fakes.orders import Orders
from tests.fakes.receipts import mtn


async def pay(api: FakeApi, orders: Orders, reference: str, minor: int, typed: str = "") -> None:
    await orders.pay(await api.shop.transaction(reference), minor, typed)


async def states(api: FakeApi, *references: str) -> list[str]:
    return [str((await api.shop.transaction(one)).status) for one in references]


async def sheet(api: FakeApi) -> dict[str, Any]:
    report = (await api.local.get("/local/v1/report")).json()["data"]
    every: dict[str, Any] = report["sheets"][0]["all"]
    return every


async def test_a_rush_at_two_tills_ends_with_one_truth_everywhere(api: FakeApi) -> None:
    ama, kofi = await log_in(api, Role.CASHIER, "ama"), await log_in(api, Role.MANAGER, "kofi")
    orders = Orders(api.shop)
    # Four customers at two tills, at once.
    short, over, wrong, twice = await asyncio.gather(
        sell(ama, amount="25"), sell(kofi, amount="30"), sell(ama, amount="12.50"), sell(kofi, amount="7")
    )
    await pay(api, orders, short, 2000)
    await pay(api, orders, over, 3100)
    await pay(api, orders, wrong, 1250, "thank you")
    assert await states(api, short, over, wrong, twice) == ["PARTIAL", "OVERPAID", "PENDING", "PENDING"]
    await api.start_again()
    orders.shop = api.shop
    # Nobody logs in again, and each till has its own customers, with what became of them.
    mine, his = (await ama.get("/dash/till")).text, (await kofi.get("/dash/till")).text
    assert [short in mine, wrong in mine, twice in mine] == [True, True, False]
    assert [over in his, twice in his, short in his] == [True, True, False]
    await pay(api, orders, twice, 700)
    await pay(api, orders, twice, 700)
    await pay(api, orders, short, 500)
    # The wrong code is found by the amount, the second payment is rejected, the rest and the change are settled.
    [walk_in] = await api.shop.values("SELECT id FROM payments WHERE reference_text = 'thank you'")
    found = await ama.post(f"/dash/payments/{walk_in}/reconcile", {"order": wrong})
    assert found.status_code == 303, found.text
    for href in [href for href in needs((await ama.get("/dash")).text) if "/review/" in href]:
        page = (await ama.get(href)).text
        path, form = (f"{href}/rest", {}) if "This is the rest" in page else (f"{href}/reject", {"note": "given_back"})
        assert (await ama.post(path, form)).status_code == 303
    change = await kofi.post(f"/dash/transactions/{over}/settle", {"kind": "change_given"})
    assert change.status_code == 303, change.text

    # Now, the tills, the day sheet, the status and the API say the same.
    page = (await kofi.get("/dash")).text
    assert needs(page) == []
    # 20 + 31 + 12.50 + 7 + 7 + 5
    assert "GHS\xa082.50" in page
    every = await sheet(api)
    assert {kind: every[kind]["count"] for kind in ("paid", "short", "over", "rest", "unmatched")} == {
        "paid": 2, "short": 1, "over": 1, "rest": 1, "unmatched": 1,
    }  # fmt: skip
    assert (every["short"]["owed"], every["over"]["to_give_back"]) == ("0.00", "0.00")
    assert every["money_in"] == {"count": 6, "amount": "82.50"}
    status = (await api.local.get("/local/v1/status")).json()["data"]["today"]
    counted = [status[kind]["count"] for kind in ("paid", "short", "over")]
    assert (counted, status["review"], status["unsettled"], status["waiting"]) == ([2, 1, 1], 0, 0, 0)
    listed = (await api.live.get("/v1/transactions")).json()["data"]
    assert {row["reference"]: (row["status"], row["actual_amount"]) for row in listed} == {
        short: ("PARTIAL", "20.00"),
        over: ("OVERPAID", "31.00"),
        wrong: ("SUCCESS", "12.50"),
        twice: ("SUCCESS", "7.00"),
    }
    assert (await api.live.get("/v1/transactions?unsettled=true")).json()["data"] == []
    assert "state=unsettled" not in (await kofi.get("/dash/day")).text
    for person in (ama, kofi):
        till = (await person.get("/dash/till")).text
        assert "<li>" not in till.partition('id="part-open"')[2].partition("</div>")[0]
    assert api.log.lines == []


async def test_a_till_with_five_hundred_open_orders_shows_the_newest_and_leads_to_the_others(api: FakeApi) -> None:
    ama = await log_in(api, Role.CASHIER, "ama")
    for _ in range(500):
        await sell(ama, sms="", phone="")
    page = (await ama.get("/dash/till")).text
    assert page.partition('id="part-open"')[2].partition("</ul>")[0].count("<li>") == 50
    assert "/dash/transactions?state=open" in page
    assert "500 · GHS\xa012,500.00" in (await ama.get("/dash/transactions?state=open")).text


async def test_names_of_200_letters_and_amounts_of_a_million_are_settled_like_others(api: FakeApi) -> None:
    manager = await log_in(api, Role.MANAGER)
    order = await api.shop.request(100_000_000, customer_name="Ama " + "x" * 190, description="y" * 200)
    await api.shop.read(mtn(99_999_900, "KOFI BADU", 200_000_000, order.svc_code or "", "93214500001"))
    for path in ("/dash", "/dash/transactions?state=unsettled", f"/dash/transactions/{order.reference}"):
        assert (await manager.get(path)).status_code == 200
    assert needs((await manager.get("/dash")).text) == ["/dash/transactions?state=unsettled"]
    path = f"/dash/transactions/{order.reference}/settle"
    assert (await manager.post(path, {"kind": "waived", "notes": "z" * 500})).status_code == 303
    too_large = await manager.post("/dash/till", {"amount": "1000000.01"})
    assert (too_large.status_code, "at most 1000000.00" in too_large.text) == (422, True)


@pytest.mark.parametrize(
    ("kind", "payment", "said"),
    [
        ("rest_received", "93219999999", "No payment with this ID has arrived."),
        ("change_given", "", "It cannot be settled"),
        ("nonsense", "", "It cannot be settled"),
        ("rest_received", "used", "This payment has paid another order."),
    ],
)
async def test_a_wrong_settlement_is_a_sentence_and_changes_nothing(
    api: FakeApi, kind: str, payment: str, said: str
) -> None:
    manager = await log_in(api, Role.MANAGER)
    orders = Orders(api.shop)
    order = await orders.make("short")
    if payment == "used":
        other = await orders.make("paid")
        [payment] = await api.shop.values(f"SELECT telco_transaction_id FROM payments WHERE id = '{other.payment_id}'")
    path = f"/dash/transactions/{order.reference}/settle"
    answer = await manager.post(path, {"kind": kind, "payment": payment})
    assert answer.status_code == 422
    assert said in html.unescape(answer.text)
    assert (await api.shop.transaction(order.reference)).settled_at is None


async def test_a_customers_page_has_the_payments_of_their_orders_whose_receipts_name_no_number(api: FakeApi) -> None:
    manager, orders = await log_in(api, Role.MANAGER), Orders(api.shop)
    await orders.make("paid")
    other = await orders.make("short")
    assert await api.shop.values("SELECT COUNT(payer_phone) FROM payments") == [0], "as on-net receipts of MTN"
    assert "2 · GHS\xa045.00" in (await manager.get("/dash/customers/233241234567")).text
    # A receipt that names another number is another customer's.
    await api.shop.env.store.write(
        lambda tx: tx.run("UPDATE payments SET payer_phone = '+233209999999' WHERE id = :id", {"id": other.payment_id})
    )
    assert "1 · GHS\xa025.00" in (await manager.get("/dash/customers/233241234567")).text
    assert "1 · GHS\xa020.00" in (await manager.get("/dash/customers/233209999999")).text


async def test_a_customers_page_has_the_payments_of_one_number_and_their_sum(api: FakeApi) -> None:
    manager, cashier = await log_in(api, Role.MANAGER), await log_in(api, Role.CASHIER)
    orders = Orders(api.shop)
    paid = [await orders.make("paid"), await orders.make("short")]
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE payments SET payer_phone = '+233241234567'"))
    page = (await manager.get("/dash/customers/233241234567")).text
    assert "2 · GHS\xa045.00" in page
    assert "024 123 4567" in page
    for order in paid:
        payment = (await api.shop.transaction(order.reference)).payment_id
        assert f"/dash/payments/{payment}" in page
        assert 'href="/dash/customers/233241234567"' in (await manager.get(f"/dash/payments/{payment}")).text
        assert "/dash/customers/" not in (await cashier.get(f"/dash/payments/{payment}")).text
    assert (await cashier.get("/dash/customers/233241234567")).status_code == 403
    assert (await manager.get("/dash/customers/12")).status_code == 404


async def test_a_recent_customer_is_chosen_without_typing_the_number(api: FakeApi) -> None:
    ama, kofi = await log_in(api, Role.CASHIER, "ama"), await log_in(api, Role.CASHIER, "kofi")
    first = await sell(ama)
    page = (await ama.get("/dash/till")).text
    assert f'<option value="{first}">2 bags rice 024 *** 4567</option>' in page
    second = await sell(ama, phone="", customer=first)
    assert (await api.shop.transaction(second)).phone_number == "+233241234567"
    assert first not in (await kofi.get("/dash/till")).text
    # The order of somebody else gives no number away.
    other = await sell(kofi, phone="", customer=first)
    assert (await api.shop.transaction(other)).phone_number is None


async def go(person: Person, path: str) -> str:
    return (await person.get(path)).text


async def test_a_list_goes_back_page_by_page(api: FakeApi) -> None:
    person = await log_in(api, Role.MANAGER)
    orders = Orders(api.shop)
    made = [(await orders.make("cancelled")).reference for _ in range(120)]
    seen, path = [], "/dash/transactions?state=cancelled"
    while path:
        text = await go(person, path)
        seen.append((path, [one for one in made if one in text.partition("<main")[2].partition("pages")[0]]))
        link = text.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0]
        path = link.replace("&amp;", "&") if 'rel="next"' in text else ""
    assert [len(rows) for _, rows in seen] == [50, 50, 20]
    back, path = [], seen[-1][0]
    while path:
        text = await go(person, path)
        back.append([one for one in made if one in text.partition("<main")[2].partition("pages")[0]])
        link = text.partition('rel="prev"')[0].rpartition('href="')[2].partition('"')[0]
        path = link.replace("&amp;", "&") if 'rel="prev"' in text else ""
    assert back == [rows for _, rows in reversed(seen)]
    assert "120 · GHS\xa03,000.00" in await go(person, "/dash/transactions?state=cancelled")
