"""Answers stay true: transactions made while the daemon is killed, and concurrent callers for one payment."""

import http.client
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from daemon import wire
from tests.fakes.real_shop import RealShop, pause, wait_until
from tests.fakes.seed import seed
from tests.fakes.tiers import share

CALLERS = 8
ROUNDS = share(50)


@pytest.mark.slow
@pytest.mark.timeout(90)
def test_an_order_that_was_answered_is_there_after_a_kill_and_a_repeat_makes_no_second(shop: RealShop) -> None:
    shop.start()
    client, rng = _Client(shop), random.Random(seed())
    with client:
        for answers in (0, 5, 10, 10):
            wanted = len(client.answered) + answers
            wait_until(partial(client.has, wanted), 30, "it is answered")
            pause(rng.uniform(0, 0.1))
            shop.kill()
            shop.start()
    # Each key stands for one transaction, the answered one, also if its first answer was cut off.
    found = dict(shop.rows("SELECT client_reference, COUNT(*) FROM transactions GROUP BY 1"))
    assert found == dict.fromkeys(client.answered, 1)
    for key, reference in client.answered.items():
        assert shop.transaction(reference)["client_reference"] == key


class _Client:
    """A shop's till that repeats a call under the same key until it is answered."""

    def __init__(self, shop: RealShop) -> None:
        self._shop = shop
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(1)
        self.answered: dict[str, str] = {}

    def __enter__(self) -> None:
        self._work = self._pool.submit(self._run)

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._pool.shutdown()
        self._work.result()

    def has(self, count: int) -> bool:
        if self._work.done():
            self._work.result()  # it ended by itself: raise its error
        return len(self.answered) >= count

    def _run(self) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            self.answered[f"order-{number}"] = self._order(f"order-{number}")

    def _order(self, key: str) -> str:
        body = {"amount": "5.00", "phone_number": "0244123456", "client_reference": key}
        while True:
            try:
                status, answer = self._shop.api(
                    "POST", wire.Path.INITIALIZE, body, headers={wire.IDEMPOTENCY_HEADER: key}
                )
            except (OSError, http.client.HTTPException, ValueError):
                pause(0.01)
                continue
            if status == 503 and answer["error"]["cause"] == wire.FaultCause.STARTING:
                # The hint is to repeat it; the same key may be used, because the call had no effect.
                pause(0.01)
                continue
            assert status == 201, answer
            reference: str = answer["data"]["reference"]
            return reference
