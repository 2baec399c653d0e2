"""CORS: the origins that may initialize with a publishable key, and the answers that they may read."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from daemon.core.access.callers import KeyKind
from daemon.runtime.config import Config, Http, Limits
from daemon.wire import Mode
from tests.fakes.api import FakeApi, running
from tests.fakes.each import each

INITIALIZE = "/v1/transactions/initialize"
SHOP = "https://shop.example"
LOCAL = "http://localhost:5173"
BODY = {"amount": "5.00", "phone_number": "0241234567"}
PREFLIGHT = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization,content-type,idempotency-key",
}


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[FakeApi]:
    http = Http(cors_origins=(SHOP, "http://localhost:*"))
    async with running(tmp_path, Config(http=http, limits=Limits(live_per_min=60, burst=3))) as made:
        yield made


async def page(api: FakeApi, mode: Mode = Mode.LIVE, origin: str = SHOP) -> httpx.AsyncClient:
    """Return a client that sends the headers of a browser on a page with a publishable key."""
    client = await api.client(await api.key(mode, kind=KeyKind.PUBLISHABLE))
    client.headers["Origin"] = origin
    return client


def cors(answer: httpx.Response) -> dict[str, str]:
    """Return the CORS headers of an answer, without their prefix."""
    start = "access-control-"
    return {name.removeprefix(start): value for name, value in answer.headers.items() if name.startswith(start)}


async def test_a_page_of_an_allowed_origin_initializes_and_reads_the_answer(api: FakeApi) -> None:
    answer = await (await page(api)).post(INITIALIZE, json=BODY)
    assert answer.status_code == 201
    assert answer.headers["vary"] == "Origin"
    assert cors(answer) == {
        "allow-origin": SHOP,
        "expose-headers": "X-Request-Id, Idempotency-Replayed, RateLimit-Limit, RateLimit-Remaining, "
        "RateLimit-Reset, Retry-After",
    }
    assert "ratelimit-remaining" in answer.headers


@pytest.mark.parametrize("origin", [SHOP, LOCAL, "http://localhost"])
async def test_a_preflight_of_an_allowed_origin_is_204_without_a_key(api: FakeApi, origin: str) -> None:
    client = await api.client()
    answer = await client.options(INITIALIZE, headers={"Origin": origin, **PREFLIGHT})
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["vary"] == "Origin"
    assert "content-length" not in answer.headers
    assert cors(answer) == {
        "allow-origin": origin,
        "allow-methods": "POST",
        "allow-headers": "Authorization, Content-Type, Idempotency-Key",
        "max-age": "600",
    }


@each(
    "origin",
    [
        "https://evil.example",
        "http://shop.example",
        "https://shop.example:8443",
        "https://www.shop.example",
        "https://shop.example.evil.example",
        "http://localhost.evil.example",
        "http://localhost:5173.evil.example",
        "https://localhost:5173",
        "http://localhost:*",
        "http://127.0.0.1:5173",
        "null",
        "",
    ],
)
async def test_a_page_of_another_origin_is_refused(api: FakeApi, origin: str) -> None:
    client = await page(api, Mode.TEST, origin)
    refused = await client.options(INITIALIZE, headers=PREFLIGHT)
    assert (refused.status_code, cors(refused)) == (405, {})
    answer = await client.post(INITIALIZE, json=BODY)
    assert cors(answer) == {}
    assert answer.headers["vary"] == "Origin"


async def test_localhost_is_for_test_keys_only(api: FakeApi) -> None:
    for mode, expected in ((Mode.TEST, LOCAL), (Mode.LIVE, None)):
        answer = await (await page(api, mode, LOCAL)).post(INITIALIZE, json=BODY)
        assert cors(answer).get("allow-origin") == expected


async def test_a_page_can_read_why_it_was_refused(api: FakeApi) -> None:
    client = await page(api)
    wrong: list[tuple[dict[str, Any], int]] = [
        ({"json": {}}, 422),
        ({"content": b"{"}, 415),
        ({"json": {**BODY, "webhook_url": "https://shop.example/x"}}, 403),
        ({"json": BODY, "headers": {"Authorization": "Bearer svc_live_pk_mistyped"}}, 401),
        ({"json": BODY}, 429),
    ]
    for request, status in wrong:
        answer = await client.post(INITIALIZE, **request)
        assert answer.status_code == status
        assert cors(answer)["allow-origin"] == SHOP
        assert "X-Request-Id" in cors(answer)["expose-headers"]


async def test_a_secret_key_or_a_session_in_a_page_gets_no_answer_to_read(api: FakeApi) -> None:
    for authorization in (api.live.headers["Authorization"], "Bearer eyJh.b.c", "Basic x", ""):
        headers = {"Origin": SHOP, "Authorization": authorization}
        answer = await (await api.client()).post(INITIALIZE, json=BODY, headers=headers)
        assert cors(answer) == {}


@each("path", ["/v1/transactions", "/healthz", "/docs", "/v1/none", "/pay/none"])
async def test_no_other_path_has_a_cors_header(api: FakeApi, path: str) -> None:
    client = await page(api)
    for answer in (await client.options(path, headers=PREFLIGHT), await client.get(path)):
        assert cors(answer) == {}


async def test_the_socket_refuses_a_page_of_an_allowed_origin_too(api: FakeApi) -> None:
    answer = await api.local.options(INITIALIZE, headers={"Origin": SHOP, **PREFLIGHT})
    assert (answer.status_code, cors(answer)) == (401, {})


async def test_a_page_that_calls_by_a_foreign_host_name_is_refused(api: FakeApi) -> None:
    headers = {"Origin": SHOP, "Host": "evil.example", **PREFLIGHT}
    answer = await (await api.client()).options(INITIALIZE, headers=headers)
    assert (answer.status_code, cors(answer)) == (421, {})


async def test_without_the_setting_no_answer_has_a_cors_header(tmp_path: Path) -> None:
    async with running(tmp_path) as api:
        client = await page(api, Mode.TEST, LOCAL)
        for answer in (await client.options(INITIALIZE, headers=PREFLIGHT), await client.post(INITIALIZE, json=BODY)):
            assert cors(answer) == {}
            assert "vary" not in answer.headers
