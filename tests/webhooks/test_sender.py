"""Attempts against real receivers over TLS on loopback, well-behaved and hostile."""

import asyncio
import datetime as dt
import errno
import gzip
import inspect
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.core.delivery import DeliveryError, Outcome
from daemon.core.signing import make_secret, sign
from daemon.webhooks import dial, streams
from daemon.webhooks.addresses import PUBLIC_ONLY, AddressPolicy
from daemon.webhooks.answer import BODY_BYTES_MAX, TEXT_BYTES_MAX, retry_after_s
from daemon.webhooks.dial import connect_socket
from daemon.webhooks.resolver import SystemResolver
from daemon.webhooks.sender import Sender
from tests.fakes.receiver import DROP, HANG, Answer, Receiver

SECRET = make_secret(bytes(range(32)))
BODY = '{"webhook_id":"ocl_0123456789abcdefghijklmn","amount":"25.00","name":"Akosua ɔ"}'.encode()
LOCAL = AddressPolicy.from_settings(["localhost", "127.0.0.1"])

MakeSender = Callable[..., Sender]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One CA for the module: making it is slower than most tests."""
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture
def receiver(certificates: Path) -> Iterator[Receiver]:
    with Receiver(certificates, secrets=[SECRET]) as running:
        yield running


@pytest.fixture
async def make_sender(receiver: Receiver) -> AsyncIterator[MakeSender]:
    made: list[Sender] = []

    def make(policy: AddressPolicy = LOCAL, **settings: object) -> Sender:
        settings = {"ca_file": receiver.ca_file, "timeout_s": 5.0, **settings}
        made.append(Sender(policy, **settings))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for sender in made:
        await sender.aclose()


def headers(body: bytes = BODY) -> dict[str, str]:
    stamp = 1_767_225_600
    return {
        "Content-Type": "application/json",
        "User-Agent": "momo-webhooks/1",
        "X-Svc-Event": "transaction.forwarded",
        **sign([SECRET], webhook_id="ocl_0123456789abcdefghijklmn", timestamp=stamp, body=body),
    }


async def post(sender: Sender, url: str) -> Outcome:
    return await sender.post(url, headers(), BODY)


def judged(outcome: Outcome) -> tuple[int | None, DeliveryError | None, bool]:
    return outcome.status_code, outcome.error_code, outcome.connected


def test_the_times_and_sizes_are_the_published_ones() -> None:
    given = inspect.signature(Sender).parameters
    assert (given["connect_timeout_s"].default, given["timeout_s"].default) == (5.0, 15.0)
    assert dial.RESOLVE_S == 5.0
    assert (BODY_BYTES_MAX, TEXT_BYTES_MAX) == (64 * 1024, 8 * 1024)


# Ordinary days.


async def test_a_post_arrives_byte_for_byte_signed_and_plain(
    receiver: Receiver, make_sender: MakeSender
) -> None:
    outcome = await post(make_sender(), receiver.url("/hook?a=%20b&c"))
    assert replace(outcome, duration_us=0) == Outcome(200, "ok", None, None, 0, None, True)
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
    receiver: Receiver,
    make_sender: MakeSender,
    status: int,
    code: DeliveryError | None,
    message: str | None,
) -> None:
    body = b"" if status == 204 else "why ☹".encode()
    receiver.script(Answer(status, headers=(("Retry-After", "120"),), body=body))
    outcome = await post(make_sender(), receiver.url())
    assert replace(outcome, duration_us=0) == Outcome(
        status, body.decode(), code, message, 0, 120, True
    )


async def test_warm_connections_are_reused(receiver: Receiver, make_sender: MakeSender) -> None:
    sender = make_sender()
    for _ in range(5):
        assert (await post(sender, receiver.url())).status_code == 200
    assert [request.connection for request in receiver.requests] == [1, 1, 1, 1, 1]


async def test_a_connection_whose_check_is_old_is_not_reused(
    receiver: Receiver, make_sender: MakeSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "CHECK_S", -1.0)
    sender = make_sender()
    for _ in range(2):
        assert (await post(sender, receiver.url())).status_code == 200
    assert [request.connection for request in receiver.requests] == [1, 2]


async def test_posts_at_the_same_time_do_not_mix(
    receiver: Receiver, make_sender: MakeSender
) -> None:
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


async def test_cancelling_an_attempt_cancels_it(
    receiver: Receiver, make_sender: MakeSender
) -> None:
    sender = make_sender()
    receiver.script(HANG)
    task = asyncio.create_task(post(sender, receiver.url()))
    await asyncio.to_thread(receiver.wait_for, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await post(sender, receiver.url())).status_code == 200


def test_httpx_is_not_loaded_before_the_first_attempt() -> None:
    code = (
        "import sys, daemon.webhooks.sender as s; s.Sender(); "
        "print([m for m in ('httpx', 'httpcore', 'h11', 'anyio') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


async def test_a_missing_ca_file_is_said_and_retried(make_sender: MakeSender) -> None:
    sender = make_sender(ca_file="/nowhere/ca.pem")
    for _ in range(2):
        outcome = await post(sender, "https://localhost/")
        assert judged(outcome) == (None, DeliveryError.TLS_ERROR, False)
        assert outcome.error_message is not None
        assert outcome.error_message.startswith("ca_file /nowhere/ca.pem cannot be used: ")


# Connections that die.


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
        assert judged(await post(sender, receiver.url())) == (200, None, True)
    assert [request.connection for request in receiver.requests] == [1, 1, 2]
    assert receiver.requests[1].body == receiver.requests[2].body == BODY


async def test_the_fresh_try_is_the_last(receiver: Receiver, make_sender: MakeSender) -> None:
    sender = make_sender()
    receiver.script(Answer(), DROP, DROP)
    await post(sender, receiver.url())
    outcome = await post(sender, receiver.url())
    assert judged(outcome) == (None, DeliveryError.CONNECTION_RESET, True)
    assert len(receiver.requests) == 3


async def test_a_fresh_connection_that_dies_is_a_failed_attempt(
    receiver: Receiver, make_sender: MakeSender
) -> None:
    receiver.script(DROP)
    outcome = await post(make_sender(), receiver.url())
    assert judged(outcome) == (None, DeliveryError.CONNECTION_RESET, True)
    assert len(receiver.requests) == 1


async def test_a_warm_connection_that_began_to_answer_gets_no_fresh_try(
    receiver: Receiver, make_sender: MakeSender
) -> None:
    sender = make_sender()
    receiver.script(Answer(), Answer(raw=b"HTTP/1.1 200 OK\r\nContent-", close=True))
    await post(sender, receiver.url())
    outcome = await post(sender, receiver.url())
    assert judged(outcome) == (None, DeliveryError.PROTOCOL_ERROR, True)
    assert len(receiver.requests) == 2


# Hostile receivers.


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (Answer(raw=b"", close=True), (None, DeliveryError.CONNECTION_RESET, True)),
        (
            Answer(raw=b"BLAH BLAH\r\n\r\n", close=True),
            (None, DeliveryError.PROTOCOL_ERROR, True),
        ),
        (
            Answer(raw=bytes(range(256)) * 4, close=True),
            (None, DeliveryError.PROTOCOL_ERROR, True),
        ),
        (
            Answer(raw=b"<html>HTTP/0.9</html>", close=True),
            (None, DeliveryError.PROTOCOL_ERROR, True),
        ),
        (
            Answer(raw=b"HTTP/1.1 OK 200\r\n\r\n", close=True),
            (None, DeliveryError.PROTOCOL_ERROR, True),
        ),
        (
            Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", close=True),
            (None, DeliveryError.PROTOCOL_ERROR, True),
        ),
        (
            Answer(raw=b"HTTP/1.1 101 Up\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
            (None, DeliveryError.PROTOCOL_ERROR, True),
        ),
        (
            Answer(raw=b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000),
            (None, DeliveryError.PROTOCOL_ERROR, True),
        ),
        (
            Answer(raw=b"", drip=b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
            (None, DeliveryError.PROTOCOL_ERROR, True),
        ),
        # A whole head and a body that breaks off: the status is told, the attempt has failed.
        (
            Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", close=True),
            (200, DeliveryError.PROTOCOL_ERROR, True),
        ),
        (
            Answer(raw=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", close=True),
            (200, DeliveryError.PROTOCOL_ERROR, True),
        ),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, tuple) else repr(value)[-60:],
)
async def test_malformed_answers(
    receiver: Receiver,
    make_sender: MakeSender,
    answer: Answer,
    wanted: tuple[int | None, DeliveryError, bool],
) -> None:
    sender = make_sender()
    receiver.script(answer)
    assert judged(await post(sender, receiver.url())) == wanted
    assert len(receiver.requests) == 1
    assert (await post(sender, receiver.url())).status_code == 200


@pytest.mark.parametrize(
    "answer",
    [
        HANG,
        Answer(raw=b"", drip=b"H", drip_s=0.02),
        Answer(raw=b"HTTP/1.1 200 OK\r\nX: ", drip=b"y", drip_s=0.02),
        Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", drip=b"y", drip_s=0.02),
    ],
    ids=["silent", "drip", "drip in the head", "drip in the body"],
)
async def test_a_slow_answer_ends_at_the_wall_clock(
    receiver: Receiver, make_sender: MakeSender, answer: Answer
) -> None:
    receiver.script(answer)
    sender = make_sender(timeout_s=0.3)
    outcome = await post(sender, receiver.url())
    assert (outcome.error_code, outcome.connected) == (DeliveryError.TIMEOUT, True)
    assert outcome.error_message == "no whole answer within 0.3 s"
    assert 290_000 <= outcome.duration_us < 2_000_000
    assert (await post(sender, receiver.url())).status_code == 200


@pytest.mark.parametrize(
    "answer",
    [
        Answer(body=b"a" * 100_000),
        Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n", drip=b"a" * 100_000),
        Answer(
            raw=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            drip=b"2710\r\n" + b"a" * 10_000 + b"\r\n",
        ),
    ],
    ids=["large", "100 MB", "endless"],
)
async def test_no_more_than_the_limit_is_read_and_8_kib_are_kept(
    receiver: Receiver, make_sender: MakeSender, answer: Answer
) -> None:
    receiver.script(answer)
    sender = make_sender()
    outcome = await post(sender, receiver.url())
    assert judged(outcome) == (200, None, True)
    assert outcome.response_body == "a" * 8192
    assert outcome.duration_us < 2_000_000
    # What was left unread cannot pose as the next answer.
    assert (await post(sender, receiver.url())).response_body == "ok"
    assert receiver.requests[1].connection == 2


async def test_a_zip_bomb_stays_zipped(receiver: Receiver, make_sender: MakeSender) -> None:
    bomb = gzip.compress(bytes(50_000_000))
    receiver.script(Answer(headers=(("Content-Encoding", "gzip"),), body=bomb))
    outcome = await post(make_sender(), receiver.url())
    assert judged(outcome) == (200, None, True)
    assert len(outcome.response_body.encode()) <= 8192


async def test_bytes_that_are_no_text_become_text(
    receiver: Receiver, make_sender: MakeSender
) -> None:
    receiver.script(Answer(body=b"a\0b\xff\xfec"), Answer(body=b"\xff" * 9000))
    sender = make_sender()
    assert (await post(sender, receiver.url())).response_body == "a\ufffdb\ufffd\ufffdc"
    assert (await post(sender, receiver.url())).response_body == "\ufffd" * (8192 // 3)


@pytest.mark.parametrize(
    "location",
    [
        "https://localhost:{port}/other",
        "https://127.0.0.1:{port}/",
        "https://169.254.169.254/",
        "/",
    ],
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_not_followed(
    receiver: Receiver, make_sender: MakeSender, status: int, location: str
) -> None:
    target = location.format(port=receiver.port)
    receiver.script(Answer(status, headers=(("Location", target),)))
    outcome = await post(make_sender(), receiver.url())
    assert judged(outcome) == (status, DeliveryError.REDIRECT, True)
    assert [request.path for request in receiver.requests] == ["/hook"]


# TLS.


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"names": ("elsewhere.test",)}, "Hostname mismatch"),
        ({"not_after": dt.datetime(2020, 1, 1, tzinfo=dt.UTC)}, "certificate has expired"),
    ],
)
async def test_a_wrong_certificate_is_refused(
    tmp_path: Path, make_sender: MakeSender, settings: dict[str, object], why: str
) -> None:
    with Receiver(tmp_path, **settings) as wrong:  # type: ignore[arg-type]
        outcome = await post(make_sender(ca_file=wrong.ca_file), wrong.url())
    assert judged(outcome) == (None, DeliveryError.TLS_ERROR, True)
    assert why in (outcome.error_message or "")
    assert wrong.requests == []


async def test_an_unknown_authority_is_refused(receiver: Receiver, make_sender: MakeSender) -> None:
    outcome = await post(make_sender(ca_file=None), receiver.url())
    assert judged(outcome) == (None, DeliveryError.TLS_ERROR, True)
    assert receiver.requests == []


@pytest.fixture
def plain_port() -> Iterator[int]:
    """A port that answers everything in plain HTTP."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listening.getsockname()[1]
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    thread.join(5)


