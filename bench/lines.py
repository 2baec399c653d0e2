"""Cost of `momo lines`, compared with the import of its command-line library.

    python bench/lines.py [--runs 15]

Processor time (user and system, of the child and its children, as the kernel counts it) of `momo lines` with a running
daemon, and of `python -c "import typer"` in the same virtual environment; the two take turns, standard output is a
pipe. Byte code is compiled beforehand, as an installation does.
"""

import argparse
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

GOAL = 2.0


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
    programs = {
        "momo lines": [str(Path(sys.executable).with_name("momo")), "lines"],
        'python -c "import typer"': [sys.executable, "-c", "import typer"],
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
    with tempfile.TemporaryDirectory(prefix="momo-bench-") as name:
        folder = Path(name)
        with (
            PhoneProcess(folder / "phone") as phone,
            RealShop(folder / "shop", phone=phone.link) as shop,
        ):
            shop.start()
            shop.assign("0244124567")
            for number in range(runs + 1):
                for program, arguments in programs.items():
                    each = cost(arguments, shop.environ)
                    if number:  # the first one fills the caches
                        found[program].append(each)
    rows = []
    for name, measured in found.items():
        for index, what in enumerate(("processor", "wall")):
            values = [pair[index] for pair in measured]
            rows.append(
                Row(f"{name}: {what}", f"{median(values):.0f} ms", spread(values, " ms", 0))
            )
    momo, typer = ([pair[0] for pair in measured] for measured in found.values())
    ratio = median(momo) / median(typer)
    ratios = [one / other for one, other in zip(momo, typer, strict=True)]
    rows.append(
        Row("momo lines / import typer, processor", f"{ratio:.2f}", spread(ratios, "", 2),
            f"<= {GOAL:g}", ratio <= GOAL)
    )  # fmt: skip
    return report(f"momo lines against its library, medians of {runs}", rows)


if __name__ == "__main__":
    sys.exit(main())
