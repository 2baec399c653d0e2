"""Two thousand connections at once: those over the limit are refused with an answer, and the Unix socket still works."""

import http.client
import json
import resource
import socket
from contextlib import ExitStack

import pytest

from tests.acceptance.conftest import Scene
from tests.fakes.real_shop import SOON_S, RealShop, utc_now, wait_until
from tests.fakes.receipts import mtn_receipts

LIMIT = 512
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def _connect(shop: RealShop) -> socket.socket:
    host, _, port = shop.http.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=20)


def _answer(line: socket.socket) -> tuple[int, dict[str, str], bytes]:
    answer = http.client.HTTPResponse(line, method="GET")
    answer.begin()
    return answer.status, dict(answer.headers), answer.read()


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_idle_connections_that_take_every_file_the_machine_allows_stop_neither_payments_nor_the_log(
    scene: Scene,
) -> None:
    """Nothing that is needed to take a payment is loaded only then."""
    shop = scene.shop
    shop.begin_chain(50_000)
    shop.start(prefix=("prlimit", "--nofile=256:256"))
    shop.assign("0244124567")
    with ExitStack() as lines:
        for _ in range(300):
            lines.enter_context(_connect(shop))
        for receipt in mtn_receipts(2, started=utc_now()):
            scene.phone.deliver(receipt.pdus)
        wait_until(lambda: len(shop.rows("SELECT 1 FROM payments")) == 2, 60, "both are payments")
        wait_until(scene.phone.is_empty, 60, "the SIM is emptied")
        assert shop.ask("GET", "/local/v1/status")["problems"] == []
    assert "Traceback" not in shop.said_now()
    shop.stop()


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_of_2000_idle_connections_512_are_served_and_the_others_get_503(shop: RealShop) -> None:
    # As a login shell has it; the daemon takes what the machine permits.
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    shop.start(prefix=("prlimit", f"--nofile=256:{hard}"))
    with ExitStack() as lines:
        served = [lines.enter_context(_connect(shop)) for _ in range(LIMIT)]
        for line in (served[0], served[-1]):
            line.sendall(HEALTH)
            assert _answer(line)[0] == 200
        refused = [lines.enter_context(_connect(shop)) for _ in range(2_000 - LIMIT)]
        for line in refused:
            status, headers, body = _answer(line)
            assert (status, headers["Retry-After"], headers["Connection"]) == (503, "1", "close")
            assert json.loads(body)["error"]["code"] == "UNAVAILABLE"
        assert shop.ask("GET", "/local/v1/status")["pid"] == shop.pid
        assert shop.request("25.00")["status"] == "PENDING"
        served[7].sendall(HEALTH)
        assert _answer(served[7])[0] == 200, "an idle one is still served"

    def served_again() -> bool:
        with _connect(shop) as line:
            line.sendall(HEALTH)
            return _answer(line)[0] == 200

    wait_until(served_again, SOON_S, "room for new connections")
    shop.stop()
