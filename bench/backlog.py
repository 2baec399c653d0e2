"""Time to read a phone full of receipts.

    python bench/backlog.py [--rounds 3]

The phone (on a pty, in its own process; both ends share the machine's cores) holds receipts of two parts each when the
daemon starts. No webhook endpoint is registered and nothing is delivered: each receipt becomes a stored message, a
payment and its transaction, and both its slots are emptied.

Measured from the phone's first list (`AT+CMGL`) to the emptying of its last slot, by the phone's own clock. A slot is
emptied only after its part is committed, so this includes every commit. At the end the database must hold exactly as
many payments as there were receipts, and the phone none.

The limit for a phone with 30 ms per command: one list per sweep, and one re-read and one delete per part. The commands
in that time are counted and shown by kind, including those of setting up and health checks.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from _figures import Row, median, progress, report, spread, until

from tests.fakes.real_shop import ROOT, RealShop
from tests.fakes.receipts import mtn_receipts
from tests.phones.phone import Phone
from tests.phones.pty import PhonePort

INSTANT = 1_000
"""Receipts on the phone without delay."""
INSTANT_GOAL = 250.0
SLOW = 200
SLOW_S = 0.03
SLOW_GOAL = 1.15
TIMEOUT_S = 120.0
PARTS = 2
SLOTS = 3_000


class Log(deque[str]):
    """The phone's log of commands, with the time of each."""

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
        self.at_ns: list[int] = []

    def append(self, command: str) -> None:
        """Add one command."""
        self.at_ns.append(time.monotonic_ns())
        super().append(command)

    def clear(self) -> None:
        """Clear the log."""
        self.at_ns.clear()
        super().clear()


@dataclass(frozen=True, slots=True)
class Run:
    """One backlog, read.

    Attributes:
        seconds: From the first list to the last slot emptied.
        limit_s: The time of a perfect reader with this phone's delays.
        counts: Number of commands of each kind in that time.
        cpu_s: Processor time of the daemon's process, including start-up.
    """

    receipts: int
    seconds: float
    limit_s: float
    counts: Counter[str]
    cpu_s: float


def serve_phone(link: str) -> None:
    """Run the phone: each line on standard input is a request, each answer a line (for `Backlog`)."""
    phone = Phone(storages={"SM": SLOTS, "ME": 100})
    log = Log()
    phone.commands = log
    with PhonePort(phone, link=link) as port:
        print(json.dumps({"tty": port.tty}), flush=True)
        for line in sys.stdin:
            request = json.loads(line)
            if "pdus" in request:
                port.latency_s = request["latency_s"]
                port.preload(request["pdus"])
                port.call(lambda _: log.clear())
                answer: dict[str, Any] = {}
            elif "left" in request:
                answer = {"left": port.call(lambda phone: len(phone.stored()))}
            else:
                answer = port.call(lambda _: {"commands": list(log), "at_ns": log.at_ns})
            print(json.dumps(answer), flush=True)


