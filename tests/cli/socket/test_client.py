"""The client against the fake daemon: received requests, repeated calls, and errors of a lost connection."""

import json
import os
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from daemon import wire
from momo_cli.errors import Failure, next_of
from momo_cli.flags import Flags
from momo_cli.socket import connect
from momo_cli.socket.client import Client
from momo_cli.socket.connect import locate
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.fakes.fake_api import FakeApi, Says, ok, refusal


def client_of(shop: Shop) -> Client:
    return Client(locate(Flags(), shop.environ, os.getuid()), warn=lambda _: None)


def test_request_carries_host_and_protocol(api: FakeApi, shop: Shop) -> None:
    api.on("GET", wire.Path.LINES, ok({}))
    client_of(shop).get(wire.Path.LINES, a=None, b="x y")
    asked = api.asked[0]
    assert asked.query == {"b": "x y"}
    assert asked.headers["host"] == wire.SOCKET_HOST
    assert asked.headers["x-momo-protocol"] == wire.PROTOCOL
    assert not {"origin", "referer"} & set(asked.headers)


def test_each_run_has_its_own_idempotency_key(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.INITIALIZE, ok(samples.CREATED))
    momo("init", "1", "--phone", "0244124567")
    momo("init", "1", "--phone", "0244124567")
    momo("init", "1", "--phone", "0244124567", "--idempotency-key", "mine")
    keys = [asked.headers["idempotency-key"] for asked in api.asked]
    assert len(set(keys)) == 3
    assert keys[2] == "mine"


def test_whole_list_is_read_by_cursor_where_the_list_has_one(api: FakeApi, shop: Shop) -> None:
    rows = [{"id": str(number)} for number in range(4)]
    api.on(
        "GET",
        wire.Path.DELIVERIES,
        ok(rows[:2], meta={"next_cursor": "WzJd"}),
        ok(rows[2:], meta={"next_cursor": None}),
    )
    found = client_of(shop).rows(wire.Path.DELIVERIES, {"status": "failed"}, page=2, offset=7)
    assert list(found) == rows
    common = {"status": "failed", "limit": "2"}
    assert [asked.query for asked in api.asked] == [
        {**common, "offset": "7"},
        {**common, "offset": "0", "after": "WzJd"},
    ]


def test_broken_connection_is_tried_once_more_with_the_same_key(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.INITIALIZE, Says(drop=True), ok(samples.CREATED))
    assert momo("init", "1", "--phone", "0244124567").code == 0
    first, second = api.asked
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert first.body == second.body


def test_unsafe_call_is_never_repeated(api: FakeApi, shop: Shop) -> None:
    api.on("PATCH", wire.Path.PAYMENT_METHODS, Says(drop=True), ok({}))
    with pytest.raises(Failure) as caught:
        client_of(shop).call("PATCH", wire.Path.PAYMENT_METHODS, body={})
    assert "may or may not have been carried out" in caught.value.message
    assert len(api.asked) == 1


def test_lost_init_says_how_to_repeat_it_safely(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.INITIALIZE, Says(drop=True))
    ran = momo("init", "1", "--phone", "0244124567", "--idempotency-key", "k1")
    assert ran.code == 7
    assert "repeat it safely with --idempotency-key k1" in ran.err


def test_protocol_mismatch_warns_once(api: FakeApi, momo: Momo) -> None:
    api.protocol = "2"
    api.on("GET", f"/v1/transactions/by-svc/{samples.CODE}", samples.one("PENDING"))
    api.on("POST", f"/v1/transactions/{samples.REF}/reconcile", ok(samples.RECONCILED))
    ran = momo("reconcile", samples.CODE, "0000012345", "--json")
    assert ran.code == 0
    assert ran.err.count("warning: the daemon uses protocol 2 and this momo uses 1") == 1


def test_something_else_on_the_socket_is_told(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LINES, Says(raw=b"hello"))
    ran = momo("lines")
    assert ran.code == 7
    assert "is not a momo daemon" in ran.err


def test_slow_daemon_is_told_with_the_limit(shop: Shop, momo: Momo) -> None:
    shop.socket.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(shop.socket))
        listener.listen()
        ran = momo("lines", "--timeout", "50ms")
    assert ran.code == 7
    assert "did not answer within 0.05 s" in ran.err


