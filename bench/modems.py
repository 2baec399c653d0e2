"""Cost of each further modem on an idle daemon.

    python bench/modems.py [--modems 8] [--seconds 30]

The daemon is started with one emulated modem and then with eight, each a process of its own with its own IMEI and SIM.
When all are ready and have reported their health, processor time and memory are read from /proc for so many seconds.
The settings are the defaults: every 30 s each modem is asked for its counts, its signal and its registration, each
minute whether it rebooted, and every 300 s for a full list.
"""

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path

from _figures import Row, progress, report, until
from idle import Cost, idle

from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import RealShop

CPU_GOAL = 2.0
RSS_GOAL_MB = 4.0
READY_S = 60.0


def cost_of(folder: Path, modems: int, seconds: float) -> Cost:
    """Start a shop with so many modems and measure it while idle."""
    folder.mkdir()
    with contextlib.ExitStack() as stack:
        phones = [
            stack.enter_context(PhoneProcess(folder / f"tty{number}", identity=_identity(number)))
            for number in range(modems)
        ]
        shop = stack.enter_context(RealShop(folder / "shop"))
        flags = [f"--modem={phone.link}" for phone in phones]
        shop.start(arguments=flags)

        def all_ready() -> bool:
            states = shop.ask("GET", "/local/v1/status")["phones"]
            return len(states) == modems and all(
                phone["state"] == "ready" and phone["signal"] is not None for phone in states
            )

        until(all_ready, READY_S, f"{modems} modems ready", 0.1)
        progress(f"{modems} modems: idle for {seconds:g} s")
        return idle(shop.pid, seconds)


def _identity(number: int) -> dict[str, str]:
    """Return a phone and a SIM with unique numbers; the last digit of an IMEI is a check digit (Luhn)."""
    body = f"35693803564{number:03}"
    digits = [int(digit) * (1 + position % 2) for position, digit in enumerate(body)]
    check = -sum(digit // 10 + digit % 10 for digit in digits) % 10
    return {"imei": f"{body}{check}", "iccid": f"8923301000000000{number:03}", "imsi": f"6200100000000{number:02}"}


def main() -> int:
    """Measure one modem, then many, and compare the difference with the goals."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--modems", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    modems: int = options.modems
    with tempfile.TemporaryDirectory(prefix="momo-bench-") as name:
        one = cost_of(Path(name) / "one", 1, options.seconds)
        many = cost_of(Path(name) / "many", modems, options.seconds)
    each = (many.rss_mb - one.rss_mb) / (modems - 1)
    return report(
        f"An idle daemon with {modems} modems, {options.seconds:g} s",
        [
            Row("processor, 1 modem", f"{one.cpu_percent:.2f} %"),
            Row(f"processor, {modems} modems", f"{many.cpu_percent:.2f} %", "",
                f"<= {CPU_GOAL:g} %", many.cpu_percent <= CPU_GOAL),
            Row("memory (RSS), 1 modem", f"{one.rss_mb:.1f} MB"),
            Row(f"memory (RSS), {modems} modems", f"{many.rss_mb:.1f} MB"),
            Row("memory for each further modem", f"{each:.2f} MB", "",
                f"<= {RSS_GOAL_MB:g} MB", each <= RSS_GOAL_MB),
            Row(f"wake-ups, {modems} modems", f"{many.wakeups:.1f} /s"),
        ],
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
