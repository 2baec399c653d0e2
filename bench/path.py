"""Time from the phone's notice of a receipt's last part to the verified webhook, compared with the unavoidable work.

    python bench/path.py [--rounds 5] [--receipts 25]

A transaction is made, and paid by an MTN receipt of two parts that carries its code. The phone is a program on a pty;
the receiver is a program behind TLS that verifies both signatures. The clock starts just before the phone writes the
`+CMTI` of the last part and stops when the receiver has verified the first webhook of the payment; both read
CLOCK_MONOTONIC. Receipts come one at a time to a warm daemon, in two ways: `apart`, the last part when the first is
already stored and its slot empty, as usual in reality; and `together`, both parts in one burst.

The floor does only the unavoidable work for the same parts, in one thread with no queue and no decision: on a phone of
its own the same commands (read, read again, delete; for both parts when they come together), three bare commits
(SQLite, WAL, synchronous=FULL), and one POST of a signed body of the same size by the daemon's own client on a warm
connection to the same receiver. The two take turns, receipt by receipt.
"""

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from _figures import Row, median, pause, percentile, progress, report, spread, until
from _receiver import ReceiverProcess

from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import ROOT, RealShop
from tests.fakes.receipts import Receipt, mtn

GOAL_MS = 25.0
GOAL_RATIO = 3.4
AMOUNT_MINOR = 2_500
WARM_UP = 5
WEBHOOKS = 2
"""Webhooks of one paid transaction to one endpoint: `transaction.forwarded` and `transaction.completed`."""
SETTLE_S = 0.01
"""Pause between two receipts, in which remaining work of the last one ends."""
NUMBER = "0244124567"
NO_LIMIT = {"limits": {"live_per_min": 0}}
FIRST_ID = 86_100_000_000


@dataclass
class Times:
    """Milliseconds of one way in which parts come: a list per round."""

    first: list[list[float]] = field(default_factory=list)
    last: list[list[float]] = field(default_factory=list)
    floor: list[list[float]] = field(default_factory=list)


class Payments:
    """Makes unique receipts."""

    def __init__(self) -> None:
        self._count = 0

    def next(self, reference: str) -> Receipt:
        """Return a receipt of two parts with the reference that the payer typed."""
        self._count += 1
        return mtn(
            AMOUNT_MINOR, "KWABENA KONADU DANKWA-EBO", 50_000 + self._count * AMOUNT_MINOR, reference,
            str(FIRST_ID + self._count), sent_at=datetime.now(UTC),  # noqa: TID251 - the network's clock
            concatenation=self._count % 256,
        )  # fmt: skip


class Daemon:
    """Measures the daemon."""

    def __init__(self, shop: RealShop, phone: PhoneProcess, receiver: ReceiverProcess) -> None:
        self._shop, self._phone, self._receiver = shop, phone, receiver
        self.payments = Payments()

    def run(self, *, apart: bool) -> tuple[float, float]:
        """Pay one transaction; return milliseconds to the first and to the last webhook."""
        request = self._shop.request("25.00")
        receipt = self.payments.next(request["svc_code"])
        assert len(receipt.pdus) == 2
        if apart:
            self._phone.deliver(receipt.pdus[:1])
            self._wait_empty()
            self._phone.deliver(receipt.pdus[1:])
        else:
            self._phone.deliver(receipt.pdus)
        came = self._receiver.verified(WEBHOOKS)
        self._wait_empty()
        started = self._phone.state(commands=0)["announced"][-1]["written_ns"]
        return (min(came) - started) / 1e6, (max(came) - started) / 1e6

    def _wait_empty(self) -> None:
        until(lambda: not self._phone.state(commands=0)["stored"], 10, "emptying the slots")