def test_an_answer_that_comes_before_the_body_is_read_is_heard(shop: Shop, momo: Momo, tmp_path: Path) -> None:
    body = tmp_path / "big.json"
    body.write_text(json.dumps({"text": "x" * 4_000_000}))  # more than any socket holds
    shop.socket.parent.mkdir(mode=0o700)
    said = b'{"success":false,"error":{"code":"PAYLOAD_TOO_LARGE","message":"m"}}'
    head = f"HTTP/1.1 413 Too Large\r\nContent-Length: {len(said)}\r\n\r\n".encode()

    def refuse(listener: socket.socket) -> None:
        taken, _ = listener.accept()
        with taken:
            taken.recv(100)
            taken.sendall(head + said)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(shop.socket))
        listener.listen()
        server = threading.Thread(target=refuse, args=(listener,))
        server.start()
        ran = momo("api", "POST", "/v1/keys", "-d", f"@{body}")
        server.join()
    assert (ran.code, "[PAYLOAD_TOO_LARGE]" in ran.err) == (2, True)


@contextmanager
def sending(shop: Shop, *pieces: bytes, ends: bool = True) -> Iterator[list[bytes]]:
    """Answer every connection with these pieces and then close it, or leave it open; yield the received requests."""
    asked: list[bytes] = []
    taken: list[socket.socket] = []

    def serve(listener: socket.socket) -> None:
        while True:
            connection, _ = listener.accept()
            asked.append(connection.recv(65536))
            if not asked[-1]:  # the test is over
                connection.close()
                return
            for piece in pieces:
                connection.sendall(piece)
            if ends:
                connection.close()
            else:
                taken.append(connection)

    shop.socket.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(shop.socket))
        listener.listen()
        server = threading.Thread(target=serve, args=(listener,))
        server.start()
        try:
            yield asked
        finally:
            with socket.socket(socket.AF_UNIX) as last:
                last.connect(str(shop.socket))
            server.join()
            for connection in taken:
                connection.close()


LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
CUT_OFF = (b"", b"HTTP/1.1 2", LENGTH[:-2], LENGTH + b'{"success":', CHUNKED, CHUNKED + b"2\r\n{}\r\n")


@pytest.mark.parametrize("part", CUT_OFF)
def test_a_daemon_that_ends_in_the_middle_of_its_answer_is_asked_once_more(part: bytes, shop: Shop, momo: Momo) -> None:
    with sending(shop, part) as asked:
        ran = momo("lines")
        assert len(asked) == 2
    assert ran.code == 7
    assert "the connection to the daemon broke before the answer" in ran.err


@pytest.mark.parametrize("part", CUT_OFF)
def test_an_unsafe_call_with_half_an_answer_is_never_repeated(part: bytes, shop: Shop) -> None:
    with sending(shop, part) as asked:
        with pytest.raises(Failure, match="may or may not have been carried out"):
            client_of(shop).call("PATCH", wire.Path.PAYMENT_METHODS, body={})
        assert len(asked) == 1


@pytest.mark.parametrize("part", CUT_OFF)
def test_a_daemon_that_hangs_in_the_middle_of_its_answer_is_told_with_the_limit(
    part: bytes, shop: Shop, momo: Momo
) -> None:
    with sending(shop, part, ends=False):
        ran = momo("lines", "--timeout", "50ms")
    assert ran.code == 7
    assert "did not answer within 0.05 s" in ran.err


def test_an_answer_outside_the_protocol_is_told_and_not_asked_for_again(shop: Shop, momo: Momo) -> None:
    with sending(shop, b"220 mail.example ESMTP\r\n", ends=False) as asked:
        ran = momo("lines")
        assert len(asked) == 1
    assert ran.code == 7
    assert "is not a momo daemon (its answer is not HTTP/1.1)" in ran.err


def test_a_stream_that_breaks_off_ends_after_its_last_whole_event(shop: Shop) -> None:
    whole, half = b"id: 1\ndata: {}\n\n", b"id: 2\ndata: {"
    for last in (b"%x\r\n%s" % (99, half), b"%x\r\n%s\r\n" % (len(half), half)):
        with sending(shop, CHUNKED, b"%x\r\n%s\r\n" % (len(whole), whole), last):
            found = [each.id for each in client_of(shop).events() if each is not None]
        shop.socket.unlink()
        shop.socket.parent.rmdir()
        assert found == ["1"]


def test_a_silent_stream_ends_at_its_time_limit(shop: Shop) -> None:
    with sending(shop, CHUNKED, b"3\r\n: a\r\n", b"2\r\n\n\n\r\n", ends=False):
        assert list(client_of(shop).events(left=lambda: 0.05)) == [None, None]


def test_stale_socket_is_told_after_two_seconds_of_trying(shop: Shop, momo: Momo, naps: list[float]) -> None:
    shop.socket.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(shop.socket))
    ran = momo("lines", "--json")
    assert ran.code == 7
    assert "stopped without removing its socket" in ran.json["error"]["message"]
    assert sum(naps) == pytest.approx(2.0)


def test_missing_socket_is_told_at_once(momo: Momo, naps: list[float]) -> None:
    assert momo("lines").code == 7
    assert naps == []


