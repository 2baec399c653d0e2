"""The client of a branch: what it sends to its hub, over which connections, and what it says when no hub answers."""

import asyncio
import datetime as dt
import gc
import gzip
import json
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from daemon import wire
from daemon.core.branches.public_key import spki_of_pem
from daemon.sender import connection, http_client
from daemon.sender.http_client import HttpClient
from daemon.sender.hub_client import HubClient, HubRefusalError, HubUnreachableError, address_fault
from tests.fakes.clock import FakeClock
from tests.fakes.receiver import DROP, HANG, Answer, Receiver
from tests.fakes.waiting import PATIENCE_S

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
DONE = Answer(body=b'{"data": {"acked": 7}}')


@pytest.fixture
def hub(certificates: Path) -> Iterator[Receiver]:
    with Receiver(certificates, default=DONE) as running:
        yield running


def pin_of(hub: Receiver) -> str:
    return spki_of_pem((hub.directory / "server.pem").read_bytes())[:16]


@asynccontextmanager
async def client_of(hub: Receiver, url: str = "") -> AsyncIterator[HubClient]:
    client = HubClient(url or hub.url("", "127.0.0.1"), pin_of(hub), "key_1")
    yield client
    await client.aclose()


@asynccontextmanager
async def serving(serve: Serve) -> AsyncIterator[str]:
    """Run a server without TLS, and wait for the ends of its connections."""
    tasks = set[asyncio.Task[None]]()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve(reader, writer)
        writer.close()
        await writer.wait_closed()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(handle(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    yield f"http://localhost:{server.sockets[0].getsockname()[1]}"
    server.close()
    await asyncio.gather(*tasks)


async def connections_of(client: HubClient, hub: Receiver, calls: int = 2) -> list[int]:
    for _ in range(calls):
        assert await client.call("/v1/branch/sync", {}) == {"acked": 7}
    return [request.connection for request in hub.requests]


@pytest.mark.parametrize(
    "url",
    [
        "https://hub.example", "https://hub.example/", "HTTPS://HUB.EXAMPLE:8443", "https://office",
        "https://192.168.1.5:8787", "https://[2001:db8::5]:8787", "http://localhost:8787",
        "http://127.0.0.1:8787", "http://[::1]:8787",
    ],
)  # fmt: skip
def test_an_address_that_can_be_called_is_taken(url: str) -> None:
    assert address_fault(url) == ""
    HttpClient(url, ssl.create_default_context)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        *(
            (url, "takes an address such as https://hub.example")
            for url in (
                "hub.example", "https://", "https://hub.example/a", "https://hub.example?", "https://hub.example?a",
                "https://hub.example#", "https://hub.example/#a", "https://me@hub.example", "https://hub.example:0",
                "https://hub.example:", "https://[::1", " https://hub.example", "https://hub.example\n",
                "https://h\tub.example", "https://h\u00fcb.example", "https://hub.example\\a",
                "https://hub.example:\u0664\u0664\u0663",
            )
        ),
        ("http://hub.example", "takes an address that begins with https://"),
        ("ftp://localhost", "takes an address that begins with https://"),
    ],
)  # fmt: skip
def test_any_other_address_is_refused_where_it_is_typed(url: str, why: str) -> None:
    assert address_fault(url) == why


async def test_a_call_posts_gzipped_json_with_the_key(hub: Receiver) -> None:
    async with client_of(hub) as client:
        assert await client.call("/v1/branch/sync", {"epoch": 1}) == {"acked": 7}
    (request,) = hub.requests
    assert (request.method, request.path) == ("POST", "/v1/branch/sync")
    assert json.loads(gzip.decompress(request.body)) == {"epoch": 1}
    assert request.headers == {
        "host": f"127.0.0.1:{hub.port}",
        "connection": "keep-alive",
        "accept": "*/*",
        "accept-encoding": "identity",
        "user-agent": f"momo/{wire.VERSION}",
        "content-type": "application/json",
        "content-encoding": "gzip",
        "authorization": "Bearer key_1",
        "content-length": str(len(request.body)),
    }


async def test_a_hub_on_the_same_machine_needs_no_tls() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split()[0]))
            writer.write(DONE.encode())
        await reader.read()

    async with serving(serve) as url:
        client = HubClient(url)
        for _ in range(2):
            assert await client.call("/v1/branch/sync", {}) == {"acked": 7}
        await client.aclose()


async def test_an_address_in_capitals_is_called_over_tls_too(hub: Receiver) -> None:
    async with client_of(hub, f"HTTPS://LOCALHOST:{hub.port}/") as client:
        assert await connections_of(client, hub) == [1, 1]
    assert hub.requests[0].headers["host"] == f"localhost:{hub.port}"


