"""A wrong clock loses no webhook: years off at the start, days ahead without a memory, and corrected while it runs.

The receiver has the right time. It refuses a signature that is over five minutes old or new with 400 and its own `Date`,
as the receivers of `docs/developers/webhooks.md` do.
"""

import random
import subprocess
import sys
import time
from email.utils import formatdate
from pathlib import Path

import pytest

from daemon import wire
from daemon.runtime.system import SystemClock
from tests.acceptance.conftest import Scene
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import SOON_S, RealShop, pause, utc_now, wait_until
from tests.fakes.receipts import mtn
from tests.fakes.receiver import HANG, Answer, Receiver, Request
from tests.fakes.seed import seed as run_seed
from tests.fakes.tiers import share
from tests.fakes.wrong_clock import LIBRARY, WrongClock

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(LIBRARY is None, reason="libfaketime is not installed (apt install faketime)"),
]
SEEDS = range(share(20, least=2))
TOLERANCE_S = 300
DAY_S = 86_400


def _seconds() -> int:
    return time.time_ns() // 1_000_000_000


def _judge(scene: Scene) -> list[Request]:
    """Let the receiver check signatures and their age from now on; return the list of refused requests."""
    refused: list[Request] = []

    def choose(request: Request) -> Answer:
        fresh = abs(_seconds() - int(request.headers["webhook-timestamp"])) <= TOLERANCE_S
        ok = fresh and bool(request.verified)
        if not ok:
            refused.append(request)
        return Answer(200 if ok else 400, headers=(("Date", formatdate(_seconds(), usegmt=True)),))

    scene.receiver.choose = choose
    return refused


class _Till:
    """Sells: makes an order and lets the receipt come that pays it."""

    def __init__(self, scene: Scene, rng: random.Random) -> None:
        self._scene = scene
        self._rng = rng
        self._balance = 50_000
        self.sold = 0

    def sell(self, count: int = 1) -> None:
        for _ in range(count):
            minor = self._rng.randrange(500, 9_000)
            order = self._scene.shop.request(f"{minor / 100:.2f}")
            self._balance += minor
            self.sold += 1
            receipt = mtn(
                minor, "KOFI ANTWI BADU", self._balance, order["svc_code"], str(93214500000 + self.sold),
                sent_at=utc_now(), concatenation=self.sold,
            )  # fmt: skip
            self._scene.phone.deliver(receipt.pdus)

    def all_arrived(self) -> None:
        """Wait until both webhooks of each sale were accepted; none may have become a dead letter."""
        shop, wanted = self._scene.shop, 2 * self.sold
        wait_until(lambda: _states(shop) == {("delivered", None): wanted}, 2 * SOON_S, "all arrive")
        assert shop.ask("GET", wire.Path.DEAD_LETTERS) == []
        assert len({one.webhook_id for one in self._scene.receiver.requests}) == wanted


def _states(shop: RealShop) -> dict[tuple[str, str | None], int]:
    counts: dict[tuple[str, str | None], int] = {}
    for row in shop.rows("SELECT status, waiting FROM deliveries"):
        counts[row] = counts.get(row, 0) + 1
    return counts


def _clock_state(shop: RealShop) -> dict[str, object]:
    state: dict[str, object] = shop.ask("GET", wire.Path.LOCAL_STATUS)["clock"]
    return state


@pytest.fixture
def clock(tmp_path: Path) -> WrongClock:
    return WrongClock(tmp_path)


def test_only_the_wall_clock_is_wrong(clock: WrongClock) -> None:
    clock.ahead_s(-3 * DAY_S)
    said = subprocess.run(
        [*clock.prefix, sys.executable, "-c",
         "import time; print(time.time(), time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME))"],
        capture_output=True, text=True, check=True, timeout=60,
    ).stdout.split()  # fmt: skip
    wall_s, monotonic_s, boot_s = map(float, said)
    assert abs(wall_s - (_seconds() - 3 * DAY_S)) < 60
    assert abs(monotonic_s - time.monotonic_ns() / 1e9) < 60
    assert abs(boot_s - SystemClock().boottime()) < 60


@pytest.mark.parametrize("seed", SEEDS)
def test_a_clock_years_off_at_the_start_loses_no_webhook(scene: Scene, clock: WrongClock, seed: int) -> None:
    rng = random.Random(run_seed() + seed)
    till = _Till(scene, rng)
    scene.open_for_business()
    scene.shop.stop()
    refused = _judge(scene)
    if rng.random() < 0.5:
        (scene.shop.home / "momo.clock").unlink()
    clock.year((1970, 2009, 2015)[seed % 3])
    scene.shop.start(prefix=clock.prefix)
    till.sell(rng.randrange(2, 6))
    till.all_arrived()
    state = _clock_state(scene.shop)
    assert (state["state"], state["witness"]) == ("suspect", "messages")
    assert refused == []


@pytest.mark.parametrize("seed", SEEDS)
def test_two_days_ahead_without_a_memory_no_webhook_is_given_up(scene: Scene, clock: WrongClock, seed: int) -> None:
    rng = random.Random(run_seed() + seed)
    till = _Till(scene, rng)
    scene.open_for_business()
    scene.receiver.default = HANG
    count = rng.randrange(2, 6)
    till.sell(count)
    wait_until(lambda: sum(_states(scene.shop).values()) == 2 * count, SOON_S, "all are queued")
    scene.shop.kill()
    (scene.shop.home / "momo.clock").unlink()
    _judge(scene)
    clock.ahead_s(2 * DAY_S + rng.randrange(-7200, 7200))
    scene.shop.start(prefix=clock.prefix)
    wait_until(lambda: _states(scene.shop) == {("pending", "clock"): 2 * count}, 2 * SOON_S, "they wait")
    assert scene.shop.ask("GET", wire.Path.DEAD_LETTERS) == []
    clock.ahead_s(0)
    pause(2)
    till.sell()
    till.all_arrived()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_clock_that_is_set_wrong_and_right_while_it_runs_refuses_no_webhook(
    scene: Scene, clock: WrongClock, seed: int
) -> None:
    rng = random.Random(run_seed() + seed)
    till = _Till(scene, rng)
    scene.open_for_business(clock.prefix)
    refused = _judge(scene)
    till.sell(2)
    till.all_arrived()
    for ahead_s in (rng.choice((-1, 1)) * rng.randrange(3_600, 400 * DAY_S), 0):
        clock.ahead_s(ahead_s)
        pause(2)
        till.sell(2)
        till.all_arrived()
    assert refused == []


def test_the_networks_time_on_the_phone_is_used_before_any_message(tmp_path: Path, clock: WrongClock) -> None:
    with (
        Receiver(tmp_path / "receiver") as receiver,
        PhoneProcess(tmp_path / "tty", family="quectel") as phone,
        RealShop(tmp_path / "shop", phone=phone.link, ca_file=receiver.ca_file) as shop,
    ):
        phone.fault(network_time_s=_seconds() - time.monotonic_ns() // 1_000_000_000)
        scene = Scene(shop, phone, receiver)
        scene.open_for_business(clock.prefix)
        clock.ahead_s(2 * DAY_S)
        shop.restart(prefix=clock.prefix)
        refused = _judge(scene)
        wait_until(lambda: _clock_state(shop)["witness"] == "phone" or None, SOON_S, "the time")
        assert _clock_state(shop)["state"] == "suspect"
        till = _Till(scene, random.Random(run_seed()))
        till.sell()
        till.all_arrived()
        assert refused == []
