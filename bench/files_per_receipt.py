"""Number of files of `daemon/` and `parsers/` that process a receipt.

    python bench/files_per_receipt.py [--list]

One MTN receipt of two parts pays a waiting transaction that has one webhook endpoint. A trace function notes each file
in which a line runs, in all threads, from the read parts (`ingest`) to the commit. An earlier receipt loads the modules
that are imported on first use.
"""

import argparse
import asyncio
import inspect
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from _figures import Row, report

from tests.fakes.receipts import mtn
from tests.fakes.reviews import endpoint
from tests.fakes.shop import FakeShop

FILES_MAX = 45
ROOT = Path(__file__).resolve().parents[1]
PACKAGES = tuple(f"{ROOT / name}/" for name in ("daemon", "parsers"))


class Tracer:
    """The files in which a line ran, in order, and the number of changes from file to file."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.changes = 0
        self._last = ""

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> "Tracer":
        """Note the file of a line; Python calls this for each line."""
        path = frame.f_code.co_filename
        if event == "line" and path != self._last and path.startswith(PACKAGES):
            self.files[path] = None
            self.changes += 1
            self._last = path
        return self

    def start(self, *_ignored: object) -> None:
        """Trace this thread, including the functions that already run."""
        sys.settrace(self)
        frame: FrameType | None = inspect.currentframe()
        while frame is not None:
            frame.f_trace = self
            frame = frame.f_back


async def measure(folder: Path) -> Tracer:
    """Read one receipt and return its trace."""
    shop, tracer = await FakeShop.make(folder), Tracer()
    await shop.begin_chain()
    await endpoint(shop)
    for amount_minor, telco_id in ((1000, "93214500001"), (2500, "93214500002")):
        order = await shop.request(amount_minor)
        receipt = mtn(amount_minor, "KOFI ANTWI BADU", shop.wallet(amount_minor), order.svc_code or "", telco_id)
        assert len(receipt.pdus) == 2
        if amount_minor == 2500:
            threading.settrace(tracer)
            await shop.env.store.write(tracer.start)
            tracer.start()
            tracer.files.clear()
            tracer.changes = 0
        await shop.read(receipt)
        sys.settrace(None)
        assert (await shop.transaction(order.reference)).status == "SUCCESS"
    shop.close()
    return tracer


def main() -> int:
    """Measure, print the table, and return 0 if the goal was met."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--list", action="store_true", help="print the files, in order")
    listed = arguments.parse_args().list
    with tempfile.TemporaryDirectory() as folder:
        tracer = asyncio.run(measure(Path(folder)))
    if listed:
        print(*(str(Path(path).relative_to(ROOT)) for path in tracer.files), "", sep="\n")
    count = len(tracer.files)
    rows = [
        Row("files", str(count), goal=f"at most {FILES_MAX}", held=count <= FILES_MAX),
        Row("changes of file", str(tracer.changes)),
    ]
    return report("files per receipt", rows)


if __name__ == "__main__":
    raise SystemExit(main())
