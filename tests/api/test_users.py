"""The users of the dashboard on the Unix socket, and the owner's second factor at the login of the API."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.wire import Role
from tests.fakes.api import FakeApi, running
from tests.fakes.dash import PASSWORD, log_in

USERS = "/local/v1/users"
NEW = {"name": "ama", "role": "cashier", "password": PASSWORD}


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[FakeApi]:
    async with running(tmp_path) as made:
        yield made


async def test_a_user_is_added_listed_changed_disabled_and_reset(api: FakeApi) -> None:
    added = (await api.local.post(USERS, json=NEW)).json()["data"]
    assert (added["name"], added["role"], added["second_factor"]) == ("ama", "cashier", False)
    listed = (await api.local.get(USERS)).json()["data"]
    assert [user["name"] for user in listed] == ["owner", "ama"]
    changed = await api.local.patch(f"{USERS}/ama", json={"role": "manager"})
    assert changed.json()["data"]["role"] == "manager"
    off = await api.local.patch(f"{USERS}/ama", json={"disabled": True})
    assert off.json()["data"]["disabled_at"] is not None
    again = await api.local.patch(f"{USERS}/ama", json={"disabled": False})
    assert again.json()["data"]["disabled_at"] is None
    reset = await api.local.post(f"{USERS}/ama/reset", json={"password": "another password"})
    assert reset.status_code == 200
    kinds = await api.shop.values("SELECT type FROM events WHERE type <> 'sim.found' ORDER BY seq")
    assert kinds == ["user.added", "user.role_changed", "user.disabled", "user.enabled", "password.changed"]


async def test_a_name_is_given_once(api: FakeApi) -> None:
    await api.local.post(USERS, json=NEW)
    answer = await api.local.post(USERS, json=NEW)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "USER_EXISTS")


@pytest.mark.parametrize("wrong", [{"name": "Ama B"}, {"role": "boss"}, {"role": "owner"}, {"password": "short"}])
async def test_a_user_needs_a_plain_name_a_role_and_a_password(api: FakeApi, wrong: dict[str, str]) -> None:
    assert (await api.local.post(USERS, json=NEW | wrong)).status_code == 422
    assert await api.shop.values("SELECT COUNT(*) FROM users") == [1]


@pytest.mark.parametrize("change", [{"role": "viewer"}, {"disabled": True}])
async def test_the_owner_stays_the_owner(api: FakeApi, change: dict[str, object]) -> None:
    assert (await api.local.patch(f"{USERS}/owner", json=change)).status_code == 422


async def test_an_unknown_user_is_not_found(api: FakeApi) -> None:
    for answer in (
        await api.local.patch(f"{USERS}/kofi", json={"role": "viewer"}),
        await api.local.patch(f"{USERS}/kofi", json={}),
        await api.local.post(f"{USERS}/kofi/reset", json={"second_factor": True}),
        await api.local.post("/local/v1/dashboard-link", json={"user": "kofi"}),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "USER_NOT_FOUND")


async def test_the_users_are_not_on_tcp(api: FakeApi) -> None:
    assert (await api.live.get(USERS)).status_code == 404


async def test_the_link_of_a_user_opens_the_dashboard(api: FakeApi) -> None:
    await api.local.post(USERS, json=NEW)
    answer = await api.local.post("/local/v1/dashboard-link", json={"user": "ama"})
    link = answer.json()["data"]["url"]
    assert answer.headers["cache-control"] == "no-store"
    visitor = await api.client()
    visitor.event_hooks = {}
    entered = await visitor.get(f"/dash{link.partition('/dash')[2]}")
    assert entered.headers["location"] == "/dash"
    assert "ama" in (await visitor.get("/dash")).text


async def test_a_login_without_the_second_factor_is_refused(api: FakeApi) -> None:
    person = await log_in(api, Role.OWNER)
    sealed = api.shop.env.vault.seal(b"JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", "totp-seed")
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE users SET totp_sealed = :sealed", {"sealed": sealed}))
    for body in ({"password": PASSWORD}, {"password": PASSWORD, "totp": "000000"}):
        answer = await person.api.live.post("/v1/auth/login", json=body)
        found = answer.status_code, answer.json()["error"]["code"]
        assert found == (403, "SECOND_FACTOR_REQUIRED")
