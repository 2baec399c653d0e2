"""A shift has who opened and closed it when, and the orders made, paid and settled in it, in dashboard, API and CLI alike."""

from typing import Any

from daemon.wire import Role
from tests.dash.test_till import pay, sell
from tests.fakes.api import FakeApi
from tests.fakes.dash import Person, log_in
from tests.fakes.engines import engine, pytest_generate_tests
from tests.fakes.orders import Orders

__all__ = ["engine", "pytest_generate_tests"]


async def opened(person: Person) -> str:
    answer = await person.post("/dash/shifts")
    assert answer.status_code == 303, answer.text
    place: str = answer.headers["location"]
    return place.partition("?")[0]


async def listed(api: FakeApi) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (await api.local.get("/local/v1/shifts")).json()["data"]
    return rows


async def test_a_shift_counts_what_its_person_made_and_settled_while_it_was_open(api: FakeApi) -> None:
    ama, kofi = await log_in(api, Role.MANAGER, "ama"), await log_in(api, Role.CASHIER, "kofi")
    orders = Orders(api.shop)
    before = await sell(ama, amount="3")
    api.shop.clock.advance(60)
    sheet = await opened(ama)
    first, second = await sell(ama, amount="25"), await sell(ama, amount="12.50")
    other = await sell(kofi, amount="25")
    for reference, minor in ((first, 2500), (second, 1000), (other, 2000), (before, 300)):
        await pay(orders, reference, minor)
    await ama.post(f"/dash/transactions/{second}/settle", {"kind": "rest_received"})
    await ama.post(f"/dash/transactions/{other}/settle", {"kind": "waived"})
    api.shop.clock.advance(3600)
    assert (await ama.post(f"{sheet}/close")).status_code == 303
    await pay(orders, await sell(ama, amount="7"), 700)
    page = (await ama.get(sheet)).text
    for words in ("Orders made", "GHS\xa037.50", "GHS\xa038.00", "The rest came in cash"):
        assert words in page, words
    [row] = await listed(api)
    assert row["by"] == row["closed_by"] == "user:ama"
    assert row["closed_at"] > row["opened_at"]
    assert [row["made"], row["paid"]] == [
        [{"currency": "GHS", "count": 2, "amount": "37.50"}],
        [{"currency": "GHS", "count": 3, "amount": "38.00"}],
    ]
    assert [(one["kind"], one["in_cash"], one["amount"]) for one in row["settled"]] == [
        ("rest_received", True, "2.50"),
        ("waived", False, "5.00"),
    ]
    day = (await ama.get("/dash/day")).text
    assert "The rest came in cash" in day
    maker = (await api.local.get("/local/v1/report?by=maker")).json()["data"]["rows"]
    assert {one["maker"]: one["count"] for one in maker} == {"user:ama": 4, "user:kofi": 1}


async def test_a_shift_is_opened_and_closed_once(api: FakeApi) -> None:
    ama = await log_in(api, Role.CASHIER, "ama")
    sheet = await opened(ama)
    assert await opened(ama) == sheet
    for _ in range(2):
        assert (await ama.post(f"{sheet}/close")).status_code == 303
    assert await opened(ama) != sheet
    types = "SELECT type FROM events WHERE type LIKE 'shift.%' ORDER BY seq"
    assert await api.shop.values(types) == ["shift.opened", "shift.closed", "shift.opened"]


async def test_a_cashier_sees_the_own_shifts_and_a_manager_closes_those_of_others(api: FakeApi) -> None:
    ama, kofi = await log_in(api, Role.CASHIER, "ama"), await log_in(api, Role.CASHIER, "kofi")
    manager, viewer = await log_in(api, Role.MANAGER), await log_in(api, Role.VIEWER)
    sheet = await opened(ama)
    assert (await kofi.get(sheet)).status_code == 404
    assert sheet not in (await kofi.get("/dash/shifts")).text
    assert (await kofi.post(f"{sheet}/close")).status_code == 404
    assert (await viewer.post(f"{sheet}/close")).status_code == 403
    assert (await viewer.get(sheet)).status_code == 200
    assert (await manager.post(f"{sheet}/close")).status_code == 303
    assert "closed by" in (await viewer.get(sheet)).text
    assert (await ama.get("/dash/shifts/x")).status_code == 404


async def test_the_shift_on_the_socket_is_the_callers_own(api: FakeApi) -> None:
    assert (await api.local.get("/local/v1/shifts/mine")).status_code == 404
    one = (await api.local.post("/local/v1/shifts", json={})).json()["data"]
    assert one["closed_at"] is None
    assert (await api.local.get("/local/v1/shifts/mine")).json()["data"]["id"] == one["id"]
    closed = (await api.local.post("/local/v1/shifts/mine/close", json={})).json()["data"]
    assert closed["id"] == one["id"]
    assert (await api.local.get(f"/local/v1/shifts?before={one['id']}")).json()["data"] == []
    assert (await api.local.get("/local/v1/shifts/x")).status_code == 404
