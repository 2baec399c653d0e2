"""The journal as a stream of server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from starlette.types import Message

from daemon.api.upkeep.event_stream import EventStream
from daemon.store import journal
from daemon.store.engine import Tx
from daemon.wire import Mode, Scope
from tests.fakes.api import FakeApi
from tests.fakes.receipts import mtn
from tests.fakes.validation_errors import wrong_fields

PATH = "/v1/events"


async def read(response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    """Read a stream by the rules of the HTML standard; a comment comes as {}."""
    event: dict[str, Any] = {}
    async for line in response.aiter_lines():
        if line.startswith(":"):
            yield {}
        elif line:
            name, _, value = line.partition(": ")
            event[name] = json.loads(value) if name == "data" else value
        elif event:
            # An id alone, where the stream begins, is no event.
            if set(event) != {"id"}:
                yield event
            event = {}


async def test_what_was_before_and_what_comes_after(api: FakeApi) -> None:
    before = (await api.shop.values("SELECT MAX(seq) FROM events"))[0]
    request = await api.shop.request(2500)
    async with asyncio.timeout(10), api.local.stream("GET", f"{PATH}?since={before}") as response:
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        events = read(response)
        assert await anext(events) == {}
        first = await anext(events)
        assert first == {
            "id": first["id"],
            "event": "transaction.created",
            "data": {
                "id": first["id"],
                "type": "transaction.created",
                "at": "2026-11-21T08:00:30.000Z",
                "actor": "socket:0",
                "test": False,
                "reference": request.reference,
                "svc_code": request.svc_code,
                "status": "PENDING",
                "expected_amount": "25.00",
                "actual_amount": None,
                "difference": None,
                "difference_type": None,
                "currency": "GHS",
                "payer_phone": "+233241234567",
                "payer_name": None,
                "payer_source": {"phone_number": "request", "name": None},
                "created_at": "2026-11-21T08:00:30.000Z",
                "completed_at": None,
                "origin": "request",
                "reversed_at": None,
                "transaction_id": request.id,
                "payment_id": None,
                "message_id": None,
                "endpoint_id": None,
                "details": {"expected_amount": "25.00", "currency": "GHS"},
            },
        }
        await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, str(request.svc_code), "93214500001"))
        seen = []
        async for event in events:
            seen.append(event)
            if event["event"] == "transaction.verified":
                break
        assert seen[-1]["data"]["status"] == "SUCCESS"
        ids = [int(event["id"]) for event in (first, *seen)]
        assert ids == sorted(set(ids))


async def test_without_since_it_begins_now(api: FakeApi) -> None:
    await api.shop.request(2500)
    async with asyncio.timeout(10), api.local.stream("GET", PATH) as response:
        events = read(response)
        assert await anext(events) == {}
        request = await api.shop.request(900)
        assert (await anext(events))["data"]["reference"] == request.reference


async def test_last_event_id_goes_on_where_it_ended(api: FakeApi) -> None:
    await api.shop.request(2500)
    second = await api.shop.request(900)
    last = (await api.shop.values("SELECT MAX(seq) FROM events"))[0]
    headers = {"Last-Event-ID": str(last - 1)}
    async with asyncio.timeout(10), api.local.stream("GET", f"{PATH}?since=0", headers=headers) as response:
        events = read(response)
        assert await anext(events) == {}
        assert (await anext(events))["data"]["reference"] == second.reference


async def test_one_order_can_be_followed(api: FakeApi) -> None:
    await api.shop.request(2500)
    wanted = await api.shop.request(900)
    query = {"since": "0", "reference": wanted.reference}
    async with asyncio.timeout(10), api.local.stream("GET", PATH, params=query) as response:
        events = read(response)
        assert await anext(events) == {}
        assert (await anext(events))["data"]["reference"] == wanted.reference


async def test_a_long_journal_comes_whole(api: FakeApi) -> None:
    for _ in range(120):
        await api.shop.request(100)
    async with asyncio.timeout(20), api.local.stream("GET", f"{PATH}?since=0") as response:
        references = set()
        async for event in read(response):
            if event:
                references.add(event["data"].get("reference"))
            if len(references) == 120:
                break


async def test_a_silent_stream_is_kept_alive(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.runtime.sse.KEEP_ALIVE_S", 0.01)
    async with asyncio.timeout(10), api.local.stream("GET", PATH) as response:
        comments = []
        async for line in response.aiter_lines():
            if line.startswith(":"):
                comments.append(line)
            if len(comments) == 3:
                break
    assert comments == [": open", ": still here", ": still here"]


async def test_streams_end_when_the_daemon_stops(api: FakeApi) -> None:
    async with asyncio.timeout(10), api.local.stream("GET", PATH) as response:
        events = read(response)
        assert await anext(events) == {}
        await api.listeners.stop()
        assert [event async for event in events] == []


@pytest.mark.parametrize("query", [{}, {"since": "0"}])
async def test_without_the_database_a_stream_is_503_and_is_not_opened(query: dict[str, str], api: FakeApi) -> None:
    await asyncio.to_thread(api.shop.env.store.disconnect)
    async with asyncio.timeout(10), api.local.stream("GET", PATH, params=query) as response:
        assert response.status_code == 503


@pytest.mark.parametrize("since", ["x", "-1", "1.5"])
async def test_a_wrong_since_is_422(api: FakeApi, since: str) -> None:
    answer = await api.local.get(PATH, params={"since": since})
    assert answer.status_code == 422


async def test_a_wrong_last_event_id_is_named_as_the_header_that_it_is(api: FakeApi) -> None:
    answer = await api.local.get(PATH, params={"since": "0"}, headers={"Last-Event-ID": "x"})
    assert wrong_fields(answer) == ["Last-Event-ID"]


@pytest.mark.parametrize("reference", ["nonsense", "svc_trx_" + "0" * 32])
async def test_an_unknown_order_is_404(api: FakeApi, reference: str) -> None:
    answer = await api.local.get(PATH, params={"reference": reference})
    assert answer.json()["error"]["code"] == "TRANSACTION_NOT_FOUND"


async def types(client: httpx.AsyncClient, count: int) -> list[str]:
    found = []
    async with asyncio.timeout(10), client.stream("GET", f"{PATH}?since=0") as response:
        async for event in read(response):
            found += [event["event"]] if event else []
            if len(found) == count:
                break
    return found


async def test_a_key_sees_what_happens_to_transactions_of_its_mode_and_nothing_else(api: FakeApi) -> None:
    body = {"amount": "5.00", "phone_number": "0244000111"}
    assert (await api.test.post("/v1/transactions/initialize", json=body)).status_code == 201
    request = await api.shop.request(2500)
    balance = api.shop.wallet(2500)
    code = request.svc_code or ""
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", balance, code, "93214500001"))
    live = await types(api.live, 2)
    assert live[0] == "transaction.created"
    assert all(kind.startswith("transaction.") for kind in live)
    assert await types(api.test, 1) == ["transaction.created"]
    everything = await types(api.local, 4)
    assert everything[0] == "sim.found"


async def test_a_key_needs_to_be_allowed_to_read(api: FakeApi) -> None:
    client = await api.client(await api.key(Mode.LIVE, Scope.WEBHOOKS_MANAGE))
    assert (await client.get(PATH)).json()["error"]["required_scopes"] == ["transactions:read"]


async def test_a_test_request_is_not_there_for_a_live_key(api: FakeApi) -> None:
    body = {"amount": "5.00", "phone_number": "0244000111"}
    made = await api.test.post("/v1/transactions/initialize", json=body)
    reference = made.json()["data"]["reference"]
    answer = await api.live.get(f"{PATH}?reference={reference}")
    assert answer.json()["error"]["code"] == "TRANSACTION_NOT_FOUND"


async def test_events_that_a_key_may_not_see_are_passed_over_by_the_hundred(api: FakeApi) -> None:
    def job(tx: Tx) -> None:
        for _ in range(250):
            journal.add(tx, "password.wrong", 0)

    await api.shop.env.store.write(job)
    await api.shop.request(2500)
    assert await types(api.live, 1) == ["transaction.created"]


async def test_a_caller_who_is_gone_before_the_first_byte_leaves_no_subscription(api: FakeApi) -> None:
    store = api.shop.env.store
    before = list(store._listeners)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        raise OSError("the connection is gone")

    stream = EventStream(api.application._service, 0, None, lambda _event: True)
    with pytest.raises(OSError, match="the connection is gone"):
        await stream({"type": "http"}, receive, send)
    assert store._listeners == before


ODD = ("", "0", "00", "-1", "1.5", "1e3", "x", "9" * 18, "9" * 19, "\u0661", "%00", "a" * 300)
NEVER_SEEN = ("400", "431", "500", "503")
"""400 and 431 are answers of the listener, which these calls do not pass through."""


async def test_each_answer_to_made_up_calls_is_one_of_the_document_s(api: FakeApi) -> None:
    """Schemathesis tests every other path, but it waits for the end of an answer and a stream does not end."""
    request = await api.shop.request(2500)
    said = api.openapi.operation("GET", PATH)
    assert said is not None
    weak = await api.client(await api.key(Mode.LIVE, Scope.WEBHOOKS_MANAGE))
    nobody = await api.client()
    references = ("", request.reference, request.reference.upper(), "svc_trx_", "x" * 300, "\0")
    calls: list[tuple[httpx.AsyncClient, dict[str, Any], dict[str, str]]] = [
        (api.live, {"since": since, "reference": request.reference}, {}) for since in ODD
    ]
    calls += [(api.live, {"since": "0", "reference": reference}, {}) for reference in references]
    calls += [(api.live, {}, {"Last-Event-ID": since}) for since in ODD if since.isascii()]
    calls += [(api.local, {}, {"Svc-Mode": mode}) for mode in ("live", "test", "", "both")]
    calls += [(api.live, {}, {"Host": "evil.example"})]
    calls += [(weak, {}, {}), (nobody, {}, {}), (api.live, {"since": ["1", "2"]}, {})]
    seen = set()
    for client, query, headers in calls:
        async with asyncio.timeout(10), client.stream("GET", PATH, params=query, headers=headers) as response:
            # The client's hook checks the answer against the document.
            seen.add(str(response.status_code))
            if response.status_code == 200:
                assert await anext(response.aiter_lines()) == ": open"
    fast = await api.client(await api.key(Mode.TEST))
    for _ in range(api.shop.env.config.limits.burst + 1):
        limited = await fast.get(f"{PATH}?since=x")
    seen.add(str(limited.status_code))
    assert seen == set(said["responses"]) - set(NEVER_SEEN)
