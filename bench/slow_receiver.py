"""Payments in a row at a receiver that answers late.

    python bench/slow_receiver.py [--payments 40] [--rounds 3]

The receiver answers each webhook 100 ms after it has read it. The next payment comes when the receiver has read the webhook
of the one before, so before its answer. An endpoint has two places, so the limit is half of all answers in a row. Measured
from the first SMS to the last answer that is on record.
"""

import argparse
import itertools
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from _figures import Row, median, progress, report, spread, until
from _receiver import ReceiverProcess

from daemon import wire
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import RealShop
from tests.fakes.receipts import mtn_receipts

ANSWER_S = 0.1
PLACES = 2
"""`[webhooks] per_endpoint` by default."""
GOAL = 1.1
WARM_UP = 4
TIMEOUT_S = 60.0


def measure(payments: int) -> float:
    """Return the seconds for so many payments, in a new shop."""
    with tempfile.TemporaryDirectory(prefix="momo-bench-") as name:
        folder = Path(name)
        with (
            ReceiverProcess(folder / "receiver") as receiver,
            PhoneProcess(folder / "phone") as phone,
            RealShop(folder / "shop", phone=folder / "phone", ca_file=receiver.ca_file) as shop,
        ):
            shop.begin_chain(50_000)
            shop.start()
            shop.assign("0244124567")
            status, answer = shop.api("POST", wire.Path.ENDPOINTS, {"url": receiver.url})
            assert status == 201, answer
            receiver.start(answer["secret"], delay_s=ANSWER_S)
            total = payments + WARM_UP
            now = datetime.now(UTC)  # noqa: TID251 - the network's clock
            receipts = mtn_receipts(total, started=now, references=["food"] * total)
            for receipt in itertools.islice(receipts, WARM_UP):
                phone.deliver(receipt.pdus)
                receiver.verified(1)
            delivered = "SELECT COUNT(*) FROM deliveries WHERE status = 'delivered'"
            until(lambda: shop.rows(delivered) == [(WARM_UP,)], TIMEOUT_S, "the warm-up", 0.05)
            started_us = time.time_ns() // 1_000
            for receipt in receipts:
                phone.deliver(receipt.pdus)
                receiver.verified(1)
            until(lambda: shop.rows(delivered) == [(total,)], TIMEOUT_S, "the webhooks", 0.05)
            ((ended_us,),) = shop.rows("SELECT MAX(finished_at) FROM attempts")
            return float(ended_us - started_us) / 1e6


def main() -> int:
    """Measure some rounds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--payments", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    limit_s = options.payments * ANSWER_S / PLACES
    took_s = []
    for number in range(options.rounds):
        took_s.append(measure(options.payments))
        progress(f"round {number + 1} of {options.rounds}: {took_s[-1]:.2f} s")
    ratios = [one / limit_s for one in took_s]
    rows = [
        Row(f"{options.payments} payments in a row", f"{median(took_s):.2f} s",
            spread(took_s, " s", 2)),
        Row("  against the limit of two places", f"{median(ratios):.2f}", spread(ratios, "", 2),
            f"<= {GOAL:g}", median(ratios) <= GOAL),
    ]  # fmt: skip
    return report(f"A receiver that answers after {ANSWER_S * 1000:.0f} ms", rows)


if __name__ == "__main__":
    sys.exit(main())
