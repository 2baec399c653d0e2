"""Dashboard sessions: login, permissions of a token, change of the password, and the limit of attempts."""

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import jwt
import pytest
from argon2 import PasswordHasher

from daemon.api.http.auth import session_caller
from daemon.core.errors import Refusal
from daemon.core.limits import HOUR_US, SECOND_US
from daemon.runtime.config import Config, Pages
from daemon.store.access import passwords
from parsers import times
from tests.fakes.api import FakeApi, running

LOGIN = "/v1/auth/login"
PASSWORD = "correct horse"
NEW = "battery staple"


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[FakeApi]:
    """A shop with a password and the cheapest hash."""
    hashed = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
    async with running(tmp_path) as made:
        await made.shop.env.store.write(lambda tx: tx.run("UPDATE users SET password_hash = :hash", {"hash": hashed}))
        yield made


async def login(client: httpx.AsyncClient, password: str = PASSWORD) -> httpx.Response:
    return await client.post(LOGIN, json={"password": password})


async def session(api: FakeApi) -> httpx.AsyncClient:
    answer = await login(await api.client())
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    return await api.client(answer.json()["data"]["token"])


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_a_token_lasts_one_hour(api: FakeApi) -> None:
    answer = await login(await api.client())
    ends = answer.json()["data"]["expires_at"]
    client = await api.client(answer.json()["data"]["token"])
    hour = times.render(api.shop.clock.now_us() // SECOND_US * SECOND_US + HOUR_US)
    assert ends == hour
    assert (await client.get("/v1/transactions")).status_code == 200
    api.shop.clock.advance(3600 - 1)
    assert (await client.get("/v1/transactions")).status_code == 200
    api.shop.clock.advance(1)
    assert code(await client.get("/v1/transactions")) == (401, "UNAUTHORIZED")


async def test_a_session_may_manage_keys_and_sees_both_modes(api: FakeApi) -> None:
    client = await session(api)
    assert (await client.post("/v1/keys", json={"name": "web"})).status_code == 201
    assert (await client.get("/v1/open-collections/endpoints")).status_code == 200


async def test_a_session_may_not_do_what_is_for_the_machine_only(api: FakeApi) -> None:
    client = await session(api)
    assert (await client.get("/local/v1/status")).status_code == 404
    assert (await client.post("/local/v1/password", json={"password": NEW})).status_code == 404


async def test_five_logins_in_15_minutes_for_one_address_right_or_wrong(api: FakeApi) -> None:
    client = await api.client()
    for left in (4, 3, 2, 1, 0):
        refused = await login(client, "wrong wrong")
        assert code(refused) == (403, "INVALID_PASSWORD")
        assert refused.json()["error"]["attempts_remaining"] == left
    refused = await login(client)
    assert code(refused) == (429, "TOO_MANY_ATTEMPTS")
    assert int(refused.headers["retry-after"]) == refused.json()["retry_after"] == 15 * 60
    # The socket has a separate count, and so have the calls that ask for the password.
    assert (await login(api.local)).status_code == 200
    api.shop.clock.advance(15 * 60)
    assert (await login(client)).status_code == 200


async def test_behind_a_proxy_wrong_logins_lock_out_their_own_address_only(tmp_path: Path) -> None:
    config = Config(pages=Pages(client_header="X-Forwarded-For"))
    async with running(tmp_path, config) as api:
        client = await api.client()
        answers = [
            await client.post(LOGIN, json={"password": "wrong wrong"}, headers={"X-Forwarded-For": address})
            for address in ["102.176.10.7"] * 6 + ["102.176.10.8"]
        ]
    assert [answer.status_code for answer in answers] == [403] * 5 + [429, 403]


async def test_the_socket_has_a_limit_too(api: FakeApi) -> None:
    for _ in range(5):
        await login(api.local, "wrong wrong")
    assert code(await login(api.local)) == (429, "TOO_MANY_ATTEMPTS")


def test_one_ipv6_client_is_one_network_of_64_bits() -> None:
    one = passwords.client_name("2001:db8:1:2::1")
    assert one == passwords.client_name("2001:db8:1:2:ffff::9%eth0")
    assert one != passwords.client_name("2001:db8:1:3::1")


async def test_a_new_password_ends_every_session(api: FakeApi) -> None:
    one, other = await session(api), await session(api)
    refused = await one.post("/v1/auth/password", json={"current_password": "wrong wrong", "password": NEW})
    assert code(refused) == (403, "INVALID_PASSWORD")
    done = await one.post("/v1/auth/password", json={"current_password": PASSWORD, "password": NEW})
    assert done.status_code == 200, done.text
    for client in (one, other):
        assert code(await client.get("/v1/transactions")) == (401, "UNAUTHORIZED")
    assert code(await login(api.local)) == (403, "INVALID_PASSWORD")
    assert (await login(api.local, NEW)).status_code == 200
    (changed,) = await api.shop.values("SELECT actor FROM events WHERE type = 'password.changed'")
    assert changed == "session"


async def test_a_logout_ends_its_own_session_and_no_other(api: FakeApi) -> None:
    one, other = await session(api), await session(api)
    assert (await one.get("/v1/transactions")).status_code == 200
    done = await one.post("/v1/auth/logout")
    assert done.json() == {"success": True, "data": {"logged_out": True}}
    assert code(await one.get("/v1/transactions")) == (401, "UNAUTHORIZED")
    assert code(await one.post("/v1/auth/logout")) == (401, "UNAUTHORIZED")
    assert (await other.get("/v1/transactions")).status_code == 200
    closed = await api.shop.values("SELECT actor FROM events WHERE type = 'session.closed'")
    assert closed == ["session"]


async def test_a_logged_out_token_stays_refused_when_the_daemon_starts_again(api: FakeApi) -> None:
    one, other = await session(api), await session(api)
    await one.post("/v1/auth/logout")
    now = api.shop.clock.now_us()
    with pytest.raises(Refusal):
        await session_caller(api.shop.env, one.headers["Authorization"].split()[1], now)
    await session_caller(api.shop.env, other.headers["Authorization"].split()[1], now)


async def test_a_logged_out_token_with_other_spare_bits_in_its_signature_is_refused(api: FakeApi) -> None:
    """The last letter of a 32-byte signature in base64 has two spare bits, so four texts are the same token."""
    client = await session(api)
    token: str = client.headers["Authorization"].split()[1]
    await client.post("/v1/auth/logout")
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    group = alphabet.index(token[-1]) // 4 * 4
    for last in alphabet[group : group + 4]:
        twin = await api.client(token[:-1] + last)
        assert code(await twin.get("/v1/transactions")) == (401, "UNAUTHORIZED")


async def test_a_logged_out_session_is_forgotten_once_its_hour_is_over(api: FakeApi) -> None:
    await (await session(api)).post("/v1/auth/logout")
    api.shop.clock.advance(3600)
    await (await session(api)).post("/v1/auth/logout")
    assert await api.shop.values("SELECT COUNT(*) FROM ended_sessions") == [1]


async def test_only_a_session_can_log_out(api: FakeApi) -> None:
    for client in (api.live, api.local):
        assert code(await client.post("/v1/auth/logout")) == (403, "SESSION_REQUIRED")


async def test_a_short_password_is_refused_and_changes_nothing(api: FakeApi) -> None:
    client = await session(api)
    refused = await client.post("/v1/auth/password", json={"current_password": PASSWORD, "password": "short"})
    assert refused.json()["error"]["details"][0]["code"] == "too_short"
    assert (await client.get("/v1/transactions")).status_code == 200


async def test_the_owner_on_the_machine_needs_no_old_password(api: FakeApi) -> None:
    for _ in range(6):
        await login(api.local, "wrong wrong")
    done = await api.local.post("/local/v1/password", json={"password": NEW})
    assert done.status_code == 200, done.text
    # The owner may log in again at once.
    assert (await login(api.local, NEW)).status_code == 200


async def test_an_api_key_may_not_change_the_password(api: FakeApi) -> None:
    refused = await api.live.post("/v1/auth/password", json={"current_password": PASSWORD, "password": NEW})
    assert code(refused) == (403, "SESSION_REQUIRED")


@pytest.mark.parametrize("body", [{}, {"password": None}, {"password": 7}])
async def test_what_is_no_password_is_a_validation_error(api: FakeApi, body: dict[str, object]) -> None:
    refused = await (await api.client()).post(LOGIN, json=body)
    assert code(refused) == (422, "VALIDATION_ERROR")


async def test_forged_tokens_are_refused(api: FakeApi) -> None:
    answer = await login(await api.client())
    good: str = answer.json()["data"]["token"]
    head, claims, signature = good.split(".")
    now = api.shop.clock.now_us() // SECOND_US
    mine = {"aud": "momo", "sub": "owner", "jti": "x", "iat": now, "exp": now + 3600}
    unsigned = base64.urlsafe_b64encode(json.dumps({"alg": "none"}).encode()).decode().rstrip("=")
    for forged in (
        f"{unsigned}.{claims}.",
        f"{head}.{claims}.{signature[:-4]}AAAA",
        jwt.encode(mine, "0" * 32, algorithm="HS256"),
        "eyJhbGciOiJIUzI1NiJ9..",
    ):
        assert code(await (await api.client(forged)).get("/v1/transactions")) == (401, "UNAUTHORIZED"), forged
    assert (await (await api.client(good)).get("/v1/transactions")).status_code == 200


async def test_before_the_first_login_no_token_holds(api: FakeApi) -> None:
    mine = jwt.encode({"sub": "owner"}, "0" * 32, algorithm="HS256")
    assert code(await (await api.client(mine)).get("/v1/transactions")) == (401, "UNAUTHORIZED")


async def test_token_of_a_session_counts_only_as_a_bearer_token(api: FakeApi) -> None:
    client = await api.client()
    login = await client.post(LOGIN, json={"password": PASSWORD})
    token = login.json()["data"]["token"]
    for scheme, status in (("Bearer", 200), ("bearer", 200), ("Basic", 401), ("Token", 401)):
        headers = {"Authorization": f"{scheme} {token}"}
        answer = await client.get("/v1/transactions", headers=headers)
        assert answer.status_code == status, scheme
