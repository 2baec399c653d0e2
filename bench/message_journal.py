"""Cost of the message journal: time from a receipt's last part to the verified webhook, with it and without it.

    python bench/message_journal.py [--rounds 5] [--receipts 25]

Two daemons on two phones take turns, receipt by receipt, so that other load on the machine affects both. The receipts are
those of `path.py`, with both parts in one burst. The daemon without the journal is `_no_message_journal.py`.
"""

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path

from _figures import Row, median, pause, percentile, progress, report, spread
from _receiver import ReceiverProcess
from path import NO_LIMIT, NUMBER, SETTLE_S, WARM_UP, Daemon

from tests.fakes.message_journal import journal_of
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import ROOT, RealShop

GOAL_RATIO = 1.15
WITHOUT = (sys.executable, str(ROOT / "bench/_no_message_journal.py"))


def measure(pair: tuple[Daemon, Daemon], rounds: int, receipts: int) -> list[list[list[float]]]:
    """Return milliseconds: for each daemon a list per round."""
    for _ in range(WARM_UP):
        for daemon in pair:
            daemon.run(apart=False)
    found: list[list[list[float]]] = [[], []]
    for number in range(rounds):
        times: list[list[float]] = [[], []]
        for _ in range(receipts):
            for daemon, mine in zip(pair, times, strict=True):
                pause(SETTLE_S)
                first, _last = daemon.run(apart=False)
                mine.append(first)
        for one, mine in zip(found, times, strict=True):
            one.append(mine)
        progress(f"round {number + 1} of {rounds}")
    return found


def main() -> int:
    """Set up both daemons and measure them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--receipts", type=int, default=25, help="per round and daemon")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="momo-bench-") as name, contextlib.ExitStack() as stack:
        daemons = []
        for number, prefix in enumerate(((), WITHOUT)):
            folder = Path(name) / str(number)
            folder.mkdir()
            receiver = stack.enter_context(ReceiverProcess(folder / "receiver"))
            phone = stack.enter_context(PhoneProcess(folder / "phone"))
            shop = stack.enter_context(
                RealShop(folder / "shop", phone=phone.link, ca_file=receiver.ca_file, settings=NO_LIMIT)
            )
            shop.begin_chain(50_000)
            shop.start(prefix=prefix)
            shop.assign(NUMBER)
            receiver.start(shop.add_endpoint(receiver.url))
            daemons.append((Daemon(shop, phone, receiver), shop))
        (first, shop), (second, bare) = daemons
        with_it, without = measure((first, second), options.rounds, options.receipts)
        assert next(journal_of(shop).backward(), None) is not None
        assert next(journal_of(bare).backward(), None) is None
    return _report(with_it, without, options.rounds * options.receipts)


def _report(with_it: list[list[float]], without: list[list[float]], count: int) -> int:
    mine, bare = ([value for one in rounds for value in one] for rounds in (with_it, without))
    ratios = [median(one) / median(other) for one, other in zip(with_it, without, strict=True)]
    ratio = median(mine) / median(bare)
    return report(
        f"From the last part's +CMTI to the verified webhook ({count} receipts each)",
        [
            Row("with the message journal, p50", f"{median(mine):.2f} ms",
                spread([median(one) for one in with_it], " ms", 2)),
            Row("without, p50", f"{median(bare):.2f} ms",
                spread([median(one) for one in without], " ms", 2)),
            Row("with, p95", f"{percentile(mine, 95):.2f} ms"),
            Row("without, p95", f"{percentile(bare, 95):.2f} ms"),
            Row("with / without", f"{ratio:.2f}", spread(ratios, "", 2),
                f"<= {GOAL_RATIO:g}", ratio <= GOAL_RATIO),
        ],
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
