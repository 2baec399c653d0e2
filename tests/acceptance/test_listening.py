"""`momo listen`, `momo deliveries curl` and local targets with a real daemon, a real receiver and real processes."""

import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
from tests.fakes.listen_process import LocalReceiver, listening
from tests.fakes.real_shop import SOON_S, RealShop, wait_until


@pytest.fixture
def local() -> Iterator[LocalReceiver]:
    server = LocalReceiver()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[RealShop]:
    # `listen` needs a phone as little as the sandbox does.
    no_phone = tmp_path / "no-phone"
    with RealShop(tmp_path / "shop", phone=no_phone, short_schedule=True) as made:
        made.start()
        yield made


def active(shop: RealShop) -> str | None:
    """Return the ID of the listener's endpoint while it is connected; before and after, it is paused."""
    found = shop.rows("SELECT id FROM endpoints WHERE url LIKE 'listen:%' AND is_active = 1 AND deleted_at IS NULL")
    return str(found[0][0]) if found else None


def delivered(shop: RealShop, count: int = 1) -> list[tuple[Any, ...]]:
    """Wait until `count` deliveries have arrived; return the ID, the status and the body of each answer."""
    ask = "SELECT id, response_status_code, response_body FROM deliveries WHERE status = 'delivered'"
    wait_until(lambda: len(shop.rows(ask)) >= count, SOON_S, f"{count} delivered")
    return shop.rows(ask)


def pay(shop: RealShop, amount: str = "5") -> None:
    done = shop.momo("simulate", "payment", "--amount", amount, "--json")
    assert done.returncode == 0, done.stderr


def verified(secret: str, got: dict[str, Any]) -> bool:
    from standardwebhooks.webhooks import Webhook

    Webhook(secret).verify(got["body"], got["headers"])
    return True


