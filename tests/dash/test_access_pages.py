"""Users and API keys in the browser: secrets shown once, the password before a change, and sessions that end at once."""

import asyncio
import re

from daemon.wire import Role
from tests.fakes.api import FakeApi
from tests.fakes.dash import PASSWORD, Person, log_in

_ONCE = re.compile(r'class="once"><code>([^<]+)</code>')


async def add(owner: Person, **form: str) -> str:
    """Add ama without a password and return the page."""
    fields = {"name": "ama", "role": "cashier", "confirm_password": PASSWORD, **form}
    answer = await owner.post("/dash/users", fields)
    assert answer.status_code == 200
    return answer.text


async def test_a_made_password_is_shown_once_and_logs_the_user_in(api: FakeApi) -> None:
    owner = await log_in(api, Role.OWNER)
    token = owner.form_token("/dash/users")
    form = {"name": "ama", "role": "cashier", "password": "", "confirm_password": PASSWORD}
    first = await owner.post("/dash/users", form, form_token_=token)
    (password,) = _ONCE.findall(first.text)
    again = await owner.post("/dash/users", form, form_token_=token)
    assert again.status_code == 409
    assert password not in again.text
    assert password not in (await owner.get("/dash/users/ama")).text
    door = await api.client()
    door.event_hooks = {}
    page = await door.get("/dash/login")
    (field,) = re.findall(r'name="form_token" value="([0-9a-f.]+)"', page.text)
    answer = await door.post(
        "/dash/login",
        data={"name": "ama", "password": password, "form_token": field, "to": ""},
        headers={"Origin": api.base_url},
    )
    assert answer.headers["location"] == "/dash"


async def test_nothing_is_changed_without_the_own_password(api: FakeApi) -> None:
    owner = await log_in(api, Role.OWNER)
    await log_in(api, Role.CASHIER, "ama")
    for form in ({}, {"confirm_password": "wrong wrong"}):
        answer = await owner.post("/dash/users", {"name": "kofi", "role": "viewer", **form})
        assert answer.status_code == 422
        answer = await owner.post("/dash/users/ama", {"what": "disable", **form})
        assert answer.status_code == 422
    assert "kofi" not in (await owner.get("/dash/users")).text
    assert await api.shop.values("SELECT COUNT(disabled_at) FROM users") == [0]


async def test_a_user_is_added_once_by_a_double_click(api: FakeApi) -> None:
    owner = await log_in(api, Role.OWNER)
    token = owner.form_token("/dash/users")
    form = {"name": "ama", "role": "cashier", "password": PASSWORD, "confirm_password": PASSWORD}
    answers = await asyncio.gather(*(owner.post("/dash/users", form, form_token_=token) for _ in range(2)))
    assert [answer.status_code for answer in answers] == [303, 303]
    assert await api.shop.values("SELECT COUNT(*) FROM users WHERE name = 'ama'") == [1]


async def test_a_disabled_user_is_out_at_once_and_may_come_back(api: FakeApi) -> None:
    owner, ama = await log_in(api, Role.OWNER), await log_in(api, Role.CASHIER, "ama")
    form = {"what": "disable", "confirm_password": PASSWORD}
    answer = await owner.post("/dash/users/ama", form)
    assert answer.headers["location"] == "/dash/users/ama?said=said_user_disabled"
    assert (await ama.get("/dash")).headers["location"] == "/dash/login"
    late = await ama.post("/dash/account/language", {"language": "fr"})
    assert late.headers["location"] == "/dash/login?to=%2Fdash%2Faccount&said=said_session_over"
    assert (await owner.post("/dash/users/ama", {"what": "enable"})).status_code == 303
    assert await api.shop.values("SELECT COUNT(disabled_at) FROM users") == [0]


async def test_the_owner_ends_one_session_and_the_other_stays(api: FakeApi) -> None:
    owner, ama = await log_in(api, Role.OWNER), await log_in(api, Role.CASHIER, "ama")
    kofi = await log_in(api, Role.VIEWER, "kofi")
    (session,) = await api.shop.values(
        "SELECT s.id FROM browser_sessions s JOIN users u ON u.id = s.user_id WHERE u.name = 'ama'"
    )
    other = await owner.post("/dash/users/kofi/sessions/end", {"session": session})
    assert other.headers["location"].endswith("said_session_not_open"), "it is not one of kofi's"
    ended = await owner.post("/dash/users/ama/sessions/end", {"session": session})
    assert ended.headers["location"].endswith("said_session_ended")
    assert (await ama.get("/dash")).headers["location"] == "/dash/login"
    assert (await kofi.get("/dash")).status_code == 200


