"""A year of payments in minutes: memory, descriptors, threads and the database's log must not grow with them.

    python -m tests.acceptance.soak --payments 100000        # make soak PAYMENTS=100000
    python -m tests.acceptance.soak --hours 6                # make soak HOURS=6

A real daemon, an emulated phone, a receiver over TLS, two browser tabs that show the dashboard. Each round is a small
shop's day: transactions are made and paid, some customers pay without one, lists, the status and the doctor are read, and
some webhooks are refused. After each round the daemon is measured from outside, in /proc. The result is its growth from
the middle of the run to the end.

With `--hours` a round begins every 20 seconds, the wall clock steps an hour ahead and an hour back again and again, and in
the first third of the time the daemon is killed and restarted.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from statistics import median
from typing import Final

from playwright.sync_api import sync_playwright

from daemon import wire
from daemon.runtime.system import SystemClock
from tests.acceptance.conftest import Scene
from tests.fakes.browser import CHROMIUM, FLAGS
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import RealShop, Settings, pause, wait_until
from tests.fakes.receipts import mtn
from tests.fakes.receiver import Answer, Receiver
from tests.fakes.wrong_clock import WrongClock

ROUND: Final = 50
"""Payments between two measurements; two in five pay a transaction."""
TOLD_EVERY: Final = 10
"""Rounds between two printed lines."""
ORDERS: Final = 20
AMOUNT_MINOR: Final = 2_500
SETTINGS: Final[Settings] = {"limits": {"live_per_min": 0}, "transactions": {"code_sms_at": "never"}}
ROUND_S: Final = 60.0
EVERY_S: Final = 20.0
"""Between the begins of two rounds, with `--hours`."""
STEP_EVERY: Final = 10
"""Rounds between two steps of the clock."""
CLOCK_STEPS_S: Final = (3_600, 0, -3_600, 0)
TABS: Final = ("/dash", "/dash/till")
PASSWORD: Final = "correct horse 42"
RSS_MB_MAX: Final = 150.0
"""A daemon that runs for months stays below this."""
RSS_GROWTH_MB_MAX: Final = 4.0
"""Growth between the medians of a fifth of the rounds each; an allocator varies by a megabyte or two."""
FDS_GROWTH_MAX: Final = 2
"""A connection that is kept for the next webhook comes and goes."""
WAL_MB_MAX: Final = 16.0
"""SQLite checkpoints it at 4 MB; a long read may delay that a few times."""
ROW_BYTES_MAX: Final = 8_000
"""Bytes of the file per payment, with its transaction and its webhooks."""


@dataclass(frozen=True, slots=True)
class Look:
    """The daemon after one round."""

    payments: int
    rss_mb: float
    fds: int
    threads: int
    wal_mb: float
    db_mb: float

    @classmethod
    def at(cls, shop: RealShop, payments: int) -> "Look":
        """Measure the daemon."""
        status = dict(line.split(":", 1) for line in Path(f"/proc/{shop.pid}/status").read_text().splitlines())
        database = Path(shop.places.database)
        wal = Path(f"{database}-wal")
        return cls(
            payments,
            int(status["VmRSS"].split()[0]) * 1024 / 1e6,
            len(list(Path(f"/proc/{shop.pid}/fd").iterdir())),
            int(status["Threads"]),
            wal.stat().st_size / 1e6 if wal.exists() else 0.0,
            database.stat().st_size / 1e6,
        )


@dataclass
class Soak:
    """One run. `looks` are the measurements; `tell` is called with each of them."""

    scene: Scene
    tell: Callable[[Look], object] = lambda _look: None
    looks: list[Look] = field(default_factory=list)
    _number: "count[int]" = field(default_factory=lambda: count(1))

    def run(self, payments: int) -> None:
        """Let so many payments arrive; every one must be booked."""
        self.scene.shop.begin_chain(50_000)
        self.scene.open_for_business()
        with tabs(self.scene.shop):
            for done in range(ROUND, payments + 1, ROUND):
                self._round(done)
        self._all_booked()

    def run_for(self, hours: float, clock: SystemClock, wall: WrongClock) -> None:
        """Let payments arrive for so many hours, with tabs, steps of the wall clock, a kill and a restart."""
        shop, began = self.scene.shop, clock.monotonic()
        shop.begin_chain(50_000)
        self.scene.open_for_business(wall.prefix)
        # One end as a power cut makes it, and one in order.
        ends = iter(((1 / 9, shop.kill), (2 / 9, shop.stop)))
        due, end = next(ends)
        with tabs(shop):
            for number in count(1):
                started = clock.monotonic()
                passed = (started - began) / (hours * 3600)
                if passed >= 1:
                    break
                if passed >= due:
                    end()
                    shop.start(prefix=wall.prefix, http=shop.http)
                    due, end = next(ends, (1, shop.stop))
                if number % STEP_EVERY == 0:
                    wall.ahead_s(CLOCK_STEPS_S[number // STEP_EVERY % len(CLOCK_STEPS_S)])
                self._round(number * ROUND)
                pause(max(0.0, EVERY_S - (clock.monotonic() - started)))
        self._all_booked()

    def _round(self, done: int) -> None:
        self._day(done)
        self.looks.append(Look.at(self.scene.shop, done))
        self.tell(self.looks[-1])

    def _all_booked(self) -> None:
        (booked,) = self.scene.shop.rows("SELECT COUNT(*) FROM payments")
        assert booked == (len(self.looks) * ROUND,)

    def _day(self, booked: int) -> None:
        shop, phone, receiver = self.scene.shop, self.scene.phone, self.scene.receiver
        receiver.script(Answer(503), Answer(500))
        codes = [str(shop.request("25.00")["svc_code"]) for _ in range(ORDERS)]
        for reference in [*codes, *["food"] * (ROUND - ORDERS)]:
            number = next(self._number)
            receipt = mtn(
                AMOUNT_MINOR, "KWABENA KONADU DANKWA-EBO", 50_000 + number * AMOUNT_MINOR, reference,
                str(86_100_000_000 + number), sent_at=datetime.now(UTC),  # noqa: TID251 -- the network's clock
                concatenation=number % 256,
            )  # fmt: skip
            # The phone has few slots; messages without one wait in the network.
            phone.deliver(receipt.pdus)
        wait_until(lambda: self._over(booked), ROUND_S, f"{booked} payments and their webhooks")
        for path in (wire.Path.TRANSACTIONS, wire.Path.DELIVERIES, wire.Path.LOCAL_STATUS):
            shop.ask("GET", path)
        shop.ask("GET", f"{wire.Path.LOCAL_DOCTOR}?area=db,ledger,backup")
        receiver.requests.clear()

    def _over(self, booked: int) -> bool:
        (found,) = self.scene.shop.rows(
            "SELECT (SELECT COUNT(*) FROM payments), "
            "(SELECT COUNT(*) FROM deliveries WHERE next_attempt_at IS NOT NULL)"
        )
        return found == (booked, 0)


def growth(looks: Sequence[Look], what: str) -> float:
    """Return the growth from the middle of the run to the end: medians of a fifth of the measurements each."""
    values: list[float] = [getattr(look, what) for look in looks]
    part = max(1, len(values) // 5)
    early = len(values) // 2 - part // 2
    return median(values[-part:]) - median(values[early : early + part])


def faults(looks: Sequence[Look], rss_growth_mb_max: float = RSS_GROWTH_MB_MAX) -> list[str]:
    """Return the values that grew or exceed their limits."""
    found = []
    grown = {what: growth(looks, what) for what in ("rss_mb", "fds", "threads")}
    if grown["rss_mb"] > rss_growth_mb_max:
        found.append(f"memory grew by {grown['rss_mb']:.1f} MB")
    if grown["fds"] > FDS_GROWTH_MAX:
        found.append(f"{grown['fds']:.0f} descriptors more")
    if grown["threads"] > 0:
        found.append(f"{grown['threads']:.0f} threads more")
    if (most := max(look.rss_mb for look in looks)) > RSS_MB_MAX:
        found.append(f"{most:.0f} MB of memory")
    if (most := max(look.wal_mb for look in looks)) > WAL_MB_MAX:
        found.append(f"a log of {most:.1f} MB")
    first, last = looks[len(looks) // 2], looks[-1]
    each = (last.db_mb - first.db_mb) * 1e6 / max(1, last.payments - first.payments)
    if each > ROW_BYTES_MAX:
        found.append(f"{each:.0f} bytes of the file a payment")
    return found


@contextmanager
def tabs(shop: RealShop) -> Iterator[None]:
    """Show pages of the dashboard in two tabs of a browser, from when the daemon is ready until the end."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        context = browser.new_context(base_url=f"http://{shop.http}")
        for number, path in enumerate(TABS):
            page = context.new_page()
            page.goto(path, timeout=120_000)
            if number == 0:
                page.get_by_label("Name").fill("owner")
                page.get_by_label("Password").fill(PASSWORD)
                page.get_by_role("button", name="Log in").click()
                page.locator(".sum").wait_for()
        yield
        browser.close()


