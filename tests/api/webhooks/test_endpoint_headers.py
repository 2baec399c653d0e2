"""Headers of its own on an endpoint: sent with each webhook over TLS, sealed at rest, never shown, never one of ours."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from daemon.flows.webhooks import deliver
from daemon.runtime.config import Config, Webhooks
from daemon.sender.https import Sender
from daemon.sender.local_targets import Target
from daemon.wire import Path as Url
from tests.fakes.api import FakeApi, running
from tests.fakes.outbox import fail, lease_one, owe
from tests.fakes.receiver import Answer, Receiver, Request

ENDPOINTS = "/v1/open-collections/endpoints"
HEADERS = {"Authorization": "Bearer 7f3a-secret", "X-Shop": "  Ama's\tshop "}
SENT = {"authorization": "Bearer 7f3a-secret", "x-shop": "Ama's\tshop"}
SHOWN = {"Authorization": "***", "X-Shop": "***"}


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    with Receiver(tmp_path_factory.mktemp("receiver")) as made:
        yield made


@pytest.fixture
async def api(tmp_path: Path, receiver: Receiver) -> AsyncIterator[FakeApi]:
    receiver.requests.clear()
    settings = Webhooks(allow_private_hosts=("localhost",), ca_file=str(receiver.ca_file))
    async with running(tmp_path, structs.replace(Config(), webhooks=settings)) as made:
        made.resolver.names["localhost"] = ["127.0.0.1"]
        yield made


@pytest.fixture
async def sender(api: FakeApi) -> AsyncIterator[Target]:
    made = Sender.from_settings(api.shop.env.config.webhooks, api.resolver)
    yield made
    await made.aclose()


async def created(api: FakeApi, receiver: Receiver, headers: dict[str, str] = HEADERS) -> str:
    answer = await api.live.post(ENDPOINTS, json={"url": receiver.url(), "headers": headers})
    assert answer.status_code == 201, answer.text
    assert answer.json()["data"]["headers"] == dict.fromkeys(headers, "***")
    return f"{ENDPOINTS}/{answer.json()['data']['id']}"


def own(request: Request) -> dict[str, str]:
    """Return the headers of the endpoint's own in a request."""
    ours = ("host", "connection", "content-", "accept", "user-agent", "x-svc-", "webhook-")
    found = {name.lower(): value for name, value in request.headers.items()}
    return {name: value for name, value in found.items() if not name.startswith(ours)}


async def test_they_are_sent_with_real_test_and_replayed_webhooks(
    api: FakeApi, receiver: Receiver, sender: Target
) -> None:
    path = await created(api, receiver)
    receiver.script(Answer(200), Answer(200), Answer(200))
    await owe(api.shop)
    leased = await lease_one(api.shop)
    outcome = await deliver.attempt(api.shop.env, sender, leased)
    assert outcome is not None
    assert outcome.status_code == 200
    assert (await api.live.post(f"{path}/test")).json()["success"]
    await fail(api.shop, leased, 404)
    sent_again = await api.live.post(f"/v1/open-collections/deliveries/{leased.delivery.id}/redeliver")
    assert sent_again.status_code == 200, sent_again.text
    assert await deliver.attempt(api.shop.env, sender, await lease_one(api.shop)) is not None
    assert [own(request) for request in receiver.requests] == [SENT, SENT, SENT]


async def test_ours_are_the_same_with_and_without_them(api: FakeApi, receiver: Receiver) -> None:
    with_some, without = await created(api, receiver), await created(api, receiver, {})
    receiver.script(Answer(200), Answer(200))
    for path in (with_some, without):
        assert (await api.live.post(f"{path}/test")).json()["success"]
    first, second = ({name.lower() for name in request.headers} - set(SENT) for request in receiver.requests)
    assert first == second


async def test_values_are_sealed_in_the_database_and_never_answered(api: FakeApi, receiver: Receiver) -> None:
    path = await created(api, receiver)
    (stored,) = await api.shop.values("SELECT headers FROM endpoints")
    assert set(HEADERS) == set(json.loads(stored))
    assert "7f3a" not in stored
    answers = [
        await api.live.get(path),
        await api.live.get(ENDPOINTS),
        await api.live.put(path, json={"description": "x"}),
        await api.local.get("/local/v1/status"),
    ]
    for answer in answers:
        assert '"headers":{"Authorization":"***","X-Shop":"***"}' in answer.text
        assert "7f3a" not in answer.text
    events = await api.shop.values("SELECT data FROM events")
    assert "7f3a" not in str(events)


async def test_a_change_replaces_them_and_keeps_what_it_names_with_stars(api: FakeApi, receiver: Receiver) -> None:
    path = await created(api, receiver)
    changed = await api.live.put(path, json={"headers": {"x-shop": "***", "X-New": "1"}})
    assert changed.json()["data"]["headers"] == {"x-shop": "***", "X-New": "***"}
    receiver.script(Answer(200), Answer(200))
    await api.live.post(f"{path}/test")
    assert own(receiver.requests[0]) == {"x-shop": "Ama's\tshop", "x-new": "1"}
    assert (await api.live.put(path, json={"headers": {}})).json()["data"]["headers"] == {}
    await api.live.post(f"{path}/test")
    assert own(receiver.requests[1]) == {}


