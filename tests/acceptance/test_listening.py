"""`momo listen`, `momo deliveries curl` and local targets with a real daemon, a real receiver and real processes."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
from tests.fakes.real_shop import ROOT, RealShop, wait_until


class Local(ThreadingHTTPServer):
    """A receiver on this machine that verifies by what docs/webhooks.md says, and keeps what it took."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.got: list[dict[str, Any]] = []
        self.status = 200

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook?x=1"


class _Handler(BaseHTTPRequestHandler):
    server: Local

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append(
            {"path": self.path, "headers": dict(self.headers), "body": body.decode()}
        )
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(b"thanks")

    def log_message(self, *_args: object) -> None:
        pass


@pytest.fixture
def local() -> Iterator[Local]:
    server = Local()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[RealShop]:
    folder = tmp_path / "shop"
    # `listen` waits for a phone as little as the sandbox does.
    with RealShop(folder, phone=str(tmp_path / "no-phone"), short_schedule=True) as made:
        made.start()
        yield made


@contextmanager
def listening(shop: RealShop, *flags: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "momo_cli", "listen", "--json", *flags],
        cwd=ROOT, env=shop.environ, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def active(shop: RealShop) -> str | None:
    """Return the id of the endpoint that a listener is connected to."""
    found = shop.rows(
        "SELECT id FROM endpoints WHERE url LIKE 'listen:%' AND is_active = 1 AND deleted_at IS NULL"
    )
    return str(found[0][0]) if found else None


def pay(shop: RealShop, amount: str = "5") -> None:
    done = shop.momo("simulate", "payment", "--amount", amount, "--json")
    assert done.returncode == 0, done.stderr