async def test_a_receiver_without_tls_is_refused(plain_port: int, make_sender: MakeSender) -> None:
    outcome = await post(make_sender(), f"https://localhost:{plain_port}/")
    assert judged(outcome) == (None, DeliveryError.TLS_ERROR, True)


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.mark.parametrize("limits", [{"connect_timeout_s": 0.2}, {"timeout_s": 0.2}])
async def test_a_silent_handshake_ends_in_time(
    silent_port: int, make_sender: MakeSender, limits: dict[str, float]
) -> None:
    outcome = await post(make_sender(**limits), f"https://localhost:{silent_port}/")
    assert judged(outcome) == (None, DeliveryError.TIMEOUT, True)
    assert 190_000 <= outcome.duration_us < 2_000_000


async def test_a_goodbye_in_the_handshake_is_a_reset(make_sender: MakeSender) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def leave() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1)

        left = asyncio.create_task(asyncio.to_thread(leave))
        url = f"https://localhost:{listening.getsockname()[1]}/"
        outcome = await post(make_sender(), url)
        await left
    assert judged(outcome) == (None, DeliveryError.CONNECTION_RESET, True)


# Reaching the host.


class FakeNames:
    """A resolver from a table of successive answers; the last one stays."""

    def __init__(self, *answers: Sequence[str] | OSError) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, OSError):
            raise answer
        return answer


