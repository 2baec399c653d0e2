"""The pages of lines and of unplaced payments: content and actions."""

import re
from html import unescape
from typing import Any

from daemon.core.lines.modem_health import ModemHealth
from daemon.loops.receiving import note_once
from daemon.store.engine import Tx
from daemon.wire import Role
from tests.dash.places import ENDPOINT
from tests.fakes import outbox
from tests.fakes.api import FakeApi
from tests.fakes.dash import PASSWORD, log_in
from tests.fakes.orders import Orders
from tests.fakes.receipts import mtn
from tests.fakes.shop import METHOD_ID

EVIL = "<b>box</b>"


def here(api: FakeApi) -> str:
    return f"/dash/lines/{api.shop.source.device_id}:0"


def plug_in(api: FakeApi, **changes: Any) -> None:
    values: dict[str, Any] = {
        "port": "/dev/ttyUSB0",
        "state": "ready",
        "device_id": api.shop.source.device_id,
        "health_at": api.shop.clock.now_us(),
        "signal": 17,
        "registration": "home",
        "receives": True,
        "network": "MTN",
        "used": 3,
        "total": 30,
    }
    api.phones[:] = [ModemHealth(**{**values, **changes})]


async def run(api: FakeApi, sql: str) -> None:
    def job(tx: Tx) -> None:
        tx.run(sql)

    await api.shop.env.store.write(job)


async def test_a_line_says_whether_it_receives_and_why_not(api: FakeApi) -> None:
    person = await log_in(api, Role.VIEWER)
    plug_in(api)
    page = (await person.get("/dash/lines")).text
    for words in ("ready", "3 of 4", "-79 dBm", "3 of 30"):
        assert words in page
    plug_in(api, registration="denied", receives=False)
    page = (await person.get(here(api))).text
    assert "not receiving" in page
    assert "ask the network whether it is blocked" in page
    api.phones.clear()
    await run(api, "UPDATE devices SET present = 0")
    assert "its modem is not connected" in (await person.get("/dash/lines")).text


async def test_a_modem_is_named_and_markup_in_its_name_is_only_text(api: FakeApi) -> None:
    person = await log_in(api, Role.MANAGER)
    path = f"{here(api)}/name"
    assert (await person.post(path, {"name": "a/b"})).status_code == 422
    assert (await person.post(path, {"name": "x\u202ey"})).status_code == 422
    assert (await person.post(path, {"name": "<b>box<b>"})).status_code == 303
    page = (await person.get("/dash/lines")).text
    assert "<b>box" not in page
    assert "&lt;b&gt;box" in page


async def test_a_number_is_taken_off_assigned_again_and_the_sim_set_aside(api: FakeApi) -> None:
    person = await log_in(api, Role.MANAGER)
    refused = await person.post(f"{here(api)}/ignore", {"ignored": "yes"})
    assert refused.status_code == 422
    await person.post(f"{here(api)}/clear")
    assert await api.shop.values("SELECT sim_seq FROM payment_methods") == [None]
    form = {"provider": "momo_mtn", "phone_number": "+4412", "account_name": "Ama"}
    assert (await person.post(f"{here(api)}/assign", form)).status_code == 422
    # The number is registered: it is moved. A new one is registered.
    form["phone_number"] = "0244124567"
    assert (await person.post(f"{here(api)}/assign", form)).status_code == 303
    assert await api.shop.values("SELECT id, sim_seq IS NULL FROM payment_methods") == [(METHOD_ID, 0)]
    await person.post(f"{here(api)}/clear")
    form["phone_number"] = "0244124999"
    assert (await person.post(f"{here(api)}/assign", form)).status_code == 303
    assert len(await api.shop.values("SELECT id FROM payment_methods")) == 2
    await person.post(f"{here(api)}/clear")
    assert (await person.post(f"{here(api)}/ignore", {"ignored": "yes"})).status_code == 303
    assert "set aside" in (await person.get("/dash/lines")).text
    assert (await person.post(f"{here(api)}/ignore", {"ignored": "no"})).status_code == 303
    actors = await api.shop.values("SELECT DISTINCT actor FROM events WHERE type LIKE 'sim.%ed'")
    assert actors == ["user:manager"]


