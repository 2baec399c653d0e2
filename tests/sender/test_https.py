"""Attempts against real receivers over TLS on loopback: normal answers, and connections that break."""

import asyncio
import inspect
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.webhooks.delivery import ANSWER_KEPT_BYTES_MAX, AttemptOutcome, DeliveryError
from daemon.sender import connect, connection, https
from daemon.sender.https import ANSWER_BYTES_MAX, Sender
from tests.fakes.clock import FakeClock
from tests.fakes.receiver import DROP, HANG, Answer, Receiver
from tests.fakes.signed_webhook import BODY, LOCAL, MakeSender, headers, post, summary


def test_the_times_and_sizes_are_the_published_ones() -> None:
    given = inspect.signature(Sender).parameters
    assert (given["connect_timeout_s"].default, given["timeout_s"].default) == (5.0, 15.0)
    assert connect.RESOLVE_S == 5.0
    assert (ANSWER_BYTES_MAX, ANSWER_KEPT_BYTES_MAX) == (64 * 1024, 8 * 1024)


async def test_a_post_arrives_byte_for_byte_signed_and_plain(receiver: Receiver, make_sender: MakeSender) -> None:
    outcome = await post(make_sender(), receiver.url("/hook?a=%20b&c"))
    assert replace(outcome, duration_us=0) == AttemptOutcome(200, "ok", None, None, 0, None, True)
    assert 0 < outcome.duration_us < 5_000_000
    (request,) = receiver.requests
    assert (request.method, request.path, request.body) == ("POST", "/hook?a=%20b&c", BODY)
    assert request.verified is True
    signed = {name.lower(): value for name, value in headers().items()}
    assert request.headers == signed | {
        "host": f"localhost:{receiver.port}",
        "accept": "*/*",
        "accept-encoding": "identity",
        "connection": "keep-alive",
        "content-length": str(len(BODY)),
    }


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (204, None, None),
        (302, DeliveryError.REDIRECT, "the receiver answered 302; redirects are not followed"),
        (404, DeliveryError.HTTP_ERROR, "the receiver answered 404"),
        (503, DeliveryError.HTTP_ERROR, "the receiver answered 503"),
        (700, DeliveryError.PROTOCOL_ERROR, "the receiver answered 700"),
    ],
)
async def test_each_kind_of_status(
    receiver: Receiver, make_sender: MakeSender, status: int, code: DeliveryError | None, message: str | None
) -> None:
    body = b"" if status == 204 else "why ☹".encode()
    receiver.script(Answer(status, headers=(("Retry-After", "120"),), body=body))
    outcome = await post(make_sender(), receiver.url())
    assert replace(outcome, duration_us=0) == AttemptOutcome(status, body.decode(), code, message, 0, 120, True)


async def test_warm_connections_are_reused(receiver: Receiver, make_sender: MakeSender) -> None:
    sender = make_sender()
    for _ in range(5):
        assert (await post(sender, receiver.url())).status_code == 200
    assert [request.connection for request in receiver.requests] == [1, 1, 1, 1, 1]


async def test_each_post_on_a_warm_connection_has_the_whole_time_limit(
    receiver: Receiver, make_sender: MakeSender
) -> None:
    sender = make_sender(timeout_s=0.5)
    receiver.script(*(Answer(200, delay_s=delay_s) for delay_s in (0.0, 0.3, 0.3, 2.0)))
    outcomes = [await post(sender, receiver.url()) for _ in range(4)]
    assert [outcome.status_code for outcome in outcomes] == [200, 200, 200, None]
    assert outcomes[3].error_code is DeliveryError.TIMEOUT
    assert 450_000 <= outcomes[3].duration_us < 1_500_000
    assert {request.connection for request in receiver.requests} == {1}


async def test_a_connection_whose_check_is_old_is_not_reused(
    receiver: Receiver, make_sender: MakeSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(https, "CHECK_S", -1.0)
    sender = make_sender()
    for _ in range(2):
        assert (await post(sender, receiver.url())).status_code == 200
    assert [request.connection for request in receiver.requests] == [1, 2]


@pytest.mark.parametrize(("own", "sent"), [({}, [b"*/*"]), ({"accept": "text/x"}, [b"text/x"])])
async def test_an_unused_connection_is_closed_in_time_and_an_accept_of_the_endpoint_replaces_ours(
    certificates: Path, monkeypatch: pytest.MonkeyPatch, own: dict[str, str], sent: list[bytes]
) -> None:
    monkeypatch.setattr(https, "CHECK_S", 0.2)
    closed = asyncio.Event()
    head = bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head.extend(await reader.readuntil(b"\r\n\r\n"))
        await reader.readexactly(len(BODY))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        if await reader.read() == b"":
            closed.set()

    receiver = Receiver(certificates)
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=receiver.context())
    sender = Sender(LOCAL, receiver.ca_file)
    url = f"https://localhost:{server.sockets[0].getsockname()[1]}/"
    assert (await sender.post(url, headers() | own, BODY)).status_code == 200
    fields = [line.partition(b": ") for line in head.splitlines()]
    assert [value for name, _, value in fields if name.lower() == b"accept"] == sent
    async with asyncio.timeout(30):
        await closed.wait()
    await sender.aclose()
    server.close()