class FakeInternet:
    """A connector that sends every address to one loopback port, and records which were asked for."""

    def __init__(self, port: int, failures: dict[str, OSError | None] | None = None) -> None:
        self._port = port
        self._failures = failures or {}
        self.connected: list[tuple[str, int]] = []

    async def __call__(self, address: str, port: int) -> socket.socket:
        self.connected.append((address, port))
        if address in self._failures:
            failure = self._failures[address]
            if failure is None:
                await asyncio.Event().wait()
            else:
                raise failure
        return await connect_socket("127.0.0.1", self._port)


async def test_a_name_that_changes_its_mind_is_refused_and_never_connected_to(
    receiver: Receiver, make_sender: MakeSender
) -> None:
    names = FakeNames(["8.8.8.8"], ["127.0.0.1"])
    internet = FakeInternet(receiver.port)
    sender = make_sender(PUBLIC_ONLY, resolver=names, connector=internet)
    url = "https://localhost.receiver.test/hook"
    # Public at first, and pinned: the certificate is what stops it here, not the guard.
    assert judged(await post(sender, url)) == (None, DeliveryError.TLS_ERROR, True)
    outcome = await post(sender, url)
    assert judged(outcome) == (None, DeliveryError.BLOCKED_ADDRESS, False)
    assert "not on the public internet" in (outcome.error_message or "")
    assert names.asked == ["localhost.receiver.test"] * 2
    assert internet.connected == [("8.8.8.8", 443)]
    assert receiver.requests == []


