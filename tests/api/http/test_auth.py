"""Keys, scopes and the peer credentials of the Unix socket."""

import asyncio
import os
import pwd
import socket
import stat
import tempfile
from pathlib import Path

import httpx
import pytest

from daemon import wire
from daemon.api.http.auth import LocalUsers, needs
from daemon.core.access.callers import Caller, CallerKind
from daemon.core.errors import Refusal
from daemon.runtime.config import Access, Config
from daemon.store.access import users as store_users
from daemon.store.engine import Tx
from daemon.wire import ErrorCode, Mode, Scope
from tests.fakes.api import FakeApi, running

LIST = "/v1/transactions"


def refused(answer: httpx.Response) -> None:
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["error"]["code"] == "UNAUTHORIZED"


async def test_one_refusal_for_whatever_is_wrong_with_a_key(api: FakeApi) -> None:
    client = await api.client()
    known = await api.key()
    mistyped = known[:-1] + ("a" if known[-1] != "a" else "b")
    unknown = "svc_live_sk_" + "0" * 32 + "0" * 6
    for header in (
        None,
        "",
        "Bearer",
        f"Basic {known}",
        known,
        f"Bearer {mistyped}",
        f"Bearer {unknown}",
        "Bearer a.b.c",
    ):
        headers = {} if header is None else {"Authorization": header}
        refused(await client.get(LIST, headers=headers))
    assert (await client.get(LIST, headers={"Authorization": f"bearer {known}"})).status_code == 200


async def test_a_revoked_key_is_refused_from_the_next_call_on(api: FakeApi) -> None:
    client = await api.client(await api.key())
    assert (await client.get(LIST)).status_code == 200

    def revoke(tx: Tx) -> None:
        tx.run("UPDATE api_keys SET revoked_at = 1")
        tx.wake(store_users.KEYS_TOPIC)

    await api.shop.env.store.write(revoke)
    refused(await client.get(LIST))


async def test_a_key_ends_when_it_expires(api: FakeApi) -> None:
    soon = api.shop.clock.now_us() + 1_000_000
    client = await api.client(await api.key(expires_at=soon))
    assert (await client.get(LIST)).status_code == 200
    api.shop.clock.advance(1)
    refused(await client.get(LIST))


async def test_a_scope_that_we_do_not_know_gives_nothing(api: FakeApi) -> None:
    client = await api.client(await api.key(scopes='["everything","transactions:read"]'))
    assert (await client.get(LIST)).status_code == 200
    assert (await client.get("/v1/payment-methods")).status_code == 403


def test_any_one_of_the_scopes_is_enough() -> None:
    scopes = frozenset({Scope.WEBHOOKS_MANAGE})
    caller = Caller(CallerKind.KEY, Mode.LIVE, scopes, "k", publishable=False, name="key:k")
    needs(caller, Scope.WEBHOOKS_MANAGE, Scope.PAYMENT_METHODS_READ)
    with pytest.raises(Refusal) as caught:
        needs(caller, Scope.TRANSACTIONS_READ)
    assert caught.value.extras == {"required_scopes": ["transactions:read"]}


# The Unix socket ------------------------------------------------------------------------------------------------


async def test_the_socket_is_0600_in_a_0700_folder(api: FakeApi) -> None:
    path = Path(api.socket_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_our_own_user_needs_no_key_there(api: FakeApi) -> None:
    assert (await api.local.get(LIST)).status_code == 200
    assert (await api.local.get("/local/v1/status")).status_code == 200


async def test_a_key_that_is_given_there_counts(api: FakeApi) -> None:
    key = await api.key(Mode.TEST, Scope.TRANSACTIONS_READ)
    headers = {"Authorization": f"Bearer {key}"}
    assert (await api.local.get(LIST, headers=headers)).status_code == 200
    assert (await api.local.get("/v1/payment-methods", headers=headers)).status_code == 403
    refused(await api.local.get(LIST, headers={"Authorization": "Bearer nonsense"}))


@pytest.mark.parametrize("headers", [{"Origin": "http://localhost"}, {"Referer": "http://localhost/"}])
async def test_what_a_web_page_could_send_is_refused_there(api: FakeApi, headers: dict[str, str]) -> None:
    refused(await api.local.get(LIST, headers=headers))


async def test_localhost_is_a_good_host_on_the_socket(api: FakeApi) -> None:
    answer = await api.local.get(LIST, headers={"Host": "localhost"})
    assert answer.status_code == 200


@pytest.mark.parametrize("host", ["shop.example", "localhost.evil.example", ""])
async def test_another_host_on_the_socket_is_told_what_to_send(api: FakeApi, host: str) -> None:
    answer = await api.local.get(LIST, headers={"Host": host})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (421, "MISDIRECTED_REQUEST")
    assert error["message"] == "On the Unix socket the Host header must be `localhost`."
    assert "http://localhost/v1/" in error["hint"]


def test_only_our_own_user_root_and_those_named_are_let_in() -> None:
    users = LocalUsers(1000, ["nobody", "no-such-user"])
    nobody = pwd.getpwnam("nobody").pw_uid
    for uid in (0, 1000, nobody):
        caller = users.caller(uid)
        assert (caller.kind, caller.mode, caller.name) == (CallerKind.SOCKET, None, f"socket:{uid}")
    with pytest.raises(Refusal) as caught:
        users.caller(1001)
    assert caught.value.code is ErrorCode.UNAUTHORIZED


def ask_as(uid: int, path: str) -> bytes:
    """Ask over the socket from another process that has become another user."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(5)
            connection.connect(path)
            request = f"GET {LIST} HTTP/1.1\r\nHost: {wire.SOCKET_HOST}\r\nConnection: close\r\n\r\n"
            connection.sendall(request.encode())
            answer = b""
            while part := connection.recv(65536):
                answer += part
            os.write(writing, answer)
        except OSError as error:
            os.write(writing, type(error).__name__.encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
async def test_another_user_is_refused_by_the_kernels_word(api: FakeApi) -> None:
    nobody = pwd.getpwnam("nobody").pw_uid
    assert await asyncio.to_thread(ask_as, nobody, api.socket_path) == b"PermissionError"
    # The first check is the file's mode; this tests the second, the peer credentials.
    path = Path(api.socket_path)
    path.chmod(0o666)
    link = Path(f"/tmp/momo-test-{os.getpid()}")
    os.link(path, link)
    try:
        answer = await asyncio.to_thread(ask_as, nobody, str(link))
    finally:
        link.unlink()
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"momo config set access.socket_users nobody" in answer


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
async def test_a_user_named_in_the_settings_is_let_in() -> None:
    nobody = pwd.getpwnam("nobody").pw_uid
    config = Config(access=Access(socket_users=("nobody",)))
    with tempfile.TemporaryDirectory() as open_folder:
        Path(open_folder).chmod(0o755)
        async with running(Path(open_folder), config, open_to_all=True) as api:
            path = Path(api.socket_path)
            assert stat.S_IMODE(path.stat().st_mode) == 0o666
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o755
            answer = await asyncio.to_thread(ask_as, nobody, api.socket_path)
    assert answer.startswith(b"HTTP/1.1 200 ")