def end(process: "subprocess.Popen[str]") -> tuple[list[dict[str, Any]], str]:
    """Press Ctrl-C; returns what it told of each attempt, and stderr."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 130, err
    return [json.loads(line) for line in out.splitlines()], err


def verified(secret: str, got: dict[str, Any]) -> bool:
    from standardwebhooks.webhooks import Webhook

    Webhook(secret).verify(got["body"], got["headers"])
    return True


def test_a_made_up_payment_reaches_the_program_and_its_answer_is_in_the_log(
    shop: RealShop, local: Local, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    with listening(shop, "--forward-to", local.url, "--secret-file", str(secret)) as process:
        endpoint = wait_until(lambda: active(shop), 10, "a listener")
        pay(shop)
        wait_until(
            lambda: shop.rows("SELECT 1 FROM deliveries WHERE status = 'delivered'"),
            10,
            "a delivery",
        )
        rows, _err = end(process)
    (got,) = local.got
    assert got["path"] == "/hook?x=1"
    assert verified(secret.read_text().strip(), got)
    (delivery,) = shop.rows("SELECT id, response_status_code, response_body FROM deliveries")
    assert delivery[1:] == (200, "thanks")
    assert (rows[0]["delivery_id"], rows[0]["status_code"]) == (delivery[0], 200)
    # It went with the program, and its log stayed.
    status, _ = shop.api("GET", f"{wire.Path.ENDPOINTS}/{endpoint}")
    assert status == 404


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_listener_goes_with_its_terminal(
    number: signal.Signals, shop: RealShop, local: Local
) -> None:
    with listening(shop, "--forward-to", local.url) as process:
        endpoint = wait_until(lambda: active(shop), 10, "a listener")
        process.send_signal(number)
        process.communicate(timeout=10)
    assert process.returncode == 128 + number
    status, _ = shop.api("GET", f"{wire.Path.ENDPOINTS}/{endpoint}")
    assert status == 404


@pytest.mark.slow
def test_fail_is_what_momo_is_told_and_dup_is_twice(shop: RealShop, local: Local) -> None:
    with listening(shop, "--forward-to", local.url, "--fail", "503,503,200", "--dup") as process:
        wait_until(lambda: active(shop), 10, "a listener")
        pay(shop)
        wait_until(
            lambda: shop.rows("SELECT 1 FROM deliveries WHERE status = 'delivered'"),
            90,  # the delivery loop looks again after 30 s at the latest
            "a delivery",
        )
        rows, err = end(process)
    assert [row["status_code"] for row in rows] == [503, 503, 200]
    assert len(local.got) == 6
    assert len({got["headers"]["webhook-id"] for got in local.got}) == 1
    assert "secret whsec_" in err
    codes = shop.rows("SELECT status_code FROM attempts ORDER BY seq")
    assert codes == [(503,), (503,), (200,)]


@pytest.mark.slow
def test_what_came_while_nobody_listened_comes_when_somebody_does(
    shop: RealShop, local: Local
) -> None:
    with listening(shop, "--forward-to", local.url) as process:
        wait_until(lambda: active(shop), 10, "a listener")
        shop.kill()  # the daemon, in mid-air
        shop.start()
        wait_until(lambda: active(shop), 10, "the listener again")
        pay(shop)
        wait_until(lambda: local.got, 10, "a webhook")
        end(process)
    with listening(shop, "--forward-to", local.url, "--keep") as process:
        endpoint = wait_until(lambda: active(shop), 10, "a listener")
        end(process)
    wait_until(lambda: active(shop) is None, 20, "its pause")
    pay(shop, "7")
    assert len(local.got) == 1
    with listening(shop, "--forward-to", local.url, "--endpoint", endpoint) as process:
        wait_until(lambda: len(local.got) == 2, 10, "what was missed")
        end(process)
    assert json.loads(local.got[1]["body"])["data"]["actual_amount"] == "7.00"


@pytest.mark.slow
def test_a_receiver_that_is_not_there_is_an_attempt_that_failed(
    shop: RealShop, local: Local
) -> None:
    gone = local.url.replace(str(local.server_port), "9")
    with listening(shop, "--forward-to", gone) as process:
        wait_until(lambda: active(shop), 10, "a listener")
        pay(shop)
        wait_until(
            lambda: shop.rows("SELECT 1 FROM attempts WHERE finished_at IS NOT NULL"),
            10,
            "an attempt",
        )
        rows, _ = end(process)
    assert rows[0]["error"] == "connection_refused"
    assert shop.rows("SELECT error_code FROM attempts ORDER BY seq LIMIT 1") == [
        ("connection_refused",)
    ]


@pytest.mark.slow
def test_the_printed_curl_command_is_taken_as_genuine(
    shop: RealShop, local: Local, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    with listening(shop, "--forward-to", local.url, "--secret-file", str(secret)) as process:
        wait_until(lambda: active(shop), 10, "a listener")
        pay(shop)
        wait_until(
            lambda: shop.rows("SELECT 1 FROM deliveries WHERE status = 'delivered'"),
            10,
            "a delivery",
        )
        end(process)
    ((delivery,),) = shop.rows("SELECT id FROM deliveries ORDER BY seq DESC LIMIT 1")
    printed = shop.momo("deliveries", "curl", delivery, "--url", local.url)
    assert printed.returncode == 0, printed.stderr
    assert secret.read_text().strip() not in printed.stdout
    ran = subprocess.run(
        ["sh"], input=printed.stdout, capture_output=True, text=True, timeout=20, check=False,
        env={"PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert ran.stdout.endswith("thanks"), ran.stderr
    first, last = local.got[-2:]
    assert last["body"] == first["body"]
    assert last["headers"]["webhook-id"] == first["headers"]["webhook-id"]
    assert last["headers"]["X-Svc-Replay"] == "true"
    assert verified(secret.read_text().strip(), last)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fail", "left"),
    [("410", ("failed", "http_error")), ("drop", ("retrying", "connection_reset"))],
)
def test_a_broken_receiver_to_practise_with(
    shop: RealShop, fail: str, left: tuple[str, str]
) -> None:
    done = shop.momo("simulate", "endpoint", "--fail", fail, "--count", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2
    # Two tries were failed by the command. Once it has ended, each further one is a refused connection.
    status, code = left
    tries = wait_until(
        lambda: shop.rows(
            "SELECT d.status FROM attempts a JOIN deliveries d ON d.id = a.delivery_id WHERE a.error_code = ?",
            (code,),
        ),
        5,
        "its failures",
    )
    assert tries == [(status,)] * 2
    letters = shop.rows("SELECT COUNT(*) FROM dead_letters")[0][0]
    assert (letters > 0) == (fail == "410")


@pytest.mark.slow
def test_a_command_and_a_folder_get_what_is_paid(shop: RealShop, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    spool, command = tmp_path / "spool", tmp_path / "book"
    spool.mkdir(mode=0o700)
    command.write_text(
        f"#!/bin/sh\ntest -e {tmp_path}/ready || exit 75\ncat >> {tmp_path}/booked\n"
    )
    command.chmod(0o700)
    for url in (f"spool:{spool}", f"exec:{command}"):
        done = shop.momo("endpoints", "add", url, "--sandbox", "--json")
        assert done.returncode == 0, done.stdout
    pay(shop)
    wait_until(
        lambda: shop.rows("SELECT 1 FROM deliveries WHERE status = 'retrying'"), 10, "a retry"
    )
    (tmp_path / "ready").touch()
    wait_until(
        lambda: len(shop.rows("SELECT 1 FROM deliveries WHERE status = 'delivered'")) == 2,
        20,
        "both",
    )
    (file,) = spool.iterdir()
    assert json.loads(file.read_text())["data"]["actual_amount"] == "5.00"
    assert json.loads((tmp_path / "booked").read_text())["data"]["actual_amount"] == "5.00"
    tries = shop.rows(
        "SELECT a.status_code, a.error_message FROM attempts a JOIN deliveries d ON d.id = a.delivery_id "
        "JOIN endpoints e ON e.id = d.endpoint_id WHERE e.url LIKE 'exec:%' ORDER BY a.seq"
    )
    assert tries[0] == (500, "the command ended with exit code 75")
    assert tries[-1] == (200, None)