async def test_a_warm_connection_stays_with_its_checked_address(
    tmp_path: Path, make_sender: MakeSender
) -> None:
    with Receiver(tmp_path, names=("shop.test",)) as shop:
        names = FakeNames(["8.8.8.8"], ["127.0.0.1"])
        internet = FakeInternet(shop.port)
        sender = make_sender(PUBLIC_ONLY, ca_file=shop.ca_file, resolver=names, connector=internet)
        assert judged(await post(sender, "https://shop.test/a")) == (200, None, True)
        assert judged(await post(sender, "https://shop.test/b")) == (200, None, True)
        assert names.asked == ["shop.test"]
        assert internet.connected == [("8.8.8.8", 443)]
        shop.close_connections()
        outcome = await post(sender, "https://shop.test/c")
        assert judged(outcome) == (None, DeliveryError.BLOCKED_ADDRESS, False)
        assert [request.path for request in shop.requests] == ["/a", "/b"]
        assert [request.headers["host"] for request in shop.requests] == ["shop.test"] * 2


@pytest.mark.parametrize(
    "addresses", [["8.8.8.8", "10.0.0.1"], ["10.0.0.1", "8.8.8.8"], ["8.8.8.8", "::1"]]
)
async def test_one_private_address_among_several_blocks_the_attempt(
    receiver: Receiver, make_sender: MakeSender, addresses: list[str]
) -> None:
    internet = FakeInternet(receiver.port)
    sender = make_sender(PUBLIC_ONLY, resolver=FakeNames(addresses), connector=internet)
    outcome = await post(sender, "https://shop.test/")
    assert judged(outcome) == (None, DeliveryError.BLOCKED_ADDRESS, False)
    assert internet.connected == []


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "https://user@example.com/",
        "https://127.1/",
        "https://127.0.0.1/",
        "https://[::ffff:127.0.0.1]/",
        "https://localhost/",
        "https://169.254.169.254/latest/meta-data/",
        "https://example.com/\r\nX: y",
        "",
    ],
)
async def test_a_nasty_url_opens_nothing(make_sender: MakeSender, url: str) -> None:
    internet = FakeInternet(9)
    sender = make_sender(PUBLIC_ONLY, resolver=SystemResolver(), connector=internet)
    outcome = await post(sender, url)
    assert judged(outcome) == (None, DeliveryError.BLOCKED_ADDRESS, False)
    assert internet.connected == []


