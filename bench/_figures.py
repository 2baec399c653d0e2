"""Shared code of the benchmarks: medians and spread, the result table, and the machine's description."""

import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

# `python bench/x.py` puts this folder on the path; the fakes are found from its parent.
sys.path.insert(1, str(Path(__file__).resolve().parents[1]))


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    Attributes:
        what: The figure's name.
        figure: Its value as text, with the unit.
        spread: Lowest and highest of the rounds, as text.
        goal: The goal as text; empty for an informative line.
        held: Whether the goal was met; None without one.
    """

    what: str
    figure: str
    spread: str = ""
    goal: str = ""
    held: bool | None = None


def median(values: Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(values)


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the value that so many percent do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def spread(values: Sequence[float], unit: str = "", digits: int = 1) -> str:
    """Render the lowest and the highest."""
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}{unit}"


def report(title: str, rows: Sequence[Row], notes: Sequence[str] = ()) -> int:
    """Print the table; return 0 if every goal was met, else 1."""
    print(f"{title}\n{machine()}\n")
    table = [("what", "figure", "spread", "goal", "")]
    for row in rows:
        verdict = "" if row.held is None else "OK" if row.held else "MISSED"
        table.append((row.what, row.figure, row.spread, row.goal, verdict))
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    for line in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    for note in notes:
        print(f"\n{note}")
    return 0 if all(row.held is not False for row in rows) else 1


def machine() -> str:
    """Return date, machine and versions."""
    model = ""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    cores = len(os.sched_getaffinity(0))
    return (
        f"{time.strftime('%Y-%m-%d %H:%M')}, {model} ({cores} cores), "
        f"Linux {platform.release().partition('-')[0]}, Python {platform.python_version()}"
    )


def until(ready: Callable[[], bool], timeout_s: float, what: str, every_s: float = 0.005) -> None:
    """Wait until a condition holds.

    Raises:
        TimeoutError: It did not hold in time; the message is `what`.
    """
    end = time.perf_counter() + timeout_s
    while not ready():
        if time.perf_counter() > end:
            raise TimeoutError(f"{what} took longer than {timeout_s:g} s")
        pause(every_s)


def pause(seconds: float) -> None:
    """Sleep for `seconds`."""
    time.sleep(seconds)  # noqa: TID251 - a benchmark waits for other programs


def progress(text: str) -> None:
    """Print progress to stderr; not part of the figures."""
    print(text, file=sys.stderr, flush=True)
