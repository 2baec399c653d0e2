"""The Unix socket and the TCP address: binding, one daemon per address, and release."""

import asyncio
import contextlib
import socket
import ssl
import stat
import struct
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from starlette.types import Receive, Scope, Send

from daemon.api.http.listeners import ListenError, Listeners, split_address
from tests.fakes.api import FakeApi, running
from tests.fakes.waiting import until

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def bind(path: Path, http: str | None = None) -> Listeners:
    listeners = Listeners(socket_path=str(path), http=http)
    await listeners.bind()
    return listeners


async def connect(api: FakeApi) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = split_address(api.listeners.http_address)
    return await asyncio.open_connection(host, port)


async def answer_to(api: FakeApi, request: bytes) -> bytes:
    """Send bytes and read until the other side closes."""
    reader, writer = await connect(api)
    writer.write(request)
    async with asyncio.timeout(10):
        answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


async def test_a_dead_daemons_socket_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "run" / "momo.sock"
    path.parent.mkdir()
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(path))
    dead.close()
    listeners = await bind(path)
    assert stat.S_ISSOCK(path.stat().st_mode)
    await listeners.stop()
    assert not path.exists()


async def test_a_living_daemons_socket_is_left_alone(api: FakeApi) -> None:
    with pytest.raises(ListenError, match="another daemon answers"):
        await bind(Path(api.socket_path))
    assert (await api.local.get("/healthz")).status_code == 200


async def test_what_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "run" / "momo.sock"
    path.parent.mkdir()
    path.write_text("precious")
    with pytest.raises(ListenError, match="is not a socket"):
        await bind(path)
    assert path.read_text() == "precious"


async def test_a_folder_that_others_may_enter_is_closed_to_them(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o755)
    listeners = await bind(folder / "momo.sock")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    await listeners.stop()


async def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ListenError, match="belongs to another user"):
        await bind(tmp_path / "run" / "momo.sock")


async def test_a_port_that_is_taken_leaves_no_socket_behind(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ListenError, match="another program uses it"):
            await bind(tmp_path / "run" / "momo.sock", f"127.0.0.1:{port}")
    assert not (tmp_path / "run" / "momo.sock").exists()


async def test_another_sockets_file_is_not_removed_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "run" / "momo.sock"
    listeners = await bind(path)
    path.unlink()
    other = socket.socket(socket.AF_UNIX)
    other.bind(str(path))
    await listeners.stop()
    assert path.exists()
    other.close()


async def test_port_0_becomes_a_real_one_and_no_tcp_is_possible(tmp_path: Path) -> None:
    both = await bind(tmp_path / "a" / "s", "127.0.0.1:0")
    assert split_address(both.http_address)[1] > 0
    await both.stop()
    none = await bind(tmp_path / "b" / "s")
    assert none.http_address == ""
    await none.stop()


class AddressApp:
    """Answers every call with the address that it came from."""

    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.calls += 1
        address = scope["client"][0].encode()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": address})

    def close_streams(self) -> None:
        """Have no streams."""


async def test_on_an_address_for_both_protocols_ipv4_clients_have_their_own_addresses(tmp_path: Path) -> None:
    listeners = await bind(tmp_path / "run" / "momo.sock", "[::]:0")
    task = asyncio.create_task(listeners.serve(AddressApp()))  # type: ignore[arg-type]  # as much of an application as is used
    await listeners.ready()
    port = split_address(listeners.http_address)[1]
    async with httpx.AsyncClient() as client:
        for address, host in [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")]:
            assert (await client.get(f"http://{host}:{port}/")).text == address
    await listeners.stop()
    await task


async def test_a_client_that_is_gone_at_once_does_not_count_as_this_machine(tmp_path: Path) -> None:
    listeners = await bind(tmp_path / "run" / "momo.sock", "127.0.0.1:0")
    app = AddressApp()
    task = asyncio.create_task(listeners.serve(app))  # type: ignore[arg-type]  # as much of an application as is used
    await listeners.ready()
    address = split_address(listeners.http_address)
    gone = socket.create_connection(address)
    gone.sendall(HEALTH)
    gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    gone.close()  # a reset, before the connection is accepted
    async with httpx.AsyncClient() as client:
        assert (await client.get(f"http://{listeners.http_address}/")).text == "127.0.0.1"
    assert app.calls == 1
    await listeners.stop()
    await task


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def certificate(authority: trustme.CA, folder: Path) -> tuple[str, str]:
    issued = authority.issue_cert("localhost")
    chain, key = folder / "chain.pem", folder / "key.pem"
    chain.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(key)
    return str(chain), str(key)


async def test_with_a_certificate_tcp_is_https_and_the_socket_is_not(tmp_path: Path, authority: trustme.CA) -> None:
    async with running(tmp_path, tls=certificate(authority, tmp_path)) as api:
        trust = ssl.create_default_context()
        authority.configure_trust(trust)
        port = split_address(api.listeners.http_address)[1]
        async with httpx.AsyncClient(verify=trust) as client:
            answer = await client.get(f"https://localhost:{port}/healthz")
            assert answer.json()["data"]["status"] == "ok"
        assert (await api.local.get("/healthz")).status_code == 200
        # Plain HTTP gets no answer, and does no harm.
        assert await answer_to(api, HEALTH) == b""


async def test_clients_that_never_end_their_handshake_are_limited(tmp_path: Path, authority: trustme.CA) -> None:
    tls = certificate(authority, tmp_path)
    async with running(tmp_path, tls=tls, connections=2) as api:
        silent = [await connect(api) for _ in range(7)]
        ends = [asyncio.create_task(reader.read()) for reader, _ in silent]
        async with asyncio.timeout(10):
            assert await asyncio.gather(*ends[4:]) == [b""] * 3
        assert not any(end.done() for end in ends[:4])
        for _, writer in silent:
            writer.close()
        await asyncio.wait(ends)
        trust = ssl.create_default_context()
        authority.configure_trust(trust)
        port = split_address(api.listeners.http_address)[1]
        # One connection above the maximum is told so.
        async with contextlib.AsyncExitStack() as stack:
            statuses = [
                (await client.get(f"https://localhost:{port}/healthz")).status_code
                for client in [await stack.enter_async_context(httpx.AsyncClient(verify=trust)) for _ in range(3)]
            ]
        assert statuses == [200, 200, 503]
        held = await connect(api)
        held_end = asyncio.create_task(held[0].read())
    # The end of the daemon does not wait for a handshake.
    async with asyncio.timeout(5):
        assert await held_end == b""
    held[1].close()


@pytest.mark.parametrize("broken", ["chain", "key", "other", "encrypted"])
async def test_a_certificate_that_cannot_be_used_is_named(tmp_path: Path, authority: trustme.CA, broken: str) -> None:
    chain, key = certificate(authority, tmp_path)
    if broken == "other":
        other = authority.issue_cert("localhost").private_key_pem
        other.write_to_path(key)
    elif broken == "encrypted":
        loaded = load_pem_private_key(Path(key).read_bytes(), None)
        sealed = BestAvailableEncryption(b"pass")
        pem = loaded.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, sealed)
        Path(key).write_bytes(pem)
    else:
        Path(chain if broken == "chain" else key).write_text("no PEM")
    listeners = Listeners(socket_path=str(tmp_path / "run" / "s"), http="127.0.0.1:0", tls=(chain, key))
    with pytest.raises(ListenError, match=r"the certificate cannot be used \(.*key\.pem\)"):
        await listeners.bind()