async def test_an_unknown_name_is_a_dns_error(make_sender: MakeSender) -> None:
    sender = make_sender(resolver=FakeNames(socket.gaierror(-2, "Name or service not known")))
    outcome = await post(sender, "https://nowhere.test/")
    assert judged(outcome) == (None, DeliveryError.DNS_ERROR, False)
    assert outcome.error_message == (
        "the address of nowhere.test could not be found (Name or service not known)"
    )


async def test_a_hanging_look_up_is_a_dns_error(
    make_sender: MakeSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dial, "RESOLVE_S", 0.1)

    async def hang(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        raise AssertionError

    outcome = await post(make_sender(resolver=hang), "https://nowhere.test/")
    assert judged(outcome) == (None, DeliveryError.DNS_ERROR, False)
    assert outcome.error_message == "the look-up of nowhere.test took longer than 0.1 s"


async def test_a_closed_port_is_refused(make_sender: MakeSender) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    outcome = await post(make_sender(), f"https://localhost:{port}/")
    assert judged(outcome) == (None, DeliveryError.CONNECTION_REFUSED, False)
    assert outcome.error_message == "localhost refused the connection"


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (OSError(errno.ENETUNREACH, "Network is unreachable"), DeliveryError.NETWORK_UNREACHABLE),
        (OSError(errno.EHOSTUNREACH, "No route to host"), DeliveryError.NETWORK_UNREACHABLE),
        (OSError(errno.EMFILE, "Too many open files"), DeliveryError.NETWORK_UNREACHABLE),
        (TimeoutError(errno.ETIMEDOUT, "timed out"), DeliveryError.TIMEOUT),
        (ConnectionResetError(), DeliveryError.CONNECTION_RESET),
        (ConnectionRefusedError(), DeliveryError.CONNECTION_REFUSED),
        (None, DeliveryError.TIMEOUT),
    ],
    ids=repr,
)
async def test_each_way_of_not_reaching_a_host(
    make_sender: MakeSender, failure: OSError | None, code: DeliveryError
) -> None:
    internet = FakeInternet(9, {"8.8.8.8": failure})
    sender = make_sender(resolver=FakeNames(["8.8.8.8"]), connector=internet, connect_timeout_s=0.1)
    assert judged(await post(sender, "https://shop.test/")) == (None, code, False)


