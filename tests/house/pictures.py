"""The pictures of the demo, `momo lines`, `momo today` and `momo watch`: `make picture` draws them from a real run.

A throw-away shop with the real programs and an emulated phone takes a few payments. Then each command runs on its own
terminal (a pty), and rich draws the output as an SVG without external resources.
"""

import contextlib
import datetime
import html
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from daemon.demo.shop import DemoShop
from daemon.demo.story import run_demo
from daemon.modem.codec.pdu_encode import encode_deliver
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, mtn_receipt
from tests.house.markdown import ROOT

FOLDER: Final = ROOT / "docs/img"
PICTURES: Final = {"lines": 72, "today": 72, "watch": 80}
"""Command -> the columns of its terminal; each has 24 lines."""
ROWS: Final = 24
WAIT_S: Final = 20.0
QUIET_S: Final = 0.7
"""Wait after the last sale; the cashier's screen is drawn once a second, and sooner on an event."""
NUMBER: Final = "0244124567"
SALES: Final = (
    # asked, paid, customer, whether the code is typed
    (1250, 1250, "ABENA FOSUA ANSAH", True),
    (4000, 4000, "KWABENA NII LAMPTEY", True),
    (2000, 1500, "YAA SERWAA DONKOR", True),
    (700, 700, "GIDEON OKYERE TAGOE", False),
    (8600, 9000, "COMFORT DUFIE OWUSU", True),
    (2550, 2550, "SELASI KONADU NARH", True),
)
_NOT_COLOUR: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-ln-z]|\x1b[=>78]|\x07")


def draw(into: Path) -> None:
    """Draw all pictures into a folder."""
    into.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False, record=True, width=100, force_terminal=True)
    assert run_demo(console) == 0
    (into / "demo.svg").write_text(picture(console, "momo demo"), encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="momo-") as folder, DemoShop(Path(folder)) as shop:
        open_shop(shop)
        for command, columns in PICTURES.items():
            shown = screen(shop, command, columns)
            (into / f"{command}.svg").write_text(svg(shown, f"momo {command}", columns))


def open_shop(shop: DemoShop) -> str:
    """Make a shop with a phone and its number, let six customers pay, and return the address of its pages."""
    shop.set_up("Ama Provisions")
    shop.start_phone()
    address = shop.start_daemon()
    phone = shop.momo("phones", "list", "--wait=30s")["data"][0]
    place = f"{phone['device_id']}:{phone['sims'][0]['slot_index']}"
    shop.momo("phones", "name", phone["device_id"], "front-desk")
    shop.momo("lines", "add", NUMBER, "--provider", "momo_mtn", "--name", "Ama Mensah", "--sim", place)
    balance_minor = 91_400
    for number, (asked_minor, paid_minor, customer, typed) in enumerate(SALES):
        order = shop.momo("init", f"{asked_minor / 100:.2f}", "--phone", "0244765432")["data"]
        balance_minor += paid_minor
        text = mtn_receipt(
            paid_minor, customer, balance_minor, order["svc_code"] if typed else "bread and milk",
            f"9321450{number:04d}",
        )  # fmt: skip
        now = datetime.datetime.now(datetime.UTC)  # noqa: TID251  # the network's clock, in a picture
        shop.deliver_sms(encode_deliver(MTN_SENDER, text, now, smsc=MTN_SMSC, reference=number))
        if typed:
            shop.momo("tx", "wait", order["reference"], "--timeout", "30s", accept=(0, 6))
    return address


def screen(shop: DemoShop, command: str, columns: int) -> str:
    """Return a command's output on a terminal, with only the colours of the terminal codes."""
    environ = {
        **{name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")},
        "MOMO_HOME": str(shop.home), "TERM": "xterm-256color", "LANG": "C.UTF-8", "MOMO_PAGER": "cat",
    }  # fmt: skip
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (ROWS, columns))
    with subprocess.Popen(
        [sys.executable, "-m", "momo_cli", command],
        stdin=slave, stdout=slave, stderr=slave, env=environ, start_new_session=True,
    ) as process:  # fmt: skip
        os.close(slave)
        said, begun = b"", time.monotonic()  # noqa: TID251  # a bound
        while time.monotonic() - begun < WAIT_S:  # noqa: TID251  # a bound
            if select.select([master], [], [], QUIET_S)[0]:
                try:
                    said += os.read(master, 65536)
                except OSError:  # the other end is closed: the command has ended
                    break
            elif SALES[-1][2].encode() in said:
                with contextlib.suppress(OSError):
                    os.write(master, b"\x04")  # Ctrl-D leaves the cashier's screen
        process.kill()
    os.close(master)
    return last_screen(said.decode("utf-8", "replace"))


def last_screen(said: str) -> str:
    """Return the last screen: the last whole one, or all output."""
    inside = re.search(r"\x1b\[\?1049h(.*?)\x1b\[\?1049l", said, re.DOTALL)
    frames = re.split(r"\x1b\[H", inside[1] if inside else said)
    shown = [_NOT_COLOUR.sub("", frame).replace("\r", "") for frame in frames]
    return [frame for frame in shown if frame.strip()][-1].strip("\n")


def svg(shown: str, title: str, columns: int) -> str:
    """Return an SVG of the output, in the reader's own fixed-width font."""
    with Path(os.devnull).open("w") as nowhere:
        console = Console(file=nowhere, record=True, width=columns, force_terminal=True)
        console.print(Text.from_ansi(shown), highlight=False)
        return picture(console, title)


_FONT: Final = re.compile(r"@font-face\s*\{.*?\}", re.DOTALL)
_TEXT: Final = re.compile(r'x="([0-9.]+)" (y="[0-9.]+") textLength="[0-9.]+"([^>]*)>([^<]*)<')
_COLUMN: Final = 12.2
"""The width of a column in rich's pictures: 0.61 of its font size."""


def picture(console: Console, title: str) -> str:
    """Return the console's recorded output as an SVG, in the reader's own fixed-width font.

    It loads nothing. Each character has its own position, because many viewers ignore `textLength`, and then the columns
    would depend on the width of the font.
    """
    return _TEXT.sub(_placed, _FONT.sub("", console.export_svg(title=title)))


def _placed(match: re.Match[str]) -> str:
    begin, y, more, text = match.groups()
    places, column = [], 0
    for character in html.unescape(text):
        places.append(f"{float(begin) + column * _COLUMN:.1f}".removesuffix(".0"))
        column += cell_len(character)
    return f'x="{" ".join(places)}" {y}{more}>{text}<'


if __name__ == "__main__":
    draw(FOLDER)
