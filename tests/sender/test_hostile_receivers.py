"""Hostile receivers: slow, endless or invalid answers, redirects, and invalid certificates."""

import asyncio
import datetime as dt
import gzip
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from daemon.core.webhooks.delivery import DeliveryError
from daemon.sender.https import retry_after_s
from tests.fakes.each import each
from tests.fakes.receiver import HANG, Answer, Receiver
from tests.fakes.signed_webhook import MakeSender, post, summary


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (Answer(raw=b"", close=True), (None, DeliveryError.CONNECTION_RESET, True)),
        (Answer(raw=b"BLAH BLAH\r\n\r\n", close=True), (None, DeliveryError.PROTOCOL_ERROR, True)),
        (Answer(raw=bytes(range(256)) * 4, close=True), (None, DeliveryError.PROTOCOL_ERROR, True)),
        (Answer(raw=b"<html>HTTP/0.9</html>", close=True), (None, DeliveryError.PROTOCOL_ERROR, True)),
        (Answer(raw=b"HTTP/1.1 OK 200\r\n\r\n", close=True), (None, DeliveryError.PROTOCOL_ERROR, True)),
        (
            Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", close=True),
            (None, DeliveryError.PROTOCOL_ERROR, True),
        ),
        (
            Answer(raw=b"HTTP/1.1 101 Up\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
            (None, DeliveryError.PROTOCOL_ERROR, True),
        ),
        (Answer(raw=b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000), (None, DeliveryError.PROTOCOL_ERROR, True)),
        (Answer(raw=b"", drip=b"HTTP/1.1 100 Continue\r\n\r\n" * 1000), (None, DeliveryError.PROTOCOL_ERROR, True)),
        # A whole head and a body that breaks off: the attempt fails, with the status in its result.
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
async def test_each_malformed_answer_is_judged_and_hurts_no_later_one(
    receiver: Receiver, make_sender: MakeSender, answer: Answer, wanted: tuple[int | None, DeliveryError, bool]
) -> None:
    sender = make_sender()
    receiver.script(answer)
    assert summary(await post(sender, receiver.url())) == wanted
    assert len(receiver.requests) == 1
    assert (await post(sender, receiver.url())).status_code == 200


@pytest.mark.parametrize(
    "answer",
    [
        HANG,
        Answer(raw=b"", drip=b"\r\n", drip_s=0.02),
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
    sender._timeout_s = 5.0  # the next one has to shake hands first
    assert (await post(sender, receiver.url())).status_code == 200


async def test_what_is_not_http_is_quoted_as_it_came(receiver: Receiver, make_sender: MakeSender) -> None:
    receiver.script(Answer(raw=b"NONSENSE from a proxy\r\n\r\n"))
    outcome = await post(make_sender(), receiver.url())
    assert outcome.error_message is not None
    assert outcome.error_message.startswith("the answer is not proper HTTP: ")
    assert "NONSENSE from a proxy" in outcome.error_message
    assert "bytearray" not in outcome.error_message


@pytest.mark.parametrize(
    "answer",
    [
        Answer(body=b"a" * 100_000),
        Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n", drip=b"a" * 100_000),
        Answer(
            raw=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", drip=b"2710\r\n" + b"a" * 10_000 + b"\r\n"
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
    assert summary(outcome) == (200, None, True)
    assert outcome.response_body == "a" * 8192
    assert outcome.duration_us < 2_000_000
    # Unread bytes of an answer are not taken for the next answer.
    assert (await post(sender, receiver.url())).response_body == "ok"
    assert receiver.requests[1].connection == 2


async def test_a_zip_bomb_stays_zipped(receiver: Receiver, make_sender: MakeSender) -> None:
    bomb = gzip.compress(bytes(50_000_000))
    receiver.script(Answer(headers=(("Content-Encoding", "gzip"),), body=bomb))
    outcome = await post(make_sender(), receiver.url())
    assert summary(outcome) == (200, None, True)
    assert len(outcome.response_body.encode()) <= 8192


async def test_bytes_that_are_no_text_become_text(receiver: Receiver, make_sender: MakeSender) -> None:
    receiver.script(Answer(body=b"a\0b\xff\xfec"), Answer(body=b"\xff" * 9000))
    sender = make_sender()
    assert (await post(sender, receiver.url())).response_body == "a\ufffdb\ufffd\ufffdc"
    assert (await post(sender, receiver.url())).response_body == "\ufffd" * (8192 // 3)


@pytest.mark.parametrize(
    "location", ["https://localhost:{port}/other", "https://127.0.0.1:{port}/", "https://169.254.169.254/", "/"]
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_not_followed(
    receiver: Receiver, make_sender: MakeSender, status: int, location: str
) -> None:
    target = location.format(port=receiver.port)
    receiver.script(Answer(status, headers=(("Location", target),)))
    outcome = await post(make_sender(), receiver.url())
    assert summary(outcome) == (status, DeliveryError.REDIRECT, True)
    assert [request.path for request in receiver.requests] == ["/hook"]


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
    with Receiver(tmp_path, **settings) as wrong:  # type: ignore[arg-type]  # by name
        outcome = await post(make_sender(ca_file=wrong.ca_file), wrong.url())
    assert summary(outcome) == (None, DeliveryError.TLS_ERROR, True)
    assert why in (outcome.error_message or "")
    assert wrong.requests == []


async def test_a_certificate_without_the_intermediate_one_is_told_as_that(
    tmp_path: Path, make_sender: MakeSender
) -> None:
    """Browsers fetch the missing one, so the site seems to work."""
    authority = trustme.CA()
    certificate = authority.create_child_ca().issue_cert("localhost")
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    leaf, *others = (blob.bytes() for blob in certificate.cert_chain_pems)
    key = certificate.private_key_pem.bytes()
    (tmp_path / "server.pem").write_bytes(key + leaf)
    with Receiver(tmp_path) as receiver:
        outcome = await post(make_sender(ca_file=receiver.ca_file), receiver.url())
        assert summary(outcome) == (None, DeliveryError.TLS_ERROR, True)
        assert "give it the full chain (fullchain.pem)" in (outcome.error_message or "")
    (tmp_path / "server.pem").write_bytes(key + leaf + b"".join(others))
    with Receiver(tmp_path) as receiver:
        outcome = await post(make_sender(ca_file=receiver.ca_file), receiver.url())
        assert summary(outcome) == (200, None, True)


async def test_a_receiver_that_wants_a_certificate_of_ours_is_told_as_that(
    certificates: Path, make_sender: MakeSender
) -> None:
    wanting = Receiver(certificates)
    context = wanting.context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(wanting.ca_file)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def refuse() -> None:
            connection, _ = listening.accept()
            with context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False) as refusing:
                with pytest.raises(ssl.SSLError):
                    refusing.do_handshake()
                while socket.socket.recv(refusing, 4096):  # or the alert would be lost in a reset
                    pass

        refused = asyncio.create_task(asyncio.to_thread(refuse))
        wanting.port = listening.getsockname()[1]
        outcome = await post(make_sender(ca_file=wanting.ca_file), wanting.url())
        await refused
    assert summary(outcome) == (None, DeliveryError.TLS_ERROR, True)
    assert "asks for a certificate of ours" in (outcome.error_message or "")


async def test_an_unknown_authority_is_refused(receiver: Receiver, make_sender: MakeSender) -> None:
    outcome = await post(make_sender(ca_file=None), receiver.url())
    assert summary(outcome) == (None, DeliveryError.TLS_ERROR, True)
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
    assert summary(outcome) == (None, DeliveryError.TLS_ERROR, True)


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that accepts connections and sends no data."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.mark.parametrize("limits", [{"connect_timeout_s": 0.2}, {"timeout_s": 0.2}])
async def test_a_silent_handshake_ends_in_time(
    silent_port: int, make_sender: MakeSender, limits: dict[str, float]
) -> None:
    outcome = await post(make_sender(**limits), f"https://localhost:{silent_port}/")
    assert summary(outcome) == (None, DeliveryError.TIMEOUT, True)
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
    assert summary(outcome) == (None, DeliveryError.CONNECTION_RESET, True)


@each(
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
        ({"retry-after": "Thu, 01 Jan 2026 00:02:00 GMT", "date": "Thu, 01 Jan 2026 00:00:00 GMT"}, 120),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:00 GMT", "date": "Thu, 01 Jan 2026 00:02:00 GMT"}, 0),
        ({"retry-after": "Thu, 01 Jan 2026 00:02:00", "date": "Thu, 01 Jan 2026 00:00:00 GMT"}, None),
    ],
)
def test_both_forms_of_retry_after_are_read_and_nothing_else(headers: dict[str, str], seconds: int | None) -> None:
    assert retry_after_s(headers) == seconds