@pytest.mark.parametrize("failure", [OSError(errno.ENETUNREACH, "no IPv6"), None], ids=repr)
async def test_the_next_address_is_tried_when_one_does_not_answer(
    receiver: Receiver, make_sender: MakeSender, failure: OSError | None
) -> None:
    internet = FakeInternet(receiver.port, {"2606:4700::1111": failure})
    sender = make_sender(
        resolver=FakeNames(["2606:4700::1111", "8.8.8.8"]),
        connector=internet,
        connect_timeout_s=0.4,
    )
    outcome = await post(sender, f"https://localhost:{receiver.port}/")
    assert judged(outcome) == (200, None, True)
    assert [address for address, _ in internet.connected] == ["2606:4700::1111", "8.8.8.8"]


async def test_what_the_answering_address_said_is_told(make_sender: MakeSender) -> None:
    internet = FakeInternet(
        9,
        {
            "2606:4700::1111": OSError(errno.ENETUNREACH, "no IPv6"),
            "8.8.8.8": ConnectionRefusedError(),
        },
    )
    names = FakeNames(["2606:4700::1111", "8.8.8.8"])
    outcome = await post(make_sender(resolver=names, connector=internet), "https://shop.test/")
    assert outcome.error_code is DeliveryError.CONNECTION_REFUSED


# IPv6.


@pytest.fixture
def ipv6_receiver(certificates: Path) -> Iterator[Receiver]:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with Receiver(certificates, secrets=[SECRET], address="::1") as running:
        yield running


@pytest.mark.parametrize("host", ["[::1]", "[0:0:0:0:0:0:0:1]", "localhost"])
async def test_a_post_over_ipv6_arrives_signed_and_names_its_host(
    ipv6_receiver: Receiver, make_sender: MakeSender, host: str
) -> None:
    sender = make_sender(AddressPolicy.from_settings(["localhost", "::1"]))
    for _ in range(2):
        outcome = await post(sender, ipv6_receiver.url(host=host))
        assert judged(outcome) == (200, None, True)
    assert [request.verified for request in ipv6_receiver.requests] == [True, True]
    assert [request.body for request in ipv6_receiver.requests] == [BODY, BODY]
    assert ipv6_receiver.requests[0].headers["host"] == f"{host}:{ipv6_receiver.port}"
    assert ipv6_receiver.connections == 1


