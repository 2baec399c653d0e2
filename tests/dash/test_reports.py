"""Reports: the money of a period by time, network, maker and payer, as a chart with its table; each adds up to the same."""

import re

import pytest

from daemon.core.books.day_sheet import BY, BY_TIME
from daemon.wire import Role
from parsers.money import read_api_amount
from tests.dash.test_till import pay, sell
from tests.fakes.api import FakeApi
from tests.fakes.dash import log_in
from tests.fakes.engines import engine, pytest_generate_tests
from tests.fakes.orders import Orders

__all__ = ["engine", "pytest_generate_tests"]

FIRST, LAST = "2026-11-20", "2026-12-04"
NAMES = {
    "hour": "2026-11-21 08:00",
    "day": "2026-11-21",
    "week": "2026-11-16",
    "month": "November 2026",
    "weekday": "Saturday",
    "hour_of_day": "08:00",
    "network": "MTN",
    "maker": "ama",
    "payer": "KOFI BOATENG MENSAH OWUSU",
}
"""The name of the first payment's row."""


async def two_weeks(api: FakeApi) -> None:
    """Let payments come on six days of two weeks, one of them without an order."""
    orders = Orders(api.shop)
    for day in range(6):
        person = await log_in(api, Role.CASHIER, "ama" if day % 2 == 0 else "kofi")
        await pay(orders, await sell(person), 2500)
        api.shop.clock.advance((2 * 24 + 1) * 3600)
    waiting = await api.shop.request(1000)
    await orders.pay(waiting, 1000, "thank you")


@pytest.mark.parametrize("by", BY)
async def test_each_report_adds_up_to_the_money_of_the_period(api: FakeApi, by: str) -> None:
    await two_weeks(api)
    asked = f"from={FIRST}T00:00:00Z&to=2026-12-05T00:00:00Z"
    report = (await api.local.get(f"/local/v1/report?by={by}&{asked}")).json()["data"]
    assert sum(row["count"] for row in report["rows"]) == 7
    assert sum(read_api_amount(row["amount"], "GHS") or 0 for row in report["rows"]) == 16_000
    person = await log_in(api, Role.MANAGER)
    page = (await person.get(f"/dash/day?group={by}&from={FIRST}&to={LAST}")).text
    rows = page.partition('id="s-rows"')[2]
    names = re.findall(r"<th scope=.row.>([^<]*)", rows)
    assert NAMES[by] in " ".join(names), " ".join(names)[:400]
    assert rows.partition("<tbody>")[2].count("<tr>") >= len(report["rows"])
    file = (await person.get(f"/dash/day?group={by}&from={FIRST}&to={LAST}&as=csv")).status_code
    assert file == 200


@pytest.mark.parametrize(("by", "bars"), [("day", 15), ("week", 3), ("month", 2), ("weekday", 7), ("maker", 3)])
async def test_the_chart_has_a_bar_for_each_name_and_a_day_without_money_keeps_its_place(
    api: FakeApi, by: str, bars: int
) -> None:
    await two_weeks(api)
    person = await log_in(api, Role.MANAGER)
    page = (await person.get(f"/dash/day?group={by}&from={FIRST}&to={LAST}")).text
    assert len(re.findall(r"<rect x=", page.partition('id="s-rows"')[2])) == bars


async def test_the_maker_of_a_rest_is_the_one_of_its_order(api: FakeApi) -> None:
    ama = await log_in(api, Role.MANAGER, "ama")
    orders = Orders(api.shop)
    order = await sell(ama)
    await pay(orders, order, 2000)
    await pay(orders, order, 500)
    [review] = await api.shop.values("SELECT id FROM reviews")
    assert (await ama.post(f"/dash/review/{review}/rest")).status_code == 303
    [row] = (await api.local.get("/local/v1/report?by=maker")).json()["data"]["rows"]
    assert (row["maker"], row["count"], row["amount"]) == ("user:ama", 2, "25.00")


def test_every_report_is_tried() -> None:
    assert set(NAMES) == set(BY)
    assert set(BY_TIME) < set(BY)
