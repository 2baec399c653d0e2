"""Test sends over HTTP to a real receiver over TLS: made-up data, signed like real events, and not in the delivery log."""

import json
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import standardwebhooks
from msgspec import structs

from daemon.core.limits import SECOND_US
from daemon.runtime.config import Config, Webhooks
from tests.api.webhooks.test_redeliver import NOBODY, code
from tests.fakes.api import FakeApi, running
from tests.fakes.receipts import mtn
from tests.fakes.receiver import DROP, Answer, Receiver

ENDPOINTS = "/v1/open-collections/endpoints"


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    with Receiver(tmp_path_factory.mktemp("receiver")) as made:
        yield made


@pytest.fixture
async def api(tmp_path: Path, receiver: Receiver) -> AsyncIterator[FakeApi]:
    receiver.requests.clear()
    settings = Webhooks(allow_private_hosts=("localhost",), ca_file=str(receiver.ca_file), timeout_s=1.0)
    async with running(tmp_path, structs.replace(Config(), webhooks=settings)) as made:
        made.resolver.names["localhost"] = ["127.0.0.1"]
        yield made


async def made(api: FakeApi, url: str, **more: Any) -> tuple[str, str]:
    """Make an endpoint; return its id and its secret."""
    body = (await api.live.post(ENDPOINTS, json={"url": url, **more})).json()
    return body["data"]["id"], body["secret"]


async def send(client: httpx.AsyncClient, endpoint: str) -> httpx.Response:
    return await client.post(f"{ENDPOINTS}/{endpoint}/test")


async def test_the_answer_of_the_endpoint_is_told(api: FakeApi, receiver: Receiver) -> None:
    endpoint, _secret = await made(api, receiver.url())
    receiver.script(Answer(200, body=b"thanks"))
    answer = await send(api.live, endpoint)
    body = answer.json()
    message = body.pop("message")
    assert (answer.status_code, body) == (200, {"success": True, "status_code": 200, "response_body": "thanks"})
    assert message.startswith("The endpoint answered 200 in ")


async def test_it_is_signed_with_the_best_known_time_as_a_real_webhook_is(api: FakeApi, receiver: Receiver) -> None:
    endpoint, _secret = await made(api, receiver.url())
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"))
    right_s = api.shop.clock.now_us() // SECOND_US
    api.shop.clock.jump(7_200)
    receiver.script(Answer(200))
    assert (await send(api.live, endpoint)).json()["success"]
    (request,) = receiver.requests
    headers = {name.lower(): value for name, value in request.headers.items()}
    # The network's time in a message has whole seconds and came before it was read.
    assert abs(int(headers["webhook-timestamp"]) - right_s) <= 60


async def test_it_is_a_forwarded_payment_that_never_was_signed_as_a_real_one(api: FakeApi, receiver: Receiver) -> None:
    endpoint, secret = await made(api, receiver.url())
    receiver.script(Answer(200))
    await send(api.live, endpoint)
    (request,) = receiver.requests
    payload = json.loads(request.body)
    assert (payload["type"], payload["test"], payload["livemode"]) == ("transaction.forwarded", True, False)
    assert payload["data"]["reference"] == "svc_trx_" + "0" * 32
    assert payload["data"]["payer_source"] == {"phone_number": "receipt", "name": "receipt"}
    headers = {name.lower(): value for name, value in request.headers.items()}
    assert headers["x-svc-test"] == "true"
    assert headers["x-svc-event"] == "transaction.forwarded"
    assert headers["webhook-id"] == payload["webhook_id"]
    clock = api.shop.clock.now_us() // 1_000_000
    assert headers["webhook-timestamp"] == str(clock)
    key = standardwebhooks.Webhook(secret)
    signed = key.sign(payload["webhook_id"], datetime.fromtimestamp(clock, UTC), request.body.decode())
    assert headers["webhook-signature"] == signed


@pytest.mark.parametrize(
    ("said", "status", "words"),
    [
        (Answer(401, body=b"who?"), 401, "it does not accept that the webhook is from us"),
        (Answer(500), 500, "it has an internal error"),
        (Answer(302), 302, "webhooks follow no redirect"),
        (DROP, 0, "the connection broke before the answer"),
        (Answer(delay_s=3), 0, "it gave no complete answer in time"),
    ],
)
async def test_whatever_else_it_says_is_200_without_success(
    api: FakeApi, receiver: Receiver, said: Answer, status: int, words: str
) -> None:
    endpoint, _secret = await made(api, receiver.url())
    receiver.script(said)
    answer = await send(api.live, endpoint)
    body = answer.json()
    assert (answer.status_code, body["success"], body["status_code"]) == (200, False, status)
    assert words in body["message"]
    assert body["response_body"] == ("who?" if status == 401 else "ok" if status else "")


async def test_an_unreachable_endpoint_has_status_0_and_a_message_that_says_why(api: FakeApi) -> None:
    endpoint, _secret = await made(api, "https://localhost:1/hook")
    body = (await send(api.live, endpoint)).json()
    assert (body["success"], body["status_code"], body["response_body"]) == (False, 0, "")
    assert body["message"].startswith("The endpoint did not answer: nothing listens at that address")


async def test_it_never_counts_and_is_not_in_the_log(api: FakeApi, receiver: Receiver) -> None:
    endpoint, _secret = await made(api, receiver.url())
    before = (await api.live.get(f"{ENDPOINTS}/{endpoint}")).json()["data"]
    receiver.script(*[Answer(410)] * 25)
    for _ in range(25):
        await send(api.live, endpoint)
    assert (await api.live.get(f"{ENDPOINTS}/{endpoint}")).json()["data"] == before
    assert (await api.live.get("/v1/open-collections/deliveries?kind=all")).json()["data"] == []
    assert await api.shop.values("SELECT COUNT(*) FROM attempts") == [0]
    assert (await api.live.get("/v1/webhooks/dead-letters")).json()["data"] == []


async def test_a_paused_endpoint_is_tested_and_stays_paused(api: FakeApi, receiver: Receiver) -> None:
    endpoint, _secret = await made(api, receiver.url())
    await api.live.put(f"{ENDPOINTS}/{endpoint}", json={"is_active": False})
    receiver.script(Answer(200))
    assert (await send(api.live, endpoint)).json()["success"] is True
    assert (await api.live.get(f"{ENDPOINTS}/{endpoint}")).json()["data"]["is_active"] is False


async def test_a_test_key_tests_sandbox_endpoints_only(api: FakeApi, receiver: Receiver) -> None:
    live, _secret = await made(api, receiver.url())
    sandbox, _other = await made(api, receiver.url(), is_sandbox=True)
    assert code(await send(api.test, live)) == (403, "LIVE_KEY_REQUIRED")
    receiver.script(Answer(204))
    assert (await send(api.test, sandbox)).json()["success"] is True


async def test_an_unknown_or_deleted_endpoint(api: FakeApi, receiver: Receiver) -> None:
    endpoint, _secret = await made(api, receiver.url())
    await api.live.delete(f"{ENDPOINTS}/{endpoint}")
    for wrong in (endpoint, NOBODY, "1"):
        assert code(await send(api.live, wrong)) == (404, "ENDPOINT_NOT_FOUND")
