"""Reveal and rotate secrets over HTTP: permissions, rate limits, and the overlap of old and new secrets."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from argon2 import PasswordHasher

from daemon.core.access.callers import KeyKind
from daemon.store.webhooks import endpoints
from tests.api.webhooks.test_redeliver import NOBODY, code, endpoint
from tests.fakes.api import FakeApi, running
from tests.fakes.each import each
from tests.fakes.validation_errors import wrong_fields

PASSWORD = "correct horse 42"
ENDPOINTS = "/v1/open-collections/endpoints"
HOUR_S = 3600
ACCOUNT = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[FakeApi]:
    async with running(tmp_path) as made:
        await prepare(made)
        yield made


async def prepare(api: FakeApi) -> None:
    """Give the shop a password and the account a webhook secret, as setup does."""
    hashed = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
    sealed = api.shop.env.vault.seal(ACCOUNT.encode(), endpoints.SIGNING_PURPOSE)

    def job(tx: Any) -> None:
        tx.run("UPDATE users SET password_hash = :hash", {"hash": hashed})
        endpoints.add_secret(tx, owner=endpoints.ACCOUNT, sealed=sealed, now=1)

    await api.shop.env.store.write(job)


async def made(api: FakeApi) -> tuple[str, str]:
    """Make an endpoint; return its path and its secret."""
    body = (await api.live.post(ENDPOINTS, json={"url": "https://shop.example/hook"})).json()
    return f"{ENDPOINTS}/{body['data']['id']}", body["secret"]


async def post(client: httpx.AsyncClient, path: str, **body: Any) -> httpx.Response:
    return await client.post(path, json={"password": PASSWORD, **body})


async def signing(api: FakeApi, owner: str) -> list[str]:
    """Return the secrets that sign now, newest first."""
    now = api.shop.clock.now_us()
    sealed = await api.shop.env.store.read(lambda reader: endpoints.valid_secrets(reader, owner, now))
    vault = api.shop.env.vault
    return [vault.unseal(each, endpoints.SIGNING_PURPOSE).decode() for each in sealed]


async def test_reveal_shows_the_newest_secret_of_this_endpoint_and_keeps_it(api: FakeApi) -> None:
    path, oldest = await made(api)
    api.shop.clock.advance(HOUR_S)
    older = (await post(api.local, f"{path}/rotate-secret")).json()["secret"]
    _other, others = await made(api)
    api.shop.clock.advance(HOUR_S)
    newest = (await post(api.local, f"{path}/rotate-secret")).json()["secret"]
    assert len({oldest, older, others, newest}) == 4
    shown = (await post(api.local, f"{path}/secret")).json()
    assert (shown["secret"], shown["previous_secret_expires_at"]) == (newest, "2026-11-22T10:00:30.000Z")
    assert (await post(api.local, f"{path}/secret")).json() == shown


async def test_reveal_shows_the_only_secret_and_is_noted_each_time(api: FakeApi) -> None:
    path, secret = await made(api)
    answer = await post(api.local, f"{path}/secret")
    assert answer.json() == {"success": True, "secret": secret, "previous_secret_expires_at": None}
    assert answer.headers["Cache-Control"] == "no-store"
    assert (await post(api.local, f"{path}/secret")).json()["secret"] == secret
    told = await api.shop.values("SELECT actor FROM events WHERE type = 'secret.revealed'")
    assert len(told) == 2


async def test_rotate_shows_the_new_secret_once_and_the_old_one_signs_for_24_hours(api: FakeApi) -> None:
    path, old = await made(api)
    row = (await api.live.get(path)).json()["data"]
    answer = await post(api.local, f"{path}/rotate-secret")
    body = answer.json()
    new = body["secret"]
    assert body == {
        "success": True,
        "data": row,
        "secret": new,
        "previous_secret_expires_at": "2026-11-22T08:00:30.000Z",
    }
    assert answer.headers["Cache-Control"] == "no-store"
    assert await signing(api, row["id"]) == [new, old]
    shown = (await post(api.local, f"{path}/secret")).json()
    assert (shown["secret"], shown["previous_secret_expires_at"]) == (new, "2026-11-22T08:00:30.000Z")
    api.shop.clock.advance(24 * HOUR_S - 1)
    assert await signing(api, row["id"]) == [new, old]
    api.shop.clock.advance(1)
    assert await signing(api, row["id"]) == [new]
    shown = (await post(api.local, f"{path}/secret")).json()
    assert shown["previous_secret_expires_at"] is None


async def test_a_fourth_rotation_within_24_hours_is_refused(api: FakeApi) -> None:
    path, _secret = await made(api)
    for _ in range(3):
        assert (await post(api.local, f"{path}/rotate-secret")).status_code == 200
        api.shop.clock.advance(6 * HOUR_S)
    before = await signing(api, path.rpartition("/")[2])
    assert len(before) == 4
    assert code(await post(api.local, f"{path}/rotate-secret")) == (409, "ROTATION_LIMIT")
    assert await signing(api, path.rpartition("/")[2]) == before
    api.shop.clock.advance(6 * HOUR_S)
    assert (await post(api.local, f"{path}/rotate-secret")).status_code == 200


async def test_expire_previous_ends_every_overlap_at_once_and_is_never_refused(api: FakeApi) -> None:
    path, _secret = await made(api)
    for _ in range(3):
        await post(api.local, f"{path}/rotate-secret")
    api.shop.clock.advance(3600)
    answer = await post(api.local, f"{path}/rotate-secret", expire_previous=True)
    assert answer.json()["previous_secret_expires_at"] is None
    assert await signing(api, path.rpartition("/")[2]) == [answer.json()["secret"]]


async def test_the_account_secret_is_revealed_and_rotated_by_the_same_rules(api: FakeApi) -> None:
    shown = await post(api.local, "/v1/webhooks/secret")
    assert shown.json()["secret"] == ACCOUNT
    answer = await post(api.local, "/v1/webhooks/rotate-secret")
    body = answer.json()
    assert body["data"] == {"default_url": None}
    assert body["previous_secret_expires_at"] == "2026-11-22T08:00:30.000Z"
    assert await signing(api, endpoints.ACCOUNT) == [body["secret"], ACCOUNT]
    assert {shown.headers["Cache-Control"], answer.headers["Cache-Control"]} == {"no-store"}


async def test_rotating_one_leaves_every_other(api: FakeApi) -> None:
    path, _secret = await made(api)
    other = await endpoint(api.live, url="https://shop.example/other")
    before = await signing(api, other)
    await post(api.local, f"{path}/rotate-secret")
    assert await signing(api, other) == before
    assert await signing(api, endpoints.ACCOUNT) == [ACCOUNT]


PATHS = ("{endpoint}/secret", "{endpoint}/rotate-secret", "/v1/webhooks/secret", "/v1/webhooks/rotate-secret")


@each("path", PATHS)
async def test_no_api_key_is_accepted_whatever_it_may(api: FakeApi, path: str) -> None:
    own, _secret = await made(api)
    publishable = await api.client(await api.key(kind=KeyKind.PUBLISHABLE))
    for client in (api.live, api.test, publishable):
        answer = await post(client, path.format(endpoint=own))
        assert code(answer) == (403, "SESSION_REQUIRED")
    assert await api.shop.values("SELECT COUNT(*) FROM password_attempts") == [0]


@pytest.mark.parametrize("path", PATHS)
async def test_a_dashboard_session_is_accepted(api: FakeApi, path: str) -> None:
    own, _secret = await made(api)
    token = (await api.live.post("/v1/auth/login", json={"password": PASSWORD})).json()["data"]
    client = await api.client(token["token"])
    assert (await post(client, path.format(endpoint=own))).status_code == 200


@pytest.mark.parametrize("path", PATHS)
async def test_a_wrong_password_says_how_many_are_left(api: FakeApi, path: str) -> None:
    own, _secret = await made(api)
    answer = await post(api.local, path.format(endpoint=own), password="wrong")
    assert code(answer) == (403, "INVALID_PASSWORD")
    assert answer.json()["attempts_remaining"] == 4
    none = await api.local.post(path.format(endpoint=own), json={})
    assert (code(none), none.json()["attempts_remaining"]) == ((403, "INVALID_PASSWORD"), 4)


async def test_five_attempts_in_15_minutes_are_shared_by_reveal_and_rotate(api: FakeApi) -> None:
    own, _secret = await made(api)
    for path in (*PATHS, PATHS[0]):
        await post(api.local, path.format(endpoint=own), password="wrong")
    for path in PATHS:
        answer = await post(api.local, path.format(endpoint=own))
        assert code(answer) == (429, "TOO_MANY_ATTEMPTS")
        assert answer.headers["Retry-After"] == str(answer.json()["retry_after"])
    api.shop.clock.advance(15 * 60 - 1)
    assert code(await post(api.local, "/v1/webhooks/secret")) == (429, "TOO_MANY_ATTEMPTS")
    api.shop.clock.advance(1)
    assert (await post(api.local, "/v1/webhooks/secret")).status_code == 200


@pytest.mark.parametrize(
    ("body", "named"),
    [({"password": 1}, "password"), ({"password": PASSWORD, "expire_previous": "y"}, "expire_previous")],
)
async def test_each_wrong_field_is_refused_by_name(api: FakeApi, body: dict[str, Any], named: str) -> None:
    answer = await api.local.post("/v1/webhooks/rotate-secret", json=body)
    assert code(answer) == (422, "VALIDATION_ERROR")
    assert wrong_fields(answer) == [named]


async def test_an_unknown_or_deleted_endpoint_costs_no_attempt(api: FakeApi) -> None:
    path, _secret = await made(api)
    await api.live.delete(path)
    for wrong in (path, f"{ENDPOINTS}/{NOBODY}", f"{ENDPOINTS}/1"):
        for verb in ("secret", "rotate-secret"):
            answer = await post(api.local, f"{wrong}/{verb}")
            assert code(answer) == (404, "ENDPOINT_NOT_FOUND")
    assert await api.shop.values("SELECT COUNT(*) FROM password_attempts") == [0]


async def test_an_unknown_field_is_warned_of(api: FakeApi) -> None:
    answer = await post(api.local, "/v1/webhooks/secret", colour="red")
    assert answer.json()["meta"] == {"warnings": ["Unknown field `colour` was ignored."]}
