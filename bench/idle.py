"""Resources of the idle daemon.

    python bench/idle.py [--seconds 30]

One emulated modem is plugged in, its SIM has the shop's number, the API listens on TCP and on the Unix socket, the
settings are the defaults (a health check of the phone every 30 s). After a time to settle, processor time, memory and
wake-ups are read from /proc for so many seconds. Then the daemon delivers one webhook, for which it loads its HTTP
client, and the same is read again: the goals apply to both.
"""

import argparse
import os
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from _figures import Row, pause, progress, report, until
from _receiver import ReceiverProcess

from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import RealShop
from tests.fakes.receipts import mtn

RSS_GOAL_MB = 75.0
CPU_GOAL = 0.5
SETTLE_S = 5.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Resources of an idle process."""

    rss_mb: float
    cpu_percent: float
    wakeups: float


def idle(pid: int, seconds: float) -> Cost:
    """Measure an idle process."""
    pause(SETTLE_S)
    cpu, woken = cpu_s(pid), _wakeups(pid)
    pause(seconds)
    return Cost(
        _status(f"/proc/{pid}/status", "VmRSS") * 1024 / 1e6,
        (cpu_s(pid) - cpu) / seconds * 100,
        (_wakeups(pid) - woken) / seconds,
    )


def cpu_s(pid: int) -> float:
    """Return the processor time of a process: the larger of the kernel's two counts.

    `stat` counts ticks of 10 ms and can miss short work; `schedstat` counts ns, of threads that still live.
    """
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    ticks_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    tasks = Path(f"/proc/{pid}/task").iterdir()
    run_ns = sum(int((task / "schedstat").read_text(encoding="utf-8").split()[0]) for task in tasks)
    return max(ticks_s, run_ns / 1e9)


def _wakeups(pid: int) -> int:
    return sum(
        _status(str(task / "status"), "voluntary_ctxt_switches")
        for task in Path(f"/proc/{pid}/task").iterdir()
    )


def _status(path: str, name: str) -> int:
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise LookupError(name)


def rows_of(when: str, cost: Cost) -> list[Row]:
    """Compare one measurement with the goals."""
    return [
        Row(f"{when}: memory (RSS)", f"{cost.rss_mb:.1f} MB", "",
            f"<= {RSS_GOAL_MB:g} MB", cost.rss_mb <= RSS_GOAL_MB),
        Row(f"{when}: processor", f"{cost.cpu_percent:.2f} %", "",
            f"<= {CPU_GOAL:g} %", cost.cpu_percent <= CPU_GOAL),
        Row(f"{when}: wake-ups", f"{cost.wakeups:.1f} /s"),
    ]  # fmt: skip


def main() -> int:
    """Start a shop and measure it while idle."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=30.0)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory(prefix="momo-bench-") as name:
        folder = Path(name)
        receiver = ReceiverProcess(folder / "receiver")
        with (
            receiver,
            PhoneProcess(folder / "phone") as phone,
            RealShop(folder / "shop", phone=phone.link, ca_file=receiver.ca_file) as shop,
        ):
            shop.start()
            shop.assign("0244124567")
            secret = shop.add_endpoint(receiver.url)
            # The shop is restarted after set-up, so that the set-up is not measured.
            shop.restart()
            progress(f"idle for {seconds:g} s")
            fresh = idle(shop.pid, seconds)
            receiver.start(secret)
            now = datetime.now(UTC)  # noqa: TID251 - the network's clock
            receipt = mtn(2_500, "KWABENA KONADU DANKWA-EBO", 50_000, "1243AB", "86100000001",
                          sent_at=now)  # fmt: skip
            phone.deliver(receipt.pdus)
            receiver.verified(1)
            until(lambda: not phone.state(commands=0)["stored"], 10, "emptying the slots")
            progress(f"idle again for {seconds:g} s")
            after = idle(shop.pid, seconds)
    return report(
        f"The daemon idle with one modem, {seconds:g} s",
        [*rows_of("after the start", fresh), *rows_of("after a delivery", after)],
    )


if __name__ == "__main__":
    sys.exit(main())