async def served(listeners: Listeners) -> None:
    """Serve an application that answers nothing; return when it was stopped."""

    class Nothing:
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            raise NotImplementedError

        def close_streams(self) -> None:
            pass

    app: Any = Nothing()
    await listeners.serve(app)


async def until_bound(listeners: Listeners) -> None:
    await until(lambda: not listeners.waiting)


async def test_taken_port_is_tried_again_until_it_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.api.http.listeners.BIND_AGAIN_S", 0.05)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        listeners = Listeners(socket_path=str(tmp_path / "run" / "s"), http=f"127.0.0.1:{port}")
        await listeners.bind(patient=True)
        serving = asyncio.create_task(served(listeners))
        await listeners.ready()
        assert listeners.waiting == {"http": f"cannot listen on 127.0.0.1:{port}: another program uses it"}
        assert (tmp_path / "run" / "s").is_socket()
    await until_bound(listeners)
    _reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.close()
    await listeners.stop()
    await serving


async def test_folder_of_the_socket_that_cannot_be_used_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemon.api.http.listeners.BIND_AGAIN_S", 0.05)
    folder = tmp_path / "run"
    folder.write_text("in its place")
    listeners = Listeners(socket_path=str(folder / "s"), http="127.0.0.1:0")
    await listeners.bind(patient=True)
    serving = asyncio.create_task(served(listeners))
    await listeners.ready()
    assert list(listeners.waiting) == ["socket"]
    assert listeners.http_address
    folder.unlink()
    await until_bound(listeners)
    assert (folder / "s").is_socket()
    await listeners.stop()
    await serving


async def test_certificate_on_a_disk_that_is_not_there_yet_is_tried_again(
    tmp_path: Path, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemon.api.http.listeners.BIND_AGAIN_S", 0.05)
    chain, key = certificate(authority, tmp_path)
    away = Path(chain).rename(tmp_path / "away")
    listeners = Listeners(socket_path=str(tmp_path / "run" / "s"), http="127.0.0.1:0", tls=(chain, key))
    await listeners.bind(patient=True)
    serving = asyncio.create_task(served(listeners))
    await listeners.ready()
    assert list(listeners.waiting) == ["http"]
    away.rename(chain)
    await until_bound(listeners)
    assert listeners.http_address
    await listeners.stop()
    await serving


@pytest.mark.parametrize("address", ["localhost", "127.0.0.1:x"])
async def test_address_that_needs_an_edit_is_refused_at_once(tmp_path: Path, address: str) -> None:
    listeners = Listeners(socket_path=str(tmp_path / "run" / "s"), http=address)
    with pytest.raises(ListenError, match="is not HOST:PORT"):
        await listeners.bind(patient=True)


@pytest.mark.parametrize("text", ["8420", "localhost", ":80", "localhost:x", "localhost:70000", ""])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ListenError, match="is not HOST:PORT"):
        split_address(text)


def test_an_address_is_parted_into_its_host_and_its_port() -> None:
    assert split_address("127.0.0.1:8420") == ("127.0.0.1", 8420)
    assert split_address("[::1]:0") == ("::1", 0)


async def test_a_host_that_does_not_exist_is_told(tmp_path: Path) -> None:
    with pytest.raises(ListenError, match=r"192\.0\.2\.1:0"):
        await bind(tmp_path / "run" / "s", "192.0.2.1:0")
