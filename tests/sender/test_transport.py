"""HTTP/1.1 of the sender: the octets of a request, the forms of an answer, and the reuse of a connection."""

import asyncio
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from daemon.core.branches.public_key import spki_of_pem
from daemon.core.webhooks.delivery import DeliveryError
from daemon.sender import transport
from daemon.sender.address_guard import PUBLIC_ONLY, URL_PARTS, AddressPolicy, check_url, parse_address, split_authority
from daemon.sender.connect import Dialer, SystemResolver, connect_socket
from daemon.sender.connection import ExchangeError, ExchangeTimeout
from daemon.sender.http_client import InboxError, post_again
from daemon.sender.https import Sender
from daemon.sender.hub_client import HubClient, HubUnreachableError
from daemon.sender.transport import Transport
from tests.fakes.receiver import Answer, Receiver
from tests.fakes.signed_webhook import BODY, LOCAL, MakeSender, headers, post, summary

OK = b"HTTP/1.1 200 OK\r\n"


async def test_a_request_is_these_octets(certificates: Path) -> None:
    """Receivers see the same as before, byte for byte and in this order."""
    came = bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.extend(await reader.readuntil(b"\r\n\r\n") + await reader.readexactly(len(BODY)))
        writer.write(OK + b"Content-Length: 0\r\n\r\n")

    receiver = Receiver(certificates)
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=receiver.context())
    port = server.sockets[0].getsockname()[1]
    sender = Sender(LOCAL, receiver.ca_file)
    assert (await post(sender, f"https://localhost:{port}/a%20b/../c?d='e'&f")).status_code == 200
    signed = "".join(f"{name}: {value}\r\n" for name, value in headers().items())
    assert (
        bytes(came)
        == (
            f"POST /c?d='e'&f HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: keep-alive\r\nAccept: */*\r\n"
            f"Accept-Encoding: identity\r\n{signed}Content-Length: {len(BODY)}\r\n\r\n"
        ).encode()
        + BODY
    )
    await sender.aclose()
    server.close()


async def test_a_name_in_another_script_is_sent_in_its_ascii_form(tmp_path: Path, make_sender: MakeSender) -> None:
    name = "xn--mnchen-3ya.test"

    async def look_up(host: str, port: int) -> list[str]:
        assert host == name
        return ["127.0.0.1"]

    with Receiver(tmp_path, names=(name,)) as receiver:
        sender = make_sender(type(LOCAL).from_settings([name]), ca_file=receiver.ca_file, resolver=look_up)
        assert (await post(sender, receiver.url(host=name))).status_code == 200
        assert receiver.requests[0].headers["host"] == f"{name}:{receiver.port}"


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 103 Early\r\nRetry-After: 9\r\n\r\n" + OK + b"Content-Length: 5\r\n\r\nhello",
        OK + b"Transfer-Encoding: chunked\r\n\r\n2;x=1\r\nhe\r\n3  \r\nllo\r\n0\r\nRetry-After: 9\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        OK + b"X-Long: a\r\n b\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
        b"HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
        b"\r\n" + OK + b"Content-Length: 5\r\n\r\nhello",
    ],
    ids=[
        "100", "103", "chunks", "chunks and a length", "a folded field", "bare line feeds", "no reason", "an empty line",
    ],
)  # fmt: skip
async def test_each_proper_or_usual_form_of_an_answer_is_read_and_its_connection_kept(
    receiver: Receiver, make_sender: MakeSender, raw: bytes
) -> None:
    sender = make_sender()
    receiver.script(Answer(raw=raw))
    outcome = await post(sender, receiver.url())
    assert summary(outcome) == (200, None, True)
    assert (outcome.response_body, outcome.retry_after_s) == ("hello", None)
    assert (await post(sender, receiver.url())).status_code == 200
    assert [request.connection for request in receiver.requests] == [1, 1]


@pytest.mark.parametrize(
    "raw", [OK + b"\r\nhello", b"HTTP/1.0 200 OK\r\n\r\nhello", OK + b"Transfer-Encoding: gzip\r\n\r\nhello"]
)
async def test_a_body_without_a_length_ends_with_the_connection(
    receiver: Receiver, make_sender: MakeSender, raw: bytes
) -> None:
    sender = make_sender()
    receiver.script(Answer(raw=raw, close=True))
    outcome = await post(sender, receiver.url())
    assert (outcome.status_code, outcome.error_code, outcome.response_body) == (200, None, "hello")
    assert (await post(sender, receiver.url())).status_code == 200
    assert [request.connection for request in receiver.requests] == [1, 2]


