"""Requests from other sites, repeated forms, ended sessions and disabled users are refused with a reason."""

import asyncio
from pathlib import Path

import pytest

from daemon.core.access.callers import ALL_SCOPES, Caller, CallerKind
from daemon.core.access.sessions import BROWSER_IDLE_US, BROWSER_LIFE_US, SECURE_COOKIE, form_token
from daemon.core.limits import SECOND_US
from daemon.flows.access import browser as flow
from daemon.flows.access import users as user_flow
from daemon.runtime.config import Config, Http
from daemon.store.access import users
from daemon.wire import Role
from tests.dash.test_tables import rows
from tests.fakes.api import FakeApi, running
from tests.fakes.dash import PASSWORD, add_user, cookie_of, log_in, token_in

ROOT = Caller(CallerKind.SOCKET, None, ALL_SCOPES, None, False, "socket:0", owner=True)
LANGUAGE = "/dash/account/language"


async def language_of(api: FakeApi) -> list[object]:
    return await api.shop.values("SELECT language FROM browser_sessions ORDER BY seq")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    ],
)
async def test_a_post_from_another_origin_is_refused(api: FakeApi, headers: dict[str, str]) -> None:
    person = await log_in(api, Role.OWNER)
    before = await rows(api)
    answer = await person.post(LANGUAGE, {"language": "fr"}, **headers)
    assert answer.status_code == 403
    assert "Nothing was changed" in answer.text
    assert await rows(api) == before
    assert await language_of(api) == [None]


async def test_a_post_without_origin_is_no_browsers_form(api: FakeApi) -> None:
    person = await log_in(api, Role.OWNER)
    token = person.form_token(LANGUAGE)
    answer = await person.client.post(LANGUAGE, data={"language": "fr", "form_token": token})
    assert answer.status_code == 403


async def test_a_form_needs_a_token_of_its_own_session_and_path(api: FakeApi) -> None:
    person, other = await log_in(api, Role.OWNER), await log_in(api, Role.MANAGER)
    for token in ("", "0" * 97, "é" * 97, other.form_token(LANGUAGE), person.form_token("/dash/logout")):
        answer = await person.post(LANGUAGE, {"language": "fr"}, form_token_=token)
        assert answer.status_code == 403, token
    assert await language_of(api) == [None, None]
    assert (await person.post(LANGUAGE, {"language": "fr"})).status_code == 303


async def test_a_used_token_does_nothing_twice_and_leads_to_the_same_place(api: FakeApi) -> None:
    person = await log_in(api, Role.OWNER)
    token = person.form_token(LANGUAGE)
    first = await person.post(LANGUAGE, {"language": "fr"}, form_token_=token)
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE browser_sessions SET language = NULL"))
    second = await person.post(LANGUAGE, {"language": "fr"}, form_token_=token)
    assert first.status_code == second.status_code == 303
    assert first.headers["location"] == second.headers["location"]
    assert await language_of(api) == [None], "it was not done again"
    changed = await person.post(LANGUAGE, {"language": "en"}, form_token_=token)
    assert changed.status_code == 422
    assert "with other values" in changed.text


async def test_a_double_click_logs_in_once(api: FakeApi) -> None:
    await add_user(api, Role.OWNER)
    visitor = await api.client()
    visitor.event_hooks = {}
    page = await visitor.get("/dash/login")
    form = {"name": "owner", "password": PASSWORD, "form_token": token_in(page.text), "to": ""}
    answers = await asyncio.gather(
        *(visitor.post("/dash/login", data=form, headers={"Origin": api.base_url}) for _ in range(2))
    )
    assert [answer.status_code for answer in answers] == [303, 303]
    assert await api.shop.values("SELECT COUNT(*) FROM browser_sessions") == [1]


async def test_a_login_takes_no_token_that_somebody_else_chose(api: FakeApi) -> None:
    await add_user(api, Role.OWNER)
    visitor = await api.client()
    visitor.event_hooks = {}
    chosen = "a" * 64
    visitor.cookies.set(cookie_of(api), chosen, domain="127.0.0.1", path="/dash")
    token = form_token(chosen, "/dash/login", b"0" * 16)
    answer = await visitor.post(
        "/dash/login",
        data={"name": "owner", "password": PASSWORD, "form_token": token},
        headers={"Origin": api.base_url},
    )
    assert answer.status_code == 303
    assert chosen not in answer.headers["set-cookie"]
    for flag in ("HttpOnly", "SameSite=Strict", "Path=/dash"):
        assert flag in answer.headers["set-cookie"]
    stranger = await api.client()
    stranger.event_hooks = {}
    stranger.cookies.set(cookie_of(api), chosen, domain="127.0.0.1", path="/dash")
    assert (await stranger.get("/dash")).headers["location"] == "/dash/login"


async def test_behind_https_the_cookie_is_secure_and_bound_to_the_host(tmp_path: Path) -> None:
    config = Config(http=Http(public_base_url="https://shop.example"))
    async with running(tmp_path, config) as api:
        visitor = await api.client()
        visitor.event_hooks = {}
        answer = await visitor.get("/dash/login", headers={"Host": "shop.example"})
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith(f"{SECURE_COOKIE}_")
        assert "Path=/; Secure" in cookie


async def test_an_unknown_host_is_refused(api: FakeApi) -> None:
    person = await log_in(api, Role.OWNER)
    assert (await person.get("/dash", Host="evil.example")).status_code == 421


