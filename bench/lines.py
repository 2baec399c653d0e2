"""Time of `momo lines` and `momo --help`, compared with the import of their command-line library.

    python bench/lines.py [--runs 15]

Wall time and processor time (user and system, of the child and its children, as the kernel counts it) of both commands
and of `python -c "import typer"` in the same virtual environment. The three take turns; a daemon runs; standard output
is a pipe. Byte code is compiled beforehand, as an installation does.
"""

import argparse
import compileall
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from _figures import Row, median, report, spread

from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import RealShop

ROOT = Path(__file__).resolve().parents[1]
GOALS = {"momo lines": 1.47, "momo --help": 1.12}
FLOOR = 'python -c "import typer"'


def cost(arguments: Sequence[str], environ: Mapping[str, str]) -> tuple[float, float]:
    """Run a program; return its processor time and its wall time, in ms."""
    started = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603 - our own programs
        arguments, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall_ms = (time.perf_counter() - started) * 1000
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if process.returncode:
        raise RuntimeError(f"{arguments} ended with {process.returncode}: {said!r}")
    return (usage.ru_utime + usage.ru_stime) * 1000, wall_ms


def main() -> int:
    """Measure both in turns."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    momo = str(Path(sys.executable).with_name("momo"))
    programs = {name: [momo, name.removeprefix("momo ")] for name in GOALS}
    programs[FLOOR] = [sys.executable, "-c", "import typer"]
    for package in ("momo_cli", "daemon", "parsers"):
        compileall.compile_dir(ROOT / package, quiet=1)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
    with tempfile.TemporaryDirectory(prefix="momo-bench-") as name:
        folder = Path(name)
        with PhoneProcess(folder / "phone") as phone, RealShop(folder / "shop", phone=phone.link) as shop:
            shop.start()
            shop.assign("0244124567")
            for number in range(runs + 1):
                for program, arguments in programs.items():
                    each = cost(arguments, shop.environ)
                    if number:  # the first one fills the caches
                        found[program].append(each)
    rows = []
    for index, what in enumerate(("wall", "processor")):
        by_program = {name: [pair[index] for pair in pairs] for name, pairs in found.items()}
        floor = by_program[FLOOR]
        for name, values in by_program.items():
            rows.append(Row(f"{name}: {what}", f"{median(values):.0f} ms", spread(values, " ms", 0)))
        for name, goal in GOALS.items():
            values = by_program[name]
            ratio = median(values) / median(floor)
            ratios = [one / other for one, other in zip(values, floor, strict=True)]
            held = ratio <= goal if what == "wall" else None
            rows.append(
                Row(f"{name} / import typer, {what}", f"{ratio:.2f}", spread(ratios, "", 2),
                    "" if held is None else f"<= {goal:g}", held)
            )  # fmt: skip
    return report(f"the command line against its library, medians of {runs}", rows)


if __name__ == "__main__":
    sys.exit(main())