@pytest.mark.parametrize(
    "raw",
    [
        OK + b"Connection: close\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        OK + b"Content-Length: 5\r\n\r\nhello" + b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n",
        OK + b"Content-Length: 5\r\n\r\nhello, world",
        OK + b"Connection: close\r\nContent-Length: 5\r\n\r\nhello" + OK,
    ],
    ids=["close", "HTTP/1.0", "a second answer", "a longer body", "close and more"],
)
async def test_a_connection_with_a_doubt_is_not_used_again(
    receiver: Receiver, make_sender: MakeSender, raw: bytes
) -> None:
    sender = make_sender()
    receiver.script(Answer(raw=raw))
    outcome = await post(sender, receiver.url())
    assert (outcome.status_code, outcome.error_code, outcome.response_body) == (200, None, "hello")
    assert (await post(sender, receiver.url())).response_body == "ok"
    assert [request.connection for request in receiver.requests] == [1, 2]


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 103 Early\r\nContent-Length: 2\r\n\r\n" + OK + b"Content-Length: 0\r\n\r\n",
    ],
    ids=["204", "204 in chunks", "304", "103"],
)
async def test_a_body_of_an_answer_that_has_none_cannot_pose_as_the_next_answer(
    receiver: Receiver, make_sender: MakeSender, head: bytes
) -> None:
    """Nothing of the body has come when the next request is sent."""
    sender = make_sender()
    receiver.script(Answer(raw=head))
    await post(sender, receiver.url("/a"))
    assert (await post(sender, receiver.url("/b"))).response_body == "ok"
    assert [request.connection for request in receiver.requests] == [1, 2]


@pytest.mark.parametrize("fields", [b"", b"Content-Length: 0\r\n"])
@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
async def test_an_answer_without_a_body_keeps_its_connection(
    receiver: Receiver, make_sender: MakeSender, status: bytes, fields: bytes
) -> None:
    sender = make_sender()
    receiver.script(Answer(raw=b"HTTP/1.1 " + status + b"\r\n" + fields + b"\r\n"))
    for _ in range(2):
        await post(sender, receiver.url())
    assert [request.connection for request in receiver.requests] == [1, 1]


async def test_an_answer_that_comes_late_cannot_pose_as_the_next_one(
    receiver: Receiver, make_sender: MakeSender
) -> None:
    """The second answer arrives while the connection waits for its next request."""
    sender = make_sender()
    late = b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"
    receiver.script(Answer(drip=late, drip_s=0.05))
    assert (await post(sender, receiver.url())).status_code == 200
    await asyncio.sleep(0.2)
    assert (await post(sender, receiver.url())).status_code == 200
    assert receiver.requests[1].connection == 2


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"HTTP/1.1 099 No\r\n\r\n", "unexpected status 99"),
        (b"HTTP/1.1 101 Up\r\n\r\n", "unexpected status 101"),
        (OK + b"X: " + b"y" * 150_000, "its head is too long"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 60_000, "it is too long"),
        (OK + b"Content-Length: 5\r\n\r\nhi", "it ended within its body"),
        (OK + b"Content-Len", "it ended within its head"),
    ],
)
async def test_an_improper_answer_is_told_with_its_fault(
    receiver: Receiver, make_sender: MakeSender, raw: bytes, why: str
) -> None:
    receiver.script(Answer(raw=raw, close=True))
    outcome = await post(make_sender(), receiver.url())
    assert outcome.error_code is DeliveryError.PROTOCOL_ERROR
    assert outcome.error_message == f"the answer is not proper HTTP: {why}"


