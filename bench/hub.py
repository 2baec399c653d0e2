"""A hub's store on PostgreSQL: the time until a standby daemon writes.

    python bench/hub.py [--turns N]

The database is on this disk, with fsync. The takeover is from the signal to the first acknowledged order of the standby daemon.
"""

import argparse
import os
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from _figures import Row, median, report, spread

from daemon import wire
from tests.fakes import postgresql
from tests.fakes.real_shop import RealShop, pause, wait_until

KILLED_S = 1.0
HUNG_S = 10.0
ORDER = {"amount": "25.00", "phone_number": "0244123456"}
NO_MODEM = ["--no-modem"]
FSYNC = "-c listen_addresses='' -c max_connections=200"


def acknowledged(shop: RealShop) -> bool:
    """Return whether an order is taken."""
    try:
        return shop.api("POST", wire.Path.INITIALIZE, ORDER)[0] in (200, 201)
    except OSError:
        return False


def takeover(folder: Path, stop: Callable[[RealShop], None]) -> float:
    """Return the seconds from the stop of the writer to the first order of the standby."""
    url = postgresql.cluster().new_database()
    with RealShop(folder / "first", url=url) as first, RealShop(folder / "second", standby_of=first) as second:
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
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    postgresql.SETTINGS[:] = [FSYNC]
    with tempfile.TemporaryDirectory(dir=Path.home()) as name:
        folder = Path(name)
        rows: list[Row] = []
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