async def test_an_ipv6_address_that_the_certificate_does_not_name_is_refused(
    ipv6_receiver: Receiver, tmp_path: Path, make_sender: MakeSender
) -> None:
    assert ipv6_receiver.port, "there is IPv6"
    with Receiver(tmp_path, address="::1", names=("localhost", "127.0.0.1")) as wrong:
        sender = make_sender(AddressPolicy.from_settings(["::1"]), ca_file=wrong.ca_file)
        outcome = await post(sender, wrong.url(host="[::1]"))
    assert judged(outcome) == (None, DeliveryError.TLS_ERROR, True)
    assert wrong.requests == []


async def test_ipv6_loopback_is_not_dialled_unless_the_settings_say_so(
    ipv6_receiver: Receiver, make_sender: MakeSender
) -> None:
    outcome = await post(make_sender(PUBLIC_ONLY), ipv6_receiver.url(host="[::1]"))
    assert judged(outcome) == (None, DeliveryError.BLOCKED_ADDRESS, False)
    assert ipv6_receiver.connections == 0


# The system's resolver.


async def test_localhost_and_addresses_are_never_looked_up(
    receiver: Receiver, make_sender: MakeSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_look_up(*_: object, **__: object) -> None:
        raise AssertionError("looked up")

    monkeypatch.setattr(socket, "getaddrinfo", no_look_up)
    sender = make_sender()
    for host in ("localhost", "127.0.0.1"):
        outcome = await post(sender, receiver.url(host=host))
        assert judged(outcome) == (200, None, True)


async def test_the_system_is_asked_once_for_all_who_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, go = [], threading.Event()

    def slow(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        asked.append(host)
        go.wait(5)
        return [(2, 1, 6, "", ("8.8.8.8", port)), (2, 1, 6, "", ("8.8.8.8", port))]

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    system = SystemResolver()
    waiting = [asyncio.create_task(system("shop.test", 443)) for _ in range(5)]
    others = [asyncio.create_task(system(f"{n}.test", 443)) for n in range(7)]
    await asyncio.sleep(0)
    with pytest.raises(OSError, match="too many look-ups"):
        await system("one-more.test", 443)
    go.set()
    assert await asyncio.gather(*waiting) == [("8.8.8.8",)] * 5
    await asyncio.gather(*others)
    assert sorted(asked) == [*(f"{n}.test" for n in range(7)), "shop.test"]
    assert await system("one-more.test", 443) == ("8.8.8.8",)


async def test_a_name_that_idna_cannot_carry_is_an_os_error() -> None:
    with pytest.raises(OSError, match="not a name"):
        await SystemResolver()("a" * 64 + ".test", 443)


async def test_the_system_resolver_passes_its_error_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(-3, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(OSError, match="Temporary failure"):
        await SystemResolver()("shop.test", 443)


# Retry-After.


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "120"}, 120),
        ({"retry-after": " 0 "}, 0),
        ({"retry-after": "9" * 50}, 999_999_999),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "1.5"}, None),
        ({"retry-after": "١٢"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Thu, 01 Jan 2026 00:02:00 GMT"}, None),
        (
            {
                "retry-after": "Thu, 01 Jan 2026 00:02:00 GMT",
                "date": "Thu, 01 Jan 2026 00:00:00 GMT",
            },
            120,
        ),
        (
            {
                "retry-after": "Thu, 01 Jan 2026 00:00:00 GMT",
                "date": "Thu, 01 Jan 2026 00:02:00 GMT",
            },
            0,
        ),
        (
            {
                "retry-after": "Thu, 01 Jan 2026 00:02:00",
                "date": "Thu, 01 Jan 2026 00:00:00 GMT",
            },
            None,
        ),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: int | None) -> None:
    assert retry_after_s(headers) == seconds