def test_a_made_up_payment_reaches_the_program_and_its_answer_is_in_the_log(
    shop: RealShop, local: LocalReceiver, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    with listening(shop, "--forward-to", local.url, "--secret-file", str(secret)) as listener:
        endpoint = wait_until(lambda: active(shop), SOON_S, "a listener")
        pay(shop)
        (row,) = listener.attempts(1)
        (delivery,) = delivered(shop)
        listener.end()
    (got,) = local.got
    assert got["path"] == "/hook?x=1"
    assert verified(secret.read_text().strip(), got)
    assert delivery[1:] == (200, "thanks")
    assert (row["delivery_id"], row["status_code"]) == (delivery[0], 200)
    # The endpoint was deleted with the program; its log was kept.
    status, _ = shop.api("GET", f"{wire.Path.ENDPOINTS}/{endpoint}")
    assert status == 404


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_listener_goes_with_its_terminal(number: signal.Signals, shop: RealShop, local: LocalReceiver) -> None:
    with listening(shop, "--forward-to", local.url) as listener:
        endpoint = wait_until(lambda: active(shop), SOON_S, "a listener")
        listener.end(number)
    status, _ = shop.api("GET", f"{wire.Path.ENDPOINTS}/{endpoint}")
    assert status == 404


@pytest.mark.slow
def test_fail_returns_its_status_and_dup_delivers_twice(shop: RealShop, local: LocalReceiver) -> None:
    with listening(shop, "--forward-to", local.url, "--fail", "503,503,200", "--dup") as listener:
        wait_until(lambda: active(shop), SOON_S, "a listener")
        pay(shop)
        rows = listener.attempts(3)
        delivered(shop)
        said = listener.end()
    assert [row["status_code"] for row in rows] == [503, 503, 200]
    assert len(local.got) == 6
    assert len({got["headers"]["webhook-id"] for got in local.got}) == 1
    assert "secret whsec_" in said
    codes = shop.rows("SELECT status_code FROM attempts ORDER BY seq")
    assert codes == [(503,), (503,), (200,)]


@pytest.mark.slow
def test_deliveries_made_without_a_listener_arrive_when_one_connects(shop: RealShop, local: LocalReceiver) -> None:
    with listening(shop, "--forward-to", local.url) as listener:
        wait_until(lambda: active(shop), SOON_S, "a listener")
        shop.kill()  # the daemon, while it runs
        shop.start()
        wait_until(lambda: active(shop), SOON_S, "the listener again")
        pay(shop)
        listener.attempts(1)
        listener.end()
    with listening(shop, "--forward-to", local.url, "--keep") as listener:
        endpoint = wait_until(lambda: active(shop), SOON_S, "a listener")
        listener.end()
    wait_until(lambda: active(shop) is None, SOON_S, "its pause")
    pay(shop, "7")
    assert len(local.got) == 1
    with listening(shop, "--forward-to", local.url, "--endpoint", endpoint) as listener:
        listener.attempts(1)
        listener.end()
    assert json.loads(local.got[1]["body"])["data"]["actual_amount"] == "7.00"


@pytest.mark.slow
def test_a_receiver_that_is_not_there_is_an_attempt_that_failed(shop: RealShop) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # a closed port that is reserved, so no other program can listen on it
        gone = f"http://127.0.0.1:{taken.getsockname()[1]}/hook"
        with listening(shop, "--forward-to", gone) as listener:
            wait_until(lambda: active(shop), SOON_S, "a listener")
            pay(shop)
            (row,) = listener.attempts(1)
    assert row["error"] == "connection_refused"
    wait_until(lambda: shop.rows("SELECT 1 FROM attempts WHERE finished_at IS NOT NULL"), SOON_S, "an attempt")
    assert shop.rows("SELECT error_code FROM attempts ORDER BY seq LIMIT 1") == [("connection_refused",)]


@pytest.mark.slow
def test_the_printed_curl_command_is_taken_as_genuine(shop: RealShop, local: LocalReceiver, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    with listening(shop, "--forward-to", local.url, "--secret-file", str(secret)) as listener:
        wait_until(lambda: active(shop), SOON_S, "a listener")
        pay(shop)
        listener.attempts(1)
        ((delivery, *_),) = delivered(shop)
        listener.end()
    printed = shop.momo("deliveries", "curl", delivery, "--url", local.url)
    assert printed.returncode == 0, printed.stderr
    assert secret.read_text().strip() not in printed.stdout
    ran = subprocess.run(
        ["sh"], input=printed.stdout, capture_output=True, text=True, timeout=20, check=False,
        env={"PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert ran.stdout.endswith("thanks"), ran.stderr
    first, last = local.got
    assert last["body"] == first["body"]
    assert last["headers"]["webhook-id"] == first["headers"]["webhook-id"]
    assert last["headers"]["X-Svc-Replay"] == "true"
    assert verified(secret.read_text().strip(), last)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fail", "left"), [("410", ("failed", "http_error")), ("drop", ("retrying", "connection_reset"))]
)
def test_a_broken_receiver_to_practise_with(shop: RealShop, fail: str, left: tuple[str, str]) -> None:
    done = shop.momo("simulate", "endpoint", "--fail", fail, "--count", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2
    # The command failed two attempts. One under way when the command ended is cut off, as by a receiver that drops
    # the connection; each later one is refused.
    status, code = left

    def failures() -> list[tuple[Any, ...]]:
        return shop.rows(
            "SELECT d.status FROM attempts a JOIN deliveries d ON d.seq = a.delivery_seq WHERE a.error_code = ?",
            (code,),
        )

    wait_until(lambda: len(failures()) >= 2, SOON_S, "its failures")
    assert set(failures()) == {(status,)}
    letters = shop.rows("SELECT COUNT(*) FROM dead_letters")[0][0]
    assert letters == (2 if fail == "410" else 0)


@pytest.mark.slow
def test_a_command_and_a_folder_get_what_is_paid(shop: RealShop, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    spool, command = tmp_path / "spool", tmp_path / "book"
    spool.mkdir(mode=0o700)
    command.write_text(f"#!/bin/sh\ntest -e {tmp_path}/ready || exit 75\ncat >> {tmp_path}/booked\n")
    command.chmod(0o700)
    for url in (f"spool:{spool}", f"exec:{command}"):
        done = shop.momo("endpoints", "add", url, "--sandbox", "--json")
        assert done.returncode == 0, done.stdout
    pay(shop)
    wait_until(lambda: shop.rows("SELECT 1 FROM deliveries WHERE status = 'retrying'"), SOON_S, "a retry")
    (tmp_path / "ready").touch()
    delivered(shop, 2)
    (file,) = spool.iterdir()
    assert json.loads(file.read_text())["data"]["actual_amount"] == "5.00"
    assert json.loads((tmp_path / "booked").read_text())["data"]["actual_amount"] == "5.00"
    tries = shop.rows(
        "SELECT a.status_code, a.error_message FROM attempts a JOIN deliveries d ON d.seq = a.delivery_seq "
        "JOIN endpoints e ON e.seq = d.endpoint_seq WHERE e.url LIKE 'exec:%' ORDER BY a.seq"
    )
    assert tries[0] == (500, "the command ended with exit code 75")
    assert tries[-1] == (200, None)