async def test_a_pin_is_stored_once_and_never_shown(api: FakeApi) -> None:
    person = await log_in(api, Role.MANAGER)
    bad = await person.post(f"{here(api)}/pin", {"pin": "12a4"})
    assert bad.status_code == 422
    assert "12a4" not in bad.text
    done = await person.post(f"{here(api)}/pin", {"pin": "7391"})
    assert done.status_code == 303
    assert "7391" not in (await person.get(done.headers["location"])).text
    [sealed] = await api.shop.values("SELECT sealed FROM sim_pins")
    assert "7391" not in str(sealed)


async def test_the_modem_is_asked_and_a_test_sms_is_queued(api: FakeApi) -> None:
    person = await log_in(api, Role.MANAGER)
    asked = await person.post(f"{here(api)}/test")
    assert "said_line_silent" in asked.headers["location"]
    plug_in(api)
    asked = await person.post(f"{here(api)}/test")
    assert "said_line_answers" in asked.headers["location"]
    sent = await person.post(f"{here(api)}/text", {"number": "0201234567"})
    page = (await person.get(sent.headers["location"])).text
    assert "Test SMS to 020 123 4567" in page
    assert await api.shop.values("SELECT COUNT(*) FROM sms_outbox") == [1]


async def test_unplaced_payments_are_counted_first_then_claimed_and_lead_to_the_replay(api: FakeApi) -> None:
    await api.shop.begin_chain()
    orders = Orders(api.shop)
    for _ in range(2):
        await orders.make("paid")
    await run(api, "UPDATE payments SET payment_method_seq = NULL")
    viewer, person = await log_in(api, Role.VIEWER), await log_in(api, Role.MANAGER)
    page = (await viewer.get("/dash/unplaced")).text
    assert "GHS\xa050.00" in page
    assert "in 2 payments" in page
    assert "Claim" not in page
    assert f"/dash/unplaced/{METHOD_ID}" in (await person.get("/dash/unplaced")).text
    count = (await person.get(f"/dash/unplaced/{METHOD_ID}")).text
    assert "Claim 2 payments" in count
    token = person.form_token(f"/dash/unplaced/{METHOD_ID}/claim")
    path = f"/dash/unplaced/{METHOD_ID}/claim"
    twice = [await person.post(path, form_token_=token) for _ in range(2)]
    assert len({answer.headers["location"] for answer in twice}) == 1
    page = (await person.get(twice[0].headers["location"])).text
    assert "Every payment has its number" in page
    (replay,) = re.findall(r'href="(/dash/replay\?from=[^"]+)"', page)
    await outbox.add_endpoint(api.shop, ENDPOINT)
    window = unescape(replay) + f"&endpoint={ENDPOINT}"
    assert "Send 2 payments" in (await person.get(window)).text
    claimed = await api.shop.values("SELECT COUNT(*) FROM events WHERE type LIKE '%.claimed'")
    assert claimed == [1]


async def test_a_sim_that_is_not_there_is_a_page_in_plain_words(api: FakeApi) -> None:
    person = await log_in(api, Role.OWNER)
    for path in ("/dash/lines/nothing", "/dash/unplaced/nothing"):
        answer = await person.get(path)
        assert answer.status_code == 404
        assert "<h1" in answer.text


async def test_the_signal_of_the_last_day_is_a_picture_with_its_table(api: FakeApi) -> None:
    person = await log_in(api, Role.VIEWER)
    plug_in(api)
    assert "No signal was measured yet" in (await person.get(here(api))).text
    for signal in (17, 2):
        plug_in(api, signal=signal)
        note_once(api.shop.env, api.phones)
    api.shop.clock.advance(3600)
    plug_in(api, signal=31)
    note_once(api.shop.env, api.phones)
    page = (await person.get(here(api))).text
    assert "-109 to -79 dBm, at least 1 of 4" in page
    assert "-51 to -51 dBm" in page
    assert page.count("not measured") == 3 * 22  # the picture, its text and the table
    device = api.shop.source.device_id
    found = (await api.local.get(f"/local/v1/modems/{device}")).json()["data"]["signal_hours"]
    assert [hour["lowest_dbm"] for hour in found] == [-109, -51]
    # A simulated phone is no line.
    plug_in(api, simulated=True, device_id="sim", signal=3)
    note_once(api.shop.env, api.phones)
    assert api.shop.env.signals.hours("sim", api.shop.clock.now_us())[-1].lowest is None


async def break_chain(api: FakeApi) -> None:
    """Believe GHS 900.00, and read a receipt of GHS 25.00 that leads to GHS 725.00."""
    api.shop.limit(0)
    await api.shop.begin_chain(90_000)
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 72_500, "food", "93214500001"))