async def test_nobody_ends_the_session_of_another_user_as_his_own(api: FakeApi) -> None:
    await log_in(api, Role.OWNER)
    (session,) = await api.shop.values("SELECT id FROM browser_sessions")
    ama = await log_in(api, Role.CASHIER, "ama")
    answer = await ama.post(f"/dash/account/sessions/{session}/end")
    assert answer.status_code == 404
    assert session in await api.shop.values("SELECT id FROM browser_sessions")


async def test_nobody_becomes_an_owner_and_the_owner_stays(api: FakeApi) -> None:
    owner = await log_in(api, Role.OWNER)
    await log_in(api, Role.CASHIER, "ama")
    made = {"role": "owner", "confirm_password": PASSWORD}
    assert (await owner.post("/dash/users", {"name": "kofi", **made})).status_code == 422
    for name, what in (("ama", "role"), ("owner", "role"), ("owner", "disable")):
        answer = await owner.post(f"/dash/users/{name}", {"what": what, **made})
        assert answer.status_code == 422, (name, what)
    roles = await api.shop.values("SELECT role FROM users ORDER BY seq")
    assert roles == ["owner", "cashier"]


async def test_a_wrong_name_is_told_at_its_field(api: FakeApi) -> None:
    owner = await log_in(api, Role.OWNER)
    form = {"name": "<b>Ama", "role": "cashier", "confirm_password": PASSWORD}
    answer = await owner.post("/dash/users", form)
    assert answer.status_code == 422
    assert 'aria-invalid="true"' in answer.text
    assert "&lt;b&gt;" in answer.text
    assert (await owner.post("/dash/users", {**form, "name": "owner"})).status_code == 422
    assert await add(owner, name="kofi")


KEY = {"name": "web shop", "mode": "live", "kind": "secret", "days": "", "overlap": "0"}


async def test_a_new_key_is_shown_once_and_works(api: FakeApi) -> None:
    owner = await log_in(api, Role.OWNER)
    form = {**KEY, "scope transactions:read": "on", "confirm_password": PASSWORD}
    token = owner.form_token("/dash/keys")
    first = await owner.post("/dash/keys", form, form_token_=token)
    (key,) = _ONCE.findall(first.text)
    client = await api.client(key)
    assert (await client.get("/v1/transactions")).status_code == 200
    assert (await client.get("/v1/webhooks/dead-letters")).status_code == 403
    again = await owner.post("/dash/keys", form, form_token_=token)
    assert again.status_code == 409
    shown = await owner.get("/dash/keys")
    assert key not in again.text + shown.text
    assert key[-4:] in shown.text
    assert await api.shop.values("SELECT COUNT(*) FROM api_keys WHERE name = 'web shop'") == [1]


async def test_a_rotated_key_ends_and_a_revoked_one_too(api: FakeApi) -> None:
    owner = await log_in(api, Role.OWNER)
    form = {**KEY, "scope transactions:read": "on", "confirm_password": PASSWORD}
    (old,) = _ONCE.findall((await owner.post("/dash/keys", form)).text)
    (place,) = await api.shop.values("SELECT id FROM api_keys WHERE name = 'web shop'")
    answer = await owner.post(f"/dash/keys/{place}", {"what": "rotate", "overlap": "0"})
    (new,) = _ONCE.findall(answer.text)
    assert (await (await api.client(old)).get("/v1/transactions")).status_code == 401
    assert (await (await api.client(new)).get("/v1/transactions")).status_code == 200
    assert (await owner.post(f"/dash/keys/{place}", {"what": "rotate", "overlap": "0"})).status_code == 404
    (later,) = await api.shop.values("SELECT id FROM api_keys WHERE name = 'web shop' AND revoked_at IS NULL")
    assert (await owner.post(f"/dash/keys/{later}", {"what": "revoke"})).status_code == 303
    assert (await (await api.client(new)).get("/v1/transactions")).status_code == 401


async def test_a_key_needs_the_own_password_a_name_and_a_right(api: FakeApi) -> None:
    owner = await log_in(api, Role.OWNER)
    form = {**KEY, "scope transactions:read": "on"}
    before = await api.shop.values("SELECT COUNT(*) FROM api_keys")
    assert (await owner.post("/dash/keys", form)).status_code == 422
    asked = {"confirm_password": PASSWORD}
    for wrong in ({**form, "name": ""}, KEY, {**form, "mode": "real"}, {**form, "days": "1e9"}):
        answer = await owner.post("/dash/keys", {**wrong, **asked})
        assert answer.status_code == 422
        assert 'class="wrong"' in answer.text
    assert await api.shop.values("SELECT COUNT(*) FROM api_keys") == before