@pytest.mark.parametrize("gone_us", [BROWSER_IDLE_US, BROWSER_LIFE_US])
async def test_a_session_ends_after_twelve_idle_hours_and_after_seven_days(api: FakeApi, gone_us: int) -> None:
    person = await log_in(api, Role.OWNER)
    step_us = BROWSER_IDLE_US // 2 if gone_us == BROWSER_LIFE_US else gone_us - SECOND_US
    for _ in range(gone_us // step_us - (gone_us == BROWSER_LIFE_US)):
        api.shop.clock.advance(step_us / SECOND_US)
        assert (await person.get("/dash/account")).status_code == 200
    api.shop.clock.advance(gone_us / SECOND_US)
    assert (await person.get("/dash/account")).status_code == 303


async def test_a_disabled_user_and_an_ended_session_are_out_at_once(api: FakeApi) -> None:
    env = api.shop.env
    cashier, manager = await log_in(api, Role.CASHIER), await log_in(api, Role.MANAGER)
    await user_flow.set_disabled(env, ROOT, "cashier", disabled=True)
    assert (await cashier.get("/dash")).headers["location"] == "/dash/login"
    answer = await cashier.post(LANGUAGE, {"language": "fr"})
    assert answer.headers["location"] == "/dash/login?to=%2Fdash%2Faccount&said=said_session_over"
    await user_flow.set_role(env, ROOT, "manager", Role.VIEWER)
    assert (await manager.get("/dash")).status_code == 303
    user = await env.store.read(lambda reader: users.named(reader, "cashier"))
    assert user is not None
    assert await env.store.read(lambda reader: users.sessions_of(reader, user.id)) == []


async def test_a_new_password_ends_all_sessions_of_its_user_only(api: FakeApi) -> None:
    owner, again = await log_in(api, Role.OWNER), await log_in(api, Role.OWNER)
    viewer = await log_in(api, Role.VIEWER)
    # `log_in` has set the owner's password again, which ended the first session.
    assert (await owner.get("/dash")).status_code == 303
    form = {"current": PASSWORD, "password": "a new long password", "again": "a new long password"}
    answer = await again.post("/dash/account/password", form)
    assert answer.headers["location"] == "/dash/login?said=said_password_changed"
    assert (await again.get("/dash")).status_code == 303
    assert (await viewer.get("/dash")).status_code == 200


async def test_one_session_can_be_ended_and_not_that_of_another_user(api: FakeApi) -> None:
    viewer, manager = await log_in(api, Role.VIEWER), await log_in(api, Role.MANAGER)
    mine, other = await api.shop.values("SELECT id FROM browser_sessions ORDER BY seq")
    await viewer.post(f"/dash/account/sessions/{other}/end")
    assert (await manager.get("/dash")).status_code == 200
    await viewer.post(f"/dash/account/sessions/{mine}/end")
    assert (await viewer.get("/dash")).status_code == 303


async def test_wrong_passwords_of_dashboard_and_api_share_one_counter(api: FakeApi) -> None:
    await add_user(api, Role.OWNER)
    visitor = await api.client()
    visitor.event_hooks = {}
    for attempt in range(5):
        if attempt % 2:
            await visitor.post("/v1/auth/login", json={"password": "wrong wrong wrong"})
            continue
        page = await visitor.get("/dash/login")
        form = {"name": "nobody", "password": "wrong", "form_token": token_in(page.text)}
        answer = await visitor.post("/dash/login", data=form, headers={"Origin": api.base_url})
        assert answer.status_code == 403
        assert f"{4 - attempt} tr" in answer.text
    assert (await visitor.post("/v1/auth/login", json={"password": PASSWORD})).status_code == 429


@pytest.mark.parametrize("to", ["//evil.example", "https://evil.example/dash", "/pay/x", "/dash\\@x"])
async def test_a_login_leads_to_no_other_place(api: FakeApi, to: str) -> None:
    await add_user(api, Role.OWNER)
    visitor = await api.client()
    visitor.event_hooks = {}
    page = await visitor.get("/dash/login")
    form = {"name": "owner", "password": PASSWORD, "to": to, "form_token": token_in(page.text)}
    answer = await visitor.post("/dash/login", data=form, headers={"Origin": api.base_url})
    assert answer.headers["location"] == "/dash"


FIRST = "/dash/first"
"""The page of a link while no payment was seen."""


async def test_the_link_of_momo_open_works_once_for_a_minute_and_with_a_wrong_clock(api: FakeApi) -> None:
    env = api.shop.env
    for gone_s, jump_s, place in ((0, 0, FIRST), (0, -9e8, FIRST), (61, 0, "/dash/login")):
        token = await flow.make_link(env, ROOT, None)
        api.shop.clock.jump(jump_s)
        api.shop.clock.advance(gone_s)
        visitor = await api.client()
        visitor.event_hooks = {}
        looked = await visitor.head(f"/dash/enter?link={token}")
        assert looked.headers["location"] == "/dash/login", "a look does not use it up"
        answer = await visitor.get(f"/dash/enter?link={token}")
        assert answer.headers["location"].partition("?")[0] == place
        if place == FIRST:
            again = await api.client()
            again.event_hooks = {}
            answer = await again.get(f"/dash/enter?link={token}")
            assert answer.headers["location"] == "/dash/login?said=said_link_over"
    token = await flow.make_link(env, ROOT, None)
    far = await api.client()
    far.event_hooks = {}
    answer = await far.get(f"/dash/enter?link={token}", headers={"X-Forwarded-For": "203.0.113.9"})
    assert answer.headers["location"] == "/dash/login?said=said_link_over"


async def test_the_journal_names_the_user(api: FakeApi) -> None:
    manager = await log_in(api, Role.MANAGER, "esi")
    await manager.get("/dash/payments?as=csv")
    found = await api.shop.values("SELECT actor FROM events WHERE type = 'export.made'")
    assert found == ["user:esi"]