class Floor:
    """The program `_floor.py` on a phone of its own."""

    def __init__(self, folder: Path, phone: PhoneProcess, receiver: ReceiverProcess, secret: str) -> None:
        """Start it; `secret` is one that the receiver knows."""
        self._phone, self._receiver = phone, receiver
        self._payments = Payments()
        self._program = subprocess.Popen(  # noqa: S603 - our own programs
            [sys.executable, str(ROOT / "bench/_floor.py"), "--tty", phone.tty,
             "--database", str(folder / "floor.db"), "--url", receiver.url,
             "--ca-file", receiver.ca_file, "--secret", secret],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip
        self._hear("ready")

    def run(self, *, apart: bool) -> float:
        """Run it once; return milliseconds. Apart, the first part is not measured, so leave it out."""
        receipt = self._payments.next("1243AB")
        parts = receipt.pdus[1:] if apart else receipt.pdus
        assert self._program.stdin is not None
        self._program.stdin.write(f"{len(parts)}\n")
        self._program.stdin.flush()
        pause(SETTLE_S)
        self._phone.deliver(parts)
        (came,) = self._receiver.verified(1)
        self._hear("done")
        started = self._phone.state(commands=0)["announced"][-1]["written_ns"]
        return float(came - started) / 1e6

    def _hear(self, word: str) -> None:
        assert self._program.stdout is not None
        said = self._program.stdout.readline().strip()
        if said != word:
            raise RuntimeError(f"the floor said {said!r}, not {word!r}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.close()
        try:
            self._program.wait(10)
        except subprocess.TimeoutExpired:
            self._program.kill()
            self._program.wait()
        self._program.stdout.close()


def measure(daemon: Daemon, floor: Floor, rounds: int, receipts: int) -> dict[bool, Times]:
    """Measure in turns; return the times, by whether the parts came apart."""
    found = {True: Times(), False: Times()}
    for apart in (True, False):
        for _ in range(WARM_UP):
            daemon.run(apart=apart)
            floor.run(apart=apart)
    for number in range(rounds):
        for apart, times in found.items():
            both, bare = [], []
            for _ in range(receipts):
                # One of each in turn: other load on the machine affects both.
                pause(SETTLE_S)
                both.append(daemon.run(apart=apart))
                bare.append(floor.run(apart=apart))
            times.first.append([first for first, _ in both])
            times.last.append([last for _, last in both])
            times.floor.append(bare)
        progress(f"round {number + 1} of {rounds}")
    return found


def rows_of(way: str, times: Times) -> list[Row]:
    """Compare one way in which parts come with the goals."""
    first = [value for one in times.first for value in one]
    last = [value for one in times.last for value in one]
    floor = [value for one in times.floor for value in one]
    ratios = [median(mine) / median(bare) for mine, bare in zip(times.first, times.floor, strict=True)]
    middle, ratio = median(first), median(first) / median(floor)
    return [
        Row(f"{way}: first webhook, p50", f"{middle:.2f} ms",
            spread([median(one) for one in times.first], " ms", 2),
            f"<= {GOAL_MS:g} ms", middle <= GOAL_MS),
        Row(f"{way}: first webhook, p95", f"{percentile(first, 95):.2f} ms",
            spread([percentile(one, 95) for one in times.first], " ms", 2)),
        Row(f"{way}: last webhook, p50", f"{median(last):.2f} ms",
            spread([median(one) for one in times.last], " ms", 2)),
        Row(f"{way}: floor, p50", f"{median(floor):.2f} ms",
            spread([median(one) for one in times.floor], " ms", 2)),
        Row(f"{way}: first webhook / floor", f"{ratio:.2f}", spread(ratios, "", 2),
            f"<= {GOAL_RATIO:g}", ratio <= GOAL_RATIO),
    ]  # fmt: skip


def main() -> int:
    """Set up both ways and measure them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--receipts", type=int, default=25, help="per round and way")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="momo-bench-") as name:
        folder = Path(name)
        receiver = ReceiverProcess(folder / "receiver")
        with (
            receiver,
            PhoneProcess(folder / "phone") as phone,
            PhoneProcess(folder / "floor-phone") as bare,
            RealShop(folder / "shop", phone=phone.link, ca_file=receiver.ca_file, settings=NO_LIMIT) as shop,
        ):
            shop.begin_chain(50_000)
            shop.start()
            shop.assign(NUMBER)
            secret = shop.add_endpoint(receiver.url)
            receiver.start(secret)
            with Floor(folder, bare, receiver, secret) as floor:
                found = measure(Daemon(shop, phone, receiver), floor, options.rounds, options.receipts)
    count = options.rounds * options.receipts
    return report(
        f"From the last part's +CMTI to the verified webhook ({count} receipts each way)",
        [*rows_of("apart", found[True]), *rows_of("together", found[False])],
        ["The spread is of the rounds' own figures. Each paid request has two webhooks, which go out side by side."],
    )


if __name__ == "__main__":
    sys.exit(main())
