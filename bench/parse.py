"""How fast messages are read: known ones, unknown ones, and the worst that somebody could send.

`python bench/parse.py` tries 5,000 adversarial texts, `--full` the promised 100,000. Nothing is cached between texts: the
digits of each copy of a message differ, so each number is read by the phone library as if it were seen for the first
time.
"""

import argparse
import json
import random
import re
import time
from collections.abc import Sequence
from pathlib import Path

from _figures import Row, median, progress, report, spread

from parsers.match import compiled, squeeze
from parsers.phone import forget_numbers
from parsers.read import read, wordings
from parsers.reading import Unreadable
from parsers.template import TEXT_CHARACTERS_MAX

CORPUS = Path(__file__).resolve().parents[1] / "tests" / "corpus" / "sms_corpus.jsonl"
SEED = 20_260_912
ROUNDS = 7
KNOWN_PER_SECOND = 12_000
UNKNOWN_PER_SECOND = 60_000
WORST_MS = 2.0
ADVERSARIAL = 5_000
ADVERSARIAL_FULL = 100_000
REPEATS = 3
COPIES = 20

UNKNOWN = (
    "Hi, I will be late by 20 minutes. Please start without me, I sent the money already.",
    "Y'ello! Enjoy 50% bonus on every recharge above GHS 5 today. Dial *138# now. T&C apply.",
    "Your appointment at Ridge Hospital is on 2026-09-12 at 09:30. Reply YES to confirm or call 0302000922.",
    "Dear Customer, your data bundle of 1.5GB expires tomorrow. Dial *155# to renew and get 200MB free.",
    "ECG: your prepaid meter 14502233441 was credited with 120.50 units. Token: 1234 5678 9012 3456 7890.",
    "Bonjour, votre colis est arrive au depot. Presentez ce message au guichet avant le 15 septembre.",
    "WIN a brand new car! Send WIN to 1402 now. Each SMS costs GHS 1.00. Promo ends 30 September.",
    "Maame, please buy kenkey and fish on your way home, and 2 sachets of pure water. Thanks.",
    "Sika no aba. Me da wo ase paa. Yebehyia okyena anopa 8:30 wo Kejetia.",
    "Reminder: PTA meeting on Saturday at 10am. All parents must attend. School fees for term 2 are due.",
)
"""Texts of no layout that any network prints; some speak of money all the same."""


def main() -> int:
    """Measure, print the table, and return 0 when every promise held."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--full", action="store_true", help="try 100,000 adversarial texts")
    count = ADVERSARIAL_FULL if arguments.parse_args().full else ADVERSARIAL
    dice = random.Random(SEED)  # noqa: S311 - no secret
    entries = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    known = [(entry["sender"], entry["text"]) for entry in entries]
    unknown = [(dice.choice([None, "MobileMoney", "T-CASH", "+233244000811"]), t) for t in UNKNOWN]
    for wording in wordings():
        compiled(wording.pattern)
    for sender, text in unknown:
        assert isinstance(read(sender, text), Unreadable), text
    rows = [
        rate("corpus, mixed", known, KNOWN_PER_SECOND, dice),
        rate("corpus, senders unknown", [(None, text) for _, text in known], None, dice),
        rate("no known layout", unknown, UNKNOWN_PER_SECOND, dice),
        rate("no known layout, senders unknown", [(None, t) for _, t in unknown], None, dice),
    ]
    progress(f"{count} adversarial texts")
    rows.append(worst(count, [text for _, text in known], dice))
    return report("Reading messages", rows)


def rate(
    what: str, messages: list[tuple[str | None, str]], goal: int | None, dice: random.Random
) -> Row:
    """Read copies of the messages for some rounds; return messages a second on one core."""
    rates: list[float] = []
    for _ in range(ROUNDS):
        copies = [(sender, renumbered(text, dice)) for sender, text in messages * COPIES]
        forget_numbers()
        start = time.thread_time()
        for sender, text in copies:
            read(sender, text)
        rates.append(len(copies) / (time.thread_time() - start))
    figure = median(rates)
    return Row(
        what,
        f"{figure:,.0f}/s",
        spread(rates, "/s", 0),
        "" if goal is None else f">= {goal:,}/s",
        None if goal is None else figure >= goal,
    )


def renumbered(text: str, dice: random.Random) -> str:
    """Return the message with another subscriber's digits at the end of each long number."""
    return re.sub(r"\d{3}(?=\D|$)(?<=\d{9})", lambda _: f"{dice.randrange(1000):03d}", text)


def worst(count: int, texts: Sequence[str], dice: random.Random) -> Row:
    """Return the thread time of the slowest of many adversarial texts, the best of some repeats each."""
    samples = [*texts, *(sample for wording in wordings() for sample in wording.samples)]
    bits = [squeeze(bit) for text in samples for bit in re.split(r"(?<=[.:])\s", text)]
    slowest, slowest_text = 0.0, ""
    for _ in range(count):
        text = adversarial(samples, bits, dice)
        best = min(thread_ms(text) for _ in range(REPEATS))
        if best > slowest:
            slowest, slowest_text = best, text
    progress(f"slowest: {slowest_text[:160]!r}...")
    return Row(
        f"worst of {count:,} adversarial texts",
        f"{slowest:.2f} ms",
        "",
        f"< {WORST_MS:g} ms",
        slowest < WORST_MS,
    )


def thread_ms(text: str) -> float:
    """Return how long one reading takes, in milliseconds of this thread."""
    start = time.thread_time_ns()
    read(None, text)
    return (time.thread_time_ns() - start) / 1e6


def adversarial(samples: Sequence[str], bits: Sequence[str], dice: random.Random) -> str:
    """Return a text of up to 1,600 characters that is nearly a receipt, many times over."""
    sample = dice.choice(samples)
    kind = dice.randrange(7)
    cut = dice.randrange(len(sample))
    if kind == 0:
        text = sample[:cut] + dice.choice(bits) * 200 + sample[cut:]
    elif kind == 1:
        # Two places repeated: what is quadratic shows here.
        a, b, c, d = sorted(dice.randrange(len(sample) + 1) for _ in range(4))
        first, second = dice.choice([1, 2, 5, 20, 100]), dice.choice([1, 2, 5, 20, 100])
        text = sample[:a] + sample[a:b] * first + sample[b:c] + sample[c:d] * second + sample[d:]
    elif kind == 2:
        text = sample[:cut] + (sample[cut:] + " ") * 40
    elif kind == 3:
        text = sample[:cut] + " ".join(dice.choice(bits) for _ in range(60)) + sample[cut:]
    elif kind == 4:
        text = sample[:cut] + dice.choice([" ", "\n", "1", "1,", "*", "a ", ". ", "1 000 "]) * 800
    elif kind == 5:
        # White space in runs, where a pattern lets it be or not be.
        run = dice.choice([" ", "\n"]) * dice.choice([16, 40, 100, 700])
        at = sample.find(" ", cut)
        text = sample[:at] + run + sample[at:]
    else:
        text = " ".join(dice.choice(bits) for _ in range(60))
    if dice.random() < 0.5:
        # The genuine end behind it all, now and then without its last character.
        end = sample[cut : len(sample) - dice.randrange(2)]
        text = text[: TEXT_CHARACTERS_MAX - len(end)] + end
    return text[:TEXT_CHARACTERS_MAX]


if __name__ == "__main__":
    raise SystemExit(main())
