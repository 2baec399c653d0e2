"""Resources of the idle daemon, and its memory after 5,000 payments.

    python bench/idle.py [--seconds 30]

One emulated modem is plugged in, its SIM has the shop's number, the API listens on TCP and on the Unix socket, the
settings are the defaults (a health check of the phone every 30 s). After a time to settle, processor time, memory and
wake-ups are read from /proc for so many seconds. Then the daemon delivers one webhook, for which it loads its HTTP
client, and the same is read again: the goals apply to both. Then 5,000 payments come, 100 at a time, each with a webhook,
and the memory is read once more. glibc has one heap for all threads, as the service sets it.
"""

import argparse
import itertools
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
from tests.fakes.receipts import mtn_receipts

FRESH_RSS_GOAL_MB = 57.0
RSS_GOAL_MB = 70.0
CPU_GOAL = 0.5
BUSY_RSS_GOAL_MB = 76.0
PAYMENTS = 5_000
AT_ONCE = 100
QUEUED = "SELECT COUNT(*) FROM deliveries WHERE next_attempt_at IS NOT NULL"
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
    return Cost(rss_mb(pid), (cpu_s(pid) - cpu) / seconds * 100, (_wakeups(pid) - woken) / seconds)


def rss_mb(pid: int) -> float:
    """Return the memory of a process in megabytes."""
    return _status(f"/proc/{pid}/status", "VmRSS") * 1024 / 1e6


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
    return sum(_status(str(task / "status"), "voluntary_ctxt_switches") for task in Path(f"/proc/{pid}/task").iterdir())


def _status(path: str, name: str) -> int:
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise LookupError(name)


def rows_of(when: str, cost: Cost, goal_mb: float) -> list[Row]:
    """Compare one measurement with the goals."""
    return [
        Row(f"{when}: memory (RSS)", f"{cost.rss_mb:.1f} MB", "", f"<= {goal_mb:g} MB", cost.rss_mb <= goal_mb),
        Row(f"{when}: processor", f"{cost.cpu_percent:.2f} %", "", f"<= {CPU_GOAL:g} %", cost.cpu_percent <= CPU_GOAL),
        Row(f"{when}: wake-ups", f"{cost.wakeups:.1f} /s"),
    ]


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
            RealShop(folder / "shop", phone=phone.link, ca_file=receiver.ca_file,
                     settings={"limits": {"live_per_min": 0}}) as shop,
        ):  # fmt: skip
            shop.begin_chain(50_000)
            shop.start()
            shop.assign("0244124567")
            secret = shop.add_endpoint(receiver.url)
            # The shop is restarted after set-up, so that the set-up is not measured.
            shop.restart()
            progress(f"idle for {seconds:g} s")
            fresh = idle(shop.pid, seconds)
            receiver.start(secret)
            now = datetime.now(UTC)  # noqa: TID251 - the network's clock
            receipts = mtn_receipts(1 + PAYMENTS, started=now)
            phone.deliver(next(receipts).pdus)
            receiver.verified(1)
            until(lambda: not phone.state(commands=0)["stored"], 10, "emptying the slots")
            progress(f"idle again for {seconds:g} s")
            after = idle(shop.pid, seconds)
            progress(f"{PAYMENTS:,} payments")
            while some := list(itertools.islice(receipts, AT_ONCE)):
                for receipt in some:
                    phone.deliver(receipt.pdus)
                receiver.verified(AT_ONCE)
                until(lambda: not phone.state(commands=0)["stored"], 30, "emptying the slots")
                until(lambda: shop.rows(QUEUED) == [(0,)], 30, "the results of the webhooks")
            pause(SETTLE_S)
            busy_mb = rss_mb(shop.pid)
    return report(
        f"The daemon idle with one modem, {seconds:g} s",
        [
            *rows_of("after the start", fresh, FRESH_RSS_GOAL_MB),
            *rows_of("after a delivery", after, RSS_GOAL_MB),
            Row(
                f"after {PAYMENTS:,} payments: memory (RSS)",
                f"{busy_mb:.1f} MB",
                "",
                f"<= {BUSY_RSS_GOAL_MB:g} MB",
                busy_mb <= BUSY_RSS_GOAL_MB,
            ),
        ],
    )


if __name__ == "__main__":
    sys.exit(main())