async def test_a_connection_that_slept_with_the_machine_is_not_reused(
    receiver: Receiver, make_sender: MakeSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    monkeypatch.setattr(connection, "CLOCK", clock)
    sender = make_sender()
    for asleep_s in (0.0, 30.0, https.CHECK_S):
        clock.sleep(asleep_s)  # the monotonic hand stands still
        assert (await post(sender, receiver.url())).status_code == 200
    assert [request.connection for request in receiver.requests] == [1, 1, 2]


async def test_posts_at_the_same_time_do_not_mix(receiver: Receiver, make_sender: MakeSender) -> None:
    sender = make_sender()
    receiver.choose = lambda request: Answer(
        200 if "ok" in request.path else 503, body=request.path.encode(), delay_s=0.02
    )
    paths = [f"/{'ok' if number % 2 else 'no'}/{number}" for number in range(20)]
    outcomes = await asyncio.gather(*(post(sender, receiver.url(path)) for path in paths))
    assert [outcome.response_body for outcome in outcomes] == paths
    assert [outcome.status_code for outcome in outcomes] == [503, 200] * 10


async def test_cookies_are_not_carried(receiver: Receiver, make_sender: MakeSender) -> None:
    sender = make_sender()
    receiver.script(Answer(headers=(("Set-Cookie", "session=1; Path=/"),)))
    for _ in range(2):
        await post(sender, receiver.url())
    assert "cookie" not in receiver.requests[1].headers


async def test_proxies_of_the_environment_are_not_used(
    receiver: Receiver, make_sender: MakeSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert (await post(make_sender(), receiver.url())).status_code == 200


async def test_cancelling_an_attempt_cancels_it(receiver: Receiver, make_sender: MakeSender) -> None:
    sender = make_sender()
    receiver.script(HANG)
    task = asyncio.create_task(post(sender, receiver.url()))
    await asyncio.to_thread(receiver.wait_for, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await post(sender, receiver.url())).status_code == 200


async def test_a_missing_ca_file_is_said_and_retried(make_sender: MakeSender) -> None:
    sender = make_sender(ca_file="/nowhere/ca.pem")
    for _ in range(2):
        outcome = await post(sender, "https://localhost/")
        assert summary(outcome) == (None, DeliveryError.TLS_ERROR, False)
        assert outcome.error_message is not None
        assert outcome.error_message.startswith("ca_file /nowhere/ca.pem cannot be used: ")


async def test_a_warm_connection_closed_meanwhile_is_not_a_failed_attempt(
    receiver: Receiver, make_sender: MakeSender
) -> None:
    sender = make_sender()
    assert (await post(sender, receiver.url())).status_code == 200
    receiver.close_connections()
    assert (await post(sender, receiver.url())).status_code == 200
    assert [request.connection for request in receiver.requests] == [1, 2]


async def test_a_warm_connection_that_dies_under_the_request_gets_one_fresh_try(
    receiver: Receiver, make_sender: MakeSender
) -> None:
    sender = make_sender()
    receiver.script(Answer(), DROP)
    for _ in range(2):
        assert summary(await post(sender, receiver.url())) == (200, None, True)
    assert [request.connection for request in receiver.requests] == [1, 1, 2]
    assert receiver.requests[1].body == receiver.requests[2].body == BODY


async def test_the_fresh_try_is_the_last(receiver: Receiver, make_sender: MakeSender) -> None:
    sender = make_sender()
    receiver.script(Answer(), DROP, DROP)
    await post(sender, receiver.url())
    outcome = await post(sender, receiver.url())
    assert summary(outcome) == (None, DeliveryError.CONNECTION_RESET, True)
    assert len(receiver.requests) == 3


async def test_a_fresh_connection_that_dies_is_a_failed_attempt(receiver: Receiver, make_sender: MakeSender) -> None:
    receiver.script(DROP)
    outcome = await post(make_sender(), receiver.url())
    assert summary(outcome) == (None, DeliveryError.CONNECTION_RESET, True)
    assert len(receiver.requests) == 1


async def test_a_warm_connection_that_began_to_answer_gets_no_fresh_try(
    receiver: Receiver, make_sender: MakeSender
) -> None:
    sender = make_sender()
    receiver.script(Answer(), Answer(raw=b"HTTP/1.1 200 OK\r\nContent-", close=True))
    await post(sender, receiver.url())
    outcome = await post(sender, receiver.url())
    assert summary(outcome) == (None, DeliveryError.PROTOCOL_ERROR, True)
    assert len(receiver.requests) == 2
