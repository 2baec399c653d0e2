"""Measure the trust rules: an adversary of each level beside a busy month, and genuine months of different networks.

    python bench/trust.py [--seeds 5] [--days 26] [--genuine-seeds 2]

The simulation of `tests/simulation/trust`: the real intake and database, simulated time. An adversary plays all strategies
of his level. An operator decides reviews at 9, 13 and 18 h by the true balance of the wallet. `at once` is in the transaction
that stored the message; `later` is by itself, after so many further genuine messages.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean

from _figures import Row, percentile, progress, report

from tests.fakes.receipts import MTN_SENDER
from tests.simulation.trust.__main__ import run_all
from tests.simulation.trust.demands import PERSON_PER_10_000_MAX, held_share_max, problems, too_many_for_a_person
from tests.simulation.trust.game import Result, Setting
from tests.simulation.trust.player import LEVELS
from tests.simulation.trust.product import Product
from tests.simulation.trust.traffic import CENTRES, Size
from tests.simulation.trust.wallet import HOME, SECOND, Route, money, short_receipt_text

ONE = next(iter(CENTRES))
COST_FACTOR_MAX = 1.5
LINES_BEFORE = 4_353
"""Of these files before there was one believed balance."""
ALLOWED = {0: "0 forged paid", 1: "0 forged paid", 2: "0 forged paid", 3: "within the limit and the bound", 4: ""}


def played(settings: Iterable[Setting]) -> list[Result]:
    """Play games and print the progress."""
    results = []
    for result in run_all(list(settings)):
        results.append(result)
        progress(f"{result.setting.again()}: {len(problems(result))} violated demands")
    return results


def of_level(results: Sequence[Result]) -> list[Row]:
    """Return the lines of one level, kind of owner and kind of source."""
    setting = results[0].setting
    level = setting.level
    assert level is not None, "it has an adversary"
    forged = [one for result in results for one in result.forged]
    unreal = [one for one in forged if not one.told_first]
    days = [day for result in results for day in result.forged_by_day().values()]
    genuine = sum(result.genuine for result in results)
    person = sum(result.by_person for result in results)
    failed = sum(bool(problems(result)) for result in results)
    at_once = sum(result.count("at once") for result in results)
    name = f"level {level}, {'phone' if setting.phone else 'modem'}, owner {setting.owner}"
    limits = max(max(result.limits) for result in results)
    allowed = "within the limits" if setting.phone else ALLOWED[level]
    share = held_share_max(results[0].setting)
    return [
        Row(f"{name}: forged paid, money that never came in", f"{len(unreal)}, GHS {money(sum(one.amount for one in unreal))}",
            f"worst day {money(max(days, default=0))} of at most {money(limits)}"),
        Row(f"{name}: forged paid, of lost receipts told first", f"{len(forged) - len(unreal)}"),
        Row(f"{name}: genuine at once", f"{at_once / genuine:.2%}"),
        Row(f"{name}: genuine held for a person", f"{person / genuine:.2%}", f"{genuine} receipts",
            "" if share is None else f"<= {share:.1%}", None if share is None else person <= share * genuine),
        Row(f"{name}: forged reversals believed", f"{sum(len(result.reversals) for result in results)}"),
        Row(f"{name}: months that violate a demand", f"{failed} of {len(results)}", "", allowed, failed == 0),
    ]  # fmt: skip


def of_genuine(name: str, results: Sequence[Result], *, judged: bool) -> list[Row]:
    """Return the lines of one kind of genuine month."""
    most = PERSON_PER_10_000_MAX
    genuine = sum(result.genuine for result in results)
    share = {
        how: 100 * sum(result.count(how) for result in results) / genuine
        for how in ("at once", "later", "person", "never")
    }
    further = [fate.further for result in results for fate in result.fates.values() if fate.how == "later"]
    decisions = 10_000 * sum(result.decisions for result in results) / genuine
    waits = f"after {fmean(further):.1f} further messages, p95 {percentile(further, 95)}" if further else ""
    person = 10_000 * sum(result.by_person for result in results) / genuine
    figure = ", ".join(f"{how} {value:.2f} %" for how, value in share.items())
    return [
        Row(name, figure, waits),
        Row(f"{name}: decisions per 10,000", f"{decisions:.0f}", "",
            f"<= {most} of 10,000 by a person" if judged else "", person <= most if judged else None),
    ]  # fmt: skip


async def _cost(folder: Path, held: int, count: int = 200) -> tuple[float, float]:
    """Return the processor time of a message that joins, and of one that does not, beside so many held ones, in ms."""
    product = await Product.open(folder, 1, 0)
    try:
        number, balance = 0, 100_000

        async def take(after: int) -> None:
            nonlocal number
            number += 1
            product.go_to(product.clock.now_us() + 2 * SECOND)
            at = product.clock.now_us()
            text = short_receipt_text(100, after, str(93_000_000_000 + number), "food")
            for part in Route((HOME,), at, at, reference=number % 256).parts(text, MTN_SENDER):
                await product.take([part.pdu])

        for after in range(held):
            await take(5_000_000 + 1_000 * after)
        for _ in range(50):
            balance += 100
            await take(balance)
        began = time.process_time()
        for _ in range(count):
            balance += 100
            await take(balance)
        joins = time.process_time() - began
        began = time.process_time()
        for after in range(count):
            await take(900_000_000 + 1_000 * after)
        return 1_000 * joins / count, 1_000 * (time.process_time() - began) / count
    finally:
        product.close()


def cost_rows() -> list[Row]:
    """Return the cost of one message beside 1,000 held ones against none, in the same run."""
    found = []
    for held in (0, 1_000):
        with tempfile.TemporaryDirectory(prefix="momo-trust-") as folder:
            found.append(asyncio.run(_cost(Path(folder), held)))
    (joins, opens), (joins_beside, opens_beside) = found
    worst = max(joins_beside / joins, opens_beside / opens)
    return [
        Row("processor time of one message beside 1,000 held ones, against none",
            f"joins {joins_beside:.2f} / {joins:.2f} ms, does not join {opens_beside:.2f} / {opens:.2f} ms", "",
            f"at most {COST_FACTOR_MAX} times", worst <= COST_FACTOR_MAX),
    ]  # fmt: skip


def lines_row() -> Row:
    """Return the number of lines of the trust rules: of the files in `trust_lines.txt`."""
    root = Path(__file__).parent
    files = (root / "trust_lines.txt").read_text("utf-8").split()
    count = sum(len((root.parent / one).read_text("utf-8").splitlines()) for one in files)
    return Row("lines of the trust rules", f"{count} in {len(files)} files", "", f"< {LINES_BEFORE}", count < LINES_BEFORE)  # fmt: skip


def main() -> int:
    """Play all games and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5, help="months of each level")
    parser.add_argument("--genuine-seeds", type=int, default=2, help="months of each network")
    parser.add_argument("--days", type=int, default=26)
    parser.add_argument("--cost", action="store_true", help="measure only the cost of one message")
    asked = parser.parse_args()
    if asked.cost:
        return report("cost", cost_rows(), [])
    seeds, rows, notes = range(1, asked.seeds + 1), list[Row](), list[str]()
    games = [(level, phone) for phone, levels in ((False, LEVELS), (True, (1,))) for level in levels]
    for (level, phone), owner in product(games, ("daily", "weekly", "never", "errs")):
        size = Size(days=asked.days)
        results = played(Setting(seed, level, size, owner=owner, phone=phone) for seed in seeds)
        rows += of_level(results)
        notes += [f"{problems(one)[0]}\n  again: {one.setting.again()}" for one in results if problems(one)][:2]
    for per_month in (300, 3_000):
        for centres, untold, limit in (
            *((centres, 0.003, "auto") for centres in CENTRES), (ONE, 0.01, "auto"), (ONE, 0.003, 0),
        ):  # fmt: skip
            size = Size(days=asked.days, per_month=per_month, centres=centres, untold=untold)
            results = played(Setting(seed, None, size, limit) for seed in range(1, asked.genuine_seeds + 1))
            name = f"{per_month}, {centres}, {untold:.1%} untold, limit {limit}"
            judged = limit == "auto"  # with limit 0 a person is asked by design
            rows += of_genuine(name, results, judged=judged)
            if judged and (found := too_many_for_a_person(results)):
                notes.append(f"{name}: {found}")
    rows += [*cost_rows(), lines_row()]
    return report(f"{asked.seeds} months a level, {asked.days} days each", rows, notes)


if __name__ == "__main__":
    sys.exit(main())