class TimedPhone:
    """The program `backlog.py --phone`: an emulated phone that records the time of each command."""

    def __init__(self, link: Path) -> None:
        """Plug it in."""
        self._program = subprocess.Popen(  # noqa: S603 - our own programs
            [sys.executable, __file__, "--phone", str(link)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        self._hear()

    def ask(self, **request: object) -> dict[str, Any]:
        """Send one request; return the answer."""
        assert self._program.stdin is not None
        self._program.stdin.write(json.dumps(request) + "\n")
        self._program.stdin.flush()
        return self._hear()

    def stop(self) -> None:
        """Unplug it."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.close()
        self._program.wait(10)
        self._program.stdout.close()

    def _hear(self) -> dict[str, Any]:
        assert self._program.stdout is not None
        line = self._program.stdout.readline()
        if not line:
            raise EOFError("the phone ended")
        answer: dict[str, Any] = json.loads(line)
        return answer


def take_in(receipts: int, latency_s: float) -> Run:
    """Fill a phone, start a daemon on it, and wait until the phone is empty."""
    with tempfile.TemporaryDirectory(prefix="momo-bench-") as name:
        folder = Path(name)
        phone = TimedPhone(folder / "phone")
        try:
            with RealShop(folder / "shop", phone=folder / "phone") as shop:
                shop.begin_chain(50_000)
                shop.start()
                shop.assign("0244124567")
                shop.stop()
                now = datetime.now(UTC)  # noqa: TID251 - the network's clock
                made = mtn_receipts(receipts, started=now, references=["1243"] * receipts)
                pdus = [pdu for receipt in made for pdu in receipt.pdus]
                assert len(pdus) == PARTS * receipts
                phone.ask(pdus=pdus, latency_s=latency_s)
                shop.start()
                until(lambda: not phone.ask(left=True)["left"], TIMEOUT_S, "the backlog", 0.1)
                cpu_s = _cpu_s(shop.pid)
                shop.stop()
                _check(shop, receipts)
                return _run(receipts, latency_s, phone.ask(log=True), cpu_s)
        finally:
            phone.stop()


def _check(shop: RealShop, receipts: int) -> None:
    """Compare the database with the phone's receipts."""
    for statement, wanted in (
        ("SELECT COUNT(*) FROM payments", receipts),
        ("SELECT COUNT(*) FROM sms_parts", receipts * PARTS),
        ("SELECT COUNT(*) FROM messages WHERE state = 'payment'", receipts),
        ("SELECT COUNT(*) FROM transactions", receipts),
    ):
        ((found,),) = shop.rows(statement)
        if found != wanted:
            raise RuntimeError(f"{statement}: {found}, not {wanted}")


def _run(receipts: int, latency_s: float, log: dict[str, Any], cpu_s: float) -> Run:
    first = next(n for n, command in enumerate(log["commands"]) if command.startswith("AT+CMGL"))
    # A command is logged after it was carried out, `latency_s` after it was sent.
    start_ns = log["at_ns"][first] - int(latency_s * 1e9)
    last = max(n for n, command in enumerate(log["commands"]) if command.startswith("AT+CMGD"))
    end_ns = log["at_ns"][last]
    kinds = [
        re.split("[=?]", command)[0]
        for command, at_ns in zip(log["commands"], log["at_ns"], strict=True)
        if start_ns <= at_ns <= end_ns
    ]
    counts = Counter(kinds)
    limit_s = (counts["AT+CMGL"] + 2 * PARTS * receipts) * latency_s
    return Run(receipts, (end_ns - start_ns) / 1e9, limit_s, counts, cpu_s)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Measure both backlogs, the one without delay several times."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="of the instant phone")
    parser.add_argument("--slow-rounds", type=int, default=1, help="of the slow phone, 25 s each")
    parser.add_argument("--phone", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.phone:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        serve_phone(options.phone)
        return 0
    instant, slow = [], []
    for number in range(options.rounds):
        instant.append(take_in(INSTANT, 0.0))
        progress(f"instant phone, round {number + 1} of {options.rounds}: {instant[-1]}")
    for number in range(options.slow_rounds):
        slow.append(take_in(SLOW, SLOW_S))
        progress(f"slow phone, round {number + 1} of {options.slow_rounds}: {slow[-1]}")
    rows, notes = [], []
    if instant:
        rates = [run.receipts / run.seconds for run in instant]
        rows += [
            Row(f"{INSTANT:,} receipts, instant phone", f"{median(rates):.0f} receipts/s",
                spread(rates, "/s", 0), f">= {INSTANT_GOAL:g}/s", median(rates) >= INSTANT_GOAL),
            Row("  of the daemon's processor time", f"{median([r.cpu_s for r in instant]):.2f} s",
                spread([r.cpu_s for r in instant], " s", 2)),
        ]  # fmt: skip
        notes.append(f"instant phone saw {_counted(instant[-1])}")
    if slow:
        ratios = [run.seconds / run.limit_s for run in slow]
        rows += [
            Row(f"{SLOW} receipts, 30 ms a command", f"{median([r.seconds for r in slow]):.2f} s",
                spread([r.seconds for r in slow], " s", 2)),
            Row("  / the phone's own limit", f"{median(ratios):.3f}", spread(ratios, "", 3),
                f"<= {SLOW_GOAL:g}", median(ratios) <= SLOW_GOAL),
        ]  # fmt: skip
        notes.append(f"limit {slow[-1].limit_s:.2f} s; slow phone saw {_counted(slow[-1])}")
    return report("A backlog on the phone is taken in (no endpoint registered)", rows, notes)


def _counted(run: Run) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in run.counts.most_common())


if __name__ == "__main__":
    sys.exit(main())