async def test_an_answer_before_the_whole_request_was_sent_counts_and_ends_the_connection(certificates: Path) -> None:
    """A receiver may refuse a body that it has not read."""
    connections = 0
    done = asyncio.Event()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
        await done.wait()
        writer.transport.abort()

    receiver = Receiver(certificates)
    server = await asyncio.start_server(refuse, "127.0.0.1", 0, ssl=receiver.context())
    url = f"https://localhost:{server.sockets[0].getsockname()[1]}/"
    sender = Sender(LOCAL, receiver.ca_file)
    try:
        for _ in range(2):
            outcome = await sender.post(url, headers(), bytes(8_000_000))
            assert (outcome.status_code, outcome.response_body) == (413, "big"), outcome
        assert connections == 2
    finally:
        # uvloop's loop does not close, and the test process hangs, while these are open.
        done.set()
        await sender.aclose()
        server.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Shop", "a\r\nX-Paid: 1"),
        ("X-Shop", "a\nX-Paid: 1"),
        ("X-Shop", "a\r"),
        ("X-Shop", "a\0b"),
        ("X-Shop: 1\r\nX-Paid", "1"),
        ("X Shop", "1"),
        ("", "1"),
        ("HOST", "elsewhere.test"),
        ("content-length", "0"),
        ("Content-Length: 0", "0"),
        ("Transfer-Encoding", "chunked"),
    ],
)
async def test_a_header_that_would_change_the_request_is_refused_and_nothing_is_sent(
    receiver: Receiver, make_sender: MakeSender, name: str, value: str
) -> None:
    sender = make_sender()
    outcome = await sender.post(receiver.url(), {**headers(), name: value}, BODY)
    assert (outcome.status_code, outcome.error_code) == (None, DeliveryError.PROTOCOL_ERROR)
    assert outcome.error_message is not None
    assert outcome.error_message.startswith("the request was not sent: ")
    assert receiver.connections == 0


async def test_a_header_in_another_script_is_sent_in_utf_8(receiver: Receiver, make_sender: MakeSender) -> None:
    outcome = await make_sender().post(receiver.url(), {**headers(), "X-Shop": "Akosua \u0254"}, BODY)
    assert outcome.status_code == 200
    assert receiver.requests[0].headers["x-shop"].encode("latin-1").decode() == "Akosua \u0254"


async def test_of_a_header_that_came_twice_the_last_counts(receiver: Receiver, make_sender: MakeSender) -> None:
    receiver.script(Answer(503, headers=(("Retry-After", "9"), ("Retry-After", "120"))))
    assert (await post(make_sender(), receiver.url())).retry_after_s == 120


async def test_no_more_than_the_limit_of_connections_stay_open(
    receiver: Receiver, make_sender: MakeSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "WARM_CONNECTIONS_MAX", 2)
    sender = make_sender()
    receiver.default = Answer(delay_s=0.05)
    for _ in range(2):
        await asyncio.gather(*(post(sender, receiver.url()) for _ in range(4)))
    # Two of the four were kept for the second time.
    assert receiver.connections == 6


def test_a_post_loads_of_httpx_neither_its_program_nor_its_own_connections() -> None:
    """The program loads rich, click and pygments: 8 MB of the daemon's memory."""
    code = (
        "import sys, asyncio, daemon.sender.https as s; asyncio.run(s.Sender().prepare()); "
        "unwanted = ('httpx._main', 'rich', 'click', 'pygments', 'httpcore', 'anyio', 'h11', 'certifi'); "
        "print('httpx' in sys.modules, [m for m in unwanted if sys.modules.get(m)])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "True []\n"


HOSTS = st.sampled_from(
    ["shop.test", "SHOP.Test", "a_b.test", "xn--mnchen-3ya.test", "192.168.1.1", "[::1]", "[2001:DB8::A]", "[::ffff:1.2.3.4]"]
) | st.from_regex(r"(xn--)?[a-z0-9-]{1,12}(\.[a-z0-9-]{1,9}){0,3}", fullmatch=True)  # fmt: skip
PORTS = st.sampled_from(["", ":", ":443", ":0443", ":80", ":8443"])
SEGMENTS = st.sampled_from([".", "..", "...", "", "a", "%2e", "%2E%2f", "b;c=1", "d'(e)"])
PATHS = st.lists(SEGMENTS, max_size=6).map(lambda segments: "".join(f"/{one}" for one in segments))
PRINTABLE = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=12)
QUERIES = PRINTABLE.map(lambda text: f"?{text}") | st.just("")


