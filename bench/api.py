"""Calls of the API per second, compared with a minimal Starlette server on the same machine.

    python bench/api.py [--rounds 5] [--lasts-s 1.5]

Goals: `initialize`, durable when it is answered, reaches at least 0.4 times the rate of a bare Starlette handler that
does one group-committed insert, at 1, 8 and 32 callers; a single retrieval at least 0.4 times that of one look-up. Rate
limits are off. Daemon, bare server and callers are three programs on loopback; the two servers take turns, and the
ratio is computed per round.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from _figures import Row, median, progress, report, spread

from tests.fakes.real_shop import ROOT, RealShop

GOAL = 0.4
CALLERS = (1, 8, 32)
ORDER = json.dumps({"amount": "25.00", "phone_number": "0241234567"})
NO_LIMIT = {"limits": {"live_per_min": 0}}


class Program:
    """A helper program, controlled over its standard input."""

    def __init__(self, *arguments: str) -> None:
        """Start it."""
        self._process = subprocess.Popen(  # noqa: S603 - our own programs
            [sys.executable, *arguments], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._process.kill()
        self._process.communicate()

    def hear(self) -> str:
        """Return its next line."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("it ended; what it wrote is above")
        return line

    def ask(self, **asked: Any) -> dict[str, Any]:
        """Send one JSON object; return its answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.hear())
        return answer


class Server:
    """One of the two servers, with its requests to create and to look up."""

    def __init__(self, load: Program, address: str, create: str, look: str, headers: str) -> None:
        """`look` has `{}` in place of the ID."""
        self._load, self._address = load, address
        self._look, self._headers = look, headers
        order = f"{headers}Content-Type: application/json\r\nContent-Length: {len(ORDER)}\r\n\r\n{ORDER}"
        self._create = [f"POST {create} HTTP/1.1\r\nHost: localhost\r\n{order}"]
        self._looks: list[str] = []

    def warm_up(self, name: str) -> None:
        """Make a few rows, and keep their IDs for look-ups; `name` is the ID's member."""
        answer = self._load.ask(address=self._address, callers=1, lasts_s=0.5, expect=201, requests=self._create)
        ids = [json.loads(body)["data"][name] for body in answer["bodies"]]
        self._looks = [
            f"GET {self._look.format(key)} HTTP/1.1\r\nHost: localhost\r\n{self._headers}\r\n" for key in ids
        ]

    def rate(self, what: str, callers: int, lasts_s: float) -> float:
        """Return the answers per second."""
        create = what == "initialize"
        answer = self._load.ask(
            address=self._address,
            callers=callers,
            lasts_s=lasts_s,
            expect=201 if create else 200,
            requests=self._create if create else self._looks,
        )
        return float(answer["answers"] / answer["seconds"])


@contextmanager
def both(folder: Path) -> Iterator[tuple[Server, Server]]:
    """Start momo and the bare server."""
    with (
        RealShop(folder / "shop", phone=folder / "no-phone", settings=NO_LIMIT) as shop,
        Program("bench/_bare.py", str(folder / "bare.db")) as bare,
        Program("bench/_load.py") as load,
    ):
        shop.start()
        key = f"Authorization: Bearer {shop.keys.api}\r\n"
        port = bare.hear().split()[1]
        momo = Server(load, shop.http, "/v1/transactions/initialize", "/v1/transactions/{}", key)
        least = Server(load, f"127.0.0.1:{port}", "/rows", "/rows/{}", "")
        momo.warm_up("reference")
        least.warm_up("id")
        yield momo, least


def main() -> int:
    """Measure, print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--lasts-s", type=float, default=1.5)
    options = arguments.parse_args()
    wanted = [(what, callers) for what in ("initialize", "retrieve one") for callers in CALLERS]
    rates: dict[tuple[str, int], list[tuple[float, float]]] = {each: [] for each in wanted}
    with tempfile.TemporaryDirectory(prefix="momo-api-") as folder, both(Path(folder)) as (momo, least):
        for number in range(options.rounds):
            progress(f"round {number + 1} of {options.rounds}")
            for what, callers in wanted:
                ours = momo.rate(what, callers, options.lasts_s)
                rates[what, callers].append((ours, least.rate(what, callers, options.lasts_s)))
    rows = []
    for (what, callers), found in rates.items():
        ratios = [ours / bare for ours, bare in found]
        name = f"{what}, {callers} caller{'s' if callers > 1 else ''}"
        rows += [
            Row(
                f"{name}: beside the bare handler",
                f"{median(ratios):.2f} x",
                spread(ratios, " x", 2),
                f">= {GOAL} x",
                held=median(ratios) >= GOAL,
            ),
            Row(
                f"{name}: answers a second",
                f"{median([ours for ours, _ in found]):,.0f}",
                spread([ours for ours, _ in found], "", 0),
            ),
            Row(
                f"{name}: the bare handler's",
                f"{median([bare for _, bare in found]):,.0f}",
                spread([bare for _, bare in found], "", 0),
            ),
        ]
    return report("Calls of the API", rows)


if __name__ == "__main__":
    sys.exit(main())