async def test_another_host_does_not_get_them_unless_they_are_given_again(api: FakeApi, receiver: Receiver) -> None:
    path = await created(api, receiver)
    moved = await api.live.put(path, json={"url": receiver.url("/new")})
    assert moved.json()["data"]["headers"] == SHOWN  # the same host
    api.resolver.names["other.example"] = ["93.184.215.14"]
    other = {"url": "https://other.example/hook"}
    refused = await api.live.put(path, json={**other, "headers": {"X-Shop": "***", "X-New": "1"}})
    assert refused.status_code == 422
    assert [one["field"] for one in refused.json()["error"]["details"]] == ["headers.X-Shop"]
    given = await api.live.put(path, json={**other, "headers": {"X-Shop": "again"}})
    assert given.json()["data"]["headers"] == {"X-Shop": "***"}
    back = await api.live.put(path, json={"url": receiver.url()})
    assert back.json()["data"]["headers"] == {}
    (warning,) = back.json()["meta"]["warnings"]
    assert "another host" in warning
    assert "X-Shop" in warning
    (stored,) = await api.shop.values("SELECT headers FROM endpoints")
    assert stored == "{}"


async def test_stars_without_a_stored_value_are_refused(api: FakeApi, receiver: Receiver) -> None:
    path = await created(api, receiver)
    new = {"url": receiver.url(), "headers": {"X-A": "***"}}
    for answer in (
        await api.live.put(path, json={"headers": {"X-A": "***"}}),
        await api.live.post(ENDPOINTS, json=new),
    ):
        assert answer.status_code == 422
        (detail,) = answer.json()["error"]["details"]
        assert (detail["field"], detail["code"]) == ("headers.X-A", "required")
    assert (await api.live.get(path)).json()["data"]["headers"] == SHOWN


async def test_a_person_who_sends_it_by_hand_is_not_shown_the_values(api: FakeApi, receiver: Receiver) -> None:
    await created(api, receiver)
    await owe(api.shop)
    (delivery,) = await api.shop.values("SELECT id FROM deliveries")
    signed = await api.local.post(Url.LOCAL_DELIVERY_SIGNED.format(id=delivery))
    assert signed.status_code == 200, signed.text
    assert signed.json()["data"]["headers"].items() >= SHOWN.items()


_OURS = [
    "Host",
    "host",
    "User-Agent",
    "Connection",
    "Transfer-Encoding",
    "Content-Type",
    "Content-Length",
    "content-encoding",
    "webhook-id",
    "Webhook-Signature",
    "X-Svc-Signature",
    "x-svc-test",
    "X_Svc_Event",
    "X-SVC-NEW",
    "TE",
    "Trailer",
    "Upgrade",
    "Expect",
    "Keep-Alive",
    "Date",
    "Accept-Encoding",
    "Proxy",
    "Proxy-Authorization",
]


@pytest.mark.parametrize(
    ("headers", "fields"),
    [
        *(({name: "x"}, [(f"headers.{name}", "invalid")]) for name in _OURS),
        ({"X-A": "a\r\nX-B: b"}, [("headers.X-A", "invalid")]),
        ({"X-A": "a\nb"}, [("headers.X-A", "invalid")]),
        ({"X-A": "a\0"}, [("headers.X-A", "invalid")]),
        ({"X-A": "caf\u00e9"}, [("headers.X-A", "invalid")]),
        ({"X-A\r\nX-B": "b"}, [("headers.X-A\r\nX-B", "invalid")]),
        ({"X A": "b"}, [("headers.X A", "invalid")]),
        ({"": "b"}, [("headers.", "invalid")]),
        ({"X-A": " "}, [("headers.X-A", "required")]),
        ({"X-A": 1}, [("headers.X-A", "wrong_type")]),
        ({"X-A": None}, [("headers.X-A", "wrong_type")]),
        ({"X-A": "a" * 1025}, [("headers.X-A", "too_long")]),
        ({"X-A": "1", "x-a": "2"}, [("headers.x-a", "invalid")]),
        ({f"X-{n}": "1" for n in range(11)}, [("headers", "too_long")]),
        (["X-A"], [("headers", "wrong_type")]),
        ({"Host": "a", "X-A": "b\n"}, [("headers.Host", "invalid"), ("headers.X-A", "invalid")]),
    ],
)
async def test_others_are_refused_by_their_name(
    api: FakeApi, receiver: Receiver, headers: Any, fields: list[Any]
) -> None:
    path = await created(api, receiver)
    for answer in (
        await api.live.post(ENDPOINTS, json={"url": receiver.url(), "headers": headers}),
        await api.live.put(path, json={"headers": headers}),
    ):
        assert answer.status_code == 422
        details = answer.json()["error"]["details"]
        assert [(each["field"], each["code"]) for each in details] == fields


async def test_ten_of_a_kilobyte_each_are_accepted(api: FakeApi, receiver: Receiver) -> None:
    headers = {f"X-{n}": "v" * 1024 for n in range(10)}
    path = await created(api, receiver, headers)
    receiver.script(Answer(200))
    assert (await api.live.post(f"{path}/test")).json()["success"]
    assert own(receiver.requests[0]) == {f"x-{n}": "v" * 1024 for n in range(10)}


async def test_two_names_that_a_command_gets_in_one_variable_are_refused(api: FakeApi, receiver: Receiver) -> None:
    body = {"url": receiver.url(), "headers": {"X-Shop": "a", "x_shop": "b"}}
    answer = await api.live.post(ENDPOINTS, json=body)
    assert answer.status_code == 422, answer.text
    assert "headers.x_shop" in answer.text
