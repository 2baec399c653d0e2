"""Difficult clients: slow, silent, endless or many connections, and bytes that are no HTTP."""

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from daemon.api.http import listeners as module
from tests.api.http.test_listeners import HEALTH, answer_to, connect
from tests.fakes.api import FakeApi, running
from tests.fakes.each import each


async def read_one(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Read one answer of a connection that stays open: status line and body."""
    async with asyncio.timeout(10):
        head = await reader.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
        body = await reader.readexactly(int(fields[b"content-length"]))
    return head.partition(b"\r\n")[0], body


async def connect_by(api: FakeApi, way: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if way == "tcp":
        return await connect(api)
    return await asyncio.open_unix_connection(api.socket_path)


async def answer_by(api: FakeApi, way: str, request: bytes) -> tuple[int, dict[str, Any]]:
    """Send bytes over TCP or the Unix socket; return the status and the body of the answer."""
    reader, writer = await connect_by(api, way)
    writer.write(request)
    async with asyncio.timeout(10):
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    assert b"x-request-id: req_" in head.lower()
    return int(head.split()[1]), json.loads(body)


@each("way", ["tcp", "unix"])
@each(
    "nonsense",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"GET / FTP/9\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
    ],
)
async def test_what_is_not_http_is_400_in_our_envelope(api: FakeApi, way: str, nonsense: bytes) -> None:
    status, body = await answer_by(api, way, nonsense)
    assert (status, body["error"]["code"]) == (400, "MALFORMED_REQUEST")
    assert body["success"] is False


@each("way", ["tcp", "unix"])
@each(
    "large",
    [
        b"X-Pad: " + b"a" * 33_000 + b"\r\n\r\n",
        b"X-Pad: " + b"a" * 3_000_000 + b"\r\n\r\n",
        b"".join(b"X-%d: %d\r\n" % (i, i) for i in range(3_000)) + b"\r\n",
        b"Cookie: " + b"a" * 600_000,
    ],
)
async def test_headers_above_the_limit_are_431_and_the_client_gets_the_answer(
    api: FakeApi, way: str, large: bytes
) -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + large
    status, body = await answer_by(api, way, request)
    assert (status, body["error"]["code"]) == (431, "HEADERS_TOO_LARGE")
    assert body["error"]["hint"].startswith("Send fewer")


@pytest.mark.parametrize("way", ["tcp", "unix"])
async def test_headers_within_the_limit_are_taken_in_pieces_too(api: FakeApi, way: str) -> None:
    reader, writer = await connect_by(api, way)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n")
    for number in range(30):
        writer.write(b"X-%d: " % number + b"a" * 1000 + b"\r\n")
        await writer.drain()
        await asyncio.sleep(0)
    writer.write(b"\r\n")
    async with asyncio.timeout(10):
        assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
    writer.close()


async def test_endless_headers_are_cut_off(api: FakeApi) -> None:
    reader, writer = await connect(api)
    writer.write(b"GET / HTTP/1.1\r\n")
    answer = b""
    # Data on its way when the server closed may turn its answer into a reset.
    with contextlib.suppress(ConnectionError):
        for _ in range(40):
            writer.write(b"X-Pad: " + b"a" * 1000 + b"\r\n")
            await writer.drain()
        async with asyncio.timeout(10):
            answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 431 ") or answer == b""
    writer.close()


async def test_a_large_body_in_one_piece_is_no_endless_header(api: FakeApi) -> None:
    body = b'{"amount":"1.00","phone_number":"0241234567","description":"' + b"x" * 50_000 + b'"}'
    head = (
        b"POST /v1/transactions/initialize HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        b"Content-Type: application/json\r\nAuthorization: %b\r\nContent-Length: %d\r\n\r\n"
    ) % (api.live.headers["authorization"].encode(), len(body))
    assert (await answer_to(api, head + body)).startswith(b"HTTP/1.1 422 ")


@pytest.mark.parametrize("start", [b"", b"\r\n", b"GET / HT", HEALTH[:-2], HEALTH + b"GET"])
async def test_a_slow_client_is_let_go(tmp_path: Path, start: bytes) -> None:
    async with running(tmp_path) as api:
        api.listeners._limits.request_s_max = 0.05
        answer = await answer_to(api, start)
        assert answer.count(b"HTTP/1.1 ") == start.count(HEALTH)


async def test_a_slow_body_is_let_go_and_changes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as api:
        api.listeners._limits.request_s_max = 0.05
        head = (
            b"POST /v1/transactions/initialize HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\nAuthorization: %b\r\nContent-Length: 100\r\n\r\n{"
        ) % api.live.headers["authorization"].encode()
        assert await answer_to(api, head) == b""
        assert api.log.lines == []


async def test_a_silent_connection_is_closed_between_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEEP_ALIVE_S", 0.05)
    async with running(tmp_path) as api:
        assert (await answer_to(api, HEALTH)).startswith(b"HTTP/1.1 200 ")


async def test_one_connection_too_many_is_refused_politely(tmp_path: Path) -> None:
    async with running(tmp_path, connections=3) as api:
        held = [await connect(api) for _ in range(3)]
        for _ in range(50):  # until the server has seen them all
            if api.listeners._limits.tcp_now == 3:
                break
            await asyncio.sleep(0.01)
        answer = await answer_to(api, b"")
        assert answer.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        assert b"Retry-After: 1\r\n" in answer
        assert b'"code":"UNAVAILABLE"' in answer
        # The Unix socket still accepts connections.
        assert (await api.local.get("/healthz")).status_code == 200
        for _, writer in held:
            writer.close()
            await writer.wait_closed()
        reader, writer = await connect(api)
        writer.write(HEALTH)
        assert (await read_one(reader))[0] == b"HTTP/1.1 200 OK"
        writer.close()


async def test_pipelined_requests_are_answered_in_order(api: FakeApi) -> None:
    reader, writer = await connect(api)
    nowhere = HEALTH.replace(b"/healthz", b"/nowhere")
    writer.write(HEALTH + nowhere + HEALTH)
    statuses = [(await read_one(reader))[0] for _ in range(3)]
    assert statuses == [b"HTTP/1.1 200 OK", b"HTTP/1.1 404 Not Found", b"HTTP/1.1 200 OK"]
    writer.close()


async def test_expect_100_continue_is_honoured(api: FakeApi) -> None:
    body = b'{"amount":"1.00","phone_number":"0241234567"}'
    reader, writer = await connect(api)
    writer.write(
        b"POST /v1/transactions/initialize HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
        b"Content-Type: application/json\r\nAuthorization: %b\r\nContent-Length: %d\r\n\r\n"
        % (api.live.headers["authorization"].encode(), len(body))
    )
    async with asyncio.timeout(10):
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(body)
    assert (await read_one(reader))[0] == b"HTTP/1.1 201 Created"
    writer.close()


async def test_one_who_says_no_more_is_still_answered(api: FakeApi) -> None:
    """A half-closed connection (RFC 9112, 9.6): the request is whole, only the caller's side has ended."""
    reader, writer = await connect(api)
    writer.write(HEALTH)
    writer.write_eof()
    async with asyncio.timeout(10):
        answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    writer.close()


async def test_a_request_line_of_100_kilobytes_is_431(api: FakeApi) -> None:
    reader, writer = await connect(api)
    answer = b""
    # Data on its way when the server closed may turn its answer into a reset.
    with contextlib.suppress(ConnectionError):
        writer.write(b"GET /v1/transactions?phone_number=" + b"2" * 100_000 + b" HTTP/1.1\r\n\r\n")
        async with asyncio.timeout(10):
            answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 431 ") or answer == b""
    assert (await api.local.get("/healthz")).status_code == 200
    writer.close()


async def test_an_upgrade_is_not_taken_up(api: FakeApi) -> None:
    request = HEALTH[:-2] + b"Connection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n"
    assert (await answer_to(api, request)).startswith(b"HTTP/1.1 200 OK\r\n")


async def test_stopping_lets_a_running_call_end(api: FakeApi) -> None:
    body = b'{"amount":"1.00","phone_number":"0241234567"}'
    reader, writer = await connect(api)
    writer.write(
        b"POST /v1/transactions/initialize HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\nAuthorization: %b\r\nContent-Length: %d\r\n\r\n"
        % (api.live.headers["authorization"].encode(), len(body))
    )
    writer.write(body[:10])
    await writer.drain()
    while not api.listeners._limits.connections:  # noqa: ASYNC110 -- the table of connections has no event
        await asyncio.sleep(0)
    await api.live.get("/healthz")
    stopping = asyncio.create_task(api.listeners.stop())
    await asyncio.sleep(0)
    writer.write(body[10:])
    assert (await read_one(reader))[0] == b"HTTP/1.1 201 Created"
    await stopping
    assert not Path(api.socket_path).exists()
    writer.close()