async def test_a_certificate_from_a_known_ca_needs_no_pin(hub: Receiver) -> None:
    client = HubClient(hub.url(""), ca_file=hub.ca_file)
    assert await connections_of(client, hub) == [1, 1]
    await client.aclose()


async def test_cookies_are_not_kept(hub: Receiver) -> None:
    hub.script(Answer(headers=(("Set-Cookie", "session=1; Path=/"),), body=DONE.body))
    async with client_of(hub) as client:
        await connections_of(client, hub)
    assert "cookie" not in hub.requests[1].headers


async def test_proxies_and_passwords_of_the_environment_are_not_used(
    hub: Receiver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    async with client_of(hub) as client:
        await connections_of(client, hub, 1)
    assert hub.requests[0].headers["authorization"] == "Bearer key_1"


async def test_no_address_is_logged(hub: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    async with client_of(hub) as client:
        await client.call("/v1/branch/sync?token=secret", {})
    assert not [record for record in caplog.records if "secret" in record.getMessage()]
    assert not [record for record in caplog.records if record.name.startswith("httpx")]


async def test_a_zip_bomb_stays_zipped(hub: Receiver) -> None:
    bomb = gzip.compress(bytes(50_000_000))
    hub.script(Answer(headers=(("Content-Encoding", "gzip"),), body=bomb))
    client = HttpClient(hub.url(""), lambda: ssl.create_default_context(cafile=hub.ca_file))
    answer, body = await client.post("/", {}, b"{}", timeout_s=5, whole_s=5)
    await client.aclose()
    assert (answer.status_code, body) == (200, bomb)


@pytest.mark.parametrize(
    "location",
    ["", "//", "http://[::1", "https://xn--a/", "https://h:99999/", "mailto:x", "http://a b/", "http://\u00fc..b", "\x01"],
)  # fmt: skip
async def test_where_a_redirect_leads_is_not_read(hub: Receiver, location: str) -> None:
    hub.script(Answer(302, (("Location", location),)))
    async with client_of(hub) as client:
        with pytest.raises(HubUnreachableError, match=r"is not a hub \(status 302, it leads to "):
            await client.call("/v1/branch/sync", {})
        assert await connections_of(client, hub, 1) == [1, 1]


async def test_a_key_with_a_line_break_is_not_sent(hub: Receiver) -> None:
    client = HubClient(hub.url(""), pin_of(hub), "key_1\r\nX-Paid: 1")
    with pytest.raises(HubUnreachableError, match="the request was not sent"):
        await client.call("/v1/branch/sync", {})
    await client.aclose()
    assert hub.connections == 0


async def test_a_call_after_the_hub_has_closed_the_connection_opens_another(hub: Receiver) -> None:
    async with client_of(hub) as client:
        await connections_of(client, hub)
        hub.close_connections()
        assert await connections_of(client, hub, 1) == [1, 1, 2]


async def test_a_connection_that_slept_with_the_machine_is_not_used_again(
    hub: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    monkeypatch.setattr(connection, "CLOCK", clock)
    async with client_of(hub) as client:
        await connections_of(client, hub, 1)
        clock.sleep(http_client.KEPT_S)
        await connections_of(client, hub, 1)
        clock.sleep(http_client.KEPT_S + 1)
        assert await connections_of(client, hub, 1) == [1, 1, 2]


async def test_a_request_whose_connection_breaks_is_not_sent_again(hub: Receiver) -> None:
    hub.script(DONE, DROP)
    async with client_of(hub) as client:
        await client.call("/v1/branch/join", {})
        with pytest.raises(HubUnreachableError, match="the other side closed the connection"):
            await client.call("/v1/branch/join", {})
        assert len(hub.requests) == 2
        assert await connections_of(client, hub, 1) == [1, 1, 2]


async def test_a_cancelled_call_closes_its_connection() -> None:
    came, closed = asyncio.Event(), asyncio.Event()

    async def hold(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        came.set()
        await reader.read()
        closed.set()

    async with serving(hold) as url:
        client = HubClient(url)
        call = asyncio.create_task(client.call("/v1/branch/sync", {}, timeout_s=40))
        await came.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(closed.wait(), PATIENCE_S)
        await client.aclose()


async def test_a_closed_connection_leaves_no_buffers_until_the_next_garbage_collection(hub: Receiver) -> None:
    gc.collect()
    gc.disable()
    try:
        async with client_of(hub) as client:
            for _ in range(3):
                await connections_of(client, hub, 1)
                await client.aclose()
            await asyncio.sleep(0.05)
        sessions = [one for one in gc.get_objects() if isinstance(one, ssl.SSLObject)]
        assert not [one for one in sessions if not one.server_side]
    finally:
        gc.enable()
    assert hub.connections == 3


async def test_calls_at_the_same_time_do_not_mix(hub: Receiver) -> None:
    hub.choose = lambda request: Answer(body=json.dumps({"data": {"to": request.path}}).encode(), delay_s=0.05)
    async with client_of(hub) as client:
        for _ in range(2):
            paths = [f"/{number}" for number in range(3)]
            answers = await asyncio.gather(*(client.call(path, {}) for path in paths))
            assert answers == [{"to": path} for path in paths]
    assert hub.connections == 3


async def test_an_answer_of_some_megabytes_is_read_whole(hub: Receiver) -> None:
    rows: dict[str, Any] = {"rows": "x" * 7_000_000}
    hub.script(Answer(body=json.dumps({"data": rows}).encode()))
    async with client_of(hub) as client:
        assert await client.call("/v1/branch/rows", {}) == rows
        assert await connections_of(client, hub, 1) == [1, 1]


async def test_a_longer_answer_is_not_read(hub: Receiver) -> None:
    hub.script(Answer(body=b"x" * 9_000_000))
    async with client_of(hub) as client:
        with pytest.raises(HubUnreachableError, match=r"^the answer is too long$"):
            await client.call("/v1/branch/rows", {})
        assert await connections_of(client, hub, 1) == [1, 2]


async def test_a_hub_that_does_not_answer_in_time_is_not_reached(hub: Receiver) -> None:
    hub.script(HANG)
    async with client_of(hub) as client:
        with pytest.raises(HubUnreachableError, match=r"^no answer within 0\.2 s$"):
            await client.call("/v1/branch/sync", {}, timeout_s=0.2)
        assert await connections_of(client, hub, 1) == [1, 2]


async def test_an_answer_may_take_longer_while_it_comes(hub: Receiver) -> None:
    """A line may need a minute for a large answer."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1022\r\n\r\n"
    hub.script(Answer(raw=head + b'{"data": {"acked": 7}}', drip=b" " * 100, drip_s=0.1))
    async with client_of(hub) as client:
        assert await client.call("/v1/branch/rows", {}, timeout_s=0.5) == {"acked": 7}


async def test_an_answer_that_comes_for_ever_is_given_up(hub: Receiver) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 8000000\r\n\r\n"
    hub.script(Answer(raw=head, drip=b" ", drip_s=0.05))
    async with client_of(hub) as client:
        with pytest.raises(HubUnreachableError, match=r"^no whole answer within 0\.5 s$"):
            await client.call("/v1/branch/sync", {}, timeout_s=2, whole_s=0.5)
        assert await connections_of(client, hub, 1) == [1, 2]


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (
            Answer(503, (("Retry-After", "9"),), b'{"error": {"code": "UNAVAILABLE", "message": "The disk is full."}}'),
            (503, "UNAVAILABLE", "The disk is full.", 9.0),
        ),
        (Answer(502, body=b"<html>"), (502, "", "the hub answered 502", None)),
        (Answer(500, body=b'{"error": 5}'), (500, "", "the hub answered 500", None)),
        (Answer(502, body=b"[" * 200_000), (502, "", "the hub answered 502", None)),
        (Answer(503, (("Retry-After", "soon"),)), (503, "", "the hub answered 503", None)),
        (Answer(503, (("Retry-After", "315360000"),)), (503, "", "the hub answered 503", 3600.0)),
        (Answer(503, (("Retry-After", "9" * 400),)), (503, "", "the hub answered 503", 3600.0)),
        (Answer(503, (("Retry-After", "5"), ("Retry-After", "7"))), (503, "", "the hub answered 503", 7.0)),
        (
            Answer(500, body=json.dumps({"error": {"code": "C" * 65, "message": "m" * 301}}).encode()),
            (500, "C" * 64, "m" * 300, None),
        ),
        (
            Answer(500, body=b'{"error": {"code": "A\\u001b", "message": " a\\u001b[31m\\n b\\ud800\\t"}}'),
            (500, "A", "a[31m b", None),
        ),
    ],
)
async def test_an_error_of_the_hub_is_a_refusal_with_short_printable_texts(
    hub: Receiver, answer: Answer, wanted: tuple[int, str, str, float | None]
) -> None:
    hub.script(answer)
    async with client_of(hub) as client:
        with pytest.raises(HubRefusalError) as caught:
            await client.call("/v1/branch/sync", {})
    found = caught.value
    assert (found.status, found.code, str(found), found.retry_after_s) == wanted


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (Answer(200, body=b"<html>"), "status 200, no JSON"),
        (Answer(200, body=b'{"data":' + b"[" * 200_000 + b"]" * 200_000 + b"}"), "status 200, no JSON"),
        (Answer(200, body=b'{"data": []}'), "status 200, other JSON than a hub's"),
        (Answer(204), "status 204, no JSON"),
        (
            Answer(302, (("Location", "http://login.example/\t?a"),)),
            r"status 302, it leads to http://login\.example/ \?a",
        ),
        (Answer(304), "status 304, it leads to nothing"),
    ],
)
async def test_a_login_page_of_the_network_is_named_as_what_is_not_a_hub(
    hub: Receiver, answer: Answer, what: str
) -> None:
    hub.script(answer)
    url = hub.url("", "127.0.0.1")
    advice = "check the address, or log in to the network"
    async with client_of(hub) as client:
        with pytest.raises(HubUnreachableError, match=rf"^what answers at {url} is not a hub \({what}\): {advice}$"):
            await client.call("/v1/branch/sync", {})


async def test_nothing_is_sent_to_a_server_with_another_key(hub: Receiver) -> None:
    client = HubClient(hub.url(""), "0" * 16, "key_1")
    with pytest.raises(HubUnreachableError, match="has another key than the hub"):
        await client.call("/v1/branch/sync", {})
    await client.aclose()
    assert hub.requests == []


async def test_a_server_whose_certificate_contains_the_hubs_as_text_is_not_the_hub(tmp_path: Path) -> None:
    hubs = tmp_path / "hub"
    hubs.mkdir()
    with Receiver(hubs):
        text = (hubs / "server.pem").read_bytes()
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "another server")])
    day = dt.datetime(2026, 11, 23, tzinfo=dt.UTC)
    draft = x509.CertificateBuilder(name, name, key.public_key(), 7, day, day + dt.timedelta(9))
    comment = x509.UnrecognizedExtension(x509.ObjectIdentifier("2.16.840.1.113730.1.13"), text)
    made = draft.add_extension(comment, critical=False).sign(key, SHA256())
    served = tmp_path / "served.pem"
    served.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + made.public_bytes(Encoding.PEM)
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(served)
    received = list[bytes]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.read(100))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    client = HubClient(url, spki_of_pem(text)[:16], "key_1")
    try:
        with pytest.raises(HubUnreachableError, match="has another key than the hub"):
            await client.call("/v1/branch/sync", {}, timeout_s=1)
    finally:
        await client.aclose()
        server.close()
    assert not any(received)


async def test_why_no_hub_was_reached_is_said(hub: Receiver) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    cases = {
        f"https://127.0.0.1:{port}": "127.0.0.1 refused the connection",
        hub.url(""): "its certificate is not valid: ",
        f"http://localhost:{hub.port}": "the other side ",
        "https://a..b": "not a name",
        "https://\u00fc..b": "not an address: ",
    }
    for url, why in cases.items():
        client = HubClient(url)
        with pytest.raises(HubUnreachableError, match=why):
            await client.call("/v1/branch/sync", {}, timeout_s=5)
        await client.aclose()
    client = HubClient(hub.url(""), ca_file="/nowhere/ca.pem")
    with pytest.raises(HubUnreachableError, match="No such file"):
        await client.call("/v1/branch/sync", {})
    assert hub.requests == []


async def test_a_server_that_speaks_no_tls_is_not_the_hub() -> None:
    async def speak(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n")

    async with serving(speak) as url:
        client = HubClient(url.replace("http", "https"), "0" * 16)
        with pytest.raises(HubUnreachableError, match=r"^TLS with localhost failed: "):
            await client.call("/v1/branch/sync", {})
        await client.aclose()


def test_a_pinned_client_loads_no_x509_library_no_cas_and_nothing_of_httpx_that_it_does_not_use() -> None:
    code = (
        "import sys, daemon.sender.hub_client as h; "
        "context = h._context('0' * 16, ''); "
        "h.HttpClient('https://hub.example', lambda: context); "
        "unwanted = ('httpx._main', 'rich', 'click', 'pygments', 'httpcore', 'anyio', 'h11', 'cryptography'); "
        "print([m for m in unwanted if sys.modules.get(m)], context.cert_store_stats()['x509'])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[] 0\n"


async def test_a_refusal_of_the_hub_has_its_hint(hub: Receiver) -> None:
    error = {"code": "FORBIDDEN", "message": "It is not allowed.", "hint": "Type momo hub status."}
    hub.script(Answer(status=403, body=json.dumps({"error": error}).encode()))
    async with client_of(hub) as client:
        with pytest.raises(HubRefusalError, match=r"not allowed\. Type momo hub status"):
            await client.call("/v1/branch/sync", {})
