"""Delay of a receipt while three other modems on the same daemon hang or flood it.

    python bench/hostile_phones.py [--rounds 5] [--receipts 25]

Two shops run side by side, each a program: one with a single modem, as in `path.py`, and one with four. Three of the
four misbehave all the time: one never answers, one sends an unsolicited line every 2 ms and reports before each answer
that its storage is full (which a daemon must handle), and one receives ten SMS a second. Measured as in `path.py`: from
just before the `+CMTI` of a receipt's last part to the first verified webhook. The two shops take turns, receipt by
receipt, so that other load on the machine affects both.
"""

import argparse
import contextlib
import itertools
import sys
import tempfile
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from _figures import Row, median, pause, percentile, progress, report, spread
from _receiver import ReceiverProcess
from path import NO_LIMIT, NUMBER, SETTLE_S, WARM_UP, Daemon

from daemon import wire
from daemon.core import ids
from daemon.modem.codec.pdu_encode import encode_deliver
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import RealShop
from tests.phones.sim import Identity

GOAL_RATIO = 1.2
STORM_MS = 2
FLOOD_EVERY_S = 0.1
COMMAND_S = 0.005
"""Delay per command of the misbehaving phones; a real one takes longer."""
IDENTITIES = (
    {"imei": "356938035643809", "iccid": "8923301000000000101", "imsi": "620010000000101"},
    {"imei": "353456789012348", "iccid": "8923301000000000102", "imsi": "620010000000102"},
    {"imei": "867322040000005", "iccid": "8923301000000000103", "imsi": "620010000000103"},
)


@contextlib.contextmanager
def flood(phone: PhoneProcess) -> Iterator[list[int]]:
    """Deliver SMS to a phone until the block ends; yield a list of them."""
    over, count = threading.Event(), [0]

    def send() -> None:
        for number in itertools.count():
            if over.wait(FLOOD_EVERY_S):
                return
            now = datetime.now(UTC)  # noqa: TID251 - the network's clock
            phone.deliver(encode_deliver("MTN", f"Win a car! No. {number}", now))
            count[0] = number + 1

    thread = threading.Thread(target=send, name="flood")
    thread.start()
    try:
        yield count
    finally:
        over.set()
        thread.join()


def put_number(shop: RealShop, count: int) -> None:
    """Wait for that many modems, and put a number on each SIM: the shop's on that of the good one."""
    good = ids.device_id_of(Identity().imei)
    for at, device in enumerate(shop.sims(count)):
        number = NUMBER if device["device_id"] == good else f"024412450{at}"
        sim = {"device_id": device["device_id"], "slot_index": device["sims"][0]["slot_index"]}
        method = {"provider": "momo_mtn", "phone_number": number, "account_name": "Ama", "sim": sim}
        shop.ask("POST", wire.Path.PAYMENT_METHODS, method)


def measure(alone: Daemon, crowded: Daemon, rounds: int, receipts: int) -> tuple[list[list[float]], list[list[float]]]:
    """Measure both shops in turns; return milliseconds to the first webhook, a list per round."""
    for _ in range(WARM_UP):
        alone.run(apart=True)
        crowded.run(apart=True)
    calm: list[list[float]] = []
    hostile: list[list[float]] = []
    for number in range(rounds):
        calm.append([])
        hostile.append([])
        for _ in range(receipts):
            pause(SETTLE_S)
            calm[-1].append(alone.run(apart=True)[0])
            pause(SETTLE_S)
            hostile[-1].append(crowded.run(apart=True)[0])
        progress(f"round {number + 1} of {rounds}")
    return calm, hostile


def rows_of(calm: list[list[float]], hostile: list[list[float]], flooded: int, asked: int) -> list[Row]:
    """Compare the results with the goals."""
    rows = []
    for name, rounds in (("one modem", calm), ("three of four misbehave", hostile)):
        values = [value for one in rounds for value in one]
        rows += [
            Row(f"{name}: first webhook, p50", f"{median(values):.2f} ms",
                spread([median(one) for one in rounds], " ms", 2)),
            Row(f"{name}: first webhook, p95", f"{percentile(values, 95):.2f} ms",
                spread([percentile(one, 95) for one in rounds], " ms", 2)),
        ]  # fmt: skip
    ratios = [median(mine) / median(base) for mine, base in zip(hostile, calm, strict=True)]
    ratio = median(ratios)
    rows.append(
        Row(
            "three of four misbehave / one modem, p50",
            f"{ratio:.2f}",
            spread(ratios, "", 2),
            f"<= {GOAL_RATIO:g}",
            ratio <= GOAL_RATIO,
        )
    )
    rows.append(Row("SMS that came to the flooded modem meanwhile", str(flooded)))
    rows.append(Row("commands to the modem with the storm meanwhile", str(asked)))
    return rows


def main() -> int:
    """Set up both shops and measure them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--receipts", type=int, default=25, help="per round and shop")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="momo-bench-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        shops = []
        bad = [
            stack.enter_context(
                PhoneProcess(folder / f"bad{at}", identity=identity, latency_s=COMMAND_S, family=family)
            )
            for at, (identity, family) in enumerate(zip(IDENTITIES, ("generic", "huawei", "generic"), strict=True))
        ]
        for shop_name, others in (("alone", []), ("crowded", bad)):
            receiver = stack.enter_context(ReceiverProcess(folder / f"receiver-{shop_name}"))
            phone = stack.enter_context(PhoneProcess(folder / f"phone-{shop_name}"))
            shop = stack.enter_context(
                RealShop(folder / shop_name, phone=phone.link, ca_file=receiver.ca_file, settings=NO_LIMIT)
            )
            flags = [flag for other in others for flag in ("--modem", str(other.link))]
            shop.start(arguments=flags)
            put_number(shop, count=1 + len(others))
            receiver.start(shop.add_endpoint(receiver.url))
            shops.append(Daemon(shop, phone, receiver))
        hung, storming, flooded = bad
        storming.fault(storm_ms=STORM_MS, noise='^SMMEMFULL: "SM"')
        with flood(flooded) as count:
            hung.play("hang")
            now = datetime.now(UTC)  # noqa: TID251 - the network's clock
            storming.deliver(encode_deliver("MTN", "Your memory will be full", now))
            before = storming.state()["command_count"]
            calm, hostile = measure(*shops, options.rounds, options.receipts)
            asked = storming.state()["command_count"] - before
    receipts = options.rounds * options.receipts
    return report(
        f"From the last part's +CMTI to the verified webhook beside bad modems ({receipts} receipts each)",
        rows_of(calm, hostile, count[0], asked),
        ["The spread is of the rounds' own figures; the ratio is the median of theirs."],
    )


if __name__ == "__main__":
    sys.exit(main())
