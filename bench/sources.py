"""Cost of the sources besides AT modems for a daemon that has none: start, memory and idle.

    python bench/sources.py [--rounds 3] [--seconds 20]

In turns, the same daemon with no modem: as it is with no source configured; with the modules of the sources and their
library loaded before it starts; with a HiLink stick (away) and an Android phone configured. The first is the daemon
before there were sources only if it is cheaper than the second by the cost of these modules. Processor time and memory
are compared, because the wall time depends on the other load of the machine.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from _figures import Row, median, progress, report, spread
from idle import Cost, cpu_s, idle

from tests.fakes.real_shop import RealShop

MODULES: Final = (
    "daemon.loops.sources.hilink", "daemon.loops.sources.post", "daemon.loops.sources.modem_manager", "huawei_lte_api.Client", "huawei_lte_api.api.Sms",
    "huawei_lte_api.Connection", "requests",
)  # fmt: skip
CONFIGURED: Final = """
[[sources]]
name = "stick"
kind = "hilink"
url = "http://127.0.0.1:9"

[[sources]]
name = "phone1"
kind = "post"
networks = ["mtn"]
may_pay = true
"""
STATES: Final = ("no source", "modules loaded", "two sources")


def measure(folder: Path, state: str, seconds: float) -> tuple[float, Cost]:
    """Start a shop in that state; return the processor seconds until it is ready, and its cost while idle."""
    preload = folder / "preload"
    preload.mkdir(parents=True)
    loaded = state == "modules loaded"
    (preload / "sitecustomize.py").write_text(f"import {', '.join(MODULES)}\n" if loaded else "")
    with RealShop(folder / "shop", phone=folder / "no-phone") as shop:
        if state == "two sources":
            with Path(shop.places.config).open("a", encoding="utf-8") as settings:
                settings.write(CONFIGURED)
        # The shop is started once before, so that its set-up is not measured.
        shop.start()
        shop.stop()
        path = f"PYTHONPATH={preload}:{os.environ.get('PYTHONPATH', '')}"
        shop.start(prefix=("env", path))
        started_s = cpu_s(shop.pid)
        return started_s, idle(shop.pid, seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the three states in turns; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args(arguments)
    starts: dict[str, list[float]] = {state: [] for state in STATES}
    costs: dict[str, list[Cost]] = {state: [] for state in STATES}
    with tempfile.TemporaryDirectory(prefix="momo-bench-") as name:
        for turn in range(given.rounds):
            for state in STATES:
                progress(f"round {turn + 1} of {given.rounds}: {state}")
                folder = Path(name) / f"{turn}-{STATES.index(state)}"
                started_s, cost = measure(folder, state, given.seconds)
                starts[state].append(started_s)
                costs[state].append(cost)
    rows = []
    saved_mb = median([one.rss_mb for one in costs[STATES[1]]]) - median([one.rss_mb for one in costs[STATES[0]]])
    for state in STATES:
        memory = [one.rss_mb for one in costs[state]]
        cpu = [one.cpu_percent for one in costs[state]]
        woken = [one.wakeups for one in costs[state]]
        plain = state == STATES[0]
        rows += [
            Row(f"{state}: memory (RSS)", f"{median(memory):.1f} MB", spread(memory),
                "3 MB below loaded" if plain else "", saved_mb >= 3 if plain else None),
            Row(f"{state}: processor of the start", f"{median(starts[state]):.2f} s", spread(starts[state], digits=2),
                "not above loaded" if plain else "",
                median(starts[state]) <= median(starts[STATES[1]]) if plain else None),
            Row(f"{state}: processor while idle", f"{median(cpu):.2f} %", spread(cpu, digits=2),
                "<= 0.5 %" if plain else "", median(cpu) <= 0.5 if plain else None),
            Row(f"{state}: wake-ups", f"{median(woken):.1f} /s", spread(woken)),
        ]  # fmt: skip
    return report("What sources cost a daemon that has none", rows)


if __name__ == "__main__":
    sys.exit(main())
