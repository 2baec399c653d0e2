"""Transactions in the dashboard: open ones first; match, cancel, replace and send again, by role."""

from html import unescape

import pytest
from msgspec.structs import replace

from daemon.core.payments.payer_texts import TextKind
from daemon.dash.parts import listing
from daemon.runtime.config import Access
from daemon.wire import Role
from tests.fakes.api import FakeApi
from tests.fakes.dash import log_in
from tests.fakes.orders import Orders
from tests.fakes.outbox import add_endpoint


async def test_open_orders_stand_above_the_ended_ones(api: FakeApi) -> None:
    person, orders = await log_in(api, Role.CASHIER), Orders(api.shop)
    first = await orders.make("waiting", customer_name="Open Owusu")
    await orders.make("paid", customer_name="Paid Poku")
    text = (await person.get("/dash/transactions")).text
    assert text.index("Open Owusu") < text.index("Paid Poku")
    assert text.count("Open Owusu") == 1
    assert "expires in 24 hours" in text
    only = (await person.get("/dash/transactions?state=paid")).text
    assert "Open Owusu" not in only
    found = (await person.get(f"/dash/transactions?search={first.svc_code}")).text
    assert "Open Owusu" in found
    assert "Paid Poku" not in found


@pytest.mark.parametrize("path", ["/dash/transactions?", "/dash/day?group=payer&"])
async def test_a_file_that_would_be_cut_off_is_refused(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    orders = Orders(api.shop)
    for _ in range(3):
        await orders.make("paid")
    others = "UPDATE payments SET payer_phone = '+23320000000' || seq"
    await api.shop.env.store.write(lambda tx: tx.run(others))
    person = await log_in(api, Role.OWNER)
    monkeypatch.setattr(listing, "CSV_ROWS_MAX", 2)
    refused = await person.get(f"{path}as=csv")
    assert refused.status_code == 422
    assert "A file has at most 2 rows" in refused.text
    assert await api.shop.values("SELECT COUNT(*) FROM events WHERE type LIKE '%export%'") == [0]
    monkeypatch.setattr(listing, "CSV_ROWS_MAX", 3)
    assert len((await person.get(f"{path}as=csv")).text.splitlines()) == 4


async def test_a_cashier_sees_no_address_with_a_token(api: FakeApi) -> None:
    await add_endpoint(api.shop, url="https://shop.example?token=SECRET", catch_all=True)
    order = await Orders(api.shop).make("paid")
    person = await log_in(api, Role.CASHIER)
    page = (await person.get(f"/dash/payments/{order.payment_id}")).text
    assert "shop.example" in page
    assert "SECRET" not in page


async def test_what_happened_names_the_caller_in_words(api: FakeApi) -> None:
    order = await Orders(api.shop).make("paid")
    for caller, name in ((api.local, "the shop's computer"), (api.live, "a program")):
        body = {"amount": "5.00", "phone_number": "0244765432"}
        made = (await caller.post("/v1/transactions/initialize", json=body)).json()["data"]
        person = await log_in(api, Role.OWNER)
        page = unescape((await person.get(f"/dash/transactions/{made['reference']}")).text)
        assert f"· {name}</span>" in page
    page = (await person.get(f"/dash/payments/{order.payment_id}")).text
    assert "socket:" not in page


async def test_a_list_goes_on_page_after_page(api: FakeApi) -> None:
    person, orders = await log_in(api, Role.CASHIER), Orders(api.shop)
    made = [await orders.make("cancelled", customer_name=f"Nr {n:02}") for n in range(53)]
    text = (await person.get("/dash/transactions")).text
    assert text.count("Nr ") == 50
    after = f"/dash/transactions?after={made[3].reference}"
    assert after in text
    rest = (await person.get(after)).text
    assert [f"Nr {n:02}" in rest for n in range(4)] == [True, True, True, False]


async def test_a_cashier_sees_masked_numbers_and_gets_no_file(api: FakeApi) -> None:
    order = await Orders(api.shop).make("waiting", customer_name=None)
    cashier, viewer = await log_in(api, Role.CASHIER), await log_in(api, Role.VIEWER)
    for path in ("/dash/transactions", f"/dash/transactions/{order.reference}"):
        assert "024 123 4567" in (await viewer.get(path)).text
        masked = (await cashier.get(path)).text
        assert "024 *** 4567" in masked
        assert "1234567" not in masked.replace(" ", "")
    assert (await cashier.get("/dash/transactions?as=csv")).status_code == 403
    table = await viewer.get("/dash/transactions?as=csv")
    assert order.reference in table.text
    assert "Match a payment" not in (await viewer.get(f"/dash/transactions/{order.reference}")).text


async def test_an_id_of_no_form_and_one_without_its_zeros_are_told_apart_from_one_not_arrived(api: FakeApi) -> None:
    person, orders = await log_in(api, Role.CASHIER), Orders(api.shop)
    order = await orders.make("waiting")
    path = f"/dash/transactions/{order.reference}/reconcile"
    whole = await orders.pay(order, reference="rent")
    await api.shop.env.store.write(
        lambda tx: tx.run(
            "UPDATE payments SET telco_transaction_id = ?, telco_id_as_read = ?", (f"00{whole}", f"00{whole}")
        )
    )
    for typed, said in (
        ("9.3E+10", "No network has transaction IDs of this form."),
        (whole, f"00{whole} has arrived: only the zeros in front differ."),
        ("40499999999", "No payment with this ID has arrived."),
    ):
        answer = await person.post(path, {"transaction_id": typed})
        assert (answer.status_code, said in answer.text) == (422, True), typed
    done = await person.post(path, {"transaction_id": f"Transaction ID: 00{whole}."})
    assert "said_reconciled" in done.headers["location"]


async def test_a_payment_is_matched_from_its_own_page_by_the_code(api: FakeApi) -> None:
    person, orders = await log_in(api, Role.CASHIER), Orders(api.shop)
    order, other = await orders.make("waiting"), await orders.make("paid")
    await orders.pay(order, reference="rent")
    payment = (await api.shop.values("SELECT id FROM payments ORDER BY seq DESC LIMIT 1"))[0]
    path = f"/dash/payments/{payment}/reconcile"
    for typed, said in (
        ("", "There is no order with this reference."),
        ("ZZZZZZ", "There is no order with this reference."),
        (other.svc_code, "This order is paid already."),
    ):
        answer = await person.post(path, {"order": typed})
        assert (answer.status_code, said in answer.text) == (422, True), typed
    assert order.svc_code is not None
    code = order.svc_code.lower()
    answer = await person.post(path, {"order": f"\u202a{code[:3]}\u2013{code[3:]}\u202c"})
    assert answer.headers["location"] == f"/dash/payments/{payment}?said=said_reconciled"
    paid = await api.shop.transaction(order.reference)
    assert (paid.status, paid.payment_id) == ("SUCCESS", payment)
    actor = "SELECT actor FROM events WHERE type = 'transaction.reconciled'"
    assert await api.shop.values(actor) == ["user:cashier"]
    assert "Match with an order" not in (await person.get(f"/dash/payments/{payment}")).text


async def test_a_suggested_order_is_matched_with_one_button(api: FakeApi) -> None:
    person, orders = await log_in(api, Role.CASHIER), Orders(api.shop)
    order = await orders.make("waiting")
    assert order.svc_code is not None
    last = "2" if order.svc_code[-1] != "2" else "3"
    await orders.pay(order, reference=f"{order.svc_code[:-1]}{last}")
    payment = (await api.shop.values("SELECT id FROM payments"))[0]
    page = (await person.get(f"/dash/payments/{payment}")).text
    assert f'name="order" value="{order.reference}"' in page
    await person.post(f"/dash/payments/{payment}/reconcile", {"order": order.reference})
    assert (await api.shop.transaction(order.reference)).status == "SUCCESS"


async def test_an_order_is_cancelled_with_a_reason(api: FakeApi) -> None:
    person, orders = await log_in(api, Role.CASHIER), Orders(api.shop)
    order, paid = await orders.make("waiting"), await orders.make("paid")
    path = f"/dash/transactions/{order.reference}"
    await person.post(f"{path}/cancel", {"reason": "ordered twice"})
    assert "Cancelled: ordered twice" in (await person.get(path)).text
    answer = await person.post(f"/dash/transactions/{paid.reference}/cancel")
    assert (answer.status_code, "It cannot be cancelled" in answer.text) == (422, True)


async def test_a_short_order_is_settled_by_its_rest_and_by_a_manager_by_hand(api: FakeApi) -> None:
    cashier, orders = await log_in(api, Role.CASHIER), Orders(api.shop)
    order = await orders.make("short")
    path = f"/dash/transactions/{order.reference}"
    page = (await cashier.get(path)).text
    assert "The rest has come" in page
    assert "Waive the rest" not in page
    answer = await cashier.post(f"{path}/settle", {"kind": "waived"})
    assert answer.status_code == 403
    answer = await cashier.post(f"{path}/settle", {"kind": "rest_received", "payment": "93219999999"})
    assert (answer.status_code, 'name="payment" type="text" value="93219999999"' in answer.text) == (422, True)
    rest = await orders.pay(order, reference="the rest")
    await cashier.post(f"{path}/settle", {"kind": "rest_received", "payment": rest})
    page = (await cashier.get(path)).text
    assert "The rest came" in page
    assert "Take this back" not in page

    manager = await log_in(api, Role.MANAGER)
    await manager.post(f"{path}/unsettle")
    page = (await manager.get(path)).text
    assert "Waive the rest" in page
    await manager.post(f"{path}/settle", {"kind": "waived"})
    config = api.shop.env.config
    api.shop.env.config = replace(config, access=Access(cashiers_settle=True))
    assert "Take this back" not in (await cashier.get(path)).text
    api.shop.env.config = config
    assert "What is missing was waived" in (await manager.get(path)).text
    answer = await manager.post(f"{path}/settle", {"kind": "waived"})
    assert (answer.status_code, "It cannot be settled" in answer.text) == (422, True)


async def test_an_order_is_replaced_once_by_one_with_the_same_customer(api: FakeApi) -> None:
    person, orders = await log_in(api, Role.CASHIER), Orders(api.shop)
    old = await orders.make("waiting", client_reference="INV-1", meta='{"table":4}')
    api.shop.clock.advance(11 * 3600)
    path = f"/dash/transactions/{old.reference}/renew"
    token = person.form_token(path)
    answers = [await person.post(path, form_token_=token) for _ in range(2)]
    assert len({answer.headers["location"] for answer in answers}) == 1
    reference = answers[0].headers["location"].split("?")[0].rsplit("/", 1)[1]
    new = await api.shop.transaction(reference)
    same = ["expected_minor", "phone_number", "customer_name", "description", "client_reference", "meta"]
    assert [getattr(new, name) for name in same] == [getattr(old, name) for name in same]
    assert new.svc_code != old.svc_code
    assert (await api.shop.transaction(old.reference)).status == "CANCELLED"
    assert await api.shop.values("SELECT COUNT(*) FROM transactions") == [2]


async def test_a_paid_order_is_not_replaced_and_nothing_is_made(api: FakeApi) -> None:
    person = await log_in(api, Role.CASHIER)
    paid = await Orders(api.shop).make("paid")
    answer = await person.post(f"/dash/transactions/{paid.reference}/renew")
    assert (answer.status_code, "It cannot be replaced" in answer.text) == (422, True)
    assert await api.shop.values("SELECT COUNT(*) FROM transactions") == [1]


async def test_the_code_is_sent_again_once(api: FakeApi) -> None:
    person, orders = await log_in(api, Role.CASHIER), Orders(api.shop)
    order = await orders.make("waiting")
    path = f"/dash/transactions/{order.reference}"
    answer = await person.post(f"{path}/send")
    assert answer.headers["location"] == f"{path}?said=said_again_queued"
    kinds = "SELECT kind FROM sms_outbox ORDER BY seq"
    assert await api.shop.values(kinds) == [TextKind.CODE, TextKind.CODE_AGAIN]
    bodies = await api.shop.values("SELECT DISTINCT body FROM sms_outbox")
    assert len(bodies) == 1
    assert "The second SMS with the payment code is queued." in (await person.get(path)).text
    answer = await person.post(f"{path}/send")
    assert (answer.status_code, "a second time already" in answer.text) == (422, True)
    paid = await orders.make("paid")
    answer = await person.post(f"/dash/transactions/{paid.reference}/send")
    assert "no longer waits" in answer.text
    env = api.shop.env
    env.config = replace(env.config, transactions=replace(env.config.transactions, code_sms_at="never"))
    other = await orders.make("waiting")
    answer = await person.post(f"/dash/transactions/{other.reference}/send")
    assert "The settings send no SMS" in answer.text
    assert await api.shop.values("SELECT COUNT(*) FROM sms_outbox WHERE kind = 'code_again'") == [1]
