"""A cashier: what is masked and what is not, and the setting that keeps the shop's sums from the counter."""

from msgspec.structs import replace

from daemon.wire import Role
from tests.fakes.api import FakeApi
from tests.fakes.dash import log_in
from tests.fakes.orders import Orders

PAGES = ("/dash", "/dash/payments", "/dash/till", "/dash/transactions")


async def test_people_are_masked_and_neither_ids_nor_the_number_of_the_shop(api: FakeApi) -> None:
    orders = Orders(api.shop)
    order = await orders.make("waiting")
    telco_id = await orders.pay(order, reference="0209876543 rice")
    paid = (await api.shop.payments())[0]
    cashier, owner = await log_in(api, Role.CASHIER), await log_in(api, Role.OWNER)
    page = (await cashier.get(f"/dash/payments/{paid.id}")).text
    assert page.count(telco_id) >= 2, "beside the payment and in its SMS"
    assert "024 412 4567" in page, "the number of the shop"
    assert "0209876543" not in page
    assert "020 987 6543" not in page
    assert "024 412 4567" in (await cashier.get("/dash")).text
    assert "0209876543" in (await owner.get(f"/dash/payments/{paid.id}")).text


async def test_a_setting_keeps_the_day_and_the_wallet_from_the_counter(api: FakeApi) -> None:
    shop = api.shop
    await shop.begin_chain()
    order = await Orders(shop).make("paid")
    cashier, owner = await log_in(api, Role.CASHIER), await log_in(api, Role.OWNER)
    payment = f"/dash/payments/{order.payment_id}"
    assert 'class="sum"' in (await cashier.get("/dash")).text
    assert "Wallet after" in (await cashier.get(payment)).text
    config = shop.env.config
    shop.env.config = replace(config, access=replace(config.access, cashiers_see_sums=False))
    await Orders(shop).make("waiting")
    now = (await cashier.get("/dash")).text
    for hidden in ('class="sum"', "Last Saturday", "The last 7 days", "<svg viewBox"):
        assert hidden not in now, hidden
    page = (await cashier.get(payment)).text
    assert "Wallet after" not in page
    assert "Current Balance: GHS ***" in page
    assert " · GHS" not in (await cashier.get("/dash/payments")).text.partition("</h1>")[2][:200]
    for path in PAGES:
        assert (await cashier.get(path)).status_code == 200
    assert 'class="sum"' in (await owner.get("/dash")).text
    assert "Wallet after" in (await owner.get(payment)).text