def main() -> int:
    """Run it for so many payments or hours; return 1 if a value grew."""
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.soak")
    parser.add_argument("--payments", type=int, default=20_000, help="how many")
    parser.add_argument("--hours", type=float, help="how long, instead")
    asked = parser.parse_args()
    clock = SystemClock()
    began = clock.monotonic()
    with tempfile.TemporaryDirectory(prefix="momo-soak-") as place:
        folder = Path(place)
        with (
            Receiver(folder / "receiver") as receiver,
            PhoneProcess(folder / "tty", max_seconds=24 * 3600) as phone,
            RealShop(
                folder / "shop", phone=phone.link, ca_file=receiver.ca_file, short_schedule=True, settings=SETTINGS
            ) as shop,
        ):
            print("payments  memory MB  descriptors  threads  log MB  file MB")
            soak = Soak(Scene(shop, phone, receiver), _print)
            if asked.hours:
                soak.run_for(asked.hours, clock, WrongClock(folder))
            else:
                soak.run(asked.payments)
    problems = faults(soak.looks)
    payments = soak.looks[-1].payments
    print(f"{payments} payments in {clock.monotonic() - began:.0f} s: {problems or 'nothing grew'}")
    return 1 if problems else 0


def _print(look: Look) -> None:
    if look.payments % (ROUND * TOLD_EVERY) == 0:
        print(
            f"{look.payments:>8}  {look.rss_mb:>9.1f}  {look.fds:>11}  {look.threads:>7}  "
            f"{look.wal_mb:>6.1f}  {look.db_mb:>7.1f}",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
