"""The first run: a shop made for the browser has no password until its owner chooses one, and each step shows its state."""

from pathlib import Path
from urllib.parse import urlsplit

from daemon.core.model import User
from daemon.flows.access import browser
from daemon.flows.upkeep.setup import SetupRequest, set_up
from daemon.store.access import users
from daemon.wire import Role
from tests.fakes.api import OWNER_ID, FakeApi
from tests.fakes.dash import PASSWORD, Person, log_in
from tests.fakes.orders import Orders
from tests.fakes.shop import FakeShop

SHOP = {"shop": "Kofi's Phones", "password": PASSWORD, "again": PASSWORD}


async def without_password(api: FakeApi) -> Person:
    """Log the owner in, as after `momo open` on a new machine."""
    person = await log_in(api, Role.OWNER)
    await api.shop.env.store.write(
        lambda tx: tx.run("UPDATE users SET password_hash = '' WHERE id = :id", {"id": OWNER_ID})
    )
    return person


def path_in(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}"


async def owner(api: FakeApi) -> User:
    found = await api.shop.env.store.read(users.owner)
    assert found is not None
    return found


async def test_a_shop_made_for_the_browser_has_a_name_for_now_and_no_password(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    env = shop.env
    done = await set_up(env.store, env.clock, env.entropy, env.vault, SetupRequest(in_browser=True))
    steps = {step["id"]: (step["status"], step["fix"]) for step in done["steps"]}
    assert steps["shop"] == ("done", None)
    assert steps["password"] == ("needs_action", "momo open")
    assert done["api_key"] is done["webhook_secret"] is None
    # Keys and secrets are made where somebody sees them.
    later = await set_up(env.store, env.clock, env.entropy, env.vault, SetupRequest())
    assert later["api_key"] is not None
    shop.close()


async def test_the_owner_names_the_shop_and_chooses_the_password_once(api: FakeApi) -> None:
    person = await without_password(api)
    shown = (await person.get("/dash/first")).text
    assert 'name="password"' in shown
    answer = await person.post("/dash/first/shop", SHOP)
    assert (answer.status_code, answer.headers["location"]) == (303, "/dash/first?said=said_first_shop")
    # The same browser stays logged in, and the new password lets the owner in.
    page = (await person.get("/dash/first")).text
    assert "Kofi&#39;s Phones" in page
    assert 'name="password"' not in page
    assert (await browser.check_password(api.shop.env, "127.0.0.1", "owner", PASSWORD)).id == OWNER_ID
    # Later it is changed with the present one only.
    again = await person.post("/dash/first/shop", {**SHOP, "shop": "Taken", "password": "x" * 12, "again": "x" * 12})
    assert again.headers["location"] == "/dash/first?said=said_first_before"
    assert await api.shop.values("SELECT name FROM shop") == ["Kofi's Phones"]


async def test_wrong_fields_are_named_and_nothing_is_stored(api: FakeApi) -> None:
    person = await without_password(api)
    for wrong, words in (
        ({"again": "another password"}, "The two passwords differ."),
        ({"password": "short", "again": "short"}, "10 characters or more."),
        ({"shop": "  "}, "Give a name of 1 to 100 characters."),
    ):
        answer = await person.post("/dash/first/shop", {**SHOP, **wrong})
        assert answer.status_code == 422
        assert words in answer.text
    assert not (await owner(api)).has_password


async def test_without_a_password_no_password_fits(api: FakeApi) -> None:
    await without_password(api)
    for typed in ("", "!", PASSWORD):
        answer = await api.live.post("/v1/auth/login", json={"password": typed})
        assert answer.status_code in (403, 422)


async def test_the_amount_of_the_test_payment_is_shown_until_it_has_come(api: FakeApi) -> None:
    person = await log_in(api, Role.OWNER)
    sim = f"{api.shop.source.device_id}:0"
    answer = await person.post(f"/dash/lines/{sim}/test-payment", {"back": "first"})
    assert answer.headers["location"] == "/dash/first?said=said_test_payment"
    [amount] = await api.shop.values("SELECT amount_minor FROM test_payments")
    shown = f"GHS\xa0{amount // 100}.{amount % 100:02}"
    assert shown in (await person.get("/dash/first")).text
    assert shown in (await person.get(f"/dash/lines/{sim}")).text
    viewer = await log_in(api, Role.VIEWER)
    refused = await viewer.post(f"/dash/lines/{sim}/test-payment")
    assert refused.status_code == 403


async def test_a_link_leads_to_the_first_run_until_a_payment_was_seen(api: FakeApi) -> None:
    reply = await api.local.post("/local/v1/dashboard-link", json={})
    fresh = await api.client()
    fresh.event_hooks = {}
    answer = await fresh.get(path_in(reply.json()["data"]["url"]))
    assert answer.headers["location"] == "/dash/first"
    person = await log_in(api, Role.OWNER)
    assert "/dash/first" in (await person.get("/dash")).text
    await Orders(api.shop).make("paid")
    assert "The first payment has been seen" in (await person.get("/dash/first")).text
    assert "/dash/first" not in (await person.get("/dash")).text
    reply = await api.local.post("/local/v1/dashboard-link", json={})
    answer = await fresh.get(path_in(reply.json()["data"]["url"]))
    assert answer.headers["location"] == "/dash"
