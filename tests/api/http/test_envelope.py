"""The headers of every answer, and the answers to malformed requests."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from daemon.core.errors import Unavailable
from daemon.runtime.config import Config, Http
from daemon.store.engine import Store
from daemon.wire import VERSION
from tests.fakes.api import REQUEST_ID, FakeApi, running
from tests.fakes.each import each

INITIALIZE = "/v1/transactions/initialize"
JSON = {"Content-Type": "application/json"}
PLAIN = b'{"amount":"1.00","phone_number":"0241234567"}'


async def test_every_answer_has_its_id_date_and_version(api: FakeApi) -> None:
    ids = set()
    for client, path in ((api.live, "/v1/transactions"), (api.live, "/nowhere"), (api.local, "/v1")):
        answer = await client.get(path)
        assert re.fullmatch(REQUEST_ID, answer.headers["x-request-id"])
        assert answer.headers["svc-version"] == "1"
        assert answer.headers["date"] == "Sat, 21 Nov 2026 08:00:30 GMT"
        assert answer.headers["content-type"] == "application/json"
        ids.add(answer.headers["x-request-id"])
        if answer.is_error:
            assert answer.json()["meta"] == {"request_id": answer.headers["x-request-id"]}
    assert len(ids) == 3


async def test_the_socket_says_which_momo_answers(api: FakeApi) -> None:
    local, over_tcp = await api.local.get("/healthz"), await api.live.get("/healthz")
    assert (local.headers["x-momo-version"], local.headers["x-momo-protocol"]) == (VERSION, "1")
    assert local.headers["x-momo-timezone"] == "Africa/Accra"
    assert not [name for name in over_tcp.headers if name.startswith("x-momo")]
    data = {"status": "ok", "version": VERSION, "receiving": None, "receiving_reason": None}
    assert over_tcp.json() == {"success": True, "data": data}


async def test_health_needs_no_key(api: FakeApi) -> None:
    client = await api.client()
    assert (await client.get("/healthz")).status_code == 200
    assert (await client.head("/healthz")).content == b""
    refused = await client.post("/healthz")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")


@each("path", ["/", "/v1", "/v1/transactions/", "/v2/transactions", "/metrics/all", "/v1//lines"])
async def test_what_is_not_there_answers_route_not_found(api: FakeApi, path: str) -> None:
    answer = await api.live.get(path)
    assert answer.status_code == 404
    assert answer.json() == {
        "success": False,
        "error": {
            "code": "ROUTE_NOT_FOUND",
            "message": "The API has no such path.",
            "hint": "Compare the path with the API reference at `/docs`.",
            "doc_url": "/docs/errors#ROUTE_NOT_FOUND",
        },
        "meta": {"request_id": answer.headers["x-request-id"]},
    }


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", INITIALIZE, "POST"),
        ("POST", "/v1/transactions", "GET, HEAD"),
        ("DELETE", "/v1/open-collections/endpoints", "GET, HEAD, POST"),
        ("PUT", "/v1/payment-methods/x", "DELETE, GET, HEAD, PATCH"),
    ],
)
async def test_a_wrong_method_is_405_with_allow(api: FakeApi, method: str, path: str, allow: str) -> None:
    answer = await api.live.request(method, path)
    refused = answer.status_code, answer.json()["error"]["code"]
    assert refused == (405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == allow


async def test_head_is_get_without_a_body(api: FakeApi) -> None:
    answer = await api.live.head("/v1/transactions")
    assert (answer.status_code, answer.content) == (200, b"")


# Bodies -------------------------------------------------------------------------------------------------------


@each(
    ("content", "why"),
    [
        (b"", "Expecting value, line 1 column 1"),
        (b"{", "Expecting property name enclosed in double quotes, line 1 column 2"),
        (b"[]", "it is not an object"),
        (b'"text"', "it is not an object"),
        (b"null", "it is not an object"),
        (b'{"a":NaN}', "NaN is not a number"),
        (b'{"a":-Infinity}', "-Infinity is not a number"),
        (b'{"a":1e999}', "a number in it is too large"),
        (b'{"a":1,"a":2}', "it has a duplicate key"),
        (b'{"meta":{"a":1,"a":2}}', "it has a duplicate key"),
        (b'{"a":"\xff"}', "it is not UTF-8"),
        (b"\xef\xbb\xbf{}", "it begins with a byte order mark"),
        (b'{"a":"\\ud800"}', "an escape is a lone surrogate, half of a character"),
        (b'{"a":' + b"[" * 33 + b"]" * 33 + b"}", "it is nested deeper than 32"),
        (b'{"a":' + b"[" * 30_000 + b"]" * 30_000 + b"}", "it is nested deeper than 32"),
        (b'{"a":' + b"9" * 5000 + b"}", "a number in it is too large"),
        (b'{"a":-' + b"9" * 309 + b"}", "a number in it is too large"),
        (b"{'a':1}", None),
        (b'{"a":1} {"b":2}', None),
    ],
)
async def test_what_is_not_one_json_object_is_400(api: FakeApi, content: bytes, why: str | None) -> None:
    answer = await api.live.post(INITIALIZE, content=content, headers=JSON)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "INVALID_JSON")
    if why is not None:
        assert error["message"] == f"The request body is not valid JSON: {why}."


async def test_nesting_within_the_limit_is_taken(api: FakeApi) -> None:
    content = PLAIN[:-1] + b',"meta":{"a":' + b"[" * 29 + b"]" * 29 + b"}}"
    assert (await api.live.post(INITIALIZE, content=content, headers=JSON)).status_code == 201
    wide = PLAIN[:-1] + b',"meta":{"a":[' + b"[]," * 200 + b"[]]}}"
    assert (await api.live.post(INITIALIZE, content=wide, headers=JSON)).status_code == 201


async def test_text_outside_the_basic_plane_is_kept(api: FakeApi) -> None:
    content = PLAIN[:-1] + b',"meta":{"a":"\\ud83d\\ude00 \xf0\x9f\x98\x80"}}'
    answer = await api.live.post(INITIALIZE, content=content, headers=JSON)
    one = await api.live.get(f"/v1/transactions/{answer.json()['data']['reference']}")
    assert one.json()["data"]["meta"] == {"a": "😀 😀"}


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""])
async def test_another_media_type_is_415(api: FakeApi, kind: str) -> None:
    answer = await api.live.post(INITIALIZE, content=PLAIN, headers={"Content-Type": kind})
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")


async def test_a_charset_beside_the_media_type_is_fine(api: FakeApi) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert (await api.live.post(INITIALIZE, content=PLAIN, headers=headers)).status_code == 201


async def test_64_kilobytes_are_taken_and_one_byte_more_is_413(api: FakeApi) -> None:
    full = PLAIN[:-1] + b" " * (64 * 1024 - len(PLAIN)) + b"}"
    assert (await api.live.post(INITIALIZE, content=full, headers=JSON)).status_code == 201
    answer = await api.live.post(INITIALIZE, content=full + b" ", headers=JSON)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "PAYLOAD_TOO_LARGE")


async def test_a_body_in_chunks_is_measured_too(api: FakeApi) -> None:
    async def chunks(count: int) -> Any:
        yield PLAIN
        for _ in range(count):
            yield b" " * 8192

    small = await api.live.post(INITIALIZE, content=chunks(7), headers=JSON)
    large = await api.live.post(INITIALIZE, content=chunks(8), headers=JSON)
    assert (small.status_code, large.status_code) == (201, 413)


async def test_the_caller_of_a_much_too_large_body_still_sees_why(api: FakeApi) -> None:
    for size in (300_000, 1_000_000):
        answer = await api.live.post(INITIALIZE, content=b" " * size, headers=JSON)
        assert answer.status_code == 413
    expecting = {**JSON, "Expect": "100-continue"}
    answer = await api.live.post(INITIALIZE, content=b" " * 100_000, headers=expecting)
    assert answer.status_code == 413


# Our own faults -----------------------------------------------------------------------------------------------


async def test_a_fault_of_ours_says_nothing_of_itself_and_is_logged(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(self: Store, job: Any) -> None:
        raise RuntimeError("secret of +233241234567")

    monkeypatch.setattr(Store, "read", broken)
    answer = await api.live.get("/v1/open-collections/lines")
    monkeypatch.undo()
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (500, "INTERNAL_ERROR")
    assert error == {
        "code": "INTERNAL_ERROR",
        "message": "Something went wrong on our side.",
        "hint": "Repeat the call; inform the operator if it fails again.",
        "doc_url": "/docs/errors#INTERNAL_ERROR",
    }
    [(event, fields)] = api.log.lines
    assert event == "api.fault"
    assert fields["request_id"] == answer.headers["x-request-id"]
    assert fields["error"] == "RuntimeError"
    assert "secret" not in json.dumps(fields)


async def test_a_full_disk_is_503_with_when_to_come_back(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(self: Store, job: Any) -> None:
        raise Unavailable("the disk is full", 30)

    monkeypatch.setattr(Store, "write", full)
    answer = await api.live.post(INITIALIZE, content=PLAIN, headers=JSON)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "UNAVAILABLE")
    assert (answer.headers["retry-after"], answer.json()["retry_after"]) == ("30", 30)


# Hosts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8420", "[::1]:1", "LOCALHOST:80"])
async def test_loopback_names_are_ours(api: FakeApi, host: str) -> None:
    assert (await api.live.get("/healthz", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "10.0.0.1", ""])
async def test_a_name_that_is_not_ours_reaches_nothing(api: FakeApi, host: str) -> None:
    for path in ("/v1/transactions", "/healthz"):
        answer = await api.live.get(path, headers={"Host": host})
        assert (answer.status_code, answer.json()["error"]["code"]) == (421, "MISDIRECTED_REQUEST")


@pytest.mark.parametrize("hosts", [[], ["localhost", "localhost"], ["localhost", "evil.example"]])
async def test_a_call_names_one_host(api: FakeApi, hosts: list[str]) -> None:
    host, _, port = api.listeners.http_address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    lines = "".join(f"Host: {name}\r\n" for name in hosts)
    writer.write(f"GET /healthz HTTP/1.1\r\n{lines}Connection: close\r\n\r\n".encode())
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"one Host header" in answer


async def test_the_public_name_is_ours(tmp_path: Path) -> None:
    config = Config(http=Http(public_base_url="https://Pay.ama.example/"))
    async with running(tmp_path, config) as api:
        answer = await api.live.post(INITIALIZE, content=PLAIN, headers={**JSON, "Host": "pay.ama.example"})
        data = answer.json()["data"]
        assert data["checkout_url"] == f"https://Pay.ama.example/pay/{data['public_slug']}"


async def test_nothing_is_said_to_other_origins(api: FakeApi) -> None:
    answer = await api.live.get("/v1/transactions", headers={"Origin": "https://evil.example"})
    assert not [name for name in answer.headers if name.startswith("access-control")]
    preflight = await api.live.options("/v1/transactions", headers={"Origin": "https://a.example"})
    assert preflight.status_code == 405


async def test_calls_at_once_are_all_answered(api: FakeApi) -> None:
    answers = await asyncio.gather(*(api.live.get("/v1/transactions") for _ in range(50)))
    assert {answer.status_code for answer in answers} == {200}


async def test_a_browser_at_the_bare_address_is_sent_to_the_dashboard(api: FakeApi) -> None:
    client = await api.client()
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    sent = await client.get("/", headers=browser)
    assert (sent.status_code, sent.headers["location"]) == (302, "/dash")
    assert (await client.get("/", headers={"Accept": "*/*"})).status_code == 404
    assert (await client.post("/", headers=browser)).status_code == 404
    assert (await client.get("/v1", headers=browser)).headers["content-type"] == "application/json"
    assert (await api.local.get("/", headers=browser)).status_code == 404
