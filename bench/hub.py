"""A hub's store on PostgreSQL: the flows against SQLite, and the time until a standby daemon writes.

    python bench/hub.py [--receipts N] [--turns N]

Receipts go through the flows, from the read part to the commit, with one caller and with 32; both databases are on this disk,
with fsync. The takeover is from the signal to the first acknowledged order of the standby daemon.
"""

import argparse
import asyncio
import itertools
import os
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from _figures import Row, median, report, spread

from daemon import wire
from daemon.runtime.config import Config, Trust
from tests.fakes import new_database, postgresql
from tests.fakes.real_shop import RealShop, pause, wait_until
from tests.fakes.receipts import mtn
from tests.fakes.shop import FakeShop

CALLERS = (1, 32)
SHARES = {1: 0.3, 32: 0.25}
KILLED_S = 1.0
HUNG_S = 10.0
ROUNDS = 3
ORDER = {"amount": "25.00", "phone_number": "0244123456"}
NO_MODEM = ["--no-modem"]
FSYNC = "-c listen_addresses='' -c max_connections=200"


async def per_second(folder: Path, callers: int, receipts: int) -> float:
    """Return how many receipts a second the flows take in."""
    # The callers' receipts come in any order, so their balances do not join.
    trust = Trust(balance_check="off", unconfirmed_limit=1_000_000)
    shop = await FakeShop.make(folder, Config(trust=trust))
    with closing(shop):
        await shop.begin_chain()
        texts = [
            mtn(
                100,
                "KOFI ANTWI BADU",
                shop.wallet(100),
                "food",
                str(86_100_000_000 + number),
                concatenation=number,
                width=16,
            )
            for number in range(receipts)
        ]
        waiting = iter(texts)

        async def call() -> None:
            for text in waiting:
                await shop.read(text)

        began = time.perf_counter()
        await asyncio.gather(*(call() for _ in range(callers)))
        took_s = time.perf_counter() - began
        paid = await shop.payments()
        assert len(paid) == receipts, (len(paid), receipts)
        return receipts / took_s


def flows(folder: Path, receipts: int) -> list[Row]:
    """Compare both engines, in turns."""
    rows = []
    for callers in CALLERS:
        found: dict[bool, list[float]] = {False: [], True: []}
        for turn, on_server in itertools.product(range(ROUNDS), (False, True)):
            place = folder / f"{callers}-{turn}-{on_server}"
            new_database.put_shops_on_server(on=on_server)
            found[on_server].append(asyncio.run(per_second(place, callers, receipts)))
        shares = [a / b for a, b in zip(found[True], found[False], strict=True)]
        rows.append(
            Row(
                f"receipts/s, {callers} caller{'s' * (callers > 1)}, PostgreSQL against SQLite",
                f"{median(shares):.2f} times: {median(found[True]):.0f} against {median(found[False]):.0f}/s",
                spread(shares, digits=2),
                f"at least {SHARES[callers]} times",
                median(shares) >= SHARES[callers],
            )
        )
    return rows


def acknowledged(shop: RealShop) -> bool:
    """Return whether an order is taken."""
    try:
        return shop.api("POST", wire.Path.INITIALIZE, ORDER)[0] in (200, 201)
    except OSError:
        return False


def takeover(folder: Path, stop: Callable[[RealShop], None]) -> float:
    """Return the seconds from the stop of the writer to the first order of the standby."""
    url = postgresql.cluster().new_database()
    with (
        RealShop(folder / "first", url=url) as first,
        RealShop(folder / "second", standby_of=first) as second,
    ):
        first.start(arguments=NO_MODEM)
        second.start(arguments=NO_MODEM)
        wait_until(lambda: acknowledged(first), 30, "the first one writes")
        pause(1.5)
        began = time.perf_counter()
        stop(first)
        wait_until(lambda: acknowledged(second), 60, "the second one writes")
        took_s = time.perf_counter() - began
        os.kill(first.pid, signal.SIGCONT)
        return took_s


def _killed(shop: RealShop) -> None:
    os.kill(shop.pid, signal.SIGKILL)


def _hung(shop: RealShop) -> None:
    os.kill(shop.pid, signal.SIGSTOP)


def main() -> int:
    """Measure, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--receipts", type=int, default=600)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    postgresql.SETTINGS[:] = [FSYNC]
    with tempfile.TemporaryDirectory(dir=Path.home()) as name:
        folder = Path(name)
        rows = flows(folder, options.receipts)
        for what, stop, goal_s in (("killed", _killed, KILLED_S), ("hung", _hung, HUNG_S)):
            took = [takeover(folder / f"{what}-{turn}", stop) for turn in range(options.turns)]
            rows.append(
                Row(
                    f"takeover from a daemon that was {what}"
                    if what == "killed"
                    else "takeover from a daemon that hangs",
                    f"{median(took):.2f} s",
                    spread(took, " s", 2),
                    f"at most {goal_s:g} s",
                    max(took) <= goal_s,
                )
            )
    return report("A hub's store on PostgreSQL", rows)


if __name__ == "__main__":
    raise SystemExit(main())