@pytest.mark.skipif(os.getuid() == 0, reason="root may open every socket")
def test_foreign_socket_names_its_owner(shop: Shop, momo: Momo) -> None:
    shop.socket.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(shop.socket))
        shop.socket.chmod(0)
        ran = momo("lines")
    assert ran.code == 7
    assert "the socket belongs to user" in ran.err
    assert "momo config set access.socket_users" in ran.err


def test_refused_permission_names_owner_and_setting(shop: Shop) -> None:
    from momo_cli.socket.connect import unreachable

    shop.socket.parent.mkdir(mode=0o700)
    shop.socket.touch()
    located = locate(Flags(), shop.environ, os.getuid())
    failure = unreachable(located, PermissionError())
    assert failure.code == "DAEMON_DOWN"
    assert "the socket belongs to user" in failure.message
    assert "momo config set access.socket_users" in failure.message
    assert next_of(failure) == ["momo help files"]


def test_path_segments_are_quoted(api: FakeApi, momo: Momo) -> None:
    api.on("GET", "/v1/transactions/by-client-ref/a%2Fb%20c", samples.one("SUCCESS"))
    assert momo("tx", "show", "--client-ref", "a/b c", "--get", "data.status").out == "SUCCESS\n"


def test_the_socket_is_searched_for_in_the_published_order(tmp_path: Path) -> None:
    def found(flags: Flags, **environ: str) -> str:
        return locate(flags, {"HOME": str(tmp_path), **environ}, 4242).socket

    run = tmp_path / "run" / "momo"
    run.mkdir(parents=True)
    (run / "momo.sock").touch()
    (run / "second.sock").touch()
    xdg = str(tmp_path / "run")
    assert found(Flags(socket="/a"), MOMO_SOCKET="/b", MOMO_HOME="/c") == "/a"
    assert found(Flags(), MOMO_SOCKET="/b", MOMO_HOME="/c") == "/b"
    assert found(Flags(), MOMO_HOME="/c", XDG_RUNTIME_DIR=xdg) == "/c/run/momo.sock"
    assert found(Flags(), XDG_RUNTIME_DIR=xdg) == f"{run}/momo.sock"
    assert found(Flags(profile="second"), XDG_RUNTIME_DIR=xdg) == f"{run}/second.sock"
    assert found(Flags(profile="third")) == "/run/user/4242/momo/third.sock"


def test_a_user_without_an_own_shop_gets_the_shop_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = tmp_path / "var-lib-momo"
    monkeypatch.setattr(connect, "SYSTEM_HOME", str(machine))
    environ = {"HOME": str(tmp_path)}
    assert locate(Flags(), environ, 4242).machine is False, "there is none"
    machine.mkdir()
    located = locate(Flags(), environ, 4242)
    assert located.machine is True
    assert located.socket == "/run/momo/momo.sock"
    assert located.places.database == "/var/lib/momo/default/momo.db"
    assert located.places.config == "/etc/momo/default.toml"
    # The command line's own files stay with its user, without permission to write in the machine's shop.
    assert located.places.state == f"{tmp_path}/.local/state/momo/default"
    assert locate(Flags(profile="own"), environ, 4242).machine is False
    assert locate(Flags(), {**environ, "MOMO_HOME": "/c"}, 4242).machine is False
    own = tmp_path / ".local/share/momo/default"
    own.mkdir(parents=True)
    (own / "momo.db").touch()
    assert locate(Flags(), environ, 4242).machine is False, "an own shop comes first"


def test_long_home_moves_the_socket_on_both_sides(tmp_path: Path) -> None:
    home = tmp_path / ("x" * 120)
    socket_path = locate(Flags(), {"MOMO_HOME": str(home)}, 4242).socket
    assert len(socket_path) <= 107
    assert "/momo-4242/" in socket_path


def test_secret_goes_to_its_file_and_not_to_stdout(api: FakeApi, momo: Momo, tmp_path: Path) -> None:
    api.on("POST", wire.Path.ENDPOINTS, ok(samples.ENDPOINT, secret="whsec_canary"))
    file = tmp_path / "secret"
    argv = ("endpoints", "add", "https://shop.example/hook", "--secret-file", str(file), "--json")
    ran = momo(*argv)
    assert ran.json["secret"] is None
    assert file.read_text() == "whsec_canary\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = momo(*argv)
    assert again.code == 2
    assert "File exists" in again.err
    assert len(api.asked) == 1


def test_refused_endpoint_leaves_no_secret_file(api: FakeApi, momo: Momo, tmp_path: Path) -> None:
    api.on("POST", wire.Path.ENDPOINTS, refusal(422, "URL_NOT_ALLOWED", reason="private"))
    file = tmp_path / "secret"
    ran = momo("endpoints", "add", "https://10.0.0.1/", "--secret-file", str(file))
    assert ran.code == 5
    assert not file.exists()