async def test_what_the_wallet_shows_settles_the_line_and_says_what_it_means(api: FakeApi) -> None:
    await break_chain(api)
    person = await log_in(api, Role.MANAGER)
    form = {"balance": "725", "confirm_password": PASSWORD}
    done = await person.post(f"{here(api)}/wallet", form)
    page = unescape(done.text)
    assert done.status_code == 200
    assert "The wallet shows GHS 725.00: the messages that lead to it are believed" in page
    assert "GHS 25.00 (93214500001) pays now." in page
    assert await api.shop.values("SELECT amount_minor FROM payments") == [2500]
    actors = await api.shop.values("SELECT actor FROM events WHERE type = 'wallet.proved'")
    assert actors == ["user:manager"]


async def test_a_balance_that_nothing_leads_to_counts_after_a_yes_to_it_only(api: FakeApi) -> None:
    await break_chain(api)
    person = await log_in(api, Role.OWNER)
    proved = "SELECT json_extract(data, '$.balance_minor') FROM events WHERE type = 'wallet.proved'"
    asked = await person.post(f"{here(api)}/wallet", {"balance": "500", "confirm_password": PASSWORD})
    page = unescape(asked.text)
    assert asked.status_code == 422
    assert "Nothing that came by SMS leads to GHS 500.00" in page
    assert 'name="answer" value="untold"' in page
    assert 'name="asked" value="500"' in page
    assert 'name="confirm_password"' not in page, "the password was typed just now"
    # The yes was about another balance.
    other = {"balance": "50", "asked": "500", "answer": "untold"}
    asked = await person.post(f"{here(api)}/wallet", other)
    assert asked.status_code == 422
    assert "leads to GHS 50.00" in unescape(asked.text)
    assert await api.shop.values(proved) == []
    yes = {"balance": "500", "asked": "500", "answer": "untold"}
    done = await person.post(f"{here(api)}/wallet", yes)
    assert done.status_code == 200
    assert "GHS 400.00 is booked as money that no message tells of" in unescape(done.text)
    assert await api.shop.values(proved) == [50_000]


async def test_a_wrong_balance_or_password_settles_nothing(api: FakeApi) -> None:
    await break_chain(api)
    person = await log_in(api, Role.OWNER)
    refused = await person.post(f"{here(api)}/wallet", {"balance": "725"})
    assert refused.status_code == 422
    assert 'aria-describedby="h-confirm_password"' in refused.text
    form = {"balance": "seven", "confirm_password": PASSWORD}
    refused = await person.post(f"{here(api)}/wallet", form)
    assert refused.status_code == 422
    assert "takes an amount, such as 214.56" in refused.text
    assert 'value="seven"' in refused.text
    assert await api.shop.values("SELECT seq FROM events WHERE type = 'wallet.proved'") == []


async def test_who_may_settle_a_line_in_doubt_is_led_to_its_form(api: FakeApi) -> None:
    await break_chain(api)
    [review] = await api.shop.values("SELECT id FROM reviews")
    link, pages = f'href="{here(api)}#wallet"', ("/dash", f"/dash/review/{review}")
    manager, cashier = await log_in(api, Role.MANAGER), await log_in(api, Role.CASHIER)
    for path in pages:
        assert link in (await manager.get(path)).text, path
        assert link not in (await cashier.get(path)).text, path
    assert 'id="wallet"' in (await manager.get(here(api))).text
    form = {"balance": "725", "confirm_password": PASSWORD}
    assert (await cashier.post(f"{here(api)}/wallet", form)).status_code == 403
    assert await api.shop.values("SELECT seq FROM events WHERE type = 'wallet.proved'") == []
    await manager.post(f"{here(api)}/wallet", form)
    for path in pages:
        assert link not in (await manager.get(path)).text, path


async def test_the_day_sheet_of_a_wallet_that_differs_leads_to_its_form(api: FakeApi) -> None:
    await break_chain(api)
    manager = await log_in(api, Role.MANAGER)
    await manager.post(f"{here(api)}/wallet", {"balance": "725", "confirm_password": PASSWORD})
    await api.shop.read(mtn(500, "KOFI ANTWI BADU", 73_000, "food", "93214500002"))
    link = f'href="{here(api)}#wallet"'
    assert link in (await manager.get("/dash/day")).text
    assert link not in (await (await log_in(api, Role.VIEWER)).get("/dash/day")).text