@given(HOSTS, PORTS, PATHS | PRINTABLE.map(lambda text: f"/{text}"), QUERIES)
def test_the_host_that_is_called_is_the_one_that_was_checked(host: str, port: str, path: str, query: str) -> None:
    """The text is checked by our own reading of a URL, and httpx's is what is called."""
    url = f"https://{host}{port}{path}{query}"
    assume(check_url(url) is None)
    match = URL_PARTS.fullmatch(url)
    assert match is not None
    name, digits = split_authority(match["authority"])
    called = httpx.URL(url)
    assert called.scheme == "https"
    assert called.raw_host.decode().lower() == name.lower().strip("[]")
    assert (called.port or 443) == int(digits or 443)
    assert parse_address(called.raw_host.decode()) == parse_address(name)
    if not {".", ".."} & {*path.split("/")}:
        assert called.raw_path.decode() == (path or "/") + query


DONE = Answer(body=b'{"data": {}}')


@pytest.fixture
async def hub(receiver: Receiver) -> AsyncIterator[HubClient]:
    """A client that believes the receiver to be the hub, by its key alone, with a warm connection to it."""
    receiver.default = DONE
    pin = spki_of_pem((receiver.directory / "server.pem").read_bytes())[:16]
    client = HubClient(receiver.url(""), pin, "key_1")
    assert await client.call("/v1/branch/sync", {}) == {}
    assert await client.call("/v1/branch/sync", {}) == {}
    assert receiver.connections == 1
    yield client
    await client.aclose()


async def test_a_webhook_does_not_use_the_connection_of_the_hub_link(
    hub: HubClient, receiver: Receiver, make_sender: MakeSender
) -> None:
    """Neither past the address guard, nor past the check of the certificate."""
    outcome = await post(make_sender(PUBLIC_ONLY), receiver.url())
    assert summary(outcome) == (None, DeliveryError.BLOCKED_ADDRESS, False)
    outcome = await post(make_sender(ca_file=None), receiver.url())
    assert summary(outcome) == (None, DeliveryError.TLS_ERROR, True)
    assert len(receiver.requests) == 2, "both of the hub link"


async def test_the_hub_link_does_not_use_the_connection_of_a_webhook(
    receiver: Receiver, make_sender: MakeSender
) -> None:
    sender = make_sender()
    assert (await post(sender, receiver.url())).status_code == 200
    client = HubClient(receiver.url(""), "0" * 16, "key_1")
    with pytest.raises(HubUnreachableError, match="has another key than the hub"):
        await client.call("/v1/branch/sync", {})
    await client.aclose()
    assert (await post(sender, receiver.url())).status_code == 200
    assert [request.connection for request in receiver.requests] == [1, 1]


async def test_an_order_to_a_phone_does_not_use_the_connection_of_the_hub_link(
    hub: HubClient, receiver: Receiver
) -> None:
    with pytest.raises(InboxError, match="TLS with localhost failed"):
        await post_again(receiver.url(""), "user", "password", 0, 1)
    assert len(receiver.requests) == 2, "both of the hub link"


@pytest.mark.parametrize("scheme", ["http", "https", "ftp"])
async def test_a_transport_speaks_with_tls_or_without_and_never_both(scheme: str) -> None:
    """Otherwise a connection without TLS could be used for an https address of the same port."""
    dialer = Dialer(PUBLIC_ONLY, SystemResolver(), connect_socket, 1.0)
    for context, spoken in ((ssl.create_default_context(), "https"), (None, "http")):
        if scheme == spoken:
            continue
        request = httpx.Request("POST", f"{scheme}://shop.test:8443/", content=b"{}")
        with pytest.raises(ExchangeError, match=f"{scheme} is not spoken here") as caught:
            await Transport(dialer, context, 1000).handle_async_request(request)
        assert caught.value.code is DeliveryError.BLOCKED_ADDRESS


async def test_the_guard_is_asked_by_every_transport_also_below_httpx_s_client() -> None:
    dialer = Dialer(AddressPolicy(), SystemResolver(), connect_socket, 1.0)
    async with httpx.AsyncClient(transport=Transport(dialer, None, 1000)) as client:
        for host in ("127.0.0.1", "localhost", "[::1]", "169.254.169.254"):
            with pytest.raises(ExchangeError) as caught:
                await client.post(f"http://{host}:8080/", content=b"{}")
            assert caught.value.code is DeliveryError.BLOCKED_ADDRESS


def test_our_errors_are_errors_of_httpx() -> None:
    late = ExchangeTimeout("too late")
    assert isinstance(late, ExchangeError)
    assert isinstance(late, httpx.TimeoutException)
    assert isinstance(late, httpx.TransportError)
    assert (late.code, str(late)) == (DeliveryError.TIMEOUT, "too late")
